package chat

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/model/filechange"
	"hindcast/model/request"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/watch"
)

// Store is the opened storage of a coding agent. It is safe for concurrent use.
type Store struct {
	*engine.Store
	agent *Agent
	// dir is the folder in which the opened one is, or it itself, and only the one file that
	// was opened; "" for all.
	dir, only string
	// folder is the folder of the storage on the disk, or "".
	folder  string
	format  Format
	storage *engine.Storage
	files   *engine.Files
	// lifetime is how long the agent keeps a session that does not change; 0 for ever.
	lifetime time.Duration

	mu sync.Mutex
	// known are the spots of the sessions when they were listed last, and byID where each is.
	known []Spot
	byID  map[string]int
	made  sync.Map // by the ids of sessions that this store made
	texts texts
	// looked counts the sessions that were looked into for the list.
	looked atomic.Int64
	// searched has the buffers of Mentions, and scanned each a *scanRoom.
	searched, scanned sync.Pool
}

// Open opens the storage at a site, or around it. It finishes an interrupted write of Hindcast's own, and
// writes nothing else. It returns errors of the file system, or store.ErrUnrecognised if another program
// wrote the sessions.
func (a *Agent) Open(ctx context.Context, at engine.Site, cache *files.Cache) (s *Store, err error) {
	r, said, _, err := a.findRoot(ctx, at)
	switch {
	case err != nil:
	case r == nil:
		err = fs.ErrNotExist
	case !said.yes && said.foreign != "":
		err = fmt.Errorf("%w: %s", store.ErrUnrecognised, said.foreign)
	default:
		s, err = a.openRoot(*r, cache)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", a.Name, at.Name(), files.Cause(err))
	}
	s.connect(ctx, at.Name())
	if r.only == "" || a.Noun == "" {
		return s, nil
	}
	list, err := s.listSpots(ctx, s.storage.In())
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", store.ErrUnrecognised, cmp.Or(said.misses, "it does not begin as "+a.Noun))
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: open %q: %w", a.Name, at.Name(), files.Cause(err)), s.Close())
		return nil, err
	}
	return s, nil
}

// connect makes the store of the engine, and finishes what was broken off.
func (s *Store) connect(ctx context.Context, address string) {
	a := s.agent
	s.storage.Recover(ctx)
	s.files = &engine.Files{Storage: s.storage, Watching: s.watchFolder, Closing: s.closeDatabases, Unread: s.findUnread, Deep: true,
		Damage: model.Fault{Code: "unfinished-write", Severity: model.Loses, Verdict: "Hindcast writes nothing until that is put right"}}
	if marker, ok := s.format.(Marker); ok {
		s.files.Mark = func(ctx context.Context, at engine.Place) (string, error) { return marker.Mark(ctx, at.Own.(Spot)) }
	}
	format := engine.Format{
		Name: a.Name, Framework: a.Framework, IDs: a.IDs, Joins: true,
		List: s.listSessions, Read: s.readLog, State: s.readState, About: s.describeEntry, Resume: s.resumeCalls, Check: s.checkSessions,
		Faults: func(_ context.Context, _ engine.In, log *engine.Log) ([]model.Fault, error) {
			return s.sessionFaults(log), nil
		},
		Place: func(ctx context.Context, _ engine.In, session string) (engine.Place, error) {
			at, err := s.findSpot(ctx, session)
			return s.enginePlace(at), err
		},
		Lacks: func(op model.Op) string { return a.lacks(op, s.format) },
		Move:  s.planMove, Next: s.predictNext,
	}
	if _, ok := s.format.(Continuer); ok {
		format.Continue = s.continueSession
	}
	s.Store = engine.OnFiles(format, s.files, address)
}

func (a *Agent) openRoot(at root, cache *files.Cache) (*Store, error) {
	s := &Store{agent: a, dir: at.Name(), only: at.only}
	storage, err := engine.OpenStorage(s.dir, engine.StorageOptions{
		Place: s.placeOf, Ignore: isHidden, Private: true,
		Cache: cache, Notes: a.Name + " sessions 5", Now: time.Now, Up: at.up, On: at.On, Framework: a.Framework,
	})
	if err != nil {
		return nil, err
	}
	dir := storage.Folder()
	if on := storage.On(); on != nil {
		dir = on.Folder()
	}
	s.storage, s.folder, s.format = storage, dir, a.Format(dir)
	if a.Lifetime != nil && dir != "" {
		s.lifetime = a.Lifetime(dir)
	}
	return s, nil
}

// closeDatabases lets go of databases.
func (s *Store) closeDatabases() error {
	if d, ok := s.format.(based); ok {
		return d.closeFiles()
	}
	return nil
}

// Features returns the features of the engine, and those of transcripts.
func (s *Store) Features() store.Features {
	f := s.Store.Features()
	f.AnyOrder, f.Find, f.Tally, f.NamesForks, f.Across, f.Labels = s.AnyOrder, s.Find, s.Tally, s.NamesForks, s.FindAcross, s.Labels
	f.Weave, f.Apart, f.Sieve, f.Mentions, f.IsAdded = s.Weave, s.TakeApart, s.Sieve, s.Mentions, isAdded
	f.Gaps, f.Plan, f.Apply = s.Gaps, s.Plan, s.Apply
	if _, ok := s.format.(LineTeller); ok {
		f.Scanner = &store.Scanner{Scan: s.scanSession, Find: s.findPlace}
	}
	f.ModelRequest, f.SubAgents = s.ModelRequest, s.SubAgents
	if _, ok := s.format.(Copier); ok {
		f.FileCopies = s.FileCopies
	}
	_, f.EditsTexts = s.format.(Editor)
	return f
}

// placeOf returns the place of a session by its name in the storage.
func (s *Store) placeOf(file string) engine.Place {
	at := s.format.Spot(file)
	s.identifySpot(s.storage.In(), &at)
	return s.enginePlace(at)
}

// isThere returns model.ErrNoSession where a session without a message is not there. It may be
// without one as yet, also where it is a part of a file: then that still has to list it.
func (s *Store) isThere(ctx context.Context, in engine.In, at Spot) error {
	err := isThere(in, &at)
	if err != nil || at.Part == "" {
		return err
	}
	list, err := s.listSpots(ctx, s.storage.In())
	if err == nil && !slices.ContainsFunc(list, func(is Spot) bool { return is.Name() == at.Name() }) {
		err = model.ErrNoSession
	}
	return err
}

// isThere returns model.ErrNoSession where the file of a session is not there.
func isThere(in engine.In, at *Spot) error {
	look, err := at.latestStamp(in)
	if err == nil && look.Kind == files.Nothing {
		err = model.ErrNoSession
	}
	return err
}

// Find tells for store.Find, without reading it, whether a session is there.
func (s *Store) Find(ctx context.Context, session string) error {
	err := s.Read(ctx, func(engine.In) error {
		_, err := s.findSpot(ctx, session)
		return cmp.Or(err, ctx.Err())
	})
	return s.Wrap(err, "find session %q", session)
}

// findSession returns the session of an id.
func (s *Store) findSession(ctx context.Context, session string) (*Session, error) {
	log, err := s.Log(ctx, session)
	if err != nil {
		return nil, err
	}
	return log.Own.(*Session), nil
}

// findEntry returns the entry of a snapshot.
func (s *Store) findEntry(ctx context.Context, ref model.Ref) (*Session, int, error) {
	if err := ref.CheckNoVisit(); err != nil {
		return nil, 0, err
	}
	one, err := s.findSession(ctx, ref.Session)
	if err != nil {
		return nil, 0, err
	}
	if i := one.At(ref.ID); i >= 0 {
		return one, i, nil
	}
	return nil, 0, model.ErrNoSnapshot
}

// describeEntry describes an entry.
func (s *Store) describeEntry(ctx context.Context, in engine.In, row *engine.Row) (about engine.About, err error) {
	log, i, err := row.In()
	if err != nil {
		return about, err
	}
	one := log.Own.(*Session)
	e := &one.Entries[i]
	facts := slices.Clip(e.Facts)
	if teller, ok := s.format.(Teller); ok {
		more, err := teller.Tell(ctx, in, one, e)
		if err != nil {
			return about, err
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
	about.Facts = facts
	return about, nil
}

// ModelRequest is that of store.Features.
func (s *Store) ModelRequest(ctx context.Context, ref model.Ref) (r request.Request, err error) {
	one, i, err := s.findEntry(ctx, ref)
	if err == nil {
		if i = one.answerAt(i); i >= 0 {
			r, err = s.requestOf(ctx, one, &one.Entries[i])
		}
	}
	return r, s.Wrap(err, "read the request of %q of session %q", ref.ID, ref.Session)
}

// requestOf returns the request that an entry is the answer to.
func (s *Store) requestOf(ctx context.Context, one *Session, e *Entry) (r request.Request, err error) {
	in := s.storage.In()
	defer in.Hold(path.Dir(one.Spot.File))()
	if requester, ok := s.format.(Requester); ok {
		r, err = requester.Request(ctx, in, one, e)
	}
	if r.Answer = e.ID; err != nil || r.Usage.Counted {
		return r, err
	}
	messages, err := s.format.Messages(in, one, e)
	for _, m := range messages {
		if m.Usage.Counted || m.Usage.Model != "" && !r.Usage.Counted {
			r.Usage = m.Usage
		}
		r.Usage.Model = cmp.Or(r.Usage.Model, m.Model)
	}
	return r, err
}

// answerAt returns the entry of the answer that one is, or that is the next behind it; of several the one on the path to
// the head, else the first. It is -1 where none came.
func (s *Session) answerAt(i int) int {
	if s.Entries[i].Said.Role == Assistant {
		return i
	}
	onPath := make([]bool, len(s.Entries))
	if s.Head >= 0 {
		for _, k := range s.pathTo(s.Head) {
			onPath[k] = true
		}
	}
	first := -1
	behind := map[int]bool{i: true} // without an answer between
	for k := i + 1; k < len(s.Entries); k++ {
		switch {
		case !behind[s.parents[k]]:
		case s.Entries[k].Said.Role != Assistant:
			behind[k] = true
		case onPath[k]:
			return k
		case first < 0:
			first = k
		}
	}
	return first
}

// Gaps returns no gaps. It returns the errors of State.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	_, _, err := s.findEntry(ctx, ref)
	return model.Gaps{}, s.Wrap(err, "describe %q of session %q", ref.ID, ref.Session)
}

// resumeCalls returns the calls that go on from an entry.
func (s *Store) resumeCalls(_ context.Context, _ engine.In, row *engine.Row) ([]model.Resume, error) {
	log, i, err := row.In()
	caller, ok := s.format.(Caller)
	if err != nil || !ok {
		return nil, err
	}
	one := log.Own.(*Session)
	return s.storage.Calls(one.noteLost(caller.Calls(one, &one.Entries[i]))), nil
}

// FindAcross returns where the session of a sub-agent meets the one that started it, see
// store.Across.
func (s *Store) FindAcross(ctx context.Context, ref model.Ref) (model.Ref, error) {
	one, i, err := s.findEntry(ctx, ref)
	if err != nil {
		return model.Ref{}, s.Wrap(err, "describe %q of session %q", ref.ID, ref.Session)
	}
	if child := one.Entries[i].Child; child != "" {
		return model.Ref{Session: child}, nil
	}
	return s.findStarter(ctx, ref.Session)
}

// findStarter returns the snapshot that started a sub-agent, without its id if the session does not say. It
// returns the zero value if no session started the sub-agent.
func (s *Store) findStarter(ctx context.Context, session string) (model.Ref, error) {
	parent, _, child := strings.Cut(session, "/")
	if !child {
		return model.Ref{}, nil
	}
	one, err := s.findSession(ctx, parent)
	if errors.Is(err, model.ErrNoSession) {
		return model.Ref{}, nil
	}
	if err != nil {
		return model.Ref{}, s.Wrap(err, "find what started session %q", session)
	}
	at := slices.IndexFunc(one.Entries, func(e Entry) bool { return e.hasStarted(session) })
	if at < 0 {
		return model.Ref{Session: parent}, nil
	}
	return model.Ref{Session: parent, ID: one.Entries[at].ID}, nil
}

// SubAgents is that of store.Features.
func (s *Store) SubAgents(ctx context.Context, session string) (list []store.Started, err error) {
	one, err := s.findSession(ctx, session)
	if err != nil {
		return nil, s.Wrap(err, "find the sub-agents of session %q", session)
	}
	for i := range one.Entries {
		for _, child := range one.Entries[i].StartedSessions() {
			list = append(list, store.Started{ID: one.Entries[i].ID, Session: child})
		}
	}
	return list, nil
}

// FileCopies is that of store.Features.
func (s *Store) FileCopies(ctx context.Context, session string) iter.Seq2[filechange.Copies, error] {
	return func(yield func(filechange.Copies, error) bool) {
		one, err := s.findSession(ctx, session)
		more := true
		if err == nil {
			in := s.storage.In()
			err = s.format.(Copier).Copies(ctx, in, one, func(c filechange.Copies) bool {
				more = yield(c, nil)
				return more
			})
		}
		if err != nil && more {
			yield(filechange.Copies{}, s.Wrap(err, "read the copies of files of session %q", session))
		}
	}
}

// checkSessions returns the faults between sessions.
func (s *Store) checkSessions(ctx context.Context, in engine.In) ([]model.Fault, error) {
	list, err := s.findLinks(ctx, in)
	if checker, ok := s.format.(Checker); ok && err == nil {
		var more []model.Fault
		more, err = checker.Check(ctx, in)
		list = append(list, more...)
	}
	return list, err
}

// FaultLink: sessions are behind a link.
const FaultLink = "link"

// findLinks tells of the sessions and the folders at the top of the storage that are links.
func (s *Store) findLinks(ctx context.Context, in engine.In) (list []model.Fault, err error) {
	names, err := in.List(".")
	if err != nil {
		return nil, err
	}
	spots, _ := s.listSpots(ctx, in) // where there are none to be had, the format tells
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

// Checker is a [Format] that finds faults between the sessions of a storage.
type Checker interface {
	Check(ctx context.Context, in engine.In) ([]model.Fault, error)
}

// Teller is a [Format] that finds in other files what is to be known of an entry. It is asked
// for the one that is looked at.
type Teller interface {
	Tell(ctx context.Context, in engine.In, s *Session, e *Entry) (model.Facts, error)
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
	one, err := s.findSession(ctx, session)
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

// watchFolder watches a folder of this machine.
func (s *Store) watchFolder(ctx context.Context) (<-chan struct{}, error) {
	var changes <-chan struct{}
	if s.only != "" {
		changes = watch.File(ctx, filepath.Join(s.dir, s.only))
	} else {
		changes = watch.Tree(ctx, s.storage.Folder(), s.agent.Levels, func(name string) bool { return name == journal.Folder || isHidden(name) })
	}
	if d, ok := s.format.(based); ok {
		return d.watchFiles(ctx, changes)
	}
	return changes, nil
}

// NamesForks reports whether forks get ids of the agent's own form, see store.NamesForks.
func (s *Store) NamesForks() bool {
	_, ok := s.format.(Forker)
	return ok
}

// Plan implements [store.Features].Plan.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	if c.Op == model.OpFork && c.As != "" { // the name of a file may have more in it than the id
		if _, err := s.findSpot(ctx, c.As); !errors.Is(err, model.ErrNoSession) {
			return model.Plan{}, s.Wrap(cmp.Or(err, store.ErrSessionExists), "plan %s", c)
		}
	}
	return s.Store.Plan(ctx, c)
}

// Apply implements [store.Features].Apply. Where the agent locks a session to write to it, so does this,
// until the write is verified: the error is disk.ErrLocked while the agent has the lock.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	unlock, err := s.lockSession(ctx, plan)
	if err != nil {
		return model.Receipt{}, s.Wrap(err, "%s session %q: lock it against %s", plan.Op, plan.Session, s.agent.Framework)
	}
	defer unlock()
	receipt, err := s.Store.Apply(ctx, plan)
	if err == nil && plan.NewSession != "" {
		s.made.Store(plan.NewSession, true)
	}
	return receipt, err
}

func appendVarint(text []byte, n int) []byte { return binary.AppendVarint(text, int64(n)) }
