package rows

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/store/engine/inspect"
)

// Decoder is a format whose rows hold more than JSON and texts, or what its framework keeps for itself.
type Decoder interface {
	// Decode returns the content of a column of a row, as JSON or as text; nil if the column is empty.
	Decode(column string, row map[string]any) []byte
}

// yieldCarried calls yield with the content of each stored row of a session.
func (m *medium) yieldCarried(ctx context.Context, t tables, at Place, yield func(*inspect.Carried)) error {
	decoder, _ := m.kind.Format.(Decoder)
	type part struct{ table, where string }
	list := []part{{m.kind.Snapshots, m.kind.whereClause()}}
	for _, table := range slices.Sorted(maps.Keys(m.kind.Tables)) {
		has, err := t.Columns(ctx, at.Name(table))
		if err != nil {
			return err
		}
		if table != m.kind.Snapshots && !slices.ContainsFunc(m.kind.Key, func(column string) bool { return !has[column] }) {
			list = append(list, part{table, m.kind.whereClause()})
		}
	}
	for _, b := range m.kind.Sides {
		has, err := t.Columns(ctx, b.Table)
		if err != nil {
			return err
		}
		if has[b.Column] {
			list = append(list, part{b.Table, " WHERE " + b.Column + " IN (" + b.Of + ")"})
		}
	}
	for i, from := range list {
		reads := "*"
		if i == 0 && m.kind.Reads != "" {
			reads = m.kind.Reads
		}
		err := t.Records(ctx, func(row map[string]any) error {
			c := inspect.Carried{File: at.Name(from.table), Beside: i > 0, Data: []byte{'{'}}
			if id := row[m.kind.ID]; id != nil {
				c.Snapshot = fmt.Sprint(id)
			}
			for _, column := range slices.Sorted(maps.Keys(row)) {
				text, is := row[column].(string)
				said := []byte(text)
				if is && decoder != nil {
					said = decoder.Decode(column, row)
				}
				if !is || len(said) == 0 {
					continue
				}
				if !PythonReads(said) {
					said = jsontape.AppendQuoted(nil, string(said))
				}
				if len(c.Data) > 1 {
					c.Data = append(c.Data, ',')
				}
				c.Data = append(append(append(c.Data, quoteJSON(column)...), ':'), said...)
			}
			c.Data = append(c.Data, '}')
			if i == 0 {
				c.File = c.Snapshot
			}
			yield(&c)
			return nil
		}, "SELECT "+reads+" FROM "+at.Table(from.table)+from.where, at.Key...)
		if err != nil {
			return err
		}
	}
	return nil
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }
