package genkit

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// State implements store.Store: the bytes of the row's state as they are in the
// file, "null" for a row without one. The state of a step of a trace is put
// together, see traces.Traces.State.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	state, err := s.state(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("genkit: read state %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return state, nil
}

func (s *Store) state(ctx context.Context, ref model.Ref) ([]byte, error) {
	if isStep(ref.ID) {
		return s.stepState(ctx, ref)
	}
	p, _, data, err := s.row(ctx, ref)
	if err != nil {
		return nil, err
	}
	state, err := stateOf(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(p.dir, ref.ID+rowSuffix), err)
	}
	return state, nil
}

// row reads the row that ref names, its bytes with it. The file is named by the
// id, and the row in it says whether it is of the session: no other file need be
// looked at.
func (s *Store) row(ctx context.Context, ref model.Ref) (place, *row, []byte, error) {
	label, name := path.Split(ref.Session)
	var failed error
	for _, p := range candidates(s.root, s.bases(), strings.TrimSuffix(label, "/")) {
		r, data, err := s.rowIn(p, ref.ID)
		switch {
		case err != nil:
			failed = err
		case r.session() != "" && escapeSlashes.Replace(r.session()) == name:
			return p, r, data, nil
		case r.session() == "":
			if one, err := s.find(ctx, ref.Session); err == nil && one.byID[ref.ID] != nil {
				return p, r, data, nil
			}
		}
	}
	one, err := s.find(ctx, ref.Session)
	switch {
	case err != nil:
		return place{}, nil, nil, err
	case one.byID[ref.ID] != nil && failed != nil:
		return place{}, nil, nil, failed
	}
	if a := one.asideRow(ref.ID); a != nil {
		return one.place, a.row, a.data, nil
	}
	return place{}, nil, nil, model.ErrNoSnapshot
}

// rowIn reads the row of an id in a place.
func (s *Store) rowIn(p place, id string) (*row, []byte, error) {
	r, err := s.openPlace(p)
	if err != nil {
		return nil, nil, err
	}
	defer r.close()
	data, err := r.fetch(id+rowSuffix, nil)
	if err != nil {
		return nil, nil, err
	}
	decoded, data, ok := r.decode(id, data)
	if !ok || decoded.snapshotID != id {
		return nil, nil, model.ErrNoSnapshot
	}
	return &decoded, data, nil
}

// stateOf finds the state in a row.
func stateOf(data []byte) ([]byte, error) {
	at := 0
	if bytes.HasPrefix(data, bom) {
		at = len(bom)
	}
	state := []byte("null")
	_, err := walk(data, at, func(key []byte, at int) (int, error) {
		end, err := jsontape.Skip(data, at)
		if err == nil && jsontape.Unquote(key) == "state" {
			state = data[at:end:end]
		}
		return end, err
	})
	return state, err
}
