package postgres_test

import (
	"testing"

	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// TestTurns_takeTheRoomOfTheirMessages: a conversation takes a tenth of its states at most, with its indexes and
// what the server has not cleared away yet. BenchmarkTurns has the figures.
func TestTurns_takeTheRoomOfTheirMessages(t *testing.T) {
	skip.Sequential(t)
	url := pgtest.SharedCluster(t).Database(t)
	states := recordTurns(t, open(t, url), "s", 1, 200)
	if size := sizeNow(t, url, "hindcast"); size*10 > int64(states) {
		t.Errorf("%d bytes of states take %d", states, size)
	}
}

// TestFirstScreen_takesFewWays: to connect takes 3 ways there and back behind that of TCP, and the rest of a first
// screen 11: the version, the list, the two for what the first session began with, the session, its rows, their reasons
// and far parents, and three to end what was read.
func TestFirstScreen_takesFewWays(t *testing.T) {
	url := pgtest.SharedCluster(t).Database(t)
	if _, err := open(t, url).Import(t.Context(), storetest.Grow("s", 1000, 100)); err != nil {
		t.Fatal(err)
	}
	wire := pgtest.Between(t, url, 0)
	s, err := postgres.Open(t.Context(), wire.Address)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Sessions(t, s)
	if _, _, err = s.Tail(t.Context(), "s", 200); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	// Where the next reading comes late, the one before it is ended on its own.
	if ways := wire.Ways(); ways > 14+2 {
		t.Errorf("%d ways", ways)
	}
}
