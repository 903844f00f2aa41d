package files

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// stamp is that of a file of so many bytes, looked at long after it was written.
func stamp(size int64) Stamp {
	written := time.Unix(1_700_000_000, 123_456_789)
	return Stamp{Size: size, Modified: written, changed: written.Add(1), inode: 1 << 40, device: 7}.lookedAt(written.Add(time.Hour))
}

func wantRecalled(t *testing.T, m *Memory, name string, at Stamp, want string) {
	t.Helper()
	if text, ok := m.Recall(name, at); !ok || string(text) != want {
		t.Errorf("of %s is recalled %q, %v, and not %q", name, text, ok, want)
	}
}

func wantForgotten(t *testing.T, m *Memory, name string, at Stamp) {
	t.Helper()
	if text, ok := m.Recall(name, at); ok {
		t.Errorf("of %s is recalled %q", name, text)
	}
}

func TestMemory(t *testing.T) {
	var m Memory
	wantForgotten(t, &m, "a", stamp(1))
	m.Note("a", stamp(1), []byte("one"))
	m.Note("b", stamp(1), nil)
	wantRecalled(t, &m, "a", stamp(1), "one")
	wantRecalled(t, &m, "b", stamp(1), "")
	wantForgotten(t, &m, "a", stamp(2))
	if !m.Knows("a") || m.Knows("c") { // even though a is another by now
		t.Errorf("it knows a: %v, c: %v", m.Knows("a"), m.Knows("c"))
	}
	m.Note("a", stamp(2), []byte("two"))
	wantForgotten(t, &m, "a", stamp(1))
	wantRecalled(t, &m, "a", stamp(2), "two")
	m.Keep() // nowhere
}

// What was made of a file that was written just before it was looked at is not
// recalled, neither by the same stamp nor by that of a later look.
func TestMemory_doesNotTrustAFreshFile(t *testing.T) {
	var m Memory
	fresh := stamp(1)
	fresh = fresh.lookedAt(fresh.changed)
	m.Note("a", stamp(1), []byte("old"))
	m.Note("a", fresh, []byte("new"))
	wantForgotten(t, &m, "a", fresh)
	wantForgotten(t, &m, "a", stamp(1))
	if len(m.notes) != 0 || m.size != 0 {
		t.Errorf("%d notes are left, of %d bytes", len(m.notes), m.size)
	}
}

func TestMemory_isBounded(t *testing.T) {
	var m Memory
	large := []byte(strings.Repeat("x", 1<<20))
	noted := 0
	for n := range 2 * maxNotes >> 20 {
		name := fmt.Sprint(n)
		m.Note(name, stamp(1), large)
		if _, ok := m.Recall(name, stamp(1)); ok {
			noted++
		}
	}
	if most := maxNotes >> 20; noted >= most || noted < most-1 || len(m.notes) != noted || m.size > maxNotes {
		t.Errorf("%d notes of a megabyte are kept, in %d bytes", noted, m.size)
	}
	wantRecalled(t, &m, "0", stamp(1), string(large)) // what was there stays
	m.Note("0", stamp(2), nil)
	m.Note("another", stamp(1), large)
	wantRecalled(t, &m, "another", stamp(1), string(large))
	for name := range m.notes {
		m.Note(name, stamp(1), nil)
	}
	if want := len(m.notes) * (noteCost + 2); m.size > want+10 || m.size < want-len(m.notes) {
		t.Errorf("%d empty notes take %d bytes", len(m.notes), m.size)
	}
}

// Where there is no room, those notes go first that only an earlier process asked
// for.
func TestMemory_makesRoom(t *testing.T) {
	cache := NewCache(t.TempDir())
	m := cache.Memory("kind", "store")
	large := []byte(strings.Repeat("x", 1<<20))
	for n := range maxNotes>>20 - 1 {
		m.Note(fmt.Sprint(n), stamp(worth), large)
	}
	m.Keep()
	m = cache.Memory("kind", "store")
	wantRecalled(t, m, "1", stamp(worth), string(large))
	m.Note("new", stamp(1), large)
	m.Note("newer", stamp(1), large)
	wantRecalled(t, m, "1", stamp(worth), string(large))
	wantRecalled(t, m, "new", stamp(1), string(large))
	wantRecalled(t, m, "newer", stamp(1), string(large))
	wantForgotten(t, m, "2", stamp(worth))
}

func TestMemory_concurrently(t *testing.T) {
	cache := NewCache(t.TempDir())
	first := cache.Memory("kind", "store")
	first.Note("kept", stamp(worth), []byte("kept"))
	first.Keep()
	m := cache.Memory("kind", "store")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 200 {
				name := fmt.Sprint(n % 10)
				if text, ok := m.Recall(name, stamp(worth)); ok && string(text) != name {
					t.Errorf("of %s is recalled %q", name, text)
				}
				m.Note(name, stamp(worth), []byte(name))
				if n%50 == 0 {
					wantRecalled(t, m, "kept", stamp(worth), "kept")
					m.Keep()
				}
			}
		})
	}
	all.Wait()
	wantRecalled(t, cache.Memory("kind", "store"), "3", stamp(worth), "3")
}
