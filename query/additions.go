package query

import (
	"context"
	"iter"
	"slices"

	"hindcast/model"
)

// Addition is the share of one visit in its session: the messages that it adds, and what its state holds beside
// messages.
type Addition struct {
	Stat
	// Added are the numbers of the messages that the visit adds, by the rules of Stats.
	Added []int32
	// Before is the state up to its list of messages, and After the state behind the list. Before is the whole
	// state, and After nil, where there is no list. Visits in a row share the bytes where they are the same.
	Before, After []byte
	// Gaps are the keys that the store does not know at the visit.
	Gaps model.Gaps

	list []piece
}

// Additions returns an Addition for each visit, in the order in which the visits were recorded. It calls take with
// each message once, in the order of their numbers from 0, before the visit that adds it. The bytes of a message may
// be kept, and not changed: they are a part of the text that the session holds. The error ends the sequence.
func (q *Session) Additions(ctx context.Context, take func(message []byte)) iter.Seq2[Addition, error] {
	return func(yield func(Addition, error) bool) {
		s := q.newStats()
		s.take, s.additions = take, map[model.Node]*Addition{}
		var last Addition
		var lastAround [2][]piece
		for stat, err := range s.walkStats(ctx) {
			if err != nil {
				yield(Addition{}, err)
				return
			}
			a := Addition{Stat: stat}
			if known := s.additions[stat.Visit]; known != nil {
				a = *known
				a.Stat, a.Gaps = stat, s.rope(stat.Visit).gaps
				delete(s.additions, stat.Visit)
				around := s.aroundList(stat.Visit, a.list)
				a.Before, a.After = last.Before, last.After
				if last.Before == nil || !slices.Equal(around[0], lastAround[0]) {
					a.Before = join(s.bytes(), around[0])
				}
				if len(a.list) == 0 {
					a.After = nil
				} else if last.After == nil || !slices.Equal(around[1], lastAround[1]) {
					a.After = join(s.bytes(), around[1])
				}
				last, lastAround = a, around
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}

// aroundList returns the pieces of a state before its list of messages and behind it. A state without a list is before
// it.
func (v *view) aroundList(n model.Node, list []piece) (around [2][]piece) {
	whole := v.rope(n).pieces
	size := int(length(whole))
	if len(list) == 0 {
		return [2][]piece{whole}
	}
	from := 0
	for _, p := range whole {
		if at := list[0].off; p.off <= at && at < p.end() {
			begin := from + int(at-p.off)
			if end := begin + int(length(list)); slices.Equal(cut(whole, begin, end-begin), list) {
				return [2][]piece{cut(whole, 0, begin), cut(whole, end, size-end)}
			}
		}
		from += int(p.n)
	}
	return [2][]piece{whole} // unreachable: a list is cut out of its state
}
