package coding

import "hindcast/store"

// LetGo lets go of all texts of a store that can be made again, and returns how many those are.
func LetGo(s store.Store) (n int) {
	t := &s.(*Store).texts
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.list {
		if one := &t.list[i]; one.key != "" && one.data != nil {
			t.held -= one.Len
			one.data = nil
			n++
		}
	}
	return n
}

// Held returns how many bytes of texts a store holds, as it counts and as they are.
func Held(s store.Store) (counted, are int64) {
	t := &s.(*Store).texts
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.list {
		if data := t.list[i].data; data != nil {
			are += int64(data.size)
		}
	}
	return t.held, are
}

// Glanced returns how many sessions were looked into for the list of a store.
func Glanced(s store.Store) int64 { return s.(*Store).looked.Load() }

// Remembered returns how many sessions a store remembers.
func Remembered(s store.Store) int {
	m := &s.(*Store).memo
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.known)
}
