package genkit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/writing"
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
//	                                        if it failed or was aborted, because
//	                                        1.10 to 1.12 refuse it)
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

// planRestore plans a restore. The error is a *model.UnsupportedError for a row that no
// session can go on from.
func (s *Store) planRestore(ctx context.Context, ref model.Ref) (model.Plan, error) {
	t, err := s.target(ctx, ref, model.OpRestore)
	if err != nil {
		return model.Plan{}, err
	}
	if why := t.one.refusesSession(); why != "" {
		return model.Plan{}, &model.UnsupportedError{Op: model.OpRestore, Reason: why}
	}
	how := byRow
	found, scanned := t.one.resumed()
	switch {
	case t.one.layout == layoutGo && (t.row.status == statusFailed || t.row.status == statusAborted):
		// Go 1.10 to 1.12 would refuse it, though it is the head.
	case found.row == t.row && scanned.row == t.row:
		how = byNothing
	case scanned.row == t.row && t.one.layout != layoutPython:
		how = byPointer
	}
	return s.planMove(t.plan(model.OpRestore), t, how, nil)
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

// planMove makes the target what its session resumes. before are steps that come
// first.
func (s *Store) planMove(plan model.Plan, t *target, how way, before []step) (model.Plan, error) {
	one, now, want := t.one, s.now(), t.row.id
	steps := before
	switch how {
	case byNothing:
		plan.Hazards = append(plan.Hazards, "it is the head already: nothing is written")
	case byPointer:
		steps = append(steps, step{data: one.layout.newPointer(t.row.id, t.row.created.text, now)})
		plan.Writes = append(plan.Writes, fmt.Sprintf("pointer of the session: it names #%d, which a search finds anyway", plan.Target.Index))
	case byRow:
		added, err := t.copyOf(&plan, now)
		if err != nil {
			return model.Plan{}, err
		}
		want = added.id
		steps = append(steps, step{row: added.id, data: added.encode(one.layout)})
		plan.Writes = append(plan.Writes, fmt.Sprintf("a new row %s: the state of #%d once more, newer than all others", added.id, plan.Target.Index))
		if one.layout != layoutPython {
			steps = append(steps, step{data: one.layout.newPointer(added.id, added.created, now)})
			plan.Writes = append(plan.Writes, "pointer of the session: it names the new row")
		}
	}
	plan.Writes = append(plan.Writes, "journal: one entry")
	after := one.then(steps)
	found, scanned := after.resumed()
	head := after.byID[want]
	switch {
	case head == nil:
		return model.Plan{}, errNoRow
	case found.row != head:
		return model.Plan{}, &model.UnsupportedError{Op: plan.Op, Reason: noneAfter}
	case scanned.row != head:
		plan.Hazards = append(plan.Hazards, "a row of the session has a time that none comes after: the pointer alone leads to the new row, and a search would not find it")
	}
	s.compare(&plan, one, after)
	one.loads(&plan, after, head, t)
	c := carry{vault: s.vaultOf(one.place.base), place: one.place, sid: one.sid, before: one.ids(), after: after.ids(), head: after.point(head)}
	return s.write(plan, c, steps, t)
}

// target is a row to go on from.
type target struct {
	one   *session
	row   *row
	parts rowParts
	// sum is the SHA-256 of the row's file as it was read, in hex.
	sum string
	now time.Time
	// vault has what Hindcast wrote there.
	vault *vault
	// open says that the state ends with tool calls that have no answer.
	open bool
}

// target finds the row that ref names. The error is a *model.UnsupportedError where
// nothing can go on from it.
func (s *Store) target(ctx context.Context, ref model.Ref, op model.Op) (*target, error) {
	if isStep(ref.ID) {
		return nil, s.refuseStep(ctx, ref, op)
	}
	one, err := s.find(ctx, ref.Session)
	if err != nil {
		return nil, err
	}
	return s.targetIn(one, ref.ID, op)
}

// targetIn is target in a session that was read.
func (s *Store) targetIn(one *session, id string, op model.Op) (*target, error) {
	if trouble := s.vaultOf(one.place.base).Broken(); trouble != nil {
		return nil, fmt.Errorf("a write that was broken off could not be finished: %w", trouble)
	}
	r := one.byID[id]
	if r == nil {
		a := one.asideRow(id)
		switch {
		case a == nil:
			return nil, model.ErrNoSnapshot
		case a.why == model.ReasonUndo:
			return nil, &model.UnsupportedError{Op: op, Reason: fmt.Sprintf("the row is gone, because the write that made it was undone; its parent %s has the same state", model.ShortID(a.row.parentID, 8))}
		}
		return nil, &model.UnsupportedError{Op: op, Reason: "the row was set aside by a repair, because no state can be taken from it; undo the repair to have it back"}
	}
	t := &target{one: one, row: r, now: s.now(), vault: s.vaultOf(one.place.base)}
	_, data, err := s.rowIn(one.place, r.id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", one.file(r.id), err)
	}
	t.sum = fmt.Sprintf("%x", sha256.Sum256(data))
	why := one.refuses(r, t.now)
	if why == "" {
		if t.parts, err = partsOf(data); err != nil {
			return nil, fmt.Errorf("%s: %w", one.file(r.id), err)
		}
		if tape, err := jsontape.Parse(t.parts.state); err == nil {
			t.open = conversation.Decode(tape).Position() == conversation.AfterModel
		}
		if t.open && r.status != statusCompleted && r.status != "" {
			why = "it is " + r.status + ", and its state ends with tool calls that have no answer, which a model refuses"
		}
	}
	if why != "" {
		return nil, &model.UnsupportedError{Op: op, Reason: why + one.insteadOf(r, t.now)}
	}
	return t, nil
}

// refuseStep says why nothing can go on from a step of a trace.
func (s *Store) refuseStep(ctx context.Context, ref model.Ref, op model.Op) error {
	if _, _, err := s.step(ctx, ref); err != nil {
		return err
	}
	return &model.UnsupportedError{Op: op, Reason: "it is a step inside a turn, known from a trace: Genkit keeps one row for each turn, so take the row before the turn, or the one that it ended in"}
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

// refuses says why no session can go on from a row, "" if one can.
func (s *session) refuses(r *row, now time.Time) string {
	switch {
	case r.broken:
		return "the file is not JSON"
	case (r.status == statusPending || r.status == statusAborting) && r.isStale(now):
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
		return fmt.Sprintf("; take #%d %s, the nearest row above it", s.position(good), model.ShortID(good.id, 8))
	}
	return "; there is no row above it that will do"
}

// goodAbove returns the nearest completed row above one, nil for none.
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
	return (r.status == statusCompleted || r.status == "") && s.refuses(r, now) == ""
}

// plan begins a plan that goes on from the target.
func (t *target) plan(op model.Op) model.Plan {
	p := model.Plan{Op: op, Session: t.one.id, Target: t.one.point(t.row)}
	if s := t.row.status; s != statusCompleted && s != "" {
		text := fmt.Sprintf("its turn is %s: the row that is written says that it is completed, with the state that it left", s)
		if t.one.layout == layoutGo {
			p.Hazards = append(p.Hazards, text)
		} else {
			p.Asks = append(p.Asks, text+", which "+t.one.layout.String()+" itself does not go on from")
		}
	}
	if t.open {
		p.Hazards = append(p.Hazards, "its state ends with tool calls that wait for an answer: resume with their answers, because a new message is refused by most models")
	}
	if !t.row.hasState {
		p.Hazards = append(p.Hazards, "it has no state: the session goes on with an empty one")
	}
	p.Asks = append(p.Asks, t.one.isLive(t.vault, t.now)...)
	return p
}

// justNow is how fresh a row may be without somebody being asked whether the
// agent is still running.
const justNow = 10 * time.Second

// isLive returns the reasons to think that an agent is at work on the session.
func (s *session) isLive(v *vault, now time.Time) (asks []string) {
	var recent []writing.Stamp
	for _, r := range s.rows {
		if r.status == statusPending || r.status == statusAborting {
			if !r.heartbeat.at.IsZero() && !r.isStale(now) {
				asks = append(asks, fmt.Sprintf("detached work is running in the session (row %s): what it writes when it ends may become the head", model.ShortID(r.id, 8)))
			}
		}
		at := r.created.at
		if r.updated.at.After(at) {
			at = r.updated.at
		}
		recent = append(recent, writing.Stamp{Name: v.inside(s.file(r.id)), At: at})
	}
	if ago, lively := v.Lively(justNow, recent...); lively {
		asks = append(asks, fmt.Sprintf("the session was written %s ago: an agent may still be running", ago.Truncate(time.Second)))
	}
	return asks
}

// copyOf returns the row that makes the target the head, and adds to the plan what
// has to be known of it.
func (t *target) copyOf(plan *model.Plan, now time.Time) (*newRow, error) {
	one := t.one
	n := &newRow{id: newID(), session: t.parts.session, parent: t.row.id, state: t.parts.state}
	if t.row.status == statusCompleted || t.row.status == "" {
		n.finish = t.row.finishReason
	}
	if !knownFinish[n.finish] {
		n.finish = ""
	}
	if n.session == nil {
		return nil, errors.New("the row names no session")
	}
	var ahead *row
	n.created, ahead, _ = one.newest(now)
	if len(n.created) > 10 && n.created[4] != '-' { // the year 10000: RFC 3339 has none
		return nil, &model.UnsupportedError{Op: plan.Op, Reason: noneAfter}
	}
	if ahead != nil {
		text := fmt.Sprintf("row %s is dated %s, ahead of the clock here: the new row is dated just after it", model.ShortID(ahead.id, 8), ahead.created.text)
		if one.layout == layoutGo {
			text += ", and until that time has come Go takes it for newer than each turn that follows"
		}
		plan.Hazards = append(plan.Hazards, text)
	}
	if one.layout == layoutJS && one.circles(t.row) {
		n.parent = ""
		plan.Hazards = append(plan.Hazards, "the lineage of the row runs in a circle: the new row begins a lineage of its own, because a store with maxPersistedChainLength would follow the old one for ever")
	}
	if one.layout != layoutGo && one.leavesOf() == 1 && one.isParent(t.row) {
		plan.Hazards = append(plan.Hazards, "the session then has more than one branch: a store with "+one.layout.rejectOption()+" resumes none of them by the id of the session")
	}
	return n, nil
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

// circles reports whether the way up from a row comes back to a row on it.
func (s *session) circles(r *row) bool {
	passed := map[string]bool{}
	for ; r != nil; r = s.get(r.parentID) {
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

// leavesOf counts the rows that are nobody's parent.
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
