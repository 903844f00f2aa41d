package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/jsontape"
)

const (
	// mostChanges bounds the changes of one snapshot, and mostValue a value in one, in bytes.
	mostChanges = 400
	mostValue   = 4 << 10
	// leastText is how long two texts are together, at least, for their words to be compared.
	leastText = 120
	// aroundText is how much of a text stands beside what changed in it, in bytes.
	aroundText = 80
)

// changes writes what changed from one state to the next; before is nil for the first. Of the
// messages that came it says where they stand.
func (p *page) changes(ctx context.Context, before, now *state, added map[int]bool) {
	old, gaps, since := diff.Bytes([]byte("{}")), now.gaps, "The first state"
	if before != nil {
		old, gaps = diff.FromTape(before.view.tape), before.gaps.With(now.gaps)
		since = "Since " + p.Timeline.Name(before.node)
	}
	b := now.view
	result, err := diff.Compare(ctx, old, diff.FromTape(b.tape))
	if err != nil {
		p.element("p", "error", err.Error())
		return
	}
	result = result.Without(gaps.Has)
	p.put("<h3>")
	p.text(since)
	if result.Equal() {
		p.put(": no change</h3>")
	} else {
		p.text(fmt.Sprintf(": +%d ~%d −%d", result.Added, result.Replaced, result.Removed))
		if result.Moved > 0 {
			p.text(fmt.Sprintf(" >%d", result.Moved))
		}
		p.put(`</h3><table class="diff">`)
		written, left := 0, 0
		whole := result
		if b.elements > 0 {
			whole = result.WithCommon(b.tape.Pointer(b.talk.List()), before.view.gone, b.elements)
		}
		for i, e := range whole.Changes() {
			if written == mostChanges {
				left++
				continue
			}
			written++
			m := -1
			if e.Op == diff.Added {
				if at := b.messageAt(result.Path(&result.Entries[i])); added[at] {
					m = at
				}
			}
			p.change(whole, e, b, m)
		}
		p.put("</table>")
		if left > 0 {
			p.element("p", "quiet", "and "+model.Count(left, "more change"))
		}
	}
	if line := gaps.ComparisonLine(len(gaps.Keys)); line != "" {
		p.element("p", "quiet", line)
	}
}

// change writes a row about one change; message is the one that it added, or -1 that is
// told below.
func (p *page) change(r *diff.Result, e *diff.Entry, b *view, message int) {
	class, sign := "replace", "~"
	switch e.Op {
	case diff.Added:
		class, sign = "add", "+"
	case diff.Removed:
		class, sign = "remove", "−"
	case diff.Moved:
		class, sign = "move", ">"
	case diff.Respelled:
		class, sign = "respell", " "
	}
	path := r.Path(e)
	if path == "" {
		path = "(the whole state)"
	}
	p.put(`<tr class="` + class + `"><td>` + sign + "</td><td>")
	p.text(path)
	p.put("</td><td>")
	switch e.Op {
	case diff.Added:
		if message >= 0 {
			p.put("<ins>")
			p.text(fmt.Sprintf("message [%d], below", b.said[message].Index))
			p.put("</ins>")
			break
		}
		p.value("ins", r.New(e))
	case diff.Removed:
		p.value("del", r.Old(e))
	case diff.Moved:
		p.text("from " + r.OldPath(e) + " ")
		p.value("span", r.New(e))
	default:
		p.writeReplacement(r.Old(e), r.New(e))
	}
	p.put("</td></tr>")
}

// messageAt returns the message that a path leads to, or -1.
func (v *view) messageAt(path string) int {
	list := v.talk.List()
	if list == jsontape.None || !strings.HasPrefix(path, v.tape.Pointer(list)+"/") {
		return -1
	}
	n := v.tape.LookupPointer(path)
	if n == jsontape.None || v.tape.Parent(n) != list {
		return -1
	}
	return v.talk.Find(n)
}

// value writes a value in an element, cut where it is long.
func (p *page) value(name string, value []byte) {
	text, whole := cut(string(jsontape.AppendCompact(nil, value)), mostValue)
	p.put("<" + name + ">")
	p.lines(text)
	p.put("</" + name + ">")
	if !whole {
		p.element("span", "quiet", "… "+size(len(value)))
	}
}

// writeReplacement writes two values, or of two long texts the words that changed.
func (p *page) writeReplacement(old, now []byte) {
	var a, b string
	if len(old)+len(now) >= leastText && len(old)+len(now) <= 64*mostValue && bytes.HasPrefix(old, []byte(`"`)) && bytes.HasPrefix(now, []byte(`"`)) &&
		json.Unmarshal(old, &a) == nil && json.Unmarshal(now, &b) == nil {
		if d := diff.Text(a, b, 0); !d.Bytes {
			p.words(d)
			return
		}
	}
	p.value("del", old)
	p.put(" → ")
	p.value("ins", now)
}

// words writes the words that changed, and a little around them.
func (p *page) words(d diff.TextDiff) {
	for i, s := range d.Spans {
		switch s.Op {
		case diff.Deleted, diff.Inserted:
			name := map[diff.TextOp]string{diff.Deleted: "del", diff.Inserted: "ins"}[s.Op]
			text, whole := cut(s.Text, mostValue)
			p.put("<" + name + ">")
			p.lines(text)
			if !whole {
				p.put("…")
			}
			p.put("</" + name + ">")
		default:
			p.writeUnchanged(s.Text, i > 0, i < len(d.Spans)-1)
		}
	}
}

// writeUnchanged writes of a text that stayed what stands behind a change and before the next.
func (p *page) writeUnchanged(text string, behind, before bool) {
	if len(text) <= 2*aroundText {
		p.lines(text)
		return
	}
	if behind {
		start, _ := cut(text, aroundText)
		p.lines(start)
	}
	p.put(`<span class="quiet">…</span>`)
	if before {
		end := text[len(text)-aroundText:]
		for len(end) > 0 && end[0]&0xc0 == 0x80 {
			end = end[1:]
		}
		p.lines(end)
	}
}
