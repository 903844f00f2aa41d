// Command interop drives the real Genkit SDK for Go with a model that says what
// it is told to. It is a module of its own and no part of Hindcast.
//
// interop_test.go starts it and gives it one command a line on its standard
// input, as JSON; each is answered by one line. No network is used, and nothing
// here is a stand-in but the model.
//
//	{"do": "write", "dir": D, "scenario": "order"}
//	{"do": "resume", "dir": D, "session": S, "call": "agent.RunText(ctx, \"hi\", …)"}
//	{"do": "latest", "dir": D, "session": S}
//
// A call is Go; it is read as it stands in the plan that Hindcast made. The answers
// are those of the driver for Strands in Python, which says what is in them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/firebase/genkit/go/ai"
	aix "github.com/firebase/genkit/go/ai/exp"
	"github.com/firebase/genkit/go/ai/exp/localstore"
	"github.com/firebase/genkit/go/ai/exp/tool"
	"github.com/firebase/genkit/go/genkit"
	gx "github.com/firebase/genkit/go/genkit/exp"
)

// State is the custom state of the agent.
type State struct {
	Drinks []string       `json:"drinks,omitempty"`
	Total  float64        `json:"total"`
	Notes  map[string]any `json:"notes,omitempty"`
}

// barista is an agent over one store, and what was seen of it.
type barista struct {
	agent *aix.Agent[State]
	store *localstore.FileSessionStore[State]
	pay   *aix.InterruptibleTool[payment, receipt, approval]

	resumed bool // the model says "resumed" and asks for no tool

	mu    sync.Mutex
	seen  [][]*ai.Message
	tools []string
}

type payment struct {
	Amount float64 `json:"amount"`
}

type receipt struct {
	Paid bool `json:"paid"`
}

type approval struct {
	Approved bool `json:"approved"`
}

func open(ctx context.Context, dir string) (*barista, error) {
	b := &barista{seen: [][]*ai.Message{}, tools: []string{}}
	g := genkit.Init(ctx, genkit.WithExperimental())
	genkit.DefineModel(g, "script/one", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true, SystemRole: true}}, b.answer)
	add := gx.DefineTool(g, "addToOrder", "adds one drink", func(ctx context.Context, in struct {
		Drink string `json:"drink"`
	}) (string, error) {
		b.ran("addToOrder")
		aix.SessionFromContext[State](ctx).UpdateCustom(func(s State) State {
			s.Drinks = append(s.Drinks, in.Drink)
			return s
		})
		return "added " + in.Drink, nil
	})
	price := gx.DefineTool(g, "priceOrder", "prices the order", func(ctx context.Context, in struct{}) (map[string]any, error) {
		b.ran("priceOrder")
		s := aix.SessionFromContext[State](ctx)
		s.UpdateCustom(func(o State) State {
			o.Total = 2.5 * float64(len(o.Drinks))
			o.Notes = map[string]any{"currency": "EUR", "big": json.Number("9007199254740993"), "html": "<b>&</b> ☕"}
			return o
		})
		s.AddArtifacts(&aix.Artifact{Name: "receipt.txt", Parts: []*ai.Part{ai.NewTextPart(fmt.Sprintf("%.2f", s.Custom().Total))}})
		return map[string]any{"total": s.Custom().Total}, nil
	})
	b.pay = gx.DefineInterruptibleTool(g, "confirmPay", "asks the human", func(ctx context.Context, in payment, yes *approval) (receipt, error) {
		if yes == nil {
			return receipt{}, tool.Interrupt(map[string]any{"question": fmt.Sprintf("pay %.2f?", in.Amount)})
		}
		b.ran("confirmPay")
		return receipt{yes.Approved}, nil
	})
	var err error
	if b.store, err = localstore.NewFileSessionStore[State](dir); err != nil {
		return nil, err
	}
	b.agent = gx.DefineAgent(g, "barista", aix.InlinePrompt{
		ai.WithModelName("script/one"), ai.WithSystem("You are a barista."), ai.WithTools(add, price, b.pay),
	}, aix.WithSessionStore[State](b.store))
	return b, nil
}

func (b *barista) ran(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools = append(b.tools, name)
}

// answer is the model. What it says depends on what the user said last, and on how
// many rounds of tools came after that.
func (b *barista) answer(ctx context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	var asked []*ai.Message // the system prompt is the program's and not the session's
	for _, m := range req.Messages {
		if m.Role != ai.RoleSystem {
			asked = append(asked, m)
		}
	}
	b.mu.Lock()
	b.seen = append(b.seen, asked)
	b.mu.Unlock()

	said, rounds := "", 0
	for _, m := range asked {
		switch m.Role {
		case ai.RoleUser:
			said, rounds = m.Text(), 0
		case ai.RoleTool:
			rounds++
		}
	}
	says := func(parts ...*ai.Part) (*ai.ModelResponse, error) {
		return &ai.ModelResponse{Request: req, FinishReason: ai.FinishReasonStop, Message: ai.NewModelMessage(parts...)}, nil
	}
	calls := func(name, ref string, input map[string]any) *ai.Part {
		return ai.NewToolRequestPart(&ai.ToolRequest{Name: name, Ref: ref, Input: input})
	}
	drinks, order := strings.CutPrefix(said, "order ")
	switch {
	case b.resumed:
		return says(ai.NewTextPart("resumed"))
	case said == "fail", strings.HasPrefix(said, "flaky") && rounds == 1:
		return nil, errors.New("the model is away")
	case strings.HasPrefix(said, "flaky"):
		return says(calls("addToOrder", "flaky-1", map[string]any{"drink": "tonic"}))
	case order && rounds == 0:
		var parts []*ai.Part
		for i, drink := range strings.Split(drinks, ", ") {
			parts = append(parts, calls("addToOrder", fmt.Sprintf("call-%d", i+1), map[string]any{"drink": drink}))
		}
		return says(parts...)
	case order && rounds == 1:
		return says(calls("priceOrder", "call-price", map[string]any{}))
	case strings.HasPrefix(said, "pay") && rounds == 0:
		return says(calls("confirmPay", "pay-1", map[string]any{"amount": 7.5}))
	}
	return says(ai.NewTextPart("you said " + said))
}

// step is one turn of a scenario: what the user says, and for a branch the turn
// whose snapshot it goes on from, counted from 1.
type step struct {
	says string
	from int
}

var scenarios = map[string][]step{
	"turns":     {{says: "hello"}, {says: "and <two> & ☕"}, {says: "bye"}},
	"order":     {{says: "order tea, <mocha>"}, {says: "order espresso"}, {says: "thanks"}},
	"branch":    {{says: "hello"}, {says: "left"}, {says: "right", from: 1}, {says: "further right"}, {says: "left again", from: 2}},
	"failed":    {{says: "hello"}, {says: "fail"}},
	"flaky":     {{says: "hello"}, {says: "flaky order"}, {says: "never mind"}},
	"interrupt": {{says: "hello"}, {says: "pay"}},
}

type command struct{ Do, Dir, Scenario, Session, Call string }

func write(ctx context.Context, c command) (any, error) {
	b, err := open(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range scenarios[c.Scenario] {
		how := aix.WithSessionID[State](c.Scenario)
		if s.from > 0 {
			how = aix.WithSnapshotID[State](ids[s.from-1])
		}
		out, err := b.agent.Run(ctx, &aix.AgentInput{Message: ai.NewUserTextMessage(s.says)}, how)
		if err != nil {
			return nil, err
		}
		ids = append(ids, out.SnapshotID)
	}
	return map[string]any{"written": []any{map[string]any{"scenario": c.Scenario, "session": c.Scenario, "agent": "barista", "seen": b.seen, "snapshots": ids}}}, nil
}

func resume(ctx context.Context, c command) (any, error) {
	b, err := open(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	b.resumed = true
	in, how, err := b.read(ctx, c)
	if err != nil {
		return nil, err
	}
	answer := make(map[string]any)
	out, err := b.agent.Run(ctx, in, how...)
	if err == nil && out.Error != nil {
		err = out.Error
	}
	if err != nil {
		answer["error"] = err.Error()
	}
	if out != nil {
		answer["stop"], answer["snapshot"], answer["session"] = out.FinishReason, out.SnapshotID, out.SessionID
	}
	answer["seen"], answer["tools"] = b.seen, b.tools
	return answer, nil
}

// read gives what a call says, which is one of
//
//	agent.RunText(ctx, TEXT, OPTION…)
//	agent.Run(ctx, &aix.AgentInput{Resume: &aix.ToolResume{Restart: parts}}, OPTION…)
//
// with the options aix.WithSessionID[State](ID) and aix.WithSnapshotID[State](ID).
func (b *barista) read(ctx context.Context, c command) (*aix.AgentInput, []aix.InvocationOption[State], error) {
	unknown := fmt.Errorf("a call that nobody knows: %s", c.Call)
	expr, err := parser.ParseExpr(c.Call)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", unknown, err)
	}
	call, ok := expr.(*ast.CallExpr)
	if !ok || len(call.Args) < 2 {
		return nil, nil, unknown
	}
	in := new(aix.AgentInput)
	switch types.ExprString(call.Fun) {
	case "agent.RunText":
		text, ok := literal(call.Args[1])
		if !ok {
			return nil, nil, unknown
		}
		in.Message = ai.NewUserTextMessage(text)
	case "agent.Run":
		if !strings.Contains(c.Call, "Restart: parts") {
			return nil, nil, unknown
		}
		in.Resume = new(aix.ToolResume)
		if in.Resume.Restart, err = b.restarts(ctx, c.Session); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, unknown
	}
	var how []aix.InvocationOption[State]
	for _, arg := range call.Args[2:] {
		option, ok := arg.(*ast.CallExpr)
		if !ok || len(option.Args) != 1 {
			return nil, nil, unknown
		}
		id, ok := literal(option.Args[0])
		switch {
		case ok && types.ExprString(option.Fun) == "aix.WithSessionID[State]":
			how = append(how, aix.WithSessionID[State](id))
		case ok && types.ExprString(option.Fun) == "aix.WithSnapshotID[State]":
			how = append(how, aix.WithSnapshotID[State](id))
		default:
			return nil, nil, unknown
		}
	}
	return in, how, nil
}

// restarts says yes to each tool call that waits for an answer.
func (b *barista) restarts(ctx context.Context, session string) ([]*ai.Part, error) {
	row, err := b.store.GetLatestSnapshot(ctx, session)
	if err != nil || row == nil || row.State == nil {
		return nil, fmt.Errorf("the latest row of %s: %w", session, err)
	}
	var parts []*ai.Part
	for _, part := range row.State.Messages[len(row.State.Messages)-1].Content {
		if !part.IsInterrupt() {
			continue
		}
		yes, err := b.pay.Resume(part, approval{Approved: true})
		if err != nil {
			return nil, err
		}
		parts = append(parts, yes)
	}
	return parts, nil
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// latest tells what a session goes on from, where nobody names a snapshot.
func latest(ctx context.Context, c command) (any, error) {
	b, err := open(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	row, err := b.store.GetLatestSnapshot(ctx, c.Session)
	if err != nil || row == nil {
		return nil, fmt.Errorf("the latest of %s: %v, %w", c.Session, row, err)
	}
	return map[string]any{"snapshot": row.SnapshotID, "parent": row.ParentID}, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/firebase/genkit/go" {
				return dep.Version
			}
		}
	}
	return "of an unknown version"
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx := context.Background()
	commands := map[string]func(context.Context, command) (any, error){"write": write, "resume": resume, "latest": latest}
	answers := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // whatever a library prints must not stand between the answers
	answers.Encode(map[string]any{"sdk": "genkit/go " + version()})
	in := bufio.NewScanner(os.Stdin)
	for in.Buffer(nil, 1<<24); in.Scan(); {
		var c command
		err := json.Unmarshal(in.Bytes(), &c)
		var answer any
		if do := commands[c.Do]; err == nil && do != nil {
			answer, err = do(ctx, c)
		}
		if err != nil {
			answer = map[string]any{"broken": err.Error()}
		}
		answers.Encode(answer)
	}
}
