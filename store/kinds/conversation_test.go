package kinds_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// Where a session of a coding agent lacks the result of a call, because the result has another id, doctor
// says what the agent does about both, and a fork of the head says so too. The sessions as they were
// recorded have neither.
func TestFaults_conversationOfCodingAgents(t *testing.T) {
	skip.Sequential(t)
	for kind, c := range map[string]struct {
		// result fits a result up to its id, and the id.
		result *regexp.Regexp
		// below is the folder of the sessions in that of the agent.
		below string
		codes []string
		does  string
		// loses are the codes of what the agent does not mend.
		loses []string
	}{
		"claude-code": {regexp.MustCompile(`("tool_use_id":")([^"]+)`), "projects", []string{"orphan-result", "unanswered-call"}, "sends an error as the result of the call", nil},
		"codex":       {regexp.MustCompile(`("type":"(?:function|custom_tool)_call_output"(?:,"id":"[^"]*")?,"call_id":")([^"]+)`), "", []string{"orphan-result", "unanswered-call"}, `sends "aborted" as the output of the call`, nil},
		"pi":          {regexp.MustCompile(`("role":"toolResult","toolCallId":")([^"]+)`), "", []string{"orphan-result", "unanswered-call"}, `sends "No result provided" as the result of the call`, []string{"orphan-result"}},
	} {
		t.Run(kind, func(t *testing.T) {
			from, changed := filepath.Join(testdata, "coding", kind, c.below), 0
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			told := func() (list []model.Fault) {
				s, err := allKinds.Open(t.Context(), kind+":"+dir)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for info, err := range s.Sessions(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range storetest.Faults(t, s, info.ID) {
						if slices.Contains([]string{"unanswered-call", "late-result", "orphan-result", "duplicate-result", "reasoning-alone", "empty-content"}, f.Code) {
							list = append(list, f)
						}
					}
				}
				return list
			}
			if list := told(); len(list) > 0 {
				t.Fatalf("as it was recorded: %+v", list)
			}
			err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				changed += len(c.result.FindAll(data, -1))
				data = c.result.ReplaceAll(data, []byte("${1}none-${2}")) // the id becomes one of no call
				return os.WriteFile(path, data, 0o600)
			})
			if err != nil || changed == 0 {
				t.Fatal(changed, err)
			}
			list, codes := told(), map[string]bool{}
			for _, f := range list {
				codes[f.Code] = true
				severity := model.Mended
				if slices.Contains(c.loses, f.Code) {
					severity = model.Loses
				}
				if f.Severity != severity || f.File == "" || f.Path == "" {
					t.Errorf("%+v", f)
				}
			}
			for _, code := range c.codes {
				if !codes[code] {
					t.Errorf("%s is not told of %d changed sessions: %+v", code, changed, list)
				}
			}
			if !slices.ContainsFunc(list, func(f model.Fault) bool { return f.Verdict == c.does }) {
				t.Errorf("no verdict is %q: %+v", c.does, list)
			}
		})
	}
}

// counted is a store that counts the states that are read.
type counted struct {
	store.Store
	states int
}

func (c *counted) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	c.states++
	return c.Store.State(ctx, ref)
}

// The check reads one state of a session in which nothing is wrong, and of another one for each doubling of
// the session and each fault.
func TestConversationFaults_reads(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct {
		path, session string
		faults, most  int
	}{
		{filepath.Join(testdata, "langgraph", "agent.db"), "tour", 0, 1},
		{filepath.Join("langgraph", "testdata", "unanswered.db"), "prebuilt", 1, 6},
		{filepath.Join("openaiagents", "testdata", "refused.db"), "cancel", 1, 6},
	} {
		s, err := allKinds.Open(t.Context(), c.path)
		if err != nil {
			t.Fatal(err)
		}
		of := &counted{Store: s}
		faults, err := inspect.ConversationFaults(t.Context(), of, c.session)
		if err != nil || len(faults) != c.faults || of.states == 0 || of.states > c.most {
			t.Errorf("%s %s: %d faults, %d states, %v", c.path, c.session, len(faults), of.states, err)
		}
		_ = s.Close()
	}
}
