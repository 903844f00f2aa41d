package kinds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/skip"
)

// continued are the sessions that are continued in each agent.
var continued = []struct{ store, session string }{
	{"coding/claude-code/projects", "9274231d-d69b-43e0-a377-784eb1749711"},
	{"coding/codex", "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb"},
	{"strands/python-file", "bytes"},
}

// allPositions names the variable that asks for each snapshot of these sessions.
const allPositions = "HINDCAST_EVERY_POSITION"

// somePositions returns the last snapshots of at most so many kinds: of words, a call and a result, on the path and off it.
func somePositions(all []model.Header, most int) (some []model.Header) {
	if os.Getenv(allPositions) != "" {
		return all
	}
	seen := map[[2]any]bool{}
	for _, h := range slices.Backward(all) {
		is := [2]any{h.Position, h.Orphaned}
		if !seen[is] && len(some) < most {
			some = append(some, h)
		}
		seen[is] = true
	}
	return some
}

// codingAgents and frameworks are the tools that go on, by their kinds, and targets are all of them.
var (
	codingAgents = []string{"claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "pi", "qwen"}
	frameworks   = []string{"strands", "openai-agents", "sqlite"}
	targets      = append(codingAgents, frameworks...)
)

// TestInterop_continue has each tool go on from positions of three sources: coding agents from some, frameworks from all. The
// table says from how many.
func TestInterop_continue(t *testing.T) {
	skip.Sequential(t)
	proven := newCrossing()
	run := func(t *testing.T, kind string, into store.Store, project string, some bool, goOn func(t *testing.T, name string, from *handover.Source, plan *model.Plan)) {
		for i, c := range continued {
			s := openData(t, c.store)
			all := headersOf(t, s, c.session)
			list := all
			if some { // TestContinue_eachStoreInEachTool has the others, without the agents
				list = somePositions(all, []int{3, 1, 1}[i])
			}
			for i := range list {
				from, plan := planFrom(t, into, s, list[i], project)
				if plan != nil {
					goOn(t, fmt.Sprintf("%s #%d", s.Kind(), list[i].Index), from, plan)
				}
				proven.note(kind, s.Kind(), 1)
			}
			proven.note("(positions)", s.Kind(), len(all))
		}
	}
	t.Run("tools", func(t *testing.T) {
		for _, kind := range codingAgents {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				a := chattest.StartAgent(t, kind)
				run(t, kind, targetStore(t, kind, a.Home), a.Work, true, func(t *testing.T, name string, from *handover.Source, plan *model.Plan) {
					prompt := strings.NewReplacer(" ", "-", "#", "").Replace("go on from " + name)
					call := strings.ReplaceAll(plan.Resume[0].Call, filepath.Clean(a.Home), a.Home)
					compareSent(t, name, from, kind, a.Ask(t, call, prompt), prompt)
				})
			})
		}
		for kind, start := range map[string]func(*testing.T, string) (store.Store, func(*testing.T, []*model.Plan) [][]chattest.Said){
			"strands": startStrands, "openai-agents": startOpenAIAgents, "sqlite": startOwn,
		} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				into, ask := start(t, dir)
				var names []string
				var sources []*handover.Source
				var plans []*model.Plan
				run(t, kind, into, dir, false, func(_ *testing.T, name string, from *handover.Source, plan *model.Plan) {
					names, sources, plans = append(names, name), append(sources, from), append(plans, plan)
				})
				for i, sent := range ask(t, plans) {
					prompt := ""
					if strings.Contains(plans[i].Resume[0].Call, "…") || kind == "sqlite" {
						prompt = "…"
					}
					compareSent(t, names[i], sources[i], kind, sent, prompt)
				}
			})
		}
	})
	if len(proven.count) <= len(targets) {
		return // some were left out
	}
	for source := range proven.count["(positions)"] {
		proven.count["(positions)"][source] /= len(targets)
	}
	if os.Getenv(allPositions) == "" {
		holdTable(t, "resumed.txt", proven.draw([]string{"claude-code", "codex", "strands"}))
	}
}

// eachPlan returns the requests of plans whose calls run one after the other.
func eachPlan(ask func(*testing.T, *model.Plan) []chattest.Said) func(*testing.T, []*model.Plan) [][]chattest.Said {
	return func(t *testing.T, plans []*model.Plan) (all [][]chattest.Said) {
		for _, plan := range plans {
			all = append(all, ask(t, plan))
		}
		return all
	}
}

// startStrands returns the usual store of Strands in a home, and a function that has the SDK run the calls of plans.
func startStrands(t *testing.T, home string) (store.Store, func(*testing.T, []*model.Plan) [][]chattest.Said) {
	into, d := targetStore(t, "strands", home), pythonDriver(t, sdks(t), "")
	return into, eachPlan(func(t *testing.T, plan *model.Plan) []chattest.Said {
		came := d.do(t, map[string]any{"do": "go", "call": plan.Resume[0].Call})
		if len(came.Seen) != 1 || len(came.Tools) > 0 {
			t.Fatalf("%s: the model is asked %d times, %q ran: %s", plan.Resume[0].Call, len(came.Seen), came.Tools, came.Error)
		}
		return readItems(t, chattest.Converse, "messages", came.Seen[0])
	})
}

// startOpenAIAgents returns a new file of the OpenAI Agents SDK, and a function that has the SDK run the calls of plans.
func startOpenAIAgents(t *testing.T, home string) (store.Store, func(*testing.T, []*model.Plan) [][]chattest.Said) {
	into, program := targetStore(t, "openai-agents", home), interopProgram(t, "openai-agents", "sessions.py")
	return into, func(t *testing.T, plans []*model.Plan) (all [][]chattest.Said) {
		var ran []struct {
			Sent   []any
			Failed string
		}
		var puts []askedOfAgents
		for _, plan := range plans {
			puts = append(puts, askedOfAgents{into.Address(), plan.Resume[0].Call, []byte(`{"messages":[]}`)})
		}
		program.says(t, "run", "", puts, &ran)
		for i, came := range ran {
			if came.Failed != "" {
				t.Fatalf("%s: %s", plans[i].Resume[0].Call, came.Failed)
			}
			all = append(all, readItems(t, "responses", "input", came.Sent))
		}
		return all
	}
}

// startOwn returns a new file of Hindcast's own, and a function that has a program of package agent go on with a session. Its
// model is sent the messages of the state.
func startOwn(t *testing.T, home string) (store.Store, func(*testing.T, []*model.Plan) [][]chattest.Said) {
	type state struct {
		Messages []any `json:"messages"`
	}
	into := targetStore(t, "sqlite", home)
	own := into.(*sqlite.Store)
	var sent []any
	talk := func(ctx context.Context, s *agent.Session[state], in <-chan string, to *agent.Responder[string]) (done agent.Result[string], err error) {
		for words := range in {
			now := s.State()
			if sent = now.Messages; words != "" {
				block := map[string]any{"text": words}
				if last := sent[len(sent)-1].(map[string]any); last["role"] == "user" { // one message of the user
					last["content"] = append(last["content"].([]any), block)
				} else {
					sent = append(sent, map[string]any{"role": "user", "content": []any{block}})
				}
			}
			to.Send("ok")
			if err := errors.Join(s.UpdateState(ctx, state{sent}), to.EndTurn()); err != nil {
				return done, err
			}
		}
		return done, nil
	}
	return into, eachPlan(func(t *testing.T, plan *model.Plan) []chattest.Said {
		if want := fmt.Sprintf("StreamBidi(ctx, agent.WithSessionID[State](%q))", plan.NewSession); plan.Resume[0].Call != want {
			t.Fatalf("it goes on by %s, want %s", plan.Resume[0].Call, want)
		}
		a, err := agent.Define("own-"+plan.NewSession, talk, agent.WithSessionStore(typed.Of[state](own)))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := a.StreamBidi(t.Context(), agent.WithSessionID[state](plan.NewSession))
		if err == nil {
			err = conn.Send("…")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range conn.Receive() {
			if err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		if _, err := conn.Output(); err != nil {
			t.Fatal(err)
		}
		return readItems(t, chattest.Converse, "messages", sent)
	})
}

// readItems returns the parts of messages that an SDK sends to its model.
func readItems(t *testing.T, api, key string, items []any) []chattest.Said {
	t.Helper()
	body, err := json.Marshal(map[string]any{key: items, "tools": []any{map[string]any{}}})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := chattest.ReadSaid(t, api, body)
	return list
}

// headersOf returns the snapshots of a session whose id begins so, the first where that is "".
func headersOf(t *testing.T, s store.Store, prefix string) []model.Header {
	t.Helper()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(info.ID, prefix) {
			return storetest.Headers(t, s, info.ID)
		}
	}
	t.Fatalf("no session begins with %q", prefix)
	return nil
}

// planFrom continues a session from a snapshot. The plan is nil where the snapshot has no messages.
func planFrom(t *testing.T, into, s store.Store, h model.Header, project string) (*handover.Source, *model.Plan) {
	t.Helper()
	line, err := query.ReadTimeline(t.Context(), s, h.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	n, err := line.Resolve(h.ID)
	if err != nil {
		t.Fatal(err)
	}
	from, err := query.Handover(t.Context(), s, line, n, &model.SessionInfo{}, project)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := into.Features().PlanContinue(t.Context(), from, "")
	if err == nil {
		_, err = into.Features().Apply(context.WithoutCancel(t.Context()), plan)
	}
	if len(handover.New(from, into.Kind()).Messages) == 0 && errors.As(err, new(*model.UnsupportedError)) {
		return from, nil
	}
	if err != nil {
		t.Fatalf("%s #%d: %v", s.Kind(), h.Index, err)
	}
	return from, &plan
}

// compareSent compares the first request of a tool with the conversation that was handed over, and a prompt behind it.
func compareSent(t *testing.T, name string, from *handover.Source, kind string, sent []chattest.Said, prompt string) {
	t.Helper()
	wanted := handedOver(handover.New(from, kind))
	if prompt != "" {
		wanted = append(wanted, chattest.Said{Is: "user", Text: prompt})
	}
	if got, want := saidLines(sent), saidLines(wanted); !slices.Equal(got, want) {
		t.Errorf("%s in %s: the model is sent\n%s\nwant\n%s", name, kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// handedOver returns the parts of a conversation.
func handedOver(talk *handover.Talk) (list []chattest.Said) {
	for _, m := range talk.Messages {
		for _, p := range m.Parts {
			said := chattest.Said{Is: "user", Text: p.Text}
			switch {
			case p.Kind == handover.Call:
				said = chattest.Said{Is: "call", ID: p.ID, Name: p.Tool, Text: string(p.Input)}
			case p.Kind == handover.Result:
				said = chattest.Said{Is: "result", ID: p.ID, Text: p.Text}
			case p.Kind == handover.Picture:
				said = chattest.Said{Is: "picture"}
			case m.Assistant:
				said.Is = "assistant"
			}
			list = append(list, said)
		}
	}
	return list
}

// added matches the texts that agents add to the words of the user, to results and between messages.
var added = regexp.MustCompile(`(?s)<(system-reminder|current_datetime|environment_context|session_context|skills_instructions|permissions instructions)>.*?</(system-reminder|current_datetime|environment_context|session_context|skills_instructions|permissions instructions)>|\[The previous response was interrupted before it completed\.\]|No response requested\.|\bpicture\.(png|jpeg|gif|webp)\b`)

// saidLines returns parts a line each, without the texts that agents add. Texts of one speaker that follow each other are one, and the
// pictures among them are behind them.
func saidLines(list []chattest.Said) (lines []string) {
	last, pictures := "", []string(nil)
	for _, s := range list {
		if s.Text = strings.TrimSpace(added.ReplaceAllString(s.Text, "")); s.Text == "" && (s.Is == "user" || s.Is == "assistant") {
			continue
		}
		line := s.String()
		if s.Is == "picture" {
			pictures = append(pictures, line)
			continue
		}
		if s.Is != "user" {
			lines, pictures = append(lines, pictures...), nil
		}
		if n := len(lines); n > 0 && s.Is == last && (last == "user" || last == "assistant") {
			lines[n-1] += strings.TrimPrefix(line, s.Is)
			continue
		}
		lines, last = append(lines, line), s.Is
	}
	return append(lines, pictures...)
}
