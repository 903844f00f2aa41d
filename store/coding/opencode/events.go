package opencode

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/sqlitefile"
)

// Types of events, without the number of their version.
const (
	eventMessage, eventMessageRemoved = "message.updated", "message.removed"
	eventPart, eventPartRemoved       = "message.part.updated", "message.part.removed"
	eventSession, eventSessionCreated = "session.updated", "session.created"
)

// history is what the log of events tells of a message.
type history struct {
	id      string
	created int64
	// info is the last event of the message, and parts are those of its parts.
	info  int64
	parts map[string]int64
	// removed is the event that deleted it, 0 for none, and at the time of that.
	removed int64
	at      time.Time
	// after is the message that was the last when it came.
	after string
	// cuts are what it was before parts of it were deleted.
	cuts []*cut
	// cutting says that the last event of it deleted a part.
	cutting bool
}

// cut is a message as it was before an event deleted parts of it.
type cut struct {
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
}

// add takes in an event: the number of its version, behind the last dot, is passed over.
func (f *fold) add(seq int64, kind string, data []byte) {
	text := func(of []byte, key string) string { return jsontape.Unquote(jsontape.FindMember(of, key)) }
	if i := strings.LastIndexByte(kind, '.'); i > 0 && strings.Trim(kind[i+1:], "0123456789") == "" {
		kind = kind[:i]
	}
	switch kind {
	case eventMessage:
		m := stored{info: jsontape.FindMember(data, `"info"`)}
		m.learn()
		if h := f.of(m.id); h != nil {
			h.info, h.created, h.cutting = seq, m.created, false
		}
	case eventPart:
		p := jsontape.FindMember(data, `"part"`)
		if h := f.of(text(p, `"messageID"`)); h != nil {
			h.parts[text(p, `"id"`)], h.cutting = seq, false
		}
	case eventPartRemoved:
		part := text(data, `"partID"`)
		if h := f.messages[text(data, `"messageID"`)]; h != nil {
			if !h.cutting && h.parts[part] != 0 {
				h.cuts = append(h.cuts, &cut{seq, time.Time{}, h.seqs()})
				f.untimed = append(f.untimed, &h.cuts[len(h.cuts)-1].at)
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

// of returns the history of a message, which begins with the first event of it; nil for none.
func (f *fold) of(id string) *history {
	if id == "" {
		return nil
	}
	h := f.messages[id]
	if h == nil {
		h = &history{id: id, parts: map[string]int64{}}
		if n := len(f.alive); n > 0 {
			h.after = f.alive[n-1]
		}
		f.messages[id] = h
		f.order, f.alive = append(f.order, h), append(f.alive, h.id)
	}
	return h
}

// seqs returns the events that tell of a message: its own, and those of its parts in order.
func (h *history) seqs() []int64 {
	var list []int64
	if h.info != 0 {
		list = append(list, h.info)
	}
	for _, id := range slices.Sorted(maps.Keys(h.parts)) {
		list = append(list, h.parts[id])
	}
	return list
}

// deleted adds the messages that the log of events has and the rows have not. lost counts the
// events on damaged pages.
func (b *build) deleted(ctx context.Context, t *sqlitefile.Tx, session string) (lost int, err error) {
	if logged, err := hasEvents(ctx, t); err != nil || !logged {
		return 0, err
	}
	f := fold{messages: map[string]*history{}, unknown: b.unknown}
	lost, err = t.Salvage(ctx, func(scan func(...any) error) error {
		var seq int64
		var kind string
		var data []byte
		err := scan(&seq, &kind, &data)
		f.add(seq, kind, data)
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
	for _, h := range f.order {
		if h.after == "" { // what came without an event was there before all that did
			for _, m := range silent {
				if m.created <= h.created {
					h.after = m.id
				}
			}
		}
		for _, c := range h.cuts {
			if err := b.gone(ctx, t, &f, session, h, fmt.Sprintf("%s@%d", h.id, c.seq), *c); err != nil {
				return lost, err
			}
		}
		name := ""
		if m := rows[h.id]; m != nil {
			if m.hasAll(h.parts) {
				continue
			}
			name = h.id + "@events"
		}
		if err := b.gone(ctx, t, &f, session, h, name, cut{h.removed, h.at, h.seqs()}); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// hasAll reports whether a message has parts of these ids.
func (m *stored) hasAll(parts map[string]int64) bool {
	for id := range parts {
		if !slices.ContainsFunc(m.parts, func(p part) bool { return p.id == id }) {
			return false
		}
	}
	return true
}

// gone adds a message from events.
func (b *build) gone(ctx context.Context, t *sqlitefile.Tx, f *fold, session string, h *history, name string, c cut) error {
	m := found{origin: origin{id: h.id, seqs: c.seqs}, name: name, after: h.after}
	var err error
	if m.stored, err = m.origin.read(ctx, t, session); err != nil {
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
	m.gone, m.why = &model.Reason{Kind: model.ReasonRewind, TargetID: after, At: c.at}, "the row is gone, and no event tells when"
	if c.seq > 0 {
		m.why = fmt.Sprintf("at seq %d", c.seq)
	}
	b.list = append(b.list, m)
	return nil
}
