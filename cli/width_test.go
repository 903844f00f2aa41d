package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hindcast/model"
	"hindcast/store"
)

// wide are names whose characters take two cells, or none: what counts is
// where the next column stands on a terminal.
var wide = []string{"plain", "会话", "사용자", "🚂 trains", "👍🏽", "e\u0301te\u0301", "ﬁn🇫🇷"}

// named is a store in which each wide name is a session, an event and an id.
func named() []store.Row {
	var rows []store.Row
	for i, name := range wide {
		rows = append(rows,
			store.Row{Header: model.Header{ID: name, SessionID: name, Index: 0, Visit: 1, CreatedAt: time.Unix(int64(i), 0)}, State: []byte("{}")},
			store.Row{Header: model.Header{ID: name, SessionID: "all", Index: i, Visit: int64(i + 1), ParentVisit: int64(i),
				Event: model.SnapshotEventNamed, EventName: name, CreatedAt: time.Unix(int64(i), 0)}, State: []byte("{}")},
		)
	}
	return rows
}

func TestColumns_standBelowEachOtherOnATerminal(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		next string // what begins the column behind the wide ones
	}{
		{"sessions", []string{"sessions", "mem:"}, " #"},
		{"log", []string{"log", "mem:", "all"}, "  1970-"},
	} {
		s := start(t, sequenceOf(named()))
		code, out, err := s.run(t, c.args...)
		if code != 0 {
			t.Fatal(err)
		}
		column, found := -1, 0
		for line := range strings.Lines(out) {
			before, _, ok := strings.Cut(line, c.next)
			if !ok {
				continue
			}
			found++
			if at := ansi.StringWidth(before); column >= 0 && at != column {
				t.Errorf("%s: the column is at cell %d and not at %d in %q of\n%s", c.name, at, column, line, out)
			} else {
				column = at
			}
		}
		if found < len(wide) {
			t.Errorf("%s: %q is in %d lines of\n%s", c.name, c.next, found, out)
		}
	}
}
