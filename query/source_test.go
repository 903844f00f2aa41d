package query

import (
	"testing"

	"hindcast/store/engine"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/copilot"
	"hindcast/store/kinds/gemini"
	"hindcast/store/kinds/pi"
	"hindcast/store/storetest/skip"
)

// A search passes over the sessions whose files do not have the text, and over no other.
func TestPattern_passesOver(t *testing.T) {
	skip.Sequential(t)
	const all = -1
	read := map[string]engine.Kind{"pi": pi.Kind(nil), "claude-code": claudecode.Kind(nil), "gemini-cli": gemini.Kind(nil), "copilot-cli": copilot.Kind(nil)}
	for _, c := range []struct {
		store   string
		pattern *Pattern
		in      int // all is every session
	}{
		{"pi", Literal("branched by SessionManager", SmartCase), 1},
		{"pi", Literal("BRANCHED by sessionmanager", IgnoreCase), 1},
		{"pi", Literal("assistant", SmartCase), all},
		{"claude-code", Literal("branched question", SmartCase), 1},
		{"claude-code", Literal("no such words", SmartCase), 0},
		{"gemini-cli", Literal("no such words", SmartCase), 0},
		{"gemini-cli", Literal("assistant", SmartCase), all},
		{"copilot-cli", Literal("no such words", SmartCase), 0},
		{"copilot-cli", Literal("first question", SmartCase), 1},
		{"claude-code", Literal("say \"no\"", SmartCase), 1}, // where "say " is, as the rest may have escapes
	} {
		s, err := read[c.store].Open(t.Context(), "../testdata/coding/"+c.store)
		if err != nil {
			t.Fatal(err)
		}
		sessions, found, of := 0, 0, 0
		for range s.Sessions(t.Context()) {
			sessions++
		}
		for in, err := range Sources(s, s.Sessions(t.Context())) {
			if err != nil {
				t.Fatal(err)
			}
			if of++; !c.pattern.passesOver(t.Context(), in) {
				found++
			}
		}
		want := c.in
		if want == all {
			want = sessions
		}
		if found != want || of != sessions || sessions == 0 {
			t.Errorf("%s, %+v: in %d of %d sessions, and there are %d", c.store, c.pattern, found, of, sessions)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
