package redact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"

	"hindcast/model"
	"hindcast/model/prompts"
	"hindcast/store"
)

// NameError says that the name of a session, or an id that is no hash, has a secret. It names
// what stands in other rows, so it is not hidden.
type NameError struct{ What string }

func (e *NameError) Error() string {
	return "the " + e.What + " has what looks like a secret, and is not hidden: share what lies beside it with --only, or a fork"
}

// Rows reads rows of a store once to learn their secrets, and returns the rows without the
// secrets. It calls rows for each of the two readings. From a snapshot that was added in
// between, it hides the snapshot's own secrets and the secrets of the others.
//
// The id of a snapshot is the hash of its state. If the state changed, Rows derives a new id
// wherever the id stands: as a parent, and in a reason. An id that is no hash stays, because
// it reveals nothing of the state. If the parent of a row is not among the rows, its id is
// derived from its state in the store.
//
// An error ends the reading: from a snapshot whose state is unreadable or no JSON, an
// [UnmetError], a [NameError], and the errors of State.
func (r *Redactor) Rows(ctx context.Context, s store.Store, rows func() iter.Seq2[store.Row, error]) (iter.Seq2[store.Row, error], error) {
	for row, err := range rows() {
		if err != nil {
			return nil, err
		}
		state := row.State
		if row.Record != nil {
			state = row.Record.State
		}
		if state != nil {
			if err := r.Learn(state); err != nil {
				return nil, about(&row, err)
			}
		}
	}
	if err := r.FinishLearning(); err != nil {
		return nil, err
	}
	ids := &renamed{ctx: ctx, from: s, redactor: r, ids: map[model.Ref]string{}, titles: map[model.Ref]string{}, salt: rand.Text()}
	return func(yield func(store.Row, error) bool) {
		for row, err := range rows() {
			if err == nil {
				if err = ids.redact(&row); err != nil {
					err = about(&row, err)
				}
			}
			if err != nil {
				yield(store.Row{}, err)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}, nil
}

// about says which row an error is about.
func about(row *store.Row, err error) error {
	if row.Record != nil {
		return fmt.Errorf("redact: the record of session %.80q: %w", row.Record.ID, err)
	}
	return fmt.Errorf("redact: snapshot %.80q of session %.80q: %w", row.Header.ID, row.Header.SessionID, err)
}

// renamed knows which ids the snapshots have whose states changed.
type renamed struct {
	ctx      context.Context
	from     store.Store
	redactor *Redactor
	// ids has the new ids of requested snapshots, by their old ones.
	ids map[model.Ref]string
	// titles has the titles of the states that changed.
	titles map[model.Ref]string
	salt   string
}

// redact takes the secrets out of a row.
func (n *renamed) redact(row *store.Row) (err error) {
	if row.Record != nil {
		record := *row.Record
		if err := n.name("name of the session", record.ID); err != nil {
			return err
		}
		record.State, err = n.redactor.State(record.State)
		row.Record = &record
		return err
	}
	h := &row.Header
	if err := n.name("name of the session", h.SessionID); err != nil {
		return err
	}
	for _, id := range []string{h.ID, h.ParentID} {
		if err := n.name("id of the snapshot", id); err != nil {
			return err
		}
	}
	at := model.Ref{Session: h.SessionID, ID: h.ID}
	if row.State != nil {
		old := row.State
		if row.State, err = n.redactor.State(old); err != nil {
			return err
		}
		h.Size = int64(len(row.State))
		n.take(at, h, old, row.State)
	}
	if h.ID, err = n.id(at); err != nil {
		return err
	}
	if title, changed := n.titles[at]; changed {
		h.Title = title // it was made of the state, and may have the beginning of a secret
	}
	if h.ParentID != "" {
		if h.ParentID, err = n.id(model.Ref{Session: h.SessionID, ID: h.ParentID}); err != nil {
			return err
		}
	}
	if h.Reason != nil {
		reason := *h.Reason
		if reason.TargetID != "" {
			if reason.TargetID, err = n.id(model.Ref{Session: h.SessionID, ID: reason.TargetID}); err != nil {
				return err
			}
		}
		h.Reason = &reason
	}
	for name, text := range map[string]*string{"title": &h.Title, "event": &h.EventName, "position": &h.Position, "alias": &h.Alias} {
		if *text, err = n.redactor.Text(name, *text); err != nil {
			return err
		}
	}
	if h.Attributes != "" {
		said, err := n.redactor.State([]byte(h.Attributes))
		if err != nil {
			return err
		}
		h.Attributes = model.Attributes(said)
	}
	return n.labels(row)
}

// labels takes the secrets out of the labels of a row. A label whose name is one is left out.
func (n *renamed) labels(row *store.Row) error {
	var kept []model.Label
	for _, label := range row.Labels {
		name, err := n.redactor.Text("label", label.Name)
		if err != nil {
			return err
		}
		if label.Note, err = n.redactor.Text("note", label.Note); err != nil {
			return err
		}
		if name == label.Name {
			kept = append(kept, label)
		}
	}
	row.Labels = kept
	return nil
}

// name refuses a name that has a secret.
func (n *renamed) name(what, name string) error {
	if isHash(name) || n.redactor.options.Unredacted {
		return nil
	}
	for _, s := range n.redactor.find(name, false) {
		if s.kind != "entropy" { // names are drawn by chance, too
			return &NameError{what}
		}
	}
	if n.redactor.replacer.Replace(name) != name {
		return &NameError{what}
	}
	return nil
}

// take notes what became of a snapshot whose state was redacted.
func (n *renamed) take(at model.Ref, h *model.Header, old, state []byte) {
	n.ids[at] = at.ID
	if string(old) == string(state) {
		return
	}
	if isHash(at.ID) {
		n.ids[at] = model.SnapshotID(state)
	}
	if !n.redactor.hid && prompts.NoticeOf(state) == "" {
		return // the words of the title stay
	}
	n.titles[at] = ""
	if again, err := store.Header(store.Snapshot(*h, state)); err == nil {
		n.titles[at] = again.Title
	}
}

// id returns the new id of a snapshot. If it is not known yet, id reads the state from the store. A snapshot
// that the store no longer has keeps its id.
func (n *renamed) id(at model.Ref) (string, error) {
	if id, known := n.ids[at]; known {
		return id, nil
	}
	if !isHash(at.ID) {
		return at.ID, nil
	}
	state, err := n.from.State(n.ctx, at)
	if errors.Is(err, model.ErrNoSnapshot) || errors.Is(err, model.ErrNoSession) {
		// By the hash of a state that cannot be looked into a guess at it could be proved.
		// So it is hashed with a salt: it still says which rows have the same parent.
		n.ids[at] = model.SnapshotID([]byte(n.salt + at.ID))
		return n.ids[at], nil
	}
	if err != nil {
		return "", err
	}
	hidden, err := n.redactor.State(state)
	if err != nil {
		return "", err
	}
	n.take(at, &model.Header{ID: at.ID, SessionID: at.Session}, state, hidden)
	return n.ids[at], nil
}

// isHash reports whether an id may be the SHA-256 of a state.
func isHash(id string) bool {
	if len(id) != 64 {
		return false
	}
	for i := range len(id) {
		if c := id[i] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
