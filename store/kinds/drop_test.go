package kinds_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/skip"
)

// dropping are the agents whose sessions turns are taken out of.
var dropping = []string{"claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "pi", "qwen"}

// takeOver has an agent's store take over a session of Codex, and returns the new session.
func takeOver(t *testing.T, into store.Store, project string) (session string) {
	t.Helper()
	s := openData(t, "coding/codex")
	line := model.NewTimeline(headersOf(t, s, "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb"))
	source, err := query.Handover(t.Context(), s, line, line.Head(), &model.SessionInfo{}, project)
	if err != nil {
		t.Fatal(err)
	}
	f := into.Features()
	taken, err := f.PlanContinue(t.Context(), source, "")
	if err == nil {
		_, err = f.Apply(context.WithoutCancel(t.Context()), taken)
	}
	if err != nil {
		t.Fatal(err)
	}
	return taken.NewSession
}

// dropTurns leaves turns out of a session that an agent's store takes over: that of a prompt up to another, or to the end for
// "". It returns the plan, and what the new session has to have.
func dropTurns(t *testing.T, into store.Store, project, from, to string) (model.Plan, []string) {
	t.Helper()
	taken, f := takeOver(t, into, project), into.Features()
	list := storetest.Headers(t, into, taken)
	first := slices.IndexFunc(list, func(h model.Header) bool { return h.Title == from })
	last := slices.IndexFunc(list, func(h model.Header) bool { return h.Title == to }) - 1
	if to == "" {
		last = len(list) - 1
	}
	if first < 0 || last < first {
		t.Fatalf("%s: no turn from %q to %q: %+v", into.Kind(), from, to, list)
	}
	plan, err := f.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[len(list)-1].Ref(), Drop: [2]string{list[first].ID, list[last].ID}})
	if err == nil {
		_, err = f.Apply(context.WithoutCancel(t.Context()), plan)
	}
	if err != nil {
		t.Fatalf("%s: %v", into.Kind(), err)
	}
	want := handedLines(readTalk(t, into, taken))
	a := slices.Index(want, "user "+from)
	b := len(want)
	if to != "" {
		b = slices.Index(want, "user "+to)
	}
	return plan, slices.Delete(want, a, b)
}

// readTalk hands the conversation at the head of a session over to its own agent.
func readTalk(t *testing.T, s store.Store, session string) *handover.Talk {
	t.Helper()
	list := storetest.Headers(t, s, session)
	tape, err := jsontape.Parse(stateOf(t, s, &list[len(list)-1]))
	if err != nil {
		t.Fatal(err)
	}
	return handover.New(&handover.Source{Conversation: conversation.Decode(tape), Kind: s.Kind(), At: func(int) time.Time { return time.Time{} }}, s.Kind())
}

// turns are those that the tests leave out: the first, one with a call, and the last.
var turns = [][2]string{{"first question", "run: ls -1"}, {"run: ls -1", "third question"}, {"after revert", ""}}

func TestDrop(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, kind := range dropping {
		into := targetStore(t, kind, t.TempDir())
		for _, c := range turns {
			plan, want := dropTurns(t, into, "/home/demo", c[0], c[1])
			if got := handedLines(readTalk(t, into, plan.NewSession)); !slices.Equal(got, want) {
				t.Errorf("%s without %q has\n%s\nwant\n%s", kind, c[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if len(plan.Carries) != 1 || !strings.Contains(plan.Carries[0], "of 1 turn") {
				t.Errorf("%s: the plan says %q", kind, plan.Carries)
			}
			for _, fault := range faultsOf(t, into, plan.NewSession) {
				t.Errorf("%s without %q: %s: %s", kind, c[0], fault.Code, fault.Meaning)
			}
		}
	}
}

// The sessions that the agents wrote have records besides messages. Each turn but the first goes out of them, where one can.
func TestDrop_recorded(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	dropped := map[string]int{}
	for _, kind := range dropping {
		dir := filepath.Join(t.TempDir(), kind)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(testdata, "coding", kind))); err != nil {
			t.Fatal(err)
		}
		s := openData(t, dir)
		for _, info := range storetest.Sessions(t, s) {
			list := storetest.Headers(t, s, info.ID)
			line := model.NewTimeline(list)
			if line.Head() == model.NoNode {
				continue
			}
			var path []model.Header
			for n := line.Head(); n != model.NoNode; n = line.Parent(n) {
				path = append(path, line.Header(n))
			}
			slices.Reverse(path)
			before := partLines(readTalk(t, s, info.ID))
			for i, h := range path {
				end := i + 1
				for end < len(path) && path[end].EventName != "user input" {
					end++
				}
				if h.EventName != "user input" || i == 0 {
					continue
				}
				plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: path[len(path)-1].Ref(), Drop: [2]string{h.ID, path[end-1].ID}})
				if errors.As(err, new(*model.UnsupportedError)) {
					continue
				}
				if err == nil {
					_, err = s.Features().Apply(context.WithoutCancel(t.Context()), plan)
				}
				if err != nil {
					t.Errorf("%s %s without #%d: %v", kind, info.ID, h.Index, err)
					continue
				}
				after := partLines(readTalk(t, s, plan.NewSession))
				if !isBetween(before, after) {
					t.Errorf("%s %s without #%d has\n%s\nof\n%s", kind, info.ID, h.Index, strings.Join(after, "\n"), strings.Join(before, "\n"))
				}
				dropped[kind]++
			}
		}
	}
	for _, kind := range dropping {
		if dropped[kind] == 0 {
			t.Errorf("no turn of %s was left out", kind)
		}
	}
	t.Logf("left out: %v", dropped)
}

// partLines returns the parts of a conversation, a line each.
func partLines(talk *handover.Talk) (lines []string) {
	for _, said := range handedOver(talk) {
		lines = append(lines, said.String())
	}
	return lines
}

// isBetween reports whether a list is another one without some neighbours.
func isBetween(whole, part []string) bool {
	n := len(whole) - len(part)
	for from := 0; n > 0 && from+n <= len(whole); from++ {
		if slices.Equal(slices.Concat(whole[:from], whole[from+n:]), part) {
			return true
		}
	}
	return false
}

// What is no turn, or has nothing to do with what is sent, is not left out.
func TestDrop_refuses(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, c := range []struct {
		path, session    string
		first, last, why string
	}{
		{"coding/claude-code/projects", "9274231d-d69b-43e0-a377-784eb1749711", "#2", "#4", "#2 to #4 are no whole turns: #2 to #6 are"},
		{"coding/claude-code/projects", "9274231d-d69b-43e0-a377-784eb1749711", "#18", "#19", "not in that order on the way"},
		{"coding/claude-code/projects", "9274231d-d69b-43e0-a377-784eb1749711", "#21", "#20", "not in that order on the way"},
		{"coding/claude-code/projects", "9274231d-d69b-43e0-a377-784eb1749711", "#2", "#6", "#11 is a compaction"},
		{"coding/kimi", "", "head", "head", "no turns are taken out of sessions of Kimi Code"},
	} {
		s := openData(t, c.path)
		head := headerNamed(t, s, c.session, "head")
		change := model.Change{Op: model.OpFork, Ref: head.Ref()}
		for i, name := range []string{c.first, c.last} {
			change.Drop[i] = headerNamed(t, s, c.session, name).ID
		}
		_, err := s.Features().Plan(t.Context(), change)
		if !errors.As(err, new(*model.UnsupportedError)) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("without %s to %s: %v, want %q", c.first, c.last, err, c.why)
		}
	}
}

// The agent resumes the session without the turns, and its model is sent no more of them.
func TestInterop_drop(t *testing.T) {
	skip.Sequential(t)
	for _, kind := range dropping {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := chattest.StartAgent(t, kind)
			into := targetStore(t, kind, a.Home)
			for _, c := range turns[:2] {
				plan, _ := dropTurns(t, into, a.Work, c[0], c[1])
				prompt := strings.NewReplacer(" ", "-", ":", "").Replace("go on without " + c[0])
				want := saidLines(append(handedOver(readTalk(t, into, plan.NewSession)), chattest.Said{Is: "user", Text: prompt}))
				if got := saidLines(a.Ask(t, plan.Resume[0].Call, prompt)); !slices.Equal(got, want) {
					t.Errorf("without %q the model is sent\n%s\nwant\n%s", c[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}
