package snapshots

import (
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// Each id is one that the SDKs take, and sorts after all before it, whatever the
// clock says.
func TestMinter_ascends(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		m := minter{random: func(b []byte) { copy(b, rapid.SliceOfN(rapid.Byte(), len(b), len(b)).Draw(t, "random")) }}
		var ids []string
		base := rapid.Int64Range(0, lastMilli-10_000).Draw(t, "base")
		if rapid.Bool().Draw(t, "there is one") {
			m.noteID("not-a-uuid")
			m.noteID("01a1fba8-d2e2-76d5-8f2e-4036af2a54d0")
			ids = append(ids, "01a1fba8-d2e2-76d5-8f2e-4036af2a54d0")
		}
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			at := time.UnixMilli(base + rapid.Int64Range(-5, 5).Draw(t, "step"))
			id, err := m.mintID(at)
			if err != nil {
				t.Fatal(err)
			}
			if !uuid7().MatchString(id) {
				t.Fatal(id)
			}
			if made, _ := timeOfID(id); made.Before(at.Truncate(time.Millisecond)) {
				t.Fatalf("%s is of %v, before %v", id, made, at)
			}
			if len(ids) > 0 && id <= ids[len(ids)-1] {
				t.Fatalf("%s after %s", id, ids[len(ids)-1])
			}
			ids = append(ids, id)
		}
	})
}

// More than fit into the counter of one millisecond lend from the next.
func TestMinter_burst(t *testing.T) {
	m := minter{random: func(b []byte) { _, _ = rand.Read(b) }}
	var ids []string
	for range 10_000 {
		id, err := m.mintID(noon)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 10_000 {
		t.Error("they do not ascend")
	}
}

func TestMinter_noLaterID(t *testing.T) {
	m := minter{random: func([]byte) {}}
	m.noteID("ffffffff-ffff-7fff-bfff-ffffffffffff")
	if id, err := m.mintID(noon); !errors.Is(err, errNoLaterID) {
		t.Error(id, err)
	}
}
