package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/query"
	"hindcast/store"
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

// targets are the agents that go on, by their kinds.
var targets = []string{"claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "pi", "qwen"}

func TestInterop_continue(t *testing.T) {
	skip.Sequential(t)
	for _, kind := range targets {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := chattest.StartAgent(t, kind)
			into := targetStore(t, kind, a.Home)
			most := 3 // then one: TestContinue_eachStoreInEachAgent has the others, without the agents
			for _, c := range continued {
				s := openData(t, c.store)
				for _, h := range somePositions(headersOf(t, s, c.session), most) {
					continueFrom(t, a, into, s, h)
				}
				most = 1
			}
		})
	}
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

// continueFrom has an agent go on from a snapshot, and compares the request to its model with the conversation.
func continueFrom(t *testing.T, a *chattest.Agent, into, s store.Store, h model.Header) {
	t.Helper()
	name := fmt.Sprintf("%s #%d", s.Kind(), h.Index)
	line, err := query.ReadTimeline(t.Context(), s, h.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	n, err := line.Resolve(h.ID)
	if err != nil {
		t.Fatal(err)
	}
	from, err := query.Handover(t.Context(), s, line, n, &model.SessionInfo{}, a.Work)
	if err != nil {
		t.Fatal(err)
	}
	talk := handover.New(from, a.Kind)
	plan, err := into.Features().PlanContinue(t.Context(), from, "")
	if err == nil {
		_, err = into.Features().Apply(context.WithoutCancel(t.Context()), plan)
	}
	if len(talk.Messages) == 0 && errors.As(err, new(*model.UnsupportedError)) {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	prompt := strings.NewReplacer(" ", "-", "#", "").Replace("go on from " + name)
	call := strings.ReplaceAll(plan.Resume[0].Call, filepath.Clean(a.Home), a.Home)
	got := saidLines(a.Ask(t, call, prompt))
	want := append(handedOver(talk), chattest.Said{Is: "user", Text: prompt})
	if want := saidLines(want); !slices.Equal(got, want) {
		t.Errorf("%s in %s: the model is sent\n%s\nwant\n%s", name, a.Kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
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
