package messages

import (
	"encoding/json"
	"fmt"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The oracle does what RepositorySessionManager.initialize of strands-agents
// 1.62.0 does, on decoded JSON and on the whole list at once. It shares nothing
// with the code that it is compared with.

type object = map[string]any

func contentOf(message any) []any { return message.(object)["content"].([]any) }

func holds(message any, key string) bool {
	return slices.ContainsFunc(contentOf(message), func(block any) bool {
		_, ok := block.(object)[key]
		return ok
	})
}

func blockID(block any, key string) any { return block.(object)[key].(object)["toolUseId"] }

// oracleRepairs is _fix_broken_tool_use.
func oracleRepairs(messages []any) []any {
	for i := len(messages) - 1; i >= 0; i-- {
		message := messages[i].(object)
		if message["role"] != "user" || !holds(message, "toolResult") {
			continue
		}
		if i > 0 && holds(messages[i-1], "toolUse") {
			continue
		}
		var remaining []any
		for _, block := range contentOf(message) {
			if _, ok := block.(object)["toolResult"]; !ok {
				remaining = append(remaining, block)
			}
		}
		if len(remaining) > 0 {
			message["content"] = remaining
		} else {
			messages = slices.Delete(messages, i, i+1)
		}
	}
	for i := len(messages) - 2; i >= 0; i-- {
		if !holds(messages[i], "toolUse") {
			continue
		}
		var calls []any
		for _, block := range contentOf(messages[i]) {
			if _, ok := block.(object)["toolUse"]; ok {
				calls = append(calls, blockID(block, "toolUse"))
			}
		}
		results, others := object{}, []any{}
		for _, block := range contentOf(messages[i+1]) {
			if _, ok := block.(object)["toolResult"]; ok {
				results[blockID(block, "toolResult").(string)] = block
			} else {
				others = append(others, block)
			}
		}
		asked := object{}
		for _, id := range calls {
			asked[id.(string)] = true
		}
		if sameKeys(results, asked) {
			continue
		}
		if len(results) == 0 && len(others) > 0 {
			messages = slices.Insert(messages, i+1, any(object{"role": "user"}))
			others = nil
		}
		content := []any{}
		for _, id := range calls {
			block, ok := results[id.(string)]
			if !ok {
				block = object{"toolResult": object{"toolUseId": id, "status": "error", "content": []any{object{"text": "Tool was interrupted."}}}}
			}
			content = append(content, block)
		}
		messages[i+1].(object)["content"] = append(content, others...)
	}
	return messages
}

func sameKeys(a, b object) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if _, ok := b[key]; !ok {
			return false
		}
	}
	return true
}

// oracleLoads is what a start puts into agent.messages.
func oracleLoads(messages []any, removed, pinned int, summary any) []any {
	pinned = min(pinned, len(messages))
	loaded := slices.Clone(messages[:pinned])
	if summary != nil {
		loaded = append(loaded, summary)
	}
	return oracleRepairs(append(loaded, messages[min(len(messages), pinned+removed):]...))
}

// anyMessage draws a message of a log: any order of roles, tool calls and
// results from a few ids, so that most logs have something wrong in them.
func anyMessage(t *rapid.T, label string) object {
	role := rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, label+" role")
	block := rapid.Custom(func(t *rapid.T) object {
		id := rapid.SampledFrom([]string{"a", "b", "ü\n"}).Draw(t, "id")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return object{"toolUse": object{"toolUseId": id, "name": "tool", "input": object{"n": 1}}}
		case 1:
			return object{"toolResult": object{"toolUseId": id, "status": "success", "content": []any{object{"text": rapid.StringMatching("[a-z<]{0,3}").Draw(t, "result")}}}}
		}
		return object{"text": rapid.String().Draw(t, "text")}
	})
	content := []any{}
	for _, b := range rapid.SliceOfN(block, 0, 4).Draw(t, label+" content") {
		content = append(content, b)
	}
	return object{"role": role, "content": content, "extra": json.Number("12345678901234567890")}
}

// decoded returns a copy of JSON that nothing else holds.
func decoded(t interface{ Fatal(...any) }, data []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func encodedJSON(t interface{ Fatal(...any) }, value any) []byte {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Every state of any log holds what the SDK would load if the log ended there.
func TestState_ofAnyLogIsWhatTheSDKWouldLoad(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	logs := 0
	rapid.Check(t, func(rt *rapid.T) {
		logs++
		var messages []object
		for i := range rapid.IntRange(1, 7).Draw(rt, "messages") {
			messages = append(messages, anyMessage(rt, fmt.Sprint(i)))
		}
		removed := rapid.IntRange(0, len(messages)+1).Draw(rt, "removed")
		pinned := rapid.IntRange(0, 2).Draw(rt, "pinned")
		manager := object{"__name__": "SummarizingConversationManager", "removed_message_count": removed, "pinned_head_count": pinned}
		var summary any
		if rapid.Bool().Draw(rt, "summary") {
			summary = anyMessage(rt, "summary")
			manager["summary_message"] = summary
		}
		f := written{
			"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`),
			"agent.json":   encodedJSON(rt, object{"agent_id": "x", "state": object{}, "conversation_manager_state": manager}),
		}
		for i, m := range messages {
			f[fmt.Sprintf("messages/message_%d.json", i)] = encodedJSON(rt, object{"message": m, "message_id": i})
		}
		store := filepath.Join(dir, fmt.Sprint(logs))
		f.write(t, filepath.Join(store, "session_h"))
		s := open(t, store)
		for i, h := range storetest.Headers(t, s, "h") {
			var stored []any
			for _, m := range messages[:i+1] {
				stored = append(stored, decoded(rt, encodedJSON(rt, m)))
			}
			window, head, prefix := removed, pinned, summary
			if i < len(messages)-1 && i < pinned+removed {
				window, head, prefix = 0, 0, nil
			}
			if prefix != nil {
				prefix = decoded(rt, encodedJSON(rt, prefix))
			}
			want := encodedJSON(rt, oracleLoads(stored, window, head, prefix))
			if string(want) == "null" {
				want = []byte("[]")
			}
			whole := state(t, s, h)
			if h.Size != int64(len(whole)) {
				rt.Fatalf("message %d: the header says %d bytes, the state has %d", i, h.Size, len(whole))
			}
			got := decoded(rt, whole).(object)["messages"]
			if got := encodedJSON(rt, got); string(got) != string(want) {
				rt.Fatalf("message %d, %d removed, %d pinned:\n%s\nwant\n%s", i, removed, pinned, got, want)
			}
		}
		storetest.Apart(rt, s, storetest.Headers(t, s, "h"))
	})
}
