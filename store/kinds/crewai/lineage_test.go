package crewai

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParents(t *testing.T) {
	for name, c := range map[string]struct {
		rows []row
		want []string
	}{
		"a line":                   {[]row{{"a", "", []uint64{1}}, {"b", "a", []uint64{1, 2}}, {"c", "b", []uint64{1, 2, 3}}}, []string{"", "a", "b"}},
		"two roots of one line":    {[]row{{"a", "", []uint64{1}}, {"b", "", []uint64{1, 2}}, {"c", "b", []uint64{1, 2, 3}}}, []string{"", "a", "b"}},
		"two children of one line": {[]row{{"a", "", []uint64{1}}, {"b", "a", []uint64{1, 2}}, {"c", "a", []uint64{1, 2, 3}}}, []string{"", "a", "b"}},
		"a branch":                 {[]row{{"a", "", []uint64{1}}, {"b", "a", []uint64{1, 2}}, {"c", "a", []uint64{1, 3, 4}}}, []string{"", "a", "a"}},
		"a parent that was pruned": {[]row{{"b", "a", []uint64{1, 2}}, {"c", "b", []uint64{1, 2, 3}}}, []string{"a", "b"}},
		"one before that is there": {[]row{{"a", "", []uint64{1}}, {"c", "b", []uint64{1, 2, 3}}}, []string{"", "a"}},
		"a copy":                   {[]row{{"a", "", []uint64{1}}, {"a2", "a", []uint64{1}}, {"b", "a2", []uint64{1, 2}}}, []string{"", "a", "a2"}},
		"without events":           {[]row{{"a", "", nil}, {"b", "a", nil}}, []string{"", "a"}},
		"a parent of another run":  {[]row{{"a", "", []uint64{1}}, {"b", "a", []uint64{2, 3}}}, []string{"", "a"}},
		"a parent that came later": {[]row{{"a", "b", []uint64{1}}, {"b", "", []uint64{1, 2}}}, []string{"b", "a"}},
		"itself":                   {[]row{{"a", "a", []uint64{1}}}, []string{"a"}},
	} {
		if got := parentsOf(c.rows); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// However the threads race over who is whose parent, a line of checkpoints is a line.
func TestParents_racedLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "checkpoints")
		rows, want := make([]row, n), make([]string, n)
		events := []uint64{}
		for i := range rows {
			for range rapid.IntRange(1, 5).Draw(t, "events") {
				events = append(events, uint64(len(events)))
			}
			rows[i] = row{id: string(rune('A' + i)), events: slices.Clone(events)}
			if before := rapid.IntRange(-1, i-1).Draw(t, "recorded"); before >= 0 {
				rows[i].recorded = rows[before].id
			}
			if i > 0 {
				want[i] = rows[i-1].id
			}
		}
		if got := parentsOf(rows); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
