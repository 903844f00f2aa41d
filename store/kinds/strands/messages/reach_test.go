package messages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// comesBack makes sure that a snapshot is listed, and that a restore to it brings back the
// bytes of its message.
func comesBack(t *testing.T, s *Store, agent, id, file string, want string) {
	t.Helper()
	list := storetest.Headers(t, s, "h")
	if !slices.ContainsFunc(list, func(h model.Header) bool { return h.ID == id }) {
		t.Errorf("%s is on no branch: %s", file, drawn(list))
		return
	}
	restore(t, s, "h", id)
	got, err := os.ReadFile(filepath.Join(agent, "messages", file))
	if err != nil || string(got) != want {
		t.Errorf("%s came back as %s, %v", file, got, err)
	}
	undo(t, s)
}

// A restore put the old messages back, and an agent that held the view from before
// writes over one of them: what it wrote over is a branch.
func TestBranches_ofWhatAnOldAgentWroteOver(t *testing.T) {
	s, agent := freshLog(t, 14)
	first := storetest.Headers(t, s, "h")
	old := read(t, filepath.Join(agent, "messages", "message_11.json"))
	restore(t, s, "h", first[9].ID)
	clock := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	before := startAgent(t, agent, clock)
	before.append("user", said("ten again"))
	second := storetest.Headers(t, s, "h")[14]
	restore(t, s, "h", first[13].ID)
	before.held = true
	before.append("assistant", said("eleven, over the old one"))
	if got, want := drawn(storetest.Headers(t, s, "h")), "0 1<0 2<1 3<2 4<3 5<4 6<5 7<6 8<7 9<8 (10<9) 10<9 (11<10) 11<10 12<11 13<12!"; got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
	for _, h := range storetest.Headers(t, s, "h") {
		if h.ID == first[11].ID && (h.Reason == nil || h.Reason.Kind != model.ReasonOverwritten) {
			t.Errorf("the old #11 left for %+v", h.Reason)
		}
	}
	comesBack(t, s, agent, first[11].ID, "message_11.json", old)
	comesBack(t, s, agent, second.ID, "message_10.json", read(t, keptOf(t, s, "ten again")))
	if faults := storetest.Faults(t, s, "h"); !slices.ContainsFunc(faults, func(f model.Fault) bool {
		return f.Code == FaultOverwritten && strings.HasSuffix(f.File, "message_11.json") && f.Severity == model.Note
	}) {
		t.Errorf("the doctor says %+v", faults)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); err == nil || !strings.Contains(err.Error(), "restore the set-aside branch instead") {
		t.Errorf("%v", err)
	}
}

// keptOf finds the kept file that holds a text.
func keptOf(t *testing.T, s *Store, text string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, ".hindcast", "kept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.Contains(read(t, name), text) {
			return name
		}
	}
	t.Fatalf("nothing kept holds %q", text)
	return ""
}

// The same where the messages came back by an undo.
func TestBranches_ofWhatAnOldAgentWroteOverAfterAnUndo(t *testing.T) {
	s, agent := freshLog(t, 8)
	first := storetest.Headers(t, s, "h")
	old := read(t, filepath.Join(agent, "messages", "message_4.json"))
	restore(t, s, "h", first[3].ID)
	before := startAgent(t, agent, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
	undo(t, s)
	before.held = true
	before.append("user", said("four, over the old one"))
	if got, want := drawn(storetest.Headers(t, s, "h")), "0 1<0 2<1 3<2 (4<3) 4<3 5<4 6<5 7<6!"; got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
	comesBack(t, s, agent, first[4].ID, "message_4.json", old)
}

// An agent that ran before a restore writes back how many messages its window leaves out.
// Where the log now has fewer, an agent that starts then loads none and numbers from 0: it
// writes over the messages that the restore had left where they were.
func TestBranches_ofWhatAnAgentThatLoadsNoneWroteOver(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string // what the window leaves out, of the agent that runs
		rests         bool   // nothing was written for an hour when the restore came
	}{
		"the window had left out more than stays": {"6", "6", true},
		"the window goes on beside the restore":   {"0", "6", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, agent := freshLog(t, 14)
			first := storetest.Headers(t, s, "h")
			var was []string
			for _, file := range []string{"message_0.json", "message_1.json", "message_2.json"} {
				was = append(was, read(t, filepath.Join(agent, "messages", file)))
			}
			running := startAgent(t, agent, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
			running.held = true
			running.window(c.before)
			if running.sync(nil); c.rests {
				rest(t, s.dir)
			}
			plan := restore(t, s, "h", first[3].ID)
			if told := strings.Join(slices.Concat(plan.Writes, plan.Asks), "\n"); !strings.Contains(told, "4 messages that stay") {
				t.Errorf("the plan says %s", told)
			}
			running.window(c.after)
			running.sync(nil)
			next := startAgent(t, agent, time.Date(2026, 2, 3, 5, 5, 6, 0, time.UTC))
			next.held = true
			turns(next, 3)
			if got, want := drawn(storetest.Headers(t, s, "h")), "(0) (1<0) (2<1) 0 1<0 2<1 3<2! (4<3) (5<4) (6<5) (7<6) (8<7) (9<8) (10<9) (11<10) (12<11) (13<12)"; got != want {
				t.Errorf("\n%s, want\n%s", got, want)
			}
			for i, bytes := range was {
				comesBack(t, s, agent, first[i].ID, fmt.Sprintf("message_%d.json", i), bytes)
			}
		})
	}
}

// An old agent writes behind the end of a log that was put back, which leaves a gap, and
// another into the gap: what was left before that still leaves where it did.
func TestBranches_leaveWhereTheyLeftBesideAGap(t *testing.T) {
	s, agent := freshLog(t, 8)
	first := storetest.Headers(t, s, "h")
	clock := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	behind := startAgent(t, agent, clock)
	restore(t, s, "h", first[5].ID)
	within := startAgent(t, agent, clock.Add(time.Hour))
	restore(t, s, "h", first[3].ID)
	behind.append("user", said("eight, behind three"))
	behind.append("user", said("nine"))
	want := func(picture string) []model.Header {
		t.Helper()
		list := storetest.Headers(t, s, "h")
		if got := drawn(list); got != picture {
			t.Errorf("\n%s, want\n%s", got, picture)
		}
		return list
	}
	list := want("0 1<0 2<1 3<2 (4<3) (5<4) (6<5) (7<6) 4<3 5<4!")
	restore(t, s, "h", list[8].ID)
	want("0 1<0 2<1 3<2 (4<3) (5<4) (6<5) (7<6) 4<3! (5<4)")
	within.append("user", said("six, into the gap"))
	list = want("0 1<0 2<1 3<2 (4<3) (5<4) (6<5) (7<6) 4<3 5<4! (6<5)")
	if nine, eight := list[len(list)-1], list[9]; nine.ParentID != eight.ID {
		t.Errorf("nine follows %s, and not %s", nine.ParentID, eight.ID)
	}
	restore(t, s, "h", first[3].ID)
	startAgent(t, agent, clock.Add(2*time.Hour)).append("user", said("four"))
	list = storetest.Headers(t, s, "h")
	// The restore to eight kept what stayed: so eight leaves where it was seen first.
	if got, want := drawn(list), "0 1<0 2<1 3<2 (4<3) (5<4) (6<5) (7<6) (4<3) (4<3) (5<4) 4<3!"; got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
	if six := list[8]; six.Title != "six, into the gap" || six.ParentID != list[3].ID {
		t.Errorf("%s follows %s, and not #3", six.Title, six.ParentID)
	}
}

// What a repair replaced or took out of a log is a branch: each message can be looked
// at, and put back where the SDK would start on that.
func TestRepair_whatItReplacedIsABranch(t *testing.T) {
	skip.Sequential(t)
	branches, back := 0, 0
	for name, session := range hazards(t) {
		t.Run(name, func(t *testing.T) {
			s, dir := session.store(t)
			before := treeOf(t, dir)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}})
			if err != nil {
				return
			}
			applied(t, s, plan)
			left := map[string]model.Header{} // by the file
			ids := map[string]bool{}
			for _, h := range storetest.Headers(t, s, "h") {
				if ids[h.ID] {
					t.Errorf("two snapshots are called %s", h.ID)
				}
				ids[h.ID] = true
				facts, err := s.Facts(t.Context(), h.Ref())
				if err != nil {
					t.Fatal(err)
				}
				state(t, s, h)
				if h.Reason != nil && h.Reason.Kind == model.ReasonRepair {
					left[facts[0].Value] = h
				}
			}
			for _, f := range plan.Files {
				file := strings.TrimPrefix(f.Path, "session_h/")
				if _, isMessage := fileOf(filepath.Base(file)); !isMessage || f.Does == model.FileWritten {
					continue
				}
				h, ok := left[f.Path]
				if !ok {
					t.Errorf("what the repair replaced of %s is on no branch", file)
					continue
				}
				branches++
				restored, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
				if err != nil {
					refusedFor(t, err)
					continue
				}
				back++
				apply(t, s, restored, nil)
				if got, want := read(t, filepath.Join(dir, f.Path)), before[filepath.Join(dir, f.Path)]; got != want {
					t.Errorf("%s came back as %s, and was %s", file, got, want)
				}
				undo(t, s)
			}
		})
	}
	t.Logf("%d branches, %d of which can be put back", branches, back)
}

// A run that holds a record from before an undo writes over the one that came back: the
// nodes that only that had are a branch.
func TestRewind_whatAnOldRunWroteOverIsABranch(t *testing.T) {
	dir := oldStore(t, orchestrators)
	s := open(t, dir)
	list := storetest.Headers(t, s, "graph_done")
	file := filepath.Join(dir, "session_graph_done", "multi_agents", "multi_agent_g1", "multi_agent.json")
	was := read(t, file)
	rewound(t, s, list[1])
	held := read(t, file)
	undo(t, s)
	write(t, file, held+" ")
	_, head, aside := runHeadersOf(t, s, "graph_done")
	if head.ID != list[1].ID || len(aside) != 2 || aside[0].ID != list[2].ID || aside[1].ID != list[3].ID || aside[0].Reason.Kind != model.ReasonOverwritten {
		t.Fatalf("the head is %v, aside %v", head, aside)
	}
	rest(t, dir)
	rewound(t, s, aside[1])
	if got := read(t, file); got != was {
		t.Errorf("it came back as %s, and was %s", got, was)
	}
}
