package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/tui/dialog"
)

const (
	// mostChanges is how many changes the details of a plan list; the diff tab shows
	// them all.
	mostChanges = 6
	// mostKeys is how many keys of the state, and how many below each of them, the
	// short form of a plan names.
	mostKeys = 4
	// briefText is how many bytes of a value a plan shows.
	briefText = 48
)

// stateChange returns the difference between the states at a plan's head and at its
// target. A state that cannot be read does not keep the plan from being shown; the
// details say so. A state that does not exist yet has no difference.
func stateChange(ctx context.Context, states *states, plan *model.Plan) dialog.Change {
	if plan.Head.ID == "" || plan.Target.ID == "" {
		return dialog.Change{}
	}
	var sides [2][]byte
	var gaps model.Gaps
	for i, id := range []string{plan.Head.ID, plan.Target.ID} {
		s, err := states.get(ctx, model.Ref{Session: plan.Session, ID: id})
		switch {
		case errors.Is(err, model.ErrNoSnapshot):
			return dialog.Change{}
		case err != nil:
			return unknownChange(err)
		}
		sides[i], gaps = s.data, gaps.With(s.gaps)
	}
	change := changeOf(ctx, "the head", sides[0], sides[1], gaps)
	if left := gaps.ComparisonLine(mostKeys); left != "" {
		change.Lines = append(change.Lines, left)
	}
	return change
}

// unknownChange says that two states could not be compared.
func unknownChange(err error) dialog.Change {
	return dialog.Change{Brief: []string{"unknown, see the details"}, Lines: []string{"unknown: " + err.Error()}}
}

// changeOf returns the difference between a state that is called what and another, but
// for the gaps.
func changeOf(ctx context.Context, what string, old, new []byte, gaps model.Gaps) dialog.Change {
	result, err := diff.Compare(ctx, diff.Bytes(old), diff.Bytes(new))
	if err != nil {
		return unknownChange(err)
	}
	result = result.Without(gaps.Has)
	if result.Equal() {
		return dialog.Change{Brief: []string{"stays as it is"}, Lines: []string{"the same as at " + what}}
	}
	return dialog.Change{Brief: changedKeys(result), Lines: changeLines(result, what)}
}

// changeLines counts the changes and says the first ones, a line each.
func changeLines(r *diff.Result, what string) []string {
	lines := []string{fmt.Sprintf("against %s: %d added, %d changed, %d removed", what, r.Added, r.Replaced+r.Moved, r.Removed)}
	for _, e := range r.Changes() {
		if len(lines) > mostChanges {
			return append(lines, "and more")
		}
		if e.Op != diff.Respelled {
			lines = append(lines, changeLine(r, e))
		}
	}
	return lines
}

// changeLine says one change in a line.
func changeLine(r *diff.Result, e *diff.Entry) string {
	path := r.Path(e)
	switch e.Op {
	case diff.Added:
		return fmt.Sprintf("+ %s  %s", path, briefValue(r.New(e)))
	case diff.Removed:
		return fmt.Sprintf("- %s  %s", path, briefValue(r.Old(e)))
	case diff.Moved:
		return fmt.Sprintf("~ %s  moved", path)
	}
	return fmt.Sprintf("~ %s  %s → %s", path, briefValue(r.Old(e)), briefValue(r.New(e)))
}

// changedKeys says in words what changed below each of the state's own keys: "total
// 210 → 0", "−16 messages". It is bounded however large the state is.
func changedKeys(r *diff.Result) []string {
	if len(r.Entries) == 0 || r.Entries[0].Op != diff.Within {
		return []string{"another value in place of the whole state"}
	}
	return keysBelow(r, 0, func(i int32) string {
		e := &r.Entries[i]
		key, _ := r.Key(e)
		if isObject := len(r.New(e)) > 0 && r.New(e)[0] == '{'; e.Op == diff.Within && isObject {
			return key + ": " + strings.Join(keysBelow(r, i, func(i int32) string { return changedKey(r, i) }), ", ")
		}
		return changedKey(r, i)
	})
}

// keysBelow says of the first entries directly below one what say says of each, and
// how many more there are.
func keysBelow(r *diff.Result, parent int32, say func(int32) string) []string {
	var words []string
	more := 0
	for i := parent + 1; i < r.Entries[parent].End; i = r.Entries[i].End {
		switch {
		case r.Entries[i].Op == diff.Respelled:
		case len(words) < mostKeys:
			words = append(words, say(i))
		default:
			more++
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return words
}

// changedKey describes the change of a key's value: the difference in length of a list, the mere fact for an
// object.
func changedKey(r *diff.Result, i int32) string {
	e := &r.Entries[i]
	key, ok := r.Key(e)
	if !ok {
		key = fmt.Sprintf("[%d]", max(e.OldIndex, e.NewIndex))
	}
	switch e.Op {
	case diff.Added:
		return "+ " + key
	case diff.Removed:
		return "− " + key
	case diff.Moved:
		return key + " moved"
	case diff.Replaced:
		return fmt.Sprintf("%s %s → %s", key, briefValue(r.Old(e)), briefValue(r.New(e)))
	}
	if len(r.New(e)) == 0 || r.New(e)[0] != '[' {
		return key + " changed"
	}
	added, removed := 0, 0
	for j := i + 1; j < e.End; j = r.Entries[j].End {
		switch r.Entries[j].Op {
		case diff.Added:
			added++
		case diff.Removed:
			removed++
		}
	}
	switch {
	case added > 0 && removed > 0:
		return fmt.Sprintf("+%d −%d %s", added, removed, key)
	case added > 0:
		return fmt.Sprintf("+%d %s", added, key)
	case removed > 0:
		return fmt.Sprintf("−%d %s", removed, key)
	}
	return key + " changed"
}

// briefValue returns the beginning of a value, in one line.
func briefValue(value []byte) string { return startOfValue(value, briefText) }

// startOfValue returns as many bytes of the beginning of a value, in one line.
func startOfValue(value []byte, most int) string {
	text := value
	if len(text) > 4*most {
		text = text[:4*most] // the rest of it is not looked at
	}
	line := conversation.OneLine(string(text))
	if len(line) <= most && len(text) == len(value) {
		return line
	}
	return strings.ToValidUTF8(line[:min(len(line), most)], "") + "…"
}
