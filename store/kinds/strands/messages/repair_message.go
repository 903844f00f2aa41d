package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// round is one look at the log as it will be, and what to do about it.
type round struct {
	*mender
	log  *messageLog
	jobs []func()
	// seen are the messages that are loaded, as far as their neighbours need them.
	seen []seenMessage
}

// seenMessage is what a mender needs of the neighbours of a message.
type seenMessage struct {
	name, role string
	calls      []call
	results    []result
}

// look goes through the log, returns the fatal faults, and collects what mends those of
// the messages.
func (r *round) look(ctx context.Context) (list []model.Fault, err error) {
	l := r.log
	in := newInspector(l)
	var before, asked []call // of the message before, and of it if it stays
	err = l.walk(ctx, func(s *step) error {
		in.see(s)
		if l.evicted(s.i) {
			return nil
		}
		m := s.msg
		calls, name := before, m.name
		before = slices.Clone(m.calls)
		r.seen = append(r.seen, seenMessage{name, m.role, before, slices.Clone(m.results)})
		if i := slices.IndexFunc(m.flaws, func(f flaw) bool { return r.fatal(f, s.stand) }); i >= 0 {
			f := m.flaws[i]
			r.jobs = append(r.jobs, func() { r.flaw(name, f, calls) })
			asked = nil
			return nil
		}
		if !r.pair(m, s.fixes, asked) {
			r.number(s)
		}
		asked = before
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, f := range in.faults() {
		if f.Severity >= fatal {
			list = append(list, f)
		}
	}
	return list, nil
}

// fatal reports whether a flaw of a message is one that is mended.
func (r *round) fatal(f flaw, at stand) bool {
	severity, _ := r.log.sdk().Judge(f.judged(at))
	return severity >= fatal
}

// pair mends the tool results of a message, and reports whether it has to.
func (r *round) pair(m *message, fixes []fix, asked []call) bool {
	name := m.name
	for _, f := range fixes {
		if !r.fatal(f.flaw, stand{}) {
			continue
		}
		meaning := f.meaning
		switch {
		case (f.code == FaultOrphanResult || f.code == FaultLeadingResult) && m.others == 0:
			r.jobs = append(r.jobs, func() {
				r.setAside(name, meaning+", and the message has nothing else")
				r.ask("%s: a tool result goes that the agent was told; the newest SDKs leave it out in memory", name)
			})
		case f.code == FaultOrphanResult || f.code == FaultLeadingResult:
			r.jobs = append(r.jobs, func() { r.content(name, meaning+": it goes", keepOthers) })
		default:
			r.jobs = append(r.jobs, func() { r.content(name, meaning+": the results become those of the calls", rebuild(asked)) })
		}
		return true
	}
	if len(fixes) > 0 {
		return false // it is mended in memory, by every SDK
	}
	if twice, ok := m.duplicate(); ok {
		words := fmt.Sprintf("there are two results of %.60q: the results become those of the calls", twice.id)
		r.jobs = append(r.jobs, func() { r.content(name, words, rebuild(asked)) })
		return true
	}
	return false
}

// number mends the number by which the SDK counts on.
func (r *round) number(s *step) {
	l, m := r.log, s.msg
	n, ok := l.files[s.i].int64()
	if s.i != len(l.files)-1 || l.agent.missing || !ok || m.hasID && m.messageID >= n {
		return
	}
	name := m.name
	was := "no integer"
	if m.hasID {
		was = fmt.Sprint(m.messageID)
	}
	r.jobs = append(r.jobs, func() {
		d := r.document(name)
		if d.Err != nil {
			return
		}
		p := jsontape.NewPatch(d.Tape)
		p.Put(0, "message_id", fmt.Append(nil, n))
		r.write(name, p.Bytes(), "the message_id becomes %d, and was %s: the SDK counts on from it", n, was)
	})
}

// document reads a message file as it will be.
func (r *round) document(name string) files.Document {
	reads := tree.From(r.log.tree)
	if data, ok := r.made[name]; ok { // since the round began, too
		reads = func(string, []byte) ([]byte, error) { return slices.Clone(data), nil }
	}
	return files.ReadDocument(reads, r.log.dir+name, nil)
}

// effectiveNode returns the message in a file that counts.
func effectiveNode(t *jsontape.Tape) jsontape.Node {
	if n := t.Find(0, "redact_message"); n >= 0 && t.Kind(n) != jsontape.Null {
		return n
	}
	return t.Find(0, "message")
}

// content gives a message other blocks.
func (r *round) content(name, words string, makes func(results map[string][]byte, others, all [][]byte) []byte) {
	d := r.document(name)
	if d.Err != nil {
		return
	}
	m := effectiveNode(d.Tape)
	body := withContent(d.Tape.Raw(m), makes)
	t, err := files.Parse(body)
	if err != nil {
		return
	}
	p := jsontape.NewPatch(d.Tape)
	p.Set(d.Tape.Find(m, "content"), t.Raw(t.Find(0, "content")))
	r.write(name, p.Bytes(), "%s", words)
	r.ask("%s: a tool result goes that the agent was told", name)
}

// flaw mends a message file that cannot be loaded, behind a message with those calls. A
// writer that is killed, or a machine that loses its power, leaves a file that breaks
// off: what stands before the break stays. Any other damage takes the message away.
func (r *round) flaw(name string, f flaw, calls []call) {
	d := r.document(name)
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case d.Err == nil:
		r.gone(name, f.meaning, calls)
	case !errors.As(d.Err, &syntax):
		r.unreadable(r.log.path("messages", name), d.Err)
	case !r.salvage(name, d.Data, d.Err):
		r.gone(name, fmt.Sprintf("no message can be read of it: %v", d.Err), calls)
	}
}

// gone takes a message away. Where it stood for the results of calls that are nowhere
// else, errors take its place, as the SDK puts them in memory.
func (r *round) gone(name, reason string, calls []call) {
	r.ask("%s: the message goes", name)
	elsewhere := func(c call) bool {
		k := r.stray(c.id)
		return k >= 0 && r.seen[k].name != name
	}
	number, ok := fileOf(name)
	if len(calls) == 0 || !ok || slices.ContainsFunc(calls, elsewhere) {
		r.setAside(name, reason)
		return
	}
	errs := appendErrors([]byte(`{"role":"user","content":[`), calls)
	r.write(name, fmt.Appendf(nil, `{"message": %s, "message_id": %s}`, errs, number.number()), "errors take its place for the tool calls before it: %s", reason)
}

// salvage writes what can be read of a message file that does not parse, without a tool
// call that has no end, as its arguments are not known. It reports whether anything can
// be.
func (r *round) salvage(name string, data []byte, cause error) bool {
	whole, cut, ok := readable(data)
	number, numbered := fileOf(name)
	if !ok || !numbered {
		return false
	}
	t, err := files.Parse(whole)
	if err != nil || t.Kind(0) != jsontape.Object {
		return false
	}
	m := effectiveNode(t)
	content := t.Find(m, "content")
	if t.Find(m, "role") < 0 || t.Kind(content) != jsontape.Array {
		return false
	}
	half := func(b jsontape.Node) bool {
		_, end := t.Span(b)
		return end > cut && t.Find(b, "text") < 0 && t.Find(b, "toolResult") < 0
	}
	left := 0
	for b := t.First(content); b >= 0; b = t.Next(b) {
		if !half(b) {
			left++
		}
	}
	if left == 0 {
		return false
	}
	p := jsontape.NewPatch(t)
	p.Remove(content, half)
	if t.Find(0, "message_id") < 0 {
		p.Put(0, "message_id", []byte(number.number().String()))
	}
	words := "what stands before the break stays"
	if _, end := t.Span(m); end <= cut {
		words = "the message stays, and what follows it goes"
	} else {
		r.ask("%s: the end of the message is missing, and what stands before that stays", name)
	}
	r.write(name, p.Bytes(), "%s (%v)", words, cause)
	return true
}
