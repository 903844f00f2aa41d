package storetest

import (
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// Sessions returns the sessions of a store in its order. An error fails the test.
func Sessions(t testing.TB, s store.Store) (list []model.SessionInfo) {
	t.Helper()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, info)
	}
	return list
}

// Headers returns the headers of a session in their order. An error fails the test.
func Headers(t testing.TB, s store.Store, session string) (list []model.Header) {
	t.Helper()
	for h, err := range s.Headers(t.Context(), session) {
		if err != nil {
			t.Fatalf("session %q: %v", session, err)
		}
		list = append(list, h)
	}
	return list
}

// Faults returns what a store finds wrong with a session. An error fails the test.
func Faults(t testing.TB, s store.Store, session string) []model.Fault {
	t.Helper()
	list, err := s.Faults(t.Context(), session)
	if err != nil {
		t.Fatalf("session %q: %v", session, err)
	}
	return list
}
