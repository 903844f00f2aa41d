package langgraph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/storetest"
)

// line is a checkpoint of the thread "t" in a store that a test writes. Its id and its parent are
// numbers, 0 for none, and its document is JSON unless it is of another encoding.
type line struct {
	id, parent                   int
	encoding, document, metadata string
	writes                       []value
}

// value is what a task wrote, in JSON unless it is of another encoding.
type value struct {
	task, path    string
	index         int
	channel, json string
	encoding      string
}

func idOf(n int) any {
	if n == 0 {
		return nil
	}
	return fmt.Sprintf("1f000000-0000-6000-8000-%012d", n)
}

// written writes a store into tables that SqliteSaver made.
func written(t testing.TB, list ...line) (path string) {
	t.Helper()
	path = copied(t, "failed.db")
	execute(t, path, "DELETE FROM checkpoints")
	execute(t, path, "DELETE FROM writes")
	as := func(encoding string) string {
		if encoding == "" {
			return "json"
		}
		return encoding
	}
	for _, r := range list {
		if r.metadata == "" {
			r.metadata = fmt.Sprintf(`{"source":"loop","step":%d,"parents":{}}`, r.id-1)
		}
		execute(t, path, "INSERT INTO checkpoints VALUES ('t', '', ?, ?, ?, ?, ?)", idOf(r.id), idOf(r.parent), as(r.encoding), []byte(r.document), []byte(r.metadata))
		for _, w := range r.writes {
			execute(t, path, "INSERT INTO writes VALUES ('t', '', ?, ?, ?, ?, ?, ?, ?)", idOf(r.id), w.task, w.path, w.index, w.channel, as(w.encoding), []byte(w.json))
		}
	}
	return path
}

// head returns the state of the newest checkpoint of the thread.
func head(t testing.TB, path string) string {
	t.Helper()
	s := open(t, path)
	headers := storetest.Headers(t, s, "t")
	return state(t, s, headers[len(headers)-1])
}

// before returns the state of the checkpoint before the newest, at which what was written there does not count.
func before(t testing.TB, path string) string {
	t.Helper()
	s := open(t, path)
	headers := storetest.Headers(t, s, "t")
	return state(t, s, headers[len(headers)-2])
}

// A value that is the name of its channel is one of the program's. Before version 3 it says that
// the node of that name ran.
func TestState_valueLikeItsName(t *testing.T) {
	for version, want := range map[int]string{4: `{"topic":"topic","n":1}`, 3: `{"topic":"topic","n":1}`, 2: `{"n":1}`, 1: `{"n":1}`} {
		path := written(t, line{id: 1, document: fmt.Sprintf(`{"v":%d,"channel_values":{"topic":"topic","n":1,"branch:to:b":null},"channel_versions":{"topic":"2"}}`, version)})
		if got := head(t, path); got != want {
			t.Errorf("version %d: %s, want %s", version, got, want)
		}
	}
}

// A question waits until its task writes what it did. It is shown whole, and once where a function
// asks what a task asks that it calls.
func TestState_questions(t *testing.T) {
	long := `[{"value":"` + strings.Repeat("x", 100_000) + `"}]`
	for name, c := range map[string]struct {
		writes []value
		want   string
	}{
		"a long one":          {[]value{{task: "a", index: -3, channel: waits, json: long}}, long},
		"a function's":        {[]value{{task: "a", index: -3, channel: waits, json: `[{"value":1,"id":"i"}]`}, {task: "b", index: -3, channel: waits, json: `[{"value":1,"id":"i"}]`}}, `[{"value":1,"id":"i"}]`},
		"several of a task":   {[]value{{task: "a", index: -3, channel: waits, json: `[{"value":[[1]]},{"value":2}]`}}, `[{"value":[[1]]},{"value":2}]`},
		"not in a list":       {[]value{{task: "a", index: -3, channel: waits, json: `{"value":[1,2]}`}}, `[{"value":[1,2]}]`},
		"none in the list":    {[]value{{task: "a", index: -3, channel: waits, json: `[]`}, {task: "b", index: -3, channel: waits, json: `[1]`}}, `[1]`},
		"damaged ones":        {[]value{{task: "a", index: -3, channel: waits, json: `[`}, {task: "b", index: -3, channel: waits, json: `[1]`}}, `[null,1]`},
		"answered":            {[]value{{task: "a", index: -3, channel: waits, json: `[1]`}, {task: "a", index: 0, channel: "n", json: `1`}, {task: "b", index: -3, channel: waits, json: `[2]`}}, `[2]`},
		"answered, and again": {[]value{{task: "a", index: -3, channel: waits, json: `[1]`}, {task: "a", index: -4, channel: "__resume__", json: `["yes"]`}}, `[1]`},
		"failed behind it":    {[]value{{task: "a", index: -3, channel: waits, json: `[1]`}, {task: "a", index: 1, channel: failedNode, json: `"a"`}}, `[1]`},
	} {
		got := head(t, written(t, line{id: 1, document: `{"v":4,"channel_values":{}}`, writes: c.writes}))
		if want := `"__interrupt__":` + c.want + `}`; !strings.HasSuffix(got, want) {
			t.Errorf("%s: %.300s, want %.300s", name, got, want)
		}
	}
}

// Python's JSON has numbers that JSON does not have. They are shown, and nothing is damaged.
func TestState_noNumbers(t *testing.T) {
	path := written(t, line{id: 1, document: `{"v":1,"channel_values":{"a":NaN,"b":[Infinity,-Infinity,"NaN, \"-Infinity"]}}`, metadata: `{"source":"update","step":7,"score":NaN,"parents":{}}`})
	const want = `{"a":{"$float":"NaN"},"b":[{"$float":"+Inf"},{"$float":"-Inf"},"NaN, \"-Infinity"]}`
	if got := head(t, path); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s := open(t, path)
	if h := at(t, s, "t", 8); h.Marks != 0 || h.EventName != "update" {
		t.Errorf("%+v", h)
	}
	if faults := storetest.Faults(t, s, "t"); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
}

// JavaScript's messages are put together as Python's are, and what begins anew does so in each of
// its spellings. A channel that was never written is not looked for, and a line that comes back to
// where it began ends.
func TestState_deltas(t *testing.T) {
	const (
		counts  = `{"source":"loop","step":%d,"counters_since_delta_snapshot":{"m":[1,1],"never":[0,1]}}`
		message = `{"lc":1,"type":"constructor","id":["langchain_core","messages","%sMessage"],"kwargs":{"content":"%s","id":"%s"}}`
	)
	human, other := fmt.Sprintf(message, "Human", "hi", "h"), fmt.Sprintf(message, "AI", "a", "a")
	for name, c := range map[string]struct{ seed, first, second, want string }{
		"JavaScript's":    {`{"lc":2,"type":"delta_snapshot","value":[` + human + `]}`, other, fmt.Sprintf(message, "Remove", "", "h"), "[" + other + "]"},
		"one in place":    {"[" + human + "," + other + "]", fmt.Sprintf(message, "Human", "anew", "h"), "[]", "[" + fmt.Sprintf(message, "Human", "anew", "h") + "," + other + "]"},
		"anew":            {`[1]`, `{"__overwrite__":[2]}`, `[3]`, `[2,3]`},
		"anew, erased":    {`[1]`, `{"value":[2],"type":"__overwrite__"}`, `[3]`, `[2,3]`},
		"from nothing":    {`[1]`, `{"__overwrite__":null}`, `[]`, `[]`},
		"an empty object": {`{"a":1}`, `{"__overwrite__":null}`, `{}`, `{}`},
	} {
		document := `{"v":4,"channel_values":{%s},"channel_versions":{"m":1}}`
		path := written(t,
			line{id: 1, document: fmt.Sprintf(document, `"m":`+c.seed), writes: []value{{task: "a", channel: "m", json: c.first}}},
			line{id: 2, parent: 1, document: fmt.Sprintf(document, ""), metadata: fmt.Sprintf(counts, 1), writes: []value{{task: "a", channel: "m", json: c.second}}},
			line{id: 3, parent: 2, document: fmt.Sprintf(document, ""), metadata: fmt.Sprintf(counts, 2), writes: []value{{task: "a", channel: "m", json: `["later"]`}}},
			line{id: 4, parent: 3, document: fmt.Sprintf(document, ""), metadata: fmt.Sprintf(counts, 3)})
		if got := before(t, path); got != `{"m":`+c.want+`}` {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if name != "anew" {
			continue
		}
		execute(t, path, "UPDATE checkpoints SET checkpoint = ?, parent_checkpoint_id = ? WHERE checkpoint_id = ?", []byte(fmt.Sprintf(document, "")), idOf(3), idOf(1))
		if got := before(t, path); got != `{"m":[2,3]}` {
			t.Errorf("in a cycle: %s", got)
		}
	}
}

// Where a channel that keeps changes holds messages, short forms of them are written out as LangGraph does, and
// have no id. What holds none is as it was written.
func TestState_deltaMessages(t *testing.T) {
	const (
		python     = `{"$py":"langchain_core.messages.%s","content":"%s","additional_kwargs":{},"response_metadata":{},"type":"%s","name":null,"id":%s%s}`
		javaScript = `{"lc":1,"type":"constructor","id":["langchain_core","messages","%sMessage"],"kwargs":{"content":"%s","additional_kwargs":{},"response_metadata":{},"type":"%s","name":null,"id":null%s}}`
		more       = `,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null`
	)
	human := func(words, id string) string {
		return fmt.Sprintf(python, "human.HumanMessage", words, "human", id, "")
	}
	ai := func(words, id string) string { return fmt.Sprintf(python, "ai.AIMessage", words, "ai", id, more) }
	packed := func(text string) string { // returns JSON in MessagePack
		return string(appendPacked(nil, []byte(text)))
	}
	for name, c := range map[string]struct {
		channel, encoding, seed, first, second, want string
	}{
		"tuples":                   {"m", "", "", `[["user","hi"]]`, `[["assistant","yes"]]`, "[" + human("hi", "null") + "," + ai("yes", "null") + "]"},
		"texts":                    {messages, "", "", `"hi"`, `["a","b"]`, "[" + human("hi", "null") + "," + human("a", "null") + "," + human("b", "null") + "]"},
		"a tuple alone is texts":   {messages, "", "", `["user","hi"]`, `[]`, "[" + human("user", "null") + "," + human("hi", "null") + "]"},
		"an object":                {messages, "", "", `{"role":"user","content":"hi","id":"h"}`, `[{"type":"human","content":"anew","id":"h"}]`, "[" + human("anew", `"h"`) + "]"},
		"a text behind a tuple":    {"m", "", "", `[["user","hi"]]`, `["b"]`, "[" + human("hi", "null") + "," + human("b", "null") + "]"},
		"a text behind a message":  {"m", "", "[" + human("hi", `"h"`) + "]", `"b"`, `[]`, "[" + human("hi", `"h"`) + "," + human("b", "null") + "]"},
		"texts elsewhere":          {"m", "", "", `["a"]`, `["user","b"]`, `["a","user","b"]`},
		"a text elsewhere":         {"m", "", "", `"a"`, `"b"`, `"b"`},
		"objects elsewhere":        {"m", "", "", `[{"role":"user","content":"a"}]`, `[]`, `[{"role":"user","content":"a"}]`},
		"tuples behind what is no": {messages, "", `[["user","a"]]`, `[["user","b"]]`, `[]`, `[["user","a"],["user","b"]]`},
		"JavaScript's": {"m", "json", "", `[["user","hi"]]`, `[["ai","yes"]]`,
			"[" + fmt.Sprintf(javaScript, "Human", "hi", "human", "") + "," + fmt.Sprintf(javaScript, "AI", "yes", "ai", more) + "]"},
	} {
		document := `{"v":4,"channel_values":{%s},"channel_versions":{"` + c.channel + `":1}}`
		counts := `{"source":"loop","step":%d,"counters_since_delta_snapshot":{"` + c.channel + `":[1,1]}}`
		seed := ""
		if c.seed != "" {
			seed = `"` + c.channel + `":` + c.seed
		}
		encoding, as := "msgpack", packed
		if c.encoding == "json" {
			encoding, as = "json", func(text string) string { return text }
		}
		path := written(t,
			line{id: 1, document: fmt.Sprintf(document, seed), writes: []value{{task: "a", channel: c.channel, json: as(c.first), encoding: encoding}}},
			line{id: 2, parent: 1, document: fmt.Sprintf(document, ""), metadata: fmt.Sprintf(counts, 1), writes: []value{{task: "a", channel: c.channel, json: as(c.second), encoding: encoding}}},
			line{id: 3, parent: 2, document: fmt.Sprintf(document, ""), metadata: fmt.Sprintf(counts, 2)})
		if got := head(t, path); got != `{"`+c.channel+`":`+c.want+`}` {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A step without messages is told by the values that it wrote, an input by its own and the step behind it by the node that
// runs next. A node that failed is told by its error, and the result of a tool by its call.
func TestHeaders_tellWhatStepsDid(t *testing.T) {
	const document = `{"v":4,"channel_values":{},"channel_versions":{}}`
	index := 0
	write := func(node, channel, json string) value {
		index++
		return value{task: node, path: "~__pregel_pull, " + node, index: index, channel: channel, json: json}
	}
	path := written(t,
		line{id: 1, document: document, metadata: `{"source":"input","step":-1}`, writes: []value{write("__start__", "total", "2"), write("__start__", "branch:to:add", "null")}},
		line{id: 2, parent: 1, document: document, metadata: `{"source":"loop","step":0}`, writes: []value{
			write("add", "total", "3"), write("add", "route", `"billing"`), write("add", "none", "null"), write("add", "branch:to:model", "null"), write("also", "total", "4")}},
		line{id: 3, parent: 2, document: document, metadata: `{"source":"loop","step":1}`, writes: []value{
			write("model", messages, `[{"type":"ai","content":"","response_metadata":{},"tool_calls":[{"id":"1","name":"weather","args":{"city":"Rome"}}]}]`), write("model", "branch:to:tools", "null")}},
		line{id: 4, parent: 3, document: document, metadata: `{"source":"loop","step":2}`, writes: []value{
			write("tools", messages, `[{"type":"tool","content":"rain","name":"weather","tool_call_id":"1","response_metadata":{}}]`)}},
		line{id: 5, parent: 4, document: document, metadata: `{"source":"loop","step":3}`})
	s := open(t, path)
	for i, want := range []string{"total 2", "next: add", `total 3 4, route "billing", none`, `weather {city: "Rome"}`, `weather {city: "Rome"}  rain`} {
		if got := at(t, s, "t", i).Title; got != want {
			t.Errorf("#%d: %q, want %q", i, got, want)
		}
	}
	s = open(t, recorded("failed.db"))
	if h := at(t, s, "crashed", 2); h.Title != "boom: ValueError('node failed: ünlucky')" || !h.Marks.Has(model.MarkError) {
		t.Errorf("the node that failed: %+v", h)
	}
}

// What a program says in a short form titles its step, and its session begins with it.
func TestHeaders_shortMessages(t *testing.T) {
	for short, words := range map[string]string{`[["user","hi there"]]`: "hi there", `"hi there"`: "hi there", `["user","hi there"]`: "hi there", `{"nobody":"hi"}`: ""} {
		const document = `{"v":4,"channel_values":{},"channel_versions":{}}`
		path := written(t,
			line{id: 1, document: document, metadata: `{"source":"input","step":-1}`, writes: []value{{task: "a", channel: messages, json: short}}},
			line{id: 2, parent: 1, document: document, metadata: `{"source":"loop","step":0}`, writes: []value{{task: "b", path: "~__pregel_pull, say", channel: messages, json: `[["ai","an answer"]]`}}},
			line{id: 3, parent: 2, document: document, metadata: `{"source":"loop","step":1}`})
		s := open(t, path)
		if got, title := at(t, s, "t", 0).Title, cmp.Or(words, `messages {"nobody":"hi"}`); got != title || storetest.Sessions(t, s)[0].Title != words {
			t.Errorf("%s: %q, and the session %q", short, got, storetest.Sessions(t, s)[0].Title)
		}
		if got := at(t, s, "t", 2).Title; got != "an answer" {
			t.Errorf("the answer is titled %q", got)
		}
	}
}

// Where the model called tools and no task wrote since, the calls wait, as with interrupt_before, or where the
// program ended: also in a copy, and where a call was edited. They wait no longer where a tool has begun, where
// the result came in the same step, and where no node runs next.
func TestHeaders_pendingCalls(t *testing.T) {
	const (
		document = `{"v":4,"channel_values":{},"channel_versions":{}}`
		call     = `{"type":"ai","content":"","response_metadata":{},"tool_calls":[{"id":"1","name":"weather","args":{}}]}`
		result   = `{"type":"tool","content":"ok","name":"weather","tool_call_id":"1","response_metadata":{}}`
		answer   = `{"type":"ai","content":"Done.","response_metadata":{}}`
		pulled   = "~__pregel_pull, model"
	)
	node := func(channel string, said ...string) []value {
		return []value{{task: "m", path: pulled, channel: messages, json: "[" + strings.Join(said, ",") + "]"}, {task: "m", path: pulled, index: 1, channel: channel, json: "null"}}
	}
	update := []value{{task: "u", path: "~__interrupt__, x", channel: messages, json: "[" + call + "]"}, {task: "u", path: "~__interrupt__, x", index: 1, channel: "branch:to:tools", json: "null"}}
	for name, c := range map[string]struct {
		source   string
		ran, own []value
		waits    bool
	}{
		"called":          {"loop", node("branch:to:tools", call), nil, true},
		"sent":            {"loop", node(sendsChannel, call), nil, true},
		"copied":          {"fork", node("branch:to:tools", call), nil, true},
		"edited":          {"update", update, nil, true},
		"edited later":    {"update", append(update, node("branch:to:model", result)...), nil, false},
		"a tool began":    {"loop", node("branch:to:tools", call), []value{{task: "t", path: "~__pregel_pull, tools", channel: "n", json: "1"}}, false},
		"answered":        {"loop", node("branch:to:model", call, result), nil, false},
		"no call":         {"loop", node("branch:to:tools", answer), nil, false},
		"nothing is next": {"loop", node("n", call), nil, false},
	} {
		path := written(t,
			line{id: 1, document: document, metadata: `{"source":"loop","step":0}`, writes: c.ran},
			line{id: 2, parent: 1, document: document, metadata: `{"source":"` + c.source + `","step":1}`, writes: c.own})
		s := open(t, path)
		if got := at(t, s, "t", 2).Marks.Has(model.MarkInterrupted); got != c.waits {
			t.Errorf("%s: it waits %t", name, got)
		}
	}
}

// appendPacked appends JSON as MessagePack. It has lists, objects and texts, all of them short.
func appendPacked(to, value []byte) []byte {
	if value[0] == '"' {
		text := jsontape.Unquote(value)
		return append(append(to, 0xd9, byte(len(text))), text...)
	}
	n, at := byte(0), len(to)
	to = append(to, 0x90)
	for m := range jsontape.Members(value) {
		if m.Key != nil {
			to[at], to = 0x80, appendPacked(to, m.Key)
		}
		to, n = appendPacked(to, m.Value), n+1
	}
	if value[0] == '{' {
		to[at] = 0x80
	}
	to[at] |= n
	return to
}

// Where a run keeps its end alone, what its steps wrote hangs on an empty checkpoint, or on
// the end of the run before. Each end is a turn.
func TestHeaders_onlyEnds(t *testing.T) {
	const document = `{"v":4,"channel_values":{},"channel_versions":{}}`
	wrote := []value{{task: "00000000-b", channel: "m", json: `["said"]`}}
	path := written(t,
		line{id: 1, document: document, metadata: `{"step":-2}`, writes: wrote},
		line{id: 2, parent: 1, document: document, metadata: `{"source":"loop","step":2}`, writes: wrote},
		line{id: 3, parent: 2, document: document, metadata: `{"source":"loop","step":6}`, writes: []value{{task: "a", index: -3, channel: waits, json: `[1]`}}},
		line{id: 4, parent: 3, document: document, metadata: `{"source":"loop","step":9}`})
	var got []string
	for _, h := range storetest.Headers(t, open(t, path), "t") {
		got = append(got, fmt.Sprintf("#%d turn %d %s", h.Index, h.TurnIndex, h.EventText()))
	}
	if want := []string{"#0 turn 0 before the run", "#3 turn 0 turn end", "#7 turn 1 turn end", "#10 turn 1 turn end"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A thread may be named anything, and is found by its name; one without a name is, too.
func TestSessions_oddNames(t *testing.T) {
	path := written(t, line{id: 1, document: `{"v":4,"channel_values":{"n":1}}`})
	names := []string{"", "a/b", "a\nb\x1b[31m\u202e", "a'\"\\", "\xff", "(no name)"}
	for _, name := range names {
		execute(t, path, "INSERT INTO checkpoints SELECT ?, '', checkpoint_id, NULL, type, checkpoint, metadata FROM checkpoints WHERE thread_id = 't'", name)
	}
	s := storetest.AsWriter(open(t, path))
	listed := 0
	for _, info := range storetest.Sessions(t, s) {
		listed++
		h := at(t, s, info.ID, 1)
		if info.ID == "" || state(t, s, h) != `{"n":1}` {
			t.Errorf("%q: %s", info.ID, state(t, s, h))
		}
		apply(t, s, model.Change{Op: model.OpFork, Ref: h.Ref(), As: "fork of " + info.ID})
	}
	if listed != len(names)+1 {
		t.Errorf("%d sessions", listed)
	}
}

// A subgraph that keeps its state has no task in its name; one that a task calls twice has a number
// behind it.
func TestRestore_keepers(t *testing.T) {
	path := written(t, line{id: 1, document: `{"v":4,"id":"x","channel_values":{}}`}, line{id: 2, parent: 1, document: `{"v":4,"id":"y","channel_values":{}}`})
	for _, namespace := range []string{"node:5f0e", "node:5f0e|1", "outer:5f0e|inner:6a1b", "outer|inner"} {
		execute(t, path, "INSERT INTO checkpoints SELECT thread_id, ?, checkpoint_id, NULL, type, checkpoint, metadata FROM checkpoints WHERE checkpoint_ns = ''", namespace)
	}
	s := storetest.AsWriter(open(t, path))
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: at(t, s, "t", 1).Ref()})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, h := range plan.Hazards {
		if names, found := strings.CutSuffix(h, " is not put back: a subgraph with checkpointer=True keeps its own state, whatever the thread does"); found {
			kept = append(kept, names)
		}
	}
	if !slices.Equal(kept, []string{"outer|inner"}) {
		t.Errorf("%q", plan.Hazards)
	}
}

// As deep as LangGraph writes, a state is read.
func TestState_deep(t *testing.T) {
	deep := strings.Repeat("\x91", 1000) + "\x01"
	path := written(t, line{id: 1, encoding: "msgpack", document: "\x82\xa1v\x04\xaechannel_values\x81\xa1v" + deep})
	if got := head(t, path); !json.Valid([]byte(got)) || strings.Count(got, "[") != 1000 {
		t.Errorf("%.100s", got)
	}
}

// What of a row is of another type than LangGraph's costs no other row, and no other session.
func TestSessions_oddRows(t *testing.T) {
	const more = "INSERT INTO checkpoints SELECT %s, %s, %s, NULL, 'json', '{}', '{}'"
	for name, statement := range map[string]string{
		"a thread of bytes":    fmt.Sprintf(more, "x'74'", "''", "'x'"),
		"a namespace of bytes": fmt.Sprintf(more, "'t'", "x'61'", "'x'"),
		"an id of bytes":       fmt.Sprintf(more, "'t'", "''", "x'30'"),
		"a word as an index":   "UPDATE writes SET idx = 'first'",
		"a number of a task":   "UPDATE writes SET task_id = x'00ff', channel = 7, type = 7, value = 7",
		"a number as metadata": "INSERT INTO checkpoints VALUES ('u', '', 'x', 7.5, 7, 7, 7)",
	} {
		path := written(t, line{id: 1, document: `{"v":4,"channel_values":{"n":1}}`, writes: []value{{task: "a", channel: "n", json: "2"}}}, line{id: 2, parent: 1, document: `{"v":4,"channel_values":{"n":2}}`})
		execute(t, path, statement)
		s := open(t, path)
		var ids []string
		for _, info := range storetest.Sessions(t, s) {
			ids = append(ids, info.ID)
			for _, h := range storetest.Headers(t, s, info.ID) {
				_, _ = s.State(t.Context(), h.Ref())
			}
		}
		if !slices.Contains(ids, "t") || state(t, s, at(t, s, "t", 2)) != `{"n":2}` {
			t.Errorf("%s: %q", name, ids)
		}
	}
}
