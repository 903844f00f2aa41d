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
	"hindcast/store/kinds/openaiagents"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// targetStore opens the store of a kind in its usual place of a home.
func targetStore(t *testing.T, kind, home string) store.Store {
	t.Helper()
	k, _ := allKinds.FindKind(kind)
	if k.Make != nil {
		file := filepath.Join(home, kind+".db")
		if err := k.Make(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		into, err := k.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { into.Close() })
		return into
	}
	into, undo, err := k.OpenUsual(t.Context(), store.Surroundings{Home: home}, true)
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

// From every snapshot of every store a conversation can be handed over so that no provider refuses it, and is continued in
// one of the tools in turn, from each head in all of them. The new session has the conversation, and an undo leaves nothing
// of it.
func TestContinue_eachStoreInEachTool(t *testing.T) {
	skip.Sequential(t)
	home := t.TempDir()
	into := map[string]store.Store{}
	for _, kind := range targets {
		into[kind] = targetStore(t, kind, home)
	}
	proven := newCrossing()
	for _, c := range stores(t) {
		s := storetest.OpenStore(t, c.Kind, c.address)
		for _, info := range storetest.Sessions(t, s) {
			line := model.NewTimeline(storetest.Headers(t, s, info.ID))
			for n := range model.Node(line.Len()) {
				if line.IsStep(n) {
					continue
				}
				from, err := query.Handover(t.Context(), s, line, n, &info, "/home/demo")
				if err != nil { // a state that no one can read
					proven.note(s.Kind(), "unread", 1)
					continue
				}
				proven.note(s.Kind(), "positions", 1)
				for i, kind := range targets {
					talk := handover.New(from, kind)
					if wrong := wrongIn(talk); wrong != "" {
						t.Errorf("%s %s in %s: %s", info.ID, line.Name(n), kind, wrong)
					}
					switch {
					case len(talk.Messages) == 0:
						if i == 0 {
							proven.note(s.Kind(), "empty", 1)
						}
					case n == line.Head() || int(n)%len(targets) == i:
						continueInto(t, into[kind], from, talk)
						proven.note(s.Kind(), kind, 1)
					}
				}
			}
		}
	}
	for _, kind := range targets {
		for info, err := range into[kind].Sessions(t.Context()) {
			t.Errorf("in %s %q is left: %v", kind, info.ID, err)
		}
	}
	holdTable(t, "continued.txt", proven.draw(append([]string{"positions", "empty", "unread"}, targets...)))
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
		if fault.Code == openaiagents.FaultDeleted { // SQLite gives no number again that an undo took back
			continue
		}
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
			if k, _ := allKinds.FindKind(kind); k.Make != nil { // its file is named, and made by Apply
				continue
			}
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
