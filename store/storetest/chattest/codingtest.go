// Package chattest runs coding agents against a scripted model, without a network.
package chattest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// Program returns the path of a program of a tool below the folder that HINDCAST_AGENTS
// names, as testdata/interop/agents/install lays it out. The test is skipped where that is
// not set, and fails where it is and the program is missing.
func Program(t testing.TB, tool string, below ...string) string {
	t.Helper()
	dir := os.Getenv("HINDCAST_AGENTS")
	if dir == "" {
		skip.Missing(t, "HINDCAST_AGENTS names no folder with %s: testdata/interop/agents/install makes one", tool)
	}
	program := filepath.Join(append([]string{dir, tool}, below...)...)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("HINDCAST_AGENTS has no %s: %v", tool, err)
	}
	return program
}

// Model is a scripted model that runs until the test ends.
type Model struct {
	// URL is where it answers.
	URL string
	log string
}

// Start starts the scripted model, testdata/interop/agents/fakellm.py.
func Start(t testing.TB) *Model {
	t.Helper()
	m := &Model{log: filepath.Join(t.TempDir(), "requests.jsonl")}
	cmd := exec.CommandContext(t.Context(), "python3", filepath.Join(moduleRoot(t), "testdata/interop/agents/fakellm.py"), m.log)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the scripted model does not start: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	})
	m.URL = "http://127.0.0.1:" + strings.TrimSpace(port)
	return m
}

// moduleRoot returns the folder of go.mod. Tests run in the folder of their package.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("no go.mod is above the package")
		}
		dir = above
	}
}

// Request is one that the model was sent.
type Request struct {
	Path string          `json:"path"`
	Body json.RawMessage `json:"body"`
}

// Requests returns what the model was sent until now, in order.
func (m *Model) Requests(t testing.TB) (list []Request) {
	t.Helper()
	data, err := os.ReadFile(m.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// node returns the beginning of a PATH that finds the Node of testdata/interop/install, "" where that
// brought none: pi needs Node 22.
func node() string {
	bin := filepath.Join(os.Getenv("HINDCAST_SDKS"), "node", "node_modules", "node", "bin")
	if _, err := os.Stat(filepath.Join(bin, "node")); err != nil || !filepath.IsAbs(bin) {
		return ""
	}
	return bin + ":"
}

// Run runs a command for a shell in a folder, with nothing in its environment but what is
// named, a home of its own, and a proxy that refuses. It returns what the command prints; a
// failure of it fails the test.
func Run(t testing.TB, dir, home, command string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"HOME=" + home, "PATH=" + node() + "/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh",
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
		"NODE_COMPILE_CACHE=" + filepath.Join(os.Getenv("HINDCAST_AGENTS"), "compiled"), // agents are megabytes of source
	}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, &out, &errs)
	}
	return out.String()
}

// Found fails the test unless a kind finds a session without being told where: in the places
// that it knows where variables of the environment are set so, "NAME=value".
func Found(t testing.TB, kind store.Kind, home string, env ...string) {
	t.Helper()
	places := kind.Places(store.Surroundings{Home: home, Env: func(name string) string {
		for _, is := range env {
			if value, ok := strings.CutPrefix(is, name+"="); ok {
				return value
			}
		}
		return ""
	}})
	for _, place := range places {
		if _, ok, err := kind.Recognise(t.Context(), place); !ok || err != nil {
			continue
		}
		s, err := kind.Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for info, err := range s.Sessions(t.Context()) {
			if err != nil || info.Title == "" {
				t.Errorf("%s: %+v, %v", place, info, err)
			}
			return
		}
	}
	t.Errorf("with %q %s has no session in %q", env, kind.Name, places)
}
