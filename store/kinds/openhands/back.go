package openhands

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// How a conversation goes back.
//
//	navigate_to   base_state.json names another event: leaf_event_id, and nothing else
//	fork          a new folder: copies of the events on the way, numbered anew, and a
//	              base_state.json with another id, which names the last of them
//
// The SDK does the same with its two calls of these names. It has the head in memory, and
// writes base_state.json whenever that moves. An SDK before it knew branches, such as that of
// the CLI 1.16, has no pointer: it goes on from the last event, and drops one that it finds.
// It refuses events that name their parent.

// lands are the kinds of events that a restore may lead to, besides an answer of the agent:
// behind those, the agent goes on by itself or waits for the user.
var lands = map[string]bool{kindResult: true, kindError: true, kindReject: true}

// Restore implements chat.Restorer.
func (f *format) Restore(c chat.Cut) (*chat.Restored, error) {
	t := c.Session.Own.(*sessionTree)
	o := c.To.Own.(*own)
	last := &t.nodes[o.nodes[len(o.nodes)-1]]
	if !t.hasBranches() {
		return nil, &model.UnsupportedError{Op: model.OpRestore, Reason: "the OpenHands that wrote the conversation keeps no pointer to the head, and goes on from the last event: fork instead"}
	}
	if !lands[last.Kind] && (last.Kind != kindMessage || last.Said.Role != chat.Assistant) {
		return nil, &model.UnsupportedError{Op: model.OpRestore, Reason: fmt.Sprintf("the conversation goes on behind an answer of the agent or a result of a tool, and this is a %s: restore to the one before it, or fork", last.Kind)}
	}
	made := &chat.Restored{Calls: f.resumeCalls(c.Session, t.at)}
	if c.Session.Head >= 0 && c.Session.Entries[c.Session.Head].ID == c.To.ID {
		made.Hazards = append(made.Hazards, "it is the head already: nothing is written")
		return made, nil
	}
	way, err := t.pathTo(model.OpRestore, o)
	if err == nil && slices.Max(way) >= t.seen {
		err = &model.UnsupportedError{Op: model.OpRestore, Reason: "the number of an event before it is missing: OpenHands would not open the conversation, and opens a fork"}
	}
	if err != nil {
		return nil, err
	}
	data, p, err := t.beginPatch(model.OpRestore, c.In)
	if err != nil {
		return nil, err
	}
	p.Put(0, "leaf_event_id", jsontape.AppendQuoted(nil, last.id))
	if t.state.Get("head_is_empty").True() {
		p.Put(0, "head_is_empty", []byte("false"))
	}
	made.Steps = tree.Steps{{Name: t.at.File, Data: p.Bytes()}}
	made.Uses = map[string]string{t.at.File: fmt.Sprintf("%x", sha256.Sum256(data))}
	made.Writes = []string{fmt.Sprintf("%s: leaf_event_id names event %d; the rest stays as it is, execution_status (%.20q) too", t.at.File, last.index, t.state.Get("execution_status").Text())}
	made.Hazards = append(made.Hazards, "a program that has the conversation open keeps its own head and writes it over this one: close it first")
	return made, nil
}

// beginPatch begins to change base_state.json.
func (t *sessionTree) beginPatch(op model.Op, in engine.In) ([]byte, *jsontape.Patch, error) {
	data, _, err := in.Read(t.at.File, nil)
	if err != nil {
		return nil, nil, err
	}
	tape, err := jsontape.Parse(data)
	if err != nil || tape.Kind(0) != jsontape.Object {
		return nil, nil, &model.UnsupportedError{Op: op, Reason: t.at.File + " is no JSON object: OpenHands would not open the conversation"}
	}
	return data, jsontape.NewPatch(tape), nil
}

// pathTo returns the events on the way to an entry. The error is a model.UnsupportedError where
// OpenHands would not open a conversation that goes on from there.
func (t *sessionTree) pathTo(op model.Op, to *own) ([]int, error) {
	way := t.line.Way(to.nodes[len(to.nodes)-1])
	for _, i := range way {
		if n := &t.nodes[i]; n.Damage != "" || t.up[i] == chat.Missing || i == way[0] && t.up[i] >= 0 {
			return nil, &model.UnsupportedError{Op: op, Reason: fmt.Sprintf("event %d, on the way there, is damaged, its parent is missing, or it follows itself: OpenHands would not open the conversation", n.index)}
		}
	}
	return way, nil
}

var errNotID = errors.New("its ids are 32 digits of hex in lower case without dashes, such as 0b6c7f9e5d0a4b699f0c0f2ed0f7b9ad")

// NewID implements chat.Forker: 32 digits, as the SDK names folders.
func (f *format) NewID(as string) (string, error) {
	if as == "" {
		id, err := chat.UUID4("")
		return strings.ReplaceAll(id, "-", ""), err
	}
	if !hex().MatchString(as) {
		return "", errNotID
	}
	return as, nil
}

// Fork implements chat.Forker, as fork(from_event_id=…, reset_metrics=False) does.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	t := c.Session.Own.(*sessionTree)
	o := c.To.Own.(*own)
	_, p, err := t.beginPatch(model.OpFork, c.In)
	if err != nil {
		return nil, err
	}
	way, err := t.pathTo(model.OpFork, o)
	if err != nil {
		return nil, err
	}
	set := func(key, text string) { p.Put(0, key, jsontape.AppendQuoted(nil, text)) }
	set("id", fmt.Sprintf("%s-%s-%s-%s-%s", c.ID[:8], c.ID[8:12], c.ID[12:16], c.ID[16:20], c.ID[20:]))
	set("persistence_dir", filepath.Join(f.dir, c.ID))
	set("execution_status", "idle")
	if t.hasBranches() {
		set("leaf_event_id", t.nodes[way[len(way)-1]].id)
		p.Put(0, "head_is_empty", []byte("false"))
	}
	p.Put(0, "tags", []byte("{}"))
	at := f.Spot(tree.Join(c.ID, stateName))
	steps := make(tree.Steps, 0, len(way)+1)
	for k, i := range way {
		data, _, err := c.In.Read(t.fileOf(i), nil)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("event-%05d-%s.json", k, t.nodes[i].id)
		steps = append(steps, tree.Step{Name: tree.Join(eventsOf(at), name), Data: data})
	}
	steps = append(steps, tree.Step{Name: at.File, Data: p.Bytes()})
	return &chat.Fork{
		Spot: at, Steps: steps,
		Writes: []string{
			fmt.Sprintf("%s/%s: copies of %s on the way, numbered anew", c.ID, eventsName, model.Count(len(way), "event")),
			at.File + ": that of the conversation, with the new id, and idle",
		},
		Calls: f.resumeCalls(c.Session, at),
	}, nil
}

// hasBranches reports whether the OpenHands that wrote the conversation knows branches.
func (t *sessionTree) hasBranches() bool {
	return t.state.Get("leaf_event_id").There() || t.state.Get("head_is_empty").There() ||
		slices.ContainsFunc(t.nodes, func(n node) bool { return n.Parent != "" })
}

// resumeCalls returns the calls that go on from the head of the conversation at a spot, which is made of
// events of s. The CLI does not find that of a sub-agent.
func (f *format) resumeCalls(s *chat.Session, at chat.Spot) []model.Resume {
	dir := path.Dir(at.File)
	sdk := model.Resume{
		Call: fmt.Sprintf("Conversation(agent=…, workspace=…, persistence_dir=%q, conversation_id=UUID(%q))", filepath.Join(f.dir, filepath.FromSlash(path.Dir(dir))), path.Base(dir)),
		Then: "goes on from there in the SDK",
	}
	cli := model.Resume{Call: s.Command("", "openhands", "--resume", path.Base(dir)), Then: "goes on from there"}
	switch {
	case strings.Contains(at.ID, "/"):
		return []model.Resume{sdk}
	case s.Own.(*sessionTree).hasBranches():
		cli.Then = "goes on from there with a CLI that knows branches, which that of 1.16 does not"
		return []model.Resume{sdk, cli}
	}
	return []model.Resume{cli, sdk}
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	t, o := s.Own.(*sessionTree), e.Own.(*own)
	if s.IsHead(e) {
		return f.resumeCalls(s, s.Spot)
	}
	id := t.nodes[o.nodes[len(o.nodes)-1]].id
	return []model.Resume{
		{Call: fmt.Sprintf("conversation.navigate_to(%q)", id), Then: "moves the head here, in a program that has the conversation open"},
		{Call: fmt.Sprintf("conversation.fork(from_event_id=%q)", id), Then: "starts a new conversation from here, in such a program"},
	}
}

// kin finds conversations that share a root: one is a fork of the other. It is safe for
// concurrent use.
type kin struct {
	mu     sync.Mutex
	now    time.Time           // that of the reading in which the storage was listed last
	names  []string            // of the storage, when the others were found
	firsts map[string][]string // by the files of first events
	known  map[string][]string // by the ids of roots that stand anywhere
}

// mostKin bounds the conversations that are looked at, and mostRoots the roots of one.
const mostKin, mostRoots = 2000, 8

// noteKin notes at each entry in which other conversations its event is, too.
func (k *kin) noteKin(in engine.In, t *sessionTree) {
	var others []string
	roots := 0
	for i := 0; i < len(t.nodes) && roots < mostRoots; i++ {
		if n := &t.nodes[i]; i == 0 || n.Parent == explicitRoot {
			others = append(others, k.conversationsOf(in, n)...)
			roots++
		}
	}
	slices.Sort(others)
	for _, other := range slices.Compact(others) {
		names, err := in.List(tree.Join(other, eventsName))
		if err != nil || other == t.at.ID {
			continue
		}
		for _, e := range eventFiles(names) {
			if i, known := t.byID[e.id]; known && t.entry[i] >= 0 {
				entry := &t.session.Entries[t.entry[i]]
				if entry.ID == e.id {
					entry.Facts.Add("also in", other)
				}
			}
		}
	}
}

// conversationsOf returns the conversations that have a root: as their first event, or anywhere one that names
// itself a root, with which a fork of its branch begins.
func (k *kin) conversationsOf(in engine.In, root *node) (list []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.now.Equal(in.Now) {
		names, err := in.List(".")
		if err != nil || len(names) > mostKin {
			names = nil
		}
		if names = slices.Sorted(slices.Values(names)); !slices.Equal(k.names, names) {
			k.names, k.firsts, k.known = names, byFirstEvent(in, names), map[string][]string{}
		}
		k.now = in.Now
	}
	if root.Parent != explicitRoot {
		return k.firsts[root.file]
	}
	if list, known := k.known[root.id]; known {
		return list
	}
	for _, name := range k.names {
		events, _ := in.List(tree.Join(name, eventsName)) // most names are those of conversations
		if slices.ContainsFunc(eventFiles(events), func(e eventFile) bool { return e.id == root.id }) {
			list = append(list, name)
		}
	}
	k.known[root.id] = list
	return list
}

// byFirstEvent returns the conversations by the files of their first events.
func byFirstEvent(in engine.In, names []string) map[string][]string {
	list := map[string][]string{}
	for _, name := range names {
		events, _ := in.List(tree.Join(name, eventsName)) // most names are those of conversations
		for _, file := range events {
			if strings.HasPrefix(file, "event-00000-") {
				list[file] = append(list[file], name)
			}
		}
	}
	return list
}

// Check implements chat.Checker: it names conversations of the application before the SDK, and
// events without a base_state.json, by which a conversation is found.
func (f *format) Check(ctx context.Context, in engine.In) (faults []model.Fault, err error) {
	names, err := in.List(".")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if look, err := in.Stamp(name + "/" + stateName); err != nil || look.Kind != files.Nothing {
			continue
		}
		events, _ := in.List(tree.Join(name, eventsName)) // most have none
		if len(eventFiles(events)) > 0 {
			faults = append(faults, model.Fault{
				Code: FaultState, Severity: model.Loses, File: name, Meaning: fmt.Sprintf("a conversation of %s without its %s: Hindcast does not show it", model.Count(len(eventFiles(events)), "event"), stateName),
				Verdict: verdictAnew,
			})
		}
		if slices.Contains(events, "0.json") {
			faults = append(faults, model.Fault{
				Code: FaultOld, Severity: model.Note, File: name, Meaning: "a conversation of the application before the SDK, whose events are numbered: Hindcast does not read it",
				Verdict: "the SDK does not open it",
			})
		}
	}
	return faults, nil
}
