package snapshots

import (
	"bytes"
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/kinds/strands/runs"
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
	if err := ref.CheckNoVisit(); err != nil {
		return nil, err
	}
	p, err := s.locate(ref.Session)
	if err != nil {
		return nil, err
	}
	if p.scope == scopeMultiAgent {
		log, err := s.storage.Log(ctx, s.in(p))
		if err != nil {
			return nil, err
		}
		return log.Own.(*runs.Records).State(ref.ID)
	}
	data, err := s.file(ctx, &p, ref.ID)
	if err != nil {
		return nil, err
	}
	return payload(data)
}

// file reads the file of a snapshot.
func (s *Store) file(ctx context.Context, p *place, id string) ([]byte, error) {
	in := s.storage.In()
	list, err := p.list(in.Tree)
	if err != nil {
		return nil, err
	}
	for _, i := range list.items() {
		if i.id == id {
			return p.content(in, &i)
		}
	}
	w := s.storage.Writes(ctx)
	in.Told = w.Told(s.in(*p).Session)
	h := history{place: *p, listing: list, in: in}
	for _, k := range h.aside() {
		if k.id == id {
			return p.content(in, &k.item)
		}
	}
	return nil, model.ErrNoSnapshot
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
