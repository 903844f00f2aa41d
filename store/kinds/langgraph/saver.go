package langgraph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/engine/rows"
	"hindcast/store/media/sqlitefile"
)

// A thread of `langgraph dev` goes into the tables of SqliteSaver with its namespaces, from where a graph that is compiled with
// the saver goes on:
//
//	checkpoints   a checkpoint with the values of its channels in it, which the server has beside it; metadata as JSON
//	writes        as they are
//
// A value that is stored as MessagePack goes over byte for byte. The saver loads a row whole or not at all, and no pickle: what
// it would fail on stays behind, and is counted.

// saverTables are the tables as langgraph-checkpoint-sqlite 3.1 makes them. An older one ignores task_path.
const saverTables = `CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT,
	type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '',
	idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));`

// makeSaver makes an empty database of SqliteSaver. The error is fs.ErrExist if something is at the path.
func makeSaver(ctx context.Context, path string) error {
	return sqlitefile.CreateFile(ctx, path, saverTables, "")
}

// mostTaken bounds the bytes of the checkpoints and writes that one plan takes: they are held in memory.
const mostTaken = 256 << 20

// Reasons why something stays behind.
const (
	leftDamaged = "damaged"
	leftLone    = "of no checkpoint that goes over"
	leftUnnamed = "that no checkpoint names"
)

// leftOver counts what stays behind for a reason.
type leftOver struct {
	why                         string
	checkpoints, values, writes int
}

// taking gathers the rows that a saver takes.
type taking struct {
	steps                       []rows.Step
	size                        int
	spaces, checkpoints, writes int
	values                      int
	// bare counts the checkpoints whose metadata are damaged: the saver gets {} for them.
	bare int
	left []*leftOver
	head model.Point // of the thread that was taken last
}

// leave returns the counts of a reason.
func (k *taking) leave(why string) *leftOver {
	for _, l := range k.left {
		if l.why == why {
			return l
		}
	}
	l := &leftOver{why: why}
	k.left = append(k.left, l)
	return l
}

// listLeft counts what stays behind, a text for each reason.
func (k *taking) listLeft() (lines []string) {
	for _, l := range k.left {
		var counts []string
		for i, n := range []int{l.checkpoints, l.values, l.writes} {
			if n > 0 {
				counts = append(counts, model.Count(n, [...]string{"checkpoint", "value", "write"}[i]))
			}
		}
		lines = append(lines, strings.Join(counts, ", ")+" "+l.why)
	}
	return lines
}

func (k *taking) addRow(table string, row rows.Row, size int) error {
	k.steps = append(k.steps, rows.Step{Table: table, After: row})
	if k.size += size; k.size > mostTaken {
		return refuseTake("the saver keeps each state whole, and the rows would have more than %d MB: convert thread by thread, each with a SESSION", mostTaken>>20)
	}
	return nil
}

// refuseTake returns the error that says why threads do not go over.
func refuseTake(why string, args ...any) error {
	return &model.UnsupportedError{Op: model.OpConvert, Reason: fmt.Sprintf(why, args...)}
}

// Take implements rows.Taker.
func (f inFile) Take(ctx context.Context, t, from rows.Tx, at *rows.Place, as string) (*rows.Move, error) {
	beside, err := from.Columns(ctx, "checkpoint_blobs")
	if err != nil {
		return nil, err
	}
	written, err := from.Columns(ctx, "writes")
	if err != nil {
		return nil, err
	}
	if len(beside) == 0 || len(written) == 0 {
		return nil, refuseTake("only the files of langgraph dev become a database of SqliteSaver: a file that is one is copied as it is, and PostgresSaver's threads stay there")
	}
	var threads []string
	if at == nil {
		err = from.Each(ctx, func(scan func(...any) error) error {
			var thread string
			err := scan(&thread)
			threads = append(threads, thread)
			return err
		}, "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY max(checkpoint_id) DESC")
	} else if threads = []string{at.Key[0].(string)}; at.Key[1] != "" {
		err = refuseTake("a subgraph goes over with the thread that calls it: convert the thread %q", at.Key[0])
	}
	if err != nil {
		return nil, err
	}
	into, err := t.Columns(ctx, "writes")
	if err != nil {
		return nil, err
	}
	k := &taking{}
	m := &rows.Move{}
	for _, thread := range threads {
		name := thread
		if at != nil && as != "" {
			name = as
		}
		var taken int
		err := t.Row(ctx, "SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = ?1) + (SELECT count(*) FROM writes WHERE thread_id = ?1)", name).Scan(&taken)
		if err == nil && taken > 0 {
			err = fmt.Errorf("thread %.80q: %w", name, store.ErrSessionExists)
		}
		first := len(k.steps)
		if err == nil {
			err = k.takeThread(ctx, from, thread, name, into["task_path"])
		}
		if err != nil {
			return nil, err
		}
		switch {
		case len(k.steps) == first:
		case m.New == nil:
			place := rows.Place{ID: name, Key: []any{name, ""}}
			if space := k.steps[first].After.Text("checkpoint_ns"); space != "" { // no checkpoint of the thread itself went over
				place = rows.Place{ID: name + "/" + space, Key: []any{name, space}}
			}
			m.New, m.Target = &place, k.head
		default:
			m.Others = append(m.Others, name)
		}
	}
	left := k.listLeft()
	if m.New == nil {
		if len(left) == 0 {
			return nil, refuseTake("there are no checkpoints")
		}
		return nil, refuseTake("nothing goes over: %s", strings.Join(left, "; "))
	}
	if m.Steps = k.steps; len(left) > 0 {
		m.Hazards = []string{"a graph goes on without what stays behind"}
	}
	m.Carries = append(m.Carries, fmt.Sprintf("%s: %s in %s, %s, %s", model.Count(1+len(m.Others), "thread"), model.Count(k.checkpoints, "checkpoint"),
		model.Count(k.spaces, "namespace"), model.Count(k.values, "value"), model.Count(k.writes, "write")))
	if k.bare > 0 {
		m.Carries = append(m.Carries, "of "+model.Count(k.bare, "checkpoint")+" the metadata are damaged, and go over as {}")
	}
	for _, text := range left {
		m.Carries = append(m.Carries, "stays behind: "+text)
	}
	m.Carries = append(m.Carries, "stays behind: names, runs, assistants and the store of the server, which are not read")
	return m, nil
}

// takeThread adds the rows of a thread under a name.
func (k *taking) takeThread(ctx context.Context, from rows.Tx, thread, as string, paths bool) error {
	type key struct{ namespace, channel, version string }
	checkpoints, err := rows.Rows(ctx, from, "checkpoints", " WHERE thread_id = ? ORDER BY checkpoint_ns, checkpoint_id", thread)
	if err != nil {
		return err
	}
	stored, err := rows.Rows(ctx, from, "checkpoint_blobs", " WHERE thread_id = ?", thread)
	if err != nil {
		return err
	}
	writes, err := rows.Rows(ctx, from, "writes", " WHERE thread_id = ? ORDER BY rowid", thread)
	if err != nil {
		return err
	}
	blobs := map[key]*beside{}
	for _, row := range stored {
		blobs[key{row.Text("checkpoint_ns"), row.Text("channel"), row.Text("version")}] = &beside{blob: blob{row.Text("type"), row.Bytes("blob")}}
	}
	over, spaces := map[[2]string]bool{}, map[string]bool{}
	for _, row := range checkpoints {
		space, id, encoding := row.Text("checkpoint_ns"), row.Text("checkpoint_id"), row.Text("type")
		document, damaged := decodeValue(encoding, row.Bytes("checkpoint"))
		why := whyLeft(encoding, damaged)
		if why == "" && encoding != "msgpack" {
			why = fmt.Sprintf("stored as %s instead of MessagePack", encoding)
		}
		if why != "" {
			k.leave(why).checkpoints++
			continue
		}
		var values []byte
		n := 0
		for m := range jsontape.Members(jsontape.FindMember(document, `"channel_versions"`)) {
			channel := jsontape.Unquote(m.Key)
			if b := blobs[key{space, channel, textOf(m.Value)}]; b == nil {
				continue // it has no value
			} else if value := b.within(k); value != nil {
				values = append(msgpack.AppendText(values, channel), value...)
				n++
			}
		}
		whole := withValues(row.Bytes("checkpoint"), n, values)
		if whole == nil {
			k.leave(leftDamaged).checkpoints++
			continue
		}
		about := row.Bytes("metadata")
		if !json.Valid(about) || about[0] != '{' {
			k.bare++
			about = []byte("{}")
		}
		var step origin
		_ = json.Unmarshal(about, &step)
		if space == "" {
			k.head = model.Point{ID: id, Index: max(step.Step+1, 0)}
		}
		if err := k.addRow("checkpoints", row.With("thread_id", as).With("checkpoint", whole).With("metadata", about), len(whole)+len(about)); err != nil {
			return err
		}
		over[[2]string{space, id}], spaces[space] = true, true
		k.checkpoints++
	}
	k.spaces += len(spaces)
	for _, b := range blobs {
		if !b.seen {
			k.leave(leftUnnamed).values++
		}
	}
	for _, row := range writes {
		encoding, value := row.Text("type"), row.Bytes("value")
		_, damaged := decodeValue(encoding, value)
		why := whyLeft(encoding, damaged)
		if !over[[2]string{row.Text("checkpoint_ns"), row.Text("checkpoint_id")}] {
			why = leftLone
		}
		if why != "" {
			k.leave(why).writes++
			continue
		}
		row = row.With("thread_id", as)
		if !paths {
			delete(row, "task_path")
		}
		if err := k.addRow("writes", row, len(value)); err != nil {
			return err
		}
		k.writes++
	}
	return nil
}

// whyLeft returns why a saver does not load what is stored so, "" if it does.
func whyLeft(encoding string, damaged error) string {
	switch {
	case encoding == "pickle":
		return "stored as pickle, which the saver does not load"
	case opaqueEncoding(encoding) != "":
		return fmt.Sprintf("stored as %.40q, which is not read", encoding)
	case damaged != nil:
		return leftDamaged
	}
	return ""
}

// beside is a value that stands beside the checkpoints that have it.
type beside struct {
	blob
	// seen says that a checkpoint has it. inside is the value as it stands in one, nil where it cannot.
	seen   bool
	inside []byte
}

// within returns the value as it stands in a checkpoint, nil where it cannot. It counts the value once.
func (b *beside) within(count *taking) []byte {
	if b.seen {
		return b.inside
	}
	b.seen = true
	_, damaged := decodeValue(b.encoding, b.value)
	why := whyLeft(b.encoding, damaged)
	switch {
	case why != "":
	case b.encoding == "msgpack":
		b.inside = b.value
	case b.encoding == "null":
		b.inside = []byte{0xc0}
	case b.encoding == "json":
		why = "stored as json, which no checkpoint of MessagePack has in it"
	default: // bytes
		b.inside = msgpack.AppendBytes(nil, b.value)
	}
	if why != "" {
		count.leave(why).values++
	} else {
		count.values++
	}
	return b.inside
}

// withValues returns a checkpoint with n values of channels, each behind its name, and all other bytes as they were. It returns nil
// where the checkpoint is none.
func withValues(checkpoint []byte, n int, values []byte) []byte {
	const member = "channel_values"
	var packed []byte
	members := 1
	if !packedMembers(checkpoint, func(key string, value []byte) {
		if key != member {
			packed = append(msgpack.AppendText(packed, key), value...)
			members++
		}
	}) {
		return nil
	}
	return slices.Concat(msgpack.AppendMap(nil, members), packed, msgpack.AppendMap(msgpack.AppendText(nil, member), n), values)
}
