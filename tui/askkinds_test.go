package tui_test

import (
	"path/filepath"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/store/kinds"
	"hindcast/store/media/files"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// Every question is asked of real stores of every kind: it is answered, and nothing fails.
func TestAsk_everyKind(t *testing.T) {
	t.Parallel()
	native := filepath.Join(t.TempDir(), "trips.db")
	s, err := sqlite.Create(t.Context(), native)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join("..", "testdata", filepath.FromSlash(path)) }
	for _, tc := range []struct{ address, session, said string }{
		{native, sample.Trip, "opera"},
		{at("strands/python-file"), "basic", "a"},
		{at("strands/python-snapshot"), "", "a"},
		{at("strands/typescript/unified"), "", "a"},
		{at("genkit/stepsproject-go-1.13.1/.genkit/snapshots/planner"), "", "a"},
		{at("genkit/devproject-go-1.13.1"), "", "order"},
		{at("langgraph/agent.db"), "", "a"},
		{at("langgraph/js.db"), "", "a"},
		{at("adk/sqlite_service.db"), "tour_app/u1/tour", "größe"},
		{at("openaiagents/advanced.db"), "", "a"},
	} {
		t.Run(filepath.Base(tc.address), func(t *testing.T) {
			t.Parallel()
			p := asked(t, tc.address, tc.session)
			for _, q := range []struct {
				what  string
				ask   func()
				shows string
			}{
				{"find", func() { typed(p, "F", "true") }, "becomes true"},
				{"find, never", func() { typed(p, "F", "false") }, "none"},
				{"find, an error", func() { typed(p, "F", `error("no such thing")`) }, "no such thing"},
				{"history", func() { keys(p, "2", "enter", "g", "j", "b") }, "History of /"},
			} {
				q.ask()
				p.Key("8")
				shows(t, p, q.shows)
				if strings.Contains(p.Screen(), "0 texts") || strings.Contains(p.Screen(), "0 changes") {
					t.Errorf("%s has no answer:\n%s", q.what, p.Screen())
				}
				p.Key("esc")
				if strings.Contains(footer(p), "✗") {
					t.Errorf("%s: %s", q.what, footer(p))
				}
			}
			p.Key("/")
			p.Type(tc.said)
			lacks(t, p, "nothing like it")
			keys(p, "down", "down", "enter")
			shows(t, p, ": match 1 of")
			keys(p, "esc", "esc")
			keys(p, "2", "enter", "a")
			if row := p.Screen(); !strings.Contains(row, "│▌#") && !strings.Contains(row, "│▌?") {
				t.Errorf("the margin says nothing:\n%s", row)
			}
			p.Key("a")
			typed(p, "w", "length")
			shows(t, p, " lengt")
			lacks(t, p, "cannot")
		})
	}
}

// asked opens a session of a store, the first of it where none is named.
func asked(t *testing.T, address, session string) *screentest.Program {
	t.Helper()
	s, err := kinds.All((*files.Cache)(nil), "").Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if session == "" {
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			session = info.ID
			break
		}
	}
	o := options(s)
	o.Session, o.Watches = session, tui.Watches(&keeper{})
	p := start(t, o, 160, 40)
	p.Press(keymap.Timeline, keymap.Bottom)
	return p
}

// typed presses a key and types a text into the field that it opens.
func typed(p *screentest.Program, key, text string) {
	p.Key(key)
	p.Key("ctrl+u")
	p.Type(text)
	p.Key("enter")
}
