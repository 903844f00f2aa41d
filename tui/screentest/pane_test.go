package screentest

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/tui/theme"
)

// verdict is a test that keeps why it failed.
type verdict struct{ text string }

func (*verdict) Helper() {}

func (v *verdict) Fatalf(format string, args ...any) {
	v.text = fmt.Sprintf(format, args...)
	panic(v)
}

// judge returns why a check failed, "" if it did not.
func judge(check func(tb fatal)) string {
	v := &verdict{}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(v) {
				panic(r)
			}
		}()
		check(v)
	}()
	return v.text
}

// lines are rows as they are.
type lines []string

func (l lines) AppendRow(dst []byte, y int) []byte {
	if y < 0 || y >= len(l) {
		return append(dst, "    "...)
	}
	return append(dst, l[y]...)
}

func TestExact_findsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		rows lines
		says string
	}{
		{lines{"a  b", "日 b"}, ""},
		{lines{"a  b", "日  b"}, "row 1 has 5 cells"},
		{lines{"a"}, "row 0 has 1 cells"},
		{lines{"a\x1b[0m  b"}, "row 0 lets control"},
		{lines{"a  b\u202e"}, "row 0 lets control"},
	} {
		got := judge(func(tb fatal) { Exact(tb, c.rows, 4, 2) })
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("of %q it says %q, want %q", c.rows, got, c.says)
		}
	}
}

func TestColoursOnly_findsWhatIsMoreThanColours(t *testing.T) {
	plain := theme.Style{}
	for _, c := range []struct {
		text, says string
	}{
		{"text", ""},
		{"more", "without colours"},
		{"text\x1b[2J", "without colours"},
	} {
		got := judge(func(tb fatal) {
			ColoursOnly(tb, 1, func(styles *theme.Styles, _ int) Rows {
				if styles.Strong == plain {
					return lines{"text"}
				}
				return lines{string(styles.Strong.Append(nil, c.text))}
			})
		})
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("of %q it says %q, want %q", c.text, got, c.says)
		}
	}
}

// steps walks along numbers, and back as it is told.
type steps struct{ last, back int }

func (s steps) First() (int, bool)     { return 0, s.last >= 0 }
func (s steps) Next(n int) (int, bool) { return n + 1, n < s.last }
func (s steps) Prev(n int) (int, bool) { return n - s.back, n > 0 }

func TestWalks_findsRowsThatDoNotFollow(t *testing.T) {
	for _, c := range []struct {
		walk  steps
		shown []int
		says  string
	}{
		{steps{5, 1}, []int{2, 3}, ""},
		{steps{5, 1}, []int{2, 4}, "are no part of"},
		{steps{5, 1}, []int{5, 6}, "are no part of"},
		{steps{5, 1}, nil, "no row shows"},
		{steps{5, 2}, []int{2, 3}, "before 1 comes -1, want 0"},
		{steps{-1, 1}, nil, ""},
	} {
		got := judge(func(tb fatal) { Walks(tb, c.walk, c.shown) })
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("of %+v and %v it says %q, want %q", c.walk, c.shown, got, c.says)
		}
	}
}

type knows keymap.Action

func (k knows) Do(a keymap.Action) bool { return a == keymap.Action(k) }

func TestDo_failsOnAForeignAction(t *testing.T) {
	if got := judge(func(tb fatal) { Do(tb, knows(keymap.Top), keymap.Top, keymap.Bottom) }); !strings.Contains(got, keymap.Bottom.String()) {
		t.Errorf("it says %q", got)
	}
}

func TestColoured_showsEveryByte(t *testing.T) {
	if got := DrawColoured(lines{"\x1b[1ma\x1b[0m  "}, 1); got != "^[[1ma^[[0m\n" {
		t.Errorf("%q", got)
	}
}
