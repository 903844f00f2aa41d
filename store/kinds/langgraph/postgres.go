package langgraph

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/rows"
)

// inPostgres is the layout of PostgresSaver:
//
//	checkpoints         the checkpoint as JSON. Its channel_values are null, texts, numbers and truths alone
//	checkpoint_blobs    all other values, by channel and version: checkpoints share those that stay
//	checkpoint_writes   what a task wrote
//
// A list reads no value of checkpoint_blobs. What a step wrote titles its snapshot, so that is read
// for the newest ones, and the first, and only values that are small.
type inPostgres struct{}

const (
	// mostTitled is the number of newest checkpoints, and of newest sessions, that get a title from their
	// messages.
	mostTitled = "1000"
	small      = "octet_length(blob) <= 65536"
)

// valuesOf is a query of the values that a checkpoint refers to.
const valuesOf = `SELECT b.channel, b.type, b.blob FROM checkpoints c, jsonb_each_text(c.checkpoint->'channel_versions') v, checkpoint_blobs b
			WHERE c.thread_id = ?1 AND c.checkpoint_ns = ?2 AND c.checkpoint_id = ?3
			AND b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns AND b.channel = v.key AND b.version = v.value AND b.type <> 'empty'`

// writesQuery returns a query of the writes that a condition fits, in the order of their steps. blob says which
// values come along. A task_path that the table does not have yet is the one around it.
func writesQuery(blob, where string) string {
	return "SELECT w.* FROM (SELECT ''::text AS task_path) older, LATERAL (SELECT checkpoint_id, task_id, task_path, idx, channel, type, CASE WHEN " + blob +
		" THEN blob END AS blob FROM checkpoint_writes" + where + ") w ORDER BY checkpoint_id, task_path, task_id, idx"
}

// scanSteps returns a function that scans writes into steps.
func scanSteps(steps *steps) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var id, task, path, channel string
		var encoding *string
		var index int
		var value []byte
		err := scan(&id, &task, &path, &index, &channel, &encoding, &value)
		var written []byte
		if encoding != nil && (value != nil || *encoding == "null") {
			written, _ = decodeValue(*encoding, value) // a value that is damaged is as none
		}
		steps.addWrite(id, task, path, index, channel, written)
		return err
	}
}

// inOrder makes the server read rows from an index in the order that a query asks for. For a session with most
// of the table's rows, it would otherwise read the whole table and sort it on disk. The setting ends with the
// transaction.
const inOrder = "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)"

func (inPostgres) listCheckpoints(ctx context.Context, t rows.Tx, at rows.Place, from string, steps *steps, row func(listed)) error {
	const checkpoint = "(SELECT %s FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2 %s)"
	newest := fmt.Sprintf(checkpoint, "checkpoint_id", "ORDER BY checkpoint_id DESC LIMIT 1 OFFSET "+mostTitled)
	first := fmt.Sprintf(checkpoint, "min(checkpoint_id)", "")
	parent := fmt.Sprintf(checkpoint, "parent_checkpoint_id", "AND checkpoint_id = ?3")
	before := fmt.Sprintf(checkpoint, "parent_checkpoint_id", "AND checkpoint_id = "+parent)
	key := append(slices.Clone(at.Key), from)
	return t.Ask(ctx,
		rows.Query{SQL: inOrder},
		rows.Query{Args: key, Row: scanSteps(steps), SQL: writesQuery(small+" AND (checkpoint_id >= coalesce("+newest+", '') OR checkpoint_id = "+first+")",
			" WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND (checkpoint_id >= ?3 OR checkpoint_id = "+parent+" OR checkpoint_id = "+before+")")},
		rows.Query{Args: key, SQL: "SELECT checkpoint_id, coalesce(parent_checkpoint_id, ''), metadata, checkpoint->'updated_channels'," +
			" CASE WHEN metadata->>'source' = 'update' THEN checkpoint->'channel_versions' END FROM checkpoints" +
			" WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND (checkpoint_id >= ?3 OR checkpoint_id = " + parent + ") ORDER BY checkpoint_id", Row: func(scan func(...any) error) error {
			var c listed
			err := scan(&c.id, &c.parent, &c.beside, &c.updated, &c.versions)
			row(c)
			return err
		}})
}

func (inPostgres) readCheckpoint(ctx context.Context, t rows.Tx, at rows.Place, id string) (c checkpoint, own step, err error) {
	key := append(slices.Clone(at.Key), id)
	var beside, whole []byte
	blobs, steps := map[string]blob{}, newSteps()
	err = t.Ask(ctx,
		rows.Query{SQL: "SELECT coalesce(parent_checkpoint_id, ''), metadata, checkpoint," + isHead + " FROM checkpoints" + ofCheckpoint, Args: key,
			Row: func(scan func(...any) error) error { return scan(&c.parent, &beside, &whole, &c.head) }},
		rows.Query{SQL: valuesOf, Args: key,
			Row: func(scan func(...any) error) error {
				var channel string
				var b blob
				err := scan(&channel, &b.encoding, &b.value)
				blobs[channel] = b
				return err
			}},
		rows.Query{SQL: writesQuery("("+small+" OR idx = -3)", ofCheckpoint), Args: key, Row: scanSteps(steps)}) // a question is part of the state
	switch {
	case err != nil:
		return c, own, err
	case whole == nil:
		return c, own, model.ErrNoSnapshot
	}
	_ = json.Unmarshal(beside, &c.about) // the log tells of damage
	c.document, c.encoding, err = joinValues(whole, blobs)
	return c, *steps.findStep(id), err
}

// blob is a value beside its checkpoint.
type blob struct {
	encoding string
	value    []byte
}

// joinValues returns a checkpoint as JSON with the values that stand beside it, by their channels. sealed is the encoding of
// values that are not read.
func joinValues(whole []byte, blobs map[string]blob) (document []byte, sealed string, err error) {
	var members []string
	eachChannel(whole, func(channel, _ string) bool { _, ok := blobs[channel]; return ok }, func(name []byte, _ string, inline []byte) {
		if b := blobs[jsontape.Unquote(name)]; inline == nil {
			value, failed := decodeValue(b.encoding, b.value)
			err = cmp.Or(err, failed)
			sealed = cmp.Or(sealed, opaqueEncoding(b.encoding))
			inline = value
		}
		members = append(members, string(name)+":"+string(inline))
	})
	if err != nil {
		return nil, sealed, err
	}
	document, err = withMember(whole, "channel_values", "{"+strings.Join(members, ",")+"}")
	return document, sealed, err
}

// eachChannel runs each on the channels of a checkpoint in the order of their versions: PostgreSQL keeps no other. Of a
// value that is beside it inline is nil.
func eachChannel(whole []byte, beside func(channel, version string) bool, each func(name []byte, version string, inline []byte)) {
	values := jsontape.FindMember(whole, `"channel_values"`)
	inline := map[string][]byte{}
	for m := range jsontape.Members(values) {
		inline[string(m.Key)] = m.Value
	}
	for m := range jsontape.Members(jsontape.FindMember(whole, `"channel_versions"`)) {
		version := string(m.Value)
		if m.Value[0] == '"' {
			version = jsontape.Unquote(m.Value)
		}
		value := inline[string(m.Key)]
		if beside(jsontape.Unquote(m.Key), version) {
			each(m.Key, version, nil)
		} else if value != nil {
			each(m.Key, version, value)
		}
		delete(inline, string(m.Key))
	}
	for m := range jsontape.Members(values) {
		if inline[string(m.Key)] != nil {
			each(m.Key, "", m.Value)
		}
	}
}

// besides holds the values that stand beside their checkpoints, by channel and version. more has the checkpoints on which
// was written what counts.
type besides struct {
	to     store.Loom
	more   map[string]bool
	values map[[2]string]*woven
}

// addValue weaves a value.
func (b *besides) addValue(channel, version, encoding string, value []byte) {
	if encoding == "json" {
		value, _ = decodeValue(encoding, value) // of one that is damaged nothing is woven
	}
	is := woven{}
	if !isPlumbing(channel) {
		is = weaveValue(b.to, encoding, value)
	}
	b.values[[2]string{channel, version}] = &is
}

// joinCheckpoint returns a checkpoint, which is JSON, with the values of its channels.
func (b *besides) joinCheckpoint(id string, beside, whole []byte) *storedCheckpoint {
	s := &storedCheckpoint{id: id, beside: beside, more: b.more[id]}
	s.version, _ = strconv.ParseFloat(string(jsontape.FindMember(whole, `"v"`)), 64)
	eachChannel(whole, func(channel, version string) bool { return b.values[[2]string{channel, version}] != nil }, func(name []byte, version string, inline []byte) {
		v := storedValue{channel: jsontape.Unquote(name), encoding: "json", raw: inline}
		if inline == nil {
			v.woven = b.values[[2]string{v.channel, version}]
		}
		s.values = append(s.values, v)
	})
	return s
}

// eachStored reads each value once, however many checkpoints share it.
func (inPostgres) eachStored(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom, row func(*storedCheckpoint)) error {
	const thread = " WHERE thread_id = ?1 AND checkpoint_ns = ?2"
	where, key := thread+" AND checkpoint_id BETWEEN ?3 AND ?4", append(slices.Clone(at.Key), slices.Min(ids), slices.Max(ids))
	if len(ids) <= eachAsked {
		where, key = thread+" AND checkpoint_id = ANY (?3)", append(slices.Clone(at.Key), ids)
	}
	stored := besides{to: to, more: map[string]bool{}, values: map[[2]string]*woven{}}
	note := func(scan func(...any) error) error {
		var id *string
		if err := scan(&id); err != nil || id == nil {
			return err
		}
		stored.more[*id] = true
		return nil
	}
	value := func(scan func(...any) error) error {
		var channel, version, encoding string
		var value []byte
		err := scan(&channel, &version, &encoding, &value)
		stored.addValue(channel, version, encoding, value)
		return err
	}
	checkpoint := func(scan func(...any) error) error {
		var id string
		var beside, whole []byte
		err := scan(&id, &beside, &whole)
		s := stored.joinCheckpoint(id, beside, whole)
		s.more = s.more || jsontape.FindMember(whole, `"channel_values"`) == nil
		row(s)
		return err
	}
	return t.Ask(ctx,
		rows.Query{SQL: inOrder},
		rows.Query{Row: note, SQL: "SELECT DISTINCT checkpoint_id FROM checkpoint_writes" + where + " AND " + counts, Args: key},
		rows.Query{Row: note, SQL: "SELECT max(checkpoint_id) FROM checkpoints" + thread, Args: at.Key},
		rows.Query{Row: value, SQL: "SELECT channel, version, type, blob FROM checkpoint_blobs" + thread + " AND type <> 'empty' AND (channel, version) IN " +
			"(SELECT v.key, v.value FROM (SELECT checkpoint FROM checkpoints" + where + ") c, jsonb_each_text(c.checkpoint->'channel_versions') v) ORDER BY channel, version", Args: key},
		rows.Query{Row: checkpoint, SQL: "SELECT checkpoint_id, metadata, checkpoint FROM checkpoints" + where + " ORDER BY checkpoint_id", Args: key})
}

func (inPostgres) readStep(ctx context.Context, t rows.Tx, at rows.Place, id string) (step, error) {
	steps := newSteps()
	err := t.Each(ctx, scanSteps(steps), writesQuery(small, ofCheckpoint), append(slices.Clone(at.Key), id)...)
	return *steps.findStep(id), err
}

// renamed: the id is in plain JSON, also where values are encrypted.
func (inPostgres) withCheckpointID(row rows.Row, id string) (other rows.Row, refused string) {
	whole, err := withMember(row.Bytes("checkpoint"), "id", quoteJSON(id))
	if err != nil {
		return nil, "its id cannot be found in the checkpoint: " + err.Error()
	}
	return row.With("checkpoint", row.As("checkpoint", whole)), ""
}

// withValue adds a row of checkpoint_blobs: checkpoints share those that are there.
func (inPostgres) withValue(ctx context.Context, t rows.Tx, row rows.Row, channel string, edit func(encoding string, value []byte) ([]byte, error)) (other rows.Row, more []rows.Step, refused string, err error) {
	whole := row.Bytes("checkpoint")
	versions := jsontape.FindMember(whole, `"channel_versions"`)
	version := jsontape.Unquote(jsontape.FindMember(versions, quoteJSON(channel)))
	list, err := rows.Rows(ctx, t, "checkpoint_blobs", " WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND channel = ?3 AND version = ?4", row["thread_id"], row["checkpoint_ns"], channel, version)
	if err != nil {
		return nil, nil, "", err
	}
	newest, ok := nextVersion(versions)
	if len(list) == 0 || !ok {
		return nil, nil, "the checkpoint has no value of " + channel + " in checkpoint_blobs", nil
	}
	value, err := edit(list[0].Text("type"), list[0].Bytes("blob"))
	if err == nil {
		versions, err = withMember(versions, channel, quoteJSON(newest))
	}
	if err == nil {
		whole, err = withMember(whole, "channel_versions", string(versions))
	}
	if err != nil {
		return nil, nil, err.Error(), nil
	}
	blob := list[0].With("version", newest).With("blob", value)
	return row.With("checkpoint", row.As("checkpoint", whole)), []rows.Step{{Table: "checkpoint_blobs", After: blob}}, "", nil
}

// nextVersion returns a version that is greater than all of a checkpoint, as BaseCheckpointSaver.get_next_version makes
// them: 32 digits that count, a point, and a random number. It reports false where they are others.
func nextVersion(versions []byte) (version string, ok bool) {
	newest := 0
	for m := range jsontape.Members(versions) {
		count, _, _ := strings.Cut(jsontape.Unquote(m.Value), ".")
		n, err := strconv.Atoi(count)
		if err != nil || len(count) != 32 {
			return "", false
		}
		newest = max(newest, n)
	}
	return fmt.Sprintf("%032d.%016.13f", newest+1, rand.Float64()), newest > 0
}

func (inPostgres) eachWrite(ctx context.Context, t rows.Tx, at rows.Place, id, channel string, add func(task, encoding string, value []byte)) error {
	return t.Each(ctx, func(scan func(...any) error) error {
		var task string
		var encoding *string
		var value []byte
		err := scan(&task, &encoding, &value)
		if encoding != nil {
			add(task, *encoding, value)
		}
		return err
	}, "SELECT task_id, type, blob FROM ("+writesQuery("true", ofCheckpoint+" AND channel = ?")+") w", append(slices.Clone(at.Key), id, channel)...)
}

func (inPostgres) findAncestor(ctx context.Context, t rows.Tx, at rows.Place, id string, channels []string) (parent string, values map[string][]byte, found bool, err error) {
	key := append(slices.Clone(at.Key), id)
	values = map[string][]byte{}
	err = t.Ask(ctx,
		rows.Query{SQL: "SELECT coalesce(parent_checkpoint_id, ''), checkpoint->'channel_values' FROM checkpoints" + ofCheckpoint, Args: key, Row: func(scan func(...any) error) error {
			found = true
			var inline []byte
			err := scan(&parent, &inline)
			for _, channel := range channels {
				if value := jsontape.FindMember(inline, quoteJSON(channel)); value != nil {
					values[channel] = value
				}
			}
			return err
		}},
		rows.Query{SQL: valuesOf + " AND b.channel = ANY (?4)", Args: append(key, channels), Row: func(scan func(...any) error) error {
			var channel, encoding string
			var value []byte
			if err := scan(&channel, &encoding, &value); err != nil {
				return err
			}
			shown, err := decodeValue(encoding, value)
			if err == nil { // one that is damaged is as none
				values[channel] = shown
			}
			return nil
		}})
	return parent, values, found, err
}

func (inPostgres) writesTable() (table, inOrder string) { return "checkpoint_writes", "" }

func (inPostgres) copyBlobs(ctx context.Context, t rows.Tx, thread any, as string, copied []string) (steps []rows.Step, err error) {
	list, err := rows.Rows(ctx, t, "checkpoint_blobs", ` WHERE thread_id = ?1 AND (checkpoint_ns, channel, version) IN (SELECT c.checkpoint_ns, v.key, v.value
		FROM checkpoints c, jsonb_each_text(c.checkpoint->'channel_versions') v WHERE c.thread_id = ?1 AND c.checkpoint_id = ANY (string_to_array(?2, ' ')))`, thread, strings.Join(copied, " "))
	for _, row := range list {
		steps = append(steps, rows.Step{Table: "checkpoint_blobs", After: row.With("thread_id", as)})
	}
	return steps, err
}

func (inPostgres) mentionsCondition() string { return "position(?3 IN metadata::text) > 0" }

// lister is the format of a database, which lists sessions from index to index.
type lister struct{ format }

// Faults implements rows.Doctor: what values are stored as is beside them.
func (lister) Faults(ctx context.Context, t rows.Tx, at rows.Place) (faults []model.Fault, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var encoding string
		err := scan(&encoding)
		if sealed := opaqueEncoding(encoding); sealed != "" {
			faults = append(faults, rows.Opaque(at.ID, sealed, kind.Framework))
		}
		return err
	}, "SELECT DISTINCT type FROM checkpoint_blobs"+ofSession+" AND type <> 'empty'", at.Key...)
	return faults, err
}

// List implements rows.Lister. What a session began with is read where it is small, of the newest ones.
func (lister) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	const (
		next     = " SELECT thread_id, checkpoint_ns FROM checkpoints "
		sessions = "WITH RECURSIVE s AS ((" + next + "ORDER BY thread_id, checkpoint_ns LIMIT 1) UNION ALL SELECT n.* FROM s, LATERAL (" + next +
			"WHERE (thread_id, checkpoint_ns) > (s.thread_id, s.checkpoint_ns) ORDER BY thread_id, checkpoint_ns LIMIT 1) n)"
		edge = "LATERAL (SELECT checkpoint_id, metadata FROM checkpoints c WHERE c.thread_id = s.thread_id AND c.checkpoint_ns = s.checkpoint_ns ORDER BY checkpoint_id "
	)
	type key [2]string
	began := map[key]step{}
	err = t.Ask(ctx,
		rows.Query{SQL: sessions + ", newest AS (SELECT s.* FROM s, " + edge + "DESC LIMIT 1) e ORDER BY e.checkpoint_id DESC LIMIT " + mostTitled + `)
			SELECT w.thread_id, w.checkpoint_ns, w.channel, w.type, w.blob FROM newest s, ` + edge + `LIMIT 1) e, checkpoint_writes w
			WHERE w.thread_id = s.thread_id AND w.checkpoint_ns = s.checkpoint_ns AND w.checkpoint_id = e.checkpoint_id AND idx >= 0 AND octet_length(w.blob) <= 2000
			ORDER BY w.thread_id, w.checkpoint_ns, w.task_id, w.idx`,
			Row: func(scan func(...any) error) error {
				var at key
				var channel string
				var encoding *string
				var value []byte
				err := scan(&at[0], &at[1], &channel, &encoding, &value)
				s := began[at]
				if encoding != nil {
					written, _ := decodeValue(*encoding, value) // a value that is damaged is as none
					s.addWrite("", "", 0, channel, written)
				}
				began[at] = s
				return err
			}},
		rows.Query{SQL: sessions + " SELECT s.*, e.* FROM s, " + edge + "DESC LIMIT 1) e",
			Row: func(scan func(...any) error) error {
				one := rows.Listed{Key: make([]string, 2), Info: model.SessionInfo{Snapshots: -1}}
				var beside []byte
				head := &one.Info.Head
				err := scan(&one.Key[0], &one.Key[1], &head.ID, &beside)
				var about metadata
				_ = json.Unmarshal(beside, &about) // the log tells of damage
				head.Index, one.Info.UpdatedAt = about.Step+1, model.TimeOfUUID(head.ID)
				if first, ok := began[key{one.Key[0], one.Key[1]}]; ok {
					one.Info.Title = first.said.Opening()
				}
				list = append(list, one)
				return err
			}})
	return list, err
}
