package codex

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// How sessions are listed whose files are gone.
//
//	state_5.sqlite        the index of threads: id, rollout, title, time
//	session_index.jsonl   {"id", "thread_name", "updated_at"}, the last line of an id counts
//
// A thread of either that no rollout is of is a session without snapshots: a part of the index.

const sessionIndex = "session_index.jsonl"

// mostIndex bounds the list of sessions, in bytes.
const mostIndex = 4 << 20

// sessionList is the list of sessions as it was read, and how its file looked.
type sessionList struct {
	at   tree.Stamp
	rows map[string]row
}

// listedSessions returns the threads that the list of sessions of a storage has, to be read only. It is read again
// where its file is another.
func (f *format) listedSessions(in engine.In) map[string]row {
	now := &sessionList{rows: map[string]row{}}
	now.at, _ = in.Stamp(sessionIndex) // there may be none
	f.mu.Lock()
	was := f.sessions
	f.mu.Unlock()
	if was != nil && was.at.Is(now.at) {
		return was.rows
	}
	text, _ := tree.Head(in.Tree, sessionIndex, mostIndex)
	for line := range bytes.Lines(text) {
		v, err := chat.Parse(line)
		if id := v.Get("id").Text(); err == nil && isUUID(id) {
			at, _ := time.Parse(time.RFC3339, v.Get("updated_at").Text()) // the zero time says that there is none
			now.rows[id] = row{name: v.Get("thread_name").Text(), updated: at}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = now
	return now.rows
}

// withoutFiles returns the sessions of an index whose threads have no rollout. file is the index inside the
// storage.
func (n *names) withoutFiles(file string, rows map[string]row) (list []chat.Spot) {
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if _, there := n.threads[id]; !there && isUUID(id) {
			list = append(list, chat.Spot{File: file, Part: id, ID: id, Named: true, Project: rows[id].dir, At: rows[id].updated})
		}
	}
	return list
}

// rowOf returns the index row of a session whose file is gone.
func (f *format) rowOf(in engine.In, at chat.Spot, index *threads) row {
	if at.File == sessionIndex {
		return f.listedSessions(in)[at.Part]
	}
	return index.rows[at.Part]
}

// goneFault returns the fault of a session whose file is gone.
func goneFault(at chat.Spot, r row) model.Fault {
	what := "its file is gone"
	if r.rollout != "" {
		what = fmt.Sprintf("its file %.120q is gone", baseName(r.rollout))
	}
	return model.Fault{
		Code: FaultIndex, Severity: model.Loses, File: at.File, Path: fmt.Sprintf("%.40q", at.Part),
		Meaning: fmt.Sprintf("%s: the index has the session %.60q, and no rollout is of it", what, cmp.Or(conversation.OneLine(r.threadTitle()), at.Part)),
		Verdict: "Codex lists it and cannot resume it: the file may be in a backup",
	}
}
