package genkit

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// How a session is mended whose SDK does not start it where it should.
//
// There are few ways. A row of Hindcast's own, which is a leaf, newest and completed, mends any row that
// stands in the way; it holds the newest state that can be gone on from. A pointer to the result of a
// search mends a pointer that leads nowhere, and lets JavaScript do without a search that fails. Rows that
// cannot be parsed are set aside where they make every search fail, and rows that hold nothing where there
// is no other row at all: they are kept in the journal and stay in the timeline.

// planRepair plans a repair. The error is a model.NothingToError where the SDK starts the
// session, and a *model.UnsupportedError with the reason where it does not and Hindcast
// cannot help.
func (s *session) planRepair(in engine.In) (*engine.Move, error) {
	if why := s.refusesSession(); why != "" {
		return nil, &model.UnsupportedError{Op: model.OpRepair, Reason: why}
	}
	stop := s.findObstacle(in.Now)
	switch {
	case stop.why == "":
		return nil, &model.NothingToError{Op: model.OpRepair}
	case stop.wait:
		return nil, &model.UnsupportedError{Op: model.OpRepair, Reason: stop.why}
	case stop.to == nil && len(stop.aside) == 0:
		return nil, &model.UnsupportedError{Op: model.OpRepair, Reason: stop.why + "; there is no row to go on from instead"}
	}
	m, why := &engine.Move{Own: &goal{op: model.OpRepair}}, ": its work has left no state"
	m.Hazards = []string{stop.why, "no row of the session has a state to go on from: Genkit then begins it anew, under the same id"}
	var t *target
	if stop.to != nil {
		var err error
		if t, err = s.findTarget(in, stop.to.id, model.OpRepair); err != nil {
			return nil, err
		}
		m, why = t.newMove(), ", because it is not JSON"
		m.Hazards = append([]string{stop.why}, m.Hazards...)
	}
	for _, r := range stop.aside {
		m.Steps = append(m.Steps, tree.Step{Name: s.fileOf(r.id), Aside: true})
		m.Writes = append(m.Writes, fmt.Sprintf("row %s is set aside%s", model.ShortID(r.id, 8), why))
	}
	if t != nil {
		return t.leadTo(m, model.OpRepair, stop.how)
	}
	if s.pointer != nil {
		m.Steps = append(m.Steps, tree.Step{Name: s.pointerFile(), Aside: true})
		m.Writes = append(m.Writes, "pointer of the session: set aside, too")
	}
	m.Writes = append(m.Writes, "journal: one entry")
	return m, nil
}

// obstacle is the reason that keeps an SDK from starting a session where it should.
type obstacle struct {
	// why says it in words, "" if nothing does.
	why string
	// to is the row to go on from, or nil; how tells in which way it becomes the head.
	to  *row
	how way
	// aside are rows to set aside.
	aside []*row
	// wait says that it may pass by itself.
	wait bool
}

// findObstacle finds out what is wrong with where the SDK starts a session.
func (s *session) findObstacle(now time.Time) (a obstacle) {
	found, scanned := s.resumedRow()
	if s.layout == layoutJS {
		for _, r := range s.rows {
			if r.broken {
				a.aside = append(a.aside, r)
			}
		}
	}
	name := "Genkit " + s.layout.String()
	switch good := s.newestGood(now); {
	case found.err != "":
		a.why, a.to = fmt.Sprintf("%s fails: %q", name, found.err), good
	case found.row == nil && good != nil:
		a.why, a.to = name+" finds no row that it resumes, and begins the session anew", good
		if found.leaf != nil {
			a.why = fmt.Sprintf("%s finds row %s, cannot resume it, and begins the session anew", name, model.ShortID(found.leaf.id, 8))
		}
	case found.row == nil:
		return obstacle{} // there is nothing to lose
	case s.layout == layoutGo && s.isRefusedByGo(found.row):
		a = s.blockedStart(found.row, now)
	case s.layout == layoutJS && s.isInCircle(found.row):
		a.why, a.to = "the lineage of the head runs in a circle: with maxPersistedChainLength the next save never ends", found.row
	case s.layout == layoutPython && s.passedOver(found, now) != nil:
		a.to = s.passedOver(found, now)
		a.why = fmt.Sprintf("%s passes over row %s, the newest, because its model does not take it", name, model.ShortID(a.to.id, 8))
	case s.isPointerUseless():
		a.why, a.to, a.how = "the pointer of the session leads to no row of it: each start goes through all rows", scanned.row, byPointer
	case s.layout == layoutJS && s.pointer == nil && len(s.blocking) > 0:
		a.why, a.to, a.how = fmt.Sprintf("the session has no pointer, and every search fails at %.60q, which is not JSON", s.blocking[0]), scanned.row, byPointer
	case len(a.aside) > 0:
		a.why, a.to, a.how = fmt.Sprintf("row %s is not JSON: without a good pointer every search in the folder fails at it", model.ShortID(a.aside[0].id, 8)), found.row, byPointer
	}
	// What is copied must not be among what goes.
	if a.to != nil && slices.Contains(a.aside, a.to) {
		a.to = nil
	}
	return a
}

// newestGood returns the newest completed row that can be gone on from, or nil.
func (s *session) newestGood(now time.Time) *row {
	for _, r := range slices.Backward(s.rows) {
		if s.isGood(r, now) {
			return r
		}
	}
	return nil
}

// isRefusedByGo reports whether Go refuses to resume the row.
func (s *session) isRefusedByGo(r *row) bool {
	return r.isWorking() || r.status == statusAborted && !r.hasState || s.refusesFailed(r)
}

// blockedStart is the obstacle of a session of Go's that stands at a row which is not resumed.
func (s *session) blockedStart(r *row, now time.Time) obstacle {
	switch {
	case r.isWorking() && !r.isStale(now):
		return obstacle{why: s.refusalReason(r, now), wait: true}
	case s.refusesFailed(r) && s.refusalReason(r, now) == "":
		return obstacle{why: fmt.Sprintf("Genkit Go refuses the session: row %s is where it stands, and is %s", model.ShortID(r.id, 8), r.status), to: r}
	}
	a := obstacle{why: fmt.Sprintf("Genkit Go refuses the session: row %s is where it stands, and %s", model.ShortID(r.id, 8), s.refusalReason(r, now)), to: s.goodAbove(r, now)}
	if a.to == nil {
		a.to = s.newestGood(now)
	}
	if a.to != nil {
		return a
	}
	// Each row that Go would come to next goes, until Go comes to a row that it resumes.
	rest := *s
	rest.pointer = nil
	for at := r; at != nil && s.isRefusedByGo(at) && (!at.isWorking() || at.isStale(now)); {
		a.aside = append(a.aside, at)
		rest.rows = slices.DeleteFunc(slices.Clone(rest.rows), func(r *row) bool { return r == at })
		at = rest.scanRows().row
	}
	return a
}

// passedOver returns the newest leaf if Python's model refuses it although it can be
// gone on from.
func (s *session) passedOver(found choice, now time.Time) *row {
	newest := s.newestGood(now)
	if newest == nil || newest == found.row || !s.pythonRefuses(newest) || compareRows(newest, found.row) < 0 {
		return nil
	}
	return newest
}

// isPointerUseless reports whether the session has a pointer that the SDK does not
// trust.
func (s *session) isPointerUseless() bool {
	return s.layout != layoutPython && s.pointer != nil && (s.pointer.err != nil || s.pointedRow() == nil)
}

var errNoRow = errors.New("no row would be resumed")
