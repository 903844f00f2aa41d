package opencode

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
)

// Codes of faults.
const (
	// FaultMessage: the record of a message or of a part is no JSON object.
	FaultMessage = "damaged-message"
	// FaultRevert: a revert waits for the next prompt, which deletes what is behind it.
	FaultRevert = "revert-pending"
	// FaultDeleted: messages were deleted that the log of events still has.
	FaultDeleted = "deleted-messages"
	// FaultStray: rows belong to a message or a session that has no row.
	FaultStray = "stray-rows"
)

// found is a message with where its records are, and what became of it.
type found struct {
	stored
	origin origin
	// name tells versions of one message apart.
	name string
	// after is the previous message, for a message without a row.
	after string
	// gone is the reason why the message is off the path, or nil. why is the reason in words.
	gone *model.Reason
	why  string
}

// build makes a session of messages.
type build struct {
	session *chat.Session
	info    info
	list    []found // by time and id
	// revert and revertPart are the message and the part that a pending revert names; the part may be "".
	revert, revertPart string
	// logged are the messages whose rows the log of events has, too, by their ids.
	logged  map[string]bool
	unknown map[string]int
}

// makeEntries makes the entries.
func (b *build) makeEntries() {
	s := b.session
	s.Title, s.Project = b.info.typedTitle(), b.info.Get("directory").Text()
	s.Own = b.info
	b.cutReverted()
	metas := map[chat.Meta]*chat.Meta{}
	before := "" // the message on the path
	deleted := 0
	for i := range b.list {
		m := &b.list[i]
		e := b.newEntry(m, metas)
		switch {
		case m.gone == nil:
			e.Parent, before = before, e.ID
			s.Head = i
		case m.after != "":
			e.Parent = m.after
		case s.Head >= 0 && b.list[s.Head].id == m.id: // another version of it
			e.Parent = s.Entries[s.Head].Parent
		default:
			e.Parent = before
		}
		if m.origin.seqs != nil && m.gone.Kind == model.ReasonRewind {
			deleted++
		}
		e.Unsent = !m.isSent()
		s.Entries = append(s.Entries, e)
		b.addCompaction(i, m)
	}
	s.SkipUnsent()
	b.noteTotals()
	if deleted > 0 {
		b.session.Fault(FaultDeleted, model.Note, "", fmt.Sprintf("%s without a row: the log of events keeps what opencode deleted", model.Count(deleted, "message")), "opencode no longer shows them")
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(s.Spot.Name(), b.unknown)...)
}

// noteTotals notes at the head what opencode counted for the session: the tokens of the cache are
// beside those that it read, in a row and in an export.
func (b *build) noteTotals() {
	if b.session.Head < 0 {
		return
	}
	tokens := b.info.Get("tokens")
	b.session.Entries[b.session.Head].Facts.Count(model.Counted{
		Read: tokens.Get("input").Number(), FromCache: cmp.Or(tokens.Get("cache_read"), tokens.Get("cache", "read")).Number(),
		Written: tokens.Get("output").Number(), Dollars: b.info.Get("cost").Number(),
	})
}

// cutReverted takes what a pending revert names off the path.
func (b *build) cutReverted() {
	if b.revert == "" {
		return
	}
	first := slices.IndexFunc(b.list, func(m found) bool { return m.id == b.revert && m.gone == nil })
	if first < 0 {
		b.session.Fault(FaultRevert, model.Odd, "session.revert", "a revert is pending to a message that is not there", "opencode deletes nothing")
		return
	}
	b.session.Pointed = true
	before := ""
	for i := range b.list[:first] {
		if b.list[i].gone == nil {
			before = b.list[i].entryID()
		}
	}
	if m := &b.list[first]; b.revertPart != "" {
		if at := slices.IndexFunc(m.parts, func(p part) bool { return p.id == b.revertPart }); at >= 0 {
			kept := *m
			kept.parts, kept.origin.upto = m.parts[:at], b.revertPart
			m.name, m.after = m.id+"@revert", before
			b.list = slices.Insert(b.list, first, kept)
		} else { // the message stays whole
			before = m.entryID()
		}
		first++
	}
	why := &model.Reason{Kind: model.ReasonRewind, TargetID: before}
	n, last, end, logged := 0, "", 0, true
	for i := first; i < len(b.list); i++ {
		m := &b.list[i]
		if m.gone != nil {
			continue
		}
		if m.after == "" && last != "" {
			m.after = last
		}
		m.gone, m.why, last, end = why, "pending: the next prompt deletes it", m.entryID(), i
		logged = logged && b.logged[m.id]
		n++
	}
	f := b.session.Fault(FaultRevert, model.Odd, "session.revert", fmt.Sprintf("a revert of %s is pending", model.Count(n, "message")), "opencode deletes the rows at the next prompt; the log of events keeps them")
	switch at := &b.session.Spot; {
	case strings.HasPrefix(at.File, storage+"/"):
		f.Severity, f.Verdict = model.Loses, "opencode deletes the files at the next prompt, and nothing else has them; a fork keeps them when a later opencode has taken the session in"
	case at.Part != "" && !logged: // what an export has is logged when it is imported
		f.Severity, f.Verdict = model.Loses, fmt.Sprintf("opencode deletes the rows at the next prompt, and nothing else has them: a fork at #%d is a copy that stays", end)
		f.Copy = last
	}
}

func (m *found) entryID() string { return cmp.Or(m.name, m.id) }

// newEntry returns the entry of a message.
func (b *build) newEntry(m *found, metas map[chat.Meta]*chat.Meta) chat.Entry {
	info, err := chat.Parse(m.info)
	list := m.sentMessages()
	own := m.origin // without the texts of the message, which the session does not keep
	e := chat.Entry{ID: m.entryID(), Said: wholeSaid(list), Reason: m.gone, Records: m.origin.spans, Version: m.versionKey(), Own: &own}
	e.At = info.Get("time", "completed").Milliseconds()
	if e.At.IsZero() && m.created > 0 {
		e.At = time.UnixMilli(m.created).UTC()
	}
	if err != nil || info.Kind() != jsontape.Object {
		e.Marks |= model.MarkDamaged
		b.session.Fault(FaultMessage, model.Loses, m.id, "the message has no record that can be read", agent.Passes)
	}
	b.readParts(m, &e)
	silent := e.Said.Words == "" && len(e.Said.Calls) == 0
	if why := failureText(info); why != "" {
		e.Marks |= model.MarkError
		if len(e.Said.Calls) == 0 {
			e.Title = strings.TrimPrefix(e.Said.Words+": "+why, ": ")
		}
	} else if silent && e.Said.Role == chat.Assistant && info.There() && !info.Get("time", "completed").There() {
		e.Title = "(unfinished)"
	}
	if isSummary(info) {
		e.Event = "compaction"
	}
	meta := chat.Meta{
		Model: cmp.Or(info.Get("modelID").Text(), info.Get("model", "modelID").Text()),
		Dir:   cmp.Or(info.Get("path", "cwd").Text(), b.info.Get("directory").Text()),
		Mode:  cmp.Or(info.Get("agent").Text(), info.Get("mode").Text()), Version: b.info.Get("version").Text(),
	}
	if metas[meta] == nil {
		metas[meta] = &meta
	}
	e.Meta = metas[meta]
	label := "reverted"
	if m.gone != nil && m.gone.Kind == model.ReasonOverwritten {
		label = "replaced"
	}
	e.Facts.Add(label, m.why)
	e.Facts.Add("provider", cmp.Or(info.Get("providerID").Text(), info.Get("model", "providerID").Text()))
	return e
}

// readParts reads more facts of a message from its parts. Its first words skip the text that opencode put before
// the user's.
func (b *build) readParts(m *found, e *chat.Entry) {
	var typed []chat.Block
	open := map[string]bool{}
	for i := range m.parts {
		v, err := chat.Parse(m.parts[i].data)
		if err != nil || v.Kind() != jsontape.Object {
			e.Marks |= model.MarkDamaged
			b.session.Fault(FaultMessage, model.Loses, m.parts[i].id, "the part has no record that can be read", agent.Passes)
			continue
		}
		kind := v.Get("type").Text()
		if !known[kind] {
			b.unknown[kind]++
		}
		if kind == typeText && !v.Get("synthetic").True() && !v.Get("ignored").True() {
			typed = append(typed, chat.TextBlock(v.Get("text").Raw()))
		}
		if kind != typeTool {
			continue
		}
		state := v.Get("state")
		if isCleared(state) {
			e.Marks |= model.MarkRedacted
			e.Facts.Add("cleared for the model", v.Get("tool").Words())
		}
		if isOpen(state) {
			e.Facts.Add("without a result", v.Get("tool").Words())
			open[v.Get("callID").Text()] = true
		}
		own := e.Own.(*origin)
		if child := state.Get("metadata", "sessionId").Text(); child != "" && !slices.Contains(own.started, child) {
			own.started = append(own.started, child)
		}
	}
	if first := (&chat.Message{Role: e.Said.Role, Blocks: typed}).Summarise(); first.Words != "" {
		e.Said.Words, e.Said.By, e.Said.Aside = first.Words, first.By, first.Aside
	}
	if len(open) > 0 {
		hideUnfinished(e, open)
	}
}

// hideUnfinished has the timeline show an entry without what opencode tells the model of tools that
// have not ended: they may run still.
func hideUnfinished(e *chat.Entry, open map[string]bool) {
	ended := e.Said
	ended.Results = slices.DeleteFunc(slices.Clone(ended.Results), func(r chat.Result) bool { return open[r.ID] })
	e.Title, _ = ended.Title(nil, "")
	e.Event = "unfinished"
	for i := range e.Said.Results {
		r := &e.Said.Results[i]
		r.Failed = r.Failed && !open[r.ID]
	}
}

// versionKey tells contents of one id apart: a message changes as long as it is written.
func (m *found) versionKey() string {
	texts := [][]byte{m.info}
	for i := range m.parts {
		texts = append(texts, m.parts[i].data)
	}
	return chat.Sum(texts)
}

// isSummary reports whether a message is the summary of a compaction that was completed.
func isSummary(info chat.Value) bool {
	return info.Get("role").Text() == "assistant" && info.Get("summary").True() && info.Get("finish").There() && failureText(info) == ""
}

// addCompaction sets the messages that the model reads after a compaction: the request for it, the summary, and the
// messages before from tail_start_id on. The files of 0.x may lack the request; a version with a database then
// reads all messages.
func (b *build) addCompaction(at int, m *found) {
	s := b.session
	info, _ := chat.Parse(m.info)
	if m.stands {
		s.Entries[at].Event, s.Entries[at].Context = "compaction", s.SentEntries([]int{at})
	}
	if !isSummary(info) {
		return
	}
	var way []int // from the summary back
	for i := at; i >= 0; i = s.At(s.Entries[i].Parent) {
		way = append(way, i)
	}
	asked, tail, context := info.Get("parentID").Text(), "", []int{at}
	to := slices.IndexFunc(way, func(i int) bool {
		if b.list[i].id != asked {
			return false
		}
		var is bool
		tail, is = b.list[i].asksCompaction()
		return is
	})
	if to >= 0 {
		context = slices.Clone(way[:to+1])
		slices.Reverse(context)
		if k := slices.IndexFunc(way, func(i int) bool { return tail != "" && b.list[i].id == tail }); k > to {
			kept := slices.Clone(way[to+1 : k+1])
			slices.Reverse(kept)
			context = append(context, kept...)
		}
	} else if s.Spot.Part != "" {
		return
	}
	s.Entries[at].Context = s.SentEntries(context)
}

// asksCompaction reports whether a message asks for a compaction. tail is the first message that is kept, "" if
// the message keeps no others.
func (m *found) asksCompaction() (tail string, is bool) {
	for i := range m.parts {
		if v, err := chat.Parse(m.parts[i].data); err == nil && v.Get("type").Text() == typeCompaction {
			return v.Get("tail_start_id").Text(), true
		}
	}
	return "", false
}

// readFile reads a session of a file: an export with its messages, or the record of one of 0.x.
func (b *build) readFile(in engine.In) error {
	at := &b.session.Spot
	data, _, err := in.Read(at.File, nil)
	if err != nil {
		return err
	}
	whole, err := chat.Parse(data)
	if b.info = infoOf(whole); err != nil || !b.info.There() {
		b.session.Fault(FaultMessage, model.Stops, "", "the file is no record of a session", agent.Passes)
	}
	b.reverts(b.info.Get("revert"))
	if list := whole.Get("messages"); list.Kind() == jsontape.Array {
		for v := range list.Each() {
			one := ofExport(v)
			b.list = append(b.list, found{stored: one, origin: origin{id: one.id, spans: []chat.Span{v.Span()}}})
		}
	}
	if !strings.HasPrefix(at.File, storage+"/") {
		return nil
	}
	session := path.Base(at.ID)
	names, _ := in.List(storage + "/message/" + session) // there may be none
	slices.Sort(names)
	var untimed []found // a torn file tells no time
	for _, name := range names {
		id, is := strings.CutSuffix(path.Join(session, name), ".json")
		if !is {
			continue
		}
		one, err := ofFiles(in, id)
		if err != nil {
			return err
		}
		m := found{stored: one, origin: origin{id: id}}
		if one.created == 0 {
			untimed = append(untimed, m)
			continue
		}
		b.list = append(b.list, m)
	}
	b.sortMessages()
	for _, m := range untimed { // behind the one before it by id: ids are made in order
		at := 0
		for i := range b.list {
			if is := b.list[i].id; is < m.id && (at == 0 || is > b.list[at-1].id) {
				at = i + 1
			}
		}
		b.list = slices.Insert(b.list, at, m)
	}
	return nil
}

// ofExport returns a message of an export.
func ofExport(v chat.Value) (m stored) {
	m.info = v.Get("info").Raw()
	m.learnRecord()
	for p := range v.Get("parts").Each() {
		m.parts = append(m.parts, part{p.Get("id").Text(), p.Raw()})
	}
	return m
}

// learnRecord notes what a message's own record tells of it.
func (m *stored) learnRecord() {
	info, _ := chat.Parse(m.info)
	m.id = cmp.Or(m.id, info.Get("id").Text())
	if at := info.Get("time", "created").Milliseconds(); !at.IsZero() {
		m.created = at.UnixMilli()
	}
}

// ofFiles returns a message of 0.x. id is that of the session, a slash and its own.
func ofFiles(in engine.In, id string) (m stored, err error) {
	if m.info, _, err = in.Read(storage+"/message/"+id+".json", nil); err != nil {
		return m, err
	}
	m.id = path.Base(id)
	m.learnRecord()
	dir := storage + "/part/" + m.id
	names, _ := in.List(dir) // there may be none
	slices.Sort(names)
	for _, name := range names {
		if id, is := strings.CutSuffix(name, ".json"); is {
			data, _, err := in.Read(tree.Join(dir, name), nil)
			if err != nil {
				return m, err
			}
			m.parts = append(m.parts, part{id, data})
		}
	}
	return m, nil
}

func (b *build) reverts(v chat.Value) {
	b.revert, b.revertPart = v.Get("messageID").Text(), v.Get("partID").Text()
}

// sortMessages puts the messages into the order in which they follow each other.
func (b *build) sortMessages() {
	slices.SortStableFunc(b.list, func(a, c found) int { return byTime(&a.stored, &c.stored) })
}

// next are tables for messages that 1.18 has and leaves empty.
var next = []string{"session_message", "session_input", "session_context_epoch"}

// readDatabase reads a session of rows and events.
func (b *build) readDatabase(ctx context.Context, t *sqlitefile.Tx) error {
	id := path.Base(b.session.Spot.Part)
	var listed bool
	var err error
	if b.info, listed, err = rowOf(ctx, t, id); err != nil {
		return err
	}
	b.reverts(b.info.Get("revert"))
	lost, err := b.addRows(ctx, t, id)
	if err != nil {
		return err
	}
	newer, err := isNewer(ctx, t, id)
	more := 0
	if err == nil && !newer {
		more, err = b.addDeleted(ctx, t, id)
	}
	if err != nil {
		return err
	}
	if lost += more; lost > 0 {
		b.session.Fault(chat.FaultDatabase, model.Loses, id, fmt.Sprintf("%s on damaged pages", model.Count(lost, "row")), "SQLite reads what it can")
	}
	b.sortMessages()
	for _, table := range next {
		if has, err := t.Columns(ctx, table); err != nil || !has["session_id"] || newer {
			continue
		}
		var n int
		if err := ignoreUnreadable(t.Row(ctx, "SELECT count(*) FROM "+table+" WHERE session_id = ?", id).Scan(&n)); err != nil {
			return err
		}
		if n > 0 {
			b.unknown["row of "+table] = n
		}
	}
	if !listed && len(b.list) > 0 {
		b.session.Fault(FaultStray, model.Loses, id, "the session has no row, and what is left of it was found by its messages or events", "opencode does not list it")
	}
	if at := b.info.Get("time", "updated").Milliseconds(); !at.IsZero() {
		b.session.Spot.At = at
	}
	return nil
}

// addRows adds the messages that a session has in rows. lost counts those on damaged pages.
func (b *build) addRows(ctx context.Context, t *sqlitefile.Tx, session string) (lost int, err error) {
	rows, lost, err := rowsOf(ctx, t, session)
	for _, m := range rows {
		one := found{stored: m, origin: origin{id: m.id, newer: m.newer}}
		if m.info == nil {
			b.session.Fault(FaultStray, model.Loses, m.id, fmt.Sprintf("%s of a message that has no row", model.Count(len(m.parts), "part")), agent.Passes)
			one.gone, one.why = &model.Reason{Kind: model.ReasonUnknown}, "the message has no row"
		}
		b.list = append(b.list, one)
	}
	return lost, err
}
