package langgraph

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/engine/rows"
)

// inSQLite is the layout of SqliteSaver: a checkpoint is one value, and so is a task's write.
type inSQLite struct{}

func (inSQLite) listCheckpoints(ctx context.Context, t rows.Tx, at rows.Place, from string, steps *steps, row func(listed)) error {
	key := append(slices.Clone(at.Key), from)
	err := addSteps(ctx, t, steps, tooLarge, ofSession+` AND checkpoint_id >= ifnull((SELECT min(parent_checkpoint_id, checkpoint_id) FROM checkpoints c
		WHERE c.thread_id = ?1 AND c.checkpoint_ns = ?2 AND c.checkpoint_id = ?3), '')`, key...)
	if err != nil {
		return err
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var c listed
		err := scan(&c.id, &c.parent, &c.encoding, &c.beside, &c.whole, &c.size)
		row(c)
		return err
	}, `SELECT checkpoint_id, ifnull(parent_checkpoint_id, ''), ifnull(type, ''), metadata,
		iif(length(checkpoint) > 65536 OR EXISTS (SELECT 1 FROM writes w WHERE w.thread_id = c.thread_id
			AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.parent_checkpoint_id), NULL, checkpoint),
		ifnull(length(checkpoint), 0) + ifnull(length(metadata), 0) FROM checkpoints c`+ofSession+" AND checkpoint_id >= ? ORDER BY checkpoint_id", key...)
}

// tooLarge is the condition of a write whose value is too large to be read for a title.
const tooLarge = "length(value) > 65536"

// addSteps adds the steps of the writes that a condition fits, by the checkpoints that
// they started from. Values that another condition fits are left out of them.
func addSteps(ctx context.Context, t rows.Tx, steps *steps, left, where string, args ...any) error {
	var path string // a column that older files do not have
	if err := t.Row(ctx, "SELECT iif(count(*), 'task_path', '''''') FROM pragma_table_info('writes') WHERE name = 'task_path'").Scan(&path); err != nil {
		return err
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var id, task, path, channel, encoding string
		var index int
		var value []byte
		err := scan(&id, &task, &path, &index, &channel, &encoding, &value)
		written, _ := decodeValue(encoding, value) // a value that is damaged is as none
		steps.addWrite(id, task, path, index, channel, written)
		return err
	}, "SELECT checkpoint_id, task_id, "+path+", CAST(idx AS INTEGER), channel, iif("+left+", 'null', ifnull(type, '')), iif("+left+", NULL, value) FROM writes"+
		where+" ORDER BY checkpoint_id, "+path+", task_id, idx", args...)
}

func (inSQLite) readCheckpoint(ctx context.Context, t rows.Tx, at rows.Place, id string) (c checkpoint, own step, err error) {
	key := append(slices.Clone(at.Key), id)
	var beside, whole []byte
	found, err := t.First(ctx, []any{&c.parent, &c.encoding, &beside, &whole, &c.head},
		"SELECT ifnull(parent_checkpoint_id, ''), ifnull(type, ''), metadata, checkpoint,"+isHead+" FROM checkpoints"+ofCheckpoint, key...)
	if err != nil || !found {
		return c, own, cmp.Or(err, model.ErrNoSnapshot)
	}
	_ = unmarshalBeside(beside, &c.about) // the log tells of damage
	if c.document, err = decodeValue(c.encoding, whole); err != nil {
		return c, own, err
	}
	// A question is part of the state, however large it is.
	steps := newSteps()
	err = addSteps(ctx, t, steps, tooLarge+" AND idx <> -3", ofCheckpoint, key...)
	return c, *steps.findStep(id), err
}

// eachAsked is up to how many checkpoints are asked for one by one, and not for all between them.
const eachAsked = 8

// counts is a condition of writes on a checkpoint that are part of its state: those of an input, and questions.
const counts = "(task_id = '" + nullTask + "' OR idx = -3)"

func (inSQLite) eachStored(ctx context.Context, t rows.Tx, at rows.Place, ids []string, _ store.Loom, row func(*storedCheckpoint)) error {
	more := map[string]bool{}
	between := append(slices.Clone(at.Key), slices.Min(ids), slices.Max(ids))
	err := t.Each(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		more[id] = true
		return err
	}, "SELECT checkpoint_id FROM writes"+ofSession+" AND checkpoint_id BETWEEN ? AND ? AND "+counts+" UNION SELECT max(checkpoint_id) FROM checkpoints"+ofSession, append(between, at.Key...)...)
	if err != nil {
		return err
	}
	read := func(scan func(...any) error) error {
		var s storedCheckpoint
		var encoding string
		var whole []byte
		err := scan(&s.id, &encoding, &s.beside, &whole)
		s.more = more[s.id]
		s.unpackWhole(encoding, whole)
		row(&s)
		return err
	}
	const query = "SELECT checkpoint_id, ifnull(type, ''), metadata, checkpoint FROM checkpoints" + ofSession
	if len(ids) > eachAsked {
		return t.Each(ctx, read, query+" AND checkpoint_id BETWEEN ? AND ? ORDER BY checkpoint_id", between...)
	}
	for _, id := range ids {
		if err := t.Each(ctx, read, query+" AND checkpoint_id = ?", append(slices.Clone(at.Key), id)...); err != nil {
			return err
		}
	}
	return nil
}

// unpackWhole reads what a state needs of a checkpoint that is one value.
func (s *storedCheckpoint) unpackWhole(encoding string, whole []byte) {
	each, known := eachMember, false
	switch encoding {
	case "msgpack":
		each = packedMembers
	case "json":
		whole, _ = decodeValue(encoding, whole) // one that is damaged has no members
	default:
		s.more = true
		return
	}
	is := each(whole, func(key string, value []byte) {
		switch key {
		case "v":
			shown, _ := decodeValue(encoding, value)
			s.version, _ = strconv.ParseFloat(string(shown), 64)
		case "channel_values":
			s.more, known = s.more || known || !each(value, func(channel string, value []byte) {
				s.values = append(s.values, storedValue{channel: channel, encoding: encoding, raw: value})
			}), true
		}
	})
	s.more = s.more || !is || !known
}

// packedMembers runs each on the members of a packed map, and reports whether it is one whose keys are texts.
func packedMembers(data []byte, each func(key string, value []byte)) bool {
	at, is, err := msgpack.Members(data)
	if err != nil || !is || at[len(at)-1] != len(data) {
		return false
	}
	for i := 0; i+2 < len(at); i += 2 {
		key, text := msgpack.Text(data[at[i]:at[i+1]])
		if !text {
			return false
		}
		each(key, data[at[i+1]:at[i+2]])
	}
	return true
}

// eachMember is packedMembers of JSON.
func eachMember(data []byte, each func(key string, value []byte)) bool {
	for m, err := range jsontape.Members(data) {
		if err != nil || m.Key == nil {
			return false
		}
		each(jsontape.Unquote(m.Key), m.Value)
	}
	return true
}

func (inSQLite) readStep(ctx context.Context, t rows.Tx, at rows.Place, id string) (step, error) {
	steps := newSteps()
	err := addSteps(ctx, t, steps, tooLarge, ofCheckpoint, append(slices.Clone(at.Key), id)...)
	return *steps.findStep(id), err
}

func (inSQLite) withCheckpointID(row rows.Row, id string) (other rows.Row, refused string) {
	encoding := row.Text("type")
	if opaqueEncoding(encoding) != "" {
		return nil, "the checkpoint is stored as " + encoding + ", and its id, which must be another, is inside"
	}
	blob, err := withID(encoding, row.Bytes("checkpoint"), id)
	if err != nil {
		return nil, "its id cannot be found in the checkpoint: " + err.Error()
	}
	return row.With("checkpoint", row.As("checkpoint", blob)), ""
}

func (inSQLite) withValue(_ context.Context, _ rows.Tx, row rows.Row, channel string, edit func(encoding string, value []byte) ([]byte, error)) (other rows.Row, more []rows.Step, refused string, err error) {
	encoding, blob := row.Text("type"), row.Bytes("checkpoint")
	if encoding != "msgpack" {
		values := jsontape.FindMember(blob, `"channel_values"`)
		value, err := edit(encoding, jsontape.FindMember(values, quoteJSON(channel)))
		if err == nil {
			values, err = withMember(values, channel, string(value))
		}
		if err == nil {
			blob, err = withMember(blob, "channel_values", string(values))
		}
		if err != nil {
			return nil, nil, err.Error(), nil
		}
		return row.With("checkpoint", row.As("checkpoint", blob)), nil, "", nil
	}
	from, to := 0, len(blob)
	for _, key := range []string{"channel_values", channel} {
		begin, end, ok, err := msgpack.Member(blob[from:to], key)
		if err != nil || !ok {
			return nil, nil, "the checkpoint has no value of " + channel, nil
		}
		from, to = from+begin, from+end
	}
	value, err := edit(encoding, blob[from:to])
	if err != nil {
		return nil, nil, err.Error(), nil
	}
	return row.With("checkpoint", row.As("checkpoint", slices.Concat(blob[:from], value, blob[to:]))), nil, "", nil
}

func (inSQLite) writesTable() (table, inOrder string) { return "writes", " ORDER BY rowid" }

// behind: a checkpoint refers to nothing.
func (inSQLite) copyBlobs(context.Context, rows.Tx, any, string, []string) ([]rows.Step, error) {
	return nil, nil
}

func (inSQLite) mentionsCondition() string { return "instr(metadata, ?3) > 0" }

func (inSQLite) eachWrite(ctx context.Context, t rows.Tx, at rows.Place, id, channel string, add func(task, encoding string, value []byte)) error {
	has, err := t.Columns(ctx, "writes")
	if err != nil {
		return err
	}
	order := "task_id, idx"
	if has["task_path"] {
		order = "task_path, " + order
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var task, encoding string
		var value []byte
		err := scan(&task, &encoding, &value)
		add(task, encoding, value)
		return err
	}, "SELECT task_id, ifnull(type, ''), value FROM writes"+ofCheckpoint+" AND channel = ? ORDER BY "+order, append(slices.Clone(at.Key), id, channel)...)
}

func (inSQLite) findAncestor(ctx context.Context, t rows.Tx, at rows.Place, id string, channels []string) (parent string, values map[string][]byte, found bool, err error) {
	var encoding string
	var whole []byte
	found, err = t.First(ctx, []any{&parent, &encoding, &whole}, "SELECT ifnull(parent_checkpoint_id, ''), ifnull(type, ''), checkpoint FROM checkpoints"+ofCheckpoint, append(slices.Clone(at.Key), id)...)
	values = map[string][]byte{}
	for _, channel := range channels {
		if value := keptValue(encoding, whole, channel); found && value != nil {
			values[channel] = value
		}
	}
	return parent, values, found, err
}
