package langgraph

import (
	"bytes"
	"context"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/engine/rows"
)

// What a state is made of is told from the values of its channels as they are stored: each is passed through
// without being decoded, and cut where messages begin. A text is decoded once, where it is met first:
//
//	stored    {status: …, messages: [m0, m1, m2]}
//	texts     {"status":"done"   ,"messages":[   m0   ,m1   ,m2   ]}
//
// States that need more than their checkpoint are read as they are by themselves: the newest, those on which an
// input or a question hangs, those of functions, of DeltaChannels and of channels that may hold back a value.

// storedCheckpoint is a checkpoint with the values of its channels as they lie in the tables.
type storedCheckpoint struct {
	id      string
	beside  []byte
	version float64
	// more says that what was written on the checkpoint counts, or that its channels are not known.
	more   bool
	values []storedValue
}

// storedValue is the value of a channel.
type storedValue struct {
	channel string
	// woven is the value where it was woven before; else it is raw, in an encoding.
	woven    *woven
	encoding string
	raw      []byte
}

// Weave implements rows.Weaver.
func (f format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	numbers := make(map[string]int, len(ids))
	for i, id := range ids {
		numbers[id] = i
	}
	left := slices.Clone(ids)
	err := f.layout.eachStored(ctx, t, at, ids, to, func(s *storedCheckpoint) {
		i, wanted := numbers[s.id]
		if !wanted {
			return
		}
		if w := s.weaveState(to); w.ok {
			left[i] = ""
			to.Take(i, store.Rope{Runs: w.runs})
		}
	})
	for i, id := range left {
		if err != nil || ctx.Err() != nil {
			return err
		}
		if id != "" {
			r, err := f.readRope(ctx, t, at, id)
			r.Err = err
			to.Take(i, r)
		}
	}
	return err
}

// weaveState returns the runs that make up the state.
func (s *storedCheckpoint) weaveState(to store.Loom) (w woven) {
	deltas := jsontape.FindMember(s.beside, `"counters_since_delta_snapshot"`)
	if s.more || s.version < 3 || deltas != nil && string(deltas) != "{}" {
		return w
	}
	w = woven{to: to, ok: true}
	met := map[string]bool{}
	before := "{"
	for i := range s.values {
		v := &s.values[i]
		of := v.woven
		switch {
		case isPlumbing(v.channel):
			continue
		case met[v.channel] || v.channel == endChannel:
			return woven{}
		case of == nil:
			is := weaveValue(to, v.encoding, v.raw)
			of = &is
		}
		if met[v.channel] = true; !of.ok {
			return woven{}
		}
		if of.empty && v.channel == sendsChannel {
			continue
		}
		w.putText(store.Text{Raw: []byte(before + quoteJSON(v.channel) + ":")})
		for _, run := range of.runs {
			w.runs = rows.AppendRun(w.runs, run)
		}
		before = ","
	}
	if before == "{" {
		w.putText(store.Text{Raw: []byte("{")})
	}
	w.putText(store.Text{Raw: []byte("}")})
	return w
}

// woven is a value as what it is made of. ok is false where more has to be known of it.
type woven struct {
	to        store.Loom
	runs      []store.Run
	ok, empty bool
}

func (w *woven) putText(t store.Text) {
	run := w.to.Put(t)
	w.ok, w.runs = w.ok && run.Len > 0, rows.AppendRun(w.runs, run)
}

// weaveValue returns the runs that make up a value.
func weaveValue(to store.Loom, encoding string, raw []byte) woven {
	w := woven{to: to, ok: true}
	switch encoding {
	case "msgpack":
		w.putPacked("", raw, 2)
		at, isList, err := msgpack.Items(raw)
		w.empty = isList && len(at) == 1
		mayHold := isList && len(at) == 3 && isTruth(raw[at[1]:at[2]])
		w.ok = w.ok && err == nil && !mayHold && !(!isList && isDelta(raw))
	case "json":
		if w.putJSON(raw, 0); len(raw) > 0 && raw[0] == '[' {
			list := listItems(raw)
			w.empty = string(raw) == "[]"
			w.ok = w.ok && !(len(list) == 2 && (string(list[1]) == "true" || string(list[1]) == "false"))
		} else {
			w.ok = w.ok && len(plainValue(raw)) == len(raw)
		}
	case "null":
		w.putText(store.Text{Raw: []byte("null")})
	default:
		w.ok = false
	}
	return w
}

// isTruth reports whether a packed value is false or true.
func isTruth(raw []byte) bool { return len(raw) == 1 && (raw[0] == 0xc2 || raw[0] == 0xc3) }

// isDelta reports whether a packed value may be one of a DeltaChannel, which has a sign of its own.
func isDelta(raw []byte) bool {
	id := len(raw)
	switch c := raw[0]; {
	case 0xc7 <= c && c <= 0xc9:
		id = 1 + 1<<(c-0xc7)
	case 0xd4 <= c && c <= 0xd8:
		id = 1
	}
	return id < len(raw) && raw[id] == deltaSnapshot || bytes.Contains(raw, []byte("$delta")) || bytes.Contains(raw, []byte("delta_snapshot"))
}

// Kinds of texts.
const (
	inPacked = iota + 1
	inPackedMembers
	inPackedKey
)

const (
	// leastPart is the size from which items of a list or members are a text; leastCut is the size from which
	// the value of a member is cut, leastElement that from which an element of a list is.
	leastPart, leastCut, leastElement = 64, 1 << 10, 1 << 16
	// mostNested bounds how deep values are cut.
	mostNested = 16
)

// unpackFunc returns a function that converts packed values to JSON. depth is how deep in a checkpoint they
// are.
func unpackFunc(depth int, members bool) func([]byte) []byte {
	return func(raw []byte) []byte {
		shown, err := msgpack.AppendPart(nil, raw, writeExtension, depth, members)
		if err != nil {
			return nil
		}
		return shown
	}
}

// putPacked puts a packed value, behind another text.
func (w *woven) putPacked(before string, raw []byte, depth int) {
	at, isList, err := msgpack.Items(raw)
	isMap := false
	if err == nil && !isList {
		at, isMap, err = msgpack.Members(raw)
	}
	switch {
	case err != nil || (isList || isMap) && at[len(at)-1] != len(raw):
		w.ok = false
		return
	case len(raw) < leastPart || !isList && !isMap || depth > mostNested:
		w.putText(store.Text{Before: before, Raw: raw, Kind: inPacked, Make: unpackFunc(depth, false)})
		return
	}
	open, end, kind, each, large := "[", "]", byte(inPacked), 1, leastElement
	if isMap {
		open, end, kind, each, large = "{", "}", inPackedMembers, 2, leastCut
	}
	w.putText(store.Text{Raw: []byte(before + open)})
	from, comma := 0, ""
	flush := func(to int) {
		if from < to {
			w.putText(store.Text{Before: comma, Raw: raw[at[from]:at[to]], Kind: kind, Make: unpackFunc(depth+1, isMap), Listed: true})
			comma = ","
		}
		from = to
	}
	for i := 0; i+each < len(at); i += each {
		value := raw[at[i+each-1]:at[i+each]]
		if c := value[0]; len(value) >= large && (c >= 0x80 && c < 0xa0 || c >= 0xdc && c <= 0xdf) {
			flush(i)
			if isMap {
				w.putText(store.Text{Before: comma, Raw: raw[at[i]:at[i+1]], Kind: inPackedKey, Make: keyOf})
				comma = ":"
			}
			w.putPacked(comma, value, depth+1)
			from, comma = i+each, ","
		} else if at[i+each]-at[from] >= leastPart {
			flush(i + each)
		}
	}
	flush(len(at) - 1)
	w.putText(store.Text{Raw: []byte(end)})
}

// keyOf returns a packed key as JSON.
func keyOf(raw []byte) []byte {
	key := unpackFunc(0, false)(raw)
	if len(key) > 0 && key[0] != '"' {
		key = jsontape.AppendQuoted(nil, string(key))
	}
	return key
}

// putJSON puts JSON, cut behind items and members.
func (w *woven) putJSON(raw []byte, depth int) {
	if len(raw) < leastPart || raw[0] != '[' && raw[0] != '{' || depth > mostNested {
		w.putText(store.Text{Raw: raw})
		return
	}
	from, large := 0, leastCut
	if raw[0] == '[' {
		large = leastElement
	}
	for m, err := range jsontape.Members(raw) {
		if err != nil {
			w.ok = false
			return
		}
		end := m.Offset + len(m.Value)
		if (m.Value[0] == '[' || m.Value[0] == '{') && len(m.Value) >= large {
			w.putText(store.Text{Raw: raw[from:m.Offset], Listed: true})
			w.putJSON(m.Value, depth+1)
			from = end
		} else if end-from >= leastPart {
			w.putText(store.Text{Raw: raw[from:end], Listed: true})
			from = end
		}
	}
	w.putText(store.Text{Raw: raw[from:]})
}
