package genkit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// agentSDK writes a store as an SDK does, by the rules of its own sources and not by
// those of this package: it keeps all rows in memory beside the files.
type agentSDK struct {
	t      *rapid.T
	dir    string
	layout layout
	now    *time.Time
}

// doc is a row as an SDK sees it.
type doc struct {
	SnapshotID string          `json:"snapshotId"`
	SessionID  string          `json:"sessionId"`
	ParentID   string          `json:"parentId"`
	CreatedAt  string          `json:"createdAt"`
	Status     string          `json:"status"`
	State      json.RawMessage `json:"state"`
}

type pointerDoc struct {
	Current   string `json:"currentSnapshotId"`
	CreatedAt string `json:"currentCreatedAt"`
}

func (k *agentSDK) must(err error) {
	if err != nil {
		k.t.Fatal(err)
	}
}

// rows reads all rows of a session, as a search does.
func (k *agentSDK) rows(sid string) (list []doc) {
	names, err := filepath.Glob(filepath.Join(k.dir, "*.json"))
	k.must(err)
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		k.must(err)
		var d doc
		k.must(json.Unmarshal(data, &d))
		if d.SessionID == sid {
			list = append(list, d)
		}
	}
	return list
}

func (k *agentSDK) byID(id string) *doc {
	data, err := os.ReadFile(filepath.Join(k.dir, id+".json"))
	if err != nil {
		return nil
	}
	var d doc
	k.must(json.Unmarshal(data, &d))
	return &d
}

func instant(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// latest returns the row that the SDK finds for a session, by its pointer or without.
func (k *agentSDK) latest(sid string, trusting bool) *doc {
	if trusting && k.layout != layoutPython {
		var p pointerDoc
		if data, err := os.ReadFile(filepath.Join(k.dir, ".pointers", sid+".json")); err == nil && json.Unmarshal(data, &p) == nil {
			if d := k.byID(p.Current); d != nil && d.SessionID == sid {
				return d
			}
		}
	}
	list := k.rows(sid)
	parents := map[string]bool{}
	for _, d := range list {
		parents[d.ParentID] = true
	}
	var best *doc
	for i := range list {
		d := &list[i]
		switch k.layout {
		case layoutGo:
			if best == nil || instant(d.CreatedAt).After(instant(best.CreatedAt)) || instant(d.CreatedAt).Equal(instant(best.CreatedAt)) && d.SnapshotID > best.SnapshotID {
				best = d
			}
		case layoutJS:
			if !parents[d.SnapshotID] && (best == nil || d.CreatedAt > best.CreatedAt) {
				best = d
			}
		case layoutPython:
			if !parents[d.SnapshotID] && (best == nil || d.CreatedAt > best.CreatedAt || d.CreatedAt == best.CreatedAt && d.SnapshotID > best.SnapshotID) {
				best = d
			}
		}
	}
	return best
}

// resume returns the row that a turn by the session's id goes on from, nil to begin
// anew.
func (k *agentSDK) resume(sid string, trusting bool) *doc {
	d := k.latest(sid, trusting)
	if k.layout == layoutGo {
		return d
	}
	for n := 0; d != nil && d.Status != "completed"; n++ {
		if n > 1000 {
			k.t.Fatal("a circle")
		}
		d = k.byID(d.ParentID)
	}
	return d
}

// put writes a file as all SDKs do: under another name, and then renamed.
func (k *agentSDK) put(file string, data []byte) {
	k.must(os.WriteFile(file+".tmp", data, 0o600))
	k.must(os.Rename(file+".tmp", file))
}

// turn writes the row of a turn that goes on from a row.
func (k *agentSDK) turn(sid string, from *doc, status, text string) string {
	*k.now = k.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(k.t, "ms")) * time.Millisecond)
	id := uuid.NewString()
	messages := []json.RawMessage{}
	parent := ""
	if from != nil {
		parent = from.SnapshotID
		var state struct{ Messages []json.RawMessage }
		k.must(json.Unmarshal(from.State, &state))
		messages = append(messages, state.Messages...)
	}
	messages = append(messages, json.RawMessage(fmt.Sprintf(`{"content": [{"text": %q}], "role": "user"}`, text)))
	n := newRow{id: id, parent: parent, created: k.layout.formatTime(*k.now, nil), session: k.layout.quoteText(sid)}
	state, err := json.MarshalIndent(map[string]any{"messages": messages, "sessionId": sid}, "  ", "  ")
	k.must(err)
	n.state = state
	row := strings.Replace(string(n.encodeRow(k.layout)), `"status": "completed"`, `"status": "`+status+`"`, 1)
	k.put(filepath.Join(k.dir, id+".json"), []byte(row))
	if k.layout != layoutPython {
		pointers := filepath.Join(k.dir, ".pointers")
		k.must(os.MkdirAll(pointers, 0o700))
		var p pointerDoc
		file := filepath.Join(pointers, sid+".json")
		data, err := os.ReadFile(file)
		// Go moves the pointer forward only; JavaScript with each new row.
		if k.layout == layoutJS || err != nil || json.Unmarshal(data, &p) != nil || k.now.After(instant(p.CreatedAt)) {
			k.put(file, k.layout.newPointer(id, n.created, *k.now))
		}
	}
	return id
}

// Start starts an agent that goes on from where the SDK resumes, or from a row that it was
// told. It implements storetest.Framework.
func (k *agentSDK) Start(t *rapid.T, session string) storetest.Agent {
	a := &holding{agentSDK: k, session: session, from: k.resume(session, true)}
	if list := k.rows(session); len(list) > 0 && rapid.IntRange(0, 3).Draw(t, "by its id") == 0 {
		a.from = &list[rapid.IntRange(0, len(list)-1).Draw(t, "row")]
	}
	return a
}

// holding is an agent that runs, with the row that it goes on from.
type holding struct {
	*agentSDK
	session string
	from    *doc
}

// Turn writes a row, which is over none.
func (a *holding) Turn(t *rapid.T) []storetest.Over {
	status := rapid.SampledFrom([]string{"completed", "completed", "completed", "failed"}).Draw(t, "status")
	if id := a.turn(a.session, a.from, status, "next"); status == "completed" {
		a.from = a.byID(id)
	}
	return nil
}

// Key: a row has its id and its state for ever.
func (k *agentSDK) Key(h *model.Header, state []byte) string { return h.ID + " " + string(state) }

func (k *agentSDK) Had(*rapid.T, storetest.Over) bool { return false }

// Holds: by its pointer and by a search, the SDK resumes what the receipt says.
func (k *agentSDK) Holds(t *rapid.T, plan model.Plan, receipt model.Receipt) {
	session := cmp.Or(plan.NewSession, plan.Session)
	for _, trusting := range []bool{true, false} {
		id := ""
		if d := k.resume(session, trusting); d != nil {
			id = d.SnapshotID
		}
		// What was so before is not for an undo to mend: the pointer and a search
		// may have disagreed then, and the session may have begun anew.
		if id == "" && plan.Op == model.OpUndo {
			continue
		}
		if id != receipt.Head.ID && (trusting || plan.Op != model.OpUndo && plan.Op != model.OpRedo) {
			for _, d := range k.rows(session) {
				t.Logf("  %.8s < %.8s %s %s", d.SnapshotID, d.ParentID, d.CreatedAt, d.Status)
			}
			t.Fatalf("%s: the SDK resumes %q, and the receipt says %q (trusting the pointer: %v)", plan.Op, id, receipt.Head.ID, trusting)
		}
	}
}

// Whatever Hindcast and agents do in turn, see storetest.World: alone, and beside agents
// that hold an old row.
func TestProperty(t *testing.T) {
	skip.Sequential(t)
	for _, late := range []bool{false, true} {
		for l, name := range layoutNames {
			t.Run(fmt.Sprintf("%s, late %v", name, late), func(t *testing.T) {
				t.Parallel() // they wait for the disk
				property(t, layout(l), late)
			})
		}
	}
}

func property(t *testing.T, l layout, late bool) {
	dirs, root := 0, t.TempDir()
	rapid.Check(t, storetest.Few(35, func(r *rapid.T) {
		dirs++
		now := evening
		dir := filepath.Join(root, fmt.Sprint(dirs))
		k := &agentSDK{t: r, layout: l, now: &now, dir: dir}
		if k.layout != layoutPython {
			k.dir = filepath.Join(dir, "global")
		}
		k.must(os.MkdirAll(k.dir, 0o700))
		for i := range 3 {
			k.turn("s", k.resume("s", true), "completed", fmt.Sprint("first ", i))
		}
		s, err := Options{Now: func() time.Time { return now }}.Open(t.Context(), dir)
		k.must(err)
		defer s.Close()
		storetest.World{Framework: k, Store: s, Dir: dir, Wait: func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(-2000, 3000).Draw(t, "clock")) * time.Millisecond)
		}}.Play(r, late)
	}))
}
