package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"hindcast/model"
)

// Rows returns the rows of the named sessions, or of all sessions in the order of their ids: each session's
// snapshots in the order of Headers, then its record if the store keeps one. Export writes these rows, and
// [Features].Import takes them. A damaged step of a trace has the state null, because the session is whole without
// it; any other error ends the sequence. If another program writes meanwhile, Rows returns the rows of the
// beginning. From the place of a row that was removed meanwhile, it returns the present rows. It leaves out a
// session that was removed meanwhile, unless it is named.
func Rows(ctx context.Context, s Store, sessions ...string) iter.Seq2[Row, error] {
	return RowsBy(ctx, s, func(headers []model.Header) StateReader {
		return func(ctx context.Context, i int) ([]byte, error) { return s.State(ctx, headers[i].Ref()) }
	}, sessions...)
}

// StateReader returns the state of the i-th header. Calls come in the order of the headers, and may skip some.
// It returns the errors of State.
type StateReader func(ctx context.Context, i int) ([]byte, error)

// RowsBy is Rows with the states as a reader gives them, which is made for the headers of a
// session.
func RowsBy(ctx context.Context, s Store, reader func([]model.Header) StateReader, sessions ...string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		named := len(sessions) > 0
		if !named {
			all, err := sessionIDs(ctx, s)
			if err != nil {
				yield(Row{}, err)
				return
			}
			sessions = all
		}
		for _, id := range sessions {
			begun := false
			ok := sessionRows(ctx, s, id, reader, func(row Row, err error) bool {
				if !named && !begun && errors.Is(err, model.ErrNoSession) {
					return true
				}
				begun = true
				return yield(row, err)
			})
			if !ok {
				return
			}
		}
	}
}

func sessionIDs(ctx context.Context, s Store) ([]string, error) {
	ids := map[string]bool{}
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		ids[info.ID] = true
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// A session is listed again at most so often, and for the same row.
const (
	mostLists     = 100
	mostListsEach = 3
)

// sessionRows returns one session's rows and reports whether to go on.
func sessionRows(ctx context.Context, s Store, id string, reader func([]model.Header) StateReader, yield func(Row, error) bool) bool {
	written := map[string]bool{} // of these the state went out
	out, gone := map[placed]bool{}, map[placed]int{}
	fail := func(err error) bool {
		yield(Row{}, fmt.Errorf("export: %w", err))
		return false
	}
	// Where the writer has taken a snapshot away that was listed, the session goes on as
	// it is listed then.
	for lists, whole := 1, false; !whole; lists++ {
		headers, err := headersOf(ctx, s, id)
		if err != nil {
			return fail(err)
		}
		whole = true
		read := reader(headers)
		for i, h := range headers {
			at := placed{h.ID, h.Visit, h.Index}
			if out[at] {
				continue
			}
			row := Row{Header: h}
			if !written[h.ID] {
				row.State, err = read(ctx, i)
			}
			if err != nil && ctx.Err() == nil && h.Marks.Has(model.MarkTraced|model.MarkDamaged) {
				row.State, err = []byte("null"), nil
			}
			if errors.Is(err, model.ErrNoSnapshot) && lists < mostLists && gone[at] < mostListsEach {
				gone[at]++
				whole = false
				break
			}
			if err != nil {
				return fail(err)
			}
			if written[h.ID], out[at] = true, true; !yield(row, nil) {
				return false
			}
		}
	}
	record := s.Features().Record
	if record == nil {
		return true
	}
	data, err := record(ctx, id)
	if err != nil {
		yield(Row{}, fmt.Errorf("export: %w", err))
		return false
	}
	if data == nil {
		return true
	}
	data.LastSnapshot = nil
	return yield(Row{Record: data}, nil)
}

// placed tells the rows of a session apart.
type placed struct {
	id    string
	visit int64
	index int
}

func headersOf(ctx context.Context, s Store, id string) (list []model.Header, err error) {
	for h, err := range s.Headers(ctx, id) {
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}
