package crewai

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/checkpoints"
)

// format implements checkpoints.Format.
type format struct{}

// fileName fits the name of a checkpoint.
var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{8}T\d{6}_[0-9a-f]{8})_p-(.+)\.json$`) })

// Is implements checkpoints.Format.
func (format) Is(name string) bool { return fileName().MatchString(path.Base(name)) }

// Signs implements checkpoints.Format. crewAI writes the entities behind a few short members.
func (format) Signs(name string, head []byte) bool {
	t := jsontape.Prefix(head, len(head))
	entities, branch := t.Find(0, "entities"), t.Find(0, "branch")
	if entities < 0 || t.Kind(entities) != jsontape.Array {
		return false
	}
	return branch < 0 || t.Kind(branch) != jsontape.String || string(t.AppendText(nil, branch, mostTitle)) == path.Dir(name)
}

// own is the cached data of a file.
type own struct {
	Recorded string `json:"recorded,omitempty"`
	Events   []byte `json:"events,omitempty"`
	// Inside is the result of mismatchedPlace.
	Inside []string `json:"inside,omitempty"`
	Type   string   `json:"type,omitempty"`
	// After is the method of a flow that a checkpoint was written after.
	After    string   `json:"after,omitempty"`
	Models   []string `json:"models,omitempty"`
	Location string   `json:"location,omitempty"`
}

// noteOwn returns the cached data of a document, for any kind of storage.
func (b *body) noteOwn() own {
	e := b.findSubject()
	o := own{Type: e.Type, Models: b.ownModels(), Location: e.Checkpoint.Location}
	if _, _, method, _, _ := b.countDone(); e.Type == "flow" && b.Trigger == "method_execution_finished" {
		o.After = method
	}
	return o
}

func ownOf(of *checkpoints.Item) (o own) {
	_ = json.Unmarshal(of.Own, &o) // it was written here
	return o
}

func (o *own) decodePrints() []uint64 {
	list := make([]uint64, len(o.Events)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(o.Events[8*i:])
	}
	return list
}

const none = "none"

// Decode implements checkpoints.Format.
func (format) Decode(name string, data []byte) (d checkpoints.Decoded) {
	parts := fileName().FindStringSubmatch(path.Base(name))
	if parts == nil {
		return d
	}
	b, err := bodyOf(data)
	if err != nil {
		d.Flaw = err.Error()
		return d
	}
	id, parent := parts[1], strings.TrimSuffix(parts[2], none)
	prints, last := b.eventPrints()
	o := b.noteOwn()
	o.Recorded = parent
	for _, n := range prints {
		o.Events = binary.LittleEndian.AppendUint64(o.Events, n)
	}
	o.Inside = b.mismatchedPlace(parent, path.Dir(name))
	item := checkpoints.Item{Session: b.runName(), Opening: b.firstTask()}
	item.Header = model.Header{ID: id, ParentID: parent, CreatedAt: secondOf(id), Size: int64(len(data))}
	if last.After(item.CreatedAt) {
		item.CreatedAt = last
	}
	b.describeRow(&item.Header)
	if item.Own, err = json.Marshal(o); err != nil {
		d.Flaw = err.Error()
		return d
	}
	d.Items = []checkpoints.Item{item}
	return d
}

// Arrange implements checkpoints.Format.
func (format) Arrange(items []checkpoints.Item) (head int) {
	checkpoints.ByTime(items)
	rows := make([]row, len(items))
	for i := range items {
		o := ownOf(&items[i])
		rows[i] = row{items[i].ID, o.Recorded, o.decodePrints()}
	}
	for i, parent := range parentsOf(rows) {
		items[i].ParentID = parent
	}
	return len(items) - 1
}

// State implements checkpoints.Format.
func (format) State(data []byte, _ *checkpoints.Item) ([]byte, error) { return data, nil }

// Facts implements checkpoints.Format.
func (format) Facts(data []byte, of *checkpoints.Item) model.Facts {
	b, err := bodyOf(data)
	if err != nil {
		return nil
	}
	facts := b.otherFacts()
	if o := ownOf(of); o.Recorded != of.ParentID {
		facts.Add("parent", "by its events; crewAI wrote down "+cmp.Or(o.Recorded, "none"))
	}
	return facts
}

// Codes of the faults.
const (
	// FaultRaced: crewAI wrote down another parent than the events in the checkpoint tell.
	FaultRaced = "raced-lineage"
	// FaultInside: a document names another parent or branch than the name of its file, or its row.
	FaultInside = "lineage-mismatch"
	// FaultLocation: a checkpoint names another place as its store.
	FaultLocation = "other-location"
)

// Faults implements checkpoints.Format.
func (format) Faults(items []checkpoints.Item, _ int) []model.Fault {
	var list store.FaultList
	for i := range items {
		o := ownOf(&items[i])
		lineageFaults(&list, items[i].File, items[i].ParentID, o.Recorded, o.Inside)
	}
	return list.All()
}

// lineageFaults adds the faults in the lineage of a checkpoint. parent follows from its events, recorded is
// the parent that crewAI wrote, and inside is the result of mismatchedPlace.
func lineageFaults(list *store.FaultList, file, parent, recorded string, inside []string) {
	if recorded != parent {
		list.Add(model.Fault{Code: FaultRaced, Severity: model.Odd, File: file, Meaning: fmt.Sprintf("its events come after those of %s, and crewAI wrote down %s as its parent: its threads raced", parent, cmp.Or(recorded, none)), Verdict: "goes on from any checkpoint that is named; its own trees show the wrong parent"})
	}
	if inside != nil {
		list.Add(model.Fault{Code: FaultInside, Severity: model.Odd, File: file, Meaning: fmt.Sprintf("the document names the parent %.60q and the branch %.60q", inside[0], inside[1]), Verdict: "lists it by the name of its file, or its row, and goes on on the branch in the document"})
	}
}

// itself says how crewAI forks.
const itself = "crewAI itself forks from any checkpoint: Crew.fork(CheckpointConfig(restore_from=…), branch=…), see the Resume tab"

// Lacks implements checkpoints.Format.
func (format) Lacks(op model.Op, _ *checkpoints.Item) string {
	if op == model.OpFork {
		return itself
	}
	return ""
}

// Restore implements checkpoints.Format: a copy under a new id, on a branch of its own, and
// the newest of the store.
func (format) Restore(p *checkpoints.Putting) (n checkpoints.New, err error) {
	it := p.Item()
	times := make([]time.Time, len(p.Items))
	for i := range p.Items {
		times[i] = p.Items[i].CreatedAt
	}
	o := ownOf(it)
	c, err := copyOf(p.Data, &o, it.ID, p.Dir, secondAfter(p.Now, times))
	if err != nil {
		return n, err
	}
	n.Name, n.Data = path.Join(c.branch, c.id+"_p-"+it.ID+".json"), c.data
	n.Writes = fmt.Sprintf("a new checkpoint %s on the branch %s: a copy of #%d, and the newest", c.id, c.branch, p.At)
	n.Hazards, n.Asks = c.hazards, c.asks
	return n, nil
}

func loads(newest string) string {
	return "`crewai checkpoint resume` takes the newest checkpoint, " + newest + "; a program names one"
}

// Loads implements checkpoints.Format.
func (format) Loads(items []checkpoints.Item, head int) string {
	return loads(items[head].ID)
}

// Resume implements checkpoints.Format.
func (format) Resume(dir string, of *checkpoints.Item) []model.Resume {
	return resumeCalls(ownOf(of).Type, of.Event, filepath.Join(dir, filepath.FromSlash(of.File)))
}

// way is how a program goes on from a checkpoint of something, and what happens then.
type way struct{ class, verb, then string }

// ways has how to go on, by the type of a checkpoint's subject.
var ways = map[string]way{
	"crew":  {"Crew", "kickoff()", "runs the tasks that are not done"},
	"flow":  {"Flow", "kickoff()", "runs the methods that are not done; the program's own class stands for Flow"},
	"agent": {"Agent", "kickoff(…)", "goes on with your text"},
}

// over is the way from a checkpoint of a crew whose tasks are all done.
var over = way{"Crew", "kickoff()", "runs no task, since all are done, and returns what they returned"}

// resumeCalls returns the calls that go on from a checkpoint, the best one first. of is the type of its subject, and
// at the event at which it was written.
func resumeCalls(of string, at model.SnapshotEvent, location string) []model.Resume {
	w := cmp.Or(ways[of], ways["crew"])
	if at == model.SnapshotEventTurnEnd {
		w = over
	}
	config := "CheckpointConfig(restore_from=" + string(quoteJSON(location)) + ")"
	return []model.Resume{
		{Call: fmt.Sprintf("%s.from_checkpoint(%s).%s", w.class, config, w.verb), Then: w.then + ", on the same branch"},
		{Call: fmt.Sprintf(`%s.fork(%s, branch="…").%s`, w.class, config, w.verb), Then: w.then + ", on a branch of its own"},
	}
}
