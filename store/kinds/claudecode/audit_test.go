package claudecode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// A summary names the last record of the session that it is of: old versions wrote those of
// other sessions at the beginning of a new one.
func TestTitles_ofAnotherSession(t *testing.T) {
	summary := func(leaf string) rec {
		return rec{kind: "summary", more: map[string]any{"summary": "a summary of " + leaf, "leafUuid": leaf}}
	}
	large := rec{kind: "attachment", id: "big", parent: "a", more: map[string]any{"filler": strings.Repeat("x", 200<<10)}}
	for want, recs := range map[string][]rec{
		"first words":    {summary("elsewhere"), user("a", "", "first words"), part("b", "a", "m1", "B", "")},
		"a summary of b": {summary("b"), summary("elsewhere"), user("a", "", "first words"), part("b", "a", "m1", "B", "")},
	} {
		for _, more := range [][]rec{nil, {large}} {
			dir, _ := written(t, append(list(recs...), list(more...)...)...)
			s := open(t, dir)
			if infos := storetest.Sessions(t, s); infos[0].Title != want {
				t.Errorf("%d more: it is called %q and not %q", len(more), infos[0].Title, want)
			}
		}
	}
}

// Claude Code resumes no sidechain, which old versions wrote into the file of the session.
func TestFork_refusesASidechain(t *testing.T) {
	side := user("s", "", "task")
	side.more = map[string]any{"isSidechain": true}
	dir, _ := written(t, user("a", "", "A"), side, part("b", "a", "m1", "B", ""))
	s := open(t, dir)
	if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: "s"}}); err == nil {
		t.Error("it is forked")
	}
	apply(t, s, "b", "")
}

// Of records with one id the last that was written counts, as for what is written behind it.
func TestTree_ofAnIDThatComesTwice(t *testing.T) {
	dir, _ := written(t, list(user("a", "", "A"), user("b", "a", "B"), user("b", "a", "again"), user("c", "b", "C"), user("a", "", "A again"), lastPrompt("c"))...)
	s := open(t, dir)
	same(t, "the tree", treeOf(t, s, session), []string{"a ◂  A", "b ◂ a B – rewind", "b~2 ◂ a again", "c ◂ b~2 C *", "a~2 ◂  A again – pointer"})
	same(t, "the state", words(t, stateAt(t, s, "c")), []string{"A", "again", "C"})
}

// Tokens count once for an answer, wherever its records stand.
func TestState_countsAnAnswerInTwoPlacesOnce(t *testing.T) {
	dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m1", "D", ""), part("e", "d", "m2", "E", ""))...)
	if n := strings.Count(stateAt(t, open(t, dir), "e"), `"inputTokens":10`); n != 2 {
		t.Errorf("two answers count %d times", n)
	}
}

// A first message with an image is a line that is longer than what the list reads.
func TestSessions_ofALargeFirstMessage(t *testing.T) {
	image := json.RawMessage(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("A", 300<<10) + `"}}`)
	says := map[string]any{"type": "text", "text": "what is this?"}
	first := func(content ...any) string {
		text := rec{kind: "user", id: "a", says: content}.String()
		at := strings.Index(text, `"message"`) // as Claude Code orders them: what is small, the message, whose it is
		end := strings.Index(text, `"parentUuid"`)
		message := text[at:end]
		return `{"parentUuid":null,"type":"user",` + message + strings.Replace(strings.Replace(text[:at]+text[end:], `"type":"user",`, "", 1), `"parentUuid":null,`, "", 1)[1:]
	}
	for want, line := range map[string]string{"what is this?": first(says, image), "(image)": first(image, says)} {
		dir, file := written(t, raw(line), part("b", "a", "m1", "a cat", ""))
		if _, ok, err := Kind(nil).Recognise(t.Context(), file); !ok || err != nil {
			t.Errorf("it is not recognised: %v\n%.200s", err, line)
		}
		s := open(t, dir)
		if infos := storetest.Sessions(t, s); infos[0].Title != want {
			t.Errorf("it is called %q and not %q", infos[0].Title, want)
		}
		same(t, "the tree", treeOf(t, s, session), []string{"a ◂  what is this?", "b ◂ a a cat *"})
	}
}

// What Claude Code recorded of a request says at the answer how many messages the model was
// sent: those that the request keeps of the one before, and its own.
func TestFacts_ofARequest(t *testing.T) {
	request := rec{kind: "api-request", more: map[string]any{"id": "r2", "base": "r1", "keep": 3, "tail": []any{"h1", "h2"}, "querySource": "sdk"}}
	dir, _ := written(t, list(user("a", "", "A"), request, part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m2", "D", ""))...)
	s := open(t, dir)
	if b, d := facts(t, s, "b")["request"], facts(t, s, "d")["request"]; b != "5 messages (sdk)" || d != "" {
		t.Errorf("%q, %q", b, d)
	}
	// The session has had two turns, one with a call: words, answer, words, call, result.
	for _, h := range storetest.Headers(t, open(t, fixtures), "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789")[5:6] {
		facts, err := open(t, fixtures).Features().Facts(t.Context(), h.Ref())
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "request" && f.Value == "5 messages (sdk)" }) {
			t.Errorf("%s: %v, %v", h.ID, facts, err)
		}
	}
}

// The call that resumes is made in the folder of the project, in which older versions look,
// and not where the session went on to.
func TestCalls_inTheFolderOfTheProject(t *testing.T) {
	moved := user("b", "a", "B")
	moved.more = map[string]any{"cwd": "/home/demo/sub dir"}
	dir, file := written(t, user("a", "", "A"), moved)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Dir(filepath.Dir(filepath.Dir(file))))
	calls, err := open(t, dir).Features().Resume(t.Context(), model.Ref{Session: session, ID: "b"})
	if want := "cd /home/demo && claude --resume " + session; err != nil || len(calls) != 1 || calls[0].Call != want {
		t.Errorf("%+v, %v", calls, err)
	}
	other := filepath.Join(filepath.Dir(filepath.Dir(file)), "-home-demo-sub-dir")
	if err := os.Rename(filepath.Dir(file), other); err != nil {
		t.Fatal(err)
	}
	calls, err = open(t, dir).Features().Resume(t.Context(), model.Ref{Session: session, ID: "b"})
	if want := "cd '/home/demo/sub dir' && claude --resume " + session; err != nil || len(calls) != 1 || calls[0].Call != want {
		t.Errorf("%+v, %v", calls, err)
	}
}
