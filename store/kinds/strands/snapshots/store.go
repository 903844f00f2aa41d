package snapshots

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
)

const kind = "strands-snapshots"

// kindTypeScript names what Strands for TypeScript does with a conversation, see conversation.Judge.
const kindTypeScript = "strands-typescript"

// Kind describes the snapshots of Strands. What is made of their files is
// remembered on the cache; nil remembers it as long as a store is open.
func Kind(cache *files.Cache) engine.Kind {
	return engine.Kind{
		Kind: store.Kind{Name: kind, Framework: "Strands", Places: usualPlaces},
		Sign: engine.InFolder(sign), Copied: true,
		OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) { return openSite(ctx, cache, at) },
	}.Derive()
}

// Store is an opened folder of sessions, or of one session: a store of the engine, whose format its methods
// are. It is safe for concurrent use. Use Open.
type Store struct {
	*engine.Store
	files *engine.Files
	// single is the session if the folder of one was opened.
	single *sessionDir
	// unified says that the opened folder is itself a folder "session".
	unified bool
	// checks counts the files that were read whole for their faults.
	checks atomic.Int64
	// random is replaced in tests.
	random func([]byte)
	// running is the versions of the SDKs that are said to run.
	running sdk.Running
}

// Open opens the folder around session/, a folder of sessions, or the folder of one session. An
// empty folder is a store without sessions. It returns the errors of the file system:
// fs.ErrNotExist, fs.ErrPermission.
func Open(ctx context.Context, dir string) (*Store, error) {
	return openSite(ctx, nil, engine.SiteOf(dir))
}

// openSite opens what is at a site. The journal lies in the storage that the folder is in or is: so it is the same one
// whether the storage, its session/ or the folder of one session is opened.
func openSite(ctx context.Context, cache *files.Cache, at engine.Site) (*Store, error) {
	dir, whole := at.Name(), at.Whole()
	t, done, err := at.Tree()
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", kind, dir, files.Cause(err))
	}
	defer done()
	o := engine.StorageOptions{Cache: cache, On: at.On}
	s := &Store{random: func(b []byte) { _, _ = rand.Read(b) }} // it never fails
	o.Place, o.Ignore, o.Notes, o.Now = s.placeNamed, isTemporary, noteKind, time.Now
	if s.single, s.unified = singleSession(whole, t), path.Base(whole) == namespace; s.single != nil {
		o.Up++
	}
	if s.unified || s.single != nil && s.single.unified {
		o.Up++
	}
	s.files = &engine.Files{Damage: journalFault(""), Deep: true, Mark: s.storageMark, Watching: s.watchFolder}
	if s.files.Storage, err = engine.OpenStorage(dir, o); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", kind, dir, files.Cause(err))
	}
	s.files.Storage.Recover(ctx)
	s.Store = engine.OnFiles(s.engineFormat(), s.files, dir)
	return s, nil
}

// Features returns the optional features of the store.
func (s *Store) Features() store.Features {
	f := s.Store.Features()
	f.SDKs, f.Assume, f.Assumed, f.Resume = opens.Names, s.Assume, s.running.ListAssumed, nil
	return f
}

// engineFormat returns the functions by which the engine reads and writes the folder.
func (s *Store) engineFormat() engine.Format {
	return engine.Format{
		Name: kind, Framework: "Strands", IDs: "the UUID in the name of the file; of a node execution " + runs.DerivedIDs,
		List: s.listSessions, Place: s.findPlace, Read: s.readLog, State: s.readState, About: s.describeRow, Faults: s.findFaults, Check: s.findUnlisted, Warns: true,
		Lacks: lacks, Move: s.planMove, Next: s.predictNext,
	}
}

// storageMark tells what a session follows from besides its files: the versions that are said to run, and the journal.
func (s *Store) storageMark(context.Context, engine.Place) (string, error) {
	at, err := s.files.Storage.In().Stamp(engine.JournalFile)
	return fmt.Sprint(s.running.ListAssumed(), at), err
}

// listSessions returns the sessions, the newest change first, as the snapshots themselves tell it. Of a session of
// more than 32 MiB the faults inside of its older snapshots are not counted; faults tells them.
func (s *Store) listSessions(ctx context.Context, in engine.In) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		places, err := s.newestPlaces(ctx, in)
		for _, p := range places {
			var info model.SessionInfo
			info, err = s.readInfo(ctx, in, p.place, p.updated)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // it was deleted since it was listed
				continue
			}
			if err != nil || !yield(info, nil) {
				break
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, err)
		}
	}
}

// dated is a place with the time of its last change.
type dated struct {
	place
	updated time.Time
}

// newestPlaces returns all places, that with the newest change first.
func (s *Store) newestPlaces(ctx context.Context, in engine.In) ([]dated, error) {
	places, err := s.listPlaces(in)
	if err != nil {
		return nil, err
	}
	var list []dated
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, dated{p, p.lastChange(in)})
	}
	slices.SortFunc(list, func(a, b dated) int {
		return store.NewestFirst(model.SessionInfo{ID: a.id, UpdatedAt: a.updated}, model.SessionInfo{ID: b.id, UpdatedAt: b.updated})
	})
	return list, nil
}

// readInfo reads the entry of a place in the list of sessions. For an unreadable place, the entry only
// counts its faults. The error is the error of an ended context, or fs.ErrNotExist.
func (s *Store) readInfo(ctx context.Context, in engine.In, p place, updated time.Time) (model.SessionInfo, error) {
	info := model.SessionInfo{ID: p.id, Kind: kind, UpdatedAt: updated}
	log, err := s.readLog(ctx, in, p.enginePlace(), "")
	if err == nil {
		log, err = in.Writes.Complete(ctx, in, log, s.readLog)
	}
	if err == nil {
		err = sessionIn(log).fillInfo(&info)
		info.Count(log.Rows)
	}
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return info, cmp.Or(ctx.Err(), err)
	}
	info.Faults = s.countFaults(ctx, in, &p, log)
	return info, ctx.Err()
}

// session is the decoded content of a place: the snapshots of an agent, or of an orchestrator.
type session interface {
	// fillInfo puts the title and the size into info. The error is fs.ErrNotExist where the
	// folder is gone.
	fillInfo(info *model.SessionInfo) error
	// describeRow describes the row of an id besides its state.
	describeRow(id string) (engine.About, error)
}

// sessionIn returns the session that a log was read from.
func sessionIn(log *engine.Log) session {
	if rs, ok := log.Own.(*runs.Records); ok {
		return rs.Own.(*records)
	}
	return log.Own.(*history)
}

// readLog returns the log of the session at a place.
func (s *Store) readLog(ctx context.Context, in engine.In, at engine.Place, _ string) (*engine.Log, error) {
	p := at.Own.(place)
	if p.scope == scopeMultiAgent {
		log, err := runs.Format{Files: orchestrators{s}}.Read(ctx, in, at)
		if err == nil {
			log.Empty = sessionIn(log).(*records).gone == nil
		}
		return log, err
	}
	h, err := p.readHistory(ctx, in)
	if err != nil {
		return nil, err
	}
	return h.buildLog(at), nil
}

func (h *history) fillInfo(info *model.SessionInfo) error {
	for i := range h.items {
		info.Size += h.items[i].written
		info.Title = cmp.Or(info.Title, h.items[i].Opening)
	}
	return h.gone
}
