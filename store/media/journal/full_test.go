package journal_test

import (
	"errors"
	"io/fs"
	"testing"

	"hindcast/store/media/disk"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
)

// full is a disk whose journal is larger than it is by some bytes.
type full struct {
	*disktest.Memory
	by int64
}

type grown struct {
	fs.FileInfo
	size int64
}

func (g grown) Size() int64 { return g.size }

func (f *full) Lstat(name string) (fs.FileInfo, error) {
	info, err := f.Memory.Lstat(name)
	if err == nil && name == ".hindcast/journal" {
		info = grown{info, info.Size() + f.by}
	}
	return info, err
}

func (f *full) Load(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	if info, err := f.Lstat(name); err == nil && info.Size() > disk.MaxSize {
		return buf[:0], nil, &fs.PathError{Op: "read", Path: name, Err: disk.ErrTooLarge}
	}
	return f.Memory.Load(name, buf)
}

func (f *full) SameFile(a, b fs.FileInfo) bool { return false }

// TestApply_full: a journal is never made larger than one that can be read, a write
// that was begun can always be ended, and the error says how to go on.
func TestApply_full(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0"})
	put(t, j, "s/a", "1")
	before := m.Tree(whole)
	for _, by := range []int64{disk.MaxSize - 1<<20, disk.MaxSize - 1000, disk.MaxSize} {
		f := &full{m, by}
		j := journal.New(f, journal.Options{})
		d := j.Draft()
		d.Put("s/a", []byte("2"))
		_, err := j.Apply(t.Context(), plan(t, d), nil)
		says(t, err, journal.ErrFull, "give .hindcast/journal another name", "nothing that is kept is lost")
		if now := m.Tree(live); now["s/a"] != "640 1" {
			t.Error(now)
		}
		if now := m.Tree(whole)[".hindcast/journal"]; now != before[".hindcast/journal"] {
			t.Error("something was appended")
		}
	}
	// A write that takes the last place there is.
	f := &full{m, disk.MaxSize - 1<<20 - 3000}
	j = journal.New(f, journal.Options{})
	put(t, j, "s/a", "2")
	undoes(t, j)
	if h, err := j.OpenEntry(t.Context()); h != nil || err != nil {
		t.Error(h, err)
	}
	// What the error says works.
	must(t, m.Rename(".hindcast/journal", ".hindcast/journal-1"))
	had := contents(m)
	j = journal.New(m, journal.Options{})
	put(t, j, "s/a", "3")
	undoes(t, j)
	if now := m.Tree(live); now["s/a"] != "640 1" {
		t.Error(now)
	}
	have := contents(m)
	for content := range had {
		if !have[content] && content[0] != '\n' {
			t.Errorf("%.40q is lost", content)
		}
	}
	must(t, m.Remove(".hindcast/journal"))
	must(t, m.Rename(".hindcast/journal-1", ".hindcast/journal"))
	if list, err := journal.New(m, journal.Options{}).Entries(t.Context()); err != nil || len(list) != 2 {
		t.Error(list, errors.Unwrap(err))
	}
}
