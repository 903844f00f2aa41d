package snapshots

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// recordOf returns the record that the SDK for Python wrote of a graph, as it is in a
// message log and, the same, in a snapshot.
func recordOf(t testing.TB, session, orchestrator string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, "python-multiagent", "session_"+session, "multi_agents", "multi_agent_"+orchestrator, "multi_agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func runSnapshot(id, record string) string {
	return `{"scope": "multiAgent", "schema_version": "1.0", "created_at": "2026-03-01T10:00:00.000000Z", "data": {"orchestrator_id": "` + id + `", "state": ` + record + `}, "app_data": {}}`
}

// A record of Python is a line of node executions, as that of TypeScript is.
func TestOrchestrator_ofPython(t *testing.T) {
	s := open(t, t.TempDir())
	kept := filepath.Join(s.Address(), "session", "g", "scopes", "multiAgent", "g1", "snapshots")
	record := recordOf(t, "graph_done", "g1")
	mustWrite(t, filepath.Join(kept, latestFile), runSnapshot("g1", record))
	rows := storetest.Headers(t, s, "g")
	if len(rows) < 2 || !rows[len(rows)-1].Head || len(storetest.Faults(t, s, "g")) != 0 {
		t.Errorf("%s%s", picture(rows), pictureFaults(storetest.Faults(t, s, "g")))
	}
	for i, h := range rows {
		if h.SessionID != "g" || h.Index != i || h.Size != int64(len(state(t, s, h))) || i > 0 && h.ParentID != rows[i-1].ID {
			t.Errorf("row %d is %+v", i, h)
		}
		list, err := s.Facts(t.Context(), h.Ref())
		if err != nil || !slices.ContainsFunc(list, model.Fact{Label: "scope", Value: "multiAgent"}.Same) {
			t.Errorf("row %d: %+v, %v", i, list, err)
		}
	}
	if info := sessions(t, s)[0]; info.Head.ID != rows[len(rows)-1].ID || info.Snapshots != len(rows) || info.Orphaned != 0 {
		t.Errorf("the list says %+v", info)
	}
}

// What an earlier record has and the latest has not is kept, off the path.
func TestOrchestrator_ofSeveralRecords(t *testing.T) {
	s := open(t, t.TempDir())
	kept := filepath.Join(s.Address(), "session", "g", "scopes", "multiAgent", "g1", "snapshots")
	mustWrite(t, filepath.Join(kept, historyDir, "snapshot_01950000-0000-7000-8000-000000000001.json"), runSnapshot("g1", recordOf(t, "graph_interrupted", "g1")))
	before := storetest.Headers(t, s, "g")
	if len(before) == 0 || slices.ContainsFunc(before, func(h model.Header) bool { return h.Head || !h.Orphaned }) {
		t.Fatalf("without the latest there is no head:\n%s", picture(before))
	}
	mustWrite(t, filepath.Join(kept, latestFile), runSnapshot("g1", recordOf(t, "graph_done", "g1")))
	rows := storetest.Headers(t, s, "g")
	left := 0
	for _, h := range rows {
		if h.Orphaned {
			left++
		}
		state(t, s, h)
	}
	if !rows[len(rows)-1].Head || left == 0 || left > len(before) || left == len(rows) {
		t.Errorf("%s", picture(rows))
	}
}

// What is wrong with a record, or around it, is told with the SDK's verdict.
func TestOrchestrator_faults(t *testing.T) {
	record := recordOf(t, "graph_done", "g1")
	whole := runSnapshot("g1", record)
	for name, c := range map[string]struct{ text, fault, verdict string }{
		"another orchestrator": {runSnapshot("g2", record), FaultOrchestrator, "refuses to start: SnapshotException: Snapshot orchestrator id mismatch"},
		"the scope of an agent": {strings.Replace(whole, `"multiAgent"`, `"agent"`, 1), FaultScope,
			`refuses to start: SnapshotException: Expected snapshot scope 'multiAgent', got "agent"`},
		"cut":        {whole[:200], FaultFile, "refuses to start: SnapshotException: Failed to deserialize snapshot"},
		"no schema":  {strings.Replace(whole, `"schema_version": "1.0", `, "", 1), FaultSchema, "refuses to start: SnapshotException: Unsupported snapshot schema version: ''"},
		"no data":    {strings.Replace(whole, `"data"`, `"datum"`, 1), FaultData, "refuses to start: SnapshotException: Failed to deserialize snapshot: 'data'"},
		"in the run": {strings.Replace(whole, `"interrupt_state"`, `"interrupt_statue"`, 1), "run-", "refuses to start: KeyError"},
	} {
		s := open(t, t.TempDir())
		mustWrite(t, filepath.Join(s.Address(), "s", "scopes", "multiAgent", "g1", "snapshots", latestFile), c.text)
		found := storetest.Faults(t, s, "s")
		if !slices.ContainsFunc(found, func(f model.Fault) bool {
			return strings.HasPrefix(f.Code, c.fault) && strings.HasPrefix(f.Verdict, c.verdict)
		}) {
			t.Errorf("%s: %s", name, pictureFaults(found))
		}
		rows := storetest.Headers(t, s, "s")
		if len(rows) == 0 || !rows[len(rows)-1].Head {
			t.Errorf("%s: %s", name, picture(rows))
		}
		if info := sessions(t, s)[0]; info.Faults != len(found) || info.Snapshots != len(rows) {
			t.Errorf("%s: the list says %+v", name, info)
		}
		_, err := s.State(t.Context(), rows[0].Ref())
		if rows[0].ID == latestID && err == nil {
			t.Errorf("%s: a file that cannot be read has a state", name)
		}
	}
}
