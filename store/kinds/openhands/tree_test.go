package openhands

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/media/disk"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"

	"pgregory.net/rapid"
)

const made = "00000000000000000000000000000001"

// failing is what a test and one case of a property can both do.
type failing interface {
	Helper()
	Fatal(...any)
}

func put(t failing, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// id returns the id of an event with a name of one letter.
func id(name string) string { return strings.Repeat(fmt.Sprintf("%x", name[0]), 4) }

// event returns an event: its name, its kind, its parent ("" for none), and more members.
func event(name, kind, parent, more string) string {
	if parent != "" && parent != explicitRoot {
		parent = id(parent)
	}
	if parent != "" {
		more += `,"parent_id":"` + parent + `"`
	}
	return fmt.Sprintf(`{"id":%q,"kind":%q,"timestamp":"2026-01-02T03:04:05","source":"agent"%s}`, id(name), kind, more)
}

func message(name, role, parent string) string {
	return event(name, kindMessage, parent, fmt.Sprintf(`,"llm_message":{"role":%q,"content":[{"type":"text","text":"says %s"}]}`, role, name))
}

func calls(name, response, parent string) string {
	return event(name, kindAction, parent, fmt.Sprintf(`,"tool_name":"terminal","tool_call_id":"call-%s","llm_response_id":%q,"thought":[],"tool_call":{"arguments":"{\"command\":\"%s\"}"}`, name, response, name))
}

func result(name, of, parent string) string {
	return event(name, kindResult, parent, fmt.Sprintf(`,"tool_name":"terminal","tool_call_id":"call-%s","observation":{"content":[{"type":"text","text":"gave %s"}],"is_error":false}`, of, name))
}

// conversation writes a conversation below a folder. The base may name an event as its leaf.
func write(t failing, dir, base string, events ...string) {
	t.Helper()
	put(t, filepath.Join(dir, made, stateName), `{"id":"1","agent":{},"execution_status":"idle"`+base+`}`)
	for i, e := range events {
		var is struct{ ID string }
		if err := json.Unmarshal([]byte(e), &is); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, made, eventsName, fmt.Sprintf("event-%05d-%s.json", i, is.ID)), e)
	}
}

func leaf(name string) string { return `,"leaf_event_id":"` + id(name) + `"` }

// The rules of the tree and of the head, one by one.
func TestTree(t *testing.T) {
	for name, c := range map[string]struct {
		base   string
		events []string
		want   string
		faults []string
	}{
		"of one that names no parent the event before it is, whatever that is": {
			events: []string{message("a", "user", ""), event("b", kindState, "", ""), message("c", "assistant", "")},
			want:   "a; *c<a",
		},
		"an explicit root": {
			base:   leaf("c"),
			events: []string{message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", explicitRoot)},
			want:   "-a; -b<a; *c",
		},
		"without a leaf the last event that is no news of the state": {
			events: []string{message("a", "user", ""), message("b", "assistant", "a"), event("c", kindState, "a", ""), event("d", kindFailure, "a", "")},
			want:   "!a; *b<a",
		},
		"an empty head": {
			base:   `,"head_is_empty":true`,
			events: []string{message("a", "user", "")},
			want:   "-a",
		},
		"a pause is where the message before it is": {
			base:   leaf("c"),
			events: []string{message("a", "user", ""), message("b", "assistant", "a"), event("c", "PauseEvent", "b", ""), message("d", "user", "c")},
			want:   "a; *b<a; -d<b",
		},
		"calls of one answer are one message": {
			events: []string{message("a", "user", ""), calls("b", "r", "a"), calls("c", "r", "b"), result("d", "b", "c"), result("e", "c", "d")},
			want:   "a; b+c<a; d<b; *e<d",
		},
		"calls of two answers are two": {
			events: []string{calls("b", "r", ""), calls("c", "q", "b")},
			want:   "b; *c<b", faults: []string{FaultOpenAction, conversation.UnansweredCall},
		},
		"calls of one answer between which something goes on are two": {
			base:   leaf("c"),
			events: []string{calls("b", "r", ""), calls("c", "r", "b"), message("d", "user", "b")},
			want:   "b; *c<b; -d<b", faults: []string{FaultOpenAction, conversation.UnansweredCall},
		},
		"a leaf that is not there": {
			base:   leaf("z"),
			events: []string{message("a", "user", "")},
			want:   "-a", faults: []string{FaultLeaf},
		},
		"a parent that is not there": {
			events: []string{message("a", "user", "z")},
			want:   "*a", faults: []string{model.FaultMissingParent},
		},
		"a parent that is not there, of what is no message": {
			events: []string{event("a", "PauseEvent", "z", ""), message("b", "user", "a")},
			want:   "*b", faults: []string{model.FaultMissingParent},
		},
		"a circle of messages": {
			events: []string{message("a", "user", "b"), message("b", "user", "a")},
			want:   "a<b; *b<a", faults: []string{model.FaultParentCycle},
		},
		"a circle of others": {
			events: []string{event("a", "PauseEvent", "b", ""), event("b", "PauseEvent", "a", ""), message("c", "user", "a")},
			want:   "*c",
		},
		"an unknown kind": {
			events: []string{message("a", "user", ""), event("b", "DreamEvent", "a", ""), message("c", "assistant", "b")},
			want:   "a; *c<a", faults: []string{chat.FaultUnknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.base, c.events...)
			s := open(t, dir)
			var got []string
			list := storetest.Headers(t, s, made)
			names := map[string]string{}
			for _, e := range c.events {
				var is struct{ ID string }
				if err := json.Unmarshal([]byte(e), &is); err != nil {
					t.Fatal(err)
				}
				names[is.ID] = string(rune(mustHex(t, is.ID)))
			}
			for _, h := range list {
				word := names[h.ID]
				state, err := s.State(t.Context(), h.Ref())
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(lastMessage(t, state), `"toolUse"`); n > 1 {
					word += "+" + string(word[0]+1)
				}
				if h.ParentID != "" && names[h.ParentID] != "" {
					word += "<" + names[h.ParentID]
				}
				switch {
				case h.Head:
					word = "*" + word
				case h.Marks.Has(model.MarkError):
					word = "!" + word
				case h.Orphaned:
					word = "-" + word
				}
				got = append(got, word)
			}
			if is := strings.Join(got, "; "); is != c.want {
				t.Errorf("it is %s, want %s", is, c.want)
			}
			var faults []string
			for _, f := range storetest.Faults(t, s, made) {
				faults = append(faults, f.Code)
			}
			if !slices.Equal(faults, c.faults) {
				t.Errorf("the faults are %q, want %q", faults, c.faults)
			}
		})
	}
}

func mustHex(t *testing.T, id string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(id[:2], "%x", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// lastMessage returns the last message of a state.
func lastMessage(t *testing.T, state []byte) string {
	t.Helper()
	var is struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(state, &is); err != nil {
		t.Fatal(err)
	}
	if len(is.Messages) == 0 {
		return ""
	}
	return string(is.Messages[len(is.Messages)-1])
}

// texts returns the first text of each message of a state.
func texts(t *testing.T, s store.Store, at model.Header) string {
	t.Helper()
	state, err := s.State(t.Context(), at.Ref())
	if err != nil {
		t.Fatal(err)
	}
	var is struct {
		Messages []struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(state, &is); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range is.Messages {
		words = append(words, m.Content[0].Text)
	}
	return strings.Join(words, ", ")
}

// A condensation takes messages from what the model reads and puts its summary among the
// others; the next one takes that summary, too. A summary without an offset, or an offset without
// a summary, is not sent.
func TestCondensation(t *testing.T) {
	dir := t.TempDir()
	condense := func(name, parent string, offset string, forgets ...string) string {
		ids, err := json.Marshal(forgets)
		if err != nil {
			t.Fatal(err)
		}
		return event(name, kindCondense, parent, fmt.Sprintf(`,"summary":"sums up %s","forgotten_event_ids":%s,"llm_response_id":"r"%s`, name, ids, offset))
	}
	write(t, dir, "",
		message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", "b"), message("d", "assistant", "c"),
		condense("e", "d", `,"summary_offset":1`, id("b"), id("c")), message("f", "user", "e"),
		condense("g", "f", `,"summary_offset":1`, id("e")+summarySuffix, id("d")), condense("h", "g", "", id("f")),
		event("i", kindCondense, "h", `,"summary":null,"summary_offset":0,"forgotten_event_ids":[]`))
	s := open(t, dir)
	list := storetest.Headers(t, s, made)
	for i, want := range map[int]string{
		3: "says a, says b, says c, says d",
		4: "says a, sums up e, says d",
		5: "says a, sums up e, says d, says f",
		6: "says a, sums up g, says f",
		7: "says a, sums up g",
		8: "says a, sums up g",
	} {
		if got := texts(t, s, list[i]); got != want {
			t.Errorf("#%d reads %s, want %s", i, got, want)
		}
	}
	facts, err := s.Features().Facts(t.Context(), list[7].Ref())
	if err != nil || !slices.ContainsFunc(facts, model.Fact{Label: "summary, not sent", Value: "sums up h"}.Same) {
		t.Errorf("#7 does not tell of its summary: %v, %v", facts, err)
	}
	for i, h := range list {
		if evicted := h.Marks.Has(model.MarkEvicted); evicted != slices.Contains([]int{1, 2, 3, 4, 5}, i) {
			t.Errorf("#%d is no longer read: %t", i, evicted)
		}
	}
}

// An answer is counted once, whatever its calls are.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("b")+`,"stats":{"usage_to_metrics":{"agent":{"token_usages":[{"model":"m","prompt_tokens":7,"completion_tokens":3,"response_id":"r"}],"response_latencies":[{"latency":0.5,"response_id":"r"}]}}}`,
		calls("b", "r", ""), calls("c", "r", "b"))
	s := open(t, dir)
	list := storetest.Headers(t, s, made)
	if len(list) != 2 {
		t.Fatalf("there are %d messages", len(list))
	}
	for i, want := range []bool{true, false} {
		state, err := s.State(t.Context(), list[i].Ref())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(lastMessage(t, state), `"usage":{"inputTokens":7,"outputTokens":3,"totalTokens":10`); got != want {
			t.Errorf("#%d is counted: %t", i, got)
		}
	}
}

// Where each answer has a cost, they stand in the order of the answers.
func TestUsage_costs(t *testing.T) {
	for costs, want := range map[string]string{
		`[{"cost":0.25},{"cost":0.5}]`: "0.25 0.5", `[{"cost":0.25}]`: "- -", `[]`: "- -",
	} {
		dir := t.TempDir()
		write(t, dir, `,"stats":{"usage_to_metrics":{"agent":{"costs":`+costs+`,"token_usages":[{"prompt_tokens":7,"response_id":"r"},{"prompt_tokens":9,"response_id":"q"}],"response_latencies":[{"latency":1,"response_id":"r"},{"latency":1,"response_id":"q"}]}}}`,
			calls("b", "r", ""), result("c", "b", "b"), calls("d", "q", "c"))
		s := open(t, dir)
		var got []string
		for _, h := range storetest.Headers(t, s, made) {
			for _, m := range storetest.Messages(t, s, h.Ref())[h.Index:] {
				if m["role"] == "assistant" {
					cost, ok := m["cost"]
					if !ok {
						cost = "-"
					}
					got = append(got, fmt.Sprint(cost))
				}
			}
		}
		if is := strings.Join(got, " "); is != want {
			t.Errorf("of %s the answers cost %s, want %s", costs, is, want)
		}
	}
}

// What a session cost is told at its head, also where what each answer cost is not known.
func TestCost(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("b")+`,"stats":{"usage_to_metrics":{"agent":{"accumulated_cost":0.25},"condenser":{"accumulated_cost":0.5}}}`, message("a", "user", ""), message("b", "assistant", "a"))
	s := open(t, dir)
	for _, h := range storetest.Headers(t, s, made) {
		facts, err := s.Features().Facts(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "dollars, of the session" && f.Value == "0.75" })
		if said != h.Head {
			t.Errorf("the facts of #%d are %+v", h.Index, facts)
		}
	}
}

// The conversation of a sub-agent is in the folder of the one that started it. It is gone on
// with by the SDK alone.
func TestSubAgents(t *testing.T) {
	dir := t.TempDir()
	asks := func(action string) string {
		return event("b", kindAction, "a", `,"tool_name":"task","tool_call_id":"call-b","llm_response_id":"r","thought":[],"tool_call":{"arguments":"{}"},"action":`+action)
	}
	write(t, filepath.Join(dir, made, agentsName), leaf("d"), message("c", "user", ""), message("d", "assistant", "c"))
	for action, reaches := range map[string]bool{
		`{"kind":"TaskAction","prompt":"says c"}`:                                                true,
		`{"kind":"DelegateAction","command":"delegate","tasks":{"one":"says z","two":"says c"}}`: true,
		`{"kind":"TaskAction","prompt":"says z"}`:                                                false,
	} {
		write(t, dir, leaf("b"), message("a", "user", ""), asks(action))
		s := open(t, dir)
		child, err := s.Features().Across(t.Context(), model.Ref{Session: made, ID: id("b")})
		if (child.Session == made+"/"+made) != reaches || err != nil {
			t.Errorf("from %s one comes to %+v, %v", action, child, err)
		}
	}
	s := open(t, dir)
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID)
	}
	const child = made + "/" + made
	if want := []string{made, child}; !slices.Equal(ids, want) {
		t.Fatalf("the conversations are %q, want %q", ids, want)
	}
	list := storetest.Headers(t, s, child)
	if len(list) != 2 || list[0].ID != id("c") {
		t.Errorf("it is %+v", list)
	}
	calls, err := s.Features().Resume(t.Context(), list[1].Ref())
	if want := fmt.Sprintf("persistence_dir=%q, conversation_id=UUID(%q)", filepath.Join(dir, made, agentsName), made); err != nil || len(calls) != 1 || !strings.Contains(calls[0].Call, want) {
		t.Errorf("it goes on by %+v, %v, and not with %s", calls, err, want)
	}
	plan := apply(t, s, model.Change{Op: model.OpFork, Ref: list[0].Ref()})
	if n := len(storetest.Headers(t, s, plan.NewSession)); n != 1 || strings.Contains(plan.NewSession, "/") {
		t.Errorf("the fork %s has %d messages", plan.NewSession, n)
	}
}

// A conversation names the others that have an event of its own: the one is a fork of the other.
func TestKin(t *testing.T) {
	s := open(t, fixtures)
	for _, h := range storetest.Headers(t, s, forked) {
		facts, err := s.Features().Facts(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		also := slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "also in" && f.Value == branched })
		if also != (h.Index <= 4) {
			t.Errorf("#%d is also in %+v", h.Index, facts)
		}
	}
}

// So does one that is a fork of a branch with a root of its own.
func TestKin_ofAnotherRoot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("d"), message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", explicitRoot), message("d", "assistant", "c"))
	s := open(t, dir)
	fork := apply(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: made, ID: id("d")}}).NewSession
	for _, c := range []struct {
		session, also string
		events        []string
	}{{made, fork, []string{id("c"), id("d")}}, {fork, made, []string{id("c"), id("d")}}} {
		var got []string
		for _, h := range storetest.Headers(t, s, c.session) {
			facts, err := s.Features().Facts(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "also in" && f.Value == c.also }) {
				got = append(got, h.ID)
			}
		}
		if !slices.Equal(got, c.events) {
			t.Errorf("of %s the events %q are also in %s, want %q", c.session, got, c.also, c.events)
		}
	}
}

// The CLI has a variable for its folder, and one for that of conversations.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, filepath.FromSlash("/home/u/.openhands/conversations")},
		{map[string]string{"OPENHANDS_PERSISTENCE_DIR": "/p"}, filepath.FromSlash("/p/conversations")},
		{map[string]string{"OPENHANDS_PERSISTENCE_DIR": "/p", "OPENHANDS_CONVERSATIONS_DIR": "/c"}, "/c"},
	} {
		got := Kind(nil).Places(store.Surroundings{Home: filepath.FromSlash("/home/u"), Env: func(name string) string { return c.env[name] }})
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("with %v it looks in %q, want %q", c.env, got, c.want)
		}
	}
}

// What keeps the SDK from reading a conversation is told, and the messages are shown.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "", message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", "b"), message("d", "assistant", "c"))
	events := filepath.Join(dir, made, eventsName)
	name := func(i int, letter string) string {
		return filepath.Join(events, fmt.Sprintf("event-%05d-%s.json", i, id(letter)))
	}
	for step, c := range []struct {
		do       func() error
		code     string
		severity model.Severity
		messages int
	}{
		{func() error { return os.Truncate(name(1, "b"), 30) }, FaultEvent, model.Stops, 3},
		{func() error { return os.Remove(name(1, "b")) }, FaultGap, model.Stops, 3},
		{func() error { return os.Rename(name(3, "d"), name(1, "d")) }, "", 0, 3},
		{func() error { return os.WriteFile(name(4, "a"), []byte(message("a", "user", "c")), 0o600) }, FaultTwice, model.Loses, 4},
		{func() error { return os.WriteFile(filepath.Join(dir, made, stateName), []byte(`{"id":`), 0o600) }, FaultState, model.Stops, 4},
	} {
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if n := len(storetest.Headers(t, s, made)); n != c.messages {
			t.Errorf("step %d: there are %d messages, want %d", step, n, c.messages)
		}
		faults := storetest.Faults(t, s, made)
		if c.code != "" && !slices.ContainsFunc(faults, func(f model.Fault) bool {
			return f.Code == c.code && f.Severity == c.severity && f.Verdict != "" && f.File != ""
		}) {
			t.Errorf("step %d: the faults are %+v, want %s", step, faults, c.code)
		}
	}
}

// A file that is torn costs what is behind the tear: an event keeps its place in the tree, and
// the conversation its folder and its head, unless the tear is in the name of that.
func TestDamage_torn(t *testing.T) {
	events := []string{message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", "a"), message("d", "assistant", "c")}
	const base = `{"id":"1","agent":{},"workspace":{"working_dir":"/w"},"leaf_event_id":"`
	event := func(i int, letter string) string {
		return fmt.Sprintf("%s/event-%05d-%s.json", eventsName, i, id(letter))
	}
	for name, c := range map[string]struct{ file, text, want, code string }{
		"an event of a branch":   {event(2, "c"), `{"id":"` + id("c") + `","parent_id":"` + id("a") + `","llm_mess`, "a; -b<a; *d<a", FaultEvent},
		"before its parent":      {event(2, "c"), `{"id":"`, "a; b<a; *d<b", FaultEvent},
		"within its parent":      {event(2, "c"), `{"id":"` + id("c") + `","parent_id":"` + id("a")[:3], "a; b<a; *d<b", FaultEvent},
		"an event of zeros":      {event(2, "c"), "\x00\x00\x00", "a; b<a; *d<b", FaultEvent},
		"the state":              {stateName, base + id("b") + `","stats":{"usage_to_`, "a; *b<a; -c<a; -d<c", FaultState},
		"within the leaf of it":  {stateName, base + id("b")[:5], "a; -b<a; c<a; *d<c", FaultState},
		"the state of zeros":     {stateName, "\x00\x00\x00", "a; -b<a; c<a; *d<c", FaultState},
		"a state without a byte": {stateName, "", "a; -b<a; c<a; *d<c", FaultState},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, `,"workspace":{"working_dir":"/w"}`, events...)
			put(t, filepath.Join(dir, made, filepath.FromSlash(c.file)), c.text)
			s := open(t, dir)
			if got := brief(t, s); got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			severity := model.Stops
			if c.text == "" { // OpenHands opens it
				severity = model.Loses
			}
			if faults := storetest.Faults(t, s, made); len(faults) != 1 || faults[0].Code != c.code || faults[0].Severity != severity {
				t.Errorf("the faults are %+v", faults)
			}
			if info := storetest.Sessions(t, s)[0]; strings.HasPrefix(c.text, base) && info.Project != "/w" {
				t.Errorf("the list has %+v", info)
			}
		})
	}
}

// What OpenHands does about a parent that is not there is told, at the file of the event.
func TestDamage_missingParent(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("b"), message("a", "user", ""), message("b", "assistant", "z"))
	faults := storetest.Faults(t, open(t, dir), made)
	if len(faults) != 1 || faults[0].Severity != model.Stops || faults[0].Verdict != agent.Breaks || faults[0].Path != id("b")+" /parentId" || faults[0].File != made+"/"+eventsName+"/event-00001-"+id("b")+".json" {
		t.Errorf("the faults are %+v", faults)
	}
	put(t, filepath.Join(dir, made, stateName), `{"id":"1","agent":{}`+leaf("a")+`}`)
	if faults := storetest.Faults(t, open(t, dir), made); len(faults) != 1 || faults[0].Severity != model.Odd {
		t.Errorf("beside the way to the head the faults are %+v", faults)
	}
}

// A storage is known by a conversation whose base_state.json is torn.
func TestDamage_recognised(t *testing.T) {
	for _, text := range []string{`{"id":"1","agent":{"llm":{"mod`, "\x00\x00", ""} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, made, stateName), text)
		put(t, filepath.Join(dir, made, eventsName, "event-00000-"+id("a")+".json"), message("a", "user", ""))
		if _, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
			t.Errorf("with %q it is recognised: %t, %v", text, ok, err)
		}
	}
}

// brief draws a conversation of messages that are called by letters.
func brief(t *testing.T, s store.Store) string {
	t.Helper()
	var words []string
	for _, h := range storetest.Headers(t, s, made) {
		word := string(rune(mustHex(t, h.ID)))
		if h.ParentID != "" {
			word += "<" + string(rune(mustHex(t, h.ParentID)))
		}
		switch {
		case h.Head:
			word = "*" + word
		case h.Orphaned:
			word = "-" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// Without its base_state.json a conversation is not in the list, and doctor tells. Files of the
// SDK's own are no events.
func TestDamage_noState(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("a"), message("a", "user", ""))
	put(t, filepath.Join(dir, made, eventsName, ".eventlog-len-1.marker"), "")
	lost := strings.Repeat("2", 32)
	put(t, filepath.Join(dir, lost, eventsName, "event-00000-"+id("b")+".json"), message("b", "user", ""))
	s := open(t, dir)
	if faults := storetest.Faults(t, s, made); len(faults) > 0 {
		t.Errorf("the faults of the other one are %+v", faults)
	}
	faults := storetest.Faults(t, s, "")
	if len(faults) != 1 || faults[0].Code != FaultState || faults[0].File != lost || faults[0].Severity != model.Loses {
		t.Errorf("the faults are %+v", faults)
	}
}

// Where nothing names the head, it is before the first gap.
func TestDamage_headBeforeTheGap(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "", message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", "b"), message("d", "assistant", "c"))
	if err := os.Remove(filepath.Join(dir, made, eventsName, "event-00002-"+id("c")+".json")); err != nil {
		t.Fatal(err)
	}
	for _, h := range storetest.Headers(t, open(t, dir), made) {
		if h.Head != (h.ID == id("b")) {
			t.Errorf("%+v", h)
		}
	}
}

// A conversation of the application before the SDK is named.
func TestCheck_oldFormat(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "", message("a", "user", ""))
	put(t, filepath.Join(dir, "older", eventsName, "0.json"), `{"id":0}`)
	faults := storetest.Faults(t, open(t, dir), "")
	if len(faults) != 1 || faults[0].Code != FaultOld || faults[0].File != "older" || faults[0].Severity != model.Note {
		t.Errorf("the faults are %+v", faults)
	}
}

// A restore lands where the agent can go on, and nowhere else.
func TestRestore_landsOnAnswersAndResults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "", event("s", kindSystem, "", `,"system_prompt":{"text":"be good"}`), message("a", "user", "s"), calls("b", "r", "a"), calls("c", "r", "b"),
		result("d", "b", "c"), event("e", kindError, "d", `,"tool_name":"terminal","tool_call_id":"call-c","error":"it broke"`), message("f", "assistant", "e"), message("g", "user", "f"))
	s := open(t, dir)
	for _, h := range storetest.Headers(t, s, made) {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
		refused := (*model.UnsupportedError)(nil)
		if can := slices.Contains([]string{id("e"), id("f")}, h.ID); can != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("a restore to #%d (%s): %v", h.Index, h.Title, err)
		}
	}
}

// A restore leads to no event that OpenHands would not open the conversation at: with one that is
// torn, or that is missing, on the way, in a circle, or behind a number that is missing.
func TestRestore_refusesWhatDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("a"), message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", "b"), message("d", "assistant", "c"),
		message("e", "assistant", "z"), message("f", "user", "b"), message("g", "assistant", "b"), message("h", "user", "i"), message("i", "assistant", "h"))
	put(t, filepath.Join(dir, made, eventsName, "event-00002-"+id("c")+".json"), `{"id":"`+id("c")+`","parent_id":"`+id("b")+`","`)
	if err := os.Remove(filepath.Join(dir, made, eventsName, "event-00005-"+id("f")+".json")); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	for letter, can := range map[string]bool{"b": true, "d": false, "e": false, "g": false, "i": false} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: made, ID: id(letter)}})
		if refused := (*model.UnsupportedError)(nil); can != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("a restore to %s: %v", letter, err)
		}
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: made, ID: id("i")}}); err == nil {
		t.Error("a circle is forked")
	}
	plan := apply(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: made, ID: id("g")}}) // which is numbered anew
	if n := len(storetest.Headers(t, s, plan.NewSession)); n != 3 {
		t.Errorf("the fork has %d messages", n)
	}
}

// OpenHands before it knew branches has no pointer to the head. There a restore would change
// nothing, and is refused; a fork gets none, and the CLI is what goes on from it.
func TestLinear(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "", message("a", "user", ""), message("b", "assistant", ""), message("c", "user", ""), message("d", "assistant", ""))
	s := open(t, dir)
	list := storetest.Headers(t, s, made)
	refused := (*model.UnsupportedError)(nil)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[1].Ref()}); !errors.As(err, &refused) {
		t.Errorf("a restore: %v", err)
	}
	plan := apply(t, s, model.Change{Op: model.OpFork, Ref: list[1].Ref()})
	base, err := os.ReadFile(filepath.Join(dir, plan.NewSession, stateName))
	if err != nil || strings.Contains(string(base), "leaf_event_id") || strings.Contains(string(base), "head_is_empty") {
		t.Errorf("the fork has %s, %v", base, err)
	}
	if list := storetest.Headers(t, s, plan.NewSession); len(list) != 2 || !list[1].Head {
		t.Errorf("the fork is %+v", list)
	}
	if first := plan.Resume[0].Call; first != "OPENHANDS_CONVERSATIONS_DIR="+dir+" openhands --resume "+plan.NewSession {
		t.Errorf("first it names %s", first)
	}
}

// While the SDK holds its lock, nothing is written; the lock is held while Hindcast writes.
func TestLock(t *testing.T) {
	dir := storetest.Copy(t, fixtures)
	s := open(t, dir)
	files := storetest.FilesOf(t, dir)
	change := model.Change{Op: model.OpRestore, Ref: model.Ref{Session: branched, ID: "dca1bbc3-312a-416e-b78b-fa82106fb4f3"}}
	plan, err := s.Plan(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	other, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	unlock, err := other.Lock(branched + "/" + eventsName + "/" + lockName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a write beside the SDK: %v", err)
	}
	held := slices.ContainsFunc(storetest.Faults(t, s, branched), func(f model.Fault) bool { return f.Code == chat.FaultLocked })
	if runtime.GOOS == "linux" && !held {
		t.Error("no fault tells of the lock")
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if now := storetest.FilesOf(t, dir); fmt.Sprint(now) != fmt.Sprint(files) {
		t.Error("a write that was refused wrote")
	}
	if faults := storetest.Faults(t, s, branched); len(faults) > 0 {
		t.Errorf("the faults are %+v", faults)
	}
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Errorf("a write when the lock is free: %v", err)
	}
}

// A conversation is followed: an event comes, then base_state.json names it.
func TestFollows(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, leaf("a"), message("a", "user", ""))
	s := open(t, dir)
	changes, err := s.Features().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(storetest.Headers(t, s, made)); n != 1 {
		t.Fatalf("there are %d messages", n)
	}
	put(t, filepath.Join(dir, made, eventsName, "event-00001-"+id("b")+".json"), message("b", "assistant", "a"))
	<-changes
	put(t, filepath.Join(dir, made, "next"), `{"id":"1","agent":{}`+leaf("b")+`}`)
	if err := os.Rename(filepath.Join(dir, made, "next"), filepath.Join(dir, made, stateName)); err != nil {
		t.Fatal(err)
	}
	for list := storetest.Headers(t, s, made); len(list) != 2 || !list[1].Head; list = storetest.Headers(t, s, made) {
		<-changes // the test's own time ends this
	}
}

// Whatever events there are, each message is in the state of an entry.
func TestProperty_noMessageIsLost(t *testing.T) {
	letters := strings.Split("abcdefghij", "")
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "openhands")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		base := rapid.SampledFrom([]string{"", `,"head_is_empty":true`, leaf("a"), leaf("e"), leaf("z")}).Draw(t, "base")
		var events []string
		wanted := map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			name := rapid.SampledFrom(letters).Draw(t, "name")
			parent := rapid.SampledFrom(append(letters, "", "", "z", explicitRoot)).Draw(t, "parent")
			switch rapid.SampledFrom([]string{"says", "calls", "calls", "result", "pause", "condense"}).Draw(t, "kind") {
			case "says":
				events = append(events, message(name, rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"), parent))
				wanted["says "+name] = true
			case "calls":
				events = append(events, calls(name, "r", parent))
				wanted[`\"command\":\"`+name] = true
			case "result":
				events = append(events, result(name, rapid.SampledFrom(letters).Draw(t, "of"), parent))
				wanted["gave "+name] = true
			case "pause":
				events = append(events, event(name, "PauseEvent", parent, ""))
			case "condense":
				forgets := id(rapid.SampledFrom(letters).Draw(t, "forgets"))
				events = append(events, event(name, kindCondense, parent, fmt.Sprintf(`,"summary":"sums up %s","forgotten_event_ids":[%q],"summary_offset":%d`, name, forgets, rapid.IntRange(0, 4).Draw(t, "offset"))))
				wanted["sums up "+name] = true
			}
		}
		write(t, dir, base, events...)
		s, err := Kind(nil).Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var all strings.Builder
		for h, err := range s.Headers(t.Context(), made) {
			if err != nil {
				t.Fatal(err)
			}
			state, err := s.State(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			all.Write(state)
		}
		for words := range wanted {
			if !strings.Contains(all.String(), words) {
				t.Fatalf("%q is nowhere", words)
			}
		}
	})
}

// Whatever a file holds, what is kept of it comes back from its note, and the message of one
// that is an object can be made.
func FuzzDecode(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join(fixtures, "*", eventsName, "event-*.json"))
	if err != nil || len(seeds) == 0 {
		f.Fatal(err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(calls("a", "r", "b")))
	f.Add([]byte(result("a", "r", explicitRoot)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, whole := decodeEvent(tree.File{Data: data})
		if !whole {
			if r.Damage == "" {
				t.Error("it is damaged, and nothing says so")
			}
			return
		}
		text := encodeNote(r)
		if again, err := decodeNote(tree.File{Data: text}); text != nil && (err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", r)) {
			t.Errorf("the note is %+v, of %+v: %v", again, r, err)
		}
		v, err := chat.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		m := messageOf(v)
		if text := m.AppendJSON(nil); !json.Valid(text) {
			t.Errorf("the message is %s", text)
		}
	})
}
