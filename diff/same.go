package diff

import (
	"bytes"
	"context"
	"slices"

	"hindcast/model/jsontape"
)

// A state that was written anew by another program has other white space, or its keys
// are in another order, and often nothing else is different. Both texts are then
// walked token by token, and nothing is kept of them.

// writtenAnew reports whether two texts part so early that it costs little to walk to
// the first value that differs.
func writtenAnew(old, new []byte) bool {
	n := min(len(old), len(new)) / 16
	return commonPrefix(old[:n], new[:n]) < n
}

// sameValue reports whether two texts are JSON of the same value and differ only in
// white space and in the order of members. If it reports false, they may still have
// the same value. The error is ctx's.
func sameValue(ctx context.Context, old, new []byte) (bool, error) {
	w := walk{ctx: ctx, old: old, new: new, budget: rereads * len(new)}
	i, j := w.value(skipSpace(old, 0), skipSpace(new, 0), 0)
	if w.err != nil || i < 0 || skipSpace(old, i) < len(old) || skipSpace(new, j) < len(new) {
		return false, w.err
	}
	// The tokens of both are the same, so what is right for one is for the other.
	return jsontape.Valid(old), nil
}

// rereads bounds how often the new text is read where keys are in another order: values
// in values may be passed over once for each object around them.
const rereads = 8

// walk goes through two texts in step.
type walk struct {
	ctx      context.Context
	old, new []byte
	early    []member // those of the new objects that were passed over, as a stack
	budget   int      // bytes that may still be passed over
	steps    int
	err      error
}

// parts is the place in both texts behind values that are not known to be the same.
const parts = -1

// value walks over the values that start at i and j, and returns where they end.
func (w *walk) value(i, j, depth int) (int, int) {
	if i >= len(w.old) || j >= len(w.new) || w.old[i] != w.new[j] || depth > jsontape.MaxDepth {
		return parts, parts
	}
	switch w.old[i] {
	case '{':
		return w.object(i, j, depth)
	case '[':
		return w.array(i, j, depth)
	case '"':
		return w.text(i, j)
	}
	end, err := jsontape.Skip(w.old, i)
	other, errToo := jsontape.Skip(w.new, j)
	if err != nil || errToo != nil || !bytes.Equal(w.old[i:end], w.new[j:other]) {
		return parts, parts
	}
	return end, other
}

// text walks over two strings.
func (w *walk) text(i, j int) (int, int) {
	end := jsontape.StringEnd(w.old, i)
	if end < 0 || !bytes.HasPrefix(w.new[j:], w.old[i:end]) {
		return parts, parts
	}
	return end, j + end - i
}

func (w *walk) array(i, j, depth int) (int, int) {
	i, j = skipSpace(w.old, i+1), skipSpace(w.new, j+1)
	if w.bothAre(i, j, ']') {
		return i + 1, j + 1
	}
	for w.tick() {
		if i, j = w.value(i, j, depth+1); i < 0 {
			break
		}
		i, j = skipSpace(w.old, i), skipSpace(w.new, j)
		if w.bothAre(i, j, ']') {
			return i + 1, j + 1
		}
		if !w.bothAre(i, j, ',') {
			break
		}
		i, j = skipSpace(w.old, i+1), skipSpace(w.new, j+1)
	}
	return parts, parts
}

// object walks over two objects. Members of the new one that come earlier than in the
// old one are passed over until their key comes.
func (w *walk) object(i, j, depth int) (int, int) {
	bottom := len(w.early)
	defer func() { w.early = w.early[:bottom] }()
	i, j = skipSpace(w.old, i+1), skipSpace(w.new, j+1)
	if w.bothAre(i, j, '}') {
		return i + 1, j + 1
	}
	for w.tick() && i < len(w.old) && w.old[i] == '"' {
		end := jsontape.StringEnd(w.old, i)
		if end < 0 {
			break
		}
		key := w.old[i:end]
		if i = skipSpace(w.old, end); i >= len(w.old) || w.old[i] != ':' {
			break
		}
		i = skipSpace(w.old, i+1)
		if at := w.takePassed(bottom, key); at >= 0 {
			if i, _ = w.value(i, at, depth+1); i < 0 {
				break
			}
		} else {
			if j = w.find(bottom, j, key); j < 0 {
				break
			}
			if i, j = w.value(i, j, depth+1); i < 0 {
				break
			}
			if j = w.toNext(j); j < 0 {
				break
			}
		}
		if i = skipSpace(w.old, i); w.bothAre(i, j, '}') && len(w.early) == bottom {
			return i + 1, j + 1
		}
		if i >= len(w.old) || w.old[i] != ',' {
			break
		}
		i = skipSpace(w.old, i+1)
	}
	return parts, parts
}

// takePassed removes the first skipped member with a key, and returns the start of its value. It returns parts
// if no such member was skipped.
func (w *walk) takePassed(bottom int, key []byte) int {
	for k, m := range w.early[bottom:] {
		if bytes.Equal(cutSpan(w.new, m.key), key) {
			w.early = slices.Delete(w.early, bottom+k, bottom+k+1)
			return int(m.value.Start)
		}
	}
	return parts
}

// find passes over members of the new object, from the one at j on, until one has the
// key, and returns where its value starts; parts if it is not worth to go on.
func (w *walk) find(bottom, j int, key []byte) int {
	const most = 64 // members that are passed over: the key of each is looked up
	for {
		m, ok := readKey(w.new, j)
		if !ok {
			return parts
		}
		found := cutSpan(w.new, m.key)
		if bytes.Equal(found, key) {
			return int(m.value.Start)
		}
		end, err := jsontape.Skip(w.new, int(m.value.Start))
		if w.budget -= end - j; err != nil || w.budget < 0 || len(w.early)-bottom == most || maybeRespelled(found) || maybeRespelled(key) {
			return parts
		}
		w.early = append(w.early, m)
		if j = w.toNext(end); j < 0 {
			return parts
		}
	}
}

// toNext goes from behind a member of the new object to the key of the next one, or to
// the bracket that closes it; parts if neither is there.
func (w *walk) toNext(j int) int {
	if j = skipSpace(w.new, j); j < len(w.new) && w.new[j] == '}' {
		return j
	}
	if j >= len(w.new) || w.new[j] != ',' {
		return parts
	}
	if j = skipSpace(w.new, j+1); j >= len(w.new) || w.new[j] != '"' {
		return parts
	}
	return j
}

// bothAre reports whether the byte at i and that at j are c.
func (w *walk) bothAre(i, j int, c byte) bool {
	return i < len(w.old) && j < len(w.new) && w.old[i] == c && w.new[j] == c
}

// tick reports whether the walk goes on: now and then it asks the context.
func (w *walk) tick() bool {
	if w.steps++; w.steps&0xFF == 0 {
		w.err = w.ctx.Err()
	}
	return w.err == nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// a member of an object, as spans of a state.
type member struct{ key, value Span }

// readKey reads the key of the member that starts at i, up to where the value starts.
func readKey(data []byte, i int) (m member, ok bool) {
	key := skipSpace(data, i)
	if key >= len(data) || data[key] != '"' {
		return member{}, false
	}
	end := jsontape.StringEnd(data, key)
	if end < 0 {
		return member{}, false
	}
	colon := skipSpace(data, end)
	if colon >= len(data) || data[colon] != ':' {
		return member{}, false
	}
	start := skipSpace(data, colon+1)
	return member{Span{uint32(key), uint32(end)}, Span{Start: uint32(start)}}, true
}

// maybeRespelled reports whether a key may be equal to one with other bytes.
func maybeRespelled(key []byte) bool {
	return bytes.IndexByte(key, '\\') >= 0 && (bytes.Contains(key, []byte(`\u`)) || bytes.Contains(key, []byte(`\/`)))
}
