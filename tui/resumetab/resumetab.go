// Package resumetab is the tab with how to go on from a snapshot: the calls and
// what happens then, which tools have run, and the checkpoint with the exact
// payload to pass.
//
// The tab is a plain struct that draws what Prepare worked out.
package resumetab

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Here holds the known ways to go on from a snapshot.
type Here struct {
	// Conversation is that of the state; nil where it could not be read.
	Conversation *conversation.Conversation
	// Head says that the framework goes on from here as things stand.
	Head bool
	// Named are the calls that name the snapshot, and go on from it as things stand.
	Named []model.Resume
	// Planned are the calls that go on once the session is put back to here, as
	// the store plans them; none where it cannot tell.
	Planned []model.Resume
	// Refused says why the session cannot be put back to here; nil if it can.
	Refused error
}

// Content is the tab's content for one snapshot.
type Content struct {
	sheet.Lines
	calls   []string
	payload []byte
}

// Calls returns the calls that go on from here, the best one first.
func (c *Content) Calls() []string { return c.calls }

// Payload returns the input that resumes from the checkpoint, byte for byte, or nil without such an input.
func (c *Content) Payload() []byte { return c.payload }

const (
	// most bounds the lists of the tab.
	most = 32
	// longest bounds the bytes of a tool's input that are shown.
	longest = 400
)

// Prepare works out what to show. The error is that of a cancelled context.
func Prepare(ctx context.Context, here Here) (*Content, error) {
	c := &Content{}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conv := here.Conversation
	if conv == nil {
		c.addText("the state could not be read", sheet.Muted)
		return c, nil
	}
	c.goOn(here)
	c.addInterrupts(conv)
	c.addTools(conv)
	if cp, ok := conv.Checkpoint(); ok {
		c.addCheckpoint(cp)
	}
	return c, nil
}

// goOn says how to go on from the session as it stands here.
func (c *Content) goOn(here Here) {
	switch {
	case here.Head, len(here.Named) > 0:
		c.AddHeading("Go on from here")
	case here.Refused != nil:
		c.AddHeading("Go on from here: a restore is needed first, and is refused")
		c.addText(here.Refused.Error(), sheet.Warn)
	default:
		c.AddHeading("Go on from here, after a restore")
		c.addText("This is not the head: before a restore the framework goes on from there.", sheet.Muted)
	}
	for _, way := range here.Named {
		c.addWay(way.Call, way.Then, "")
	}
	planned := slices.DeleteFunc(slices.Clone(here.Planned), func(way model.Resume) bool {
		return slices.ContainsFunc(here.Named, func(named model.Resume) bool { return named.Call == way.Call })
	})
	if len(here.Named) > 0 && len(planned) > 0 && !here.Head {
		c.AddHeading("After a restore")
	}
	for _, way := range planned {
		c.addWay(way.Call, way.Then, "")
	}
	if len(here.Named)+len(planned) > 0 {
		return
	}
	ways := here.Conversation.Resume()
	for _, way := range ways {
		c.addWay(way.Call, way.Effect, way.Warning)
	}
	if len(ways) == 0 {
		c.addText("no call is known: the state has no messages, or those of no framework that Hindcast knows", sheet.Muted)
	}
}

// addWay shows one way to go on.
func (c *Content) addWay(call, then, warning string) {
	if call != "" {
		c.AddCall("call", call)
		c.calls = append(c.calls, call)
	}
	c.Add("then", then, nil)
	if warning != "" {
		c.Add("warning", warning, sheet.Warn)
	}
}

func (c *Content) addText(text string, pick sheet.Pick) { c.Add("", text, pick) }

// addCheckpoint shows the checkpoint itself, and how to resume with it.
func (c *Content) addCheckpoint(cp conversation.Checkpoint) {
	if cp.IsStored() {
		c.AddHeading("Checkpoint, stored in the state")
	} else {
		c.AddHeading("Checkpoint (worked out)")
		c.addText("The store holds none; Strands would emit this one here.", sheet.Muted)
	}
	if cp.Err != nil {
		c.Add("refused", cp.Err.Error(), sheet.Error)
	} else {
		c.Add("position", cp.Position, sheet.Strong)
		c.Add("cycle index", strconv.FormatInt(cp.CycleIndex, 10), nil)
		c.Add("schema", cp.SchemaVersion, nil)
		c.addExtra("snapshot", cp.Snapshot)
		c.addExtra("app_data", cp.AppData)
	}
	if cp.Note != "" {
		c.Add("note", cp.Note, sheet.Muted)
	}
	for _, warning := range cp.Warnings {
		c.Add("warning", warning, sheet.Warn)
	}
	if c.payload = cp.Payload(); c.payload == nil {
		return
	}
	effect, warning := cp.Executes()
	c.AddCall("call", cp.Call())
	c.Add("payload", string(c.payload), nil)
	c.Add("then", effect, nil)
	if warning != "" {
		c.Add("warning", warning, sheet.Warn)
	}
}

// addExtra shows a reserved field where something is in it.
func (c *Content) addExtra(name string, raw []byte) {
	if len(raw) > 0 && string(raw) != "{}" {
		c.Add(name, string(raw[:min(len(raw), longest)]), nil)
	}
}

// addTools lists the calls of the current cycle with their results.
func (c *Content) addTools(conv *conversation.Conversation) {
	calls := conv.Calls()
	if len(calls) == 0 {
		return
	}
	c.AddHeading("Tools of this cycle")
	for i, call := range calls {
		if i == most {
			c.addText(fmt.Sprintf("and %d more", len(calls)-most), sheet.Muted)
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
		c.Paragraphs = append(c.Paragraphs, sheet.Paragraph{Label: status, LabelPick: pick, Text: text})
	}
}

// addInterrupts lists what waits for an answer.
func (c *Content) addInterrupts(conv *conversation.Conversation) {
	waiting := conv.Interrupts()
	if len(waiting) == 0 {
		return
	}
	c.AddHeading("Waits for an answer")
	for i, n := range waiting {
		if i == most {
			c.addText(fmt.Sprintf("and %d more", len(waiting)-most), sheet.Muted)
			return
		}
		raw := conv.Tape().Raw(n)
		c.addText(string(raw[:min(len(raw), longest)]), sheet.Warn)
	}
}

// Pane is the tab: a sheet to read. Make it with New.
type Pane = sheet.Tab[*Content]

// New makes an empty tab.
func New(styles *theme.Styles) *Pane { return sheet.NewTab[*Content](styles, "Resume") }
