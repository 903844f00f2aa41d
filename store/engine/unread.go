package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/inspect"
)

// Unread returns the fault of the files of a log, or of the lines in them, whose texts are not in view,
// see [inspect.UnreadFaults]. The session is the one that the port calls so. What cannot be read, or is no
// JSON, is told of it; so are the files that other faults name.
func (s *Storage) Unread(ctx context.Context, of store.Store, session string, log *Log, told ...model.Fault) ([]model.Fault, error) {
	rows := make(map[string]string, len(log.Files)) // "" where a file has several
	var names []string
	for i, name := range log.Files {
		id := log.Rows[i].ID
		if log.Aside[id] != nil || slices.ContainsFunc(told, func(f model.Fault) bool { return f.File == name }) {
			continue
		}
		if _, again := rows[name]; again {
			id = ""
		} else {
			names = append(names, name)
		}
		rows[name] = id
	}
	damaged := func(string) bool { return true } // the faults of files tell it
	return inspect.UnreadFaults(ctx, of, session, damaged, func(yield func(*inspect.Carried)) error {
		for _, name := range names {
			data, _, err := s.In().Read(name, nil)
			if err != nil {
				continue
			}
			c := inspect.Carried{File: name, Snapshot: rows[name], Beside: rows[name] == "", Data: data}
			if _, _, err = jsontape.ParseTolerant(data); err == nil {
				yield(&c)
				continue
			}
			line := 0
			for c.Data = range bytes.Lines(data) {
				line++
				c.Place = fmt.Sprintf("line %d", line)
				if jsontape.Valid(bytes.TrimSpace(c.Data)) && c.Data[0] == '{' {
					yield(&c)
				}
			}
		}
		return ctx.Err()
	})
}
