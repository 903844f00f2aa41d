package chat

import (
	"context"
	"io/fs"
	"sync/atomic"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// HoldAtMost bounds the bytes of texts that a store holds.
func HoldAtMost(s store.Store, bytes int) { s.(*Store).texts.most = bytes }

// Held returns how many bytes of texts a store holds, as it counts and as they are.
func Held(s store.Store) (counted, are int) {
	t := &s.(*Store).texts
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range t.known {
		are += len(text.data)
	}
	return t.held, are
}

// Glanced returns how many sessions were looked into for the list of a store.
func Glanced(s store.Store) int64 { return s.(*Store).looked.Load() }

// Remembered returns how many sessions a store has in memory: those that it tells though no file can be read.
func Remembered(ctx context.Context, s store.Store) (n int) {
	on := s.(*Store).storage
	var whole tree.Tree
	on.ReadThrough(func(is tree.Tree) tree.Tree {
		whole = is
		return unreadTree{is}
	})
	defer on.ReadThrough(func(tree.Tree) tree.Tree { return whole })
	for info := range s.Sessions(ctx) {
		for _, err := range s.Headers(ctx, info.ID) {
			if err == nil {
				n++
			}
			break
		}
	}
	return n
}

// unreadTree is a tree whose files cannot be read.
type unreadTree struct{ tree.Tree }

func (unreadTree) OpenFile(string) (tree.Opened, error) { return nil, fs.ErrPermission }

func (unreadTree) Read(_ string, buf []byte) ([]byte, tree.Stamp, error) {
	return buf[:0], tree.Stamp{}, fs.ErrPermission
}

// CountLooks counts how often the store looks at a file or a folder from now on.
func CountLooks(s store.Store) *atomic.Int64 {
	looks := new(atomic.Int64)
	s.(*Store).storage.ReadThrough(func(is tree.Tree) tree.Tree { return &lookedAt{is, looks} })
	return looks
}

// lookedAt is a tree that counts looks.
type lookedAt struct {
	tree.Tree
	looks *atomic.Int64
}

func (t *lookedAt) Stamp(name string) (tree.Stamp, error) {
	t.looks.Add(1)
	return t.Tree.Stamp(name)
}

// Count has a store count how often its format is asked for facts and for calls.
func Count(s store.Store) (told, called *int) {
	one := s.(*Store)
	c := &counting{Format: one.format}
	one.format = c
	return &c.told, &c.called
}

// counting is a format that counts what it is asked for.
type counting struct {
	Format
	told, called int
}

func (c *counting) Tell(context.Context, engine.In, *Session, *Entry) (model.Facts, error) {
	c.told++
	return nil, nil
}

func (c *counting) Calls(*Session, *Entry) []model.Resume {
	c.called++
	return nil
}
