package tui_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/store/kinds/langgraph"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/tui"
)

// langgraphStore opens the checkpoints of a graph that stopped to ask.
func langgraphStore(t *testing.T, name string) tui.Options {
	t.Helper()
	s, err := langgraph.Kind(nil, "").Open(t.Context(), filepath.Join("..", "testdata", "langgraph", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(s)
	o.Now = func() time.Time { return time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC) }
	return o
}

// A person looks at a checkpoint that waits for an answer, and at how to go on from it.
func TestLangGraph_waits(t *testing.T) {
	t.Parallel()
	for _, screen := range []keymap.Action{keymap.None, keymap.ShowState, keymap.ShowMessages, keymap.ShowResume, keymap.ShowInfo, keymap.Yank} {
		t.Run(screen.String(), func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				o := langgraphStore(t, "agent.db")
				o.Session = "other"
				p := start(t, o, w, h)
				if screen != keymap.None {
					p.Press(keymap.Timeline, screen)
				}
				p.Golden()
			})
		})
	}
}

// The call that goes on from a checkpoint off the path names it and needs no restore, as the
// plan of one says first.
func TestLangGraph_timeTravel(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		o := langgraphStore(t, "agent.db")
		o.Session = "tour"
		p := start(t, o, w, h)
		p.Press(keymap.Timeline, keymap.PrevBranch, keymap.ShowResume)
		shows(t, p, "Go on from here", `graph.invoke(`)
		p.Golden()
		p.Press(keymap.Timeline, keymap.Restore)
		shows(t, p, "restore tour to #25", "→ a new snapshot, as #25 was", `"checkpoint_id"`)
	})
}

// A restore adds a checkpoint: the receipt does not give it the name of the one that it is like.
func TestLangGraph_restoreTwice(t *testing.T) {
	t.Parallel()
	s, err := langgraph.Kind(nil, "").Open(t.Context(), storetest.Copy(t, filepath.Join("..", "testdata", "langgraph", "agent.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o := options(s)
	o.Session = "tour"
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.Restore)
	shows(t, p, "restore tour to #25 ")
	p.Key("y")
	waitFor(t, p, "head #25.2")
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.Restore)
	shows(t, p, "restore tour to #25.1 ")
	p.Key("y")
	waitFor(t, p, "head #25.3")
	shows(t, p, "✓ at #25 ")
}

// A checkpoint that the graph adds while its session is shown appears.
func TestLangGraph_goesOn(t *testing.T) {
	t.Parallel()
	path := storetest.Copy(t, filepath.Join("..", "testdata", "langgraph", "agent.db"))
	file := sqlitefile.NewOwn(path, "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)", nil)
	t.Cleanup(func() { file.Close() })
	s, err := langgraph.Kind(nil, "").Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o := options(s)
	o.Session = "other"
	p := start(t, o, 100, 30)
	shows(t, p, "head #8")
	for i := 9; i < 12; i++ {
		err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO checkpoints SELECT thread_id, checkpoint_ns, ?, checkpoint_id, type, checkpoint, json_set(metadata, '$.step', ?)
				FROM checkpoints WHERE thread_id = 'other' ORDER BY checkpoint_id DESC LIMIT 1`, fmt.Sprintf("2f1e6651-8b3a-6005-8008-%012d", i), i-1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, p, fmt.Sprintf("head #%d  following", i))
	}
	p.Idle()
}

// The Messages tab of an encrypted state says why it is empty, also where the faults are
// found after it was drawn.
func TestLangGraph_encrypted(t *testing.T) {
	t.Parallel()
	p := start(t, langgraphStore(t, "encrypted.db"), 100, 30)
	p.Press(keymap.Timeline, keymap.ShowMessages)
	shows(t, p, "no messages in this state:", "states are stored as msgpack+aes and", "shown as bytes")
}
