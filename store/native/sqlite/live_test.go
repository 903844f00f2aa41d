package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// Another program is this test's binary, which does what it is told on its
// standard input, a line at a time, and answers each with a line.
const otherProgram = "HINDCAST_TEST_PROGRAM"

// answer is a line of the other program.
type answer struct {
	Revision typed.Revision
	State    json.RawMessage      `json:",omitempty"`
	Conflict *model.ConflictError `json:",omitempty"`
	Error    string               `json:",omitempty"`
}

func TestOtherProgram(t *testing.T) {
	path := os.Getenv(otherProgram)
	if path == "" {
		t.Skip("it plays the other program for tests of two")
	}
	s := openStore(t, path)
	w := &program{store: s}
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var err error
		switch word, state, _ := strings.Cut(lines.Text(), " "); word {
		case "load":
			err = w.load(t.Context())
		case "commit":
			err = w.commit(t.Context(), state)
		case "close":
			err = s.Close()
		}
		a := answer{Revision: w.at}
		if w.data != nil {
			a.State = w.data.State
		}
		if err != nil && !errors.As(err, &a.Conflict) {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
}

// program is one that commits the session "s".
type program struct {
	store *sqlite.Store
	data  *model.Data[json.RawMessage]
	at    typed.Revision
}

func (p *program) load(ctx context.Context) (err error) {
	p.data, p.at, err = p.store.Load(ctx, "s")
	return err
}

func (p *program) commit(ctx context.Context, state string) error {
	last := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "s", State: json.RawMessage(state), CreatedAt: time.Now()}
	if p.data != nil {
		last.ParentID, last.Index = p.data.LastSnapshot.ID, p.data.LastSnapshot.Index+1
	}
	data := &model.Data[json.RawMessage]{ID: "s", State: last.State, LastSnapshot: last}
	at, err := p.store.Commit(ctx, data, p.at)
	if err == nil {
		p.data, p.at = data, at
	}
	return err
}

// other starts another program on a store. tell gives it a line and waits for
// its answer; end waits until it is gone.
func other(t *testing.T, path string) (tell func(line string) answer, end func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOtherProgram$")
	cmd.Env = append(os.Environ(), otherProgram+"="+path)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	tell = func(line string) (a answer) {
		t.Helper()
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
		text, err := said.ReadString('\n')
		if err == nil {
			err = json.Unmarshal([]byte(text), &a)
		}
		if err != nil || a.Error != "" {
			t.Fatalf("the other program answers %q with %q, %v", line, text, err)
		}
		return a
	}
	end = func() {
		t.Helper()
		closeErr := in.Close()
		rest, readErr := io.ReadAll(said)
		if err := errors.Join(closeErr, readErr, cmd.Wait()); err != nil {
			t.Fatalf("the other program ends with %v: %s", err, rest)
		}
	}
	return tell, end
}

// TestOpenOrCreate_ofAnOpenStore: a program that asks for its store twice keeps SQLite's locks
// on it. Without them another program that comes and goes would take the log away, and with it
// whatever the first one writes from then on.
func TestOpenOrCreate_ofAnOpenStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.OpenOrCreate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	if err := (&program{store: s}).commit(t.Context(), `"a"`); err != nil {
		t.Fatal(err)
	}
	held := func() (locks []string) {
		// 1: POSIX  ADVISORY  READ 1234 00:2f:5678 1073741826 1073742335
		listed, err := os.ReadFile("/proc/locks")
		if err != nil {
			skip.Missing(t, "the system does not list locks: %v", err)
		}
		for line := range strings.Lines(string(listed)) {
			if words := strings.Fields(line); slices.Contains(words, strconv.Itoa(os.Getpid())) {
				locks = append(locks, strings.Join(words[1:], " "))
			}
		}
		slices.Sort(locks)
		return slices.Compact(locks) // what changes while it is listed is listed twice
	}
	before := held()
	again, err := sqlite.OpenOrCreate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, again)
	if after := held(); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("the program held %q and holds %q", before, after)
	}
}

// TestCommit_twoProgramsOnOneSession: whichever comes second is told of the
// first, and overwrites nothing.
func TestCommit_twoProgramsOnOneSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	mine := &program{store: s}
	if err := mine.commit(t.Context(), `"a"`); err != nil {
		t.Fatal(err)
	}
	tell, end := other(t, path)
	if a := tell("load"); a.Revision != mine.at || string(a.State) != `"a"` {
		t.Errorf("the other program loads %+v", a)
	}
	if err := mine.commit(t.Context(), `"mine"`); err != nil {
		t.Fatal(err)
	}
	before := storetest.Dump(t, s)
	id := func(state string) string { return model.SnapshotID([]byte(state)) }
	want := model.ConflictError{Session: "s", Head: model.Point{ID: id(`"mine"`), Index: 1}, Expected: model.Point{ID: id(`"a"`)}}
	if a := tell(`commit "theirs"`); a.Conflict == nil || *a.Conflict != want {
		t.Errorf("the other program's commit gives %+v, want %+v", a, want)
	}
	if after := storetest.Dump(t, s); after != before {
		t.Errorf("the store holds\n%s\nwant\n%s", after, before)
	}
	tell("load")
	if a := tell(`commit "theirs"`); a.Conflict != nil || a.Revision == mine.at {
		t.Errorf("its second commit gives %+v", a)
	}
	before = storetest.Dump(t, s)
	want = model.ConflictError{Session: "s", Head: model.Point{ID: id(`"theirs"`), Index: 2}, Expected: model.Point{ID: id(`"mine"`), Index: 1}}
	conflict := (*model.ConflictError)(nil)
	if err := mine.commit(t.Context(), `"again"`); !errors.As(err, &conflict) || *conflict != want {
		t.Errorf("my commit gives %v, want %+v", err, want)
	}
	if after := storetest.Dump(t, s); after != before {
		t.Errorf("the store holds\n%s\nwant\n%s", after, before)
	}
	end()
	if err := mine.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := mine.commit(t.Context(), `"again"`); err != nil {
		t.Error(err)
	}
}

// until waits for values of a watch until what it looks at is as it should be.
func until(t *testing.T, changes <-chan struct{}, what string, done func() bool) {
	t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case <-changes:
			if done() {
				return
			}
		case <-deadline:
			t.Fatalf("nobody tells that %s", what)
		}
	}
}

// TestWatch_anotherProgramComesAndGoes: it is seen to come, write and go, and
// can tidy up as if nobody had looked.
func TestWatch_anotherProgramComesAndGoes(t *testing.T) {
	path := filled(t)
	untouched := directory(t, filepath.Dir(path))
	reader := openStore(t, path)
	changes, err := reader.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := reader.Cursor(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if after := directory(t, filepath.Dir(path)); after != untouched {
		t.Errorf("the directory was\n%s\nand is\n%s", untouched, after)
	}
	tell, end := other(t, path)
	tell("load")
	// A look while it writes is of the state before or after.
	sees := func(revision typed.Revision) func() bool {
		return func() bool {
			_, at, err := reader.Load(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			return at == revision
		}
	}
	for i := range 5 {
		a := tell(fmt.Sprintf("commit [%d]", i))
		until(t, changes, "another program has written", sees(a.Revision))
		beside := directory(t, filepath.Dir(path))
		if g, err := reader.Growth(t.Context(), "t", cursor); err != nil || g.Rewritten || len(g.Headers) != 0 {
			t.Errorf("in a session that nobody wrote to %+v is new, %v", g, err)
		}
		if after := directory(t, filepath.Dir(path)); after != beside {
			t.Errorf("beside the writer the directory was\n%s\nand is\n%s", beside, after)
		}
	}
	last := tell("load").Revision
	tell("close")
	until(t, changes, "another program is gone", func() bool { return !strings.Contains(directory(t, filepath.Dir(path)), "-wal") })
	if !sees(last)() {
		t.Error("its last word is lost")
	}
	end()
	tidy := directory(t, filepath.Dir(path))
	if strings.Contains(tidy, "-shm") {
		t.Errorf("the directory is\n%s", tidy)
	}
}

// TestWatch_fileIsReplaced: a file put in the place of the store is seen, and
// what was read of the other is no beginning of it.
func TestWatch_fileIsReplaced(t *testing.T) {
	grown := func(states ...string) string {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := sqlite.Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		p := &program{store: s}
		for _, state := range states {
			if err := p.commit(t.Context(), state); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)
		return path
	}
	path, twin := grown(`"a"`, `"b"`), grown(`"x"`, `"y"`, `"z"`)
	reader := openStore(t, path)
	changes, err := reader.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := reader.Cursor(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(twin, path); err != nil {
		t.Fatal(err)
	}
	var g store.Growth
	until(t, changes, "the file was replaced", func() bool {
		g, err = reader.Growth(t.Context(), "s", cursor)
		if err != nil {
			t.Fatal(err)
		}
		return g.Rewritten || len(g.Headers) > 0
	})
	if !g.Rewritten {
		t.Errorf("another session is said to have grown from this one: %+v", g)
	}
	if g, err = reader.Growth(t.Context(), "s", g.Cursor); err != nil || g.Rewritten || len(g.Headers) != 0 {
		t.Errorf("nothing new is %+v, %v", g, err)
	}
}
