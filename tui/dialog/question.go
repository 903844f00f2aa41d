package dialog

import (
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Answers are the actions of the answers to a question.
type Answers struct {
	Yes, No func() tea.Cmd
	// Anew is the action of yes once the session has moved on since the plan: it asks for a new plan.
	Anew func() tea.Cmd
}

// Question shows what a person decides about a plan, with the whole plan one key
// away, and asks whether to go ahead. No is the default, but for an undo: that is
// the way back.
//
// It opens unarmed: keys that were typed before the person could have read it
// answer nothing, until Arm is called.
type Question struct {
	box
	keys    *keymap.Map
	plan    *model.Plan
	verb    string
	read    string       // what to do before it is armed
	short   []line       // what shows at first
	details *sheet.Sheet // the whole plan; nil where the short form is all
	whole   bool         // the details show
	yes     bool
	armed   bool
	old     bool // the session has moved on since the plan was made
	answers Answers
}

// NewQuestion makes the question for a plan and its change of the state.
func NewQuestion(styles *theme.Styles, keys *keymap.Map, plan *model.Plan, change Change, answers Answers) *Question {
	d := &Question{
		box:  box{styles: styles, title: plan.Headline(), brief: briefHeadline(styles, plan), text: sheet.New(styles)},
		keys: keys, plan: plan, verb: string(plan.Op), read: "read the plan",
		yes: plan.Op == model.OpUndo, details: sheet.New(styles), answers: answers,
	}
	d.short = shortPlan(plan, change, keymap.Label(keys.Keys(keymap.Session, keymap.Undo)))
	if plan.Op == model.OpUndo {
		d.short = shortUndo(plan)
	}
	d.details.Set(wholePlan(plan, change))
	d.drawFoot()
	return d
}

// briefHeadline returns a plan's headline with short names of sessions, so that the
// snapshot between them is not cut.
func briefHeadline(styles *theme.Styles, plan *model.Plan) string {
	const most = 16 // cells of a name
	short := *plan
	short.Session = cell.ShortID(plan.Session, most, styles.Glyphs.Ellipsis)
	short.NewSession = cell.ShortID(plan.NewSession, most, styles.Glyphs.Ellipsis)
	return short.Headline()
}

// wholePlan returns every line of a plan.
func wholePlan(plan *model.Plan, change Change) []sheet.Paragraph {
	var state []model.PlanLine
	for _, text := range change.Lines {
		state = append(state, model.PlanLine{Kind: model.PlanState, Text: text})
	}
	var paragraphs []sheet.Paragraph
	var before model.PlanKind
	calls := plan.Resume
	for _, line := range plan.Lines(state...) {
		p := planParagraph(line)
		if line.Kind == model.PlanResume {
			p.Text, p.Call = calls[0].Call, true
			p, paragraphs = sheet.Paragraph{Text: calls[0].Then}, append(paragraphs, p)
			calls = calls[1:]
		}
		if line.Kind == model.PlanState && line.Kind == before {
			p.Label = "" // one change in many lines
		}
		paragraphs, before = append(paragraphs, p), line.Kind
	}
	return paragraphs
}

// planParagraph returns a line of a plan as it is drawn. The label names the kind of the line, and so does
// the colour.
func planParagraph(line model.PlanLine) sheet.Paragraph {
	p := sheet.Paragraph{Label: line.Label(), LabelPick: sheet.Muted, Text: line.Text}
	switch line.Kind {
	case model.PlanWarning, model.PlanAsks:
		p.LabelPick, p.Pick = sheet.Warn, sheet.Warn
	case model.PlanHeadThen, model.PlanStart:
		p.Pick = sheet.Head
	case model.PlanLeaves:
		p.Pick = sheet.Orphaned
	case model.PlanReturns:
		p.Pick = sheet.Active
	}
	return p
}

// NewSecondQuestion makes the question that follows a yes to a plan which has
// reasons to ask once more: it lists these and nothing else.
func NewSecondQuestion(styles *theme.Styles, keys *keymap.Map, plan *model.Plan, answers Answers) *Question {
	d := &Question{
		box:  box{styles: styles, title: "Once more: " + plan.Headline(), brief: "Once more: " + briefHeadline(styles, plan), text: sheet.New(styles)},
		keys: keys, plan: plan, verb: string(plan.Op) + " anyway", read: "read the reasons", answers: answers,
	}
	paragraphs := []sheet.Paragraph{{Text: "This will happen:", Pick: sheet.Title, Wide: true}}
	for i, reason := range plan.Asks {
		paragraphs = append(paragraphs, sheet.Paragraph{Label: strconv.Itoa(i+1) + ".", LabelPick: sheet.Warn, Text: reason, Pick: sheet.Warn})
	}
	d.text.Set(paragraphs)
	d.drawFoot()
	return d
}

// Scope returns the scope of the dialog's keys.
func (d *Question) Scope() keymap.Scope { return keymap.Confirm }

// Resize fits the question into the room. The short form takes at most shortRows, and drops the less
// important lines until it fits.
func (d *Question) Resize(maxW, maxH int) {
	if d.details == nil || d.whole {
		d.box.Resize(maxW, maxH)
		return
	}
	room := min(maxH, shortRows)
	for _, most := range tighter {
		d.text.Set(paragraphs(d.short, most))
		if d.box.Resize(maxW, room); d.text.Status() == "" {
			break
		}
	}
	d.maxH = maxH
}

// Arm lets keys answer from now on.
func (d *Question) Arm() {
	d.armed = true
	d.drawFoot()
}

// NoteHead says where the head of a session is now. If that outdates the plan, the dialog
// says so, and to agree is then to ask for a new one.
func (d *Question) NoteHead(session string, head model.Ref) {
	if session != d.plan.Session || d.plan.Head.ID == "" || sameVisit(head, d.plan.Ref(d.plan.Head)) {
		return
	}
	d.old, d.verb = true, "plan anew"
	d.notice = []span{{sheet.Warn, "the session has moved on since"}}
	d.drawFoot()
}

// sameVisit reports whether two names of snapshots mean the same: where one of them
// names no visit, the id tells.
func sameVisit(a, b model.Ref) bool {
	if a.Visit == 0 || b.Visit == 0 {
		a.Visit, b.Visit = 0, 0
	}
	return a == b
}

// Do carries out an action. Moving, the details and leaving work before the question is
// armed, agreeing does not.
func (d *Question) Do(a keymap.Action) (then func() tea.Cmd, closes bool) {
	enter := d.armed && a == keymap.Accept
	switch {
	case d.armed && a == keymap.Yes, enter && d.yes:
		if d.old {
			return d.answers.Anew, true
		}
		return d.answers.Yes, true
	case a == keymap.Back, a == keymap.No, enter:
		return d.answers.No, true
	case a == keymap.PlanDetails:
		d.toggleDetails()
	case d.armed && a == keymap.Other:
		d.yes = !d.yes
	default:
		d.text.Do(a)
	}
	d.drawFoot()
	return nil, false
}

// toggleDetails shows the details instead of the short form, or the other way round.
func (d *Question) toggleDetails() {
	if d.details == nil {
		return
	}
	d.text, d.details = d.details, d.text
	d.whole = !d.whole
	d.Resize(d.maxW, d.maxH)
}

// drawFoot draws the two answers; brackets and not only colour show which one
// Enter takes.
func (d *Question) drawFoot() {
	d.foot = nil
	if d.armed {
		no, yes := span{sheet.Strong, "[ No ]"}, span{sheet.Text, "  Yes  "}
		if d.yes {
			no, yes = span{sheet.Text, "  No  "}, span{sheet.Strong, "[ Yes ]"}
		}
		d.foot = []span{no, {sheet.Text, " "}, yes, {sheet.Text, "   "}}
		d.foot = append(d.foot, keyHelp(d.keys, keymap.Confirm, keymap.Yes, d.verb)...)
	} else {
		d.foot = []span{{sheet.Muted, d.read + d.styles.Glyphs.Ellipsis + "   "}}
	}
	if d.details != nil {
		other := "details"
		if d.whole {
			other = "in short"
		}
		d.foot = append(d.foot, keyHelp(d.keys, keymap.Confirm, keymap.PlanDetails, other)...)
	}
	if d.armed {
		d.foot = append(d.foot, keyHelp(d.keys, keymap.Confirm, keymap.No, "leave it")...)
	}
}
