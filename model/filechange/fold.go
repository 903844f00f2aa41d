package filechange

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// How the changes of a file are folded
//
// A fold is both texts at once: lines that stay, go and come, and gaps of lines that nothing told. Each hunk is
// applied to the text after the hunks before it, and tells some lines of the gaps:
//
//	nothing known        [gap ∞]
//	@@ -4 +4 @@ -a +b    [gap 3] -a +b [gap ∞]
//	@@ -3,2 +3 @@ -x b   [gap 2] -x -a +b [gap ∞]
//
// So hunks suffice for a patch, and whole texts are only compared where they are known. Backwards it is the fold of
// the inverse changes in the inverse order.

// Fold folds the changes of one file. Make it with [NewFold].
type Fold struct {
	// first and now are the path before the changes and after them.
	first, now string
	cells      []cell
	// existed and exists say whether the file is there before the changes and after them.
	existed, exists presence
	// why says why the fold is no patch, nil where it is one.
	why error
}

// cell is a line of a fold, or a gap.
type cell struct {
	sign byte // ' ', '-', '+', or gap
	text string
	n    int // the lines of a gap
}

const (
	gap     = '?'
	endless = 1 << 30 // lines of a gap up to the end of the file
)

type presence uint8

const (
	maybe presence = iota
	absent
	present
)

// NewFold returns a fold without changes of the file at a path.
func NewFold(path string) *Fold {
	return &Fold{first: path, now: path, cells: []cell{{sign: gap, n: endless}}}
}

// Path returns the path of the file after the changes.
func (f *Fold) Path() string { return f.now }

// Err returns why the changes make no patch, or nil.
func (f *Fold) Err() error { return f.why }

var (
	errNotRecorded = errors.New("a step changed it and recorded no patch")
	errNoPlace     = errors.New("a call tells which text it replaced, and not where that is")
	errOverwritten = errors.New("a call wrote it whole, and what was in it before is not recorded")
	errUnlike      = errors.New("a patch does not fit what the steps before it left: something else changed the file")
	errGone        = errors.New("a step changes it that the steps before it deleted")
	errThere       = errors.New("a step creates it, and it was there")
	errUnindented  = errors.New("the tool recorded its lines without the white space that all of them begin with")
	errRespelled   = errors.New("the tool recorded spaces in place of the tabs at the beginning of lines")
)

// Add applies a change behind the others. Where it cannot be applied the fold is no patch, which Err says, and what
// the change tells of the text is known all the same.
func (f *Fold) Add(c *Change) {
	err := f.applyChange(c)
	if err == nil {
		return
	}
	if f.why == nil {
		f.why = err
	}
	// From here on only this change tells of the text.
	again := NewFold(f.now)
	if known := again.applyChange(&Change{Path: c.Path, Kind: c.Kind, Hunks: c.Hunks, After: c.After, Spelling: c.Spelling}); known != nil {
		again = NewFold(f.now)
		again.exists = present
		if c.After != nil {
			again.setText(*c.After)
		} else if c.Kind == Deleted {
			again.exists = absent
		}
	}
	f.cells, f.exists = again.cells, again.exists
}

// setText makes a text all that is known.
func (f *Fold) setText(text string) {
	f.cells = f.cells[:0]
	for _, line := range splitLines(text) {
		f.cells = append(f.cells, cell{sign: ' ', text: line})
	}
}

// applyChange applies a change to the text after the changes before.
func (f *Fold) applyChange(c *Change) error {
	switch {
	case c.Known == NotRecorded:
		return errNotRecorded
	case c.Kind == Created && f.exists == present:
		return errThere
	case c.Kind != Created && f.exists == absent:
		if c.Before != nil || c.Kind == Deleted || c.Known == Recorded {
			return errGone
		}
	}
	if c.Kind == Created && f.exists == maybe {
		f.existed, f.exists, f.cells = absent, absent, nil
	}
	if c.Kind != Created && f.exists == maybe && c.Known == Recorded {
		f.existed, f.exists = present, present
	}
	if c.Before != nil && c.Kind != Created {
		if err := f.reveal(*c.Before); err != nil {
			return err
		}
	}
	if err := f.applyLines(c); err != nil {
		return err
	}
	if c.After != nil && c.Kind != Deleted {
		if err := f.reveal(*c.After); err != nil {
			return err
		}
	}
	switch c.Kind {
	case Deleted:
		if err := f.endText(0); err != nil {
			return err
		}
		f.exists = absent
	case Moved:
		f.now, f.exists = c.Path, present
	default:
		f.exists = present
	}
	if f.existed == maybe && c.Kind != Created {
		f.existed = present
	}
	return nil
}

// applyLines applies the hunks of a change, or the texts that it tells in place of them.
func (f *Fold) applyLines(c *Change) error {
	text, whole := f.Text()
	switch {
	case len(c.Replaced) > 0 && (c.Known == Inferred || whole):
		if !whole {
			return errNoPlace
		}
		for _, r := range c.Replaced {
			n := 1
			if r.All {
				n = -1
			}
			if count := strings.Count(text, r.Old); r.Old == "" || count == 0 || count > 1 && !r.All {
				return errNoPlace
			}
			text = strings.Replace(text, r.Old, r.New, n)
		}
		return f.become(text)
	case c.After != nil && c.Known == Inferred:
		if !whole {
			return errOverwritten
		}
		return f.become(*c.After)
	}
	for i := range c.Hunks {
		h := c.Hunks[i]
		if h.Old < 0 {
			var err error
			if h, err = f.place(h); err != nil {
				return err
			}
		}
		if err := f.applyHunk(&h, c.Spelling); err != nil {
			return err
		}
	}
	return nil
}

// become changes the text, which is known whole, into another one.
func (f *Fold) become(text string) error {
	now, _ := f.Text()
	for _, h := range Compare(now, text) {
		if err := f.applyHunk(&h, Exact); err != nil {
			return err
		}
	}
	return nil
}

// place returns a hunk with its place in the text, which must be known whole.
func (f *Fold) place(h Hunk) (Hunk, error) {
	text, whole := f.Text()
	if !whole {
		return h, errNoPlace
	}
	lines, old := splitLines(text), []string{}
	for _, line := range h.Lines {
		if sign := line[:min(len(line), 1)]; sign == " " || sign == "-" {
			old = append(old, line[1:])
		}
	}
	found := -1
	for i := 0; i+len(old) <= len(lines) && len(old) > 0; i++ {
		if slices.EqualFunc(lines[i:i+len(old)], old, func(a, b string) bool { return strings.TrimSuffix(a, "\n") == b }) {
			if found >= 0 {
				return h, errNoPlace
			}
			found = i
		}
	}
	if found < 0 {
		return h, errNoPlace
	}
	h.Old, h.New = found+1, found+1
	if last := len(lines); found+len(old) == last && !strings.HasSuffix(lines[last-1], "\n") {
		return h, errNoPlace // whether the new end has a newline is not told
	}
	return h.withPlace(), nil
}

// parsedLine is a line of a hunk.
type parsedLine struct {
	sign byte
	text string // with its end
}

// parseLines reads the lines of a hunk.
func (h *Hunk) parseLines() (list []parsedLine) {
	for _, line := range h.Lines {
		switch sign := line[:min(len(line), 1)]; sign {
		case " ", "-", "+":
			list = append(list, parsedLine{sign[0], line[1:] + "\n"})
		case "": // some tools write an empty line without its sign
			list = append(list, parsedLine{' ', "\n"})
		case `\`:
			if last := len(list) - 1; last >= 0 {
				list[last].text = strings.TrimSuffix(list[last].text, "\n")
			}
		}
	}
	return list
}

// applyHunk applies a hunk at its place.
func (f *Fold) applyHunk(h *Hunk, as Spelling) error {
	lines := h.parseLines()
	_, after := h.Size()
	at := h.New
	if after == 0 {
		at++
	}
	i, err := f.seek(at)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.sign == '+' {
			for i < len(f.cells) && f.cells[i].sign == '-' {
				i++ // what comes stands behind what goes
			}
			f.cells = slices.Insert(f.cells, i, cell{sign: '+', text: line.text})
			i++
			continue
		}
		for i < len(f.cells) && f.cells[i].sign == '-' {
			i++
		}
		if i == len(f.cells) {
			return errUnlike
		}
		if f.cells[i].sign == gap {
			switch {
			case as == Spaces && strings.HasPrefix(line.text, "  "):
				return errRespelled
			case as == Unindented:
				return errUnindented
			}
			f.tell(i, line.text)
		}
		if c := &f.cells[i]; c.text != line.text {
			switch rest, is := strings.CutSuffix(c.text, line.text); { // what the hunk adds is not known either
			case (as == MaybeSpaces || as == Spaces) && spellTabs(c.text) == line.text:
				return errRespelled
			case as == Unindented && is && strings.TrimSpace(rest) == "":
				return errUnindented
			}
			return errUnlike
		}
		switch {
		case line.sign == ' ':
			i++
		case f.cells[i].sign == '+':
			f.cells = slices.Delete(f.cells, i, i+1)
		default:
			f.cells[i].sign = '-'
			i++
		}
	}
	if slices.ContainsFunc(lines, func(line parsedLine) bool { return !strings.HasSuffix(line.text, "\n") }) {
		return f.endText(i)
	}
	return nil
}

// seek returns the cell that line at of the text begins with.
func (f *Fold) seek(at int) (int, error) {
	for i := 0; i < len(f.cells); i++ {
		switch c := &f.cells[i]; {
		case c.sign == '-':
		case at <= 1:
			return i, nil
		case c.sign != gap:
			at--
		case c.n < at:
			at -= c.n
		default: // within the gap
			rest := cell{sign: gap, n: c.n - (at - 1)}
			if c.n == endless {
				rest.n = endless
			}
			c.n = at - 1
			f.cells = slices.Insert(f.cells, i+1, rest)
			return i + 1, nil
		}
	}
	if at <= 1 {
		return len(f.cells), nil
	}
	return 0, errUnlike
}

// tell makes the first line of a gap known.
func (f *Fold) tell(i int, text string) {
	if f.cells[i].n == 1 {
		f.cells[i] = cell{sign: ' ', text: text}
		return
	}
	if f.cells[i].n != endless {
		f.cells[i].n--
	}
	f.cells = slices.Insert(f.cells, i, cell{sign: ' ', text: text})
}

// endText says that the text ends before a cell. It is an error if lines are known behind it.
func (f *Fold) endText(from int) error {
	kept := f.cells[:from]
	for _, c := range f.cells[from:] {
		switch {
		case c.sign == '-':
			kept = append(kept, c)
		case c.sign != gap || c.n != endless:
			return errUnlike
		}
	}
	f.cells = kept
	return nil
}

// reveal compares the text with a whole one, and makes all of it known.
func (f *Fold) reveal(text string) error {
	lines := splitLines(text)
	cells := make([]cell, 0, len(lines))
	i := 0
	for _, c := range f.cells {
		n := 1
		switch {
		case c.sign == '-':
			cells = append(cells, c)
			continue
		case c.sign == gap && c.n == endless:
			n = len(lines) - i
		case c.sign == gap:
			n = c.n
		}
		if i+n > len(lines) {
			return errUnlike
		}
		for _, line := range lines[i : i+n] {
			if c.sign != gap && c.text != line {
				return errUnlike
			}
			sign := c.sign
			if sign == gap {
				sign = ' '
			}
			cells = append(cells, cell{sign: sign, text: line})
		}
		i += n
	}
	if i != len(lines) {
		return errUnlike
	}
	f.cells = cells
	return nil
}

// spellTabs returns a line as Claude Code spells it in a patch.
func spellTabs(line string) string {
	rest := strings.TrimLeft(line, "\t")
	return strings.Repeat("  ", len(line)-len(rest)) + rest
}

// Text returns the text after the changes; whole is false where some of it is not known. A file that is not there
// has no text.
func (f *Fold) Text() (text string, whole bool) {
	var out strings.Builder
	for i := range f.cells {
		switch c := &f.cells[i]; c.sign {
		case gap:
			return "", false
		case ' ', '+':
			out.WriteString(c.text)
		}
	}
	return out.String(), f.exists != maybe || len(f.cells) > 0
}

// Hunks returns the sum of the changes, as the hunks of one patch. Around a change stand at most three known lines.
func (f *Fold) Hunks() (hunks []Hunk) {
	old, now := 1, 1
	var script []signed
	flush := func() {
		script = compareRuns(script)
		for _, h := range joinHunks(script, contextSize) {
			h.Old, h.New = h.Old+old-1, h.New+now-1
			hunks = append(hunks, h)
		}
		for _, line := range script {
			if line.sign != '+' {
				old++
			}
			if line.sign != '-' {
				now++
			}
		}
		script = nil
	}
	for i := range f.cells {
		c := &f.cells[i]
		if c.sign == gap {
			flush()
			old, now = old+c.n, now+c.n
			continue
		}
		script = append(script, signed{c.sign, c.text})
	}
	flush()
	return hunks
}

// compareRuns compares the lines that went with the lines that came between two that stayed: some may be the same.
func compareRuns(script []signed) (out []signed) {
	for i := 0; i < len(script); {
		var gone, come []string
		for ; i < len(script) && script[i].sign != ' '; i++ {
			if script[i].sign == '-' {
				gone = append(gone, script[i].text)
			} else {
				come = append(come, script[i].text)
			}
		}
		out = append(out, compareLines(gone, come)...)
		for ; i < len(script) && script[i].sign == ' '; i++ {
			out = append(out, script[i])
		}
	}
	return out
}

// Change returns the sum of the changes; none is true where nothing is changed in the end.
func (f *Fold) Change() (c Change, none bool) {
	c = Change{Path: f.now, Hunks: f.Hunks()}
	switch {
	case f.existed == absent && f.exists == absent:
		return c, true
	case f.existed == absent:
		c.Kind = Created
	case f.exists == absent:
		c.Kind, c.Path = Deleted, f.first // what moved and then went is missing where it began
	case f.first != f.now:
		c.Kind, c.From = Moved, f.first
	case len(c.Hunks) == 0:
		return c, true
	}
	return c, false
}

// Folds folds the changes of several files.
type Folds struct {
	list []*Fold
	at   map[string]*Fold
	// Unnamed counts the changed files whose names are not recorded.
	Unnamed int
}

// Add applies a change to its file.
func (s *Folds) Add(c *Change) {
	if c.Path == "" {
		s.Unnamed += c.More
		return
	}
	path := c.Path
	if c.Kind == Moved && c.From != "" {
		path = c.From
	}
	f := s.at[path]
	if f == nil {
		if s.at == nil {
			s.at = map[string]*Fold{}
		}
		f = NewFold(path)
		s.list, s.at[path] = append(s.list, f), f
	}
	if c.Kind == Moved && path != c.Path {
		delete(s.at, path)
		s.at[c.Path] = f
	}
	f.Add(c)
}

// All returns the folds in the order in which their files were changed first.
func (s *Folds) All() []*Fold { return s.list }

// ErrNoFile says that a file was not there.
var ErrNoFile = errors.New("there was no such file")

// TextUnknownError says why the records do not hold a text whole.
type TextUnknownError struct{ Why error }

// Error returns a message with the reason.
func (e *TextUnknownError) Error() string {
	return "the records do not hold its text whole: " + e.Why.Error()
}

// Unwrap returns the reason.
func (e *TextUnknownError) Unwrap() error { return e.Why }

var errPart = errors.New("patches tell a part of it, and no step before or after recorded the rest")

// mostUndone bounds the changes that are undone to find a text.
const mostUndone = 500

// TextBetween returns the text of a file between the changes before a time and the changes after it: the text that the
// first one after recorded, the text that is left when later changes are undone, or the sum of the changes before. The
// error is ErrNoFile or a *TextUnknownError.
func TextBetween(before, after []Change) (text string, err error) {
	if len(after) > 0 && after[0].Before != nil {
		return *after[0].Before, nil
	}
	if len(after) > 0 && after[0].Kind == Created && after[0].Known == Recorded {
		return "", ErrNoFile
	}
	for end := 1; end <= min(len(after), mostUndone); end++ {
		if last := &after[end-1]; last.Before == nil && last.After == nil && last.Kind != Created && last.Kind != Deleted {
			continue // it tells a part
		}
		f := NewFold("")
		for _, c := range slices.Backward(after[:end]) {
			c = c.Invert()
			f.Add(&c)
		}
		if text, whole := f.Text(); whole && f.Err() == nil {
			return text, nil
		}
	}
	f := NewFold("")
	for i := range before {
		f.Add(&before[i])
	}
	text, whole := f.Text()
	switch {
	case !whole && f.Err() != nil:
		return "", &TextUnknownError{f.Err()}
	case !whole:
		return "", &TextUnknownError{errPart}
	case f.exists == absent:
		return "", ErrNoFile
	}
	if f.why = nil; len(after) > 0 {
		if f.Add(&after[0]); f.why != nil {
			return "", &TextUnknownError{f.why}
		}
	}
	return text, nil
}

// AppendPatch appends a patch that git apply takes, of a change whose paths are relative, with slashes, and inside of
// the folder.
func AppendPatch(dst []byte, c *Change) []byte {
	from, to := c.Path, c.Path
	if c.Kind == Moved {
		from = c.From
	}
	a, b := quotePath("a/"+from), quotePath("b/"+to)
	dst = fmt.Appendf(dst, "diff --git %s %s\n", a, b)
	switch c.Kind {
	case Created:
		dst, a = append(dst, "new file mode 100644\n"...), "/dev/null"
	case Deleted:
		dst, b = append(dst, "deleted file mode 100644\n"...), "/dev/null"
	case Moved:
		dst = fmt.Appendf(dst, "rename from %s\nrename to %s\n", quotePath(from), quotePath(to))
	}
	if len(c.Hunks) == 0 {
		return dst
	}
	dst = fmt.Appendf(dst, "--- %s\n+++ %s\n", endName(a), endName(b))
	return AppendHunks(dst, c.Hunks)
}

// endName ends a name that has a space with a tab, as git does.
func endName(name string) string {
	if strings.Contains(name, " ") && name[0] != '"' {
		return name + "\t"
	}
	return name
}

// quotePath returns a path as git spells it.
func quotePath(path string) string {
	plain := true
	var out strings.Builder
	for _, b := range []byte(path) {
		switch {
		case b == '"' || b == '\\':
			out.WriteByte('\\')
			out.WriteByte(b)
			plain = false
		case b < ' ' || b >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, b)
			plain = false
		default:
			out.WriteByte(b)
		}
	}
	if plain {
		return path
	}
	return `"` + out.String() + `"`
}
