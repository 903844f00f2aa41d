package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	neturl "net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/native/typed"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// recorder commits turns to one session.
type recorder struct {
	*postgres.Store
	session string
	data    *model.Data[json.RawMessage]
	at      typed.Revision
	turns   int
}

// turn commits a turn, and returns the id of its snapshot. Without an error the turn is
// acknowledged.
func (r *recorder) turn(ctx context.Context) (string, error) {
	state := fmt.Appendf(nil, `{"session":%q,"turn":%d,"text":%q}`, r.session, r.turns, bytes.Repeat([]byte("so it goes on "), r.turns%200))
	snapshot := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(state), SessionID: r.session, CreatedAt: time.Unix(int64(r.turns), 0).UTC(),
		State: state, TurnIndex: r.turns, Index: r.turns, Event: model.SnapshotEventTurnEnd}
	if r.data != nil {
		snapshot.ParentID = r.data.LastSnapshot.ID
	}
	data := &model.Data[json.RawMessage]{ID: r.session, State: state, LastSnapshot: snapshot, TurnIndex: r.turns + 1}
	at, err := r.Commit(ctx, data, r.at)
	if err != nil {
		return "", err
	}
	r.data, r.at = data, at
	r.turns++
	return snapshot.ID, nil
}

func open(t testing.TB, url string, options ...postgres.Option) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenOrCreate(t.Context(), url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sameTurns compares the snapshots of a session with the turns that were acknowledged.
func sameTurns(t *testing.T, s *postgres.Store, session string, acknowledged []string) {
	t.Helper()
	have := storetest.Headers(t, s, session)
	if len(have) != len(acknowledged) {
		t.Errorf("session %q has %d snapshots of %d acknowledged turns", session, len(have), len(acknowledged))
	}
	for i, h := range have[:min(len(have), len(acknowledged))] {
		if h.ID != acknowledged[i] || h.Orphaned {
			t.Fatalf("snapshot %d of session %q is %+v, acknowledged was %s", i, session, h, acknowledged[i])
		}
		if state, err := s.State(t.Context(), h.Ref()); err != nil || model.SnapshotID(state) != h.ID {
			t.Fatalf("snapshot %d of session %q: %d bytes, %v", i, session, len(state), err)
		}
	}
}

// TestCommit_whoseAnswerIsLost: the connection breaks at COMMIT, before the server hears
// it and before the program hears the answer. Both times the turn is there once.
func TestCommit_whoseAnswerIsLost(t *testing.T) {
	wire := pgtest.Between(t, pgtest.SharedCluster(t).Database(t), 0)
	r := &recorder{Store: open(t, wire.Address), session: "s"}
	var acknowledged []string
	for _, delivered := range []bool{false, true, true, false} {
		wire.BreakNext(pgtest.Break{At: func(sent []byte) bool { return bytes.Contains(sent, []byte("\x00COMMIT\x00")) }, Delivered: delivered})
		id, err := r.turn(t.Context())
		if err != nil {
			t.Fatalf("delivered %v: %v", delivered, err)
		}
		acknowledged = append(acknowledged, id)
	}
	sameTurns(t, r.Store, "s", acknowledged)
}

// TestImport_whoseConnectionIsLost: an import is not run twice. It is there whole, or it says
// that nothing was written.
func TestImport_whoseConnectionIsLost(t *testing.T) {
	skip.Sequential(t)
	wire := pgtest.Between(t, pgtest.SharedCluster(t).Database(t), 0)
	s := open(t, wire.Address)
	for _, delivered := range []bool{false, true} {
		wire.BreakNext(pgtest.Break{At: func(sent []byte) bool { return bytes.Contains(sent, []byte("\x00COMMIT\x00")) }, Delivered: delivered})
		asked := 0
		n, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
			asked++
			storetest.Grow("s", 20, 100)(yield)
		})
		have := 0
		for _, info := range storetest.Sessions(t, s) {
			have += info.Snapshots
		}
		if asked != 1 || delivered && (err != nil || n != 20 || have != 20) || !delivered && (!errors.Is(err, pg.ErrUnreachable) || have != 0) {
			t.Errorf("delivered %v: %d rows and %d snapshots, asked for %d times: %v", delivered, n, have, asked, err)
		}
	}
}

// TestRecorders_outliveTheServer: connections are ended and the server is restarted in the
// midst of recording. Each acknowledged turn is there exactly once, and the recorders
// notice nothing.
func TestRecorders_outliveTheServer(t *testing.T) {
	cluster := pgtest.New(t)
	url := cluster.Database(t)
	shared := open(t, url)
	over, stop := context.WithCancel(t.Context())
	defer stop()
	acknowledged, turns := make([][]string, 4), make([]atomic.Int64, 4)
	var recording sync.WaitGroup
	for i := range acknowledged {
		s := shared
		if i%2 == 1 {
			s = open(t, url)
		}
		r := &recorder{Store: s, session: fmt.Sprint("s", i)}
		recording.Go(func() {
			for over.Err() == nil {
				id, err := r.turn(t.Context())
				if err != nil {
					t.Error(err)
					stop()
					return
				}
				acknowledged[i] = append(acknowledged[i], id)
				turns[i].Add(1)
			}
		})
	}
	// outlived does harm at any moment, and waits until each recorder has recorded more.
	outlived := func(harm func()) {
		before := make([]int64, len(turns))
		time.Sleep(rand.N(20 * time.Millisecond))
		harm()
		for i := range turns {
			before[i] = turns[i].Load()
		}
		for i := range turns {
			for turns[i].Load() < before[i]+2 && over.Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}
	}
	for _, how := range []pgtest.Mode{pgtest.Immediate, pgtest.Kill, pgtest.Fast} {
		for range storetest.Sized(4, 40) {
			outlived(func() {
				cluster.Exec(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < 0.5")
			})
		}
		outlived(func() {
			if err := cluster.Restart(how); err != nil {
				t.Error(err)
				stop()
			}
		})
	}
	stop()
	recording.Wait()
	for i, ids := range acknowledged {
		sameTurns(t, shared, fmt.Sprint("s", i), ids)
	}
	if faults, err := shared.Faults(t.Context(), ""); err != nil || len(faults) > 0 {
		t.Error(faults, err)
	}
}

// TestWithPatience: a write waits for a server that went away no longer than it is told to.
func TestWithPatience(t *testing.T) {
	cluster := pgtest.New(t)
	s, err := postgres.OpenOrCreate(t.Context(), cluster.Database(t), postgres.WithPatience(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := cluster.Stop(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = (&recorder{Store: s, session: "s"}).turn(t.Context())
	if took := time.Since(began); !errors.Is(err, pg.ErrUnreachable) || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// TestWithPatience_aLock: so it does for another program that holds the session.
func TestWithPatience_aLock(t *testing.T) {
	url := pgtest.SharedCluster(t).Database(t)
	r := &recorder{Store: open(t, url, postgres.WithPatience(50*time.Millisecond)), session: "s"}
	if _, err := r.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	held, err := other.Begin(t.Context())
	if err == nil {
		_, err = held.Exec(t.Context(), "SELECT FROM hindcast.sessions FOR UPDATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err = r.turn(t.Context()); !errors.Is(err, pg.ErrBusy) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestWatch_goesOnAfterARestart: a follower is told of a turn within a moment, and again
// when the server is back.
func TestWatch_goesOnAfterARestart(t *testing.T) {
	cluster := pgtest.New(t)
	url := cluster.Database(t)
	follower, r := open(t, url), &recorder{Store: open(t, url), session: "s"}
	changes, err := follower.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := func(of string) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(30 * time.Second):
			t.Fatal("the follower is not told of ", of)
		}
	}
	turn := func() {
		t.Helper()
		if _, err := r.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	told("what was there before it listened")
	turn()
	told("a turn")
	if err := cluster.Restart(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	told("what came while the server was away")
	turn()
	told("a turn after that")
}

// TestGrants: a role with the documented rights reads, another one records, and neither
// makes or changes a table.
func TestGrants(t *testing.T) {
	cluster := pgtest.SharedCluster(t)
	url := cluster.Database(t)
	if _, err := (&recorder{Store: open(t, url), session: "s"}).turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	role := func(records bool) string {
		address := cluster.Role(t, url)
		u, err := neturl.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Exec(t, url, postgres.Grants(u.User.Username(), records)...)
		return address
	}
	if _, err := postgres.Open(t.Context(), cluster.Role(t, url)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a role without rights: %v", err)
	}
	reader := open(t, role(false))
	before := storetest.Dump(t, reader)
	if _, err := (&recorder{Store: reader, session: "t"}).turn(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a role that reads records: %v", err)
	}
	if after := storetest.Dump(t, reader); after != before {
		t.Errorf("it holds\n%s\nwant\n%s", after, before)
	}
	writer := open(t, role(true))
	r := &recorder{Store: writer, session: "t"}
	first, err := r.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := writer.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "t", ID: first}})
	if err == nil {
		_, err = writer.Apply(t.Context(), plan)
	}
	if err == nil {
		if plan, err = writer.Plan(t.Context(), model.Change{Op: model.OpUndo}); err == nil {
			_, err = writer.Apply(t.Context(), plan)
		}
	}
	if err == nil {
		_, err = writer.Import(t.Context(), storetest.Grow("u", 10, 100))
	}
	if err != nil {
		t.Errorf("a role that records: %v", err)
	}
	empty := cluster.Database(t)
	if _, err := postgres.OpenOrCreate(t.Context(), cluster.Role(t, empty)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a role without rights makes a store: %v", err)
	}
}

// TestCommit_oneMakesASession: of two programs that begin one session, one does, and the other
// is told that it came too late, whatever that one has asked the server by then.
func TestCommit_oneMakesASession(t *testing.T) {
	url := pgtest.SharedCluster(t).Database(t)
	wire := pgtest.Between(t, url, 20*time.Millisecond)
	near, far := open(t, url), open(t, wire.Address)
	storetest.Sessions(t, far) // it is connected
	for way := range 8 {
		session, answer, asked := fmt.Sprint("s", way), make(chan error, 1), wire.Ways()
		go func() {
			_, err := (&recorder{Store: far, session: session}).turn(t.Context())
			answer <- err
		}()
		for wire.Ways() < asked+way && len(answer) == 0 {
			time.Sleep(time.Millisecond)
		}
		_, err := (&recorder{Store: near, session: session, turns: 1}).turn(t.Context())
		other := <-answer
		if (err == nil) == (other == nil) || !isConflict(errors.Join(err, other)) {
			t.Errorf("way %d: the programs are told %v and %v", way, err, other)
		}
		if list := storetest.Headers(t, near, session); len(list) != 1 {
			t.Errorf("way %d: %d snapshots", way, len(list))
		}
	}
}
