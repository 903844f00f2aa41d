package langgraph

import (
	"fmt"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
)

// longServed returns the URL of a database in which a session "long" has so many checkpoints, as LangGraph
// writes them: two of three channels stay, and each step writes a message.
func longServed(t testing.TB, n int) string {
	t.Helper()
	address := served(t)
	pgtest.SharedCluster(t).Exec(t, address, fmt.Sprintf(`INSERT INTO checkpoints SELECT 'long', '', numbered(i), CASE WHEN i > 0 THEN numbered(i - 1) END, NULL,
			jsonb_build_object('v', 4, 'id', numbered(i), 'channel_values', jsonb_build_object('n', i), 'channel_versions', jsonb_build_object('messages', i::text, 'n', i::text),
				'versions_seen', '{}'::jsonb, 'updated_channels', '["messages", "n"]'::jsonb, 'pad', repeat(md5(i::text), 12)),
			jsonb_build_object('source', 'loop', 'step', i - 1, 'parents', '{}'::jsonb) FROM generate_series(0, %d) i`, n-1),
		fmt.Sprintf("INSERT INTO checkpoint_writes SELECT 'long', '', numbered(i), 'task', 0, 'messages', 'msgpack', blob, '~__pregel_pull, model' FROM generate_series(0, %d) i, LATERAL "+
			"(SELECT blob FROM checkpoint_writes WHERE thread_id = 'tour' AND channel = 'messages' ORDER BY checkpoint_id LIMIT 1) w", n-1),
		fmt.Sprintf("INSERT INTO checkpoint_blobs SELECT 'long', '', 'messages', i::text, 'msgpack', blob FROM generate_series(0, %d) i, LATERAL "+
			"(SELECT blob FROM checkpoint_blobs WHERE thread_id = 'tour' AND channel = 'messages' AND type = 'msgpack' ORDER BY version LIMIT 1) w", n-1), "VACUUM ANALYZE")
	return address
}

// served makes the ids of the long session by a function of the database.
const numberedBy = `CREATE FUNCTION numbered(i bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '1f1e6651-8b3a-6005-8008-' || lpad(i::text, 12, '0') $$`

// firstScreen does what the first screen of a store waits for.
func firstScreen(t testing.TB, address, session string) {
	t.Helper()
	s := connect(t, address)
	storetest.Sessions(t, s)
	headers, _, err := s.Features().Tail(t.Context(), session, 60)
	if err == nil {
		_, err = s.State(t.Context(), headers[len(headers)-1].Ref())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Over a network each answer takes as long as the way there and back. The least is four for a connection with a
// password (what of TLS, who, and two for the password), and one each for the list, the rows and the state.
func TestPostgres_waysOfAFirstScreen(t *testing.T) {
	const least = 4 + 3
	slow := pgtest.Between(t, served(t), 20*time.Millisecond)
	began := time.Now()
	firstScreen(t, slow.Address, "tour")
	turns := slow.Ways()
	t.Logf("%d ways there and back, %v; the least is %d", turns, time.Since(began), least)
	if turns > least+3 {
		t.Errorf("a first screen takes %d ways there and back, and the least is %d", turns, least)
	}
}

// All states of a session are read in a few ways, however many there are.
func TestPostgres_waysOfAllStates(t *testing.T) {
	const n, most = 1000, 12
	address := longServed(t, n)
	pgtest.SharedCluster(t).Exec(t, address, fmt.Sprintf("DELETE FROM checkpoint_writes WHERE thread_id = 'long' AND checkpoint_id = numbered(%d)", n-1))
	slow := pgtest.Between(t, address, time.Millisecond)
	s := connect(t, slow.Address)
	var refs []model.Ref
	for _, h := range storetest.Headers(t, s, "long") {
		refs = append(refs, h.Ref())
	}
	for _, batch := range [][]model.Ref{refs[:n/8], refs[n/8:]} { // as questions read them
		if err := s.Features().Weave(t.Context(), batch, storetest.NewCloth(n).Loom()); err != nil {
			t.Fatal(err)
		}
	}
	if turns := slow.Ways(); turns > most {
		t.Errorf("to read all states takes %d ways there and back, more than %d", turns, most)
	} else {
		t.Logf("%d ways there and back", turns)
	}
}

const large = 100_000

func BenchmarkPostgresFirstScreen(b *testing.B) {
	address := longServed(b, large)
	for b.Loop() {
		firstScreen(b, address, "long")
	}
}

func BenchmarkPostgresHeaders(b *testing.B) {
	address := longServed(b, large)
	for b.Loop() {
		if got := len(storetest.Headers(b, connect(b, address), "long")); got != large {
			b.Fatal(got)
		}
	}
}

func BenchmarkPostgresState(b *testing.B) {
	s := connect(b, longServed(b, large))
	for b.Loop() {
		if _, err := s.State(b.Context(), model.Ref{Session: "long", ID: numbered(large - 1)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPostgresFarAway is the first screen where there and back takes 20 ms.
func BenchmarkPostgresFarAway(b *testing.B) {
	slow := pgtest.Between(b, longServed(b, large), 20*time.Millisecond)
	for b.Loop() {
		firstScreen(b, slow.Address, "long")
	}
	b.ReportMetric(float64(slow.Ways())/float64(b.N), "ways/op")
}
