package anthropicloop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"hindcast/agent/adapt/anthropicloop"
	"hindcast/agent/record/recordtest"
	"hindcast/model"
	"hindcast/store/native/sqlite"
)

// TestMain is the program of the tests: with arguments it runs the loop for one prompt and ends.
func TestMain(m *testing.M) {
	if len(os.Args) != 6 || os.Args[1] != "run" {
		os.Exit(m.Run())
	}
	if err := run(context.Background(), os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// died is the exit code of a program that dies in the midst of a tool.
const died = 3

// run is a loop as a program has one: it asks the model until that calls no tool. Without a prompt it goes on from where it stands. It stops in the midst of a tool that says "crash".
func run(ctx context.Context, file, session, prompt, server string) error {
	db, err := sqlite.OpenOrCreate(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	client := anthropic.NewClient(option.WithBaseURL(server), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: "scripted", MaxTokens: 1000, System: []anthropic.TextBlockParam{{Text: "Be brief."}},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "add", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"n": map[string]string{"type": "number"}}}}}},
	}
	loop, err := anthropicloop.Open(ctx, db, session)
	if err != nil {
		return err
	}
	if _, err := loop.LoadMessages(&params); err != nil {
		return err
	}
	if prompt != "" && len(anthropicloop.PendingCalls(&params)) == 0 {
		params.Messages = append(params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(prompt)))
	}
	for {
		var results []anthropic.ContentBlockParamUnion
		for _, call := range anthropicloop.PendingCalls(&params) {
			if prompt == "crash" {
				os.Exit(died)
			}
			text, err := json.Marshal(call.Input)
			if err != nil {
				return err
			}
			results = append(results, anthropic.NewToolResultBlock(call.ID, "added "+string(text), false))
		}
		if results != nil {
			if err := loop.AppendResults(ctx, &params, results...); err != nil {
				return err
			}
		}
		answer, err := client.Messages.New(ctx, params)
		if err != nil {
			return err
		}
		if err := loop.AppendAnswer(ctx, &params, answer); err != nil {
			return err
		}
		if len(anthropicloop.PendingCalls(&params)) == 0 {
			fmt.Println(answer.Content[len(answer.Content)-1].Text)
			return nil
		}
	}
}

// scriptedModel answers each prompt with two calls and, when it has their results, with how many messages it was sent. It
// refuses what the real one refuses: roles that do not alternate, and calls without results.
func scriptedModel(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			System, Tools []any
			Messages      []struct {
				Role    string
				Content []map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		if len(request.System) != 1 || len(request.Tools) != 1 {
			t.Errorf("asked with %d system texts and %d tools", len(request.System), len(request.Tools))
		}
		open := map[any]bool{}
		for n, m := range request.Messages {
			if want := []string{"user", "assistant"}[n%2]; m.Role != want {
				t.Errorf("message %d is of role %s", n, m.Role)
			}
			for _, block := range m.Content {
				switch block["type"] {
				case "tool_use":
					open[block["id"]] = true
				case "tool_result":
					if !open[block["tool_use_id"]] {
						t.Errorf("message %d has a result without a call: %v", n, block)
					}
					delete(open, block["tool_use_id"])
				}
			}
		}
		if len(open) > 0 {
			t.Errorf("calls have no results: %v", open)
		}
		n := len(request.Messages)
		answer := map[string]any{"id": "same", "type": "message", "role": "assistant", "model": "scripted-1",
			"usage": map[string]any{"input_tokens": 10 * n, "output_tokens": 7, "cache_read_input_tokens": 5}}
		if request.Messages[n-1].Content[0]["type"] == "text" {
			answer["stop_reason"] = "tool_use"
			answer["content"] = []any{
				map[string]any{"type": "thinking", "thinking": "hm <two>", "signature": "c2ln"},
				map[string]any{"type": "tool_use", "id": fmt.Sprint("toolu_a", n), "name": "add", "input": map[string]any{"n": 1.50}},
				map[string]any{"type": "tool_use", "id": fmt.Sprint("toolu_b", n), "name": "add", "input": map[string]any{}},
			}
		} else {
			answer["stop_reason"] = "end_turn"
			answer["content"] = []any{map[string]any{"type": "text", "text": fmt.Sprintf("was sent %d", n)}}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// drawn returns a word for each visit of the session, and the visits.
func drawn(t *testing.T, db *sqlite.Store) (words []string, visits []model.Header) {
	t.Helper()
	visits = recordtest.ListVisits(t, db, "chat")
	for _, h := range visits {
		words = append(words, fmt.Sprint(h.Index, " ", h.Event, " ", h.Attributes.Facts()[1].Value, " ", h.Orphaned))
	}
	return words, visits
}

// TestLoop_goesOnInANewProcess runs a process for each prompt. One dies in the midst of a tool, and a person goes back in the end.
func TestLoop_goesOnInANewProcess(t *testing.T) {
	server, file := scriptedModel(t), filepath.Join(t.TempDir(), "chat.db")
	if got := recordtest.Rerun(t, 0, "run", file, "chat", "one", server); got != "was sent 3" {
		t.Errorf("at first: %q", got)
	}
	recordtest.Rerun(t, died, "run", file, "chat", "crash", server)
	if got := recordtest.Rerun(t, 0, "run", file, "chat", "go on", server); got != "was sent 7" {
		t.Errorf("behind the crash: %q", got)
	}
	db := recordtest.OpenStore(t, file)
	words, visits := drawn(t, db)
	want := []string{"0 tool iteration tool_use false", "1 turn end end_turn false", "2 tool iteration tool_use false", "3 turn end end_turn false"}
	if !reflect.DeepEqual(words, want) {
		t.Errorf("the session is %q, and not %q", words, want)
	}
	if got := visits[3].ProgramText(); got != `{model=scripted-1, stop_reason=end_turn, input_tokens=75, output_tokens=7}` {
		t.Errorf("the last visit says %s", got)
	}
	state, err := db.State(t.Context(), visits[3].Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"system":[{"text":"Be brief."`, `"signature":"c2ln"`, `{"n":1.5}`, `"tools":[{`, `"model":"scripted"`} {
		if !bytes.Contains(state, []byte(part)) {
			t.Errorf("the state has no %s: %s", part, state)
		}
	}

	recordtest.Restore(t, db, &visits[0])
	if got := recordtest.Rerun(t, 0, "run", file, "chat", "", server); got != "was sent 3" {
		t.Errorf("after the restore: %q", got)
	}
	words, _ = drawn(t, db)
	want = []string{"0 tool iteration tool_use false", "1 turn end end_turn true", "2 tool iteration tool_use true", "3 turn end end_turn true", "1 turn end end_turn false"}
	if !reflect.DeepEqual(words, want) {
		t.Errorf("after the restore the session is %q, and not %q", words, want)
	}
}
