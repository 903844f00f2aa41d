package genkit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// How a session is put back to a row.
//
// No SDK has a call that goes back and stays there: the id of a session resumes
// the row that resume.go tells. So the target is made that row. The SDKs differ,
// and so do their pointers, but one write does for all of them: a new row that
// holds the target's state, is its child, and is newer than every other row of the
// session; and the pointer that names it, as the SDK itself moves the pointer with
// each row that it writes. Then the pointer and a search agree, whichever is taken,
// and what was the head before stays as a branch of its own.
//
//	what the SDK finds                      what is written
//	the target, by pointer and by search    nothing: it is the head (Go: a new row
//	                                        if it failed or was aborted, where a
//	                                        version may run that refuses it)
//	the target by search, another by        the pointer alone, which names the
//	  the pointer                             target then
//	another by search                       a new row, and the pointer to it
//	                                        (Python: the row; it has no pointers)
//
// The pointer alone would not do in the last case: Go and JavaScript trust it (Go
// 1.12 and 1.13.1, JavaScript 1.42), but it is a cache, which a search replaces.
// The row alone would not do beside a pointer, which is trusted though it is stale.
//
// The new row is completed, whatever the target was, because only such a row is
// resumed by every version. So a target is refused whose state is not one to go on
// from: work that is still running or was broken off without a state, a file that
// is not JSON, a turn that failed between a tool call and its answer. The reason
// names the nearest row above it that will do.
//
// In JavaScript the new row gets no parent if the lineage of the target runs in a
// circle, as it does above rows that detached work ended in (1.42): a store with
// maxPersistedChainLength would follow it for ever.

// planMove plans a change of a session.
func (p *part) planMove(_ context.Context, in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	one := sessionOf(before)
	if c.Op == model.OpRepair {
		return one.planRepair(in)
	}
	if c.Op == model.OpEdit {
		if err := checkState(c.State); err != nil {
			return nil, err
		}
	}
	t, err := one.findTarget(in, c.Ref.ID, c.Op)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case model.OpRestore:
		return t.planRestore()
	case model.OpFork, model.OpEdit:
		return t.planFork(c, p.labelOf(one.place.dir))
	case model.OpRun:
		return t.planRun()
	}
	return nil, &model.UnsupportedError{Op: c.Op, Reason: lacks(c.Op)}
}

// planRestore plans to make the target the head. The error is a *model.UnsupportedError for a
// row that no session can go on from.
func (t *target) planRestore() (*engine.Move, error) {
	if why := t.one.refusesSession(); why != "" {
		return nil, &model.UnsupportedError{Op: model.OpRestore, Reason: why}
	}
	how := byRow
	found, scanned := t.one.resumedRow()
	switch {
	case t.one.layout == layoutGo && !t.one.resumeByID(t.row, t.now).isWhole():
		// Some version in question would refuse it, though it is the head.
	case found.row == t.row && scanned.row == t.row:
		how = byNothing
	case scanned.row == t.row && t.one.layout != layoutPython:
		how = byPointer
	}
	return t.leadTo(t.newMove(), model.OpRestore, how)
}

// way is how a target becomes what its session resumes.
type way uint8

const (
	// byRow: a new row, and the pointer to it.
	byRow way = iota
	// byPointer: the pointer alone.
	byPointer
	// byNothing: it is that already.
	byNothing
)

// leadTo adds to a move what makes the target the row that its session resumes.
func (t *target) leadTo(m *engine.Move, op model.Op, how way) (*engine.Move, error) {
	one, goal := t.one, &goal{op: op, target: t, want: t.row.id}
	m.Own = goal
	switch how {
	case byNothing:
		m.Hazards = append(m.Hazards, "it is the head already: nothing is written")
	case byPointer:
		m.Steps = append(m.Steps, one.pointTo(t.row.id, t.row.created.text, t.now))
		m.Writes = append(m.Writes, fmt.Sprintf("pointer of the session: it names #%d, which a search finds anyway", m.Target.Index))
	case byRow:
		added, hazards, err := t.copyOf(op)
		if err != nil {
			return nil, err
		}
		goal.want = added.id
		m.Hazards = append(m.Hazards, hazards...)
		m.Steps = append(m.Steps, tree.Step{Name: one.fileOf(added.id), Data: added.encodeRow(one.layout)})
		m.Writes = append(m.Writes, fmt.Sprintf("a new row %s: the state of #%d once more, newer than all others", added.id, m.Target.Index))
		if one.layout != layoutPython {
			m.Steps = append(m.Steps, one.pointTo(added.id, added.created, t.now))
			m.Writes = append(m.Writes, "pointer of the session: it names the new row")
		}
	}
	m.Writes = append(m.Writes, "journal: one entry")
	return m, nil
}

// pointTo returns the step that has the session's pointer name a row.
func (s *session) pointTo(id, created string, now time.Time) tree.Step {
	return tree.Step{Name: s.pointerFile(), Data: s.layout.newPointer(id, created, now)}
}

// target is a row to go on from.
type target struct {
	one   *session
	row   *row
	parts rowParts
	// sum is the SHA-256 of the row's file as it was read, in hex.
	sum string
	now time.Time
	// open says that the state ends with tool calls that have no answer.
	open bool
}

// findTarget finds the row of an id. The error is a *model.UnsupportedError where nothing can
// go on from it.
func (s *session) findTarget(in engine.In, id string, op model.Op) (*target, error) {
	r := s.byID[id]
	if r == nil {
		a := s.log.Aside[id]
		if a.How == engine.Undone {
			parent := s.log.Rows[s.log.At(id)].ParentID
			return nil, &model.UnsupportedError{Op: op, Reason: fmt.Sprintf("the row is gone, because the write that made it was undone; its parent %s has the same state", model.ShortID(parent, 8))}
		}
		return nil, &model.UnsupportedError{Op: op, Reason: "the row was set aside by a repair, because no state can be taken from it; undo the repair to have it back"}
	}
	t := &target{one: s, row: r, now: in.Now}
	data, _, err := in.Read(s.fileOf(r.id), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.fileOf(r.id), err)
	}
	t.sum = fmt.Sprintf("%x", sha256.Sum256(data))
	why := s.refusalReason(r, t.now)
	if why == "" {
		if t.parts, err = partsOf(data); err != nil {
			return nil, fmt.Errorf("%s: %w", s.fileOf(r.id), err)
		}
		t.setState(t.parts.state)
		if t.open && r.status != statusCompleted && r.status != "" {
			why = "it is " + r.status + ", and its state ends with tool calls that have no answer, which a model refuses"
		}
	}
	if why != "" {
		return nil, &model.UnsupportedError{Op: op, Reason: why + s.insteadOf(r, t.now)}
	}
	return t, nil
}

// refusesSession says why no row of a session can be made its head.
func (s *session) refusesSession() string {
	switch {
	case s.sid == "":
		return "its rows name no session, so that no id of a session resumes them; resume the row by its id, or fork it"
	case !validName(s.sid) || len(s.sid) > mostName:
		return "the SDKs refuse the id of the session, because it cannot be part of a path; resume the row by its id, or fork it under another one"
	}
	return ""
}

// mostName bounds the id of a session that a file is named after, in bytes: the
// SDKs append ".json", a number and ".tmp" to it.
const mostName = 200

// refusalReason says why no session can go on from a row, "" if one can.
func (s *session) refusalReason(r *row, now time.Time) string {
	switch {
	case r.broken:
		return "the file is not JSON"
	case r.isWorking() && r.isStale(now):
		return "it is " + r.status + ", and its worker is dead: its turn was never recorded"
	case r.status == statusPending:
		return "it is pending: its turn is still running, so wait for it, or abort it"
	case r.status == statusAborting:
		return "it is being aborted, and its state is not recorded yet"
	case !r.hasState && r.status != statusCompleted && r.status != "":
		return "it is " + r.status + ", and no state was recorded"
	}
	for _, f := range r.flaws {
		if f.code == FaultNotUTF8 && s.layout == layoutPython {
			return "its text is not UTF-8, which Python does not read"
		}
		if f.code == FaultRowShape && (f.path == "/state" || f.path == "/state/sessionId") {
			return "its state is not of the shape of one: " + f.meaning
		}
	}
	return ""
}

// insteadOf names the nearest row above one that a session can go on from.
func (s *session) insteadOf(r *row, now time.Time) string {
	if good := s.goodAbove(r, now); good != nil {
		return fmt.Sprintf("; take #%d %s, the nearest row above it", s.positionOf(good), model.ShortID(good.id, 8))
	}
	return "; there is no row above it that will do"
}

// goodAbove returns the nearest completed row above r, or nil.
func (s *session) goodAbove(r *row, now time.Time) *row {
	passed := map[string]bool{r.id: true}
	for p := s.byID[r.parentID]; p != nil && !passed[p.id]; p = s.byID[p.parentID] {
		if s.isGood(p, now) {
			return p
		}
		passed[p.id] = true
	}
	return nil
}

// isGood reports whether a row is completed and can be gone on from.
func (s *session) isGood(r *row, now time.Time) bool {
	return (r.status == statusCompleted || r.status == "") && s.refusalReason(r, now) == ""
}

// newMove begins a move that goes on from the target.
func (t *target) newMove() *engine.Move {
	m := &engine.Move{Target: t.one.pointOf(t.row), Uses: map[string]string{t.one.fileOf(t.row.id): t.sum}}
	if s := t.row.status; s != statusCompleted && s != "" {
		text := fmt.Sprintf("its turn is %s: the row that is written says that it is completed, with the state that it left", s)
		if t.one.layout == layoutGo {
			m.Hazards = append(m.Hazards, text)
		} else {
			m.Asks = append(m.Asks, text+", which "+t.one.layout.String()+" itself does not go on from")
		}
	}
	if t.open {
		m.Hazards = append(m.Hazards, "its state ends with tool calls that wait for an answer: resume with their answers, because a new message is refused by most models")
	}
	if !t.row.hasState {
		m.Hazards = append(m.Hazards, "it has no state: the session goes on with an empty one")
	}
	for _, r := range t.one.rows {
		if r.isWorking() && !r.heartbeat.at.IsZero() && !r.isStale(t.now) {
			m.Asks = append(m.Asks, fmt.Sprintf("detached work is running in the session (row %s): what it writes when it ends may become the head", model.ShortID(r.id, 8)))
		}
	}
	return m
}

// copyOf returns the row that makes the target the head, and what has to be known of it.
func (t *target) copyOf(op model.Op) (n *newRow, hazards []string, err error) {
	one := t.one
	n = &newRow{id: uuid.NewString(), session: t.parts.session, parent: t.row.id, state: t.parts.state}
	if t.row.status == statusCompleted || t.row.status == "" {
		n.finish = t.row.finishReason
	}
	if !knownFinish[n.finish] {
		n.finish = ""
	}
	if n.session == nil {
		return nil, nil, errors.New("the row names no session")
	}
	var ahead *row
	n.created, ahead, _ = one.timeAfterAll(t.now)
	if len(n.created) > 10 && n.created[4] != '-' { // the year 10000: RFC 3339 has none
		return nil, nil, &model.UnsupportedError{Op: op, Reason: noneAfter}
	}
	if ahead != nil {
		text := fmt.Sprintf("row %s is dated %s, ahead of the clock here: the new row is dated just after it", model.ShortID(ahead.id, 8), ahead.created.text)
		if one.layout == layoutGo {
			text += ", and until that time has come Go takes it for newer than each turn that follows"
		}
		hazards = append(hazards, text)
	}
	if one.layout == layoutJS && one.isInCircle(t.row) {
		n.parent = ""
		hazards = append(hazards, "the lineage of the row runs in a circle: the new row begins a lineage of its own, because a store with maxPersistedChainLength would follow the old one for ever")
	}
	if one.layout != layoutGo && one.leavesOf() == 1 && one.isParent(t.row) {
		hazards = append(hazards, "the session then has more than one branch: a store with "+one.layout.rejectOption()+" resumes none of them by the id of the session")
	}
	return n, hazards, nil
}

// noneAfter is why there can be no new row.
const noneAfter = "a row of the session has a time that none comes after, so that a new one would not be found; resume the row by its id"

// rejectOption is the option of a store that takes no branches.
func (l layout) rejectOption() string {
	if l == layoutPython {
		return "reject_ambiguous_session"
	}
	return "rejectBranchingSessions"
}

// isInCircle reports whether the way up from a row comes back to a row on it.
func (s *session) isInCircle(r *row) bool {
	passed := map[string]bool{}
	for ; r != nil; r = s.findRow(r.parentID) {
		if passed[r.id] {
			return true
		}
		passed[r.id] = true
		if r.parentID == "" {
			return false
		}
	}
	return false
}

// isParent reports whether a row of the session names one as its parent.
func (s *session) isParent(r *row) bool {
	for _, child := range s.rows {
		if child.parentID == r.id {
			return true
		}
	}
	return false
}

// leavesOf counts the rows without a child.
func (s *session) leavesOf() (n int) {
	parents := map[string]bool{}
	for _, r := range s.rows {
		parents[r.parentID] = true
	}
	for _, r := range s.rows {
		if !parents[r.id] {
			n++
		}
	}
	return n
}
