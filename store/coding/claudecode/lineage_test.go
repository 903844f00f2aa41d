package claudecode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// A boundary that has a parent in the file follows it: so /branch writes a session, in the order in
// which the model reads it. What a compaction keeps is written again behind the summary, and is one
// row all the same.
func TestTree_ofABranchBehindACompaction(t *testing.T) {
	const session9 = "99999999-aaaa-4bbb-8ccc-000000000009"
	s := open(t, "testdata/branch-after-compaction")
	same(t, "the tree", tree(t, s, session9), []string{
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
			[]string{"[a ◂  A]", "b ◂ a B (calls T)", "r ◂ b T ok", "s ◂ r S", "e ◂ s E *"}, nil},
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
		same(t, "the tree of "+name, tree(t, s, session), tc.tree)
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
