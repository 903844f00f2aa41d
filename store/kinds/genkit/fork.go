package genkit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/splice"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// How a session is forked.
//
// The new session is one row in the same place: the state of the target, in which
// the session is another, and no parent. The rows before it are not copied. A state
// holds the whole conversation, so no SDK looks at them; and a parent in the other
// session would be none: JavaScript goes up to parents whatever their session is,
// and would end in the old one. That the row comes from there is told by the
// journal.

// errNoName: a new session was given no name that the SDKs take.
var errNoName = fmt.Errorf("an id of a session has 1 to %d bytes of UTF-8, no dot in front, no control character, / \\ or \"..\"", mostName)

// nameIn returns the id that a new session gets which is called as: its id alone, or that
// with the label of its place before it.
func nameIn(label, as string) (sid string, err error) {
	sid = as
	if label != "" {
		sid = strings.TrimPrefix(as, label+"/")
	}
	if !validName(sid) || !utf8.ValidString(sid) || len(sid) > mostName || strings.TrimSpace(sid) == "" {
		return "", fmt.Errorf("%.80q: %w", as, errNoName)
	}
	return sid, nil
}

// planFork plans a session of one row in the place of the old one, whose label is given, of the id that the
// change names. An edited fork has another state: all that a state of Genkit has can be changed,
// custom, messages and artifacts, and its sessionId becomes that of the new session. The
// errors are store.ErrSessionExists and a *model.UnsupportedError.
func (t *target) planFork(c model.Change, label string) (*engine.Move, error) {
	one := t.one
	sid, err := nameIn(label, c.As)
	if err != nil {
		return nil, err
	}
	as := sessionName(label, sid)
	if there := one.sessions[sid]; there != nil && len(there.rows) > 0 {
		return nil, fmt.Errorf("%q: %w", as, store.ErrSessionExists)
	}
	which, edits := "", c.Op == model.OpEdit
	if edits {
		laid := bytes.TrimSpace(splice.Pretty(bytes.TrimSpace(c.State)))
		t.setState(bytes.ReplaceAll(laid, []byte("\n"), []byte("\n  "))) // it stands one level deep in its row
		which = " as it was edited"
	}
	m := t.newMove()
	place := placeOf(one.place.dir, sid, as)
	m.New, m.Own = &place, &goal{op: c.Op, target: t, edits: edits}
	quoted := one.layout.quoteText(sid)
	n := newRow{id: uuid.NewString(), session: quoted, created: one.layout.formatTime(t.now, one.rows[len(one.rows)-1])}
	if t.parts.state != nil {
		n.state = ofSession(t.parts.state, quoted)
	}
	if s := t.row.status; !edits && (s == statusCompleted || s == "") && knownFinish[t.row.finishReason] {
		n.finish = t.row.finishReason
	}
	m.Steps = tree.Steps{{Name: one.fileOf(n.id), Data: n.encodeRow(one.layout)}}
	m.Writes = append(m.Writes, fmt.Sprintf("the one row of session %q, %s: the state of #%d%s, with no parent", as, n.id, m.Target.Index, which))
	if one.layout != layoutPython {
		made := session{sid: sid, grouping: one.grouping, layout: one.layout}
		m.Steps = append(m.Steps, made.pointTo(n.id, n.created, t.now))
		m.Writes = append(m.Writes, "pointer of the new session: it names that row")
	}
	m.Writes = append(m.Writes, "journal: one entry")
	return m, nil
}
