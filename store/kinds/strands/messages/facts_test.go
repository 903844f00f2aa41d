package messages

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

func pictureFacts(list []model.Fact) string {
	var text strings.Builder
	for _, f := range list {
		fmt.Fprintf(&text, "  %-16s %s\n", f.Label, f.Value)
	}
	return text.String()
}

func factsOf(t testing.TB, s *Store, h model.Header) []model.Fact {
	t.Helper()
	list, err := s.Facts(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Of every fixture: the facts of each snapshot.
func TestFacts_ofEveryFixture(t *testing.T) {
	skip.Sequential(t)
	var text strings.Builder
	for _, folder := range []string{fixtures, orchestrators} {
		s := open(t, folder)
		list := ids(storetest.Sessions(t, s))
		slices.Sort(list)
		for _, id := range list {
			for _, h := range storetest.Headers(t, s, id) {
				fmt.Fprintf(&text, "%s #%d\n%s", id, h.Index, pictureFacts(factsOf(t, s, h)))
			}
		}
	}
	golden(t, "facts.txt", text.String())
}

func TestFacts_ofHazards(t *testing.T) {
	all := hazards(t)
	for name, want := range map[string]struct {
		index int
		facts string
	}{
		"truncated":       {3, "  damaged          byte 53: unexpected"},
		"redacted":        {4, "  redacted         the SDK put this message in the place of another, which is still in the file\n"},
		"redacted-both":   {4, "  redacted         the SDK put this message in the place of another\n"},
		"pinned":          {0, "  pinned           the conversation manager is to keep it\n"},
		"missing-agent":   {0, "  context          none: there is no agent.json, and a start makes a new agent\n"},
		"removed-all":     {5, "  manager          SummarizingConversationManager, 6 messages taken out, with a summary\n"},
		"interrupt-newer": {5, "  waits for        approve (i1)\n  holds back       beta\n"},
	} {
		s := openFiles(t, all[name])
		got := pictureFacts(factsOf(t, s, storetest.Headers(t, s, "h")[want.index]))
		if !strings.Contains(got, want.facts) {
			t.Errorf("%s: the facts are\n%s", name, got)
		}
	}
	s := openFiles(t, all["healthy"])
	for _, ref := range []model.Ref{{Session: "h", ID: "x"}, {Session: "h", ID: strings.Repeat("0", 64)}} {
		if _, err := s.Facts(t.Context(), ref); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("%v: %v", ref, err)
		}
	}
	if _, err := s.Facts(t.Context(), model.Ref{Session: "x", ID: "x"}); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("%v", err)
	}
}
