package tree

import (
	"slices"
	"sync"
)

// mostKept bounds the values that a memo keeps.
const mostKept = 16

// kept are values with their keys, the last used first.
type kept struct {
	mu   sync.Mutex
	list []keyed
}

type keyed struct {
	key string
	is  any
}

// FindKept returns the value that is kept under a key, nil if there is no such value.
func (m *Memo) FindKept(key string) any {
	m.kept.mu.Lock()
	defer m.kept.mu.Unlock()
	i := slices.IndexFunc(m.kept.list, func(k keyed) bool { return k.key == key })
	if i < 0 {
		return nil
	}
	m.kept.putKeyed(m.kept.list[i])
	return m.kept.list[0].is
}

// Keep keeps a value under a key, in place of the value that was used longest ago if there are many. A value
// that is kept does not change, and serves plans too.
func (m *Memo) Keep(key string, is any) {
	m.kept.mu.Lock()
	defer m.kept.mu.Unlock()
	m.kept.putKeyed(keyed{key, is})
}

func (k *kept) putKeyed(one keyed) {
	k.list = slices.DeleteFunc(k.list, func(other keyed) bool { return other.key == one.key })
	k.list = slices.Insert(k.list, 0, one)
	k.list = k.list[:min(len(k.list), mostKept)]
}
