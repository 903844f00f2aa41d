package langgraph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	const first = "(SELECT min(parent_checkpoint_id, checkpoint_id) FROM checkpoints f WHERE f.thread_id = ?1 AND f.checkpoint_ns = ?2 AND f.checkpoint_id = %s)"
	parent := fmt.Sprintf(first, "?3")
	err := addSteps(ctx, t, steps, tooLarge, ofSession+" AND checkpoint_id >= coalesce("+fmt.Sprintf(first, parent)+", "+parent+", '')", key...)
	if err != nil {
		return err
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var c listed
		err := scan(&c.id, &c.parent, &c.encoding, &c.beside, &c.whole, &c.size)
		row(c)
		return err
	}, `SELECT checkpoint_id, ifnull(parent_checkpoint_id, ''), ifnull(type, ''), metadata,
		iif(length(checkpoint) > 65536 OR CAST(metadata AS TEXT) NOT LIKE '%"update"%' AND EXISTS (SELECT 1 FROM writes w WHERE w.thread_id = c.thread_id
			AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.parent_checkpoint_id), NULL, checkpoint),
		ifnull(length(checkpoint), 0) + ifnull(length(metadata), 0) FROM checkpoints c`+ofSession+" AND checkpoint_id >= coalesce("+parent+", '') AND (checkpoint_id >= ?3 OR checkpoint_id = "+parent+") ORDER BY checkpoint_id", key...)
}

// tooLarge is the condition of a write whose value is too large to be read for a title.
const tooLarge = "length(value) > 65536"

// addSteps adds the steps of the writes that a condition fits, by the checkpoints that
// they started from. Values that another condition fits are left out of them.
func addSteps(ctx context.Context, t rows.Tx, steps *steps, left, where string, args ...any) error {
	query, err := stepsQuery(ctx, t, left, where)
	if err != nil {
		return err
	}
	return t.Each(ctx, eachWritten(steps.addWrite), query, args...)
}

// eachWritten returns a function that calls add with each row of stepsQuery.
func eachWritten(add func(id, task, path string, index int, channel string, value []byte)) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var id, task, path, channel, encoding string
		var index int
		var value []byte
		err := scan(&id, &task, &path, &index, &channel, &encoding, &value)
		written, _ := decodeValue(encoding, value) // a value that is damaged is as none
		add(id, task, path, index, channel, written)
		return err
	}
}

// stepsQuery returns the query of addSteps.
func stepsQuery(ctx context.Context, t rows.Tx, left, where string) (query string, err error) {
	var path string // a column that older files do not have
	err = t.Row(ctx, "SELECT iif(count(*), 'task_path', '''''') FROM pragma_table_info('writes') WHERE name = 'task_path'").Scan(&path)
	return "SELECT checkpoint_id, task_id, " + path + ", CAST(idx AS INTEGER), channel, iif(" + left + ", 'null', ifnull(type, '')), iif(" + left + ", NULL, value) FROM writes" +
		where + " ORDER BY checkpoint_id, " + path + ", task_id, idx", err
}

// threadsQuery returns for each thread its number of checkpoints, the newest and what stands beside it. A text has the rest, so
// that each row is visited once: the size of the checkpoints, with a mark where a type is too large to be one, since its row is
// not read, and, where they are not more than a number, each checkpoint with its parent.
const threadsQuery = `SELECT a.thread_id, a.checkpoint_ns, a.n, a.newest, c.metadata,
		(SELECT sum(ifnull(length(checkpoint), 0) + ifnull(length(metadata), 0)) || iif(max(octet_length(type)) > 65536, '!', '')
			|| ifnull(char(30) || group_concat(iif(a.n > ?1, NULL, checkpoint_id || char(31) || ifnull(parent_checkpoint_id, '')), char(30)), '')
			FROM checkpoints e WHERE e.thread_id = a.thread_id AND e.checkpoint_ns = a.checkpoint_ns)
	FROM (SELECT thread_id, checkpoint_ns, count(*) AS n, max(checkpoint_id) AS newest FROM checkpoints GROUP BY thread_id, checkpoint_ns) a
	JOIN checkpoints c ON c.thread_id = a.thread_id AND c.checkpoint_ns = a.checkpoint_ns AND c.checkpoint_id = a.newest`

// mostWalked is the number of checkpoints up to which the branches of a thread are counted for a list, and its title is
// looked for in all writes. Before that it is looked for in the first ones, as many as firstWrites and moreWrites.
const mostWalked, firstWrites, moreWrites = 1 << 10, 8, 64

// listThreads returns the list of a database. It reads no checkpoint, and of the writes those up to the title. It returns nil
// for a database that has other values than texts as names, or rows that are not read: its logs tell more.
func listThreads(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	odd := false
	err = t.Each(ctx, func(scan func(...any) error) error {
		var thread, space, newest any
		var beside []byte
		var rest string
		one := rows.Listed{Info: model.SessionInfo{Orphaned: store.Uncounted}}
		err := scan(&thread, &space, &one.Info.Snapshots, &newest, &beside, &rest)
		size, tree, walked := strings.Cut(rest, "\x1e")
		bytes, partial := strconv.ParseInt(size, 10, 64)
		of, named := thread.(string)
		in, spaced := space.(string)
		id, known := newest.(string)
		one.Info.Size = bytes
		one.Key, odd = []string{of, in}, odd || partial != nil || !named || !spaced || !known
		var about origin
		_ = unmarshalBeside(beside, &about) // the log tells of damage
		one.Info.UpdatedAt, one.Info.Head = model.TimeOfUUID(id), model.Point{ID: id, Index: max(about.Step+1, 0)}
		if walked {
			ok := false
			one.Info.Orphaned, ok = countOrphans(tree, one.Info.Snapshots, id)
			odd = odd || !ok
		}
		list = append(list, one)
		return err
	}, threadsQuery, mostWalked)
	if err != nil || odd {
		return nil, err
	}
	query, err := stepsQuery(ctx, t, tooLarge, ofSession)
	for i := 0; i < len(list) && err == nil; i++ {
		info := &list[i].Info
		for _, most := range []int{firstWrites, moreWrites, math.MaxInt} {
			if most == math.MaxInt && info.Snapshots > mostWalked {
				break
			}
			read := 0
			info.Title, read, err = findOpening(ctx, t, query+" LIMIT "+strconv.Itoa(most), list[i].Key)
			if err != nil || info.Title != "" || read < most {
				break
			}
		}
	}
	return list, err
}

// countOrphans returns how many checkpoints of a thread are off the path. It reports false where the texts are not the
// checkpoints of the thread, the newest last.
func countOrphans(tree string, checkpoints int, newest string) (orphaned int, ok bool) {
	headers := make([]model.Header, 0, checkpoints)
	for one := range strings.SplitSeq(tree, "\x1e") {
		id, parent, whole := strings.Cut(one, "\x1f")
		if !whole || strings.Contains(parent, "\x1f") {
			return 0, false
		}
		headers = append(headers, model.Header{ID: id, ParentID: parent})
	}
	byID := func(a, b model.Header) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(headers, byID)
	if len(headers) != checkpoints || headers[checkpoints-1].ID != newest {
		return 0, false
	}
	model.Settle(headers, model.HeadFacts{Newest: true})
	var info model.SessionInfo
	info.Count(headers)
	return info.Orphaned, true
}

// findOpening returns the first words of the user in the writes of a thread that a query returns, and how many these are.
func findOpening(ctx context.Context, t rows.Tx, query string, key []string) (title string, read int, err error) {
	from, own := "", step{}
	err = t.Each(ctx, eachWritten(func(id, task, path string, index int, channel string, value []byte) {
		if read++; id != from {
			title = cmp.Or(title, own.said.Opening())
			from, own = id, step{}
		}
		own.addWrite(task, path, index, channel, value)
	}), query, key[0], key[1])
	return cmp.Or(title, own.said.Opening()), read, err
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

// countedWrites returns the checkpoints between some ids on which was written what counts, and the arguments of the
// conditions ofSession and BETWEEN.
func countedWrites(ctx context.Context, t rows.Tx, at rows.Place, ids []string) (more map[string]bool, between []any, err error) {
	more = map[string]bool{}
	between = append(slices.Clone(at.Key), slices.Min(ids), slices.Max(ids))
	err = t.Each(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		more[id] = true
		return err
	}, "SELECT checkpoint_id FROM writes"+ofSession+" AND checkpoint_id BETWEEN ? AND ? AND "+counts+" UNION SELECT max(checkpoint_id) FROM checkpoints"+ofSession, append(between, at.Key...)...)
	return more, between, err
}

func (inSQLite) eachStored(ctx context.Context, t rows.Tx, at rows.Place, ids []string, _ store.Loom, row func(*storedCheckpoint)) error {
	more, between, err := countedWrites(ctx, t, at, ids)
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
