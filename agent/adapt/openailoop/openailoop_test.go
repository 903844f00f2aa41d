package openailoop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"hindcast/agent/adapt/openailoop"
	"hindcast/agent/record/recordtest"
	"hindcast/model"
	"hindcast/store/native/sqlite"
)

// loops are the programs of the tests.
var loops = map[string]func(ctx context.Context, db *sqlite.Store, client openai.Client, prompt string) (string, error){"chat": runChat, "responses": runResponses}

// TestMain is the program of the tests: with arguments it runs a loop for one prompt and ends.
func TestMain(m *testing.M) {
	if len(os.Args) != 5 || loops[os.Args[1]] == nil {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	db, err := sqlite.OpenOrCreate(ctx, os.Args[2])
	if err == nil {
		defer db.Close()
		client := openai.NewClient(option.WithBaseURL(os.Args[4]), option.WithAPIKey("none"), option.WithMaxRetries(0))
		var said string
		said, err = loops[os.Args[1]](ctx, db, client, os.Args[3])
		fmt.Println(said)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// died is the exit code of a program that dies in the midst of a tool.
const died = 3

// work is a tool. It dies where the prompt says so.
func work(prompt, arguments string) string {
	if prompt == "crash" {
		os.Exit(died)
	}
	return "did " + arguments
}

// runChat asks the model until it calls no tool. Without a prompt it goes on from where it stands.
func runChat(ctx context.Context, db *sqlite.Store, client openai.Client, prompt string) (string, error) {
	params := openai.ChatCompletionNewParams{Model: "scripted", Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "work"})}}
	loop, err := openailoop.OpenChat(ctx, db, "session")
	if err != nil {
		return "", err
	}
	if _, err := loop.LoadMessages(&params); err != nil {
		return "", err
	}
	if prompt != "" && len(openailoop.PendingCalls(&params)) == 0 {
		params.Messages = append(params.Messages, openai.UserMessage(prompt))
	}
	for {
		var results []openai.ChatCompletionMessageParamUnion
		for _, call := range openailoop.PendingCalls(&params) {
			results = append(results, openai.ToolMessage(work(prompt, call.OfFunction.Function.Arguments), call.OfFunction.ID))
		}
		if results != nil {
			if err := loop.AppendResults(ctx, &params, results...); err != nil {
				return "", err
			}
		}
		answer, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return "", err
		}
		if err := loop.AppendAnswer(ctx, &params, answer); err != nil {
			return "", err
		}
		if len(openailoop.PendingCalls(&params)) == 0 {
			return answer.Choices[0].Message.Content, nil
		}
	}
}

// runResponses does the same by the Responses API.
func runResponses(ctx context.Context, db *sqlite.Store, client openai.Client, prompt string) (string, error) {
	params := responses.ResponseNewParams{Model: "scripted", Instructions: openai.String("Be brief."),
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("work", map[string]any{"type": "object"}, false)}}
	loop, err := openailoop.OpenResponses(ctx, db, "session")
	if err != nil {
		return "", err
	}
	resumed, err := loop.LoadInput(&params)
	if err != nil {
		return "", err
	}
	if !resumed {
		params.Input.OfString = openai.String(prompt)
	} else if prompt != "" && len(openailoop.PendingFunctionCalls(&params)) == 0 {
		params.Input.OfInputItemList = append(params.Input.OfInputItemList, responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser))
	}
	for {
		var outputs []responses.ResponseInputItemUnionParam
		for _, call := range openailoop.PendingFunctionCalls(&params) {
			output := responses.ResponseInputItemParamOfFunctionCallOutput(work(prompt, call.Arguments))
			output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			outputs = append(outputs, output)
		}
		if outputs != nil {
			if err := loop.AppendOutputs(ctx, &params, outputs...); err != nil {
				return "", err
			}
		}
		answer, err := client.Responses.New(ctx, params)
		if err != nil {
			return "", err
		}
		if err := loop.AppendAnswer(ctx, &params, answer); err != nil {
			return "", err
		}
		if len(openailoop.PendingFunctionCalls(&params)) == 0 {
			return answer.OutputText(), nil
		}
	}
}

// scriptedModel answers each prompt with two calls and, when it has their results, with the number of messages that it was sent. It
// refuses a call without a result.
func scriptedModel(t *testing.T) string {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Instructions    string
			Tools           []any
			Messages, Input []map[string]any
		}
		body := json.NewDecoder(r.Body)
		var raw map[string]any
		if err := body.Decode(&raw); err != nil {
			t.Error(err)
		}
		if words, ok := raw["input"].(string); ok {
			raw["input"] = []any{map[string]any{"type": "message", "role": "user", "content": words}}
		}
		text, _ := json.Marshal(raw)
		if err := json.Unmarshal(text, &request); err != nil {
			t.Error(err)
		}
		chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
		messages := request.Input
		if chat {
			messages = request.Messages
			if messages[0]["role"] != "system" {
				t.Errorf("the first message is %v", messages[0])
			}
		} else if request.Instructions != "Be brief." {
			t.Errorf("the instructions are %q", request.Instructions)
		}
		if len(request.Tools) != 1 {
			t.Errorf("%d tools", len(request.Tools))
		}
		open := map[any]bool{}
		for _, m := range messages {
			calls, _ := m["tool_calls"].([]any)
			for _, call := range calls {
				open[call.(map[string]any)["id"]] = true
			}
			switch {
			case m["type"] == "function_call":
				open[m["call_id"]] = true
			case m["type"] == "function_call_output":
				delete(open, m["call_id"])
			case m["role"] == "tool":
				delete(open, m["tool_call_id"])
			}
		}
		if len(open) > 0 {
			t.Errorf("calls have no results: %v", open)
		}
		asked++
		last := messages[len(messages)-1]
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer(chat, last["role"] == "user", asked, len(messages))); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// answer returns an answer of either API, with two calls or with words. All have the same id, as those of some servers.
func answer(chat, calls bool, asked, sent int) map[string]any {
	words := fmt.Sprint("was sent ", sent)
	ids := []string{fmt.Sprint("call_a", asked), fmt.Sprint("call_b", asked)}
	if chat {
		message, reason := map[string]any{"role": "assistant", "content": words}, "stop"
		if calls {
			var made []any
			for _, id := range ids {
				made = append(made, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "work", "arguments": `{"n": 1.50}`}})
			}
			message, reason = map[string]any{"role": "assistant", "content": nil, "tool_calls": made}, "tool_calls"
		}
		return map[string]any{"id": "same", "object": "chat.completion", "model": "scripted-1", "usage": map[string]any{"prompt_tokens": sent, "completion_tokens": 3},
			"choices": []any{map[string]any{"index": 0, "finish_reason": reason, "message": message}}}
	}
	output := []any{map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": words, "annotations": []any{}}}}}
	if calls {
		output = []any{map[string]any{"id": "rs_1", "type": "reasoning", "summary": []any{}, "encrypted_content": "c2VjcmV0"}}
		for _, id := range ids {
			output = append(output, map[string]any{"id": "fc_" + id, "type": "function_call", "call_id": id, "name": "work", "arguments": `{"n": 1.50}`, "status": "completed"})
		}
	}
	return map[string]any{"id": "same", "object": "response", "model": "scripted-1", "status": "completed", "output": output, "usage": map[string]any{"input_tokens": sent, "output_tokens": 3}}
}

// drawn returns a word for each visit of the session, and the visits.
func drawn(t *testing.T, db *sqlite.Store) (words []string, visits []model.Header) {
	t.Helper()
	visits = recordtest.ListVisits(t, db, "session")
	for _, h := range visits {
		words = append(words, fmt.Sprint(h.Index, " ", h.Event, " ", h.Orphaned))
	}
	return words, visits
}

// TestLoops_goOnInANewProcess runs a process for each prompt. One dies in the midst of a tool, and a person goes back in the end.
func TestLoops_goOnInANewProcess(t *testing.T) {
	for name, one := range map[string]struct {
		first, crashed, back string
		parts                []string
		says                 string
	}{
		"chat": {"was sent 5", "was sent 10", "was sent 5",
			[]string{`"messages":[{"content":"Be brief.","role":"system"}`, `{\"n\": 1.50}`, `"tools":[{`}, `{model=scripted-1, finish_reason=stop, input_tokens=10, output_tokens=3}`},
		"responses": {"was sent 6", "was sent 13", "was sent 6",
			[]string{`"instructions":"Be brief."`, `{\"n\": 1.50}`, `"encrypted_content":"c2VjcmV0"`, `"tools":[{`}, `{model=scripted-1, status=completed, input_tokens=13, output_tokens=3}`},
	} {
		t.Run(name, func(t *testing.T) {
			server, file := scriptedModel(t), filepath.Join(t.TempDir(), "chat.db")
			if got := recordtest.Rerun(t, 0, name, file, "one", server); got != one.first {
				t.Errorf("at first: %q", got)
			}
			recordtest.Rerun(t, died, name, file, "crash", server)
			if got := recordtest.Rerun(t, 0, name, file, "go on", server); got != one.crashed {
				t.Errorf("behind the crash: %q", got)
			}
			db := recordtest.OpenStore(t, file)
			words, visits := drawn(t, db)
			if want := []string{"0 tool iteration false", "1 turn end false", "2 tool iteration false", "3 turn end false"}; !reflect.DeepEqual(words, want) {
				t.Fatalf("the session is %q, and not %q", words, want)
			}
			if got := visits[3].ProgramText(); got != one.says {
				t.Errorf("the last visit says %s", got)
			}
			state, err := db.State(t.Context(), visits[3].Ref())
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range one.parts {
				if !bytes.Contains(state, []byte(part)) {
					t.Errorf("the state has no %s: %s", part, state)
				}
			}
			recordtest.Restore(t, db, &visits[0])
			if got := recordtest.Rerun(t, 0, name, file, "", server); got != one.back {
				t.Errorf("after the restore: %q", got)
			}
			words, _ = drawn(t, db)
			if want := []string{"0 tool iteration false", "1 turn end true", "2 tool iteration true", "3 turn end true", "1 turn end false"}; !reflect.DeepEqual(words, want) {
				t.Errorf("after the restore the session is %q, and not %q", words, want)
			}
		})
	}
}

// A completion without a choice is told.
func TestChat_refuses(t *testing.T) {
	db := recordtest.OpenStore(t, filepath.Join(t.TempDir(), "chat.db"))
	loop, err := openailoop.OpenChat(t.Context(), db, "session")
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.AppendAnswer(t.Context(), &openai.ChatCompletionNewParams{}, &openai.ChatCompletion{}); !errors.Is(err, openailoop.ErrNoChoice) {
		t.Errorf("without a choice: %v", err)
	}
}
