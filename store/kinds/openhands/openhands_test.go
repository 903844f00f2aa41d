package openhands

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

const (
	fixtures = "../../../testdata/coding/openhands"
	branched = "d3ba9894ad2a43abb6546f04276ce18f"
	forked   = "fork-57bc1e88d98f404993dea8a53a2a7ed2"
)

// The list tells how many bytes a conversation takes, the events among them, also once one is new.
func TestSessions_size(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "", message("a", "user", ""), message("b", "assistant", "a"))
	s := open(t, dir)
	for range 2 {
		var want int64
		for _, pattern := range []string{stateName, eventsName + "/event-*.json"} {
			files, err := filepath.Glob(filepath.Join(dir, made, pattern))
			for _, name := range files {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				want += info.Size()
			}
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", pattern, files, err)
			}
		}
		if got := storetest.Sessions(t, s)[0].Size; got != want {
			t.Errorf("it takes %d bytes, want %d", got, want)
		}
		write(t, dir, "", message("a", "user", ""), message("b", "assistant", "a"), message("c", "user", "b"))
	}
}

func TestRead(t *testing.T)    { storetest.Read(t, Kind(nil).Kind, fixtures) }
func TestRestore(t *testing.T) { storetest.Restore(t, Kind(nil).Kind, fixtures) }

func open(t testing.TB, dir string) storetest.Writer {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.AsWriter(s)
}

// draw draws a session: one line a snapshot, its parent by its number.
func draw(t testing.TB, s store.Store, session string) string {
	t.Helper()
	var text strings.Builder
	list := storetest.Headers(t, s, session)
	for _, h := range list {
		parent := slices.IndexFunc(list, func(p model.Header) bool { return p.ID == h.ParentID })
		mark := " "
		switch {
		case h.Head:
			mark = "*"
		case h.Orphaned:
			mark = "-"
		}
		fmt.Fprintf(&text, "%s%d<%d %s %s: %s", mark, h.Index, parent, h.ID[:8], h.EventText(), h.Title)
		if h.Orphaned {
			fmt.Fprintf(&text, " (%v to %.8s)", h.Reason.Kind, h.Reason.TargetID)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// The trees of the fixtures, from the names and the contents of their files.
func TestFixtures(t *testing.T) {
	s := open(t, fixtures)
	for session, want := range map[string]string{
		branched: `
 0<-1 64ce2883 system: <SOUL> You are OpenHands agent, a helpful AI assistant that can interact with a computer to solve tasks. </SOUL> <ROLE> …
 1<0 32e1d64c user input: first question
 2<1 a03a9bfc turn end: reply to: first question
 3<2 e5d6c41d user input: second question
 4<3 acb709b1 turn end: reply to: second question
-5<2 3a566038 user input: branched question (wentOn to acb709b1)
-6<5 dca1bbc3 turn end: reply to: branched question (wentOn to acb709b1)
 7<4 2953eae6 user input: after reopen
*8<7 3a49f103 turn end: reply to: after reopen
`,
		forked: `
 0<-1 64ce2883 system: <SOUL> You are OpenHands agent, a helpful AI assistant that can interact with a computer to solve tasks. </SOUL> <ROLE> …
 1<0 32e1d64c user input: first question
 2<1 a03a9bfc turn end: reply to: first question
 3<2 e5d6c41d user input: second question
 4<3 acb709b1 turn end: reply to: second question
 5<4 06cbbd43 user input: in the fork
*6<5 7a983927 turn end: reply to: in the fork
`,
	} {
		if got := draw(t, s, session); "\n"+got != want {
			t.Errorf("session %s is\n%s\nwant%s", session, got, want)
		}
		if faults := storetest.Faults(t, s, session); len(faults) > 0 {
			t.Errorf("session %s has the faults %+v", session, faults)
		}
	}
}

// A fork is a folder with the events on the way, numbered anew, and its own base_state.json;
// an undo takes all of it away.
func TestFork(t *testing.T) {
	dir := storetest.Copy(t, fixtures)
	s := open(t, dir)
	before := storetest.FilesOf(t, dir)
	for _, h := range storetest.Headers(t, s, branched) {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		var way []string
		events, err := os.ReadDir(filepath.Join(dir, plan.NewSession, "events"))
		if err != nil {
			t.Fatal(err)
		}
		list := storetest.Headers(t, s, plan.NewSession)
		line := model.NewTimeline(storetest.Headers(t, s, branched))
		for n := model.Node(h.Index); n != model.NoNode; n = line.Parent(n) {
			way = append(way, line.Header(n).ID)
		}
		slices.Reverse(way)
		if len(way) != len(events) || len(way) != len(list) {
			t.Fatalf("a fork from #%d has %d events and %d snapshots, want %d", h.Index, len(events), len(list), len(way))
		}
		for i, e := range events {
			if want := fmt.Sprintf("event-%05d-%s.json", i, way[i]); e.Name() != want || list[i].ID != way[i] || list[i].Head != (i == len(way)-1) {
				t.Errorf("a fork from #%d has the event %s, want %s", h.Index, e.Name(), want)
			}
			from, err := filepath.Glob(filepath.Join(dir, branched, "events", "event-*-"+way[i]+".json"))
			if err != nil || len(from) != 1 {
				t.Fatal(from, err)
			}
			was, wasErr := os.ReadFile(from[0])
			is, isErr := os.ReadFile(filepath.Join(dir, plan.NewSession, "events", e.Name()))
			if wasErr != nil || isErr != nil || string(was) != string(is) {
				t.Errorf("%s has other bytes: %v, %v", e.Name(), wasErr, isErr)
			}
		}
		undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), undo); err != nil {
			t.Fatal(err)
		}
		if now := storetest.FilesOf(t, dir); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("after the undo of a fork from #%d the folder is another", h.Index)
		}
	}
}
