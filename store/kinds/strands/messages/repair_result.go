package messages

import (
	"slices"

	"hindcast/model/jsontape"
)

// A result that stands elsewhere than behind its call is true all the same. Where what
// follows the call in the log is the user's, it belongs there, before the rest, which
// every version of the SDK takes for the answer to the call. Where it is the
// assistant's, the whole message with the results moves there, and those between go on
// by one file: there is no number between two of them.

// reunite puts each result that stands elsewhere behind its call. It reports whether
// there was one.
func (r *round) reunite() bool { return r.join() || r.moveBehind() }

// moveBehind moves one message that has the results of the calls of another and nothing
// else behind that.
func (r *round) moveBehind() bool {
	for j := range r.seen {
		calls := r.seen[j].calls
		for _, c := range calls {
			if j+1 < len(r.seen) && (r.seen[j+1].role == "user" || r.seen[j+1].has(c.id)) {
				continue
			}
			k := r.stray(c.id)
			if k < 0 || !r.answers(k, calls) {
				continue
			}
			to := j + 1
			if k < j {
				to = j // the call itself goes to the file before
			}
			if r.move(k, to) {
				return true
			}
		}
	}
	return false
}

// answers reports whether a message of the user has results of some calls and nothing
// else.
func (r *round) answers(k int, calls []call) bool {
	m := &r.seen[k]
	d := r.document(m.name)
	return d.Err == nil && m.role == "user" && d.Tape.Count(d.Tape.Find(effectiveNode(d.Tape), "content")) == len(m.results) &&
		!slices.ContainsFunc(m.results, func(res result) bool {
			return !slices.ContainsFunc(calls, func(c call) bool { return c.id == res.id })
		})
}

// move puts a message into the file of another, and each between into the next file on
// the way.
func (r *round) move(from, to int) bool {
	source := func(i int) int {
		switch {
		case i == to:
			return from
		case from > to:
			return i - 1
		}
		return i + 1
	}
	first, last := min(from, to), max(from, to)
	made := make([][]byte, 0, last-first+1)
	for i := first; i <= last; i++ {
		d := r.document(r.seen[source(i)].name)
		number, ok := fileOf(r.seen[i].name)
		if d.Err != nil || !ok {
			return false
		}
		p := jsontape.NewPatch(d.Tape)
		p.Put(0, "message_id", []byte(number.number().String()))
		made = append(made, p.Bytes())
	}
	for i, data := range made {
		if first+i == to {
			r.write(r.seen[to].name, data, "gets the message that stood in %s: its results are those of the calls in the message before", r.seen[from].name)
			continue
		}
		r.write(r.seen[first+i].name, data, "gets the message of %s", r.seen[source(first+i)].name)
	}
	return true
}

// join puts each result that stands elsewhere into the message of the user that follows
// its call.
func (r *round) join() (moved bool) {
	var from []int
	for j := range len(r.seen) - 1 {
		next := &r.seen[j+1]
		if next.role != "user" {
			continue
		}
		for _, c := range r.seen[j].calls {
			if next.has(c.id) {
				continue
			}
			if k := r.stray(c.id); k >= 0 && r.put(k, j+1, c.id) {
				moved, from = true, append(from, k)
			}
		}
	}
	for _, k := range slices.Compact(slices.Sorted(slices.Values(from))) { // another result may have come there
		d := r.document(r.seen[k].name)
		if content := d.Tape.Find(effectiveNode(d.Tape), "content"); d.Tape.Count(content) == 0 {
			r.setAside(r.seen[k].name, "its results stand behind their calls now, and the message has nothing else")
		}
	}
	return moved
}

func (m *seenMessage) has(id string) bool {
	return slices.ContainsFunc(m.results, func(r result) bool { return r.id == id })
}

// stray returns the message with a result whose call is not in the message before it,
// the last one if there are several; -1 for none.
func (r *round) stray(id string) int {
	for k := len(r.seen) - 1; k >= 0; k-- {
		called := k > 0 && slices.ContainsFunc(r.seen[k-1].calls, func(c call) bool { return c.id == id })
		if r.seen[k].has(id) && !called {
			return k
		}
	}
	return -1
}

// put takes a result out of message from and puts it first into another.
func (r *round) put(from, to int, id string) bool {
	source, target := r.document(r.seen[from].name), r.document(r.seen[to].name)
	if source.Err != nil || target.Err != nil {
		return false
	}
	s, t := source.Tape, target.Tape
	has, gets := s.Find(effectiveNode(s), "content"), t.Find(effectiveNode(t), "content")
	if s.Kind(has) != jsontape.Array || t.Kind(gets) != jsontape.Array {
		return false
	}
	is := func(b jsontape.Node) bool {
		n := s.Find(s.Find(b, "toolResult"), "toolUseId")
		return n >= 0 && identity(s, n) == id
	}
	var block []byte
	for b := s.First(has); b >= 0; b = s.Next(b) {
		if is(b) {
			block = s.Raw(b)
		}
	}
	if block == nil {
		return false
	}
	blocks := [][]byte{block}
	for b := t.First(gets); b >= 0; b = t.Next(b) {
		blocks = append(blocks, t.Raw(b))
	}
	p := jsontape.NewPatch(t)
	p.Set(gets, append(joined([]byte("["), blocks), ']'))
	r.write(r.seen[to].name, p.Bytes(), "gets the result of %.60q, which stood in %s: its call is in the message before", id, r.seen[from].name)
	p = jsontape.NewPatch(s)
	p.Remove(has, is)
	r.write(r.seen[from].name, p.Bytes(), "the result of %.60q stands behind its call now", id)
	r.seen[from].results = slices.DeleteFunc(r.seen[from].results, func(res result) bool { return res.id == id })
	r.seen[to].results = append(r.seen[to].results, result{id: id})
	return true
}
