package kinds

import (
	"path/filepath"
	"regexp"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A row says what happened, in stores that the frameworks wrote, also where no message tells it.
func TestKinds_titlesOfRows(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct {
		path, session string
		row           int // of the list of headers
		want          string
	}{
		{"genkit/go-1.13.1", "toggler/sess-aba", 1, `total 0, notes { "state": "B" }`},
		{"agent-framework/checkpoints", "bestellung", 8, "no messages are left"},
		{"langgraph/functional.db", "fn", 0, "1"},
		{"langgraph/agent.db", "tour", 26, `notes ["model@1","model@3","corrected by hand"…`},
		{"langgraph/agent.db", "tour", 39, "review"}, // a fork
		{"langgraph/delta.db", "delta", 21, "messages"},
		{"langgraph/old-0.2.5-json.db", "old", 6, "fork"},
		{"langgraph/agent.db", "tour", 25, `order {"approved":"ja","by":"human"}, blob 4 B`},
		{"langgraph/encrypted.db", "secret", 0, "messages 174 B of msgpack+aes"},
		{"coding/claude-code/projects", "e3e8e48f-7fa6-465a-9f40-10a54f2d345e", 14, "Compacted (ctrl+o to see full summary)"},
		{"coding/claude-code/projects", "e3e8e48f-7fa6-465a-9f40-10a54f2d345e", 6, "tools-used-before-summary: Bash"},
	} {
		if got := headersOf(t, c.path, c.session)[c.row].Title; got != c.want {
			t.Errorf("%s %s, row %d: %q, want %q", c.path, c.session, c.row, got, c.want)
		}
	}
}

// No row is called by the tags that an agent wrote around a text.
func TestKinds_titlesHaveNoTags(t *testing.T) {
	skip.Sequential(t)
	tag := regexp.MustCompile(`^<[a-z]+[-_][a-z-_]+>|\$bytes`)
	for _, path := range []string{"coding/claude-code/projects", "coding/codex/sessions", "langgraph/agent.db", "langgraph/encrypted.db", "langgraph/pickle.db", "langgraph/types.db"} {
		s, err := All(nil, "").Open(t.Context(), filepath.Join("..", "..", "testdata", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, info := range storetest.Sessions(t, s) {
			if tag.MatchString(info.Title) {
				t.Errorf("%s: session %s is called %q", path, info.ID, info.Title)
			}
			for _, h := range storetest.Headers(t, s, info.ID) {
				if tag.MatchString(h.Title) {
					t.Errorf("%s: row %d of %s is called %q", path, h.Index, info.ID, h.Title)
				}
			}
		}
	}
}

// headersOf returns the headers of a session of a store below testdata.
func headersOf(t *testing.T, path, session string) []model.Header {
	t.Helper()
	s, err := All(nil, "").Open(t.Context(), filepath.Join("..", "..", "testdata", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return storetest.Headers(t, s, session)
}
