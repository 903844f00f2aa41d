package dialog

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/cell"
	"hindcast/tui/field"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

const (
	// leastColumn is the least number of cells in a column of the help. between is the gap between two
	// columns.
	leastColumn = 29
	between     = 2
	// mostKeys is how many cells of a column are for keys.
	mostKeys = 11
)

// Help shows every key of a scope by group, why some can do nothing just now, and
// what the signs on the screen mean: in as many columns as there is room for. What is
// typed leaves only the lines with it.
type Help struct {
	box
	keys    *keymap.Map
	lines   []entry
	columns []*sheet.Sheet
	width   int          // of a column
	field   *field.Field // nil unless text is typed
	query   string
}

// entry is a line of the help; one without a text is a heading.
type entry struct {
	label     string
	labelPick sheet.Pick
	text      string
	pick      sheet.Pick
	heading   bool
}

// passing are the actions on what comes and goes on the screen: where it is not there,
// the help does not speak of them.
var passing = []keymap.Action{keymap.HideTour, keymap.Details}

// NewHelp makes the help of a scope. now decides which actions are disabled.
func NewHelp(styles *theme.Styles, keys *keymap.Map, scope keymap.Scope, now keymap.Context) *Help {
	d := &Help{box: box{styles: styles, title: "Keys: " + scope.Where(), text: sheet.New(styles)}, keys: keys}
	var off []entry
	for _, section := range keys.Help(scope) {
		d.lines = append(d.lines, entry{text: section.Group, heading: true})
		for _, line := range section.Lines {
			e := entry{label: line.Keys, labelPick: sheet.Key, text: line.Help}
			if reason := line.Actions[0].WhyDisabled(now); reason != "" {
				if slices.Contains(passing, line.Actions[0]) {
					continue
				}
				e.labelPick, e.pick = sheet.KeyOff, sheet.KeyOff
				e.text += " " + styles.Glyphs.Bad
				off = addReason(off, line.Keys, reason)
			}
			d.lines = append(d.lines, e)
		}
	}
	if len(off) > 0 {
		d.lines = append(append(d.lines, entry{text: styles.Glyphs.Bad + " off just now", heading: true}), off...)
	}
	if scope == keymap.Runs {
		d.lines = append(d.lines, runLines(styles)...)
	} else {
		d.lines = append(d.lines, signLines(styles)...)
	}
	d.drawFoot()
	return d
}

// addReason adds why keys are off to the reasons, beside those with the same one.
func addReason(off []entry, keys, reason string) []entry {
	for i := range off {
		if off[i].text == reason {
			off[i].label += " " + keys
			return off
		}
	}
	return append(off, entry{label: keys, labelPick: sheet.KeyOff, text: reason})
}

// runLines are the lines that explain the signs of compared runs, and the rule of their rows.
func runLines(styles *theme.Styles) []entry {
	g := &styles.Glyphs
	return []entry{
		{text: "Signs", heading: true},
		{label: g.Closed, labelPick: sheet.Text, text: "the runs part here"},
		{label: g.Changed, labelPick: sheet.Text, text: "their results differ, or their prompts"},
		{label: g.Error, labelPick: sheet.Error, text: "a call that failed"},
		{label: g.Interrupted, labelPick: sheet.Warn, text: "a call without a result"},
		{label: g.Dot, labelPick: sheet.Muted, text: "the run has no such call"},
		{text: "A row has the same call", heading: true},
		{text: styles.Glyphs.Sentence(query.FingerprintRule)},
	}
}

// signLines are the lines that say what the signs mean.
func signLines(styles *theme.Styles) []entry {
	g := &styles.Glyphs
	lines := []entry{
		{text: "Signs", heading: true},
		{label: g.Head, labelPick: sheet.Head, text: "head: goes on here"},
		{label: g.Active, labelPick: sheet.Active, text: "on the path"},
		{label: g.Orphaned, labelPick: sheet.Orphaned, text: "off the path"},
		{label: g.Closed + " " + g.Open, labelPick: sheet.Text, text: "folded, unfolded"},
		{label: g.Mark, labelPick: sheet.Warn, text: "marked to compare"},
		{label: g.Added + " " + g.Removed + " " + g.Changed, labelPick: sheet.Text, text: "added, removed, changed"},
		{label: g.Flag, labelPick: sheet.Warn, text: "flags: a call with the same result 3 times, an error again, an edit taken back"},
		{label: g.Leaves + " " + g.Ends, labelPick: sheet.Text, text: "a branch leaves, a line ends"},
	}
	badge := func(t *theme.Tokens) theme.Style { return t.Badge }
	grave, other := entry{labelPick: sheet.Error}, entry{labelPick: badge}
	for mark := range (^model.Marks(0)).All() {
		if sign := g.Sign(mark); sign != "" {
			e := &other
			if mark.Grave() {
				e = &grave
			}
			e.label, e.text = joinWords(e.label, " ", sign), joinWords(e.text, ", ", mark.Word())
		}
	}
	return append(lines, grave, other)
}

// joinWords returns a list with one more word in it.
func joinWords(list, separator, word string) string {
	if list == "" {
		return word
	}
	return list + separator + word
}

// Scope returns the scope of the dialog's keys.
func (d *Help) Scope() keymap.Scope {
	if d.field != nil {
		return keymap.Input
	}
	return keymap.Manual
}

// matchingLines returns the lines that hold what was typed, below their headings.
func (d *Help) matchingLines() []entry {
	var out []entry
	query, heading := strings.ToLower(d.query), entry{}
	for _, e := range d.lines {
		if e.heading {
			heading = e
			continue
		}
		if !strings.Contains(strings.ToLower(e.label+" "+e.text), query) {
			continue
		}
		if heading.heading {
			out = append(out, heading)
			heading = entry{}
		}
		out = append(out, e)
	}
	return out
}

// Resize says how much room there is, and shares the lines out among the columns.
func (d *Help) Resize(maxW, maxH int) {
	d.maxW, d.maxH = maxW, maxH
	d.w = max(min(maxW, widest), 0)
	inside, room := max(d.w-sides, 0), max(maxH-frame, 0)
	n := max((inside+between)/(leastColumn+between), 1)
	d.width = max((inside+between)/n-between, 0)
	parts, rows := d.fillColumns(n, 1)
	if rows > room {
		parts, rows = d.fillColumns(n, 0)
	}
	for i, column := range d.columns { // of one length, so that all scroll alike
		for column.Len() < rows {
			parts[i] = append(parts[i], sheet.Paragraph{})
			column.Set(parts[i])
		}
		column.Resize(d.width, min(rows, room))
	}
	d.text = d.columns[0]
	d.h = min(min(rows, room)+frame, maxH)
}

// fillColumns puts the lines into n columns with empty rows before headings. It returns the paragraphs of the
// columns and the rows of the longest.
func (d *Help) fillColumns(n, empty int) (parts [][]sheet.Paragraph, rows int) {
	parts = d.shareLines(d.matchingLines(), n, empty)
	d.columns = d.columns[:0]
	for _, part := range parts {
		column := sheet.New(d.styles)
		column.Set(part)
		column.Resize(d.width, 0)
		rows = max(rows, column.Len())
		d.columns = append(d.columns, column)
	}
	return parts, rows
}

// shareLines distributes lines to n columns of about one height, in their order.
func (d *Help) shareLines(lines []entry, n, empty int) [][]sheet.Paragraph {
	total := 0
	for _, e := range lines {
		total += d.countRows(e)
		if e.heading {
			total += empty
		}
	}
	for high := total/n + 1; ; high++ {
		if parts := d.packColumns(lines, high, empty); len(parts) <= n {
			return parts
		}
	}
}

// packColumns fills columns of a height, one after the other. A heading is never the last of
// a column.
func (d *Help) packColumns(lines []entry, high, empty int) [][]sheet.Paragraph {
	parts := [][]sheet.Paragraph{nil}
	rows := 0
	for _, e := range lines {
		last, need := len(parts)-1, d.countRows(e)
		if e.heading {
			need += empty + 1 // the empty rows before it, and a line below it
		}
		if rows > 0 && rows+need > high {
			parts, last, rows = append(parts, nil), last+1, 0
		}
		switch {
		case e.heading:
			if rows > 0 {
				parts[last] = append(parts[last], make([]sheet.Paragraph, empty)...)
				rows += empty
			}
			parts[last] = append(parts[last], sheet.Paragraph{Text: e.text, Pick: sheet.Title, Wide: true})
			rows++
		default:
			parts[last] = append(parts[last], sheet.Paragraph{Label: fewerKeys(e.label), LabelPick: e.labelPick, Text: e.text, Pick: e.pick})
			rows += need
		}
	}
	return parts
}

// countRows returns how many rows a line takes in a column.
func (d *Help) countRows(e entry) int {
	if e.heading {
		return 1
	}
	return 1 + strings.Count(ansi.Wrap(e.text, max(d.width-mostKeys-2, 1), ""), "\n")
}

// fewerKeys returns the keys of a line that a column has room for, the first ones.
func fewerKeys(label string) string {
	for cell.Width(label) > mostKeys {
		i := strings.LastIndexByte(label, ' ')
		if i < 0 {
			break
		}
		label = label[:i]
	}
	return label
}

// AppendRow draws row y: the columns side by side, and in the foot what is typed.
func (d *Help) AppendRow(dst []byte, y int) []byte {
	typing := d.field != nil && y == d.h-2
	if edge := y == 0 || y < d.h && y >= d.h-frame+1; edge && !typing {
		return d.box.AppendRow(dst, y)
	}
	r := cell.Begin(dst, &d.styles.Glyphs, d.w)
	d.drawInside(&r, func(dst []byte, w int) []byte {
		in := cell.Begin(dst, &d.styles.Glyphs, w)
		if typing {
			in.Put(d.styles.Key, "/")
			d.field.Draw(&in)
			return in.End(d.styles.Text)
		}
		for _, column := range d.columns {
			in.Append(theme.Style{}, d.width, func(dst []byte) []byte { return column.AppendRow(dst, y-1) })
			in.Fill(d.styles.Text, between)
		}
		return in.End(d.styles.Text)
	})
	return r.End(d.styles.Text)
}

// drawFoot says which keys answer, and what was looked for.
func (d *Help) drawFoot() {
	d.foot = keyHelp(d.keys, keymap.Manual, keymap.Search, "search")
	d.foot = append(d.foot, keyHelp(d.keys, keymap.Manual, keymap.Back, "close")...)
	if d.query != "" {
		d.foot = append(d.foot, span{sheet.Muted, "lines with "}, span{sheet.Strong, d.query})
	}
}

// Type hands the help a key that is not bound to an action: while it is searched, that
// is text.
func (d *Help) Type(k tea.KeyMsg) {
	if d.field == nil {
		return
	}
	d.field.Type(k)
	d.filterLines(d.field.Text())
}

// filterLines leaves the lines that hold a text.
func (d *Help) filterLines(text string) {
	d.query = text
	d.drawFoot()
	d.Resize(d.maxW, d.maxH)
}

// Wheel scrolls by n rows.
func (d *Help) Wheel(n int) {
	for _, column := range d.columns {
		column.Wheel(n)
	}
}

// Do carries out an action. Leaving is to leave the search first, if there is one.
func (d *Help) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	switch {
	case a == keymap.Search:
		d.field = field.New(d.styles, d.query)
	case a == keymap.Accept && d.field != nil:
		d.field = nil
	case a == keymap.Back && (d.field != nil || d.query != ""):
		d.field = nil
		d.filterLines("")
	default:
		for _, column := range d.columns {
			column.Do(a)
		}
		return nil, closesText(a)
	}
	return nil, false
}
