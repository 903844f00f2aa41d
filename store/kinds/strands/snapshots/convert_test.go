package snapshots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// log is a message log as its kind gives it through the port.
type log struct {
	kind    string
	headers []model.Header
	states  []string
}

func (l *log) Kind() string    { return l.kind }
func (l *log) Address() string { return "log" }
func (l *log) Close() error    { return nil }
func (l *log) Sessions(context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(func(model.SessionInfo, error) bool) {}
}
func (l *log) Headers(context.Context, string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		for _, h := range l.headers {
			if !yield(h, nil) {
				return
			}
		}
	}
}
func (l *log) State(_ context.Context, ref model.Ref) ([]byte, error) {
	for i, h := range l.headers {
		if h.ID == ref.ID {
			return []byte(l.states[i]), nil
		}
	}
	return nil, model.ErrNoSnapshot
}
func (l *log) Faults(context.Context, string) ([]model.Fault, error) { return nil, nil }
func (l *log) Gaps(context.Context, model.Ref) (model.Gaps, error)   { return model.Gaps{}, nil }
func (l *log) DerivedIDs() string                                    { return "made up" }
func (l *log) Facts(context.Context, model.Ref) ([]model.Fact, error) {
	return []model.Fact{{Label: model.FactAgent, Value: "planner"}}, nil
}

// logged makes a log of words as told has them; what the newest state has besides
// the messages is given.
func logged(newest string, words ...string) *log {
	l := &log{kind: logKind}
	for i, word := range words {
		h := model.Header{ID: fmt.Sprint("m", i), SessionID: "s", Index: i, CreatedAt: noon.Add(time.Duration(i) * time.Second), Event: model.SnapshotEventNamed}
		switch word[0] {
		case '+':
			h.Position = model.PositionAfterModel
		case '=':
			h.Event, h.Position = model.SnapshotEventToolIterationEnd, model.PositionAfterTools
		case '-':
			h.Event = model.SnapshotEventTurnEnd
		}
		state := "{" + pythonTalk(words[:i+1]...)
		if i == len(words)-1 {
			state += newest
		}
		l.headers, l.states = append(l.headers, h), append(l.states, state+"}")
		h.Size = int64(len(state))
	}
	return l
}

const newestState = `,"state":{"n":123456789012345678901234567890},"conversation_manager_state":{"__name__":"SummarizingConversationManager","removed_message_count":2,"summary_message":{"role":"user","content":[{"text":"so far"}]},"later":1},"interrupt_state":{"interrupts":{},"context":{"x":1},"activated":false},"model_state":{"id":"r1"}`

func TestPlanConvert(t *testing.T) {
	dir := t.TempDir() // an empty folder is a store
	s := openAt(t, dir)
	from := logged(newestState, "q", "-a", "q2", "+1", "=1", "-b")
	// The last two states were seen through today's window.
	from.states[5] = "{" + pythonTalk("=1", "-b") + newestState + "}"
	from.headers = append(from.headers, model.Header{ID: "gone", Orphaned: true})
	from.states = append(from.states, "{}")
	plan, err := s.PlanConvert(t.Context(), from, "s", "new")
	receipt := do(t, s, plan, err)
	if plan.Op != model.OpConvert || plan.Session != "s" || plan.NewSession != "new" || receipt.Session != "new" {
		t.Errorf("%+v", plan)
	}
	kept := filepath.Join(dir, namespace, "new", scopesDir, scopeAgent, "planner", snapshots)
	names, err := os.ReadDir(filepath.Join(kept, historyDir))
	if err != nil || len(names) != 5 { // all but the one where the tool would run again
		t.Fatal(names, err)
	}
	type snapshot struct {
		Scope         string
		SchemaVersion string `json:"schema_version"`
		CreatedAt     string `json:"created_at"`
		Data          map[string]json.RawMessage
		AppData       map[string]any `json:"app_data"`
	}
	for i, want := range []struct {
		at, message int
		removed     string
	}{{0, 1, "0"}, {1, 2, "0"}, {2, 3, "0"}, {4, 5, "0"}, {5, 2, "2"}} {
		var got snapshot
		if err := json.Unmarshal(mustRead(t, filepath.Join(kept, historyDir, names[i].Name())), &got); err != nil {
			t.Fatal(err)
		}
		at := noon.Add(time.Duration(want.at) * time.Second)
		var messages []any
		var manager map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(got.Data["messages"], &messages), json.Unmarshal(got.Data["conversation_manager_state"], &manager)); err != nil {
			t.Fatal(err)
		}
		id := historyName().FindStringSubmatch(names[i].Name())[1]
		if made, ok := timeOfID(id); !ok || !made.Equal(at) {
			t.Errorf("#%d: the id is of %v", i, made)
		}
		_, prompt := got.Data["system_prompt"]
		if got.Scope != scopeAgent || got.SchemaVersion != "1.0" || got.CreatedAt != at.Format(time.RFC3339) || got.AppData == nil || prompt ||
			len(messages) != want.message || string(manager["removed_message_count"]) != want.removed || string(manager["later"]) != "1" ||
			string(got.Data["state"]) != `{"n":123456789012345678901234567890}` {
			t.Errorf("#%d: %+v", i, got)
		}
		last := want.at == 5
		if (string(got.Data["model_state"]) == "{}") == last || strings.Contains(string(got.Data["interrupt_state"]), `"x"`) != last ||
			(string(manager["summary_message"]) == "null") == last {
			t.Errorf("#%d: %s", i, got.Data)
		}
	}
	if string(mustRead(t, filepath.Join(kept, latestFile))) != string(mustRead(t, filepath.Join(kept, historyDir, names[4].Name()))) {
		t.Error("the latest is not the last one")
	}
	if h := head(t, s, "new"); h.ID != plan.Target.ID || h.Index != plan.Target.Index {
		t.Errorf("%+v, %+v", h, plan)
	}
	for _, f := range storetest.Faults(t, s, "new") {
		if f.Code != FaultLeadingResult && f.Code != FaultStatefulModel && f.Code != FaultOrphanResult && f.Code != model.FaultSeveralRoots {
			t.Errorf("%+v", f)
		}
	}
	for _, words := range []string{"1 messages off the active path", "every snapshot gets that", "hold all messages", "only the last snapshot has it", "in place of the session manager"} {
		if !strings.Contains(strings.Join(plan.Hazards, "\n"), words) {
			t.Errorf("no word of %q: %q", words, plan.Hazards)
		}
	}
	undo(t, s)
	if left := treeOf(t, dir); len(left) != 1 {
		t.Error(left)
	}
}

// A log that stops where a tool would run again has its end as the latest alone.
func TestPlanConvert_theEndIsUnsound(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	plan, err := s.PlanConvert(t.Context(), logged("", "q", "+1"), "s", "new/other")
	do(t, s, plan, err)
	if plan.Target.ID != latestID || len(plan.Asks) != 1 || plan.NewSession != "new" {
		t.Errorf("%+v", plan)
	}
	if h := head(t, s, "new"); h.ID != latestID || h.Position != model.PositionAfterModel {
		t.Errorf("%+v", h)
	}
	// Another agent of the same session comes beside it, and the same one not.
	if _, err := s.PlanConvert(t.Context(), logged("", "q"), "s", "new/other"); !errors.Is(err, store.ErrSessionExists) {
		t.Error(err)
	}
	if _, err := s.PlanConvert(t.Context(), logged("", "q"), "s", "new"); !errors.Is(err, store.ErrSessionExists) {
		t.Error(err)
	}
	plan, err = s.PlanConvert(t.Context(), logged("", "q"), "s", "new/third")
	receipt := do(t, s, plan, err)
	if list := sessions(t, s); receipt.Session != "new/third" || len(list) != 2 || list[1].ID != "new/third" {
		t.Errorf("%+v %+v", receipt, list)
	}
}

func TestPlanConvert_refuses(t *testing.T) {
	s := openAt(t, t.TempDir())
	for name, c := range map[string]struct {
		from *log
		as   string
		want string
	}{
		"another framework": {&log{kind: "genkit"}, "a", "only a message log of Strands"},
		"snapshots":         {&log{kind: kind}, "a", "already"},
		"nothing":           {&log{kind: logKind}, "a", "empty"},
		"an orchestrator":   {&log{kind: logKind, headers: []model.Header{{ID: "n"}}, states: []string{`{"node":1}`}}, "a", "orchestrator"},
		"damaged":           {&log{kind: logKind, headers: []model.Header{{ID: "n", Marks: model.MarkDamaged}}, states: []string{`{}`}}, "a", "repair"},
		"no name":           {logged("", "q"), "", "needs a name"},
		"a path":            {logged("", "q"), "a/../b", "without a slash"},
		"no agent":          {logged("", "q"), "a/", "needs a name"},
	} {
		if _, err := s.PlanConvert(t.Context(), c.from, "s", c.as); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What would be too large together is thinned, and the plan says so.
func TestConversion_choosesWhatFits(t *testing.T) {
	l := logged("", "q", "-a", "q2", "-b", "q3", "-c")
	for _, c := range []struct {
		size int64
		want string
		thin bool
	}{{1, "[0 1 2 3 4 5]", false}, {mostConverted / 4, "[1 3 5]", true}, {mostConverted / 2, "[3 5]", true}, {mostConverted + 1, "[]", true}} {
		conv := conversion{}
		for _, h := range l.headers {
			h.Size = c.size
			conv.path = append(conv.path, h)
		}
		if got := fmt.Sprint(conv.choose()); got != c.want || (conv.thin != "") != c.thin {
			t.Errorf("%d: %s, %q", c.size, got, conv.thin)
		}
	}
}
