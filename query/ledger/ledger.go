// Package ledger adds up the tokens, the dollars and the time of one session, or of all sessions of a home.
//
// An [Account] holds the usage of one session. A [Ledger] reads accounts and keeps them from one run to the next, so
// that only sessions that changed are read again.
package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/home"
	"hindcast/store/media/files"
)

// Ledger reads the accounts of sessions and keeps them. Make it with [New]. It is safe for concurrent use.
type Ledger struct {
	cache *files.Cache
	mu    sync.Mutex
	notes map[*home.Store]*files.Memory
}

// New returns a ledger that keeps its accounts in a cache. A nil cache keeps them as long as the program runs.
func New(cache *files.Cache) *Ledger {
	return &Ledger{cache: cache, notes: map[*home.Store]*files.Memory{}}
}

// Account returns the account of a session: its note, or where the session changed since, the sums of its states.
//
// The screen asks [Ledger.Recall] first, which costs microseconds and reads no session. For the rows in sight that lack
// a note it calls Account in a command, never in Update, for a few rows at a time. The time is that of reading the
// session's bytes, and only the note stays in memory. When ctx ends, Account returns its error; the screen then drops
// the answer. After each batch the screen calls [Ledger.Keep]. The row of a session and its sub-agents is
// [SumOf] of their accounts.
func (l *Ledger) Account(ctx context.Context, s home.Session) (*Account, error) {
	if a, ok := l.Recall(s); ok {
		return a, nil
	}
	opened, err := s.Store.Open(ctx)
	if err != nil {
		return nil, err
	}
	a, err := ReadAccount(ctx, opened, &s.SessionInfo)
	if err != nil {
		return nil, err
	}
	if time.Since(s.UpdatedAt) > settling {
		l.notesOf(s.Store).Note(s.ID, stampOf(&s.SessionInfo), a.encode())
	}
	return a, nil
}

// Recall returns the account of a session from its note. It reads nothing of the session; false if there is no note of
// the session as it is now.
func (l *Ledger) Recall(s home.Session) (*Account, bool) {
	note, ok := l.notesOf(s.Store).Recall(s.ID, stampOf(&s.SessionInfo))
	if !ok {
		return nil, false
	}
	return decodeAccount(note)
}

// Keep writes the notes to the cache, where enough was read since to make that worth it.
func (l *Ledger) Keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, notes := range l.notes {
		notes.Keep()
	}
}

// notesOf returns the notes on a store.
func (l *Ledger) notesOf(s *home.Store) *files.Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	notes := l.notes[s]
	if notes == nil {
		notes = l.cache.MemoryOf(notesName+" "+s.Name, s.At)
		l.notes[s] = notes
	}
	return notes
}

const (
	// notesName changes with the content of the notes.
	notesName = "ledger 5"
	// settling is how long a session must not have changed for its account to be kept: a change within a tick of a
	// clock may leave the same time.
	settling = 3 * time.Second
	// unknownSize is how many bytes a session is taken to have where the store does not say.
	unknownSize = 64 << 10
)

// stampOf returns the stamp of a session: another one when anything that the list tells of it changed.
func stampOf(info *model.SessionInfo) files.Stamp {
	size := info.Size
	if size == 0 {
		size = unknownSize
	}
	return files.TaggedStamp(size, info.UpdatedAt, fmt.Sprint(info.Snapshots, info.Orphaned, info.Head, info.Faults))
}
