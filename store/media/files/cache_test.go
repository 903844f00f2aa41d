package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/store/storetest/skip"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// namesIn lists a folder, which need not be there.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// putOne puts one note in a cache and returns the path of its file.
func putOne(t *testing.T, dir, kind, store string) string {
	t.Helper()
	before := namesIn(t, dir)
	m := NewCache(dir).Memory(kind, store)
	m.Note("a", stamp(worth), []byte("one"))
	m.Keep()
	for _, name := range namesIn(t, dir) {
		if !slices.Contains(before, name) {
			return filepath.Join(dir, name)
		}
	}
	t.Fatal("nothing was kept")
	return ""
}

func TestShelf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "hindcast")
	cache := NewCache(dir)
	m := cache.Memory("kind 1", "store")
	wantForgotten(t, m, "a", stamp(1))
	m.Note("a", stamp(worth-1), []byte("one"))
	m.Keep()
	if names := namesIn(t, filepath.Dir(dir)); len(names) > 0 {
		t.Errorf("for what is read at once there is %q", names)
	}
	m.Note("b", stamp(1), []byte("two"))
	m.Note("\xff odd\n", stamp(0), nil)
	m.Keep()

	absolute, err := filepath.Abs("store")
	must(t, err)
	for _, address := range []string{"store", "./other/../store", absolute} {
		m := cache.Memory("kind 1", address)
		wantRecalled(t, m, "a", stamp(worth-1), "one")
		wantRecalled(t, m, "b", stamp(1), "two")
		wantRecalled(t, m, "\xff odd\n", stamp(0), "")
		wantForgotten(t, m, "b", stamp(2))
		wantForgotten(t, m, "c", stamp(1))
	}
	for _, other := range []*Memory{
		cache.Memory("kind 2", "store"), cache.Memory("kind 1", "store2"),
		NewCache(t.TempDir()).Memory("kind 1", "store"),
		(*Cache)(nil).Memory("kind 1", "store"), NewCache("").Memory("kind 1", "store"),
	} {
		wantForgotten(t, other, "a", stamp(worth-1))
		other.Note("a", stamp(1), []byte("mine"))
		wantRecalled(t, other, "a", stamp(1), "mine")
	}
	if len(namesIn(t, dir)) != 1 {
		t.Errorf("the cache holds %q", namesIn(t, dir))
	}
}

// Notes hold words out of conversations: nobody else may read them.
func TestShelf_isTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "files have no modes")
	}
	dir := filepath.Join(t.TempDir(), "cache", "hindcast")
	for path, want := range map[string]os.FileMode{putOne(t, dir, "kind", "store"): 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("the mode of %s is %v", path, info.Mode())
		}
	}
}

// A file is written when enough was read since, and not because it is there.
func TestMemory_Keep_whenItIsWorthIt(t *testing.T) {
	dir := t.TempDir()
	path := putOne(t, dir, "kind", "store")
	must(t, os.Remove(path))
	m := NewCache(dir).Memory("kind", "store")
	keeps := func(what string, want bool) {
		t.Helper()
		m.Keep()
		if names := namesIn(t, dir); len(names) > 0 != want {
			t.Errorf("%s: %q", what, names)
		}
		os.Remove(path)
	}
	keeps("nothing was read", false)
	m.Note("a", stamp(worth/2), nil)
	keeps("a little was read", false)
	m.Note("b", stamp(worth/2), nil)
	keeps("enough was read", true)
	keeps("nothing was read since", false)
	m.Recall("a", stamp(worth/2))
	keeps("all was known", false)
	m.Note("a", stamp(worth), nil)
	keeps("one file is another", true)
}

// What processes do not ask for goes at some time, and not before.
func TestMemory_Keep_dropsWhatNobodyAsksFor(t *testing.T) {
	cache := NewCache(t.TempDir())
	for n := range maxUnused + 2 {
		m := cache.Memory("kind", "store")
		if n == 0 {
			m.Note("removed", stamp(1), nil)
			m.Note("rare", stamp(1), nil)
		}
		if n == maxUnused {
			wantRecalled(t, m, "rare", stamp(1), "")
		}
		m.Note("new", stamp(worth), nil)
		m.Keep()
		m.Note("new", stamp(worth), nil)
		m.Keep() // twice in a process is once
	}
	m := cache.Memory("kind", "store")
	wantRecalled(t, m, "rare", stamp(1), "")
	wantForgotten(t, m, "removed", stamp(1))
}

// Of a file that is damaged anywhere, nothing is believed, and the next one takes
// its place.
func TestShelf_damaged(t *testing.T) {
	dir := t.TempDir()
	path := putOne(t, dir, "kind", "store")
	whole, err := os.ReadFile(path)
	must(t, err)
	wantRecalled(t, NewCache(dir).Memory("kind", "store"), "a", stamp(worth), "one")
	damaged := [][]byte{nil, []byte("x"), append(slices.Clone(whole), 0)}
	for n := range whole {
		flipped := slices.Clone(whole)
		flipped[n] ^= 0x40
		damaged = append(damaged, flipped, whole[:n])
	}
	for _, text := range damaged {
		must(t, os.WriteFile(path, text, 0o600))
		wantForgotten(t, NewCache(dir).Memory("kind", "store"), "a", stamp(worth))
	}
	for what, put := range map[string]func() error{
		"a folder":        func() error { return os.Mkdir(path, 0o700) },
		"a link":          func() error { return os.Symlink("elsewhere", path) },
		"one too large":   func() error { return os.WriteFile(path, make([]byte, maxKept+1), 0o600) },
		"notes of others": func() error { return os.Rename(putOne(t, dir, "kind", "other"), path) },
	} {
		must(t, os.RemoveAll(path))
		must(t, os.WriteFile(filepath.Join(dir, "elsewhere"), whole, 0o600))
		must(t, put())
		m := NewCache(dir).Memory("kind", "store")
		wantForgotten(t, m, "a", stamp(worth))
		m.Note("a", stamp(worth), []byte("again"))
		m.Keep()
		if what != "a folder" { // nothing of ours is removed for it
			wantRecalled(t, NewCache(dir).Memory("kind", "store"), "a", stamp(worth), "again")
		}
		if text, err := os.ReadFile(filepath.Join(dir, "elsewhere")); !bytes.Equal(text, whole) || err != nil {
			t.Errorf("%s: a file beside is another now: %v", what, err)
		}
	}
}

// A cache that cannot be is none.
func TestShelf_thatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("text"), 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below"), "\x00"} {
		m := NewCache(dir).Memory("kind", "store")
		m.Note("a", stamp(worth), []byte("one"))
		m.Keep()
		wantRecalled(t, m, "a", stamp(worth), "one")
	}
	if text, err := os.ReadFile(file); string(text) != "text" || err != nil {
		t.Errorf("it holds %q, %v", text, err)
	}
}

// Two processes at once leave the notes of one of them, whole.
func TestShelf_ofTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for writer := range 2 {
		all.Go(func() {
			for range 50 {
				m := NewCache(dir).Memory("kind", "store")
				for n := range 20 {
					m.Note(fmt.Sprint(n), stamp(worth), fmt.Append(nil, writer))
				}
				m.Keep()
				back := NewCache(dir).Memory("kind", "store")
				first, ok := back.Recall("0", stamp(worth))
				if !ok {
					t.Error("nothing is recalled")
				}
				for n := range 20 {
					wantRecalled(t, back, fmt.Sprint(n), stamp(worth), string(first))
				}
			}
		})
	}
	all.Wait()
	if names := namesIn(t, dir); len(names) != 1 {
		t.Errorf("the cache holds %q", names)
	}
}

// Of too many files, those go that were not used for longest; no other is
// touched.
func TestShelf_isBounded(t *testing.T) {
	dir := t.TempDir()
	long := time.Now().Add(-100 * time.Hour)
	var paths []string
	for n := range 4 {
		path := putOne(t, dir, "kind", fmt.Sprint(n))
		paths = append(paths, path)
		at := long.Add(time.Duration(n) * time.Hour)
		must(t, os.Chtimes(path, at, at))
	}
	hash := strings.TrimSuffix(filepath.Base(paths[0]), keptSuffix)
	others := map[string]bool{ // whether it is to stay
		"mine.notes": true, hash + ".txt": true, "x" + hash[1:] + keptSuffix: true, "x.tmp": true,
		hash + keptSuffix + ".OLD" + writingSuffix: false,
	}
	for name := range others {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, make([]byte, 1000), 0o600))
		must(t, os.Chtimes(path, long, long))
	}
	others[hash+keptSuffix+".NEW"+writingSuffix] = true
	must(t, os.WriteFile(filepath.Join(dir, hash+keptSuffix+".NEW"+writingSuffix), nil, 0o600))
	// The oldest is used again.
	wantRecalled(t, NewCache(dir).Memory("kind", "0"), "a", stamp(worth), "one")
	info, err := os.Stat(paths[0])
	must(t, err)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	sweepTo := func(files int64, want ...int) {
		t.Helper()
		must(t, sweepFiles(root, filepath.Base(paths[2]), files*info.Size()+files))
		for n, path := range paths {
			if _, err := os.Stat(path); (err == nil) != slices.Contains(want, n) {
				t.Errorf("of room for %d: file %d: %v", files, n, err)
			}
		}
	}
	sweepTo(4, 0, 1, 2, 3)
	sweepTo(3, 0, 2, 3)
	sweepTo(2, 0, 2)
	sweepTo(0, 2) // the one that was written just now
	for name, want := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecode takes what may stand in a file for notes, its sum being right.
func FuzzDecode(f *testing.F) {
	for _, notes := range []int{0, 1, 3} {
		m := Memory{kind: "kind", store: "/store"}
		for n := range notes {
			m.Note(fmt.Sprint("session_a/message_", n, ".json"), stamp(int64(n)), []byte("user: hello"))
		}
		text := m.encodeNotes()
		f.Add(text[:len(text)-crc32.Size])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := Memory{kind: "kind", store: "/store"}
		sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(text, keptSum))
		if m.parseNotes(append(slices.Clip(text), sum...)) != nil {
			return
		}
		size := 0
		for name, n := range m.notes {
			size += n.size(name)
		}
		if size != m.size || size > maxNotes {
			t.Errorf("the notes take %d bytes, and are said to take %d", size, m.size)
		}
		back := Memory{kind: m.kind, store: m.store}
		if err := back.parseNotes(m.encodeNotes()); err != nil {
			t.Fatal(err)
		}
		for name, n := range m.notes {
			if n.unused > maxUnused {
				continue
			}
			if again := back.notes[name]; again == nil || !again.stamp.Same(n.stamp) || !bytes.Equal(again.text, n.text) || again.unused != n.unused+1 {
				t.Errorf("of %q comes back %+v, and not %+v", name, again, n)
			}
		}
	})
}

// BenchmarkMemory is what a store of 100,000 messages takes to keep and to
// recall.
func BenchmarkMemory(b *testing.B) {
	const messages = 100_000
	cache := NewCache(b.TempDir())
	m := cache.Memory("kind", "store")
	var names []string
	for n := range messages {
		names = append(names, fmt.Sprint("session_a/agents/agent_default/messages/message_", n, ".json"))
		m.Note(names[n], stamp(1800), bytes.Repeat([]byte("x"), 120))
	}
	b.Run("Keep", func(b *testing.B) {
		for b.Loop() {
			m.read = worth
			m.Keep()
		}
	})
	b.Run("Recall", func(b *testing.B) {
		for b.Loop() {
			m := cache.Memory("kind", "store")
			for _, name := range names {
				if _, ok := m.Recall(name, stamp(1800)); !ok {
					b.Fatal(name)
				}
			}
		}
	})
}
