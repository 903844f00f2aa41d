package sqlitefile

import "sync"

// kept is the last value that was made of a file, for a key.
type kept struct {
	mu    sync.Mutex
	key   string
	value any
}

// Keep returns the value that read makes of the file for a key, and keeps it for the transactions that
// follow, as long as the file stays as it is and no other key is asked for. A file that is
// being written is read each time. The value may not be changed.
func Keep[T any](t *Tx, key string, read func() (T, error)) (T, error) {
	if t.kept == nil {
		return read()
	}
	t.kept.mu.Lock()
	known, ok := t.kept.value.(T)
	ok = ok && t.kept.key == key
	t.kept.mu.Unlock()
	if ok {
		return known, nil
	}
	value, err := read()
	if err == nil {
		t.kept.mu.Lock()
		t.kept.key, t.kept.value = key, value
		t.kept.mu.Unlock()
	}
	return value, err
}
