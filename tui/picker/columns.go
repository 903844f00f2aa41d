package picker

import (
	"cmp"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/store/home"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// column is one of the facts about a row. It is left out where no row has it.
type column struct {
	name string
	// noun is the word whose plural stands above the column in place of name; it may be nil.
	noun func(n *model.Nouns) string
	// left says that it stands before the words.
	left bool
	// rank says which columns a narrow pane keeps: those with the lowest. Those from roomy on show where the words
	// keep roomyWords.
	rank int
	// width is the most that a text takes; a column is no wider than its texts.
	width int
	text  func(c *Content, i int) string
	// sum is the text for a session whose sums are known, in place of text; nil where sums do not tell.
	sum func(sum *Sum) string
	// none is the text for known sums that do not have any.
	none string
	// words stand behind the text of a sum where it is told without the column.
	words string
	// sign stands before a text; nil for no sign.
	sign func(g *theme.Glyphs) string
	// style is that of the text; nil for that of the row.
	style func(tokens *theme.Tokens) theme.Style
}

const toolColumn = 1

var columns = []column{
	{name: "changed", left: true, rank: 1, width: 7, text: func(c *Content, i int) string { return c.times[i] },
		style: func(t *theme.Tokens) theme.Style { return t.Time }},
	{name: "tool", left: true, rank: 2, width: 10, text: func(c *Content, i int) string { return toolOf(&c.rows[i]) },
		style: func(t *theme.Tokens) theme.Style { return t.Muted }},
	{name: "project", left: true, rank: 4, width: 20, text: func(c *Content, i int) string { return c.projects[i] }},
	{name: "snapshots", noun: func(n *model.Nouns) string { return n.Snapshot }, rank: 10, width: 11, text: func(c *Content, i int) string { return countText(c.rows[i].Snapshots) }},
	{name: "turns", noun: func(n *model.Nouns) string { return n.Turn }, rank: 7, width: 11, sum: func(s *Sum) string {
		if s.Turns == 0 {
			return ""
		}
		return model.Count(s.Turns, model.NounsOf(s.Kind).Turn)
	}},
	{name: "left", rank: 5, width: 6, sum: func(s *Sum) string { return countText(s.Left) }, words: "left off the path",
		sign:  func(g *theme.Glyphs) string { return g.Orphaned },
		style: func(t *theme.Tokens) theme.Style { return t.Orphaned }},
	{name: "fails", rank: 6, width: 6, sum: func(s *Sum) string { return countText(s.Failures) }, words: "failed",
		sign:  func(g *theme.Glyphs) string { return g.Error },
		style: func(t *theme.Tokens) theme.Style { return t.Error }},
	{name: "flags", rank: 9, width: 6, sum: func(s *Sum) string { return countText(s.Flags) }, words: "flagged",
		sign:  func(g *theme.Glyphs) string { return g.Flag },
		style: func(t *theme.Tokens) theme.Style { return t.Warn }},
	{name: "cost", rank: 8, width: 20, sum: func(s *Sum) string { return s.Money }, none: "–"},
	{name: "faults", rank: 3, width: 6, style: func(t *theme.Tokens) theme.Style { return t.Error },
		text: func(c *Content, i int) string {
			if c.rows[i].Faults <= 0 {
				return ""
			}
			return "! " + countText(c.rows[i].Faults)
		}},
	{name: "size", rank: 11, width: 8, text: func(c *Content, i int) string {
		if c.rows[i].Size == 0 {
			return ""
		}
		return string(model.AppendSize(nil, c.rows[i].Size))
	}},
}

// shortTools are words for kinds whose names are longer than what people call the tool.
var shortTools = map[string]string{
	"claude-code": "claude", "gemini-cli": "gemini", "copilot-cli": "copilot", "openai-agents": "openai",
	"agent-framework": "agent-fw", "strands-snapshots": "strands", "llamaindex": "llama", "sqlite": "hindcast",
	"postgres": "hindcast", "jsonl": "hindcast",
}

// headColumn returns what stands above a column.
func (c *Content) headColumn(k int) string {
	if noun := columns[k].noun; noun != nil {
		return noun(&c.nouns) + "s"
	}
	return columns[k].name
}

// toolOf returns the word for the tool that wrote a session.
func toolOf(row *Row) string {
	kind := kindOf(row)
	return cmp.Or(shortTools[kind], kind)
}

// kindOf returns the kind of store that a session is in.
func kindOf(row *Row) string { return cmp.Or(row.Kind, row.Store.Name) }

// wordsOf returns the title of a session, after its id if it has no project. For a store that could not be read it
// returns the address and the error.
func wordsOf(row *Row) string {
	switch {
	case row.Err != nil:
		return row.Store.At + ": " + row.Err.Error()
	case row.Title == "":
		return row.ID
	case row.Project == "":
		return row.ID + "  " + row.Title
	}
	return row.Title
}

// idWidth is the least width of an id that stands before other words.
const idWidth = 14

// fitWords returns the words of a row for a number of cells: a long id loses its middle before the words lose their
// end, by which ids that begin alike are told apart.
func fitWords(row *Row, cells int, ellipsis string) string {
	switch {
	case row.Title == "":
		return cell.ShortID(row.ID, cells, ellipsis)
	case row.Project == "":
		room := max(idWidth, cells-2-cell.Width(row.Title), cells/3)
		return cell.ShortID(row.ID, room, ellipsis) + "  " + row.Title
	}
	return row.Title
}

// order is one way to sort the rows.
type order struct {
	words string
	// compare returns the order of two rows. Where it is nil, by returns the number of a sum by which they are
	// sorted, the greatest first. Equal rows come newest first.
	compare func(a, b *Row) int
	by      func(s *Sum) float64
}

// newestFirst is the order in which rows come at first.
var newestFirst = &order{words: "newest first", compare: home.NewestFirst}

var orders = []*order{
	newestFirst,
	{words: "by name", compare: func(a, b *Row) int { return strings.Compare(a.ID, b.ID) }},
	{words: "most snapshots first", compare: func(a, b *Row) int { return b.Snapshots - a.Snapshots }},
	{words: "largest first", compare: func(a, b *Row) int { return cmp.Compare(b.Size, a.Size) }},
	{words: "most faults first", compare: func(a, b *Row) int { return b.Faults - a.Faults }},
	{words: "most turns first", by: func(s *Sum) float64 { return float64(s.Turns) }},
	{words: "most flags first", by: func(s *Sum) float64 { return float64(s.Flags) }},
	{words: "most failures first", by: func(s *Sum) float64 { return float64(s.Failures) }},
	{words: "dearest first", by: func(s *Sum) float64 { return s.Cost }},
}

// compareRows returns the order of two rows with their sums, nil where they are not known: those come last.
func (o *order) compareRows(a, b *Row, sums map[Name]*Sum) int {
	if o.by == nil {
		return cmp.Or(o.compare(a, b), home.NewestFirst(a, b))
	}
	of := func(row *Row) float64 {
		if sum := sums[NameOf(row)]; sum != nil {
			return o.by(sum)
		}
		return -1
	}
	return cmp.Or(cmp.Compare(of(b), of(a)), home.NewestFirst(a, b))
}

// grouping is one way to put rows together under headings.
type grouping struct {
	words string
	// needs is the only order in which there are headings; nil for any.
	needs *order
	// heading returns the heading of a row; it is nil for no groups.
	heading func(c *Content, i int) string
}

var groupings = []*grouping{
	{"by day", newestFirst, func(c *Content, i int) string {
		if c.rows[i].Err != nil {
			return "cannot be read"
		}
		return c.day.heading(c.rows[i].UpdatedAt)
	}},
	{"by project", nil, func(c *Content, i int) string { return cmp.Or(c.projects[i], "no project") }},
	{"by tool", nil, func(c *Content, i int) string { return toolOf(&c.rows[i]) }},
	{"by store", nil, func(c *Content, i int) string { return c.rows[i].Store.Name + "  " + c.rows[i].Store.At }},
}

// countText returns a number, or "".
func countText(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
