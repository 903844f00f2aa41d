package claudecode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/storetest"
)

// given returns a record of an attachment.
func given(id, parent string, attachment map[string]any, more map[string]any) rec {
	all := map[string]any{"attachment": attachment}
	for key, value := range more {
		all[key] = value
	}
	return rec{kind: "attachment", id: id, parent: parent, more: all}
}

// contexts returns the labels and the texts of what a state gives the model beside messages, and
// the first words of the others, each as "MESSAGE: WHAT".
func contexts(t testing.TB, s store.Store, session, id string) (list []string) {
	t.Helper()
	state, err := s.State(t.Context(), model.Ref{Session: session, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	c := conversation.Decode(tape)
	for m := range c.Len() {
		for _, b := range c.Blocks(m) {
			text := c.Tape().Text(b.Body)
			if b.Kind == conversation.Context {
				text = c.Label(&b) + ": " + text
			}
			list = append(list, fmt.Sprintf("%d %s", m, text))
		}
	}
	return list
}

// The text of a file that a prompt names stands in the message, as it was sent.
func TestAttachments_areInTheMessageTheyFollow(t *testing.T) {
	s := open(t, "testdata/at-file")
	const session = "33333333-aaaa-4bbb-8ccc-000000000001"
	rows := storetest.Headers(t, s, session)
	same(t, "the state", contexts(t, s, session, rows[len(rows)-1].ID), []string{
		"0 look at @p.txt", "0 context file p.txt 24 B: MARKER-IN-THE-FILE line\n", "1 It has one line.",
	})
	same(t, "the tree", treeOf(t, s, session), []string{"00000001 ◂  look at @p.txt", "00000003 ◂ 00000001 It has one line. *"})
}

// Every type that is sent is in the state, one that nobody has seen among them; what is not sent
// is not. Where the record has the text that was sent, that counts.
func TestAttachments_haveTheTextOfEveryType(t *testing.T) {
	type object = map[string]any
	text := func(texts ...string) object {
		var list []any
		for _, text := range texts {
			list = append(list, object{"content": text})
		}
		return object{"rendered": list, "renderedRole": "system"}
	}
	for _, tc := range []struct {
		is         string
		attachment object
		record     object
		want       string // "" for nothing
	}{
		{"directory", object{"path": "/w/src", "content": "a.go\nb.go", "displayPath": "src"}, nil, "directory src 9 B: a.go\nb.go"},
		{"edited_text_file", object{"filename": "/w/a", "snippet": "1\tx"}, nil, "edited_text_file /w/a 3 B: 1\tx"},
		{"edited_text_file", object{"filename": "/w/a", "snippet": "1\tx"}, text("changed: x"), "edited_text_file /w/a 10 B: changed: x"},
		{"nested_memory", object{"path": "/w/CLAUDE.md", "content": object{"path": "/w/CLAUDE.md", "type": "Project", "content": "be brief"}, "displayPath": "CLAUDE.md"}, nil, "nested_memory CLAUDE.md 8 B: be brief"},
		{"selected_lines_in_ide", object{"ideName": "VS Code", "lineStart": 1, "lineEnd": 2, "filename": "/w/a", "content": "two lines", "displayPath": "a"}, nil, "selected_lines_in_ide a 9 B: two lines"},
		{"hook_additional_context", object{"content": []any{"one", "two"}, "hookName": "PostToolUse:Read"}, nil, "hook_additional_context PostToolUse:Read 24 B: one\ntwo\nPostToolUse:Read"},
		{"hook_success", object{"hookEvent": "SessionStart", "hookName": "SessionStart:startup", "content": "be kind"}, nil, "hook_success SessionStart:startup 7 B: be kind"},
		{"hook_success", object{"hookEvent": "PostToolUse", "hookName": "x", "content": "formatted"}, nil, ""},
		{"plan_mode", object{"reminderType": "full", "planFilePath": "/p.md"}, nil, "plan_mode /p.md 10 B: /p.md\nfull"},
		{"todo_reminder", object{"content": []any{object{"content": "test it", "status": "pending"}}, "itemCount": 1}, nil, "todo_reminder 15 B: test it\npending"},
		{"mcp_resource", object{"server": "docs", "uri": "docs://a", "name": "A", "content": object{"contents": []any{object{"text": "the page"}}}}, nil, "mcp_resource docs://a 24 B: the page\nA\ndocs\ndocs://a"},
		{"pdf_reference", object{"filename": "/w/a.pdf", "pageCount": 90}, nil, "pdf_reference /w/a.pdf 8 B: /w/a.pdf"},
		{"compact_file_reference", object{"filename": "/w/a", "displayPath": "a"}, nil, "compact_file_reference a 6 B: a\n/w/a"},
		{"skill_listing", object{"content": "- init", "names": []any{"init"}}, nil, "skill_listing 6 B: - init"},
		{"session_context", object{"context": object{"gitStatus": "clean"}}, nil, "session_context 5 B: clean"},
		{"date", object{"date": "2026-11-27"}, text("Today is", "Friday"), "date 15 B: Today is\nFriday"},
		{"environment", object{"snapshot": object{"platform": "linux"}}, object{"rendered": []any{object{"content": []any{object{"type": "text", "text": "on linux"}}}}}, "environment 8 B: on linux"},
		{"file", object{"filename": "a.png", "content": object{"type": "image", "file": object{"base64": "AAAA", "type": "image/png"}}}, nil, "file a.png 5 B: a.png"},
		{"never_seen_before", object{"deep": []any{object{"er": "hidden words"}}}, nil, "never_seen_before 12 B: hidden words"},
		{"prompt_snapshot", object{"systemPrompt": []any{"the system prompt"}}, nil, ""},
		{"hook_non_blocking_error", object{"stderr": "no such file"}, nil, ""},
		{"command_permissions", object{"allowedTools": []any{"Read"}}, nil, ""},
		{"structured_output", object{"data": object{"a": "b"}}, nil, ""},
	} {
		tc.attachment["type"] = tc.is
		for _, behind := range []rec{user("a", "", "A"), result("a", "", "t1")} {
			dir, _ := written(t, behind, given("x", "a", tc.attachment, tc.record), part("b", "x", "m1", "B", ""))
			want := []string{"1 B"}
			if tc.want != "" {
				want = []string{"0 context " + tc.want, "1 B"}
			}
			if got := contexts(t, open(t, dir), session, "b"); !slices.Equal(got[1:], want) {
				t.Errorf("%s behind %s: %q, want %q", tc.is, behind, got[1:], want)
			}
		}
	}
}

// What stands behind an answer or before all messages is a row; what several messages follow, one
// of them without it, is a branch. Neither is a title of the session.
func TestAttachments_areRowsWhereNoMessageTakesThem(t *testing.T) {
	file := func(id, parent string) rec {
		return given(id, parent, map[string]any{"type": "file", "filename": id + ".txt", "content": map[string]any{"file": map[string]any{"content": "text of " + id}}}, nil)
	}
	for name, tc := range map[string]struct {
		recs  []rec
		want  []string
		state []string // of the head
	}{
		"before all": {[]rec{file("x", ""), file("y", "x"), user("a", "y", "A"), part("b", "a", "m1", "B", "")},
			[]string{"x ◂  file x.txt", "a ◂ x A", "b ◂ a B *"},
			[]string{"0 context file x.txt 9 B: text of x", "0 context file y.txt 9 B: text of y", "1 A", "2 B"}},
		"behind an answer": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), file("x", "b"), user("c", "x", "C"), file("y", "c")},
			[]string{"a ◂  A", "b ◂ a B", "x ◂ b file x.txt", "c ◂ x C *"},
			[]string{"0 A", "1 B", "2 context file x.txt 9 B: text of x", "3 C", "3 context file y.txt 9 B: text of y"}},
		"a branch without it": {[]rec{user("a", "", "A"), file("x", "a"), part("b", "x", "m1", "B", ""), user("c", "a", "C")},
			[]string{"a ◂  A", "x ◂ a file x.txt – rewind", "b ◂ x B – rewind", "c ◂ a C *"},
			[]string{"0 A", "1 C"}},
		"of results": {[]rec{user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1"), file("x", "c"), part("d", "x", "m2", "D", "")},
			[]string{"a ◂  A", "b ◂ a T", "c ◂ b T  out t1", "d ◂ c D *"}, nil},
		"behind a boundary": {[]rec{user("a", "", "A"), boundaryOf("h", "a", "s"), file("x", "h"), user("s", "x", "S")},
			[]string{"[a ◂  A]", "x ◂ a file x.txt", "s ◂ x S *"}, []string{"0 context file x.txt 9 B: text of x", "1 S"}},
	} {
		dir, _ := written(t, list(tc.recs...)...)
		s := open(t, dir)
		same(t, "the tree "+name, treeOf(t, s, session), tc.want)
		rows := storetest.Headers(t, s, session)
		head := rows[slices.IndexFunc(rows, func(h model.Header) bool { return h.Head })]
		if tc.state != nil {
			same(t, "the state "+name, contexts(t, s, session, head.ID), tc.state)
		}
		if info := storetest.Sessions(t, s)[0]; info.Title != "A" {
			t.Errorf("%s: the title is %q", name, info.Title)
		}
	}
}

// A fork has what the model was given, and ends behind it. So does Claude Code's own way back.
func TestAttachments_areInAFork(t *testing.T) {
	dir, file := written(t, user(id("a"), "", "A"), given(id("x"), id("a"), map[string]any{"type": "date", "date": "today"}, nil), part(id("b"), id("x"), "m1", "B", ""), user(id("c"), id("b"), "C"))
	s := open(t, dir)
	const as = "22222222-2222-4222-8222-222222222222"
	plan := apply(t, s, id("a"), as)
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool {
		return strings.HasPrefix(h, "no fork is needed") && strings.Contains(h, "--resume-session-at "+id("x"))
	}) {
		t.Errorf("it offers %q", plan.Hazards)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(file), as+suffix))
	if err != nil || strings.Count(string(data), "\n") != 2 || !strings.Contains(string(data), `"today"`) {
		t.Errorf("the fork has %s, %v", data, err)
	}
}
