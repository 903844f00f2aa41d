package installed

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The lock files are made by programs, so that what is looked for stands on lines of a
// fixed shape; a version that such a line does not tell is not known. Where a file tells
// two versions of a package, for different surroundings, none is.

// soleValue returns the only distinct value of a list, or "".
func soleValue(values []string) string {
	found := ""
	for _, value := range values {
		if found != "" && found != value {
			return ""
		}
		found = value
	}
	return found
}

var separators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_.]+`) })

// normalizeName returns the name of a package as PyPI compares it.
func normalizeName(name string) string {
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

// stringAt returns the string of a line `key = "string"`, "" for another line.
func stringAt(line, key string) string {
	rest, ok := strings.CutPrefix(line, key+" = \"")
	text, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		return ""
	}
	return text
}

// tomlLock reads uv.lock, poetry.lock and pdm.lock: a table [[package]] for each, its
// name and version on lines of their own.
func tomlLock(data []byte, pkg string) string {
	var found []string
	name, version, inside := "", "", false
	end := func() {
		if inside && normalizeName(name) == normalizeName(pkg) && version != "" {
			found = append(found, version)
		}
		name, version = "", ""
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "["):
			end()
			inside = line == "[[package]]"
		case name == "" && stringAt(line, "name") != "":
			name = stringAt(line, "name")
		case version == "" && stringAt(line, "version") != "":
			version = stringAt(line, "version")
		}
	}
	end()
	return soleValue(found)
}

// pipfileLock reads Pipfile.lock.
func pipfileLock(data []byte, pkg string) string {
	var lock map[string]json.RawMessage
	if json.Unmarshal(data, &lock) != nil {
		return ""
	}
	var found []string
	for _, group := range []string{"default", "develop"} {
		var packages map[string]struct{ Version string }
		if json.Unmarshal(lock[group], &packages) != nil {
			continue
		}
		for name, p := range packages {
			if version, exact := strings.CutPrefix(p.Version, "=="); exact && normalizeName(name) == normalizeName(pkg) {
				found = append(found, version)
			}
		}
	}
	return soleValue(found)
}

// pinned matches a line that asks for exactly one version. It allows extras before the version, and a marker,
// hashes or a comment behind it.
var pinned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*==\s*([^\s;,\\#*]+)\s*(?:[;\\#].*|--hash.*)?$`)
})

// requirements reads requirements.txt, where it says ==.
func requirements(data []byte, pkg string) string {
	var found []string
	for line := range strings.Lines(string(data)) {
		if m := pinned().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && normalizeName(m[1]) == normalizeName(pkg) {
			found = append(found, m[2])
		}
	}
	return soleValue(found)
}

// packageJSON reads the package.json of an installed package.
func packageJSON(data []byte, pkg string) string {
	var p struct{ Name, Version string }
	if json.Unmarshal(data, &p) != nil || p.Name != pkg {
		return ""
	}
	return p.Version
}

// packageLock reads package-lock.json; older ones have no "packages".
func packageLock(data []byte, pkg string) string {
	type entry struct{ Version string }
	var lock struct{ Packages, Dependencies map[string]entry }
	if json.Unmarshal(data, &lock) != nil {
		return ""
	}
	if p, ok := lock.Packages["node_modules/"+pkg]; ok {
		return p.Version
	}
	return lock.Dependencies[pkg].Version
}

// pnpmLock reads pnpm-lock.yaml: below "packages:" a key NAME@VERSION for each, in older
// ones with a slash before it.
func pnpmLock(data []byte, pkg string) string {
	var found []string
	inside := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && line[0] != ' ' {
			inside = line == "packages:"
			continue
		}
		key, ok := strings.CutSuffix(strings.TrimPrefix(line, "  "), ":")
		if !inside || !ok || strings.HasPrefix(key, " ") {
			continue
		}
		key, _, _ = strings.Cut(strings.TrimPrefix(strings.Trim(key, `'"`), "/"), "(")
		if version, ok := strings.CutPrefix(key, pkg+"@"); ok {
			found = append(found, version)
		}
	}
	return soleValue(found)
}

// yarnLock reads yarn.lock: a line with the ranges that are asked for, and below it the
// version, in the words of version 1 or as YAML.
func yarnLock(data []byte, pkg string) string {
	var found []string
	inside := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && line[0] != ' ' && line[0] != '#' {
			inside = strings.HasPrefix(strings.TrimLeft(line, `"`), pkg+"@")
			continue
		}
		for _, word := range []string{"  version ", "  version: "} {
			if version, ok := strings.CutPrefix(line, word); ok && inside {
				found = append(found, strings.Trim(version, `"`))
			}
		}
	}
	return soleValue(found)
}

// goMod reads go.mod, which requires each module on a line of its own; of a module that is
// replaced it tells nothing.
func goMod(data []byte, pkg string) string {
	var found []string
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) > 0 && (words[0] == "require" || words[0] == "replace") {
			words = words[1:]
		}
		switch {
		case len(words) < 2 || words[0] != pkg:
		case slices.Contains(words, "=>"):
			return ""
		default:
			found = append(found, strings.TrimPrefix(words[1], "v"))
		}
	}
	return soleValue(found)
}
