package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// A result that stands elsewhere than behind its call is true all the same. Where what
// follows the call in the log is the user's, it belongs there. Where it is the
// assistant's, the whole message with the results moves there, and those between go on
// by one file: there is no number between two of them.

// loaded is a message that the SDK loads.
type loaded struct {
	file    messageFile
	role    string
	calls   []call
	results []result
	others  int
	// broken says that its results are to become those of the calls before it, gains the
	// results among those that stand elsewhere, and gave those that go elsewhere.
	broken bool
	gains  map[string][]byte
	gave   map[string]bool
	// counts says that the SDK counts on from its message_id as it has to.
	counts bool
}

func (m *loaded) calling(id string) bool {
	return slices.ContainsFunc(m.calls, func(c call) bool { return c.id == id })
}

func (m *loaded) answering(id string) bool {
	return slices.ContainsFunc(m.results, func(r result) bool { return r.id == id })
}

// mendMessages sets aside what cannot be loaded, puts results behind their calls, takes
// away those without one, and has the SDK count on from the last message.
func (m *mender) mendMessages(ctx context.Context, l *messageLog) error {
	isFatal := func(f flaw, at stand) bool {
		severity, _ := l.sdk().Judge(f.judged(at))
		return severity >= fatal
	}
	type gone struct {
		name, reason string
		asked        []call
	}
	var goes []gone
	var list []*loaded
	before := -1 // the last of the list
	err := l.walk(ctx, func(s *step) error {
		msg := s.msg
		if l.evicted(s.i) {
			return nil
		}
		if i := slices.IndexFunc(msg.flaws, func(f flaw) bool { return isFatal(f, s.stand) }); i >= 0 {
			one := gone{name: msg.name, reason: msg.flaws[i].meaning}
			if before == s.i-1 && len(list) > 0 {
				one.asked = list[len(list)-1].calls
			}
			goes = append(goes, one)
			return nil
		}
		before = s.i
		_, twice := msg.duplicate()
		n, small := l.files[s.i].int64()
		list = append(list, &loaded{
			file: l.files[s.i], role: msg.role, calls: slices.Clone(msg.calls), results: slices.Clone(msg.results), others: msg.others,
			broken: slices.ContainsFunc(s.fixes, func(f fix) bool { return isFatal(f.flaw, stand{}) }) || len(s.fixes) == 0 && twice,
			counts: !small || msg.hasID && msg.messageID >= n,
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, one := range goes {
		m.takeAway(l, one.name, one.reason, one.asked, list)
	}
	order := m.reunite(l, list)
	for at, one := range order {
		var asked []call
		if at > 0 {
			asked = order[at-1].calls
		}
		m.rewrite(l, one, list[at].file, asked, at == len(order)-1)
	}
	return nil
}

// takeAway sets a message aside that cannot be loaded. Where it stood for the results of
// calls that are nowhere else, errors take its place, as the SDK puts them in memory.
func (m *mender) takeAway(l *messageLog, name, reason string, asked []call, list []*loaded) {
	if d := m.document(l, name); d.Err != nil && !errors.As(d.Err, new(*jsontape.SyntaxError)) {
		m.unreadable(l.path("messages", name), d.Err)
		return
	}
	m.ask("%s: the message goes", name)
	elsewhere := func(c call) bool {
		return slices.ContainsFunc(list, func(one *loaded) bool { return one.answering(c.id) })
	}
	to, numbered := fileOf(name)
	if len(asked) == 0 || !numbered || slices.ContainsFunc(asked, elsewhere) {
		m.setAside(name, reason)
		return
	}
	m.made[name] = fmt.Appendf(nil, `{"message": %s, "message_id": %s}`, appendErrors([]byte(`{"role":"user","content":[`), asked), to.number())
	m.did(l.path("messages", name), "errors take its place for the tool calls before it: %s", reason)
}

func (m *mender) document(l *messageLog, name string) files.Document {
	return files.ReadDocument(tree.From(l.tree), l.dir+name, nil)
}

// reunite puts results that stand elsewhere behind their call, and returns
// the messages in the order in which they are to be.
func (m *mender) reunite(l *messageLog, list []*loaded) (order []*loaded) {
	stray := map[string]*loaded{} // by the call, the last one
	for k, one := range list {
		for _, r := range one.results {
			if k == 0 || !list[k-1].calling(r.id) {
				stray[r.id] = one
			}
		}
	}
	order = slices.Clone(list)
	for j, one := range list {
		var next *loaded
		if j+1 < len(list) {
			next = list[j+1]
		}
		for _, c := range one.calls {
			from := stray[c.id]
			switch {
			case from == nil || next != nil && next.answering(c.id):
				continue
			case next != nil && next.role == "user":
				if block := m.resultOf(l, from, c.id); block != nil {
					next.gain(c.id, block, from)
					m.did(l.path("messages", next.file.name), "gets the result of %.60q, which stood in %s: its call is in the message before", c.id, from.file.name)
					delete(stray, c.id)
				}
			case from.role == "user" && from.others == 0 && !slices.ContainsFunc(from.results, func(r result) bool { return !one.calling(r.id) }):
				order = slices.DeleteFunc(order, func(o *loaded) bool { return o == from })
				order = slices.Insert(order, slices.Index(order, one)+1, from)
				for _, r := range from.results {
					delete(stray, r.id)
				}
			}
		}
	}
	return order
}

// gain notes that the message gets a result from another.
func (m *loaded) gain(id string, block []byte, from *loaded) {
	if m.gains == nil {
		m.gains = map[string][]byte{}
	}
	if from.gave == nil {
		from.gave = map[string]bool{}
	}
	m.gains[id], from.gave[id] = block, true
}

// resultOf returns the last result of a call in a message, or nil.
func (m *mender) resultOf(l *messageLog, of *loaded, id string) (block []byte) {
	d := m.document(l, of.file.name)
	if d.Err == nil {
		withContent(d.Tape.Raw(effectiveNode(d.Tape)), func(results map[string][]byte, _, _ [][]byte) []byte {
			block = slices.Clone(results[id])
			return nil
		})
	}
	return block
}

// rewrite writes a message into a file, with the results of the calls before it if it has
// others.
func (m *mender) rewrite(l *messageLog, one *loaded, to messageFile, asked []call, last bool) {
	name, moved := one.file.name, to.name != one.file.name
	rebuilt := one.broken && !moved || len(one.gains)+len(one.gave) > 0
	if !rebuilt && !moved && (one.counts || !last) {
		return
	}
	d := m.document(l, name)
	if d.Err != nil {
		m.cannot(l.path("messages", name), "it changes while it is read")
		return
	}
	p := jsontape.NewPatch(d.Tape)
	if rebuilt {
		at := effectiveNode(d.Tape)
		blocks := 0
		body := withContent(d.Tape.Raw(at), func(results map[string][]byte, others, _ [][]byte) []byte {
			answered := slices.DeleteFunc(slices.Clone(asked), func(c call) bool { return results[c.id] == nil && one.gains[c.id] == nil })
			for id, block := range one.gains {
				results[id] = block
			}
			if len(answered) > 0 {
				answered = asked
			}
			blocks = len(answered) + len(others)
			return rebuild(answered)(results, others, nil)
		})
		stay := slices.DeleteFunc(slices.Clone(asked), func(c call) bool { return !one.answering(c.id) })
		if len(one.results) > len(stay)+len(one.gave) {
			m.ask("%s: a tool result goes that the agent was told", name)
		}
		if blocks == 0 && !moved {
			m.setAside(name, "it has nothing but results of calls that are not before it")
			return
		}
		t, err := files.Parse(body)
		if err != nil {
			m.cannot(l.path("messages", name), "it cannot be written again: %v", err)
			return
		}
		p.Set(d.Tape.Find(at, "content"), t.Raw(t.Find(0, "content")))
		m.did(l.path("messages", name), "the results become those of the calls before")
	}
	if moved || last && !one.counts {
		p.Put(0, "message_id", []byte(to.number().String()))
	}
	switch {
	case moved:
		m.did(l.path("messages", to.name), "gets the message of %s, for a result to stand behind its call", name)
	case last && !one.counts:
		m.did(l.path("messages", name), "the message_id becomes %s: the SDK counts on from it", to.number())
	}
	m.made[to.name] = p.Bytes()
}

// effectiveNode returns the message in a file that counts.
func effectiveNode(t *jsontape.Tape) jsontape.Node {
	if n := t.Find(0, "redact_message"); n >= 0 && t.Kind(n) != jsontape.Null {
		return n
	}
	return t.Find(0, "message")
}
