package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// systems are those for which the program is shipped.
var systems = []string{"linux", "darwin", "windows", "freebsd"}

// licenseFile is a file with the terms of a module.
var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)`)

// linkedModules returns the modules that are in the program on any system, with the folders that have them.
func linkedModules(t *testing.T) map[string]string {
	t.Helper()
	modules := map[string]string{}
	for _, system := range systems {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for line := range strings.Lines(string(out)) {
			module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
			modules[module] = dir
		}
	}
	delete(modules, "")
	return modules
}

// writeNotice returns the text of NOTICE: all modules that are linked, and the terms of each, those of several once.
func writeNotice(t *testing.T) string {
	t.Helper()
	modules := linkedModules(t)
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules["Go"] = strings.TrimSpace(string(root))
	under := map[string][]string{}
	for module, dir := range modules {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			if f.IsDir() || !licenseFile.MatchString(f.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			terms := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
			under[terms], found = append(under[terms], module), true
		}
		if !found {
			none := "Its folder has no file with its terms; its README names them."
			under[none] = append(under[none], module)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Hindcast\n\nThe program has parts of Go and of %d modules in it, each under the terms below.\n", len(modules)-1)
	for _, list := range under {
		slices.Sort(list)
	}
	for _, terms := range slices.SortedFunc(maps.Keys(under), func(x, y string) int { return cmp.Or(slices.Compare(under[x], under[y]), strings.Compare(x, y)) }) {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(under[terms], "\n"), strings.Repeat("-", 80), terms)
	}
	return b.String()
}

func TestNOTICE_namesEveryLinkedModule(t *testing.T) {
	want := writeNotice(t)
	if updating() {
		if err := os.WriteFile("NOTICE", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Error("NOTICE is stale: go test -run TestNOTICE -update . writes it again")
	}
	if printed := shell(t, t.TempDir(), "hindcast licenses"); !updating() && printed != want {
		t.Errorf("hindcast licenses prints %d bytes, and NOTICE has %d", len(printed), len(want))
	}
}
