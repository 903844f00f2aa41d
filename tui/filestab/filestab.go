// Package filestab is the tab with the changes of files by a snapshot: a row for each file, which unfolds into its patch.
//
// The root gives it the changes that the records tell of; the tab lays out those that are unfolded.
package filestab

import (
	"fmt"
	"strings"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/prose"
	"hindcast/tui/theme"
	"hindcast/tui/walk"
)

// Shown has the changes to show.
type Shown struct {
	// Title names the steps: "#6 → #7", or "turn 3".
	Title string
	// Dir is the project's folder, or "".
	Dir string
	// Unknown says why nothing is known, "" where it is.
	Unknown string
	Changes []Change
}

// Change is a change of a file and how it came: "Edit", "Bash: sed -i s/a/b/ a.txt".
type Change struct {
	filechange.Change
	How string
}

// Content is the content of the tab for one snapshot. It is read-only.
type Content struct {
	Shown
	files []file
	title string
}

// file is a row of the list: a file, or several without a record.
type file struct {
	sign, path, change, how string
	known                   filechange.Known
	patch                   string // "" without lines
	// unknown counts the files of a row without a record; with names it unfolds into their paths.
	unknown int
	names   bool
	of      string // the path as the tool names it
}

// canUnfold reports whether there is something below the row.
func (f *file) canUnfold() bool { return f.patch != "" && (f.unknown == 0 || f.names) }

// mostLines bounds the lines of a patch that are laid out.
const mostLines = 5000

// Prepare makes the content from the changes.
func Prepare(shown Shown) *Content {
	c := &Content{Shown: shown}
	files, added, removed, more := map[string]bool{}, 0, 0, 0
	how := ""
	for i := range shown.Changes {
		change := &shown.Changes[i]
		plus, minus := change.Count()
		added, removed, more = added+plus, removed+minus, more+change.More
		if change.Path != "" {
			files[change.Path] = true
		}
		f := file{sign: signs[change.Kind], known: change.Known, of: change.Path, path: showPath(shown.Dir, change.Path), change: conversation.Change(plus, minus), patch: patchText(change.Hunks)}
		if change.From != "" {
			f.path = showPath(shown.Dir, change.From) + " → " + f.path
		}
		if change.How != how { // several files that came in one way tell it once
			how, f.how = change.How, conversation.OneLine(change.How)
		}
		if last := len(c.files) - 1; change.Known == filechange.NotRecorded && f.how == "" && last >= 0 && c.files[last].unknown > 0 {
			c.files[last].addUnknown(&change.Change, f.path)
			continue
		}
		if change.Known == filechange.NotRecorded {
			f.sign, f.path = "?", ""
			f.addUnknown(&change.Change, showPath(shown.Dir, change.Path))
		}
		c.files = append(c.files, f)
	}
	c.title = shown.Title + "  no change of a file is recorded"
	if len(c.files) > 0 {
		c.title = strings.TrimRight(shown.Title+"  "+model.Count(len(files)+more, "file")+"  "+conversation.Change(added, removed), " ")
	}
	return c
}

// addUnknown adds a file without a record to the row of such files, which unfolds into their names.
func (f *file) addUnknown(c *filechange.Change, path string) {
	n := max(c.More, 1)
	if f.unknown += n; c.Path != "" {
		f.patch += " " + path + "\n"
	}
	if f.path = path; f.unknown > 1 || path == "" {
		f.path, f.of = model.Count(f.unknown, "more file"), ""
	}
	f.names = f.unknown > 1
}

// patchText returns the lines of hunks, as many as are laid out.
func patchText(hunks []filechange.Hunk) string {
	text := string(filechange.AppendHunks(nil, hunks))
	lines := strings.SplitAfterN(text, "\n", mostLines+1)
	if len(lines) <= mostLines {
		return text
	}
	return strings.Join(lines[:mostLines], "") + "@@ more lines are not laid out @@\n"
}

var signs = map[filechange.Kind]string{filechange.Changed: "~", filechange.Created: "+", filechange.Deleted: "-", filechange.Moved: ">"}

// showPath returns a path below the project's folder, or as the tool names it.
func showPath(dir, path string) string {
	rel, inside := filechange.PathIn(dir, path)
	if rel = conversation.OneLine(rel); !inside && dir != "" && path != "" {
		return rel + " (outside of the project)"
	}
	return rel
}

// row names a row: a file, and a line of its patch from 1; file -1 is the title.
type row struct{ file, line int32 }

// Pane draws the changes and keeps its cursor and folds. Make it with New. It is not safe for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	w      int
	c      *Content
	window walk.Window[row]
	folds  walk.Folds[int32]
	lines  map[int32][]prose.Line // of patches that are open

	matches Matches
}

// New makes an empty tab.
func New(styles *theme.Styles) *Pane {
	return &Pane{styles: styles, lines: map[int32][]prose.Line{}}
}

// Title names the tab.
func (p *Pane) Title() string { return "Files" }

// Set shows a content; nil shows nothing. One file is shown with its patch.
func (p *Pane) Set(c *Content) {
	p.c, p.matches = c, Matches{}
	p.folds.ForgetTurned()
	clear(p.lines)
	if c == nil {
		p.window.Clear()
		return
	}
	if len(c.files) == 1 && !p.folds.All {
		p.folds.TurnRow(0)
	}
	p.window.Top(p)
	if len(c.files) > 0 {
		p.window.Move(p, 1)
	}
}

// Resize gives the tab its size in cells.
func (p *Pane) Resize(w, h int) {
	if w = max(w, 0); w != p.w {
		p.w = w
		clear(p.lines)
		p.toFile()
	}
	p.window.Resize(p, h)
}

// toFile moves the cursor from a line, which is another one at another width, to its file.
func (p *Pane) toFile() {
	if at, y, ok := p.window.Cursor(); ok && at.line > 0 {
		p.window.Place(p, row{file: at.file}, y)
	}
}

// isOpen reports whether the patch of a file shows.
func (p *Pane) isOpen(file int32) bool {
	return file >= 0 && p.c.files[file].canUnfold() && p.folds.IsOpen(file)
}

// patchOf returns the lines of an open patch.
func (p *Pane) patchOf(file int32) []prose.Line {
	if !p.isOpen(file) {
		return nil
	}
	if lines, known := p.lines[file]; known {
		return lines
	}
	doc := prose.Source("diff", p.c.files[file].patch)
	var lines []prose.Line
	for i := range doc.Pages() {
		lines = append(lines, doc.Lines(i, max(p.w-indent-1, 1), &p.styles.Glyphs)...)
	}
	p.lines[file] = lines
	return lines
}

// indent is how far the lines of a patch stand in.
const indent = 4

// First implements walk.List.
func (p *Pane) First() (row, bool) { return row{file: -1}, p.c != nil }

// Last implements walk.List.
func (p *Pane) Last() (row, bool) {
	if p.c == nil {
		return row{}, false
	}
	last := int32(len(p.c.files) - 1)
	return row{last, int32(len(p.patchOf(last)))}, true
}

// Next implements walk.List.
func (p *Pane) Next(r row) (row, bool) {
	if int(r.line) < len(p.patchOf(r.file)) {
		return row{r.file, r.line + 1}, true
	}
	return row{file: r.file + 1}, int(r.file)+1 < len(p.c.files)
}

// Prev implements walk.List.
func (p *Pane) Prev(r row) (row, bool) {
	switch {
	case r.line > 0:
		return row{r.file, r.line - 1}, true
	case r.file < 0:
		return r, false
	}
	return row{r.file - 1, int32(len(p.patchOf(r.file - 1)))}, true
}

// Do carries out an action and reports whether it is one of the tab's.
func (p *Pane) Do(a keymap.Action) bool {
	if p.c == nil {
		return false
	}
	if p.window.Do(p, a) {
		return true
	}
	at, _, ok := p.window.Cursor()
	switch a {
	case keymap.Open:
		p.togglePatch(at, ok)
	case keymap.Fold:
		if ok && p.isOpen(at.file) {
			p.togglePatch(at, ok)
		}
	case keymap.Unfold:
		if ok && !p.isOpen(at.file) {
			p.togglePatch(at, ok)
		}
	case keymap.FoldAll, keymap.UnfoldAll:
		p.toFile()
		p.folds.SetAll(a == keymap.UnfoldAll)
		p.refreshRows()
	default:
		return false
	}
	return true
}

// togglePatch folds the patch under the cursor, or unfolds it.
func (p *Pane) togglePatch(at row, ok bool) {
	if !ok || at.file < 0 || !p.c.files[at.file].canUnfold() {
		return
	}
	p.toFile()
	p.folds.TurnRow(at.file)
	p.refreshRows()
}

// refreshRows has the window show its rows anew.
func (p *Pane) refreshRows() {
	if at, y, ok := p.window.Cursor(); ok {
		p.window.Place(p, at, y)
	}
}

// Click moves the cursor to row y; on the sign of a fold it folds.
func (p *Pane) Click(x, y int) {
	if p.window.Click(y) && x < indent {
		at, _, ok := p.window.Cursor()
		p.togglePatch(at, ok && at.line == 0)
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(p, n) }

// Thumb returns the rows that the thumb of a scrollbar covers. It goes by files, for the rows are not counted.
func (p *Pane) Thumb() (from, to int) {
	return p.window.Thumb(p, func(first, last row) (int, int, int) {
		return int(first.file) + 1, int(last.file) + 1, len(p.c.files) + 1
	})
}

// FilePath returns the path of the file under the cursor as its tool names it, "" on any other row. It is untrusted.
func (p *Pane) FilePath() string {
	at, _, ok := p.window.Cursor()
	if !ok || at.file < 0 {
		return ""
	}
	return p.c.files[at.file].of
}

// Value returns the patch under the cursor, nil on a row without a patch.
func (p *Pane) Value() []byte {
	at, _, ok := p.window.Cursor()
	if !ok || at.file < 0 || !p.c.files[at.file].canUnfold() {
		return nil
	}
	return []byte(p.c.files[at.file].patch)
}

// Path returns the path of the file under the cursor. It is untrusted.
func (p *Pane) Path() string { return p.FilePath() }

// Status says which file the cursor is on.
func (p *Pane) Status() string {
	at, _, ok := p.window.Cursor()
	if !ok || len(p.c.files) == 0 {
		return ""
	}
	return fmt.Sprintf("file %d of %d", max(int(at.file), 0)+1, len(p.c.files))
}

// AppendRow appends row y of the tab.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	rows := p.window.Rows()
	if y < 0 || y >= min(len(rows), p.window.Height()) {
		return r.End(p.styles.Text)
	}
	_, under, _ := p.window.Cursor()
	tokens, cursor := p.RowStyle(p.styles, y == under)
	r.Put(tokens.Focus, cursor)
	switch at := rows[y]; {
	case at.file < 0 && p.c.Unknown != "":
		r.Put(tokens.Muted, p.c.Unknown)
	case at.file < 0:
		r.Put(tokens.Title, p.c.title)
	case at.line == 0:
		p.drawFile(&r, tokens, at.file)
	default:
		r.Fill(tokens.Text, indent)
		p.patchOf(at.file)[at.line-1].Draw(&r, p.styles, tokens, tokens.Text, p.matches.Query)
	}
	return r.End(tokens.Text)
}

// drawFile draws the row of a file.
func (p *Pane) drawFile(r *cell.Row, tokens *theme.Tokens, n int32) {
	f := &p.c.files[n]
	fold := " "
	switch {
	case p.isOpen(n):
		fold = p.styles.Glyphs.Open
	case f.canUnfold():
		fold = p.styles.Glyphs.Closed
	}
	style := tokens.Changed
	switch f.sign {
	case "+":
		style = tokens.Added
	case "-":
		style = tokens.Removed
	case "?":
		style = tokens.Muted
	}
	r.Put(tokens.Punct, fold+" ")
	r.Put(style, f.sign+" ")
	r.Put(tokens.Strong, f.path)
	if f.change != "" {
		r.Put(tokens.Text, "  "+f.change)
	}
	if f.known != filechange.Recorded {
		r.Put(tokens.Muted, "  "+f.known.String())
	}
	if f.how != "" {
		r.Put(tokens.Muted, "  "+f.how)
	}
}

// Matches holds the files in which a search found something.
type Matches = match.Found[int32]
