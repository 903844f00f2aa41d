package sqlite_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/skip"
)

// conversation returns the rows of a session that grows by a message of about
// 1 kB a turn, its counters with it. Once in fifty turns it is restored to one
// of the last twenty snapshots. content is told the bytes of each new message.
func conversation(session string, seed uint64, turns int, content func(int)) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		random := rand.New(rand.NewPCG(seed, 9))
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		state := jsontest.New(0, seed)
		type point struct {
			header   model.Header
			messages int
		}
		var path []point
		for i := range turns {
			if len(path) > 20 && random.IntN(50) == 0 {
				path = path[:len(path)-1-random.IntN(20)]
				state.Messages = state.Messages[:path[len(path)-1].messages:path[len(path)-1].messages]
			}
			state.Step()
			content(len(state.Messages[len(state.Messages)-1]))
			text := state.JSON()
			h := model.Header{ID: model.SnapshotID(text), SessionID: session, CreatedAt: start.Add(time.Duration(i) * time.Second), Visit: int64(i + 1),
				Index: len(path), TurnIndex: len(path), Size: int64(len(text)), Head: i == turns-1}
			if n := len(path); n > 0 {
				h.ParentID, h.ParentVisit = path[n-1].header.ID, path[n-1].header.Visit
			}
			path = append(path, point{h, len(state.Messages)})
			if !yield(store.Row{Header: h, State: text}, nil) {
				return
			}
		}
	}
}

// grown makes a store of conversations, closed again, and returns the bytes of
// their messages and of their states.
func grown(b testing.TB, path string, sessions, turns int) (content, naive int) {
	b.Helper()
	s, err := sqlite.Create(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	for i := range sessions {
		for row, err := range conversation(fmt.Sprint("s", i), uint64(i+1), turns, func(n int) { content += n }) {
			if err != nil {
				b.Fatal(err)
			}
			naive += len(row.State)
			if err := s.SaveSnapshot(b.Context(), store.Snapshot(row.Header, row.State)); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return content, naive
}

// TestSaveSnapshot_aConversationTakesTheRoomOfItsMessages: what the turns of a
// growing conversation take besides their messages is bounded.
func TestSaveSnapshot_aConversationTakesTheRoomOfItsMessages(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const turns = 600
	path := filepath.Join(unsynced(t), "store.db")
	content, naive := grown(t, path, 1, turns)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes for %d of messages and %d of states", info.Size(), content, naive)
	if most := int64(content + 200*turns); info.Size() > most {
		t.Errorf("the file has %d bytes, for %d bytes of messages in %d turns", info.Size(), content, turns)
	}
}

// BenchmarkSize is what 10,000 turns of growing conversations take, in a
// file that has been closed, as ten sessions and as one.
func BenchmarkSize(b *testing.B) {
	for _, c := range []struct{ sessions, turns int }{{10, 1000}, {1, 10_000}} {
		b.Run(fmt.Sprintf("%dx%d", c.sessions, c.turns), func(b *testing.B) {
			if c.turns == 10_000 && testing.Short() {
				b.Skip("50 GB of states")
			}
			for b.Loop() {
				path := filepath.Join(b.TempDir(), "store.db")
				content, naive := grown(b, path, c.sessions, c.turns)
				info, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				n := float64(c.sessions * c.turns)
				b.ReportMetric(float64(info.Size())/n, "B/snapshot")
				b.ReportMetric((float64(info.Size())-float64(content))/n, "B/snapshot-beyond-content")
				b.ReportMetric(float64(naive)/float64(info.Size()), "naive/size")
			}
		})
	}
}

// BenchmarkState reads random states of half a megabyte on average, as they are
// and with their id checked once more.
func BenchmarkState(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	grown(b, path, 2, 1000)
	s, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	headers, _, err := s.Tail(b.Context(), "s0", 1000)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("random", func(b *testing.B) {
		size := 0
		for i := 0; b.Loop(); i++ {
			state, err := s.State(b.Context(), headers[i*7919%len(headers)].Ref())
			if err != nil {
				b.Fatal(err)
			}
			size += len(state)
		}
		b.ReportMetric(float64(size)/float64(b.N)/1000, "kB/state")
	})
	// What is in there besides: the hash alone, of a state of that size.
	b.Run("hash", func(b *testing.B) {
		state := make([]byte, 510_000)
		for b.Loop() {
			sha256.Sum256(state)
		}
	})
	b.Run("Compare", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at := 450 + i*7919%100
			spans, err := s.Compare(b.Context(), headers[at-1].Ref(), headers[at].Ref())
			if err != nil || len(spans) == 0 {
				b.Fatal(spans, err)
			}
		}
	})
	// The round trip that Compare is measured against.
	b.Run("Tail1", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.Tail(b.Context(), "s0", 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Peek", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Peek(b.Context(), headers[i*7919%len(headers)].Ref()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStates reads two neighbours of 10 MB, together and one after the other.
func BenchmarkStates(b *testing.B) {
	s, _ := newStore(b)
	state := jsontest.New(10_000_000, 3)
	refs := keep(b, s, "s", state.JSON(), state.Step().JSON())
	b.Run("together", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.States(b.Context(), refs[0], refs[1]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apart", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			for _, ref := range refs {
				if _, err := s.State(b.Context(), ref); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkPeek is the beginning of a state of 100 MB.
func BenchmarkPeek(b *testing.B) {
	s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	state := jsontest.New(100*mebibyte, 1).JSON()
	id := model.SnapshotID(state)
	if err := s.SaveSnapshot(b.Context(), &model.Snapshot[json.RawMessage]{ID: id, SessionID: "s", State: state}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if first, err := s.Peek(b.Context(), model.Ref{Session: "s", ID: id}); err != nil || len(first) != mebibyte {
			b.Fatal(len(first), err)
		}
	}
}

// BenchmarkCapture is one capture of a state of 1 MB that grew by a message:
// what an agent does itself, and what the store costs.
func BenchmarkCapture(b *testing.B) {
	type state struct {
		Messages []any          `json:"messages"`
		Totals   map[string]int `json:"totals"`
		Turn     int            `json:"turn"`
	}
	fresh := func(b *testing.B) *state {
		st := &state{Totals: map[string]int{}}
		for _, m := range jsontest.New(mebibyte, 1).Messages {
			var v any
			if err := json.Unmarshal(m, &v); err != nil {
				b.Fatal(err)
			}
			st.Messages = append(st.Messages, v)
		}
		return st
	}
	step := func(st *state) {
		st.Turn++
		st.Totals["turns"] = st.Turn
		st.Messages[len(st.Messages)-1] = map[string]any{"role": "user", "content": fmt.Sprint("turn ", st.Turn)}
	}
	b.Run("marshal+hash", func(b *testing.B) {
		st := fresh(b)
		for b.Loop() {
			step(st)
			text, err := json.Marshal(st)
			if err != nil {
				b.Fatal(err)
			}
			sha256.Sum256(text)
		}
	})
	b.Run("Commit", func(b *testing.B) {
		s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		// The states are made outside of what is measured.
		next, stop := iter.Pull2(captures(b.Context()))
		defer stop()
		var last *model.Snapshot[json.RawMessage]
		var at typed.Revision
		for b.Loop() {
			b.StopTimer()
			text, _, _ := next()
			snapshot := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), SessionID: "s", State: text}
			if last != nil {
				snapshot.ParentID, snapshot.Index = last.ID, last.Index+1
			}
			b.StartTimer()
			at, err = s.Commit(b.Context(), &model.Data[json.RawMessage]{ID: "s", State: text, LastSnapshot: snapshot}, at)
			if err != nil {
				b.Fatal(err)
			}
			last = snapshot
		}
	})
}

// BenchmarkWindow saves states of 400 messages, each without the first message of the
// one before and with a new one at the end.
func BenchmarkWindow(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	s, err := sqlite.Create(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	state := jsontest.New(0, 1)
	for range 400 {
		state.Append()
	}
	parent, n := "", 0
	for b.Loop() {
		b.StopTimer()
		text := state.Step().DropFirst().JSON()
		snapshot := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), ParentID: parent, SessionID: "s", Index: n, State: text}
		b.StartTimer()
		if err := s.SaveSnapshot(b.Context(), snapshot); err != nil {
			b.Fatal(err)
		}
		parent, n = snapshot.ID, n+1
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(n), "B/snapshot")
}

// captures returns states of about 1 MB, each one message longer than the last.
func captures(ctx context.Context) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for ctx.Err() == nil {
			s := jsontest.New(mebibyte, 1)
			for range 200 {
				if !yield(s.Step().JSON(), nil) {
					return
				}
			}
		}
	}
}
