package old

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// State implements store.Store: the member "data" of the file, as it was
// written.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	state, err := s.state(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: read state %q of session %q: %w", kind, ref.ID, ref.Session, err)
	}
	return state, nil
}

func (s *Store) state(ctx context.Context, ref model.Ref) ([]byte, error) {
	p, err := s.locate(ref.Session)
	if err != nil {
		return nil, err
	}
	if p.scope == scopeMultiAgent {
		return s.runState(ctx, &p, ref.ID)
	}
	data, err := s.file(ctx, &p, ref.ID)
	if err != nil {
		return nil, err
	}
	return payload(data)
}

// file reads the file of a snapshot.
func (s *Store) file(ctx context.Context, p *place, id string) ([]byte, error) {
	o, err := s.open(p)
	if err != nil {
		return nil, err
	}
	defer o.close()
	items, err := o.items()
	if err != nil {
		return nil, err
	}
	for _, i := range append(items, s.keptItems(p, s.entriesOf(ctx, p), items)...) {
		if i.id == id {
			return s.content(p, &o, &i)
		}
	}
	return nil, model.ErrNoSnapshot
}

// content reads the file of an item. The error is model.ErrNoSnapshot where it is
// gone.
func (s *Store) content(p *place, o *opened, i *item) (data []byte, err error) {
	if i.kept != nil {
		data, err = s.writer.journal.Read(*i.kept)
	} else if folder := o.folder(i.name); folder == nil {
		err = fs.ErrNotExist
	} else {
		data, err = folder.Read(i.name, nil)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, model.ErrNoSnapshot
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p.file(i.name), err)
	}
	return data, nil
}

// payload returns the data of a snapshot file.
func payload(file []byte) (data []byte, err error) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	for m, err := range jsontape.Members(file) {
		if err != nil {
			return nil, fmt.Errorf("the file cannot be read: %w", err)
		}
		if string(m.Key) == `"data"` {
			data = m.Value
		}
	}
	if data == nil {
		return nil, errNoData
	}
	return data, nil
}
