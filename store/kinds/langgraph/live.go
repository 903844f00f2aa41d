package langgraph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/engine/rows"
)

// A checkpoint has the values from which its step started. What the tasks of the step wrote hangs on it
// until all have finished. get_state puts these writes into the values in two cases:
//
//	what an input wrote, as Command(update=…)     always
//	what tasks that have finished wrote           at the head, where no checkpoint_id is named
//
// So two states can be read from one row. At the head Hindcast shows what get_state(thread) has.
// A task has finished if it wrote anything but a question, an answer or an error
// (langgraph/pregel/_task_status.py). How a write changes a value is known to the program alone: see combineWrites.

// nullTask is the task id of the writes of an input.
const nullTask = "00000000-0000-0000-0000-000000000000"

// task is a task of a step, as far as its writes tell.
type task struct {
	id string
	// node is its node, "" where the path does not tell.
	node string
	// sent is the task's index among the Send tasks, or -1.
	sent int
	// called says that a function called it.
	called, finished bool
}

// taskOf reads the path of a task:
//
//	~__pregel_pull, NODE               a node runs
//	~__pregel_push, 0000000001, …      the second Send
//	~__pregel_push, ~…                 a function calls a task
func taskOf(id, path string) task {
	t := task{id: id, sent: -1}
	if pulled, ok := strings.CutPrefix(path, "~__pregel_pull, "); ok {
		t.node, _, _ = strings.Cut(pulled, ", ")
	} else if pushed, ok := strings.CutPrefix(path, "~__pregel_push, "); ok {
		number, _, _ := strings.Cut(pushed, ", ")
		if n, err := strconv.Atoi(number); err == nil {
			t.sent = n
		}
		t.called = strings.HasPrefix(pushed, "~")
	}
	return t
}

// countFinished returns how many tasks of a step have finished, and how many of these a function called.
func (s *step) countFinished() (all, called int) {
	for _, t := range s.tasks {
		if t.finished {
			all++
			if t.called {
				called++
			}
		}
	}
	return all, called
}

// channelValues are the values of channels, in the order of their keys.
type channelValues struct {
	names  []string
	values map[string][]byte
}

func (v *channelValues) putValue(channel string, value []byte) {
	if _, known := v.values[channel]; !known {
		v.names = append(v.names, channel)
	}
	v.values[channel] = value
}

func (v *channelValues) dropValue(channel string) {
	delete(v.values, channel)
	v.names = slices.DeleteFunc(v.names, func(name string) bool { return name == channel })
}

// addWrites puts into the values what was written on a checkpoint since it was made: by all tasks that have
// finished, or by an input alone. It returns the channels that may take that in another way.
func (f format) addWrites(ctx context.Context, t rows.Tx, at rows.Place, id string, c *checkpoint, values *channelValues, channels []string, inputAlone bool) (unsure []string, err error) {
	for _, channel := range channels {
		var writes [][]byte
		only := ""
		if inputAlone {
			only = nullTask
		}
		if writes, err = f.writesOf(ctx, t, at, id, channel, only); err != nil {
			return nil, err
		}
		if len(writes) == 0 {
			continue
		}
		before := values.values[channel]
		if _, changes := c.about.Deltas[channel]; changes || holdsMessages(channel, before, writes) {
			values.putValue(channel, putTogether(channel, before, writes))
			continue
		}
		isScalar := !bytes.HasPrefix(writes[0], []byte("["))
		if before == nil || string(before) == "[]" && isScalar {
			unsure = append(unsure, channel) // a Topic has a list of it, or loses it at once; others hold it back
			values.putValue(channel, putTogether(channel, before, writes))
			continue
		}
		value, sure, err := f.combineWrites(ctx, t, at, c.parent, channel, before, writes)
		if err != nil {
			return nil, err
		}
		if !sure {
			unsure = append(unsure, channel)
		}
		values.putValue(channel, value)
	}
	return unsure, nil
}

// writesOf returns the tasks' writes to a channel from a checkpoint, as JSON. With only, it returns the writes
// of that task.
func (f format) writesOf(ctx context.Context, t rows.Tx, at rows.Place, id, channel, only string) (writes [][]byte, err error) {
	err = f.layout.eachWrite(ctx, t, at, id, channel, func(task, encoding string, value []byte) {
		if shown, err := decodeValue(encoding, value); err == nil && (only == "" || task == only) { // one that is damaged is as none
			writes = append(writes, shown)
		}
	})
	return writes, err
}

// mostAncestors bounds how many steps are looked at for how a channel takes what is written to it.
const mostAncestors = 16

// way is one way in which a channel takes what is written to it.
type way func(channel string, value []byte, writes [][]byte) []byte

// ways are the reducers that LangGraph's own functions make: LastValue, add_messages and operator.add of
// lists, a Topic of both kinds, operator.add of numbers, and operator.add of texts.
var ways = []way{lastOf, putTogether, appendTopic, topicOf, sumOf, joinTexts}

// combineWrites returns the value of a channel after some writes. Where ways differ, the steps before tell which one the
// channel has: the value before, what was written and the value after are all there. sure is false where
// they do not tell.
func (f format) combineWrites(ctx context.Context, t rows.Tx, at rows.Place, from, channel string, value []byte, writes [][]byte) (after []byte, sure bool, err error) {
	likely := putTogether(channel, value, writes)
	if len(writes) == 1 && !bytes.HasPrefix(value, []byte("[")) {
		likely = writes[0]
	}
	open := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w(channel, value, writes) == nil })
	told, child := false, value
	for range mostAncestors {
		parent, values, found, err := f.layout.findAncestor(ctx, t, at, from, []string{channel})
		if err != nil || !found {
			return likely, false, err
		}
		before := values[channel]
		earlier, err := f.writesOf(ctx, t, at, from, channel, "")
		if err != nil {
			return nil, false, err
		}
		fits := func(w way) bool { return len(earlier) > 0 && sameJSON(w(channel, before, earlier), child) }
		if kept := slices.DeleteFunc(slices.Clone(open), func(w way) bool { return !fits(w) }); len(kept) > 0 {
			open, told = kept, true
		}
		after = open[0](channel, value, writes)
		if told && !slices.ContainsFunc(open, func(w way) bool { return !bytes.Equal(w(channel, value, writes), after) }) {
			return after, true, nil
		}
		child, from = before, parent
	}
	return likely, false, nil
}

// sameJSON reports whether two values are the same but for white space.
func sameJSON(a, b []byte) bool {
	var left, right bytes.Buffer
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}

// lastOf is the way of LastValue, which takes one write a step.
func lastOf(_ string, value []byte, writes [][]byte) []byte {
	if len(writes) != 1 {
		return nil
	}
	return writes[0]
}

// putTogether is the way of add_messages, and of operator.add for lists.
func putTogether(channel string, value []byte, writes [][]byte) []byte {
	r := reduced{messages: holdsMessages(channel, value, writes)}
	r.setValue(value)
	for _, write := range writes {
		r.addWrite(write)
	}
	return r.value()
}

// appendTopic is the way of a Topic that accumulates.
func appendTopic(channel string, value []byte, writes [][]byte) []byte {
	if value == nil {
		value = []byte("[]")
	}
	return putTogether(channel, value, writes)
}

// topicOf is the way of a Topic that does not accumulate.
func topicOf(channel string, _ []byte, writes [][]byte) []byte {
	return putTogether(channel, []byte("[]"), writes)
}

// sumOf is the way of operator.add for whole numbers.
func sumOf(_ string, value []byte, writes [][]byte) []byte {
	sum, err := strconv.ParseInt(cmp.Or(string(value), "0"), 10, 64)
	for _, write := range writes {
		n, failed := strconv.ParseInt(string(write), 10, 64)
		if sum, err = sum+n, cmp.Or(err, failed); err != nil {
			return nil
		}
	}
	return strconv.AppendInt(nil, sum, 10)
}

// joinTexts is the way of operator.add for texts.
func joinTexts(_ string, value []byte, writes [][]byte) []byte {
	text := jsontape.Unquote(value)
	for _, write := range writes {
		if !bytes.HasPrefix(write, []byte(`"`)) {
			return nil
		}
		text += jsontape.Unquote(write)
	}
	return []byte(quoteJSON(text))
}

// held says how get_state shows a value that a channel may hold back.
type held uint8

const (
	// heldNot: it is a value like any other.
	heldNot held = iota
	// heldMaybe: nothing tells.
	heldMaybe
	// heldValue and heldBarrier: the channel is a LastValueAfterFinish, or a NamedBarrierValueAfterFinish.
	heldValue
	heldBarrier
)

// heldBack reports whether a channel holds back its value until a run is over. Such a channel stores [VALUE,
// whether the run is over], and a list of the program can look the same. The checkpoint does not record the
// type, but the last write does: it is VALUE alone. A barrier holds a set, which no JSON list can contain.
func (f format) heldBack(ctx context.Context, t rows.Tx, at rows.Place, c *checkpoint, channel string, pair []byte) (held, error) {
	of := listItems(pair)
	if len(of) != 2 || string(of[1]) != "true" && string(of[1]) != "false" {
		return heldNot, nil
	}
	unknown, from := heldMaybe, c.parent
	if className(of[0]) == "set" {
		unknown = heldBarrier
	}
	for range mostAncestors {
		writes, err := f.writesOf(ctx, t, at, from, channel, "")
		if err != nil {
			return unknown, err
		}
		if n := len(writes); n > 0 {
			switch last := writes[n-1]; {
			case sameJSON(last, pair):
				return heldNot, nil
			case bytes.Equal(last, of[0]):
				return heldValue, nil
			case unknown == heldBarrier:
				return heldBarrier, nil
			case c.about.Source != "fork" || from != c.parent: // a fork may have been made of its parent before that
				return heldNot, nil
			}
		}
		parent, _, found, err := f.layout.findAncestor(ctx, t, at, from, nil)
		if err != nil || !found {
			return unknown, err
		}
		from = parent
	}
	return unknown, nil
}

// shownOf returns the value that get_state shows for a channel that holds back its value, or nil.
func (is held) shownOf(pair []byte) []byte {
	switch of := listItems(pair); {
	case is == heldNot, is == heldMaybe:
		return pair
	case string(of[1]) == "false":
		return nil
	case is == heldValue:
		return of[0]
	}
	return []byte("null") // a barrier that is open
}

// pair is the stored value of a channel that holds back its value.
type pair struct {
	is    held
	value []byte
}

// endStep does to the values at the head what get_state does where a task has finished: as at the end of a run.
// Channels that hold back their value show it. Those of a single step lose theirs, also what was just written.
func (f format) endStep(ctx context.Context, t rows.Tx, at rows.Place, c *checkpoint, s *shown, stored map[string][]byte, pairs map[string]pair) error {
	for channel, p := range pairs {
		if _, shows := s.values[channel]; p.is == heldValue && !shows {
			s.putValue(channel, listItems(p.value)[0])
		}
	}
	for _, channel := range slices.Clone(s.names) {
		if _, holds := pairs[channel]; holds || slices.Contains(s.together, channel) || stored[channel] == nil {
			continue
		}
		gone, sure, err := f.isCleared(ctx, t, at, c, channel, stored[channel])
		if err != nil {
			return err
		}
		if gone {
			s.dropValue(channel)
		} else if !sure && bytes.Equal(stored[channel], s.values[channel]) {
			s.unsure = append(s.unsure, channel)
		}
	}
	return nil
}

// isCleared reports whether a step that does not write to a channel clears its value, as that of an EphemeralValue or
// of a Topic that does not accumulate. The steps before tell: there was a value, no task wrote one, and it is gone or
// still there. sure is false where they do not tell.
func (f format) isCleared(ctx context.Context, t rows.Tx, at rows.Place, c *checkpoint, channel string, value []byte) (gone, sure bool, err error) {
	isEmpty := func(value []byte) bool { return value == nil || string(value) == "[]" }
	from, stepped := c.parent, c.about.Source == "loop" // a copy of its parent has its values
	for range mostAncestors {
		parent, values, found, err := f.layout.findAncestor(ctx, t, at, from, []string{channel})
		if err != nil || !found {
			return false, false, err
		}
		before, step, err := f.layout.readCheckpoint(ctx, t, at, from)
		if err != nil {
			return false, false, err
		}
		if !isEmpty(values[channel]) && stepped && len(step.tasks) > 0 && !slices.Contains(step.channels, channel) {
			return isEmpty(value), true, nil
		}
		value, from, stepped = values[channel], parent, before.about.Source == "loop"
	}
	return false, false, nil
}

// listItems returns the elements of a list, nil for any other value.
func listItems(list []byte) (of [][]byte) {
	if !bytes.HasPrefix(list, []byte("[")) {
		return nil
	}
	for m, err := range jsontape.Members(list) {
		if err != nil {
			return nil
		}
		of = append(of, m.Value)
	}
	return of
}
