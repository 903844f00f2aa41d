package picker

import (
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/home"
	"hindcast/tui/cell"
)

// Row is one session of the list, or a store that could not be read.
type Row = home.Session

// Name tells a row from all others.
type Name struct {
	Store *home.Store
	ID    string
}

// NameOf returns the name of a row.
func NameOf(row *Row) Name { return Name{row.Store, row.ID} }

// Content is rows with all that is worked out of them before they are drawn. It is not changed once it is made,
// so a command can make it.
type Content struct {
	rows []Row
	// folded are the lower-case texts that FindRows looks at, projects the names that tell the projects apart,
	// and times the times of the last changes as the list shows them.
	folded, projects, times []string
	// widths are the cells that each column needs, words those of the longest words.
	widths []int
	words  int
	// above are the rows under which rows fold, -1 for a row of its own; agents are the rows that fold under each.
	above  []int
	agents map[int][]int
	// sessions is how many rows are sessions, and faulty how many of them have faults.
	sessions, faulty int
	day              calendar
	// nouns are the words of the kind that all rows are of.
	nouns model.Nouns
}

// Prepare works out what the list needs of rows at a moment, whose zone is that of the times.
func Prepare(rows []Row, now time.Time) *Content {
	c := &Content{rows: rows, nouns: nounsOf(rows), day: calendar{now}, projects: shortProjects(rows), widths: make([]int, len(columns))}
	tools, stores := map[string]bool{}, map[*home.Store]bool{}
	for i := range rows {
		row := &rows[i]
		if row.Err == nil {
			c.sessions++
		}
		if row.Faults > 0 {
			c.faulty++
		}
		stores[row.Store] = true
		tools[row.Store.Name] = true
		c.times = append(c.times, c.day.short(row.UpdatedAt))
		c.folded = append(c.folded, strings.ToLower(strings.Join([]string{wordsOf(row), row.ID, row.Project, row.Store.Name, toolOf(row), row.Store.At}, " ")))
		c.words = max(c.words, cell.Width(wordsOf(row)))
		for k := range columns {
			if columns[k].text != nil && columns[k].text(c, i) != "" {
				text := columns[k].text(c, i)
				c.widths[k] = min(max(c.widths[k], cell.Width(c.headColumn(k)), cell.Width(text)), columns[k].width)
			}
		}
	}
	c.linkAgents()
	if len(tools) < 2 && len(stores) < 2 {
		c.widths[toolColumn] = 0 // it would be the same in each row
	}
	return c
}

// nounsOf returns the words of the kind that all rows are of, those of no kind where there are several.
func nounsOf(rows []Row) model.Nouns {
	kind := ""
	for i := range rows {
		of := kindOf(&rows[i])
		if i > 0 && of != kind {
			return model.NounsOf("")
		}
		kind = of
	}
	return model.NounsOf(kind)
}

// mostNested bounds how deep sub-agents of sub-agents are followed; a damaged store may have a cycle.
const mostNested = 64

// linkAgents has the session of a sub-agent fold under the session that started it and its parents, if that is a row.
func (c *Content) linkAgents() {
	c.above, c.agents = make([]int, len(c.rows)), map[int][]int{}
	at := map[Name]int{}
	for i := range c.rows {
		c.above[i] = -1
		if c.rows[i].Err == nil {
			at[NameOf(&c.rows[i])] = i
		}
	}
	for i := range c.rows {
		top := i
		parent, nested := c.parentRow(at, i)
		for depth := 0; nested && depth < mostNested; depth++ {
			top = parent
			parent, nested = c.parentRow(at, top)
		}
		if top != i && !nested {
			c.above[i] = top
			c.agents[top] = append(c.agents[top], i)
		}
	}
}

// parentRow returns the row of the session that started the session of a row, and whether there is one.
func (c *Content) parentRow(at map[Name]int, i int) (parent int, known bool) {
	if c.rows[i].Parent != "" {
		parent, known = at[Name{c.rows[i].Store, c.rows[i].Parent}]
	}
	return parent, known
}

// Rows returns the rows, which the caller may not change.
func (c *Content) Rows() []Row { return c.rows }

// Faulty returns how many sessions have faults, as far as their stores count them.
func (c *Content) Faulty() int { return c.faulty }

// Len returns the number of rows.
func (c *Content) Len() int { return len(c.rows) }

// shortProjects returns as much of the end of each row's project as tells it from the others.
func shortProjects(rows []Row) []string {
	short := map[string]string{}
	for i := range rows {
		short[rows[i].Project] = ""
	}
	projects := make([]string, 0, len(short))
	for project := range short {
		projects = append(projects, project)
	}
	for parts := 1; len(projects) > 0; parts++ {
		ends := map[string][]string{}
		for _, project := range projects {
			end := endOfPath(project, parts)
			ends[end] = append(ends[end], project)
		}
		projects = projects[:0]
		for end, same := range ends {
			for _, project := range same {
				if short[project] = end; len(same) > 1 && len(end) < len(strings.TrimRight(project, `/\`)) {
					projects = append(projects, project)
				}
			}
		}
	}
	list := make([]string, len(rows))
	for i := range rows {
		list[i] = short[rows[i].Project]
	}
	return list
}

// endOfPath returns the last parts of a path, of whatever system it is.
func endOfPath(path string, parts int) string {
	path = strings.TrimRight(path, `/\`)
	at := len(path)
	for ; parts > 0 && at >= 0; parts-- {
		at = strings.LastIndexAny(path[:at], `/\`)
	}
	return path[at+1:]
}

// calendar tells days by the time that it is now.
type calendar struct{ now time.Time }

// days returns how many days before today a time is; the zone is that of now.
func (c calendar) days(t time.Time) int {
	y, m, d := c.now.Date()
	today := time.Date(y, m, d, 12, 0, 0, 0, time.UTC)
	y, m, d = t.In(c.now.Location()).Date()
	return int(today.Sub(time.Date(y, m, d, 12, 0, 0, 0, time.UTC)).Hours() / 24)
}

// short returns a time of today or yesterday as hours and minutes, another one as its day.
func (c calendar) short(t time.Time) string {
	t = t.In(c.now.Location())
	switch days := c.days(t); {
	case t.IsZero():
		return ""
	case days == 0 || days == 1:
		return t.Format("15:04")
	case t.Year() == c.now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2006-01")
}

// heading returns the name of the days that a time is ruled under: today, yesterday, a weekday of the last six
// days, else a month.
func (c calendar) heading(t time.Time) string {
	t = t.In(c.now.Location())
	switch days := c.days(t); {
	case t.IsZero():
		return "no date"
	case days < 0:
		return "in future"
	case days == 0:
		return "today"
	case days == 1:
		return "yesterday"
	case days < 7:
		return t.Format("Monday")
	case t.Year() == c.now.Year():
		return t.Format("January")
	}
	return t.Format("January 2006")
}

// sorted returns the places of the rows in an order, and the heading before each where they are grouped: those
// of one group stay together, the group whose first row comes first.
func (c *Content) sorted(by *order, group *grouping, sums map[Name]*Sum) (places []int, headings []string) {
	places = make([]int, len(c.rows))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return by.compareRows(&c.rows[a], &c.rows[b], sums) })
	if group.heading == nil || group.needs != nil && group.needs != by {
		return places, nil
	}
	named, first := make([]string, len(c.rows)), map[string]int{}
	for rank, i := range places {
		named[i] = group.heading(c, i)
		if _, met := first[named[i]]; !met {
			first[named[i]] = rank
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return first[named[a]] - first[named[b]] })
	return places, named
}
