package kinds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	"hindcast/store/storetest/skip"
)

// targetStore opens the store of a kind in its usual place of a home.
func targetStore(t *testing.T, kind, home string) store.Store {
	t.Helper()
	at := slices.IndexFunc(allKinds, func(k store.Kind) bool { return k.Name == kind })
	into, undo, err := allKinds[at].OpenUsual(t.Context(), store.Surroundings{Home: home}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{into.Close(), undo()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return into
}

// From every snapshot of every store a conversation can be handed over so that no provider refuses it. From every head each
// agent's new session has the conversation, and an undo leaves nothing of it.
func TestContinue_eachStoreInEachAgent(t *testing.T) {
	skip.Sequential(t)
	home := t.TempDir()
	into := map[string]store.Store{}
	for _, kind := range targets {
		into[kind] = targetStore(t, kind, home)
	}
	continued := 0
	agents, err := os.ReadDir(filepath.Join(testdata, "coding"))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(realStores)
	for _, agent := range agents {
		path := "coding/" + agent.Name()
		if _, err := allKinds.Identify(t.Context(), filepath.Join(testdata, path)); err == nil { // else its stores are in it
			all = append(all, realStore{path: path})
		}
	}
	for _, r := range all {
		o := openReal(t, r, filepath.Join(testdata, filepath.FromSlash(r.path)))
		for _, info := range o.sessions {
			line := model.NewTimeline(o.headers[info.ID])
			for n := range model.Node(line.Len()) {
				if line.IsStep(n) {
					continue
				}
				from, err := query.Handover(t.Context(), o.store, line, n, &info, "/home/demo")
				if err != nil { // a state that no one can read
					continue
				}
				for _, kind := range targets {
					talk := handover.New(from, kind)
					if wrong := wrongIn(talk); wrong != "" {
						t.Errorf("%s %s in %s: %s", info.ID, line.Name(n), kind, wrong)
					}
					if n == line.Head() && len(talk.Messages) > 0 {
						continueInto(t, into[kind], from, talk)
						continued++
					}
				}
			}
		}
	}
	if continued < 900 {
		t.Errorf("%d sessions were made", continued)
	}
	for _, kind := range targets {
		for info, err := range into[kind].Sessions(t.Context()) {
			t.Errorf("in %s %q is left: %v", kind, info.ID, err)
		}
	}
}

// continueInto makes a session of a conversation, compares it with that, and takes it back.
func continueInto(t *testing.T, into store.Store, from *handover.Source, talk *handover.Talk) {
	t.Helper()
	name := fmt.Sprintf("%s %s in %s", from.Session, from.Snapshot, into.Kind())
	f := into.Features()
	plan, err := f.PlanContinue(t.Context(), from, "")
	if err == nil {
		_, err = f.Apply(context.WithoutCancel(t.Context()), plan)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	list := storetest.Headers(t, into, plan.NewSession)
	state, err := into.State(t.Context(), list[len(list)-1].Ref())
	if err != nil {
		t.Fatal(err)
	}
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	again := handover.New(&handover.Source{Conversation: conversation.Decode(tape), Kind: into.Kind(), At: func(int) time.Time { return time.Time{} }, Session: plan.NewSession}, into.Kind())
	got, want := handedLines(again), handedLines(talk)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the session has\n%.3000s\nwant\n%.3000s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, fault := range faultsOf(t, into, plan.NewSession) {
		t.Errorf("%s: %s: %s", name, fault.Code, fault.Meaning)
	}
	undo, err := f.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err == nil {
		_, err = f.Apply(context.WithoutCancel(t.Context()), undo)
	}
	if err != nil {
		t.Errorf("%s: undo: %v", name, err)
	}
}

// handedLines returns the parts of a conversation, a line each. Texts of one speaker that follow each other are one.
func handedLines(talk *handover.Talk) []string { return saidLines(handedOver(talk)) }

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// wrongIn says which rule of the providers a conversation breaks, or "".
func wrongIn(talk *handover.Talk) string {
	taken := map[string]bool{}
	var open []string
	for i, m := range talk.Messages {
		switch {
		case m.Assistant != (i%2 == 1):
			return fmt.Sprintf("message %d is of the wrong speaker", i)
		case len(m.Parts) == 0:
			return fmt.Sprintf("message %d is empty", i)
		}
		for k, p := range m.Parts {
			switch {
			case p.Kind == handover.Result:
				if m.Assistant || len(open) == 0 || open[0] != p.ID {
					return fmt.Sprintf("part %d of message %d is no result of %q", k, i, open)
				}
				open = open[1:]
			case len(open) > 0 && !m.Assistant:
				return fmt.Sprintf("message %d has no results of %q", i, open)
			case p.Kind == handover.Call:
				var input map[string]any
				if !m.Assistant || taken[p.ID] || !plainWord.MatchString(p.ID) || !plainWord.MatchString(p.Tool) || json.Unmarshal(p.Input, &input) != nil {
					return fmt.Sprintf("part %d of message %d is no call: %+v", k, i, p)
				}
				taken[p.ID] = true
				open = append(open, p.ID)
			case p.Kind == handover.Text && strings.TrimSpace(p.Text) == "":
				return fmt.Sprintf("part %d of message %d is blank", k, i)
			case p.Kind == handover.Picture && (m.Assistant || len(p.Picture.Data) == 0):
				return fmt.Sprintf("part %d of message %d is no picture", k, i)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("the results of %q are missing", open)
	}
	return ""
}

// A folder that is made for a plan goes where nothing was written.
func TestContinue_planLeavesNothing(t *testing.T) {
	skip.Sequential(t)
	home := t.TempDir()
	t.Run("plan", func(t *testing.T) {
		s := openData(t, "coding/claude-code/projects")
		list := storetest.Headers(t, s, "9274231d-d69b-43e0-a377-784eb1749711")
		line := model.NewTimeline(list)
		from, err := query.Handover(t.Context(), s, line, line.Head(), &model.SessionInfo{}, "/home/demo")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range targets {
			if _, err := targetStore(t, kind, home).Features().PlanContinue(t.Context(), from, ""); err != nil {
				t.Error(err)
			}
		}
	})
	left, err := os.ReadDir(home)
	if err != nil || len(left) > 0 {
		t.Errorf("%q are left in %s: %v", left, filepath.Base(home), err)
	}
}
