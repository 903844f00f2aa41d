package query_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/filechange"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
)

// alone is a session of a home, in a store that was opened by itself.
type alone struct {
	query.Source
	open *query.Session
}

// openMachine returns the sessions of a machine with a store of every kind, as its home lists them, and one by one.
func openMachine(t *testing.T) (all []query.Source, each []alone) {
	t.Helper()
	dir := t.TempDir()
	m := machine.Machine{Home: filepath.Join(dir, "me"), Work: filepath.Join(dir, "me", "work")}
	if err := machine.Lay("../testdata", m); err != nil {
		t.Fatal(err)
	}
	known := kinds.All(nil, "")
	h := home.New(known, home.Places{Around: m.Surroundings(), Below: []string{m.Work}})
	t.Cleanup(func() { h.Close() })
	for row, err := range h.Sessions(t.Context()) {
		if err != nil || row.Err != nil {
			t.Fatal(err, row.Err)
		}
		in := query.Source{Store: row.Store.Opened(), SessionInfo: row.SessionInfo}
		in.Kind = row.Store.Name
		all = append(all, in)
	}
	for _, of := range h.Stores() {
		found, err := known.Identify(t.Context(), of.At)
		if err != nil {
			t.Fatal(err)
		}
		s, err := found.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			info.Kind = of.Name
			each = append(each, alone{query.Source{Store: s, SessionInfo: info}, query.Open(s, timelineOf(t, s, info.ID))})
		}
	}
	slices.SortStableFunc(all, func(a, b query.Source) int { return store.NewestFirst(a.SessionInfo, b.SessionInfo) })
	return all, each
}

// describeText returns a hit as a line, without its snapshot.
func describeText(in *query.Source, h *query.Hit) string {
	return fmt.Sprintf("%s %s %s: %q %d-%d key %v role %s tool %s failed %v", in.Kind, in.Store.Address(), in.ID, h.Text, h.From, h.To, h.Key, h.Role, h.Tool, h.Failed)
}

// uncommon returns the lines that are in one of two sorted lists alone, each behind the sign of the list that has it.
func uncommon(got, want []string) (list []string) {
	for len(got)+len(want) > 0 {
		switch {
		case len(want) == 0 || len(got) > 0 && got[0] < want[0]:
			list, got = append(list, "+ "+got[0]), got[1:]
		case len(got) == 0 || want[0] < got[0]:
			list, want = append(list, "- "+want[0]), want[1:]
		default:
			got, want = got[1:], want[1:]
		}
	}
	return list
}

// The search of a home finds what the searches of its sessions find, one by one, whatever it looks for and however it is
// narrowed.
func TestSearchHome_isItsStoresOneByOne(t *testing.T) {
	all, each := openMachine(t)
	var words []string
	for i := range each {
		for hit, err := range each[i].open.Grep(t.Context(), query.Search{Pattern: expr(t, `\w\w\w`)}) {
			if err != nil {
				t.Fatal(err)
			}
			list := strings.Fields(hit.Text)
			words = append(words, list[len(words)%len(list)], hit.Text[hit.From:hit.To])
		}
	}
	for n := range 1000 { // which may be numbers, and parts of such
		words = append(words, fmt.Sprint(n))
	}
	slices.Sort(words)
	words = slices.Compact(words)
	found := 0
	checks := 12
	if testing.Short() {
		checks = 3
	}
	rapid.Check(t, storetest.Few(checks, func(r *rapid.T) {
		word := []rune(rapid.SampledFrom(words).Draw(r, "word"))
		from := rapid.IntRange(0, max(len(word)-2, 0)).Draw(r, "from")
		text := string(word[from:rapid.IntRange(min(from+2, len(word)), min(from+20, len(word))).Draw(r, "to")])
		letters := rapid.SampledFrom([]query.Case{query.SmartCase, query.MatchCase, query.IgnoreCase}).Draw(r, "letters")
		search := query.HomeSearch{Search: query.Search{Pattern: query.Literal(text, letters)}}
		if rapid.Bool().Draw(r, "regexp") {
			var err error
			if search.Pattern, err = query.Regexp(regexp.QuoteMeta(text)+rapid.SampledFrom([]string{"", "s?", ".*e", "$"}).Draw(r, "more"), letters); err != nil {
				r.Fatal(err)
			}
		}
		search.Role = rapid.SampledFrom([]string{"", "", "user", "assistant"}).Draw(r, "role")
		search.Failed = rapid.IntRange(0, 5).Draw(r, "failed") == 0
		search.Orphaned = rapid.IntRange(0, 5).Draw(r, "left") == 0
		search.Agent = rapid.SampledFrom([]string{"", "", "codex", "claude"}).Draw(r, "agent")
		search.Project = rapid.SampledFrom([]string{"", "", "demo"}).Draw(r, "project")
		search.Exact = rapid.IntRange(0, 5).Draw(r, "exact") == 0
		var got, want []string
		for hit, err := range query.SearchHome(t.Context(), yieldSources(all, nil), search) {
			if err != nil || hit.Err != nil {
				r.Fatal(err, hit.Err)
			}
			got = append(got, describeText(&hit.Source, &hit.Hit))
		}
		for i := range each {
			if !search.Selects(&each[i].SessionInfo) {
				continue
			}
			for hit, err := range each[i].open.Grep(t.Context(), search.Search) {
				if err != nil {
					r.Fatal(err)
				}
				want = append(want, describeText(&each[i].Source, &hit))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		found += len(want)
		if !slices.Equal(got, want) {
			r.Fatalf("%q of role %q: the home finds %d texts, and its stores %d:\n%s", text, search.Role, len(got), len(want), strings.Join(uncommon(got, want), "\n"))
		}
	}))
	if found == 0 && !testing.Short() { // few draws may all be of words that nobody said
		t.Error("no search found anything")
	}
}

// patchesBetween returns the patch of each file that changed from one visit to another, or why it has none. Back inverts
// the patches.
func patchesBetween(t *testing.T, q *query.Session, from, to model.Node, back bool) (patches map[string]string, unknown map[string]error) {
	t.Helper()
	r, err := q.FilesBetween(t.Context(), from, to, true)
	if err != nil {
		t.Fatal(err)
	}
	folds := new(filechange.Folds)
	for _, c := range r.Changes() {
		folds.Add(&c)
	}
	patches, unknown = map[string]string{}, map[string]error{}
	for _, f := range folds.All() {
		c, none := f.Change()
		if back {
			c = c.Invert()
		}
		if err := f.Err(); err != nil {
			unknown[c.Path], unknown[c.From] = err, err
		} else if !none {
			patches[c.Path] = string(filechange.AppendPatch(nil, &c))
		}
	}
	return patches, unknown
}

// Whatever agent wrote a session, folding what it recorded from one end of a branch to another gives for each file the patch
// that folding it backwards gives, taken back, unless one of the two says why there is none.
func TestFilesBetween_leadThereAndBackInEveryKind(t *testing.T) {
	skip.Sequential(t)
	_, each := openMachine(t)
	for _, at := range []string{"claude-code", "codex", "copilot-cli", "odd", "opencode"} {
		s, _, _ := openFiles(t, at, "")
		for _, info := range storetest.Sessions(t, s) {
			info.Kind = s.Kind()
			each = append(each, alone{query.Source{Store: s, SessionInfo: info}, query.Open(s, timelineOf(t, s, info.ID))})
		}
	}
	equal, told := map[string]int{}, map[string]int{}
	for i := range each {
		line := timelineOf(t, each[i].Store, each[i].ID)
		ends := []model.Node{0}
		for n := range model.Node(line.Len()) {
			if line.Next(n) == model.NoNode {
				ends = append(ends, n)
			}
		}
		for k, b := range ends {
			for _, a := range ends[:k] {
				there, unknown := patchesBetween(t, each[i].open, a, b, false)
				back, notBack := patchesBetween(t, each[i].open, b, a, true)
				for path := range unknown {
					delete(back, path)
				}
				for path := range notBack {
					delete(there, path)
				}
				for path, patch := range there {
					if back[path] != patch {
						t.Errorf("%s %s from %s to %s: %s is\n%s\nand back\n%s", each[i].Kind, each[i].ID, line.Name(a), line.Name(b), path, patch, back[path])
					}
					equal[each[i].Kind]++
					delete(back, path)
				}
				for path, patch := range back {
					t.Errorf("%s %s from %s to %s: %s is back\n%s", each[i].Kind, each[i].ID, line.Name(a), line.Name(b), path, patch)
				}
				told[each[i].Kind] += len(unknown) + len(notBack)
			}
		}
	}
	for _, kind := range []string{"claude-code", "codex", "copilot-cli", "opencode"} {
		if equal[kind] == 0 {
			t.Errorf("no file of %s was compared", kind)
		}
	}
}
