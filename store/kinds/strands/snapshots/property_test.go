package snapshots

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// scripted is an agent with a session manager, as the SDKs are: it starts from
// snapshot_latest.json, and saves that and at times an immutable snapshot.
type scripted struct {
	dialect
	kept  string // the folder of the snapshots
	ids   *minter
	clock *time.Time
	said  int
	// held are the messages with which it ended its last turn.
	held []json.RawMessage
}

// saved is what of a snapshot the agent needs.
type saved struct {
	Data struct {
		Messages   []json.RawMessage
		Interrupts struct {
			PendingToolExecution *struct{ AssistantMessageData json.RawMessage }
		}
	}
}

// turn lets the agent start, say something, and save.
func (a *scripted) turn(t *rapid.T, words []string, trigger bool) {
	a.save(t, a.start(t), words, trigger)
}

// start returns the messages that the agent loads.
func (a *scripted) start(t *rapid.T) []json.RawMessage {
	var s saved
	data, err := os.ReadFile(filepath.Join(a.kept, latestFile))
	if err == nil {
		err = json.Unmarshal(data, &s)
	} else if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(filepath.Join(a.kept, historyDir), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	messages := s.Data.Messages
	if held := s.Data.Interrupts.PendingToolExecution; held != nil {
		messages = append(messages, held.AssistantMessageData, a.message("=1"))
	}
	return messages
}

// save lets the agent go on from messages, and save.
func (a *scripted) save(t *rapid.T, messages []json.RawMessage, words []string, trigger bool) {
	for _, word := range words {
		messages = append(messages, a.message(word))
	}
	a.held = messages
	list, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	*a.clock = a.clock.Add(time.Millisecond)
	file := fmt.Sprintf(`{"scope": "agent", "schema_version": "1.0", "created_at": %q, "data": {"messages": %s, "state": {}}, "app_data": {}}`, a.clock.UTC().Format("2006-01-02T15:04:05.000000Z"), list)
	if a.dialect == typeScript {
		file = strings.NewReplacer("schema_version", "schemaVersion", "created_at", "createdAt", "app_data", "appData").Replace(file)
	}
	if trigger {
		id, err := a.ids.mintID(*a.clock)
		if err != nil {
			t.Fatal(err)
		}
		a.write(t, filepath.Join(historyDir, "snapshot_"+id+".json"), file)
	}
	a.write(t, latestFile, file)
}

// message makes one as told does, with an id of its own.
func (a *scripted) message(word string) json.RawMessage {
	a.said++
	list := string(jsontape.FindMember(jsontape.FindMember([]byte(told(word)), `"data"`), `"messages"`))
	key := "tracking_id"
	if a.dialect == typeScript {
		key = "trackingId"
	}
	return json.RawMessage(strings.Replace(list[1:len(list)-1], "{", fmt.Sprintf(`{%q: "t%d", `, key, a.said), 1))
}

// write puts a file beside the one that it is for, and renames it.
func (a *scripted) write(t *rapid.T, name, text string) {
	at := filepath.Join(a.kept, name)
	if err := errors.Join(os.WriteFile(at+".tmp", []byte(text), 0o644), os.Rename(at+".tmp", at)); err != nil {
		t.Fatal(err)
	}
}

// unsynced is a disk that takes no time to be durable.
type unsynced struct{ disk.Disk }

func (unsynced) Sync(string) error { return nil }

// framework is the agents of one session of a store. It implements storetest.Framework.
type framework struct {
	s     *Store
	agent *scripted
	clock *time.Time
	file  string // which the agent writes over
}

// holding is an agent that runs, with the messages that it holds.
type holding struct {
	*framework
	messages []json.RawMessage
}

// Start starts an agent on the one session that has them.
func (f *framework) Start(t *rapid.T, _ string) storetest.Agent {
	return &holding{f, f.agent.start(t)}
}

// Turn has the agent save, over whatever is the latest.
func (a *holding) Turn(t *rapid.T) []storetest.Over {
	over, err := os.ReadFile(filepath.Join(a.agent.kept, latestFile))
	if err != nil {
		t.Fatal(err)
	}
	state, err := dataOf(over)
	if err != nil {
		t.Fatal(err)
	}
	a.agent.save(t, slices.Clone(a.messages), rapid.SampledFrom(turns).Draw(t, "turn"), rapid.Bool().Draw(t, "trigger"))
	a.messages = a.agent.held
	return []storetest.Over{{Key: string(state), File: a.file, Content: over}}
}

// Key is the state: the latest has no id of its own.
func (f *framework) Key(_ *model.Header, state []byte) string { return string(state) }

func (f *framework) Had(t *rapid.T, over storetest.Over) bool {
	sum := fmt.Sprintf("%x", sha256.Sum256(over.Content))
	return slices.ContainsFunc(entriesOf(t, f.s), func(e journal.Entry) bool {
		return slices.ContainsFunc(e.Changes(), func(c journal.Change) bool { return c.Path == over.File && c.Before.SHA256 == sum })
	})
}

// Holds: the SDK loads the head.
func (f *framework) Holds(t *rapid.T, plan model.Plan, receipt model.Receipt) {
	*f.clock = f.clock.Add(time.Second)
	if plan.NewSession != "" || plan.Session != "a" || receipt.Head.ID == "" {
		return
	}
	state, err := f.s.State(t.Context(), model.Ref{Session: plan.Session, ID: receipt.Head.ID})
	data, readErr := os.ReadFile(filepath.Join(f.agent.kept, latestFile))
	if err = errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	if loaded, err := dataOf(data); err != nil || string(loaded) != string(state) {
		t.Fatalf("%s: the SDK loads %s, %v, and the head is %s", plan.Headline(), loaded, err, state)
	}
}

func entriesOf(t *rapid.T, s *Store) []journal.Entry {
	list, err := s.files.Storage.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func newWorld(t *rapid.T, dir string) storetest.World {
	clock, made := noon, 0
	kind := rapid.SampledFrom([]struct {
		dialect
		at string
	}{{python, "session/a/scopes/agent/default"}, {typeScript, "session/a/scopes/agent/agent"}, {typeScript, "a/scopes/agent/agent"}}).Draw(t, "kind")
	ids := &minter{random: func(b []byte) { clear(b) }}
	agent := &scripted{dialect: kind.dialect, kept: filepath.Join(dir, filepath.FromSlash(kind.at), snapshots), ids: ids, clock: &clock}
	agent.turn(t, []string{"q", "-a"}, true)
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.files.Storage.Now = func() time.Time { return clock }
	s.random = func(b []byte) { clear(b) }
	if err := s.files.Storage.WriteThrough(func(d disk.Disk) disk.Disk { return unsynced{d} }); err != nil {
		t.Fatal(err)
	}
	return storetest.World{Framework: &framework{s, agent, &clock, path.Join(kind.at, snapshots, latestFile)}, Store: s, Dir: dir, Wait: func(*rapid.T) {}, Edit: func([]byte) []byte {
		made++
		return []byte(`{"messages": [], "edited": ` + fmt.Sprint(made) + `}`)
	}}
}

var turns = [][]string{{"q", "-a"}, {"q", "+1", "=1", "-a"}, {"q", "+1"}, {"q", "+1", "=1"}, {"q"}, {"-a"}}

// Whatever Hindcast and agents do in turn, see storetest.World: also beside agents that
// hold an old view.
func TestProperty(t *testing.T) {
	skip.Sequential(t)
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late %t", late), func(t *testing.T) {
			t.Parallel()
			property := func(rt *rapid.T) int { return newWorld(rt, tempDir(rt)).Play(rt, late) }
			if late {
				storetest.Overwritten(t, 50, property)
			} else {
				rapid.Check(t, storetest.Few(50, func(rt *rapid.T) { property(rt) }))
			}
		})
	}
}

// tempDir returns a folder for one check.
func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "property")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
