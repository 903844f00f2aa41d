package codex

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// A fork is one rollout that has all records of the lineage up to the entry, as Codex would
// read them one part after the other. So it needs no other rollout, and is the rescue of a
// session that does.

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID7(as) }

// Fork implements chat.Forker.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) { return f.Join(c, c.Session.Path(c.To)) }

// Join implements chat.Joiner. Records stand in their order, and a turn goes with what begins and ends it.
func (f *format) Join(c chat.Cut, entries []*chat.Entry) (*chat.Fork, error) {
	lines, ids := flattenPath(c)
	lines = keepTurns(lines, c.Session.Path(c.To), entries)
	if len(lines) == 0 {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "the rollout has no header of a session: Codex would not open the new one"}
	}
	numbered := slices.ContainsFunc(lines, func(l line) bool { return l.Is.ordinal >= 0 })
	var data []byte
	bare, encrypted, written := false, 0, 0
	for i, l := range lines {
		raw, err := f.rawRecords(c.In, l.file, l.Span)
		if err != nil {
			return nil, err
		}
		t, err := jsontape.Parse(raw[0])
		if err == nil && t.Find(0, "payload") < 0 {
			bare = true
			t, err = jsontape.Parse(wrapRecord(t, l.Is, lines[0].Is.at))
		}
		if err != nil {
			return nil, err
		}
		if l.Is.is == typeItem && chat.ValueOf(t).Get("payload", "encrypted_content").Text() != "" {
			encrypted++
		}
		p := jsontape.NewPatch(t)
		if numbered {
			p.Put(0, "ordinal", fmt.Append(nil, written))
		}
		written++
		renameThread(p, t, c.ID, ids)
		if i == 0 {
			detachHeader(p, t)
		}
		data = append(append(data, p.Bytes()...), '\n')
		if l.alone {
			item := jsontape.NewPatch(t)
			item.Put(0, "type", []byte(`"`+typeItem+`"`))
			item.Put(0, "payload", itemFor(chat.ValueOf(t)))
			if numbered {
				item.Put(0, "ordinal", fmt.Append(nil, written))
			}
			written++
			data = append(append(data, item.Bytes()...), '\n')
		}
	}
	now := c.In.Now.Local()
	name := tree.Join(dayFolder(c.Session.Spot.File, now.Format("2006/01/02")), rolloutName(now, c.ID))
	made := &chat.Fork{
		Spot:   chat.Spot{File: name, ID: c.ID},
		Steps:  tree.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: %s of the session, under the new id", name, model.Count(len(lines), "record"))},
		Calls:  resumeCalls(c.Session, c.ID, "goes on from there in the new session"),
	}
	made.Hazards = lineageHazards(c)
	if len(made.Hazards) == 0 && c.To.Own.(*part).base != nil {
		made.Writes = append(made.Writes, "it stands by itself: it has what this session has in other rollouts")
	}
	if bare {
		made.Writes = append(made.Writes, "each record gets the envelope that Codex reads since 0.77")
	}
	if encrypted > 0 {
		made.Hazards = append(made.Hazards, fmt.Sprintf("%s of the model, encrypted for the account at %.40q: another one refuses them", model.Count(encrypted, "thought"), lines[0].Is.header.provider))
	}
	if !endsTurn(c) {
		made.Hazards = append(made.Hazards, "the fork ends inside a turn, which Codex takes for one that was broken off")
	}
	return made, nil
}

// FindRepeats implements chat.Editor. Events repeat items, and a compaction repeats its summary and the messages that it keeps.
func (f *format) FindRepeats(role chat.Role, own, r chat.Value, found func(place string, text chat.Value)) {
	is, body := openEnvelope(r)
	if is == typeEvent {
		is += ":" + body.Get("type").Text()
	}
	switch {
	case is == typeCompacted && r == own:
		found(is, body.Get("message"))
		for _, key := range []string{"user_messages", "assistant_messages"} {
			for m := range body.Get("retained_context", key).Each() {
				found(key, m.Get("text"))
			}
		}
	case is == eventUser && role == chat.User, is == eventAgent && role == chat.Assistant:
		found(is, body.Get("message"))
	case is == eventItem && role == itemRoles[body.Get("item", "type").Text()]:
		for part := range body.Get("item", "content").Each() {
			found(is, part.Get("text"))
		}
	case (is == eventEnded || is == eventTurnEnded) && role == chat.Assistant:
		found(is, body.Get("last_agent_message"))
	}
}

// itemFor returns the item of a message that an event alone has.
func itemFor(event chat.Value) []byte {
	m := itemOf(event)
	kind := map[chat.Role]string{chat.User: "input_text", chat.Assistant: "output_text"}[m.Role]
	item := []byte(`{"type":"message","role":"` + m.Role.String() + `","content":[`)
	for i, b := range m.Blocks {
		if i > 0 {
			item = append(item, ',')
		}
		if b.Kind == conversation.Text {
			item = append(append(append(item, `{"type":"`+kind+`","text":`...), b.Body...), '}')
		} else {
			item = append(item, b.Body...)
		}
	}
	return append(item, "]}"...)
}

// lineageHazards warns that a fork lacks history because of a broken lineage: it has only the history that
// Hindcast found.
func lineageHazards(c chat.Cut) (hazards []string) {
	way, first := c.Session.Path(c.To), c.To
	for p := c.To.Own.(*part); p != nil; p = p.base {
		if i := slices.IndexFunc(way, func(e *chat.Entry) bool { return e.Own == p }); i >= 0 {
			first = way[i]
		}
		text := "Codex refuses the history before #%d (%s): the fork has the part of it that exists"
		if p.base == nil {
			text = "the history before #%d is not there (%s): the fork begins without it"
		}
		if p.broken != "" {
			hazards = append(hazards, fmt.Sprintf(text, c.Session.At(first.ID), p.broken))
		}
	}
	return hazards
}

// place is where a record is: in which rollout, and from which byte.
type place struct {
	file string
	at   int64
}

// placeOf returns where the first record of an entry is.
func placeOf(e *chat.Entry) place { return place{e.File, e.Records[0].At} }

// line is a record of the new rollout, and the rollout that has it.
type line struct {
	*chat.Record[record]
	file string
	// alone says that it is an event with a message that no item has.
	alone bool
}

// flattenPath returns the records on the path to the entry and the records behind it that end its turn. It returns
// nil if the rollout has no header. The first record is the header of the newest part; the headers of other
// parts are left out. ids are the threads that the new thread replaces.
func flattenPath(c chat.Cut) (lines []line, ids map[string]bool) {
	type piece struct {
		*part
		end int64
	}
	last := c.To.Own.(*part)
	pieces := []piece{{last, endOfEntry(last, c.To)}}
	for p := last; p.base != nil; p = p.base {
		pieces = append(pieces, piece{p.base, p.from})
	}
	ids = map[string]bool{}
	for _, p := range pieces {
		if p.head != nil {
			ids[p.head.thread], ids[p.head.session] = true, true
		}
	}
	delete(ids, "")
	for i := range last.file.Records {
		if r := &last.file.Records[i]; r.Is.header != nil {
			lines = append(lines, line{r, last.name, false})
			break
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	on := map[place]bool{}
	for _, e := range c.Session.Path(c.To) {
		on[placeOf(e)] = true
	}
	left := func(l line) bool { return l.Is.isEntry() && !on[place{l.file, l.At}] }
	for _, p := range slices.Backward(pieces) {
		for i := range p.file.Records {
			switch r := &p.file.Records[i]; {
			case r.At >= p.end || r.Is.header != nil || r.Is.is == typeState:
			case r.Is.is == eventRolledBack:
				lines = rolledBack(lines, left)
			default:
				lines = append(lines, line{r, p.name, p.alone[r.At] && on[place{p.name, r.At}]})
			}
		}
	}
	return lines, ids
}

// rolledBack takes out the turns that a rollback took back: from the first record that left
// the way, and what began its turn.
func rolledBack(lines []line, left func(line) bool) []line {
	k := slices.IndexFunc(lines, left)
	if k < 0 {
		return lines
	}
	return lines[:beginningOf(lines, k)]
}

// beginningOf returns where the turn of a line begins: with the records before it that end no other turn.
func beginningOf(lines []line, k int) int {
	for k > 1 && !lines[k-1].Is.isEntry() && !closes[lines[k-1].Is.is] {
		k--
	}
	return k
}

// keepTurns takes out the lines of the entries of a way that are not kept.
func keepTurns(lines []line, way, kept []*chat.Entry) []line {
	if len(way) == len(kept) {
		return lines
	}
	entries := map[place]*chat.Entry{}
	for _, e := range way {
		entries[placeOf(e)] = e
	}
	var list []line
	from, leaves := 0, false
	for k := range lines {
		e := entries[place{lines[k].file, lines[k].At}]
		if e == nil || slices.Contains(kept, e) != leaves {
			continue
		}
		at := beginningOf(lines, k)
		if !leaves {
			list = append(list, lines[from:at]...)
		}
		from, leaves = at, !leaves
	}
	if !leaves {
		list = append(list, lines[from:]...)
	}
	return list
}

// wrapRecord puts a record of 0.20 into the envelope of later versions. Later headers name a folder, which 0.20 did
// not record.
func wrapRecord(t *jsontape.Tape, is record, at time.Time) []byte {
	p := jsontape.NewPatch(t)
	for _, member := range [][2]string{{"cwd", "/"}, {"originator", "codex_cli_rs"}, {"cli_version", "0.20.0"}} {
		if is.header != nil && t.Find(0, member[0]) < 0 {
			p.Put(0, member[0], jsontape.AppendQuoted(nil, member[1]))
		}
	}
	return fmt.Appendf(nil, `{"timestamp":%q,"type":%q,"payload":%s}`, at.UTC().Format(chat.Milliseconds), is.is, p.Bytes())
}

// closes are the records behind an item that belong to it, or end its turn.
var closes = map[string]bool{typeUsage: true, eventTokens: true, eventEnded: true, eventTurnEnded: true, eventAborted: true}

// endOfEntry returns where in a part the records end that an entry needs.
func endOfEntry(p *part, e *chat.Entry) int64 {
	end := e.Records[0].At + 1
	for i := range p.file.Records {
		switch r := &p.file.Records[i]; {
		case r.At < end:
		case closes[r.Is.is]:
			end = r.At + 1
		default:
			return end
		}
	}
	return end
}

// endsTurn reports whether an entry is the last of its turn, or an answer to a tool call: Codex
// goes on from there. Before there were events of turns, the next one begins with the user's
// words.
func endsTurn(c chat.Cut) bool {
	if len(c.To.Said.Results) > 0 || c.To.Event == eventCompaction {
		return true
	}
	for _, r := range c.To.Own.(*part).file.Records {
		switch is := r.Is.is; {
		case r.At <= c.To.Records[0].At:
		case is == eventStarted, is == eventTurnStarted, closes[is] && is != typeUsage && is != eventTokens:
			return true
		case r.Is.isEntry():
			return r.Is.said.Role == chat.User && !r.Is.injected && !c.To.GoesOn
		}
	}
	return true
}

// renameThread puts the new id where a member of the record names the thread, and nowhere else:
// the user's words may have the old one.
func renameThread(p *jsontape.Patch, t *jsontape.Tape, id string, ids map[string]bool) {
	named := func(n jsontape.Node) bool { return t.Kind(n) == jsontape.String && ids[t.Text(n)] }
	for n := range jsontape.Node(t.Len()) {
		if key := t.Key(n); (key == "session_id" || strings.HasSuffix(key, "thread_id")) && named(n) {
			p.Set(n, jsontape.AppendQuoted(nil, id))
		}
	}
	if n := t.Find(t.Find(0, "payload"), "id"); named(n) {
		p.Set(n, jsontape.AppendQuoted(nil, id))
	}
}

// depends are the members of a header that make a rollout depend on others, and ofSubAgent
// those that only the header of a sub-agent has.
var (
	depends    = []string{"history_base", "forked_from_id", "forked_from_ordinal_exclusive", "subagent_history_start_ordinal"}
	ofSubAgent = []string{"parent_thread_id", "thread_source", "agent_nickname", "agent_role", "agent_path"}
)

// detachHeader takes out of a header what makes the session depend on others.
func detachHeader(p *jsontape.Patch, t *jsontape.Tape) {
	body := t.Find(0, "payload")
	keys := depends
	if source := t.Find(body, "source"); t.Kind(source) == jsontape.Object {
		p.Set(source, []byte(`"cli"`))
		keys = slices.Concat(depends, ofSubAgent)
	}
	gone := map[jsontape.Node]bool{}
	for _, key := range keys {
		gone[t.Find(body, key)] = true
	}
	p.Remove(body, func(n jsontape.Node) bool { return gone[n] })
}

var ofDay = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(|.*/)\d{4}/\d\d/\d\d$`) })

// dayFolder returns the folder of a new rollout: today's, if the rollout lies in a folder of a day, else the
// rollout's own.
func dayFolder(file, today string) string {
	dir := path.Dir(file)
	if m := ofDay().FindStringSubmatch(dir); m != nil {
		return path.Join(m[1], today)
	}
	if dir == archived {
		return path.Join(live, today)
	}
	return dir
}
