package langgraph

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/engine/rows"
)

// The rows that each operation writes, and the rule by which LangGraph reads them:
//
//	restore   one row, a copy of the checkpoint with an id greater than all. It has the
//	          parent of the original: as its child, a channel that keeps changes
//	          would read them twice. Writes hang on the checkpoint that a task started from,
//	          so they belong to the original's future, and are not copied.
//	repair    a restore of the head with the missing results added to its messages, see planRepair.
//	fork      the rows of the ancestors and of the subgraphs that ran from them, with their
//	          writes and another thread_id. The head's writes are the present. An older
//	          checkpoint's writes are the future, except the questions of its tasks: a call
//	          that names the checkpoint runs its whole step.

const (
	// waits is the channel of a question.
	waits = "__interrupt__"

	ofCheckpoint = ofSession + " AND checkpoint_id = ?"
)

// Move implements rows.Mover.
func (f format) Move(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change) (*rows.Move, error) {
	if before.Key[1] != "" {
		return nil, &model.UnsupportedError{Op: change.Op, Reason: fmt.Sprintf("a subgraph goes on with the graph that calls it alone: %s the thread %q instead", change.Op, before.Key[0])}
	}
	if change.Op == model.OpRepair {
		m := &rows.Move{}
		return m, f.planRepair(ctx, t, before, m)
	}
	m := &rows.Move{Move: engine.Move{Target: before.Rows[before.At(change.Ref.ID)].Point()}}
	if change.Op == model.OpFork {
		return m, f.planFork(ctx, t, before, change, m)
	}
	return m, f.planRestore(ctx, t, before, change, m)
}

func (f format) planRestore(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change, m *rows.Move) error {
	if before.At(change.Ref.ID) == len(before.Rows)-1 {
		return nil
	}
	row, err := f.copyOf(ctx, t, before, change.Ref.ID, change.Op)
	if err != nil {
		return err
	}
	m.Steps = []rows.Step{{Table: "checkpoints", After: row}}
	if own := statefulSubgraphs(before); len(own) > 0 {
		m.Hazards = append(m.Hazards, fmt.Sprintf("%s is not put back: a subgraph with checkpointer=True keeps its own state, whatever the thread does", conversation.List(own, conversation.OneLine)))
	}
	return nil
}

// copyOf returns the row of a checkpoint with an id that is greater than all of its thread.
func (f format) copyOf(ctx context.Context, t rows.Tx, before *rows.Session, of string, op model.Op) (rows.Row, error) {
	list, err := rows.Rows(ctx, t, "checkpoints", ofCheckpoint, before.Key[0], before.Key[1], of)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, model.ErrNoSnapshot
	}
	row := list[0]
	refused := func(why string) error {
		return &model.UnsupportedError{Op: op, Reason: why + ": the call on the Resume tab goes on from it with nothing written, and a fork keeps it as it is"}
	}
	id, ok := newID(of, before.Rows[len(before.Rows)-1].ID, before.Now)
	if !ok {
		return nil, refused("LangGraph did not make the ids of the thread, so no new id is sure to be the newest")
	}
	about, err := withMember(row.Bytes("metadata"), "source", `"fork"`)
	if err != nil {
		return nil, refused("what stands beside the checkpoint cannot be read: " + err.Error())
	}
	row, why := f.layout.withCheckpointID(row.With("checkpoint_id", id).With("metadata", row.As("metadata", about)), id)
	if why != "" {
		return nil, refused(why)
	}
	return row, nil
}

// statefulSubgraphs returns the subgraphs of a thread that keep their state from call to call.
func statefulSubgraphs(of *rows.Session) (names []string) {
	for _, at := range of.Others {
		// One of each call has the id of its task in its name.
		namespace := at.Key[1].(string)
		if at.Key[0] == of.Key[0] && namespace != "" && !strings.Contains(namespace, ":") {
			names = append(names, namespace)
		}
	}
	return names
}

// newID returns a UUID of version 6 as LangGraph makes them: now, or right after newest if that is later. Its
// clock sequence is the step number of old. ok is false if old or newest is no such UUID.
func newID(old, newest string, now time.Time) (id string, ok bool) {
	if model.TimeOfUUID(old).IsZero() || model.TimeOfUUID(newest).IsZero() || newest[14] != '6' || old[14] != '6' {
		return "", false
	}
	const from1582to1970 = 122_192_928_000_000_000
	at := max(now.UnixNano()/100, model.TimeOfUUID(newest).UnixNano()/100+1) + from1582to1970
	var node [6]byte
	_, _ = rand.Read(node[:]) // it never fails
	id = fmt.Sprintf("%08x-%04x-6%03x-%s-%x", at>>28, at>>12&0xffff, at&0xfff, old[19:23], node)
	return id, id > newest && len(id) == 36
}

// withID returns a checkpoint with another id in it, and all other bytes as they were.
func withID(encoding string, blob []byte, id string) ([]byte, error) {
	if encoding != "msgpack" {
		return withMember(blob, "id", quoteJSON(id))
	}
	begin, end, ok, err := msgpack.Member(blob, "id")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errNoID
	}
	text := append([]byte{0xd9, byte(len(id))}, id...)
	return slices.Concat(blob[:begin], text, blob[end:]), nil
}

var errNoID = errors.New("it has none")

// withMember returns an object of JSON with another value of a member, and all other bytes
// as they were.
func withMember(object []byte, key, value string) ([]byte, error) {
	tape, _, err := jsontape.ParseTolerant(object)
	if err != nil {
		return nil, err
	}
	if tape.Kind(0) != jsontape.Object {
		return nil, errNoID
	}
	patch := jsontape.NewPatch(tape)
	patch.Put(0, key, []byte(value))
	return patch.Bytes(), nil
}

func (f format) planFork(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change, m *rows.Move) error {
	thread := before.Key[0]
	m.New = &rows.Place{ID: change.As, Key: []any{change.As, ""}}
	if change.As == "" || strings.ContainsRune(change.As, 0) {
		return &model.UnsupportedError{Op: change.Op, Reason: "a thread needs a name: name the new one"}
	}
	for _, at := range before.Others {
		if at.Key[0] == change.As { // only its subgraphs are left
			m.New.ID = at.ID
		}
	}
	type key struct{ namespace, id string }
	line := map[string]bool{}
	for at := change.Ref.ID; at != "" && !line[at]; {
		line[at] = true
		i := before.At(at)
		if i < 0 {
			delete(line, at) // it was pruned
			break
		}
		at = before.Rows[i].ParentID
	}
	all, err := rows.Rows(ctx, t, "checkpoints", " WHERE thread_id = ? ORDER BY checkpoint_ns, checkpoint_id", thread)
	if err != nil {
		return err
	}
	table, inOrder := f.layout.writesTable()
	writes, err := rows.Rows(ctx, t, table, " WHERE thread_id = ?"+inOrder, thread)
	if err != nil {
		return err
	}
	keyOf := func(row rows.Row) key { return key{row.Text("checkpoint_ns"), row.Text("checkpoint_id")} }
	waiting := map[key]bool{}
	for _, row := range writes {
		if row.Text("channel") == waits {
			waiting[keyOf(row)] = true
		}
	}
	// hooks are the checkpoints of the thread from which those of subgraphs ran, and asked
	// the last of a subgraph that ran from the chosen one from which a task asked.
	hooks, asked := map[key]string{}, map[string]string{}
	for _, row := range all {
		at := keyOf(row)
		if hooks[at] = at.id; at.namespace == "" {
			continue
		}
		var about metadata
		_ = unmarshalBeside(row.Bytes("metadata"), &about) // one that is damaged hangs on nothing
		if hooks[at] = about.Parents[""]; hooks[at] == change.Ref.ID && waiting[at] {
			asked[at.namespace] = at.id
		}
	}
	// What a subgraph did behind its last question is the future, and all of it where
	// neither it nor another task waits.
	stopped := waiting[key{"", change.Ref.ID}]
	isHead := change.Ref.ID == before.Rows[len(before.Rows)-1].ID
	future := func(at key) bool {
		last, asks := asked[at.namespace]
		return !isHead && at.namespace != "" && hooks[at] == change.Ref.ID && (asks && at.id > last || !stopped)
	}
	copied, tips := map[key]bool{}, map[string]string{}
	var ids []string
	for _, row := range all {
		at := keyOf(row)
		if !line[hooks[at]] || future(at) {
			continue
		}
		copied[at], tips[at.namespace] = true, at.id
		ids = append(ids, at.id)
		m.Steps = append(m.Steps, rows.Step{Table: "checkpoints", After: row.With("thread_id", change.As)})
	}
	tips[""] = change.Ref.ID
	for _, row := range writes {
		at := keyOf(row)
		if !copied[at] || !isHead && tips[at.namespace] == at.id && row.Text("channel") != waits {
			continue
		}
		m.Steps = append(m.Steps, rows.Step{Table: table, After: row.With("thread_id", change.As)})
	}
	more, err := f.layout.copyBlobs(ctx, t, thread, change.As, ids)
	m.Steps = append(m.Steps, more...)
	return err
}

// Next implements rows.Mover.
func (f format) Next(ctx context.Context, t rows.Tx, after *rows.Session, m *rows.Move) (next planning.Next, err error) {
	if len(after.Rows) == 0 {
		next.Loads = "nothing: the thread is gone"
		return next, nil
	}
	head := &after.Rows[len(after.Rows)-1]
	c, own, err := f.layout.readCheckpoint(ctx, t, after.Place, head.ID)
	if err != nil {
		return next, err
	}
	to, at := c.readOnward(&own), head.Index
	if m != nil {
		at = m.Target.Index
	}
	if next.Loads = fmt.Sprintf("the state of #%d", at); opaqueEncoding(c.encoding) == "" {
		next.Loads += "; " + orNothing(conversation.List(to.left, conversation.OneLine)) + " runs next"
	}
	next.Calls = to.resumeCalls(after.Place, "")
	if f.program != nil {
		next.Calls = f.program.resumeCalls(after.Key[0].(string), next.Calls[0].Then, true)
		return next, nil
	}
	if m == nil || m.New != nil || m.Repairs {
		return next, nil
	}
	was, then, err := f.layout.readCheckpoint(ctx, t, after.Place, m.Target.ID)
	if err != nil {
		return next, err
	}
	of := was.readOnward(&then)
	// What needs no write comes first.
	calls := of.resumeCalls(after.Place, m.Target.ID)
	for i := range calls {
		calls[i].Then += ", with nothing written before"
	}
	next.Calls = append(calls, next.Calls...)
	if len(m.Steps) == 0 {
		return next, nil
	}
	switch text := conversation.List(of.asks, func(q asked) string { return q.text }); len(of.asks) {
	case 0:
	case 1:
		next.Hazards = append(next.Hazards, "the question "+text+" does not show until the graph runs, which asks again; Command(resume=…) answers it at once")
	default:
		next.Hazards = append(next.Hazards, "the questions "+text+" do not show until the graph runs, which asks them again under other ids")
	}
	return next, nil
}

func orNothing(nodes string) string {
	if nodes == "" {
		return "nothing"
	}
	return nodes
}

// Hangs implements rows.Mover: writes on a checkpoint that went, its children, and the
// checkpoints of subgraphs that ran from it. Of a thread that went nothing may stay.
func (f format) Hangs(ctx context.Context, t rows.Tx, went []rows.Step) (what string, err error) {
	writes, _ := f.layout.writesTable()
	asked := map[any]bool{}
	for i := range went {
		of, left := went[i].Before["thread_id"], 0
		if asked[of] {
			continue
		}
		asked[of] = true
		err = t.Row(ctx, "SELECT count(*) FROM (SELECT thread_id FROM checkpoints UNION ALL SELECT thread_id FROM "+writes+
			") r WHERE thread_id = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = '')", of).Scan(&left)
		if err != nil || left > 0 {
			return fmt.Sprintf("%d rows came in thread %s", left, model.ShortID(fmt.Sprint(of), 40)), err
		}
	}
	for i := range went {
		s := &went[i]
		if s.Table != "checkpoints" {
			continue
		}
		thread, namespace, id := s.Before["thread_id"], s.Before["checkpoint_ns"], s.Before["checkpoint_id"]
		for _, on := range []struct{ query, what string }{
			{"SELECT count(*) FROM " + writes + " WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND checkpoint_id = ?3", "tasks wrote on checkpoint %s"},
			{"SELECT count(*) FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND parent_checkpoint_id = ?3", "a checkpoint followed %s"},
			{"SELECT count(*) FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns <> ?2 AND " + f.layout.mentionsCondition(), "a subgraph ran from %s"},
		} {
			var n int
			if err := t.Row(ctx, on.query, thread, namespace, id).Scan(&n); err != nil {
				return "", err
			}
			if n > 0 {
				return fmt.Sprintf(on.what, model.ShortID(fmt.Sprint(id), 8)), nil
			}
		}
	}
	return "", nil
}
