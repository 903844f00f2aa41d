package genkit

import (
	"fmt"
	"slices"
	"time"
)

// Which row the SDKs resume.
//
// All of them are asked by the id of a session ("continue sess-main"), and none
// looks at what Hindcast calls the active path.
//
//	Go          localstore.FileSessionStore.latest: the row that the pointer names,
//	            if that is there and of this session (by the row's own sessionId);
//	            else the greatest (createdAt, id) of any status. Rows that do not
//	            parse are passed over: of their members, createdAt and sessionId
//	            alone are looked at. The one that is found is read whole, and if
//	            that fails there is none, and the session begins anew. Then
//	            exp.resumeSessionFrom: a row that is pending or aborting, and one
//	            aborted without a state, is refused.
//	            Before resumesFailed every failed or aborted row is refused, too.
//	JavaScript  FileSessionStore.getLatestSnapshotForSession: the row that the
//	            pointer names, if that is there and of this session (by sessionId,
//	            else state.sessionId); else, of the rows that no row of the session
//	            names as its parent, the one with the greatest createdAt, compared
//	            as text, the first by name among equals. One row of the folder that
//	            is not JSON fails it, for every session. Where each row is the
//	            parent of another it fails. Then agent.ts goes back over the parents to the
//	            first row whose status is "completed", and starts the session anew
//	            where there is none.
//	Python      FileSessionStore.get_snapshot: as JavaScript without the pointer, but
//	            the greatest (createdAt, id), both as text, of the rows that its
//	            model takes: no unknown key, no unknown status. Since knowsAborting it
//	            goes back from such a row, which leads to the same one as passing over
//	            it unless the session is forked.

// choice is the row that an SDK resumes.
type choice struct {
	// row is nil where the SDK finds none.
	row *row
	// leaf is the row that it found first, where it went back from there, or
	// could not read it.
	leaf *row
	// err is why it fails, in its own words; "" if it does not.
	err string
}

const noLeaf = "has no leaf snapshot (corrupt or cyclic history)"

// resumedRow returns the row that the SDK resumes, and what it would find without the
// pointer.
func (s *session) resumedRow() (now, scanned choice) {
	scanned = s.scanRows()
	target := s.pointedRow()
	switch {
	case target != nil && s.layout == layoutJS && target.broken:
		return choice{leaf: target, err: notJSON}, scanned
	case target != nil:
		return s.goBack(target), scanned
	}
	return scanned, scanned
}

// notJSON is the error of JavaScript if the pointer names a row that it cannot parse.
const notJSON = "SyntaxError: the row that the pointer names is not JSON"

// pointedRow returns the row that a valid pointer names, or nil.
func (s *session) pointedRow() *row {
	if s.pointer == nil || s.pointer.err != nil || s.layout == layoutPython {
		return nil
	}
	r := s.byID[s.pointer.current]
	if r == nil || s.layout == layoutGo && (r.sessionID != s.sid || r.goRefuses() || !validName(r.id)) {
		return nil
	}
	return r
}

// scanRows returns the choice of an SDK that goes through the rows.
func (s *session) scanRows() choice {
	switch s.layout {
	case layoutGo:
		for i := len(s.rows) - 1; i >= 0; i-- {
			switch r := s.rows[i]; {
			case r.sessionID != s.sid || r.goPassesOver():
			case r.goRefuses():
				return choice{leaf: r}
			default:
				return choice{row: r}
			}
		}
		return choice{}
	case layoutPython:
		return s.newestLeaf(func(r *row) bool { return !s.pythonRefuses(r) }, func(a, b *row) bool {
			return a.created.text > b.created.text || a.created.text == b.created.text && a.id > b.id
		})
	}
	return s.newestLeaf(func(r *row) bool { return !r.broken }, func(a, b *row) bool {
		return a.created.text > b.created.text || a.created.text == b.created.text && a.id < b.id
	})
}

// newestLeaf returns the row that comes first among the rows without children, and goes
// back from there.
func (s *session) newestLeaf(takes func(*row) bool, before func(a, b *row) bool) choice {
	parents := make(map[string]bool, len(s.rows))
	taken := 0
	for _, r := range s.rows {
		if takes(r) {
			parents[r.parentID] = true
			taken++
		}
	}
	var leaf *row
	for _, r := range s.rows {
		if takes(r) && !parents[r.id] && (leaf == nil || before(r, leaf)) {
			leaf = r
		}
	}
	switch {
	case leaf != nil:
		return s.goBack(leaf)
	case taken > 0:
		return choice{err: noLeaf}
	}
	return choice{}
}

// goBack goes from a leaf to the row that can be resumed. Go does not.
func (s *session) goBack(leaf *row) choice {
	if s.layout == layoutGo {
		return choice{row: leaf}
	}
	seen := map[string]bool{}
	for r := leaf; r != nil; r = s.findRow(r.parentID) {
		switch {
		case r.status == statusCompleted:
			return choice{row: r, leaf: leaf}
		case seen[r.id]:
			return choice{leaf: leaf, err: "has a cyclic snapshot parent chain"}
		}
		seen[r.id] = true
		if r.parentID == "" {
			break
		}
	}
	return choice{leaf: leaf}
}

// goRefuses reports whether encoding/json does not take the row.
func (r *row) goRefuses() bool { return r.broken || r.misshapen || r.badTime }

// goPassesOver reports whether a search of Go's does not see the row.
func (r *row) goPassesOver() bool {
	return r.broken || slices.ContainsFunc(r.flaws, func(f flaw) bool {
		return f.path == "/createdAt" && (f.code == FaultTime || f.code == FaultRowShape)
	})
}

// pythonRefuses reports whether Python's model does not take the row.
func (s *session) pythonRefuses(r *row) bool {
	return r.broken || r.misshapen || r.unknownKeys || !knownStatus[r.status] ||
		r.status == statusAborting && !s.sdkVersions(layoutPython).NewestFollows(knowsAborting) ||
		r.finishReason != "" && !knownFinish[r.finishReason] ||
		slices.ContainsFunc(r.flaws, func(f flaw) bool {
			return f.code == FaultNotUTF8 || f.code == FaultNoTime && r.created.text == ""
		})
}

// headRow returns the row that is drawn as the head: the one that the SDK resumes.
// Where it resumes none, it is the one at which the session stands: what the SDK
// found and could not resume, else the last.
func (s *session) headRow() *row {
	now, scanned := s.resumedRow()
	for _, r := range []*row{now.row, now.leaf, scanned.leaf} {
		if r != nil && s.byID[r.id] == r {
			return r
		}
	}
	if len(s.rows) == 0 {
		return nil
	}
	return s.rows[len(s.rows)-1]
}

// resumption is the answer of an SDK that is asked for a row by its id.
type resumption struct {
	// refused is why no version resumes it, "" if one does.
	refused string
	// only is which versions do, "" for all.
	only string
}

// isWhole reports whether every version resumes the row.
func (r resumption) isWhole() bool { return r == resumption{} }

// String says it in words.
func (r resumption) String() string {
	switch {
	case r.refused != "":
		return "no: " + r.refused
	case r.only != "":
		return "yes, " + r.only
	}
	return "yes"
}

// resumeByID returns the answer of the SDK that is asked for a row by its id.
func (s *session) resumeByID(r *row, now time.Time) resumption {
	switch s.layout {
	case layoutGo:
		return s.resumableByGo(r, now)
	case layoutJS:
		if r.status != statusCompleted {
			return resumption{refused: "INVALID_ARGUMENT, only a completed row can be resumed; a session's id leads back to its last completed one"}
		}
	case layoutPython:
		switch {
		case s.pythonRefuses(r):
			return resumption{refused: "the model of the Python SDK does not take the row"}
		case r.status != statusCompleted:
			return resumption{refused: "only a completed row can be resumed; a session's id leads back to its last completed one"}
		}
	}
	return resumption{}
}

func (s *session) resumableByGo(r *row, now time.Time) resumption {
	const refused = "FAILED_PRECONDITION, "
	parent := "there is nothing to resume"
	if r.parentID != "" {
		parent = fmt.Sprintf("resume from its parent %q", r.parentID)
	}
	versions := s.sdkVersions(layoutGo)
	switch {
	case r.goRefuses():
		return resumption{refused: "the file cannot be parsed"}
	case r.status == statusAborting && !versions.NewestFollows(waitsAborting):
		return resumption{only: "as an empty session: it is aborting, a status that is not known " + waitsAborting.Before()}
	case r.isWorking() && r.isStale(now):
		return resumption{refused: refused + "its worker gave no sign of life and is taken for dead; " + parent}
	case r.status == statusPending:
		return resumption{refused: refused + "its work is still running: wait for it, or abort it"}
	case r.status == statusAborting:
		return resumption{refused: refused + "it is being aborted and has not recorded its state yet"}
	case r.status == statusAborted && !r.hasState:
		return resumption{refused: refused + "it was aborted before it recorded a state; " + parent}
	case s.refusesFailed(r):
		return resumption{refused: fmt.Sprintf(refused+"a turn that failed or was aborted is resumed since %s", resumesFailed.FirstVersion())}
	case (r.status == statusAborted || r.status == statusFailed) && versions.Differ(resumesFailed):
		return resumption{only: fmt.Sprintf("since %s; before it is refused (FAILED_PRECONDITION)", resumesFailed.FirstVersion())}
	}
	return resumption{}
}

// refusesFailed reports whether Go, in the newest version in question, refuses a row for
// how its turn ended.
func (s *session) refusesFailed(r *row) bool {
	return s.layout == layoutGo && (r.status == statusFailed || r.status == statusAborted) && !s.sdkVersions(layoutGo).NewestFollows(resumesFailed)
}
