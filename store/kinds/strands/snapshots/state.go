package snapshots

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
)

// state returns the member "data" of the file of a row, as it was written.
func (s *Store) state(_ context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	p := row.Place.Own.(place)
	if p.scope == scopeMultiAgent {
		log, _, err := row.In()
		if log == nil {
			return nil, err
		}
		return log.Own.(*runs.Records).State(row.ID)
	}
	data, err := p.data(in, row.ID)
	if err != nil {
		return nil, err
	}
	return payload(data)
}

// data reads the file of the snapshot of an id.
func (p *place) data(in engine.In, id string) ([]byte, error) {
	list, err := p.list(in.Tree)
	if err != nil {
		return nil, err
	}
	for _, names := range [...][]string{list.latest, list.history} {
		if i := slices.IndexFunc(names, func(name string) bool { return idOf(name) == id }); i >= 0 {
			return p.content(in, &item{name: names[i]})
		}
	}
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
