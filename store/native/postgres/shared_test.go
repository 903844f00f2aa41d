package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/storetest"
)

// TestSessions_meetAtTheirStates: sessions that are written at the same time have records and
// snapshots from a handful of states. A state that one session drops, sweeps or makes a snapshot of is one that
// another refers to at that moment. None waits for one that waits for it, and no state is left that no session has.
func TestSessions_meetAtTheirStates(t *testing.T) {
	url := pgtest.SharedCluster(t).Database(t)
	states := make([][]byte, 7)
	for i := range states {
		states[i] = jsontest.New(250_000, uint64(i+1)).JSON()
	}
	patient := postgres.WithPatience(time.Minute) // beside the race detector a save takes long
	stores := []*postgres.Store{open(t, url, patient), open(t, url, patient), open(t, url, patient)}
	last := make([][]byte, 6)
	seed := rand.Uint64()
	t.Log("seed", seed)
	var writing sync.WaitGroup
	for i := range last {
		s, session, random := stores[i%len(stores)], fmt.Sprint("s", i), rand.New(rand.NewPCG(seed, uint64(i)))
		writing.Go(func() {
			for n := range storetest.Sized(25, 200) {
				state := states[random.IntN(len(states))]
				data := &model.Data[json.RawMessage]{ID: session, State: state}
				if random.IntN(3) == 0 {
					data.LastSnapshot = &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(state), SessionID: session, Index: n, State: state}
				}
				if err := s.Save(t.Context(), session, data); err != nil {
					t.Errorf("session %s, save %d: %v", session, n, err)
					return
				}
				last[i] = state
			}
		})
	}
	writing.Wait()
	fresh := open(t, url)
	for i, state := range last {
		session := fmt.Sprint("s", i)
		data, err := fresh.Get(t.Context(), session)
		if err != nil || !bytes.Equal(data.State, state) {
			t.Errorf("the record of session %s: %v", session, err)
		}
		for _, h := range storetest.Headers(t, fresh, session) {
			if text, err := fresh.State(t.Context(), h.Ref()); err != nil || model.SnapshotID(text) != h.ID {
				t.Errorf("snapshot %d of session %s: %v", h.Index, session, err)
			}
		}
	}
	if faults, err := fresh.Faults(t.Context(), ""); err != nil || len(faults) > 0 {
		t.Error(faults, err)
	}
	p, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.WithoutCancel(t.Context()))
	var deadlocks, left int
	err = p.QueryRow(t.Context(), `SELECT deadlocks, (SELECT count(*) FROM hindcast.states s WHERE NOT EXISTS (SELECT 1 FROM hindcast.visits WHERE state = s.state)
		AND NOT EXISTS (SELECT 1 FROM hindcast.sessions WHERE record_state = s.state)) FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks, &left)
	if err != nil || deadlocks > 0 || left > 0 {
		t.Errorf("%d deadlocks, and nothing refers to %d states that are left: %v", deadlocks, left, err)
	}
}
