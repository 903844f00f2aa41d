package langgraph

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/encoding/pickle"
	"hindcast/store/engine/rows"
	"hindcast/store/media/sqlitefile"
)

// inFiles is the layout of the server of `langgraph dev`. Its folder .langgraph_api lies beside langgraph.json:
//
//	.langgraph_checkpoint.1.pckl   {THREAD: {NAMESPACE: {ID: (checkpoint, metadata, parent)}}}, without channel_values
//	.langgraph_checkpoint.2.pckl   {(THREAD, NAMESPACE, ID): {(TASK, NUMBER): (TASK, channel, value, path of the task)}}
//	.langgraph_checkpoint.3.pckl   {(THREAD, NAMESPACE, channel, version): value}
//	.langgraph_ops.pckl            threads, runs and assistants, which is not read
//
// A checkpoint, its metadata and a value are (encoding, bytes), as SqliteSaver stores them. The files are pickles, which are
// decoded as data and never run. The server has everything in memory and writes the files whole, every 10 seconds and at
// its end: a crash leaves older ones, and it would write over a change of another program.
// Source: langgraph_runtime_inmem/checkpoint.py 0.36 and langgraph/checkpoint/memory 4.3.
type inFiles struct{ inSQLite }

var fileNames = []string{".langgraph_checkpoint.1.pckl", ".langgraph_checkpoint.2.pckl", ".langgraph_checkpoint.3.pckl"}

// folder describes the files.
var folder = rows.Made{
	Files: fileNames,
	Noun:  "checkpoints of langgraph dev",
	Signs: func(heads [][]byte) bool {
		isPickle := func(head []byte) bool { return strings.HasPrefix(string(head), "\x80\x02") }
		begins := string(heads[0])
		return !slices.ContainsFunc(heads, func(head []byte) bool { return !isPickle(head) }) &&
			(strings.Contains(begins, "channel_versions") || len(begins) < 8 && strings.HasPrefix(begins, noThreads))
	},
	Fill: fillTables,
}

// noThreads is how the pickle of an empty dict begins.
const noThreads = "\x80\x02}"

// tables are the tables of SqliteSaver, and the one of PostgresSaver that has the values.
var tables = []string{
	"CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))",
	"CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, task_path TEXT, idx INTEGER, channel TEXT, type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))",
	"CREATE TABLE checkpoint_blobs (thread_id TEXT, checkpoint_ns TEXT, channel TEXT, version TEXT, type TEXT, blob BLOB, PRIMARY KEY (thread_id, checkpoint_ns, channel, version))",
}

// fillTables makes the tables of the three files.
func fillTables(ctx context.Context, t *sqlitefile.Tx, data [][]byte) error {
	for _, table := range tables {
		if err := t.Define(ctx, table); err != nil {
			return err
		}
	}
	for i, fill := range []func(insert func(query string, args ...any), file []byte) error{fillCheckpoints, fillWrites, fillBlobs} {
		text, err := pickle.AppendJSON(nil, data[i])
		if err != nil {
			return fmt.Errorf("%s: %w", fileNames[i], err)
		}
		var failed error
		insert := func(table string, args ...any) {
			if failed == nil {
				_, failed = t.Exec(ctx, "INSERT OR REPLACE INTO "+table+" VALUES (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
			}
		}
		if err := errors.Join(fill(insert, text), failed); err != nil {
			return fmt.Errorf("%s: %w", fileNames[i], err)
		}
	}
	return nil
}

// errShape: a file has other values than the server writes.
var errShape = errors.New("not of the shape that langgraph dev writes")

func fillCheckpoints(insert func(table string, args ...any), file []byte) error {
	return eachEntry(file, func(thread string, spaces []byte) error {
		return eachEntry(spaces, func(space string, checkpoints []byte) error {
			return eachEntry(checkpoints, func(id string, value []byte) error {
				var parts []json.RawMessage
				if json.Unmarshal(value, &parts) != nil || len(parts) < 3 {
					return errShape
				}
				encoding, checkpoint, err := storedPair(parts[0])
				by, beside, failed := storedPair(parts[1])
				if err = errors.Join(err, failed); err != nil {
					return err
				}
				if shown, unread := decodeValue(by, beside); unread == nil { // the log tells of damage
					beside = shown
				}
				var parent any
				if string(parts[2]) != "null" {
					parent = textOf(parts[2])
				}
				insert("checkpoints", thread, space, id, parent, encoding, checkpoint, beside)
				return nil
			})
		})
	})
}

func fillWrites(insert func(table string, args ...any), file []byte) error {
	return eachEntry(file, func(key string, writes []byte) error {
		at := keyParts(key)
		if len(at) != 3 {
			return errShape
		}
		return eachEntry(writes, func(key string, value []byte) error {
			var parts []json.RawMessage
			by := keyParts(key)
			if json.Unmarshal(value, &parts) != nil || len(parts) < 3 || len(by) != 2 {
				return errShape
			}
			encoding, written, err := storedPair(parts[2])
			path := ""
			if len(parts) > 3 {
				path = textOf(parts[3])
			}
			insert("writes", at[0], at[1], at[2], by[0], path, by[1], textOf(parts[1]), encoding, written)
			return err
		})
	})
}

func fillBlobs(insert func(table string, args ...any), file []byte) error {
	return eachEntry(file, func(key string, value []byte) error {
		at := keyParts(key)
		if len(at) != 4 {
			return errShape
		}
		encoding, written, err := storedPair(value)
		if encoding != "empty" {
			insert("checkpoint_blobs", at[0], at[1], at[2], at[3], encoding, written)
		}
		return err
	})
}

// eachEntry runs each on the entries of a dict, or of a defaultdict.
func eachEntry(dict []byte, each func(key string, value []byte) error) error {
	if class := jsontape.FindMember(dict, `"$py"`); string(class) == `"collections.defaultdict"` {
		if dict = jsontape.FindMember(dict, `"items"`); dict == nil {
			return nil
		}
	}
	for m, err := range jsontape.Members(dict) {
		if err != nil || m.Key == nil {
			return errShape
		}
		if err := each(jsontape.Unquote(m.Key), m.Value); err != nil {
			return err
		}
	}
	return nil
}

// keyParts returns the parts of a tuple that is a key, as texts.
func keyParts(key string) (parts []string) {
	var list []json.RawMessage
	_ = json.Unmarshal([]byte(key), &list) // what is no tuple has no parts
	for _, part := range list {
		parts = append(parts, textOf(part))
	}
	return parts
}

// textOf returns a text decoded, and any other value as its JSON.
func textOf(value []byte) string {
	if len(value) > 0 && value[0] == '"' {
		return jsontape.Unquote(value)
	}
	return string(value)
}

// storedPair returns an encoding and the bytes in it.
func storedPair(pair []byte) (encoding string, value []byte, err error) {
	var parts []json.RawMessage
	if json.Unmarshal(pair, &parts) != nil || len(parts) != 2 {
		return "", nil, errShape
	}
	if text := jsontape.FindMember(parts[1], `"$bytes"`); text != nil {
		value, err = base64.StdEncoding.DecodeString(jsontape.Unquote(text))
	}
	return textOf(parts[0]), value, err
}

// filedValues is a query of the values of a checkpoint with these channel_versions.
const filedValues = `SELECT b.channel, b.version, b.type, b.blob FROM json_each(?3) v JOIN checkpoint_blobs b
	ON b.thread_id = ?1 AND b.checkpoint_ns = ?2 AND b.channel = v.key AND b.version = CAST(v.value AS TEXT)`

// readValues returns the values of a checkpoint, by their channels, that are not longer than most bytes.
func (inFiles) readValues(ctx context.Context, t rows.Tx, at rows.Place, document []byte, most int) (values map[string]blob, err error) {
	values = map[string]blob{}
	versions := jsontape.FindMember(document, `"channel_versions"`)
	if versions == nil {
		return values, nil
	}
	return values, t.Each(ctx, func(scan func(...any) error) error {
		var channel, version string
		var b blob
		err := scan(&channel, &version, &b.encoding, &b.value)
		if len(b.value) <= most {
			values[channel] = b
		}
		return err
	}, filedValues, append(slices.Clone(at.Key), string(versions))...)
}

// anySize bounds no value.
const anySize = 1<<31 - 1

func (l inFiles) readCheckpoint(ctx context.Context, t rows.Tx, at rows.Place, id string) (c checkpoint, own step, err error) {
	c, own, err = l.inSQLite.readCheckpoint(ctx, t, at, id)
	if err != nil || opaqueEncoding(c.encoding) != "" {
		return c, own, err
	}
	c.graph = cmp.Or(c.about.Graph, "agent")
	values, err := l.readValues(ctx, t, at, c.document, anySize)
	if err != nil {
		return c, own, err
	}
	var sealed string
	c.document, sealed, err = joinValues(c.document, values)
	if sealed != "" {
		c.encoding = sealed
	}
	return c, own, err
}

// listCheckpoints reads small values for the titles of the checkpoints that are read whole.
func (l inFiles) listCheckpoints(ctx context.Context, t rows.Tx, at rows.Place, from string, steps *steps, row func(listed)) error {
	var list []listed
	err := l.inSQLite.listCheckpoints(ctx, t, at, from, steps, func(c listed) { list = append(list, c) })
	for i := 0; err == nil && i < len(list); i++ {
		c := &list[i]
		document, damaged := decodeValue(c.encoding, c.whole)
		if c.whole != nil && damaged == nil && opaqueEncoding(c.encoding) == "" {
			var values map[string]blob
			values, err = l.readValues(ctx, t, at, document, mostTitle)
			if document, _, damaged = joinValues(document, values); damaged == nil {
				c.encoding, c.whole = "json", document
			}
		}
		row(*c)
	}
	return err
}

// mostTitle bounds a value that is read for a title, in bytes.
const mostTitle = 64 << 10

func (l inFiles) findAncestor(ctx context.Context, t rows.Tx, at rows.Place, id string, channels []string) (parent string, values map[string][]byte, found bool, err error) {
	var encoding string
	var whole []byte
	found, err = t.First(ctx, []any{&parent, &encoding, &whole}, "SELECT ifnull(parent_checkpoint_id, ''), ifnull(type, ''), checkpoint FROM checkpoints"+ofCheckpoint, append(slices.Clone(at.Key), id)...)
	values = map[string][]byte{}
	if err != nil || !found {
		return parent, values, found, err
	}
	document, _ := decodeValue(encoding, whole) // a damaged one has no channels
	stored, err := l.readValues(ctx, t, at, document, anySize)
	for _, channel := range channels {
		if b, ok := stored[channel]; ok {
			if shown, damaged := decodeValue(b.encoding, b.value); damaged == nil {
				values[channel] = shown
			}
		}
	}
	return parent, values, true, err
}

// eachStored reads each value once, however many checkpoints share it.
func (inFiles) eachStored(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom, row func(*storedCheckpoint)) error {
	more, between, err := countedWrites(ctx, t, at, ids)
	if err != nil {
		return err
	}
	type one struct {
		id            string
		beside, whole []byte
	}
	var list []one
	stored, wanted := besides{to: to, more: more, values: map[[2]string]*woven{}}, map[[2]string]bool{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var c one
		var encoding string
		if err := scan(&c.id, &encoding, &c.beside, &c.whole); err != nil || !slices.Contains(ids, c.id) {
			return err
		}
		c.whole, _ = decodeValue(encoding, c.whole) // a damaged one has no channels
		for m := range jsontape.Members(jsontape.FindMember(c.whole, `"channel_versions"`)) {
			wanted[[2]string{jsontape.Unquote(m.Key), textOf(m.Value)}] = true
		}
		more[c.id] = more[c.id] || jsontape.FindMember(c.whole, `"channel_versions"`) == nil
		list = append(list, c)
		return nil
	}, "SELECT checkpoint_id, ifnull(type, ''), metadata, checkpoint FROM checkpoints"+ofSession+" AND checkpoint_id BETWEEN ? AND ? ORDER BY checkpoint_id", between...)
	for key := range wanted {
		if err != nil {
			return err
		}
		err = t.Each(ctx, func(scan func(...any) error) error {
			var encoding string
			var value []byte
			err := scan(&encoding, &value)
			stored.addValue(key[0], key[1], encoding, value)
			return err
		}, "SELECT type, blob FROM checkpoint_blobs"+ofSession+" AND channel = ? AND version = ?", append(slices.Clone(at.Key), key[0], key[1])...)
	}
	for _, c := range list {
		row(stored.joinCheckpoint(c.id, c.beside, c.whole))
	}
	return err
}

// callServer returns a call of the server's API with an input, which goes on from a checkpoint.
func (o *onward) callServer(at rows.Place, id, input string) string {
	return fmt.Sprintf("await client.runs.wait(%s, %s%s, checkpoint_id=%s)", quoteJSON(at.Key[0].(string)), quoteJSON(o.graph), input, quoteJSON(id))
}
