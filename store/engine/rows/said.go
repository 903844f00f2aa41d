package rows

import (
	"context"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Said words the headers of snapshots that each add one message to the messages before. The zero value has no
// messages.
type Said struct {
	tail     conversation.Tail
	openings conversation.Openings
}

// Title returns the title of a session that begins with the added messages.
func (s *Said) Title() string { return s.openings.Title() }

// Context is how many messages before it the words of a message may depend on: a result of
// a tool is named by the call.
const Context = 8

// Add puts into a header what a message says that is added. The message is JSON.
func (s *Said) Add(h *model.Header, message []byte) {
	s.tail.Add(message)
	title, failed := s.tail.Title(conversation.LastMessage)
	if h.Title = title; failed {
		h.Marks |= model.MarkError
	}
	h.Event, h.EventName = model.SnapshotEventNamed, "message"
	c := s.tail.Decode()
	if c == nil {
		return
	}
	s.openings.AddMessage(c, 0)
	at := c.Position()
	switch h.Position = at.Name(); at {
	case conversation.UserInput:
		if c.Message(0).Role == conversation.User {
			h.TurnIndex, h.EventName = 1, EventUser
		}
	case conversation.AfterModel:
		h.EventName = "after model"
	case conversation.AfterTools:
		h.Event, h.EventName = model.SnapshotEventToolIterationEnd, ""
	case conversation.TurnEnd:
		for _, b := range c.Blocks(0) {
			if b.Kind != conversation.Reasoning && b.Kind != conversation.Unknown {
				h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
			}
		}
	}
}

// EventUser is the event of a snapshot in which the user speaks.
const EventUser = "user input"

// Span is rows of a session that follow each other, see [EachRow].
type Span struct {
	// From is the table of the snapshots, or the subquery, as a statement names it.
	From string
	// where is the end of a query, from WHERE on, that returns them in their order, and
	// args are its arguments.
	where string
	args  []any
	// one is the end of a query for the row with an id, and key are the arguments before it. They
	// are used for each of ids, where ids is not nil.
	one string
	key []any
	ids []int64
	// First is the number of the first of them in the session, from 0. Skip is how many
	// stand before the snapshot that was asked for.
	First, Skip int
}

// Span returns the rows of a session from a snapshot on, and up to so many before it; all
// where the id is "".
func (k Kind) Span(ctx context.Context, t Tx, of Place, from string, context int) (s Span, err error) {
	if on, ok := t.(pgTx); ok { // the order is written otherwise there
		k.Order, k.Snapshots = on.on.kind.Order, on.on.kind.Snapshots
	}
	order, table := strings.Join(k.orderColumns(), ", "), of.Table(k.Snapshots)
	s.From = table
	s.where, s.args = k.whereClause(), of.Key
	if from != "" {
		at := func(compare string) string {
			return k.whereClause() + " AND (" + order + ") " + compare + " (SELECT " + order + " FROM " + table + k.whereClause() + " AND " + k.ID + " = ?)"
		}
		args := func(id string, more ...any) (all []any) {
			return append(append(append(append(all, of.Key...), of.Key...), id), more...)
		}
		if err = t.Row(ctx, "SELECT count(*) FROM "+table+at("<"), args(from)...).Scan(&s.First); err != nil {
			return s, err
		}
		if s.Skip = min(s.First, context); s.Skip > 0 {
			s.First -= s.Skip
			backwards := strings.Join(k.orderColumns(), " DESC, ") + " DESC"
			if err = t.Row(ctx, "SELECT "+k.ID+" FROM "+table+at("<")+" ORDER BY "+backwards+" LIMIT 1 OFFSET ?", args(from, s.Skip-1)...).Scan(&from); err != nil {
				return s, err
			}
		}
		s.where, s.args = at(">="), args(from)
	}
	s.where += " ORDER BY " + order
	if file, ok := t.(sqliteTx); ok && file.roomy {
		s.one, s.key = k.whereClause()+" AND rowid = ?", of.Key
		s.ids, err = firstColumn[int64](ctx, t, "SELECT rowid FROM "+table+s.where, s.args...)
	}
	return s, err
}

// EachRow runs row on each row of a span. run is Each or Records of a transaction, and query ends before WHERE.
// SQLite copies the values that it sorts several times. So large rows are read one by one in the order of their ids.
func EachRow[R any](ctx context.Context, s Span, run func(context.Context, R, string, ...any) error, row R, query string) error {
	if s.ids == nil {
		return run(ctx, row, query+s.where, s.args...)
	}
	for _, id := range s.ids {
		if err := run(ctx, row, query+s.one, append(slices.Clip(s.key), id)...); err != nil {
			return err
		}
	}
	return nil
}

// PythonReads reports whether Python's json reads a text: JSON, and with NaN and the infinities, which it also writes.
func PythonReads(data []byte) bool {
	if jsontape.Valid(data) {
		return true
	}
	_, warnings, err := jsontape.ParseTolerant(data)
	return err == nil && !slices.ContainsFunc(warnings, func(w jsontape.Warning) bool { return w.Kind == jsontape.ByteOrderMark })
}
