package query_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hindcast/query"
)

var agents = []string{"claude-code", "codex", "strands", "strands-snapshots"}

func TestParseWords(t *testing.T) {
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		typed string
		want  query.Words
		spans string
	}{
		{typed: ""},
		{typed: " ", want: query.Words{Text: " "}},
		{typed: "no  room", want: query.Words{Text: "no  room"}},
		{typed: " a project:pay  b ", want: query.Words{Text: " a  b ", Project: "pay"}, spans: "project:pay"},
		{typed: "project:pay  b", want: query.Words{Text: "b", Project: "pay"}, spans: "project:pay"},
		{typed: "b  project:pay ", want: query.Words{Text: "b", Project: "pay"}, spans: "project:pay"},
		{typed: `project:"my app" x`, want: query.Words{Text: "x", Project: "my app"}, spans: `project:"my app"`},
		{typed: "tool:Claude tool:Bash", want: query.Words{Agent: "Claude", Tool: "Bash"}, spans: "tool:Claude|tool:Bash"},
		{typed: "tool:codex", want: query.Words{Agent: "codex"}, spans: "tool:codex"},
		{typed: "tool:code", want: query.Words{Tool: "code"}, spans: "tool:code"},
		{typed: "role:user since:7d größe", want: query.Words{Text: "größe", Role: "user", Since: now.AddDate(0, 0, -7)}, spans: "role:user|since:7d"},
		{typed: "room left failed", want: query.Words{Text: "room", Left: true, Failed: true}, spans: "left|failed"},
		{typed: `left file:"my app/a.go"`, want: query.Words{Left: true, File: "my app/a.go"}, spans: `left|file:"my app/a.go"`},
		{typed: `room "left"`, want: query.Words{Text: "room left"}},
		{typed: `"no room left"`, want: query.Words{Text: "no room left"}},
		{typed: `room \left`, want: query.Words{Text: "room left"}},
		{typed: `\role:user`, want: query.Words{Text: "role:user"}},
		{typed: `\d+ "say" say "no"`, want: query.Words{Text: `\d+ "say" say "no"`}},
		{typed: `"role":"user"`, want: query.Words{Text: `"role":"user"`}},
		{typed: `a"left b`, want: query.Words{Text: `a"left b`}},
		{typed: "std::since::now http://x tools:", want: query.Words{Text: "std::since::now http://x tools:"}},
		{typed: "since::now lefts", want: query.Words{Text: "since::now lefts"}},
	} {
		got, err := query.ParseWords(c.typed, agents, true, now)
		var spans []string
		for _, w := range got.Spans {
			spans = append(spans, c.typed[w.From:w.To])
		}
		got.Spans = nil
		if err != nil || got.Text != c.want.Text || got.Project != c.want.Project || got.Agent != c.want.Agent || got.Tool != c.want.Tool ||
			got.Role != c.want.Role || got.File != c.want.File || !got.Since.Equal(c.want.Since) || got.Failed != c.want.Failed || got.Left != c.want.Left || strings.Join(spans, "|") != c.spans {
			t.Errorf("%q: %+v with the words %q, %v, want %+v with %q", c.typed, got, spans, err, c.want, c.spans)
		}
	}
	got, err := query.ParseWords(`no room left role:user`, agents, false, now)
	if err != nil || got.Text != "no room left" || got.Role != "user" || got.Left {
		t.Errorf("without bare words: %+v, %v", got, err)
	}
	for typed, want := range map[string]string{
		"x since:soon":        `"since:soon": "soon" is no time`,
		"tool: x":             `"tool:": nothing is behind the colon`,
		"role:user role:tool": `"role:tool": the word is there twice`,
		"file:a b":            `"file:a": only project:, tool: of an agent, since: and left go with it`,
	} {
		_, err := query.ParseWords(typed, agents, true, now)
		wrong, is := errors.AsType[*query.WordError](err)
		if !is || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "project: tool: since: role: file: failed left") {
			t.Errorf("%q: %v, want %s", typed, err, want)
		} else if typed[wrong.From:wrong.To] != wrong.Name+wrong.Value {
			t.Errorf("%q: the span has %q", typed, typed[wrong.From:wrong.To])
		}
	}
}

// Whatever is typed, words lie in it in order, and a text without words comes back as it is.
func FuzzParseWords(f *testing.F) {
	for _, typed := range []string{"", " a  b ", `"left" \left left`, `project:"a b" c`, "tool:codex failed", "since:7d x", `"a left`, `project:"`, "\xff:", "role: role:"} {
		f.Add(typed)
	}
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, typed string) {
		w, err := query.ParseWords(typed, agents, true, now)
		if _, is := errors.AsType[*query.WordError](err); err != nil && !is {
			t.Fatalf("%q: %v", typed, err)
		}
		at := 0
		for _, word := range w.Spans {
			if word.From < at || word.To <= word.From || word.To > len(typed) || !strings.HasPrefix(typed[word.From:word.To], word.Name) {
				t.Fatalf("%q: word %+v behind %d", typed, word, at)
			}
			at = word.To
		}
		if len(w.Text) > len(typed) {
			t.Fatalf("%q: text %q", typed, w.Text)
		}
		if len(w.Spans) == 0 && !strings.ContainsAny(typed, `"\`) && w.Text != typed {
			t.Fatalf("%q: text %q without words", typed, w.Text)
		}
		// What is quoted is text.
		if quoted := `"` + typed + `"`; !strings.Contains(typed, `"`) && len(strings.TrimSpace(typed)) == len(typed) {
			if again, err := query.ParseWords(quoted, agents, true, now); err != nil || len(again.Spans) > 0 {
				t.Fatalf("%q: %+v, %v", quoted, again, err)
			}
		}
	})
}
