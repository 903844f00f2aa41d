package filechange

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model/conversation"
)

// The calls and the rest of a file add up to the change between its copies, whatever the calls tell.
func TestMerge_addsUpToTheCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts, changes := drawSteps(t)
		first, last := texts[0], texts[len(texts)-1]
		if sameText(first, last) {
			return
		}
		var effects []*Effect
		for i, c := range changes {
			switch rapid.IntRange(0, 4).Draw(t, "how it is told") {
			case 0: // by nothing
				if rapid.Bool().Draw(t, "a command") {
					effects = append(effects, &Effect{Command: "make"})
				}
				continue
			case 1: // by its name alone
				c = Change{Path: "./a.txt", Known: NotRecorded}
			case 2:
				c.Known = Inferred
				if c.Before = nil; texts[i+1] != nil {
					c.After, c.Hunks = texts[i+1], []Hunk{{Old: -1, New: -1, Lines: signLines(nil, "+", *texts[i+1])}}
				}
			case 3: // wrongly
				c.Hunks = []Hunk{{Old: 1, New: 1, Lines: []string{"-no such line", "+x"}}}
			}
			effects = append(effects, &Effect{Tool: "edit", Changes: []Change{c}})
		}
		copies := Copies{Changes: []Change{Between("a.txt", first, last)}}
		rest := copies.Merge(effects)
		var all []Change
		for _, e := range effects {
			all = append(all, e.Changes...)
		}
		all = append(all, rest...)
		f := NewFold("a.txt")
		for i := range all {
			if f.Add(&all[i]); all[i].Known != Recorded {
				t.Fatalf("it is %s: %+v", all[i].Known, all)
			}
		}
		c, none := f.Change()
		if got := textAfter(t, c, first); f.Err() != nil || none || !sameText(got, last) {
			t.Fatalf("%v, %v: from %v comes %v, want %v\n%+v", f.Err(), none, first, got, last, all)
		}
	})
}

// What each call did is kept apart where the copies bear it out, and what is left is told of no call.
func TestMerge(t *testing.T) {
	text := func(s string) *string { return &s }
	edit := func(path, before, after string) *Effect {
		return &Effect{Tool: "edit", Changes: []Change{{Path: path, Hunks: Compare(before, after)}}}
	}
	for name, of := range map[string]struct {
		effects []*Effect
		copies  []Change
		want    []string
	}{
		"two edits":                    {[]*Effect{edit("/w/a", "1\n", "2\n"), edit("/w/a", "2\n", "3\n")}, []Change{Between("/w/a", text("1\n"), text("3\n"))}, []string{"a changed +1 −1", "a changed +1 −1"}},
		"an edit and a command":        {[]*Effect{edit("a", "1\n", "2\n"), {Command: "make"}}, []Change{Between("/w/a", text("1\n"), text("2\n4\n"))}, []string{"a changed +1 −1", "rest a changed +1"}},
		"an edit and a formatter":      {[]*Effect{edit("a", "1\n", "2\n")}, []Change{Between("/w/a", text("1\n"), text("2\n4\n"))}, []string{"a changed +2 −1"}},
		"a file that no call tells of": {[]*Effect{{Command: "make"}}, []Change{Between("/w/b", nil, text("b\n")), Between("/w/c", text("b\n"), nil)}, []string{"rest b moved"}},
		"a move":                       {[]*Effect{{Tool: "apply_patch", Changes: []Change{{Path: "b", From: "a", Kind: Moved, Known: Inferred}}}}, []Change{Between("/w/a", text("1\n2\n"), nil), Between("/w/b", nil, text("1\n3\n"))}, []string{"b moved +1 −1"}},
		"no text behind":               {[]*Effect{edit("a", "1\n", "2\n"), {Command: "make"}}, []Change{{Path: "/w/a", Known: NotRecorded, Before: text("1\n")}, {Path: "/w/b", Kind: Created, Known: NotRecorded}}, []string{"a changed +1 −1", "rest b created not recorded"}},
		"a patch alone":                {[]*Effect{edit("a", "1\n", "2\n")}, []Change{{Path: "/w/a", Hunks: Compare("1\n", "2\n")}, {Path: "/w/b", Hunks: Compare("1\n", "2\n")}}, []string{"a changed +1 −1", "rest b changed +1 −1"}},
	} {
		copies := Copies{Dir: "/w", Changes: of.copies}
		rest := copies.Merge(of.effects)
		var got []string
		add := func(before string, c *Change) {
			path, _ := PathIn("/w", c.Path)
			line := before + path + " " + c.Kind.String()
			if n := conversation.Change(c.Count()); n != "" {
				line += " " + n
			}
			if c.Known != Recorded {
				line += " " + c.Known.String()
			}
			got = append(got, line)
		}
		for _, e := range of.effects {
			for i := range e.Changes {
				add("", &e.Changes[i])
			}
		}
		for i := range rest {
			add("rest ", &rest[i])
		}
		if !slices.Equal(got, of.want) {
			t.Errorf("%s: they are %q, want %q", name, got, of.want)
		}
	}
}

// Versions complete the calls that lead from one to the next, and what the person changed between is no call's.
func TestMerge_versions(t *testing.T) {
	text := "3\n"
	effects := []*Effect{
		{Tool: "write", Changes: []Change{{Path: "a", Kind: Created, Known: Inferred, After: &text, Hunks: Compare("", text)}}},
		{Tool: "edit", Changes: []Change{{Path: "/w/a", Known: Inferred, Replaced: []Replacement{{Old: "x", New: "y"}}, Hunks: []Hunk{{Old: -1, New: -1, Lines: []string{"-x", "+y"}}}}}},
		{Tool: "edit", Changes: []Change{{Path: "a", Known: Inferred, Replaced: []Replacement{{Old: "nowhere", New: "y"}}}}},
	}
	copies := Copies{Dir: "/w", Versions: map[string][]string{"/w/a": {"", "3\n", "1\nx\n", "1\ny\n"}}}
	if rest := copies.Merge(effects); rest != nil {
		t.Errorf("nothing tells of %+v", rest)
	}
	created, changed, other := effects[0].Changes[0], effects[1].Changes[0], effects[2].Changes[0]
	if created.Known != Recorded || created.Kind != Created || *created.After != "3\n" {
		t.Errorf("the first is %+v", created)
	}
	if changed.Known != Recorded || *changed.Before != "1\nx\n" || *changed.After != "1\ny\n" || changed.Hunks[0].Old != 1 {
		t.Errorf("the second is %+v", changed)
	}
	if other.Known != Inferred {
		t.Errorf("the third is %+v", other)
	}
}
