package kinds_test

import (
	"bytes"
	"hindcast/store/storetest/skip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// hazards lays a session of hazards.txtar out: NAME/FILE is a file of the session
// NAME, besides those of "base"; the head of the archive says the rest.
func hazards(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, "strands", "hazards.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	sessions := make(map[string]map[string][]byte)
	for _, f := range txtar.Parse(data).Files {
		session, name, _ := strings.Cut(f.Name, "/")
		if sessions[session] == nil {
			sessions[session] = make(map[string][]byte)
		}
		sessions[session][name] = f.Data
	}
	for session, files := range sessions {
		for name, data := range sessions["base"] {
			if _, own := files[name]; !own && session != "base" {
				files[name] = data
			}
		}
	}
	delete(sessions, "base")
	return sessions
}

func layHazard(t *testing.T, dir, name string, files map[string][]byte) {
	t.Helper()
	session := filepath.Join(dir, name)
	agent := filepath.Join(session, "agents", "agent_default")
	if err := os.MkdirAll(filepath.Join(agent, "messages"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		path := filepath.Join(agent, name)
		if name == "session.json" {
			path = filepath.Join(session, name)
		}
		target, link := bytes.CutPrefix(data, []byte("-> "))
		var err error
		switch {
		case name == "why" || string(data) == "(absent)\n":
		case link:
			err = os.Symlink(strings.TrimSuffix(string(target), "\n"), path)
		default:
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unmended are the damages that nobody but a person can mend, with what Hindcast says
// about them.
var unmended = map[string]string{
	"symlink":         "put the file itself in its place",
	"symlink-agent":   "put the file itself in its place",
	"manager-unknown": "nothing to repair", // a program with that manager starts
	"manager-empty":   "nothing to repair", // as a BidiAgent writes it, and starts on it
}

// What keeps the real SDK from starting is mended, so that it starts; and an undo
// gives the damage back as it was.
func TestInterop_repair(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	python := drivers(t, sdks(t), "python")["python"]
	r := rehearsal{driver: python}
	var bricked, mended int
	sessions := hazards(t)
	for name, files := range sessions {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			layHazard(t, dir, "session_h", files)
			layHazard(t, dir, "session_other", sessions["healthy"]) // a store is not of one session
			age(t, dir)
			before := treeOf(t, dir)
			start := map[string]any{"do": "start", "dir": dir, "store": "log", "session": "h"}
			was := r.do(t, start)
			if was.Error == "" {
				return // it starts
			}
			bricked++
			// The start itself may have written.
			if other := before.difference(treeOf(t, dir)); other != nil {
				t.Logf("the start wrote: %s", other)
			}
			damaged := treeOf(t, dir)
			if _, failed := r.look(t, "repair", dir, "h", "--yes", "--anyway"); failed != "" {
				if why := unmended[name]; why != "" && strings.Contains(failed, why) {
					return
				}
				t.Errorf("the SDK does not start (%s), and nothing mends it: %s", was.Error, failed)
				return
			}
			copied := storeCopy(t, dir)
			start["dir"] = copied
			if is := r.do(t, start); is.Error != "" {
				t.Errorf("the SDK did not start (%s), and it still does not: %s", was.Error, is.Error)
			}
			r.write(t, "undo", dir)
			if other := damaged.difference(treeOf(t, dir)); other != nil {
				t.Errorf("undo does not give back what was there: %s", other)
			}
			mended++
		})
	}
	t.Logf("%d of %d sessions on which the SDK does not start were mended", mended, bricked)
}
