package adk

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

const tour = "tour_app/u1/tour"

// recorded returns the path of a store that ADK wrote.
func recorded(name string) string { return filepath.Join("..", "..", "..", "testdata", "adk", name) }

func open(t testing.TB, path string) store.Store {
	return storetest.OpenStore(t, Kind(nil, "").Kind, path)
}

// member returns a member of a state.
func member(state, key string) string {
	return string(jsontape.FindMember([]byte(state), quoteJSON(key)))
}

// The state at an event is what its session was told up to it. A rewind of ADK's nulled
// "initial", so that its value is lost; "user:" and "app:" are known as of now alone.
func TestState(t *testing.T) {
	for _, name := range []string{"sqlite_service.db", "database_service.db"} {
		s := open(t, recorded(name))
		for index, want := range map[int]struct {
			state    string
			messages int
		}{
			0:  {`{}`, 1},
			1:  {`{"last_answer":"Gern! hello größe 👋"}`, 2},
			4:  {`{"last_answer":"Gern! hello größe 👋","basket":["Äpfel"]}`, 5},
			5:  {`{"last_answer":"Ergebnis: {'result': 'ok'}","basket":["Äpfel"]}`, 6},
			17: {`{"last_answer":"Ergebnis: {'approved': True}","basket":["Äpfel"]}`, 18},
			18: {`{"last_answer":"Ergebnis: {'result': 'ok'}","basket":["Äpfel"]}`, 6},
			19: {`{"last_answer":"Ergebnis: {'result': 'ok'}","basket":["Äpfel"]}`, 7},
			20: {`{"last_answer":"Gern! after the rewind 👋","basket":["Äpfel"]}`, 8},
			23: {`{"last_answer":"Gern! after the rewind 👋","basket":["Äpfel","Äpfel"]}`, 11},
			25: {`{"last_answer":"Gern! after the rewind 👋","basket":["Äpfel"]}`, 8},
		} {
			got := rowstest.State(t, s, tour, index)
			var messages []json.RawMessage
			if err := json.Unmarshal([]byte(member(got, "messages")), &messages); err != nil || len(messages) != want.messages {
				t.Errorf("%s #%d: %d messages, want %d, %v", name, index, len(messages), want.messages, err)
			}
			if have := member(got, "state"); !same(t, have, want.state) {
				t.Errorf("%s #%d: %s, want %s", name, index, have, want.state)
			}
			if have := member(got, "app"); !same(t, have, `{"motto":"größer","tier":"gold"}`) {
				t.Errorf("%s #%d: the application has %s", name, index, have)
			}
		}
		rowstest.Says(t, s, tour, 20, "gaps: app, user")
	}
}

// same reports whether two texts are the same JSON.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, errX := jsontape.Parse([]byte(a))
	y, errY := jsontape.Parse([]byte(b))
	if err := errors.Join(errX, errY); err != nil {
		t.Fatalf("%s, %s: %v", a, b, err)
	}
	return jsontape.Equal(x, 0, y, 0)
}

// The state that a session began with is in no event.
func TestState_initial(t *testing.T) {
	path := rowstest.Copied(t, recorded("sqlite_service.db"))
	rowstest.Execute(t, path, `UPDATE sessions SET state = json_set(state, '$.budget', json('{"eur":12}'), '$.empty', NULL) WHERE id = 'tour'`)
	s := open(t, path)
	for index, want := range map[int]string{0: `{"budget":{"eur":12},"empty":null}`, 1: `{"budget":{"eur":12},"empty":null,"last_answer":"Gern! hello größe 👋"}`} {
		if got := member(rowstest.State(t, s, tour, index), "state"); got != want {
			t.Errorf("#%d: %s, want %s", index, got, want)
		}
	}
	rowstest.Says(t, s, tour, 5, `await runner.rewind_async(user_id="u1", session_id="tour", rewind_before_invocation_id="e-d97aa4c5-5848-4c40-974a-e4decdc4c771")  makes this the head, and what follows it is passed over; sets to null what the session began with: budget, empty`)
}

// What an event is, what it cost, and how to go on from it.
func TestAbout(t *testing.T) {
	s := open(t, recorded("sqlite_service.db"))
	rowstest.Says(t, s, tour, 1, "author: helfer", "sets: last_answer", "finish reason: STOP", "tokens: 11 in, 5 out, 16 in all, 2 from the cache")
	rowstest.Says(t, s, tour, 4, "sets: basket, user:name, app:motto")
	rowstest.Says(t, s, tour, 18, "rewinds: e-b95ee464-26b4-48f1-9910-ab8637f8812d")
	rowstest.Says(t, s, tour, 20, `runner.run_async(user_id="u1", session_id="tour", new_message=Content(role="user", parts=[Part(text="…")]))  takes your input as the next turn`)
	rowstest.Says(t, s, "tour_app/u1/waiting", 1, "asks: order",
		`runner.run_async(user_id="u1", session_id="waiting", new_message=Content(role="user", parts=[Part(function_response=FunctionResponse(id="adk-521c1cb6-ac96-4586-8904-7f1dd53b2c24", name="order", response={…}))]))  answers order, and the model goes on`)
	for _, index := range []int{3, 10, 18, 24} { // within an invocation, or passed over
		if got := rowstest.About(t, s, rowstest.At(t, s, tour, index)); strings.Contains(got, "runner.") {
			t.Errorf("#%d has a call:\n%s", index, got)
		}
	}
}

// A pickle is read, and so the states are those of their events. One that cannot be read is the
// bytes that it is, and the states are those of now.
func TestState_pickle(t *testing.T) {
	s := open(t, recorded("v0_pickle.db"))
	for index, want := range []string{`{}`, `{"k":2,"basket":["Ä"]}`} {
		if got := rowstest.State(t, s, "a/u/old", index); !json.Valid([]byte(got)) || member(got, "state") != want {
			t.Errorf("#%d: %s", index, got)
		}
	}
	rowstest.Says(t, s, "a/u/old", 1, "gaps: app, user", "sets: k, basket")
	if codes := rowstest.Faults(t, s, "a/u/old"); len(codes) > 0 {
		t.Error(codes)
	}
	_, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "a/u/old", 1).Ref(), As: "new"})
	if !errors.As(err, new(*model.UnsupportedError)) || !strings.Contains(err.Error(), "schema 0") {
		t.Error(err)
	}

	path := rowstest.Copied(t, recorded("v0_pickle.db"))
	rowstest.Execute(t, path, "ALTER TABLE events ADD COLUMN usage_metadata TEXT", `UPDATE events SET usage_metadata = '{"prompt_token_count":7,"candidates_token_count":2,"total_token_count":9}', grounding_metadata = '{"cut'`)
	s = open(t, path)
	rowstest.Says(t, s, "a/u/old", 1, "tokens: 7 in, 2 out, 9 in all")
	if got := rowstest.State(t, s, "a/u/old", 1); member(got, "state") != `{"k":2,"basket":["Ä"]}` || !strings.Contains(got, `"grounding_metadata":"{\"cut"`) {
		t.Error(got)
	}

	path = rowstest.Copied(t, recorded("v0_pickle.db"))
	rowstest.Execute(t, path, "UPDATE events SET actions = CAST('no pickle' AS BLOB)")
	s = open(t, path)
	got := rowstest.State(t, s, "a/u/old", 1)
	if !json.Valid([]byte(got)) || !strings.Contains(got, `"actions":{"$type":"pickle","$bytes":"bm8gcGlja2xl","$error":"the pickle cannot be read`) || member(got, "state") != `{"k": 2, "basket": ["\u00c4"]}` {
		t.Error(got)
	}
	rowstest.Says(t, s, "a/u/old", 0, "gaps: state, app, user")
	if codes := rowstest.Faults(t, s, "a/u/old"); !slices.Equal(codes, []string{model.FaultOpaque}) {
		t.Error(codes)
	}
}

// kept is ADK's own rule, from the newest event back: a rewind drops all from the first
// event of an invocation on. It returns the places of the events that are kept.
func kept(events []event) (places []int) {
	for i := len(events) - 1; i >= 0; i-- {
		if x := events[i].rewinds; x != "" {
			if j := slices.IndexFunc(events[:i], func(e event) bool { return e.invocation == x }); j >= 0 {
				i = j
			}
			continue
		}
		places = append(places, i)
	}
	slices.Reverse(places)
	return places
}

// Whatever rewinds a session has, the path to the head is what ADK keeps, at each moment,
// and each event has a parent that came before it.
func TestSession_keepsWhatADKKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := session{head: -1, byInvocation: map[string]int{}}
		for i := range rapid.IntRange(1, 25).Draw(t, "events") {
			e := event{id: fmt.Sprint(i), invocation: fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "invocation"))}
			if rapid.IntRange(0, 3).Draw(t, "rewinds") == 0 {
				e.rewinds = fmt.Sprint(rapid.IntRange(0, 8).Draw(t, "to"))
			}
			s.addEvent(e)
			path := slices.DeleteFunc(s.pathTo(s.head), func(k int) bool { return s.events[k].rewinds != "" })
			if want := kept(s.events); !slices.Equal(path, want) {
				t.Fatalf("%d events lead to %v, want %v", i+1, path, want)
			}
			if s.parents[i] >= i || s.bases[i] >= i {
				t.Fatalf("%d follows %d, and %d", i, s.parents[i], s.bases[i])
			}
		}
	})
}

// invocation returns the statement that adds an event to the session "long".
func invocation(i int, inv, more string) string {
	data := fmt.Sprintf(`{"id":"e%[1]d","invocation_id":"%[2]s","author":"user","timestamp":%[1]d.5,"actions":{"state_delta":{"n":%[1]d}%[3]s}}`, i, inv, more)
	if more == "" {
		data = strings.Replace(data, `"actions"`, `"content":{"role":"user","parts":[{"text":"hello"}]},"actions"`, 1)
	}
	return fmt.Sprintf(`INSERT INTO events VALUES ('e%[1]d', 'a', 'u', 'long', '%[2]s', %[1]d.5, '%[3]s')`, i, inv, data)
}

// long makes a session of n events, each of an invocation of its own.
func long(t testing.TB, n int) string {
	t.Helper()
	path := rowstest.Copied(t, recorded("sqlite_service.db"))
	all := []string{`INSERT INTO sessions VALUES ('a', 'u', 'long', '{"first":1}', 0, 0)`}
	for i := range n {
		all = append(all, invocation(i, fmt.Sprintf("i%d", i), ""))
	}
	rowstest.Execute(t, path, all...)
	return path
}

func rewindTo(inv string) string { return `,"rewind_before_invocation_id":"` + inv + `"` }

// A session that a rewind left empty begins anew; a rewind to nowhere is passed over; one
// to an event that another one dropped brings back what was before that.
func TestLog_rewinds(t *testing.T) {
	for name, c := range map[string]struct {
		rows []string
		want string
	}{
		"to the start": {[]string{invocation(3, "r", rewindTo("i0"))}, "0! 1<0! 2<1! 3*"},
		"and on":       {[]string{invocation(3, "r", rewindTo("i0")), invocation(4, "i4", "")}, "0! 1<0! 2<1! 3 4<3*"},
		"to nowhere":   {[]string{invocation(3, "r", rewindTo("x"))}, "0 1<0 2<1* 3<2!"},
		"twice":        {[]string{invocation(3, "r", rewindTo("i2")), invocation(4, "i4", ""), invocation(5, "r", rewindTo("i1"))}, "0* 1<0! 2<1! 3<2! 4<1! 5<4!"},
		"to what is dropped": {[]string{invocation(3, "r", rewindTo("i1")), invocation(4, "i4", ""), invocation(5, "s", rewindTo("i2"))},
			"0 1<0* 2<1! 3<2! 4<0! 5<4!"},
	} {
		path := long(t, 3)
		rowstest.Execute(t, path, c.rows...)
		s := open(t, path)
		var got []string
		for _, h := range storetest.Headers(t, s, "a/u/long") {
			text := h.ID[1:]
			if h.ParentID != "" {
				text += "<" + h.ParentID[1:]
			}
			if h.Head {
				text += "*"
			}
			if h.Orphaned {
				text += "!"
				if h.Reason.Kind != model.ReasonRewind && name != "to nowhere" {
					t.Errorf("%s: %s is off the path: %+v", name, h.ID, h.Reason)
				}
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage(t *testing.T) {
	const one = " WHERE id = 'e1'"
	for name, c := range map[string]struct{ statement, fault string }{
		"no JSON":                {"UPDATE events SET event_data = '{'" + one, rows.FaultRow},
		"no event":               {"UPDATE events SET event_data = ''" + one, rows.FaultRow},
		"another shape":          {`UPDATE events SET event_data = '{"actions":7}'` + one, rows.FaultRow},
		"a list":                 {`UPDATE events SET event_data = '[]'` + one, rows.FaultRow},
		"no time":                {`UPDATE events SET timestamp = 'x', event_data = '{}'` + one, ""},
		"no session":             {"DELETE FROM sessions WHERE id = 'long'", FaultNoRow},
		"no state":               {"UPDATE sessions SET state = '{'", FaultNoRow},
		"a state that is a list": {"UPDATE sessions SET state = '[]'", FaultNoRow},
		"a rewind to the start":  {invocation(9, "r", rewindTo("i0")), ""},
		"no application":         {"DELETE FROM app_states", ""},
		"a rewind":               {invocation(9, "r", rewindTo("none")), FaultRewind},
		"nulled":                 {strings.Replace(invocation(9, "r", rewindTo("i1")), `"n":9`, `"n":0,"a/b":null`, 1), FaultNulled},
		"a deletion":             {strings.Replace(invocation(9, "r", rewindTo("i1")), `"n":9`, `"n":null`, 1), ""},
		"a delta of strings":     {`UPDATE events SET event_data = json_set(event_data, '$.actions.state_delta', 'x')` + one, ""},
	} {
		path := long(t, 3)
		rowstest.Execute(t, path, c.statement)
		s := open(t, path)
		codes := rowstest.Faults(t, s, "a/u/long")
		if c.fault == "" && codes != nil || c.fault != "" && !slices.Contains(codes, c.fault) {
			t.Errorf("%s: the faults are %q, want %q", name, codes, c.fault)
		}
		for _, h := range storetest.Headers(t, s, "a/u/long") {
			if got := rowstest.State(t, s, "a/u/long", h.Index); !json.Valid([]byte(got)) {
				t.Errorf("%s: %s", name, got)
			}
			rowstest.About(t, s, h)
		}
	}
}

// What is new in a session is read alone while it only grows.
func TestGrowth(t *testing.T) {
	path := long(t, 12)
	next := 12
	more := func(n int) (all []string) {
		for range n {
			all = append(all, invocation(next, fmt.Sprintf("i%d", next), ""))
			next++
		}
		return all
	}
	asks := strings.Replace(invocation(50, "i50", ""), `"parts":[`, `"parts":[{"function_call":{"id":"c","name":"order"}},`, 1)
	asks = strings.Replace(asks, `"author"`, `"long_running_tool_ids":["c"],"author"`, 1)
	answer := strings.Replace(invocation(51, "i50", ""), `"parts":[`, `"parts":[{"function_response":{"id":"c","name":"order","response":{}}},`, 1)
	rowstest.Growth(t, Kind(nil, "").Kind, path, "a/u/long", []rowstest.Change{
		{What: "nothing"},
		{What: "one more", Statements: more(1), Fresh: 1},
		{What: "many more", Statements: more(7), Fresh: 7},
		{What: "another session", Statements: []string{"DELETE FROM events WHERE session_id = 'tour'"}},
		{What: "a rewind", Statements: []string{invocation(40, "r", rewindTo("i3"))}, Rewritten: true},
		{What: "nothing after it"},
		{What: "on from there", Statements: []string{invocation(41, "i41", "")}, Rewritten: false, Fresh: 1},
		{What: "and on", Statements: []string{invocation(42, "i42", ""), invocation(43, "i43", "")}, Fresh: 2},
		{What: "it asks", Statements: []string{asks}, Fresh: 1},
		{What: "it is answered", Statements: []string{answer}, Rewritten: true},
		{What: "it asks again", Statements: []string{saying(52, "i52", "helper", strings.ReplaceAll(asked, `"c"`, `"d"`))}, Fresh: 1},
		{What: "the tool responds", Statements: []string{saying(53, "i52", "helper", strings.Replace(responded, `"c"`, `"d"`, 1))}, Fresh: 1},
		{What: "it is answered behind that", Statements: []string{saying(54, "i54", "user", strings.Replace(responded, `"c"`, `"d"`, 1))}, Rewritten: true},
		{What: "and on", Statements: []string{invocation(55, "i55", "")}, Fresh: 1},
		{What: "an earlier time", Statements: []string{strings.Replace(invocation(60, "i60", ""), "60.5, ", "7.25, ", 1)}, Rewritten: true},
		{What: "one is gone", Statements: []string{"DELETE FROM events WHERE id = 'e42'"}, Rewritten: true},
		{What: "the newest is gone", Statements: []string{"DELETE FROM events WHERE id = 'e55'"}, Rewritten: true},
	})
}

// A store is told from others by its tables.
func TestKind_recognise(t *testing.T) {
	foreign := rowstest.Copied(t, recorded("sqlite_service.db"))
	rowstest.Execute(t, foreign, "DROP TABLE app_states")
	const whole = "ADK's tables app_states and events and sessions and user_states"
	for path, want := range map[string]string{recorded("sqlite_service.db"): whole, recorded("v0_pickle.db"): whole, foreign: "ADK's tables in part: it lacks the table app_states"} {
		if why, ok, err := Kind(nil, "").Recognise(t.Context(), path); ok != (want == whole) || err != nil || !strings.Contains(why, want) {
			t.Errorf("%s: %q, %v, %v", path, why, ok, err)
		}
	}
}

// FuzzEvent reads what a row may hold.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{`{}`, `{"content":{"parts":[{"text":"x"},{"function_call":{"id":"c","name":"n"}}]},"long_running_tool_ids":["c"]}`,
		`{"actions":{"state_delta":{"a":null,"user:b":[1]},"rewind_before_invocation_id":"i"},"timestamp":1e9}`, `{"content":{"parts":[{"function_response":{"id":"c"}}]},"error_code":"X"}`} {
		f.Add([]byte(text), []byte(`{"a":1}`))
	}
	f.Fuzz(func(t *testing.T, data, row []byte) {
		s := session{head: -1, byInvocation: map[string]int{}}
		for i := range 3 {
			e := event{id: fmt.Sprint(i), invocation: "i", data: slices.Clone(data)}
			e.readDetails()
			s.addEvent(e)
		}
		s.ensureDetails()
		if !jsontape.Valid(row) {
			row = nil
		}
		var said rows.Said
		for i := range s.events {
			s.pendingCalls(i)
			var h model.Header
			s.events[i].describeEvent(&h, &said)
			if state := s.foldState(i, row); !jsontape.Valid(state) {
				t.Fatalf("%q is not JSON", state)
			}
		}
	})
}

// saying is an event of an author in the session "long", with members of its own.
func saying(i int, inv, author, members string) string {
	text := strings.Replace(invocation(i, inv, ""), `"author":"user"`, `"author":"`+author+`",`+members, 1)
	if strings.Contains(members, `"content"`) {
		text = strings.Replace(text, `"content":{"role":"user","parts":[{"text":"hello"}]},`, "", 1)
	}
	return text
}

// Members of an event that asks, and of one that responds to it.
const (
	asked     = `"content":{"parts":[{"function_call":{"id":"c","name":"order"}}]},"long_running_tool_ids":["c"]`
	responded = `"content":{"parts":[{"function_response":{"id":"c","name":"order","response":{"status":"pending"}}}]}`
)

// ADK keeps a None that an agent sets, so that state.get(key, default) returns it; it reads a state
// with NaN, which Python's json writes.
func TestState_asADKKeepsIt(t *testing.T) {
	path := long(t, 2)
	rowstest.Execute(t, path,
		strings.Replace(invocation(2, "i2", ""), `"n":2`, `"n":null,"v":1`, 1),
		`UPDATE sessions SET state = '{"first": NaN, "worst": -Infinity, "big": 12345678901234567890123, "n": null, "v": 1}', update_time = 2.5 WHERE id = 'long'`)
	s := open(t, path)
	for index, want := range []string{
		`{"first":NaN,"worst":-Infinity,"big":12345678901234567890123,"n":0}`,
		`{"first":NaN,"worst":-Infinity,"big":12345678901234567890123,"n":1}`,
		`{"first":NaN,"worst":-Infinity,"big":12345678901234567890123,"n":null,"v":1}`,
	} {
		if got := member(rowstest.State(t, s, "a/u/long", index), "state"); got != want {
			t.Errorf("#%d: %s, want %s", index, got, want)
		}
	}
	if codes := rowstest.Faults(t, s, "a/u/long"); codes != nil {
		t.Error(codes)
	}
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rowstest.At(t, s, "a/u/long", 1).Ref()})
	if err == nil {
		_, err = s.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := rowstest.Query(t, path, "SELECT state FROM sessions WHERE id = 'long'")[0]; got != `{"first": NaN, "worst": -Infinity, "big": 12345678901234567890123, "n": 1}` {
		t.Errorf("the row has %s", got)
	}
	if got := rowstest.Query(t, path, "SELECT event_data ->> '$.actions.state_delta' FROM events WHERE session_id = 'long' ORDER BY timestamp DESC LIMIT 1")[0]; got != `{"n":1,"v":null}` {
		t.Errorf("the delta is %s", got)
	}
}

// What ADK sends to no model is in the state beside the messages. Of events that were compacted these have the summary.
func TestState_events(t *testing.T) {
	path := long(t, 3)
	bare := func(i int, members string) string {
		return strings.Replace(saying(i, fmt.Sprint("i", i), "agent", members+`"content":null`), `"content":{"role":"user","parts":[{"text":"hello"}]},`, "", 1)
	}
	const compacts = `"start_timestamp":0.5,"end_timestamp":1.5,"compacted_content":{"role":"model","parts":[{"text":"said hello twice"}]}`
	rowstest.Execute(t, path, strings.Replace(bare(3, ""), `"actions":{`, `"actions":{"compaction":{`+compacts+`},`, 1), bare(4, `"output":{"sum":42},`),
		bare(5, `"input_transcription":{"text":"what was heard","finished":true},`), bare(6, `"error_code":"MAX","error_message":"too long",`),
		strings.Replace(bare(7, ""), `"actions":{`, `"actions":{"agent_state":{"cursor":3},`, 1), bare(8, ""))
	s := open(t, path)
	for index, want := range []struct {
		event, title string
		events       int
		marks        model.Marks
	}{
		{rows.EventUser, "hello", 0, model.MarkEvicted}, {rows.EventUser, "hello", 0, model.MarkEvicted}, {rows.EventUser, "hello", 0, 0},
		{"compaction", "said hello twice", 0, 0}, {"output", `{"sum":42}`, 1, 0}, {"transcription", "what was heard", 2, 0},
		{"state", "too long", 3, model.MarkError}, {"state", "n 7", 4, 0}, {"state", "n 8", 4, 0},
	} {
		h := rowstest.At(t, s, "a/u/long", index)
		var events []json.RawMessage
		if text := member(rowstest.State(t, s, "a/u/long", index), "events"); text != "" {
			if err := json.Unmarshal([]byte(text), &events); err != nil {
				t.Fatal(err)
			}
		}
		if h.EventName != want.event || h.Title != want.title || len(events) != want.events || h.Marks != want.marks {
			t.Errorf("#%d: %s %q, marks %v, %d events, want %+v", index, h.EventName, h.Title, h.Marks, len(events), want)
		}
	}
	rowstest.Growth(t, Kind(nil, "").Kind, path, "a/u/long", []rowstest.Change{
		{What: "nothing"},
		{What: "more", Statements: []string{invocation(9, "i9", "")}, Fresh: 1},
		{What: "a compaction", Statements: []string{strings.Replace(bare(10, ""), `"actions":{`, `"actions":{"compaction":{`+strings.Replace(compacts, "1.5", "2.5", 1)+`},`, 1)}, Rewritten: true},
		{What: "and on", Statements: []string{invocation(11, "i11", "")}, Fresh: 1},
	})
}

// A call waits until the user answers it, on the way to the head: what the tool itself responds only says that it began.
func TestAsks(t *testing.T) {
	for name, c := range map[string]struct {
		rows  []string
		waits bool
	}{
		"no response":              {nil, true},
		"the tool responds":        {[]string{saying(3, "i2", "helper", responded)}, true},
		"the user answers":         {[]string{saying(3, "i2", "helper", responded), saying(4, "i4", "user", responded)}, false},
		"the answer is taken back": {[]string{saying(3, "i3", "user", responded), invocation(4, "r", rewindTo("i3"))}, true},
		"all is taken back":        {[]string{saying(3, "i3", "user", responded), invocation(4, "r", rewindTo("i2"))}, false},
		"answered in its branch":   {[]string{saying(3, "i3", "user", `"branch":"root@1.order@c",`+strings.Replace(responded, `"c"`, `"d"`, 1))}, false},
	} {
		path := long(t, 2)
		rowstest.Execute(t, path, append([]string{saying(2, "i2", "helper", asked)}, c.rows...)...)
		s := open(t, path)
		h := rowstest.At(t, s, "a/u/long", 2)
		if got := h.Marks.Has(model.MarkInterrupted); got != c.waits || strings.Contains(rowstest.About(t, s, h), "asks: order") != c.waits {
			t.Errorf("%s: it waits: %t, want %t", name, got, c.waits)
		}
	}
	path := long(t, 2)
	rowstest.Execute(t, path, saying(2, "i2", "helper", strings.Replace(`"content":{"parts":[{"function_call":{"id":"c","name":"order"}}]}`, "order", "adk_request_input", 1)))
	if h := rowstest.At(t, open(t, path), "a/u/long", 2); !h.Marks.Has(model.MarkInterrupted) {
		t.Error("a call of an older ADK that asks does not wait")
	}
}

// A torn page costs the events on it.
func TestDamage_pages(t *testing.T) {
	for _, name := range []string{"sqlite_service.db", "v0_pickle.db"} {
		rowstest.Torn(t, Kind(nil, "").Kind, recorded(name), 1)
	}
}

// inJavaScript makes a store as ADK for JavaScript does: times count milliseconds, and events of one come in
// the order of their rows.
func inJavaScript(t *testing.T) string {
	t.Helper()
	path := rowstest.Copied(t, recorded("sqlite_service.db"))
	statements := []string{"DROP TABLE events", "DROP TABLE sessions",
		"CREATE TABLE sessions (id TEXT NOT NULL, app_name TEXT NOT NULL, user_id TEXT NOT NULL, state JSON NOT NULL, create_time DATETIME NOT NULL, update_time DATETIME NOT NULL, PRIMARY KEY (id, app_name, user_id))",
		"CREATE TABLE events (id TEXT NOT NULL, app_name TEXT NOT NULL, user_id TEXT NOT NULL, session_id TEXT NOT NULL, invocation_id TEXT NOT NULL, timestamp DATETIME NOT NULL, event_data JSON NOT NULL, PRIMARY KEY (id, app_name, user_id, session_id))",
		`INSERT INTO sessions VALUES ('s', 'a', 'u', '{"n":2}', 1795348000000, 1795348000123)`}
	for i, id := range []string{"zz", "yy", "xx"} {
		statements = append(statements, fmt.Sprintf(`INSERT INTO events VALUES ('%s', 'a', 'u', 's', 'i%d', 1795348000123, '{"id":"%[1]s","invocation_id":"i%[2]d","author":"user","content":{"role":"user","parts":[{"text":"hello"}]},"actions":{"state_delta":{"n":%[2]d}},"timestamp":1795348000123}')`, id, i))
	}
	rowstest.Execute(t, path, statements...)
	return path
}

// ADK for JavaScript loads all events, whatever an event names to go back to: nothing is restored there.
func TestJavaScript(t *testing.T) {
	s := open(t, inJavaScript(t))
	var ids []string
	for _, h := range storetest.Headers(t, s, "a/u/s") {
		ids = append(ids, h.ID+h.CreatedAt.Format(" 15:04:05.000"))
	}
	if want := []string{"zz 11:46:40.123", "yy 11:46:40.123", "xx 11:46:40.123"}; !slices.Equal(ids, want) {
		t.Errorf("the events are %q, want %q", ids, want)
	}
	rowstest.Says(t, s, "a/u/s", 2, `runner.runAsync({ userId: "u", sessionId: "s", newMessage: { role: "user", parts: [{ text: "…" }] } })  takes your input as the next turn`)
	if got := rowstest.About(t, s, rowstest.At(t, s, "a/u/s", 1)); strings.Contains(got, "runner.") {
		t.Errorf("it has a call:\n%s", got)
	}
	w := storetest.AsWriter(s)
	_, err := w.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rowstest.At(t, s, "a/u/s", 1).Ref()})
	if !errors.As(err, new(*model.UnsupportedError)) || !strings.Contains(err.Error(), "fork") {
		t.Errorf("a restore: %v", err)
	}
	plan, err := w.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "a/u/s", 1).Ref(), As: "new"})
	if err == nil {
		_, err = w.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := rowstest.State(t, s, "a/u/new", 1); member(got, "state") != `{"n":1}` {
		t.Error(got)
	}
}

// An event that saved artifacts says which, and is called after them where it says and sets nothing.
func TestAbout_artifacts(t *testing.T) {
	path := rowstest.Copied(t, recorded("sqlite_service.db"))
	rowstest.Execute(t, path, `INSERT INTO sessions VALUES ('a', 'u', 'saves', '{}', 0, 0)`,
		`INSERT INTO events VALUES ('e', 'a', 'u', 'saves', 'i', 1.5, '{"id":"e","invocation_id":"i","author":"x","timestamp":1.5,"actions":{"state_delta":{},"artifact_delta":{"plan.pdf":2,"user:map.png":0}}}')`)
	s := open(t, path)
	const want = "plan.pdf version 2, user:map.png version 0"
	headers := storetest.Headers(t, s, "a/u/saves")
	if len(headers) != 1 || headers[0].Title != want {
		t.Fatalf("%+v", headers)
	}
	if got := rowstest.About(t, s, headers[0]); !strings.Contains(got, want) {
		t.Error(got)
	}
}
