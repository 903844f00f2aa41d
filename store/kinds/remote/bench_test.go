package remote_test

import (
	"encoding/json"
	"testing"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/kinds/remote"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// served returns a store, and the same through a server.
func served(b *testing.B, content func(*fake.Store)) map[string]store.Store {
	b.Helper()
	original := fake.New()
	content(original)
	h, err := serve.New([]serve.Agent{{Name: "chat", Store: original}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := remote.Open(b.Context(), serveHTTP(b, h))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return map[string]store.Store{"by=hand": original, "by=http": s}
}

// BenchmarkHeaders lists a session of 10,000 snapshots.
func BenchmarkHeaders(b *testing.B) {
	for name, s := range served(b, func(s *fake.Store) {
		if _, err := s.Import(b.Context(), storetest.Grow("s", 10_000, 50)); err != nil {
			b.Fatal(err)
		}
	}) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range s.Headers(b.Context(), "s") {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != 10_000 {
					b.Fatalf("%d headers", n)
				}
			}
		})
	}
}

// BenchmarkState reads a state of half a megabyte.
func BenchmarkState(b *testing.B) {
	state := jsontest.New(500_000, 1).JSON()
	ref := model.Ref{Session: "s", ID: model.SnapshotID(state), Visit: 1}
	for name, s := range served(b, func(s *fake.Store) {
		if err := s.SaveSnapshot(b.Context(), &model.Snapshot[json.RawMessage]{ID: ref.ID, SessionID: "s", State: state}); err != nil {
			b.Fatal(err)
		}
	}) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(state)))
			for b.Loop() {
				if _, err := s.State(b.Context(), ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
