package messages

import (
	"maps"
	"path"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// entryKey tells an entry from that of another journal.
type entryKey struct {
	id int64
	at time.Time
}

// history is the record of the messages in one folder, from the entries of its session.
type history struct {
	read     []entryKey
	entries  []entryChanges
	contents []content
	number   map[contentKey]int32 // of the contents
}

// content is one content of a message file, in the mode in which it was named last.
type content struct {
	file    messageFile
	version journal.Version
}

type contentKey struct{ name, sum string }

// entryChanges are the changes of one entry in the folder.
type entryChanges struct {
	// changes are the changes of messages, in the order of the log.
	changes []mention
	// forgets are the SHA-256 of contents that it forgot.
	forgets map[string]bool
	// agents are the changes of agent.json, was the names that the log had before.
	agents []journal.Change
	was    *names
}

// mention is the change of a message in an entry: its contents before and after, or none. They
// are equal if the write left the message, and kept it.
type mention struct {
	before, after int32
	copied        bool
}

// none is no content.
const none = -1

// history returns the journal's record of the messages of a log. The entries are read once.
func (l *messageLog) history() *history {
	folder, entries := l.path("messages"), l.told.Entries()
	h, known := l.memo.FindKept(folder).(*history)
	if known && slices.EqualFunc(h.read, entries, func(k entryKey, e *journal.Entry) bool { return k.id == e.ID && k.at.Equal(e.At) }) {
		return h
	}
	h = &history{number: map[contentKey]int32{}}
	parts := map[*journal.Part]*entryChanges{}
	for _, e := range entries {
		h.read, h.entries = append(h.read, entryKey{e.ID, e.At}), append(h.entries, h.readEntry(e, folder, parts))
	}
	l.memo.Keep(folder, h)
	return h
}

// readEntry reads an entry. Parts that entries share are read once.
func (h *history) readEntry(e *journal.Entry, folder string, parts map[*journal.Part]*entryChanges) entryChanges {
	one := entryChanges{forgets: map[string]bool{}, was: namesFrom(e.Was)}
	for _, part := range e.Parts() {
		if parts[part] == nil {
			parts[part] = h.readPart(part, folder)
		}
		maps.Copy(one.forgets, parts[part].forgets)
		one.agents = append(one.agents, parts[part].agents...)
		one.changes = append(one.changes, parts[part].changes...)
	}
	if n := len(one.changes); n > 1 && h.file(one.changes[0]).compare(h.file(one.changes[n-1])) > 0 {
		slices.Reverse(one.changes) // as a restore takes messages away
	}
	slices.SortStableFunc(one.changes, func(a, b mention) int { return h.file(a).compare(h.file(b)) })
	return one
}

// readPart reads a part of an entry.
func (h *history) readPart(part *journal.Part, folder string) *entryChanges {
	one := &entryChanges{forgets: map[string]bool{}}
	agent := path.Join(path.Dir(folder), "agent.json")
	for _, c := range part.Changes() {
		dir, name := path.Split(c.Path)
		switch f, ok := fileOf(name); {
		case c.Does == model.FileForgotten:
			one.forgets[c.Before.SHA256] = true
		case c.Path == agent:
			one.agents = append(one.agents, c)
		case ok && dir == folder+"/" && !c.Before.Folder && !c.After.Folder:
			one.changes = append(one.changes, mention{before: h.numberOf(f, c.Before), after: h.numberOf(f, c.After), copied: c.Does == model.FileCopied})
		}
	}
	return one
}

// numberOf returns the number of a content, none if there is no file.
func (h *history) numberOf(f messageFile, v journal.Version) int32 {
	if v.None() {
		return none
	}
	key := contentKey{f.name, v.SHA256}
	n, known := h.number[key]
	if !known {
		n = int32(len(h.contents))
		h.contents, h.number[key] = append(h.contents, content{file: f}), n
	}
	h.contents[n].version = v
	return n
}

// file returns the file that a mention is about.
func (h *history) file(m mention) messageFile { return h.contents[max(m.before, m.after)].file }

// told is the journal's record of a content of a message.
type told struct {
	// known says that it was kept, and forgotten that a purge took it.
	known, forgotten bool
	// reason is why it left; nil if it came, or came back.
	reason *model.Reason
	// order counts the times that one came or left.
	order int
	// sure says that it was kept.
	sure bool
}

// outcome combines the entries for each content.
func (h *history) outcome(entries []*journal.Entry) []told {
	list, order := make([]told, len(h.contents)), 0
	for k, e := range entries {
		if e.Undone && e.NewSession != "" {
			continue // it took everything along that was in it
		}
		if len(h.entries[k].forgets) > 0 {
			for n := range list {
				if list[n].known && h.entries[k].forgets[h.contents[n].version.SHA256] {
					list[n] = told{forgotten: true}
				}
			}
		}
		left, undone := reasonOf(e), &model.Reason{Kind: model.ReasonUndo}
		for _, m := range h.entries[k].changes {
			stays := m.before == m.after // and is kept before the journal names it
			tell := func(n int32, reason *model.Reason) {
				if n == none || list[n].known && reason == nil && e.Broken != "" && !stays { // it may not have come
					return
				}
				sure := list[n].sure || stays || e.Broken == "" && !e.TakenBack && !m.copied
				list[n] = told{known: true, reason: reason, order: order, sure: sure}
				order++
			}
			switch {
			case stays:
				tell(m.before, nil)
			case e.Undone:
				if m.after != none && !list[m.after].known && !e.TakenBack { // else it is as it was before
					tell(m.after, undone)
				}
				tell(m.before, nil)
			default:
				tell(m.before, left)
				tell(m.after, nil)
			}
		}
	}
	return list
}

// agents finds what agent.json was when a snapshot was the head: as a write found
// it that then led elsewhere, unless Hindcast itself had left it there.
func (h *history) agents(entries []*journal.Entry) map[string]journal.Version {
	agents, own := map[string]journal.Version{}, map[string]bool{}
	for k, e := range entries {
		for _, c := range h.entries[k].agents {
			if e.From != "" && !c.Before.None() && !own[c.Before.SHA256] {
				agents[e.From] = c.Before
			}
			if c.Does != model.FilePutBack {
				own[c.After.SHA256] = true
			}
		}
	}
	return agents
}

// element is a message of a log as it once was: a content that the journal names, or for
// none what lies in the folder now. The zero value of the file is no message.
type element struct {
	file    messageFile
	content int32
}

// predecessors returns for each content that an entry wrote, replaced, set aside or kept where it
// was the one before it in the log of that time: of the first entry that names it. now are
// the files of the log as it is; those that the last entry changed, and those that came
// since, do not count.
func (h *history) predecessors(now []messageFile) []element {
	before := make([]element, len(h.contents))
	var log, stays []element
	for _, f := range now {
		log = append(log, element{f, none})
	}
	for _, one := range slices.Backward(h.entries) {
		if len(one.changes) == 0 {
			continue
		}
		stays = stays[:0]
		left := one.changes
		for _, e := range log {
			for len(left) > 0 && h.file(left[0]).compare(e.file) < 0 {
				left = left[1:]
			}
			if (len(left) == 0 || h.file(left[0]).name != e.file.name) && one.was.has(e.file) {
				stays = append(stays, e)
			}
		}
		log = h.merge(log, stays, one.changes, before, func(m mention) int32 { return m.after })
		log = h.merge(log, stays, one.changes, before, func(m mention) int32 { return m.before })
	}
	return before
}

// merge puts one side of changes between what stays of a log, in the memory of another, and
// notes the message before each.
func (h *history) merge(log, stays []element, changes []mention, before []element, side func(mention) int32) []element {
	log = log[:0]
	for _, m := range changes {
		n := side(m)
		if n == none {
			continue
		}
		for f := h.contents[n].file; len(stays) > 0 && stays[0].file.compare(f) < 0; stays = stays[1:] {
			log = append(log, stays[0])
		}
		if before[n] = (element{}); len(log) > 0 {
			before[n] = log[len(log)-1]
		}
		log = append(log, element{h.contents[n].file, n})
	}
	return append(log, stays...)
}

// reasonOf words why what an entry set aside left the path.
func reasonOf(e *journal.Entry) *model.Reason {
	r := &model.Reason{At: e.At.UTC()}
	switch e.Op {
	case model.OpRestore:
		r.Kind, r.TargetID, r.TargetIndex = model.ReasonRestore, e.To, e.ToIndex
	case model.OpRepair:
		r.Kind = model.ReasonRepair
	}
	return r
}
