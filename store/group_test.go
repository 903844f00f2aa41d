package store_test

import (
	"strings"
	"testing"

	"hindcast/store"
)

// The panic of a goroutine goes on where the group is waited for, once the others have ended, with the stack of where it
// happened, also through a second group.
func TestGroup_panicsWhereItIsWaitedFor(t *testing.T) {
	var others int
	defer store.CatchPanic(func(p store.Panic) {
		if p.Value != "of a record" || !strings.Contains(p.Stack, "panicHere") || others != 1 {
			t.Errorf("%d others ended, and then %v at\n%s", others, p.Value, p.Stack)
		}
	})
	var outer store.Group
	outer.Go(func() {
		var inner store.Group
		inner.Go(panicHere)
		inner.Go(func() { others++ })
		inner.Wait()
		t.Error("the inner group goes on")
	})
	outer.Wait()
	t.Error("the outer group goes on")
}

func panicHere() { panic("of a record") }

func TestGroup_waits(t *testing.T) {
	var g store.Group
	ended := make([]bool, 20)
	for i := range ended {
		g.Go(func() { ended[i] = true })
	}
	g.Wait()
	for i, is := range ended {
		if !is {
			t.Errorf("%d has not ended", i)
		}
	}
}
