package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// A state that shares most of its bytes with the previous one is written as edits of it. The line has
// "stateEdits", a list of byte ranges [from, to] of the previous state and of texts between them. Joined in
// order, they are the state. The edits apply to the state of the parent, or of the snapshot that "stateFrom"
// names. So a session needs space only for the bytes that its snapshots add.

// ErrBase: a line has edits of a state that does not stand before it.
var ErrBase = errors.New("it has edits of a state that is not before it")

// edit is a range of the base, or a text where its end is 0.
type edit struct {
	from, to int64
	text     string
}

// UnmarshalJSON reads a range, [from, to], or a text.
func (e *edit) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &e.text)
	}
	var list []int64
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 || list[0] < 0 || list[1] <= list[0] {
		return fmt.Errorf("%s is no range of bytes", data)
	}
	e.from, e.to = list[0], list[1]
	return nil
}

// appendEdits appends the list as JSON; ok is false where JSON cannot carry a text.
func appendEdits(dst []byte, list []edit) (_ []byte, ok bool) {
	for i, e := range list {
		dst = append(dst, "[,"[min(i, 1)])
		switch {
		case e.to > 0:
			dst = fmt.Appendf(dst, "[%d,%d]", e.from, e.to)
		case !utf8.ValidString(e.text):
			return dst, false
		default:
			dst = jsontape.AppendQuoted(dst, e.text)
		}
	}
	return append(dst, ']'), true
}

// parseEdits reads a list of edits.
func parseEdits(text []byte) (list []edit, err error) {
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("stateEdits: %w", err)
	}
	// Each byte of the base is there once, so that a state is no longer than what was written.
	last := int64(0)
	for _, e := range list {
		if e.to > 0 && e.from < last {
			return nil, fmt.Errorf("stateEdits: [%d,%d] stands behind byte %d", e.from, e.to, last)
		}
		last = max(last, e.to)
	}
	return list, nil
}

// editsSize returns how many bytes the edits make.
func editsSize(edits []edit) (n int64) {
	for _, e := range edits {
		n += e.to - e.from + int64(len(e.text))
	}
	return n
}

// applyEdits returns the state that edits make of a base. The error is ErrBase where they do not fit.
func applyEdits(base []byte, edits []edit) ([]byte, error) {
	state := make([]byte, 0, editsSize(edits))
	for _, e := range edits {
		if e.to > int64(len(base)) {
			return nil, fmt.Errorf("%w: byte %d of %d", ErrBase, e.to, len(base))
		}
		state = append(append(state, base[e.from:e.to]...), e.text...)
	}
	return state, nil
}

// composeEdits returns the edits that make a state from the base of its base. list are the edits of the state,
// and below the edits of its base. The error is ErrBase if they do not fit.
func composeEdits(list, below []edit) ([]edit, error) {
	starts := make([]int64, len(below)+1)
	for i := range below {
		starts[i+1] = starts[i] + editsSize(below[i:i+1])
	}
	var all []edit
	for _, e := range list {
		if e.to == 0 {
			all = append(all, e)
			continue
		}
		if e.to > starts[len(below)] {
			return nil, fmt.Errorf("%w: byte %d of %d", ErrBase, e.to, starts[len(below)])
		}
		i, _ := slices.BinarySearch(starts, e.from+1)
		for i--; i < len(below) && starts[i] < e.to; i++ {
			from, to := max(e.from, starts[i])-starts[i], min(e.to, starts[i+1])-starts[i]
			if b := below[i]; b.to > 0 {
				all = append(all, edit{from: b.from + from, to: b.from + to})
			} else {
				all = append(all, edit{text: b.text[from:to]})
			}
		}
	}
	return all, nil
}

const (
	// mostEdits bounds the edits of a state.
	mostEdits = 64
	// An anchor is a run of bytes behind a change that is looked for in the base. It stands
	// within mostInserted bytes of the state and within mostRemoved bytes of the base.
	anchor       = 32
	anchorStep   = 16
	mostInserted = 4 << 10
	mostRemoved  = 64 << 10
)

// findEdits returns edits that make a state of a base; nil where there is no short list of them.
// It takes time linear in both.
func findEdits(base, state []byte) (list []edit) {
	end := commonEnd(base, state)
	text := func(from, to int) {
		if from < to {
			list = append(list, edit{text: string(state[from:to])})
		}
	}
	i, j := 0, 0 // of the base and the state, which go on alike from there
	for len(list) < mostEdits {
		n := commonStart(base[i:], state[j:])
		if n > 0 {
			list = append(list, edit{from: int64(i), to: int64(i + n)})
		}
		i, j = i+n, j+n
		if j == len(state) {
			return list
		}
		before, after, ok := findResumption(base[i:], state[j:])
		if !ok {
			// What is left of the state ends as the base does.
			tail := max(j, len(state)-min(end, len(base)-i))
			if text(j, tail); tail < len(state) {
				list = append(list, edit{from: int64(len(base) - (len(state) - tail)), to: int64(len(base))})
			}
			return list
		}
		text(j, j+after)
		i, j = i+before, j+after
	}
	return nil
}

// findResumption returns how many bytes of a base and of a state are passed over until both go on alike.
func findResumption(base, state []byte) (before, after int, ok bool) {
	window := base[:min(len(base), mostRemoved)]
	for after = 0; after <= mostInserted && after+anchor <= len(state); after += anchorStep {
		at := after
		if before = bytes.Index(window, state[at:at+anchor]); before < 0 {
			continue
		}
		for before > 0 && after > 0 && window[before-1] == state[after-1] {
			before, after = before-1, after-1
		}
		for after < at && !utf8.RuneStart(state[after]) {
			before, after = before+1, after+1
		}
		return before, after, true
	}
	return 0, 0, false
}

// commonStart returns how many bytes, of whole characters, two texts begin with alike.
func commonStart(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	const block = 4 << 10 // compared at once
	for i+block <= n && bytes.Equal(a[i:i+block], b[i:i+block]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(b) && !utf8.RuneStart(b[i]) {
		i--
	}
	return i
}

// commonEnd returns how many bytes, of whole characters, two texts end with alike.
func commonEnd(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	for i > 0 && !utf8.RuneStart(b[len(b)-i]) {
		i--
	}
	return i
}
