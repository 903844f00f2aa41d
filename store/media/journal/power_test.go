package journal_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// print gives what tells one disk from another.
func printOf(m *disktest.Memory) [sha256.Size]byte {
	h := sha256.New()
	tree := m.Tree(whole)
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		fmt.Fprintf(h, "%d %s %d ", len(name), name, len(tree[name]))
		h.Write([]byte(tree[name]))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// powerCuts runs do on a disk, and tells of distinct states in which it could be
// found after a power failure before any of its calls or within, draws drawn at each
// of these moments. do says when it has promised that its work is done.
func powerCuts(m *disktest.Memory, rng *rand.Rand, draws int, seen map[[sha256.Size]byte]bool,
	do func(m *disktest.Memory, promised func()), found func(m *disktest.Memory, promised bool)) {
	promised := false
	m.Step = func() {
		for range draws {
			after := m.Crash(rng)
			if key := printOf(after); !seen[key] {
				seen[key] = true
				found(after, promised)
			}
		}
	}
	do(m, func() { promised = true })
	m.Step()
	m.Step = nil
}

// powerFailures lets the power fail at every moment of every write of the life, and
// of recoveries after that, and returns how many distinct states that were. wrong is
// told of each that is not as it must be.
func powerFailures(t *testing.T, start *disktest.Memory, draws int, wrong func(chapter string, err error)) (states int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range chapters(t, start) {
		seen := map[[sha256.Size]byte]bool{}
		found := func(m *disktest.Memory, promised bool) {
			done, err := c.check(m)
			if err == nil && promised && !done {
				err = errors.New("it was promised, and is not there")
			}
			if err != nil {
				wrong(c.name, err)
			}
		}
		powerCuts(c.before.Clone(), rng, draws, seen, func(m *disktest.Memory, promised func()) {
			must(t, c.apply(t.Context(), m, nil))
			promised()
		}, func(m *disktest.Memory, promised bool) {
			if open, _ := journal.New(m, journal.Options{}).OpenEntry(t.Context()); open != nil && rng.IntN(8) == 0 {
				powerCuts(m.Clone(), rng, 2, seen, func(m *disktest.Memory, promised func()) {
					if err := journal.New(m, journal.Options{}).Recover(t.Context()); err != nil {
						wrong(c.name, err)
					}
				}, found)
			}
			found(m, promised)
		})
		states += len(seen)
	}
	return states
}

func TestApply_powerFailure(t *testing.T) {
	skip.Sequential(t)
	draws, want := storetest.Sized(15, 90), int64(storetest.Sized(8_000, 20_000))
	if testing.Short() {
		draws, want = 1, 1_000
	}
	var states atomic.Int64
	t.Run("kinds", func(t *testing.T) {
		for _, kind := range []string{"exchange", "no exchange"} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				start := story()
				start.NoExchange = kind == "no exchange"
				states.Add(int64(powerFailures(t, start, draws, func(chapter string, err error) { t.Fatalf("%s: %v", chapter, err) })))
			})
		}
	})
	t.Logf("%d distinct states after a power failure", states.Load())
	if states.Load() < want {
		t.Errorf("fewer than %d", want)
	}
}

// TestPowerFailure_needsSyncs runs the same on a disk that lies about what is
// durable: what the journal relies on, the model takes away.
func TestPowerFailure_needsSyncs(t *testing.T) {
	start := story()
	start.Lies = true
	wrong := 0
	states := powerFailures(t, start, 4, func(string, error) { wrong++ })
	t.Logf("%d of %d states are wrong", wrong, states)
	if wrong < states/10 {
		t.Error("the model let it pass")
	}
}

// careless are ways in which programs write that are not enough.
var careless = []struct {
	name string
	put  func(m *disktest.Memory, name string, data []byte) error
}{
	{"in place", func(m *disktest.Memory, name string, data []byte) error { return m.Write(name, data, 0o640) }},
	{"renamed and not synced", func(m *disktest.Memory, name string, data []byte) error {
		return errors.Join(m.Write(name+".tmp", data, 0o640), m.Rename(name+".tmp", name))
	}},
}

// TestPowerFailure_hasTeeth runs the same on writers that are known to fail.
func TestPowerFailure_hasTeeth(t *testing.T) {
	for _, writer := range careless {
		t.Run(writer.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			before := story()
			restore := func(m *disktest.Memory, promised func()) {
				must(t, writer.put(m, "s/agent.json", []byte("agent at 2")))
				for i := 5; i >= 3; i-- {
					must(t, m.Remove(fmt.Sprintf("s/m/%d", i)))
				}
				must(t, writer.put(m, "s/m/2", []byte("edited second")))
				promised()
			}
			after := before.Clone()
			restore(after, func() {})
			c := newChapter(step{name: writer.name}, before, after)
			seen, wrong := map[[sha256.Size]byte]bool{}, 0
			powerCuts(before.Clone(), rng, 50, seen, restore, func(m *disktest.Memory, promised bool) {
				if done, err := c.check(m); err != nil || promised && !done {
					wrong++
				}
			})
			t.Logf("%d of %d states are wrong", wrong, len(seen))
			if wrong < 10 {
				t.Error("the model let it pass")
			}
		})
	}
}

// TestKill_hasTeeth kills the same writers instead: neither is atomic as a whole.
func TestKill_hasTeeth(t *testing.T) {
	skip.Sequential(t)
	for _, writer := range careless {
		before := story()
		restore := func(m *disktest.Memory) {
			must(t, writer.put(m, "s/agent.json", []byte("agent at 2")))
			must(t, m.Remove("s/m/5"))
		}
		after := before.Clone()
		restore(after)
		c := newChapter(step{name: writer.name}, before, after)
		wrong := 0
		for n := range 6 {
			m, at := before.Clone(), 0
			m.Step = func() {
				if at++; at > n {
					panic(errKilled)
				}
			}
			killed(func() { restore(m) })
			m.Step = nil
			if _, err := c.check(m.Clone()); err != nil {
				wrong++
			}
		}
		if wrong == 0 {
			t.Errorf("%s: nothing is wrong", writer.name)
		}
	}
}
