package langgraph

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/engine/rows"
)

// create_react_agent refuses for ever a conversation that went on behind a call without a result. A repair
// adds a checkpoint, as a restore of the head does, with the result right behind the call in the list of
// messages. All other bytes of the list stay.

// deltaSnapshot and pydantic are the extensions of a value of a DeltaChannel and of a message, see extension.
const deltaSnapshot, pydantic = 7, 5

// result is a result that a repair adds for a call.
type result struct {
	// at is the position in the list before which it goes, and call the message of its call.
	at, call int
	id, name string
}

// noAnswer is the text of a result that a repair adds.
const noAnswer = "There is no result: the run ended before the tool gave one."

// missingResults returns the results that a list of messages lacks. Calls at its end may still get theirs.
func missingResults(channel string, list []byte) (lacks []result) {
	tape, err := jsontape.Parse(slices.Concat([]byte("{"+quoteJSON(channel)+":"), list, []byte("}")))
	if err != nil {
		return nil
	}
	c := conversation.Decode(tape)
	if c == nil {
		return nil
	}
	place := func(m int) int {
		n, err := strconv.Atoi(strings.TrimPrefix(tape.Pointer(c.Message(m).Node), "/"+pointerEscaped(channel)+"/"))
		if err != nil {
			return -1
		}
		return n
	}
	for _, t := range c.Troubles() {
		if t.Code != conversation.UnansweredCall || t.Open || place(t.Message) < 0 {
			continue
		}
		behind := t.Message + 1
		for behind < c.Len() && c.Message(behind).Role == conversation.Tool {
			behind++
		}
		r := result{call: place(t.Message), at: place(behind-1) + 1, name: c.ToolName(c.Block(t.Block))}
		if id := c.Block(t.Block).ID; id >= 0 {
			r.id = string(tape.AppendText(nil, id, len(list)))
		}
		lacks = append(lacks, r)
	}
	return lacks
}

// pointerEscaped returns a key as a JSON Pointer has it.
func pointerEscaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

func (f format) planRepair(ctx context.Context, t rows.Tx, before *rows.Session, m *rows.Move) error {
	head := &before.Rows[len(before.Rows)-1]
	c, _, err := f.layout.readCheckpoint(ctx, t, before.Place, head.ID)
	if err != nil {
		return err
	}
	refused := func(why string) error { return &model.UnsupportedError{Op: model.OpRepair, Reason: why} }
	if opaqueEncoding(c.encoding) != "" {
		return refused("states are stored as " + c.encoding + ", so no message is known")
	}
	values := map[string][]byte{}
	for member := range jsontape.Members(jsontape.FindMember(c.document, `"channel_values"`)) {
		values[jsontape.Unquote(member.Key)] = plainValue(member.Value)
	}
	put, _, err := f.readDeltas(ctx, t, before.Place, head.ID, &c)
	if err != nil {
		return err
	}
	for channel, list := range put {
		if len(missingResults(channel, list)) > 0 {
			return refused("the checkpoint has only changes of " + channel + ", a DeltaChannel: graph.update_state adds the result")
		}
	}
	row, err := f.copyOf(ctx, t, before, head.ID, model.OpRepair)
	if err != nil {
		return err
	}
	var told []string
	for channel, list := range values {
		lacks := missingResults(channel, list)
		if len(lacks) == 0 {
			continue
		}
		var more []rows.Step
		var why string
		row, more, why, err = f.layout.withValue(ctx, t, row, channel, func(encoding string, value []byte) ([]byte, error) {
			return withResults(encoding, value, lacks)
		})
		if err == nil && why != "" {
			err = refused(why)
		}
		if err != nil {
			return err
		}
		m.Steps = append(m.Steps, more...)
		for _, r := range lacks {
			told = append(told, fmt.Sprintf("the call of %s (%s) gets a result, an error: what the tool did is not known", r.name, r.id))
		}
	}
	if len(told) == 0 {
		return &model.NothingToError{Op: model.OpRepair}
	}
	slices.Sort(told)
	m.Hazards = append(m.Hazards, told...)
	m.Target, m.Repairs = head.Point(), true
	m.Steps = append(m.Steps, rows.Step{Table: "checkpoints", After: row})
	return nil
}

// withResults returns a list of messages with results that it lacks, and all other bytes as they were.
func withResults(encoding string, list []byte, lacks []result) ([]byte, error) {
	if encoding == "json" {
		return withJSONResults(list, lacks)
	}
	if encoding != "msgpack" {
		return nil, fmt.Errorf("the messages are stored as %s", encoding)
	}
	if id, inside, ok := msgpack.Inside(list); ok && id == deltaSnapshot {
		inside, err := withResults(encoding, inside, lacks)
		return msgpack.AppendExt(nil, deltaSnapshot, inside), err
	}
	at, ok, err := msgpack.Items(list)
	if err != nil || !ok {
		return nil, fmt.Errorf("the messages are no list: %w", err)
	}
	n := len(at) - 1
	whole := msgpack.AppendArray(nil, n+len(lacks))
	for i := range n + 1 {
		for _, r := range lacks {
			if r.at != i {
				continue
			}
			message, err := msgpackResult(list[at[r.call]:at[r.call+1]], r)
			if err != nil {
				return nil, err
			}
			whole = append(whole, message...)
		}
		if i < n {
			whole = append(whole, list[at[i]:at[i+1]]...)
		}
	}
	return whole, nil
}

// msgpackResult returns the message of a result as LangGraph writes one (JsonPlusSerializer), or a plain object where the
// message of its call is one.
func msgpackResult(call []byte, r result) ([]byte, error) {
	members := func(dst []byte, pairs ...string) []byte {
		for _, text := range pairs {
			dst = msgpack.AppendText(dst, text)
		}
		return dst
	}
	id, _, is := msgpack.Inside(call)
	switch _, _, calls, err := msgpack.Member(call, "tool_calls"); {
	case err == nil && calls && !is:
		return members(msgpack.AppendMap(nil, 3), "role", "tool", "tool_call_id", r.id, "content", noAnswer), nil
	case !is || id != pydantic:
		return nil, fmt.Errorf("the message of the call %s is not in a form of LangChain's", r.id)
	}
	message := members(msgpack.AppendArray(nil, 4), "langchain_core.messages.tool", "ToolMessage")
	message = members(msgpack.AppendMap(message, 9), "content", noAnswer, "additional_kwargs")
	message = members(msgpack.AppendMap(message, 0), "response_metadata")
	message = members(msgpack.AppendMap(message, 0), "type", "tool", "name", r.name, "id", uuid.NewString(), "tool_call_id", r.id, "status", "error", "artifact")
	message = members(append(message, 0xc0), "model_validate_json")
	return msgpack.AppendExt(nil, pydantic, message), nil
}

// withJSONResults is withResults for a list of JSON, as JavaScript writes it.
func withJSONResults(list []byte, lacks []result) ([]byte, error) {
	all := listItems(list)
	var whole [][]byte
	for i := range len(all) + 1 {
		for _, r := range lacks {
			if r.at != i {
				continue
			}
			path := jsontape.FindMember(all[r.call], `"id"`)
			members := fmt.Sprintf(`"content":%s,"tool_call_id":%s`, quoteJSON(noAnswer), quoteJSON(r.id))
			switch {
			case jsontape.FindMember(all[r.call], `"lc"`) != nil && bytes.HasPrefix(path, []byte("[")):
				message := fmt.Sprintf(`{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{%s,"name":%s,"id":%s,"status":"error","additional_kwargs":{},"response_metadata":{}}}`,
					members, quoteJSON(r.name), quoteJSON(uuid.NewString()))
				whole = append(whole, []byte(message))
			case jsontape.FindMember(all[r.call], `"tool_calls"`) != nil:
				whole = append(whole, []byte(`{"role":"tool",`+members+`}`))
			default:
				return nil, fmt.Errorf("the message of the call %s is not in a form of LangChain's", r.id)
			}
		}
		if i < len(all) {
			whole = append(whole, all[i])
		}
	}
	return slices.Concat([]byte("["), bytes.Join(whole, []byte(",")), []byte("]")), nil
}
