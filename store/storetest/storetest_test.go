package storetest_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// TestMain lets the random lives be fewer than rapid's hundred, for the sake of
// -race; go test -rapid.checks=1000 plays more of them.
func TestMain(m *testing.M) {
	checks := flag.Lookup("rapid.checks")
	if err := checks.Value.Set("20"); err != nil {
		panic(err)
	}
	m.Run()
}

func TestGrow_isASessionWithoutFaults(t *testing.T) {
	s := fake.New()
	n, err := s.Import(t.Context(), storetest.Grow("s", 2000, 200))
	if err != nil || n != 2000 {
		t.Fatal(n, err)
	}
	faults, err := s.Faults(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		// The turns of a made-up session are not worth making up.
		if f.Code != model.FaultTurnRepeated {
			t.Errorf("fault %+v", f)
		}
	}
	headers, _, err := s.Tail(t.Context(), "s", 2000)
	if err != nil {
		t.Fatal(err)
	}
	tree := model.NewTimeline(headers)
	left := map[model.Reason]bool{}
	for i := range headers {
		h := &headers[i]
		if h.Size < 190 || h.Size > 220 {
			t.Fatalf("a state of %d bytes", h.Size)
		}
		if h.Orphaned == tree.OnPath(model.Node(i)) {
			t.Fatalf("visit %d is orphaned %v, on the path %v", h.Visit, h.Orphaned, tree.OnPath(model.Node(i)))
		}
		if h.Orphaned {
			left[*h.Reason] = true
		}
	}
	if len(left) < 20 || len(left) > 60 {
		t.Errorf("%d restores in 2,000 snapshots", len(left))
	}
}

// TestKinds_agree plays the same random lives on memory and on sqlite.
func TestKinds_agree(t *testing.T) {
	storetest.Lives(t,
		func(_ *testing.T, now func() time.Time) storetest.Opened {
			return storetest.Opened{Store: fake.New(fake.WithClock(now))}
		},
		func(t *testing.T, now func() time.Time) storetest.Opened {
			s, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.WithClock(now))
			if err != nil {
				t.Fatal(err)
			}
			return storetest.Opened{Store: s}
		})
}
