package kinds_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// interopProgram is the program below testdata/interop that has an SDK write a store, tell what
// it loads, and go on.
func interopProgram(t *testing.T, sdk, program string) graphs {
	t.Helper()
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	path, err := filepath.Abs(filepath.Join(testdata, "interop", sdk, program))
	if err != nil {
		t.Fatal(err)
	}
	return graphs{filepath.Join(sdks(t), sdk, "venv", "bin", "python"), path}
}

// returned is a copy of a store in which a session was put back to a snapshot.
type returned struct {
	t    *testing.T
	dir  string
	s    storetest.Writer
	was  tree
	head model.Point
}

// putBack puts a session of a copy of a store back.
func putBack(t *testing.T, from string, to model.Header) returned {
	t.Helper()
	c := returned{t: t, dir: storeCopy(t, from)}
	age(t, c.dir)
	c.was = treeOf(t, c.dir)
	s, err := allKinds.Open(t.Context(), c.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c.s = storetest.AsWriter(s)
	c.head = c.write(model.Change{Op: model.OpRestore, Ref: to.Ref()}).Head
	return c
}

func (c *returned) write(change model.Change) model.Receipt {
	c.t.Helper()
	plan, err := c.s.Plan(c.t.Context(), change)
	if err != nil {
		c.t.Fatal(err)
	}
	receipt, err := c.s.Apply(c.t.Context(), plan)
	if err != nil {
		c.t.Fatal(err)
	}
	return receipt
}

// undone: an undo gives the store back byte for byte. It reports false where there was nothing to
// take back, because the snapshot was the head.
func (c *returned) undone() bool {
	c.t.Helper()
	if len(c.was.difference(treeOf(c.t, c.dir))) == 0 {
		return false
	}
	c.write(model.Change{Op: model.OpUndo})
	for _, other := range c.was.difference(treeOf(c.t, c.dir)) {
		c.t.Errorf("after an undo %s", other)
	}
	return true
}

// membersOf returns a value without the names of classes, as the program tells it, and without
// the random number in the id that Agent Framework gives a tool call when it runs it.
func membersOf(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "af-call-") {
			return "af-call"
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = membersOf(v[i])
		}
		return list
	case map[string]any:
		_, named := v["$py"]
		if value, only := v["value"]; named && only && len(v) == 2 {
			return membersOf(value)
		}
		all := map[string]any{}
		for key, member := range v {
			if key != "$py" && (!named || member != nil) {
				all[key] = membersOf(member)
			}
		}
		return all
	}
	return v
}

// wentOn is what came of going on from a checkpoint.
type wentOn struct {
	ID, Ended, Failed string
	Outputs           []string
	Sent              []any
}

// TestInteropAgentFramework has Agent Framework write the checkpoints of workflows. At each,
// what it loads is what Hindcast shows; put back there, it goes on as it does from the one that
// is named, and an agent whose turn it is is sent the messages that Hindcast shows.
func TestInteropAgentFramework(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program := interopProgram(t, "agent-framework", "workflows.py")
	dir := filepath.Join(t.TempDir(), "store")
	program.says(t, "write", dir, nil, nil)
	s, err := allKinds.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	type place struct {
		model.Header
		state map[string]any
		said  []any
	}
	var places []place
	var ids []string
	heads := map[string]string{}
	for _, info := range sessionsOf(t, s) {
		if faults := faultsOf(t, s, info.ID); len(faults) > 0 {
			t.Errorf("%s has the faults %+v", info.ID, faults)
		}
		heads[info.ID] = info.Head.ID
		for _, h := range storetest.Headers(t, s, info.ID) {
			p := place{Header: h}
			text := stateOf(t, s, &h)
			if err := json.Unmarshal(text, &p.state); err != nil {
				t.Fatal(err)
			}
			talk := decoded(t, text)
			for m := range talk.Len() {
				var message any
				if err := json.Unmarshal(talk.Tape().Raw(talk.Message(m).Node), &message); err != nil {
					t.Fatal(err)
				}
				p.said = append(p.said, membersOf(message))
			}
			if talk.Len() > 0 && talk.Framework() != conversation.AgentFramework {
				t.Errorf("%s #%d: the messages are of %s", info.ID, h.Index, talk.Framework())
			}
			places, ids = append(places, p), append(ids, h.ID)
		}
	}
	if len(places) != 17 {
		t.Errorf("%d places", len(places))
	}
	var loads struct {
		Told   []map[string]any
		Latest map[string]string
	}
	program.says(t, "tell", dir, ids, &loads)
	if !reflect.DeepEqual(loads.Latest, heads) {
		t.Errorf("the heads are %v, and the latest checkpoints %v", heads, loads.Latest)
	}
	var at []map[string]string
	var copies []returned
	for i, p := range places {
		if shown := membersOf(p.state); !reflect.DeepEqual(shown, membersOf(loads.Told[i])) {
			t.Errorf("%s #%d: Hindcast shows\n%v\nAgent Framework loads\n%v", p.SessionID, p.Index, shown, loads.Told[i])
		}
		c := putBack(t, dir, p.Header)
		copies = append(copies, c)
		at = append(at, map[string]string{"dir": storeCopy(t, dir), "workflow": p.SessionID, "id": p.ID},
			map[string]string{"dir": storeCopy(t, c.dir), "workflow": p.SessionID, "id": ""})
	}
	var ran []wentOn
	program.says(t, "run", dir, at, &ran)
	asked := 0
	for i, p := range places {
		named, latest, name := ran[2*i], ran[2*i+1], fmt.Sprintf("%s #%d", p.SessionID, p.Index)
		if latest.ID != copies[i].head.ID {
			t.Errorf("%s: the latest checkpoint is %s, and Hindcast made %s", name, latest.ID, copies[i].head.ID)
		}
		copies[i].undone()
		named.Sent, latest.Sent = membersOf(named.Sent).([]any), membersOf(latest.Sent).([]any)
		if named.ID, latest.ID = "", ""; named.Failed != "" || !reflect.DeepEqual(named, latest) {
			t.Errorf("%s: from the one that is named comes\n%+v\nand from the copy\n%+v", name, named, latest)
		}
		if len(latest.Sent) > 0 && len(p.said) > 0 {
			if asked++; !reflect.DeepEqual(latest.Sent[0], any(p.said)) {
				t.Errorf("%s: the model is sent\n%v\nand Hindcast shows\n%v", name, latest.Sent[0], p.said)
			}
		}
	}
	if asked < 2 {
		t.Errorf("the model was asked at %d places", asked)
	}
}

// resumed is what came of resuming a checkpoint of crewAI.
type resumed struct {
	Had, Came, Sent, Wrote []string
	Failed                 string
}

// crewState is what a test reads of a checkpoint's document.
type crewState struct {
	Entities []struct {
		Tasks []struct {
			Output *struct {
				Raw string `json:"raw"`
			} `json:"output"`
		} `json:"tasks"`
		State struct {
			Words []string `json:"words"`
		} `json:"checkpoint_state"`
	} `json:"entities"`
}

// had returns the outputs of tasks, or what a flow kept.
func (c *crewState) had() (list []string) {
	for _, t := range c.Entities[0].Tasks {
		if t.Output != nil {
			list = append(list, t.Output.Raw)
		}
	}
	return append(list, c.Entities[0].State.Words...)
}

// TestInteropCrewAI has crewAI write checkpoints in files and in SQLite. Each is resumed as
// Hindcast's call names it, and has the outputs that Hindcast shows. What is put back is resumed
// in the same way: the model is sent the same, and the next checkpoints follow the copy, in the
// store that it is in.
func TestInteropCrewAI(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	program := interopProgram(t, "crewai", "crews.py")
	dir := t.TempDir()
	program.says(t, "write", dir, nil, nil)
	type place struct {
		form    string
		name    string
		shown   []string
		back    returned
		resumes int // which of what was run
	}
	var places []place
	var at []map[string]string
	const version = "crewai 1.15.30: "
	titles := map[string]string{"json": version + "JsonProvider, a crew", "flow": version + "JsonProvider, a flow", "crew.db": version + "SqliteProvider, a crew"}
	var proven matrix
	rewrittenTo := map[string]rewritten{} // by the id of the checkpoint
	db := filepath.Join(dir, "sqlite", "crew.db")
	r := rewriting{T: t, db: db, title: titles["crew.db"], restores: true, stands: atCheckpoint, came: &proven}
	for _, w := range r.all() {
		rewrittenTo[w.ID] = w
	}
	for _, form := range []string{"json", "flow", "crew.db"} {
		from := filepath.Join(dir, form)
		if form == "crew.db" {
			from = db
		}
		of := map[string]string{"json": "crew", "crew.db": "crew", "flow": "flow"}[form]
		s, err := allKinds.Open(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sessions := sessionsOf(t, s)
		if len(sessions) != 1 {
			t.Fatalf("%s has the sessions %+v", form, sessions)
		}
		for _, h := range storetest.Headers(t, s, sessions[0].ID) {
			var state crewState
			if err := json.Unmarshal(stateOf(t, s, &h), &state); err != nil {
				t.Fatal(err)
			}
			p := place{form: form, name: fmt.Sprintf("%s #%d", form, h.Index), shown: state.had(), resumes: len(at)}
			calls, err := s.Features().Resume(t.Context(), h.Ref())
			if err != nil || len(calls) == 0 {
				t.Fatalf("%s: no call goes on, %v", p.name, err)
			}
			_, location, _ := strings.Cut(calls[0].Call, `restore_from="`)
			location, _, _ = strings.Cut(location, `"`)
			into := t.TempDir()
			at = append(at, map[string]string{"of": of, "from": location, "into": into, "dir": into})
			if form == "crew.db" {
				if w := rewrittenTo[h.ID]; w.receipt.Entry != 0 {
					at = append(at, map[string]string{"of": of, "from": w.db + "#" + w.receipt.Head.ID, "into": "", "dir": filepath.Dir(w.db)})
				}
			} else {
				proven.visit(titles[form], atCheckpoint)
				p.back = putBack(t, from, h)
				if made := glob(t, p.back.dir, "hindcast-*/"+p.back.head.ID+"_p-*.json"); len(made) == 1 {
					at = append(at, map[string]string{"of": of, "from": filepath.Join(p.back.dir, made[0]), "into": "", "dir": p.back.dir})
				} else if p.back.head.ID != h.ID {
					t.Errorf("%s: the copy %s is in %q", p.name, p.back.head.ID, made)
				}
			}
			places = append(places, p)
		}
	}
	var ran []resumed
	program.says(t, "run", dir, at, &ran)
	for _, p := range places {
		named := ran[p.resumes]
		if named.Failed != "" || !reflect.DeepEqual(named.Had, p.shown) {
			t.Errorf("%s: crewAI has %q, and Hindcast shows %q: %s", p.name, named.Had, p.shown, named.Failed)
		}
		if p.form != "flow" && len(p.shown) == 3 && len(named.Sent) > 0 {
			t.Errorf("%s: all tasks are done, and the model is sent %q", p.name, named.Sent)
		}
		note := func(operation string) { proven.note(titles[p.form], atCheckpoint, operation, itsOK) }
		note("resume")
		if p.resumes+1 < len(at) && at[p.resumes+1]["into"] == "" {
			again := ran[p.resumes+1]
			if again.Failed != "" || !reflect.DeepEqual(again.Had, named.Had) || !reflect.DeepEqual(again.Sent, named.Sent) || !reflect.DeepEqual(again.Came, named.Came) {
				t.Errorf("%s: of the one that is named comes\n%+v\nand of the copy\n%+v", p.name, named, again)
			}
			if p.form != "flow" && len(p.shown) < 3 && len(again.Wrote) == 0 {
				t.Errorf("%s: crewAI writes nothing where the copy is", p.name)
			}
			note("resume")
			for _, file := range again.Wrote {
				if _, branch, _ := strings.Cut("#"+file, "#"); !strings.HasPrefix(branch[strings.LastIndex(branch, "#")+1:], "hindcast-") {
					t.Errorf("%s: crewAI goes on in %s", p.name, file)
				}
				if p.back.s == nil {
					continue
				}
				if err := os.Remove(filepath.Join(p.back.dir, file)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if p.back.s != nil {
			note("restore")
			if p.back.undone() {
				note("undo")
			}
		}
	}
	proven.hold(t, "crewai", titles["json"], titles["flow"], titles["crew.db"])
}
