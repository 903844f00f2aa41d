package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
)

// scannedStores opens the stores below testdata that can be searched without reading sessions, and a long transcript.
func scannedStores(t *testing.T) (list []store.Store) {
	t.Helper()
	written := t.TempDir()
	storetest.SaveTranscript(t, filepath.Join(written, "--long--", "t_long.jsonl"), storetest.PiTranscript, "long", time.Unix(1e9, 0), 100_000, 1000)
	dirs := []string{written}
	for _, root := range []string{"../testdata/coding", "../store/kinds/claudecode/testdata"} {
		below, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range below {
			dirs = append(dirs, filepath.Join(root, dir.Name()))
		}
	}
	all := kinds.All(nil, "")
	for _, dir := range dirs {
		id, err := all.Identify(t.Context(), dir)
		if err != nil {
			continue // no store by itself
		}
		s, err := id.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if s.Features().Scanner != nil {
			list = append(list, s)
		}
	}
	return list
}

// A search that does not read sessions finds the texts that one that reads them finds, of the same speakers, at the same
// snapshots.
func TestSearchHome_scansAsItReads(t *testing.T) {
	var scanned, hits, sessions, compared int
	for _, s := range scannedStores(t) {
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions++
			source := query.Source{Store: s, SessionInfo: info}
			find := func(search query.HomeSearch) (list []query.SessionHit) {
				for hit, err := range query.SearchHome(t.Context(), yieldSources([]query.Source{source}, nil), search) {
					if err != nil || hit.Err != nil {
						t.Fatal(info.ID, err, hit.Err)
					}
					list = append(list, hit)
				}
				return list
			}
			patterns := []*query.Pattern{expr(t, "[a-z]+ question"), expr(t, "^/tmp|ls -"), expr(t, "file.*[0-9]")}
			words := map[string]bool{}
			for _, hit := range find(query.HomeSearch{Search: query.Search{Pattern: expr(t, ".")}, Exact: true}) {
				for _, word := range strings.FieldsFunc(hit.Text, func(r rune) bool { return r >= unicode.MaxASCII || unicode.IsSpace(r) }) {
					if len(words) < 30 && len(word) > 2 {
						words[word[:min(len(word), 4+len(words)%20)]] = true
					}
				}
			}
			for word := range words {
				patterns = append(patterns, query.Literal(word, query.SmartCase), query.Literal(word, query.MatchCase))
			}
			for _, pattern := range patterns {
				for _, narrow := range []query.Search{{}, {Role: "assistant"}, {Failed: true}} {
					narrow.Pattern = pattern
					got, want := find(query.HomeSearch{Search: narrow}), find(query.HomeSearch{Search: narrow, Exact: true})
					for i := range got {
						if got[i].Visit == model.NoNode {
							scanned++
						}
						if _, err := got[i].Locate(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					hits += len(want)
					if g, w := describeHits(got), describeHits(want); !slices.Equal(g, w) && compared < 10 {
						compared++
						both := slices.Clone(g)
						g = slices.DeleteFunc(g, func(l string) bool { return slices.Contains(w, l) })
						w = slices.DeleteFunc(w, func(l string) bool { return slices.Contains(both, l) })
						t.Errorf("%s, session %s, %+v: scanned alone\n%s\nread alone\n%s", info.Kind, info.ID, pattern, strings.Join(g, "\n"), strings.Join(w, "\n"))
					}
				}
			}
		}
	}
	t.Logf("%d hits in %d sessions, and %d without reading", hits, sessions, scanned)
	if scanned < 1000 || hits < 2000 || sessions < 10 {
		t.Errorf("%d hits, and %d without reading", hits, scanned)
	}
}

// describeHits returns hits as lines, sorted.
func describeHits(hits []query.SessionHit) (lines []string) {
	for _, h := range hits {
		lines = append(lines, fmt.Sprintf("%q %d-%d key %v role %s tool %s failed %v message %d visit %d %s active %d", h.Text, h.From, h.To, h.Key, h.Role, h.Tool, h.Failed, h.Message, h.Visit, h.Ref.ID, h.Active))
	}
	slices.Sort(lines)
	return lines
}
