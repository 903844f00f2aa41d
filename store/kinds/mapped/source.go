package mapped

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hindcast/store/media/files"
)

// Source is where rows are read from.
type Source struct {
	// Path is a file or a folder. Of a folder all files are read that are called
	// *.json, *.jsonl or *.ndjson, in the folders below it too; hidden ones, and
	// links in it, are passed over.
	Path string
	// In is read to its end instead where it is not nil; Path is its name then.
	In io.Reader
}

// From returns the sources for paths; "-" stands for in.
func From(in io.Reader, paths ...string) []Source {
	var sources []Source
	for _, p := range paths {
		if p == "-" {
			sources = append(sources, Source{Path: stdin, In: in})
			continue
		}
		sources = append(sources, Source{Path: p})
	}
	return sources
}

// stdin is the name of the standard input, and of the session that comes out of
// it.
const stdin = "stdin"

// file is one file that rows are read from.
type file struct {
	// name is how errors call it.
	name string
	// whole names the session of its rows if it has many, folder if it is one.
	whole, folder string
	// place tells it from every other file of the same name, and home its folder.
	place, home string
	open        func() (content, error)
}

// content is an open file that is read from where one wants.
type content interface {
	io.ReaderAt
	io.Closer
}

// gather lists the files of the sources, those of a folder in natural order.
// What is no regular file is copied into a temporary one; done takes the copies
// away, and lets go of the folders.
func gather(sources []Source) (list []file, done func() error, err error) {
	var ends []func() error
	done = func() error {
		var errs []error
		for _, end := range ends {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	for _, s := range sources {
		found, end, err := s.gather()
		if end != nil {
			ends = append(ends, end)
		}
		if err != nil {
			return nil, nil, errors.Join(err, done())
		}
		list = append(list, found...)
	}
	return list, done, nil
}

func (s Source) gather() (list []file, done func() error, err error) {
	if s.In != nil {
		f, done, err := spool(s.Path, s.In)
		return []file{f}, done, err
	}
	info, err := os.Stat(s.Path)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("mapped: %w", err)
	case info.IsDir():
		return folder(s.Path)
	case !info.Mode().IsRegular():
		in, err := os.Open(s.Path)
		if err != nil {
			return nil, nil, fmt.Errorf("mapped: %w", err)
		}
		f, done, err := spool(s.Path, in)
		return []file{f}, done, errors.Join(err, in.Close())
	}
	whole, err := filepath.Abs(s.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("mapped: %w", err)
	}
	home := filepath.Dir(whole)
	return []file{{
		name: s.Path, place: whole, home: home,
		whole: trimExtension(filepath.Base(whole)), folder: filepath.Base(home),
		open: func() (content, error) { return os.Open(s.Path) },
	}}, nil, nil
}

// spool copies a stream into a temporary file.
func spool(name string, in io.Reader) (file, func() error, error) {
	f, err := os.CreateTemp("", "hindcast-*.json")
	if err != nil {
		return file{}, nil, fmt.Errorf("mapped: read %s: %w", name, err)
	}
	// Where an open file can lose its name it does so now: then a killed program
	// leaves nothing behind.
	removed := os.Remove(f.Name()) == nil
	done := func() error {
		err := f.Close()
		if !removed {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return err
	}
	if _, err := io.Copy(f, in); err != nil {
		return file{}, done, fmt.Errorf("mapped: read %s: %w", name, files.Cause(err))
	}
	session := trimExtension(filepath.Base(name))
	return file{
		name: name, place: name, home: name, whole: session, folder: session,
		open: func() (content, error) { return kept{f}, nil },
	}, done, nil
}

// kept is a file that stays open.
type kept struct{ io.ReaderAt }

func (kept) Close() error { return nil }

// trimExtension returns the name of a file without its extension.
func trimExtension(name string) string {
	if ext := filepath.Ext(name); len(ext) < len(name) {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// maxFiles bounds how many files one folder is gone through for.
const maxFiles = 1_000_000

// folder lists the files in a folder and those below.
func folder(dir string) (list []file, done func() error, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("mapped: %w", err)
	}
	place, err := filepath.Abs(dir)
	if err != nil {
		return nil, root.Close, fmt.Errorf("mapped: %w", err)
	}
	var names []string
	for folders := []string{"."}; len(folders) > 0; {
		below := folders[0]
		folders = folders[1:]
		entries, err := files.Entries(root, below)
		if err != nil {
			return nil, root.Close, fmt.Errorf("mapped: read the folder %s: %w", filepath.Join(dir, below), files.Cause(err))
		}
		for _, e := range entries {
			name := path.Join(below, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir():
				folders = append(folders, name)
			case e.Type().IsRegular() && isJSON(name):
				names = append(names, name)
			}
		}
		if len(names)+len(folders) > maxFiles {
			return nil, root.Close, fmt.Errorf("mapped: %s holds more than %d files", dir, maxFiles)
		}
	}
	if len(names) == 0 {
		return nil, root.Close, fmt.Errorf("mapped: no file in the folder %s is called *.json, *.jsonl or *.ndjson", dir)
	}
	slices.SortFunc(names, compareNatural)
	base := filepath.Base(place)
	for _, name := range names {
		list = append(list, file{
			name: filepath.Join(dir, name), place: filepath.Join(place, name), home: filepath.Join(place, path.Dir(name)),
			whole: trimExtension(name), folder: path.Join(base, path.Dir(name)),
			open: func() (content, error) { return openIn(root, name) },
		})
	}
	return list, root.Close, nil
}

func isJSON(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".json" || isLines(name)
}

// isLines reports whether a file says of itself that it is JSON lines.
func isLines(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".jsonl" || ext == ".ndjson"
}

// openIn opens a regular file below a root, and nothing else: no link, and no
// pipe, which would block.
func openIn(root *os.Root, name string) (content, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, files.Cause(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, files.ErrSymlink
	case !info.Mode().IsRegular():
		return nil, files.ErrNotRegular
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, files.Cause(err)
	}
	return f, nil
}

// compareNatural orders paths as people do, by folder, and by number where there are
// numbers in names: state-2 comes before state-10.
func compareNatural(a, b string) int {
	if c := strings.Compare(path.Dir(a), path.Dir(b)); c != 0 {
		return c
	}
	x, y := a, b
	for x != "" && y != "" {
		if n, m := digits(x), digits(y); n > 0 && m > 0 {
			p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
			if len(p) != len(q) {
				return len(p) - len(q)
			}
			if c := strings.Compare(p, q); c != 0 {
				return c
			}
			x, y = x[n:], y[m:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// digits counts the digits that a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
