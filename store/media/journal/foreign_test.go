package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"syscall"
	"testing"

	"hindcast/model"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
)

// foreign are writes of an agent that runs on. Each leaves one content at one path.
type foreign struct {
	name, path string
	do         func(m *disktest.Memory, path string) error
	inPlace    bool
}

const theirs = "what the agent wrote"

func replaces(m *disktest.Memory, path string) error {
	if err := m.Write(path+".tmp", []byte(theirs), 0o640); err != nil {
		return err
	}
	return m.Rename(path+".tmp", path)
}

func rewrites(m *disktest.Memory, path string) error { return m.Write(path, []byte(theirs), 0o640) }

var agent = []foreign{
	{"replaces the agent", "s/agent.json", replaces, false},
	{"replaces a message that is set aside", "s/m/4", replaces, false},
	{"replaces the last message", "s/m/5", replaces, false},
	{"replaces an edited message", "s/m/2", replaces, false},
	{"rewrites a message in place", "s/m/3", rewrites, true},
	{"rewrites the agent in place", "s/agent.json", rewrites, true},
	{"adds a message", "s/m/6", replaces, false},
	{"replaces what is guarded", "s/session.json", replaces, false},
	{"adds a message to the fork", "t/m/3", replaces, false},
	{"replaces a message of the fork", "t/m/1", replaces, false},
}

// TestApply_besideAnAgent lets an agent write once at every call of every write. What
// it wrote is where it wrote it, or kept where the write was done before; and unless
// the write is done, all else is as it was.
func TestApply_besideAnAgent(t *testing.T) {
	for _, kind := range []string{"exchange", "no exchange"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			start := story()
			start.NoExchange = kind == "no exchange"
			b := besides{}
			for _, c := range chapters(t, start) {
				for _, f := range agent {
					if f.do(c.before.Clone(), f.path) != nil {
						continue // there is no such folder yet, or no longer
					}
					for n := 0; b.run(t, &c, f, n); n++ {
						if testing.Short() {
							n += 6
						}
					}
				}
			}
			t.Logf("%d writes of an agent, %d conflicts", b.runs, b.conflicts)
		})
	}
}

// besides counts what TestApply_besideAnAgent does.
type besides struct{ runs, conflicts int }

// run lets an agent write at the n-th call; false if there are not so many.
func (b *besides) run(t *testing.T, c *chapter, f foreign, n int) bool {
	m, wrote, hopeless := c.before.Clone(), false, false
	plan, err := c.plan(t.Context(), journal.New(m, journal.Options{}))
	must(t, err)
	faulty := &disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
		if call.N == n {
			// Between the last look and the rename there is no help where files
			// cannot be exchanged.
			hopeless = m.NoExchange && call.Op == "rename"
			wrote = hopeless || f.do(m, f.path) == nil
		}
		return nil
	}}
	_, err = journal.New(faulty, journal.Options{}).Apply(t.Context(), plan, nil)
	if hopeless || !wrote {
		return wrote
	}
	b.runs++
	where := fmt.Sprintf("%s, an agent %s at %d (%v)", c.name, f.name, n, err)
	if err != nil && !errors.Is(err, model.ErrHeadMoved) {
		t.Fatal(where)
	}
	want, got, have := maps.Clone(c.is.live), m.Tree(live), contents(m)
	if !have[theirs] {
		t.Fatalf("%s: what it wrote is lost", where)
	}
	if err != nil {
		b.conflicts++
		want = maps.Clone(c.was.live)
		want[f.path] = "640 " + theirs
	} else { // it wrote after the last look
		delete(got, f.path)
		delete(want, f.path)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%s:\n%s", where, difference(got, want, want))
	}
	for content := range c.was.contents {
		if !have[content] && !c.gone[content] && c.was.live[f.path] != "640 "+content {
			t.Fatalf("%s: %.40q is lost", where, content)
		}
	}
	all := m.Tree(whole)
	if err := journal.New(m, journal.Options{}).Recover(t.Context()); err != nil || !maps.Equal(m.Tree(whole), all) {
		t.Fatalf("%s: it was not finished: %v", where, err)
	}
	return true
}

// TestRecover_besideAnAgent kills every write everywhere, and lets an agent write
// before it is recovered. Nothing of the agent's is touched; the journal says why the
// write was broken off where a file is not as it was nor as it was to be, and it is
// taken back where only a folder got a file.
func TestRecover_besideAnAgent(t *testing.T) {
	broken, back, finished := 0, 0, 0
	for _, c := range chapters(t, story()) {
		for _, f := range agent {
			if f.inPlace || f.do(c.before.Clone(), f.path) != nil {
				continue
			}
			for n := 0; ; n++ {
				m, writes := c.before.Clone(), false
				over := !killed(func() {
					c.faulty(m, func(call disktest.Call) error {
						if call.N == n {
							writes = call.Writes()
							panic(errKilled)
						}
						return nil
					})
				})
				if over {
					break
				}
				if !writes || testing.Short() && n%3 != 0 {
					continue // as after the call before
				}
				j := journal.New(m, journal.Options{})
				open, err := j.OpenEntry(t.Context())
				must(t, err)
				if open == nil || f.do(m, f.path) != nil {
					continue
				}
				before := m.Tree(live)
				err = j.Recover(t.Context())
				where := fmt.Sprintf("%s, killed at %d, an agent %s (%v)", c.name, n, f.name, err)
				now := m.Tree(live)
				if now[f.path] != "640 "+theirs {
					t.Fatalf("%s: what the agent wrote is touched: %q", where, now[f.path])
				}
				list, failed := j.Entries(t.Context())
				must(t, failed)
				why := false
				for _, e := range list {
					why = why || e.Broken != ""
				}
				delete(now, f.path)
				want, ended := maps.Clone(c.is.live), &finished
				conflict := (*journal.ConflictError)(nil)
				switch {
				case errors.As(err, &conflict) && why:
					want, ended = before, &broken
				case errors.As(err, &conflict):
					want, ended = maps.Clone(c.was.live), &back
				case err != nil:
					t.Fatal(where)
				case c.name == "fork" && now["t/session.json"] == "":
					want, ended = maps.Clone(c.was.live), &back // what it copies is not kept
				}
				*ended++
				delete(want, f.path)
				if !maps.Equal(now, want) {
					t.Fatalf("%s:\n%s", where, difference(now, want, want))
				}
				have := contents(m)
				for content := range c.was.contents {
					if !have[content] && !c.gone[content] && c.was.live[f.path] != "640 "+content {
						t.Fatalf("%s: %.40q is lost", where, content)
					}
				}
				all := m.Tree(whole)
				if err := j.Recover(t.Context()); err != nil || !maps.Equal(m.Tree(whole), all) {
					t.Fatalf("%s: a second recovery: %v", where, err)
				}
			}
		}
	}
	t.Logf("%d left as they were, %d taken back, %d finished", broken, back, finished)
	if broken == 0 || back == 0 || finished == 0 {
		t.Error("not every way was taken")
	}
}

// TestRecover_takingBack kills a write while it is taken back because of an agent: it
// is taken back to the end then, and what the agent wrote stays.
func TestRecover_takingBack(t *testing.T) {
	c, runs := chapters(t, story())[0], 0
	f := agent[7] // what is guarded is replaced, which is seen at the end
	for n := 0; ; n++ {
		m, wrote, said := c.before.Clone(), false, -1
		over := !killed(func() {
			c.faulty(m, func(call disktest.Call) error {
				if call.Op == "place" && call.Name == "s/m/5" {
					wrote = true
					must(t, f.do(m, f.path))
				}
				if said < 0 && wrote && call.Op == "append sync" {
					said = call.N // that it is being taken back is in the journal
				}
				if said >= 0 && call.N == said+1+n {
					panic(errKilled)
				}
				return nil
			})
		})
		if over {
			break
		}
		runs++
		j := journal.New(m, journal.Options{})
		must(t, j.Recover(t.Context()))
		want := maps.Clone(c.was.live)
		want[f.path] = "640 " + theirs
		if now := m.Tree(live); !maps.Equal(now, want) {
			t.Fatalf("killed %d calls later:\n%s", n, difference(now, want, want))
		}
		if open, err := j.OpenEntry(t.Context()); open != nil || err != nil {
			t.Fatal(open, err)
		}
	}
	if runs < 10 {
		t.Error(runs)
	}
}

// TestApply_failsBesideAnAgent: an agent replaces a file just before it is moved, and one of
// the calls behind that fails. No such write counts as done, and what the agent wrote is where
// it wrote it, or kept until the write is ended.
func TestApply_failsBesideAnAgent(t *testing.T) {
	for name, draft := range map[string]func(d *journal.Draft){
		"set aside": func(d *journal.Draft) { d.SetAside("s/a") },
		"replace":   func(d *journal.Draft) { d.Put("s/a", []byte("1")) },
	} {
		for n := 0; ; n++ {
			m, _ := desk(map[string]string{"s/a": "0", "s/b": "b"})
			since, failed := -1, ""
			j := journal.New(&disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
				moves := call.Op == "place" && call.Name == "s/a" || call.Op == "exchange"
				switch {
				case since < 0 && moves:
					since = 0
					return replaces(m, "s/a")
				case since >= 0:
					if since++; since == n+1 {
						failed = call.Op + " " + call.Name
						return &fs.PathError{Op: call.Op, Path: call.Name, Err: syscall.EIO}
					}
				}
				return nil
			}}, journal.Options{})
			d := j.Draft()
			draft(d)
			_, err := j.Apply(t.Context(), plan(t, d), nil)
			if failed == "" {
				if n < 5 || since < 0 {
					t.Errorf("%s: %d calls", name, n)
				}
				break
			}
			where := fmt.Sprintf("%s, %s fails: %v", name, failed, err)
			if err == nil || !holds(m, theirs) {
				t.Fatal(where)
			}
			if err := journal.New(m, journal.Options{}).Recover(t.Context()); err != nil && !errors.Is(err, model.ErrHeadMoved) {
				t.Fatalf("%s: recover: %v", where, err)
			}
			if now := m.Tree(live); now["s/a"] != "640 "+theirs {
				t.Fatalf("%s: s/a is %q", where, now["s/a"])
			}
		}
	}
}

// holds reports whether a file, of Hindcast's own too, has a content.
func holds(m *disktest.Memory, text string) bool {
	for _, has := range m.Tree(whole) {
		if has == "640 "+text {
			return true
		}
	}
	return false
}
