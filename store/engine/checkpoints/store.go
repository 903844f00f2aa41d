package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/media/files"
	"hindcast/store/media/watch"
)

// Codes of the faults that are found here.
const (
	// FaultFile: a file cannot be read.
	FaultFile = "unreadable-checkpoint"
	// FaultJournal: a write of Hindcast's own was broken off.
	FaultJournal = "journal"
)

// Store is an opened folder. It is safe for concurrent use.
type Store struct {
	kind    Kind
	dir     string // as it was opened
	whole   string
	storage *folder.Storage
	folder.Port
	life store.Lifetime
}

var (
	_ store.Deriver = (*Store)(nil)
	_ store.Resumer = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Writer  = (*Store)(nil)
)

// Kind returns the kind for the list of kinds. What files say is remembered in the cache;
// nil remembers it as long as a store is open.
func (k Kind) Kind(cache *files.Cache) store.Kind {
	return store.Kind{
		Name:      k.Name,
		Framework: k.Framework,
		Recognise: k.Recognise,
		Places:    k.Places,
		Open:      func(ctx context.Context, dir string) (store.Store, error) { return k.Open(ctx, cache, dir) },
	}
}

// Elsewhere describes checkpoints that were copied to where no disk is.
func (k Kind) Elsewhere(cache *files.Cache) folder.Opener {
	return folder.Opener{
		Kind: k.Name,
		Recognise: func(ctx context.Context, on folder.Source) (string, bool, error) {
			why, ok := k.recognise(on.Tree())
			return why, ok, ctx.Err()
		},
		Open: func(ctx context.Context, on folder.Source) (store.Store, error) {
			return k.open(ctx, on.Name(), "", folder.Options{Cache: cache, On: on, Private: true})
		},
	}
}

// Open opens a folder. A write of Hindcast's own that was broken off is finished; nothing
// else is written.
func (k Kind) Open(ctx context.Context, cache *files.Cache, dir string) (*Store, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", k.Name, dir, err)
	}
	return k.open(ctx, dir, whole, folder.Options{Cache: cache, Private: true})
}

// open opens a folder, which programs on this machine may name whole; "" where they cannot.
func (k Kind) open(ctx context.Context, dir, whole string, o folder.Options) (*Store, error) {
	s := &Store{kind: k, dir: dir, whole: whole}
	o.Place, o.Ignore, o.Notes, o.Now, o.Framework = s.place, k.Temporary, k.Notes, time.Now, k.Framework
	var err error
	if s.storage, err = folder.Open(dir, o); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", k.Name, dir, files.Cause(err))
	}
	s.Port = s.storage.Port(folder.Kind{Name: k.Name, Framework: k.Framework, Lacks: s.Lacks, Find: s.find, State: s.State})
	s.storage.Recover(ctx)
	return s, nil
}

// Kind returns the kind's name.
func (s *Store) Kind() string { return s.kind.Name }

// Address returns the folder that was opened.
func (s *Store) Address() string { return s.dir }

// DerivedIDs implements store.Deriver.
func (s *Store) DerivedIDs() string { return s.kind.IDs }

// Close lets go of the folder, and keeps what is remembered.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	return s.wrap(s.storage.Close(), "close %q", s.dir)
}

// wrap puts in front of an error what failed.
func (s *Store) wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.kind.Name, fmt.Sprintf(what, args...), files.Cause(err))
}

// logs returns the logs of all sessions, and the files that cannot be read.
func (s *Store) logs(ctx context.Context) (logs []*folder.Log, bad []flawed, err error) {
	defer s.storage.Memo.Notes.Keep()
	in, writes := s.storage.In(), s.storage.Writes(ctx)
	all, err := s.kind.read(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	for session, items := range all.sessions {
		at := s.place(session)
		in.Told = writes.Told(session)
		log, err := writes.Tell(ctx, in, reader{&s.kind, s.whole}.log(in, at, items))
		if err != nil {
			return nil, nil, err
		}
		if len(log.Rows) > 0 {
			logs = append(logs, log)
		}
	}
	return logs, all.flawed, nil
}

// Sessions implements store.Store.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		logs, _, err := s.logs(ctx)
		if err != nil {
			yield(model.SessionInfo{}, s.wrap(err, "list sessions of %q", s.dir))
			return
		}
		infos := make([]model.SessionInfo, 0, len(logs))
		for _, log := range logs {
			infos = append(infos, s.info(log))
		}
		slices.SortFunc(infos, store.NewestFirst)
		for i := range infos {
			if !yield(infos[i], nil) {
				return
			}
		}
	}
}

// info returns what the list of sessions shows of one.
func (s *Store) info(log *folder.Log) model.SessionInfo {
	info := model.SessionInfo{ID: log.Place.Session, Kind: s.kind.Name}
	info.Count(log.Rows)
	items, _ := log.Own.([]Item)
	for i := range items {
		info.Title, info.Size = cmp.Or(info.Title, items[i].Opening), info.Size+items[i].Size
		if items[i].CreatedAt.After(info.UpdatedAt) {
			info.UpdatedAt = items[i].CreatedAt
		}
	}
	if info.UpdatedAt.IsZero() && len(log.Written) > 0 {
		info.UpdatedAt = log.Written[0].At
	}
	info.Faults = len(model.Harmful(s.faults(log)))
	return info
}

// log returns the log of a session. The error is model.ErrNoSession where there is none.
func (s *Store) log(ctx context.Context, session string) (*folder.Log, error) {
	log, err := s.storage.Log(ctx, s.place(session))
	if err == nil && len(log.Rows) == 0 {
		err = model.ErrNoSession
	}
	return log, err
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		log, err := s.log(ctx, session)
		if err != nil {
			yield(model.Header{}, s.wrap(err, "list snapshots of session %q", session))
			return
		}
		for i := range log.Rows {
			if !yield(log.Rows[i], nil) {
				return
			}
		}
	}
}

// at returns an item, the bytes of its file, and the log that it is in.
func (s *Store) at(ctx context.Context, ref model.Ref) (log *folder.Log, i int, data []byte, err error) {
	if err := ref.Once(); err != nil {
		return nil, 0, nil, err
	}
	if log, err = s.log(ctx, ref.Session); err != nil {
		return nil, 0, nil, err
	}
	if i = log.At(ref.ID); i < 0 {
		return nil, 0, nil, model.ErrNoSnapshot
	}
	if aside := log.Aside[ref.ID]; aside != nil {
		data, err = s.storage.Kept(aside.Version)
	} else {
		data, _, err = s.storage.In().Read(log.Files[i], nil)
	}
	return log, i, data, err
}

// State implements store.Store.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	log, i, data, err := s.at(ctx, ref)
	var state []byte
	if err == nil {
		state, err = s.kind.Format.State(data, &itemsOf(log)[i])
	}
	return state, s.wrap(err, "read state %q of session %q", ref.ID, ref.Session)
}

// Facts implements store.Deriver.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	log, i, data, err := s.at(ctx, ref)
	if err != nil {
		return nil, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
	}
	writes := s.storage.Writes(ctx)
	facts := writes.Told(log.Place.Session).Facts(log.Files[i])
	facts = append(facts, s.kind.Format.Facts(data, &itemsOf(log)[i])...)
	facts.Add("file", log.Files[i])
	return facts, nil
}

// Gaps implements store.Deriver: each state is whole.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	_, _, _, err := s.at(ctx, ref)
	return model.Gaps{}, s.wrap(err, "read %q of session %q", ref.ID, ref.Session)
}

// Resume implements store.Resumer.
func (s *Store) Resume(ctx context.Context, ref model.Ref) ([]model.Resume, error) {
	log, i, _, err := s.at(ctx, ref)
	if err != nil {
		return nil, s.wrap(err, "read %q of session %q", ref.ID, ref.Session)
	}
	if log.Aside[ref.ID] != nil {
		return nil, nil
	}
	return s.Warned(ctx, ref, s.kind.Format.Resume(s.whole, &itemsOf(log)[i]))
}

// Faults implements store.Store. Those of the store itself are the files that cannot be read.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	var list store.FaultList
	if session == "" {
		_, bad, err := s.logs(ctx)
		for _, f := range bad {
			list.Add(model.Fault{Code: FaultFile, Severity: s.kind.Severity, File: f.file, Meaning: f.why, Verdict: s.kind.Unlisted})
		}
		if broken := s.storage.Broken(); broken != nil {
			list.Add(model.Fault{Code: FaultJournal, Severity: model.Odd, File: folder.JournalFile, Meaning: broken.Error(), Verdict: "nothing: it does not know of the journal"})
		}
		return list.All(), s.wrap(err, "check %q", s.dir)
	}
	log, err := s.log(ctx, session)
	if err != nil {
		return nil, s.wrap(err, "check session %q", session)
	}
	said, err := store.ConversationFaults(ctx, s, session)
	var lost []model.Fault
	if err == nil {
		lost, err = s.storage.Unread(ctx, s, session, log)
	}
	return slices.Concat(s.faults(log), said, lost), s.wrap(err, "check session %q", session)
}

// faults returns those of a session. What Hindcast set aside no framework meets. Several
// roots are several runs.
func (s *Store) faults(log *folder.Log) []model.Fault {
	items, _ := log.Own.([]Item)
	if len(items) == 0 {
		return nil
	}
	items = slices.Clone(items)
	list := slices.DeleteFunc(model.NewTimeline(log.Rows).Faults(), func(f model.Fault) bool { return f.Code == model.FaultSeveralRoots })
	return append(list, s.kind.Format.Faults(items, s.kind.Format.Arrange(items))...)
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	ctx = s.life.Within(ctx)
	if on := s.storage.On(); on != nil {
		return on.Watch(ctx)
	}
	var levels []watch.Level
	if s.kind.Depth > 0 {
		levels = []watch.Level{{Depth: s.kind.Depth}}
	}
	return watch.Tree(ctx, s.dir, levels, s.kind.isForeign), nil
}

// Recognise looks at the first files of a folder that can be of the kind.
func (k Kind) Recognise(ctx context.Context, dir string) (why string, ok bool, err error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", false, err
	}
	disk, err := folder.OpenDisk(dir)
	if err != nil {
		return "", false, err
	}
	why, ok = k.recognise(disk)
	return why, ok, errors.Join(ctx.Err(), disk.Close())
}

func (k Kind) recognise(tree folder.Tree) (why string, ok bool) {
	looked := 0
	for _, at := range k.folders(tree, min(k.Depth, 1), fewFolders) {
		names, err := tree.List(at)
		if err != nil {
			continue
		}
		slices.Sort(names)
		for _, name := range names {
			full := folder.Join(at, name)
			if looked == mostLooked || !k.Format.Is(full) || strings.HasPrefix(name, ".") {
				continue
			}
			looked++
			if head, err := folder.Head(tree, full, headSize); err == nil && k.Format.Signs(full, head) {
				return k.Signed, true
			}
		}
	}
	return "", false
}

// mostLooked bounds the files that are read to recognise a folder, and headSize is how much of
// each, in bytes.
const (
	mostLooked = 8
	headSize   = 64 << 10
)
