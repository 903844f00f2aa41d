//go:build unix

package kinds_test

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
)

// killsWanted is how often each kind of store is killed. HINDCAST_KILLS says how
// often all of them are together.
func killsWanted(t *testing.T, kinds int) int {
	if text := os.Getenv("HINDCAST_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return (n + kinds - 1) / kinds
	}
	if testing.Short() {
		return 10
	}
	return storetest.Sized(24, 60)
}

// victims are the stores that are killed: a folder below testdata, the session,
// and how the program finds it.
var victims = []struct{ path, session string }{
	{"strands/python-file", "basic"},
	{"strands/python-snapshot", "every-turn"},
	{"strands/typescript/unified", "branching"},
	{"genkit/go-1.13.1/barista", "sess-main"},
	{"langgraph/agent.db", "tour"},
	{"adk/database_service.db", "tour_app/u1/tour"},
	{"adk/sqlite_service.db", "tour_app/u1/tour"},
	{"openaiagents/sqlite_session.db", "tour"},
	{"crewai/checkpoints.db", "tour-77f0b5ae"},
	{"", "trip-planner"}, // the demo, in SQLite
}

// The program is killed at random instants while it writes. Whatever it was doing,
// whoever opens the store next finds the session as it was or as it was to be,
// every snapshot still there, and a journal by which everything can be taken back
// to the first byte.
func TestWrites_killedAtAnyInstant(t *testing.T) {
	skip.Sequential(t)
	hindcast, seed := program.Path(t), seedOf(t)
	for i, v := range victims {
		t.Run(strings.ReplaceAll(v.path+" "+v.session, "/", "-"), func(t *testing.T) {
			t.Parallel()
			k := &killing{hindcast: hindcast, session: v.session, random: rand.New(rand.NewPCG(seed, uint64(i)))}
			wanted := killsWanted(t, len(victims))
			// A journal grows; each store takes part for a while. On a fast disk it takes
			// more kills until one falls within a write; where files are in memory hardly
			// any does, so that only the figures demand it.
			for (k.kills < wanted || k.within == 0 && k.kills < storetest.Sized(4, 20)*wanted) && !t.Failed() {
				k.begin(t, v.path)
				for range min(100, max(wanted-k.kills, 10)) {
					if k.write(t); t.Failed() {
						return
					}
				}
				k.takeAllBack(t)
			}
			t.Logf("%d kills: %d before anything was written, %d within the write, %d too late", k.kills, k.before, k.within, k.after)
			if k.within < storetest.Sized(0, 1) {
				t.Errorf("none of %d kills fell within a write", k.kills)
			}
		})
	}
}

// killing is a store at which the program is killed again and again.
type killing struct {
	hindcast, dir, session string
	random                 *rand.Rand
	// first are the files and the snapshots that there were in the beginning.
	first  map[string]string
	tables string // of a file that another program writes
	known  []string
	lasts  time.Duration // how long a write takes that is not killed
	forks  int
	kills  int
	before int // anything was written
	within int // the write: the next opening had something to finish
	after  int
}

// begin takes a new copy of the store.
func (k *killing) begin(t *testing.T, path string) {
	t.Helper()
	if path == "" {
		dir := t.TempDir()
		hindcastRuns(t, "", "demo", dir)
		k.dir = filepath.Join(dir, "hindcast-demo.db")
	} else {
		k.dir = storetest.Copy(t, filepath.Join(testdata, path))
	}
	k.first = k.tree(t)
	if k.tables = ""; path != "" && len(k.first) == 0 {
		k.tables = storetest.Tables(t, k.dir)
	}
	s := k.open(t)
	k.known = nil
	for _, h := range storetest.Headers(t, s, k.session) {
		k.known = append(k.known, h.ID)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func (k *killing) open(t *testing.T) store.Store {
	t.Helper()
	s, err := allKinds.Open(t.Context(), k.dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tree returns the digest of every file of the store, Hindcast's own left out. Of a
// database the bytes say nothing: its pages come and go.
func (k *killing) tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	info, err := os.Stat(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	if !info.IsDir() {
		return files
	}
	err = filepath.WalkDir(k.dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(k.dir, path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".hindcast":
			return filepath.SkipDir
		case e.IsDir():
			files[filepath.ToSlash(name)] = "folder"
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		files[filepath.ToSlash(name)] = fmt.Sprintf("%s %x", info.Mode(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unsettled reports whether a database has a log of what is not in it yet, or a journal of what is
// to be taken out of it.
func (k *killing) unsettled() bool {
	for _, beside := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(k.dir + beside); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// killAfter kills a process after a while, unless it ended before.
func (k *killing) killAfter(p *os.Process, when time.Duration, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(when):
		_ = p.Kill()
	}
}

// slice is about how long a process goes on between two looks at it.
const slice = 100 * time.Microsecond

// killWithin kills a process a number of slices after it begins to write. That is short
// beside the rest of what it does, so it stands still while it is looked at.
func (k *killing) killWithin(p *os.Process, trail int64, slices int, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(slice):
		}
		_ = p.Signal(syscall.SIGSTOP)
		if k.trail() != trail {
			if slices--; slices < 0 {
				_ = p.Kill()
				return
			}
		}
		_ = p.Signal(syscall.SIGCONT)
	}
}

// trail returns what changes when the program begins to write: how much there is of the
// journal, or of a database's log.
func (k *killing) trail() int64 {
	for _, name := range []string{filepath.Join(k.dir, ".hindcast", "journal"), k.dir + "-hindcast", k.dir + "-wal", k.dir + "-journal"} {
		if info, err := os.Stat(name); err == nil {
			return 1 + info.Size()
		}
	}
	return 0
}

// pick returns a visit of a snapshot that there was in the beginning, and its name.
func (k *killing) pick(t *testing.T, s store.Store) (model.Ref, string) {
	t.Helper()
	tree := model.NewTimeline(storetest.Headers(t, s, k.session))
	for {
		n := model.Node(k.random.IntN(tree.Len()))
		if h := tree.Header(n); slices.Contains(k.known, h.ID) {
			return h.Ref(), tree.Name(n)
		}
	}
}

// write lets the program write something, and kills it.
func (k *killing) write(t *testing.T) {
	t.Helper()
	s := k.open(t)
	var plan model.Plan
	var args []string
	var err error
	switch n := k.random.IntN(10); {
	case n < 5:
		ref, name := k.pick(t, s)
		plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
		args = []string{"restore", k.dir, k.session, name}
	case n < 6:
		k.forks++
		as := fmt.Sprintf("fork-%d", k.forks)
		ref, name := k.pick(t, s)
		plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: as})
		args = []string{"fork", k.dir, k.session, name, "--as", as}
	case n < 8:
		plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
		args = []string{"undo", k.dir}
	default:
		plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpRedo})
		args = []string{"redo", k.dir}
	}
	sessions, head := k.sessions(t, s), k.head(t, s, plan.Session)
	if closed := s.Close(); closed != nil {
		t.Fatal(closed)
	}
	var refused *model.UnsupportedError
	var nothing *model.NothingToError
	switch {
	case errors.As(err, &refused), errors.As(err, &nothing):
		return
	case err != nil:
		t.Fatalf("%q: %v", args, err)
	}

	before := k.tree(t)
	cmd := exec.Command(k.hindcast, append(args, "--yes", "--anyway")...)
	cmd.Env = append(os.Environ(), program.Env(t.TempDir())...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	when := time.Minute // the first one shows how long a write takes
	if k.lasts > 0 {
		when = time.Duration(k.random.Int64N(int64(k.lasts) * 5 / 4))
	}
	began, ended := time.Now(), make(chan struct{})
	trail, within := k.trail(), k.random.IntN(8)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	anywhere := k.kills%2 == 0
	var killer sync.WaitGroup
	killer.Go(func() {
		if anywhere {
			k.killAfter(cmd.Process, when, ended)
		} else {
			k.killWithin(cmd.Process, trail, within, ended)
		}
	})
	err = cmd.Wait()
	close(ended)
	killer.Wait()
	done := err == nil
	if done {
		k.after++
		if took := time.Since(began); anywhere {
			k.lasts = (3*cmp.Or(k.lasts, took) + took) / 4
		}
	} else if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("%q: %v\n%s", args, err, out.String())
	} else if anywhere {
		k.lasts += k.lasts / 100 // until it is late now and then
	}
	k.kills++

	found, unsettled := k.trail(), k.unsettled()
	s = k.open(t)
	defer s.Close()
	left := k.tree(t)
	if unsettled || k.trail() != found { // the journal had a write to finish
		k.within++
	}
	now := k.head(t, s, plan.Session)
	old := maps.Equal(left, before) && slices.Equal(k.sessions(t, s), sessions) && now == head
	switch {
	case old && done && !k.same(plan, head):
		t.Fatalf("%q was acknowledged, and nothing of it is there\n%s", args, out.String())
	case old:
		k.before++
	default:
		k.asPlanned(t, plan, before, left)
	}
	for _, id := range k.known {
		if !slices.ContainsFunc(storetest.Headers(t, s, k.session), func(h model.Header) bool { return h.ID == id }) {
			t.Fatalf("%q killed: snapshot %s is gone", args, id)
		}
	}
	if _, err := s.Features().Journal(t.Context()); err != nil {
		t.Fatalf("%q killed: %v", args, err)
	}
	for _, fault := range storetest.Faults(t, s, "") {
		t.Fatalf("%q killed: %+v", args, fault)
	}
}

// same reports whether a plan leaves everything as it is.
func (k *killing) same(plan model.Plan, head string) bool {
	return len(plan.Files) == 0 && plan.NewSession == "" && plan.Target.ID == head
}

// asPlanned compares the files with what a plan says of them. New files are
// counted and not named: a plan that is made a second time gives them other names.
func (k *killing) asPlanned(t *testing.T, plan model.Plan, before, left map[string]string) {
	t.Helper()
	made, gone := 0, map[string]bool{}
	changed := map[string]bool{}
	for _, f := range plan.Files {
		_, there := before[f.Path]
		switch {
		case there && f.Does == model.FileSetAside:
			gone[f.Path] = true
		case there:
			changed[f.Path] = true
		case f.Does != model.FileSetAside:
			made++
		}
	}
	for name, was := range before {
		is, there := left[name]
		switch {
		case gone[name] == there && !changed[name]:
			t.Errorf("%s: %s is there: %t", plan.Headline(), name, there)
		case there && is != was && !changed[name]:
			t.Errorf("%s: %s was changed", plan.Headline(), name)
		}
	}
	for name := range left {
		if _, there := before[name]; !there {
			made--
		}
	}
	if made != 0 {
		t.Errorf("%s: %d files less than planned were made: %+v", plan.Headline(), made, plan.Files)
	}
}

func (k *killing) sessions(t *testing.T, s store.Store) (ids []string) {
	t.Helper()
	for _, info := range sessionsOf(t, s) {
		ids = append(ids, info.ID)
	}
	slices.Sort(ids)
	return ids
}

func (k *killing) head(t *testing.T, s store.Store, session string) string {
	t.Helper()
	for _, info := range sessionsOf(t, s) {
		if info.ID == session {
			return info.Head.ID
		}
	}
	return ""
}

// takeAllBack undoes everything: the store is then what it was first.
func (k *killing) takeAllBack(t *testing.T) {
	t.Helper()
	s := k.open(t)
	defer s.Close()
	undoer := storetest.AsWriter(s)
	for {
		plan, err := undoer.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if nothing := (*model.NothingToError)(nil); errors.As(err, &nothing) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := undoer.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	if k.tables != "" && storetest.Tables(t, k.dir) != k.tables {
		t.Error("after all was taken back, the tables are not those of before")
	}
	if left := k.tree(t); !maps.Equal(left, k.first) {
		t.Errorf("after all was taken back, the files are not those of before: %q", different(left, k.first))
	}
}

// different returns the names whose contents differ between two folders.
func different(a, b map[string]string) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	return names
}
