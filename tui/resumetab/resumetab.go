// Package resumetab is the tab with the checkpoint at a snapshot, joined
// with its session: which tools have run, what resuming does, and the exact
// payload to pass.
//
// The tab is a plain struct that draws what Prepare worked out; it may not know
// the store, the other panes or the root model.
package resumetab

import (
	"context"
	"fmt"
	"strconv"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Content is what the tab shows of one snapshot.
type Content struct {
	paragraphs []sheet.Paragraph
	payload    []byte
}

// Payload gives the input that resumes from the checkpoint, byte for byte, or
// nil where there is none.
func (c *Content) Payload() []byte { return c.payload }

const (
	// most bounds the lists of the tab.
	most = 32
	// longest bounds the bytes of a tool's input that are shown.
	longest = 400
)

// Prepare works out what to show. A nil conversation stands for a state that
// could not be read. The error is that of a cancelled context.
func Prepare(ctx context.Context, conv *conversation.Conversation) (*Content, error) {
	c := &Content{}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if conv == nil {
		c.text("the state could not be read", sheet.Muted)
		return c, nil
	}
	cp, ok := conv.Checkpoint()
	if ok {
		c.checkpoint(cp)
	} else {
		c.none(conv)
	}
	c.tools(conv)
	c.interrupts(conv)
	c.resumes(conv, cp, ok)
	return c, nil
}

func (c *Content) add(label, text string, pick sheet.Pick) {
	c.paragraphs = append(c.paragraphs, sheet.Paragraph{Label: label, LabelPick: sheet.Muted, Text: text, Pick: pick})
}

func (c *Content) text(text string, pick sheet.Pick) { c.add("", text, pick) }

func (c *Content) heading(text string) {
	if len(c.paragraphs) > 0 {
		c.paragraphs = append(c.paragraphs, sheet.Paragraph{})
	}
	c.paragraphs = append(c.paragraphs, sheet.Paragraph{Text: text, Pick: sheet.Title, Wide: true})
}

// checkpoint shows the checkpoint itself.
func (c *Content) checkpoint(cp conversation.Checkpoint) {
	if cp.Stored() {
		c.heading("Checkpoint, stored in the state")
	} else {
		c.heading("Checkpoint, implied")
		c.text("The state holds none; this is the one that the SDK emits here.", sheet.Muted)
	}
	if cp.Err != nil {
		c.add("refused", cp.Err.Error(), sheet.Error)
	} else {
		c.add("position", cp.Position, sheet.Strong)
		c.add("cycle index", strconv.FormatInt(cp.CycleIndex, 10), nil)
		c.add("schema", cp.SchemaVersion, nil)
		c.extra("snapshot", cp.Snapshot)
		c.extra("app_data", cp.AppData)
	}
	for _, warning := range cp.Warnings {
		c.add("warning", warning, sheet.Warn)
	}
}

// extra shows a reserved field where something is in it.
func (c *Content) extra(name string, raw []byte) {
	if len(raw) > 0 && string(raw) != "{}" {
		c.add(name, string(raw[:min(len(raw), longest)]), nil)
	}
}

// none says why there is no checkpoint.
func (c *Content) none(conv *conversation.Conversation) {
	c.heading("No checkpoint")
	switch {
	case conv.Len() == 0:
		c.text("the state holds no messages that Hindcast can read", sheet.Muted)
	case conv.Interrupted():
		c.text("An interrupt waits here; it goes before a checkpoint, and the SDK emits none.", sheet.Muted)
	default:
		c.text("Strands emits checkpoints only in cycles that use tools; the conversation stands at: "+conv.Position().String(), sheet.Muted)
	}
}

// tools lists the calls of the current cycle with what became of them.
func (c *Content) tools(conv *conversation.Conversation) {
	calls := conv.Calls()
	if len(calls) == 0 {
		return
	}
	c.heading("Tools of this cycle")
	for i, call := range calls {
		if i == most {
			c.text(fmt.Sprintf("and %d more", len(calls)-most), sheet.Muted)
			return
		}
		b := conv.Block(call)
		status, pick := "NOT RUN", sheet.Pick(sheet.Warn)
		if b.Pair >= 0 {
			status, pick = "ran", sheet.Good
			switch conv.Block(int(b.Pair)).Status {
			case conversation.Failed:
				status, pick = "ran, failed", sheet.Error
			case conversation.OK:
				status = "ran, ok"
			}
		}
		text := conv.ToolName(b)
		if b.Body >= 0 {
			raw := conv.Tape().Raw(b.Body)
			text += "  " + string(raw[:min(len(raw), longest)])
		}
		c.paragraphs = append(c.paragraphs, sheet.Paragraph{Label: status, LabelPick: pick, Text: text})
	}
}

// interrupts lists what waits for an answer.
func (c *Content) interrupts(conv *conversation.Conversation) {
	waiting := conv.Interrupts()
	if len(waiting) == 0 {
		return
	}
	c.heading("Waits for an answer")
	for i, n := range waiting {
		if i == most {
			c.text(fmt.Sprintf("and %d more", len(waiting)-most), sheet.Muted)
			return
		}
		raw := conv.Tape().Raw(n)
		c.text(string(raw[:min(len(raw), longest)]), sheet.Warn)
	}
}

// resumes says how to go on: by the checkpoint, and without it.
func (c *Content) resumes(conv *conversation.Conversation, cp conversation.Checkpoint, ok bool) {
	if c.payload = cp.Payload(); ok && c.payload != nil {
		c.heading("Resume with the checkpoint")
		effect, warning := cp.Executes()
		c.add("call", cp.Call(), sheet.Strong)
		c.add("payload", string(c.payload), nil)
		c.add("does", effect, nil)
		if warning != "" {
			c.add("warning", warning, sheet.Warn)
		}
	} else {
		c.payload = nil
	}
	ways := conv.Resume()
	if len(ways) == 0 {
		return
	}
	c.heading("Resume from the session as it stands here")
	for _, way := range ways {
		if way.Call != "" {
			c.add("call", way.Call, sheet.Strong)
		}
		c.add("does", way.Effect, nil)
		if way.Warning != "" {
			c.add("warning", way.Warning, sheet.Warn)
		}
	}
}

// Pane is the tab. Make it with New.
type Pane struct {
	sheet   *sheet.Sheet
	content *Content
}

// New makes an empty tab.
func New(styles *theme.Styles) *Pane { return &Pane{sheet: sheet.NewPage(styles)} }

// Title gives the name of the tab.
func (p *Pane) Title() string { return "Resume" }

// Set shows another snapshot; nil shows nothing.
func (p *Pane) Set(c *Content) {
	p.content = c
	if c == nil {
		p.sheet.Set(nil)
		return
	}
	p.sheet.Set(c.paragraphs)
}

// Payload gives the resume payload of what shows, or nil.
func (p *Pane) Payload() []byte {
	if p.content == nil {
		return nil
	}
	return p.content.payload
}

// Resize says how many cells the tab has.
func (p *Pane) Resize(w, h int) { p.sheet.Resize(w, h) }

// Do carries out an action; it reports whether it knew it.
func (p *Pane) Do(a keymap.Action) bool { return p.sheet.Do(a) }

// AppendRow appends row y: exactly as many cells as the tab is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte { return p.sheet.AppendRow(dst, y) }

// Status says which rows show, where there are more.
func (p *Pane) Status() string { return p.sheet.Status() }

// Click does nothing: there is nothing to choose.
func (p *Pane) Click(_, _ int) {}

// Wheel scrolls by n rows.
func (p *Pane) Wheel(n int) { p.sheet.Wheel(n) }
