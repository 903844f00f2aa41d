package files

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Cache is a folder in which memories outlive a process: one file for each
// store. It belongs to the user alone, because a note may hold whatever a kind
// shows in a list: titles, which are words out of conversations. Nothing is ever
// written into a store or beside it.
//
// Whatever is wrong with a file in the folder, it is as if it was not there. Two
// processes may keep the notes of one store at once; those of one of them stay.
// When the files are too many, those go that were not used for longest. A nil
// Cache keeps nothing. It is safe for concurrent use.
type Cache struct{ dir string }

const (
	// worth is how much must have been read since for notes to be written
	// again, in bytes: less than that is read in a few hundredths of a second.
	worth = 4 << 20
	// maxKept bounds a file in a cache, in bytes: its notes, and who it is of.
	maxKept = maxNotes + 64<<10
	// maxCache bounds the files in a cache together, in bytes.
	maxCache = 192 << 20
	// maxWriting is how long a file may have no proper name. After that, its
	// writer was killed.
	maxWriting = time.Hour
)

// NewCache returns the cache in a folder, which is made when there is something to
// keep; "" keeps nothing.
func NewCache(dir string) *Cache {
	if dir == "" {
		return nil
	}
	return &Cache{dir}
}

// Memory returns the notes on the store of a kind at a path. The kind's name ends
// with the version of its notes, as in "genkit 2": each version has its own notes.
// The notes are read when the first one is asked for.
func (c *Cache) Memory(kind, address string) *Memory {
	path, err := filepath.Abs(address)
	if err != nil {
		return &Memory{}
	}
	return c.MemoryOf(kind, path)
}

// MemoryOf returns the notes on the store of a kind at an address that is no path.
func (c *Cache) MemoryOf(kind, address string) *Memory {
	if c == nil {
		return &Memory{}
	}
	return &Memory{cache: c, kind: kind, store: address}
}

// Keep writes the notes to the cache, if 4 MiB of files were read for them since
// that was done last. A kind calls it when it has been through the files. There
// is no error: a note that is not kept costs the time to read its file again,
// and nothing else.
func (m *Memory) Keep() {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	m.mu.Lock()
	if m.cache == nil || m.read < worth {
		m.mu.Unlock()
		return
	}
	m.read = 0 // also if it fails: the next try is after as much again
	text := m.encodeNotes()
	m.mu.Unlock()
	_ = m.cache.writeFile(m.fileName(), text) // as said above
}

// takeFromCache begins with the notes that were kept.
func (m *Memory) takeFromCache() {
	if m.cache == nil {
		return
	}
	text, err := m.cache.readFile(m.fileName())
	if err != nil {
		return
	}
	if m.parseNotes(text) != nil {
		m.notes, m.size = nil, 0
	}
}

// fileName is the name of the file of a store.
func (m *Memory) fileName() string {
	hash := sha256.Sum256([]byte(m.kind + "\x00" + m.store))
	return hex.EncodeToString(hash[:]) + keptSuffix
}

const (
	keptSuffix    = ".notes"
	writingSuffix = ".tmp"
)

// isOurs reports whether a name belongs to a cache: with suffix, to a
// file of notes or to a file that is being written.
func isOurs(name, suffix string) bool {
	hash, found := strings.CutSuffix(name, suffix)
	if suffix == writingSuffix && found {
		hash, _, found = strings.Cut(hash, keptSuffix+".")
	}
	_, err := hex.DecodeString(hash)
	return found && err == nil && len(hash) == hex.EncodedLen(sha256.Size)
}

// readFile reads a file, and notes that it was used.
func (c *Cache) readFile(name string) (text []byte, err error) {
	root, err := c.openFolder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxKept {
		return nil, ErrTooLarge
	}
	if text, err = From(root)(name, nil); err != nil {
		return nil, err
	}
	now := time.Now()
	_ = root.Chtimes(name, now, now) // else it only goes earlier than others
	return text, nil
}

// writeFile writes a file: first under another name, so that no reader finds a part of
// it. It is not made sure that the disk has it; after a loss of power, its sum
// tells.
func (c *Cache) writeFile(name string, text []byte) (err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	root, err := c.openFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	writing := name + "." + rand.Text() + writingSuffix
	f, err := root.OpenFile(writing, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(writing, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(writing))
	}
	return sweepFiles(root, name, maxCache)
}

// openFolder opens the folder, if it is one: another thing might block.
func (c *Cache) openFolder() (*os.Root, error) {
	info, err := os.Stat(c.dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fs.ErrInvalid
	}
	return os.OpenRoot(c.dir)
}

// sweepFiles removes the files that were not used for longest until the others have
// no more bytes than most, but for one; and what was never finished. It touches
// nothing that a cache does not write.
func sweepFiles(root *os.Root, but string, most int64) error {
	entries, err := Entries(root, ".")
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	var size int64
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // another process removed it, or it is not ours
		}
		switch {
		case isOurs(info.Name(), keptSuffix):
			kept = append(kept, info)
			size += info.Size()
		case isOurs(info.Name(), writingSuffix) && time.Since(info.ModTime()) > maxWriting:
			errs = append(errs, root.Remove(info.Name()))
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if size <= most {
			break
		}
		if info.Name() != but {
			size -= info.Size()
			errs = append(errs, root.Remove(info.Name()))
		}
	}
	return errors.Join(errs...)
}
