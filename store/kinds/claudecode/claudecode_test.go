package claudecode

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

const fixtures = "../../../testdata/coding/claude-code"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixtures) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixtures) }

// open opens the store at a path.
func open(t testing.TB, path string) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// tree returns a line for each snapshot of a session, with the beginnings of ids: "id ◂ parent",
// what the model no longer reads in brackets, the head with a star, and why one is off the path.
func treeOf(t testing.TB, s store.Store, session string) (list []string) {
	t.Helper()
	line := model.NewTimeline(storetest.Headers(t, s, session))
	for n := range model.Node(line.Len()) {
		h := line.Header(n)
		text := fmt.Sprintf("%.8s ◂ %.8s %s", h.ID, h.ParentID, h.Title)
		if h.Marks.Has(model.MarkEvicted) {
			text = "[" + text + "]"
		}
		if n == line.Head() {
			text += " *"
		}
		if !line.OnPath(n) {
			text += " – " + line.Reason(n).Kind.String()
		}
		list = append(list, text)
	}
	return list
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s is\n  %s\nand not\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// The trees of the recorded sessions, written by hand from the records.
func TestTree_ofTheRecordedSessions(t *testing.T) {
	s := open(t, fixtures)
	for session, want := range map[string][]string{
		// --resume-session-at the first answer made the second branch.
		"7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789": {
			"e277a86e ◂  first question",
			"3ec0f583 ◂ e277a86e reply to: first question",
			"ad07e5be ◂ 3ec0f583 run: ls -1 – rewind",
			"3dd8383a ◂ ad07e5be $ ls -1 – rewind",
			"aad8405a ◂ 3dd8383a $ ls -1  a.txt – rewind",
			"de22defd ◂ aad8405a done: ls -1 – rewind",
			"1906f4f3 ◂ de22defd third question – rewind",
			"57643fff ◂ 1906f4f3 reply to: third question – rewind",
			"9f72f5d8 ◂ 3ec0f583 branched question",
			"c5e1f6e5 ◂ 9f72f5d8 reply to: branched question",
			"3ddceb19 ◂ c5e1f6e5 after branch",
			"d7a55516 ◂ 3ddceb19 reply to: after branch",
			"29eab1ac ◂ d7a55516 other cwd",
			"b4dda091 ◂ 29eab1ac reply to: other cwd *",
		},
		// The compaction keeps the answer before it.
		"e3e8e48f-7fa6-465a-9f40-10a54f2d345e": {
			"[47cb76fb ◂  first question]",
			"[848ba60e ◂ 47cb76fb reply to: first question]",
			"[1b76a676 ◂ 848ba60e agent: run: ls -1]",
			"[515275f0 ◂ 1b76a676 → general-purpose \"sub task\" → agent-a1a2b376f15c5c60d]",
			"[0b9e54ba ◂ 515275f0 → general-purpose \"sub task\"  Async agent launched successfully. (This tool result is internal metadata — never quote or paste a…]",
			"[6f63eac1 ◂ 0b9e54ba agent done: run: ls -1]",
			"[c4068a37 ◂ 6f63eac1 tools-used-before-summary: Bash]",
			"[60a9101c ◂ c4068a37 Agent \"sub task\" finished]",
			"[da808ccf ◂ 60a9101c agent done: run: ls -1]",
			"[a40908cb ◂ da808ccf edit question]",
			"118ae7c2 ◂ a40908cb reply to: edit question",
			"23841e1a ◂ 118ae7c2 This session is being continued from a previous conversation that ran out of context. The summary below covers the earli…",
			"9c5863c1 ◂ 23841e1a The command below was run directly in Claude Code, not sent to you as a request, and its output goes straight to the use…",
			"40077bfc ◂ 9c5863c1 /compact",
			"85859862 ◂ 40077bfc Compacted (ctrl+o to see full summary)",
			"c5f5aa00 ◂ 85859862 after compact",
			"5ded7fe0 ◂ c5f5aa00 reply to: o to see full summary)</local-command-stdout> after compact *",
		},
		"e3e8e48f-7fa6-465a-9f40-10a54f2d345e/agent-a1a2b376f15c5c60d": {
			"9c06ea44 ◂  run: ls -1",
			"bbc15e5e ◂ 9c06ea44 $ ls -1",
			"bc38a416 ◂ bbc15e5e $ ls -1  a.txt",
			"43addb22 ◂ bc38a416 done: ls -1 *",
		},
		"8512ee6c-4947-4b66-aaa1-6778e7c025d6": {"180284f0 ◂  first question *"},
		"b58a5d13-7517-4bb3-9c99-e62cde19c103": {
			"118ee069 ◂  first question",
			"40e33230 ◂ 118ee069 reply to: first question",
			"9785becb ◂ 40e33230 run: ls -1",
			"22e3d873 ◂ 9785becb $ ls -1",
			"cfb4822d ◂ 22e3d873 $ ls -1  a.txt",
			"6351fa7a ◂ cfb4822d done: ls -1 *",
		},
		// 2.1.80 has no leaf in a last-prompt, and keeps nothing behind a summary.
		"9274231d-d69b-43e0-a377-784eb1749711": {
			"[3f9f2fee ◂  first question]",
			"[23aeac1c ◂ 3f9f2fee reply to: first question]",
			"[204291ec ◂ 23aeac1c run: ls -1 run: echo two]",
			"[3a960ca6 ◂ 204291ec $ ls -1 · $ echo two]",
			"[af029af0 ◂ 3a960ca6 $ ls -1  a.txt]",
			"[293e06b1 ◂ af029af0 $ echo two  two]",
			"[9145f597 ◂ 293e06b1 done: ls -1; echo two]",
			"[870542b8 ◂ 9145f597 agent: run: echo three]",
			"[f29b4335 ◂ 870542b8 → general-purpose \"sub task\" → agent-ae8f2ad272e3e23b7]",
			"[19a031d2 ◂ f29b4335 → general-purpose \"sub task\"  1 call]",
			"[b72e224c ◂ 19a031d2 done: run: echo three]",
			"af7574d5 ◂ b72e224c This session is being continued from a previous conversation that ran out of context. The summary below covers the earli…",
			"e76d8f57 ◂ af7574d5 Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these messages or …",
			"50138d6e ◂ e76d8f57 /compact",
			"314b576b ◂ 50138d6e Compacted (ctrl+o to see full summary)",
			"7137590c ◂ 314b576b No response requested.",
			"80f7bb2d ◂ 7137590c after compact",
			"d794dd84 ◂ 80f7bb2d reply to: after compact",
			"13168158 ◂ d794dd84 again – rewind",
			"522eca09 ◂ 13168158 reply to: again – rewind",
			"5ec90491 ◂ d794dd84 another branch",
			"920d5de3 ◂ 5ec90491 reply to: another branch",
			"29a0836c ◂ 920d5de3 fail: 2 then words",
			"86eaacbb ◂ 29a0836c reply to: fail: 2 then words *",
		},
		"9274231d-d69b-43e0-a377-784eb1749711/agent-ae8f2ad272e3e23b7": {
			"662b3f4e ◂  run: echo three", "2d4bc851 ◂ 662b3f4e $ echo three", "41a0c80d ◂ 2d4bc851 $ echo three  three", "7e331735 ◂ 41a0c80d done: echo three *",
		},
		// --fork-session copied it from the compaction on.
		"09188a36-6a9c-4dbd-922b-6d199b42ded1": {
			"af7574d5 ◂  This session is being continued from a previous conversation that ran out of context. The summary below covers the earli…",
			"e76d8f57 ◂ af7574d5 Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these messages or …",
			"50138d6e ◂ e76d8f57 /compact",
			"314b576b ◂ 50138d6e Compacted (ctrl+o to see full summary)",
			"7137590c ◂ 314b576b No response requested.",
			"80f7bb2d ◂ 7137590c after compact",
			"d794dd84 ◂ 80f7bb2d reply to: after compact",
			"5ec90491 ◂ d794dd84 another branch",
			"920d5de3 ◂ 5ec90491 reply to: another branch",
			"29a0836c ◂ 920d5de3 fail: 2 then words",
			"86eaacbb ◂ 29a0836c reply to: fail: 2 then words",
			"41b5d69f ◂ 86eaacbb in the fork",
			"ca8e2a53 ◂ 41b5d69f reply to: in the fork *",
		},
		// 2.0.30 has no last-prompt; a result names the one before it.
		"e3826403-bf0d-4777-ba88-43b3f02bc184": {
			"[7e67425e ◂  first question]",
			"[dbd6c7f7 ◂ 7e67425e reply to: first question]",
			"[d2a1efcb ◂ dbd6c7f7 run: ls -1 run: echo two]",
			"[e7e40180 ◂ d2a1efcb $ ls -1 · $ echo two]",
			"[c8654b2e ◂ e7e40180 $ echo two  two]",
			"[455f2ecd ◂ c8654b2e $ ls -1  a.txt]",
			"[edba9f4c ◂ 455f2ecd done: ls -1; echo two]",
			"[529bdd9d ◂ edba9f4c agent: run: echo three]",
			"[bb8dcd8e ◂ 529bdd9d → general-purpose \"sub task\" → agent-e17416b3]",
			"[03177594 ◂ bb8dcd8e → general-purpose \"sub task\"  1 call]",
			"[b7551812 ◂ 03177594 done: run: echo three]",
			"039b4fde ◂ b7551812 This session is being continued from a previous conversation that ran out of context. The conversation is summarized bel…",
			"65253f2b ◂ 039b4fde Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these messages or …",
			"bbd1d573 ◂ 65253f2b /compact",
			"bea581f1 ◂ bbd1d573 Compacted (ctrl+o to see full summary)",
			"15390aad ◂ bea581f1 No response requested.",
			"6280ac2b ◂ 15390aad after compact",
			"91e8462b ◂ 6280ac2b reply to: after compact *",
		},
		"e3826403-bf0d-4777-ba88-43b3f02bc184/agent-e17416b3": {
			"0cecce60 ◂  run: echo three", "2fc57906 ◂ 0cecce60 $ echo three", "eccee6f2 ◂ 2fc57906 $ echo three  three", "17fd42c6 ◂ eccee6f2 done: echo three *",
		},
		"b58a5d13-7517-4bb3-9c99-e62cde19c103/agent-8a0da39c": {"4862bbf5 ◂  Warmup", "09b9e15a ◂ 4862bbf5 reply to: Warmup *"},
		"0a94d6d4-88e1-44f3-947a-abb35c9ed35f/agent-5b24f59d": {"3b52af5d ◂  Warmup", "fd9d2327 ◂ 3b52af5d reply to: Warmup *"},
	} {
		same(t, session, treeOf(t, s, session), want)
	}
	if n := len(storetest.Sessions(t, s)); n != 12 {
		t.Errorf("%d sessions", n)
	}
}

const session = "11111111-1111-4111-8111-111111111111"

// rec is a record to be: what it says besides goes into more.
type rec struct {
	kind, id, parent string
	says             any // of a user or an assistant
	more             map[string]any
}

func user(id, parent, text string) rec { return rec{kind: "user", id: id, parent: parent, says: text} }

// part is a record of an answer: words, or a call of the tool T.
func part(id, parent, answer, text, call string) rec {
	block := map[string]any{"type": "text", "text": text}
	if call != "" {
		block = map[string]any{"type": "tool_use", "id": call, "name": "T", "input": map[string]any{}}
	}
	return rec{kind: "assistant", id: id, parent: parent, says: map[string]any{
		"id": answer, "role": "assistant", "content": []any{block}, "usage": map[string]any{"input_tokens": 10, "output_tokens": 5},
	}}
}

func result(id, parent, call string) rec {
	return rec{kind: "user", id: id, parent: parent, says: []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": "out " + call}}}
}

// at has a record be so many seconds later than others.
func at(seconds int, r rec) rec {
	r.more = maps.Clone(r.more)
	if r.more == nil {
		r.more = map[string]any{}
	}
	r.more["timestamp"] = fmt.Sprintf("2026-11-22T11:00:%02d.000Z", seconds)
	return r
}

func lastPrompt(leaf string) rec {
	return rec{kind: "last-prompt", more: map[string]any{"leafUuid": leaf}}
}

func (r rec) String() string {
	m := map[string]any{"type": r.kind, "sessionId": session}
	if r.id != "" {
		m["uuid"], m["timestamp"], m["cwd"], m["version"] = r.id, "2026-11-22T11:00:00.000Z", "/home/demo", "2.1.330"
		m["parentUuid"] = nil
		if r.parent != "" {
			m["parentUuid"] = r.parent
		}
	}
	switch says := r.says.(type) {
	case nil:
	case map[string]any:
		m["message"] = says
	default:
		m["message"] = map[string]any{"role": r.kind, "content": says}
	}
	maps.Copy(m, r.more)
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(line)
}

// written writes a session, and returns the folder of the projects and the file.
func written(t testing.TB, lines ...fmt.Stringer) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), ".claude", projects)
	file = filepath.Join(dir, "-home-demo", session+suffix)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line.String() + "\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// raw is a line as it is.
type raw string

func (r raw) String() string { return string(r) }

// list returns records as lines.
func list(recs ...rec) (lines []fmt.Stringer) {
	for _, r := range recs {
		lines = append(lines, r)
	}
	return lines
}

// Two branches from b: c, and d with e behind it. What decides is the newest last-prompt,
// then the last record: as 2.1.330 resumes such files.
func TestHead(t *testing.T) {
	branches := []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), user("d", "b", "D"), part("e", "d", "m2", "E", "")}
	for name, tt := range map[string]struct {
		more []rec
		want string
	}{
		"the last record where there is no last-prompt": {nil, "e"},
		"a last-prompt":                                      {[]rec{lastPrompt("c")}, "c"},
		"the newest last-prompt":                             {[]rec{lastPrompt("c"), lastPrompt("e")}, "e"},
		"a last-prompt without a leaf is none":               {[]rec{{kind: "last-prompt"}}, "e"},
		"a last-prompt that the last record follows":         {[]rec{lastPrompt("b")}, "e"},
		"a last-prompt with a record of its branch behind":   {[]rec{lastPrompt("c"), user("f", "c", "F")}, "f"},
		"a last-prompt with a record of the other behind":    {[]rec{lastPrompt("c"), user("f", "e", "F")}, "c"},
		"the newest names no record: the last record":        {[]rec{lastPrompt("c"), lastPrompt("gone")}, "e"},
		"a record that is no message stands for the one":     {[]rec{{kind: "attachment", id: "f", parent: "c"}, lastPrompt("f")}, "c"},
		"a last-prompt that precedes its record":             {[]rec{lastPrompt("f"), {kind: "attachment", id: "f", parent: "e"}}, "e"},
		"what a sub-agent wrote in the file is not the last": {[]rec{{kind: "user", id: "f", says: "F", more: map[string]any{"isSidechain": true}}}, "e"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, list(append(slices.Clip(branches), tt.more...)...)...)
			line := model.NewTimeline(storetest.Headers(t, open(t, dir), session))
			if got := line.Header(line.Head()).ID; got != tt.want {
				t.Errorf("the head is %s and not %s", got, tt.want)
			}
		})
	}
}

// Claude Code passes a damaged line over: a record in it is no head, whatever names it, and takes no
// head with it.
func TestHead_inADamagedLine(t *testing.T) {
	damaged := func(r rec) fmt.Stringer { return raw(`{"torn` + r.String()) }
	asked := list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), part("c", "b", "m1", "", "t2"), result("d", "b", "t1"))
	for name, tt := range map[string]struct {
		more []fmt.Stringer
		want string
	}{
		"a message":                    {[]fmt.Stringer{damaged(user("e", "d", "E"))}, "d"},
		"a message that is pointed at": {[]fmt.Stringer{damaged(user("e", "d", "E")), lastPrompt("e")}, "d"},
		"a pointer":                    {[]fmt.Stringer{user("e", "a", "E"), damaged(lastPrompt("d"))}, "e"},
		"a result of the same answer":  {[]fmt.Stringer{damaged(result("e", "c", "t2"))}, "d"},
		"a part of the answer":         {[]fmt.Stringer{damaged(part("e", "c", "m1", "E", ""))}, "d"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, append(slices.Clip(asked), tt.more...)...)
			line := model.NewTimeline(storetest.Headers(t, open(t, dir), session))
			if got := line.Header(line.Head()).ID; got != tt.want {
				t.Errorf("the head is %s and not %s", got, tt.want)
			}
		})
	}
}

// An answer of several records is one message, and the results of its calls follow one
// another, whichever of the records each names: recorded with two calls at once.
func TestTree_ofCallsInParallel(t *testing.T) {
	for name, tt := range map[string]struct {
		recs []rec
		want []string
	}{
		"results behind all calls": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), part("c", "b", "m1", "", "t1"), part("d", "c", "m1", "", "t2"), result("e", "d", "t2"), result("f", "c", "t1"), part("g", "f", "m2", "G", "")},
			[]string{"a ◂  A", "b ◂ a B (T · T)", "e ◂ b T  out t2", "f ◂ e T  out t1", "g ◂ f G *"},
		},
		"a result before the second call": {
			[]rec{user("a", "", "A"), part("c", "a", "m1", "", "t1"), result("f", "c", "t1"), part("d", "c", "m1", "", "t2"), result("e", "d", "t2"), part("g", "e", "m2", "G", "")},
			[]string{"a ◂  A", "c ◂ a T · T", "f ◂ c T  out t1", "e ◂ f T  out t2", "g ◂ e G *"},
		},
		"the next answer names the first result": {
			[]rec{user("a", "", "A"), part("c", "a", "m1", "", "t1"), part("d", "c", "m1", "", "t2"), result("e", "d", "t2"), result("f", "c", "t1"), part("g", "e", "m2", "G", "")},
			[]string{"a ◂  A", "c ◂ a T · T", "e ◂ c T  out t2", "f ◂ e T  out t1", "g ◂ f G *"},
		},
		"a second result of a call is a branch": {
			[]rec{user("a", "", "A"), part("c", "a", "m1", "", "t1"), result("e", "c", "t1"), result("f", "c", "t1"), part("g", "f", "m2", "G", "")},
			[]string{"a ◂  A", "c ◂ a T", "e ◂ c T  out t1 – rewind", "f ◂ c T  out t1", "g ◂ f G *"},
		},
		"an id that comes again elsewhere is another answer": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m1", "D", "")},
			[]string{"a ◂  A", "b ◂ a B", "c ◂ b C", "d ◂ c D *"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, list(tt.recs...)...)
			s := open(t, dir)
			same(t, "the tree", treeOf(t, s, session), tt.want)
		})
	}
}

// Records are written from a buffer, so that one may stand before the record that it names:
// Claude Code looks the ids up in the whole file. No order brings a fault, and a fork has the
// same way.
func TestTree_ofARecordBeforeItsParent(t *testing.T) {
	hook := func(id, parent string) rec { return rec{kind: "attachment", id: id, parent: parent} }
	summary := user("s", "k", "S")
	summary.more = map[string]any{"isCompactSummary": true}
	chain := []string{"a ◂  A", "b ◂ a B", "c ◂ b C", "d ◂ c D *"}
	for name, tt := range map[string]struct {
		recs []rec
		want []string
	}{
		"an attachment": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "x", "C"), hook("x", "b"), part("d", "c", "m2", "D", "")}, chain,
		},
		"two attachments, the second first": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "y", "C"), hook("y", "x"), hook("x", "b"), part("d", "c", "m2", "D", "")}, chain,
		},
		"an attachment before the answer that it follows": {
			[]rec{user("a", "", "A"), hook("x", "b"), user("c", "x", "C"), part("b", "a", "m1", "B", ""), part("d", "c", "m2", "D", "")}, chain,
		},
		"an error of a request": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "x", "C"), {kind: "system", id: "x", parent: "b", more: map[string]any{"subtype": "api_error"}}, part("d", "c", "m2", "D", "")}, chain,
		},
		"a message": {
			[]rec{user("a", "", "A"), user("c", "b", "C"), part("b", "a", "m1", "B", ""), part("d", "c", "m2", "D", "")}, chain,
		},
		"a later block of the answer": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), result("r", "c", "t1"), part("c", "b", "m1", "", "t1"), part("d", "r", "m2", "D", "")},
			[]string{"a ◂  A", "b ◂ a B (T)", "r ◂ b T  out t1", "d ◂ r D *"},
		},
		"the boundary of a compaction": {
			[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), summary, boundaryOf("k", "b", "s"), user("c", "s", "C")},
			[]string{"[a ◂  A]", "[b ◂ a B]", "s ◂ b S", "c ◂ s C *"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := written(t, list(tt.recs...)...)
			s := open(t, dir)
			same(t, "the tree", treeOf(t, s, session), tt.want)
			if got := slices.DeleteFunc(codes(storetest.Faults(t, s, session)), func(code string) bool { return code == FaultCompacted }); len(got) > 0 {
				t.Errorf("the faults are %v", got)
			}
			plan := apply(t, s, tt.recs[len(tt.recs)-1].id, "")
			same(t, "a fork", treeOf(t, s, plan.NewSession), tt.want)
			text, err := os.ReadFile(filepath.Join(filepath.Dir(file), plan.NewSession+suffix))
			if n := strings.Count(string(text), "\n"); err != nil || n != len(tt.recs) {
				t.Errorf("the fork has %d records, %v", n, err)
			}
		})
	}
}

// A session that is followed while it is written is the one that is read at its end.
func TestTree_ofARecordBeforeItsParentThatComesLater(t *testing.T) {
	lines := list(at(0, user("a", "", "A")), at(1, part("b", "a", "m1", "B", "")), at(2, user("c", "x", "C")), at(2, rec{kind: "attachment", id: "x", parent: "b"}), at(3, part("d", "c", "m2", "D", "")))
	dir, file := written(t, lines[0])
	s := open(t, dir)
	for n, want := range [][]string{
		1: {"a ◂  A *"}, 2: {"a ◂  A", "b ◂ a B *"}, 3: {"a ◂  A", "b ◂ a B", "c ◂ b C *"}, // it follows the newest of the seconds before
		4: {"a ◂  A", "b ◂ a B *", "c ◂ b C – secondLeaf"}, 5: {"a ◂  A", "b ◂ a B", "c ◂ b C", "d ◂ c D *"},
	} {
		var text strings.Builder
		for _, line := range lines[:n] {
			text.WriteString(line.String() + "\n")
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			same(t, fmt.Sprintf("the tree of %d lines", n), treeOf(t, s, session), want)
		}
	}
}

// state returns the state at a snapshot of the session.
func stateAt(t testing.TB, s store.Store, id string) string {
	t.Helper()
	text, err := s.State(t.Context(), model.Ref{Session: session, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// words returns the texts of a state.
func words(t testing.TB, text string) (list []string) {
	t.Helper()
	for _, block := range blocks(t, []byte(text)) {
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(block, "user: "), "assistant: "))
	}
	return list
}

func TestState_countsAnAnswerOnce(t *testing.T) {
	dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "B", ""), part("c", "b", "m1", "", "t1"))...)
	text := stateAt(t, open(t, dir), "b")
	if n := strings.Count(text, `"inputTokens":10`); n != 1 || !strings.Contains(text, `"raw":[{`) {
		t.Errorf("%d times: %s", n, text)
	}
}

// The records of one answer repeat its tokens; one that was written early, or that has none, takes
// none away.
func TestState_countsTheMostThatAnAnswerHas(t *testing.T) {
	with := func(r rec, usage any) rec {
		r.says.(map[string]any)["usage"] = usage
		return r
	}
	early := map[string]any{"input_tokens": 10, "output_tokens": 1}
	for name, usage := range map[string]any{"none": nil, "zeros": map[string]any{"input_tokens": 0, "output_tokens": 0}, "fewer": early} {
		for where, recs := range map[string][]rec{
			"first": {with(part("b", "a", "m1", "B", ""), usage), part("c", "b", "m1", "", "t1")},
			"last":  {part("b", "a", "m1", "B", ""), with(part("c", "b", "m1", "", "t1"), usage)},
		} {
			dir, _ := written(t, list(append([]rec{user("a", "", "A")}, recs...)...)...)
			if text := stateAt(t, open(t, dir), "b"); strings.Count(text, `"inputTokens":10,"outputTokens":5`) != 1 {
				t.Errorf("%s %s: %s", name, where, text)
			}
		}
	}
}

// What a fork of Claude Code's copied was asked by another session, which counts it.
func TestState_countsWhatAnotherSessionAskedNot(t *testing.T) {
	copied := part("b", "a", "m1", "B", "")
	copied.more = map[string]any{"requestSessionId": "22222222-2222-4222-8222-222222222222"}
	dir, _ := written(t, list(user("a", "", "A"), copied, user("c", "b", "C"), part("d", "c", "m2", "D", ""))...)
	s := open(t, dir)
	if text := stateAt(t, s, "d"); strings.Count(text, `"inputTokens":10`) != 1 {
		t.Errorf("%s", text)
	}
	if facts := facts(t, s, "a"); facts["forked from"] != "22222222-2222-4222-8222-222222222222" {
		t.Errorf("%v", facts)
	}
}

func facts(t testing.TB, s store.Store, id string) map[string]string {
	t.Helper()
	list, err := s.Features().Facts(t.Context(), model.Ref{Session: session, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for _, f := range list {
		facts[f.Label] = f.Value
	}
	return facts
}

// A fork is joined with its source by the ids of records, from either end: the one that 2.1.80
// made here has the records from a compaction on, and no record that says so.
func TestFacts_joinAForkAndItsSource(t *testing.T) {
	s := open(t, fixtures)
	const source, fork = "9274231d-d69b-43e0-a377-784eb1749711", "09188a36-6a9c-4dbd-922b-6d199b42ded1"
	for from, want := range map[string]model.Fact{source: {Label: "goes on in", Value: fork}, fork: {Label: "forked from", Value: source}} {
		rows := storetest.Headers(t, s, from)
		facts, err := s.Features().Facts(t.Context(), rows[len(rows)-1].Ref())
		if err != nil || !slices.ContainsFunc(facts, want.Same) {
			t.Errorf("%s: %+v has not %+v, %v", from, facts, want, err)
		}
	}
	if got := codes(storetest.Faults(t, s, fork)); !slices.Equal(got, []string{FaultCompacted}) {
		t.Errorf("the faults of the fork are %v", got)
	}
}

// A fork that 2.1.330 makes behind a compaction begins with the boundary, and has what that
// keeps behind the summary: the boundary names a record that follows it.
func TestTree_ofAForkThatBeginsWithACompaction(t *testing.T) {
	summary := user("s", "x", "S")
	summary.more = map[string]any{"isCompactSummary": true}
	dir, _ := written(t, list(boundaryOf("x", "d", "s", "d"), summary, part("d", "s", "m2", "D", ""), user("e", "d", "E"))...)
	s := open(t, dir)
	same(t, "the tree", treeOf(t, s, session), []string{"s ◂  S", "d ◂ s D", "e ◂ d E *"})
	same(t, "the state", words(t, stateAt(t, s, "e")), []string{"S", "D", "E"})
	same(t, "the faults", codes(storetest.Faults(t, s, session)), []string{FaultCompacted})
	const id = "22222222-2222-4222-8222-222222222222"
	apply(t, s, "d", id)
	state, err := s.State(t.Context(), model.Ref{Session: id, ID: "d"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the state of a fork of it", words(t, string(state)), []string{"S", "D"})
}

// A copy of a session under another id begins with the same record.
func TestFacts_nameASessionThatBeginsAsThisOne(t *testing.T) {
	dir, file := written(t, list(user("a", "", "A"), part("b", "a", "m1", "B", ""))...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const other = "22222222-2222-4222-8222-222222222222"
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), other+suffix), []byte(strings.ReplaceAll(string(text), session, other)), 0o600); err != nil {
		t.Fatal(err)
	}
	if facts := facts(t, open(t, dir), "b"); facts["begins as"] != other {
		t.Errorf("%v", facts)
	}
}

// boundaryOf is a compaction that keeps the records keeps behind the record anchor.
func boundaryOf(id, before, anchor string, keeps ...string) rec {
	return rec{kind: "system", id: id, more: map[string]any{"subtype": "compact_boundary", "logicalParentUuid": before, "compactMetadata": map[string]any{
		"trigger": "auto", "preTokens": 3661, "preservedMessages": map[string]any{"anchorUuid": anchor, "uuids": keeps},
	}}}
}

func TestState_afterACompaction(t *testing.T) {
	before := []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m2", "D", "")}
	summary := user("s", "x", "S")
	summary.more = map[string]any{"isCompactSummary": true}
	after := []rec{summary, user("e", "s", "E")}
	segment := boundaryOf("x", "d", "s")
	segment.more["compactMetadata"] = map[string]any{"preservedSegment": map[string]any{"headUuid": "c", "anchorUuid": "s", "tailUuid": "d"}}
	for name, tt := range map[string]struct {
		bound rec
		want  []string
		fault string
	}{
		"kept behind the summary":       {boundaryOf("x", "d", "s", "c", "d"), []string{"S", "C", "D", "E"}, ""},
		"kept before the summary":       {boundaryOf("x", "d", "x", "c", "d"), []string{"C", "D", "S", "E"}, ""},
		"kept from a record to another": {segment, []string{"S", "C", "D", "E"}, ""},
		"nothing kept":                  {boundaryOf("x", "d", ""), []string{"S", "E"}, ""},
		"what is kept is gone":          {boundaryOf("x", "d", "s", "gone", "d"), []string{"S", "E"}, FaultKept},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, list(slices.Concat(before, []rec{tt.bound}, after)...)...)
			s := open(t, dir)
			same(t, "the state", words(t, stateAt(t, s, "e")), tt.want)
			same(t, "the state before", words(t, stateAt(t, s, "d")), []string{"A", "B", "C", "D"})
			if got := codes(storetest.Faults(t, s, session)); tt.fault != "" && !slices.Contains(got, tt.fault) || !slices.Contains(got, FaultCompacted) {
				t.Errorf("the faults are %v", got)
			}
		})
	}
}

// A compaction may keep some records of an answer. The state has all of them, and says so.
func TestFacts_ofAnAnswerThatIsKeptInPart(t *testing.T) {
	summary := user("s", "k", "S")
	summary.more = map[string]any{"isCompactSummary": true}
	for want, keeps := range map[string][]string{"b: 1 of 2 records; the state has all": {"c", "r", "d"}, "": {"b", "c", "r", "d"}} {
		dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "think", ""), part("c", "b", "m1", "", "t1"), result("r", "c", "t1"), part("d", "r", "m2", "D", ""), boundaryOf("k", "d", "s", keeps...), summary, user("g", "s", "G"))...)
		got := facts(t, open(t, dir), "s")
		if got["keeps in part"] != want {
			t.Errorf("of %v it says %q and not %q", keeps, got["keeps in part"], want)
		}
		if got["compaction"] != "auto" || got["preTokens"] != "3661" || got["postTokens"] != "" {
			t.Errorf("%v", got)
		}
	}
}

// A compaction may name nothing before it: what stands there is in the file, and is off the path
// for that.
func TestTree_ofACompactionThatNamesNothing(t *testing.T) {
	before := []rec{at(1, user("a", "", "A")), at(2, part("b", "a", "m1", "B", "")), user("l", "a", "left"), {kind: "user", id: "t", says: "task", more: map[string]any{"isSidechain": true}}}
	bound := boundaryOf("k", "", "")
	delete(bound.more, "logicalParentUuid")
	summary := func(parent string) rec {
		r := at(9, user("s", parent, "S"))
		r.more["isCompactSummary"] = true
		return r
	}
	after := []rec{at(10, user("g", "s", "G"))}
	for name, recs := range map[string][]rec{
		"a boundary":                       slices.Concat(before, []rec{bound, summary("k")}, after),
		"a summary alone":                  slices.Concat(before, []rec{summary("")}, after),
		"a boundary that names none there": slices.Concat(before, []rec{boundaryOf("k", "gone", ""), summary("k")}, after),
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, list(recs...)...)
			s := open(t, dir)
			same(t, "the tree", treeOf(t, s, session), []string{"a ◂  A – compaction", "b ◂ a B – compaction", "l ◂ a left – compaction", "t ◂  task – sidechain", "s ◂  S", "g ◂ s G *"})
			why := storetest.Headers(t, s, session)[1].Reason
			if got := why.Text(func(at time.Time) string { return at.Format("15:04:05") }); got != "before a compaction at 11:00:09" {
				t.Errorf("it is %q", got)
			}
			got, want := codes(storetest.Faults(t, s, session)), []string(nil)
			if name == "a boundary that names none there" {
				want = []string{FaultCompacted}
			}
			same(t, "the faults", got, want)
		})
	}
}

func codes(faults []model.Fault) (list []string) {
	for _, f := range faults {
		list = append(list, f.Code)
	}
	return list
}

// What is wrong with a session is said, and every message stays in sight.
func TestFaults(t *testing.T) {
	failed := part("c", "b", "m2", "API Error: 529", "")
	failed.more = map[string]any{"isApiErrorMessage": true}
	side, answer := user("s", "", "task"), part("t", "s", "m2", "T", "")
	side.more = map[string]any{"isSidechain": true}
	answer.more = side.more
	for name, tt := range map[string]struct {
		lines []fmt.Stringer
		tree  []string
		codes []string
	}{
		"a parent that is gone": {
			list(user("a", "", "A"), part("b", "a", "m1", "B", ""), at(6, user("c", "gone", "C")), at(6, part("d", "c", "m2", "D", "")), lastPrompt("b")),
			[]string{"a ◂  A", "b ◂ a B *", "c ◂ gone C – chainBroken", "d ◂ c D – chainBroken"},
			[]string{FaultChain, model.FaultMissingParent},
		},
		"a parent that is gone before a record that is no message": {
			list(user("a", "", "A"), at(6, rec{kind: "attachment", id: "x", parent: "gone"}), user("c", "x", "C"), lastPrompt("a")),
			[]string{"a ◂  A *", "c ◂ gone C – chainBroken"},
			[]string{FaultChain, model.FaultMissingParent},
		},
		"a parent that is gone, within seconds of another record": {
			list(user("a", "", "A"), at(1, part("b", "a", "m1", "B", "")), at(2, user("s", "b", "S")), at(6, user("c", "gone", "C")), at(6, part("d", "c", "m2", "D", ""))),
			[]string{"a ◂  A", "b ◂ a B", "s ◂ b S", "c ◂ s C", "d ◂ c D *"},
			[]string{FaultStray},
		},
		"a parent in a damaged line": {
			append(list(user("a", "", "A"), at(1, part("b", "a", "m1", "B", ""))), raw(`{"torn`+at(2, user("c", "b", "C")).String()), at(3, part("d", "c", "m2", "D", ""))),
			[]string{"a ◂  A", "b ◂ a B", "line-3 ◂ b C – damaged", "d ◂ b D *"},
			[]string{"damaged-line", FaultStray},
		},
		"a parent in a damaged line, and nothing within seconds": {
			append(list(user("a", "", "A"), at(1, part("b", "a", "m1", "B", ""))), raw(`{"torn`+at(2, user("c", "b", "C")).String()), at(9, part("d", "c", "m2", "D", ""))),
			[]string{"a ◂  A – chainBroken", "b ◂ a B – chainBroken", "line-3 ◂ b C – damaged", "d ◂ c D *"},
			[]string{"damaged-line", FaultChain, model.FaultMissingParent},
		},
		"a parent in a damaged line, and a pointer before it": {
			append(list(user("a", "", "A"), at(1, part("b", "a", "m1", "B", "")), lastPrompt("b")), raw(`{"torn`+at(2, user("c", "b", "C")).String()), at(3, part("d", "c", "m2", "D", ""))),
			[]string{"a ◂  A", "b ◂ a B *", "line-4 ◂ b C – damaged", "d ◂ b D – pointer"},
			[]string{"damaged-line", FaultStray},
		},
		"a torn line": {
			append(list(user("a", "", "A")), raw(`{"type":"user","uuid":"b","par`)),
			[]string{"a ◂  A *"}, []string{"damaged-line"},
		},
		"two writers": {
			list(user("a", "", "A"), user("b", "a", "B"), user("c", "a", "C"), user("d", "b", "D"), user("e", "c", "E")),
			[]string{"a ◂  A", "b ◂ a B – rewind", "c ◂ a C", "d ◂ b D – rewind", "e ◂ c E *"},
			[]string{FaultWriters},
		},
		"a last-prompt that names no record": {
			list(user("a", "", "A"), lastPrompt("gone")), []string{"a ◂  A *"}, []string{FaultPointer},
		},
		"a type that is not known": {
			list(user("a", "", "A"), rec{kind: "news", id: "n", parent: "a"}, part("b", "n", "m1", "B", "")),
			[]string{"a ◂  A", "b ◂ a B *"}, []string{"unknown-record"},
		},
		"an answer that failed, and was asked again": {
			list(user("a", "", "A"), user("b", "a", "B"), failed, user("d", "b", "D")),
			[]string{"a ◂  A", "b ◂ a B", "c ◂ b API Error: 529 – failedLeaf", "d ◂ b D *"}, nil,
		},
		"a sub-agent in the file of its session": {
			list(user("a", "", "A"), side, answer, part("b", "a", "m1", "B", "")),
			[]string{"a ◂  A", "s ◂  task – sidechain", "t ◂ s T – sidechain", "b ◂ a B *"}, nil,
		},
		"words that were queued while the model worked": {
			list(user("a", "", "A"), rec{kind: "attachment", id: "q", parent: "a", more: map[string]any{"attachment": map[string]any{"type": "queued_command", "prompt": "Q"}}}, part("b", "q", "m1", "B", "")),
			[]string{"a ◂  A", "q ◂ a Q", "b ◂ q B *"}, nil,
		},
		"an id that comes twice": {
			list(user("a", "", "A"), user("b", "a", "B"), user("b", "a", "again"), user("c", "b", "C")),
			[]string{"a ◂  A", "b ◂ a B – rewind", "b~2 ◂ a again", "c ◂ b~2 C *"}, nil,
		},
		"a child before its parent": {
			list(user("a", "", "A"), part("c", "b", "m1", "C", ""), user("b", "a", "B")),
			[]string{"a ◂  A", "b ◂ a B *", "c ◂ b C – secondLeaf"}, nil,
		},
		"a message without an id": {
			append(list(rec{kind: "user", says: "A"}), list(user("b", "", "B"), user("c", "b", "C"))...),
			[]string{"line-1 ◂  A – secondLeaf", "b ◂  B", "c ◂ b C *"}, nil,
		},
		"a circle": {
			list(user("a", "c", "A"), user("b", "a", "B"), user("c", "b", "C")),
			nil, []string{model.FaultParentCycle},
		},
		"large records that are passed over": {
			append(list(user("a", "", "A")), raw(`{"sessionId":"x","message":{"role":"user","content":"no"},"type":"api-request-blob"}`), raw(`{"type":"api-request","uuid":"q","parentUuid":"a"}`), part("b", "a", "m1", "B", "")),
			[]string{"a ◂  A", "b ◂ a B *"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, tt.lines...)
			s := open(t, dir)
			if got := treeOf(t, s, session); tt.tree != nil {
				same(t, "the tree", got, tt.tree)
			}
			same(t, "faults", codes(storetest.Faults(t, s, session)), tt.codes)
		})
	}
}

// A session that is not written to for a month goes at the next start of Claude Code, or as
// the settings say.
func TestFaults_ofSessionsThatGoSoon(t *testing.T) {
	dir, file := written(t, user("a", "", "A"))
	s := open(t, dir)
	old := time.Now().Add(-28 * 24 * time.Hour)
	if got := codes(storetest.Faults(t, s, "")); len(got) > 0 {
		t.Errorf("a new session: %v", got)
	}
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if got := codes(storetest.Faults(t, s, "")); !slices.Equal(got, []string{FaultPruned}) {
		t.Errorf("an old session: %v", got)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "settings.json"), []byte(`{"cleanupPeriodDays": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := codes(storetest.Faults(t, s, "")); len(got) > 0 {
		t.Errorf("an old session with a longer period: %v", got)
	}
}

// What is no file is no settings, and is not waited for.
func TestFaults_prunedWithoutSettings(t *testing.T) {
	dir, file := written(t, user("a", "", "A"))
	old := time.Now().Add(-28 * 24 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	storetest.Pipe(t, filepath.Join(filepath.Dir(dir), "settings.json"))
	if got := codes(storetest.Faults(t, open(t, dir), "")); !slices.Equal(got, []string{FaultPruned}) {
		t.Errorf("the faults are %v", got)
	}
}

func TestTitles(t *testing.T) {
	caveat := user("c", "b", "<local-command-caveat>Caveat")
	caveat.more = map[string]any{"isMeta": true}
	first := []rec{user("b", "", "<command-name>/clear</command-name>"), caveat, user("a", "c", "first words")}
	title := func(kind, key, text string) rec { return rec{kind: kind, more: map[string]any{key: text}} }
	for want, more := range map[string][]rec{
		"first words":  nil,
		"a summary":    {title("summary", "summary", "a summary")},
		"of the model": {title("ai-title", "aiTitle", "of the model"), title("summary", "summary", "a summary")},
		"my own":       {title("custom-title", "customTitle", "not yet"), title("custom-title", "customTitle", "my own"), title("ai-title", "aiTitle", "of the model")},
	} {
		large := rec{kind: "attachment", id: "big", parent: "a", more: map[string]any{"filler": strings.Repeat("x", 200<<10)}}
		for _, recs := range [][]rec{slices.Concat(first, more), slices.Concat(first, []rec{large}, more)} {
			dir, _ := written(t, list(recs...)...)
			if infos := storetest.Sessions(t, open(t, dir)); len(infos) != 1 || infos[0].Title != want || infos[0].Project != "/home/demo" {
				t.Errorf("%+v is not %q", infos, want)
			}
		}
	}
}

// A slash command that the model answers opens a turn. An interruption and a command that the program answers do not.
func TestTurns(t *testing.T) {
	image := rec{kind: "user", id: "i", parent: "h", says: []any{map[string]any{"type": "image"}}}
	dir, _ := written(t, list(
		user("a", "", "fix it"),
		part("b", "a", "m1", "on it", ""),
		user("c", "b", "[Request interrupted by user for tool use]"),
		user("d", "c", "<command-message>review is running</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>"),
		part("e", "d", "m2", "reviewed", ""),
		user("f", "e", "<command-name>/model</command-name>\n<command-args>opus</command-args>"),
		user("g", "f", "<local-command-stdout>Set model</local-command-stdout>"),
		user("h", "g", "<bash-input>ls</bash-input>"),
		image,
	)...)
	var got []string
	for _, h := range storetest.Headers(t, open(t, dir), session) {
		got = append(got, h.ID+" "+h.EventText())
	}
	same(t, "the events", got, []string{"a user input", "b turn end", "c context", "d user input", "e turn end", "f command", "g command", "h command", "i user input"})
}

// The folder of the settings, that of the projects, one project and one file open alike.
func TestOpen_whatAPersonNames(t *testing.T) {
	dir, file := written(t, user("a", "", "A"))
	for _, path := range []string{filepath.Dir(dir), dir, filepath.Dir(file), file} {
		why, ok, err := Kind(nil).Recognise(t.Context(), path)
		if !ok || err != nil || why == "" {
			t.Errorf("%s: %q, %t, %v", path, why, ok, err)
		}
		if infos := storetest.Sessions(t, open(t, path)); len(infos) != 1 || infos[0].ID != session {
			t.Errorf("%s: %+v", path, infos)
		}
	}
	for _, path := range []string{"../../../testdata/coding/pi", "../../../testdata/coding/gemini-cli"} {
		if why, ok, _ := Kind(nil).Recognise(t.Context(), path); ok {
			t.Errorf("%s: %s", path, why)
		}
	}
}

// apply forks the session at a snapshot, and returns what was planned.
func apply(t testing.TB, s store.Store, at, id string) model.Plan {
	t.Helper()
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: at}, As: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Features().Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// A fork holds the records of the path as they are, but for the id of the session: those that
// are no messages, all of an answer, and the conversations of its sub-agents.
func TestFork_holdsTheRecordsOfThePath(t *testing.T) {
	recs := []rec{user("a", "", "A"), {kind: "attachment", id: "x", parent: "a"}, part("c", "x", "m1", "", "t1"), part("d", "c", "m1", "", "t2"), lastPrompt("d"), result("e", "d", "t2"), result("f", "c", "t1"),
		part("g", "f", "m2", "G", ""), boundaryOf("h", "g", "s"), user("s", "h", "S"), user("left", "a", "left")}
	dir, file := written(t, list(recs...)...)
	const id = "22222222-2222-4222-8222-222222222222"
	apply(t, open(t, dir), "s", id)
	got, err := os.ReadFile(filepath.Join(filepath.Dir(file), id+suffix))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, i := range []int{0, 1, 2, 3, 5, 6, 7, 8, 9} {
		want.WriteString(strings.ReplaceAll(recs[i].String(), session, id) + "\n")
	}
	if string(got) != want.String() {
		t.Errorf("the file has\n%s\nand not\n%s", got, &want)
	}
}

func TestFork_refusesASubAgent(t *testing.T) {
	s := storetest.AsWriter(open(t, fixtures))
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "e3e8e48f-7fa6-465a-9f40-10a54f2d345e/agent-a1a2b376f15c5c60d", ID: "43addb22-45a0-463d-8c4e-b3d1355dd515"}})
	if err == nil {
		t.Error("it is forked")
	}
}

// The calls of a person's own command are quoted: what a file says runs nothing.
func TestCalls_areQuoted(t *testing.T) {
	evil := user("a", "", "A")
	evil.more = map[string]any{"cwd": "/tmp/$(touch x); '"}
	dir, file := written(t, evil)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Dir(filepath.Dir(filepath.Dir(file))))
	calls, err := open(t, dir).Features().Resume(t.Context(), model.Ref{Session: session, ID: "a"})
	if want := `cd '/tmp/$(touch x); '\''' && claude --resume ` + session; err != nil || len(calls) != 1 || calls[0].Call != want {
		t.Errorf("%+v, %v", calls, err)
	}
}

// A file is recognised however many projects there are besides its own.
func TestKind_recognisesAmongMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "projects")
	const projects = 800
	for n := range projects {
		storetest.SaveTranscript(t, filepath.Join(dir, fmt.Sprintf("-p%d", n), "5e551011-0000-4000-8000-000000000000.jsonl"), storetest.ClaudeTranscript, "s", time.Unix(1e9, 0), 100, 100)
	}
	for n := 0; n < projects; n += projects / 10 {
		for _, below := range []string{"", "5e551011-0000-4000-8000-000000000000.jsonl"} {
			at := filepath.Join(dir, fmt.Sprintf("-p%d", n), below)
			if why, ok, err := Kind(nil).Recognise(t.Context(), at); !ok || err != nil {
				t.Errorf("%s: %q, %v, %v", at, why, ok, err)
			}
		}
	}
}

// A storage is recognised however many folders without a session come before the first one.
func TestKind_recognisesBehindEmptyFolders(t *testing.T) {
	for _, empty := range []int{0, 5, 50, 400} {
		dir := filepath.Join(t.TempDir(), "projects")
		for n := range empty {
			if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("-a%03d", n)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		storetest.SaveTranscript(t, filepath.Join(dir, "-z", session+".jsonl"), storetest.ClaudeTranscript, "s", time.Unix(1e9, 0), 100, 100)
		if why, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
			t.Errorf("behind %d folders: %q, %v, %v", empty, why, ok, err)
		}
	}
}
