package diff

import (
	"bytes"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// member compares the members of f that the states part in, and returns where
// they end; or, if their keys part, all that follow, and closes f.
func (l *lockstep) member(f *frame) (o, n int, closed bool, err error) {
	if f.done > 0 {
		return f.done, f.done + l.shift, false, nil
	}
	a, ok := readMember(l.old, f.child)
	b, okToo := readMember(l.new, f.newChild)
	if !ok || !okToo || !bytes.Equal(cut(l.old, a.key), cut(l.new, b.key)) {
		o, n, err = l.restOfObject(f, f.child, f.newChild)
		return o, n, true, err
	}
	err = l.spans(a.value, b.value, place{parent: f.entry, old: none, new: none, key: b.key})
	return int(a.value.End), int(b.value.End), false, err
}

// a member of an object, as spans of a state.
type member struct{ key, value Span }

// readMember reads the member that starts at i. ok is false if no member starts there.
func readMember(data []byte, i int) (m member, ok bool) {
	m, ok = readKey(data, i)
	if !ok {
		return member{}, false
	}
	stop, err := jsontape.Skip(data, int(m.value.Start))
	m.value.End = uint32(stop)
	return m, err == nil
}

// readKey is readMember up to where the value starts.
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

// readMembers reads the members from i on, which is behind a bracket or a comma
// or at the closing bracket, and returns the byte behind that.
func readMembers(data []byte, i int) (all []member, end int, err error) {
	if at := skipSpace(data, i); at < len(data) && data[at] == '}' {
		return nil, at + 1, nil
	}
	for {
		m, ok := readMember(data, i)
		if !ok {
			return nil, 0, errOutOfStep
		}
		all = append(all, m)
		at := skipSpace(data, int(m.value.End))
		switch {
		case at < len(data) && data[at] == '}':
			return all, at + 1, nil
		case at < len(data) && data[at] == ',':
			i = at + 1
		default:
			return nil, 0, errOutOfStep
		}
	}
}

// restOfObject matches all members of f from i and j on by key and returns where
// the object ends.
func (l *lockstep) restOfObject(f *frame, i, j int) (o, n int, err error) {
	olds, o, err := readMembers(l.old, i)
	if err != nil {
		return 0, 0, err
	}
	news, n, err := readMembers(l.new, j)
	if err != nil {
		return 0, 0, err
	}
	oldKeys, newKeys := l.headKeys(f, f.before), l.headKeys(f, f.before)
	for _, m := range olds {
		oldKeys = append(oldKeys, cut(l.old, m.key))
	}
	byKey := make(map[string]member, len(news))
	for _, m := range news {
		newKeys = append(newKeys, cut(l.new, m.key))
		byKey[string(cut(l.new, m.key))] = m
	}
	if !distinct(oldKeys) || !distinct(newKeys) {
		return 0, 0, errOutOfStep
	}
	at := place{parent: f.entry, old: none, new: none}
	for _, m := range olds {
		key := string(cut(l.old, m.key))
		partner, found := byKey[key]
		if !found {
			at.key = m.key
			l.add(Removed, m.value, Span{}, at)
			continue
		}
		delete(byKey, key)
		at.key = partner.key
		if err := l.spans(m.value, partner.value, at); err != nil {
			return 0, 0, err
		}
	}
	for _, m := range news {
		if _, alone := byKey[string(cut(l.new, m.key))]; alone {
			at.key = m.key
			l.add(Added, Span{}, m.value, at)
		}
	}
	l.finish(f, o, n, f.before+int32(len(olds)))
	l.keys = l.keys[:f.keys]
	return o, n, nil
}

// leaveMember goes on behind a member of the last frame, an object, that ended at o
// and n: to the next one, or out of objects that end in both states.
func (l *lockstep) leaveMember(o, n int) (int, error) {
	for {
		f := l.top()
		o, n = skipSpace(l.old, o), skipSpace(l.new, n)
		if o >= len(l.old) || n >= len(l.new) {
			return 0, errOutOfStep
		}
		l.shift = n - o
		switch a, b := l.old[o], l.new[n]; {
		case a == ',' && b == ',':
			f.before++
			l.child(f, o+1)
			return o + 1, nil
		case a == '}' && b == '}':
			o, n = o+1, n+1
			if err := l.closeTop(o, n, f.before+1); err != nil {
				return 0, err
			}
		case a == ',' && b == '}' || a == '}' && b == ',':
			f.before++
			var err error
			if o, n, err = l.restOfObject(f, behindComma(o, a), behindComma(n, b)); err != nil {
				return 0, err
			}
			l.frames = l.frames[:len(l.frames)-1]
		default:
			return 0, errOutOfStep
		}
		l.shift = n - o
		if len(l.frames) == 0 {
			return o, nil
		}
	}
}

// behindComma returns where the next member starts, or the closing bracket is.
func behindComma(i int, c byte) int {
	if c == ',' {
		return i + 1
	}
	return i
}

// closeTop ends the last frame, an object whose members have the same keys in
// both states, before o and n. Total is how many members it has.
func (l *lockstep) closeTop(o, n int, total int32) error {
	f := l.top()
	if f.entry != none {
		if !distinct(l.headKeys(f, total)) {
			return errOutOfStep
		}
		l.finish(f, o, n, total)
	}
	l.keys = l.keys[:f.keys]
	l.frames = l.frames[:len(l.frames)-1]
	return nil
}

// finish completes the entry of an object, which had so many members.
func (l *lockstep) finish(f *frame, o, n int, total int32) {
	for i := f.entry + 1; int(i) < len(l.entries); i = l.entries[i].End {
		if l.entries[i].Op != Added {
			total--
		}
	}
	l.complete(f, o, n, total)
}

func (l *lockstep) complete(f *frame, o, n int, unchanged int32) {
	e := &l.entries[f.entry]
	e.Old, e.New = Span{uint32(f.start), uint32(o)}, Span{uint32(f.newStart), uint32(n)}
	e.Unchanged = unchanged
	l.close(f.entry)
}

// headKeys returns the first n keys of an object, with their quotes.
func (l *lockstep) headKeys(f *frame, n int32) [][]byte {
	keys := make([][]byte, 0, n)
	if t := l.tape(); t != nil {
		for c := t.First(f.node); c >= 0 && len(keys) < int(n); c = t.Next(c) {
			keys = append(keys, t.RawKey(c))
		}
		return keys
	}
	for _, at := range l.keys[f.keys:min(f.keys+int(n), len(l.keys))] {
		at = skipSpace(l.old, at)
		keys = append(keys, l.old[at:max(at, jsontape.StringEnd(l.old, at))])
	}
	return keys
}

// distinct reports whether the keys of an object, with their quotes, are told
// apart by their bytes, are valid Unicode and occur once.
func distinct(keys [][]byte) bool {
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		if seen[string(k)] || !utf8.Valid(k) || maybeRespelled(k) {
			return false
		}
		seen[string(k)] = true
	}
	return true
}

// maybeRespelled reports whether a key may be equal to one with other bytes.
func maybeRespelled(key []byte) bool {
	return bytes.IndexByte(key, '\\') >= 0 && (bytes.Contains(key, []byte(`\u`)) || bytes.Contains(key, []byte(`\/`)))
}
