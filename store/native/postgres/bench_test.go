package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/storetest"
)

// BenchmarkScreen is 100,000 snapshots, or a million with HINDCAST_FULL: the first screen (open, list the sessions, take the
// newest 200 headers), all headers, and the first screen over a wire on which the way there
// and back takes 20 ms.
func BenchmarkScreen(b *testing.B) {
	const session = "big"
	count := storetest.Sized(100_000, 1_000_000)
	url := pgtest.New(b).Database(b)
	s := open(b, url)
	began := time.Now()
	if _, err := s.Import(b.Context(), storetest.Grow(session, count, 1000)); err != nil {
		b.Fatal(err)
	}
	b.Logf("import: %v, %d bytes", time.Since(began).Round(time.Millisecond), sizeNow(b, url, "hindcast"))
	first := func(b *testing.B, url string) {
		b.Helper()
		s, err := postgres.Open(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		storetest.Sessions(b, s)
		headers, before, err := s.Tail(b.Context(), session, 200)
		if err != nil || len(headers) != 200 || before == 0 {
			b.Fatal(len(headers), before, err)
		}
	}
	b.Run("First", func(b *testing.B) {
		for b.Loop() {
			first(b, url)
		}
	})
	b.Run("All", func(b *testing.B) {
		for b.Loop() {
			if n := len(storetest.Headers(b, s, session)); n != count {
				b.Fatal(n)
			}
		}
	})
	b.Run("First/20ms", func(b *testing.B) {
		wire := pgtest.Between(b, url, 20*time.Millisecond)
		for b.Loop() {
			first(b, wire.Address)
		}
		b.ReportMetric(float64(wire.Ways())/float64(b.N), "ways")
	})
	b.Run("All/20ms", func(b *testing.B) {
		far := open(b, pgtest.Between(b, url, 20*time.Millisecond).Address)
		for b.Loop() {
			storetest.Headers(b, far, session)
		}
	})
}

// recordTurns commits turns of a conversation that grows by a message, and returns how many bytes
// its states have.
func recordTurns(tb testing.TB, s *postgres.Store, session string, seed uint64, turns int) (states int) {
	r := &program{Store: s, session: session, state: jsontest.New(0, seed)}
	for range turns {
		n, err := r.turn(tb.Context())
		if err != nil {
			tb.Error(err)
			return states
		}
		states += n
	}
	return states
}

// program commits the turns of a conversation.
type program struct {
	*postgres.Store
	session string
	state   *jsontest.State
	last    recorder
}

func (p *program) turn(ctx context.Context) (size int, err error) {
	text := p.state.Step().JSON()
	r := &p.last
	snapshot := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), SessionID: p.session, CreatedAt: time.Unix(int64(r.turns), 0).UTC(),
		State: text, TurnIndex: r.turns, Index: r.turns}
	if r.data != nil {
		snapshot.ParentID = r.data.LastSnapshot.ID
	}
	data := &model.Data[json.RawMessage]{ID: p.session, State: text, LastSnapshot: snapshot, TurnIndex: r.turns + 1}
	at, err := p.Commit(ctx, data, r.at)
	if err == nil {
		r.data, r.at = data, at
		r.turns++
	}
	return len(text), err
}

// taken returns how many bytes the tables of a schema take, with their indexes, once what is dead in them
// is gone.
func taken(tb testing.TB, c *pgtest.Cluster, url, schema string) (size int64) {
	tb.Helper()
	c.Exec(tb, url, "VACUUM FULL", "CHECKPOINT")
	return sizeNow(tb, url, schema)
}

func sizeNow(tb testing.TB, url, schema string) (size int64) {
	tb.Helper()
	server, err := pg.New(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer server.Close()
	err = server.Read(tb.Context(), func(t *pg.Tx) error {
		return t.Row(tb.Context(), "SELECT cast(sum(pg_total_relation_size(c.oid)) AS bigint) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'", schema).Scan(&size)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return size
}

// BenchmarkTurns is a conversation of 1,000 turns that grows by a message of about 850 bytes:
// the time of a turn and the bytes of a snapshot, as they are right after and once what is
// dead is gone. Beside it LangGraph's PostgresSaver puts the same conversation into the same
// server, where HINDCAST_SDKS names the folder with the real SDKs. Both bring each commit to
// the disk.
func BenchmarkTurns(b *testing.B) {
	const turns = 1000
	cluster := pgtest.New(b, "fsync=on")
	report := func(b *testing.B, took time.Duration, url, schema string) {
		b.Helper()
		b.ReportMetric(float64(took.Microseconds())/float64(turns)/1000, "ms/turn")
		b.ReportMetric(float64(sizeNow(b, url, schema))/turns, "B/snapshot-now")
		b.ReportMetric(float64(taken(b, cluster, url, schema))/turns, "B/snapshot")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("Hindcast", func(b *testing.B) {
		url := cluster.Database(b)
		s := open(b, url)
		began := time.Now()
		states := recordTurns(b, s, "s", 1, turns)
		report(b, time.Since(began), url, "hindcast")
		b.ReportMetric(float64(states)/turns, "B/state")
	})
	b.Run("LangGraph", func(b *testing.B) {
		sdks := os.Getenv("HINDCAST_SDKS")
		if sdks == "" {
			b.Skip("HINDCAST_SDKS names no folder with the real SDKs: testdata/interop/install makes one")
		}
		python := filepath.Join(sdks, "langgraph", "venv", "bin", "python")
		url := cluster.Database(b)
		state := jsontest.New(0, 1)
		for range turns {
			state.Step()
		}
		messages := make([]string, len(state.Messages))
		for i, m := range state.Messages {
			messages[i] = string(m)
		}
		file := filepath.Join(b.TempDir(), "messages.jsonl")
		if err := os.WriteFile(file, []byte(strings.Join(messages, "\n")), 0o600); err != nil {
			b.Fatal(err)
		}
		out, err := exec.CommandContext(b.Context(), python, filepath.Join("testdata", "langgraph_put.py"), url, file).Output()
		if err != nil {
			b.Fatal(err, string(out))
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			b.Fatal(err)
		}
		report(b, time.Duration(seconds*float64(time.Second)), url, "public")
	})
}

// BenchmarkRecorders is how many turns are committed in a second: by one recorder, by eight on
// eight sessions, and by eight on one session. A recorder that came too late goes on from the
// session's new head.
func BenchmarkRecorders(b *testing.B) {
	const each = 100
	cluster := pgtest.New(b, "fsync=on")
	for _, c := range []struct{ recorders, sessions int }{{1, 1}, {8, 8}, {8, 1}} {
		b.Run(fmt.Sprintf("%don%d", c.recorders, c.sessions), func(b *testing.B) {
			url := cluster.Database(b)
			first := open(b, url)
			stores := make([]*postgres.Store, c.recorders)
			for i := range stores {
				stores[i] = open(b, url)
			}
			began := time.Now()
			var running sync.WaitGroup
			for i, s := range stores {
				running.Go(func() {
					if c.sessions > 1 || c.recorders == 1 {
						recordTurns(b, s, fmt.Sprint("s", i), uint64(i), each)
						return
					}
					for n := range each {
						if err := addOne(b.Context(), s, "s0", fmt.Sprintf("%d.%d", i, n)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			took := time.Since(began)
			b.ReportMetric(float64(c.recorders*each)/took.Seconds(), "turns/s")
			b.ReportMetric(0, "ns/op")
			total := 0
			for _, info := range storetest.Sessions(b, first) {
				total += info.Snapshots
			}
			if total != c.recorders*each {
				b.Errorf("%d snapshots of %d turns", total, c.recorders*each)
			}
		})
	}
}

// addOne adds a word to the list that is a session's state, however often others come first.
func addOne(ctx context.Context, s store.Store, session, word string) error {
	c := s.(*postgres.Store)
	for {
		data, at, err := c.Load(ctx, session)
		if err != nil {
			return err
		}
		var words []string
		snapshot := &model.Snapshot[json.RawMessage]{SessionID: session, CreatedAt: time.Now().UTC()}
		if data != nil {
			if err := json.Unmarshal(data.State, &words); err != nil {
				return err
			}
			snapshot.ParentID, snapshot.Index = data.LastSnapshot.ID, data.LastSnapshot.Index+1
		}
		state, err := json.Marshal(append(words, word))
		if err != nil {
			return err
		}
		snapshot.ID, snapshot.State = model.SnapshotID(state), state
		_, err = c.Commit(ctx, &model.Data[json.RawMessage]{ID: session, State: state, LastSnapshot: snapshot}, at)
		if !isConflict(err) {
			return err
		}
	}
}

func isConflict(err error) bool {
	_, is := errors.AsType[*model.ConflictError](err)
	return is
}
