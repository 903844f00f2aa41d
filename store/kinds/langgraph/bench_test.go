package langgraph

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// long copies a store and makes a session "long" in it of that many checkpoints, each of
// which follows the one before and says what one of LangGraph's said.
func long(t testing.TB, n int) (path string) {
	t.Helper()
	path = copied(t, "agent.db")
	file := writer(path)
	err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		for i := range n {
			if err := follow(t, tx, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// numbered returns the id of a checkpoint of the long session.
func numbered(i int) string { return fmt.Sprintf("1f1e6651-8b3a-6005-8008-%012d", i) }

// follow adds a checkpoint to the long session, and what its step wrote.
func follow(t testing.TB, tx *sqlitefile.Tx, i int) error {
	parent := numbered(i - 1)
	_, err := tx.Exec(t.Context(), `INSERT INTO checkpoints SELECT 'long', '', ?, ?, type, checkpoint, json_set(metadata, '$.step', ?)
		FROM checkpoints WHERE thread_id = 'tour' AND json_extract(metadata, '$.source') = 'loop' ORDER BY checkpoint_id LIMIT 1 OFFSET 3`, numbered(i), parent, i-1)
	if err == nil && i > 0 {
		_, err = tx.Exec(t.Context(), `INSERT INTO writes SELECT 'long', '', ?, task_id, task_path, idx, channel, type, value FROM writes
			WHERE thread_id = 'tour' AND checkpoint_id = (SELECT checkpoint_id FROM writes WHERE thread_id = 'tour' AND channel = 'messages' ORDER BY checkpoint_id LIMIT 1 OFFSET 1)`, parent)
	}
	return err
}

const many = 10_000

func BenchmarkSessions(b *testing.B) {
	s := open(b, long(b, many))
	for b.Loop() {
		storetest.Sessions(b, s)
	}
}

// BenchmarkHeaders reads all of a store that was just opened.
func BenchmarkHeaders(b *testing.B) {
	path := long(b, many)
	for b.Loop() {
		s := open(b, path)
		if got := len(storetest.Headers(b, s, "long")); got != many {
			b.Fatal(got)
		}
	}
}

// BenchmarkPlan plans a restore and a fork in the middle of all checkpoints.
func BenchmarkPlan(b *testing.B) {
	s := storetest.AsWriter(open(b, long(b, many)))
	for _, change := range []model.Change{{Op: model.OpRestore}, {Op: model.OpFork, As: "new"}} {
		change.Ref = model.Ref{Session: "long", ID: numbered(many / 2)}
		b.Run(string(change.Op), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Plan(b.Context(), change); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSDK has LangGraph list the same checkpoints, and load one state.
//
//	HINDCAST_SDKS=… go test ./store/kinds/langgraph -run - -bench 'SDK|Headers|State|Plan'
//
// Of 10,000 checkpoints, in seconds of the CPU on a busy machine of two cores:
//
//	list all          Headers  0.64     saver.list  2.6     get_state_history  3.6
//	one state         State    0.001    get_state   0.001
//	plan a restore    1.6
//	plan a fork       3.1, of the 5,001 in front of the middle
func BenchmarkSDK(b *testing.B) {
	sdks := os.Getenv("HINDCAST_SDKS")
	if sdks == "" {
		b.Skip("HINDCAST_SDKS names no folder with LangGraph")
	}
	path := long(b, many)
	spent := map[string]float64{}
	for b.Loop() {
		out, err := exec.CommandContext(b.Context(), filepath.Join(sdks, "langgraph", "venv", "bin", "python"), filepath.Join("..", "..", "..", "testdata", "interop", "langgraph", "states.py"), "time", path).Output()
		if err == nil {
			err = json.Unmarshal(out, &spent)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, ms := range spent {
		b.ReportMetric(ms, "ms/"+name)
	}
}

func BenchmarkState(b *testing.B) {
	s := open(b, long(b, many))
	for b.Loop() {
		if _, err := s.State(b.Context(), model.Ref{Session: "long", ID: numbered(many - 1)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTail is what the first screen of a store waits for that was just opened.
func BenchmarkTail(b *testing.B) {
	path := long(b, many)
	for b.Loop() {
		s := open(b, path)
		if headers, before, err := s.Features().Tail(b.Context(), "long", 60); err != nil || len(headers) != 60 || before != many-60 {
			b.Fatal(len(headers), before, err)
		}
	}
}

// BenchmarkGrowth is a session to which a checkpoint is added before each look.
func BenchmarkGrowth(b *testing.B) {
	path := long(b, many)
	s, file := open(b, path).Features(), writer(path)
	at, err := s.Cursor(b.Context(), "long")
	if err != nil {
		b.Fatal(err)
	}
	for i := many; b.Loop(); i++ {
		b.StopTimer()
		if err := file.Write(b.Context(), func(tx *sqlitefile.Tx) error { return follow(b, tx, i) }); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		growth, err := s.Growth(b.Context(), "long", at)
		if err != nil || growth.Rewritten || len(growth.Headers) != 1 || growth.Headers[0].ID != numbered(i) {
			b.Fatal(growth, err)
		}
		at = growth.Cursor
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}
