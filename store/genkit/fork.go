package genkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/splice"
	"hindcast/store"
)

// How a session is forked.
//
// The new session is one row in the same place: the state of the target, in which
// the session is another, and no parent. The rows before it are not copied. A state
// holds the whole conversation, so no SDK looks at them; and a parent in the other
// session would be none: JavaScript goes up to parents whatever their session is,
// and would end in the old one. That the row comes from there is told by the
// journal.

// planEdit plans an edited fork. All that a state of Genkit has can be changed: custom,
// messages and artifacts. Its sessionId becomes that of the new session. The error is a
// *PlaceError where a member is not of the shape that every SDK reads.
func (s *Store) planEdit(ctx context.Context, ref model.Ref, as string, state []byte) (model.Plan, error) {
	if err := checkState(state); err != nil {
		return model.Plan{}, err
	}
	laid := bytes.TrimSpace(splice.Pretty(bytes.TrimSpace(state)))
	laid = bytes.ReplaceAll(laid, []byte("\n"), []byte("\n  ")) // it stands one level deep in its row
	return s.planFork(ctx, model.OpEdit, ref, as, laid)
}

// errNoName: a new session was given no name that the SDKs take.
var errNoName = fmt.Errorf("the id of a session may not be empty, longer than %d bytes, begin with a dot, or hold a slash, a backslash, \"..\", a control character or what is not UTF-8", mostName)

// planFork plans a session of one row in the place of the old one: as is its id alone, or
// that with the label of the place before it. edited is its state, nil for that of the
// target. The errors are store.ErrSessionExists and a *model.UnsupportedError, as in
// planRestore.
func (s *Store) planFork(ctx context.Context, op model.Op, ref model.Ref, as string, edited []byte) (model.Plan, error) {
	t, err := s.target(ctx, ref, op)
	if err != nil {
		return model.Plan{}, err
	}
	one := t.one
	sid := as
	if one.place.label != "" {
		sid = strings.TrimPrefix(as, one.place.label+"/")
	}
	if !validName(sid) || !utf8.ValidString(sid) || len(sid) > mostName || strings.TrimSpace(sid) == "" {
		return model.Plan{}, fmt.Errorf("%.80q: %w", as, errNoName)
	}
	there, err := s.sessionIn(ctx, one.place, sid)
	if err != nil {
		return model.Plan{}, err
	}
	if len(there.rows) > 0 {
		return model.Plan{}, fmt.Errorf("%q: %w", there.id, store.ErrSessionExists)
	}
	there.layout = one.layout
	if edited != nil {
		t.changed(edited)
	}
	plan := t.plan(op)
	plan.NewSession = there.id
	if head := one.head(); head != nil {
		plan.Head = one.point(head)
	}
	now := s.now()
	session := one.layout.quote(sid)
	n := newRow{id: newID(), session: session, created: one.layout.clock(now, one.rows[len(one.rows)-1])}
	if t.parts.state != nil {
		n.state = ofSession(t.parts.state, session)
	}
	if s := t.row.status; edited == nil && (s == statusCompleted || s == "") && knownFinish[t.row.finishReason] {
		n.finish = t.row.finishReason
	}
	steps := []step{{row: n.id, data: n.encode(one.layout)}}
	what := fmt.Sprintf("the state of #%d", plan.Target.Index)
	if edited != nil {
		what = fmt.Sprintf("the state of #%d as it was edited", plan.Target.Index)
	}
	plan.Writes = append(plan.Writes, fmt.Sprintf("the one row of session %q, %s: %s, with no parent", there.id, n.id, what))
	if one.layout != layoutPython {
		steps = append(steps, step{data: one.layout.newPointer(n.id, n.created, now)})
		plan.Writes = append(plan.Writes, "pointer of the new session: it names that row")
	}
	plan.Writes = append(plan.Writes, "journal: one entry")
	after := there.then(steps)
	after.layout = one.layout
	head := after.head()
	if head == nil {
		return model.Plan{}, errors.New("the new row cannot be read back")
	}
	from := *t
	from.row = head
	after.loads(&plan, after, head, &from)
	if op == model.OpEdit {
		plan.Hazards = append(plan.Hazards, "what tools did outside of the session stays as it is: only what the agent knows of it was edited")
	}
	c := carry{vault: s.vaultOf(one.place.base), place: one.place, sid: sid, after: after.ids(), head: model.Point{ID: head.id}}
	return s.write(plan, c, steps, t)
}
