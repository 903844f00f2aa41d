package dialog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// pane is what the root model needs of every dialog.
type pane interface {
	Resize(maxW, maxH int)
	Size() (w, h int)
	AppendRow(dst []byte, y int) []byte
	Do(keymap.Action) bool
	Wheel(n int)
	Scope() keymap.Scope
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
		Op: model.OpRestore, Session: "trip-planner", TargetID: strings.Repeat("a", 64), TargetIndex: 2,
		HeadID: strings.Repeat("b", 64), HeadIndex: 5,
		Orphans: []model.PlanItem{{ID: strings.Repeat("c", 64), Index: 3}, {ID: strings.Repeat("d", 64), Index: 4}, {ID: strings.Repeat("b", 64), Index: 5}},
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
	question := NewQuestion(styles, keys, plan(), Change{Brief: []string{"cart: total 120.5 → 140.5", "−4 messages"}, Lines: []string{"1 added, 2 changed", "cart.total 120.5 → 140.5"}})
	question.Arm()
	long, second := NewQuestion(styles, keys, longPlan(), Change{}), NewSecondQuestion(styles, keys, longPlan())
	long.Arm()
	second.Arm()
	bad.Resume, bad.Asks = []model.Resume{{Call: hostile, Then: hostile}}, []string{hostile}
	written := []model.JournalEntry{
		{ID: 3, At: noon, Op: model.OpRestore, Session: "trip", From: "b", FromIndex: 5, To: "a", ToIndex: 2, Files: longPlan().Files},
		{ID: 2, At: noon, Op: model.OpRestore, Session: "trip", From: "b", FromIndex: 5, To: "a", ToIndex: 2, Broken: "no space left on device"},
		{ID: 1, At: noon, Op: model.OpRepair, Session: "trip", From: "b", FromIndex: 5, To: "b", ToIndex: 5},
	}
	broken := NewJournal(styles, keys, written, clock)
	broken.Do(keymap.MoveDown)
	return map[string]pane{
		"text":          NewText(styles, keys, "Error", "sqlite: read state \"a\":\nbyte 12: "+hostile+strings.Repeat(" long", 60)),
		"question":      question,
		"hostile":       NewQuestion(styles, keys, bad, Change{[]string{hostile}, []string{hostile}}),
		"help":          NewHelp(styles, keys, keymap.Timeline, keymap.Context{Restore: "a strands store cannot restore"}),
		"journal":       NewJournal(styles, keys, []model.JournalEntry{{ID: 3, At: noon, Op: model.OpImport, Session: "s", Others: []string{"t", "u"}, From: "a", FromIndex: 2, To: "d", ToIndex: 4}, {ID: 2, At: noon, Op: model.OpFork, Session: hostile, To: "c", ToIndex: 3}, {ID: 1, At: noon, Op: model.OpRestore, Session: "s", From: "b", FromIndex: 5, To: "a", ToIndex: 2, Undone: true}}, clock),
		"long":          long,
		"once more":     second,
		"hostile asks":  NewSecondQuestion(styles, keys, bad),
		"files":         NewJournal(styles, keys, written, clock),
		"broken off":    broken,
		"broken edit":   NewBroken(styles, keys, "line 3, column 7: "+hostile, "/tmp/hindcast-1.json"),
		"empty journal": NewJournal(styles, keys, nil, clock),
		"menu":          NewMenu(styles, keys, keymap.Menu, "Copy", "copy", []Item{{Action: keymap.YankID, Text: hostile}, {Action: keymap.YankPath, Disabled: "no value is selected"}}),
		"prompt":        NewPrompt(styles, keys, "Fork", "new session", "trip-planner-2"),
	}
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
		want  Answer
	}{
		{"enter takes the default, which is no", true, []keymap.Action{keymap.Accept}, Declined},
		{"the other answer, then enter", true, []keymap.Action{keymap.Other, keymap.Accept}, Agreed},
		{"the other answer twice is no again", true, []keymap.Action{keymap.Other, keymap.Other, keymap.Accept}, Declined},
		{"yes", true, []keymap.Action{keymap.Yes}, Agreed},
		{"no", true, []keymap.Action{keymap.No}, Declined},
		{"back", true, []keymap.Action{keymap.Back}, Declined},
		{"moving answers nothing", true, []keymap.Action{keymap.MoveDown, keymap.Bottom}, Waiting},
		{"yes typed ahead", false, []keymap.Action{keymap.Yes}, Waiting},
		{"the other answer and enter typed ahead", false, []keymap.Action{keymap.Other, keymap.Accept}, Waiting},
		{"leaving works at once", false, []keymap.Action{keymap.Back}, Declined},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := NewQuestion(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), plan(), Change{})
			q.Resize(80, 20)
			if c.armed {
				q.Arm()
			}
			for _, a := range c.keys {
				q.Do(a)
			}
			if q.Answer() != c.want {
				t.Errorf("the answer is %d, not %d", q.Answer(), c.want)
			}
		})
	}
}

func TestQuestion_forgetsWhatWasTypedBeforeItWasArmed(t *testing.T) {
	q := NewQuestion(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), plan(), Change{})
	q.Do(keymap.Other)
	q.Arm()
	if q.Do(keymap.Accept); q.Answer() != Declined {
		t.Error("the other answer, typed before the question was armed, made Enter agree")
	}
}

func TestMenu_choosesByKeyAndByCursor(t *testing.T) {
	items := []Item{{Action: keymap.YankID}, {Action: keymap.YankPath, Disabled: "nothing is selected"}, {Action: keymap.YankValue}}
	for _, c := range []struct {
		name string
		keys []keymap.Action
		want keymap.Action
	}{
		{"its own key", []keymap.Action{keymap.YankValue}, keymap.YankValue},
		{"enter on the first", []keymap.Action{keymap.Accept}, keymap.YankID},
		{"enter on the third", []keymap.Action{keymap.Bottom, keymap.Accept}, keymap.YankValue},
		{"a disabled one", []keymap.Action{keymap.YankPath}, keymap.None},
		{"enter on a disabled one", []keymap.Action{keymap.MoveDown, keymap.Accept}, keymap.None},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMenu(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), keymap.Menu, "Copy", "copy", items)
			m.Resize(60, 20)
			for _, a := range c.keys {
				m.Do(a)
			}
			got := keymap.None
			if it := m.Chosen(); it != nil {
				got = it.Action
			}
			if got != c.want {
				t.Errorf("chose %v, not %v", got, c.want)
			}
		})
	}
}

func TestPrompt_typesRefusesAndAccepts(t *testing.T) {
	p := NewPrompt(theme.New(theme.Choice{Glyphs: theme.ASCII}), keymap.Default(), "Fork", "new session", "")
	p.Resize(60, 20)
	p.Type(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("näme")})
	if p.Value() != "näme" || p.Done() {
		t.Fatalf("value %q, done %t", p.Value(), p.Done())
	}
	if p.Do(keymap.Accept); !p.Done() {
		t.Fatal("Enter did not accept")
	}
	p.Refuse("the session exists already")
	if p.Done() || !strings.Contains(screen(p), "exists already") {
		t.Errorf("a refused name is done: %t, or the reason is not shown:\n%s", p.Done(), screen(p))
	}
	p.Type(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("2")})
	if strings.Contains(screen(p), "exists already") {
		t.Error("the reason stays although the name has changed")
	}
}

// What the program itself says in a plan is ASCII where the terminal is.
func TestQuestion_asciiGlyphs(t *testing.T) {
	styles := theme.New(theme.Choice{Glyphs: theme.ASCII})
	p := longPlan()
	p.Resume = append(p.Resume[1:], p.Resume[0])
	written := []model.JournalEntry{{ID: 1, At: noon, Op: model.OpRestore, Session: "trip", Files: p.Files}}
	for _, d := range []pane{NewQuestion(styles, keymap.Default(), p, Change{}), NewSecondQuestion(styles, keymap.Default(), p), NewJournal(styles, keymap.Default(), written, clock)} {
		d.Resize(96, 60)
		for _, r := range screen(d) {
			if r > 126 {
				t.Fatalf("%q is not ASCII:\n%s", r, screen(d))
			}
		}
	}
}
