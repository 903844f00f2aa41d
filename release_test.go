package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/storetest/skip"
)

// A release is made of the sources alone: two folders, in which they lie, give the same bytes. CI makes one
// archive in each; .ci/release makes all, and the packages.
func TestRelease_isTheSameInEachFolder(t *testing.T) {
	if os.Getenv(skip.All) == "" {
		t.Skip(skip.All + " asks for a release")
	}
	var made [2]string
	for i := range made {
		dir := filepath.Join(t.TempDir(), strings.Repeat("further/", i))
		copySources(t, dir)
		made[i] = filepath.Join(dir, "made")
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci", "release"), "v1.2.3", made[i], "-only", "linux/amd64,windows/amd64", "-archives")
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1764500000")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	files, err := os.ReadDir(made[0])
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, and not two archives, the sums, a formula and a manifest: %v", len(files), err)
	}
	sums, err := os.ReadFile(filepath.Join(made[0], "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		one, err := os.ReadFile(filepath.Join(made[0], f.Name()))
		two, errTwo := os.ReadFile(filepath.Join(made[1], f.Name()))
		if err != nil || errTwo != nil || !bytes.Equal(one, two) {
			t.Errorf("%s is not the same in both folders: %v, %v", f.Name(), err, errTwo)
		}
		if sum := fmt.Sprintf("%x  %s\n", sha256.Sum256(one), f.Name()); strings.HasPrefix(f.Name(), "hindcast_") && !strings.Contains(string(sums), sum) {
			t.Errorf("the sums lack %s", sum)
		}
	}
	checkArchive(t, filepath.Join(made[0], "hindcast_1.2.3_linux_amd64.tar.gz"))
	for name, wants := range map[string][]string{
		"hindcast.rb":   {`version "1.2.3"`, `/releases/download/v1.2.3/hindcast_1.2.3_linux_amd64.tar.gz"`},
		"hindcast.json": {`"version": "1.2.3"`, `/releases/download/v1.2.3/hindcast_1.2.3_windows_amd64.zip"`, `"extract_dir": "hindcast_1.2.3_windows_amd64"`},
	} {
		text, err := os.ReadFile(filepath.Join(made[0], name))
		for _, want := range wants {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s: %v\n%s", name, want, err, text)
			}
		}
	}
}

// copySources copies the files of the repository, without testdata, into a folder.
func copySources(t *testing.T, dir string) {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(list)) {
		if strings.HasPrefix(name, "testdata/") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
}

// One command gives the modules another path: all that they import is found under it then, and nothing under the old one.
func TestModule_isRenamed(t *testing.T) {
	skip.Process(t)
	dir := t.TempDir()
	copySources(t, dir)
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	const renamed = "example.com/you/hindcast"
	run(filepath.Join(dir, ".ci", "module"), renamed)
	adapters, err := filepath.Glob(filepath.Join(dir, "agent", "adapt", "*", "go.mod"))
	if err != nil || len(adapters) == 0 {
		t.Fatalf("no adapters: %v", err)
	}
	for _, at := range append(adapters, filepath.Join(dir, "go.mod")) {
		list := run("go", "list", "-C", filepath.Dir(at), "-e", "-deps", "-f", "{{.ImportPath}}{{with .Error}} {{.}}{{end}}", "./...")
		if !strings.Contains(list, renamed+"/model\n") {
			t.Errorf("%s: nothing has the new path", at)
		}
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, module) || strings.Contains(line, " ") {
				t.Errorf("%s: %s", at, line)
			}
		}
	}
}

// checkArchive unpacks an archive for this system and runs its program.
func checkArchive(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	there, program := map[string]bool{}, filepath.Join(t.TempDir(), "hindcast")
	for in := tar.NewReader(packed); ; {
		head, err := in.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		at, inFolder := strings.CutPrefix(head.Name, "hindcast_1.2.3_linux_amd64/")
		if there[at] = true; !inFolder || head.Uid != 0 || head.ModTime.Unix() != 1764500000 {
			t.Errorf("%+v", head)
		}
		if at == "hindcast" {
			data, err := io.ReadAll(in)
			if err := errors.Join(err, os.WriteFile(program, data, os.FileMode(head.Mode))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{"LICENSE", "NOTICE", "man/hindcast.1", "man/hindcast-log.1", "completions/hindcast.bash", "completions/_hindcast", "completions/hindcast.fish", "completions/hindcast.ps1"} {
		if !there[want] {
			t.Errorf("the archive lacks %s", want)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput(); err != nil || string(out) != "hindcast v1.2.3\n" {
		t.Errorf("--version of it: %v, %q", err, out)
	}
}

// The manual has a page for each command, and one that lists them.
func TestManual_hasEachCommand(t *testing.T) {
	dir := t.TempDir()
	all := shell(t, dir, "hindcast man")
	commands := strings.Fields(shell(t, dir, "hindcast __complete man '' 2>/dev/null | grep -v ^:"))
	if len(commands) < 40 {
		t.Fatalf("the commands are %q", commands)
	}
	for _, c := range commands {
		if !strings.Contains(all, ".BR hindcast\\-"+strings.ReplaceAll(c, "-", `\-`)+" (1)\n") {
			t.Errorf("hindcast(1) does not list %s", c)
		}
	}
	page := shell(t, dir, "hindcast man restore")
	for _, want := range []string{".TH HINDCAST\\-RESTORE 1", ".SH SYNOPSIS", `\-\-dry\-run`, `\-\-json`, ".SH EXIT STATUS"} {
		if !strings.Contains(page, want) {
			t.Errorf("hindcast-restore(1) lacks %s:\n%s", want, page)
		}
	}
	for line := range strings.Lines(all + page) {
		if strings.HasPrefix(line, "'") || strings.Contains(line, "\t") {
			t.Errorf("%q is a request of roff, or has a tab", line)
		}
	}
	if out := shell(t, dir, "hindcast man nosuch"); !strings.Contains(out, `no command "nosuch"`) {
		t.Errorf("a page about no command: %s", out)
	}
}
