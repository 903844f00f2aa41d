package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/fake"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// payloads would do something to a terminal, or hide something from a person.
var payloads = []string{
	"\x1b[31mred", "\x1b[2J", "\x1b[1;1H", "\x1b[?1049l", "\x1b[6n", "\x1b[5i", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\",
	"\x1b]9;note\x07", "\x1b]11;?\x07", "\x1b]52;c;aGk=\x07", "\x1b]1337;File=:aGk=\x07", "\x1bP+q544e\x1b\\", "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\",
	"\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\x1bc", "\x1b7", "\x1b(0", "\x07", "\x08\x08", "\r", "\x0e", "\x0f", "\x7f", "\x00",
	"\u009b31m", "\u009d52;c;aGk=\u009c", "\u0090q", "\u0085", "\x9b31m", "\x9d0;x\x9c",
	"\u202egpj", "\u2066x\u2069", "\u200b", "\u200e", "\ufeff", "\U000e0041\U000e0042", "\u2028", "\ufe0f\ufe0f", "\u3164",
	"a\nb", "a\tb", "e" + strings.Repeat("\u0301", 50), strings.Repeat("ᄀ", 30), "\xff\xfe", "\xed\xa0\x80",
}

// own are the sequences that Hindcast and Bubble Tea send themselves: colours,
// moving, erasing, and the modes of a full screen with a mouse.
var own = regexp.MustCompile(`^\x1b(\[[0-9;]*m|\[[0-9;]*[ABCDGHX]|\[[0-2]?[JK]|\[\?(7|25|1002|1003|1006|1049|2004)[hl])`)

// anchored is a character with what places the next one.
var anchored = regexp.MustCompile(`(?:\x1b\[(\d+)G)?\x1b\[(\d+)X([^\x1b]*[^\x00-\x7f][^\x1b]*)\x1b\[(\d+)G`)

// unanchored returns a view without what places characters by their columns. Columns
// that are wrong stay, and so do such sequences elsewhere.
func unanchored(view string) string {
	lines := strings.Split(view, "\n")
	for i, line := range lines {
		if !strings.Contains(line, "\x1b") {
			continue
		}
		var b strings.Builder
		column := 1
		for {
			at := anchored.FindStringSubmatchIndex(line)
			if at == nil {
				break
			}
			number := func(group int) int {
				n, err := strconv.Atoi(line[at[2*group]:at[2*group+1]])
				if err != nil {
					return -1
				}
				return n
			}
			b.WriteString(line[:at[0]])
			text := line[at[6]:at[7]]
			width := ansi.StringWidth(text)
			column += ansi.StringWidth(line[:at[0]])
			wrong := number(4) != column+number(2)
			if at[2] >= 0 { // spaces stand before it that make it wider
				wrong = number(4) != column+width || number(4) != number(1)+number(2)
			} else if number(2) != width {
				wrong = true
			}
			if wrong {
				b.WriteString(line[at[0]:at[1]])
			} else {
				b.WriteString(text)
			}
			line, column = line[at[1]:], number(4)
		}
		lines[i] = b.String() + line
	}
	return strings.Join(lines, "\n")
}

// foreign returns the first place in what is sent to a terminal that is neither
// text that shows nor an own sequence, or "".
func foreign(raw string) string {
	for i := 0; i < len(raw); {
		if raw[i] >= ' ' && raw[i] <= '~' {
			i++
			continue
		}
		if raw[i] == '\x1b' {
			seq := own.FindString(raw[i:])
			if seq == "" {
				return raw[i:min(len(raw), i+20)]
			}
			i += len(seq)
			continue
		}
		r, size := utf8.DecodeRuneInString(raw[i:])
		if r >= 0x2500 && r <= 0x257f { // lines, of which a frame is full
			i += size
			continue
		}
		if r == utf8.RuneError && size == 1 || r != '\n' && r != '\r' && !unicode.IsPrint(r) ||
			unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return raw[i : i+size]
		}
		i += size
	}
	return ""
}

// hostileStore has a session in which every text is one of the payloads, and
// its id too.
func hostileStore(t *testing.T, payload string) (*fake.Store, string) {
	t.Helper()
	s := fake.New()
	session := "s" + payload
	rows := func(yield func(store.Row, error) bool) {
		for i := range 3 {
			h := model.Header{
				ID: fmt.Sprintf("%d%s", i, payload), SessionID: session, Index: i, Visit: int64(i + 1), ParentVisit: int64(i),
				Event: model.SnapshotEventNamed, EventName: "e" + payload, Position: "p" + payload, Title: "t" + payload,
				Orphaned: i == 1, Head: i == 2,
			}
			if i == 2 {
				h.ParentVisit = 1
			}
			if !yield(store.Row{Header: h, State: hostileState(t, payload, i)}, nil) {
				return
			}
		}
	}
	if _, err := s.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return s, session
}

// hostileState returns a conversation in which every key and text is a payload.
func hostileState(t *testing.T, payload string, i int) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"k" + payload: []any{payload, i, map[string]any{payload: payload + fmt.Sprint(i)}},
		"messages": []any{
			map[string]any{"role": "user", "content": []any{map[string]any{"text": payload + fmt.Sprint(i)}}},
			map[string]any{"role": "user", "content": []any{map[string]any{"text": "# " + payload + "\n**" + payload + "** [" + payload + "](" + payload + ") `" + payload + "`\n- " + payload + "\n\n> " + payload +
				"\n\n| a" + payload + " |\n|-|\n| " + payload + " |\n\n```go " + payload + "\n\"" + payload + "\" // " + payload + "\n```\nout"}}},
			map[string]any{"role": "assistant", "content": []any{map[string]any{"toolUse": map[string]any{"toolUseId": "e" + payload, "name": "Edit", "input": map[string]any{"file_path": payload, "old_string": payload, "new_string": payload + "x"}}}}},
			map[string]any{"role": "r" + payload, "content": []any{map[string]any{"text": payload}}},
			map[string]any{"role": "assistant", "content": []any{map[string]any{"toolUse": map[string]any{"toolUseId": payload, "name": payload, "input": map[string]any{payload: payload}}}}},
			map[string]any{"role": "user", "content": []any{map[string]any{"toolResult": map[string]any{"toolUseId": payload, "status": payload, "content": []any{map[string]any{"text": payload}}}}}},
		},
		"checkpoint": map[string]any{"position": payload, "cycle_index": 1, "schema_version": payload},
	})
	if err != nil {
		t.Fatal(err)
	}
	// What JSON has to escape stays escaped; the rest is there as it is, for a
	// pane that shows a value as it is spelled.
	return []byte(strings.NewReplacer(`\u2028`, "\u2028", `\ufffd`, "\xff").Replace(string(data)))
}

// hostileSnapshot returns one that comes while the session is shown.
func hostileSnapshot(t *testing.T, payload, session string) *model.Snapshot[json.RawMessage] {
	t.Helper()
	state, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(state), ParentID: "2" + payload, SessionID: session, CreatedAt: now, State: state, Index: 3}
}

// loop is a program without a terminal and without styles: it runs every command
// at once and holds every view to text that shows.
type loop struct {
	t    *testing.T
	m    *tui.Model
	keys *keymap.Map
	// waiting gets the fact of the command that waits for the store to change; nil
	// while there is none.
	waiting chan tea.Msg
}

func newLoop(t *testing.T, o tui.Options, w, h int) *loop {
	t.Helper()
	o.Theme = styles(theme.None, termenv.Ascii)
	m, err := tui.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{t: t, m: m, keys: o.Keys}
	l.send(tea.WindowSizeMsg{Width: w, Height: h})
	l.run(m.Init())
	return l
}

func (l *loop) send(msg tea.Msg) {
	l.t.Helper()
	_, cmd := l.m.Update(msg)
	view := unanchored(l.m.View())
	if err := l.m.Crash(); err != nil {
		l.t.Fatal(err)
	}
	if at := strings.IndexAny(view, "\x1b\r"); at >= 0 { // without styles there is nothing own either
		l.t.Fatalf("an escape would reach the terminal: %q", view[max(0, at-60):min(len(view), at+20)])
	}
	if seq := foreign(view); seq != "" {
		at := strings.Index(view, seq)
		l.t.Fatalf("%q would reach the terminal: %q", seq, view[max(0, at-60):min(len(view), at+20)])
	}
	l.run(cmd)
}

// run runs a command and what it leads to. One that waits for the store is left
// alone, see news.
func (l *loop) run(cmd tea.Cmd) {
	l.t.Helper()
	if cmd == nil {
		return
	}
	fact := make(chan tea.Msg, 1)
	go func() { fact <- cmd() }()
	for l.waiting == nil {
		select {
		case msg := <-fact:
			l.take(msg)
			return
		default:
			if l.m.Waiting() > 0 {
				l.waiting = fact
				return
			}
			runtime.Gosched()
		}
	}
	l.take(<-fact)
}

// take takes the fact of a command.
func (l *loop) take(msg tea.Msg) {
	l.t.Helper()
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			l.run(cmd)
		}
	default:
		l.send(msg)
	}
}

// news takes what the store has told since it was written to.
func (l *loop) news() {
	l.t.Helper()
	if fact := l.waiting; fact != nil {
		msg := <-fact
		l.waiting = nil
		l.take(msg)
	}
}

// press presses the first key of each action in a scope.
func (l *loop) press(scope keymap.Scope, actions ...keymap.Action) {
	l.t.Helper()
	for _, a := range actions {
		l.send(screentest.Key(l.t, l.keys.Keys(scope, a)[0]))
	}
}

func (l *loop) paste(text string) {
	l.t.Helper()
	l.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
}

func TestEscapes_nothingOfTheDataReachesTheTerminal(t *testing.T) {
	t.Parallel()
	for i, payload := range payloads {
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			t.Parallel()
			inner, session := hostileStore(t, payload)
			s := &scripted{Store: inner, address: "/tmp/" + payload + "/a" + payload}
			o := options(s)
			o.Note, o.Session = "note"+payload, session
			names := newNamed(model.Label{Session: session, ID: "2" + payload, Name: "n" + payload, Note: payload})
			close(names.changes) // the loop waits for the store alone
			o.Labels = names
			refused := false
			o.Share = func(context.Context, store.Store, string, string, string) (int, string, error) {
				if !refused {
					refused = true
					return 0, "", errors.New("failed" + payload)
				}
				return 1, "hidden" + payload, nil
			}
			l := newLoop(t, o, 100, 30)
			l.lookAtEverything()
			if err := inner.SaveSnapshot(t.Context(), hostileSnapshot(t, payload, session)); err != nil {
				t.Fatal(err)
			}
			l.news()
			l.press(keymap.Info, keymap.Yank)
			l.press(keymap.Menu, keymap.Share)
			l.press(keymap.ShareMenu, keymap.ShareSession)
			l.paste("x" + payload + ".html")
			l.press(keymap.Input, keymap.Accept, keymap.Accept)
			l.press(keymap.Info, keymap.Details)
			l.press(keymap.Overlay, keymap.Back)
			l.press(keymap.Info, keymap.GoLabel)
			l.press(keymap.Menu, keymap.Accept)
			names.fail("failed" + payload)
			l.press(keymap.Info, keymap.SetLabel)
			l.paste("x" + payload)
			l.press(keymap.Input, keymap.Accept, keymap.Back)
			l.press(keymap.Info, keymap.Search)
			l.paste(payload)
			l.press(keymap.Input, keymap.Accept)
			s.apply = func(context.Context, model.Plan) (model.Receipt, error) {
				return model.Receipt{}, errors.New("failed" + payload)
			}
			l.press(keymap.Info, keymap.Restore)
			l.press(keymap.Confirm, keymap.Bottom, keymap.Yes)
			l.press(keymap.Overlay, keymap.Back)
			s.apply = nil
			l.press(keymap.Info, keymap.Restore)
			l.press(keymap.Confirm, keymap.Yes)
			l.press(keymap.Info, keymap.Journal)
			l.press(keymap.Overlay, keymap.Back)
			l.press(keymap.Info, keymap.Fork)
			l.paste(payload)
			l.press(keymap.Input, keymap.Accept)
			l.press(keymap.Confirm, keymap.Yes)
			s.state = func(context.Context, model.Ref) ([]byte, error) { return nil, errors.New("unreadable" + payload) }
			l.press(keymap.Info, keymap.Reload, keymap.StepBack, keymap.Details)
			l.press(keymap.Overlay, keymap.Back)
			l.press(keymap.Info, keymap.Back, keymap.Back) // to the sessions
			l.press(keymap.Picker, keymap.Search)
			l.paste(payload)
			l.press(keymap.Input, keymap.Accept)

			s.tail = func(context.Context, string, int) ([]model.Header, int, error) {
				return nil, 0, errors.New("gone" + payload)
			}
			newLoop(t, o, 60, 18)
		})
	}
}

// lookAtEverything goes through every tab, and every dialog that only shows.
func (l *loop) lookAtEverything() {
	l.t.Helper()
	for _, show := range []keymap.Action{keymap.ShowDiff, keymap.ShowState, keymap.ShowMessages, keymap.ShowContext, keymap.ShowResume, keymap.ShowInfo} {
		l.press(keymap.Timeline, keymap.Mark, keymap.PrevBranch, keymap.PrevBranch, show, keymap.Open)
		l.press(keymap.Tab, keymap.UnfoldAll, keymap.MoveDown, keymap.HalfDown, keymap.Unfold, keymap.Open, keymap.Bottom)
		l.press(keymap.Tab, keymap.Compare, show, keymap.Yank)
		l.press(keymap.Menu, keymap.Back)
		l.press(keymap.Tab, keymap.Back, keymap.GoHead)
	}
	l.press(keymap.Timeline, keymap.Help)
	l.press(keymap.Overlay, keymap.Back)
	l.press(keymap.Timeline, keymap.ShowInfo, keymap.Open)
}

// The bytes on the wire are those of the views and of Bubble Tea, and no others.
func TestEscapes_bytesOnTheWire(t *testing.T) {
	t.Parallel()
	s := fake.New()
	for _, payload := range payloads {
		inner, session := hostileStore(t, payload)
		var rows []store.Row
		for h, err := range inner.Headers(t.Context(), session) {
			if err != nil {
				t.Fatal(err)
			}
			state, err := inner.State(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, store.Row{Header: h, State: state})
		}
		if _, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, options(s), 200, 60)
	p.Press(keymap.Picker, keymap.Bottom, keymap.Open)
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.StepBack, keymap.Restore)
	p.Press(keymap.Confirm, keymap.Yes)
	if seq := foreign(string(p.Raw())); seq != "" {
		t.Errorf("%q reached the terminal", seq)
	}
}

// The check must see what it is there for: every payload, but for those that
// are own sequences too, or that are allowed within bounds.
func TestEscapes_theCheckHasTeeth(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"\x1b[31mred": true, "\x1b[2J": true, "\x1b[1;1H": true, "\x1b[?1049l": true, "\r": true, "a\nb": true}
	for _, payload := range payloads {
		marks := strings.HasPrefix(payload, "e\u0301") || strings.HasPrefix(payload, "ᄀ")
		if !allowed[payload] && !marks && foreign(payload) == "" {
			t.Errorf("%q passes", payload)
		}
	}
}
