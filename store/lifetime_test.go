package store

import (
	"context"
	"testing"
)

// What runs within a lifetime ends with it, what begins later at once, and another context
// ends before it.
func TestLifetime(t *testing.T) {
	var l Lifetime
	early, cancel := context.WithCancel(t.Context())
	first, second := l.Within(early), l.Within(t.Context())
	if first.Err() != nil || second.Err() != nil {
		t.Fatal("it is over before its end")
	}
	cancel()
	<-first.Done()
	if second.Err() != nil {
		t.Error("one ends with another")
	}
	if !l.End() || l.End() {
		t.Error("it ends once")
	}
	<-second.Done()
	if l.Within(t.Context()).Err() == nil {
		t.Error("one begins after the end")
	}
	var unused Lifetime
	if !unused.End() || unused.Within(t.Context()).Err() == nil {
		t.Error("one begins after the end")
	}
}
