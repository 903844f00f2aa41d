package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/watch"
)

// How a file is followed.
//
// Each answer is as the file is now: each call looks at the
// file's size and time first. A file that has only grown is read on from the
// end of its last whole line. That it has only grown is believed when it is the
// same file, longer than before, and begins and ends as it did; then no line is
// read twice. Everything else (it was cut, written anew in place, or another
// file has been renamed to its name) is a rewrite: the file is read from its
// beginning, and cursors from before are worth nothing.
//
// A writer may be in the middle of its last line. While that line has no end
// and does not parse it is no fault, until the file has rested for a while.

// Watch implements [store.Features].Watch, for a file that may change.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	return watch.File(s.life.Within(ctx), s.address), nil
}

// edges are the bytes at the beginning of a file, and those before some place.
type edges struct {
	first, last []byte
	end         int64
}

// edgeSize is how many bytes are compared at either edge.
const edgeSize = 4 << 10

func edgesOf(r io.ReaderAt, end int64) (e edges, err error) {
	e.end, e.first = end, make([]byte, min(end, edgeSize))
	e.last = make([]byte, len(e.first))
	_, err = r.ReadAt(e.first, 0)
	if err == nil {
		_, err = r.ReadAt(e.last, end-int64(len(e.last)))
	}
	return e, err
}

// readOn reads on to the end of the file, and the caller holds the lock.
func (s *Store) readOn(ctx context.Context) error {
	x := s.index
	if err := x.read(ctx, s.address, s.readerFrom(x.end)); err != nil {
		return err
	}
	var err error
	if s.info, err = s.file.Stat(); err == nil && !s.still {
		s.edges, err = edgesOf(s.file, x.end)
	}
	return err
}

// readerFrom returns the rest of the file. What is no regular file is read once, from
// where it stands.
func (s *Store) readerFrom(start int64) io.Reader {
	if s.still {
		return s.file
	}
	return io.NewSectionReader(s.file, start, math.MaxInt64-start)
}

// catchUp reads what has changed in the file. While there is nothing at its
// path, or nothing that could be read as a file, it stays as it was read last.
func (s *Store) catchUp(ctx context.Context) error {
	if err := ctx.Err(); err != nil || s.still {
		return err
	}
	s.mu.RLock()
	known := s.isKnown()
	s.mu.RUnlock()
	if known {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isKnown(): // another caller was faster
		return nil
	case s.hasGrown():
		return s.readOn(ctx)
	}
	return s.readAnew(ctx)
}

// isKnown reports whether the file at the path has been read as it is.
func (s *Store) isKnown() bool {
	info, err := os.Stat(s.address)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	return os.SameFile(info, s.info) && info.Size() == s.index.size && info.ModTime().Equal(s.info.ModTime())
}

// hasGrown reports whether the file has only grown since it was read. If the last line was read without its
// end, more bytes change that line, so the file has not only grown.
func (s *Store) hasGrown() bool {
	info, err := os.Stat(s.address)
	if err != nil || !os.SameFile(info, s.info) || info.Size() <= s.index.size || s.index.last.taken {
		return false
	}
	now, err := edgesOf(s.file, s.edges.end)
	return err == nil && bytes.Equal(now.first, s.edges.first) && bytes.Equal(now.last, s.edges.last)
}

// readAnew reads the file that is at the path now, from its beginning.
func (s *Store) readAnew(ctx context.Context) error {
	f, err := os.Open(s.address)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	next := &Store{address: s.address, file: f, index: newIndex()}
	if err := next.readOn(ctx); err != nil {
		return errors.Join(err, f.Close())
	}
	old := s.file
	s.file, s.index, s.info, s.edges = next.file, next.index, next.info, next.edges
	s.last.at, s.last.state = span{}, nil
	s.rewrites++
	return old.Close()
}

// currentSession returns a session of the file as it is now. Until unlock is called the
// session stays as it is. The error is model.ErrNoSession.
func (s *Store) currentSession(ctx context.Context, id string) (ss *session, unlock func(), err error) {
	if err := s.catchUp(ctx); err != nil {
		return nil, nil, err
	}
	s.mu.RLock()
	if ss = s.index.sessions[id]; ss == nil {
		s.mu.RUnlock()
		return nil, nil, model.ErrNoSession
	}
	return ss, s.mu.RUnlock, nil
}

// rest is how long a file must be unchanged until a last line without an end counts as the remains of a killed
// writer.
const rest = 5 * time.Second

// beingWritten reports whether the last line may still be written.
func (s *Store) beingWritten() bool {
	return !s.still && time.Since(s.info.ModTime()).Abs() < rest
}

// Cursor implements [store.Features].Cursor: a session has been read as far as it has
// lines.
func (s *Store) Cursor(ctx context.Context, sessionID string) (store.Cursor, error) {
	ss, unlock, err := s.currentSession(ctx, sessionID)
	if err != nil {
		return store.Cursor{}, fmt.Errorf("jsonl: find the end of session %q: %w", sessionID, err)
	}
	defer unlock()
	return s.cursor(ss), nil
}

func (s *Store) cursor(ss *session) store.Cursor {
	return store.Cursor{Visit: int64(len(ss.headers)), Rewrites: s.rewrites}
}

// Growth implements [store.Features].Growth.
func (s *Store) Growth(ctx context.Context, sessionID string, since store.Cursor) (store.Growth, error) {
	ss, unlock, err := s.currentSession(ctx, sessionID)
	if err != nil {
		return store.Growth{}, fmt.Errorf("jsonl: read on in session %q: %w", sessionID, err)
	}
	defer unlock()
	growth := store.Growth{Cursor: s.cursor(ss)}
	if since.Visit >= 0 && since.Grows(growth.Cursor) {
		growth.Headers = slices.Clone(ss.headers[since.Visit:])
	} else {
		growth.Rewritten = true
	}
	return growth, nil
}
