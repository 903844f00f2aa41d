package mapped

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

// Read returns the rows that a map finds in the sources: session by session in
// the order in which they begin, and in each in the order of the sources, parents
// before children. Rows that are listed newest first are turned around: those of
// a session in which every parent that is there comes after its child, or where
// parents are not mapped, in which times only ever go back.
//
// A parent may be missing, and parents may run in a circle: that is for the
// timeline to tell. An id that is there again with the same state, or without
// one, is another visit. A time is a text (RFC 3339, isoformat of Python, Date of JavaScript; UTC
// where it names no zone) or a number since 1970, whose magnitude tells its unit:
// seconds up to 10^11, milliseconds to 10^14, microseconds to 10^17, then
// nanoseconds.
//
// Rows that the map's where does not take are passed over; skipped, unless it is nil,
// is told how many that were before the first row is given.
//
// It ends with an error at the first row that cannot be imported, before it has
// given any: a [RowError], or that of a file. What Python's json takes is taken,
// but for a state, which has to be JSON. Nothing is written, but a stream is
// copied into a temporary file until the end.
func Read(ctx context.Context, sources []Source, m Map, skipped func(rows int)) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		list, done, err := gather(sources)
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		if err := read(ctx, list, m, skipped, yield); err != nil {
			yield(store.Row{}, errors.Join(err, done()))
			return
		}
		_ = done() // all was read, and copies have lost their names already
	}
}

func read(ctx context.Context, list []file, m Map, skipped func(rows int), yield func(store.Row, error) bool) error {
	f := finder{m: m, sessions: map[string]*session{}}
	if err := f.readFiles(ctx, list); err != nil {
		return err
	}
	if skipped != nil {
		skipped(f.skipped)
	}
	var r stateReader
	defer r.close()
	for _, s := range f.order {
		for _, found := range s.arrange(m) {
			if err := ctx.Err(); err != nil {
				return err
			}
			state, err := r.readState(s, m, found)
			if err != nil {
				return err
			}
			if !yield(store.Row{Header: found.header, State: state}, nil) {
				return nil
			}
		}
	}
	return nil
}

// finder finds all rows.
type finder struct {
	m        Map
	sessions map[string]*session
	order    []*session
	// skipped counts the rows that where does not take.
	skipped int
}

// readFiles finds the rows of all files. It is an error if where takes none of them.
func (f *finder) readFiles(ctx context.Context, list []file) error {
	for i := range list {
		if err := f.file(ctx, &list[i]); err != nil {
			return err
		}
	}
	if len(f.order) == 0 && f.skipped > 0 {
		name := list[0].name
		if len(list) > 1 {
			name += " and the others"
		}
		return &RowError{File: name, Column: columnWhere, Err: fmt.Errorf("%s takes none of %s", f.m.where, model.Count(f.skipped, "row"))}
	}
	return nil
}

// file finds the rows of one file.
func (f *finder) file(ctx context.Context, in *file) error {
	c, err := in.open()
	if err != nil {
		return fmt.Errorf("mapped: read %s: %w", in.name, files.Cause(err))
	}
	defer c.Close() // it was only read
	for d, err := range documents(io.NewSectionReader(c, 0, math.MaxInt64), isLines(in.name)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return &RowError{File: in.name, Line: d.line, Err: files.Cause(err)}
		}
		if err := f.document(in, d); err != nil {
			return err
		}
	}
	return nil
}

// elements leads to all that is in an array.
var elements = query{text: "$[*]", document: true, steps: []step{{kind: stepAll}}}

// document finds the rows of one document.
func (f *finder) document(in *file, d document) error {
	fail := func(place, column string, err error) error {
		return &RowError{File: in.name, Line: d.line, Place: place, Column: column, Err: err}
	}
	tape, err := files.Parse(d.data)
	if err != nil {
		return fail("", "", err)
	}
	rows, spread := []jsontape.Node{0}, f.m.rows
	if spread == nil && !f.m.whole && d.line == 0 && tape.Kind(0) == jsontape.Array {
		spread = &elements
	}
	if spread != nil {
		var ok bool
		if rows, ok = spread.findAll(tape); !ok {
			return fail("", columnRows, errors.New(spread.text+" leads to no array and to no object; the document "+members(tape, 0)))
		}
	}
	for _, at := range rows {
		if f.m.where != nil {
			taken, err := f.m.where.matchesRow(tape, at)
			if err != nil {
				return fail(tape.Pointer(at), columnWhere, err)
			}
			if !taken {
				f.skipped++
				continue
			}
		}
		r := reader{m: f.m, tape: tape, at: at}
		found, err := r.row()
		if err != nil {
			return fail(tape.Pointer(at), r.column, err)
		}
		found.file, found.line = in, d.line
		for i := range found.parts {
			found.parts[i].start += d.start
		}
		from, to := tape.Span(at)
		found.from, found.to = d.start+int64(from), d.start+int64(to)
		if err := f.add(found, spread != nil || d.line > 0); err != nil {
			return fail(tape.Pointer(at), err.column, err.error)
		}
	}
	return nil
}

// columnError is an error about a column of the map.
type columnError struct {
	column string
	error
}

// add puts a row into its session. many says that its file has, or might have,
// more than this one.
func (f *finder) add(found row, many bool) *columnError {
	h := &found.header
	home := ""
	if h.SessionID == "" {
		if h.SessionID, home = found.file.folder, found.file.home; many {
			h.SessionID, home = found.file.whole, found.file.place
		}
	}
	s := f.sessions[h.SessionID]
	if s == nil {
		s = &session{home: home, states: map[string]int{}}
		f.sessions[h.SessionID], f.order = s, append(f.order, s)
	}
	if s.home != home {
		return &columnError{columnSession, fmt.Errorf("both %s and %s would make the session %q; name the session in the map, as in session=thread_id", s.home, home, h.SessionID)}
	}
	if _, named := f.m.columns[columnID]; f.m.appends && !named && len(s.rows) > 0 {
		sum := sha256.Sum256(append([]byte(s.rows[len(s.rows)-1].header.ID), found.sum[:]...))
		h.ID = hex.EncodeToString(sum[:])
	}
	i, again := s.states[h.ID]
	if found.stateless != nil {
		if !again {
			return &columnError{columnState, found.stateless}
		}
		found.leanOn(&s.rows[i])
	}
	if !again {
		s.states[h.ID] = len(s.rows)
	} else if first := &s.rows[i]; first.sum != found.sum {
		return &columnError{columnID, fmt.Errorf("%q was there with another state in %s; without id in the map it is the SHA-256 of the state", h.ID, documentName(first.file.name, first.line))}
	}
	s.rows = append(s.rows, found)
	return nil
}

// stateReader reads states out of the places where they were found. It keeps one
// file open.
type stateReader struct {
	file *file
	in   content
}

var errChanged = errors.New("it changed while it was read")

// readState returns the state at a row of a session.
func (r *stateReader) readState(s *session, m Map, at *row) ([]byte, error) {
	if !m.joins() {
		return r.read(at, &at.parts[0])
	}
	var failed error
	state, err := r.describeStates(s, m, &failed).State(at.header.ID)
	return state, cmp.Or(failed, err)
}

// describeStates describes the states of a session that are put together. failed is where the first error of reading goes.
func (r *stateReader) describeStates(s *session, m Map, failed *error) *rows.Lists {
	return &rows.Lists{
		Begin: joinedBegin, End: func(int) string { return joinedEnd }, Len: len(s.rows),
		ID: func(i int) string { return s.rows[i].header.ID },
		Before: func(i int) int {
			if !m.appends {
				return -1
			}
			return s.parentOf(&s.rows[i])
		},
		Item: func(i int) []byte {
			found := &s.rows[i]
			var texts [][]byte
			for k := range found.parts {
				text, err := r.read(found, &found.parts[k])
				if *failed = cmp.Or(*failed, err); err != nil {
					return nil
				}
				texts = append(texts, text)
			}
			return listMessages(texts)
		},
	}
}

// read reads a part of a state.
func (r *stateReader) read(found *row, p *part) ([]byte, error) {
	fail := func(err error) error {
		return &RowError{File: found.file.name, Line: found.line, Column: columnState, Err: files.Cause(err)}
	}
	if err := r.open(found.file); err != nil {
		return nil, fail(err)
	}
	text := make([]byte, p.size)
	_, err := r.in.ReadAt(text, p.start)
	if err != nil && err != io.EOF {
		return nil, fail(err)
	}
	if err == nil && p.inside != nil {
		if text, err = findIn(text, p.inside); err != nil {
			return nil, fail(errChanged)
		}
	}
	if err != nil || store.CheckState(text) != nil || sha256.Sum256(jsontape.AppendCompact(nil, text)) != p.sum {
		return nil, fail(errChanged)
	}
	return text, nil
}

// open opens a file, unless it is open.
func (r *stateReader) open(f *file) error {
	if r.file == f {
		return nil
	}
	r.close()
	in, err := f.open()
	if err == nil {
		r.file, r.in = f, in
	}
	return err
}

// findIn returns the value that steps lead to inside a text.
func findIn(text []byte, steps []step) ([]byte, error) {
	tape, err := files.Parse(text)
	if err != nil {
		return nil, err
	}
	v, err := value{tape, 0}.follow(steps)
	if err != nil || v.node == jsontape.None {
		return nil, errors.Join(err, errChanged)
	}
	return v.tape.Raw(v.node), nil
}

func (r *stateReader) close() {
	if r.in != nil {
		r.in.Close() // it was only read
	}
	r.file, r.in = nil, nil
}
