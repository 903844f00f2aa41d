package claudecode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/storetest"
)

// A boundary that has a parent in the file follows it: so /branch writes a session, in the order in
// which the model reads it. What a compaction keeps is written again behind the summary, and is one
// row all the same.
func TestTree_ofABranchBehindACompaction(t *testing.T) {
	const session9 = "99999999-aaaa-4bbb-8ccc-000000000009"
	s := open(t, "testdata/branch-after-compaction")
	same(t, "the tree", treeOf(t, s, session9), []string{
		"[aaaaaaa1 ◂  first question]", "[aaaaaaa2 ◂ aaaaaaa1 first answer]", "[aaaaaaa3 ◂ aaaaaaa2 second question]",
		"ccccccc1 ◂ aaaaaaa3 This session is being continued from a previous conversation. Summary: two questions.",
		"aaaaaaa4 ◂ ccccccc1 second answer", "aaaaaaa5 ◂ aaaaaaa4 third question", "aaaaaaa6 ◂ aaaaaaa5 third answer *",
	})
	faults, err := s.Faults(t.Context(), session9)
	if err != nil || len(faults) != 1 || faults[0].Severity != model.Note || strings.Contains(faults[0].Meaning, "not in the file") {
		t.Errorf("%+v, %v", faults, err)
	}

	branched := func(keeps ...string) rec {
		b := boundaryOf("h", "b", "s", keeps...)
		b.more["parentUuid"], b.more["logicalParentUuid"] = "d", "b"
		return b
	}
	for name, tc := range map[string]struct {
		recs        []rec
		tree, state []string
	}{
		"two that are kept": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m2", "D", ""),
			branched("c", "d"), user("s", "h", "S"), user("c", "s", "C"), part("d", "c", "m2", "D", ""), user("e", "d", "E")},
			[]string{"[a ◂  A]", "[b ◂ a B]", "c ◂ b C", "d ◂ c D", "s ◂ d S", "e ◂ s E *"}, []string{"0 S", "1 C", "2 D", "3 E"}},
		"an answer of two records": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), part("d", "b", "m1", "", "t1"), result("r", "d", "t1"),
			func() rec { b := branched("b", "d", "r"); b.more["parentUuid"] = "r"; return b }(), user("s", "h", "S"), part("b", "s", "m1", "B", ""), part("d", "b", "m1", "", "t1"), result("r", "d", "t1"), user("e", "r", "E")},
			[]string{"[a ◂  A]", "b ◂ a B (T)", "r ◂ b T  out t1", "s ◂ r S", "e ◂ s E *"}, nil},
		"nothing kept": {[]rec{user("a", "", "A"), part("d", "a", "m1", "D", ""), branched(), user("s", "h", "S"), user("e", "s", "E")},
			[]string{"[a ◂  A]", "[d ◂ a D]", "s ◂ d S", "e ◂ s E *"}, []string{"0 S", "1 E"}},
		"a branch of a branch": {[]rec{user("a", "", "A"), part("d", "a", "m1", "D", ""), branched("d"), user("s", "h", "S"), part("d", "s", "m1", "D", ""), user("e", "d", "E"),
			func() rec {
				b := branched("e")
				b.id, b.more["parentUuid"], b.more["logicalParentUuid"] = "i", "e", "d"
				return b
			}(), user("z", "i", "Z"), user("e", "z", "E"), user("f", "e", "F")},
			[]string{"[a ◂  A]", "[d ◂ a D]", "[s ◂ d S]", "e ◂ s E", "z ◂ e Z", "f ◂ z F *"}, []string{"0 Z", "1 E", "2 F"}},
	} {
		dir, _ := written(t, list(tc.recs...)...)
		s := open(t, dir)
		same(t, "the tree of "+name, treeOf(t, s, session), tc.tree)
		if tc.state != nil {
			rows := storetest.Headers(t, s, session)
			head := rows[slices.IndexFunc(rows, func(h model.Header) bool { return h.Head })]
			same(t, "the state of "+name, contexts(t, s, session, head.ID), tc.state)
		}
	}
}

// All pieces of a broken chain are off the path for one reason: the first one, whose own parents
// are there, and those behind it.
func TestTree_ofABrokenChain(t *testing.T) {
	reasons := func(s string, recs ...rec) (list []string) {
		dir := s
		if dir == "" {
			dir, _ = written(t, func() (lines []fmt.Stringer) {
				for _, r := range recs {
					lines = append(lines, r)
				}
				return lines
			}()...)
		}
		st := open(t, dir)
		for _, h := range storetest.Headers(t, st, storetest.Sessions(t, st)[0].ID) {
			word := "path"
			if h.Orphaned {
				word = h.Reason.Kind.String()
			}
			if n := len(list); n == 0 || list[n-1] != word {
				list = append(list, word)
			}
		}
		return list
	}
	for name, tc := range map[string]struct {
		store string
		recs  []rec
		want  []string
	}{
		"three pieces":    {"testdata/broken-chain", nil, []string{"chainBroken", "path"}},
		"without parents": {"", []rec{user("a", "", "A"), part("b", "", "m1", "B", ""), user("c", "", "C"), part("d", "", "m2", "D", "")}, []string{"chainBroken", "path"}},
		"the head in the first": {"", []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), at(30, user("c", "gone", "C")), at(31, part("d", "c", "m2", "D", "")), lastPrompt("b")},
			[]string{"path", "chainBroken"}},
		"a branch in a piece": {"", []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "a", "C"), at(30, user("d", "gone", "D"))}, []string{"chainBroken", "path"}},
		"a second start":      {"", []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "", "C"), part("d", "c", "m2", "D", "")}, []string{"secondLeaf", "path"}},
	} {
		same(t, "the reasons of "+name, reasons(tc.store, tc.recs...), tc.want)
	}
}

// A join is a session of all pieces in the order of the file: each record is as it was, but for the
// session and, where a piece begins, its parent. An undo takes it away.
func TestJoin_hasAllPieces(t *testing.T) {
	const as = "22222222-2222-4222-8222-222222222222"
	summary := user("s", "h", "S")
	for name, tc := range map[string]struct {
		recs  []rec
		state []string          // of the head
		links map[string]string // the parents that are linked anew
		left  []string          // the records that are not in it
	}{
		"three pieces": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), at(20, user("c", "gone", "C")), at(21, part("d", "c", "m2", "D", "")), at(40, user("e", "lost", "E")), at(41, part("f", "e", "m3", "F", ""))},
			[]string{"0 A", "1 B", "2 C", "3 D", "4 E", "5 F"}, map[string]string{"c": "b", "e": "d"}, nil},
		"one that was adopted": {[]rec{user("a", "", "A"), at(1, part("b", "a", "m1", "B", "")), at(2, user("c", "gone", "C")), at(30, user("d", "lost", "D"))},
			[]string{"0 A", "1 B", "2 C", "3 D"}, map[string]string{"c": "b", "d": "c"}, nil},
		"without parents": {[]rec{user("a", "", "A"), part("b", "", "m1", "B", ""), user("c", "", "C"), part("d", "", "m2", "D", "")},
			[]string{"0 A", "1 B", "2 C", "3 D"}, map[string]string{"b": "a", "c": "b", "d": "c"}, nil},
		"an answer of two records and results": {[]rec{user("a", "", "A"), at(20, part("b", "gone", "m1", "", "t1")), at(20, part("c", "b", "m1", "", "t2")), at(21, result("d", "c", "t2")), at(21, result("e", "b", "t1")), at(50, part("f", "lost", "m2", "F", ""))},
			nil, map[string]string{"b": "a", "f": "e"}, nil},
		"what is no message, before a piece": {[]rec{user("a", "", "A"), at(20, rec{kind: "system", id: "x", parent: "gone"}), at(21, user("b", "x", "B")), at(22, rec{kind: "attachment", id: "y", parent: "b", more: map[string]any{"attachment": map[string]any{"type": "date", "date": "today"}}}), at(50, user("c", "lost", "C"))},
			[]string{"0 A", "1 B", "1 context date 5 B: today", "2 C"}, map[string]string{"x": "a", "c": "y"}, nil},
		"a branch in a piece": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), part("c", "a", "m2", "C", ""), at(30, user("d", "gone", "D"))},
			[]string{"0 A", "1 C", "2 D"}, map[string]string{"d": "c"}, []string{"b"}},
		"the head in the first piece": {[]rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), at(30, user("c", "gone", "C")), at(31, part("d", "c", "m2", "D", "")), lastPrompt("b")},
			[]string{"0 A", "1 B", "2 C", "3 D"}, map[string]string{"c": "b"}, []string{""}},
		"what a second compaction left": {[]rec{user("a", "", "A"), at(1, part("b", "a", "m1", "B", "")), at(2, user("c", "b", "C")), at(3, boundaryOf("h", "c", "s")), at(4, summary), at(5, user("d", "s", "D")), at(6, part("e", "d", "m2", "E", "")),
			user("a", "", "A"), at(1, part("b", "a", "m1", "B", "")), at(7, rec{kind: "system", id: "x", parent: "b"}), at(8, boundaryOf("i", "x", "z")), at(9, user("z", "i", "Z")), at(10, user("f", "z", "F"))},
			[]string{"0 Z", "1 F"}, map[string]string{"x": "e"}, nil},
		"what is no message, in an answer": {[]rec{user("a", "", "A"), at(20, part("b", "gone", "m1", "B", "")), at(20, rec{kind: "system", id: "x", parent: "b"}), at(20, part("c", "x", "m1", "", "t1")), at(21, result("d", "c", "t1"))},
			nil, map[string]string{"b": "a"}, nil},
		"one that was written again": {[]rec{user("a", "", "A"), at(1, part("b", "a", "m1", "B", "")), at(30, user("b", "gone", "again")), at(31, user("c", "b", "C"))},
			[]string{"0 A", "1 B", "2 C"}, nil, nil},
		"a compaction in a piece": {[]rec{user("a", "", "A"), at(20, boundaryOf("h", "gone", "s")), at(21, summary), at(22, part("b", "s", "m1", "B", "")), at(50, user("c", "lost", "C"))},
			[]string{"0 S", "1 B", "2 C"}, map[string]string{"h": "a", "c": "b"}, nil},
	} {
		dir, file := written(t, list(tc.recs...)...)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session}, As: as, Join: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := s.Features().Apply(t.Context(), plan); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var want strings.Builder
		seen := map[string]bool{}
		for _, r := range tc.recs {
			if again := seen[r.id]; again || slices.Contains(tc.left, r.id) {
				continue
			}
			seen[r.id] = true
			if to := tc.links[r.id]; to != "" {
				r.parent = to
				if r.more["logicalParentUuid"] != nil {
					r.parent, r.more["logicalParentUuid"] = "", to
				}
			}
			want.WriteString(strings.ReplaceAll(r.String(), session, as) + "\n")
		}
		made := filepath.Join(filepath.Dir(file), as+suffix)
		got, err := os.ReadFile(made)
		if err != nil || string(got) != want.String() {
			t.Errorf("%s: the file has\n%s\nand not\n%s", name, got, &want)
		}
		rows := storetest.Headers(t, s, as)
		if i := slices.IndexFunc(rows, func(h model.Header) bool { return h.Orphaned }); i >= 0 {
			t.Errorf("%s: %s is off the path", name, rows[i].Title)
		}
		if tc.state != nil {
			same(t, "the state of "+name, contexts(t, s, as, rows[len(rows)-1].ID), tc.state)
		}
		for _, f := range storetest.Faults(t, s, as) {
			if f.Severity > model.Note {
				t.Errorf("%s: the joined session has %s: %s", name, f.Code, f.Meaning)
			}
		}
		if joins := slices.ContainsFunc(storetest.Faults(t, s, session), func(f model.Fault) bool { return f.Code == FaultChain && f.Joins }); !joins {
			t.Errorf("%s: no fault says that a join mends it", name)
		}
		undo, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err == nil {
			_, err = s.Features().Apply(t.Context(), undo)
		}
		after, failed := os.ReadFile(file)
		if _, there := os.Stat(made); err != nil || failed != nil || there == nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the undo fails: %v, %v", name, err, there)
		}
	}
}

// A whole chain, a sub-agent's file and another agent's session are not joined.
func TestJoin_refusesAWholeChain(t *testing.T) {
	dir, _ := written(t, user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "a", "C"))
	_, err := open(t, dir).Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session}, Join: true})
	if none := (*model.UnsupportedError)(nil); !errors.As(err, &none) || !strings.Contains(none.Reason, "nothing to join") {
		t.Errorf("%v", err)
	}
	dir, _ = written(t, user("a", "", "A"), part("b", "a", "m1", "B", ""), at(30, user("c", "gone", "C")))
	s := open(t, dir)
	if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: "a"}, Join: true}); err == nil {
		t.Error("a join ends at a snapshot")
	}
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: "a"}})
	if err != nil || !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "--join") }) {
		t.Errorf("the plan of a fork from a piece warns %q, %v", plan.Hazards, err)
	}
}

// "Summarize from here" is a compaction of what followed a message: that stays, and so does all
// before it. What it summarized is off the path for that, and what a turn writes behind the summary
// is on it, though the newest last-prompt names what was summarized.
func TestTree_ofASummaryOfWhatFollows(t *testing.T) {
	summary := user("s", "h", "S")
	summary.more = map[string]any{"isCompactSummary": true, "summarizeMetadata": map[string]any{"direction": "from", "messagesSummarized": 2}}
	begin := []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), part("d", "c", "m2", "D", ""), lastPrompt("d"), boundaryOf("h", "b", "h", "a", "b"), summary}
	for name, tc := range map[string]struct {
		more        []rec
		tree, state []string
	}{
		"at once":          {nil, []string{"s ◂ b S *"}, []string{"0 A", "1 B", "2 S"}},
		"in a turn":        {[]rec{user("e", "s", "E")}, []string{"s ◂ b S", "e ◂ s E *"}, []string{"0 A", "1 B", "2 S", "3 E"}},
		"a pointer behind": {[]rec{lastPrompt("d"), user("e", "s", "E")}, []string{"s ◂ b S", "e ◂ s E *"}, nil},
	} {
		dir, _ := written(t, list(append(slices.Clip(begin), tc.more...)...)...)
		s := open(t, dir)
		same(t, "the tree "+name, treeOf(t, s, session), append([]string{"a ◂  A", "b ◂ a B", "c ◂ b C – compaction", "d ◂ c D – compaction"}, tc.tree...))
		rows := storetest.Headers(t, s, session)
		if tc.state != nil {
			same(t, "the state "+name, contexts(t, s, session, rows[len(rows)-1].ID), tc.state)
		}
		if got := rows[2].Reason.Text(func(time.Time) string { return "" }); got != "in a compaction of what followed #1 at " {
			t.Errorf("%s: #2 is off the path: %q", name, got)
		}
	}
	// A branch that a rewind left before another compaction is left by the rewind.
	dir, _ := written(t, user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "b", "C"), boundaryOf("h", "b", "s"), user("s", "h", "S"))
	same(t, "the tree of a rewind", treeOf(t, open(t, dir), session), []string{"[a ◂  A]", "[b ◂ a B]", "c ◂ b C – rewind", "s ◂ b S *"})
}
