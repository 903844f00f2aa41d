//go:build unix

package messages

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// laid copies sessions of a real store into a folder.
func laid(t *testing.T, dir string, sessions ...string) {
	t.Helper()
	for _, name := range sessions {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("..", "..", "..", "..", "testdata", "strands", "python-file", name))); err != nil {
			t.Fatal(err)
		}
	}
}

// A store whose only session lost its session.json is one, so that it can be mended.
func TestRecognise_aSessionThatLostItsFile(t *testing.T) {
	dir := t.TempDir()
	laid(t, dir, "session_basic")
	if err := os.Remove(filepath.Join(dir, "session_basic", "session.json")); err != nil {
		t.Fatal(err)
	}
	if why, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil || !strings.Contains(why, "without a session.json") {
		t.Errorf("recognised %v: %q, %v", ok, why, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "session_basic", "agents")); err != nil {
		t.Fatal(err)
	}
	if why, ok, _ := Kind(nil).Recognise(t.Context(), dir); ok {
		t.Errorf("a folder without agents is recognised: %q", why)
	}
}

// A session whose folder is a link is listed, read and told as what it is, wherever the
// link leads and however it is written; nothing is written through it, for that reason.
func TestLink_isReadAndNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		target, link func(dir, outside string) string
	}{
		"outside": {
			func(_, outside string) string { return filepath.Join(outside, "session_basic") },
			func(_, outside string) string { return filepath.Join(outside, "session_basic") },
		},
		"of another name": {
			func(_, outside string) string { return filepath.Join(outside, "yesterday") },
			func(_, outside string) string { return filepath.Join(outside, "yesterday") },
		},
		"in the store": {
			func(dir, _ string) string { return filepath.Join(dir, "session_basic") },
			func(string, string) string { return "session_basic" },
		},
		"in the store, as a whole path": {
			func(dir, _ string) string { return filepath.Join(dir, "session_basic") },
			func(dir, _ string) string { return filepath.Join(dir, "session_basic") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			target := c.target(dir, outside)
			if err := os.CopyFS(target, os.DirFS(filepath.Join("..", "..", "..", "..", "testdata", "strands", "python-file", "session_basic"))); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(c.link(dir, outside), filepath.Join(dir, "session_again")); err != nil {
				t.Fatal(err)
			}
			rest(t, filepath.Dir(target))
			if why, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
				t.Fatalf("recognised %v: %q, %v", ok, why, err)
			}
			before := contents(t, filepath.Dir(target))
			s := open(t, dir)
			list := storetest.Headers(t, s, "again")
			direct := open(t, target)
			sessions := storetest.Sessions(t, direct)
			want := storetest.Headers(t, direct, sessions[0].ID)
			if len(list) == 0 || len(list) != len(want) || list[0].ID != want[0].ID || string(state(t, s, list[len(list)-1])) != string(state(t, direct, want[len(want)-1])) {
				t.Errorf("through the link %v, directly %v", list, want)
			}
			tail, _, err := s.Tail(t.Context(), "again", 1)
			if err != nil || len(tail) != 1 || tail[0].ID != want[len(want)-1].ID {
				t.Errorf("the last is %v, %v", tail, err)
			}
			whole, err := filepath.EvalSymlinks(target)
			if err != nil {
				t.Fatal(err)
			}
			var links []model.Fault
			for _, f := range storetest.Faults(t, s, "again") {
				if !strings.HasPrefix(f.File, "session_again") {
					t.Errorf("a fault is in %s", f.File)
				}
				if f.Code == FaultSymlink {
					links = append(links, f)
				}
			}
			if len(links) != 1 || links[0].Severity != model.Note || !strings.Contains(links[0].Meaning, "strands:"+whole) {
				t.Errorf("the doctor says %+v", links)
			}
			ref := list[0].Ref()
			for what, plan := range map[string]func() (model.Plan, error){
				"restore": func() (model.Plan, error) { return s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref}) },
				"fork": func() (model.Plan, error) {
					return s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: "copy"})
				},
				"edit": func() (model.Plan, error) {
					return s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: ref, As: "copy", State: []byte("{}")})
				},
				"repair": func() (model.Plan, error) {
					return s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "again"}})
				},
				"purge": func() (model.Plan, error) {
					return s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "again"}, Scope: model.PurgeAll})
				},
			} {
				refused := (*model.UnsupportedError)(nil)
				if _, err := plan(); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "session_again is a link to "+whole) {
					t.Errorf("%s: %v", what, err)
				}
			}
			// Opened by itself it says the same.
			through := open(t, filepath.Join(dir, "session_again"))
			ref = storetest.Headers(t, through, storetest.Sessions(t, through)[0].ID)[0].Ref()
			if _, err := through.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref}); err == nil || !strings.Contains(err.Error(), "is a link to "+whole+", and nothing is written through a link") {
				t.Errorf("opened by itself, a restore: %v", err)
			}
			if why := through.Lacks(model.OpRestore); why != "" {
				t.Errorf("opened by itself it lacks restores: %s", why)
			}
			if _, err := through.Plan(t.Context(), model.Change{Op: model.OpUndo}); err == nil || !strings.Contains(err.Error(), "is a link to "+whole) {
				t.Errorf("opened by itself, an undo: %v", err)
			}
			if list := storetest.Faults(t, through, ""); len(list) != 1 || list[0].Code != FaultSymlink || list[0].Severity != model.Note {
				t.Errorf("opened by itself the doctor says %+v", list)
			}
			if now := contents(t, filepath.Dir(target)); !maps.Equal(now, before) {
				t.Error("what the link leads to was written to")
			}
		})
	}
}

// A link that leads to no session is not listed, and told.
func TestFaults_aLinkToNoSession(t *testing.T) {
	skip.Sequential(t)
	dir, outside := t.TempDir(), t.TempDir()
	laid(t, dir, "session_sliding")
	if err := os.Symlink(filepath.Join(outside, "none"), filepath.Join(dir, "session_none")); err != nil {
		t.Fatal(err)
	}
	faults, err := open(t, dir).Faults(t.Context(), "")
	if err != nil || len(faults) != 1 || !strings.HasPrefix(faults[0].Meaning, "a link that leads to no session") || faults[0].Severity == model.Note {
		t.Errorf("%+v, %v", faults, err)
	}
}

// The folder of one session that lost its session.json opens as that session, and is
// mended.
func TestOpen_theFolderOfASessionThatLostItsFile(t *testing.T) {
	dir := t.TempDir()
	laid(t, dir, "session_basic")
	folder := filepath.Join(dir, "session_basic")
	was := storetest.Headers(t, open(t, folder), "basic")
	if err := os.Remove(filepath.Join(folder, "session.json")); err != nil {
		t.Fatal(err)
	}
	rest(t, dir)
	if why, ok, err := Kind(nil).Recognise(t.Context(), folder); !ok || err != nil {
		t.Fatalf("recognised %v: %q, %v", ok, why, err)
	}
	s := open(t, folder)
	if list := storetest.Headers(t, s, "basic"); len(list) != len(was) || list[0].ID != was[0].ID {
		t.Errorf("%v, and was %v", list, was)
	}
	faults := storetest.Faults(t, s, "basic")
	if !slices.ContainsFunc(faults, func(f model.Fault) bool {
		return f.Code == FaultSessionFile && f.File == "session.json" && f.Meaning == "there is no session.json"
	}) {
		t.Errorf("the doctor says %+v", faults)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "basic"}})
	apply(t, s, plan, err)
	if _, err := os.Stat(filepath.Join(folder, "session.json")); err != nil {
		t.Error(err)
	}
	if faults := storetest.Faults(t, open(t, folder), "basic"); len(model.Harmful(faults)) > 0 {
		t.Errorf("after the repair %+v", faults)
	}
}
