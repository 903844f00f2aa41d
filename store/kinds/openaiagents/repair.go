package openaiagents

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/rows"
)

// A repair makes a session of the items that the SDK sends as they are and the API takes:
//
//	call without its output        gets an output that says so, where its kind is known; else the call goes
//	output without its call        goes
//	second output of a call        goes
//	reasoning with nothing behind  goes
//
// The session itself stays as it is: the SDK changes no item. A call at its end may still be answered.

// outputs are the types of items that answer a call whose output is a text.
var outputs = map[string]string{"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}

// noOutput is the text of an output that a repair adds.
const noOutput = "There is no output: the run ended before the tool gave one."

// mostRounds bounds how often what was mended is looked at again: without its call a reasoning item is alone.
const mostRounds = 8

// planRepair makes the new session of one whose head is the end of the path.
func (w *writing) planRepair(ctx context.Context, t rows.Tx) error {
	for range mostRounds {
		found, err := w.findTroubles()
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		w.mendPath(found)
	}
	if left, err := w.findTroubles(); err != nil || len(left) > 0 {
		return unsupportedError(model.OpRepair, "there is still something wrong with its items: see hindcast doctor")
	}
	if len(w.m.Hazards) == 0 {
		return &model.NothingToError{Op: model.OpRepair}
	}
	return w.planFork(ctx, t, w.unusedID())
}

// wrong is a trouble, and the item of it in the path.
type wrong struct {
	code, name, id string
	at             int
}

// findTroubles finds what is wrong with the items of the path as they are mended so far.
func (w *writing) findTroubles() (list []wrong, err error) {
	var items [][]byte
	var at []int // by message, -1 for an output that is added
	for k, p := range w.path {
		if data := w.items[p.item].data; data != nil {
			items, at = append(items, data), append(at, k)
		}
		if added := w.added[p.item]; added != nil {
			items, at = append(items, added), append(at, -1)
		}
	}
	tape, _, err := jsontape.ParseTolerant(slices.Concat([]byte(`{"messages":[`), bytes.Join(items, []byte(",")), []byte("]}")))
	if err != nil {
		return nil, err
	}
	c := conversation.Decode(tape)
	for _, of := range c.Troubles() {
		if _, is := c.Fault(kind.Name, of); !is || of.Message >= len(at) || at[of.Message] < 0 {
			continue
		}
		one := wrong{code: of.Code, at: at[of.Message], id: c.CallText(of)}
		if of.Block >= 0 {
			one.name = c.ToolName(c.Block(of.Block))
		}
		list = append(list, one)
	}
	return list, nil
}

// mendPath takes items out of the path, or adds outputs behind them.
func (w *writing) mendPath(list []wrong) {
	say := func(format string, args ...any) { w.m.Hazards = append(w.m.Hazards, fmt.Sprintf(format, args...)) }
	goes := map[int]bool{}
	for _, one := range list {
		item := w.path[one.at].item
		index, data := w.first+item, w.items[item].data
		answer := outputs[textMember(data, "type")]
		switch {
		case one.code == conversation.UnansweredCall && answer != "":
			if w.added == nil {
				w.added = map[int][]byte{}
			}
			w.added[item] = fmt.Appendf(nil, `{"type": "%s", "call_id": %s, "output": %s}`, answer, jsontape.FindMember(data, `"call_id"`), quoteJSON(noOutput))
			say("the call #%d of %s gets an output, an error: what the tool did is not known", index, conversation.OneLine(one.name))
		case one.code == conversation.UnansweredCall:
			goes[one.at] = true
			say("the call #%d of %s goes: it has no output", index, conversation.OneLine(one.name))
		case one.code == conversation.OrphanResult:
			goes[one.at] = true
			say("the output #%d goes: its call is not there", index)
		case one.code == conversation.DuplicateResult:
			goes[one.at] = true
			say("the output #%d goes: its call has one already", index)
		case one.code == conversation.ReasoningAlone:
			goes[one.at] = true
			say("the reasoning #%d goes: nothing that the model answered follows it", index)
		}
	}
	path := w.path
	w.path = nil
	for k, p := range path {
		if !goes[k] {
			w.path = append(w.path, p)
		}
	}
}

// unusedID returns an id for the session that a repair makes.
func (w *writing) unusedID() string {
	taken := func(id string) bool {
		return slices.ContainsFunc(w.before.Others, func(at rows.Place) bool { return at.ID == id || at.Key[0] == id })
	}
	as := fmt.Sprint(w.before.Key[0]) + "-repaired"
	for n := 2; taken(as); n++ {
		as = fmt.Sprintf("%s-repaired-%d", w.before.Key[0], n)
	}
	return as
}

// addCuts adds to a fork that ends between a call and its output, or behind reasoning, the nearest ends that do not.
// whole is the path to the end of the branch.
func (w *writing) addCuts(whole []place) {
	calls, outputs := w.calls(), map[string]int{}
	for k, p := range whole {
		if one := calls.of[p.item]; one.id != "" && one.function == "" && outputs[one.id] == 0 {
			outputs[one.id] = k // a second one goes
		}
	}
	parts, last := make([]bool, len(whole)), -1
	for k, p := range whole {
		if one := calls.of[p.item]; one.function != "" {
			last = max(last, outputs[one.id])
		}
		parts[k] = last > k || textMember(w.items[p.item].data, "type") == "reasoning"
	}
	end := len(w.path) - 1
	if !parts[end] {
		return
	}
	var ends []string
	name := func(k int) {
		if k >= 0 && k < len(whole) {
			ends = append(ends, fmt.Sprintf("#%d", w.first+whole[k].item))
		}
	}
	before, behind := end, end
	for before >= 0 && parts[before] {
		before--
	}
	for behind < len(whole) && parts[behind] {
		behind++
	}
	name(before)
	name(behind)
	if len(ends) > 0 {
		w.m.Hazards = append(w.m.Hazards, "it ends between what belongs together; a fork of one of these does not: "+conversation.List(ends, conversation.OneLine))
	}
}
