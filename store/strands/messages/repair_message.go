package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
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

// look goes through the log, gives the fatal faults, and collects what mends those of
// the messages.
func (r *round) look(ctx context.Context) (list []model.Fault, err error) {
	l := r.log
	in := newInspector(l)
	var asked []call // of the message before that stays
	err = l.walk(ctx, func(s *step) error {
		in.see(s)
		if l.evicted(s.i) {
			return nil
		}
		m := s.msg
		r.seen = append(r.seen, seenMessage{m.name, m.role, slices.Clone(m.calls), slices.Clone(m.results)})
		at := len(r.seen) - 1
		if i := slices.IndexFunc(m.flaws, func(f flaw) bool { return r.fatal(f, s.stand) }); i >= 0 {
			f := m.flaws[i]
			r.jobs = append(r.jobs, func() { r.flaw(at, f) })
			asked = nil
			return nil
		}
		if !r.pair(at, m, s.fixes, asked) {
			r.number(s)
		}
		asked = slices.Clone(m.calls)
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
func (r *round) pair(at int, m *message, fixes []fix, asked []call) bool {
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
		r.jobs = append(r.jobs, func() {
			r.lastResults(name, twice.id)
		})
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
	return files.ReadDocument(func(name string, buf []byte) ([]byte, error) {
		data, _, err := r.log.folder.ReadStamped(name, buf)
		return data, err
	}, name, nil)
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

// lastResults takes those results out of a message after which there is another one
// of the same call.
func (r *round) lastResults(name, id string) {
	d := r.document(name)
	if d.Err != nil {
		return
	}
	t := d.Tape
	content := t.Find(effectiveNode(t), "content")
	last := make(map[string]jsontape.Node)
	idOf := func(b jsontape.Node) (string, bool) {
		res := t.Find(b, "toolResult")
		if res < 0 {
			return "", false
		}
		return identity(t, t.Find(res, "toolUseId")), true
	}
	for b := t.First(content); b >= 0; b = t.Next(b) {
		if id, ok := idOf(b); ok {
			last[id] = b
		}
	}
	p := jsontape.NewPatch(t)
	p.Remove(content, func(b jsontape.Node) bool {
		id, ok := idOf(b)
		return ok && last[id] != b
	})
	r.write(name, p.Bytes(), "the last result of %.60q stays, and the others go", id)
	r.ask("%s: a second result of a tool call goes that the agent was told", name)
}

// flaw mends a message file that cannot be loaded.
func (r *round) flaw(at int, f flaw) {
	name := r.seen[at].name
	d := r.document(name)
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case errors.As(d.Err, &syntax):
		r.salvage(at, d.Data, d.Err)
	case d.Err != nil:
		r.unreadable(r.log.path("messages", name), d.Err)
	case f.code == FaultMessageShape:
		r.shape(at, &d)
	default:
		if data, words := mendText(&d); words != "" {
			r.write(name, data, "%s", words)
			if f.code != FaultEncoding {
				r.ask("%s: %s", name, words)
			}
		}
	}
}

// salvage saves what can be read of a message file.
func (r *round) salvage(at int, data []byte, cause error) {
	name := r.seen[at].name
	whole, cut, ok := readable(data)
	if ok {
		t, err := files.Parse(whole)
		if err == nil && t.Kind(0) == jsontape.Object {
			if r.save(name, t, cut, cause) {
				return
			}
		}
	}
	r.gone(at, fmt.Sprintf("no message can be read of it: %v", cause))
}

// gone takes a message away of which nothing can be saved. Where it stood for the results
// of calls that are nowhere else, errors take its place, as the SDK puts them in memory.
func (r *round) gone(at int, reason string) {
	name := r.seen[at].name
	r.ask("%s: the message goes", name)
	var calls []call
	if at > 0 {
		calls = r.seen[at-1].calls
	}
	elsewhere := func(c call) bool {
		k := r.stray(c.id)
		return k >= 0 && k != at
	}
	number, ok := fileOf(name)
	if len(calls) == 0 || !ok || slices.ContainsFunc(calls, elsewhere) {
		r.setAside(name, reason)
		return
	}
	errs := appendErrors([]byte(`{"role":"user","content":[`), calls)
	r.write(name, fmt.Appendf(nil, `{"message": %s, "message_id": %s}`, errs, number.number()), "errors take its place for the tool calls before it: %s", reason)
}

// save writes what was read of a message, without a tool call that has no end: nobody
// knows its arguments. It reports whether there is anything.
func (r *round) save(name string, t *jsontape.Tape, cut int, cause error) bool {
	m := effectiveNode(t)
	content := t.Find(m, "content")
	p := jsontape.NewPatch(t)
	left := 0
	half := func(b jsontape.Node) bool {
		_, end := t.Span(b)
		return end > cut && t.Find(b, "text") < 0 && t.Find(b, "toolResult") < 0
	}
	for b := t.First(max(0, content)); content >= 0 && b >= 0; b = t.Next(b) {
		if !half(b) {
			left++
		}
	}
	if t.Kind(content) == jsontape.String && t.Count(content) == 0 && len(t.Raw(content)) > len(`""`) {
		left++
	}
	if left == 0 {
		return false
	}
	p.Remove(content, half)
	data := p.Bytes()
	words := "what stands before the break stays"
	if _, end := t.Span(m); end <= cut {
		words = "the message stays, and what follows it goes"
	} else {
		r.ask("%s: the end of the message is missing, and what stands before that stays", name)
	}
	r.write(name, data, "%s (%v)", words, cause)
	return true
}

// shape adds what a message lacks.
func (r *round) shape(at int, d *files.Document) {
	name, t := r.seen[at].name, d.Tape
	p := jsontape.NewPatch(t)
	gone := func(reason string) { r.gone(at, reason) }
	if t.Kind(0) != jsontape.Object {
		gone("the file holds no object")
		return
	}
	number, _ := fileOf(name)
	if t.Find(0, "message") < 0 {
		if t.Find(0, "role") < 0 || t.Find(0, "content") < 0 {
			gone("there is no message in the file")
			return
		}
		r.write(name, fmt.Appendf(nil, `{"message": %s, "message_id": %s}`, t.Raw(0), number.number()), "the message gets what is around it in a file of the SDK")
		return
	}
	if t.Find(0, "message_id") < 0 {
		p.Put(0, "message_id", []byte(number.number().String()))
		r.write(name, p.Bytes(), "gets the message_id %s, which its name has", number.number())
		return
	}
	m := effectiveNode(t)
	content := t.Find(m, "content")
	var words []string
	switch {
	case t.Kind(m) != jsontape.Object:
		gone("the message is no object")
		return
	case t.Kind(content) == jsontape.Object && t.Find(content, "toolUse") >= 0:
		gone("its content is a tool call, and none of the list that an SDK runs")
		return
	case t.Kind(content) == jsontape.Object:
		p.Set(content, slices.Concat([]byte("["), t.Raw(content), []byte("]")))
		words = append(words, "the content becomes a list of the one block that it is")
	case t.Kind(content) == jsontape.String && t.Text(content) != "":
		p.Set(content, fmt.Appendf(nil, `[{"text": %s}]`, t.Raw(content)))
		words = append(words, "the content becomes a list of the one text that it is")
	case t.Kind(content) != jsontape.Array && t.Kind(content) != jsontape.String:
		gone("the message has no content")
		return
	}
	if t.Find(m, "role") < 0 {
		role := r.roleOf(at, t, content)
		p.Put(m, "role", jsontape.AppendQuoted(nil, role))
		words = append(words, "gets the role "+role)
	}
	left, mended := r.blocks(at, t, p, content)
	if t.Kind(content) == jsontape.Array && left == 0 && t.Count(content) > 0 {
		gone("no block of the message can be loaded")
		return
	}
	if words = append(words, mended...); len(words) == 0 {
		gone("nothing of the message can be loaded")
		return
	}
	r.write(name, p.Bytes(), "%s", strings.Join(words, "; "))
}

// roleOf works out who said something: who calls tools is the assistant, who has
// their results the user; else it is the turn of whoever did not speak before.
func (r *round) roleOf(at int, t *jsontape.Tape, content jsontape.Node) string {
	for b := t.First(content); t.Kind(content) == jsontape.Array && b >= 0; b = t.Next(b) {
		switch {
		case t.Find(b, "toolUse") >= 0:
			return "assistant"
		case t.Find(b, "toolResult") >= 0:
			return "user"
		}
	}
	if at > 0 && r.seen[at-1].role == "user" {
		return "assistant"
	}
	return "user"
}

// blocks mends the blocks of a message: one that is none goes, and a tool call or a
// result without an id gets that of its partner, if there is no doubt which that is.
// It gives how many blocks are left.
func (r *round) blocks(at int, t *jsontape.Tape, p *jsontape.Patch, content jsontape.Node) (left int, words []string) {
	if t.Kind(content) != jsontape.Array {
		return 0, nil
	}
	name := r.seen[at].name
	var nameless []jsontape.Node // calls or results without an id
	goes := make(map[jsontape.Node]bool)
	kind := ""
	for b := t.First(content); b >= 0; b = t.Next(b) {
		switch t.Kind(b) {
		case jsontape.Object, jsontape.String, jsontape.Array:
		default:
			goes[b] = true
			words = append(words, fmt.Sprintf("a block that is %s goes", t.Kind(b)))
			continue
		}
		for _, k := range []string{"toolUse", "toolResult"} {
			if n := t.Find(b, k); n >= 0 && !hasIdentity(t, t.Find(n, "toolUseId")) {
				nameless, kind = append(nameless, b), k
			}
		}
	}
	ids := r.partners(at, kind)
	for i, b := range nameless {
		n := t.Find(b, kind)
		if len(ids) == len(nameless) && t.Kind(n) == jsontape.Object {
			p.Put(n, "toolUseId", jsontape.AppendQuoted(nil, ids[i]))
			words = append(words, fmt.Sprintf("a %s gets the id %.60q of its partner", kind, ids[i]))
			continue
		}
		goes[b] = true
		words = append(words, fmt.Sprintf("a %s without an id goes", kind))
		r.ask("%s: a %s without an id goes, and nobody knows where it belongs", name, kind)
	}
	p.Remove(content, func(b jsontape.Node) bool { return goes[b] })
	return t.Count(content) - len(goes), words
}

// partners returns the ids that a neighbour of a message has and the message lacks.
func (r *round) partners(at int, kind string) (ids []string) {
	own := r.seen[at]
	switch {
	case kind == "toolUse" && at+1 < len(r.seen):
		for _, res := range r.seen[at+1].results {
			if !slices.ContainsFunc(own.calls, func(c call) bool { return c.id == res.id }) {
				ids = append(ids, res.id)
			}
		}
	case kind == "toolResult" && at > 0:
		for _, c := range r.seen[at-1].calls {
			if !slices.ContainsFunc(own.results, func(r result) bool { return r.id == c.id }) {
				ids = append(ids, c.id)
			}
		}
	}
	return ids
}
