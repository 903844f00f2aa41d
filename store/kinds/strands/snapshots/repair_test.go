package snapshots

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// breaks are ways in which a latest snapshot keeps an SDK from starting: what becomes of
// the file.
var breaks = map[string]func(file string) string{
	"truncated":   func(f string) string { return f[:len(f)/2] },
	"empty":       func(string) string { return "" },
	"null":        func(string) string { return "null" },
	"a list":      func(string) string { return "[1]" },
	"more behind": func(f string) string { return f + "}" },
	"not UTF-8":   func(f string) string { return strings.Replace(f, "q3", "q\xff", 1) },
	"too deep": func(f string) string {
		return strings.Replace(f, `"state": {}`, `"state": `+strings.Repeat("[", 600)+strings.Repeat("]", 600), 1)
	},
	"schema":    func(f string) string { return strings.Replace(f, `"1.0"`, `"2.0"`, 1) },
	"no schema": func(f string) string { return strings.Replace(f, `"schema_version": "1.0", `, "", 1) },
	"scope":     func(f string) string { return strings.Replace(f, `"scope": "agent"`, `"scope": "multiAgent"`, 1) },
	"no time":   func(f string) string { return strings.Replace(f, `"created_at": "2026-03-01T10:00:00Z", `, "", 1) },
	"no data":   func(f string) string { return strings.Replace(f, `"data"`, `"gone"`, 1) },
	"data": func(f string) string {
		return `{"scope": "agent", "schema_version": "1.0", "created_at": "x", "data": []}`
	},
	"manager":    func(f string) string { return strings.Replace(f, `"__name__"`, `"name"`, 1) },
	"removed":    func(f string) string { return strings.Replace(f, `, "removed_message_count": 0`, "", 1) },
	"interrupts": func(f string) string { return strings.Replace(f, `"state": {}`, `"interrupt_state": []`, 1) },
	"no interrupts": func(f string) string {
		return strings.Replace(f, `"state": {}`, `"interrupt_state": {"activated": true}`, 1)
	},
	"all at once": func(f string) string {
		f = strings.Replace(f, `"schema_version": "1.0"`, `"schema_version": 1`, 1)
		return strings.NewReplacer(`"created_at"`, `"createdx"`, `"__name__"`, `"name"`, `"agent"`, `"x"`).Replace(f)
	},
}

func TestPlanRepair(t *testing.T) {
	skip.Sequential(t)
	good := []string{
		pythonFile(pythonTalk("q", "-a"), `"state": {}`, managerState),
		pythonFile(pythonTalk("q", "-a", "q2", "-b"), `"state": {}`, managerState),
	}
	whole := pythonFile(pythonTalk("q", "-a", "q2", "-b", "q3", "-c"), `"state": {}`, managerState)
	for name, breaks := range breaks {
		broken := breaks(whole)
		if broken == whole {
			t.Fatal(name, "breaks nothing")
		}
		dir, s := sessionOf(t, "default", "x", good...)
		mustWrite(t, filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, "default", snapshots, latestFile), broken)
		before := treeOf(t, dir)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		do(t, s, plan, nil)
		for _, f := range storetest.Faults(t, s, "s") {
			if strings.Contains(f.Verdict, "refuses to start: ") {
				t.Errorf("%s: %+v", name, f)
			}
		}
		got := parseFile([]byte(latestOf(t, dir, "s", "default")))
		if _, n := got.lastMessage(); n != 4 || len(plan.Hazards) < 2 || plan.Resume == nil {
			t.Errorf("%s: %d messages, not 4; %q", name, n, plan.Hazards)
		}
		h := head(t, s, "s")
		if h.ID != plan.Target.ID {
			t.Errorf("%s: the head is %q, not %q", name, h.ID, plan.Target.ID)
		}
		left := 0
		for _, row := range storetest.Headers(t, s, "s") {
			if strings.HasPrefix(row.ID, "kept-") {
				left++
				if !row.Orphaned || row.Reason == nil || row.Reason.Kind != model.ReasonRestore {
					t.Errorf("%s: %+v", name, row)
				}
			}
		}
		if left != 1 {
			t.Errorf("%s: %d rows of what was set aside", name, left)
		}
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}}); !errors.As(err, new(*model.NothingToError)) {
			t.Errorf("%s: repaired again: %v", name, err)
		}
		undo(t, s)
		sameTree(t, name, before, treeOf(t, dir))
	}
}

// A version that this SDK does not know may be that of a newer one.
func TestPlanRepair_asksAboutASchema(t *testing.T) {
	skip.Sequential(t)
	_, s := sessionOf(t, "default", strings.Replace(pythonFile(pythonTalk("q", "-a")), `"1.0"`, `"2.0"`, 1))
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
	if err != nil || len(plan.Asks) != 2 || !strings.Contains(plan.Asks[0], `"2.0"`) {
		t.Error(plan.Asks, err)
	}
}

func TestPlanRepair_ofTypeScript(t *testing.T) {
	skip.Sequential(t)
	whole := told("q", "-a", "q2", "-b")
	for name, c := range map[string]struct {
		broken string
		want   int
	}{
		"NaN":          {strings.Replace(whole, `"data":{`, `"data":{"state":{"n":NaN},`, 1), 2},
		"block":        {strings.Replace(whole, `{"text":"q2"}`, `{"hologram":{}}`, 1), 2},
		"schema":       {strings.Replace(whole, `"1.0"`, `1`, 1), 2},
		"interrupts":   {strings.Replace(whole, `"data":{`, `"data":{"interrupts":{},`, 1), 2},
		"other SDK":    {pythonFile(pythonTalk("q", "-a", "q2", "-b", "q3", "-c")), 2},
		"prompt":       {strings.Replace(whole, `"data":{`, `"data":{"systemPrompt":[{"x":1}],`, 1), 2},
		"not a string": {`"text"`, 2},
	} {
		dir, s := sessionOf(t, "agent", c.broken, told("q", "-a"))
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		do(t, s, plan, nil)
		d := parseFile([]byte(latestOf(t, dir, "s", "agent")))
		if _, n := d.lastMessage(); n != c.want || d.Dialect != typeScript {
			t.Errorf("%s: %d messages of %s", name, n, d.Dialect)
		}
	}
}

// Where no snapshot is any good the SDK begins anew, which is asked about.
func TestPlanRepair_nothingLeft(t *testing.T) {
	skip.Sequential(t)
	dir, s := sessionOf(t, "default", "{", `{"scope"`, `[]`)
	before := treeOf(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
	do(t, s, plan, err)
	if len(plan.Asks) == 0 || !strings.Contains(plan.Loads, "begins anew") {
		t.Error(plan.Asks, plan.Loads)
	}
	for name, h := range treeOf(t, dir) {
		if h.text != "" {
			t.Error(name, "is still there")
		}
	}
	if rows := storetest.Headers(t, s, "s"); len(rows) != 3 {
		t.Errorf("%d rows of three files", len(rows))
	}
	undo(t, s)
	sameTree(t, "undo", before, treeOf(t, dir))
}

// Snapshots that an SDK lists and cannot restore are set aside.
func TestPlanRepair_history(t *testing.T) {
	skip.Sequential(t)
	dir, s := sessionOf(t, "default", pythonFile(pythonTalk("q", "-a")), pythonFile(pythonTalk("q", "-a")), `{"scope": "agent"`)
	kept := filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, "default", snapshots, historyDir)
	mustWrite(t, filepath.Join(kept, "snapshot_mine.json"), pythonFile(pythonTalk("q", "-a", "q2")))
	before := treeOf(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
	do(t, s, plan, err)
	names, err := os.ReadDir(kept)
	if err != nil || len(names) != 1 || !uuid7().MatchString(strings.TrimSuffix(strings.TrimPrefix(names[0].Name(), "snapshot_"), ".json")) {
		t.Fatal(names, err)
	}
	if plan.Target.ID != plan.Head.ID {
		t.Error("the head moves", plan.Target.ID, plan.Head.ID)
	}
	undo(t, s)
	sameTree(t, "undo", before, treeOf(t, dir))
}

func TestPlanRepair_whatItCannot(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, namespace, "Upper", scopesDir, scopeAgent, "agent", snapshots, latestFile), told("q"))
	s := openAt(t, dir)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "Upper"}}); !errors.As(err, new(*model.UnsupportedError)) || !strings.Contains(err.Error(), "another name") {
		t.Error(err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "none"}}); !errors.Is(err, model.ErrNoSession) {
		t.Error(err)
	}
	for _, name := range written {
		s := open(t, fixture(name))
		for _, session := range ofAgents(t, s) {
			if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}}); !errors.As(err, new(*model.NothingToError)) {
				t.Errorf("%s %s: %v", name, session, err)
			}
		}
	}
}

// Whatever keeps an SDK from starting on a session, a repair mends it or says why
// not; and an undo gives the first bytes back.
func TestPlanRepair_everyHazard(t *testing.T) {
	skip.Sequential(t)
	t.Parallel() // it waits for the disk
	mended, refused := 0, 0
	for name, h := range hazards(t) {
		dir := t.TempDir()
		h.write(t, snapshotsOf(dir, name))
		s := openAt(t, dir)
		before := treeOf(t, dir)
		fatal := func() (list []model.Fault) {
			for _, f := range storetest.Faults(t, s, name) {
				if strings.HasPrefix(f.Verdict, "refuses to start: ") {
					list = append(list, f)
				}
			}
			return list
		}
		sick := fatal()
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: name}})
		switch unsupported := (*model.UnsupportedError)(nil); {
		case errors.As(err, &unsupported):
			refused++
			continue
		case errors.As(err, new(*model.NothingToError)):
			if len(sick) > 0 {
				t.Errorf("%s: nothing to repair, and %+v", name, sick)
			}
			continue
		}
		do(t, s, plan, err)
		if len(sick) > 0 {
			mended++
		}
		if left := fatal(); len(left) > 0 {
			t.Errorf("%s: there still is %+v", name, left)
		}
		undo(t, s)
		sameTree(t, name, before, treeOf(t, dir))
	}
	t.Logf("%d mended, %d refused", mended, refused)
	if mended < 10 {
		t.Error("too few are mended for this to say anything")
	}
}
