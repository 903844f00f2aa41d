package kinds_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// Where a call in the conversation has no result, because the result has another id, each kind that can put a
// session back or make one of it says in more plans what comes of that than of the store as it was recorded.
func TestPlan_saysWhatIsRefused(t *testing.T) {
	for _, c := range []struct {
		kind, path string
		// result fits a result up to its id; in a database, update changes it.
		result, update string
		says           string
	}{
		{kind: "claude-code", path: "coding/claude-code", result: `("tool_use_id":")([^"]+)`, says: "sends an error as the result of the call"},
		{kind: "codex", path: "coding/codex", result: `("type":"(?:function|custom_tool)_call_output"(?:,"id":"[^"]*")?,"call_id":")([^"]+)`, says: `sends "aborted"`},
		{kind: "pi", path: "coding/pi", result: `("role":"toolResult","toolCallId":")([^"]+)`, says: `sends "No result provided"`},
		{kind: "copilot-cli", path: "coding/copilot-cli", result: `("type":"tool\.execution_complete","data":\{"toolCallId":")([^"]+)`, says: "previous tool was interrupted"},
		{kind: "strands", path: "strands/python-file", result: `(?s)("toolResult": ?\{[^}]*?"toolUseId": ?")([^"]+)`, says: "Tool was interrupted."},
		{kind: "strands-snapshots", path: "strands/python-snapshot", result: `("toolResult": ?\{[^}]*?"toolUseId": ?")([^"]+)`, says: "has no result"},
		{kind: "genkit", path: "genkit/stepsproject-go-1.13.1", result: `(?s)("toolResponse": ?\{[^}]*?"ref": ?")([^"]+)`, says: "sends the call without its result"},
		{kind: "adk", path: "adk/sqlite_service.db", update: `UPDATE events SET event_data = replace(event_data, '"function_response":{"id":"', '"function_response":{"id":"none-')`, says: "leaves the call out"},
		{kind: "openai-agents", path: "openaiagents/sqlite_session.db", update: `UPDATE agent_messages SET message_data = json_set(message_data, '$.call_id', 'none') WHERE message_data ->> '$.type' = 'function_call_output'`, says: "leaves the call out"},
	} {
		t.Run(c.kind+"/"+filepath.Base(c.path), func(t *testing.T) {
			from := filepath.Join(testdata, filepath.FromSlash(c.path))
			before := planned(t, c.kind, from, c.says)
			to := filepath.Join(t.TempDir(), filepath.Base(from))
			if c.update != "" {
				to = rowstest.Copied(t, from)
				rowstest.Execute(t, to, c.update)
			} else if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			fits := regexp.MustCompile(c.result)
			err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() || c.update != "" {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, fits.ReplaceAll(data, []byte("${1}none-${2}")), 0o600)
			})
			if err != nil {
				t.Fatal(err)
			}
			if after := planned(t, c.kind, to, c.says); after <= before {
				t.Errorf("%d plans say %q, and %d did as it was recorded", after, c.says, before)
			}
		})
	}
}

// planned returns how many of the plans of restoring and forking each snapshot of a store warn in some words.
func planned(t *testing.T, kind, path, words string) (warned int) {
	t.Helper()
	s, err := allKinds.Open(t.Context(), kind+":"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plans := 0
	for _, info := range storetest.Sessions(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			for _, c := range []model.Change{{Op: model.OpRestore, Ref: h.Ref()}, {Op: model.OpFork, Ref: h.Ref()}, {Op: model.OpFork, Ref: h.Ref(), As: "made"}} {
				plan, err := s.(store.Writer).Plan(t.Context(), c)
				if err != nil {
					continue // another one can
				}
				if plans++; strings.Contains(strings.Join(plan.Hazards, "\n"), words) {
					warned++
				}
			}
		}
	}
	if plans == 0 {
		t.Errorf("%s: nothing can be planned", path)
	}
	return warned
}
