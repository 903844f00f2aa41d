package genkit

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/folder"
	"hindcast/store/media/tree"
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
	at, err := s.row(ctx, ref)
	if err != nil {
		return nil, err
	}
	state, err := at.row.stateIn(at.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.storage.shown(path.Join(at.place.dir, ref.ID+rowSuffix)), err)
	}
	return state, nil
}

// rowAt is a row with its bytes, and where it is.
type rowAt struct {
	storage *storage
	place   place
	session string // in the names of the storage
	row     *row
	data    []byte
}

// row reads the row that ref names, its bytes with it. The file is named by the
// id, and the row in it says whether it is of the session: no other file need be
// looked at.
func (s *Store) row(ctx context.Context, ref model.Ref) (*rowAt, error) {
	if err := ref.Once(); err != nil {
		return nil, err
	}
	var failed error
	for st, where := range s.places(ref.Session) {
		in, spot := st.In(), where.Own.(spot)
		at := &rowAt{storage: st, place: place{dir: spot.dir, pointers: tree.IsFolder(in, path.Join(spot.dir, pointersFolder))}, session: where.Session}
		var err error
		at.row, at.data, err = rowIn(in, spot.dir, ref.ID)
		switch {
		case err != nil:
			failed = err
		case at.row.session() == spot.name:
			return at, nil
		case at.row.session() == "":
			if one, err := s.find(ctx, ref.Session); err == nil && one.one().byID[ref.ID] != nil {
				return at, nil
			}
		}
	}
	one, err := s.find(ctx, ref.Session)
	switch {
	case err != nil:
		return nil, err
	case one.one().byID[ref.ID] != nil && failed != nil:
		return nil, failed
	}
	a := one.log.Aside[ref.ID]
	if a == nil {
		return nil, model.ErrNoSnapshot
	}
	data, err := one.storage.Kept(a.Version)
	if err != nil {
		return nil, err
	}
	r, _ := decodeRow(ref.ID, data)
	return &rowAt{one.storage, one.one().place, one.log.Place.Session, &r, data}, nil
}

// rowIn reads the row of an id in a folder.
func rowIn(in folder.In, dir, id string) (*row, []byte, error) {
	is, data, err := tree.Decoded(in.Tree, in.Memo, dir, id+rowSuffix, rowCodec)
	if err != nil {
		return nil, nil, err
	}
	if !is.isRow() {
		return nil, nil, model.ErrNoSnapshot
	}
	return is, data, nil
}

// stateIn finds the state in the bytes that the row was decoded from.
func (r *row) stateIn(data []byte) ([]byte, error) {
	if r.hasState && len(r.flaws) == 0 {
		return findState(data, r.size) // there is one
	}
	return stateOf(data)
}

// stateOf finds the state in a row.
func stateOf(data []byte) ([]byte, error) { return findState(data, 0) }

// findState finds the state in a row. Where its size is known, it is not looked at again.
func findState(data []byte, size int64) ([]byte, error) {
	at := 0
	if bytes.HasPrefix(data, bom) {
		at = len(bom)
	}
	state := []byte("null")
	_, err := walk(data, at, func(key []byte, at int) (end int, err error) {
		is := jsontape.Unquote(key) == "state"
		if is && size > 0 {
			end = at + int(size)
		} else if end, err = jsontape.Skip(data, at); err != nil {
			return end, err
		}
		if is {
			state = data[at:end:end]
		}
		return end, nil
	})
	return state, err
}
