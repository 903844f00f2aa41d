package tui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
	"hindcast/tui/screentest"
)

// doubtful are texts whose cells terminals disagree on, and some that they do not.
var doubtful = []string{
	"👍🏽 ok", "नमस्ते दुनिया", "বাংলা ভাষা", "தமிழ் மொழி", "ทำงานที่บ้าน", "family 👩\u200d👩\u200d👧\u200d👦 here", "❤\ufe0f love", "🇫🇷 Lyon", "東京都へ行く", "cafe\u0301 nai\u0308ve",
	"مرحبا بالعالم", "שלום עולם", "Z\u0301\u0302\u0303\u0304\u0305\u0306\u0307 zalgo", "\u0b95\u0bcd\u0bb7", "1\ufe0f\u20e3 first", "각가 한글", "ᄀᄀᄀ각", "🧑🏽\u200d🚒🏽 x", "🏴\u200d☠\ufe0f", "⚠\ufe0f⚠\ufe0f⚠\ufe0f", "각ᆨ", "🫠🫠",
}

// doubtfulStore has a session with such texts everywhere, several in each row.
func doubtfulStore(t *testing.T) *fake.Store {
	t.Helper()
	s := fake.New()
	for _, session := range doubtful[:8] {
		if _, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
			for i, text := range doubtful {
				messages := []any{}
				values := map[string]any{"messages": nil, text: strings.Repeat(text+" ", 3)}
				for k, other := range doubtful[:i+1] {
					messages = append(messages, map[string]any{"role": "user", "content": []any{map[string]any{"text": strings.Repeat(other+"x", 1+k%9)}}})
					values["v"+fmt.Sprint(k)+other] = []any{other + fmt.Sprint(i), text + other}
				}
				values["messages"] = messages
				state, err := json.Marshal(values)
				if err != nil {
					t.Fatal(err)
				}
				h := model.Header{ID: model.SnapshotID(state), SessionID: session, Index: i, TurnIndex: i, Visit: int64(i + 1), ParentVisit: int64(i), Event: model.SnapshotEventTurnEnd, Title: strings.Repeat(text+" ", 4), Head: i == len(doubtful)-1}
				if !yield(store.Row{Header: h, State: state}, nil) {
					return
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// sure reports whether a cell holds a character that all terminals count alike.
func sure(cell string) bool {
	r := []rune(cell)
	return len(r) == 1 && (r[0] > ' ' && r[0] < 0x7f || r[0] >= 0x2500 && r[0] < 0x25a0)
}

// base returns a cell without marks: the emulator of package vt does not put them on
// ASCII, and it does not matter here.
func base(cell string) string {
	r, size := utf8.DecodeRuneInString(cell)
	if r < utf8.RuneSelf {
		return cell[:size]
	}
	return cell
}

// framed holds that a terminal that counts as UAX #29 does and one that counts as
// wcwidth does show the same frame: the header in its row, the borders and whatever
// else is steady in their columns, and nothing that was there before.
func framed(t *testing.T, p *screentest.Program, w, h int) {
	t.Helper()
	other := p.Counting()
	for _, screen := range []string{p.Screen(), other.String()} {
		if !strings.HasPrefix(screen, " hindcast ") {
			t.Fatalf("the header is not in the first row:\n%s", screen)
		}
	}
	for y := range h {
		for x := range w {
			if a, b := base(p.At(x, y)), base(other.At(x, y)); (sure(a) || sure(b)) && a != b {
				t.Fatalf("column %d of row %d has %q, and %q where runes are counted:\n%s\n%s", x, y, a, b, p.Screen(), other)
			}
		}
		if edge := p.At(w-1, y); y > 0 && y < h-1 && !strings.Contains("│┐┘▐┃╮╯", edge) {
			t.Fatalf("row %d ends with %q:\n%s", y, edge, p.Screen())
		}
	}
}

func TestFrame_holdsWhateverTerminalsCount(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, size := range []struct{ w, h int }{{60, 18}, {61, 19}, {100, 30}, {101, 31}} {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			if testing.Short() && size.w != 60 {
				t.Skip("one size is enough beside the race detector")
			}
			t.Parallel()
			o := options(doubtfulStore(t))
			p := start(t, o, size.w, size.h)
			check := func() { t.Helper(); framed(t, p, size.w, size.h) }
			press := func(scope keymap.Scope, actions ...keymap.Action) {
				t.Helper()
				for _, a := range actions {
					p.Press(scope, a)
					check()
				}
			}
			press(keymap.Picker, keymap.MoveDown, keymap.Bottom, keymap.Top, keymap.Open)
			press(keymap.Timeline, keymap.Top, keymap.MoveDown, keymap.HalfDown, keymap.HalfUp, keymap.Bottom)
			for _, show := range []keymap.Action{keymap.ShowDiff, keymap.ShowState, keymap.ShowMessages, keymap.ShowContext, keymap.ShowInfo} {
				press(keymap.Timeline, show, keymap.Open)
				press(keymap.Tab, keymap.UnfoldAll, keymap.MoveDown, keymap.Open, keymap.HalfDown, keymap.HalfDown, keymap.MoveDown, keymap.HalfUp, keymap.Bottom, keymap.Help)
				press(keymap.Overlay, keymap.HalfDown, keymap.Back)
				press(keymap.Tab, keymap.Back)
			}
			press(keymap.Timeline, keymap.MoveUp, keymap.MoveUp, keymap.Restore)
			press(keymap.Confirm, keymap.MoveDown, keymap.Back)
			p.Press(keymap.Timeline, keymap.Redraw)
			check()
		})
	}
}
