package difftab

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hindcast/diff"
	"hindcast/model/jsontape"
)

// Texts are compared ahead, because a person opens them with a key: each
// within a limit, and all of them within another. What is left over is shown
// as an old and a new text.
const (
	textTime  = 50 * time.Millisecond
	textsTime = 500 * time.Millisecond
)

// A text that is shorter than that shows whole in one row.
const shortText = 24

// A line of a diff is cut: unchanged text keeps its ends, changed text its beginning.
const (
	sameEnds   = 60
	longestBit = 2000
	mostLines  = 2000
)

// textDiff is how one text became another, in lines.
type textDiff struct {
	lines []textLine
	// inline holds the text around the first difference, old and new in one line.
	inline []diff.TextSpan
	// coarse: there are better ways to tell what changed.
	coarse bool
}

// textLine is a line of a text diff, or a number of unchanged lines.
type textLine struct {
	op   diff.TextOp
	bits []diff.TextSpan
	// far is how many lines lie between an unchanged line and the nearest
	// changed one.
	far int
	// skip counts unchanged lines that are left out here.
	skip int
}

// compareTexts compares the strings that were replaced by others.
func compareTexts(ctx context.Context, c *Content) map[int32]*textDiff {
	texts := make(map[int32]*textDiff)
	stop := time.Now().Add(textsTime)
	for _, i := range c.changes {
		e := &c.result.Entries[i]
		if e.Op != diff.Replaced {
			continue
		}
		old, new, ok := bothTexts(c, e)
		if !ok || len(old) < shortText && len(new) < shortText {
			continue
		}
		left := time.Until(stop)
		if left <= 0 || ctx.Err() != nil {
			break
		}
		texts[i] = textLines(diff.Text(old, new, min(left, textTime)))
	}
	return texts
}

// bothTexts returns the old and the new string of an entry, and whether both are strings. Where only parts
// that cannot be decoded differ, it returns their spelling.
func bothTexts(c *Content, e *diff.Entry) (old, new string, ok bool) {
	o, n := nodeAt(c.old.tape, e.Old), nodeAt(c.new.tape, e.New)
	if !isString(c.old.tape, o) || !isString(c.new.tape, n) {
		return "", "", false
	}
	old, new = c.old.tape.Text(o), c.new.tape.Text(n)
	if old == new {
		return spelling(c.old.tape, o), spelling(c.new.tape, n), true
	}
	return old, new, true
}

func spelling(t *jsontape.Tape, n jsontape.Node) string {
	raw := t.Raw(n)
	return string(raw[1 : len(raw)-1])
}

// textLines makes lines of the spans: what is gone of a run of changed lines
// first, then what came. Of a run of unchanged lines only those near a change
// are kept.
func textLines(d diff.TextDiff) *textDiff {
	b := textBuilder{out: &textDiff{coarse: d.Coarse, inline: inlineSpans(d.Spans)}}
	for i, span := range d.Spans {
		switch span.Op {
		case diff.Same:
			b.addSame(span.Text, i == 0, i == len(d.Spans)-1)
		case diff.Deleted:
			b.old = addChange(b.old, &b.gone, span)
		default:
			b.new = addChange(b.new, &b.came, span)
		}
	}
	b.flushLines()
	return b.out
}

// longestInline bounds the bytes of each piece of a difference in one line.
const longestInline = 200

// inlineSpans returns the spans around the first difference: the end of the unchanged text before it, then all
// spans up to the next unchanged end of a line.
func inlineSpans(spans []diff.TextSpan) (out []diff.TextSpan) {
	for i, span := range spans {
		text := span.Text
		switch {
		case span.Op == diff.Same && i == 0:
			text = text[strings.LastIndexByte(text, '\n')+1:]
			if from := len(text) - longestInline; from > 0 {
				for from < len(text) && !utf8.RuneStart(text[from]) {
					from++
				}
				text = text[from:]
			}
		case len(text) > longestInline:
			text = dropPartRune(text[:longestInline])
		}
		end := strings.IndexByte(text, '\n')
		if end >= 0 && span.Op == diff.Same && i > 0 {
			return append(out, diff.TextSpan{Op: span.Op, Text: text[:end]})
		}
		out = append(out, diff.TextSpan{Op: span.Op, Text: text})
		if len(out) == 16 {
			break
		}
	}
	return out
}

// textBuilder puts lines together: old and new are the current lines, gone and
// came the finished ones of the current run of changed lines.
type textBuilder struct {
	out        *textDiff
	old, new   []diff.TextSpan
	gone, came []textLine
}

// addChange adds a span that only one side has to the side's current line.
func addChange(line []diff.TextSpan, done *[]textLine, span diff.TextSpan) []diff.TextSpan {
	text := span.Text
	for {
		head, rest, more := strings.Cut(text, "\n")
		if head != "" {
			line = append(line, diff.TextSpan{Op: span.Op, Text: cutText(head)})
		}
		if !more {
			return line
		}
		*done = append(*done, textLine{op: span.Op, bits: line})
		line, text = nil, rest
	}
}

// addSame adds a span that both sides have.
func (b *textBuilder) addSame(text string, first, last bool) {
	if len(b.old)+len(b.new) > 0 {
		head, rest, more := strings.Cut(text, "\n")
		b.addBoth(head, !more && !last)
		if !more {
			return
		}
		b.endLine()
		text = rest
	}
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		b.flushLines()
		b.addUnchanged(text[:i], first, last)
		text = text[i+1:]
	}
	b.addBoth(text, !last)
}

// addBoth adds a piece of the current line to both sides; follows says that a
// changed piece comes behind it.
func (b *textBuilder) addBoth(text string, follows bool) {
	if text == "" {
		return
	}
	bit := diff.TextSpan{Op: diff.Same, Text: cutToEnds(text, len(b.old)+len(b.new) > 0, follows)}
	b.old, b.new = append(b.old, bit), append(b.new, bit)
}

// endLine ends the current line of both sides, also where it is empty on one.
func (b *textBuilder) endLine() {
	b.gone = append(b.gone, textLine{op: diff.Deleted, bits: b.old})
	b.came = append(b.came, textLine{op: diff.Inserted, bits: b.new})
	b.old, b.new = nil, nil
	b.flushLines()
}

// flushLines ends the run of changed lines, which comes out old lines first.
func (b *textBuilder) flushLines() {
	if len(b.old) > 0 {
		b.gone = append(b.gone, textLine{op: diff.Deleted, bits: b.old})
	}
	if len(b.new) > 0 {
		b.came = append(b.came, textLine{op: diff.Inserted, bits: b.new})
	}
	for len(b.gone) > 0 && len(b.came) > 0 && slices.Equal(b.gone[0].bits, b.came[0].bits) {
		b.addLines([]textLine{{op: diff.Same, bits: b.gone[0].bits, far: 1}})
		b.gone, b.came = b.gone[1:], b.came[1:]
	}
	b.addLines(b.gone)
	b.addLines(b.came)
	b.old, b.new, b.gone, b.came = nil, nil, nil, nil
}

// addLines takes finished lines over, as far as there is room for them.
func (b *textBuilder) addLines(lines []textLine) {
	room := mostLines - len(b.out.lines)
	if len(lines) > room {
		b.out.coarse = true
		lines = lines[:max(room, 0)]
	}
	b.out.lines = append(b.out.lines, lines...)
}

// addUnchanged adds whole lines that both sides have, at least one: those near a
// change, and how many are between.
func (b *textBuilder) addUnchanged(text string, first, last bool) {
	var after, before []textLine
	left := true // there are lines in text
	for !first && left && len(after) < maxContext {
		var line string
		line, text, left = strings.Cut(text, "\n")
		after = append(after, sameLine(line, len(after)+1))
	}
	for !last && left && len(before) < maxContext {
		i := strings.LastIndexByte(text, '\n')
		before = append(before, sameLine(text[i+1:], len(before)+1))
		text, left = text[:max(i, 0)], i >= 0
	}
	b.addLines(after)
	if left {
		b.addLines([]textLine{{op: diff.Same, skip: strings.Count(text, "\n") + 1}})
	}
	slices.Reverse(before)
	b.addLines(before)
}

func sameLine(text string, far int) textLine {
	return textLine{op: diff.Same, bits: []diff.TextSpan{{Op: diff.Same, Text: cutText(text)}}, far: far}
}

// cutText cuts a text that is too long to say more.
func cutText(text string) string {
	if len(text) <= longestBit {
		return text
	}
	return dropPartRune(text[:longestBit]) + " …"
}

// cutToEnds cuts a text that is the same to the ends that stand beside a change.
func cutToEnds(text string, head, tail bool) string {
	if !head && !tail {
		return cutText(text)
	}
	if len(text) <= 2*sameEnds {
		return text
	}
	cut := "…"
	if head {
		cut = dropPartRune(text[:sameEnds]) + cut
	}
	if tail {
		end := text[len(text)-sameEnds:]
		for len(end) > 0 && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
		cut += end
	}
	return cut
}

// dropPartRune drops the part of a character that a cut left at the end.
func dropPartRune(text string) string {
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}
