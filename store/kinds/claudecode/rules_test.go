package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// id returns a uuid that ends with a letter.
func id(letter string) string {
	return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02x", letter[0])
}

// Claude Code's own call goes back to a message on the path, so that a plan of a fork from
// there names it before all else; it refuses a branch that was left, and what is before the
// last compaction.
func TestPlan_offersTheOfficialCallFirst(t *testing.T) {
	summary := user(id("s"), id("x"), "S")
	summary.more = map[string]any{"isCompactSummary": true}
	dir, file := written(t, list(
		user(id("a"), "", "A"), part(id("b"), id("a"), "m1", "B", ""), user(id("l"), id("b"), "left"), user(id("c"), id("b"), "C"), part(id("d"), id("c"), "m2", "D", ""),
		boundaryOf(id("x"), id("d"), id("s")), summary, user(id("e"), id("s"), "E"), part(id("f"), id("e"), "m3", "F", ""), user(id("g"), id("f"), "G"))...)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Dir(filepath.Dir(filepath.Dir(file))))
	s := open(t, dir)
	at := func(letter string) string {
		return "cd /home/demo && claude --resume " + session + " -p --resume-session-at " + id(letter) + " --fork-session '…'"
	}
	for letter, want := range map[string]string{
		"g": "cd /home/demo && claude --resume " + session, // the head
		"f": at("f"), "e": at("e"),
		"l": "", "a": "", "d": "", "s": "",
	} {
		ref := model.Ref{Session: session, ID: id(letter)}
		calls, err := s.Features().Resume(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref})
		if err != nil {
			t.Fatal(err)
		}
		offered := slices.IndexFunc(plan.Hazards, func(h string) bool { return strings.HasPrefix(h, "no fork is needed") })
		if want == "" {
			if len(calls) > 0 || offered >= 0 {
				t.Errorf("%s: %v, %q", letter, calls, plan.Hazards)
			}
			continue
		}
		if len(calls) != 1 || calls[0].Call != want {
			t.Errorf("%s: the calls are %v and not %s", letter, calls, want)
		}
		if offered != 0 || !strings.HasSuffix(plan.Hazards[0], " "+want) {
			t.Errorf("%s: the plan warns %q", letter, plan.Hazards)
		}
	}
}

// A plan says that the work tree stays, and names the branch that the record has.
func TestPlan_saysThatTheWorkTreeStays(t *testing.T) {
	onBranch := user("a", "", "A")
	onBranch.more = map[string]any{"gitBranch": "feature"}
	dir, _ := written(t, onBranch)
	plan := apply(t, open(t, dir), "a", "")
	if want := "the files of the work tree stay as they are now; at that message the branch was feature"; !slices.Contains(plan.Hazards, want) {
		t.Errorf("it warns %q", plan.Hazards)
	}
}

// The new file is Claude Code's alone, and none that is there is written over.
func TestFork_isANewFile(t *testing.T) {
	dir, file := written(t, user("a", "", "A"))
	s, as := open(t, dir), "22222222-2222-4222-8222-222222222222"
	apply(t, s, "a", as)
	info, err := os.Stat(filepath.Join(filepath.Dir(file), as+suffix))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: "a"}, As: as}); err == nil {
		t.Error("it is planned again")
	}
}

// A fork has the conversations of the sub-agents that its path started, with what stands
// beside them; those of calls that the cut left out are not copied.
func TestFork_copiesTheSubAgentsOfThePath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), projects)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, projects))); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	for from, want := range map[string][]string{
		"e3e8e48f-7fa6-465a-9f40-10a54f2d345e": {"agent-a1a2b376f15c5c60d.jsonl", "agent-a1a2b376f15c5c60d.meta.json"},
		"9274231d-d69b-43e0-a377-784eb1749711": {"agent-ae8f2ad272e3e23b7.jsonl", "agent-ae8f2ad272e3e23b7.meta.json"},
		"e3826403-bf0d-4777-ba88-43b3f02bc184": {"agent-e17416b3.jsonl"}, // it was beside the session
	} {
		rows := storetest.Headers(t, s, from)
		for _, row := range []model.Header{rows[1], rows[len(rows)-1]} {
			plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: row.Ref()})
			if err == nil {
				_, err = s.Features().Apply(t.Context(), plan)
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range plan.Files {
				if name := filepath.ToSlash(f.Path); strings.Contains(name, plan.NewSession+"/"+subagents+"/") {
					got = append(got, filepath.Base(name))
				}
			}
			if row.Index == 1 {
				same(t, "the copies before the call", got, nil)
				continue
			}
			same(t, "the copies", got, want)
			child := plan.NewSession + "/" + strings.TrimSuffix(want[0], suffix)
			if again := storetest.Headers(t, s, plan.NewSession); !slices.ContainsFunc(again, func(h model.Header) bool {
				return strings.HasSuffix(h.Title, "→ "+strings.TrimSuffix(want[0], suffix))
			}) {
				t.Errorf("no row of the fork started %s", child)
			}
			storetest.Headers(t, s, child)
		}
	}
}

// What the user did not write has a word of its own.
func TestEvents(t *testing.T) {
	with := func(r rec, more map[string]any) rec { r.more = more; return r }
	dir, _ := written(t, list(
		user("a", "", "A"),
		with(user("b", "a", "B"), map[string]any{"isMeta": true}),
		user("c", "b", "<command-name>/model</command-name>"),
		with(user("d", "c", "D"), map[string]any{"promptSource": "system"}),
		with(user("e", "d", "E"), map[string]any{"isCompactSummary": true}),
		rec{kind: "attachment", id: "f", parent: "e", more: map[string]any{"attachment": map[string]any{"type": "queued_command", "prompt": "F"}}},
		with(user("g", "f", "G"), map[string]any{"promptSource": "sdk"}))...)
	var got []string
	for _, h := range storetest.Headers(t, open(t, dir), session) {
		got = append(got, h.ID+" "+h.EventName)
	}
	same(t, "the events", got, []string{"a user input", "b context", "c command", "d notified", "e compaction", "f queued", "g user input"})
}

// Dollars are in a record of the whole session until then; an old record had them of its own.
// What a fork copied is counted in the session that it was copied from.
func TestState_countsDollars(t *testing.T) {
	old, copied := part("b", "a", "m1", "B", ""), part("d", "c", "m2", "D", "")
	old.more = map[string]any{"costUSD": 0.25}
	copied.more = map[string]any{"costUSD": 0.5, "forkedFrom": map[string]any{"sessionId": "22222222-2222-4222-8222-222222222222", "messageUuid": "d"}}
	dir, _ := written(t, list(user("a", "", "A"), old, user("c", "b", "C"), copied, rec{kind: "cost-state", more: map[string]any{"totalCostUSD": 1.5}})...)
	s := open(t, dir)
	if text := stateAt(t, s, "d"); strings.Count(text, `"cost":0.25`) != 1 || strings.Contains(text, `"cost":0.5`) || strings.Count(text, `"inputTokens":10`) != 1 {
		t.Errorf("%s", text)
	}
	if got := facts(t, s, "d"); got["dollars, of the session"] != "1.5" || got["forked from"] != "22222222-2222-4222-8222-222222222222" {
		t.Errorf("%v", got)
	}
}

// Claude Code counts for the whole session: the newest count stands at the head, wherever its
// record is.
func TestFacts_ofWhatClaudeCodeCounted(t *testing.T) {
	cost := func(dollars float64, read int) rec {
		return rec{kind: "cost-state", more: map[string]any{"totalCostUSD": dollars, "totalDuration": 7, "modelUsage": map[string]any{
			"one": map[string]any{"inputTokens": read, "outputTokens": 5, "cacheReadInputTokens": 20, "cacheCreationInputTokens": 3, "costUSD": dollars},
			"two": map[string]any{"inputTokens": 1, "outputTokens": 1},
		}}}
	}
	messages := []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m2", "D", "")}
	left, damaged := user("l", "a", "left"), raw(`{"torn`+cost(9, 9).String())
	for name, lines := range map[string][]fmt.Stringer{
		"at the end":         list(append(slices.Clip(messages), cost(0.1, 1), cost(0.10657499999999999, 100))...),
		"before a message":   list(slices.Concat([]rec{cost(0.10657499999999999, 100)}, messages)...),
		"on another branch":  list(slices.Concat(messages[:2], []rec{left, cost(0.10657499999999999, 100)}, messages[2:])...),
		"in a damaged line":  append(list(append(slices.Clip(messages), cost(0.10657499999999999, 100))...), damaged),
		"before the pointer": list(append(slices.Clip(messages), left, cost(0.10657499999999999, 100), lastPrompt("d"))...),
	} {
		dir, _ := written(t, lines...)
		s := open(t, dir)
		got := facts(t, s, "d")
		for label, want := range map[string]string{"dollars, of the session": "0.106575", "tokens read, of the session": "101", "tokens from a cache, of the session": "20", "tokens written, of the session": "6"} {
			if got[label] != want {
				t.Errorf("%s: %s %q and not %q", name, label, got[label], want)
			}
			if other := facts(t, s, "b")[label]; other != "" {
				t.Errorf("%s: an answer before the head has %s %q", name, label, other)
			}
		}
	}
	s := open(t, fixtures)
	for _, h := range storetest.Headers(t, s, "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789") {
		if list, err := s.Features().Facts(t.Context(), h.Ref()); h.Head && (err != nil || !slices.ContainsFunc(list, model.Fact{Label: "dollars, of the session", Value: "0.0609735"}.Same)) {
			t.Errorf("%v, %v", list, err)
		}
	}
}

// A result that Claude Code took out of what the model reads is shown, and what it put there.
func TestFacts_nameWhatTheModelReadsInstead(t *testing.T) {
	replaced := rec{kind: "content-replacement", more: map[string]any{"replacements": []any{map[string]any{"kind": "tool-result", "toolUseId": "t1", "replacement": "<persisted-output>"}}}}
	dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1"), replaced)...)
	s := open(t, dir)
	if got := facts(t, s, "c")["the model reads instead"]; got != "<persisted-output>" {
		t.Errorf("%q", got)
	}
	if text := stateAt(t, s, "c"); !strings.Contains(text, "out t1") {
		t.Errorf("%s", text)
	}
}

func TestPlaces(t *testing.T) {
	for config, want := range map[string]string{"": "/home/demo/.claude/projects", "/etc/claude": "/etc/claude/projects"} {
		got := agent.Places(store.Surroundings{Home: "/home/demo", Env: func(name string) string {
			if name == "CLAUDE_CONFIG_DIR" {
				return config
			}
			return ""
		}})
		if len(got) != 1 || filepath.ToSlash(got[0]) != want {
			t.Errorf("%q: %q", config, got)
		}
	}
}

// Sessions of Claude Desktop, and in the homes of a list, are found, and their calls name the home.
func TestPlaces_ofOtherPrograms(t *testing.T) {
	home, listed := t.TempDir(), t.TempDir()
	desktop := filepath.Join(home, "Library", "Application Support", "Claude", "local-agent-mode-sessions", "a", "b", "local_1", ".claude", projects)
	for _, dir := range []string{desktop, filepath.Join(listed, projects)} {
		from, _ := written(t, user("a", "", "hello"), part("b", "a", "m1", "hi", ""))
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	around := store.Surroundings{Home: home, Env: func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIRS": listed + string(filepath.ListSeparator)}[name]
	}}
	found := store.Kinds{Kind(nil).Kind}.Look(t.Context(), around)
	if len(found) != 2 {
		t.Fatalf("found %+v", found)
	}
	for _, f := range found {
		s, err := f.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		info := storetest.Sessions(t, s)[0]
		headers := storetest.Headers(t, s, info.ID)
		calls, err := s.Features().Resume(t.Context(), headers[len(headers)-1].Ref())
		if err != nil || len(calls) == 0 || !strings.Contains(calls[0].Call, "CLAUDE_CONFIG_DIR=") {
			t.Errorf("%s is resumed by %+v, %v", f.At, calls, err)
		}
		s.Close()
	}
}

// A title at the beginning of a large file counts as one at its end does.
func TestTitles_atTheBeginningOfALargeFile(t *testing.T) {
	large := rec{kind: "attachment", id: "big", parent: "a", more: map[string]any{"filler": strings.Repeat("x", 200<<10)}}
	dir, _ := written(t, list(rec{kind: "summary", more: map[string]any{"summary": "a summary", "leafUuid": "a"}}, user("a", "", "first words"), large)...)
	if infos := storetest.Sessions(t, open(t, dir)); infos[0].Title != "a summary" {
		t.Errorf("%+v", infos)
	}
}

// Records of wrong types open, keep what they say, and harm no other.
func TestRead_hostileRecords(t *testing.T) {
	for name, line := range map[string]string{
		"nulls":                    `{"type":"user","uuid":null,"parentUuid":null,"message":null,"timestamp":null,"cwd":null,"sessionId":null}`,
		"numbers":                  `{"type":"user","uuid":1,"parentUuid":2,"message":3,"timestamp":4,"cwd":5,"isSidechain":6,"isMeta":7,"toolUseResult":8}`,
		"lists":                    `{"type":"assistant","uuid":[],"parentUuid":[],"message":{"id":[],"content":[[],null,1,{"type":[]}],"usage":[]}}`,
		"content that is text":     `{"type":"assistant","uuid":"z","parentUuid":"a","message":{"content":[{"type":"text"},{"type":"tool_use"},{"type":"tool_result"}]}}`,
		"no message":               `{"type":"user","uuid":"z","parentUuid":"a"}`,
		"a boundary of nothing":    `{"type":"system","subtype":"compact_boundary","uuid":"z","parentUuid":null,"compactMetadata":{"preservedMessages":{"uuids":[1,null,"a"]},"preservedSegment":{"headUuid":"a","tailUuid":"a","anchorUuid":7}}}`,
		"a boundary of itself":     `{"type":"system","subtype":"compact_boundary","uuid":"z","parentUuid":"z","logicalParentUuid":"z"}`,
		"a last-prompt of a list":  `{"type":"last-prompt","leafUuid":["a"]}`,
		"replacements of nothing":  `{"type":"content-replacement","replacements":{"a":1,"b":{"toolUseId":4}}}`,
		"a cost that is text":      `{"type":"cost-state","totalCostUSD":"much"}`,
		"a title that is a number": `{"type":"custom-title","customTitle":4}`,
		"a type of the future":     `{"type":"xyz","uuid":"z","parentUuid":"a","message":{"role":"user","content":"Z"}}`,
		"a type that is a list":    `{"type":[],"uuid":"z","parentUuid":"a"}`,
		"no type":                  `{"uuid":"z","parentUuid":"a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t, user("a", "", "A"), raw(line), user("b", "a", "B"))
			s := open(t, dir)
			for _, h := range storetest.Headers(t, s, session) {
				if text, err := s.State(t.Context(), h.Ref()); err != nil || !json.Valid(text) {
					t.Errorf("%s: %s, %v", h.ID, text, err)
				}
			}
			same(t, "the state", words(t, stateAt(t, s, "b")), []string{"A", "B"})
			storetest.Faults(t, s, session)
			if infos := storetest.Sessions(t, s); len(infos) != 1 || infos[0].Title != "A" {
				t.Errorf("%+v", infos)
			}
		})
	}
}

// A file without a message opens.
func TestRead_noMessage(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "no record": "\n\n", "no tree": `{"type":"mode","mode":"normal","sessionId":"x"}` + "\n", "torn": `{"type":"us`} {
		dir, file := written(t)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if infos := storetest.Sessions(t, s); len(infos) != 1 || infos[0].ID != session || infos[0].Snapshots != 0 {
			t.Errorf("%s: %+v", name, infos)
		}
		if got := codes(storetest.Faults(t, s, session)); (name == "torn") != slices.Equal(got, []string{"torn-line"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A sub-agent that a sub-agent started is reached from the call in the latter's own session,
// and a fork of the session copies both.
func TestTree_ofASubAgentOfASubAgent(t *testing.T) {
	dir, file := written(t, list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1"))...)
	agents := filepath.Join(strings.TrimSuffix(file, suffix), subagents)
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"agent-one.jsonl":     user("d", "", "one").String() + "\n" + part("e", "d", "m2", "", "t2").String() + "\n" + result("f", "e", "t2").String() + "\n",
		"agent-one.meta.json": `{"agentType":"general-purpose","description":"first","toolUseId":"t1","spawnDepth":1}`,
		"agent-two.jsonl":     user("g", "", "two").String() + "\n",
		"agent-two.meta.json": `{"toolUseId":"t2","spawnDepth":2}`,
	} {
		if err := os.WriteFile(filepath.Join(agents, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	same(t, "the session", treeOf(t, s, session), []string{"a ◂  A", "b ◂ a T → agent-one", "c ◂ b T  out t1 *"})
	same(t, "its sub-agent", treeOf(t, s, session+"/agent-one"), []string{"d ◂  one", "e ◂ d T → agent-two", "f ◂ e T  out t2 *"})
	same(t, "the sub-agent's", treeOf(t, s, session+"/agent-two"), []string{"g ◂  two *"})
	plan := apply(t, s, "c", "")
	same(t, "that of the fork", treeOf(t, s, plan.NewSession+"/agent-one"), []string{"d ◂  one", "e ◂ d T → agent-two", "f ◂ e T  out t2 *"})
	same(t, "the fork's second", treeOf(t, s, plan.NewSession+"/agent-two"), []string{"g ◂  two *"})
}

// The head may be behind a parent that is gone: what is before is off the path, and in sight.
func TestTree_ofAHeadBehindAParentThatIsGone(t *testing.T) {
	dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "B", ""), at(6, user("c", "gone", "C")), at(6, part("d", "c", "m2", "D", "")))...)
	s := open(t, dir)
	same(t, "the tree", treeOf(t, s, session), []string{"a ◂  A – chainBroken", "b ◂ a B – chainBroken", "c ◂ gone C", "d ◂ c D *"})
	same(t, "the state", words(t, stateAt(t, s, "d")), []string{"C", "D"})
	plan := apply(t, s, "b", "")
	same(t, "a fork of what is off the path", treeOf(t, s, plan.NewSession), []string{"a ◂  A", "b ◂ a B *"})
}

// Behind a message that asks for an answer 2.1.330 puts words of its own, and the plan says so:
// also behind a summary where nothing is kept after it.
func TestPlan_saysWhatIsPutBehindAMessageWithoutAnAnswer(t *testing.T) {
	summary := user("s", "x", "S")
	summary.more = map[string]any{"isCompactSummary": true}
	for name, tt := range map[string]struct {
		recs []rec
		at   string
		want bool
	}{
		"words of the user":           {[]rec{user("a", "", "A")}, "a", true},
		"an answer":                   {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", "")}, "b", false},
		"a result":                    {[]rec{user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1")}, "c", true},
		"a command":                   {[]rec{user("a", "", "<command-name>/x</command-name>")}, "a", false},
		"a summary and a kept answer": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), boundaryOf("x", "b", "s", "b"), summary}, "s", false},
		"a summary alone":             {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), boundaryOf("x", "b", "s"), summary}, "s", true},
	} {
		dir, _ := written(t, list(tt.recs...)...)
		plan := apply(t, open(t, dir), tt.at, "")
		if got := slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "No response requested.") }); got != tt.want {
			t.Errorf("%s: it warns %q", name, plan.Hazards)
		}
	}
}
