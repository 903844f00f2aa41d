package native

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"hindcast/model"
)

// TestTaking_asksNothingAboutWhatIsNew: an import into an empty store knows which ids and
// states are not there. It has no transaction here in which it could ask.
func TestTaking_asksNothingAboutWhatIsNew(t *testing.T) {
	k := newTaking(nil, &tx{}, session{}, fingerprints{}, fingerprints{})
	for batch := range 3 {
		rows := make([]batched, batchRows)
		for i := range rows {
			state := fmt.Appendf(nil, `{"n":%d}`, batch*batchRows+i)
			rows[i] = batched{Header: model.Header{ID: model.SnapshotID(state)}, state: content{bytes: state, sum: sha256.Sum256(state)}}
		}
		known, err := k.knownIDs(t.Context(), rows)
		if err != nil || len(known) > 0 {
			t.Fatal(known, err)
		}
		if have, err := k.knownStates(t.Context(), rows, known); err != nil || len(have) > 0 {
			t.Fatal(have, err)
		}
	}
}

func TestFingerprints(t *testing.T) {
	if f := (fingerprints{}); f.add(1) || f.add(2) || !f.add(1) {
		t.Error("they forget, or make up")
	}
	if f := fingerprints(nil); !f.add(1) {
		t.Error("what knows nothing is sure that a key is new")
	}
}
