package langgraph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// repaired carries out a repair of a thread, and returns its plan.
func repaired(t testing.TB, s storetest.Writer, session string) (plan model.Plan, err error) {
	t.Helper()
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}})
	if err != nil {
		return plan, err
	}
	_, err = s.Apply(t.Context(), plan)
	return plan, err
}

// headState returns the state of the head of a session.
func headState(t testing.TB, s store.Store, session string) (state string) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		if h.Head {
			data, err := s.State(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			state = string(data)
		}
	}
	return state
}

// A call that the conversation left without a result gets one right behind it, as a checkpoint of its own. The
// rest of the messages is as it was, and an undo takes it away.
func TestRepair(t *testing.T) {
	path := rowstest.Copied(t, "testdata/unanswered.db")
	s := storetest.AsWriter(open(t, path))
	for session, says := range map[string]string{"prebuilt": "agent runs next", "agent": "nothing runs next"} {
		before, old := storetest.Tables(t, path), headState(t, s, session)
		plan, err := repaired(t, s, session)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(plan.Lines())
		for _, want := range []string{"a new snapshot, made of #", "the call of boom (c4_0) gets a result", says} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in %s", session, want, text)
			}
		}
		if strings.Contains(text, "with nothing written before") || strings.Contains(text, "raises a ValueError") {
			t.Errorf("%s: %s", session, text)
		}
		if faults := model.Harmful(storetest.Faults(t, s, session)); len(faults) > 0 {
			t.Errorf("%s: after the repair: %+v", session, faults)
		}
		var was, is struct{ Messages []json.RawMessage }
		if err := errors.Join(json.Unmarshal([]byte(old), &was), json.Unmarshal([]byte(headState(t, s, session)), &is)); err != nil {
			t.Fatal(err)
		}
		for i, m := range is.Messages {
			switch {
			case i < 4 && string(m) != string(was.Messages[i]), i > 4 && string(m) != string(was.Messages[i-1]):
				t.Errorf("%s: message %d is %s", session, i, m)
			case i == 4 && (!strings.HasPrefix(string(m), `{"$py":"langchain_core.messages.tool.ToolMessage","content":`+quoteJSON(noAnswer)) || !strings.Contains(string(m), `"tool_call_id":"c4_0"`)):
				t.Errorf("%s: the result is %s", session, m)
			}
		}
		if len(is.Messages) != len(was.Messages)+1 {
			t.Errorf("%s: %d messages", session, len(is.Messages))
		}
		for _, h := range storetest.Headers(t, s, session) {
			if h.Orphaned && (h.Reason == nil || h.Reason.Kind != model.ReasonRepair) {
				t.Errorf("%s: #%d left for %+v", session, h.Index, h.Reason)
			}
		}
		var nothing *model.NothingToError
		if _, err := repaired(t, s, session); !errors.As(err, &nothing) {
			t.Errorf("%s: once more: %v", session, err)
		}
		undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err == nil {
			_, err = s.Apply(t.Context(), undo)
		}
		if err != nil {
			t.Fatal(err)
		}
		if after := storetest.Tables(t, path); after != before {
			t.Errorf("%s: after the undo the tables are others", session)
		}
	}
}

// Every call gets its result behind those that its message has, in each form in which messages are kept.
func TestRepair_forms(t *testing.T) {
	const (
		ai    = `{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"","tool_calls":[%s]}}`
		tool  = `{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":"ok","tool_call_id":"%s"}}`
		human = `{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"%s"}}`
	)
	call := func(id string) string { return fmt.Sprintf(`{"name":"t","args":{},"id":"%s","type":"tool_call"}`, id) }
	calls := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, call(id))
		}
		return fmt.Sprintf(ai, strings.Join(list, ","))
	}
	answer := func(id string) string { return fmt.Sprintf(tool, id) }
	said := func(text string) string { return fmt.Sprintf(human, text) }
	plainCall := func(id string) string {
		return fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"id":"%s","type":"function","function":{"name":"t","arguments":"{}"}}]}`, id)
	}
	for name, c := range map[string]struct {
		channel string
		list    []string
		// order are the messages then: "c" a call, "h" the user, and the id of a result.
		order string
	}{
		"one":              {"messages", []string{said("a"), calls("x"), said("b")}, "h c x h"},
		"in another place": {"talk", []string{said("a"), calls("x"), said("b")}, "h c x h"},
		"two of a message": {"messages", []string{said("a"), calls("x", "y"), said("b")}, "h c x y h"},
		"one of two":       {"messages", []string{said("a"), calls("x", "y"), answer("x"), said("b")}, "h c x y h"},
		"the other of two": {"messages", []string{said("a"), calls("x", "y"), answer("y"), said("b")}, "h c y x h"},
		"of two messages":  {"messages", []string{said("a"), calls("x"), said("b"), calls("y"), said("c")}, "h c x h c y h"},
		"one behind it":    {"messages", []string{said("a"), calls("x"), said("b"), calls("y")}, "h c x h c"},
		"plain objects":    {"messages", []string{`{"role":"user","content":"a"}`, plainCall("x"), `{"role":"user","content":"b"}`}, "h c x h"},
		"a quoted id":      {"messages", []string{said("a"), calls(`x\"}`), said("b")}, `h c x"} h`},
		"many messages":    {"messages", append(append([]string{said("a"), calls("x")}, said("b")), strings.Split(strings.Repeat(said("c")+"\n", 20)+said("d"), "\n")...), "h c x" + strings.Repeat(" h", 22)},
	} {
		document := fmt.Sprintf(`{"v":4,"id":"%s","channel_values":{"n":1,%q:[%s]},"channel_versions":{}}`, idOf(1), c.channel, strings.Join(c.list, ","))
		s := storetest.AsWriter(open(t, written(t, line{id: 1, document: document})))
		if _, err := repaired(t, s, "t"); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var state map[string]json.RawMessage
		var list []map[string]any
		if err := json.Unmarshal([]byte(headState(t, s, "t")), &state); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(state[c.channel], &list); err != nil || string(state["n"]) != "1" {
			t.Fatal(err, state)
		}
		var order []string
		for _, m := range list {
			if kwargs, ok := m["kwargs"].(map[string]any); ok {
				m = kwargs
			}
			switch {
			case m["tool_calls"] != nil:
				order = append(order, "c")
			case m["tool_call_id"] != nil:
				order = append(order, m["tool_call_id"].(string))
			default:
				order = append(order, "h")
			}
		}
		if got := strings.Join(order, " "); got != c.order {
			t.Errorf("%s: %s, want %s", name, got, c.order)
		}
	}
}

// Where a result cannot be added the plan says why, and where none is missing that there is nothing to repair.
func TestRepair_refused(t *testing.T) {
	const talk = `[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"x","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"user","content":"b"}]`
	for name, c := range map[string]struct {
		lines   []line
		refused string // "" for nothing to repair
	}{
		"no messages":     {[]line{{id: 1, document: `{"v":4,"channel_values":{"n":1}}`}}, ""},
		"the call waits":  {[]line{{id: 1, document: `{"v":4,"channel_values":{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"x","type":"function","function":{"name":"t","arguments":"{}"}}]}]}}`}}, ""},
		"encrypted":       {[]line{{id: 1, encoding: "msgpack+aes", document: "x"}}, "msgpack+aes"},
		"changes alone":   {[]line{{id: 1, document: `{"v":4,"channel_values":{"messages":` + talk + `},"channel_versions":{"messages":1}}`}, {id: 2, parent: 1, document: `{"v":4,"channel_values":{},"channel_versions":{"messages":1}}`, metadata: `{"source":"loop","step":1,"counters_since_delta_snapshot":{"messages":[1,1]}}`}}, "a DeltaChannel: graph.update_state adds the result"},
		"ids of a script": {[]line{{id: 1, document: `{"v":4,"channel_values":{"messages":` + talk + `}}`}}, "the ids of the thread"},
	} {
		path := written(t, c.lines...)
		if name == "ids of a script" {
			execute(t, path, "UPDATE checkpoints SET checkpoint_id = 'mine'")
		}
		_, err := repaired(t, storetest.AsWriter(open(t, path)), "t")
		var nothing *model.NothingToError
		if c.refused == "" && !errors.As(err, &nothing) || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}
