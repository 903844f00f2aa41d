package report

import (
	"cmp"
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
)

// mostText bounds a text of a message, in bytes.
const mostText = 32 << 10

// addedMessages returns the messages that the state before did not have. A nil before has no messages.
func (v *view) addedMessages(before *view) map[int]bool {
	had := map[string]int{}
	if before != nil {
		for m := range before.talk.Len() {
			had[before.wording(m)]++
		}
	}
	added := map[int]bool{}
	for m := range v.talk.Len() {
		if key := v.wording(m); had[key] > 0 {
			had[key]--
		} else {
			added[m] = true
		}
	}
	return added
}

// wording returns a message as a text that is the same for the same message.
func (v *view) wording(m int) string {
	return string(jsontape.AppendCompact(nil, v.tape.Raw(v.talk.Message(m).Node)))
}

// writeMessages writes the messages that came. One that holds results alone is told by the message
// with their calls.
func (p *page) writeMessages(v *view, added map[int]bool) {
	if v.talk.Len() == 0 {
		return
	}
	shows := map[int]bool{}
	for m := range added {
		for len(v.said[m].Parts) == 0 && m > 0 {
			m--
		}
		shows[m] = true
	}
	same := v.messages + len(v.said) - len(added)
	p.putHTML("<h3>")
	p.writeText("Messages")
	if same > 0 {
		p.writeText(fmt.Sprintf(": %d as before", same))
	}
	p.putHTML("</h3>")
	for m := range v.said {
		if shows[m] {
			p.writeMessage(&v.said[m])
		}
	}
}

func (p *page) writeMessage(m *transcript.Message) {
	class := ""
	if m.Role == "user" || m.Role == "assistant" {
		class = m.Role
	}
	p.putHTML(`<article class="` + class + `">`)
	head := fmt.Sprintf("[%d] %s", m.Index, cmp.Or(m.Speaker, m.Role))
	if remarks := m.Remarks(); remarks != nil {
		head += " (" + strings.Join(remarks, ", ") + ")"
	}
	p.writeElement("h4", "who", head)
	for i := range m.Parts {
		p.writePart(&m.Parts[i])
	}
	p.putHTML("</article>")
}

func (p *page) writePart(part *transcript.Part) {
	switch {
	case part.IsToolPart():
		p.putHTML(`<pre class="call">`)
		p.writeCut(part.Verb()+" "+part.Tool+" "+string(jsontape.AppendCompact(nil, part.Input)), mostText)
		p.putHTML("</pre>")
		class := "ended"
		if part.Status == "error" {
			class = "ended error"
		}
		p.putHTML(`<pre class="` + class + `">  → `)
		p.writeText(part.StatusText())
		for _, output := range part.Output {
			p.putHTML("\n")
			p.writeCut(transcript.Plain(output), mostText)
		}
		p.putHTML("</pre>")
	case part.Text != "":
		class := "text"
		if above := part.Heading(); above != "" {
			class = "text quiet"
			p.writeElement("p", "quiet", above)
		}
		p.putHTML(`<div class="` + class + `" dir="auto">`)
		p.writeCut(part.Text, mostText)
		p.putHTML("</div>")
	case part.ShownJSON() != nil:
		p.putHTML("<pre>")
		p.writeCut(transcript.Plain(part.ShownJSON()), mostText)
		p.putHTML("</pre>")
	default:
		p.writeElement("p", "quiet", cmp.Or(part.Label, part.Kind))
	}
}

// writeCut writes the beginning of a text, and how long it is where that is not all.
func (p *page) writeCut(text string, most int) {
	start, whole := cutText(text, most)
	p.writeLines(start)
	if !whole {
		p.writeElement("span", "quiet", "… "+string(model.AppendSize(nil, int64(len(text)))))
	}
}
