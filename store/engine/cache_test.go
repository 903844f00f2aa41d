package engine

import (
	"fmt"
	"testing"

	"hindcast/model"
	"hindcast/store/media/tree"
)

// TestCache forgets the sessions that were not used last where more rows are cached than fit, and counts those of a session once.
func TestCache(t *testing.T) {
	c := &cache{}
	of := func(n int) *session { return &session{Log: &Log{Rows: make([]model.Header, n)}} }
	c.addSession("a", of(mostCached/2))
	c.addSession("a", of(mostCached/2))
	c.addSession("b", of(mostCached/2))
	if c.get(Place{Session: "a"}) == nil || c.get(Place{Session: "b"}) == nil || c.sessions.Weight() != mostCached {
		t.Error("what fits is forgotten")
	}
	c.addSession("c", of(1))
	if c.get(Place{Session: "a"}) != nil || c.get(Place{Session: "b"}) == nil || c.get(Place{Session: "c"}) == nil {
		t.Error("another one than the one that was used first is forgotten")
	}
	held := of(1)
	held.Held = mostCached * heldSize
	if c.addSession("d", held); c.get(Place{Session: "b"}) != nil || c.get(Place{Session: "d"}) == nil {
		t.Error("what is held of files does not count")
	}
}

// blank is a tree of no files.
type blank struct{ tree.Tree }

func (blank) Stamp(string) (tree.Stamp, error) { return tree.Stamp{}, nil }

// TestCache_ofManyFiles caches no session of more files than are quick to look at, nor what it was before.
func TestCache_ofManyFiles(t *testing.T) {
	c, view := &cache{}, tree.NewView(blank{})
	for i := range mostSeen {
		_, _ = view.Stamp(fmt.Sprint(i))
	}
	one := &session{Log: &Log{}, mark: seen{Seen: view.ListSeen()}}
	c.addSession("a", one)
	if c.get(Place{Session: "a"}) != one || c.sessions.Weight() != mostSeen {
		t.Error("it is not cached")
	}
	_, _ = view.Stamp("one more")
	c.addSession("a", one)
	if c.get(Place{Session: "a"}) != nil {
		t.Error("it is cached")
	}
}
