// Package messages reads the message logs that the Strands Agents SDK for Python
// writes, and puts them back: FileSessionManager, and any other RepositorySessionManager over the
// same files. It is the third seed of the design.
//
//	STORE/session_<id>/session.json
//	                   agents/agent_<id>/agent.json
//	                                     messages/message_<n>.json
//
// A message log has no snapshots; they are derived, one for each message file,
// in the order in which the SDK sorts them. A snapshot's state is what the SDK
// would hold if the log ended with that message:
//
//	{"messages": […], "state": {…}, "conversation_manager_state": {…},
//	 "interrupt_state": {…}, "model_state": {…}}
//
// "messages" is what RepositorySessionManager.initialize puts together: the
// effective messages (the redacted one where there is one) behind those that the
// conversation manager took out, below its summary, with tool calls and results
// mended as the comment on window says. A message is there byte for byte as it
// was written, without the white space between its values. Where the SDK would
// not start, it is what would be there if it passed over what stops it; a file
// that holds no message is named in its place.
//
// Only the messages have a history. What agent.json says (how many messages
// were taken out, the summary, the agent's state, a pending interrupt) is known
// as of now and no earlier. So:
//
//   - the other four keys are in the state of the newest snapshot only;
//   - the newest snapshot, and those whose message is still in the context, are
//     seen through today's window, which is what a session that is put back to
//     them starts with;
//   - before that, nothing was taken out that is known of, and the state is the
//     whole log up to there.
//
// The id of a snapshot is the SHA-256 of its message and where that is, see
// timeline.go. So the newest snapshots are known from the last files alone; see
// [Store.Tail]. What was made of a file is remembered until the file changes, see
// note.go.
//
// What the SDK repairs in memory, what it stumbles over and what it would
// overwrite is told as faults; see [Store.Faults]. Their verdicts were seen by
// starting the SDK on such sessions (testdata/interop/strands_initialize.py).
//
// Beside its agents, a session may have orchestrators, Graphs and Swarms:
//
//	STORE/session_<id>/multi_agents/multi_agent_<id>/multi_agent.json
//
// Each is a session of its own, a timeline of the nodes that ran; what is in the
// file is read by package runs.
//
// Names of sessions and agents are what stands in the names of their folders,
// whatever characters that is. Files are only ever reached through an [os.Root].
// What changes them is a plan that was shown, through the journal beside the
// sessions: restore.go has how a log is put back, aside.go what becomes of the
// messages that are taken out of it, fork.go and edit.go how others are made of it.
package messages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

const kind = "strands"

// Kind describes the message logs of Strands. What was made of message files is
// remembered on the cache; nil remembers it as long as a store is open.
func Kind(cache *files.Cache) store.Kind {
	return store.Kind{
		Name:      kind,
		Framework: "Strands",
		Recognise: recognise,
		Open:      func(ctx context.Context, dir string) (store.Store, error) { return openWith(ctx, cache, dir) },
		Places:    places,
	}
}

// places are where the SDK puts sessions by default (for the user since 1.48, in
// the temporary folder before), and the names that its documentation uses.
func places(around store.Surroundings) (list []string) {
	for _, p := range []struct {
		folder string
		below  []string
	}{
		{around.Home, []string{".strands", "sessions"}},
		{around.Temp, []string{"strands", "sessions"}},
		{around.Work, []string{"sessions"}},
		{around.Work, []string{".strands", "sessions"}},
	} {
		if p.folder != "" {
			list = append(list, filepath.Join(append([]string{p.folder}, p.below...)...))
		}
	}
	return list
}

// mostLooked bounds the names that recognise looks at: a folder with more and
// no session among them is taken for something else.
const mostLooked = 20_000

// recognise looks for session_*/session.json, or for session.json beside
// agents or orchestrators.
func recognise(ctx context.Context, dir string) (string, bool, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", false, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	t, err := tree.OpenDisk(dir)
	if err != nil {
		return "", false, err
	}
	defer t.Close()
	if why, ok := isSingle(t, baseOf(dir)); ok {
		return why, true, nil
	}
	f, err := root.Open(".")
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	missing, lost := "", ""
	for looked := 0; looked < mostLooked; {
		names, err := f.Readdirnames(256) // entries in an os.Root are each looked at
		for _, name := range names {
			if !strings.HasPrefix(name, sessionPrefix) {
				continue
			}
			if info, err := root.Lstat(filepath.Join(name, "session.json")); err == nil && !info.IsDir() {
				return sessionPrefix + "…/session.json", true, nil
			}
			if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				if _, err := linkedSession(dir, name); err == nil {
					return sessionPrefix + "…, a link to a session", true, nil
				}
			}
			missing = "there is a " + sessionPrefix + "…, but no session.json in it"
			if lost == "" && hasAgent(t, name) {
				lost = sessionPrefix + "…/agents/" + agentPrefix + "…, without a session.json"
			}
		}
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		if errors.Is(err, io.EOF) && lost != "" {
			return lost, true, nil
		}
		if errors.Is(err, io.EOF) {
			return missing, false, nil
		}
		if err != nil {
			return "", false, err
		}
		looked += len(names)
	}
	return missing, false, nil
}

// baseOf returns the name of a folder, "" where it is not known.
func baseOf(dir string) string {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	return filepath.Base(whole)
}

// Elsewhere describes the message logs that lie where no disk is: what S3SessionManager
// writes, and what was copied there.
func Elsewhere(cache *files.Cache) tree.Opener {
	return tree.Opener{
		Kind:      kind,
		Recognise: recogniseOn,
		Open: func(ctx context.Context, on tree.Source) (store.Store, error) {
			return openOn(ctx, cache, on)
		},
	}
}

// recogniseOn is like recognise, for any source.
func recogniseOn(ctx context.Context, on tree.Source) (why string, ok bool, err error) {
	t := on.Tree()
	if why, ok := isSingle(t, path.Base(on.Name())); ok {
		return why, true, nil
	}
	names, err := t.List(".")
	if err != nil {
		return "", false, err
	}
	for _, name := range names {
		switch {
		case !strings.HasPrefix(name, sessionPrefix):
		case isSession(t, name):
			return sessionPrefix + "…/session.json", true, ctx.Err()
		default:
			why = "there is a " + sessionPrefix + "…, but no session.json in it"
		}
	}
	return why, false, ctx.Err()
}

// hasAgent reports whether a folder that is named as a session's holds an agent: it
// is one that lost its session.json, and can be mended.
func hasAgent(t tree.Tree, session string) bool {
	agents, err := named(t, path.Join(session, "agents"), agentPrefix)
	return err == nil && len(agents) > 0
}

// isSingle reports whether a folder of a name is itself that of one session, and what shows
// that. One that lost its session.json is known by its own name.
func isSingle(t tree.Tree, base string) (why string, ok bool) {
	at, err := t.Stamp("session.json")
	switch {
	case err == nil && at.Kind == files.Nothing:
		return "agents/" + agentPrefix + "…, without a session.json", strings.HasPrefix(base, sessionPrefix) && hasAgent(t, ".")
	case err != nil || at.Kind == files.Directory:
		return "", false
	}
	for _, beside := range []string{"agents", "multi_agents"} {
		if tree.IsFolder(t, beside) {
			return "session.json beside " + beside, true
		}
	}
	return "", false
}

// Store is an opened folder of sessions, or of one session. It is safe for
// concurrent use. Use Open.
type Store struct {
	root
	dir string
	// storage is the storage that the folder is, or is in. The journal lies in it: so it is
	// the same one whether the storage or the folder of one session was opened.
	storage *folder.Storage
	folder.Port
	life store.Lifetime

	sharing sync.Mutex
	// shared are the bytes that states share.
	shared numbering
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Tailer    = (*Store)(nil)
	_ store.Deriver   = (*Store)(nil)
	_ store.Watcher   = (*Store)(nil)
	_ store.Versioned = (*Store)(nil)
	_ store.Writer    = (*Store)(nil)
)

// Open opens the folder in which sessions are, or the folder of one session. An
// empty folder is a store without sessions. The errors are those of the file
// system: fs.ErrNotExist, fs.ErrPermission.
//
// Where a write of Hindcast's own was broken off, it is finished. What keeps that
// from being done is told by Faults.
func Open(ctx context.Context, dir string) (*Store, error) { return openWith(ctx, nil, dir) }

func openWith(ctx context.Context, cache *files.Cache, dir string) (*Store, error) {
	s := &Store{dir: dir}
	o := s.options(cache)
	t, err := tree.OpenDisk(dir)
	if err != nil {
		return nil, fmt.Errorf("strands: open %q: %w", dir, files.Cause(err))
	}
	if _, single := isSingle(t, baseOf(dir)); single {
		id := strings.TrimPrefix(baseOf(dir), sessionPrefix)
		s.single, o.Up = &id, 1
	}
	if err = t.Close(); err == nil {
		s.storage, err = folder.Open(dir, o)
	}
	if err != nil {
		return nil, fmt.Errorf("strands: open %q: %w", dir, files.Cause(err))
	}
	s.begin(ctx)
	return s, nil
}

// openOn opens what lies where no disk is.
func openOn(ctx context.Context, cache *files.Cache, on tree.Source) (_ *Store, err error) {
	s := &Store{dir: on.Name()}
	o := s.options(cache)
	o.On = on
	if _, single := isSingle(on.Tree(), path.Base(s.dir)); single {
		id := strings.TrimPrefix(path.Base(s.dir), sessionPrefix)
		s.single, o.Up = &id, 1
	}
	if s.storage, err = folder.Open(s.dir, o); err != nil {
		return nil, fmt.Errorf("strands: open %q: %w", s.dir, err)
	}
	s.begin(ctx)
	return s, nil
}

func (s *Store) options(cache *files.Cache) folder.Options {
	return folder.Options{Place: s.placeNamed, ID: portID, Ignore: isTemporary, Cache: cache, Notes: noteKind, Now: time.Now}
}

// begin makes what writes, and finishes what was broken off.
func (s *Store) begin(ctx context.Context) {
	s.way, s.folder, s.on = s.storage.Way, s.storage.Folder(), s.storage.On()
	s.Port = s.storage.Port(folder.Kind{Name: kind, Lacks: s.Lacks, Find: s.findPlace})
	s.storage.Recover(ctx)
}

// tree returns the tree that the store reads.
func (s *Store) tree() tree.Tree { return s.storage.In().Tree }

// in returns what is read: the tree, and the journal's entries.
func (s *Store) in(ctx context.Context) folder.In {
	in := s.storage.In()
	in.Writes = s.storage.Writes(ctx)
	return in
}

// Kind returns "strands".
func (s *Store) Kind() string { return kind }

// Address returns the folder that was opened.
func (s *Store) Address() string { return s.dir }

// Close lets go of the folder, and keeps what is remembered on the cache.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	err := s.storage.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.linked {
		err = errors.Join(err, t.Close())
	}
	if err != nil {
		return fmt.Errorf("strands: close %q: %w", s.dir, err)
	}
	return nil
}

// DerivedIDs implements store.Deriver. Of an orchestrator, runs.DerivedIDs
// says it at length.
func (s *Store) DerivedIDs() string {
	return "the SHA-256 of the message, or of the node's result, and its place"
}

// Sessions implements store.Store: the newest change comes first, as the last
// message or agent.json tells it.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		var infos []model.SessionInfo
		var err error
		for info, failed := range s.AnyOrder(ctx) {
			if err = failed; err == nil {
				infos = append(infos, info)
			}
		}
		slices.SortFunc(infos, store.NewestFirst)
		for i := range infos {
			if !yield(infos[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, err)
		}
	}
}

// AnyOrder is what store.AnyOrder returns: the sessions whose folders changed last come
// first, which are mostly those that were begun last. When a session's turn comes, those
// that follow are read with it.
func (s *Store) AnyOrder(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		defer s.storage.Memo.Notes.Keep()
		dirs, err := s.newestDirs()
		infos, errs := make([][]model.SessionInfo, mostAhead), make([]error, mostAhead)
		for ahead := 1; err == nil && len(dirs) > 0; ahead = min(2*ahead, mostAhead) {
			n := min(ahead, len(dirs))
			several(n, func(i int) { infos[i], errs[i] = s.listed(ctx, dirs[i]) })
			for i := range n {
				if err = errs[i]; err != nil {
					break
				}
				for _, info := range infos[i] {
					if !yield(info, nil) {
						return
					}
				}
			}
			dirs = dirs[n:]
		}
		if err != nil {
			yield(model.SessionInfo{}, fmt.Errorf("strands: list sessions of %q: %w", s.dir, files.Cause(err)))
		}
	}
}

// Only implements store.Only.
func (s *Store) Only(ctx context.Context) (only string) {
	dirs, err := s.sessionDirs(s.tree())
	for _, dir := range dirs {
		if s.single == nil && !s.isSession(s.tree(), dir) {
			continue
		}
		places := s.places(s.tree(), dir)
		if only != "" || len(places) > 1 || ctx.Err() != nil {
			return ""
		}
		only = places[0].id
	}
	if err != nil {
		return ""
	}
	return only
}

// mostAhead bounds the sessions that are read before the first of them is asked for. The
// first session is read alone: it is often all that is asked for.
const mostAhead = 64

// several calls work for each of n, several at once.
func several(n int, work func(i int)) {
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(n, max(4, runtime.GOMAXPROCS(0))) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	running.Wait()
}

// newestDirs returns sessionDirs, the folder that changed last first.
func (s *Store) newestDirs() ([]string, error) {
	names, err := s.sessionDirs(s.tree())
	type dir struct {
		name    string
		changed time.Time
	}
	dirs := make([]dir, len(names))
	several(len(names), func(i int) {
		at, _ := s.tree().Stamp(names[i]) // what cannot be looked at comes last
		dirs[i] = dir{names[i], at.Modified}
	})
	slices.SortFunc(dirs, func(a, b dir) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.name, b.name))
	})
	for i := range dirs {
		names[i] = dirs[i].name
	}
	return names, err
}

// listed returns the list's entries for the session of a name, no entries if it does not exist.
func (s *Store) listed(ctx context.Context, dir string) ([]model.SessionInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer s.tree().Hold(dir)()
	if s.single == nil && !s.isSession(s.tree(), dir) {
		return nil, nil
	}
	places := s.places(s.tree(), dir)
	infos := make([]model.SessionInfo, len(places))
	for i := range places {
		at, err := s.at(ctx, places[i])
		if err == nil {
			infos[i], err = at.info(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// session is the content of a place: the log of an agent, or the record of an orchestrator.
type session interface {
	// info returns the session's entry in the list of sessions.
	info(ctx context.Context) (model.SessionInfo, error)
	headers(ctx context.Context, visit func(*model.Header) error) error
	tail(ctx context.Context, n int) (list []model.Header, before int, err error)
	faults(ctx context.Context) ([]model.Fault, error)
	// state, facts and gaps describe the row of an id.
	state(ctx context.Context, id string) ([]byte, error)
	facts(ctx context.Context, id string) (model.Facts, error)
	gaps(ctx context.Context, id string) (model.Gaps, error)
}

// session returns the session with the port's name id.
func (s *Store) session(ctx context.Context, id string) (session, error) {
	p, err := s.locate(s.tree(), id)
	if err != nil {
		return nil, err
	}
	return s.at(ctx, p)
}

// sessionOf returns the session of a row.
func (s *Store) sessionOf(ctx context.Context, ref model.Ref) (session, error) {
	if err := ref.CheckNoVisit(); err != nil {
		return nil, err
	}
	return s.session(ctx, ref.Session)
}

// at returns the session of a place.
func (s *Store) at(ctx context.Context, p place) (session, error) {
	if p.orchestrator != "" {
		return s.records(ctx, p)
	}
	return agentLog{s, p, s.in(ctx)}, nil
}

// agentLog is the log of one agent.
type agentLog struct {
	*Store
	place
	in folder.In
}

func (a agentLog) info(ctx context.Context) (model.SessionInfo, error) {
	l := openLog(a.place, a.in)
	defer l.close()
	info := model.SessionInfo{ID: a.id, Kind: kind, UpdatedAt: l.updated, Size: l.written}
	change := func(at time.Time) {
		if at.After(info.UpdatedAt) {
			info.UpdatedAt = at
		}
	}
	change(l.agent.updated)
	inspect := newInspector(l)
	var openings conversation.Openings
	err := l.walk(ctx, func(s *step) error {
		info.Head = s.header.Point()
		info.Size += s.msg.written
		if s.i == len(l.files)-1 {
			change(s.msg.created)
		}
		switch {
		case s.msg.asks():
			openings.Add(s.msg.said, s.msg.by)
		case s.msg.whole && s.msg.role == "assistant":
			openings.Answer(s.msg.said)
		}
		inspect.see(s)
		return nil
	})
	info.Title = cmp.Or(info.Title, openings.Title())
	b := l.asides(ctx)
	err = cmp.Or(err, a.keptFaults(ctx, b, inspect))
	info.Orphaned = len(b.list)
	info.Snapshots = len(l.files) + info.Orphaned
	info.Faults = len(model.Harmful(inspect.faults()))
	return info, err
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		at, err := s.session(ctx, session)
		if err == nil {
			err = at.headers(ctx, func(h *model.Header) error {
				if !yield(*h, nil) {
					return errStopped
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(model.Header{}, fmt.Errorf("strands: list messages of session %q: %w", session, err))
		}
	}
}

// errStopped says that the caller has heard enough.
var errStopped = errors.New("stopped")

func (a agentLog) headers(ctx context.Context, visit func(*model.Header) error) error {
	l := openLog(a.place, a.in)
	defer l.close()
	if l.err != nil {
		return l.err
	}
	x := newIndex(l, len(l.files))
	err := l.asides(ctx).rows(ctx, l.walker(), 0, func(r *row) error {
		if r.step != nil {
			x.add(r.step)
		}
		return visit(r.header)
	})
	if err == nil {
		l.keep(x, 0)
	}
	return err
}

// Faults implements store.Store: what the SDK repairs in memory, what it does
// not start on, what it would overwrite, and what is odd, each with its verdict.
// For the store itself it tells which sessions are not listed, and why.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	var list []model.Fault
	if session == "" {
		found, err := s.unlisted()
		if err != nil {
			return nil, fmt.Errorf("strands: check %q: %w", s.dir, files.Cause(err))
		}
		list = found
		for _, err := range []error{s.broken(), s.storage.Check(ctx)} {
			if err != nil && ctx.Err() == nil {
				list = append(list, s.journalFault(err))
			}
		}
	}
	at, err := s.session(ctx, session)
	if err != nil && session == "" { // there may be a session of that name, too
		return list, nil
	}
	var found []model.Fault
	if err == nil {
		found, err = at.faults(ctx)
	}
	if err == nil && session != "" {
		var unread []model.Fault
		unread, err = s.unread(ctx, session, found)
		found = append(found, unread...)
	}
	if err != nil {
		return nil, fmt.Errorf("strands: check session %q: %w", session, err)
	}
	return append(list, found...), nil
}

// unread returns the fault of the files whose texts are not in view, but for those of messages that
// the SDK drops or removes, or that were redacted, which another fault tells.
func (s *Store) unread(ctx context.Context, session string, told []model.Fault) ([]model.Fault, error) {
	p, err := s.locate(s.tree(), session)
	if err != nil {
		return nil, err
	}
	log, err := s.storage.Log(ctx, p.at())
	if err != nil {
		return nil, err
	}
	hidden := map[string]bool{}
	for _, f := range told {
		if f.Code == FaultRemovedCount {
			return nil, nil
		}
		hidden[f.File] = hidden[f.File] || pairing[f.Code] || f.Code == FaultRedacted
	}
	var dropped []model.Fault
	for i, name := range log.Files {
		if hidden[p.shown(name)] { // the message, or the one behind it with results of other calls
			for _, name := range log.Files[i:min(i+2, len(log.Files))] {
				dropped = append(dropped, model.Fault{File: name})
			}
		}
	}
	found, err := s.storage.Unread(ctx, s, session, log, dropped...)
	return p.shownIn(found), err
}

func (a agentLog) faults(ctx context.Context) ([]model.Fault, error) {
	l := openLog(a.place, a.in)
	defer l.close()
	inspect := newInspector(l)
	err := l.walk(ctx, func(s *step) error {
		inspect.see(s)
		return nil
	})
	err = cmp.Or(err, a.keptFaults(ctx, l.asides(ctx), inspect))
	return a.shownIn(inspect.faults()), err
}

// unlisted finds what looks like a session by its name and is not listed.
func (s *Store) unlisted() ([]model.Fault, error) {
	if s.single != nil {
		return nil, nil
	}
	t := s.tree()
	names, err := t.List(".")
	if err != nil {
		return nil, err
	}
	var faults store.FaultList
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, sessionPrefix) {
			continue
		}
		at, err := t.Stamp(name)
		if err != nil {
			return nil, err
		}
		f := flaw{code: FaultStray}
		switch {
		case at.Kind == files.Directory && isSession(t, name), s.link(t, name) != nil:
			continue
		case at.Kind == files.Directory:
			f.code, f.meaning, f.verdict = FaultSessionFile, "the folder has neither session.json nor agents", sdk.Refuses("SessionException: the session already exists")
		case at.Kind == files.Link:
			f.code, f.meaning, f.verdict = FaultSymlink, "a link that leads to no session; it is not followed", sdk.Loads("the SDK follows links to folders")
		case files.Foreign(name) != "":
			f.meaning, f.verdict = files.Foreign(name), sdk.Ignores("the file is ignored")
		default:
			f.meaning, f.verdict = "it is named as a session is, and is no folder", sdk.Loads("the SDK looks at it only for a session of that name, which it cannot start")
		}
		faults.Add(f.fault(name, versions(nil), stand{}))
	}
	return faults.All(), nil
}
