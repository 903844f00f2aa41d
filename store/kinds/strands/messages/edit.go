package messages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/splice"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
)

// An edited fork is a fork in which some files are other ones. A state is made of
// files: each of its messages is the one in a message file, but for the summary,
// which is in agent.json, and for those that the SDK makes or mends in memory, which
// are in none. Its other members are those of agent.json. What differs between the
// state and the edited one is found by position, and put where it came from.

// edit plans what an edited fork has instead. The error is a model.UnsupportedError that
// names the place, as a JSON Pointer, which cannot be changed.
func (m *mover) edit(ctx context.Context, state []byte) error {
	e := editing{mover: m}
	if err := e.take(ctx, state); err != nil {
		return err
	}
	before, err := e.mended(ctx)
	if err != nil {
		return err
	}
	if err := e.put(); err != nil {
		return err
	}
	if err := e.check(ctx); err != nil {
		return err
	}
	after, err := e.mended(ctx)
	if err != nil {
		return err
	}
	for key, f := range after {
		if _, known := before[key]; !known {
			text := fmt.Sprintf("%s: %s; %s", m.now.shown(f.File), f.Meaning, f.Verdict)
			m.hazard("%s", text)
			m.Asks = append(m.Asks, "after the edit, tool calls and results no longer belong together: "+text)
		}
	}
	slices.Sort(m.Asks)
	last, err := m.becomes().message(ctx, m.i)
	m.Target.ID = idText(last.id)
	return err
}

// becomes returns the log as it would be if it was the one that is changed.
func (m *mover) becomes() *messageLog {
	return readLog(m.now.place, m.now.layOver(m.steps()))
}

// editing is a fork whose state was changed.
type editing struct {
	*mover
	old, new *jsontape.Tape
	parts    []part
	// changed are the messages that differ, members those of agent.json.
	changed []int
	members []string
}

// part is where a message of a state comes from.
type part struct {
	// file is its position in the log, or -1.
	file int
	// summary says that it is the summary.
	summary bool
	body    []byte
}

// unmapped refuses to change what is at a place.
func unmapped(pointer, format string, args ...any) error {
	return &model.UnsupportedError{Op: model.OpEdit, Reason: placeName(pointer) + ": " + fmt.Sprintf(format, args...)}
}

func placeName(pointer string) string {
	if pointer == "" {
		return "the state"
	}
	return pointer
}

// take compares the edited state with the one that it was.
func (e *editing) take(ctx context.Context, state []byte) error {
	old, err := e.state(ctx)
	if err != nil {
		return err
	}
	if e.old, err = files.Parse(old); err != nil {
		return err
	}
	if e.new, err = files.Parse(state); err != nil {
		return fmt.Errorf("the edited state: %w", err)
	}
	if e.new.Kind(0) != jsontape.Object {
		return unmapped("", "it is no object")
	}
	for n := e.old.First(0); n >= 0; n = e.old.Next(n) {
		if e.new.Find(0, e.old.Key(n)) < 0 {
			return unmapped(e.old.Pointer(n), "it cannot be taken out")
		}
	}
	for n := e.new.First(0); n >= 0; n = e.new.Next(n) {
		key := e.new.Key(n)
		if was := e.old.Find(0, key); was >= 0 && sameJSON(e.old.Raw(was), e.new.Raw(n)) {
			continue
		}
		known := slices.ContainsFunc(agentMembers, func(m agentMember) bool { return m.key == key })
		switch {
		case key == "messages":
			if err := e.takeMessages(ctx, n); err != nil {
				return err
			}
		case known:
			e.members = append(e.members, key)
		default:
			return unmapped(e.new.Pointer(n), "a message log has no place for it")
		}
	}
	if len(e.changed)+len(e.members) == 0 {
		return unmapped("", "nothing was changed; a fork makes a session of it as it is")
	}
	return nil
}

// sameJSON reports whether two texts say the same but for white space.
func sameJSON(a, b []byte) bool {
	return bytes.Equal(jsontape.AppendCompact(nil, a), jsontape.AppendCompact(nil, b))
}

// takeMessages finds the messages that differ.
func (e *editing) takeMessages(ctx context.Context, list jsontape.Node) (err error) {
	was := e.old.Find(0, "messages")
	if e.new.Kind(list) != jsontape.Array || e.new.Count(list) != e.old.Count(was) {
		return unmapped("/messages", "messages can be changed, and not be added or taken out; fork from an earlier or a later one instead")
	}
	if e.parts, err = e.readParts(ctx); err != nil {
		return err
	}
	if len(e.parts) != e.old.Count(was) {
		return errors.New("the session changes just now")
	}
	o := e.old.First(was)
	for n := e.new.First(list); n >= 0; n = e.new.Next(n) {
		k := e.new.Index(n)
		if !sameJSON(e.old.Raw(o), e.new.Raw(n)) {
			if p := e.parts[k]; p.file < 0 && !p.summary {
				return unmapped(e.new.Pointer(n), "the SDK makes or mends this message when it loads the session, and no file has it as it is here; repair the session first")
			}
			e.changed = append(e.changed, k)
		}
		o = e.old.Next(o)
	}
	return nil
}

// readParts returns where each message of a state comes from.
func (at *snapshot) readParts(ctx context.Context) (list []part, err error) {
	err = at.log.weave(ctx, map[int][]int{at.i: {0}}, &loom{
		has: func([sha256.Size]byte) bool { return false },
		put: func(e piece, _ bool) store.Run {
			one := part{file: -1, summary: e.msg.location == summaryPath, body: bytes.Clone(e.bytes())}
			if e.json == nil {
				one.file = at.log.position(e.msg.name)
			}
			list = append(list, one)
			return store.Run{Len: 1}
		},
		take: at.check,
	})
	return list, err
}

// put writes what differs into the files that it came from.
func (e *editing) put() error {
	for _, k := range e.changed {
		node := e.new.At(e.new.Find(0, "messages"), k)
		if e.parts[k].summary {
			if err := e.putSummary(k, node); err != nil {
				return err
			}
			continue
		}
		name := e.log.files[e.parts[k].file].name
		var d decoder
		doc := files.ReadDocument(d.reader(e.log.tree, e.log.dir), name, nil)
		if doc.Err != nil {
			return fmt.Errorf("read %s: %w", name, doc.Err)
		}
		e.made[name] = withMessage(&doc, e.new, node)
		delete(e.back, name)
	}
	for _, key := range e.members {
		if err := e.putMember(key, e.new, e.new.Find(0, key)); err != nil {
			return err
		}
	}
	return nil
}

// withMessage returns a message file with another effective message. Where the SDK
// redacted it, it wrote the redacted one twice.
func withMessage(d *files.Document, from *jsontape.Tape, message jsontape.Node) []byte {
	t := d.Tape
	p := jsontape.NewPatch(t)
	inner, redacted := t.Find(0, "message"), t.Find(0, "redact_message")
	if redacted >= 0 && t.Kind(redacted) != jsontape.Null {
		p.Set(redacted, splice.Merge(t, redacted, from, message))
		if !sameJSON(t.Raw(inner), t.Raw(redacted)) {
			return p.Bytes()
		}
	}
	p.Set(inner, splice.Merge(t, inner, from, message))
	return p.Bytes()
}

// putSummary changes the summary, which is in the state twice at the head.
func (e *editing) putSummary(k int, node jsontape.Node) error {
	if slices.Contains(e.members, "conversation_manager_state") {
		return unmapped(fmt.Sprintf("/messages/%d", k), "the summary is that of %s, which was changed, too", summaryPath)
	}
	t, err := files.Parse(e.agent)
	if err != nil {
		return err
	}
	summary := t.Lookup("conversation_manager_state", "summary_message")
	if summary < 0 || !sameJSON(t.Raw(summary), e.parts[k].body) {
		return unmapped(fmt.Sprintf("/messages/%d", k), "the summary is not in the agent.json that the fork gets")
	}
	p := jsontape.NewPatch(t)
	p.Set(summary, splice.Merge(t, summary, e.new, node))
	e.setAgent(p.Bytes())
	return nil
}

// putMember changes a member of agent.json.
func (e *editing) putMember(key string, from *jsontape.Tape, value jsontape.Node) error {
	t, err := files.Parse(e.agent)
	if err != nil {
		return err
	}
	m := agentMembers[slices.IndexFunc(agentMembers, func(m agentMember) bool { return m.key == key })]
	p := jsontape.NewPatch(t)
	in := jsontape.Node(0)
	for _, step := range m.path[:len(m.path)-1] {
		if in = t.Find(in, step); t.Kind(in) != jsontape.Object {
			return unmapped("/"+key, "agent.json has no %s that it could be put into", step)
		}
	}
	if n := t.Find(in, m.path[len(m.path)-1]); n >= 0 {
		p.Set(n, splice.Merge(t, n, from, value))
	} else {
		p.Put(in, m.path[len(m.path)-1], from.Raw(value))
	}
	e.setAgent(p.Bytes())
	return nil
}

// setAgent takes another agent.json.
func (m *mover) setAgent(data []byte) {
	m.agent, m.version, m.unchanged = data, journal.Version{}, false
}

// check looks at what was edited with the SDK's eyes.
func (e *editing) check(ctx context.Context) error {
	l := e.becomes()
	for _, key := range e.members {
		var path string
		for _, m := range agentMembers {
			if m.key == key {
				path = "/" + strings.Join(m.path, "/")
			}
		}
		var faults store.FaultList
		parseAgent("agent.json", e.agent, l.running, &faults)
		for _, f := range faults.All() {
			if f.Severity == model.Stops && f.Code != FaultManager && (f.Path == path || strings.HasPrefix(f.Path, path+"/")) {
				return unmapped("/"+key+strings.TrimPrefix(f.Path, path), "%s: the SDK %s", f.Meaning, f.Verdict)
			}
		}
	}
	err := l.walk(ctx, func(s *step) error {
		k := slices.IndexFunc(e.changed, func(k int) bool { return !e.parts[k].summary && e.parts[k].file == s.i })
		if k < 0 {
			return nil
		}
		for _, f := range s.msg.flaws {
			if severity, verdict := l.sdk().Judge(f.judged(s.stand)); severity == model.Stops {
				return unmapped(fmt.Sprintf("/messages/%d", e.changed[k])+strings.TrimPrefix(f.path, s.msg.location), "%s: the SDK %s", f.meaning, verdict)
			}
		}
		return nil
	})
	return err
}

// mended returns the repairs that the SDK makes in memory when it loads the log.
func (m *mover) mended(ctx context.Context) (map[string]model.Fault, error) {
	l := m.becomes()
	in := newInspector(l)
	list := map[string]model.Fault{}
	err := l.walk(ctx, func(s *step) error {
		if !l.evicted(s.i) {
			in.see(s)
		}
		return nil
	})
	for _, f := range in.faults() {
		if pairing[f.Code] {
			list[f.Code+" "+f.File+f.Path] = f
		}
	}
	return list, err
}
