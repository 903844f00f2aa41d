package kinds_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// sentByAgno is a message that Agno's model is sent: its role, its text, and the ids of its calls.
type sentByAgno [3]any

// TestInteropAgno has Agno write sessions. At each message that ends a run Hindcast makes a session of the runs that lead there, and
// the call of its plan goes on: the model is sent the messages that Hindcast shows, but for the system's, which a team makes
// anew. An undo leaves each table as it was.
func TestInteropAgno(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program := interopProgram(t, "agno", "forks.py")
	db := filepath.Join(t.TempDir(), "sessions.db")
	program.says(t, "write", db, nil, nil)
	s, err := allKinds.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	type put struct {
		DB   string `json:"db"`
		Call string `json:"call"`
	}
	var puts []put
	var want [][]sentByAgno
	var of []string
	for _, info := range sessionsOf(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			mine := storetest.Copy(t, db)
			opened, err := allKinds.Open(t.Context(), mine)
			if err != nil {
				t.Fatal(err)
			}
			w, before := storetest.AsWriter(opened), storetest.Tables(t, mine)
			plan, err := w.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref(), As: "forked"})
			if err != nil {
				if !strings.Contains(err.Error(), "behind a whole run") && !strings.Contains(err.Error(), "the run of a member") {
					t.Errorf("%s #%d: %v", info.ID, h.Index, err)
				}
				continue
			}
			if _, err := w.Apply(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
			after := storetest.Tables(t, mine)
			carriedOut(t, w, model.Change{Op: model.OpUndo})
			if storetest.Tables(t, mine) != before {
				t.Errorf("%s #%d: after an undo the rows are others", info.ID, h.Index)
			}
			carriedOut(t, w, model.Change{Op: model.OpRedo})
			if storetest.Tables(t, mine) != after {
				t.Errorf("%s #%d: after a redo the rows are others", info.ID, h.Index)
			}
			var state struct {
				Messages []struct {
					Role      string
					Content   any
					ToolCalls []struct{ ID string } `json:"tool_calls"`
				}
			}
			if err := json.Unmarshal(stateOf(t, s, &h), &state); err != nil {
				t.Fatal(err)
			}
			var sent []sentByAgno
			for _, m := range state.Messages {
				text, _ := m.Content.(string)
				calls := []any{}
				for _, c := range m.ToolCalls {
					calls = append(calls, c.ID)
				}
				if m.Role != "system" {
					sent = append(sent, sentByAgno{m.Role, text, calls})
				}
			}
			puts, want, of = append(puts, put{mine, plan.Resume[0].Call}), append(want, sent), append(of, info.ID+" "+h.Title)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(puts) < 12 {
		t.Errorf("%d forks", len(puts))
	}
	var told [][]sentByAgno
	program.says(t, "run", "-", puts, &told)
	for i, sent := range told {
		var got []sentByAgno
		for _, m := range sent {
			if m[0] != "system" {
				got = append(got, m)
			}
		}
		if len(got) <= len(want[i]) || !reflect.DeepEqual(got[:len(want[i])], want[i]) || strings.Contains(puts[i].Call, ".run(") && len(got) != len(want[i])+1 {
			t.Errorf("%s: %s sends\n%v\nwant, and one more,\n%v", of[i], puts[i].Call, got, want[i])
		}
	}
}
