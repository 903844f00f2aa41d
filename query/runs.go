package query

import (
	"context"
	"hash/maphash"
	"slices"

	"hindcast/model"
	"hindcast/model/align"
	"hindcast/model/conversation"
)

// RunRow is a row in which runs stand beside each other: a prompt of the person, or one call.
type RunRow struct {
	// Turn is the place of the turn, in each run the same. Prompt says that the row is the turn's prompt.
	Turn   int
	Prompt bool
	// Cells are the places of the call, by the runs, or of the turn where the row is a prompt; [align.None] where a
	// run has none.
	Cells []int32
	// Results counts the different results that the runs got, or of a prompt the different prompts.
	Results int
}

// IsCommon reports whether all runs have the row.
func (r *RunRow) IsCommon() bool {
	return !slices.Contains(r.Cells, align.None) && (!r.Prompt || r.Results == 1)
}

// Comparison is runs beside each other.
type Comparison struct {
	Runs []*Run
	Rows []RunRow
	// Parts is the place of the first row that not all runs have, or len(Rows) of runs that are the same.
	Parts int
}

// CompareRuns compares runs, turn by turn. In a turn two calls stand in one row if they have the same fingerprint; each
// run keeps its order. The error is that of ctx.
func CompareRuns(ctx context.Context, runs []*Run) (*Comparison, error) {
	c, turns := &Comparison{Runs: runs}, 0
	for _, run := range runs {
		turns = max(turns, len(run.Turns))
	}
	seed := maphash.MakeSeed()
	for turn := range turns {
		rows, err := appendTurn(ctx, c.Rows, runs, turn, seed)
		if err != nil {
			return nil, err
		}
		c.Rows = rows
	}
	if c.Parts = slices.IndexFunc(c.Rows, func(r RunRow) bool { return !r.IsCommon() }); c.Parts < 0 {
		c.Parts = len(c.Rows)
	}
	return c, nil
}

// CallAt returns the call of a run in row k; nil in the row of a prompt and in an empty cell.
func (c *Comparison) CallAt(k, run int) *Call {
	if at := c.Rows[k].Cells[run]; at != align.None && !c.Rows[k].Prompt {
		return &c.Runs[run].Calls[at]
	}
	return nil
}

// VisitAt returns the visit of a run that has row k; [model.NoNode] for an empty cell.
func (c *Comparison) VisitAt(k, run int) model.Node {
	switch at := c.Rows[k].Cells[run]; {
	case at == align.None:
		return model.NoNode
	case c.Rows[k].Prompt:
		return c.Runs[run].Turns[at].Visit
	}
	return c.CallAt(k, run).Visit
}

// RowText returns the text of row k on one line, as the first run that has it says it. It is untrusted.
func (c *Comparison) RowText(k int) string {
	for i, at := range c.Rows[k].Cells {
		switch {
		case at == align.None:
		case c.Rows[k].Prompt:
			return c.Runs[i].Turns[at].Prompt
		default:
			return conversation.OneLine(c.Runs[i].Calls[at].Text)
		}
	}
	return ""
}

// GoesOn reports whether a run has the row where the runs part, or one behind it.
func (c *Comparison) GoesOn(run int) bool {
	for k := c.Parts; k < len(c.Rows); k++ {
		if c.Rows[k].Cells[run] != align.None {
			return true
		}
	}
	return false
}

// appendTurn appends the rows of a turn.
func appendTurn(ctx context.Context, rows []RunRow, runs []*Run, turn int, seed maphash.Seed) ([]RunRow, error) {
	empty := func(prompt bool) RunRow {
		return RunRow{Turn: turn, Prompt: prompt, Cells: slices.Repeat([]int32{align.None}, len(runs))}
	}
	prompt := empty(true)
	prompts := map[string]bool{}
	var calls []RunRow
	var classes []uint64 // of calls, by their fingerprints
	for i, run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if turn >= len(run.Turns) {
			continue
		}
		of := &run.Turns[turn]
		prompt.Cells[i] = int32(turn)
		prompts[foldSpace(of.Prompt)] = true
		theirs := make([]uint64, 0, of.To-of.From)
		for c := of.From; c < of.To; c++ {
			theirs = append(theirs, maphash.String(seed, run.Calls[c].Fingerprint))
		}
		partners := new(align.Aligner).Align(classes, theirs)
		var merged []RunRow
		var mergedClasses []uint64
		next := 0
		add := func(until int) { // the calls that no run before has here
			for ; next < until; next++ {
				row := empty(false)
				row.Cells[i] = int32(of.From + next)
				merged, mergedClasses = append(merged, row), append(mergedClasses, theirs[next])
			}
		}
		for k := range calls {
			if partner := partners[k]; partner != align.None {
				add(int(partner))
				calls[k].Cells[i] = int32(of.From + next)
				next++
			}
			merged, mergedClasses = append(merged, calls[k]), append(mergedClasses, classes[k])
		}
		add(len(theirs))
		calls, classes = merged, mergedClasses
	}
	prompt.Results = len(prompts)
	for k := range calls {
		results := map[uint64]bool{}
		for i, c := range calls[k].Cells {
			if c != align.None {
				results[runs[i].Calls[c].Result] = true
			}
		}
		calls[k].Results = len(results)
	}
	return append(append(rows, prompt), calls...), nil
}

// RunGroup is the runs with one outcome.
type RunGroup struct {
	// Runs are their places, ascending.
	Runs []int
	// Run and Call tell where the group parts: the first call of a run of the group behind the longest beginning that a
	// run of another group has, too. Call is len(Calls) where that run ends there. Run is -1 without another group.
	Run, Call int
}

// GroupRuns returns the groups of runs by their outcomes, the largest first; outcomes has that of each run.
func GroupRuns(runs []*Run, outcomes []string) (groups []RunGroup) {
	places := map[string]int{}
	of := make([]int, len(runs))
	for i, outcome := range outcomes {
		g, known := places[outcome]
		if !known {
			g = len(groups)
			places[outcome], groups = g, append(groups, RunGroup{Run: -1})
		}
		of[i], groups[g].Runs = g, append(groups[g].Runs, i)
	}
	if len(groups) > 1 {
		findParts(runs, of, groups)
	}
	slices.SortStableFunc(groups, func(a, b RunGroup) int { return len(b.Runs) - len(a.Runs) })
	return groups
}

// findParts fills in where each group parts; of has the group of each run.
func findParts(runs []*Run, of []int, groups []RunGroup) {
	const several = -1
	seed := maphash.MakeSeed()
	begun := map[uint64]int{} // the group of the runs with a beginning, or several
	walk := func(run *Run, visit func(beginning uint64, calls int) bool) {
		sum := uint64(0)
		for turn := range run.Turns {
			t := &run.Turns[turn]
			if sum = maphash.Comparable(seed, [2]uint64{sum, maphash.String(seed, foldSpace(t.Prompt))}); !visit(sum, t.From) {
				return
			}
			for c := t.From; c < t.To; c++ {
				if sum = maphash.Comparable(seed, [2]uint64{sum, maphash.String(seed, run.Calls[c].Fingerprint)}); !visit(sum, c+1) {
					return
				}
			}
		}
	}
	for i, run := range runs {
		walk(run, func(beginning uint64, _ int) bool {
			if g, known := begun[beginning]; known && g != of[i] {
				begun[beginning] = several
			} else {
				begun[beginning] = of[i]
			}
			return true
		})
	}
	for i, run := range runs {
		same := 0
		walk(run, func(beginning uint64, calls int) bool {
			if begun[beginning] != several {
				return false
			}
			same = calls
			return true
		})
		if g := &groups[of[i]]; g.Run < 0 || same > g.Call {
			g.Run, g.Call = i, same
		}
	}
}
