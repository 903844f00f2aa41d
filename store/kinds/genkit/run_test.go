package genkit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
)

// running serves agents and writes a row for each turn, as Genkit does, of which a
// file in the project tells.
func running(t *testing.T, project, agents string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, agents)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"snapshotId":"`+second+`"`) {
			t.Errorf("it asks %s, %v", body, err)
		}
		write(t, filepath.Join(project, ".genkit/snapshots/barista/global/new.json"), goRow("new", second, "sess-main", "2026-11-21T21:00:00Z", ""))
		fmt.Fprint(w, `{"result":{"finishReason":"stop","sessionId":"sess-main","snapshotId":"new"}}`)
	}))
	t.Cleanup(server.Close)
	write(t, filepath.Join(project, fmt.Sprintf(".genkit/runtimes/%s.json", filepath.Base(server.URL))), fmt.Sprintf(`{"reflectionServerUrl": %q}`, server.URL))
}

// ofProject has the rows of a fixture where a project keeps them, without pointers.
func ofProject(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for file, content := range treeOf(t, filepath.Join(testdata, "go-1.13.1/barista")) {
		if strings.HasSuffix(file, ".json") && !strings.Contains(file, pointersFolder) {
			_, row, _ := strings.Cut(content, " ")
			write(t, filepath.Join(dir, ".genkit/snapshots/barista/global", filepath.Base(file)), row)
		}
	}
	return dir
}

func TestRun_throughTheProcessOfTheProject(t *testing.T) {
	dir := ofProject(t)
	running(t, dir, `{"/agent/barista": {}, "/agent/other": {}}`)
	write(t, filepath.Join(dir, ".genkit/runtimes/dead.json"), `{"reflectionServerUrl": "http://127.0.0.1:1"}`)
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: sessMain, ID: second}, Input: "what if"})
	if err != nil {
		t.Fatal(err)
	}
	if len(storetest.Headers(t, s, sessMain)) != 6 {
		t.Error("to plan runs something")
	}
	if !strings.Contains(strings.Join(plan.Asks, "\n"), "models and tools run") || !strings.Contains(plan.Loads, `agent "barista" loads #1 (8 messages), and is sent "what if"`) || len(plan.Orphans) != 2 {
		t.Errorf("the plan is %+v", plan)
	}
	receipt := apply(t, s, plan, nil)
	if receipt.Head.ID != "new" || receipt.Head.Index != 6 || receipt.Op != model.OpRun || headOf(t, s, sessMain).ID != "new" {
		t.Errorf("the receipt is %+v", receipt)
	}
	if list, err := s.Journal(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("the journal is %v, %v", list, err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.As(err, new(*model.NothingToError)) {
		t.Errorf("the error is %v", err)
	}
	for file := range treeOf(t, dir) {
		if strings.Contains(file, journal.Folder) {
			t.Errorf("there is a journal: %s", file)
		}
	}
}

func TestRun_refuses(t *testing.T) {
	refused := func(t *testing.T, dir, id, want string) {
		t.Helper()
		_, err := open(t, dir).Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: sessMain, ID: id}, Input: "x"})
		if u := (*model.UnsupportedError)(nil); !errors.As(err, &u) || !strings.Contains(u.Reason, want) {
			t.Errorf("the error is %v", err)
		}
	}
	t.Run("nothing runs", func(t *testing.T) { refused(t, ofProject(t), second, "GENKIT_ENV=dev") })
	t.Run("another agent", func(t *testing.T) {
		dir := ofProject(t)
		running(t, dir, `{"/agent/planner": {}, "/agent/writer": {}}`)
		refused(t, dir, second, "planner, writer")
	})
	t.Run("two processes", func(t *testing.T) {
		dir := ofProject(t)
		running(t, dir, `{"/agent/barista": {}}`)
		running(t, dir, `{"/agent/barista": {}}`)
		refused(t, dir, second, "stop all but one")
	})
	t.Run("the only agent", func(t *testing.T) {
		dir := ofProject(t)
		running(t, dir, `{"/agent/planner": {}}`)
		if _, err := open(t, dir).Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: sessMain, ID: second}, Input: "x"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("the opened folder is that of the agent", func(t *testing.T) {
		dir := ofProject(t)
		running(t, dir, `{"/agent/barista": {}, "/agent/other": {}}`)
		t.Chdir(filepath.Join(dir, ".genkit/snapshots/barista"))
		s := open(t, ".")
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: "sess-main", ID: second}, Input: "x"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a row that is not resumed", func(t *testing.T) {
		dir := ofProject(t)
		running(t, dir, `{"/agent/barista": {}}`)
		write(t, filepath.Join(dir, ".genkit/snapshots/barista/global/p.json"), goRow("p", second, "sess-main", "2026-11-21T21:00:00Z", `"status": "pending"`))
		refused(t, dir, "p", "still running")
	})
}

// TestRun_aTurnThatFails: JavaScript names the row that the turn began at, Go that
// of the turn.
func TestRun_aTurnThatFails(t *testing.T) {
	for row, said := range map[string]bool{second: false, "new": true} {
		dir := ofProject(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprint(w, `{"/agent/barista": {}}`)
				return
			}
			fmt.Fprintf(w, `{"result":{"finishReason":"failed","error":{"message":"no quota"},"sessionId":"sess-main","snapshotId":%q}}`, row)
		}))
		defer server.Close()
		write(t, filepath.Join(dir, ".genkit/runtimes/1.json"), fmt.Sprintf(`{"reflectionServerUrl": %q}`, server.URL))
		s := open(t, dir)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRun, Ref: model.Ref{Session: sessMain, ID: second}, Input: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Apply(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "no quota") || strings.Contains(err.Error(), "its row is") != said {
			t.Errorf("%s: %v", row, err)
		}
	}
}
