package copilot

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

const (
	fixtures = "../../../testdata/coding/copilot-cli"
	recorded = "1176a339-4847-4a9a-8002-872c283cafb0"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixtures) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixtures) }

func open(t testing.TB, dir string) storetest.Writer {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.AsWriter(s)
}

// The tree of the fixture, by what the reference says of its events.
func TestFixture(t *testing.T) {
	s := open(t, fixtures)
	const want = `
 0<-1 d611acbd-f818-4d02-9966-b848f3d97057 user input (1): first question
 1<0 bb93700a-a984-4e0d-b467-358cbfa706b5 turn end (3): reply to: -11-22T11:35:09.322+00:00</cur
 2<1 577125e9-16f0-41f2-919e-c0d0a2225535 user input (4): run: ls -1
 3<2 0d4ecc1f-acde-4430-8b65-ae5519404c77 after model (5): $ ls -1
 4<3 dc9cd15c-c22c-419e-a157-683d9ebed469 tool iteration (6): $ ls -1  a.txt
*5<4 b54a5b81-992b-4264-9d6d-e59978603acb turn end (7): done: ls -1
`
	if got := "\n" + storetest.Draw(t, s, recorded); got != want {
		t.Errorf("it is%swant%s", got, want)
	}
	if got := storetest.FaultCodes(t, s, recorded); got != "" {
		t.Errorf("it has the faults %q", got)
	}
	// What the answers cost adds up to what the last session.shutdown counts.
	var in, out, cached float64
	for _, m := range storetest.Messages(t, s, model.Ref{Session: recorded, ID: "b54a5b81-992b-4264-9d6d-e59978603acb"}) {
		if usage, ok := m["usage"].(map[string]any); ok {
			in, out, cached = in+usage["inputTokens"].(float64), out+usage["outputTokens"].(float64), cached+usage["cacheReadInputTokens"].(float64)
		}
	}
	if in != 16827 || out != 23 || cached != 60 {
		t.Errorf("%v in, %v of these from a cache, %v out", in, cached, out)
	}
	infos := storetest.Sessions(t, s)
	if len(infos) != 1 || infos[0].Title != "first question" || infos[0].Project != "/home/demo" {
		t.Errorf("%+v", infos)
	}
}

// event returns an event; more are its other members.
func event(id, parent, kind, data string, more ...string) string {
	quoted := "null"
	if parent != "" {
		quoted = `"` + parent + `"`
	}
	members := strings.Join(append([]string{""}, more...), ",")
	return fmt.Sprintf(`{"type":%q,"data":%s,"id":%q,"timestamp":"2026-01-01T00:00:01Z","parentId":%s%s}`, kind, data, id, quoted, members)
}

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

const session = "00000000-0000-4000-8000-00000000000a"

var (
	start  = event("s", "", typeStart, `{"sessionId":"`+session+`","version":1,"copilotVersion":"1.0","selectedModel":"m","context":{"cwd":"/w","branch":"main","headCommit":"c0ffee"}}`)
	user   = event("u", "s", typeUser, `{"content":"one","transformedContent":"<t>one"}`)
	answer = event("a", "u", typeAssistant, `{"messageId":"m1","content":"two","toolRequests":[],"apiCallId":"x1"}`)
	ended  = event("e", "a", typeTurnEnd, `{"turnId":"0"}`)
	again  = event("v", "e", typeUser, `{"content":"three"}`)
)

// of returns the store of one session with such events.
func of(t testing.TB, text string) storetest.Writer {
	t.Helper()
	dir := t.TempDir()
	err := os.Mkdir(filepath.Join(dir, session), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, session, eventsFile), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func TestSessions(t *testing.T) {
	call := event("c", "v", typeAssistant, `{"messageId":"m2","content":"","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{}}],"apiCallId":"x2"}`)
	for _, c := range []struct{ name, text, faults, draws string }{
		{"two messages", lines(start, user, answer, ended), "", " 0<-1 u user input (1): one\n*1<0 a turn end (2): two\n"},
		{"two branches: both are sent, one behind the other", lines(start, user, answer, ended, again, event("w", "e", typeUser, `{"content":"else"}`)), "odd broken-chain",
			" 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n 2<1 v user input (3): three\n*3<2 w user input (4): else\n"},
		{"an event is missing", lines(start, user, answer, again), "note broken-chain", " 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n*2<1 v user input (3): three\n"},
		{"an answer in parts", lines(start, user,
			event("a1", "u", typeAssistant, `{"messageId":"p1","content":"two","toolRequests":[],"apiCallId":"x","chunkIndex":0,"chunkCount":2}`),
			event("a2", "a1", typeAssistant, `{"messageId":"p2","content":"more","toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{}}],"apiCallId":"x","chunkIndex":1,"chunkCount":2}`)), "",
			" 0<-1 u user input (1): one\n*1<0 a1 after model (2): two (bash)\n"},
		{"a tool that failed", lines(start, user, answer, ended, again, call, event("r", "c", typeTool, `{"toolCallId":"t1","success":false,"error":{"message":"no such file"}}`)), "",
			" 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n 2<1 v user input (3): three\n 3<2 c after model (4): task\n*4<3 r tool iteration (5): task  no such file\n"},
		{"a compaction", lines(start, user, answer, ended, event("k", "e", typeCompaction, `{"success":true,"summaryContent":"what was"}`), event("v", "k", typeUser, `{"content":"three"}`)), "",
			" 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n 2<1 k compaction (1): what was\n*3<2 v user input (2): three\n"},
		{"a compaction that failed", lines(start, user, answer, ended, event("k", "e", typeCompaction, `{"success":false,"error":"busy"}`), event("v", "k", typeUser, `{"content":"three"}`)), "",
			" 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n*2<1 v user input (3): three\n"},
		{"an error", lines(start, user, event("x", "u", typeFail, `{"errorType":"query","message":"busy"}`)), "", " 0<-1 u user input (1): one\n*1<0 x error (2): busy\n"},
		{"a damaged line", lines(start, user, "{}}", answer), "loses damaged-line", " 0<-1 u user input (1): one\n*1<0 a turn end (2): two\n"},
		{"a torn line", lines(start, user) + answer[:30], "odd torn-line", "*0<-1 u user input (1): one\n"},
		{"an event that is not known", lines(start, user, event("n", "u", "novel.kind", `{}`)), "note unknown-record", "*0<-1 u user input (1): one\n"},
		{"no start", lines(event("u", "", typeUser, `{"content":"one"}`)), "stops no-session-start", "*0<-1 u user input (1): one\n"},
		{"an id twice", lines(start, user, answer, event("a", "u", typeUser, `{"content":"three"}`)), "odd broken-chain", " 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n*2<1 a~2 user input (3): three\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := of(t, c.text)
			if got := storetest.Draw(t, s, session); got != c.draws {
				t.Errorf("it is\n%swant\n%s", got, c.draws)
			}
			if got := storetest.FaultCodes(t, s, session); got != c.faults {
				t.Errorf("it has the faults %q, want %q", got, c.faults)
			}
		})
	}
}

// A session is called by its description, however YAML writes the name, also when that changes.
func TestName(t *testing.T) {
	s := of(t, lines(start, user, answer))
	for i, c := range []struct{ about, want string }{
		{"id: x\n", "one"},
		{"id: x\nname: plain words\nuser_named: true\n", "plain words"},
		{"name: 'it''s a \"name\"'\r\n", `it's a "name"`},
		{"name: \"in \\\"quotes\\\"\"\n", `in "quotes"`},
		{"name: long words\n  that go on\ncwd: /w\n", "long words that go on"},
		{"name: |-\n  two\n  lines\n", "two lines"},
		{"name: ''\n", "one"},
		{"name:\ncwd: /w\n", "one"},
		{"name: null\n", "one"},
		{"title: a\n  name: b\n", "one"},
	} {
		if err := os.WriteFile(filepath.Join(s.Address(), session, workspaceFile), []byte(c.about+strings.Repeat("#\n", i)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := storetest.Sessions(t, s)[0].Title; got != c.want {
			t.Errorf("with %q it is called %q, want %q", c.about, got, c.want)
		}
	}
}

// usage returns a record of usage; answer is the id of the answer that it is about, "" for none.
func usage(id, parent, answer string, in int) string {
	return event(id, parent, typeUsage, fmt.Sprintf(`{"usage":{"inputTokens":%d,"outputTokens":1,"apiCallId":%q}}`, in, answer))
}

// Tokens belong to the answer that the record of usage names, wherever that stands; of a record
// that names none, to the next message.
func TestUsage(t *testing.T) {
	asked := event("v", "a", typeUser, `{"content":"more"}`)
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"before the answer":                      {lines(start, user, usage("g", "u", "x1", 7), answer, asked), "0 7 0"},
		"behind the answer":                      {lines(start, user, answer, usage("g", "a", "x1", 7), asked), "0 7 0"},
		"of two requests":                        {lines(start, user, usage("g", "u", "x0", 7), usage("h", "g", "x1", 9), answer, asked), "0 16 0"},
		"that names none":                        {lines(start, user, usage("g", "u", "", 7), answer, asked), "0 7 0"},
		"at the end, of the last":                {lines(start, user, asked, answer, usage("g", "a", "x1", 7)), "0 0 7"},
		"behind, that names none":                {lines(start, user, answer, usage("g", "a", "", 7), asked), "0 7 0"},
		"behind one without a name":              {lines(start, user, strings.Replace(answer, `,"apiCallId":"x1"`, "", 1), usage("g", "a", "x1", 7), asked), "0 7 0"},
		"behind one of its own, that names none": {lines(start, user, usage("g", "u", "", 7), answer, usage("h", "a", "", 9), event("b", "h", typeAssistant, `{"messageId":"m2","content":"three","toolRequests":[]}`)), "0 7 9"},
		"of the next turn, that names none":      {lines(start, user, answer, ended, event("t", "e", typeTurnStart, `{}`), usage("g", "t", "", 7), event("b", "g", typeAssistant, `{"messageId":"m2","content":"three","toolRequests":[]}`)), "0 0 7"},
	} {
		s := of(t, c.text)
		list := storetest.Headers(t, s, session)
		var got []string
		for _, m := range storetest.Messages(t, s, list[len(list)-1].Ref()) {
			in := 0.0
			if u, ok := m["usage"].(map[string]any); ok {
				in = u["inputTokens"].(float64)
			}
			got = append(got, fmt.Sprint(in))
		}
		if is := strings.Join(got, " "); is != c.want {
			t.Errorf("%s: the messages took %s, want %s", name, is, c.want)
		}
	}
}

// What Copilot CLI counted for the session is told at the head.
func TestTotals(t *testing.T) {
	shutdown := func(id, parent string, requests int) string {
		return event(id, parent, "session.shutdown", fmt.Sprintf(`{"totalPremiumRequests":%d,"modelMetrics":{"m":{"usage":{"inputTokens":10,"outputTokens":2,"cacheReadTokens":6}},"n":{"usage":{"inputTokens":5,"outputTokens":1,"cacheReadTokens":2}}}}`, requests))
	}
	s := of(t, lines(start, user, answer, ended, shutdown("d", "e", 1), event("f", "d", typeResume, `{}`), again, shutdown("h", "v", 3)))
	for _, h := range storetest.Headers(t, s, session) {
		facts, err := s.Features().Facts(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		for label, want := range map[string]string{"tokens read, of the session": "15", "tokens from a cache, of the session": "8", "tokens written, of the session": "3", "premium requests, of the session": "3"} {
			is := slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == label && f.Value == want })
			if is != h.Head {
				t.Errorf("#%d tells of %s: %+v", h.Index, label, facts)
			}
		}
	}
}

// The events of sub-agents stand among those of their session. Each is a session of its own,
// which the tool call that started it leads to, and nothing of it is in the other one.
func TestSubAgents(t *testing.T) {
	call := event("c", "v", typeAssistant, `{"messageId":"m2","content":"","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{}},{"toolCallId":"t2","name":"task","arguments":{}}],"apiCallId":"x2"}`)
	of1, of2 := `"agentId":"helper"`, `"agentId":"other/one"`
	s := of(t, lines(start, user, answer, ended, again, call,
		event("b1", "c", typeAgent, `{"toolCallId":"t1","agentName":"explore","agentDisplayName":"looker"}`, of1),
		event("b2", "b1", typeAgent, `{"toolCallId":"t2","agentName":"explore"}`, of2),
		event("g", "b2", typeModel, `{"newModel":"small"}`, of1),
		event("i1", "g", typeUser, `{"content":"look"}`, of1),
		event("j1", "i1", typeUser, `{"content":"search"}`, of2),
		event("i2", "j1", typeAssistant, `{"messageId":"m3","content":"","apiCallId":"x3","toolRequests":[{"toolCallId":"t3","name":"task","arguments":{}}]}`, of1),
		event("b3", "i2", typeAgent, `{"toolCallId":"t3","agentName":"deeper"}`),
		event("k1", "b3", typeUser, `{"content":"dig","parentToolCallId":"t3"}`),
		event("r", "k1", typeTool, `{"toolCallId":"t1","success":true,"result":{"content":"found"}}`),
		event("j2", "r", typeAssistant, `{"messageId":"m4","content":"none","parentToolCallId":"t2"}`, of2),
		event("w", "j2", typeAssistant, `{"messageId":"m5","content":"three","toolRequests":[]}`)))
	for id, want := range map[string]string{
		session: " 0<-1 u user input (1): one\n 1<0 a turn end (2): two\n 2<1 v user input (3): three\n" +
			" 3<2 c after model (4): task · task → helper\n 4<3 r tool iteration (5): task  found\n*5<4 w turn end (6): three\n",
		session + "/helper":    " 0<-1 i1 user input (1): look\n*1<0 i2 after model (2): task → t3\n",
		session + "/other/one": " 0<-1 j1 user input (1): search\n*1<0 j2 turn end (2): none\n",
		session + "/t3":        "*0<-1 k1 user input (1): dig\n",
	} {
		if got := storetest.Draw(t, s, id); got != want {
			t.Errorf("%s is\n%swant\n%s", id, got, want)
		}
		unanswered := "" // the call of the second sub-agent
		if id == session {
			unanswered = "mended unanswered-call"
		}
		if got := storetest.FaultCodes(t, s, id); got != unanswered {
			t.Errorf("%s has the faults %q, want %q", id, got, unanswered)
		}
	}
	titles := map[string]string{}
	for _, info := range storetest.Sessions(t, s) {
		titles[info.ID] = info.Title
	}
	want := map[string]string{session: "one", session + "/helper": "looker", session + "/other/one": "explore", session + "/t3": "deeper"}
	if !maps.Equal(titles, want) {
		t.Errorf("the list has %q", titles)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session + "/helper", ID: "i1"}}); err == nil {
		t.Error("the conversation of a sub-agent is forked")
	}
	if facts, err := s.Features().Facts(t.Context(), model.Ref{Session: session, ID: "w"}); err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "model" && f.Value == "m" }) {
		t.Errorf("the model of the session is that of %+v, %v", facts, err)
	}
}

// The list has the sub-agents in a large file that are told of near its ends, and those in the middle
// once the session was read.
func TestSubAgents_areListed(t *testing.T) {
	fill := event("f", "a", typeAssistant, `{"messageId":"m","content":"`+strings.Repeat("x ", 50_000)+`"}`)
	agent := func(id, name string) string {
		return event(id, "a", typeAgent, `{"toolCallId":"`+id+`","agentName":"`+name+`"}`)
	}
	dir := of(t, lines(start, user, answer, agent("t1", "first"), fill, agent("t2", "second"), fill, agent("t3", "third"))).Address()
	file, long := filepath.Join(dir, session, eventsFile), time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, long, long); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	listed := func() (list []string) {
		t.Helper()
		for _, info := range storetest.Sessions(t, s) {
			list = append(list, strings.TrimPrefix(info.ID, session)+": "+info.Title)
		}
		return list
	}
	if got, want := listed(), []string{": one", "/t1: first", "/t3: third"}; !slices.Equal(got, want) {
		t.Errorf("the list is %q, want %q", got, want)
	}
	storetest.Headers(t, s, session)
	if got, want := listed(), []string{": one", "/t1: first", "/t2: second", "/t3: third"}; !slices.Equal(got, want) {
		t.Errorf("the list is %q, want %q", got, want)
	}
}

// fork forks the session of a store.
func fork(t testing.TB, s storetest.Writer, from, as string) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: from}, As: as})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// The bytes of a fork: the events up to the message with the end of the turn, under the new id,
// and the description with the new id.
func TestFork_bytes(t *testing.T) {
	other := event("w", "e", typeUser, `{"content":"else"}`)
	s := of(t, lines(start, user, answer, ended, again, other))
	about := "id: " + session + "\ncwd: /w\nname: \"id: x\"\n"
	if err := os.WriteFile(filepath.Join(s.Address(), session, workspaceFile), []byte(about), 0o600); err != nil {
		t.Fatal(err)
	}
	const as = "00000000-0000-4000-8000-00000000000b"
	for _, c := range []struct{ from, want string }{
		{"u", lines(start, user)}, {"a", lines(start, user, answer, ended)}, {"v", lines(start, user, answer, ended, again)}, {"w", lines(start, user, answer, ended, again, other)},
	} {
		fork(t, s, c.from, as)
		for name, want := range map[string]string{eventsFile: strings.Replace(c.want, session, as, 1), workspaceFile: strings.Replace(about, session, as, 1)} {
			if text, err := os.ReadFile(filepath.Join(s.Address(), as, name)); err != nil || string(text) != want {
				t.Errorf("from %s %s is\n%s%v, want\n%s", c.from, name, text, err, want)
			}
		}
		undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err == nil {
			_, err = s.Apply(t.Context(), undo)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The end of a turn may stand behind other events. What stands before the next message belongs to
// that where the turn has no end.
func TestFork_endOfTheTurn(t *testing.T) {
	begun, counted := event("b", "u", "assistant.turn_start", `{"turnId":"0"}`), usage("g", "a", "x1", 7)
	helped := []string{event("h1", "g", typeAssistant, `{"messageId":"m9","content":"aside"}`, `"agentId":"helper"`), event("h2", "h1", typeTurnEnd, `{}`, `"agentId":"helper"`)}
	for name, c := range map[string]struct {
		text []string
		want int // of its lines are in the fork from the answer
	}{
		"behind the usage":            {[]string{start, user, begun, answer, counted, ended, again}, 6},
		"behind those of a sub-agent": {append([]string{start, user, answer, counted}, append(helped, ended, again)...), 7},
		"none before a message":       {[]string{start, user, answer, counted, again, ended}, 3},
		"none before a turn":          {[]string{start, user, answer, counted, begun, ended}, 3},
		"none before the shutdown":    {[]string{start, user, answer, counted, event("d", "g", typeShutdown, `{}`), ended}, 3},
		"none but a sub-agent's":      {append([]string{start, user, answer}, helped...), 3},
		"none":                        {[]string{start, user, answer, counted}, 3},
	} {
		s := of(t, lines(c.text...))
		const as = "00000000-0000-4000-8000-00000000000b"
		fork(t, s, "a", as)
		want := strings.Replace(lines(c.text[:c.want]...), session, as, 1)
		if text, err := os.ReadFile(filepath.Join(s.Address(), as, eventsFile)); err != nil || string(text) != want {
			t.Errorf("%s: the fork is\n%s%v, want\n%s", name, text, err, want)
		}
	}
}

// A session without a description gets one.
func TestFork_describes(t *testing.T) {
	s := of(t, lines(start, user, answer))
	plan := fork(t, s, "a", "")
	text, err := os.ReadFile(filepath.Join(s.Address(), plan.NewSession, workspaceFile))
	if want := "id: " + plan.NewSession + "\ncwd: \"/w\"\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
}

// A process that has the session open is named, and one that has ended is not.
func TestFork_namesTheHolder(t *testing.T) {
	s := of(t, lines(start, user, answer))
	for _, name := range []string{fmt.Sprintf("inuse.%d.lock", os.Getpid()), "inuse.999999999.lock", "inuse.1x.lock"} {
		if err := os.WriteFile(filepath.Join(s.Address(), session, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(fork(t, s, "a", ""))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "has the session open"); n != 1 || !strings.Contains(string(text), fmt.Sprintf("process %d has the session open; the fork is another one", os.Getpid())) {
		t.Errorf("%d holders: %s", n, text)
	}
}

// Whatever events name as the one before, the words of each message stay in some state.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words, text := map[string]bool{}, strings.Builder{}
		id := rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6", ""})
		kind := rapid.SampledFrom([]string{typeUser, typeAssistant, typeSystem, typeUsage, typeTurnEnd, typeAgent, typeCleared})
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"event": func(t *rapid.T) {
				n++
				what := kind.Draw(t, "kind")
				word := fmt.Sprint("word", n)
				if what == typeUser || what == typeAssistant {
					words[word] = true
				}
				data := fmt.Sprintf(`{"content":%q,"messageId":%q,"toolCallId":"t","toolRequests":[{"toolCallId":"t"}]}`, word, id.Draw(t, "message"))
				more := []string{}
				if agent := id.Draw(t, "agent"); agent == "1" {
					more = append(more, `"agentId":"x"`)
				}
				text.WriteString(event(id.Draw(t, "id"), id.Draw(t, "parent"), what, data, more...) + "\n")
			},
			"damage": func(*rapid.T) { text.WriteString("{\"id\":\n") },
		})
		if have, want := seen(t, text.String()), slices.Sorted(maps.Keys(words)); !slices.Equal(have, want) {
			t.Fatalf("%q of %q are in view of\n%s", have, want, text.String())
		}
	})
}

// seen returns the words of the messages of a session's entries.
func seen(t *rapid.T, text string) []string {
	words := map[string]bool{}
	for _, agent := range []string{"", "x", "t"} {
		seenIn(t, text, agent, words)
	}
	return slices.Sorted(maps.Keys(words))
}

// seenIn notes the words of the messages of the session of one agent.
func seenIn(t *rapid.T, text, agent string, words map[string]bool) {
	b, at := newBuild(&chat.Session{Spot: chat.Spot{Part: agent}, Head: -1}), int64(0)
	for line := range strings.Lines(text) {
		if v, err := chat.Parse([]byte(line)); err == nil {
			b.addEvent(&chat.Record[record]{Span: chat.Span{At: at, Len: int64(len(line))}, Is: recordOf(v)})
		}
		at += int64(len(line))
	}
	taken := map[string]bool{}
	for _, e := range b.session.Entries {
		if taken[e.ID] || e.Parent != "" && !taken[e.Parent] {
			t.Fatalf("%+v", e)
		}
		taken[e.ID] = true
		for _, r := range e.Records {
			v, err := chat.Parse([]byte(text[r.At : r.At+r.Len]))
			if err != nil {
				t.Fatal(err)
			}
			if kind := v.Get("type").Text(); kind == typeUser || kind == typeAssistant {
				words[v.Get("data", "content").Text()] = true
			}
		}
	}
}

// FuzzDecode: no event makes the decoder fail but one that is no object, and each message is
// in an entry.
func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile(filepath.Join(fixtures, recorded, eventsFile))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		v, err := chat.Parse(line)
		if err != nil || v.Kind() != jsontape.Object {
			return
		}
		b := newBuild(&chat.Session{Spot: chat.Spot{Part: agentOf(v)}, Head: -1})
		for range 2 {
			b.addEvent(&chat.Record[record]{Is: recordOf(v)})
		}
		m, ok := messageOf(v)
		if text := m.AppendJSON(nil); !json.Valid(text) {
			t.Errorf("%s", text)
		}
		if ok && isMessage(v.Get("type").Text()) && len(b.session.Entries) == 0 {
			t.Error("the message is in no entry")
		}
	})
}
