package messages

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
)

// oldStore copies a store and lets its files be an hour old, as when nobody writes.
func oldStore(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	hourAgo := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, hourAgo, hourAgo)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the files of a store without the journal.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == journal.Folder {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(name)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := treeOf(t, dir)
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s is\n%s\nand was\n%s", name, got[name], data)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d files, and were %d", len(got), len(want))
	}
}

// rewound plans a restore and carries it out.
func rewound(t *testing.T, s *Store, h model.Header) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
	if err != nil {
		t.Fatal(err)
	}
	applied(t, s, plan)
	return plan
}

func applied(t *testing.T, s *Store, plan model.Plan) {
	t.Helper()
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
}

func runHeadersOf(t *testing.T, s *Store, session string) (all []model.Header, head model.Header, aside []model.Header) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		all = append(all, h)
		if h.Head {
			head = h
		}
		if h.Orphaned {
			aside = append(aside, h)
		}
	}
	return all, head, aside
}

// Every run can be put back to every execution but its last, what it left shows as a
// branch with its reason, the branch can be put back, and undo of all gives the
// first bytes.
func TestRewind_everyExecutionAndBack(t *testing.T) {
	for _, session := range []string{"graph_done", "graph_interrupted", "swarm_done"} {
		list := storetest.Headers(t, open(t, orchestrators), session)
		for i := range list[:len(list)-1] {
			t.Run(session, func(t *testing.T) {
				dir := oldStore(t, orchestrators)
				before := treeOf(t, dir)
				s := open(t, dir)
				plan := rewound(t, s, list[i])
				if len(plan.Files) != 1 || len(plan.Orphans) != len(list)-1-i || len(plan.Resume) == 0 || plan.Loads == "" {
					t.Errorf("the plan is %+v", plan)
				}
				all, head, aside := runHeadersOf(t, s, session)
				if head.ID != list[i].ID || head.Index != i || len(all) != len(list) || len(aside) != len(list)-1-i {
					t.Fatalf("the head is #%d, %d snapshots, %d aside", head.Index, len(all), len(aside))
				}
				for k, h := range aside {
					if want := list[i+1+k]; h.ID != want.ID || h.Reason == nil || h.Reason.Kind != model.ReasonRestore || h.Reason.TargetID != head.ID {
						t.Errorf("aside is %v with the reason %v", h, h.Reason)
					}
				}
				left := state(t, s, aside[len(aside)-1])
				if want := jsontape.AppendCompact(nil, record(t, session, map[bool]string{true: "s1", false: "g1"}[session == "swarm_done"])); !bytes.Equal(left, want) {
					t.Errorf("the state that was left is %s", left)
				}
				if faults := storetest.Faults(t, s, session); len(faults) > 0 {
					t.Errorf("faults: %v", faults)
				}
				// The branch comes back whole.
				back := rewound(t, s, aside[len(aside)-1])
				if len(back.Reactivates) != len(aside) || strings.HasSuffix(session, "_done") != (len(back.Asks) > 0) {
					t.Errorf("the plan is %+v", back)
				}
				sameTree(t, dir, before)
				if _, head, aside := runHeadersOf(t, s, session); head.ID != list[len(list)-1].ID || len(aside) != 0 {
					t.Errorf("the head is %v, %d aside", head, len(aside))
				}
				for k := range 2 {
					undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
					if err != nil {
						t.Fatal(err)
					}
					applied(t, s, undo)
					_, _, again := runHeadersOf(t, s, session)
					if want := len(aside) * (1 - k); len(again) != want || want > 0 && again[0].Reason.Kind != model.ReasonRestore {
						t.Errorf("after %d undos %v are aside", k+1, again)
					}
				}
				sameTree(t, dir, before)
				redo, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
				if err != nil {
					t.Fatal(err)
				}
				if redo.Target.ID != list[i].ID || len(redo.Resume) == 0 {
					t.Errorf("the plan is %+v", redo)
				}
				applied(t, s, redo)
				if _, head, _ := runHeadersOf(t, s, session); head.ID != list[i].ID {
					t.Errorf("the head is %v", head)
				}
			})
		}
	}
}

// What Hindcast kept of an earlier moment says what was next then.
func TestRewind_aVersionThatWasKeptKnowsWhatWasNext(t *testing.T) {
	dir := oldStore(t, orchestrators)
	s := open(t, dir)
	list := storetest.Headers(t, s, "graph_done")
	plan := rewound(t, s, list[0])
	if !strings.Contains(plan.Loads, "runs nothing") {
		t.Fatalf("it loads %q", plan.Loads)
	}
	// The first start of the SDK stores what is next, a later one runs it all.
	file := filepath.Join(dir, "session_graph_done", "multi_agents", "multi_agent_g1", "multi_agent.json")
	worked := strings.Replace(read(t, file), `"next_nodes_to_execute": ["hindcast: the graph works out what is next"]`, `"next_nodes_to_execute": ["analysis", "factcheck"]`, 1)
	write(t, file, worked)
	rewound(t, s, list[0+3])
	_, head, aside := runHeadersOf(t, s, "graph_done")
	if head.ID != list[3].ID || len(aside) != 0 {
		t.Fatalf("the head is %v, aside %v", head, aside)
	}
	plan = rewound(t, s, list[0])
	if got := read(t, file); got != worked || !strings.Contains(plan.Loads, "analysis, factcheck") {
		t.Errorf("it loads %q:\n%s", plan.Loads, got)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRewind_refuses(t *testing.T) {
	s := open(t, oldStore(t, orchestrators))
	list := storetest.Headers(t, s, "graph_done")
	var unsupported *model.UnsupportedError
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[len(list)-1].Ref()}); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "nothing is next") {
		t.Errorf("the last execution: %v", err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "graph_done", ID: "x"}}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("no snapshot: %v", err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[0].Ref(), As: "swarm_done"}); !errors.Is(err, store.ErrSessionExists) {
		t.Errorf("a session that is there: %v", err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[0].Ref(), As: "../up"}); !errors.As(err, &unsupported) {
		t.Errorf("a name that leads elsewhere: %v", err)
	}
}

// A run that goes on while the plan is looked at is not written over.
func TestRewind_aRunThatGoesOn(t *testing.T) {
	dir := oldStore(t, orchestrators)
	s := open(t, dir)
	list := storetest.Headers(t, s, "graph_interrupted")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[0].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Asks) != 1 || !strings.Contains(plan.Asks[0], "interrupt") {
		t.Errorf("it asks %q", plan.Asks)
	}
	file := filepath.Join(dir, "session_graph_interrupted", "multi_agents", "multi_agent_g1", "multi_agent.json")
	write(t, file, read(t, file)+" ")
	before := treeOf(t, dir)
	if _, err := s.Apply(t.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the error is %v", err)
	}
	sameTree(t, dir, before)
	if plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[0].Ref()}); err != nil || !strings.Contains(strings.Join(plan.Asks, "\n"), "an agent may still be running") || !strings.Contains(strings.Join(plan.Hazards, "\n"), "a run that still goes on") {
		t.Errorf("it asks %q: %v", plan.Asks, err)
	}
}

// A fork has the record and session.json alone, and the other session stays.
func TestRewind_forks(t *testing.T) {
	for _, single := range []bool{false, true} {
		dir := oldStore(t, orchestrators)
		before := treeOf(t, dir)
		s := open(t, dir)
		if single {
			s = open(t, filepath.Join(dir, "session_graph_done"))
		}
		list := storetest.Headers(t, s, "graph_done")
		for i, as := range []string{"one", "two", "three", "all"} {
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[i].Ref(), As: as})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, plan)
			whole := open(t, dir)
			forked := storetest.Headers(t, whole, as)
			if len(forked) != i+1 || forked[i].ID != list[i].ID || !forked[i].Head {
				t.Errorf("the fork has %v", forked)
			}
			if faults := storetest.Faults(t, whole, as); len(faults) > 0 {
				t.Errorf("faults: %v", faults)
			}
			if !strings.Contains(read(t, filepath.Join(dir, "session_"+as, "session.json")), `"`+as+`"`) {
				t.Error("session.json has another id")
			}
		}
		for range 4 {
			undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, undo)
		}
		sameTree(t, dir, before)
	}
}

// Another SDK that goes on with the run writes the old results with more members; the
// branch still leaves where it left.
func TestRewind_aBranchStaysWhereItLeft(t *testing.T) {
	dir := oldStore(t, orchestrators)
	s := open(t, dir)
	list := storetest.Headers(t, s, "graph_done")
	rewound(t, s, list[1])
	file := filepath.Join(dir, "session_graph_done", "multi_agents", "multi_agent_g1", "multi_agent.json")
	write(t, file, strings.ReplaceAll(read(t, file), `"stop_reason": "end_turn"`, `"stop_reason": "end_turn", "checkpoint": null`))
	all, head, aside := runHeadersOf(t, s, "graph_done")
	if len(all) != 4 || len(aside) != 2 || head.Index != 1 || head.ID == list[1].ID || aside[0].ParentID != head.ID || aside[1].ParentID != aside[0].ID {
		t.Errorf("the timeline is %v", all)
	}
}
