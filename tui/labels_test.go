package tui_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/labels"
	"hindcast/store/sample"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// named are labels in memory, of one session.
type named struct {
	mu      sync.Mutex
	list    []model.Label
	changes chan struct{}
	err     error // of the next call that is not Watch
}

func newNamed(list ...model.Label) *named {
	return &named{list: list, changes: make(chan struct{}, 1)}
}

// failure returns the error that the test wants, once.
func (l *named) failure() error {
	err := l.err
	l.err = nil
	return err
}

func (l *named) Of(context.Context, store.Store, string) ([]model.Label, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.list)
	slices.SortFunc(list, func(a, b model.Label) int { return cmp.Compare(a.Name, b.Name) })
	return list, l.failure()
}

func (l *named) Set(_ context.Context, _ store.Store, label model.Label) (model.Label, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(was model.Label) bool { return was.Name == label.Name })
	l.list = append(l.list, label)
	return label, l.failure()
}

func (l *named) Remove(_ context.Context, _ store.Store, _, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(was model.Label) bool { return was.Name == name })
	return l.failure()
}

func (l *named) Watch(context.Context, store.Store, string) <-chan struct{} { return l.changes }

// fail has the next call fail.
func (l *named) fail(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = errors.New(text)
}

// say is what another program does.
func (l *named) say(list ...model.Label) {
	l.mu.Lock()
	l.list = list
	l.mu.Unlock()
	l.changes <- struct{}{}
}

// told returns the labels as texts.
func (l *named) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, label := range l.list {
		all = append(all, label.Name+"="+label.Note)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// at labels a snapshot of the demo.
func at(t *testing.T, s store.Store, index int, name, note string) model.Label {
	t.Helper()
	for h, err := range s.Headers(t.Context(), sample.Trip) {
		if err != nil {
			t.Fatal(err)
		}
		if h.Index == index && !h.Orphaned {
			return model.Label{Session: sample.Trip, ID: h.ID, Visit: h.Visit, Name: name, Note: note}
		}
	}
	t.Fatalf("no snapshot %d", index)
	return model.Label{}
}

// labelled opens the demo's session with labels.
func labelled(t *testing.T, s store.Store, l tui.Labels, w, h int) *screentest.Program {
	t.Helper()
	o := options(s)
	o.Session, o.Labels = sample.Trip, l
	return start(t, o, w, h)
}

// A label is set, renamed and taken away with one prompt, and shows wherever its snapshot
// does.
func TestLabels_setRenameRemove(t *testing.T) {
	t.Parallel()
	l := newNamed()
	p := labelled(t, demoStore(t), l, 120, 36)
	p.Press(keymap.Timeline, keymap.Scrubber, keymap.ShowInfo, keymap.GoLabel)
	shows(t, p, "go to label: no snapshot has a label")
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.SetLabel)
	p.Type("emptied  here the cart went")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "▌ │ ◌ 12.1 end    (emptied) Every", "◊ emptied here the cart went", "label    emptied  here the cart went", "✓ #12.1 is called emptied")
	p.Press(keymap.Timeline, keymap.StepBack)
	if got := line(p, 1); strings.Count(got, "◊") != 1 {
		t.Errorf("the scrubber has no label: %s", got)
	}
	lacks(t, p, "label    emptied")
	p.Press(keymap.Timeline, keymap.StepForward, keymap.SetLabel)
	shows(t, p, "name, note  emptied here the cart went", "no text takes the label away")
	p.Key("ctrl+u")
	p.Type("gone")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "(gone) Every", "label    gone")
	lacks(t, p, "emptied here")
	if got := l.told(); got != "gone=" {
		t.Errorf("kept are %s", got)
	}
	p.Press(keymap.Timeline, keymap.SetLabel)
	p.Key("ctrl+u")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "#12.1 has no label any more")
	lacks(t, p, "(gone)", "label    gone", "◊")
	if got := l.told(); got != "" {
		t.Errorf("kept are %s", got)
	}
	p.Press(keymap.Timeline, keymap.SetLabel)
	p.Press(keymap.Input, keymap.Accept) // nothing was typed
	lacks(t, p, "name, note")
}

// What cannot be a label is refused where it is typed. The name of another snapshot is taken
// from it when the person says so again.
func TestLabels_refuses(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	l := newNamed(at(t, s, 3, "opera", "booked"))
	p := labelled(t, s, l, 100, 30)
	p.Press(keymap.Timeline, keymap.SetLabel)
	for _, tc := range []struct{ text, why string }{
		{"head", "it means the head"}, {"7", "it means an index"}, {"../up", "two dots"},
	} {
		p.Key("ctrl+u")
		p.Type(tc.text)
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, tc.why)
	}
	p.Key("ctrl+u")
	p.Type("opera")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "#3 has this label; the same again moves it here", "(opera) book_ho")
	l.fail("the disk is full")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "the disk is full", "name, note")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "(opera) the trip", "✓ #13 is called opera")
	lacks(t, p, "(opera) book_ho")
	l.fail("the disk is gone")
	p.Press(keymap.Timeline, keymap.Reload)
	shows(t, p, "the disk is gone", "(opera) the trip") // what was read before stays
}

// A label is gone to by its name, from a list or by a search.
func TestLabels_leadThere(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	atSizes(t, func(t *testing.T, w, h int) {
		l := newNamed(at(t, s, 8, "jazz", "dry and cheap"), at(t, s, 2, "first", ""), at(t, s, 2, "answer", ""))
		p := labelled(t, s, l, w, h)
		p.Press(keymap.Timeline, keymap.GoLabel)
		shows(t, p, "jazz", "#8  dry and cheap", "answer", "first")
		p.Golden()
		p.Press(keymap.Menu, keymap.Bottom, keymap.Accept)
		shows(t, p, "▌ ○    8", "#8 is called jazz")
		p.Press(keymap.Timeline, keymap.Search)
		p.Type("label:")
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, `"label:": match 2 of 2`)
		p.Press(keymap.Timeline, keymap.SearchNext)
		shows(t, p, "▌ ○    2", "(answer,")
		p.Press(keymap.Timeline, keymap.Search)
		p.Type("label:JAZ")
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, "▌ ○    8", `match 1 of 1`)
		p.Press(keymap.Timeline, keymap.GoHead, keymap.Search)
		p.Type("cheap") // a note
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, "▌ ○    8")
	})
}

// Labels that another program sets show, also those of snapshots that come later; and they
// stay where they are when the session branches.
func TestLabels_changeElsewhere(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	l := newNamed()
	p := labelled(t, s, l, 100, 30)
	w := newWriter(t, s, sample.Trip)
	w.write(t, 1)
	waitFor(t, p, "head #14")
	coming := *w
	later := demoStore(t) // where the snapshot that comes is written first
	coming.store = later
	newWriter(t, later, sample.Trip).write(t, 1)
	coming.write(t, 1)
	next := model.Label{Session: sample.Trip, ID: coming.head.ID, Name: "next"}
	l.say(at(t, s, 8, "jazz", ""), next)
	waitFor(t, p, "(jazz)")
	lacks(t, p, "(next)")
	w.write(t, 1)
	waitFor(t, p, "(next)")
	restore(t, s, model.Ref{Session: sample.Trip, ID: at(t, s, 10, "x", "").ID})
	waitFor(t, p, "head #10")
	p.Idle()
	shows(t, p, "(jazz)", "(next)")
	l.say(next)
	waitFor(t, p, "head #10") // in any case
	p.WaitFor("no jazz", func(screen string) bool { return !strings.Contains(screen, "(jazz)") })
}

func TestLabels_needAPlace(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.SetLabel)
	shows(t, p, "label, note: labels are kept nowhere here")
}

// On a real store a label lies beside the framework's files, which stay as they are, and
// another program's label shows.
func TestLabels_ofARealStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "python-file")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "testdata", "strands", "python-file"))); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	s, err := messages.Open(t.Context(), dir)
	o := steady(t, s, err)
	own := labels.New(t.TempDir())
	o.Session, o.Labels = "basic", own
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.SetLabel)
	p.Type("goodbye she knows umlauts")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "▌ ◉ 13 end     (goodbye) Goodbye", "✓ #13 is called goodbye")
	list, err := own.Of(t.Context(), s, "basic")
	if err != nil || len(list) != 1 || list[0].Name != "goodbye" || list[0].Note != "she knows umlauts" {
		t.Errorf("kept are %+v, %v", list, err)
	}
	for name, text := range contents(t, dir) {
		if was, there := before[name]; !strings.HasPrefix(name, ".hindcast") && (!there || was != text) {
			t.Errorf("%s was written", name)
		}
	}
	other := list[0]
	other.Name = "end"
	if _, err := own.Set(t.Context(), s, other); err != nil {
		t.Fatal(err)
	}
	waitFor(t, p, "(end, goo")
}

// contents returns what the files below a folder hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
