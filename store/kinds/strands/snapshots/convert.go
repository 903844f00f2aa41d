package snapshots

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/media/tree"
)

// A message log of Strands for Python becomes what SnapshotSessionManager of the
// same SDK would have saved, had it been there from the beginning with a trigger:
// a snapshot at the end of every turn, and at every other place from which a
// program can go on without a tool running twice.
//
// What the log does not know is not made up. It has no system prompt, so the
// snapshots have none, and the SDK leaves the program's as it is: null would take
// it away. Of the agent's state and of the model's it has what holds now; each
// snapshot gets the former, as a session that is put back does, and the last one
// alone the latter. What a conversation manager took out of the context is known
// as of now: a snapshot whose state was seen through today's window has today's
// count of removed messages, any other holds the whole log up to there and has
// none.

// logKind is the name of the kind of store that holds message logs.
const logKind = "strands"

// mostConverted bounds the snapshots of a conversion together, in bytes: each
// holds all messages before it.
const mostConverted = 256 << 20

// PlanConvert implements store.Converter. The source is a message log of Strands
// (kind "strands"). as is the name of the session, or SESSION/AGENT; without an
// agent it is that of the log. The errors are a *model.UnsupportedError for any
// other source, and store.ErrSessionExists.
func (s *Store) PlanConvert(ctx context.Context, from store.Store, session, as string) (model.Plan, error) {
	plan, err := s.planConvert(ctx, from, session, as)
	if err != nil {
		return plan, fmt.Errorf("%s: plan convert of session %q as %q: %w", kind, session, as, err)
	}
	return plan, nil
}

func (s *Store) planConvert(ctx context.Context, from store.Store, session, as string) (model.Plan, error) {
	if err := s.storage.Ready(); err != nil {
		return model.Plan{}, err
	}
	switch from.Kind() {
	case logKind:
	case kind:
		return model.Plan{}, &model.UnsupportedError{Op: model.OpConvert, Reason: "these are snapshots of Strands already: fork does it"}
	default:
		return model.Plan{}, &model.UnsupportedError{Op: model.OpConvert, Reason: fmt.Sprintf("only a message log of Strands can become snapshots of Strands: an agent cannot go on from the states of a %s store", from.Kind())}
	}
	c := conversion{ctx: ctx, from: from, session: session}
	if err := c.read(); err != nil {
		return model.Plan{}, err
	}
	to, err := s.destination(as, c.agent())
	if err != nil {
		return model.Plan{}, err
	}
	return s.converted(&c, &to)
}

// conversion is a session of a message log on its way.
type conversion struct {
	ctx     context.Context
	from    store.Store
	session string
	path    []model.Header // the messages on the active path
	left    int            // how many are not on it
	// newest is the last state, and what of it belongs to all.
	newest *jsontape.Tape
	thin   string // says which snapshots are left out, "" for none
}

func (c *conversion) read() error {
	for h, err := range c.from.Headers(c.ctx, c.session) {
		switch {
		case err != nil:
			return err
		case h.Orphaned:
			c.left++
		case h.Marks.Has(model.MarkDamaged):
			return fmt.Errorf("message #%d is damaged: repair the message log first", h.Index)
		default:
			c.path = append(c.path, h)
		}
	}
	if len(c.path) == 0 {
		return errors.New("the message log is empty")
	}
	state, err := c.state(len(c.path) - 1)
	if err != nil {
		return err
	}
	if c.newest, _, err = jsontape.ParseTolerant(state); err != nil {
		return err
	}
	if c.newest.Kind(c.newest.Find(0, "messages")) != jsontape.Array {
		return &model.UnsupportedError{Op: model.OpConvert, Reason: "the record of an orchestrator holds no conversation"}
	}
	return nil
}

func (c *conversion) state(i int) ([]byte, error) {
	return c.from.State(c.ctx, c.path[i].Ref())
}

// agent returns the id of the agent, which the SDK looks for by the name of a folder.
func (c *conversion) agent() string {
	if f := store.FeaturesOf(c.from); f.Facts != nil {
		facts, err := f.Facts(c.ctx, c.path[0].Ref())
		at := slices.IndexFunc(facts, func(f model.Fact) bool { return f.Label == model.FactAgent })
		if err == nil && at >= 0 {
			return facts[at].Value
		}
	}
	return "default"
}

// destination returns the place for a session that is to be: a storage of both SDKs
// has it below session/.
func (s *Store) destination(as, agent string) (to place, err error) {
	session, named, several := strings.Cut(as, "/")
	if several {
		agent = named
	}
	if err := identity(session, python); err != nil {
		return to, err
	}
	if err := identity(agent, python); err != nil {
		return to, fmt.Errorf("the agent: %w", err)
	}
	to = place{id: session, sessionDir: sessionDir{id: session, unified: true}, scope: scopeAgent, agent: agent, way: s.storage.Way}
	switch {
	case s.single != nil && s.single.unified:
		to.dir = path.Join("..", session)
	case s.single != nil:
		to.dir = path.Join("..", namespace, session)
	case s.unified:
		to.dir = session
	default:
		to.dir = path.Join(namespace, session)
	}
	t := s.storage.In().Tree
	if !several {
		return to, vacant(t, &to)
	}
	if tree.IsFolder(t, path.Join(s.storage.Way, to.dir)) {
		to.id = as
	}
	return to, free(t, to.name())
}

// converted plans the snapshots.
func (s *Store) converted(c *conversion, to *place) (model.Plan, error) {
	at := s.in(*to)
	m := &folder.Move{New: &at}
	ids := minter{random: s.random}
	last := len(c.path) - 1
	count, head := 0, latestID
	when := s.storage.Now()
	if t := c.path[0].CreatedAt; !t.IsZero() {
		when = t
	}
	var content []byte
	for _, i := range append(c.choose(), last) {
		if t := c.path[i].CreatedAt; !t.IsZero() {
			when = t
		}
		if head == latestID || i < last { // not the last one again
			var err error
			if content, err = c.snapshot(i, when); err != nil {
				return model.Plan{}, err
			}
		}
		if i == last && (head != latestID || !sound(&c.path[i])) {
			continue
		}
		id, err := ids.mint(when)
		if err != nil {
			return model.Plan{}, err
		}
		m.Steps = append(m.Steps, tree.Step{Name: to.kept("snapshot_" + id + ".json"), Data: content})
		count++
		if i == last {
			head = id
		}
	}
	m.Steps = append(m.Steps, tree.Step{Name: to.kept(latestFile), Data: content})
	d := parsed(content)
	if fatal, _ := faultsOf(s.tree, &s.running, to, &d, python); len(fatal) > 0 {
		return model.Plan{}, &RefusedError{to.file(latestFile), fatal}
	}
	plan := model.Plan{
		Op: model.OpConvert, Session: c.session, NewSession: to.id,
		Target: model.Point{ID: head, Index: max(0, count-1)}, Head: c.path[last].Point(),
		Writes:  []string{fmt.Sprintf("%d snapshots of agent %q, and the latest", count, to.agent), journaled},
		Hazards: c.hazards(),
	}
	return s.storage.PlanNew(c.ctx, plan, m)
}

// sound reports whether a program can go on from a message without a tool running
// twice.
func sound(h *model.Header) bool {
	return h.Event == model.SnapshotEventTurnEnd || h.Event == model.SnapshotEventToolIterationEnd ||
		h.Event == model.SnapshotEventNamed && h.Position == "" && !h.Marks.Has(model.MarkInterrupted)
}

// choose returns the messages that become snapshots: those from which a program can
// go on; where these would be too large together, the ends of turns; and where
// those are too large, the last ones.
func (c *conversion) choose() []int {
	var all, turns []int
	var size, ofTurns int64
	for i := range c.path {
		h := &c.path[i]
		if !sound(h) {
			continue
		}
		all, size = append(all, i), size+h.Size
		if h.Event == model.SnapshotEventTurnEnd {
			turns, ofTurns = append(turns, i), ofTurns+h.Size
		}
	}
	if size <= mostConverted {
		return all
	}
	whole := len(turns)
	for len(turns) > 0 && ofTurns > mostConverted {
		ofTurns -= c.path[turns[0]].Size
		turns = turns[1:]
	}
	c.thin = fmt.Sprintf("all snapshots together would take %d MiB: only the ends of turns get one", size>>20)
	if len(turns) < whole {
		c.thin = fmt.Sprintf("all snapshots together would take %d MiB: only the last %d of %d turns get one", size>>20, len(turns), whole)
	}
	return turns
}

// snapshot returns the file for the log up to a message.
func (c *conversion) snapshot(i int, at time.Time) ([]byte, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	state, err := c.state(i)
	if err != nil {
		return nil, fmt.Errorf("message #%d: %w", c.path[i].Index, err)
	}
	t, _, err := jsontape.ParseTolerant(state)
	if err != nil {
		return nil, fmt.Errorf("message #%d: %w", c.path[i].Index, err)
	}
	messages := t.Find(0, "messages")
	last := i == len(c.path)-1
	out := []byte(`{"scope": "agent", "schema_version": "1.0", "created_at": "` + isoformat(at) + `", "data": {"messages": `)
	out = append(out, t.Raw(messages)...)
	for _, key := range []string{"state", "conversation_manager_state", "interrupt_state", "model_state"} {
		value := c.newest.Find(0, key)
		if value < 0 {
			continue
		}
		raw := c.newest.Raw(value)
		switch {
		case last:
		case key == "conversation_manager_state":
			raw = c.manager(value, t.Count(messages) > i)
		case key == "interrupt_state":
			raw = []byte(`{"interrupts": {}, "context": {}, "activated": false}`)
		case key == "model_state":
			raw = []byte(`{}`)
		}
		out = append(out, `, "`+key+`": `...)
		out = append(out, raw...)
	}
	return append(out, `}, "app_data": {}}`...), nil
}

// manager returns the state of the conversation manager for a snapshot: what it is
// now, or what it was when nothing had been taken out.
func (c *conversion) manager(state jsontape.Node, whole bool) []byte {
	t := c.newest
	p := jsontape.NewPatch(t)
	if !whole {
		return p.Raw(state)
	}
	for key, none := range map[string]string{"removed_message_count": "0", "summary_message": "null", "pinned_head_count": "0"} {
		p.Set(t.Find(state, key), []byte(none))
	}
	return p.Raw(state)
}

// isoformat writes a time as the SDK does: Python leaves the microseconds out
// where there are none.
func isoformat(at time.Time) string {
	at = at.UTC()
	if at.Nanosecond() < 1000 {
		return at.Format("2006-01-02T15:04:05Z")
	}
	return at.Format("2006-01-02T15:04:05.000000Z")
}

// hazards tells what of the log does not become a part of the snapshots.
func (c *conversion) hazards() []string {
	list := []string{"the program then uses SnapshotSessionManager in place of the session manager that wrote the log; what either writes is not seen by the other"}
	if c.thin != "" {
		list = append(list, c.thin)
	}
	if c.left > 0 {
		list = append(list, strconv.Itoa(c.left)+" messages off the active path are not taken along")
	}
	t := c.newest
	if n := t.Find(0, "state"); t.Kind(n) == jsontape.Object && t.Count(n) > 0 {
		list = append(list, "the agent's state is known as of now alone: every snapshot gets that")
	}
	if n := t.Find(t.Find(0, "conversation_manager_state"), "removed_message_count"); n >= 0 && string(t.Raw(n)) != "0" {
		list = append(list, "what the conversation manager had taken out is known as of now alone: snapshots from before that hold all messages")
	}
	if n := t.Find(0, "model_state"); t.Kind(n) == jsontape.Object && t.Count(n) > 0 {
		list = append(list, "the state of the model is known as of now alone: only the last snapshot has it")
	}
	return list
}
