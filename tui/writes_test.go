package tui_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/kinds/genkit"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/kinds/strands/snapshots"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// onDisk is a session of a real store of files, as its SDK left it.
type onDisk struct {
	from    string // below testdata
	at      string // the store, below that
	session string
	back    int // snapshots before the head: one that can be restored
	open    func(ctx context.Context, dir string) (store.Store, error)
}

// kept are sessions of every kind that Hindcast writes files of.
var kept = map[string]onDisk{
	"strands log": {"strands/python-file", "", "basic", 2, func(ctx context.Context, dir string) (store.Store, error) {
		return messages.Open(ctx, dir)
	}},
	"python snapshots": {"strands/python-snapshot", "", "message-strategy", 2, func(ctx context.Context, dir string) (store.Store, error) {
		return snapshots.Open(ctx, dir)
	}},
	"typescript snapshots": {"strands/typescript", "unified", "msgstrategy", 3, func(ctx context.Context, dir string) (store.Store, error) {
		return snapshots.Open(ctx, dir)
	}},
	"genkit": {"genkit/stepsproject-go-1.13.1", ".genkit/snapshots/planner", "trip", 2, func(ctx context.Context, dir string) (store.Store, error) {
		return genkit.Open(ctx, dir)
	}},
}

// writable is a copy of a store that a test may write to.
type writable struct {
	onDisk
	t   *testing.T
	dir string
}

// copied copies a store. Its files are old, so that nobody takes an agent to be
// running.
func copied(t *testing.T, d onDisk) *writable {
	t.Helper()
	to := t.TempDir()
	aged(t, d.from, to)
	return &writable{d, t, filepath.Join(to, d.at)}
}

// aged copies a folder of testdata. All in it has one time, which is long ago.
func aged(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.Join("..", "testdata", from))); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2025, time.June, 1, 12, 0, 0, 0, time.UTC)
	err := filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// store opens the store anew.
func (w *writable) store() store.Store {
	w.t.Helper()
	s, err := w.open(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// screen opens the session.
func (w *writable) screen(s store.Store, width, height int) *screentest.Program {
	w.t.Helper()
	return start(w.t, w.options(s), width, height)
}

func (w *writable) options(s store.Store) tui.Options {
	o := options(s)
	o.Session, o.Temp = w.session, w.t.TempDir()
	return o
}

// files returns all files of the store but Hindcast's own, by name.
func (w *writable) files() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".hindcast":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.dir, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// same holds that the files are as they were.
func (w *writable) same(before map[string]string, when string) {
	w.t.Helper()
	after := w.files()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if text, ok := after[name]; !ok || text != before[name] {
			w.t.Errorf("%s: %s is another (there: %t)", when, name, ok)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			w.t.Errorf("%s: %s is new", when, name)
		}
	}
}

// headState returns the state at the head of a session, as the store has it now.
func (w *writable) headState(session string) []byte {
	w.t.Helper()
	s := w.store()
	for h, err := range s.Headers(w.t.Context(), session) {
		if err != nil {
			w.t.Fatal(err)
		}
		if h.Head {
			state, err := s.State(w.t.Context(), h.Ref())
			if err != nil {
				w.t.Fatal(err)
			}
			return state
		}
	}
	w.t.Fatalf("%s has no head", session)
	return nil
}

// toTarget moves the cursor to the snapshot to restore.
func (w *writable) toTarget(p *screentest.Program) {
	for range w.back {
		p.Press(keymap.Timeline, keymap.StepBack)
	}
}

// agree says yes to the plan that shows, which asks no more than once.
func agree(t *testing.T, p *screentest.Program) {
	t.Helper()
	if screen := p.Screen(); !strings.Contains(screen, "[ No ]") && !strings.Contains(screen, "[ Yes ]") {
		t.Errorf("nothing is asked:\n%s", screen)
	}
	p.Press(keymap.Confirm, keymap.Yes)
	lacks(t, p, "[ No ]", "[ Yes ]")
}

// everyKind runs a test on a copy of a store of every kind.
func everyKind(t *testing.T, test func(t *testing.T, w *writable)) {
	t.Parallel()
	for name, d := range kept {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, copied(t, d))
		})
	}
}

// A person restores, takes it back and does it again, each by two keys; the head on
// the screen is that of the store, the cursor is on it, and the bytes are those of
// before wherever it says so.
func TestWrites_restoreUndoRedo(t *testing.T) {
	everyKind(t, func(t *testing.T, w *writable) {
		before := w.files()
		p := w.screen(w.store(), 100, 30)
		w.toTarget(p)
		p.Press(keymap.Timeline, keymap.Restore)
		shows(t, p, "restore "+w.session, "leaves   ", "then     ", "writes   ", "all undone by u")
		agree(t, p)
		shows(t, p, "✓ at #", "y c copies · u undo", "following", "left by a restore to #")
		restored := w.files()
		if maps.Equal(restored, before) {
			t.Fatal("the restore changed no file")
		}
		p.Press(keymap.Timeline, keymap.Undo)
		agree(t, p)
		shows(t, p, "✓ undone: ", "^r redo", "following")
		lacks(t, p, "restored elsewhere")
		w.same(before, "after undo")
		p.Press(keymap.Timeline, keymap.Redo)
		agree(t, p)
		shows(t, p, "✓ done again: ", "left by a restore to #")
		w.same(restored, "after redo")
	})
}

// A restore to what is loaded already asks nothing, writes nothing, and says so.
func TestWrites_nothingToWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"python snapshots", "genkit"} {
		w := copied(t, kept[name])
		before := w.files()
		p := w.screen(w.store(), 100, 30)
		p.Press(keymap.Timeline, keymap.Restore)
		shows(t, p, "nothing to write: "+w.session+" is at #")
		lacks(t, p, "[ No ]", "u undo")
		w.same(before, "after nothing")
		if _, err := os.Stat(filepath.Join(w.dir, ".hindcast")); err == nil {
			t.Errorf("%s: there is a journal of nothing", name)
		}
	}
}

// What a restore left shows why in the timeline and in the Info tab, and can be
// restored itself.
func TestWrites_orphanComesBack(t *testing.T) {
	everyKind(t, func(t *testing.T, w *writable) {
		last := w.headState(w.session)
		p := w.screen(w.store(), 100, 30)
		w.toTarget(p)
		p.Press(keymap.Timeline, keymap.Restore)
		agree(t, p)
		if bytes.Equal(w.headState(w.session), last) {
			t.Fatal("the restore changed nothing")
		}
		// The branch point, its branch, and that to the end.
		p.Press(keymap.Timeline, keymap.Bottom)
		for !strings.Contains(p.Screen(), "▌   ◌") && !strings.Contains(p.Screen(), "▌ │ ◌") {
			p.Press(keymap.Timeline, keymap.MoveUp)
		}
		p.Press(keymap.Timeline, keymap.ShowInfo)
		shows(t, p, "left by a restore to #", "off the path")
		p.Press(keymap.Timeline, keymap.Restore)
		shows(t, p, "restore "+w.session, "returns  ")
		agree(t, p)
		shows(t, p, "✓ at #", "following")
		if got := w.headState(w.session); !bytes.Equal(messagesIn(t, got), messagesIn(t, last)) {
			t.Errorf("the state at the head is\n%s\nand was\n%s", got, last)
		}
	})
}

// A fork leaves the session as it is, byte for byte, and is in the list.
func TestWrites_fork(t *testing.T) {
	everyKind(t, func(t *testing.T, w *writable) {
		before := w.files()
		p := w.screen(w.store(), 100, 30)
		w.toTarget(p)
		p.Press(keymap.Timeline, keymap.Fork)
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, "fork "+w.session, w.session+"-fork is new; "+w.session+" stays at #")
		agree(t, p)
		shows(t, p, " as "+w.session+"-fork", "u undo", "q enter open it")
		after := w.files()
		for name, text := range before {
			if after[name] != text {
				t.Errorf("%s is another", name)
			}
		}
		p.Press(keymap.Timeline, keymap.Back)
		selects(t, p, "  "+w.session+"-fork  ")
		p.Press(keymap.Picker, keymap.Undo)
		agree(t, p)
		lacks(t, p, "  "+w.session+"-fork  ")
		w.same(before, "after undo")
	})
}

// Of a session with several agents the name that is offered can be taken.
func TestWrites_forkOfOneAgent(t *testing.T) {
	t.Parallel()
	d := kept["strands log"]
	d.session = "twoagents/planner"
	w := copied(t, d)
	p := w.screen(w.store(), 100, 30)
	p.Press(keymap.Timeline, keymap.Fork)
	shows(t, p, "twoagents-fork ")
	p.Press(keymap.Input, keymap.Accept)
	agree(t, p)
	shows(t, p, "✓ forked from #3 as twoagents-fork/planner")
	p.Press(keymap.Timeline, keymap.Back)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "› twoagents-fork/planner ")
}

// A message is edited in an editor, and a session starts from that; the old one is
// untouched.
func TestWrites_editMessage(t *testing.T) {
	everyKind(t, func(t *testing.T, w *writable) {
		before := w.files()
		o := w.options(w.store())
		o.Getenv = environment(map[string]string{"EDITOR": script(t, `sed 's/\("text": "\)[^"]*"/\1what if"/' "$1" > "$1.new" && mv "$1.new" "$1"`)})
		p := start(t, o, 100, 30)
		w.toTarget(p)
		p.Press(keymap.Timeline, keymap.Edit)
		p.Send(screentest.Key(t, "m"))
		waitFor(t, p, "Fork from an edited #")
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, "from an edited #", "[ No ]")
		agree(t, p)
		shows(t, p, "✓ forked from an edited #", "q enter open it")
		for name, text := range before {
			if w.files()[name] != text {
				t.Errorf("%s is another", name)
			}
		}
		if state := w.headState(w.session + "-edit"); !bytes.Contains(state, []byte(`"what if"`)) {
			t.Errorf("the new session is at %s", state)
		}
		gone(t, p, o.Temp)
	})
}

// A plan of a store of files can be read at every size, without colours and in
// ASCII too: what to type to go on shows without scrolling, and every file that
// changes with it.
func TestWrites_plan(t *testing.T) {
	everyKind(t, func(t *testing.T, w *writable) {
		for name, look := range map[string]*theme.Styles{
			"colours": styles(theme.Dark, termenv.TrueColor),
			"plain":   theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII}),
		} {
			t.Run(name, func(t *testing.T) {
				atSizes(t, func(t *testing.T, width, height int) {
					w := copied(t, w.onDisk)
					s := w.store()
					o := w.options(s)
					o.Theme = look
					p := start(t, o, width, height)
					w.toTarget(p)
					p.Press(keymap.Timeline, keymap.Restore)
					shows(t, p, "restore "+w.session+" to #", "then     ", "writes   ", "[ No ]")
					p.Press(keymap.Confirm, keymap.PlanDetails)
					seen := p.Screen()
					for range 12 {
						p.Press(keymap.Confirm, keymap.HalfDown)
						seen += p.Screen()
					}
					for _, text := range []string{"head now", "head then", "loads", "resume", "leaves path", ".json"} {
						if !strings.Contains(seen, text) {
							t.Errorf("%q shows nowhere in the plan:\n%s", text, seen)
						}
					}
					p.Press(keymap.Confirm, keymap.PlanDetails)
					shows(t, p, "then     ", "[ No ]")
				})
			})
		}
	})
}

// messagesIn returns the messages of a state, which is what all kinds have in common.
func messagesIn(t *testing.T, state []byte) []byte {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant(state)
	if err != nil {
		t.Fatal(err)
	}
	n := conversation.Decode(tape).List()
	return jsontape.AppendCompact(nil, tape.Raw(n))
}

// A message that an agent writes while a plan shows makes the plan outdated, and to
// agree is then to have it made anew.
func TestWrites_planIsOutdatedByAnAgent(t *testing.T) {
	t.Parallel()
	w := copied(t, kept["strands log"])
	p := w.screen(w.store(), 100, 30)
	w.toTarget(p)
	p.Press(keymap.Timeline, keymap.Restore)
	shows(t, p, "head #13 →")
	w.say(14)
	waitFor(t, p, "the session has moved on since")
	shows(t, p, "y plan anew")
	before := w.files()
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "head #14 →", "y restore")
	w.same(before, "after the plan anew")
	agree(t, p)
	shows(t, p, "✓ at #11")
}

// Where nothing told the screen, the store itself refuses the plan, says which file
// is another, and the plan is made anew.
func TestWrites_conflictIsShownAndPlannedAnew(t *testing.T) {
	t.Parallel()
	w := copied(t, kept["strands log"])
	p := w.screen(deaf{w.store().(*messages.Store)}, 100, 30)
	w.toTarget(p)
	p.Press(keymap.Timeline, keymap.Restore)
	w.say(14)
	before := w.files()
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "the session has moved on since: nothing was changed", "head #14 →", "[ No ]")
	w.same(before, "after the refusal")
	p.Press(keymap.Confirm, keymap.Back)
	p.Press(keymap.Timeline, keymap.Restore)
	agree(t, p)
	shows(t, p, "✓ at #11")
}

// deaf is a store that tells of no change.
type deaf struct{ *messages.Store }

func (s deaf) Features() store.Features {
	f := s.Store.Features()
	f.Watch = s.Watch
	return f
}

func (deaf) Watch(context.Context) (<-chan struct{}, error) { return make(chan struct{}), nil }

// say has an agent write the message of a number to the basic session.
func (w *writable) say(n int) {
	w.t.Helper()
	dir := filepath.Join(w.dir, "session_basic", "agents", "agent_default", "messages")
	text := fmt.Sprintf(`{"message": {"role": "user", "content": [{"text": "and then?"}]}, "message_id": %d, "redact_message": null, "created_at": "2026-11-21T01:10:17+00:00", "updated_at": "2026-11-21T01:10:17+00:00"}`, n)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("message_%d.json", n)), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// broken gives, for each kind, a session that its SDK does not start.
var broken = map[string]struct {
	onDisk
	harm func(*writable) // what is broken first; nil if it is already
}{
	"strands log": {kept["strands log"], func(w *writable) {
		w.cut("session_basic", "agents", "agent_default", "messages", "message_5.json")
	}},
	"python snapshots": {kept["python snapshots"], func(w *writable) {
		w.cut("session", w.session, "scopes", "agent", "default", "snapshots", "snapshot_latest.json")
	}},
	"genkit": {onDisk{"genkit/go-1.13.1", "", "barista/sess-orphan", 0, kept["genkit"].open}, nil},
}

// cut leaves the beginning of a file.
func (w *writable) cut(name ...string) {
	w.t.Helper()
	if err := os.Truncate(filepath.Join(append([]string{w.dir}, name...)...), 40); err != nil {
		w.t.Fatal(err)
	}
}

// A session that its SDK cannot start is mended from the list, and then there is
// nothing to mend; taking it back gives the same bytes.
func TestWrites_repair(t *testing.T) {
	t.Parallel()
	for name, b := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := copied(t, b.onDisk)
			if b.harm != nil {
				b.harm(w)
			}
			before := w.files()
			o := w.options(w.store())
			o.Session = ""
			p := start(t, o, 100, 30)
			p.Press(keymap.Picker, keymap.Search)
			p.Type(w.session)
			p.Press(keymap.Input, keymap.Back) // to its row
			shows(t, p, "R repair")
			p.Press(keymap.Picker, keymap.Repair)
			shows(t, p, "repair "+w.session)
			agree(t, p)
			shows(t, p, "✓ repaired: "+w.session)
			if after := w.files(); maps.Equal(after, before) {
				t.Error("the repair changed no file")
			}
			p.Press(keymap.Picker, keymap.Undo)
			agree(t, p)
			w.same(before, "after undo")
		})
	}
}

// The journal says what each write set aside, and leads to undo.
func TestWrites_journal(t *testing.T) {
	t.Parallel()
	w := copied(t, kept["strands log"])
	before := w.files()
	p := w.screen(w.store(), 100, 30)
	w.toTarget(p)
	p.Press(keymap.Timeline, keymap.Restore)
	agree(t, p)
	p.Press(keymap.Timeline, keymap.Journal)
	shows(t, p, "1  ", "restore  basic  #13 → #11", "write 1 ", "set aside  ", "message_13.json")
	p.Press(keymap.Written, keymap.Undo)
	agree(t, p)
	w.same(before, "after undo")
	p.Press(keymap.Timeline, keymap.Journal)
	shows(t, p, "undone")
}
