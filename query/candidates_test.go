package query_test

import (
	"context"
	"errors"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/pi"
)

// A search passes over the sessions whose files do not have the text, and over no other.
func TestCandidates(t *testing.T) {
	const all = -1
	for _, c := range []struct {
		store   string
		pattern *query.Pattern
		in      int // all is every session
	}{
		{"pi", query.Literal("branched by SessionManager", query.SmartCase), 1},
		{"pi", query.Literal("BRANCHED by sessionmanager", query.IgnoreCase), 1},
		{"pi", query.Literal("assistant", query.SmartCase), all},
		{"claude-code", query.Literal("branched question", query.SmartCase), 1},
		{"claude-code", query.Literal("no such words", query.SmartCase), 0},
		{"claude-code", query.Literal("say \"no\"", query.SmartCase), all}, // which may stand there with escapes
	} {
		kind := pi.Kind(nil).Kind
		if c.store == "claude-code" {
			kind = claudecode.Kind(nil).Kind
		}
		s, err := kind.Open(t.Context(), "../testdata/coding/"+c.store)
		if err != nil {
			t.Fatal(err)
		}
		sessions, in, of := 0, 0, 0
		for range s.Sessions(t.Context()) {
			sessions++
		}
		for candidate, err := range c.pattern.Candidates(t.Context(), query.Sources(s, s.Sessions(t.Context()))) {
			if err != nil {
				t.Fatal(err)
			}
			if of++; !candidate.Passed {
				in++
			}
		}
		want := c.in
		if want == all {
			want = sessions
		}
		if in != want || of != sessions || sessions < 2 {
			t.Errorf("%s, %+v: in %d of %d sessions, and there are %d", c.store, c.pattern, in, of, sessions)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The candidates end with their reader, with the sessions and with the context.
func TestCandidates_end(t *testing.T) {
	s, err := pi.Kind(nil).Open(t.Context(), "../testdata/coding/pi")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pattern := query.Literal("assistant", query.SmartCase)
	for range pattern.Candidates(t.Context(), query.Sources(s, s.Sessions(t.Context()))) {
		break
	}
	wrong := errors.New("the list broke off")
	broken := func(yield func(model.SessionInfo, error) bool) {
		_ = yield(model.SessionInfo{ID: "one"}, nil) && yield(model.SessionInfo{}, wrong)
	}
	var last error
	n := 0
	for _, last = range pattern.Candidates(t.Context(), query.Sources(s, broken)) {
		n++
	}
	if n != 2 || last != wrong {
		t.Errorf("%d candidates, then %v", n, last)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, last = range pattern.Candidates(ctx, query.Sources(s, s.Sessions(ctx))) {
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled: %v", last)
	}
}
