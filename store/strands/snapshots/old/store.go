package old

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/files"
	"hindcast/store/sdk"
	"hindcast/store/strands/runs"
)

const kind = "strands-snapshots"

// Kind describes the snapshots of Strands. What is made of their files is
// remembered on the cache; nil remembers it as long as a store is open.
func Kind(cache *files.Cache) store.Kind {
	return store.Kind{
		Name:      kind,
		Framework: "Strands",
		Recognise: recognise,
		Places:    usualPlaces,
		Open:      func(ctx context.Context, dir string) (store.Store, error) { return openWith(ctx, cache, dir) },
	}
}

// Store is an opened folder of sessions, or of one session. It is safe for
// concurrent use. Use Open.
type Store struct {
	dir  string
	root *os.Root
	// single is the session if dir is the folder of one.
	single *sessionDir
	// unified says that dir is itself a folder "session".
	unified bool
	// memory has what was made of the snapshot files.
	memory *files.Memory
	// reads counts the files that were read for a timeline.
	reads atomic.Int64
	// checks counts those that were read whole for their faults.
	checks atomic.Int64
	writer desk
	// running is the versions of the SDKs that are said to run.
	running sdk.Running
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Deriver   = (*Store)(nil)
	_ store.Watcher   = (*Store)(nil)
	_ store.Converter = (*Store)(nil)
	_ store.Versioned = (*Store)(nil)
)

// Open opens the folder around session/, a folder of sessions, or the folder of
// one session. An empty folder is a store without sessions. The errors are those
// of the file system: fs.ErrNotExist, fs.ErrPermission.
func Open(ctx context.Context, dir string) (*Store, error) { return openWith(ctx, nil, dir) }

func openWith(ctx context.Context, cache *files.Cache, dir string) (*Store, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", kind, dir, files.Cause(err))
	}
	one, err := single(dir, root)
	whole, absErr := filepath.Abs(dir)
	if err = cmp.Or(err, absErr); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: open %q: %w", kind, dir, err), root.Close())
	}
	s := &Store{dir: dir, root: root, single: one, unified: filepath.Base(whole) == namespace, memory: cache.Memory(noteKind, dir)}
	s.openWriter(ctx)
	return s, nil
}

// Kind returns "strands-snapshots".
func (s *Store) Kind() string { return kind }

// Address returns the folder that was opened.
func (s *Store) Address() string { return s.dir }

// Close lets go of the folder, and keeps what is remembered on the cache.
func (s *Store) Close() error {
	s.memory.Keep()
	if err := errors.Join(s.root.Close(), s.writer.Close()); err != nil {
		return fmt.Errorf("%s: close %q: %w", kind, s.dir, err)
	}
	return nil
}

// DerivedIDs implements store.Deriver.
func (s *Store) DerivedIDs() string {
	return "the UUID in the name of the file; of a node execution " + runs.DerivedIDs
}

// Sessions implements store.Store: the newest change comes first, as the
// snapshots themselves tell it. Of a session of more than 32 MiB the faults inside
// of its older snapshots are not counted; Faults tells them.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		places, err := s.newest(ctx)
		for _, p := range places {
			var info model.SessionInfo
			info, err = s.info(ctx, p.place, p.updated)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // it was deleted since it was listed
				continue
			}
			if err != nil || !yield(info, nil) {
				break
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, fmt.Errorf("%s: list sessions of %q: %w", kind, s.dir, files.Cause(err)))
		}
	}
}

// dated is a place with the time of its last change.
type dated struct {
	place
	updated time.Time
}

// newest returns all places, that with the newest change first.
func (s *Store) newest(ctx context.Context) ([]dated, error) {
	places, err := s.places()
	if err != nil {
		return nil, err
	}
	var list []dated
	for _, p := range places {
		at, err := s.lastChange(ctx, p)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		list = append(list, dated{p, at})
	}
	slices.SortFunc(list, func(a, b dated) int {
		return store.NewestFirst(model.SessionInfo{ID: a.id, UpdatedAt: a.updated}, model.SessionInfo{ID: b.id, UpdatedAt: b.updated})
	})
	return list, nil
}

// info reads the snapshots of a place for what the list of sessions shows. Of a
// place that is there and cannot be read that is its faults. The error is that
// of a context that has ended, or fs.ErrNotExist.
func (s *Store) info(ctx context.Context, p place, updated time.Time) (model.SessionInfo, error) {
	info := model.SessionInfo{ID: p.id, Kind: kind, UpdatedAt: updated}
	headers, err := s.timeline(ctx, p, &info)
	info.Count(headers)
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return info, err
	}
	info.Faults = s.countFaults(ctx, &p)
	return info, ctx.Err()
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		p, err := s.locate(session)
		var headers []model.Header
		if err == nil {
			headers, err = s.timeline(ctx, p, &model.SessionInfo{})
		}
		for i := range headers {
			if !yield(headers[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Header{}, fmt.Errorf("%s: list snapshots of session %q: %w", kind, session, err))
		}
	}
}

// timeline returns the headers of a place, and puts into info the title and the size
// that its files tell on the way.
func (s *Store) timeline(ctx context.Context, p place, info *model.SessionInfo) ([]model.Header, error) {
	if p.scope == scopeMultiAgent {
		records, err := s.records(ctx, &p)
		for i := range records {
			info.Size += int64(len(records[i].doc.Data))
			if info.Title == "" && records[i].run != nil {
				info.Title = records[i].run.Summary().Task
			}
		}
		return runHeaders(&p, records, s.entriesOf(ctx, &p)), err
	}
	h, err := s.history(ctx, p)
	if err != nil {
		return nil, err
	}
	for i := range h.items {
		info.Size += h.items[i].written
		info.Title = cmp.Or(info.Title, h.items[i].Opening)
	}
	return h.headers(), nil
}
