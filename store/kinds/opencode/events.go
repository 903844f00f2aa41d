package opencode

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/sqlitefile"
)

// Types of events, without the number of their version.
const (
	eventMessage, eventMessageRemoved = "message.updated", "message.removed"
	eventPart, eventPartRemoved       = "message.part.updated", "message.part.removed"
	eventSession, eventSessionCreated = "session.updated", "session.created"
)

// history is the state of a message in the log of events.
type history struct {
	id      string
	created int64
	// info is the sequence number of the message's last event, or -1; the first event has the number 0. parts
	// are the last events of its parts.
	info  int64
	parts map[string]told
	// removed is the event that deleted the message, or 0. at is its time.
	removed int64
	at      time.Time
	// after is the message that was the last when it came.
	after string
	// cuts are the versions of the message before events deleted or overwrote its parts.
	cuts []*cut
	// cutting says that the last event of it did that.
	cutting bool
}

// told is the last event of a part, and the text that it has, see textOf.
type told struct {
	seq  int64
	size int
	sum  uint64
}

// cut is a message as it was before an event: one that deleted it or parts of it, or one that
// wrote over a text.
type cut struct {
	kind model.ReasonKind
	seq  int64
	at   time.Time
	seqs []int64
}

// fold is the log of events as far as it was read.
type fold struct {
	messages map[string]*history
	order    []*history
	alive    []string
	// untimed are the times of deletions that are not known yet.
	untimed []*time.Time
	unknown map[string]int
	kept    int // events in cuts
}

// mostKept bounds the events in the cuts of a session: a message may have many parts, each of
// them written over.
const mostKept = 20_000

// addEvent takes in an event: the number of its version, behind the last dot, is passed over.
func (f *fold) addEvent(seq int64, kind string, data []byte) {
	text := func(of []byte, key string) string { return jsontape.Unquote(jsontape.FindMember(of, key)) }
	if i := strings.LastIndexByte(kind, '.'); i > 0 && strings.Trim(kind[i+1:], "0123456789") == "" {
		kind = kind[:i]
	}
	switch kind {
	case eventMessage:
		m := stored{info: jsontape.FindMember(data, `"info"`)}
		m.learnRecord()
		if h := f.historyOf(m.id); h != nil {
			h.info, h.created, h.cutting = seq, m.created, false
		}
	case eventPart:
		p := findMembers(jsontape.FindMember(data, `"part"`), `"messageID"`, `"id"`, `"text"`, `"state"`)
		if h := f.historyOf(jsontape.Unquote(p[0])); h != nil {
			id, is := jsontape.Unquote(p[1]), textOf(p[2], p[3])
			if was, over := h.parts[id]; over && !was.goesOn(is) {
				f.keepVersion(h, model.ReasonOverwritten, seq, was.seq)
			} else {
				h.cutting = false
			}
			h.parts[id] = told{seq, len(is), maphash.Bytes(seed, is)}
		}
	case eventPartRemoved:
		part := text(data, `"partID"`)
		if h := f.messages[text(data, `"messageID"`)]; h != nil {
			if was, there := h.parts[part]; there {
				f.keepVersion(h, model.ReasonRewind, seq, was.seq)
			}
			delete(h.parts, part)
			h.cutting = true
		}
	case eventMessageRemoved:
		if h := f.messages[text(data, `"messageID"`)]; h != nil {
			h.removed, h.cutting = seq, false
			f.untimed = append(f.untimed, &h.at)
			f.alive = slices.DeleteFunc(f.alive, func(id string) bool { return id == h.id })
		}
	case eventSession:
		at := parseInfo(jsontape.FindMember(data, `"info"`)).Get("time", "updated").Milliseconds()
		for _, to := range f.untimed {
			*to = at
		}
		f.untimed = nil
	case eventSessionCreated:
	default:
		f.unknown["event "+kind]++
	}
}

// keepVersion keeps the version of a message before an event that discards content of a part. was is the event that
// wrote the content. It keeps nothing if the previous cut has that content.
func (f *fold) keepVersion(h *history, kind model.ReasonKind, seq, was int64) {
	if h.cutting && len(h.cuts) > 0 && slices.Contains(h.cuts[len(h.cuts)-1].seqs, was) {
		return
	}
	c := &cut{kind: kind, seq: seq, seqs: []int64{h.info, was}}
	if f.kept < mostKept { // else that part alone
		c.seqs = h.eventNumbers()
		f.kept += len(c.seqs)
	}
	h.cuts, h.cutting, f.untimed = append(h.cuts, c), true, append(f.untimed, &c.at)
}

// seed is that of the sums of texts.
var seed = maphash.MakeSeed()

// textOf returns the text of a part, or the call and the result of a finished tool. A part that is still being
// written has only the beginning of its text.
func textOf(text, state []byte) []byte {
	if text != nil {
		return bytes.TrimSuffix(text, []byte(`"`)) // a text that goes on begins with it
	}
	of := findMembers(state, `"input"`, `"output"`, `"error"`)
	if of[1] == nil && of[2] == nil {
		return nil
	}
	return slices.Concat(of...)
}

// findMembers returns the values of members of an object as they stand in the text, nil for each that
// is not there.
func findMembers(data []byte, keys ...string) [][]byte {
	values := make([][]byte, len(keys))
	for m, err := range jsontape.Members(data) {
		if err != nil {
			return make([][]byte, len(keys))
		}
		for i, key := range keys {
			if string(m.Key) == key {
				values[i] = m.Value
			}
		}
	}
	return values
}

// goesOn reports whether a text begins with that of an event.
func (t *told) goesOn(text []byte) bool {
	return len(text) >= t.size && maphash.Bytes(seed, text[:t.size]) == t.sum
}

// historyOf returns the history of a message, and begins it at the message's first event. It returns nil for
// the id "".
func (f *fold) historyOf(id string) *history {
	if id == "" {
		return nil
	}
	h := f.messages[id]
	if h == nil {
		h = &history{id: id, info: -1, parts: map[string]told{}}
		if n := len(f.alive); n > 0 {
			h.after = f.alive[n-1]
		}
		f.messages[id] = h
		f.order, f.alive = append(f.order, h), append(f.alive, h.id)
	}
	return h
}

// eventNumbers returns the events that tell of a message: its own, and those of its parts in order.
func (h *history) eventNumbers() []int64 {
	var list []int64
	if h.info >= 0 {
		list = append(list, h.info)
	}
	for _, id := range slices.Sorted(maps.Keys(h.parts)) {
		list = append(list, h.parts[id].seq)
	}
	return list
}

// addDeleted adds the messages that the log of events has and the rows have not. lost counts the
// events on damaged pages.
func (b *build) addDeleted(ctx context.Context, t *sqlitefile.Tx, session string) (lost int, err error) {
	if logged, err := hasEvents(ctx, t); err != nil || !logged {
		return 0, err
	}
	f := fold{messages: map[string]*history{}, unknown: b.unknown}
	lost, err = t.Salvage(ctx, func(scan func(...any) error) error {
		var seq int64
		var kind string
		var data []byte
		err := scan(&seq, &kind, &data)
		f.addEvent(seq, kind, data)
		return err
	}, "ifnull(CAST(seq AS INTEGER), 0), ifnull(type, ''), data", "event WHERE aggregate_id = ? ORDER BY seq", session)
	if err != nil {
		return lost, err
	}
	rows := map[string]*found{} // what is added to the list later may move it
	var silent []*found
	for _, m := range b.list {
		if m.info != nil {
			rows[m.id] = &m
		}
		if m.gone == nil && f.messages[m.id] == nil {
			silent = append(silent, &m)
		}
	}
	b.logged = make(map[string]bool, len(rows))
	for id, m := range rows {
		h := f.messages[id]
		b.logged[id] = h != nil && h.info >= 0 && !slices.ContainsFunc(m.parts, func(p part) bool { _, told := h.parts[p.id]; return !told })
	}
	for _, h := range f.order {
		if h.after == "" { // what came without an event was there before all that did
			for _, m := range silent {
				if m.created <= h.created {
					h.after = m.id
				}
			}
		}
		for _, c := range h.cuts {
			if err := b.addFromEvents(ctx, t, &f, session, h, fmt.Sprintf("%s@%d", h.id, c.seq), *c); err != nil {
				return lost, err
			}
		}
		name, last := "", cut{model.ReasonRewind, h.removed, h.at, h.eventNumbers()}
		if m := rows[h.id]; m != nil {
			has, says := m.matchesParts(h.parts)
			if says {
				continue
			}
			if name = h.id + "@events"; has {
				last.kind = model.ReasonOverwritten
			}
		}
		if err := b.addFromEvents(ctx, t, &f, session, h, name, last); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// matchesParts reports whether a message has the parts that events tell of, and whether these say what
// the events have.
func (m *stored) matchesParts(parts map[string]told) (has, says bool) {
	says = true
	for id, was := range parts {
		at, there := slices.BinarySearchFunc(m.parts, id, func(p part, id string) int { return strings.Compare(p.id, id) })
		if !there {
			return false, false
		}
		p := findMembers(m.parts[at].data, `"text"`, `"state"`)
		says = says && was.goesOn(textOf(p[0], p[1]))
	}
	return true, says
}

// addFromEvents adds a message from events.
func (b *build) addFromEvents(ctx context.Context, t *sqlitefile.Tx, f *fold, session string, h *history, name string, c cut) error {
	m := found{origin: origin{id: h.id, seqs: c.seqs}, name: name, after: h.after}
	var err error
	if m.stored, err = m.origin.readMessage(ctx, t, session); err != nil {
		return err
	}
	if m.created == 0 {
		m.created = h.created
	}
	after := h.after
	to := f.messages[after] // what was deleted together goes back to one message
	for to != nil && to.removed > 0 && to.removed <= c.seq {
		after = to.after
		to = f.messages[after]
	}
	m.gone, m.why = &model.Reason{Kind: c.kind, At: c.at}, "no event tells when"
	if c.kind == model.ReasonRewind {
		m.gone.TargetID, m.why = after, "the row is gone, and no event tells when"
	}
	if c.seq > 0 {
		m.why = fmt.Sprintf("at seq %d", c.seq)
	}
	b.list = append(b.list, m)
	return nil
}
