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
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

const kind = "strands-snapshots"

// kindTypeScript names what Strands for TypeScript does with a conversation, see conversation.Judge.
const kindTypeScript = "strands-typescript"

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
	dir string
	// tree holds the files, and disk is the same tree if it is on a disk.
	tree tree.Tree
	disk *tree.Disk
	// single is the session if dir is the folder of one.
	single *sessionDir
	// unified says that dir is itself a folder "session".
	unified bool
	// storage is the storage that the folder is in or is. The journal lies in it: so it is
	// the same one whether the storage, its session/ or the folder of one session was opened.
	storage *folder.Storage
	folder.Port
	// checks counts the files that were read whole for their faults.
	checks atomic.Int64
	walks  walks
	// random is replaced in tests.
	random func([]byte)
	// running is the versions of the SDKs that are said to run.
	running sdk.Running
	life    store.Lifetime
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Deriver   = (*Store)(nil)
	_ store.Watcher   = (*Store)(nil)
	_ store.Versioned = (*Store)(nil)
)

// Open opens the folder around session/, a folder of sessions, or the folder of one session. An
// empty folder is a store without sessions. It returns the errors of the file system:
// fs.ErrNotExist, fs.ErrPermission.
func Open(ctx context.Context, dir string) (*Store, error) { return openWith(ctx, nil, dir) }

func openWith(ctx context.Context, cache *files.Cache, dir string) (*Store, error) {
	t, err := tree.OpenDisk(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", kind, dir, files.Cause(err))
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: open %q: %w", kind, dir, err), t.Close())
	}
	s, err := openTree(ctx, t, dir, filepath.ToSlash(whole), folder.Options{Cache: cache})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	s.disk = t
	return s, nil
}

// Elsewhere describes snapshots that lie where no disk is: what the SDKs keep there, and what
// was copied there.
func Elsewhere(cache *files.Cache) tree.Opener {
	return tree.Opener{
		Kind: kind,
		Recognise: func(ctx context.Context, on tree.Source) (string, bool, error) {
			return recogniseTree(ctx, on.Tree())
		},
		Open: func(ctx context.Context, on tree.Source) (store.Store, error) {
			return openTree(ctx, on.Tree(), on.Name(), on.Name(), folder.Options{Cache: cache, On: on})
		},
	}
}

// openTree opens what is in a tree. whole is the whole name of its root, with slashes.
func openTree(ctx context.Context, t tree.Tree, dir, whole string, o folder.Options) (_ *Store, err error) {
	s := &Store{dir: dir, tree: t, random: func(b []byte) { _, _ = rand.Read(b) }} // it never fails
	o.Place, o.ID, o.Ignore, o.Notes, o.Now = s.placeNamed, portID, isTemporary, noteKind, time.Now
	if s.single, s.unified = single(whole, t), path.Base(whole) == namespace; s.single != nil {
		o.Up++
	}
	if s.unified || s.single != nil && s.single.unified {
		o.Up++
	}
	if s.storage, err = folder.Open(dir, o); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", kind, dir, files.Cause(err))
	}
	s.Port = s.storage.Port(folder.Kind{Name: kind, Lacks: s.Lacks, Find: s.find})
	s.storage.Recover(ctx)
	return s, nil
}

// Kind returns "strands-snapshots".
func (s *Store) Kind() string { return kind }

// Address returns the folder that was opened.
func (s *Store) Address() string { return s.dir }

// Close lets go of the folder, and keeps what is remembered on the cache.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	err := s.storage.Close()
	if s.disk != nil {
		err = errors.Join(s.disk.Close(), err)
	}
	if err != nil {
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
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, dated{p, p.lastChange(s.storage.In())})
	}
	slices.SortFunc(list, func(a, b dated) int {
		return store.NewestFirst(model.SessionInfo{ID: a.id, UpdatedAt: a.updated}, model.SessionInfo{ID: b.id, UpdatedAt: b.updated})
	})
	return list, nil
}

// info reads the entry of a place in the list of sessions. For an unreadable place, the entry only
// counts its faults. The error is the error of an ended context, or fs.ErrNotExist.
func (s *Store) info(ctx context.Context, p place, updated time.Time) (model.SessionInfo, error) {
	info := model.SessionInfo{ID: p.id, Kind: kind, UpdatedAt: updated}
	log, err := s.storage.Log(ctx, s.in(p))
	if err == nil {
		err = sessionIn(log).sum(&info)
		info.Count(log.Rows)
	}
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return info, cmp.Or(ctx.Err(), err)
	}
	info.Faults = s.countFaults(ctx, &p)
	return info, ctx.Err()
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		log, err := s.log(ctx, session)
		if err != nil {
			yield(model.Header{}, fmt.Errorf("%s: list snapshots of session %q: %w", kind, session, err))
			return
		}
		for i := range log.Rows {
			if !yield(log.Rows[i], nil) {
				return
			}
		}
	}
}

// session is the decoded content of a place: the snapshots of an agent, or of an orchestrator.
type session interface {
	// sum puts the title and the size into info. The error is fs.ErrNotExist where the
	// folder is gone.
	sum(info *model.SessionInfo) error
	// facts returns the files' facts about the row of an id besides its state.
	facts(id string) (model.Facts, error)
}

// sessionIn returns the session that a log was read from.
func sessionIn(log *folder.Log) session {
	if rs, ok := log.Own.(*runs.Records); ok {
		return rs.Own.(*records)
	}
	return log.Own.(*history)
}

// log reads the session that the port calls id.
func (s *Store) log(ctx context.Context, id string) (*folder.Log, error) {
	p, err := s.locate(id)
	if err != nil {
		return nil, err
	}
	log, err := s.storage.Log(ctx, s.in(p))
	if err != nil {
		return nil, err
	}
	return log, nil
}

// agents reads and changes the snapshots of agents.
type agents struct{ s *Store }

// Name implements folder.Format.
func (agents) Name() string { return "Strands" }

// Read implements folder.Format.
func (f agents) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	h, err := at.Own.(place).read(ctx, in, &f.s.walks)
	if err != nil {
		return nil, err
	}
	return h.log(at), nil
}

func (h *history) sum(info *model.SessionInfo) error {
	for i := range h.items {
		info.Size += h.items[i].written
		info.Title = cmp.Or(info.Title, h.items[i].Opening)
	}
	return h.gone
}
