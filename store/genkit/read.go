package genkit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"

	"hindcast/store/files"
)

// stray is a file among the rows that is not listed as one.
type stray struct {
	name string
	// err is why it could not be read; nil for one that says something else
	// than a row does.
	err error
	// claims is the snapshot that it says it is, if it says so.
	claims string
	// flaws are what is wrong with one that says nothing.
	flaws []flaw
}

// isBlocking reports whether JavaScript cannot read the file, or cannot parse it.
func (s *stray) isBlocking() bool {
	if s.err != nil {
		return !errors.Is(s.err, files.ErrSymlink)
	}
	return slices.ContainsFunc(s.flaws, func(f flaw) bool { return f.code == FaultRowFile || f.code == FaultBOM })
}

// reading is what came of one file: a row, or a stray.
type reading struct {
	row   row
	stray *stray // nil for a row
	gone  bool   // it went while it was looked at
}

const (
	// readTries is how often a row is read that its writer seems to replace.
	readTries = 3
	// keepBuffer and largeRow, in bytes: buffers that are kept from one row to
	// the next, and rows of which one at a time is in memory.
	keepBuffer = 16 << 20
	largeRow   = 32 << 20
)

// reader reads the rows of one place, and remembers what they say.
type reader struct {
	place  place
	folder *files.Folder
	memory *files.Memory
	fetch  files.Reader // reads in the folder
	large  sync.Mutex
}

// openPlace opens a place to be read.
func (s *Store) openPlace(p place) (*reader, error) {
	folder, err := files.OpenFolder(s.root, p.dir)
	if err != nil {
		return nil, err
	}
	fetch := func(name string, buf []byte) ([]byte, error) {
		s.reads.Add(1)
		return folder.Read(name, buf)
	}
	return &reader{place: p, folder: folder, memory: s.memory, fetch: fetch}, nil
}

// close lets go of the folder, from which was only read.
func (r *reader) close() { r.folder.Close() }

// each reads all rows, several at once, and lends them to visit in the order of
// their names. The error is that of a context that has ended.
func (r *reader) each(ctx context.Context, visit func(*reading)) error {
	names := r.place.rows
	const batch = 8
	type part struct {
		list  [batch]reading
		ready chan struct{}
	}
	workers := min(max(4, runtime.GOMAXPROCS(0)), 16, (len(names)+batch-1)/batch)
	if workers <= 1 {
		buf := []byte(nil)
		for _, id := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			var one reading
			one, buf = r.read(id, buf)
			visit(&one)
		}
		return nil
	}
	// Parts go around: to a worker, to visit, to a worker again. So no more than
	// these are in memory.
	parts := make([]part, 2*workers)
	type job struct {
		*part
		names []string
	}
	jobs := make(chan job, len(parts))
	var running sync.WaitGroup
	defer running.Wait()
	defer close(jobs)
	for range workers {
		running.Go(func() {
			var buf []byte
			for j := range jobs {
				for i, id := range j.names {
					if ctx.Err() != nil {
						break
					}
					j.list[i], buf = r.read(id, buf)
				}
				j.ready <- struct{}{}
			}
		})
	}
	given := 0
	give := func(p *part) {
		n := min(batch, len(names)-given)
		jobs <- job{p, names[given : given+n]}
		given += n
	}
	for i := range parts {
		parts[i].ready = make(chan struct{}, 1)
		if given < len(names) {
			give(&parts[i])
		}
	}
	for taken, next := 0, 0; taken < len(names); next = (next + 1) % len(parts) {
		p := &parts[next]
		<-p.ready
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, len(names)-taken)
		for i := range n {
			visit(&p.list[i])
		}
		taken += n
		if given < len(names) {
			give(p)
		}
	}
	return nil
}

// read returns what is known of a row that has not changed, and reads any other.
func (r *reader) read(id string, buf []byte) (reading, []byte) {
	name := id + rowSuffix
	key := path.Join(r.place.dir, name)
	stamp, err := r.folder.Stat(name)
	if err != nil {
		return failed(name, err), buf
	}
	if note, ok := r.memory.Recall(key, stamp); ok {
		if known, err := parseNote(id, note); err == nil {
			known.written = stamp.Size
			return reading{row: known}, buf
		}
	}
	if stamp.Size > largeRow {
		r.large.Lock()
		defer r.large.Unlock()
	}
	data, err := r.fetch(name, buf)
	if err != nil {
		return failed(name, err), buf
	}
	if cap(data) <= keepBuffer {
		buf = data
	}
	decoded, _, ok := r.decode(id, data)
	if !ok || decoded.snapshotID != id {
		return reading{stray: &stray{name: name, claims: decoded.snapshotID, flaws: decoded.flaws}}, buf
	}
	decoded.written = stamp.Size
	r.memory.Note(key, stamp, decoded.appendNote(nil))
	return reading{row: decoded}, buf
}

// decode decodes a row. One that is broken is read again, until it no longer
// changes: somebody may be writing it. What was read last is given, too.
func (r *reader) decode(id string, data []byte) (decoded row, last []byte, ok bool) {
	for try := 1; ; try++ {
		decoded, ok = decodeRow(id, data)
		if ok && !decoded.broken || try == readTries {
			return decoded, data, ok
		}
		again, err := r.fetch(id+rowSuffix, nil)
		if err != nil || bytes.Equal(again, data) {
			return decoded, data, ok
		}
		data = again
	}
}

// failed is a file that could not be read.
func failed(name string, err error) reading {
	return reading{stray: &stray{name: name, err: err}, gone: isGone(err)}
}

// readPointer returns the pointer of a session, nil for none.
func readPointer(root *os.Root, p place, session string) *pointer {
	if !p.pointers || !validName(session) {
		return nil
	}
	data, err := files.From(root)(path.Join(p.dir, pointersFolder, session+rowSuffix), nil)
	switch {
	case isGone(err):
		return nil
	case errors.Is(err, os.ErrInvalid):
		return nil
	case err != nil:
		return &pointer{err: err}
	}
	found := decodePointer(data)
	return &found
}
