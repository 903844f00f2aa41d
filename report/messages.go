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

// messages writes the messages that came. One that holds results alone is told by the message
// with their calls.
func (p *page) messages(v *view, added map[int]bool) {
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
	p.put("<h3>")
	p.text("Messages")
	if same > 0 {
		p.text(fmt.Sprintf(": %d as before", same))
	}
	p.put("</h3>")
	for m := range v.said {
		if shows[m] {
			p.message(&v.said[m])
		}
	}
}

func (p *page) message(m *transcript.Message) {
	class := ""
	if m.Role == "user" || m.Role == "assistant" {
		class = m.Role
	}
	p.put(`<article class="` + class + `">`)
	head := fmt.Sprintf("[%d] %s", m.Index, cmp.Or(m.Speaker, m.Role))
	if remarks := m.Remarks(); remarks != nil {
		head += " (" + strings.Join(remarks, ", ") + ")"
	}
	p.element("h4", "who", head)
	for i := range m.Parts {
		p.part(&m.Parts[i])
	}
	p.put("</article>")
}

func (p *page) part(part *transcript.Part) {
	switch {
	case part.IsToolPart():
		p.put(`<pre class="call">`)
		p.cut(part.Verb()+" "+part.Tool+" "+string(jsontape.AppendCompact(nil, part.Input)), mostText)
		p.put("</pre>")
		class := "ended"
		if part.Status == "error" {
			class = "ended error"
		}
		p.put(`<pre class="` + class + `">  → `)
		p.text(part.StatusText())
		for _, output := range part.Output {
			p.put("\n")
			p.cut(transcript.Plain(output), mostText)
		}
		p.put("</pre>")
	case part.Text != "":
		class := "text"
		if above := part.Heading(); above != "" {
			class = "text quiet"
			p.element("p", "quiet", above)
		}
		p.put(`<div class="` + class + `" dir="auto">`)
		p.cut(part.Text, mostText)
		p.put("</div>")
	case part.ShownJSON() != nil:
		p.put("<pre>")
		p.cut(transcript.Plain(part.ShownJSON()), mostText)
		p.put("</pre>")
	default:
		p.element("p", "quiet", cmp.Or(part.Label, part.Kind))
	}
}

// cut writes the beginning of a text, and how long it is where that is not all.
func (p *page) cut(text string, most int) {
	start, whole := cut(text, most)
	p.lines(start)
	if !whole {
		p.element("span", "quiet", "… "+string(model.AppendSize(nil, int64(len(text)))))
	}
}
