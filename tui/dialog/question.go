package dialog

import (
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Answer is what a person has said to a plan.
type Answer uint8

// The answers. A question waits until one of the others is given.
const (
	Waiting Answer = iota
	Declined
	Agreed
)

// Question shows a plan whole and asks whether to go ahead. No is the default.
//
// It opens unarmed: keys that were typed before the person could have read it
// answer nothing, until the root model calls Arm.
type Question struct {
	box
	keys   *keymap.Map
	verb   string
	yes    bool
	armed  bool
	old    bool
	answer Answer
}

// NewQuestion makes the question for a plan. change says in a few lines what
// the state at the target differs in from the head's; nil if that is not known.
func NewQuestion(styles *theme.Styles, keys *keymap.Map, plan *model.Plan, change []string) *Question {
	d := &Question{box: box{styles: styles, title: plan.Headline(), text: sheet.New(styles)}, keys: keys, verb: string(plan.Op)}
	var paragraphs []sheet.Paragraph
	for _, line := range plan.Lines() {
		p := sheet.Paragraph{Label: line.Label, LabelPick: sheet.Muted, Text: line.Text}
		switch line.Label {
		case model.PlanWarning:
			p.LabelPick, p.Pick = sheet.Warn, sheet.Warn
		case "head then", "starts at":
			p.Pick = sheet.Head
		case "leaves path":
			p.Pick = sheet.Orphaned
		case "comes back":
			p.Pick = sheet.Active
		}
		paragraphs = append(paragraphs, p)
	}
	for i, line := range change {
		p := sheet.Paragraph{Text: line}
		if i == 0 {
			p.Label, p.LabelPick = "state", sheet.Muted
		}
		paragraphs = append(paragraphs, p)
	}
	d.text.Set(paragraphs)
	d.drawFoot()
	return d
}

// Scope gives the scope of the dialog's keys.
func (d *Question) Scope() keymap.Scope { return keymap.Confirm }

// Arm lets keys answer from now on.
func (d *Question) Arm() {
	d.armed = true
	d.drawFoot()
}

// Armed reports whether keys answer.
func (d *Question) Armed() bool { return d.armed }

// Outdate says in the dialog that the session has moved on since the plan was
// made. To agree is then to ask for a new one.
func (d *Question) Outdate() {
	d.old, d.verb = true, "plan anew"
	d.notice = []span{{sheet.Warn, "the session has moved on since"}}
	d.drawFoot()
}

// Outdated reports whether the session has moved on.
func (d *Question) Outdated() bool { return d.old }

// Answer gives what was said.
func (d *Question) Answer() Answer { return d.answer }

// Do carries out an action; it reports whether it knew it. Moving and leaving
// work before the question is armed, agreeing does not.
func (d *Question) Do(a keymap.Action) bool {
	switch a {
	case keymap.Back, keymap.No:
		d.answer = Declined
	case keymap.Other:
		d.yes = !d.yes && d.armed
	case keymap.Yes:
		if d.armed {
			d.answer = Agreed
		}
	case keymap.Accept:
		switch {
		case !d.armed:
		case d.yes:
			d.answer = Agreed
		default:
			d.answer = Declined
		}
	default:
		return d.move(a)
	}
	d.drawFoot()
	return true
}

// drawFoot draws the two answers; brackets and not only colour show which one
// Enter takes.
func (d *Question) drawFoot() {
	if !d.armed {
		d.foot = []span{{sheet.Muted, "read the plan" + d.styles.Glyphs.Ellipsis}}
		return
	}
	no, yes := span{sheet.Strong, "[ No ]"}, span{sheet.Text, "  Yes  "}
	if d.yes {
		no, yes = span{sheet.Text, "  No  "}, span{sheet.Strong, "[ Yes ]"}
	}
	d.foot = []span{no, {sheet.Text, " "}, yes, {sheet.Text, "   "}}
	d.foot = append(d.foot, keyHelp(d.keys, keymap.Confirm, keymap.Yes, d.verb)...)
	d.foot = append(d.foot, keyHelp(d.keys, keymap.Confirm, keymap.No, "leave it")...)
}
