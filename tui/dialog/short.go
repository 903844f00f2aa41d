package dialog

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/tui/sheet"
)

// shortRows is how many rows a plan in short takes at most, with its frame.
const shortRows = 15

// Change is the change that a plan makes to the state.
type Change struct {
	// Brief says it in words, the change of one key of the state in each; none where
	// it is not known.
	Brief []string
	// Lines are the lines of the details.
	Lines []string
}

// line is one line of a plan in short.
type line struct {
	label, text string
	pick        sheet.Pick
	// grave says that the line is a warning, which is cut after the others.
	grave bool
	// call says that the text is a call that a person copies.
	call bool
}

// tighter are the numbers of rows that a line of a plan in short may take, the
// warnings first: each is tried until all lines fit. 0 stands for any number.
var tighter = [][2]int{{0, 0}, {0, 2}, {3, 2}, {2, 2}, {2, 1}, {1, 1}}

// paragraphs returns the lines as a sheet takes them.
func paragraphs(lines []line, most [2]int) []sheet.Paragraph {
	var list []sheet.Paragraph
	for _, l := range lines {
		p := sheet.Paragraph{Label: l.label, LabelPick: sheet.Muted, Text: l.text, Pick: l.pick, Most: most[1], Call: l.call}
		if l.grave {
			p.LabelPick, p.Pick, p.Most = sheet.Warn, sheet.Warn, most[0]
		}
		list = append(list, p)
	}
	return list
}

// shortPlan says of a plan what a person decides by, in this order: what is at
// stake, where the session goes, what changes in the state, how the agent goes on,
// and what is written. undo is the key that takes it back.
func shortPlan(p *model.Plan, change Change, undo string) []line {
	lines := warnings(p)
	add := func(label, text string, pick sheet.Pick) {
		if text != "" {
			lines = append(lines, line{label: label, text: text, pick: pick})
		}
	}
	add("session", describeResult(p), nil)
	if n := len(p.Orphans); n > 0 {
		add("leaves", fmt.Sprintf("%s, kept as a branch: %s", model.Count(n, "snapshot"), nameSnapshots(p.Orphans)), sheet.Orphaned)
	}
	if n := len(p.Reactivates); n > 0 {
		add("returns", fmt.Sprintf("%s: %s", model.Count(n, "snapshot"), nameSnapshots(p.Reactivates)), sheet.Active)
	}
	for i, text := range p.Carries {
		label := "carries"
		if i > 0 {
			label = ""
		}
		add(label, text, nil)
	}
	add("state", strings.Join(change.Brief, " · "), nil)
	if len(p.Resume) > 0 {
		lines = append(lines, line{label: "then", text: p.Resume[0].Call, pick: sheet.Strong, call: true})
		add("", p.Resume[0].Then, nil)
	} else {
		add("then", p.Loads, sheet.Strong)
	}
	add("writes", describeWrites(p, undo), nil)
	return lines
}

// shortUndo describes the target of an undo, and its warnings.
func shortUndo(p *model.Plan) []line {
	back := []string{fmt.Sprintf("%s back to %s", p.Session, p.Target)}
	switch {
	case p.Removes:
		back = []string{p.Session + " goes, with all that is in it"}
	case p.Target.ID == "":
		back = []string{p.Session + " is without a snapshot again"}
	}
	if n := len(p.Reactivates); n > 0 {
		back = append(back, fmt.Sprintf("%d %s back", n, plural(n, "comes", "come")))
	}
	if n := len(p.Orphans); n > 0 {
		back = append(back, fmt.Sprintf("%d %s the path", n, plural(n, "leaves", "leave")))
	}
	return append(warnings(p), line{text: strings.Join(back, " · ")})
}

// warnings returns the questions and warnings of a plan, one in each line.
func warnings(p *model.Plan) []line {
	var lines []line
	for _, list := range [][]string{p.Asks, p.Hazards} {
		for _, text := range list {
			lines = append(lines, line{label: "!", text: text, grave: true})
		}
	}
	return lines
}

// describeResult describes the session after a plan, where the headline does not.
func describeResult(p *model.Plan) string {
	switch {
	case p.Op == model.OpPurge || p.Op == model.OpRepair:
		return ""
	case p.NewSession != "" && p.Head.ID != "":
		return fmt.Sprintf("%s is new; %s stays at %s", p.NewSession, p.Session, p.Head)
	case p.NewSession != "":
		return fmt.Sprintf("%s is new; %s stays as it is", p.NewSession, p.Session)
	case p.Branch != "":
		return fmt.Sprintf("the branch %s is new; %s stays at %s", p.Branch, p.Session, p.Head)
	case p.Removes:
		return p.Session + " goes, with all that is in it"
	case p.NewHead && p.Head.ID != "":
		return fmt.Sprintf("head %s → a new snapshot, as %s was", p.Head, p.Target)
	case p.Head.ID != "" && p.Target.ID != "":
		return fmt.Sprintf("head %s → %s", p.Head, p.Target)
	}
	return ""
}

// done names each change of files as something that was done to them.
var done = map[model.FileChange]string{
	model.FileWritten: "written", model.FileCopied: "copied", model.FileReplaced: "replaced",
	model.FileSetAside: "set aside", model.FilePutBack: "put back", model.FileForgotten: "deleted",
}

// describeWrites says how much a plan writes, and whether that can be taken back.
func describeWrites(p *model.Plan, undo string) string {
	var text string
	switch {
	case len(p.Files) > 0:
		text = countFiles(p.Files)
	case len(p.Writes) > 0:
		text = "rows of the store"
	default:
		return ""
	}
	switch {
	case p.Op == model.OpPurge:
		return text + "; this cannot be undone"
	case !p.CanBeUndone() || undo == "":
		return text
	}
	return text + ", all undone by " + undo
}

// countFiles counts the files of a plan by their kind of change, in the order of first use.
func countFiles(list []model.PlanFile) string {
	counts := map[model.FileChange]int{}
	var order []model.FileChange
	for _, f := range list {
		if counts[f.Does]++; counts[f.Does] == 1 {
			order = append(order, f.Does)
		}
	}
	var parts []string
	for _, does := range order {
		text := fmt.Sprintf("%d %s", counts[does], done[does])
		if does == model.FileMade {
			text = model.Count(counts[does], "folder") + " made"
		}
		parts = append(parts, text)
	}
	n := len(list) - counts[model.FileMade]
	return fmt.Sprintf("%s (%s)", model.Count(n, "file"), strings.Join(parts, ", "))
}

// mostRuns bounds the runs of snapshots that a plan in short names.
const mostRuns = 3

// nameSnapshots names the snapshots of a plan, a run by its first and its last.
func nameSnapshots(items []model.Point) string {
	var names []string
	for _, run := range model.PlanRanges(items) {
		if len(names) == mostRuns {
			names = append(names, "…")
			break
		}
		names = append(names, run.String())
	}
	return strings.Join(names, ", ")
}

// plural chooses the word that a number asks for.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
