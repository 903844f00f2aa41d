// Package installed finds the versions of packages that a project uses: in its folder of
// installed packages, or in the lock file of a package manager. It only reads, files of a
// bounded size, and runs nothing.
//
//	.venv/lib/python*/site-packages/NAME-VERSION.dist-info      (also venv)
//	uv.lock  poetry.lock  pdm.lock  Pipfile.lock  requirements*.txt, where it says ==
//	node_modules/NAME/package.json
//	package-lock.json  pnpm-lock.yaml  yarn.lock
//	go.mod
//
// The nearest folder that has one of them with the package decides, from that of the
// store upward to the root of the project, and in a folder the first of this list.
package installed

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
)

const (
	// maxSize bounds a file that is read, maxLevels the folders that are looked at, and
	// maxNames the files of one pattern.
	maxSize   = 8 << 20
	maxLevels = 24
	maxNames  = 32
)

// registry is where a package comes from.
type registry uint8

const (
	pypi    registry = iota // for Python
	npm                     // for JavaScript
	modules                 // for Go
)

// packages has the package of each SDK.
var packages = map[string]struct {
	registry
	name string
}{
	sdk.StrandsPython:     {pypi, "strands-agents"},
	sdk.StrandsTypeScript: {npm, "@strands-agents/sdk"},
	sdk.GenkitPython:      {pypi, "genkit"},
	sdk.GenkitJavaScript:  {npm, "genkit"},
	sdk.GenkitGo:          {modules, "github.com/firebase/genkit/go"},
}

// source is one place below a folder that may tell the version of a package.
type source struct {
	registry registry
	// pattern is that of path.Match for its name, below the folder; %s is the package.
	pattern string
	// from names the source of the version; "" means the name of the file itself.
	from string
	// version returns the version in a file's data, or "". A nil version means that the file's name has it.
	version func(data []byte, pkg string) string
}

var sources = []source{
	{pypi, ".venv/lib/python*/site-packages/%s-*.dist-info", ".venv", nil},
	{pypi, ".venv/Lib/site-packages/%s-*.dist-info", ".venv", nil},
	{pypi, "venv/lib/python*/site-packages/%s-*.dist-info", "venv", nil},
	{pypi, "venv/Lib/site-packages/%s-*.dist-info", "venv", nil},
	{pypi, "uv.lock", "", tomlLock},
	{pypi, "poetry.lock", "", tomlLock},
	{pypi, "pdm.lock", "", tomlLock},
	{pypi, "Pipfile.lock", "", pipfileLock},
	{pypi, "requirements*.txt", "", requirements},
	{npm, "node_modules/%s/package.json", "node_modules", packageJSON},
	{npm, "package-lock.json", "", packageLock},
	{npm, "pnpm-lock.yaml", "", pnpmLock},
	{npm, "yarn.lock", "", yarnLock},
	{modules, "go.mod", "", goMod},
}

// Find returns the version of an SDK that the project around a store uses; false if no version is known. at is
// the store's folder or file. Find does not look into a stop, such as the user's home, nor above it.
func Find(at, name string, stops ...string) (store.Release, bool) {
	pkg, known := packages[name]
	dir, err := filepath.Abs(at)
	if err != nil || !known {
		return store.Release{}, false
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	for range maxLevels {
		up := filepath.Dir(dir)
		if up == dir || slices.ContainsFunc(stops, func(stop string) bool { return isSameDir(dir, stop) }) {
			break
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			break
		}
		version, from := versionIn(root, pkg.registry, pkg.name)
		_, err = root.Lstat(".git")
		_ = root.Close() // nothing was written
		if from != "" || err == nil {
			return store.Release{SDK: name, Version: version, From: from}, version != ""
		}
		dir = up
	}
	return store.Release{}, false
}

// isSameDir reports whether two paths name the same folder; other may be "".
func isSameDir(dir, other string) bool {
	if other == "" {
		return false
	}
	a, err := os.Stat(dir)
	b, err2 := os.Stat(other)
	return errors.Join(err, err2) == nil && os.SameFile(a, b)
}

// versionIn looks for a version in one folder, and returns it with its source, or "". Several files of one
// pattern that differ give no version. An installed package has precedence over a lock file.
func versionIn(root *os.Root, from registry, pkg string) (version, source string) {
	name := pkg
	if from == pypi {
		name = strings.ReplaceAll(normalizeName(pkg), "-", "_") // of a folder of installed packages
	}
	for _, s := range sources {
		if s.registry != from {
			continue
		}
		var found []string
		for _, file := range globIn(root, strings.ReplaceAll(s.pattern, "%s", name)) {
			text := ""
			if s.version == nil {
				text = strings.TrimSuffix(path.Base(file)[len(name)+1:], ".dist-info")
			} else if data, err := read(root, file); err == nil {
				text = s.version(data, pkg)
			}
			if text != "" {
				found = append(found, text)
				source = cmp.Or(source, s.from, path.Base(file))
			}
		}
		if len(found) > 0 {
			return soleValue(found), source
		}
	}
	return "", ""
}

// globIn returns the names below root that fit a pattern, each part of it
// one of path.Match, in order.
func globIn(root *os.Root, pattern string) []string {
	found := []string{"."}
	for part := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range found {
			if !strings.Contains(part, "*") {
				next = append(next, path.Join(dir, part))
				continue
			}
			names, err := files.Names(root, dir)
			if err != nil {
				continue
			}
			slices.Sort(names)
			for _, name := range names {
				if fits, err := path.Match(part, name); err == nil && fits && len(next) < maxNames {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		found = next
	}
	return found
}

// read reads a file that is not too large.
func read(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSize:
		return nil, fs.ErrInvalid
	}
	return files.From(root)(name, nil)
}
