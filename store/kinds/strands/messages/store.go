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
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

const kind = "strands"

// Kind describes the message logs of Strands. What was made of message files is
// remembered on the cache; nil remembers it as long as a store is open.
func Kind(cache *files.Cache) engine.Kind {
	return engine.Kind{
		Kind: store.Kind{Name: kind, Framework: "Strands", Places: places, Continues: true},
		Sign: engine.InFolder(sign), Copied: true,
		OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) { return openSite(ctx, cache, at) },
	}.Derive()
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

// mostLooked bounds the names that sign looks at: a folder with more and
// no session among them is taken for something else.
const mostLooked = 20_000

// sign looks for session_*/session.json, or for session.json beside agents or orchestrators.
func sign(ctx context.Context, in engine.Site, t tree.Tree) (why string, ok bool, err error) {
	if why, ok := isSingle(t, path.Base(in.Whole())); ok {
		return why, true, nil
	}
	names, err := t.List(".")
	if err != nil {
		return "", false, err
	}
	lost := ""
	for _, name := range names[:min(len(names), mostLooked)] {
		if !strings.HasPrefix(name, sessionPrefix) {
			continue
		}
		if at, err := t.Stamp(path.Join(name, "session.json")); err == nil && at.Kind != files.Nothing && at.Kind != files.Directory {
			return sessionPrefix + "…/session.json", true, nil
		}
		if at, err := t.Stamp(name); err == nil && at.Kind == files.Link {
			if _, err := linkedSession(in.Path, name); err == nil {
				return sessionPrefix + "…, a link to a session", true, nil
			}
		}
		why = "there is a " + sessionPrefix + "…, but no session.json in it"
		if lost == "" && hasAgent(t, name) {
			lost = sessionPrefix + "…/agents/" + agentPrefix + "…, without a session.json"
		}
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
	}
	return cmp.Or(lost, why), lost != "", nil
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
	*engine.Store
	root
	// storage is the storage that the folder is, or is in. The journal lies in it: so it is
	// the same one whether the storage or the folder of one session was opened.
	storage *engine.Storage
}

// Open opens the folder in which sessions are, or the folder of one session. An
// empty folder is a store without sessions. The errors are those of the file
// system: fs.ErrNotExist, fs.ErrPermission.
//
// Where a write of Hindcast's own was broken off, it is finished. What keeps that
// from being done is told by Faults.
func Open(ctx context.Context, dir string) (*Store, error) {
	return openSite(ctx, nil, engine.SiteOf(dir))
}

func openSite(ctx context.Context, cache *files.Cache, at engine.Site) (*Store, error) {
	dir, base := at.Name(), path.Base(at.Whole())
	t, done, err := at.Tree()
	if err != nil {
		return nil, fmt.Errorf("strands: open %q: %w", dir, files.Cause(err))
	}
	_, single := isSingle(t, base)
	done()
	s, o := &Store{root: root{dir: dir}}, engine.StorageOptions{Cache: cache, On: at.On}
	if single {
		id := strings.TrimPrefix(base, sessionPrefix)
		s.single, o.Up = &id, 1
	}
	o.Place, o.Ignore, o.Notes, o.Now = s.placeNamed, isTemporary, noteKind, time.Now
	storage, err := engine.OpenStorage(dir, o)
	if err != nil {
		return nil, fmt.Errorf("strands: open %q: %w", dir, files.Cause(err))
	}
	s.storage, s.way, s.folder, s.on = storage, storage.Way, storage.Folder(), storage.On()
	storage.Recover(ctx)
	s.Store = engine.OnFiles(engine.Format{
		Name: kind, Framework: "Strands", IDs: "the SHA-256 of the message, or of the node's result, and its place", Warns: true,
		List: s.list, Place: s.place, Read: readSession, Headers: readHeaders, Tail: readTail, State: s.state, Request: s.request, About: s.about, Faults: s.faults, Check: s.check,
		Lacks: lacks, Move: planMove, Continue: s.startSession, Next: predictNext,
	}, &engine.Files{
		Storage: storage, Watching: s.watch, Closing: s.closeLinks, Mark: s.mark,
		Unread: s.unread,
	}, dir)
	return s, nil
}

// Features returns the features of the engine, and those of message logs. How far a log reaches is not told:
// that takes a look at every file.
func (s *Store) Features() store.Features {
	f := s.Store.Features()
	f.AnyOrder, f.Only, f.Apart, f.Gaps = s.AnyOrder, s.Only, s.Apart, s.Gaps
	f.Weave, f.Surveys = s.Weave, true
	f.SDKs, f.Assume, f.Assumed = opens.Names, s.Assume, s.Assumed
	f.Cursor, f.Growth, f.Resume = nil, nil, nil
	return f
}

// mark returns a text that changes with the journal, and with the versions that are said to run.
func (s *Store) mark(context.Context, engine.Place) (string, error) {
	at, err := s.storage.In().Stamp(engine.JournalFile)
	return fmt.Sprint(s.running.ListAssumed(), at.Size, at.Modified.UnixNano()), err
}

// list returns the sessions: the newest change comes first, as the last message or agent.json tells it.
func (s *Store) list(ctx context.Context, in engine.In) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		var infos []model.SessionInfo
		err := s.listAnyOrder(ctx, in, func(info model.SessionInfo) bool {
			infos = append(infos, info)
			return true
		})
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

// AnyOrder is that of store.Features: the sessions whose folders changed last come
// first, which are mostly those that were begun last. When a session's turn comes, those
// that follow are read with it.
func (s *Store) AnyOrder(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		err := s.Read(ctx, func(in engine.In) error {
			return s.listAnyOrder(ctx, in, func(info model.SessionInfo) bool { return yield(info, nil) })
		})
		if err != nil {
			yield(model.SessionInfo{}, s.Wrap(err, "list sessions of %q", s.dir))
		}
	}
}

func (s *Store) listAnyOrder(ctx context.Context, in engine.In, yield func(model.SessionInfo) bool) error {
	dirs, err := s.newestDirs(in)
	infos, errs := make([][]model.SessionInfo, mostAhead), make([]error, mostAhead)
	for ahead := 1; err == nil && len(dirs) > 0; ahead = min(2*ahead, mostAhead) {
		n := min(ahead, len(dirs))
		several(n, func(i int) { infos[i], errs[i] = s.listed(ctx, in, dirs[i]) })
		for i := range n {
			if err = errs[i]; err != nil {
				break
			}
			for _, info := range infos[i] {
				if !yield(info) {
					return nil
				}
			}
		}
		dirs = dirs[n:]
	}
	return err
}

// Only is that of store.Features.
func (s *Store) Only(ctx context.Context) (only string) {
	err := s.Read(ctx, func(in engine.In) error {
		dirs, err := s.sessionDirs(in)
		for _, dir := range dirs {
			if s.single == nil && !s.isSession(in, dir) {
				continue
			}
			places := s.places(in, dir)
			if only != "" || len(places) > 1 || ctx.Err() != nil {
				only = ""
				return ctx.Err()
			}
			only = places[0].id
		}
		return err
	})
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
	_ = store.RunParallel(context.Background(), max(4, runtime.GOMAXPROCS(0)), n, work) // that context does not end
}

// newestDirs returns sessionDirs, the folder that changed last first.
func (s *Store) newestDirs(in engine.In) ([]string, error) {
	names, err := s.sessionDirs(in)
	type dir struct {
		name    string
		changed time.Time
	}
	dirs := make([]dir, len(names))
	several(len(names), func(i int) {
		at, _ := in.Stamp(names[i]) // what cannot be looked at comes last
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
func (s *Store) listed(ctx context.Context, in engine.In, dir string) ([]model.SessionInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer in.Hold(dir)()
	if s.single == nil && !s.isSession(in, dir) {
		return nil, nil
	}
	places := s.places(in, dir)
	infos := make([]model.SessionInfo, len(places))
	for i, p := range places {
		var err error
		if at := p.at(); p.orchestrator != "" {
			var log *engine.Log
			if log, err = readSession(ctx, in.Of(at), at, ""); err == nil {
				infos[i] = infoOf(log.Own.(*runs.Records))
			}
		} else {
			infos[i], err = agentLog{s, p, in.Of(at)}.info(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// place returns where the session is that the port calls id.
func (s *Store) place(_ context.Context, in engine.In, id string) (engine.Place, error) {
	p, err := s.locate(in, id)
	if err != nil {
		return engine.Place{}, err
	}
	return p.at(), nil
}

// agentLog is the log of one agent, which an input has.
type agentLog struct {
	*Store
	place
	in engine.In
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

// check returns what looks like a session by its name and is not listed, and what keeps the journal from
// being read. A session may have no name.
func (s *Store) check(ctx context.Context, in engine.In) ([]model.Fault, error) {
	list, err := s.unlisted(in)
	if err != nil {
		return nil, err
	}
	for _, err := range []error{s.broken(), s.storage.Check(ctx)} {
		if err != nil && ctx.Err() == nil {
			list = append(list, s.journalFault(err))
		}
	}
	if log, err := s.Log(ctx, ""); err == nil {
		more, err := s.faults(ctx, in.Of(log.Place), log)
		if err != nil {
			return nil, err
		}
		unread, err := s.unread(ctx, "", log, more)
		return slices.Concat(list, more, unread), err
	}
	return list, nil
}

// faults returns what the SDK repairs in memory, what it does not start on, what it would overwrite, and what
// is odd, each with its verdict.
func (s *Store) faults(ctx context.Context, in engine.In, log *engine.Log) ([]model.Fault, error) {
	p := log.Place.Own.(place)
	if p.orchestrator != "" {
		return p.shownIn(log.Own.(*runs.Records).Own.(*recordFile).faults.All()), nil
	}
	defer p.hold(in.Tree)()
	r := readingOf(log, in)
	found := &inspector{log: r.messageLog, list: r.found.CloneList()}
	err := s.keptFaults(ctx, r.branches, found)
	return p.shownIn(found.faults()), err
}

// unread returns the fault of the files whose texts are not in view, but for those of messages that
// the SDK drops or removes, or that were redacted, which another fault tells.
func (s *Store) unread(ctx context.Context, session string, log *engine.Log, told []model.Fault) ([]model.Fault, error) {
	p, hidden := log.Place.Own.(place), map[string]bool{}
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

// unlisted finds what looks like a session by its name and is not listed.
func (s *Store) unlisted(t engine.In) ([]model.Fault, error) {
	if s.single != nil {
		return nil, nil
	}
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
