package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/jsontape"
)

const (
	// mostRest bounds what a state holds beside its messages for its changes to be shown, in bytes.
	mostRest = 64 << 10
	// mostChanges bounds the changes of one snapshot, and mostValue a value in one, in bytes.
	mostChanges = 400
	mostValue   = 4 << 10
	// leastText is how long two texts are together, at least, for their words to be compared.
	leastText = 120
	// aroundText is how much of a text stands beside what changed in it, in bytes.
	aroundText = 80
)

// readRest returns a state with an empty list of messages, or a state without a list whole. It reports false for a
// state that is too large to be shown, or cannot be read.
func (p *page) readRest(n model.Node) ([]byte, bool) {
	a := &p.additions[n]
	switch {
	case a.Unread != nil || len(a.Before) == 0:
		return nil, false
	case a.After == nil:
		return a.Before, len(a.Before) <= mostWhole
	case len(a.Before)+len(a.After) > mostRest:
		return nil, false
	}
	return bytes.Join([][]byte{a.Before, []byte("[]"), a.After}, nil), true
}

// hideState returns a state without its secrets; null where they cannot be hidden.
func (p *page) hideState(state []byte) []byte {
	if p.Redactor == nil {
		return state
	}
	hidden, err := p.Redactor.State(state)
	if err != nil {
		return []byte("null")
	}
	return hidden
}

// writeChanges writes as a fold what changed beside messages since the snapshot that a visit follows.
func (p *page) writeChanges(ctx context.Context, n model.Node) {
	now, is := p.readRest(n)
	if !is || len(now) > mostRest || p.parsed > mostParsed {
		return
	}
	old, gaps, since := []byte("{}"), p.additions[n].Gaps, "the first state"
	if base := p.Timeline.Base(n); base != model.NoNode {
		before, is := p.readRest(base)
		if !is || len(before) > mostRest {
			return
		}
		if bytes.Equal(before, now) {
			return
		}
		old, gaps, since = p.hideState(before), gaps.With(p.additions[base].Gaps), "state since "+p.Timeline.Name(base)
	}
	p.parsed += len(old) + len(now)
	result, err := diff.Compare(ctx, diff.Bytes(old), diff.Bytes(p.hideState(now)))
	if err != nil {
		return // a state that is no JSON
	}
	result = result.Without(gaps.Has)
	if result.Equal() {
		return
	}
	p.putHTML(`<details class="state"><summary>`)
	p.writeText(fmt.Sprintf("%s: +%d ~%d −%d", since, result.Added, result.Replaced, result.Removed))
	if result.Moved > 0 {
		p.writeText(fmt.Sprintf(" >%d", result.Moved))
	}
	p.putHTML(`</summary><div class="wide"><table>`)
	written, left := 0, 0
	for _, e := range result.Changes() {
		if written == mostChanges {
			left++
			continue
		}
		written++
		p.writeChange(result, e)
	}
	p.putHTML("</table></div>")
	if left > 0 {
		p.writeElement("p", "quiet", "and "+model.Count(left, "more change"))
	}
	if line := gaps.ComparisonLine(len(gaps.Keys)); line != "" {
		p.writeElement("p", "quiet", line)
	}
	p.putHTML("</details>")
}

// writeChange writes a row about one change.
func (p *page) writeChange(r *diff.Result, e *diff.Entry) {
	sign := "~"
	switch e.Op {
	case diff.Added:
		sign = "+"
	case diff.Removed:
		sign = "−"
	case diff.Moved:
		sign = ">"
	case diff.Respelled:
		sign = " "
	}
	path := r.Path(e)
	if path == "" {
		path = "(the whole state)"
	}
	p.putHTML("<tr><td>" + sign + "</td><td>")
	p.writeText(path)
	p.putHTML("</td><td>")
	switch e.Op {
	case diff.Added:
		p.writeChanged("ins", r.New(e))
	case diff.Removed:
		p.writeChanged("del", r.Old(e))
	case diff.Moved:
		p.writeText("from " + r.OldPath(e) + " ")
		p.writeChanged("span", r.New(e))
	default:
		p.writeReplacement(r.Old(e), r.New(e))
	}
	p.putHTML("</td></tr>")
}

// writeChanged writes a value in an element, cut where it is long.
func (p *page) writeChanged(name string, value []byte) {
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
	if len(old)+len(now) >= leastText && bytes.HasPrefix(old, []byte(`"`)) && bytes.HasPrefix(now, []byte(`"`)) &&
		json.Unmarshal(old, &a) == nil && json.Unmarshal(now, &b) == nil {
		if d := diff.Text(a, b, 0); !d.Bytes {
			p.writeWords(d)
			return
		}
	}
	p.writeChanged("del", old)
	p.putHTML(" → ")
	p.writeChanged("ins", now)
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
