package einostore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"hindcast/agent/adapt/einostore"
	"hindcast/agent/record/recordtest"
	"hindcast/model"
	"hindcast/store/native/sqlite"
)

// TestMain is the program of the tests: with arguments it runs a graph or an agent once and ends.
func TestMain(m *testing.M) {
	run := map[string]func(ctx context.Context, store *einostore.Store, id, words, server string) (string, error){"graph": runGraph, "agent": runAgent}
	if len(os.Args) != 6 || run[os.Args[1]] == nil {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	db, err := sqlite.OpenOrCreate(ctx, os.Args[2])
	if err == nil {
		defer db.Close()
		var said string
		said, err = run[os.Args[1]](ctx, einostore.New(db), os.Args[3], os.Args[4], os.Args[5])
		fmt.Println(said)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// steps is the state of the graph.
type steps struct{ Done []string }

func init() { schema.RegisterName[*steps]("hindcast_test_steps") }

// runGraph runs a graph that does three steps and asks before each. It returns the steps that are done.
func runGraph(ctx context.Context, store *einostore.Store, id, words, _ string) (string, error) {
	graph := compose.NewGraph[string, string](compose.WithGenLocalState(func(context.Context) *steps { return &steps{} }))
	do := compose.InvokableLambda(func(ctx context.Context, in string) (out string, err error) {
		err = compose.ProcessState(ctx, func(_ context.Context, s *steps) error {
			s.Done = append(s.Done, fmt.Sprintf("%d <%s>", len(s.Done)+1, in))
			out = strings.Join(s.Done, ", ")
			return nil
		})
		return out, err
	})
	var problems error
	check := func(err error) { problems = errors.Join(problems, err) }
	check(graph.AddLambdaNode("first", do))
	check(graph.AddLambdaNode("second", do))
	check(graph.AddLambdaNode("third", do))
	check(graph.AddEdge(compose.START, "first"))
	check(graph.AddEdge("first", "second"))
	check(graph.AddEdge("second", "third"))
	check(graph.AddEdge("third", compose.END))
	runnable, err := graph.Compile(ctx, compose.WithCheckPointStore(store), compose.WithInterruptBeforeNodes([]string{"second", "third"}))
	if err = errors.Join(problems, err); err != nil {
		return "", err
	}
	out, err := runnable.Invoke(ctx, words, compose.WithCheckPointID(id))
	if info, ok := compose.ExtractInterruptInfo(err); ok {
		return fmt.Sprintf("stopped before %s: %s", strings.Join(info.BeforeNodes, ", "), strings.Join(info.State.(*steps).Done, ", ")), nil
	}
	return out, err
}

// runAgent runs an agent with a tool that asks a person, whose answer is words if the session has a checkpoint.
func runAgent(ctx context.Context, store *einostore.Store, id, words, server string) (string, error) {
	chat, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: server, APIKey: "none", Model: "scripted"})
	if err != nil {
		return "", err
	}
	type input struct {
		What string `json:"what"`
	}
	deploy, err := utils.InferTool("deploy", "deploys", func(ctx context.Context, in input) (string, error) {
		if asked, _, _ := tool.GetInterruptState[any](ctx); !asked {
			return "", tool.Interrupt(ctx, "may I deploy "+in.What+"?")
		}
		if answered, _, answer := tool.GetResumeContext[string](ctx); answered {
			return in.What + ": " + answer, nil
		}
		return "", tool.Interrupt(ctx, "well?")
	})
	if err != nil {
		return "", err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "helper", Description: "helps", Model: chat,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{deploy}}}})
	if err != nil {
		return "", err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: store})
	var events *adk.AsyncIterator[*adk.AgentEvent]
	if answer, ok := strings.CutPrefix(words, "answer "); ok {
		where, said, _ := strings.Cut(answer, " ")
		events, err = runner.ResumeWithParams(ctx, id, &adk.ResumeParams{Targets: map[string]any{where: said}})
		if err != nil {
			return "", err
		}
	} else {
		events = runner.Query(ctx, words, adk.WithCheckPointID(id))
	}
	said := ""
	for {
		event, ok := events.Next()
		if !ok {
			return said, nil
		}
		if event.Err != nil {
			return "", event.Err
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, one := range event.Action.Interrupted.InterruptContexts {
				if one.IsRootCause {
					said = fmt.Sprint(one.ID, " ", one.Info)
				}
			}
		} else if event.Output != nil && event.Output.MessageOutput != nil {
			said = event.Output.MessageOutput.Message.Content
		}
	}
}

// model answers as OpenAI's chat completions: with a call of the tool at first, then with the tool's words.
func scriptedModel(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		last := request.Messages[len(request.Messages)-1]
		answer := map[string]any{"role": "assistant", "content": "the tool said " + last.Content}
		if last.Role == "user" {
			answer = map[string]any{"role": "assistant", "content": "", "tool_calls": []any{map[string]any{
				"id": "call-1", "type": "function", "function": map[string]any{"name": "deploy", "arguments": `{"what":"it"}`}}}}
		}
		w.Header().Set("Content-Type", "application/json")
		err := json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "model": "scripted",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": answer}}})
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// putBack puts a session back to its first visit, and returns how many it has.
func putBack(t *testing.T, file, session string) (visits int) {
	t.Helper()
	db := recordtest.OpenStore(t, file)
	list := recordtest.ListVisits(t, db, session)
	recordtest.Restore(t, db, &list[0])
	return len(list)
}

// Each run of a graph is a new process, which goes on from the checkpoint in the store; and from an earlier one after a restore.
func TestStore_graphGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "eino.db")
	one := "1 <go & see>"
	two := one + ", 2 <" + one + ">"
	for n, want := range []string{
		"stopped before second: " + one,
		"stopped before third: " + two,
		two + ", 3 <" + two + ">",
	} {
		if got := recordtest.Rerun(t, 0, "graph", file, "chat", "go & see", ""); got != want {
			t.Errorf("run %d: %s, and not %s", n, got, want)
		}
	}
	if visits := putBack(t, file, "chat"); visits != 2 {
		t.Errorf("%d checkpoints are kept, and not 2", visits)
	}
	if got, want := recordtest.Rerun(t, 0, "graph", file, "chat", "", ""), "stopped before third: "+two; got != want {
		t.Errorf("after the restore: %s, and not %s", got, want)
	}
	if got, want := recordtest.Rerun(t, 0, "graph", file, "other", "else", ""), "stopped before second: 1 <else>"; got != want {
		t.Errorf("another session: %s, and not %s", got, want)
	}
}

// An agent is resumed in a new process with a person's answer; and once more, with another one, after a restore.
func TestStore_agentGoesOn(t *testing.T) {
	server, file := scriptedModel(t), filepath.Join(t.TempDir(), "eino.db")
	where, asks, _ := strings.Cut(recordtest.Rerun(t, 0, "agent", file, "chat", "deploy it", server), " ")
	if asks != "may I deploy it?" {
		t.Fatalf("%s asks %q", where, asks)
	}
	if got := recordtest.Rerun(t, 0, "agent", file, "chat", "answer "+where+" yes", server); got != "the tool said it: yes" {
		t.Errorf("answered %q", got)
	}
	if visits := putBack(t, file, "chat"); visits != 1 {
		t.Errorf("%d checkpoints are kept, and not 1", visits)
	}
	if got := recordtest.Rerun(t, 0, "agent", file, "chat", "answer "+where+" no", server); got != "the tool said it: no" {
		t.Errorf("answered %q", got)
	}
}

// A checkpoint of any bytes is given back as it was, at once and by several writers.
func TestStore_holdsCheckpoints(t *testing.T) {
	db := recordtest.OpenStore(t, filepath.Join(t.TempDir(), "eino.db"))
	s := einostore.New(db)
	if got, ok, err := s.Get(t.Context(), "chat"); got != nil || ok || err != nil {
		t.Errorf("before the first: %q %t %v", got, ok, err)
	}
	for _, checkpoint := range []string{`{"a":[1,2.50,"é"]}`, "\x00gob\xff", `{"broken":`, "", "null", `"text"`} {
		if err := s.Set(t.Context(), "chat", []byte(checkpoint)); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := s.Get(t.Context(), "chat"); string(got) != checkpoint || !ok || err != nil {
			t.Errorf("set %q, got %q %t %v", checkpoint, got, ok, err)
		}
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for k := range 4 {
				if err := s.Set(t.Context(), "many", fmt.Appendf(nil, `{"n":%d,"k":%d}`, n, k)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	visits := recordtest.ListVisits(t, db, "many")
	if len(visits) != 16 || slices.ContainsFunc(visits, func(h model.Header) bool { return h.Orphaned }) {
		t.Errorf("the visits are %+v", visits)
	}
	if err := s.Set(t.Context(), "", nil); err == nil {
		t.Error("a checkpoint without an id is set")
	}
}
