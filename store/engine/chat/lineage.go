package chat

import (
	"maps"
	"slices"
	"time"

	"hindcast/model"
)

// Lineage tells which messages follow each other, of records that each follow another one and
// that are not all messages. A way may come to a record twice: it ends there.
type Lineage struct {
	up []int
	// last has for each record the last message on the path to it, which may be the record itself; -1 if
	// there is no message. end has the record where a path without a message ends.
	last, end []int
	steps     int
}

// Missing stands for a record that others name and that is not there.
const Missing = -2

// mostSteps bounds the steps along ways: a file may turn around at each record.
const mostSteps = 5_000_000

// NewLineage returns the lineage of records in the order in which they were recorded. up has the record
// before each, -1 for a first record, or Missing; says reports whether a record is a message.
func NewLineage(up []int, says func(i int) bool) *Lineage {
	l := &Lineage{up: up, last: make([]int, len(up)), end: make([]int, len(up))}
	for i := range up {
		l.last[i], l.end[i] = -1, -1
		if says(i) {
			l.last[i], l.end[i] = i, i
		}
	}
	for i := range up {
		var way []int
		at := i
		for ; l.end[at] < 0; at = up[at] {
			l.end[at] = at // where the way comes here again, it ends
			way = append(way, at)
			if up[at] < 0 {
				break
			}
		}
		for _, k := range way {
			l.last[k], l.end[k] = l.last[at], l.end[at]
		}
	}
	return l
}

// Message returns the last message on the way to a record, or the record if it is a message; -1 if there is no
// message.
func (l *Lineage) Message(i int) int { return l.last[i] }

// Before returns the last message on the way to a record that is before it; of a way without
// one -1, and the record where it ends.
func (l *Lineage) Before(i int) (message, end int) {
	if l.up[i] < 0 {
		return -1, i
	}
	return l.last[l.up[i]], l.end[l.up[i]]
}

// Way returns the records on the way to one, the first of them first.
func (l *Lineage) Way(to int) (list []int) {
	passed := map[int]bool{}
	for i := to; i >= 0 && !passed[i]; i = l.up[i] {
		passed[i] = true
		list = append(list, i)
	}
	slices.Reverse(list)
	return list
}

// Pieces returns some messages, each with the records between the message before it and it, in the order of the file.
func (l *Lineage) Pieces(messages []int) []int {
	on := map[int]bool{}
	for _, m := range messages {
		for i := m; i >= 0 && !on[i] && (i == m || l.last[i] != i); i = l.up[i] {
			on[i] = true
		}
	}
	return slices.Sorted(maps.Keys(on))
}

// MarkLeft marks the entries of a session that an agent stepped back from. It recognises a step back by a record
// that does not follow the message recorded before it. entry has the entry of each message, and recorded
// returns the time of a record; false for a record that does not count.
func (l *Lineage) MarkLeft(s *Session, entry []int, recorded func(i int) (at time.Time, counts bool)) {
	last := -1
	for i := range l.up {
		at, counts := recorded(i)
		if !counts {
			continue
		}
		if next, _ := l.Before(i); last >= 0 && next != last && l.up[i] != Missing {
			l.leavePath(s, entry, last, i, next, at)
		}
		last = l.last[i]
	}
}

// MarkBroken marks the entries of a session that are in other pieces than its head, where a record between the pieces is
// missing. An entry that has a reason was left. entry has the entry of each message.
func (l *Lineage) MarkBroken(s *Session, entry []int) {
	first, head := l.firsts(), -1
	for i := range l.up {
		if l.last[i] == i && entry[i] == s.Head {
			head = i
		}
	}
	for i := range l.up {
		if head < 0 || l.last[i] != i || first[i] == first[head] || s.Entries[entry[i]].Reason != nil {
			continue
		}
		if l.up[first[i]] == Missing || l.up[first[head]] == Missing {
			s.Entries[entry[i]].Reason = &model.Reason{Kind: model.ReasonChainBroken}
		}
	}
}

// firsts returns the first record on the way to each record.
func (l *Lineage) firsts() []int {
	first, passed := make([]int, len(l.up)), make([]bool, len(l.up))
	for i := range l.up {
		var way []int
		at := i
		for ; !passed[at]; at = l.up[at] {
			passed[at], first[at] = true, at // where the way comes here again, it ends
			way = append(way, at)
			if l.up[at] < 0 {
				break
			}
		}
		for _, k := range way {
			first[k] = first[at]
		}
	}
	return first
}

// leavePath marks the messages on the path to last, without the messages on the path to record. next is the
// message before record.
func (l *Lineage) leavePath(s *Session, entry []int, last, record, next int, at time.Time) {
	on := map[int]bool{record: true}
	for m := next; m >= 0 && !on[m]; m = l.messageBefore(m) {
		if m == last {
			return // it goes on
		}
		on[m] = true
	}
	why := &model.Reason{Kind: model.ReasonWentOn, At: at}
	if next >= 0 {
		why.TargetID, why.TargetIndex = s.Entries[entry[next]].ID, entry[next]
	}
	for m := last; m >= 0 && !on[m]; m = l.messageBefore(m) {
		on[m] = true
		s.Entries[entry[m]].Reason = why
	}
}

// messageBefore returns the message before message i, or -1 at the first message and after too many steps.
func (l *Lineage) messageBefore(i int) int {
	if l.steps++; l.steps > mostSteps {
		return -1
	}
	message, _ := l.Before(i)
	return message
}
