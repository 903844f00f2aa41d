package codex

import (
	"os"
	"path/filepath"
	"testing"

	"hindcast/store/engine"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Rollouts that a plan would take away or put back are remembered for that plan alone, in whatever folder they are.
func TestNames_ofAPlan(t *testing.T) {
	const older, newer, own = "sessions/2026/11/22", "sessions/2026/11/24", "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb"
	first, segment := older+"/rollout-2026-11-22T11-13-12-"+own+".jsonl", older+"/rollout-2026-11-22T11-16-57-"+own+"_01a202f9-38a4-77c2-a26c-57d3ac9e67d0.jsonl"
	other := newer + "/rollout-2026-11-24T02-53-19-01a20b78-dc00-79e0-9ac6-379f53c933d9.jsonl"
	for name, files := range map[string][]string{"among others": {first, segment, other}, "alone": {first, segment}} {
		dir := t.TempDir()
		for _, file := range files {
			if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(older)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, filepath.FromSlash(file))), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, filepath.FromSlash(file)), "")
		}
		disk, err := tree.OpenDisk(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer disk.Close()
		f := newFormat(dir)
		hold := func(what string, in engine.In, want int) {
			t.Helper()
			n, err := f.currentNames(t.Context(), in)
			if err != nil || len(n.of) != want {
				t.Errorf("%s, %s: %d rollouts, want %d: %v", name, what, len(n.of), want, err)
			}
		}
		away := tree.Steps{{Name: first, Aside: true}, {Name: segment, Aside: true}}
		if name == "alone" {
			away = append(away, tree.Step{Name: older, Aside: true}, tree.Step{Name: "sessions/2026/11", Aside: true}, tree.Step{Name: "sessions/2026", Aside: true}, tree.Step{Name: "sessions", Aside: true})
		}
		on, n := engine.In{Tree: disk}, len(files)
		hold("as they are", on, n)
		hold("taken away", engine.In{Tree: tree.Overlay(disk, away, nil), There: true}, n-2)
		hold("as they still are", on, n)
		more := older + "/rollout-2026-11-22T11-17-00-01a202f9-43e7-7150-bda8-9bf39f905bf9.jsonl"
		hold("put back", engine.In{Tree: tree.Overlay(disk, tree.Steps{{Name: more, Version: journal.Version{SHA256: "x", Size: 1}}}, nil), There: true}, n+1)
		hold("as they are after all", on, n)
	}
}

// A storage in which nothing was as yet is listed again as soon as it has a session.
func TestNames_ofAnEmptyStorage(t *testing.T) {
	dir := t.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	f, in := newFormat(dir), engine.In{Tree: disk}
	for want, file := range []string{"", "sessions/2026/11/22/rollout-2026-11-22T11-13-12-01a202f5-bfd0-70d1-aab1-5dc3e55b81bb.jsonl"} {
		if at := filepath.Join(dir, filepath.FromSlash(file)); file != "" {
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, at, "")
		}
		if n, err := f.currentNames(t.Context(), in); err != nil || len(n.of) != want {
			t.Errorf("%d rollouts, want %d: %v", len(n.of), want, err)
		}
	}
}
