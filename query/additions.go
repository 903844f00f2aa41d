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

// Messages are the messages of a session, each once, by their numbers from 0. All but the messages that were used last
// are packed in memory. The zero value is empty. It is not safe for concurrent use.
type Messages struct {
	// text is the session's, and own has the messages that lie in several pieces of it or were replaced.
	text, own pages
	// at are the pieces of the messages; with otherText they are pieces of own.
	at []piece
}

// Len returns how many messages there are.
func (m *Messages) Len() int { return len(m.at) }

// Size returns the length of message i in bytes.
func (m *Messages) Size(i int) int { return int(m.at[i].n) }

// Message returns message i, as JSON. The bytes may be kept, and not changed.
func (m *Messages) Message(i int) []byte {
	p := m.at[i]
	if p.off&otherText != 0 {
		p.off &^= otherText
		return m.own.of(p)
	}
	return m.text.of(p)
}

// Replace has message i be another one.
func (m *Messages) Replace(i int, message []byte) { m.at[i] = m.put(message) }

// put adds a message to those of its own.
func (m *Messages) put(message []byte) piece {
	if m.own.packer == nil {
		m.own.packer = newPacker()
	}
	p := m.own.add(message)
	p.off |= otherText
	return p
}

// Additions returns an Addition for each visit, in the order in which the visits were recorded. It puts each message
// into to once, in the order of their numbers, before the visit that adds it. The error ends the sequence. The session
// packs its text from then on, so that other questions to it take longer.
func (q *Session) Additions(ctx context.Context, to *Messages) iter.Seq2[Addition, error] {
	return func(yield func(Addition, error) bool) {
		q.mu.Lock()
		if q.text.list == nil {
			q.text.packer = newPacker()
		}
		q.mu.Unlock()
		s := q.newStats()
		s.additions = map[model.Node]*Addition{}
		s.take = func(message []byte, at piece) {
			if to.text = q.bytes(); at.n == 0 {
				at = to.put(message)
			}
			to.at = append(to.at, at)
		}
		var last Addition
		var lastAround [2][]piece
		for stat, err := range s.walkStats(ctx, nil) {
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
				a.list = nil // or each addition would hold it
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
