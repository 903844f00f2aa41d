package langgraph

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/engine/rows"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// At every checkpoint of recorded stores: what is written, taken back and done again.
func TestRows(t *testing.T) {
	for _, name := range []string{"types.db", "subgraph.db", "pickle.db", "functional.db", "failed.db", "encrypted.db", "old-0.2.5-json.db", "js.db", "delta.db", "agent.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && (name == "agent.db" || name == "delta.db" || name == "js.db") {
				t.Skip("the large ones run without -short")
			}
			storetest.Rows(t, Kind(nil, "").Kind, recorded(name))
		})
	}
}

// agentRuns adds a checkpoint behind the newest of a thread, as a run of the agent does, with
// what its step wrote.
func agentRuns(t testing.TB, path, thread string, now time.Time) {
	file := writer(path)
	err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		var newest string
		if err := tx.Row(t.Context(), "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''", thread).Scan(&newest); err != nil {
			return err
		}
		id, ok := newID(newest, newest, now)
		if !ok {
			return errNoID
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO checkpoints SELECT thread_id, '', ?2, checkpoint_id, type, checkpoint, json_set(metadata, '$.source', 'loop') FROM checkpoints
			WHERE thread_id = ?1 AND checkpoint_ns = '' AND checkpoint_id = ?3`, thread, id, newest)
		if err == nil {
			_, err = tx.Exec(t.Context(), `INSERT OR REPLACE INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value) VALUES (?, '', ?, 'task', 0, 'notes', 'msgpack', x'91a26869')`, thread, newest)
		}
		return err
	})
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

var rowID = regexp.MustCompile(`(?m)^(\w+) \d+ `)

// without returns lines of tables, less some of them, each once; false where one is not there.
func without(lines, less []string) ([]string, bool) {
	lines = slices.Clone(lines)
	for _, line := range less {
		i := slices.Index(lines, line)
		if i < 0 {
			return nil, false
		}
		lines = slices.Delete(lines, i, i+1)
	}
	return lines, true
}

// However restores, forks, undos, redos and the agent's runs follow each other: an undo takes
// away exactly the rows that its write added, or refuses because the agent built on them, and
// nothing that the agent wrote ever goes.
func TestMove_anySequence(t *testing.T) {
	lines := func(path string) []string {
		all := strings.Split(rowID.ReplaceAllString(storetest.Tables(t, path), "$1 "), "\n")
		slices.Sort(all)
		return all
	}
	rapid.Check(t, func(r *rapid.T) {
		path := filepath.Join(t.TempDir(), "agent.db")
		data, err := os.ReadFile(recorded([]string{"agent.db", "delta.db", "js.db", "subgraph.db"}[rapid.IntRange(0, 3).Draw(r, "store")]))
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := storetest.AsWriter(open(t, path))
		type write struct{ added []string }
		var done, undone []write
		threads := func() (ids []string) {
			for _, info := range storetest.Sessions(t, s) {
				if !strings.Contains(info.ID, "/") {
					ids = append(ids, info.ID)
				}
			}
			slices.Sort(ids)
			return ids
		}
		now, forks := time.Now(), 0
		for range rapid.IntRange(2, 8).Draw(r, "steps") {
			before := lines(path)
			thread := rapid.SampledFrom(threads()).Draw(r, "thread")
			change := model.Change{Op: rapid.SampledFrom([]model.Op{model.OpRestore, model.OpFork, model.OpUndo, model.OpUndo, model.OpRedo, ""}).Draw(r, "op")}
			switch change.Op {
			case "":
				now = now.Add(time.Second)
				agentRuns(t, path, thread, now)
				continue
			case model.OpFork, model.OpRestore:
				change.Ref = rapid.SampledFrom(storetest.Headers(t, s, thread)).Draw(r, "snapshot").Ref()
				if change.Op == model.OpFork {
					forks++
					change.As = fmt.Sprintf("fork %d", forks)
				}
			}
			plan, err := s.Plan(t.Context(), change)
			if err == nil {
				_, err = s.Apply(t.Context(), plan)
			}
			after := lines(path)
			if err != nil {
				nothing := errors.As(err, new(*model.NothingToError)) || errors.As(err, new(*model.UnsupportedError))
				if !nothing && !errors.Is(err, model.ErrHeadMoved) {
					t.Fatalf("%s: %v", change, err)
				}
				if errors.Is(err, model.ErrHeadMoved) && change.Op != model.OpUndo && change.Op != model.OpRedo {
					t.Fatalf("%s: %v, and no other program wrote meanwhile", change, err)
				}
				if !slices.Equal(before, after) {
					t.Fatalf("%s: %v, and rows changed", change, err)
				}
				continue
			}
			switch added, grew := without(after, before); change.Op {
			case model.OpUndo:
				last := done[len(done)-1]
				if left, ok := without(before, last.added); !ok || !slices.Equal(left, after) {
					t.Fatalf("%s: other rows went than those of the write", change)
				}
				done, undone = done[:len(done)-1], append(undone, last)
			case model.OpRedo:
				again := undone[len(undone)-1]
				if !grew || !slices.Equal(added, again.added) {
					t.Fatalf("%s: other rows came than those of the write", change)
				}
				done, undone = append(done, again), undone[:len(undone)-1]
			default:
				if !grew {
					t.Fatalf("%s: rows went", change)
				}
				if !plan.Idle() {
					done, undone = append(done, write{added}), nil
				}
			}
		}
	})
}

// What the agent wrote keeps the rows of Hindcast's: on one of them a write that is pending, a child, a
// subgraph; beside a restored one a sibling; and anything in a thread that was forked.
func TestUndo_agentWentOn(t *testing.T) {
	const (
		sibling  = "INSERT INTO checkpoints SELECT thread_id, '', '2' || substr(checkpoint_id, 2), parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = '%s' AND checkpoint_id = 'HEAD'"
		root     = "INSERT INTO checkpoints SELECT thread_id, '%s', '2' || substr(checkpoint_id, 2), NULL, type, checkpoint, metadata FROM checkpoints WHERE thread_id = 'new' AND checkpoint_id = 'HEAD'"
		follows  = "INSERT INTO checkpoints SELECT thread_id, '', '3' || substr(checkpoint_id, 2), checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = 'new' AND checkpoint_id LIKE '2%%'"
		child    = "INSERT INTO checkpoints SELECT thread_id, '', '2' || substr(checkpoint_id, 2), checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE checkpoint_id = 'HEAD'"
		write    = "INSERT INTO writes VALUES ('tour', '', 'HEAD', 'task', '', 0, 'notes', 'null', NULL)"
		subgraph = "INSERT INTO checkpoints VALUES ('tour', 'node:task', '20000000-0000-6000-8000-000000000000', NULL, 'null', NULL, json_object('source', 'input', 'step', -1, 'parents', json_object('', 'HEAD')))"
	)
	for name, c := range map[string]struct {
		op         model.Op
		statements []string
		want       string
	}{
		"a child":                        {model.OpRestore, []string{child}, "the agent went on from it"},
		"a write":                        {model.OpRestore, []string{write}, "tasks wrote on checkpoint"},
		"a subgraph":                     {model.OpRestore, []string{subgraph}, "a subgraph ran from"},
		"a sibling":                      {model.OpRestore, []string{fmt.Sprintf(sibling, "tour")}, "the agent went on from it"},
		"a sibling of a fork":            {model.OpFork, []string{fmt.Sprintf(sibling, "new")}, "the agent went on from it"},
		"a root in a fork":               {model.OpFork, []string{fmt.Sprintf(root, "")}, "the agent went on from it"},
		"a root in a fork, and on":       {model.OpFork, []string{fmt.Sprintf(root, ""), follows}, "the agent went on from it"},
		"a namespace of a fork":          {model.OpFork, []string{fmt.Sprintf(root, "own")}, "the agent went on from it"},
		"a write in a namespace of it":   {model.OpFork, []string{"INSERT INTO writes VALUES ('new', 'own', 'x', 'task', '', 0, 'notes', 'null', NULL)"}, "the agent went on from it"},
		"a write on no checkpoint of it": {model.OpFork, []string{"INSERT INTO writes VALUES ('new', '', 'x', 'task', '', 0, 'notes', 'null', NULL)"}, "the agent went on from it"},
	} {
		t.Run(name, func(t *testing.T) {
			path := copied(t, "agent.db")
			ref := at(t, open(t, path), "tour", 3).Ref()
			if err := rowstest.WentOn(t, Kind(nil, "").Kind, path, model.Change{Op: c.op, Ref: ref, As: "new"}, c.statements...); !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func apply(t testing.TB, s storetest.Writer, change model.Change) model.Receipt {
	t.Helper()
	plan, err := s.Plan(t.Context(), change)
	var receipt model.Receipt
	if err == nil {
		receipt, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	return receipt
}

// While another program is within a write, nothing is written, and the error says so. A
// trigger that changes more than the plan says takes everything back.
func TestApply_refused(t *testing.T) {
	path := copied(t, "agent.db")
	s := storetest.AsWriter(open(t, path))
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: at(t, s, "tour", 3).Ref()})
	if err != nil {
		t.Fatal(err)
	}
	other := writer(path)
	err = other.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		if _, err := s.Apply(t.Context(), plan); !errors.Is(err, sqlitefile.ErrBusy) || !strings.Contains(err.Error(), "try again when it is done") {
			t.Errorf("%v", err)
		}
		return nil
	})
	if err = errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	execute(t, path, "CREATE TRIGGER more AFTER INSERT ON checkpoints BEGIN DELETE FROM writes WHERE idx = 0; END")
	before := storetest.Tables(t, path)
	if plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: at(t, s, "tour", 3).Ref()}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "the file has a trigger") {
		t.Errorf("%v", err)
	}
	if storetest.Tables(t, path) != before {
		t.Error("rows changed")
	}
	if list, err := s.Journal(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// A write that was broken off behind its intent is told from one that was committed by the
// rows alone.
func TestJournal_brokenOff(t *testing.T) {
	path := copied(t, "agent.db")
	s := storetest.AsWriter(open(t, path))
	apply(t, s, model.Change{Op: model.OpRestore, Ref: at(t, s, "tour", 3).Ref()})
	journal, err := os.ReadFile(path + rows.Beside)
	if err != nil {
		t.Fatal(err)
	}
	end := strings.LastIndex(strings.TrimSuffix(string(journal), "\n"), "\n")
	for name, c := range map[string]struct {
		journal string
		undone  bool
		want    int
	}{
		"committed":            {string(journal[:end]), false, 1},
		"committed, torn":      {string(journal[:end+9]), false, 1},
		"not committed":        {string(journal[:end]), true, 0},
		"not committed, torn":  {string(journal[:end+9]), true, 0},
		"the intent is torn":   {string(journal[:end/2]), true, 0},
		"nothing but its name": {"", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mine := copied(t, "agent.db")
			if !c.undone {
				data, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(mine, data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(mine+rows.Beside, []byte(c.journal), 0o600); err != nil {
				t.Fatal(err)
			}
			s := storetest.AsWriter(open(t, mine))
			list, err := s.Journal(t.Context())
			if err != nil || len(list) != c.want {
				t.Fatalf("%+v, %v", list, err)
			}
			if c.want > 0 {
				apply(t, s, model.Change{Op: model.OpUndo})
			}
			if storetest.Tables(t, mine) != storetest.Tables(t, recorded("agent.db")) {
				t.Error("the tables are others")
			}
			apply(t, s, model.Change{Op: model.OpRestore, Ref: at(t, s, "tour", 4).Ref()})
			if list, err = s.Journal(t.Context()); err != nil || len(list) != 1+c.want {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}
