package dialog

import (
	"slices"
	"strconv"

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
	read   string // what to do before it is armed
	yes    bool
	armed  bool
	old    bool
	answer Answer
}

// early are the labels of what a person wants to know first, in this order. What
// the plan does to each snapshot and file comes after that.
var early = []string{model.PlanAsks, model.PlanWarning, "head now", "head then", "starts at", "untouched", "loads", "resume"}

// NewQuestion makes the question for a plan. change says in a few lines what
// the state at the target differs in from the head's; nil if that is not known.
//
// The best call to go on with stays in sight however long the plan is.
func NewQuestion(styles *theme.Styles, keys *keymap.Map, plan *model.Plan, change []string) *Question {
	d := &Question{
		box:  box{styles: styles, title: plan.Headline(), text: sheet.New(styles)},
		keys: keys, verb: string(plan.Op), read: "read the plan",
	}
	shown := *plan
	if len(plan.Resume) > 0 {
		best := plan.Resume[0]
		d.kept, d.keptTitle = sheet.New(styles), "then, to go on"
		d.kept.Set([]sheet.Paragraph{{Label: "resume", LabelPick: sheet.Muted, Text: styles.Glyphs.Sentence(best.Call + "  " + best.Then), Pick: sheet.Strong}})
		shown.Resume = plan.Resume[1:]
	}
	lines := shown.Lines()
	slices.SortStableFunc(lines, func(a, b model.PlanLine) int { return rank(a.Label) - rank(b.Label) })
	var paragraphs []sheet.Paragraph
	for _, line := range lines {
		line.Text = styles.Glyphs.Sentence(line.Text)
		paragraphs = append(paragraphs, planParagraph(line))
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

// rank gives the place of a label among those of a plan.
func rank(label string) int {
	if i := slices.Index(early, label); i >= 0 {
		return i
	}
	return len(early)
}

// planParagraph gives a line of a plan as it is drawn. The label says what it is,
// and colour says it again.
func planParagraph(line model.PlanLine) sheet.Paragraph {
	p := sheet.Paragraph{Label: line.Label, LabelPick: sheet.Muted, Text: line.Text}
	switch line.Label {
	case model.PlanWarning, model.PlanAsks:
		p.LabelPick, p.Pick = sheet.Warn, sheet.Warn
	case "head then", "starts at":
		p.Pick = sheet.Head
	case "leaves path":
		p.Pick = sheet.Orphaned
	case "comes back":
		p.Pick = sheet.Active
	case "resume":
		p.Label = "or resume"
	}
	return p
}

// NewSecondQuestion makes the question that follows a yes to a plan which has
// reasons to ask once more: it lists these and nothing else.
func NewSecondQuestion(styles *theme.Styles, keys *keymap.Map, plan *model.Plan) *Question {
	d := &Question{
		box:  box{styles: styles, title: "Once more: " + plan.Headline(), text: sheet.New(styles)},
		keys: keys, verb: string(plan.Op) + " anyway", read: "read the reasons",
	}
	paragraphs := []sheet.Paragraph{{Text: "To go ahead is to accept this:", Pick: sheet.Title, Wide: true}}
	for i, reason := range plan.Asks {
		paragraphs = append(paragraphs, sheet.Paragraph{Label: strconv.Itoa(i+1) + ".", LabelPick: sheet.Warn, Text: reason, Pick: sheet.Warn})
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
		d.foot = []span{{sheet.Muted, d.read + d.styles.Glyphs.Ellipsis}}
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
