package journal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
)

// step is one write of the life of a store that the tests break off everywhere.
type step struct {
	name string
	plan func(context.Context, *journal.Journal) (model.Plan, error)
}

// life is what happens to the store of story, one after the other: every kind of
// change, and contents that two files share.
var life = []step{
	{name: "restore", plan: func(_ context.Context, j *journal.Journal) (model.Plan, error) {
		d := j.Draft()
		d.Expect("s/m")
		d.Expect("s/session.json")
		d.Put("s/agent.json", []byte("agent at 2"))
		for i := 5; i >= 3; i-- {
			d.SetAside(fmt.Sprintf("s/m/%d", i))
		}
		d.Put("s/m/2", []byte("edited second"))
		d.Keep("s/m/0")
		d.Keep("s/m/1")
		return d.Plan(model.Plan{Op: model.OpRestore, Session: "s", Head: model.Point{ID: "head"}})
	}},
	{name: "undo", plan: undo},
	{name: "redo", plan: redo},
	{name: "restore of what was set aside", plan: func(ctx context.Context, j *journal.Journal) (model.Plan, error) {
		list, err := j.Entries(ctx)
		if err != nil {
			return model.Plan{}, err
		}
		d := j.Draft()
		d.Expect("s/m")
		for _, c := range list[0].Changes() {
			if c.Before.SHA256 != "" {
				d.PutBack(c.Path, c.Before)
			}
		}
		return d.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	}},
	{name: "undo again", plan: undo},
	{name: "fork", plan: func(_ context.Context, j *journal.Journal) (model.Plan, error) {
		d := j.Draft()
		d.Expect("s/m")
		d.Put("t/session.json", []byte("session t"))
		for i := range 3 {
			d.Copy(fmt.Sprintf("t/m/%d", i), fmt.Sprintf("s/m/%d", i))
		}
		return d.Plan(model.Plan{Op: model.OpFork, Session: "s", NewSession: "t"})
	}},
	{name: "undo of the fork", plan: undo},
	{name: "redo of the fork", plan: redo},
	{name: "purge", plan: func(ctx context.Context, j *journal.Journal) (model.Plan, error) {
		list, err := j.Entries(ctx)
		if err != nil {
			return model.Plan{}, err
		}
		d := j.Draft()
		for _, c := range list[0].Changes()[1:3] {
			d.Forget(c.Path, c.Before)
		}
		return d.Plan(model.Plan{Op: model.OpPurge, Session: "s"})
	}},
}

func undo(ctx context.Context, j *journal.Journal) (model.Plan, error) { return j.PlanUndo(ctx) }
func redo(ctx context.Context, j *journal.Journal) (model.Plan, error) { return j.PlanRedo(ctx) }

// story is the store of that life at its beginning.
func story() *disktest.Memory {
	return disktest.NewMemory(map[string]string{
		"s/session.json": "session s", "s/agent.json": "agent at 6",
		"s/m/0": "zeroth", "s/m/1": "first", "s/m/2": "second", "s/m/3": "third " + strings.Repeat("long ", 300),
		"s/m/4": "twice", "s/m/5": "twice",
	}, 0o640)
}

// live leaves out what is Hindcast's own.
func live(name string) bool { return name != journal.Folder }

func whole(string) bool { return true }

// chapter is one step of the life, with the store before and after it.
type chapter struct {
	step
	before, after *disktest.Memory
	// gone are the contents that the step forgets.
	gone map[string]bool
	// The same of both, as check wants them.
	was, is facts
}

// facts are what a disk is compared by.
type facts struct {
	live     map[string]string
	contents map[string]bool
	told     string
}

func factsOf(m *disktest.Memory, j *journal.Journal) (facts, error) {
	says, err := told(j)
	return facts{m.Tree(live), contents(m), says}, err
}

// newChapter makes a chapter of a step.
func newChapter(s step, before, after *disktest.Memory) chapter {
	c := chapter{step: s, before: before, after: after, gone: map[string]bool{}}
	c.was, _ = factsOf(before, journal.New(before, journal.Options{})) // an error would show in every check
	c.is, _ = factsOf(after, journal.New(after, journal.Options{}))
	if s.name == "purge" {
		for content := range c.was.contents {
			if !c.is.contents[content] {
				c.gone[content] = true
			}
		}
	}
	return c
}

// chapters lives the life undisturbed.
func chapters(t testing.TB, start *disktest.Memory) []chapter {
	t.Helper()
	var list []chapter
	at := start
	for _, s := range life {
		next := at.Clone()
		err := s.apply(context.Background(), next, nil)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		c := newChapter(s, at, next.Clone())
		list = append(list, c)
		at = c.after
	}
	return list
}

// apply plans and carries out a step.
func (s step) apply(ctx context.Context, d disk.Disk, verify func(context.Context) error) error {
	j := journal.New(d, journal.Options{})
	plan, err := s.plan(ctx, j)
	if err != nil {
		return err
	}
	_, err = j.Apply(ctx, plan, verify)
	return err
}

// contents returns what is in the files of the store, and of kept/.
func contents(m *disktest.Memory) map[string]bool {
	all := map[string]bool{}
	for name, text := range m.Tree(whole) {
		if !strings.HasSuffix(name, "/") && (live(strings.Split(name, "/")[0]) || strings.HasPrefix(name, ".hindcast/kept/")) {
			all[text[4:]] = true
		}
	}
	return all
}

// told returns what the journal says of what was not taken back, but for numbers and times.
func told(j *journal.Journal) (string, error) {
	var b strings.Builder
	list, err := j.Entries(context.Background())
	for _, e := range list {
		if e.TakenBack {
			continue
		}
		fmt.Fprintf(&b, "%s %s %v %q %d\n", e.Op, e.Session, e.Undone, e.Broken, len(e.Changes()))
	}
	return b.String(), err
}

// check recovers what was broken off, and says what is not as it must be: the store
// is as before the step or as after it, the journal says which, no content is gone,
// and a second recovery changes nothing.
func (c *chapter) check(m *disktest.Memory) (done bool, err error) {
	ctx := context.Background()
	j := journal.New(m, journal.Options{})
	if err := j.Recover(ctx); err != nil {
		return false, fmt.Errorf("recover: %w", err)
	}
	now, err := factsOf(m, j)
	if err != nil {
		return false, err
	}
	// A purge changes no file of the store: the journal says whether it is done.
	done = maps.Equal(now.live, c.is.live) && now.told == c.is.told
	if !done && !(maps.Equal(now.live, c.was.live) && now.told == c.was.told) {
		return false, fmt.Errorf("neither as before nor as after:\n%s\n%s", difference(now.live, c.was.live, c.is.live), now.told)
	}
	for content := range c.was.contents {
		if now.contents[content] == (done && c.gone[content]) {
			return done, fmt.Errorf("a content is lost, or there though it was purged: %.40q", content)
		}
	}
	for content := range c.is.contents {
		if done && !now.contents[content] {
			return done, fmt.Errorf("a new content is lost: %.40q", content)
		}
	}
	all := m.Tree(whole)
	if err := j.Recover(ctx); err != nil || !maps.Equal(m.Tree(whole), all) {
		return done, fmt.Errorf("a second recovery changed something: %w", err)
	}
	if open, err := j.OpenEntry(ctx); open != nil || err != nil {
		return done, fmt.Errorf("unfinished: %v, %w", open, err)
	}
	return done, nil
}

func difference(now, before, after map[string]string) string {
	var lines []string
	for name := range now {
		if now[name] != before[name] || now[name] != after[name] {
			lines = append(lines, fmt.Sprintf("%s: %.30q, before %.30q, after %.30q", name, now[name], before[name], after[name]))
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			lines = append(lines, fmt.Sprintf("%s: gone, before %.30q, after %.30q", name, before[name], after[name]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestLife(t *testing.T) {
	for _, kind := range []string{"exchange", "no exchange"} {
		t.Run(kind, func(t *testing.T) {
			start := story()
			start.NoExchange = kind == "no exchange"
			list := chapters(t, start)
			for _, c := range list {
				if done, err := c.check(c.after.Clone()); !done || err != nil {
					t.Errorf("%s: %v, %v", c.name, done, err)
				}
			}
			at := func(i int) map[string]string { return list[i].after.Tree(live) }
			first := start.Tree(live)
			if !maps.Equal(at(1), first) || !maps.Equal(at(3), first) {
				t.Errorf("not as it was:\n%s", difference(at(1), first, at(3)))
			}
			if maps.Equal(at(0), first) || !maps.Equal(at(2), at(0)) || !maps.Equal(at(4), at(0)) || !maps.Equal(at(6), at(0)) || !maps.Equal(at(7), at(5)) {
				t.Error("redo and undo are not what they were")
			}
			if at(0)["s/m/2"] != "640 edited second" || at(5)["t/m/1"] != "640 first" {
				t.Error(at(0), at(5))
			}
			_, err := journal.New(list[8].after, journal.Options{}).PlanUndo(t.Context())
			must(t, err) // the fork's: a purge cannot be undone
		})
	}
}

// faulty runs a step on a disk that fails, and returns how many calls there were.
func (c *chapter) faulty(m *disktest.Memory, hook func(disktest.Call) error) (calls int, err error) {
	f := &disktest.Faulty{Disk: m, Hook: hook}
	err = c.apply(context.Background(), f, nil)
	return f.Calls(), err
}

var errKilled = errors.New("killed")

// killed runs do until it ends or panics with errKilled.
func killed(do func()) (was bool) {
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); !ok || !errors.Is(err, errKilled) {
				panic(r)
			}
			was = true
		}
	}()
	do()
	return false
}
