package dialog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/screentest"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// pane is what the root model needs of every dialog.
type pane interface {
	Resize(maxW, maxH int)
	Size() (w, h int)
	AppendRow(dst []byte, y int) []byte
	Do(keymap.Action) (then func() tea.Cmd, closes bool)
	Wheel(n int)
	Scope() keymap.Scope
	Type(tea.KeyMsg)
	Arm()
	NoteHead(session string, head model.Ref)
}

var (
	_ pane = (*Text)(nil)
	_ pane = (*Question)(nil)
	_ pane = (*Help)(nil)
	_ pane = (*Journal)(nil)
	_ pane = (*Menu)(nil)
	_ pane = (*Prompt)(nil)
	_ pane = (*Broken)(nil)
)

var noon = time.Date(2026, 11, 21, 12, 5, 0, 0, time.UTC)

func clock(t time.Time) string { return t.Format("15:04") }

func plan() *model.Plan {
	return &model.Plan{
		Op: model.OpRestore, Session: "trip-planner", Target: model.Point{ID: strings.Repeat("a", 64), Index: 2},
		Head:    model.Point{ID: strings.Repeat("b", 64), Index: 5},
		Orphans: []model.Point{{ID: strings.Repeat("c", 64), Index: 3}, {ID: strings.Repeat("d", 64), Index: 4}, {ID: strings.Repeat("b", 64), Index: 5}},
		Writes:  []string{"visits: 3 rows become orphaned", "sessions: the head and the working state"},
		Loads:   `StreamBidi with WithSessionID("trip-planner") loads the state of #2 and goes on with turn 2 as #3`,
		Hazards: []string{"the working state has changes that no snapshot holds; they are replaced (undo brings them back)"},
	}
}

// longPlan is a plan of a store of files, with calls to go on with, and reasons to
// ask once more.
func longPlan() *model.Plan {
	p := plan()
	p.Writes, p.Loads = nil, "the agent loads messages 0 to 2 and the state of its last turn"
	p.Asks = []string{"book_train would run again: its call has no result yet", "the session was written 12 s ago: an agent may still be running"}
	p.Resume = []model.Resume{{Call: "agent(None)", Then: "the model answers the tool results"}, {Call: `agent("…")`, Then: "a new turn begins"}}
	for i := 3; i < 6; i++ {
		p.Files = append(p.Files, model.PlanFile{Path: fmt.Sprintf("session_trip/agents/agent_a/messages/message_%d.json", i), Does: model.FileSetAside, Size: 1200})
	}
	for i := range 9 {
		p.Files = append(p.Files, model.PlanFile{Path: fmt.Sprintf("session_trip/multi_agents/agent_%d/agent.json", i), Does: model.FileReplaced, Size: 480})
	}
	return p
}

// hostile is text that would do harm if it reached the terminal.
const hostile = "x\x1b]52;c;aGk=\x07y\x1b[2J\u202ez\u009b\x00\r"

func dialogs(styles *theme.Styles) map[string]pane {
	keys := keymap.Default()
	bad := plan()
	bad.Session, bad.Hazards = hostile, []string{hostile}
	question := NewQuestion(styles, keys, plan(), Change{Brief: []string{"cart: total 120.5 → 140.5", "−4 messages"}, Lines: []string{"1 added, 2 changed", "cart.total 120.5 → 140.5"}}, Answers{})
	question.Arm()
	long, second := NewQuestion(styles, keys, longPlan(), Change{}, Answers{}), NewSecondQuestion(styles, keys, longPlan(), Answers{})
	long.Arm()
	second.Arm()
	bad.Resume, bad.Asks = []model.Resume{{Call: hostile, Then: hostile}}, []string{hostile}
	written := []model.JournalEntry{
		{ID: 3, At: noon, Op: model.OpRestore, Session: "trip", From: "b", FromIndex: 5, To: "a", ToIndex: 2, Files: longPlan().Files},
		{ID: 2, At: noon, Op: model.OpRestore, Session: "trip", From: "b", FromIndex: 5, To: "a", ToIndex: 2, Broken: "no space left on device"},
		{ID: 1, At: noon, Op: model.OpRepair, Session: "trip", From: "b", FromIndex: 5, To: "b", ToIndex: 5},
	}
	broken := NewJournal(styles, keys, written, clock, JournalAnswers{})
	broken.Do(keymap.MoveDown)
	return map[string]pane{
		"text":          NewText(styles, keys, "Error", "sqlite: read state \"a\":\nbyte 12: "+hostile+strings.Repeat(" long", 60)),
		"question":      question,
		"hostile":       NewQuestion(styles, keys, bad, Change{[]string{hostile}, []string{hostile}}, Answers{}),
		"help":          NewHelp(styles, keys, keymap.Timeline, keymap.Context{Lacks: map[keymap.Action]string{keymap.Restore: "a strands store cannot restore"}}),
		"journal":       NewJournal(styles, keys, []model.JournalEntry{{ID: 3, At: noon, Op: model.OpImport, Session: "s", Others: []string{"t", "u"}, From: "a", FromIndex: 2, To: "d", ToIndex: 4}, {ID: 2, At: noon, Op: model.OpFork, Session: hostile, To: "c", ToIndex: 3}, {ID: 1, At: noon, Op: model.OpRestore, Session: "s", From: "b", FromIndex: 5, To: "a", ToIndex: 2, Undone: true}}, clock, JournalAnswers{}),
		"long":          long,
		"once more":     second,
		"hostile asks":  NewSecondQuestion(styles, keys, bad, Answers{}),
		"files":         NewJournal(styles, keys, written, clock, JournalAnswers{}),
		"broken off":    broken,
		"broken edit":   NewBroken(styles, keys, "line 3, column 7: "+hostile, "/tmp/hindcast-1.json", fates(nil)),
		"empty journal": NewJournal(styles, keys, nil, clock, JournalAnswers{}),
		"menu":          NewMenu(styles, keys, keymap.Menu, "Copy", "copy", []Item{{Action: keymap.YankID, Text: hostile}, {Action: keymap.YankPath, Disabled: "no value is selected"}}),
		"prompt":        NewPrompt(styles, keys, "Fork", "new session", "trip-planner-2", nil, nil, nil),
	}
}

// fates are what can become of an edit that cannot be used.
func fates(do func(keymap.Action) func() tea.Cmd) []Item {
	items := []Item{{Action: keymap.EditAgain, Text: "edit again"}, {Action: keymap.Discard, Text: "discard"}, {Action: keymap.Back, Text: "leave it"}}
	for i := range items {
		if do != nil {
			items[i].Do = do(items[i].Action)
		}
	}
	return items
}

// said is what dialogs did, in words.
type said []string

// does returns what notes a word.
func (s *said) does(word string) func() tea.Cmd {
	return func() tea.Cmd {
		*s = append(*s, word)
		return nil
	}
}

// press has a dialog carry out actions as the root model does, until it closes. It
// reports whether it closed.
func press(d pane, actions ...keymap.Action) (closed bool) {
	for _, a := range actions {
		then, closes := d.Do(a)
		if then != nil {
			then()
		}
		if closes {
			return true
		}
	}
	return false
}

func screen(p pane) string {
	_, h := p.Size()
	return screentest.Draw(p, h)
}

func TestDialogs_lookAsDrawn(t *testing.T) {
	for name := range dialogs(screentest.Colourless()) {
		for _, width := range []int{56, 100} {
			t.Run(fmt.Sprintf("%s %d", name, width), func(t *testing.T) {
				p := dialogs(screentest.Colourless())[name]
				p.Resize(width, 16)
				golden.RequireEqual(t, []byte(screen(p)))
			})
		}
	}
}

// Every row has exactly the width that Size says, at any size, and holds no
// control byte.
func TestDialogs_rowsAreExactAndClean(t *testing.T) {
	for name, p := range dialogs(screentest.Colourless()) {
		t.Run(name, func(t *testing.T) {
			for w := range 110 {
				for _, h := range []int{0, 1, 3, 4, 5, 18, 50} {
					p.Resize(w, h)
					gotW, gotH := p.Size()
					if gotW > w || gotH > h {
						t.Fatalf("at %d×%d it takes %d×%d", w, h, gotW, gotH)
					}
					screentest.Exact(t, p, gotW, gotH)
				}
			}
		})
	}
}

func TestDialogs_coloursChangeNothingElse(t *testing.T) {
	for name := range dialogs(screentest.Colourless()) {
		t.Run(name, func(t *testing.T) {
			screentest.ColoursOnly(t, 18, func(styles *theme.Styles, w int) screentest.Rows {
				p := dialogs(styles)[name]
				p.Resize(w, 18)
				return p
			})
		})
	}
}

func TestQuestion_answers(t *testing.T) {
	for _, c := range []struct {
		name  string
		armed bool
		keys  []keymap.Action
		want  string // "" while it waits
	}{
		{"enter takes the default, which is no", true, []keymap.Action{keymap.Accept}, "no"},
		{"the other answer, then enter", true, []keymap.Action{keymap.Other, keymap.Accept}, "yes"},
		{"the other answer twice is no again", true, []keymap.Action{keymap.Other, keymap.Other, keymap.Accept}, "no"},
		{"yes", true, []keymap.Action{keymap.Yes}, "yes"},
		{"no", true, []keymap.Action{keymap.No}, "no"},
		{"back", true, []keymap.Action{keymap.Back}, "no"},
		{"moving answers nothing", true, []keymap.Action{keymap.MoveDown, keymap.Bottom}, ""},
		{"yes typed ahead", false, []keymap.Action{keymap.Yes}, ""},
		{"the other answer and enter typed ahead", false, []keymap.Action{keymap.Other, keymap.Accept}, ""},
		{"leaving works at once", false, []keymap.Action{keymap.Back}, "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, got := questioned(plan())
			q.Resize(80, 20)
			if c.armed {
				q.Arm()
			}
			closed := press(q, c.keys...)
			if strings.Join(*got, " ") != c.want || closed != (c.want != "") {
				t.Errorf("it did %q and not %q, and closed: %t", *got, c.want, closed)
			}
		})
	}
}

// questioned makes a question and what notes its answers.
func questioned(p *model.Plan) (*Question, *said) {
	got := new(said)
	answers := Answers{Yes: got.does("yes"), No: got.does("no"), Anew: got.does("anew")}
	return NewQuestion(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), p, Change{}, answers), got
}

func TestQuestion_forgetsWhatWasTypedBeforeItWasArmed(t *testing.T) {
	q, got := questioned(plan())
	press(q, keymap.Other)
	q.Arm()
	if press(q, keymap.Accept); !slices.Equal(*got, []string{"no"}) {
		t.Errorf("the other answer, typed before the question was armed, made Enter answer %q", *got)
	}
}

// To agree to a plan whose session has moved on is to ask for a new one; to leave it is
// to leave it.
func TestQuestion_movedOn(t *testing.T) {
	at := model.Ref{Session: "trip-planner", ID: strings.Repeat("b", 64), Visit: 5}
	elsewhere := model.Ref{Session: "trip-planner", ID: strings.Repeat("e", 64), Visit: 6}
	for _, c := range []struct {
		name             string
		expected, head   model.Ref
		session, yes, no string
	}{
		{"the head is where it was", at, at, "trip-planner", "yes", "no"},
		{"the head is elsewhere", at, elsewhere, "trip-planner", "anew", "no"},
		{"the same snapshot at another visit", at, model.Ref{Session: at.Session, ID: at.ID, Visit: 9}, "trip-planner", "anew", "no"},
		{"a head without a visit", model.Ref{Session: at.Session, ID: at.ID}, at, "trip-planner", "yes", "no"},
		{"the head of another session", at, elsewhere, "other", "yes", "no"},
		{"a plan that rests on no head", model.Ref{}, elsewhere, "trip-planner", "yes", "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for key, want := range map[keymap.Action]string{keymap.Yes: c.yes, keymap.No: c.no} {
				p := plan()
				p.Head = model.Point{ID: c.expected.ID, Visit: c.expected.Visit}
				q, got := questioned(p)
				q.Arm()
				q.NoteHead(c.session, c.head)
				if press(q, key); !slices.Equal(*got, []string{want}) {
					t.Errorf("%v did %q and not %q", key, *got, want)
				}
				if q.Resize(80, 20); strings.Contains(screen(q), "has moved on since") != (c.yes == "anew") {
					t.Errorf("that the session has moved on shows, or does not:\n%s", screen(q))
				}
			}
		})
	}
}

func TestMenu_choosesByKeyAndByCursor(t *testing.T) {
	for _, c := range []struct {
		name   string
		keys   []keymap.Action
		want   string
		closes bool
	}{
		{"its own key", []keymap.Action{keymap.YankValue}, "value", true},
		{"enter on the first", []keymap.Action{keymap.Accept}, "id", true},
		{"enter on the third", []keymap.Action{keymap.Bottom, keymap.Accept}, "value", true},
		{"a disabled one", []keymap.Action{keymap.YankPath}, "", false},
		{"enter on a disabled one", []keymap.Action{keymap.MoveDown, keymap.Accept}, "", false},
		{"leaving", []keymap.Action{keymap.Back}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got said
			items := []Item{
				{Action: keymap.YankID, Do: got.does("id")},
				{Action: keymap.YankPath, Disabled: "nothing is selected", Do: got.does("path")},
				{Action: keymap.YankValue, Do: got.does("value")},
			}
			m := NewMenu(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), keymap.Menu, "Copy", "copy", items)
			m.Resize(60, 20)
			if closed := press(m, c.keys...); strings.Join(got, " ") != c.want || closed != c.closes {
				t.Errorf("it did %q and not %q, and closed: %t", got, c.want, closed)
			}
		})
	}
}

func TestBroken_answers(t *testing.T) {
	for a, want := range map[keymap.Action]string{
		keymap.EditAgain: keymap.EditAgain.String(), keymap.Accept: keymap.EditAgain.String(),
		keymap.Discard: keymap.Discard.String(), keymap.Back: keymap.Back.String(), keymap.MoveDown: "",
	} {
		var got said
		d := NewBroken(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), "no", "/tmp/x.json", fates(func(a keymap.Action) func() tea.Cmd { return got.does(a.String()) }))
		d.Resize(60, 20)
		if closed := press(d, a); strings.Join(got, " ") != want || closed != (want != "") {
			t.Errorf("%v did %q and not %q, and closed: %t", a, got, want, closed)
		}
	}
}

func TestJournal_answers(t *testing.T) {
	written := []model.JournalEntry{{ID: 2, At: noon, Op: model.OpRestore, Session: "second"}, {ID: 1, At: noon, Op: model.OpRestore, Session: "first"}}
	for _, c := range []struct {
		name    string
		entries []model.JournalEntry
		keys    []keymap.Action
		want    string
		closes  bool
	}{
		{"undo", written, []keymap.Action{keymap.Undo}, keymap.Undo.String(), true},
		{"redo, with the cursor elsewhere", written, []keymap.Action{keymap.MoveDown, keymap.Redo}, keymap.Redo.String(), true},
		{"purge of the newest", written, []keymap.Action{keymap.Purge}, "second", true},
		{"purge of the one under the cursor", written, []keymap.Action{keymap.MoveDown, keymap.Purge}, "first", true},
		{"purge of nothing", nil, []keymap.Action{keymap.Purge}, "", false},
		{"leaving", written, []keymap.Action{keymap.Back}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got said
			d := NewJournal(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), c.entries, clock, JournalAnswers{
				Return: func(a keymap.Action) tea.Cmd { return got.does(a.String())() },
				Purge:  func(e model.JournalEntry) tea.Cmd { return got.does(e.Session)() },
			})
			d.Resize(96, 20)
			if closed := press(d, c.keys...); strings.Join(got, " ") != c.want || closed != c.closes {
				t.Errorf("it did %q and not %q, and closed: %t", got, c.want, closed)
			}
		})
	}
}

// A dialog that is only read closes by the keys that people leave with, the help only
// once it is not searched.
func TestDialogs_leaving(t *testing.T) {
	styles, keys := theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default()
	for name, d := range map[string]pane{"text": NewText(styles, keys, "Error", "text"), "help": NewHelp(styles, keys, keymap.Timeline, keymap.Context{})} {
		d.Resize(60, 20)
		for _, a := range []keymap.Action{keymap.Back, keymap.Help, keymap.Accept} {
			if !press(d, a) {
				t.Errorf("%s does not close by %v", name, a)
			}
		}
		if press(d, keymap.MoveDown, keymap.Bottom) {
			t.Errorf("%s closes by moving", name)
		}
	}
	help := NewHelp(styles, keys, keymap.Timeline, keymap.Context{})
	help.Resize(60, 20)
	if press(help, keymap.Search, keymap.Accept) || press(help, keymap.Search, keymap.Back) {
		t.Error("leaving the search closes the help")
	}
	if !press(help, keymap.Back) {
		t.Error("the help does not close after a search")
	}
}

func TestPrompt_typesRefusesAndAccepts(t *testing.T) {
	var got said
	accept := func(text string) tea.Cmd { return got.does(text)() }
	p := NewPrompt(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), "Fork", "new session", "", nil, accept, got.does("left"))
	p.Resize(60, 20)
	p.Type(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("näme")})
	if press(p, keymap.Accept) || !slices.Equal(got, []string{"näme"}) {
		t.Fatalf("Enter closed it, or it did %q", got)
	}
	p.Refuse("the session exists already")
	if !strings.Contains(screen(p), "exists already") {
		t.Errorf("why the name was refused is not shown:\n%s", screen(p))
	}
	p.Type(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("2")})
	if strings.Contains(screen(p), "exists already") {
		t.Error("the reason stays although the name has changed")
	}
	if press(p, keymap.Accept) || !press(p, keymap.Back) || !slices.Equal(got, []string{"näme", "näme2", "left"}) {
		t.Errorf("it did %q, or Esc did not close it", got)
	}
}

// A key of the help says below the field what can be typed, as long as nothing is typed; F1 always does.
func TestPrompt_saysWhatCanBeTyped(t *testing.T) {
	meanings := []sheet.Paragraph{{Label: "a name", Text: "that no session has"}}
	p := NewPrompt(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), "Fork", "new session", "trip-fork", meanings, nil, nil)
	p.Resize(70, 20)
	question := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("?")}
	for _, shown := range []bool{true, false} {
		if p.Type(question); strings.Contains(screen(p), "that no session has") != shown || p.field.Text() != "trip-fork" {
			t.Errorf("%q is typed, and the meanings show, %t:\n%s", p.field.Text(), !shown, screen(p))
		}
	}
	p.Type(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("2")})
	if p.Type(question); p.field.Text() != "trip-fork2?" || strings.Contains(screen(p), "that no") || !strings.Contains(screen(p), "what can be typed") {
		t.Errorf("%q is typed:\n%s", p.field.Text(), screen(p))
	}
	if press(p, keymap.Help) || !strings.Contains(screen(p), "that no session has") {
		t.Errorf("F1 does not say it:\n%s", screen(p))
	}
}

// What the program itself says in a plan is ASCII where the terminal is.
func TestQuestion_asciiGlyphs(t *testing.T) {
	styles := theme.New(theme.Choice{Glyphs: theme.ASCII})
	p := longPlan()
	p.Resume = append(p.Resume[1:], p.Resume[0])
	written := []model.JournalEntry{{ID: 1, At: noon, Op: model.OpRestore, Session: "trip", Files: p.Files}}
	for _, d := range []pane{NewQuestion(styles, keymap.Default(), p, Change{}, Answers{}), NewSecondQuestion(styles, keymap.Default(), p, Answers{}), NewJournal(styles, keymap.Default(), written, clock, JournalAnswers{})} {
		d.Resize(96, 60)
		for _, r := range screen(d) {
			if r > 126 {
				t.Fatalf("%q is not ASCII:\n%s", r, screen(d))
			}
		}
	}
}
