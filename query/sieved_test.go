package query_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A search of the messages alone that may have a text finds what one of all states does.
func TestGrep_ofSievedSessions(t *testing.T) {
	skip.Sequential(t)
	written := t.TempDir()
	storetest.SaveTranscript(t, filepath.Join(written, "--long--", "t_long.jsonl"), storetest.PiTranscript, "long", time.Unix(1e9, 0), 100_000, 1000)
	patterns := []*query.Pattern{expr(t, "par[ts] [0-9]+ of")}
	for _, text := range []string{"ls -1", "branched", "Branched", "reply to", "question", "summary", "part 8", "err := step", "call_", "toolu_", "path", "a.txt", "compact", "fake-model", "demo"} {
		patterns = append(patterns, query.Literal(text, query.SmartCase))
	}
	hits, sieved := 0, 0
	for _, at := range []struct{ kind, dir string }{{"pi", written}, {"pi", "../testdata/coding/pi"}, {"claude-code", "../testdata/coding/claude-code"}, {"gemini-cli", "../testdata/coding/gemini-cli"}, {"copilot-cli", "../testdata/coding/copilot-cli"}} {
		id, err := kinds.All(nil, "").Identify(t.Context(), at.dir)
		if err != nil || id.Kind.Name != at.kind {
			t.Fatal(id.Kind.Name, err)
		}
		s, err := id.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			var headers []model.Header
			for h, err := range s.Headers(t.Context(), info.ID) {
				if err != nil {
					t.Fatal(err)
				}
				headers = append(headers, h)
			}
			tl := model.NewTimeline(headers)
			whole := query.Open(bare{s}, tl) // which has no more than a store must
			for _, pattern := range patterns {
				for _, search := range []query.Search{{Pattern: pattern}, {Pattern: pattern, All: true}, {Pattern: pattern, Orphaned: true}, {Pattern: pattern, Role: "assistant"}} {
					list := func(q *query.Session) (list []query.Hit) {
						for hit, err := range q.Grep(t.Context(), search) {
							if err != nil {
								t.Fatal(err)
							}
							list = append(list, hit)
						}
						return list
					}
					got, want := list(query.Open(s, tl)), list(whole)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s, session %s: %+v of %+v, not %+v", at.dir, info.ID, got, search, want)
					}
					hits += len(got)
				}
			}
			if sieve := s.Features().Sieve; sieve == nil {
				continue
			} else if of, err := sieve(t.Context(), info.ID, []byte("ls -1"), func(text []byte) bool { return strings.Contains(string(text), "ls -1") }); err != nil {
				t.Error(err)
			} else if of != nil {
				sieved++
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if hits < 500 || sieved < 10 {
		t.Errorf("%d hits, %d sessions that are sieved", hits, sieved)
	}
}

// bare is a store without any feature.
type bare struct{ store.Store }

func (bare) Features() store.Features { return store.Features{} }
