package model

import (
	"slices"
	"strconv"
	"strings"
)

// Gaps are the keys at the top of a state whose value at that very snapshot the store does not know. The
// state either lacks such a key, which is not absence, or has the value of another time. So these keys take
// no part in a comparison, and nothing says which snapshot set them. The zero value has no keys.
type Gaps struct {
	// Keys are decoded, untrusted, each there once, in the store's own order.
	Keys []string
	// Why is 0 where there are no keys.
	Why GapReason
}

// GapReason says why a store does not know a value.
type GapReason uint8

// The reasons.
const (
	// GapKeptOnce: the session has the value once, and overwrites it.
	GapKeptOnce GapReason = iota + 1
	// GapUntraced: the snapshot is a step that a trace tells of, and traces do not
	// tell of this key.
	GapUntraced
	// GapDelta: the snapshot has only what changed since another, and what to do with
	// the changes is known to the agent's program alone.
	GapDelta
)

// gapTexts holds the words that describe the keys: in a comparison, if the state lacks them, and if it has
// them.
var gapTexts = [...]struct{ compared, lacking, there string }{
	GapKeptOnce: {"kept once, known only as of now", "not recorded here (kept once, as of now)", "kept once, as of now"},
	GapUntraced: {"not recorded in a step of a trace", "not recorded here (no trace has it)", "not recorded in a trace"},
	GapDelta:    {"kept as changes only", "not recorded here (kept as changes only)", "kept as changes only"},
}

// IsEmpty reports whether there are no gaps.
func (g Gaps) IsEmpty() bool { return len(g.Keys) == 0 }

// Has reports whether a key is one of the gaps.
func (g Gaps) Has(key string) bool { return slices.Contains(g.Keys, key) }

// With returns the keys that are gaps of either of two states: those that a
// comparison of the two leaves out.
func (g Gaps) With(other Gaps) Gaps {
	if g.IsEmpty() {
		return other
	}
	both := Gaps{slices.Clone(g.Keys), g.Why}
	for _, key := range other.Keys {
		if !both.Has(key) {
			both.Keys = append(both.Keys, key)
		}
	}
	return both
}

// ComparisonLine returns the line that a comparison says of the keys that it left out,
// with the first most keys by name, or "". The keys in it are untrusted.
func (g Gaps) ComparisonLine(most int) string { return g.gapLine(most, gapTexts[g.Why].compared) }

// Of returns the line for one state, which reports with has whether it has a key:
// first the keys that it lacks, then those that it has.
func (g Gaps) Of(has func(key string) bool, most int) string {
	lacking, there := g.splitGaps(has)
	text := lacking.gapLine(most, gapTexts[g.Why].lacking)
	if held := there.gapLine(most, gapTexts[g.Why].there); text == "" {
		text = held
	} else if held != "" {
		text += "; " + held
	}
	return text
}

// splitGaps returns the gaps that a state lacks and those that it has.
func (g Gaps) splitGaps(has func(key string) bool) (lacking, there Gaps) {
	lacking.Why, there.Why = g.Why, g.Why
	for _, key := range g.Keys {
		if has(key) {
			there.Keys = append(there.Keys, key)
		} else {
			lacking.Keys = append(lacking.Keys, key)
		}
	}
	return lacking, there
}

func (g Gaps) gapLine(most int, text string) string {
	if g.IsEmpty() {
		return ""
	}
	names := strings.Join(g.Keys[:min(most, len(g.Keys))], ", ")
	if more := len(g.Keys) - most; more > 0 {
		names += " and " + strconv.Itoa(more) + " more"
	}
	return names + ": " + text
}
