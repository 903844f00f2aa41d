package adk

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/store/storetest"
	"hindcast/store/storetest/weavetest"

	"pgregory.net/rapid"
)

// A woven state has the bytes of the state that is read alone, for any order of events.
func TestWeave_isTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, ids := drawSession(t)
		l := storetest.NewCloth(len(ids))
		b := &beside{state: []byte(`{"goal":1,"k0":2,"first":[]}`), app: []byte(`{"a":1}`)}
		if err := s.weaveStates(t.Context(), b, ids, l.Loom()); err != nil || l.Taken != len(ids) {
			t.Fatal(l.Taken, err)
		}
		for number, id := range ids {
			i := s.Find(id)
			if got, want := l.State(number), string(s.stateAt(i, b)); got != want {
				t.Fatalf("event %d is made of\n%s, want\n%s", i, got, want)
			}
		}
	})
}

// drawSession draws the events of a session, and the ids of some in any order.
func drawSession(t *rapid.T) (s *session, ids []string) {
	s = &session{head: -1, byInvocation: map[string]int{}}
	one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	rarely := func(label string) bool { return rapid.IntRange(0, 19).Draw(t, label) == 0 }
	calls := []string{"c"}
	for i := range rapid.IntRange(1, 14).Draw(t, "events") {
		var parts, members []string
		author := one("author", "user", "user", "agent", "agent", "other")
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			switch one("part", "text", "text", "call", "response", "thought", "response") {
			case "text":
				parts = append(parts, fmt.Sprintf(`{"text":"says %d"}`, i))
			case "thought":
				parts = append(parts, `{"text":"hm","thought":true}`)
			case "call":
				id := fmt.Sprintf("c%d", i)
				if rarely("again") {
					id = rapid.SampledFrom(calls).Draw(t, "id")
				}
				calls = append(calls, id)
				parts = append(parts, fmt.Sprintf(`{"function_call":{"id":%q,"name":%q,"args":{"n":%d}}}`, id, one("name", "tool", "tool", "adk_request_confirmation"), i))
				if rarely("long") {
					members = append(members, fmt.Sprintf(`"long_running_tool_ids":[%q]`, id))
				}
			case "response":
				id := calls[len(calls)-1]
				if rarely("elder") {
					id = rapid.SampledFrom(append(calls, "", "unknown")).Draw(t, "id")
				}
				parts = append(parts, fmt.Sprintf(`{"function_response":{"id":%q,"name":"tool","response":{"n":%d}}}`, id, i))
			}
		}
		if len(parts) > 0 {
			members = append(members, `"content":{"role":"user","parts":[`+strings.Join(parts, ",")+`]}`)
		}
		actions := fmt.Sprintf(`"state_delta":{%q:%s}`, one("key", "k0", "k1", "user:u"), one("value", "1", "null", `{"a":[2]}`))
		if rarely("transfers") {
			actions += `,"transfer_to_agent":"other"`
		}
		if rarely("compacts") {
			actions += fmt.Sprintf(`,"compaction":{"start_timestamp":%d,"end_timestamp":%d,"compacted_content":{"parts":[{"text":"so far"}]}}`, max(0, i-4)+1, i)
		}
		if i > 0 && rarely("rewinds") {
			actions += fmt.Sprintf(`,"rewind_before_invocation_id":"i%d"`, rapid.IntRange(0, i-1).Draw(t, "to")/2)
		}
		if rarely("branch") {
			members = append(members, fmt.Sprintf(`"branch":%q`, one("branch", "agent", "agent.other", "tool@c1")))
		}
		if rarely("output") {
			members = append(members, `"output":"made"`)
		}
		members = append(members, fmt.Sprintf(`"author":%q,"timestamp":%d,"actions":{%s}`, author, i+1, actions))
		e := event{id: fmt.Sprint(i), invocation: fmt.Sprintf("i%d", i/2), data: []byte("{" + strings.Join(members, ",") + "}")}
		e.readDetails()
		s.addEvent(e)
	}
	order := rapid.Permutation(s.events).Draw(t, "order")
	for _, e := range order[:rapid.IntRange(1, len(order)).Draw(t, "asked")] {
		ids = append(ids, e.id)
	}
	return s, ids
}

// The cost of a state is that of its turn: what is made and what is asked for of ten times the events is ten times as much.
func TestWeave_costsWhatIsNew(t *testing.T) {
	made := func(turns int) int64 {
		s := &session{head: -1, byInvocation: map[string]int{}}
		var ids []string
		for i := range 4 * turns {
			parts := [...]string{`{"text":"do it"}`, `{"function_call":{"id":"c%[1]d","name":"tool"}}`, `{"function_response":{"id":"c%[1]d","name":"tool"}}`, `{"text":"done"}`}[i%4]
			if strings.Contains(parts, "%") {
				parts = fmt.Sprintf(parts, i/4)
			}
			author := "agent"
			if i%4 == 0 {
				author = "user"
			}
			e := event{id: fmt.Sprint(i), invocation: fmt.Sprint(i / 4), data: fmt.Appendf(nil, `{"author":%q,"timestamp":%d,"content":{"parts":[%s]},"actions":{"state_delta":{"n":%d}}}`, author, i+1, parts, i)}
			e.readDetails()
			s.addEvent(e)
			ids = append(ids, e.id)
		}
		l := storetest.NewCloth(len(ids))
		if err := s.weaveStates(t.Context(), &beside{}, ids, l.Loom()); err != nil {
			t.Fatal(err)
		}
		return l.Made + l.Asked
	}
	few, many := made(50), made(500)
	if many > 12*few {
		t.Errorf("the texts of 200 events have %d bytes, those of 2000 have %d", few, many)
	}
}

// What all states take follows their events.
func TestWeave(t *testing.T) {
	k := kind
	k.Format = format{}
	weavetest.Weaves(t, k, "tour_app/u1/long", 0, weavetest.Grown(recorded("sqlite_service.db"), `INSERT INTO events SELECT 'e' || i, 'tour_app', 'u1', 'long', 'i' || (i / 2), i,
		json_object('id', 'e' || i, 'author', iif(i % 2, 'user', 'agent'), 'timestamp', i, 'content', json_object('parts', json_array(json_object('text', 'step ' || i))),
		'actions', json_object('state_delta', json_object('count', i))) FROM n`))
}
