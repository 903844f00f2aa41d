package storetest

import (
	"fmt"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// ForkEach forks a session from each of its snapshots that takes takes, nil for all, and has goOn go on from each fork, several at
// once. It returns how many forks there are, and how many of them are from what was left.
func ForkEach(t *testing.T, s Writer, session string, takes func(model.Header) bool, goOn func(*testing.T, model.Header, model.Plan)) (forks, left int) {
	t.Helper()
	t.Run("from", func(t *testing.T) {
		for _, h := range Headers(t, s, session) {
			if takes != nil && !takes(h) {
				continue
			}
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
			if err == nil {
				_, err = s.Apply(t.Context(), plan)
			}
			if err != nil {
				t.Logf("#%d: %v", h.Index, err)
				continue
			}
			if forks++; h.Orphaned {
				left++
			}
			t.Run(fmt.Sprint(h.Index), func(t *testing.T) {
				t.Parallel()
				goOn(t, h, plan)
			})
		}
	})
	return forks, left
}

// WentOn fails the test unless a fork of snapshot h went on with the words of a person.
func WentOn(t testing.TB, s store.Store, h model.Header, fork, words string) {
	t.Helper()
	list := Headers(t, s, fork)
	if !slices.ContainsFunc(list, func(h model.Header) bool { return h.Title == words }) || !list[len(list)-1].Head {
		t.Errorf("from #%d it did not go on: %+v", h.Index, list[len(list)-1])
	}
}
