package chat

import (
	"cmp"
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
)

// How a search reads a session
//
// Of a session that has a text somewhere, only the messages that may have it are made, with a
// few before each, which tell whose results they have. The others are empty, so that the
// messages keep their numbers:
//
//	entries  e0   e1   e2   e3   e4     e3 has the text in its records
//	states   {"messages":[{},m1,m2,m3,{}],"meta":…}

// blank stands for a message that does not have the text.
const blank = ",{}"

// around is how many messages are made before one that may have the text.
const around = 4

// Sieve is that of store.Features.
func (s *Store) Sieve(ctx context.Context, session string, text []byte, has func([]byte) bool) (func(context.Context, []model.Ref, store.Loom) error, error) {
	format, ok := s.plainFormat(text)
	if !ok {
		return nil, nil
	}
	one, err := s.findSession(ctx, session)
	if err != nil {
		return nil, s.Wrap(err, "search session %q", session)
	}
	in := s.storage.In()
	inModel := func(e Entry) bool { return e.Meta != nil && has(jsontape.AppendQuoted(nil, e.Meta.Model)) } // and in no record of the entry
	if len(format.Sources(in, one.Spot)) == 0 || slices.ContainsFunc(one.Entries, inModel) {
		return nil, nil
	}
	defer in.Hold(path.Dir(one.Spot.File))()
	made, err := one.searchEntries(ctx, in, has)
	if err != nil {
		return nil, s.Wrap(err, "search session %q", session)
	}
	one.widenMatches(made)
	return func(ctx context.Context, refs []model.Ref, to store.Loom) error {
		to.Expect = nil // few are made
		return s.weaveStates(ctx, one, refs, to, func(in engine.In, of *Session, i int, used *joined) (*joined, error) {
			if made[i] {
				return s.makeText(in, of, i, used)
			}
			blanks := new(joined)
			blanks.addText(strings.Repeat(blank, format.Adds(&of.Entries[i])))
			return blanks, nil
		})
	}, nil
}

// searchEntries returns which entries have records in which has finds something. The records alone
// are looked at, in the order in which they lie in the file.
func (s *Session) searchEntries(ctx context.Context, in engine.In, has func([]byte) bool) ([]bool, error) {
	type record struct {
		Span
		entry int
	}
	found, list := make([]bool, len(s.Entries)), []record(nil)
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.File != s.Spot.File || len(e.Records) == 0 {
			found[i] = true
			continue
		}
		for _, r := range e.Records {
			list = append(list, record{r, i})
		}
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.At, b.At) })
	file, err := in.OpenFile(s.Spot.File)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	lent := buffers.Get().(*[]byte)
	defer buffers.Put(lent)
	for len(list) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// As many as lie close to each other are read at once.
		n, from, end := 1, list[0].At, list[0].At+list[0].Len
		for n < len(list) && list[n].At-end < searchedAtOnce/16 && list[n].At+list[n].Len-from <= searchedAtOnce {
			end = max(end, list[n].At+list[n].Len)
			n++
		}
		*lent = slices.Grow((*lent)[:0], int(end-from))
		piece := (*lent)[:end-from]
		if got, err := file.ReadAt(piece, from); got < len(piece) {
			return nil, files.Cause(cmp.Or(err, io.ErrUnexpectedEOF))
		}
		for _, r := range list[:n] {
			found[r.entry] = found[r.entry] || has(piece[r.At-from:][:r.Len])
		}
		list = list[n:]
	}
	return found, nil
}

// widenMatches adds to some entries those whose messages are close before them in a state.
func (s *Session) widenMatches(to []bool) {
	of := slices.Clone(to)
	for i := range s.Entries {
		at := i
		for n := 0; of[i] && n < around; n++ {
			if at = s.parents[at]; at < 0 {
				break
			}
			to[at] = true
		}
		list := s.Entries[i].Context
		for k, at := range list { // what follows the entry is behind the last of them
			if of[at] || k >= len(list)-around {
				for _, before := range list[max(0, k-around):k] {
					to[before] = true
				}
				to[at] = true
			}
		}
	}
}
