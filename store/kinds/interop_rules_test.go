package kinds_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// What an SDK must do from a position, worked out of the state that Hindcast shows
// there and not of anything that Hindcast says about it. The rules are those that
// were seen when the SDKs ran.

// position is a state that a session was put to.
type position struct {
	state map[string]any
	// stands is where that is, in the words of the matrix.
	stands string
	// messages are those that the model is sent first of all, tools the ones that
	// have to run before that.
	messages []any
	tools    []string
	// held says that the message whose tools are to run is held where an SDK for
	// Python looks for it.
	held bool
	// failed says that a node of a run has failed.
	failed bool
}

// rules are those of one SDK.
type rules interface {
	// position reads a state.
	position(state map[string]any) position
	// text names a text in the state that somebody may change, as a JSON Pointer;
	// "" for none.
	text(p *position) string
	// check returns what is wrong with what came of a call.
	check(p *position, how resume, a *answer) error
}

// resume is a call that goes on, and what a plan says that comes of it.
type resume struct {
	Call string `json:"call"`
	Then string `json:"then"`
}

// prompt returns the text that a call sends, "" where it sends none.
func (r *resume) prompt() string {
	for _, text := range []string{"…", "..."} {
		if strings.Contains(r.Call, `("`+text+`"`) || strings.Contains(r.Call, `, "`+text+`"`) {
			return text
		}
	}
	return ""
}

func member[T any](value any, names ...string) T {
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	typed, _ := value.(T)
	return typed
}

// same compares JSON. An error shows where it ends to be the same.
func same(what string, have, want any) error {
	if reflect.DeepEqual(have, want) {
		return nil
	}
	h, _ := json.Marshal(have)
	w, _ := json.Marshal(want)
	return fmt.Errorf("%s is\n%s\nand not\n%s", what, h, w)
}

// first returns the messages that the model was sent first.
func (a *answer) first() ([]any, error) {
	if len(a.Seen) == 0 {
		return nil, fmt.Errorf("the model was never called: %s", a.Error)
	}
	return a.Seen[0], nil
}

// strandsAgent has the rules of one agent of Strands.
type strandsAgent struct {
	typeScript bool
	// bare says that the model is sent tool calls at the end as they are.
	bare bool
}

// stances of a conversation.
const (
	atStart      = "start"
	atUser       = "user message"
	atCalls      = "tool calls"
	atResults    = "tool results"
	atTurnEnd    = "turn end"
	atInterrupt  = "interrupt waits"
	atNode       = "node"
	atFailedNode = "failed node"
	atLastNode   = "last node"
	atRewind     = "rewind"
	atCheckpoint = "checkpoint"
)

// blocks returns what the blocks of a message have under a name.
func blocks(message any, name string) (found []any) {
	for _, block := range member[[]any](message, "content") {
		if b := member[any](block, name); b != nil {
			found = append(found, b)
		}
	}
	return found
}

func names(blocks []any, member string) (found []string) {
	for _, b := range blocks {
		name, _ := b.(map[string]any)[member].(string)
		found = append(found, name)
	}
	return found
}

func (s strandsAgent) position(state map[string]any) position {
	p := position{state: state, messages: member[[]any](state, "messages"), stands: atStart}
	interrupts := member[map[string]any](state, "interrupt_state")
	done := member[[]any](interrupts, "context", "tool_results")
	asked := member[map[string]any](interrupts, "context", "tool_use_message")
	if newer := member[map[string]any](interrupts, "pending_tool_execution"); newer != nil {
		asked, done = member[map[string]any](newer, "assistant_message"), member[[]any](newer, "completed_tool_results")
	}
	p.held = asked != nil
	if s.typeScript {
		interrupts = member[map[string]any](state, "interrupts")
		asked = member[map[string]any](interrupts, "pendingToolExecution", "assistantMessageData")
		for _, result := range member[map[string]any](interrupts, "pendingToolExecution", "completedToolResults") {
			done = append(done, member[any](result, "toolResult"))
		}
		if asked != nil { // the message is held back until its tools have run
			p.messages = append(slices.Clip(p.messages), asked)
		}
	}
	if len(p.messages) == 0 {
		return p
	}
	last := p.messages[len(p.messages)-1]
	calls := blocks(last, "toolUse")
	switch {
	case member[string](last, "role") == "assistant" && len(calls) > 0:
		p.stands = atCalls
		if member[bool](interrupts, "activated") {
			p.stands = atInterrupt
		}
		have := names(done, "toolUseId")
		for _, call := range calls {
			if !slices.Contains(have, member[string](call, "toolUseId")) {
				p.tools = append(p.tools, member[string](call, "name"))
			}
		}
	case member[string](last, "role") == "assistant":
		p.stands = atTurnEnd
	case len(blocks(last, "toolResult")) > 0:
		p.stands = atResults
	default:
		p.stands = atUser
	}
	return p
}

// text is that of the last message or of a tool result in it.
func (s strandsAgent) text(p *position) string {
	i := len(member[[]any](p.state, "messages")) - 1
	if i < 0 {
		return ""
	}
	if asked := "/interrupts/pendingToolExecution/assistantMessageData"; len(p.messages) > i+1 { // held back
		for b, block := range member[[]any](p.messages[i+1], "content") {
			if member[any](block, "text") != nil {
				return fmt.Sprintf("%s/content/%d/text", asked, b)
			}
		}
	}
	for b, block := range member[[]any](p.state["messages"].([]any)[i], "content") {
		if member[any](block, "text") != nil {
			return fmt.Sprintf("/messages/%d/content/%d/text", i, b)
		}
		for c, content := range member[[]any](block, "toolResult", "content") {
			if member[any](content, "text") != nil {
				return fmt.Sprintf("/messages/%d/content/%d/toolResult/content/%d/text", i, b, c)
			}
		}
	}
	return ""
}

// sent returns messages as a model is sent them.
func sent(messages []any) []any {
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = map[string]any{"role": member[any](m, "role"), "content": member[any](m, "content")}
	}
	return list
}

// check: see the table of what a position means for each call. What is loaded is
// what Hindcast shows, and nothing is sent before it or between.
func (s strandsAgent) check(p *position, how resume, a *answer) error {
	if a.Error != "" {
		return fmt.Errorf("%s", a.Error)
	}
	loaded := p.messages
	if s.typeScript && !s.bare && len(p.tools) > 0 {
		loaded = loaded[:len(loaded)-1]
	}
	if err := same("what is loaded", a.Loaded, loaded); err != nil {
		return err
	}
	if state, there := p.state["state"]; there {
		if err := same("the state", a.State, state); err != nil {
			return err
		}
	}
	seen, err := a.first()
	if err != nil {
		return err
	}
	seen = sent(seen)
	if len(a.Seen) != 1 {
		return fmt.Errorf("the model was called %d times", len(a.Seen))
	}
	before := sent(p.messages)
	says := how.prompt()
	user := map[string]any{"role": "user", "content": []any{map[string]any{"text": says}}}
	if s.typeScript && !s.bare && says != "" && len(p.tools) > 0 { // the message that is held back comes behind the text
		before = slices.Insert(before, len(before)-1, any(user))
		says = ""
	}
	if len(seen) < len(before) {
		return same("what the model was sent", seen, before)
	}
	if err := same("what the model was sent first", seen[:len(before)], before); err != nil {
		return err
	}
	after := seen[len(before):]
	runs := p.tools
	switch {
	case len(p.tools) > 0 && !p.held && s.bare:
		runs = nil
	case len(p.tools) > 0 && (says != "" || how.Call == "agent([])" && !p.held): // the SDK says that they were interrupted
		runs = nil
		if err := checkResults(p, after, "error"); err != nil {
			return err
		}
		after = after[1:]
	case len(p.tools) > 0:
		if err := checkResults(p, after, ""); err != nil {
			return err
		}
		after = after[1:]
	}
	ran := slices.Sorted(slices.Values(a.Tools))
	if want := slices.Sorted(slices.Values(runs)); !slices.Equal(ran, want) {
		return fmt.Errorf("the tools that ran are %q and not %q", ran, want)
	}
	want := []any{}
	if says != "" {
		want = append(want, user)
	}
	return same("what the model was sent at the end", after, want)
}

// checkResults wants a message with a result for each call that the last message
// made.
func checkResults(p *position, after []any, status string) error {
	if len(after) == 0 {
		return fmt.Errorf("the model was sent no results of tools")
	}
	var want []string
	for _, call := range blocks(p.messages[len(p.messages)-1], "toolUse") {
		want = append(want, member[string](call, "toolUseId"))
	}
	results := blocks(after[0], "toolResult")
	have := names(results, "toolUseId")
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return fmt.Errorf("the model was sent results of %q and not of %q", have, want)
	}
	for _, result := range results {
		if status != "" && member[string](result, "status") != status {
			return fmt.Errorf("a result is %q and not %q", member[string](result, "status"), status)
		}
	}
	return nil
}

// strandsRun has the rules of a Graph or a Swarm of Strands. What its nodes say has
// the day in it, and so tells whether they ran again.
type strandsRun struct {
	typeScript bool
	// follows has what a node needs from before it: of a Graph the nodes that lead to
	// it, of a Swarm the one that hands over to it.
	follows map[string][]string
	swarm   bool
	// gate is the node before which somebody is asked; "" for none.
	gate string
}

// The runs that the drivers know.
var (
	line    = map[string][]string{"research": nil, "writer": {"research"}, "report": {"writer"}}
	diamond = map[string][]string{"research": nil, "analysis": {"research"}, "facts": {"research"}, "report": {"analysis", "facts"}}
	three   = map[string][]string{"planner": nil, "coder": {"planner"}, "tester": {"coder"}}
	two     = map[string][]string{"planner": nil, "coder": {"planner"}}
)

// done returns what a state says of the nodes that completed, and what each said; and
// notes whether one failed.
func (r strandsRun) done(state map[string]any) (order []string, said map[string]string) {
	order, said, _ = r.nodes(state)
	return order, said
}

func (r strandsRun) nodes(state map[string]any) (order []string, said map[string]string, failed bool) {
	said = make(map[string]string)
	record := state
	for _, name := range []string{"data", "state"} { // a snapshot, or what is in it
		if inner := member[map[string]any](record, name); inner != nil {
			record = inner
		}
	}
	if r.typeScript {
		for _, result := range member[[]any](record, "results") {
			switch member[string](result, "status") {
			case "FAILED":
				failed = true
			case "COMPLETED":
				node := member[string](result, "nodeId")
				order = append(order, node)
				text, _ := json.Marshal(member[any](result, "content"))
				said[node] = string(text)
			}
		}
		return order, said, failed
	}
	for node, result := range member[map[string]any](record, "node_results") {
		switch member[string](result, "status") {
		case "failed":
			failed = true
		case "completed":
			order = append(order, node)
			text, _ := json.Marshal(member[any](result, "result"))
			said[node] = string(text)
		}
	}
	return order, said, failed
}

func (r strandsRun) position(state map[string]any) position {
	order, _, failed := r.nodes(state)
	p := position{state: state, stands: atNode, failed: failed}
	switch {
	case failed:
		p.stands = atFailedNode
	case len(order) == len(r.follows):
		p.stands = atLastNode
	}
	return p
}

func (r strandsRun) text(p *position) string { return "" }

func (r strandsRun) check(p *position, how resume, a *answer) error {
	if a.Error != "" {
		return fmt.Errorf("%s", a.Error)
	}
	order, said := r.done(p.state)
	end := "completed"
	switch {
	case strings.Contains(how.Then, "begins at the first node"), strings.Contains(how.Then, "the first nodes again"), strings.Contains(how.Then, "the first node again"): // the run has ended
		if len(order) < len(r.follows) && !p.failed {
			return fmt.Errorf("it begins anew after %q", order)
		}
		order = nil
		if r.typeScript && p.failed { // the results are kept
			end = "failed"
		}
	case p.failed: // what failed runs again, and the run is called failed all the same
		end = "failed"
	}
	gate := r.gate
	if strings.Contains(how.Call, "interruptResponse") {
		gate = ""
	}
	if gate != "" {
		end = "interrupted"
	}
	var want []string
	for node := range r.follows {
		if !slices.Contains(order, node) && node != gate {
			want = append(want, node)
		}
	}
	slices.Sort(want)
	if ran := slices.Sorted(slices.Values(a.Ran)); !slices.Equal(ran, want) {
		return fmt.Errorf("the nodes that ran are %q and not %q", ran, want)
	}
	if !strings.EqualFold(a.Status, end) {
		return fmt.Errorf("it ended as %q and not as %q", a.Status, end)
	}
	for _, node := range want {
		seen, _ := json.Marshal(a.SeenBy[node][0])
		for _, before := range r.follows[node] {
			words := before + " on monday"
			if !slices.Contains(order, before) {
				words = before + " on tuesday"
			} else if !strings.Contains(said[before], words) {
				return fmt.Errorf("the state does not have what %s said: %s", before, said[before])
			}
			switch { // the message of a Swarm is not stored, but what it shared is
			case r.swarm && !r.typeScript && slices.Contains(order, before):
				words = "• " + before + ": {'from': '" + before + "'}"
			case r.swarm && !r.typeScript:
				words = before + " asks " + node
			}
			if !strings.Contains(string(seen), words) {
				return fmt.Errorf("%s was sent %s, in which there is no %q", node, seen, words)
			}
		}
	}
	return nil
}

// genkitAgent has the rules of an agent of Genkit; answered says that answers are given in
// the place of the tools that wait.
type genkitAgent struct{ answered bool }

func (g genkitAgent) position(state map[string]any) position {
	p := position{state: state, messages: member[[]any](state, "messages"), stands: atStart}
	if len(p.messages) == 0 {
		return p
	}
	last := p.messages[len(p.messages)-1]
	p.stands = map[string]string{"user": atUser, "model": atTurnEnd, "tool": atResults}[member[string](last, "role")]
	for _, part := range member[[]any](last, "content") {
		if member[any](part, "metadata", "interrupt") != nil {
			p.stands = atInterrupt
			p.tools = append(p.tools, member[string](part, "toolRequest", "name"))
		}
	}
	return p
}

func (g genkitAgent) text(p *position) string {
	for i := len(p.messages) - 1; i >= 0; i-- {
		for b, part := range member[[]any](p.messages[i], "content") {
			if member[any](part, "text") != nil {
				return fmt.Sprintf("/messages/%d/content/%d/text", i, b)
			}
		}
	}
	return ""
}

func (g genkitAgent) check(p *position, how resume, a *answer) error {
	if a.Error != "" {
		return fmt.Errorf("%s", a.Error)
	}
	seen, err := a.first()
	if err != nil {
		return err
	}
	want := slices.Clone(p.messages)
	if says := how.prompt(); says != "" {
		want = append(want, map[string]any{"role": "user", "content": []any{map[string]any{"text": says}}})
		if len(a.Tools) > 0 {
			return fmt.Errorf("the tools %q ran", a.Tools)
		}
		return same("what the model was sent", seen, want)
	}
	if len(p.tools) == 0 {
		return same("what the model was sent", seen, want)
	}
	runs := p.tools
	if g.answered {
		runs = nil
	}
	if !slices.Equal(a.Tools, runs) && len(a.Tools)+len(runs) > 0 {
		return fmt.Errorf("the tools that ran are %q and not %q", a.Tools, runs)
	}
	// The request that asked is marked as answered, and its answer comes after it.
	last := len(want) - 1
	if len(seen) != len(want)+1 {
		return same("what the model was sent", seen, want)
	}
	if err := same("what the model was sent first", seen[:last], want[:last]); err != nil {
		return err
	}
	var asked, answered []string
	for _, part := range blocks(seen[last], "toolRequest") {
		asked = append(asked, member[string](part, "ref"))
	}
	for _, part := range blocks(seen[last+1], "toolResponse") {
		answered = append(answered, member[string](part, "ref"))
	}
	if !slices.Equal(asked, answered) {
		return fmt.Errorf("%q was asked and %q answered", asked, answered)
	}
	return nil
}
