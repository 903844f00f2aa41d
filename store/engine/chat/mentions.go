package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// How a search passes over sessions.
//
// A state consists of the texts of its records and of Hindcast's own words around them. A text in neither the
// session's files nor these words is therefore in no state. So the search scans the raw files, some gigabytes
// a second, and decodes nothing. Sums of tokens and the keys around messages are no text that it looks for: see isAdded.
//
// A quote, a backslash, a letter outside ASCII, and a letter that some writers escape for HTML may be spelled
// otherwise: that the search knows. It holds only if the writer escaped no other letter, which no writer has a
// reason to do.

// Plain is a [Format] whose states say nothing but what stands in files of the session,
// besides the words of messages and of [Meta]. Their writer escapes in JSON what it must, and
// no letter of ASCII.
//
// What an entry adds to a state says nothing but what stands in the records of the entry.
type Plain interface {
	// Sources returns the files, nil where they are not known without reading the session.
	Sources(in engine.In, at Spot) []string
	// Adds returns how many messages an entry adds to a state.
	Adds(e *Entry) int
}

// ownWords are Hindcast's own words in messages, in lower case.
var ownWords = strings.Fields(strings.ToLower(`role content id model text context type reasoning failure toolUse toolUseId name input
	toolResult status success error json raw system user assistant tool unknown`))

// isAdded implements [store.Features].IsAdded. Hindcast adds the usage of an answer, which other records may count, and the keys
// around messages.
func isAdded(pointer string, key bool) bool {
	parts := strings.SplitN(pointer, "/", 5) // the first is empty
	switch {
	case len(parts) < 2:
		return false
	case len(parts) == 2 || parts[1] == "meta":
		return key
	}
	return len(parts) > 3 && parts[1] == "messages" && (parts[3] == "usage" || parts[3] == "metadata" || parts[3] == "cost")
}

// ownWith returns the ownWords that have a text.
func ownWith(text []byte) (words []string) {
	lower := string(bytes.ToLower(text))
	for _, word := range ownWords {
		if strings.Contains(word, lower) {
			words = append(words, word)
		}
	}
	return words
}

// plainFormat returns the format where the bytes of files tell which states have a text.
func (s *Store) plainFormat(text []byte) (format Plain, ok bool) {
	format, ok = s.format.(Plain)
	return format, ok && len(ownWith(text)) == 0
}

// Mentions reports whether states of a session may have a text in them, see store.Mentions.
func (s *Store) Mentions(ctx context.Context, session string, text []byte, has func([]byte) bool) (bool, error) {
	format, ok := s.plainFormat(text)
	if !ok {
		return true, nil
	}
	at, err := s.findSpot(ctx, session)
	if err != nil {
		return true, s.Wrap(err, "search session %q", session)
	}
	in := s.storage.In()
	sources := format.Sources(in, at)
	for _, file := range sources {
		if found, err := s.fileContains(ctx, in.Tree, file, len(text), has); found || err != nil {
			return true, s.Wrap(err, "search session %q", session)
		}
	}
	return sources == nil, nil
}

// searchedAtOnce is how much of a file is in memory at a time, and longestEscape the length of an escape that stands for
// a letter of a text.
const searchedAtOnce, longestEscape = 1 << 20, len(`\u0000`)

// fileContains reports whether a file has in it what has finds, a text of so many bytes.
func (s *Store) fileContains(ctx context.Context, t tree.Tree, file string, size int, has func([]byte) bool) (bool, error) {
	f, err := t.OpenFile(file)
	if err != nil {
		return false, err
	}
	defer f.Close() // it was only read
	overlap := max(size, longestEscape) - 1
	spare, _ := s.searched.Get().(*[]byte)
	if spare == nil {
		spare = new([]byte)
	}
	defer s.searched.Put(spare)
	*spare = slices.Grow((*spare)[:0], searchedAtOnce+overlap)
	buf := (*spare)[:searchedAtOnce+overlap]
	at, kept := int64(0), 0 // the end of the piece before stands in front
	for ctx.Err() == nil {
		n, err := f.ReadAt(buf[kept:], at)
		piece := buf[:kept+n]
		if has(piece) {
			return true, nil
		}
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		at += int64(n)
		kept = copy(buf, piece[max(0, len(piece)-overlap):])
	}
	return false, ctx.Err()
}
