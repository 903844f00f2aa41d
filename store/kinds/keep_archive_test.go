package kinds_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/keep"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// The archive kept-v1.db.gz was written by hindcast as of the commit before the second version of the schema, ba5ab332 with 0af4f307
// behind it, by these runs on two sessions of testdata/coding/claude-code in /tmp/hindcast-v1/.claude and a third, e3826403:
//
//	hindcast keep     8512ee6c is its first 5,000 bytes
//	hindcast keep     8512ee6c is whole, behind a line of type summary
//	hindcast keep     09188a36 is deleted
//	hindcast forget   e3826403
const (
	firstVersion = "testdata/kept-v1.db.gz"
	firstFolder  = "/tmp/hindcast-v1/.claude"
)

// unpackedArchive returns a copy of the archive of the first version.
func unpackedArchive(t *testing.T) *keep.Archive {
	t.Helper()
	packed, err := os.Open(firstVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	var data []byte
	from, err := gzip.NewReader(packed)
	if err == nil {
		data, err = io.ReadAll(from)
	}
	at := filepath.Join(t.TempDir(), "kept.db")
	if err == nil {
		err = os.WriteFile(at, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := kinds.Archive(at, nil, "")
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// versionOf returns the version of the schema of an archive.
func versionOf(t *testing.T, a *keep.Archive) string {
	t.Helper()
	return rowstest.Query(t, a.Path(), "SELECT user_version || ' ' || (SELECT count(*) FROM pragma_table_info('files') WHERE name = 'redacted') FROM pragma_user_version")[0]
}

// TestKeep_firstVersion reads an archive of the first version of the schema, makes it one of the newest and keeps into it, whichever comes
// first: what it had stays as it was.
func TestKeep_firstVersion(t *testing.T) {
	skip.Sequential(t)
	if _, err := os.Stat(filepath.Dir(firstFolder)); err == nil {
		skip.Missing(t, firstFolder+" exists")
	}
	sessions := map[string]string{"09188a36-6a9c-4dbd-922b-6d199b42ded1": "", "8512ee6c-4947-4b66-aaa1-6778e7c025d6": `{"type":"summary","summary":"other"}` + "\n"}
	dir := storetest.Copy(t, filepath.Join(testdata, "coding", "claude-code"))
	k, _ := allKinds.FindKind("claude-code")
	reads := func(t *testing.T, a *keep.Archive) {
		gone := goneStore(t, a, store.Found{Identity: store.Identity{Kind: k, At: firstFolder}})
		var ids []string
		for _, info := range storetest.Sessions(t, gone) {
			ids = append(ids, info.ID)
			plan, err := gone.Features().Plan(t.Context(), model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: info.ID}})
			own := func(f model.PlanFile) bool { return strings.Contains(f.Path, info.ID) && f.Does == model.FilePutBack }
			if err != nil || !slices.ContainsFunc(plan.Files, own) || plan.NewSession != "" {
				t.Errorf("%s: the plan is %+v, %v", info.ID, plan, err)
			}
		}
		if slices.Sort(ids); len(ids) != len(sessions) {
			t.Errorf("gone are %q", ids)
		}
		source := a.Source(t.Context(), firstFolder+"/projects/-home-demo")
		for id, before := range sessions {
			want, err := os.ReadFile(filepath.Join(testdata, "coding", "claude-code", "projects", "-home-demo", id+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := source.Tree().Read(id+".jsonl", nil); err != nil || string(got) != before+string(want) {
				t.Errorf("%s: %d bytes are kept, and %d were: %v", id, len(got), len(want), err)
			}
		}
	}
	keeps := func(t *testing.T, a *keep.Archive) {
		all := readAll(t, dir)
		done, err := a.Keep(t.Context(), store.Found{Identity: store.Identity{Kind: k, At: dir}})
		if err != nil || done.Files != len(all) {
			t.Fatalf("kept %+v of %d files, %v", done, len(all), err)
		}
		var size int64
		for path, f := range all {
			if !strings.Contains(path, "09188a36") { // all of its bytes are in the archive
				size += int64(len(f.data))
			}
		}
		if done.Added > size {
			t.Errorf("%d bytes are new of %d", done.Added, size)
		}
	}
	for name, steps := range map[string][]func(*testing.T, *keep.Archive){"read first": {reads, keeps, reads}, "kept into first": {keeps, reads}} {
		t.Run(name, func(t *testing.T) {
			a := unpackedArchive(t)
			verifySound(t, a, len(sessions))
			if v := versionOf(t, a); v != "1 0" {
				t.Fatalf("it is of the version %s", v)
			}
			for _, step := range steps {
				step(t, a)
				if v := versionOf(t, a); v != "2 1" {
					t.Errorf("it is of the version %s then", v)
				}
			}
			verifySound(t, a, len(sessions)+len(readAll(t, dir)))
		})
	}
}

// TestKeep_versionUnknown refuses an archive of a version that comes later, and leaves it as it is.
func TestKeep_versionUnknown(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	if err := x.a.Close(); err != nil {
		t.Fatal(err)
	}
	rowstest.Execute(t, x.a.Path(), "PRAGMA user_version = 3")
	was, err := os.ReadFile(x.a.Path())
	if err != nil {
		t.Fatal(err)
	}
	a := kinds.Archive(x.a.Path(), nil, "")
	defer a.Close()
	_, keeping := a.Keep(t.Context(), x.Found)
	_, listing := a.ListGone(t.Context())
	_, verifying := a.Verify(t.Context())
	for what, err := range map[string]error{"keep": keeping, "list": listing, "verify": verifying} {
		if !errors.Is(err, keep.ErrForeign) || !strings.Contains(err.Error(), "its version 3") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, err := os.ReadFile(x.a.Path()); err != nil || !bytes.Equal(now, was) {
		t.Errorf("it is another file: %v", err)
	}
}

// TestKeep_damagedRows changes one byte of a row that is kept: verify names its session, and no other.
func TestKeep_damagedRows(t *testing.T) {
	skip.Sequential(t)
	a, found := keptThreads(t)
	all := listRows(t, found.Name, found.At)
	one := all[len(all)/2].ID
	random := rand.New(rand.NewPCG(7, 0))
	noise := make([]byte, 400_000) // so that it is stored as it is
	for i := range noise {
		noise[i] = byte(random.Uint64())
	}
	rowstest.Execute(t, found.At, "UPDATE checkpoints SET metadata = x'"+hex.EncodeToString(noise)+"' WHERE rowid = (SELECT min(rowid) FROM checkpoints WHERE thread_id = '"+one+"')")
	if _, err := a.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(a.Path())
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, noise[200_000:200_032])
	if at < 0 {
		t.Fatal("the bytes are not in the archive as they are")
	}
	data[at] ^= 1
	file := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := kinds.Archive(file, nil, "")
	defer damaged.Close()
	want := []string{filepath.ToSlash(found.At) + ": session " + one}
	if v, err := damaged.Verify(t.Context()); err != nil || !slices.Equal(v.Damaged, want) {
		t.Errorf("damaged are %q, and not %q: %v", v.Damaged, want, err)
	}
}

// TestKeep_wholeDatabase deletes each real database as a whole, with its folder, and gives every session of it back: it is there again with
// the rows that the sessions had, and with the permissions that it had.
func TestKeep_wholeDatabase(t *testing.T) {
	skip.Sequential(t)
	back := map[string]int{}
	eachTables(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		if info, err := os.Stat(found.At); err != nil || info.IsDir() {
			return // a tool reads these, and does not take rows back
		}
		if back[found.Name] > 0 && storetest.Sized(0, 1) == 0 {
			return
		}
		if err := os.Chmod(found.At, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Keep(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		was := rowsOf(t, found.At)
		aside := filepath.Join(t.TempDir(), "aside")
		if err := os.Rename(filepath.Dir(found.At), aside); err != nil {
			t.Fatal(err)
		}
		before, err := found.Kind.Open(t.Context(), filepath.Join(aside, filepath.Base(found.At)))
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		gone := goneStore(t, a, found)
		list := storetest.Sessions(t, gone)
		for i, info := range list {
			plan, err := gone.Features().Plan(t.Context(), model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: info.ID}})
			if errors.As(err, new(*model.UnsupportedError)) || errors.Is(err, model.ErrNoSession) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", info.ID, err)
			}
			if i == 0 {
				if plan.CanBeUndone() || len(plan.Hazards) != 1 || !strings.Contains(plan.Hazards[0], "an undo leaves it") || len(plan.Files) != 1 || plan.Files[0].Path != found.At {
					t.Errorf("the plan is %+v", plan)
				}
			}
			if _, err = gone.Features().Apply(t.Context(), plan); err != nil {
				t.Fatalf("%s: %v", info.ID, err)
			}
			if i == 0 { // what was planned before the database was there is not written over it
				if _, err := gone.Features().Apply(t.Context(), plan); !errors.As(err, new(*keep.TakenError)) {
					t.Errorf("%s: it was made twice: %v", info.ID, err)
				}
			}
			back[found.Name]++
		}
		if back[found.Name] == 0 {
			return
		}
		sameRows(t, found.At, rowsOf(t, found.At), was)
		if info, err := os.Stat(found.At); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("it is %v, %v", info.Mode(), err)
		}
		live, err := found.Kind.Open(t.Context(), found.At)
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		sameSessions(t, live, before)
	})
	for _, kind := range []string{"langgraph", "deepagents", "adk", "openai-agents", "crewai", "agno"} {
		if back[kind] == 0 {
			t.Errorf("%s: nothing was given back", kind)
		}
	}
}
