package tui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/kinds/pi"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/results"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// machineOptions returns the options for the home of a machine with a store of every kind, and the machine.
func machineOptions(t *testing.T) (tui.Options, machine.Machine) {
	t.Helper()
	dir := t.TempDir()
	m := machine.Machine{Home: filepath.Join(dir, "me"), Work: filepath.Join(dir, "me", "work")}
	if err := machine.Lay(filepath.Join("..", "testdata"), m); err != nil {
		t.Fatal(err)
	}
	h := home.New(kinds.All(nil, ""), home.Places{Around: m.Surroundings(), Below: []string{m.Work}})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(nil)
	o.Home = h
	return o, m
}

// countMachine returns how many sessions a machine has, and how many of them are sub-agents of others.
func countMachine(t *testing.T, m machine.Machine) (sessions, subAgents int) {
	t.Helper()
	h := home.New(kinds.All(nil, ""), home.Places{Around: m.Surroundings(), Below: []string{m.Work}})
	defer h.Close()
	listed, parents := map[string]bool{}, []string(nil)
	for s, err := range h.Sessions(t.Context()) {
		if err != nil || s.Err != nil {
			t.Fatal(err, s.Err)
		}
		listed[s.Store.At+" "+s.ID] = true
		if s.Parent != "" {
			parents = append(parents, s.Store.At+" "+s.Parent)
		}
	}
	for _, parent := range parents {
		if listed[parent] {
			subAgents++
		}
	}
	if of := machine.Kinds(); h.CountStores() != len(of) {
		t.Errorf("the home has %d stores, and the machine %d", h.CountStores(), len(of))
	}
	return len(listed), subAgents
}

// startMachine runs the screen on that machine. It returns how many sessions the list has, too.
func startMachine(t *testing.T, w, h int) (*screentest.Program, int) {
	t.Helper()
	o, m := machineOptions(t)
	sessions, _ := countMachine(t, m)
	p := start(t, o, w, h)
	waitFor(t, p, fmt.Sprintf("%d in %d stores", sessions, len(machine.Kinds())))
	p.Idle()
	return p, sessions
}

// lineOf returns the line of the screen with a text, -1 for none.
func lineOf(screen, text string) int {
	for y, line := range strings.Split(screen, "\n") {
		if strings.Contains(line, text) {
			return y
		}
	}
	return -1
}

// linesAbove returns the first n lines of a screen, without the footer.
func linesAbove(screen string, n int) string {
	return strings.Join(strings.SplitN(screen, "\n", n+1)[:n], "\n")
}

// One key and words search everywhere: titles show first, and below them what was said in sessions of several tools,
// newest first. Enter opens a hit with its word marked in Messages, Esc comes back to the hit, and again to the row of
// its session.
func TestSearch_everywhere(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p, sessions := startMachine(t, 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("reply to: second")
	shows(t, p, "[all sessions]", "◆ assistant", "hits in", fmt.Sprint(sessions, " sessions searched"))
	lacks(t, p, "titles")
	if pi, aider := lineOf(p.Screen(), "openhands"), lineOf(p.Screen(), "aider"); pi < 0 || aider < pi {
		t.Errorf("the newest is not first:\n%s", p.Screen())
	}
	p.Press(keymap.Input, keymap.MoveDown, keymap.MoveDown, keymap.MoveDown)
	selects(t, p, "reply to: second question")
	before := p.Screen()
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "conversations › ", "[Messages]", `"reply to: second": match 1 of 1`)
	p.Press(keymap.Messages, keymap.Back)
	if linesAbove(p.Screen(), 29) != linesAbove(before, 29) {
		t.Errorf("Esc leads to\n%s\nnot to\n%s", p.Screen(), before)
	}
	p.Press(keymap.Picker, keymap.Back)
	selects(t, p, "openhands")
	shows(t, p, "Sessions", fmt.Sprintf("%d in %d stores", sessions, len(machine.Kinds())))
}

// A session that is written while a search shows is searched too: its hits come behind the others, which stay. One that
// goes on has its hits once.
func TestSearch_arrivals(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	dir := t.TempDir()
	write := func(id string, size int) {
		t.Helper()
		storetest.SaveTranscript(t, filepath.Join(dir, ".pi", "agent", "sessions", "--demo--", "t_"+id+".jsonl"), storetest.PiTranscript, id, time.Now(), size, 100)
	}
	write("one", 3000)
	h := home.New(kinds.All(nil, ""), home.Places{Around: store.Surroundings{Home: dir, Env: func(string) string { return "" }}})
	t.Cleanup(func() { h.Close() })
	o := options(nil)
	o.Home = h
	p := start(t, o, 100, 30)
	p.Idle()
	p.Press(keymap.Picker, keymap.Search)
	p.Type("please look")
	waitFor(t, p, "3 hits in 1 session · 1 session searched")
	write("two", 1000)
	waitFor(t, p, "4 hits in 2 sessions · 2 sessions searched")
	write("one", 4000)
	waitFor(t, p, "5 hits in 2 sessions · 2 sessions searched")
}

func TestSearch_asDrawn(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, newHouse(t).Options, w, h)
		p.Press(keymap.Picker, keymap.Search)
		p.Type("lyon")
		p.Press(keymap.Input, keymap.MoveDown, keymap.MoveDown, keymap.MoveDown)
		p.Golden()
		shows(t, p, "titles", "said", "trip-planner", "packing-list", "hits in 2 sessions")
	})
}

// locator is a store that says when a hit is located, and waits for leave to do it.
type locator struct {
	store.Store
	asked, leave chan struct{}
}

func (l *locator) Features() store.Features {
	f := l.Store.Features()
	scanner := *f.Scanner
	find := scanner.Find
	scanner.Find = func(ctx context.Context, session string, place int64, nth int) (model.Ref, int, error) {
		select {
		case l.asked <- struct{}{}:
		case <-ctx.Done():
			return model.Ref{}, -1, ctx.Err()
		}
		select {
		case <-l.leave:
			return find(ctx, session, place, nth)
		case <-ctx.Done():
			return model.Ref{}, -1, ctx.Err()
		}
	}
	f.Scanner = &scanner
	return f
}

// A hit of a transcript that was not read is located when it is opened: the screen says so meanwhile, and then lands on the
// very message. A person who turns back meanwhile stays where they went.
func TestSearch_locatesHits(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s, err := pi.Kind(nil).Open(t.Context(), filepath.Join("..", "testdata", "coding", "pi"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := &locator{s, make(chan struct{}), make(chan struct{})}
	p := start(t, options(l), 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("reply to: forked role:assistant")
	shows(t, p, "1 hit in", "◆ assistant")
	p.Press(keymap.Input, keymap.MoveDown)
	selects(t, p, "◆ assistant")
	found := linesAbove(p.Screen(), 29)
	p.Send(screentest.Key(t, "enter"))
	<-l.asked
	p.WaitFor("the change at the head, while the hit is located", func(screen string) bool { // Esc would leave that off first
		return strings.Contains(screen, "locating the hit") && strings.Contains(screen, "1 change")
	})
	p.Send(screentest.Key(t, "esc"))
	p.Send(screentest.Key(t, "esc"))
	p.WaitFor("the hits", func(screen string) bool { return strings.Contains(screen, "◆ assistant") })
	close(l.leave)
	p.Idle()
	if linesAbove(p.Screen(), 29) != found {
		t.Errorf("from the hits\n%s\nEsc leads back to\n%s", found, p.Screen())
	}
	p.Send(screentest.Key(t, "enter"))
	<-l.asked
	p.Idle()
	shows(t, p, "[Messages]", `"reply to: forked": match 1 of 1`)
}

// The screen locates the hits in view of a transcript that was not read, and signs those off the path. The hits show
// before, and the keys work meanwhile.
func TestSearch_settlesHits(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s, err := pi.Kind(nil).Open(t.Context(), filepath.Join("..", "testdata", "coding", "pi"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := &locator{s, make(chan struct{}), make(chan struct{})}
	p := start(t, options(l), 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("done: ls"), Paste: true})
	select {
	case <-l.asked:
	case <-time.After(20 * time.Second):
		t.Fatalf("no hit is located:\n%s", p.Screen())
	}
	p.WaitFor("the hits", func(screen string) bool { return strings.Contains(screen, "3 hits in 3 sessions") })
	if strings.Contains(p.Screen(), "◌") {
		t.Errorf("a hit has the sign before it is located:\n%s", p.Screen())
	}
	p.Send(screentest.Key(t, "f1"))
	p.WaitFor("the help", func(screen string) bool { return strings.Contains(screen, "regular expression") })
	p.Send(screentest.Key(t, "esc"))
	close(l.leave)
	p.Idle()
	if strings.Count(p.Screen(), "◌ ◆ assistant") != 1 {
		t.Errorf("not one of the hits has the sign:\n%s", p.Screen())
	}
}

// Without colours the words of the field and the match still stand out by their place, and all signs are ASCII.
func TestSearch_ascii(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o := newHouse(t).Options
	o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	p := start(t, o, 60, 18)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("opera since:2020-01-01")
	shows(t, p, "[since 2020-01-01]", "[all sessions]", "opera")
	for _, r := range p.Screen() {
		if r > 126 {
			t.Fatalf("%q is not ASCII:\n%s", r, p.Screen())
		}
	}
}

// Words narrow titles and hits, and show as chips. A mistake in a word is told where the chips stand.
func TestSearch_words(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p, _ := startMachine(t, 100, 40)
	for _, c := range []struct {
		typed string
		shows []string
		lacks []string
	}{
		{"question project:demo1 tool:codex", []string{"[project demo1] [tool codex]", "titles", "◇ user", "6 sessions searched"}, []string{"claude", "gemini"}},
		{"question role:user tool:gemini", []string{"[role user]", "◇ user"}, []string{"◆ assistant", "titles"}},
		{"project:pi-mono", []string{"[project pi-mono]", "titles", "alright"}, []string{"said"}},
		{"failed tool:codex", []string{"[failed]", "□ tool exec_com"}, []string{"◇ user", "titles"}},
		{"question left", []string{"[left]", "◌ ◇ user"}, []string{"    ◇ user", "titles"}},
		{"question since:2100-01-01", []string{"[since 2100-01-01]", "nothing like it was said in 0 sessions"}, []string{"titles"}},
		{"question since:soon", []string{`since:soon: "soon" is no time`, "◇ user"}, nil},
		{`"project:x"`, []string{"project: tool: since: role: file: failed left"}, []string{"[project"}},
	} {
		p.Press(keymap.Picker, keymap.Search)
		p.Type(c.typed)
		shows(t, p, c.shows...)
		lacks(t, p, c.lacks...)
		p.Press(keymap.Input, keymap.Back)
	}
}

// Tab goes to the next scope, and shift+tab back; ^r takes the text as a regular expression.
func TestSearch_scopesAndRegexp(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p := start(t, newHouse(t).Options, 100, 30)
	p.Press(keymap.Picker, keymap.Bottom, keymap.Search)
	p.Type("snapshot")
	shows(t, p, "[all sessions]", "notes", "3 sessions searched")
	p.Press(keymap.Input, keymap.Widen)
	shows(t, p, "[strands sessions]", "nothing like it was said in 2 sessions")
	p.Press(keymap.Input, keymap.Narrow)
	shows(t, p, "[all sessions]", "3 hits in 1 session")
	p.Key("ctrl+u")
	p.Type("snapshot [02]")
	shows(t, p, "nothing like it")
	p.Press(keymap.Input, keymap.Regexp)
	shows(t, p, "[all sessions] [regexp]", "snapshot 0", "snapshot 2", "2 hits in 1 session")
	lacks(t, p, "snapshot 1")
	p.Type("(")
	shows(t, p, "is no regular expression")
	p.Press(keymap.Input, keymap.Regexp)
	shows(t, p, "nothing like it")
}

// In a session the field begins with the session, and Enter finds the text in the pane that has the keys. A hit shows
// its word marked in Messages, of another session too; Esc leads back to the hits, and then to where the person was.
func TestSearch_inASession(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	h := newHouse(t)
	p := start(t, h.Options, 120, 30)
	p.Press(keymap.Picker, keymap.Top, keymap.MoveDown, keymap.MoveDown, keymap.Open)
	shows(t, p, "memory › trip-planner")
	p.Press(keymap.Timeline, keymap.PrevBranch)
	before := p.Screen()
	p.Press(keymap.Timeline, keymap.Search)
	p.Type("box at the opera")
	shows(t, p, "[this session]", "find it in the timeline", "◌ ◆ ", "1 hit in 1 session")
	p.Press(keymap.Input, keymap.MoveDown, keymap.MoveDown, keymap.Accept)
	shows(t, p, "[Messages]", `"box at the opera": match 1 of 1`, "▌ │ ◌  7.1")
	p.Press(keymap.Messages, keymap.Back)
	shows(t, p, "› box at the opera")
	p.Press(keymap.Picker, keymap.Search)
	p.Key("ctrl+u")
	p.Press(keymap.Input, keymap.Widen)
	p.Type("pack for")
	shows(t, p, "[all sessions]", "packing-list")
	lacks(t, p, "find it in")
	p.Press(keymap.Input, keymap.MoveDown, keymap.MoveDown, keymap.Accept)
	shows(t, p, "memory › packing-list", "[Messages]", `"pack for": match 1 of`)
	p.Press(keymap.Messages, keymap.Back)
	shows(t, p, "› pack for", "packing-list")
	p.Press(keymap.Picker, keymap.Back)
	if p.Screen() != before {
		t.Errorf("Esc leads to\n%s\nnot to\n%s", p.Screen(), before)
	}
	p.Press(keymap.Timeline, keymap.Back)
	selects(t, p, "trip-planner")
}

// A text that was typed over is searched no longer, and what it found is not shown.
func TestSearch_isCancelled(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := &scripted{Store: demoStore(t)}
	began, ended := make(chan string, 8), make(chan error, 8)
	s.headers = func(ctx context.Context, session string) iter.Seq2[model.Header, error] {
		return func(yield func(model.Header, error) bool) {
			began <- session
			<-ctx.Done()
			ended <- ctx.Err()
			yield(model.Header{}, ctx.Err())
		}
	}
	p := start(t, options(s), 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Send(screentest.Key(t, "l"))
	<-began
	waitFor(t, p, "searching 0 of 2 sessions")
	p.Send(screentest.Key(t, "y"))
	<-ended
	<-began
	s.headers = nil
	p.Send(screentest.Key(t, "z"))
	<-ended
	waitFor(t, p, "nothing like it was said in 2 sessions")
	p.Press(keymap.Input, keymap.Back)
	shows(t, p, "2 sessions", "trip-planner")
}

// Of a session only the first hits show where others are searched too, with the number of the others; the line of these
// searches the session alone.
func TestSearch_isBounded(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	h := newHouse(t)
	newWriter(t, h.notes, "notes").write(t, 47)
	p := start(t, h.Options, 100, 50)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("snapshot")
	shows(t, p, "snapshot 19", "30 more hits in this session", "50 hits in 1 session")
	lacks(t, p, "snapshot 20")
	for range 21 {
		p.Press(keymap.Input, keymap.MoveDown)
	}
	selects(t, p, "30 more hits")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "[one session]", "50 hits in 1 session", "snapshot 20")
	lacks(t, p, "more hits")
}

// A search ends after a thousand hits, and says that these are the first.
func TestSearch_endsAfterMost(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	h := newHouse(t)
	newWriter(t, h.notes, "notes").write(t, results.Most+10)
	p := start(t, h.Options, 100, 50)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("snapshot")
	for range 21 {
		p.Press(keymap.Input, keymap.MoveDown)
	}
	p.Press(keymap.Input, keymap.Accept)
	waitFor(t, p, fmt.Sprintf("the first %d hits in 1 session", results.Most))
}

// What a store has is shown escaped, in hits, titles and the field.
func TestSearch_showsWhatIsUntrusted(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := fake.New()
	const hostile = "evil\x1b[2J\u202e\x07word"
	state, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user\x1b[1m", "content": []any{map[string]any{"text": hostile + " to find"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(state), SessionID: "s\x1b[3mword", CreatedAt: now, State: state}); err != nil {
		t.Fatal(err)
	}
	newWriter(t, s, "other").write(t, 1)
	p := start(t, options(s), 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("word"), Paste: true})
	p.Idle()
	shows(t, p, "evil^[[2J<U+202E>", "s^[[3mword")
	p.Press(keymap.Input, keymap.MoveDown, keymap.MoveDown, keymap.Accept)
	shows(t, p, `"word": match 1 of`)
	if seq := foreign(string(p.Raw())); seq != "" {
		t.Errorf("%q reached the terminal", seq)
	}
}

// The keys besides the words: one searches everywhere, and two open what today's session of a project said.
func TestSearch_takesFewKeys(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p, _ := startMachine(t, 100, 30)
	taken := keys(p, "/")
	p.Type("reply to: second")
	shows(t, p, "said", "hits in")
	if taken > 1 {
		t.Errorf("%d keys search everywhere", taken)
	}
	p.Press(keymap.Input, keymap.Back)
	taken = keys(p, "/")
	p.Type("reply to: second project:demo since:2020-01-01 role:assistant")
	taken += keys(p, "down", "enter")
	shows(t, p, "[Messages]", `"reply to: second": match 1 of`)
	if taken > 4 {
		t.Errorf("%d keys open what a session of a project said", taken)
	}
}

// ? in the empty field, and F1 at any time, explain every word that can be typed.
func TestSearch_explainsItsWords(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, newHouse(t).Options, w, h)
		p.Press(keymap.Picker, keymap.Search)
		for _, key := range []string{"?", "f1"} {
			p.Key(key)
			var seen strings.Builder
			for range 4 {
				seen.WriteString(p.Screen())
				p.Press(keymap.Overlay, keymap.HalfDown)
			}
			for _, word := range append(query.WordNames(), "regular expression", "scope") {
				if !strings.Contains(seen.String(), word) {
					t.Errorf("%s does not explain %q:\n%s", key, word, seen.String())
				}
			}
			p.Press(keymap.Overlay, keymap.Back)
			p.Type("what?")
			shows(t, p, "› what?")
		}
	})
}

// The second click on a hit opens it.
func TestSearch_mouse(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p := start(t, newHouse(t).Options, 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("box at the opera")
	y := lineOf(p.Screen(), "◌ ◆ ")
	p.Send(click(20, y))
	p.Idle()
	selects(t, p, "box at the opera")
	p.Send(click(20, y))
	p.Idle()
	shows(t, p, "memory › trip-planner", "[Messages]", `"box at the opera": match 1 of 1`)
}

// A title opens its session at the head. Where many match, some show, and the others on Enter.
func TestSearch_titles(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p, _ := startMachine(t, 100, 30)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("first question")
	shows(t, p, "more with that title", "said")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "[Diff]", "following")
	p.Press(keymap.Timeline, keymap.Back)
	for range 8 {
		p.Press(keymap.Picker, keymap.MoveDown)
	}
	selects(t, p, "more with that title")
	p.Press(keymap.Picker, keymap.Open)
	lacks(t, p, "more with that title")
}
