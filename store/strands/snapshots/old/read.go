package old

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store/files"
)

const (
	// mostReaders bounds the files that are read at once; each may be
	// large.
	mostReaders = 8
	// batch is how many files are read before their messages are compared, and
	// let go of.
	batch = 128
)

// slot is one file of a batch.
type slot struct {
	item *item
	list messages
	at   files.Stamp
	// noted is the note of the file, nil for none. The file is then not read.
	noted []byte
}

// readAll takes in the files of all items, several at once, and hands each to
// visit with its messages, in order. The messages are lent. The error is that of
// a context that has ended.
func (s *Store) readAll(ctx context.Context, p *place, o *opened, items []item, visit func(item, *messages)) error {
	before, list := new(messages), new(messages)
	for len(items) > 0 {
		n := min(batch, len(items))
		slots := make([]slot, n)
		for i := range slots {
			slots[i].item = &items[i]
		}
		if err := s.fill(ctx, p, o, slots); err != nil {
			return err
		}
		for i := range slots {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("read snapshots: %w", err)
			}
			it := &slots[i]
			s.settle(p, o, it, before, list)
			visit(*it.item, list)
			before, list = list, before
		}
		items = items[n:]
	}
	return nil
}

// fill reads the files of a batch that have no note.
func (s *Store) fill(ctx context.Context, p *place, o *opened, slots []slot) error {
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mostReaders, len(slots)) {
		running.Go(func() {
			var buf []byte
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(slots) {
					return
				}
				buf = s.look(p, o, &slots[i], buf)
			}
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read snapshots: %w", err)
	}
	return nil
}

// look finds the note of a file, or reads it. buf is lent, and another may come
// back.
func (s *Store) look(p *place, o *opened, f *slot, buf []byte) []byte {
	// The stamp is of a look before the file is read: what is put in its place
	// meanwhile has another one.
	f.at, f.item.err = o.folder(f.item.name).Stat(f.item.name)
	if f.item.err != nil {
		f.item.capture = unread(f.item.err)
		return buf
	}
	f.item.written = f.at.Size
	if text, ok := s.memory.Recall(p.file(f.item.name), f.at); ok {
		f.noted = text
		return buf
	}
	return s.read(o, f, buf)
}

// read reads a file.
func (s *Store) read(o *opened, f *slot, buf []byte) []byte {
	folder, i := o.folder(f.item.name), f.item
	data, err := folder.Read(i.name, buf)
	s.reads.Add(1)
	if err != nil {
		i.err, i.capture, f.list = err, unread(err), messages{}
		return data
	}
	i.capture, f.list = readCapture(data)
	if i.Problem == "" {
		return data
	}
	// A program may be writing it in place.
	if again, err := folder.Read(i.name, nil); err == nil && !bytes.Equal(again, data) {
		i.capture, f.list = readCapture(again)
		f.at = files.Stamp{}
	}
	return data
}

// settle gives the messages of a file into list, and notes it if it was read.
func (s *Store) settle(p *place, o *opened, f *slot, before, list *messages) {
	if f.noted != nil {
		if kept, ok := parseNote(f.noted, before, list); ok {
			f.item.capture = kept
			return
		}
		s.read(o, f, nil)
	}
	*list = messages{append(list.prints[:0], f.list.prints...), append(list.shapes[:0], f.list.shapes...)}
	f.list = messages{}
	if f.item.err != nil {
		return
	}
	if text := appendNote(&f.item.capture, before, list); text != nil {
		s.memory.Note(p.file(f.item.name), f.at, text)
	}
}

// timeOfLatest returns the time that snapshot_latest.json says of itself. In all
// that the SDKs write it comes before the data, so that these need not be
// skipped over.
func (s *Store) timeOfLatest(o *opened) time.Time {
	data, err := o.latest.Read(latestFile, nil)
	if err != nil {
		return time.Time{}
	}
	for m, err := range jsontape.Members(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if err != nil {
			break
		}
		if key := string(m.Key); key == `"created_at"` || key == `"createdAt"` {
			return timeOf(m.Value)
		}
	}
	return time.Time{}
}
