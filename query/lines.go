package query

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"hindcast/model/align"
	"hindcast/model/filechange"
)

// How a line finds the step that wrote it
//
// Each line is carried from the text of a commit to that of the next one, with its origin: the step that wrote it, or
// unknown. A commit leads from the text of its parent to its own, and in between the tools of sessions recorded texts of
// the file: the whole text before a step, or hunks with the lines around them. Put in the order of time they are a chain:
//
//	parent ──▶ before step 1 ──▶ after step 1 ──▶ before step 2 ──▶ after step 2 ──▶ commit
//	      unknown            step 1          unknown            step 2          unknown
//
// What a link adds has the origin under it. It is unknown where no record tells of the change, as with a person's. A
// link is aligned from its beginning and from its end. Where both pair a line differently, the line has the origins of
// both, and where one of them is unknown, no session wrote it. Texts are compared with their white space folded.

// leastWeight is how many letters and digits a line has at least that tells it from lines such as a brace.
const leastWeight = 12

// origin is the edits that may have added a line, ascending. unknown says that it may be of none of them, and a nil
// origin that it is.
type origin struct {
	edits   []int
	unknown bool
}

// union returns an origin that may be either.
func (o *origin) union(other *origin) *origin {
	switch {
	case o == other:
		return o
	case o == nil:
		return &origin{other.edits, true}
	case other == nil:
		return &origin{o.edits, true}
	}
	all := slices.Concat(o.edits, other.edits)
	slices.Sort(all)
	return &origin{slices.Compact(all), o.unknown || other.unknown}
}

// FileEdit is a change of a file by a step, as [LineTracer.Edit] prepares it.
type FileEdit struct {
	// At is the time of the step.
	At time.Time
	// Copy numbers the copy of the file, as each work tree of a repository has one.
	Copy int
	// Unwritten says that the step copied lines from elsewhere.
	Unwritten bool

	before, after []uint64 // nil where they are not recorded
	hunks         []numberedHunk
}

// overwrites reports whether the step wrote a whole text, and nothing tells which lines were there before.
func (e *FileEdit) overwrites() bool { return e.before == nil && e.after != nil }

// numberedHunk is a hunk with the numbers of its lines' texts.
type numberedHunk struct {
	at         int // of its first line before the step, from 0; -1 if it is not known
	old, lines []uint64
	from       []int32 // the place in old of each of lines, align.None for an added one
}

// LineTracer finds the edits that wrote lines. It must not be used concurrently; the zero LineTracer is ready.
type LineTracer struct {
	numbers map[string]uint64 // of texts, folded and as they were seen
	weights []int             // the letters and digits, by number
	aligner align.Aligner
}

// Edit prepares a change of a file.
func (t *LineTracer) Edit(at time.Time, place int, c *filechange.Change) FileEdit {
	e := FileEdit{At: at, Copy: place}
	if c.Before != nil {
		e.before = t.numberLines(*c.Before)
	}
	if c.After != nil {
		e.after = t.numberLines(*c.After)
	}
	for i := range c.Hunks {
		h := t.numberHunk(&c.Hunks[i])
		if e.hunks = append(e.hunks, h); h.at == 0 && len(h.old) == 0 && len(c.Hunks) == 1 && c.Hunks[i].New == 1 && c.Hunks[i].Old == 0 {
			e.before = []uint64{}
		}
	}
	switch c.Kind {
	case filechange.Created:
		e.before = []uint64{}
	case filechange.Deleted:
		e.after = []uint64{}
	}
	return e
}

// numberHunk returns a hunk with numbers for its lines. A removed line is kept where the lines added in its place have
// the same text.
func (t *LineTracer) numberHunk(h *filechange.Hunk) (out numberedHunk) {
	old, lines := 0, 0 // where the lines that are replaced begin
	pair := func() {
		for i, k := range t.aligner.Align(out.old[old:], out.lines[lines:]) {
			if k != align.None {
				out.from[lines+int(k)] = int32(old + i)
			}
		}
	}
	for _, line := range h.Lines {
		sign := line[:min(len(line), 1)]
		number := t.numberText(line[len(sign):])
		switch sign {
		case `\`:
		case "-":
			out.old = append(out.old, number)
		case "+":
			out.lines, out.from = append(out.lines, number), append(out.from, align.None)
		default:
			pair()
			out.from = append(out.from, int32(len(out.old)))
			out.old, out.lines = append(out.old, number), append(out.lines, number)
			old, lines = len(out.old), len(out.lines)
		}
	}
	pair()
	out.at = h.Old - 1
	if len(out.old) == 0 { // the line before it
		out.at = h.Old
	}
	if h.Old < 0 {
		out.at = -1
	}
	return out
}

// numberLines returns the numbers of the lines of a text.
func (t *LineTracer) numberLines(text string) []uint64 {
	out := make([]uint64, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		out = append(out, t.numberText(line))
	}
	return out
}

// numberText returns the number of a line's text with the white space folded.
func (t *LineTracer) numberText(line string) uint64 {
	if n, known := t.numbers[line]; known {
		return n
	}
	if t.numbers == nil {
		t.numbers = map[string]uint64{}
	}
	folded := strings.Join(strings.Fields(line), " ")
	n, known := t.numbers[folded]
	if !known {
		n = uint64(len(t.weights))
		weight := 0
		for _, r := range folded {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				weight++
			}
		}
		t.numbers[folded], t.weights = n, append(t.weights, weight)
	}
	t.numbers[strings.Clone(line)] = n
	return n
}

// TracedText is a text of a file, each line with its origin.
type TracedText struct {
	lines   []uint64
	origins []*origin
}

// Len returns how many lines the text has.
func (x *TracedText) Len() int { return len(x.lines) }

// Writers returns the edits that may have written a line, counted from 0, ascending: none for a line that no session
// wrote, and several where the records do not tell which of them did.
func (x *TracedText) Writers(line int) []int {
	if o := x.origins[line]; o != nil && !o.unknown {
		return o.edits
	}
	return nil
}

// fresh is the mark of a line that a commit adds, in place of an edit.
const fresh = -1

// Follow returns the text of a commit. Its parents are empty for the first commit. Each span has the places of edits
// between the parent and the commit, the likelier ones first; edits have the order in which they were made.
func (t *LineTracer) Follow(parents []*TracedText, text string, edits []FileEdit, spans ...[2]int) *TracedText {
	out := &TracedText{lines: t.numberLines(text)}
	out.origins = make([]*origin, len(out.lines))
	if len(parents) == 0 {
		parents = []*TracedText{{}}
	}
	mark := &origin{edits: []int{fresh}}
	isFresh := func(o *origin) bool { return o != nil && o.edits[0] == fresh }
	for i, parent := range parents {
		carried := t.carryLines(*parent, out.lines, mark)
		for k, o := range carried.origins {
			switch {
			case i == 0 || isFresh(out.origins[k]):
				out.origins[k] = o
			case !isFresh(o):
				out.origins[k] = out.origins[k].union(o)
			}
		}
	}
	for _, span := range spans {
		if !slices.ContainsFunc(out.origins, isFresh) {
			return out
		}
		found, whole := t.findWriters(parents[0], out.lines, edits, span)
		if whole && len(parents) == 1 {
			out.origins = found
			return out
		}
		for k, o := range out.origins {
			if isFresh(o) && found[k] != nil {
				if out.origins[k] = found[k]; o != mark {
					out.origins[k] = found[k].union(&origin{o.edits[1:], o.unknown || len(o.edits) == 1})
				}
			}
		}
	}
	for k, o := range out.origins {
		if isFresh(o) {
			out.origins[k] = nil
		}
	}
	return out
}

// findWriters returns the origins of the lines of a commit that the edits of a span added, nil for a line that no edit
// did. whole reports that the edits of a copy end in the text of the commit, and found are the origins of all its lines.
func (t *LineTracer) findWriters(parent *TracedText, commit []uint64, edits []FileEdit, span [2]int) (found []*origin, whole bool) {
	found = make([]*origin, len(commit))
	var ends []*origin // of the copies that end in the text
	done := map[int]bool{}
	for i := span[0]; i < span[1]; i++ {
		of := edits[i].Copy
		if done[of] {
			continue
		}
		done[of] = true
		traced, isEnd := t.traceCopy(parent, commit, edits, span, of)
		if isEnd && ends == nil {
			ends = slices.Clone(traced)
		} else if isEnd {
			for k, o := range traced {
				ends[k] = ends[k].union(o)
			}
		}
		for k, o := range traced {
			if o != nil && !o.unknown {
				if found[k] != nil {
					o = o.union(found[k])
				}
				found[k] = o
			}
		}
	}
	if ends != nil {
		return ends, true
	}
	return found, false
}

// traceCopy returns the origins of the lines of a commit by the edits of one copy of the file, and whether these end in the
// text of the commit.
func (t *LineTracer) traceCopy(parent *TracedText, commit []uint64, edits []FileEdit, span [2]int, of int) (origins []*origin, isEnd bool) {
	at := *parent
	states := []TracedText{at}
	astray := map[uint64]*origin{} // lines of hunks that fit nowhere
	for i := span[0]; i < span[1]; i++ {
		e := &edits[i]
		if e.Copy != of {
			continue
		}
		by := &origin{edits: []int{i}}
		if e.Unwritten || e.overwrites() && len(at.lines) > 0 {
			by = nil
		}
		if e.before != nil {
			at = t.goOn(states, e.before)
		}
		after, left := at.placeHunks(e.hunks, by)
		switch {
		case e.after != nil && !slices.Equal(after.lines, e.after):
			at = t.carryLines(at, e.after, by)
		default:
			at = after
			for _, h := range left {
				h.eachAdded(func(line uint64) {
					if o, known := astray[line]; known {
						astray[line] = o.union(by)
					} else {
						astray[line] = by
					}
				})
			}
		}
		states = append(states, at)
	}
	isEnd = len(astray) == 0 && slices.Equal(at.lines, commit)
	at = t.goOn(states, commit)
	if len(astray) > 0 {
		t.findAstray(&at, parent.lines, astray)
	}
	return at.origins, isEnd
}

// goOn returns the next text of a chain, to which no record leads: a person made it of the last one, or a rewind put an
// earlier one back.
func (t *LineTracer) goOn(states []TracedText, next []uint64) TracedText {
	last := len(states) - 1
	at := t.carryLines(states[last], next, nil)
	for i := last - 1; i >= 0 && !slices.Equal(states[last].lines, next); i-- {
		if !slices.Equal(states[i].lines, next) {
			continue
		}
		for k, was := range states[i].origins {
			if o := at.origins[k]; o == nil {
				at.origins[k] = was
			} else {
				at.origins[k] = was.union(&origin{edits: o.edits})
			}
		}
		break
	}
	return at
}

// findAstray gives the lines of hunks that fit nowhere to the lines of a commit that have the same text alone.
func (t *LineTracer) findAstray(at *TracedText, parent []uint64, astray map[uint64]*origin) {
	times := countTexts(at.lines)
	for _, line := range parent {
		delete(astray, line)
	}
	for k, line := range at.lines {
		o, known := astray[line]
		if !known || t.weights[line] < leastWeight || times[line] > 1 {
			continue
		}
		if at.origins[k] != nil {
			o = o.union(at.origins[k])
		}
		at.origins[k] = o
	}
}

// countTexts returns how often each text stands among lines.
func countTexts(lines []uint64) map[uint64]int {
	times := make(map[uint64]int, len(lines))
	for _, line := range lines {
		times[line]++
	}
	return times
}

// placeHunks returns the text with hunks put in, and the hunks that fit nowhere, or in several places. The lines that a
// hunk adds have the origin by.
func (x *TracedText) placeHunks(hunks []numberedHunk, by *origin) (after TracedText, left []numberedHunk) {
	after = TracedText{x.lines, slices.Clone(x.origins)}
	shift, end := 0, 0 // end is that of the last hunk
	for i := range hunks {
		h := &hunks[i]
		at := -1
		if h.at >= 0 && hasAt(after.lines, h.old, h.at+shift) && h.at+shift >= end {
			at = h.at + shift
		} else if len(h.old) > 0 {
			at = onlyPlace(after.lines, h.old)
		}
		if at < 0 {
			left = append(left, *h)
			continue
		}
		if at >= end || h.at < 0 {
			end = at + len(h.lines)
		}
		shift += len(h.lines) - len(h.old)
		put := TracedText{origins: after.origins[at:]}
		origins := make([]*origin, len(h.lines))
		for k, from := range h.from {
			origins[k] = put.originAt(from, by)
		}
		after.lines = slices.Concat(after.lines[:at], h.lines, after.lines[at+len(h.old):])
		after.origins = slices.Concat(after.origins[:at], origins, after.origins[at+len(h.old):])
	}
	return after, left
}

// eachAdded calls do with each line that the hunk adds.
func (h *numberedHunk) eachAdded(do func(line uint64)) {
	for k, from := range h.from {
		if from == align.None {
			do(h.lines[k])
		}
	}
}

// hasAt reports whether lines have a part at a place.
func hasAt(lines, part []uint64, at int) bool {
	return at >= 0 && at+len(part) <= len(lines) && slices.Equal(lines[at:at+len(part)], part)
}

// onlyPlace returns the only place of a part in lines, or -1.
func onlyPlace(lines, part []uint64) int {
	found := -1
	for at := range lines {
		if hasAt(lines, part, at) {
			if found >= 0 {
				return -1
			}
			found = at
		}
	}
	return found
}

// carryLines returns the next text of a chain, whose new lines have the origin by.
func (t *LineTracer) carryLines(from TracedText, to []uint64, by *origin) TracedText {
	if slices.Equal(from.lines, to) {
		return TracedText{from.lines, slices.Clone(from.origins)}
	}
	forth := partners(t.aligner.Align(from.lines, to), len(to))
	mirror := partners(t.aligner.Align(reverseLines(from.lines), reverseLines(to)), len(to))
	out := TracedText{to, make([]*origin, len(to))}
	for k := range to {
		back := mirror[len(to)-1-k]
		if back != align.None {
			back = int32(len(from.lines)) - 1 - back
		}
		out.origins[k] = from.originAt(forth[k], by)
		if back != forth[k] {
			out.origins[k] = out.origins[k].union(from.originAt(back, by))
		}
	}
	doubtSlides(&from, &out, forth)
	t.doubtLooseLines(&from, &out, forth)
	return out
}

// doubtSlides adds the other origins that lines may have where a part that was added or removed could as well stand some
// lines further: where it begins as what follows it does, or ends as what precedes it does.
func doubtSlides(from, to *TracedText, match []int32) {
	place := partners(match, len(from.lines)) // of the lines of from in to
	eachSlide(to.lines, match, func(gone, kept int) {
		one, other := to.origins[gone], to.origins[kept]
		to.origins[gone], to.origins[kept] = one.union(other), other.union(one)
	})
	eachSlide(from.lines, place, func(gone, kept int) {
		k := place[kept]
		to.origins[k] = to.origins[k].union(from.origins[gone])
	})
}

// eachSlide calls do with each line that has no partner, or that was reached so, and the line with a partner that could
// lack it instead.
func eachSlide(lines []uint64, partner []int32, do func(gone, kept int)) {
	isKept := func(k int) bool { return k >= 0 && k < len(lines) && partner[k] != align.None }
	for k := 0; k < len(lines); k++ {
		if isKept(k) {
			continue
		}
		end := k + 1
		for end < len(lines) && !isKept(end) {
			end++
		}
		for i, j := k, end; isKept(j) && lines[i] == lines[j]; i, j = i+1, j+1 {
			do(i, j)
		}
		for i, j := end-1, k-1; isKept(j) && lines[i] == lines[j]; i, j = i-1, j-1 {
			do(i, j)
		}
		k = end
	}
}

// originAt returns the origin of a line, by for a new line.
func (x *TracedText) originAt(i int32, by *origin) *origin {
	if i == align.None {
		return by
	}
	return x.origins[i]
}

// partners returns for each of n lines its partner, from the partners of the other side.
func partners(match []int32, n int) []int32 {
	out := slices.Repeat([]int32{align.None}, n)
	for i, k := range match {
		if k != align.None {
			out[k] = int32(i)
		}
	}
	return out
}

func reverseLines(lines []uint64) []uint64 {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}

// doubtLooseLines makes the origin of lines unknown that may have been written anew: kept lines without a text that
// stands once, where between the nearest ones with such a text the lines changed in more ways than that a part without
// their texts came or went at one place.
func (t *LineTracer) doubtLooseLines(from, to *TracedText, match []int32) {
	timesFrom, times := countTexts(from.lines), countTexts(to.lines)
	tells := func(k int) bool {
		line := to.lines[k]
		return match[k] != align.None && t.weights[line] >= leastWeight && times[line] == 1 && timesFrom[line] == 1
	}
	for k, i := 0, 0; k <= len(match); k++ {
		end, endFrom := k, len(from.lines)
		for end < len(match) && !tells(end) {
			end++
		}
		if end < len(match) {
			endFrom = int(match[end])
		}
		if isDoubtful(from.lines[i:endFrom], to.lines[k:end], match[k:end], int32(i)) {
			for ; k < end; k++ {
				if match[k] != align.None {
					to.origins[k] = to.origins[k].union(nil)
				}
			}
		}
		k, i = end, endFrom+1
	}
}

// isDoubtful reports whether lines changed at several places, or at one where lines both came and went, or had the text of
// a kept one. match has the partner of each line in a text, and old are the lines of that from first on.
func isDoubtful(old, lines []uint64, match []int32, first int32) bool {
	kept := map[uint64]bool{}
	for k, line := range lines {
		if match[k] != align.None {
			kept[line] = true
		}
	}
	isKept := func(line uint64) bool { return kept[line] }
	places := 0
	for k, i := 0, 0; k <= len(lines) && len(kept) > 0; k++ {
		end, endOld := k, len(old)
		for end < len(lines) && match[end] == align.None {
			end++
		}
		if end < len(lines) {
			endOld = int(match[end] - first)
		}
		added, removed := lines[k:end], old[i:endOld]
		if len(added)+len(removed) > 0 {
			places++
		}
		if places > 1 || len(added) > 0 && len(removed) > 0 || slices.ContainsFunc(added, isKept) || slices.ContainsFunc(removed, isKept) {
			return true
		}
		k, i = end, endOld+1
	}
	return false
}
