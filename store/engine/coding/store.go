package coding

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/watch"
)

// Store is the opened storage of a coding agent. It is safe for concurrent use.
type Store struct {
	agent   *Agent
	address string
	// dir is the folder in which the opened one is, or it itself, and only the one file that
	// was opened; "" for all.
	dir, only string
	// folder is the folder of the storage on the disk; "" for none.
	folder  string
	format  Format
	storage *folder.Storage
	port    folder.Port
	life    store.Lifetime

	mu sync.Mutex
	// known are the spots of the sessions when they were listed last, and byID where each is.
	known []Spot
	byID  map[string]int
	made  sync.Map // by the ids of sessions that this store made
	texts texts
	memo  memo
	// looked counts the sessions that were looked into for the list.
	looked atomic.Int64
	// searched has the buffers of Mentions.
	searched sync.Pool
}

var (
	_ store.Deriver = (*Store)(nil)
	_ store.Writer  = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Resumer = (*Store)(nil)
)

// errClosed: the store is closed.
var errClosed = fs.ErrClosed

// Open opens the storage that a path is, or is in. A write of Hindcast's own that was broken
// off is finished; nothing else is written. The errors are those of the file system, and
// store.ErrUnrecognised where the sessions are of another program.
func (a *Agent) Open(ctx context.Context, path string, cache *files.Cache) (*Store, error) {
	roots, err := a.roots(path)
	if err == nil && len(roots) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", a.Name, path, files.Cause(err))
	}
	at := roots[0]
	for _, r := range roots[1:] { // the first that has sessions
		if said, _ := a.isStorage(ctx, at); said.yes {
			break
		}
		at = r
	}
	if err := a.refusal(ctx, at); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", a.Name, path, err)
	}
	s, err := a.opened(ctx, at, path, cache)
	if err != nil || at.only == "" || a.Noun == "" {
		return s, err
	}
	list, err := s.spots(ctx, s.storage.In())
	if err == nil && len(list) == 0 {
		said, _ := a.isStorage(ctx, at)
		err = fmt.Errorf("%w: %s", store.ErrUnrecognised, cmp.Or(said.misses, "it does not begin as "+a.Noun))
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: open %q: %w", a.Name, path, files.Cause(err)), s.Close())
		return nil, err
	}
	return s, nil
}

// opened opens a storage at an address, and finishes what was broken off.
func (a *Agent) opened(ctx context.Context, at root, address string, cache *files.Cache) (*Store, error) {
	s, err := a.open(ctx, at, cache)
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", a.Name, address, files.Cause(err))
	}
	s.address = address
	s.storage.Recover(ctx)
	return s, nil
}

func (a *Agent) open(_ context.Context, at root, cache *files.Cache) (*Store, error) {
	s := &Store{agent: a, address: at.dir, dir: at.dir, only: at.only}
	storage, err := folder.Open(at.dir, folder.Options{
		Place: s.named, ID: func(at folder.Place) string { return at.Own.(Spot).ID }, Ignore: hidden, Private: true,
		Cache: cache, Notes: a.Name + " sessions 3", Now: time.Now, Up: at.up, On: at.on, Framework: a.Framework,
	})
	if err != nil {
		return nil, err
	}
	dir := storage.Folder()
	if storage.On() != nil {
		dir = ""
	}
	s.storage, s.folder, s.format = storage, dir, a.Format(dir)
	s.port = storage.Port(folder.Kind{Name: a.Name, Framework: a.Framework, Lacks: s.Lacks, State: s.State, Find: func(_ model.Op, id string) (folder.Place, error) {
		at, err := s.find(context.Background(), id)
		return s.engine().place(at), err
	}})
	return s, nil
}

// Kind returns the name of the kind.
func (s *Store) Kind() string { return s.agent.Name }

// Address returns the path that was opened.
func (s *Store) Address() string { return s.address }

// DerivedIDs implements store.Deriver.
func (s *Store) DerivedIDs() string { return s.agent.IDs }

// Requests is what store.Asked returns.
func (s *Store) Requests() (store.Requests, bool) { return s.storage.Requests() }

// Close lets go of the folder, and keeps what is remembered.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	err := s.storage.Close()
	if d, ok := s.format.(based); ok {
		err = errors.Join(err, d.close())
	}
	return s.wrap(err, "close %q", s.address)
}

// wrap puts in front of an error what failed.
func (s *Store) wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.agent.Name, fmt.Sprintf(what, args...), files.Cause(err))
}

// engine returns what the engine reads with.
func (s *Store) engine() engine { return engine{s.agent, s.format, s.folder, &s.memo} }

// named returns the place of a session by its name in the storage.
func (s *Store) named(file string) folder.Place {
	at := s.format.Spot(file)
	s.identify(s.storage.In(), &at)
	return s.engine().place(at)
}

// log returns a session as the engine has it.
func (s *Store) log(ctx context.Context, at Spot) (*folder.Log, error) {
	if s.life.Over() {
		return nil, errClosed
	}
	in := s.storage.In()
	look, _ := at.stamp(in) // of what is not there nothing is remembered
	log, err := s.storage.Log(ctx, s.engine().place(at))
	if err == nil && len(log.Rows) == 0 {
		err = s.isThere(ctx, at)
	}
	if err == nil {
		s.remember(in, look, log.Own.(*Session))
	}
	return log, err
}

// isThere returns model.ErrNoSession where a session without a message is not there. It may be
// without one as yet, also where it is a part of a file: then that still has to list it.
func (s *Store) isThere(ctx context.Context, at Spot) error {
	in := s.storage.In()
	err := isThere(in, &at)
	if err != nil || at.Part == "" {
		return err
	}
	list, err := s.spots(ctx, in)
	if err == nil && !slices.ContainsFunc(list, func(is Spot) bool { return is.Name() == at.Name() }) {
		err = model.ErrNoSession
	}
	return err
}

// isThere returns model.ErrNoSession where the file of a session is not there.
func isThere(in folder.In, at *Spot) error {
	look, err := at.stamp(in)
	if err == nil && look.Kind == files.Nothing {
		err = model.ErrNoSession
	}
	return err
}

// Find tells for store.Find, without reading it, whether a session is there.
func (s *Store) Find(ctx context.Context, session string) error {
	if s.life.Over() {
		return s.wrap(errClosed, "find session %q", session)
	}
	_, err := s.find(ctx, session)
	return s.wrap(cmp.Or(err, ctx.Err()), "find session %q", session)
}

// found returns the session of an id as the engine has it.
func (s *Store) found(ctx context.Context, session string) (*folder.Log, error) {
	at, err := s.find(ctx, session)
	if err != nil {
		return nil, err
	}
	return s.log(ctx, at)
}

// session returns the session of an id.
func (s *Store) session(ctx context.Context, session string) (*Session, error) {
	at, err := s.find(ctx, session)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, at)
}

// read returns the session at a spot. The error is model.ErrNoSession where there is none.
func (s *Store) read(ctx context.Context, at Spot) (*Session, error) {
	if s.life.Over() {
		return nil, errClosed
	}
	in := s.storage.In()
	look, _ := at.stamp(in)
	one, err := s.engine().session(ctx, in, at)
	if err == nil && len(one.Entries) == 0 {
		err = s.isThere(ctx, at)
	}
	if err == nil {
		s.remember(in, look, one)
	}
	return one, err
}

// entry returns the entry of a snapshot.
func (s *Store) entry(ctx context.Context, ref model.Ref) (*Session, int, error) {
	if err := ref.CheckNoVisit(); err != nil {
		return nil, 0, err
	}
	one, err := s.session(ctx, ref.Session)
	if err != nil {
		return nil, 0, err
	}
	if i := one.At(ref.ID); i >= 0 {
		return one, i, nil
	}
	return nil, 0, model.ErrNoSnapshot
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		log, err := s.found(ctx, session)
		if err != nil {
			yield(model.Header{}, s.wrap(err, "list snapshots of session %q", session))
			return
		}
		for i := range log.Rows {
			if err := ctx.Err(); err != nil {
				yield(model.Header{}, s.wrap(err, "list snapshots of session %q", session))
				return
			}
			log.Rows[i].SessionID = session
			if !yield(log.Rows[i], nil) {
				return
			}
		}
	}
}

// Facts implements store.Deriver.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	one, i, err := s.entry(ctx, ref)
	if err != nil {
		return nil, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
	}
	e := &one.Entries[i]
	facts := slices.Clip(e.Facts)
	if teller, ok := s.format.(Teller); ok {
		more, err := teller.Tell(ctx, s.storage.In(), one, e)
		if err != nil {
			return nil, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
		}
		facts = append(facts, more...)
	}
	if strings.HasSuffix(one.Spot.ID, again) {
		facts.Add("session", "another one in the store has the same id: the mark "+again+" tells them apart")
	}
	if e.Child != "" {
		facts.Add(subAgent, e.Child)
	}
	if m := e.Meta; m != nil {
		facts.Add("model", m.Model)
		facts.Add("folder", m.Dir)
		facts.Add("git branch", m.Branch)
		facts.Add("git commit", m.Commit)
		facts.Add("mode", m.Mode)
		facts.Add("version", m.Version)
	}
	facts.Add("file", cmp.Or(e.File, one.Spot.File))
	if len(e.Records) > 0 {
		facts.Add("place", fmt.Sprintf("byte %d", e.Records[0].At))
	}
	return facts, nil
}

// Across returns where the session of a sub-agent meets the one that started it, see
// store.Across.
func (s *Store) Across(ctx context.Context, ref model.Ref) (model.Ref, error) {
	one, i, err := s.entry(ctx, ref)
	if err != nil {
		return model.Ref{}, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
	}
	if child := one.Entries[i].Child; child != "" {
		return model.Ref{Session: child}, nil
	}
	return s.starter(ctx, ref.Session)
}

// starter returns the snapshot that started a sub-agent, without its id where the session
// does not say; the zero value of a session that is none's.
func (s *Store) starter(ctx context.Context, session string) (model.Ref, error) {
	parent, _, child := strings.Cut(session, "/")
	if !child {
		return model.Ref{}, nil
	}
	one, err := s.session(ctx, parent)
	if errors.Is(err, model.ErrNoSession) {
		return model.Ref{}, nil
	}
	if err != nil {
		return model.Ref{}, s.wrap(err, "find what started session %q", session)
	}
	at := slices.IndexFunc(one.Entries, func(e Entry) bool { return e.started(session) })
	if at < 0 {
		return model.Ref{Session: parent}, nil
	}
	return model.Ref{Session: parent, ID: one.Entries[at].ID}, nil
}

// Gaps implements store.Deriver: there are none.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	_, _, err := s.entry(ctx, ref)
	return model.Gaps{}, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
}

// Resume implements store.Resumer.
func (s *Store) Resume(ctx context.Context, ref model.Ref) ([]model.Resume, error) {
	one, i, err := s.entry(ctx, ref)
	if err != nil {
		return nil, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
	}
	caller, ok := s.format.(Caller)
	if !ok {
		return nil, nil
	}
	return s.port.Warned(ctx, ref, one.noteLost(caller.Calls(one, &one.Entries[i])))
}

// Faults implements store.Store.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session != "" {
		log, err := s.found(ctx, session)
		if err != nil {
			return nil, s.wrap(err, "check session %q", session)
		}
		list := s.faults(log)
		unread, err := s.engine().unread(ctx, s.storage.In(), log.Own.(*Session))
		if err != nil {
			return nil, s.wrap(err, "check session %q", session)
		}
		if unread != nil {
			list = append(list, *unread)
		}
		said, err := store.ConversationFaults(ctx, s, session)
		return append(list, said...), s.wrap(err, "check session %q", session)
	}
	var list store.FaultList
	if err := cmp.Or(s.storage.Broken(), s.storage.Check(ctx)); err != nil {
		if ctx.Err() != nil {
			return nil, s.wrap(ctx.Err(), "check %q", s.address)
		}
		list.Add(model.Fault{Code: "unfinished-write", Severity: model.Loses, File: folder.JournalFile, Meaning: err.Error(), Verdict: "Hindcast writes nothing until that is put right"})
	}
	links, err := s.links(ctx)
	if err != nil {
		return nil, s.wrap(err, "check %q", s.address)
	}
	for _, f := range links {
		list.Add(f)
	}
	if checker, ok := s.format.(Checker); ok {
		faults, err := checker.Check(ctx, s.storage.In())
		if err != nil {
			return nil, s.wrap(err, "check %q", s.address)
		}
		for _, f := range faults {
			list.Add(f)
		}
	}
	return list.All(), nil
}

// FaultLink: sessions are behind a link.
const FaultLink = "link"

// links tells of the sessions and the folders at the top of the storage that are links.
func (s *Store) links(ctx context.Context) (list []model.Fault, err error) {
	in := s.storage.In()
	names, err := in.List(".")
	if err != nil {
		return nil, err
	}
	spots, _ := s.spots(ctx, in) // where there are none to be had, the format tells
	for _, at := range spots {
		names = append(slices.Clip(names), at.File)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if at, err := in.Stamp(name); err == nil && at.Kind == files.Link {
			list = append(list, model.Fault{Code: FaultLink, Severity: model.Odd, File: name, Meaning: "it is a symbolic link, which Hindcast does not follow", Verdict: s.agent.Framework + " follows it: open what it leads to by its own path"})
		}
	}
	return list, ctx.Err()
}

// Checker is a [Format] that tells what is wrong between the sessions of a storage.
type Checker interface {
	Check(ctx context.Context, in folder.In) ([]model.Fault, error)
}

// Teller is a [Format] that finds in other files what is to be known of an entry. It is asked
// for the one that is looked at.
type Teller interface {
	Tell(ctx context.Context, in folder.In, s *Session, e *Entry) (model.Facts, error)
}

// Labeler is a [Format] whose agent lets a person label messages.
type Labeler interface {
	// Labels returns the labels of a session that was read, by the ids of its entries.
	Labels(s *Session) []model.Label
}

// Labels returns the labels that the agent's files have, see package labels: those whose names can
// stand for a snapshot. The error is model.ErrNoSession.
func (s *Store) Labels(ctx context.Context, session string) (list []model.Label, err error) {
	labeler, ok := s.format.(Labeler)
	if !ok {
		return nil, nil
	}
	one, err := s.session(ctx, session)
	if err != nil {
		return nil, err
	}
	for _, label := range labeler.Labels(one) {
		if label.Session = session; label.Check() == nil {
			list = append(list, label)
		}
	}
	return list, nil
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	ctx = s.life.Within(ctx)
	if on := s.storage.On(); on != nil {
		return on.Watch(ctx)
	}
	var changes <-chan struct{}
	if s.only != "" {
		changes = watch.File(ctx, filepath.Join(s.dir, s.only))
	} else {
		changes = watch.Tree(ctx, s.storage.Folder(), s.agent.Levels, func(name string) bool { return name == journal.Folder || hidden(name) })
	}
	if d, ok := s.format.(based); ok {
		return d.watch(ctx, changes)
	}
	return changes, nil
}

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	return cmp.Or(s.agent.lacks(op, s.format), s.storage.Lacks())
}

// NamesForks reports whether forks get ids of the agent's own form, see store.NamesForks.
func (s *Store) NamesForks() bool {
	_, ok := s.format.(Forker)
	return ok
}

// Plan implements store.Writer.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	if c.Op == model.OpFork && c.As != "" { // the name of a file may have more in it than the id
		if _, err := s.find(ctx, c.As); !errors.Is(err, model.ErrNoSession) {
			return model.Plan{}, s.wrap(cmp.Or(err, store.ErrSessionExists), "plan %s", c)
		}
	}
	return s.port.Plan(ctx, c)
}

// Apply implements store.Writer. Where the agent locks a session to write to it, so does this,
// until the write is verified: the error is disk.ErrLocked while the agent has the lock.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	unlock, err := s.lock(ctx, plan)
	if err != nil {
		return model.Receipt{}, s.wrap(err, "%s session %q: lock it against %s", plan.Op, plan.Session, s.agent.Framework)
	}
	defer unlock()
	receipt, err := s.port.Apply(ctx, plan)
	if err == nil && plan.NewSession != "" {
		s.made.Store(plan.NewSession, true)
	}
	return receipt, err
}

// Journal implements store.Writer.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	return s.port.Journal(ctx)
}

// LabelFile returns where the labels of a session are, see package labels.
func (s *Store) LabelFile(ctx context.Context, session string) (dir, file, name string) {
	return s.port.LabelFile(ctx, session)
}

func appendVarint(text []byte, n int) []byte { return binary.AppendVarint(text, int64(n)) }
