package kinds_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/keep"
	"hindcast/store/kinds"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
)

// besideStores are files of testdata that no store needs.
var besideStores = map[string]bool{"go.mod": true, "TABLE.txt": true, "go-events.jsonl": true}

// eachKept calls a function with a copy of each real store that is made of files, as it is found. Folders of agno are
// not kept yet.
func eachKept(t *testing.T, what func(t *testing.T, a *keep.Archive, found store.Found)) {
	t.Helper()
	all := addresses(t)
	for _, k := range bucketKinds(t) {
		for _, address := range all[k.Name] {
			info, err := os.Stat(address)
			if err != nil || !info.IsDir() && filepath.Ext(address) == ".db" {
				continue
			}
			t.Run(k.Name+" "+filepath.Base(address), func(t *testing.T) {
				at := filepath.Join(t.TempDir(), filepath.Base(address))
				if !info.IsDir() {
					data, err := os.ReadFile(address)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(at, data, 0o644); err != nil {
						t.Fatal(err)
					}
				} else if err := os.CopyFS(at, os.DirFS(address)); err != nil {
					t.Fatal(err)
				}
				a := kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
				t.Cleanup(func() {
					if err := a.Close(); err != nil {
						t.Error(err)
					}
				})
				what(t, a, store.Found{Identity: store.Identity{Kind: k, At: at}})
			})
		}
	}
}

// readAll returns the files below a path, with their modes and times.
func readAll(t *testing.T, at string) map[string]heldFile {
	t.Helper()
	all := map[string]heldFile{}
	err := filepath.WalkDir(at, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == journal.Folder {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() || besideStores[e.Name()] {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = heldFile{string(data), info.Mode(), info.ModTime().UnixNano()}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}

type heldFile struct {
	data     string
	mode     fs.FileMode
	modified int64
}

// TestKeep_everyFile keeps each real store: the archive has all its files, verifies, and has nothing to add when they
// are kept again. The files of the project around a store stay behind.
func TestKeep_everyFile(t *testing.T) {
	skip.Sequential(t)
	eachKept(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		all := readAll(t, found.At)
		done, err := a.Keep(t.Context(), found)
		if err != nil {
			t.Fatal(err)
		}
		if done.Files != len(all) || done.Changed != len(all) || done.Gone != 0 {
			t.Errorf("kept %+v of %d files", done, len(all))
		}
		source := a.Source(t.Context(), filepath.ToSlash(filepath.Dir(found.At)))
		defer source.Close()
		for path, want := range all {
			name, err := filepath.Rel(filepath.Dir(found.At), path)
			if err != nil {
				t.Fatal(err)
			}
			got, at, err := source.Tree().Read(filepath.ToSlash(name), nil)
			if err != nil || !bytes.Equal(got, []byte(want.data)) || at.Size != int64(len(want.data)) || at.Modified.UnixNano() != want.modified {
				t.Errorf("%s is not as it was: %v, %+v", name, err, at)
			}
		}
		verifySound(t, a, len(all))
		again, err := a.Keep(t.Context(), found)
		if err != nil || again.Files != len(all) || again.Added != 0 || again.Stored != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

func verifySound(t *testing.T, a *keep.Archive, files int) {
	t.Helper()
	v, err := a.Verify(context.Background())
	if err != nil || len(v.Damaged) > 0 || v.Files != files {
		t.Errorf("verified %+v of %d files: %v", v, files, err)
	}
}

// keptTranscript is the store of one transcript, which a test changes.
type keptTranscript struct {
	store.Found
	a    *keep.Archive
	file string
}

func keepTranscript(t *testing.T) *keptTranscript {
	t.Helper()
	dir := storetest.Copy(t, filepath.Join(testdata, "coding", "claude-code"))
	k, _ := allKinds.FindKind("claude-code")
	x := &keptTranscript{
		Found: store.Found{Identity: store.Identity{Kind: k, At: dir}},
		a:     kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, ""),
		file:  filepath.Join(dir, "projects", "-home-demo", "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789.jsonl"),
	}
	t.Cleanup(func() {
		if err := x.a.Close(); err != nil {
			t.Error(err)
		}
	})
	x.keep(t)
	return x
}

func (x *keptTranscript) keep(t *testing.T) home.Kept {
	t.Helper()
	done, err := x.a.Keep(t.Context(), x.Found)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (x *keptTranscript) write(t *testing.T, data []byte) {
	t.Helper()
	if err := os.WriteFile(x.file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// records returns lines of JSON of at least so many bytes, each with a random number.
func records(seed uint64, size int) (lines []byte) {
	random := rand.New(rand.NewPCG(seed, 0))
	for len(lines) < size {
		lines = fmt.Appendf(lines, `{"type":"system","uuid":"%x","n":%d}`+"\n", random.Uint64(), random.Uint64())
	}
	return lines
}

// TestKeep_again keeps a transcript that grows, that is changed in the middle, and that is replaced: each time what is
// new is added, and no more.
func TestKeep_again(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	first := records(1, 1<<20)
	x.write(t, first)
	if done := x.keep(t); done.Changed == 0 || done.Added != int64(len(first)) {
		t.Errorf("%d bytes: %+v", len(first), done)
	}
	more := records(2, 100_000)
	x.write(t, append(slices.Clone(first), more...))
	if done := x.keep(t); done.Added < int64(len(more)) || done.Added > int64(len(more))+16<<10 {
		t.Errorf("%d bytes more: %+v", len(more), done)
	}
	inserted := slices.Concat(first[:500_000], []byte("{}\n"), first[500_000:])
	x.write(t, inserted)
	if done := x.keep(t); done.Added == 0 || done.Added > 2*(256<<10) {
		t.Errorf("3 bytes in the middle: %+v", done)
	}
	x.write(t, first)
	if done := x.keep(t); done.Added > 256<<10 {
		t.Errorf("the first bytes again: %+v", done)
	}
	verifySound(t, x.a, len(readAll(t, x.At)))
}

// TestKeep_gone keeps a store, deletes a file of it, and puts the file back.
func TestKeep_gone(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	data, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(x.file); err != nil {
		t.Fatal(err)
	}
	for want := range 2 {
		if done := x.keep(t); done.Gone != 1-want {
			t.Errorf("gone: %+v", done)
		}
	}
	v, err := x.a.Verify(t.Context())
	if err != nil || v.Gone != 1 || len(v.Damaged) > 0 {
		t.Errorf("verified %+v, %v", v, err)
	}
	x.write(t, data)
	x.keep(t)
	if v, err = x.a.Verify(t.Context()); err != nil || v.Gone != 0 {
		t.Errorf("it is back: %+v, %v", v, err)
	}
}

// TestKeep_damaged changes each kind of byte in the archive: verify names the files, and no other.
func TestKeep_damaged(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	x.write(t, records(3, 1<<16))
	x.keep(t)
	if err := x.a.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(x.a.Path())
	if err != nil {
		t.Fatal(err)
	}
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd} // of zstd
	at := bytes.LastIndex(data, magic)
	if at < 0 {
		t.Fatal("no block is compressed")
	}
	data[at+2000] ^= 0x40
	file := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	a := kinds.Archive(file, nil, "")
	defer a.Close()
	v, err := a.Verify(t.Context())
	if err != nil || len(v.Damaged) == 0 || len(v.Damaged) == v.Files {
		t.Errorf("verified %+v, %v", v, err)
	}
}

// TestKeep_twoAtOnce has several programs keep one store at once, while its tool writes to it.
func TestKeep_twoAtOnce(t *testing.T) {
	x := keepTranscript(t)
	x.write(t, records(4, 3<<20))
	var keepers sync.WaitGroup
	for range 3 {
		keepers.Go(func() {
			a := kinds.Archive(x.a.Path(), nil, "")
			for range 3 {
				if _, err := a.Keep(t.Context(), x.Found); err != nil {
					t.Error(err)
				}
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	f, err := os.OpenFile(x.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(200) {
		if _, err := f.Write(records(5+i, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	keepers.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	x.keep(t)
	x.sameBytes(t, x.file)
	verifySound(t, x.a, len(readAll(t, x.At)))
}

// sameBytes compares a file with what is kept of it.
func (x *keptTranscript) sameBytes(t *testing.T, path string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source := x.a.Source(t.Context(), filepath.ToSlash(filepath.Dir(path)))
	defer source.Close()
	got, _, err := source.Tree().Read(filepath.Base(path), nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes are kept of %d: %v", path, len(got), len(want), err)
	}
}

// TestKeep_killed kills the program at random instants while it keeps: what was kept before stays, the archive is
// sound, and the next run goes on.
func TestKeep_killed(t *testing.T) {
	skip.Sequential(t)
	hindcast, random := program.Path(t), rand.New(rand.NewPCG(seedOf(t), 0))
	x := keepTranscript(t)
	files, within := len(readAll(t, x.At)), 0
	kept := filepath.Join(filepath.Dir(x.file), "e3826403-bf0d-4777-ba88-43b3f02bc184.jsonl")
	for i := range uint64(storetest.Sized(12, 100)) {
		x.write(t, records(100+i, 4<<20))
		run := exec.CommandContext(t.Context(), hindcast, "keep", x.At, "--to", x.a.Path())
		run.Env = append(os.Environ(), "HINDCAST_CACHE=off")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond)))) // the instant is drawn, whatever is under way then
		if err := run.Process.Kill(); err == nil {
			within++
		}
		_ = run.Wait() // it was killed, or had ended
		v, err := x.a.Verify(t.Context())
		if err != nil || len(v.Damaged) > 0 || v.Files != files {
			t.Fatalf("verified %+v, %v", v, err)
		}
		x.sameBytes(t, kept)
	}
	x.keep(t)
	x.sameBytes(t, x.file)
	t.Logf("%d killed", within)
}

// goneStores opens what is kept of a store and gone.
func goneStore(t *testing.T, a *keep.Archive, found store.Found) store.Store {
	t.Helper()
	list, err := a.ListGone(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != found.Name {
		t.Fatalf("gone are %v, %v", list, err)
	}
	s, err := list[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestKeep_goneIsRead deletes each real store that is kept: what is kept is read by its kind as the store was, and
// giving back each session leaves the very files that it had.
func TestKeep_goneIsRead(t *testing.T) {
	skip.Sequential(t)
	eachKept(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		if _, err := a.Keep(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		all, aside := readAll(t, found.At), found.At+".aside"
		if list, err := a.ListGone(t.Context()); err != nil || len(list) > 0 {
			t.Fatalf("gone are %v, %v", list, err)
		}
		if err := os.Rename(found.At, aside); err != nil {
			t.Fatal(err)
		}
		gone := goneStore(t, a, found)
		was, err := found.Kind.Open(t.Context(), aside)
		if err != nil {
			t.Fatal(err)
		}
		if found.Name == "aider" {
			sameChats(t, gone, was)
		} else {
			sameSessions(t, gone, was)
		}
		if err := was.Close(); err != nil {
			t.Fatal(err)
		}
		for _, info := range storetest.Sessions(t, gone) {
			if info.GoneSince.IsZero() {
				t.Errorf("%s is not gone", info.ID)
			}
		}
		giveAllBack(t, gone)
		back := readAll(t, found.At)
		for path, want := range all {
			if got, is := back[path]; !is {
				if !ofNoSession(path) {
					t.Errorf("%s is not back", path)
				}
			} else if got != want {
				t.Errorf("%s is %v %v, and was %v %v", path, got.mode, got.modified, want.mode, want.modified)
			}
			delete(back, path)
		}
		for path := range back {
			t.Errorf("%s was not there", path)
		}
		live, err := found.Kind.Open(t.Context(), found.At)
		if err != nil {
			t.Fatal(err)
		}
		if was, err = found.Kind.Open(t.Context(), aside); err != nil {
			t.Fatal(err)
		}
		if found.Name != "aider" {
			sameSessions(t, live, was)
		}
		if err := errors.Join(was.Close(), live.Close()); err != nil {
			t.Fatal(err)
		}
		if left := storetest.Sessions(t, gone); len(left) > 0 {
			t.Errorf("%d sessions are gone still", len(left))
		}
		undoAll(t, gone, all)
	})
}

// giveAllBack gives every gone session back.
func giveAllBack(t *testing.T, gone store.Store) {
	t.Helper()
	for _, info := range storetest.Sessions(t, gone) {
		plan, err := gone.Features().Plan(t.Context(), model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: info.ID}})
		if errors.Is(err, model.ErrNoSession) {
			continue // it came back with another
		}
		if err == nil {
			_, err = gone.Features().Apply(t.Context(), plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// undoAll takes back all that was given back: none of the files that the journal has is left. Given back again, each is as it was.
func undoAll(t *testing.T, gone store.Store, all map[string]heldFile) {
	t.Helper()
	entries, err := gone.Features().Journal(t.Context())
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	written := map[string]bool{}
	for _, e := range entries {
		for _, f := range e.Files {
			written[filepath.Base(f.Path)] = e.Op == model.OpGiveBack
		}
	}
	there := func(want bool) {
		t.Helper()
		for path, was := range all {
			data, err := os.ReadFile(path)
			if is := err == nil && string(data) == was.data; written[filepath.Base(path)] && is != want {
				t.Errorf("%s: %v, %v", path, is, err)
			}
		}
	}
	there(true)
	for range entries {
		plan, err := gone.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err == nil {
			_, err = gone.Features().Apply(t.Context(), plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	there(false)
	giveAllBack(t, gone)
	there(true)
}

// TestKeep_inTheWay lays another file in the way of each real session that is gone: it becomes a new session with the same messages,
// which an undo takes away, or the kind says why not. The other file stays.
func TestKeep_inTheWay(t *testing.T) {
	skip.Sequential(t)
	made := map[string]int{}
	eachKept(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		if _, err := a.Keep(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(found.At); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Keep(t.Context(), found); err == nil {
			t.Fatal("nothing is there, and is kept")
		}
		gone := goneStore(t, a, found)
		list := storetest.Sessions(t, gone)
		for _, info := range list[:min(len(list), storetest.Sized(4, len(list)))] {
			giveAnew(t, gone, info.ID, made)
		}
	})
	for _, kind := range []string{"claude-code", "codex", "copilot-cli", "droid", "gemini-cli", "genkit", "kimi", "openhands", "pi", "qwen", "strands", "strands-snapshots"} {
		if made[kind] == 0 {
			t.Errorf("%s: nothing became a new session", kind)
		}
	}
	t.Log(made)
}

// giveAnew gives a session back beside another file, and undoes that.
func giveAnew(t *testing.T, gone store.Store, session string, made map[string]int) {
	t.Helper()
	change := model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: session}}
	plan, err := gone.Features().Plan(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimPrefix(gone.Address(), home.KeptScheme)
	largest := slices.MaxFunc(plan.Files, func(a, b model.PlanFile) int { return int(a.Size - b.Size) })
	other := filepath.Join(at, filepath.FromSlash(largest.Path))
	if filepath.IsAbs(largest.Path) {
		other = filepath.FromSlash(largest.Path)
	}
	err = os.MkdirAll(filepath.Dir(other), 0o700)
	if err == nil {
		err = os.WriteFile(other, []byte("{}\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(at)
	was := readAll(t, at)
	plan, err = gone.Features().Plan(t.Context(), change)
	if errors.As(err, new(*model.UnsupportedError)) {
		if !strings.Contains(err.Error(), "another file now, and nothing is written over it, and it cannot become a new session: ") {
			t.Errorf("%s: %v", session, err)
		}
		return
	}
	if errors.Is(err, model.ErrNoSession) { // the tool has another one of that name now
		return
	}
	if err == nil {
		_, err = gone.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Errorf("%s: %v", session, err)
		return
	}
	if plan.NewSession == "" { // it was a file beside the session, which is read without it
		return
	}
	live, _, err := liveOf(t, gone)
	if err != nil {
		t.Errorf("%s: %v", session, err)
		return
	}
	defer live.Close()
	list := storetest.Headers(t, live, plan.NewSession)
	head := slices.IndexFunc(list, func(h model.Header) bool { return h.Head })
	kept, err := gone.State(t.Context(), plan.Ref(plan.Target))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := wordsOf(t, stateOf(t, live, &list[head])), wordsOf(t, kept); !slices.Equal(got, want) {
		t.Errorf("%s: the new session has\n%q\nand not\n%q", session, got, want)
	}
	undo, err := live.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err == nil {
		_, err = live.Features().Apply(t.Context(), undo)
	}
	if err != nil {
		t.Errorf("%s: %v", session, err)
	}
	if now := readAll(t, at); !maps.Equal(now, was) {
		t.Errorf("%s: an undo leaves %v of %v", session, slices.Collect(maps.Keys(now)), slices.Collect(maps.Keys(was)))
	}
	made[gone.Kind()]++
}

// liveOf opens the store of a tool that has sessions which are gone.
func liveOf(t *testing.T, gone store.Store) (store.Store, string, error) {
	t.Helper()
	at := strings.TrimPrefix(gone.Address(), home.KeptScheme)
	k, _ := allKinds.FindKind(gone.Kind())
	live, err := k.Open(t.Context(), at)
	return live, at, err
}

// wordsOf returns the texts of the messages in a state.
func wordsOf(t *testing.T, state []byte) (words []string) {
	t.Helper()
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	talk := handover.New(&handover.Source{Conversation: conversation.Decode(tape), At: func(int) time.Time { return time.Time{} }}, "")
	for _, m := range talk.Messages {
		for _, p := range m.Parts {
			words = append(words, fmt.Sprint(p.Kind, p.Text))
		}
	}
	return words
}

// TestKeep_watch keeps what is written while the program watches, and ends by a signal with all of it whole.
func TestKeep_watch(t *testing.T) {
	hindcast := program.Path(t)
	x := keepTranscript(t)
	run := exec.CommandContext(t.Context(), hindcast, "keep", x.At, "--to", x.a.Path(), "--watch")
	run.Env = append(os.Environ(), "HINDCAST_CACHE=off")
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), " new in ") {
				return
			}
		}
		t.Fatal("the program ended")
	}
	next()
	for i := range uint64(3) {
		x.write(t, records(i, 50_000))
		next()
	}
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	x.keep(t)
	x.sameBytes(t, x.file)
	verifySound(t, x.a, len(readAll(t, x.At)))
}

// A store of files that is not kept is not called a database.
func TestKeep_inPlace(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	for _, address := range addresses(t)["agno"] {
		info, err := os.Stat(address)
		if err != nil {
			t.Fatal(err)
		}
		k, _ := allKinds.FindKind("agno")
		_, err = x.a.Keep(t.Context(), store.Found{Identity: store.Identity{Kind: k, At: address}})
		if info.IsDir() != (err != nil && strings.Contains(err.Error(), "read in place alone")) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestKeep_forget removes a session from the archive: its bytes are in no file of that, those of the others are as they were, and it is not
// kept again.
func TestKeep_forget(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	const session, mark = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", "a-word-that-no-other-file-has"
	random := rand.New(rand.NewPCG(1, 0))
	noise := make([]byte, 300_000) // so that it is stored as it is
	for i := range noise {
		noise[i] = byte(random.Uint64())
	}
	beside := filepath.Join(strings.TrimSuffix(x.file, ".jsonl"), "tool-results", "a.txt")
	err := os.MkdirAll(filepath.Dir(beside), 0o700)
	for i := 0; i < 2 && err == nil; i++ { // a version before, too
		noise = append(slices.Clone(noise[10_000:]), mark...)
		if err = os.WriteFile(beside, noise, 0o600); err == nil {
			x.keep(t)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	inArchive := func() (n int) {
		paths, err := filepath.Glob(x.a.Path() + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(data, []byte(mark))
		}
		return n
	}
	if inArchive() == 0 {
		t.Fatal("the text is not in the archive before, as it is")
	}
	was := readAll(t, x.At)
	s, err := x.a.OpenKept(t.Context(), x.Found)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpForget, Ref: model.Ref{Session: session}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Files) != 2 || len(plan.Asks) == 0 || plan.CanBeUndone() {
		t.Errorf("the plan is %+v", plan)
	}
	if _, err := s.Features().Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := inArchive(); n > 0 {
		t.Errorf("the text is in the archive %d times", n)
	}
	if now := readAll(t, x.At); !maps.Equal(now, was) {
		t.Error("the files of the tool are not as they were")
	}
	x.keep(t)
	verifySound(t, x.a, len(was)-2)
	for path := range was {
		if path != x.file && path != beside {
			x.sameBytes(t, path)
		}
	}
}

// TestKeep_forgetAlone forgets a session of each real store: the others stay as they were, or it is refused because they are in the same file.
func TestKeep_forgetAlone(t *testing.T) {
	skip.Sequential(t)
	refused, forgotten := 0, 0
	defer func() {
		if t.Logf("%d forgotten, %d refused", forgotten, refused); forgotten < 2*refused {
			t.Error("more is refused than before")
		}
	}()
	eachKept(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		if _, err := a.Keep(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		s, err := a.OpenKept(t.Context(), found)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		live, err := found.Kind.Open(t.Context(), found.At)
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		list := storetest.Sessions(t, live)
		session := list[0].ID
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpForget, Ref: model.Ref{Session: session}})
		if errors.As(err, new(*model.UnsupportedError)) && len(list) > 1 {
			t.Log(err)
			refused++
			return
		}
		forgotten++
		if err == nil {
			_, err = s.Features().Apply(t.Context(), plan)
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Verify(t.Context())
		if err != nil || len(v.Damaged) > 0 {
			t.Errorf("verified %+v, %v", v, err)
		}
		rest, err := a.OpenKept(t.Context(), found)
		if err != nil {
			t.Fatal(err)
		}
		defer rest.Close()
		for h, err := range rest.Headers(t.Context(), session) {
			if err == nil {
				t.Fatalf("%s is kept still: %+v", session, h)
			}
		}
	})
}

// ofNoSession reports whether a file of a Genkit project may belong to none of its sessions: what describes a running
// process, traces of other flows, and what was laid beside the sessions by hand.
func ofNoSession(path string) bool {
	name := filepath.Base(path)
	dir := filepath.Base(filepath.Dir(path))
	return dir == "runtimes" || dir == "traces" || strings.HasPrefix(name, "sample-") || strings.HasPrefix(name, "go-") || name == "orphan-output.json"
}

// sameSessions compares the states of two stores.
func sameSessions(t *testing.T, got, want store.Store) {
	t.Helper()
	sessions := storetest.Sessions(t, want)
	if n := len(storetest.Sessions(t, got)); n != len(sessions) {
		t.Errorf("%d sessions, and there were %d", n, len(sessions))
	}
	for _, info := range sessions {
		list := storetest.Headers(t, want, info.ID)
		if now := storetest.Headers(t, got, info.ID); !reflect.DeepEqual(now, list) {
			t.Errorf("%s: the headers are\n%+v\nand not\n%+v", info.ID, now, list)
			continue
		}
		for i := range list {
			if !bytes.Equal(stateOf(t, got, &list[i]), stateOf(t, want, &list[i])) {
				t.Errorf("%s #%d is another state", info.ID, i)
			}
		}
	}
}
