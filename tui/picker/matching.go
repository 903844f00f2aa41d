package picker

import (
	"slices"
	"strings"

	"hindcast/store/home"
)

// FindRows returns the places of the sessions that keep lets through and whose texts hold every word, in the order of
// the list. The words are in lower case.
func (p *Pane) FindRows(words []string, keep func(*Row) bool) (places []int) {
	for _, i := range p.places {
		row := &p.content.rows[i]
		lacks := func(word string) bool { return !strings.Contains(p.content.folded[i], word) }
		if row.Err == nil && keep(row) && !slices.ContainsFunc(words, lacks) {
			places = append(places, i)
		}
	}
	return places
}

// NewestFirst returns the places of the sessions, those that changed last first.
func (c *Content) NewestFirst() []int {
	places := make([]int, 0, len(c.rows))
	for i := range c.rows {
		if c.rows[i].Err == nil {
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(a, b int) int { return home.NewestFirst(&c.rows[a], &c.rows[b]) })
	return places
}

// Row returns the row of a place, which may not be changed.
func (c *Content) Row(i int) *Row { return &c.rows[i] }

// Describe returns the texts of a row: when it changed, the tool, the project, and the words of the person.
func (c *Content) Describe(i int) (when, tool, project, words string) {
	row := &c.rows[i]
	return c.times[i], toolOf(row), c.projects[i], wordsOf(row)
}
