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

// readState returns the member "data" of the file of a row, as it was written.
func (s *Store) readState(_ context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	p := row.Place.Own.(place)
	if p.scope == scopeMultiAgent {
		log, _, err := row.In()
		if log == nil {
			return nil, err
		}
		return log.Own.(*runs.Records).State(row.ID)
	}
	data, err := p.readData(in, row.ID)
	if err != nil {
		return nil, err
	}
	return dataOf(data)
}

// readData reads the file of the snapshot of an id.
func (p *place) readData(in engine.In, id string) ([]byte, error) {
	list, err := p.listFiles(in.Tree)
	if err != nil {
		return nil, err
	}
	for _, names := range [...][]string{list.latest, list.history} {
		if i := slices.IndexFunc(names, func(name string) bool { return idOf(name) == id }); i >= 0 {
			return p.readContent(in, &item{name: names[i]})
		}
	}
	h := history{place: *p, listing: list, in: in}
	for _, k := range h.listAside() {
		if k.id == id {
			return p.readContent(in, &k.item)
		}
	}
	return nil, model.ErrNoSnapshot
}

// dataOf returns the data of a snapshot file.
func dataOf(file []byte) (data []byte, err error) {
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
