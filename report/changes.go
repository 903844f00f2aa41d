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

// writeChanges writes what changed from one state to the next; before is nil for the first. Of the
// messages that came it says where they stand.
func (p *page) writeChanges(ctx context.Context, before, now *state, added map[int]bool) {
	old, gaps, since := diff.Bytes([]byte("{}")), now.gaps, "The first state"
	if before != nil {
		old, gaps = diff.FromTape(before.view.tape), before.gaps.With(now.gaps)
		since = "Since " + p.Timeline.Name(before.node)
	}
	b := now.view
	result, err := diff.Compare(ctx, old, diff.FromTape(b.tape))
	if err != nil {
		p.writeElement("p", "error", err.Error())
		return
	}
	result = result.Without(gaps.Has)
	p.putHTML("<h3>")
	p.writeText(since)
	if result.Equal() {
		p.putHTML(": no change</h3>")
	} else {
		p.writeText(fmt.Sprintf(": +%d ~%d −%d", result.Added, result.Replaced, result.Removed))
		if result.Moved > 0 {
			p.writeText(fmt.Sprintf(" >%d", result.Moved))
		}
		p.putHTML(`</h3><table class="diff">`)
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
			p.writeChange(whole, e, b, m)
		}
		p.putHTML("</table>")
		if left > 0 {
			p.writeElement("p", "quiet", "and "+model.Count(left, "more change"))
		}
	}
	if line := gaps.ComparisonLine(len(gaps.Keys)); line != "" {
		p.writeElement("p", "quiet", line)
	}
}

// writeChange writes a row about one change; message is the one that it added, or -1 that is
// told below.
func (p *page) writeChange(r *diff.Result, e *diff.Entry, b *view, message int) {
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
	p.putHTML(`<tr class="` + class + `"><td>` + sign + "</td><td>")
	p.writeText(path)
	p.putHTML("</td><td>")
	switch e.Op {
	case diff.Added:
		if message >= 0 {
			p.putHTML("<ins>")
			p.writeText(fmt.Sprintf("message [%d], below", b.said[message].Index))
			p.putHTML("</ins>")
			break
		}
		p.writeValue("ins", r.New(e))
	case diff.Removed:
		p.writeValue("del", r.Old(e))
	case diff.Moved:
		p.writeText("from " + r.OldPath(e) + " ")
		p.writeValue("span", r.New(e))
	default:
		p.writeReplacement(r.Old(e), r.New(e))
	}
	p.putHTML("</td></tr>")
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

// writeValue writes a value in an element, cut where it is long.
func (p *page) writeValue(name string, value []byte) {
	text, whole := cutText(string(jsontape.AppendCompact(nil, value)), mostValue)
	p.putHTML("<" + name + ">")
	p.writeLines(text)
	p.putHTML("</" + name + ">")
	if !whole {
		p.writeElement("span", "quiet", "… "+formatSize(len(value)))
	}
}

// writeReplacement writes two values, or of two long texts the words that changed.
func (p *page) writeReplacement(old, now []byte) {
	var a, b string
	if len(old)+len(now) >= leastText && len(old)+len(now) <= 64*mostValue && bytes.HasPrefix(old, []byte(`"`)) && bytes.HasPrefix(now, []byte(`"`)) &&
		json.Unmarshal(old, &a) == nil && json.Unmarshal(now, &b) == nil {
		if d := diff.Text(a, b, 0); !d.Bytes {
			p.writeWords(d)
			return
		}
	}
	p.writeValue("del", old)
	p.putHTML(" → ")
	p.writeValue("ins", now)
}

// writeWords writes the words that changed, and a little around them.
func (p *page) writeWords(d diff.TextDiff) {
	for i, s := range d.Spans {
		switch s.Op {
		case diff.Deleted, diff.Inserted:
			name := map[diff.TextOp]string{diff.Deleted: "del", diff.Inserted: "ins"}[s.Op]
			text, whole := cutText(s.Text, mostValue)
			p.putHTML("<" + name + ">")
			p.writeLines(text)
			if !whole {
				p.putHTML("…")
			}
			p.putHTML("</" + name + ">")
		default:
			p.writeUnchanged(s.Text, i > 0, i < len(d.Spans)-1)
		}
	}
}

// writeUnchanged writes of a text that stayed what stands behind a change and before the next.
func (p *page) writeUnchanged(text string, behind, before bool) {
	if len(text) <= 2*aroundText {
		p.writeLines(text)
		return
	}
	if behind {
		start, _ := cutText(text, aroundText)
		p.writeLines(start)
	}
	p.putHTML(`<span class="quiet">…</span>`)
	if before {
		end := text[len(text)-aroundText:]
		for len(end) > 0 && end[0]&0xc0 == 0x80 {
			end = end[1:]
		}
		p.writeLines(end)
	}
}
