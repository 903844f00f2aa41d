// Command genkit_steps makes testdata/genkit/stepsproject-go-1.13.1: turns with
// tool iterations of every kind, by the SDK for Go itself, with the traces that
// the telemetry server of npm (1.43.0) wrote of them. It is no part of Hindcast:
//
//	go mod init steps && go get github.com/firebase/genkit/go@v1.13.1
//	GENKIT_TELEMETRY_SERVER=http://127.0.0.1:4099 go run .
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/firebase/genkit/go/ai"
	aix "github.com/firebase/genkit/go/ai/exp"
	"github.com/firebase/genkit/go/ai/exp/localstore"
	"github.com/firebase/genkit/go/ai/exp/tool"
	"github.com/firebase/genkit/go/genkit"
	gx "github.com/firebase/genkit/go/genkit/exp"
)

type In struct {
	What string `json:"what"`
}

func req(name, ref string, input any) *ai.Part {
	return ai.NewToolRequestPart(&ai.ToolRequest{Name: name, Ref: ref, Input: input})
}

func main() {
	ctx := context.Background()
	g := genkit.Init(ctx, genkit.WithExperimental())
	genkit.DefineModel(g, "fake/planner", &ai.ModelOptions{Supports: &ai.ModelSupports{Tools: true, Multiturn: true, SystemRole: true}},
		func(ctx context.Context, r *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			time.Sleep(2 * time.Millisecond)
			answer := func(parts ...*ai.Part) *ai.ModelResponse {
				return &ai.ModelResponse{Request: r, FinishReason: "stop", Message: &ai.Message{Role: ai.RoleModel, Content: parts},
					Usage: &ai.GenerationUsage{InputTokens: 10 * len(r.Messages), OutputTokens: 7}}
			}
			last := r.Messages[len(r.Messages)-1]
			if last.Role == ai.RoleTool {
				return answer(ai.NewTextPart("All done <&> ☃")), nil
			}
			switch text := last.Text(); {
			case strings.HasPrefix(text, "both"):
				return answer(ai.NewTextPart("Two at once."), req("lookUp", "a", map[string]any{"what": "train"}), req("lookUp", "b", map[string]any{"what": "hotel"})), nil
			case strings.HasPrefix(text, "fail"):
				return answer(req("lookUp", "a", map[string]any{"what": "train"}), req("breaks", "b", map[string]any{"what": "x"})), nil
			case strings.HasPrefix(text, "ask"):
				return answer(req("lookUp", "a", map[string]any{"what": "fare"}), req("confirm", "b", map[string]any{"what": "pay"})), nil
			case strings.HasPrefix(text, "nested"):
				return answer(req("research", "a", map[string]any{"what": "both please"})), nil
			}
			return answer(ai.NewTextPart("echo: " + last.Text())), nil
		})
	lookUp := gx.DefineTool(g, "lookUp", "looks up", func(ctx context.Context, in In) (map[string]any, error) {
		return map[string]any{"found": in.What, "price": 9007199254740993}, nil
	})
	breaks := gx.DefineTool(g, "breaks", "fails", func(ctx context.Context, in In) (string, error) {
		time.Sleep(time.Millisecond)
		return "", fmt.Errorf("no route to %s", in.What)
	})
	confirm := gx.DefineInterruptibleTool(g, "confirm", "asks", func(ctx context.Context, in In, ok *In) (string, error) {
		if ok == nil {
			return "", tool.Interrupt(map[string]any{"why": "dear"})
		}
		return "ok", nil
	})
	research := gx.DefineTool(g, "research", "generates itself", func(ctx context.Context, in In) (string, error) {
		r, err := genkit.Generate(ctx, g, ai.WithModelName("fake/planner"), ai.WithPrompt(in.What), ai.WithTools(lookUp))
		if err != nil {
			return "", err
		}
		return r.Text(), nil
	})
	prompt := aix.InlinePrompt{ai.WithModelName("fake/planner"), ai.WithSystem("You plan."), ai.WithTools(lookUp, breaks, confirm, research)}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	st, err := localstore.NewFileSessionStore[any](".genkit/snapshots/planner")
	must(err)
	planner := gx.DefineAgent(g, "planner", prompt, aix.WithSessionStore[any](st))
	free := gx.DefineAgent[any](g, "free", prompt)
	say := func(a *aix.Agent[any], session, text string) {
		out, err := a.RunText(ctx, text, aix.WithSessionID[any](session))
		fmt.Println(session, text, err)
		if out != nil {
			fmt.Println("   ", out.SnapshotID, out.FinishReason, out.Error)
		}
		time.Sleep(50 * time.Millisecond)
	}
	say(planner, "trip", "hello")
	say(planner, "trip", "both of them")
	say(planner, "trip", "nested")
	say(planner, "trip", "fail now")
	say(planner, "trip", "ask me")
	// Several turns in one run.
	conn, err := planner.Connect(ctx, aix.WithSessionID[any]("talk"))
	must(err)
	for _, text := range []string{"both first", "then this", "fail at last"} {
		must(conn.Send(&aix.AgentInput{Message: ai.NewUserTextMessage(text)}))
		for chunk, err := range conn.Receive() {
			if err != nil {
				fmt.Println("receive", err)
				break
			}
			if chunk.TurnEnd != nil {
				fmt.Println("turn", chunk.TurnEnd.SnapshotID, chunk.TurnEnd.FinishReason)
				break
			}
		}
	}
	conn.Close()
	out, err := conn.Output()
	fmt.Println(out, err)
	// An agent that keeps its state with the client.
	o, err := free.RunText(ctx, "both for free")
	fmt.Println(o, err)
	// An agent inside a flow.
	flow := genkit.DefineFlow(g, "wrap", func(ctx context.Context, text string) (string, error) {
		out, err := planner.RunText(ctx, text, aix.WithSessionID[any]("inside"))
		if err != nil {
			return "", err
		}
		return out.SnapshotID, nil
	})
	s, err := flow.Run(ctx, "both in a flow")
	fmt.Println(s, err)
	time.Sleep(500 * time.Millisecond)
}
