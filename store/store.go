// Package store is the port between Hindcast and the places where sessions live. It declares the operations of
// every kind of store, the optional features, and how an address finds its kind.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"hindcast/model"
)

// Store is an opened store. Every kind has exactly this; [Features] has the
// rest. All methods are safe for concurrent use, and none of them
// writes anything.
type Store interface {
	// Kind returns the kind's name ("sqlite", "strands", …).
	Kind() string
	// Address returns the path or address that was opened.
	Address() string
	// Sessions returns the sessions, the newest change first. A session that cannot be
	// read is still listed, with its faults counted. An error ends the sequence.
	Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error]
	// Headers returns the headers of a session in the order in which they were
	// recorded, parents before children wherever the store allows, without
	// reading a state. An unknown session is model.ErrNoSession.
	Headers(ctx context.Context, session string) iter.Seq2[model.Header, error]
	// State returns the bytes of one state exactly as its writer serialised
	// them. The caller may not write to them; they stay valid until Close.
	// The errors are model.ErrNoSession and model.ErrNoSnapshot.
	State(ctx context.Context, ref model.Ref) ([]byte, error)
	// Faults returns the faults of a session, or of the store itself when session is "".
	Faults(ctx context.Context, session string) ([]model.Fault, error)
	// Features returns the other operations of the store, the same ones each time.
	Features() Features
	// Close lets go of the store.
	Close() error
}

// Find returns nil if the store has the session. It returns the errors of Headers. A store that need not read
// the session for this has [Features].Find. Its error is model.ErrNoSession if the session does not
// exist.
func Find(ctx context.Context, s Store, session string) error {
	if f := s.Features(); f.Find != nil {
		return f.Find(ctx, session)
	} else if f.Tail != nil {
		_, _, err := f.Tail(ctx, session, 1)
		return err
	}
	for _, err := range s.Headers(ctx, session) {
		return err // the first snapshot tells
	}
	return nil
}

// Uncounted is a number that is not known and more than none.
const Uncounted = -1

// States returns two states of any store. It returns the errors of State.
func States(ctx context.Context, s Store, a, b model.Ref) (x, y []byte, err error) {
	if f := s.Features(); f.States != nil {
		return f.States(ctx, a, b)
	}
	if x, err = s.State(ctx, a); err != nil {
		return nil, nil, err
	}
	y, err = s.State(ctx, b)
	return x, y, err
}

// Apart are two states. From the array at the key Key at their top the first Common elements
// are left out, which are equal byte for byte in both.
type Apart struct {
	A, B   []byte
	Key    string
	Common int
}

// TakeApart returns two states of any store, without their common beginning if the store knows it. Then it
// need not read that beginning. It returns the errors of State.
func TakeApart(ctx context.Context, s Store, a, b model.Ref) (two Apart, err error) {
	if f := s.Features(); f.Apart != nil {
		return f.Apart(ctx, a, b)
	}
	two.A, two.B, err = States(ctx, s, a, b)
	return two, err
}

// Span is a run of bytes of one state that stands for a run of another; either
// may be empty.
type Span struct{ AFrom, ATo, BFrom, BTo int64 }

// Row is one snapshot whole, or the record of one session: what export writes
// and import reads.
type Row struct {
	Header model.Header
	// State is nil on a later visit of an id whose state came before.
	State []byte
	// Record is a session's record, its LastSnapshot left nil because the
	// headers tell the head; Header and State are then unused. Nil on a row
	// that is a snapshot.
	Record *model.Data[json.RawMessage]
	// Labels are the labels of the snapshot, for a store to keep nowhere: package labels
	// does.
	Labels []model.Label
}

// NewestFirst orders sessions by their last change, then by id.
func NewestFirst(a, b model.SessionInfo) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
}

// AnyOrder returns the sessions of a store of any kind. They come as they are read where the
// store need not read all to know their order; else as Sessions has them.
func AnyOrder(ctx context.Context, s Store) iter.Seq2[model.SessionInfo, error] {
	if f := s.Features(); f.AnyOrder != nil {
		return f.AnyOrder(ctx)
	}
	return s.Sessions(ctx)
}

// Only returns the session of a store that is known to have no other, without reading that;
// "" where there may be others, or none.
func Only(ctx context.Context, s Store) string {
	if f := s.Features(); f.Only != nil {
		return f.Only(ctx)
	}
	return ""
}

// NamesForks reports whether a store names a session that is forked by itself, where the
// change has no name: the ids of its framework have a form of their own.
func NamesForks(s Store) bool {
	f := s.Features()
	return f.NamesForks != nil && f.NamesForks()
}

// MeetingPoint returns where the session of a sub-agent meets the session that started it. For the snapshot
// that started a sub-agent, it returns the sub-agent's session, without a snapshot. For a snapshot of the
// sub-agent's session, it returns the snapshot that started it. Otherwise it returns the zero value. It
// returns the errors of State.
func MeetingPoint(ctx context.Context, s Store, ref model.Ref) (model.Ref, error) {
	if f := s.Features(); f.Across != nil {
		return f.Across(ctx, ref)
	}
	return model.Ref{}, nil
}

// Mentions reports whether states of a session may contain a text, in any of their strings, keys and numbers that
// [Features].IsAdded does not leave out.
// has reports whether given bytes of JSON may contain it, however they spell it; it may ignore the case of letters. False
// is certain, so that a search need not read the session. A store that cannot tell without reading states returns true. It
// returns the errors of Headers.
func Mentions(ctx context.Context, s Store, session string, text []byte, has func([]byte) bool) (bool, error) {
	if f := s.Features(); f.Mentions != nil {
		return f.Mentions(ctx, session, text, has)
	}
	return true, nil
}

// Reason returns why s cannot do op, "" if it can. A store that is only read may say it,
// too.
func Reason(s Store, op model.Op) string {
	f := s.Features()
	if op == model.OpGiveBack && !f.Kept {
		return "no file of the session is gone that is kept"
	}
	if f.Lacks != nil {
		if reason := f.Lacks(op); reason != "" {
			return reason
		}
	}
	if f.Plan != nil {
		return ""
	}
	return aStore(s.Kind()) + " cannot " + string(op) // it is only read, whatever the operation
}

// cannot are the reasons of operations that only some kinds that are written to have, and what
// to do instead.
var cannot = map[model.Op]string{
	model.OpEdit:     "Hindcast writes no edited state into %s",
	model.OpRepair:   "Hindcast mends nothing in %s: its doctor says what the framework makes of a fault",
	model.OpPurge:    "Hindcast knows no redactions in %s: a purge would forget nothing",
	model.OpConvert:  "Hindcast writes no session of another kind into %s",
	model.OpContinue: "Hindcast continues no conversation of another tool in %s",
}

// Cannot returns the reason of a kind that is written to, and has no such operation.
func Cannot(kind string, op model.Op) string {
	if why := cannot[op]; why != "" {
		return fmt.Sprintf(why, aStore(kind))
	}
	return aStore(kind) + " cannot " + string(op)
}

// aStore names a store of a kind: "an adk store".
func aStore(kind string) string { return Article(kind) + " store" }

// Article returns a kind with its article: "an adk".
func Article(kind string) string {
	if strings.ContainsAny(kind[:min(1, len(kind))], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

// Requests counts the requests to a server by method. Again counts repeated requests, because no answer came
// or the server was busy.
type Requests struct{ List, Get, Head, Put, Delete, Again int64 }

// All returns how many there were.
func (r Requests) All() int64 { return r.List + r.Get + r.Head + r.Put + r.Delete }

// CountRequests returns how many requests a store made of a server since it was opened; false where it
// is on none.
func CountRequests(s Store) (Requests, bool) {
	if f := s.Features(); f.Requests != nil {
		return f.Requests()
	}
	return Requests{}, false
}

// ErrSessionExists: a fork was to make a session that the store already has.
var ErrSessionExists = errors.New("the session exists already")

// ErrNotEdited: an edit was to make a session out of the state that is there.
var ErrNotEdited = errors.New("the state is still that of the snapshot")

// NotPlanned returns the error of a change that a store of a kind could not plan. A refusal
// names the operation itself, and its reason comes first.
func NotPlanned(kind string, c model.Change, err error) error {
	if errors.As(err, new(*model.UnsupportedError)) || errors.As(err, new(*model.NothingToError)) {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return fmt.Errorf("%s: plan %s: %w", kind, c, err)
}

// HoldsRecordings reports whether stores of a kind hold recordings of programs with package agent. They may
// also hold copies of other tools' sessions.
func HoldsRecordings(kind string) bool { return slices.Contains(recordings, kind) }

var recordings = []string{"sqlite", "postgres", "jsonl"}
