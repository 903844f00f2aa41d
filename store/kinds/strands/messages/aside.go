package messages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// What was set aside.
//
// A restore takes the messages behind its target out of the folder, and the
// journal keeps them. They are the branch that was left. Which branches there are,
// and where each of them left the path, is worked out from the journal and the
// folder alone:
//
// Aside is every content of a message that the journal names and keeps, and that does
// not lie in the folder under its name now: what a restore or a repair took out or
// replaced, what a write made that was undone, and what an agent wrote over after it
// had come back or while it stayed. Such an agent holds a view from before a restore, and
// numbers its messages from there; or it loads none, because another one wrote its view
// into agent.json, and numbers from 0. What it writes over and the journal never named,
// Hindcast never had: that is gone, as it is without Hindcast. A fork names what it
// copies, and keeps nothing of that.
//
// Where it left is told backwards, see history.go. An entry says which messages the log had before
// it; they are those of the log behind it, with the changes taken back. There the
// message before one that the write set aside is the one that it follows. What was
// before the earlier writes follows in the same way.

// kept is a message that was set aside.
type kept struct {
	file    messageFile
	version journal.Version
	reason  *model.Reason
	// parent is the position of the message that it follows if that is aside, too,
	// else -1: it then follows the file after of the log, or nothing if that is "".
	parent int
	after  string
	// id is that of its snapshot, once it is known, see identify.
	id [sha256.Size]byte
}

// branches are the messages of a log that are aside, parents before children.
type branches struct {
	log  *messageLog
	list []kept
	// leaving maps a file to the messages that leave the log there, in the order in which they
	// were set aside. Messages without a predecessor are at "".
	leaving map[string][]int
	// children maps a message that is aside to the messages that follow it.
	children map[int][]int
	// agents has the agent.json that there was when a snapshot was the head, by the
	// id of that, as far as it is kept.
	agents map[string]journal.Version
	// named has the messages of one name, lying the id of the one that lies there.
	named map[string][]int
	lying map[string][sha256.Size]byte
}

// branches works out what is aside of a log, from the entries of its session.
func (l *messageLog) branches(ctx context.Context) (*branches, error) {
	entries := l.told.Entries()
	if len(entries) == 0 {
		return &branches{log: l}, ctx.Err()
	}
	b := &branches{log: l, leaving: map[string][]int{}, children: map[int][]int{}, named: map[string][]int{}, lying: map[string][sha256.Size]byte{}}
	h := l.history()
	b.agents = h.agents(entries)
	list, before := h.outcome(entries), h.predecessors(l.files)
	if err := b.dropLying(ctx, h.contents, list); err != nil {
		return nil, err
	}
	var aside []int32
	for n := range list {
		if list[n].known {
			aside = append(aside, int32(n))
		}
	}
	slices.SortFunc(aside, func(a, b int32) int { return list[a].order - list[b].order })
	below := map[element][]int32{} // by the one before it
	for _, n := range aside {
		at := before[n]
		for at.file.name != "" && at.content != none && list[at.content].forgotten {
			at = before[at.content]
		}
		for at.file.name != "" && at.content != none && !list[at.content].known {
			if l.position(at.file.name) >= 0 {
				at.content = none
			} else {
				at = before[at.content] // it was taken away, and is not kept
			}
		}
		below[at] = append(below[at], n)
	}
	b.lay(below, h.contents, func(n int32, parent int, after string) {
		c := &h.contents[n]
		b.named[c.file.name] = append(b.named[c.file.name], len(b.list))
		b.list = append(b.list, kept{file: c.file, version: c.version, reason: list[n].reason, parent: parent, after: after})
	})
	return b, nil
}

// dropLying drops from a list the contents that lie in the folder or are not kept, and notes the id of each message
// in the folder whose name another content has. A content that was redacted in place makes no branch: the SDK was to
// forget it, and a purge does.
func (b *branches) dropLying(ctx context.Context, contents []content, list []told) error {
	l := b.log
	versions := map[string][]int{}
	for n := range list {
		if name := contents[n].file.name; list[n].known {
			versions[name] = append(versions[name], n)
		}
	}
	var there []messageFile
	for _, f := range l.files {
		if versions[f.name] != nil {
			there = append(there, f)
		}
	}
	err := l.read(ctx, there, l.known, func(_ int, m *message) error {
		sum := hex.EncodeToString(m.sum[:])
		unread := m.sum == [sha256.Size]byte{}
		for _, n := range versions[m.name] {
			t, version := &list[n], contents[n].version
			if version.SHA256 == sum || t.reason == nil && (unread || m.redacted && l.createdAt(version, m.created)) {
				t.known = false
				continue
			}
			b.lying[m.name] = m.id
			if t.reason == nil {
				t.reason = &model.Reason{Kind: model.ReasonOverwritten}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n := range list {
		t := &list[n]
		if t.known && t.reason == nil {
			t.reason = &model.Reason{}
		}
		if !t.known || t.sure {
			continue
		}
		if _, err := l.readKept(contents[n].version); errors.Is(err, fs.ErrNotExist) {
			t.known = false
		}
	}
	return ctx.Err()
}

// createdAt reports whether a message that is kept was created at a time.
func (l *messageLog) createdAt(v journal.Version, at time.Time) bool {
	data, err := l.readKept(v)
	if err != nil || at.IsZero() {
		return false
	}
	tape, err := files.Parse(data)
	return err == nil && originOf(tape).created.Equal(at)
}

// lay puts what is aside in order: each behind the one that it follows.
func (b *branches) lay(below map[element][]int32, contents []content, add func(n int32, parent int, after string)) {
	type next struct {
		n      int32
		parent int
		after  string
	}
	var stack []next
	push := func(list []int32, parent int, after string) {
		for _, n := range slices.Backward(list) {
			stack = append(stack, next{n, parent, after})
		}
	}
	roots := map[string][]int32{} // by the file that they follow
	for at, list := range below {
		if at.file.name == "" || at.content == none {
			roots[at.file.name] = list
		}
	}
	for _, after := range slices.Sorted(maps.Keys(roots)) {
		push(roots[after], -1, after)
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			i := len(b.list)
			add(at.n, at.parent, at.after)
			if at.parent < 0 {
				b.leaving[at.after] = append(b.leaving[at.after], i)
			} else {
				b.children[at.parent] = append(b.children[at.parent], i)
			}
			push(below[element{contents[at.n].file, at.n}], i, "")
		}
	}
}

// read decodes message k of the messages aside. Its note is cached by its content, which does not
// change.
func (b *branches) read(d *decoder, k int, m *message) {
	a := &b.list[k]
	name, at := b.log.dir+a.file.name, tree.Stamp{Tag: a.version.SHA256}
	if note, ok := b.log.memo.Recall(name, at); !ok || !m.recall(a.file.name, note) {
		d.arena = d.arena[:0]
		if d.take(b.reader(d, k), a.file, m) {
			b.log.memo.Note(name, at, m.appendNote(nil))
		}
	}
	m.file = name
}

// warm makes notes of all messages that leave the log at one place. It reads several at once,
// because each is a file of its own. roots are the first messages of the branches.
func (b *branches) warm(ctx context.Context, roots []int) {
	first, last := roots[0], roots[len(roots)-1]
	for next := b.children[last]; len(next) > 0; next = b.children[last] {
		last = next[len(next)-1]
	}
	known := func(k int) bool {
		a := &b.list[k]
		_, ok := b.log.memo.Recall(b.log.dir+a.file.name, tree.Stamp{Tag: a.version.SHA256})
		return ok
	}
	if last-first < batch || known(first) && known(last) {
		return
	}
	several((last-first)/batch+1, func(part int) {
		var d decoder
		var m message
		for k := first + part*batch; k <= min(last, first+(part+1)*batch-1) && ctx.Err() == nil; k++ {
			b.read(&d, k, &m)
		}
	})
}

// identify gives the messages of a name their ids. Where two have one id, as a message
// has that a repair did not change, the second has the SHA-256 of its file instead.
func (b *branches) identify(name string) {
	taken := map[[sha256.Size]byte]bool{}
	if id, lies := b.lying[name]; lies {
		taken[id] = true
	}
	var d decoder
	var m message
	for _, k := range b.named[name] {
		b.read(&d, k, &m)
		if taken[m.id] {
			_, _ = hex.Decode(m.id[:], []byte(b.list[k].version.SHA256)) // a record that is sound has one
		}
		taken[m.id] = true
		b.list[k].id = m.id
	}
}

// id returns the id of the snapshot after message k.
func (b *branches) id(k int) [sha256.Size]byte {
	if b.list[k].id == ([sha256.Size]byte{}) {
		b.identify(b.list[k].file.name)
	}
	return b.list[k].id
}

// reader reads message k, whatever the name.
func (b *branches) reader(d *decoder, k int) files.Reader {
	a := &b.list[k]
	over := b.log.layOver(tree.Steps{{Name: b.log.dir + a.file.name, Version: a.version}})
	return d.reader(over.Tree, b.log.dir)
}

// body returns message k of the messages aside.
func (b *branches) body(k int) []byte {
	var d decoder
	var m message
	d.take(b.reader(&d, k), b.list[k].file, &m)
	return m.body
}

// find returns the message of an id, or -1.
func (b *branches) find(ctx context.Context, id [sha256.Size]byte) (int, error) {
	for k := range b.list {
		if err := ctx.Err(); err != nil {
			return -1, err
		}
		if b.id(k) == id {
			return k, nil
		}
	}
	return -1, model.ErrNoSnapshot
}

// chain returns the messages that are aside from the one at which they leave the log
// to message k.
func (b *branches) chain(k int) (list []int) {
	for ; k >= 0; k = b.list[k].parent {
		list = append(list, k)
	}
	slices.Reverse(list)
	return list
}

// branchLog returns the log that ends with message k of the messages aside, the number of its
// messages that lie in the folder, and the contents of the others. Its agent is the agent.json of
// that time if that is kept, else an unknown agent.
func (b *branches) branchLog(k int, id string) (at *messageLog, common int, back map[string]journal.Version) {
	l := b.log
	chain := b.chain(k)
	common = l.position(b.list[chain[0]].after) + 1
	back = make(map[string]journal.Version, len(chain))
	for _, c := range chain {
		back[b.list[c].file.name] = b.list[c].version
	}
	steps := l.leads(common, back)
	agent, known := b.agents[id]
	if known {
		steps = append(steps, tree.Step{Name: l.path("agent.json"), Version: agent})
	}
	at = readLog(l.place, l.layOver(steps))
	if !known {
		at.agent = agentFile{}
		b.seenThrough(at, k)
	}
	at.window()
	return at, common, back
}

// leads returns the steps to the log that has the first common messages of this one and
// those that are kept, in the order in which it can be loaded at any moment: see restore.go.
func (l *messageLog) leads(common int, back map[string]journal.Version) (steps tree.Steps) {
	there := map[string]bool{}
	for _, f := range slices.Backward(l.files[common:]) {
		there[f.name] = true
		if back[f.name].None() {
			steps = append(steps, tree.Step{Name: l.dir + f.name, Aside: true})
		}
	}
	names := slices.Collect(maps.Keys(back))
	slices.SortFunc(names, func(a, b string) int {
		f, _ := fileOf(a)
		g, _ := fileOf(b)
		return f.compare(g)
	})
	for _, replaced := range []bool{true, false} {
		for _, name := range names {
			if there[name] == replaced {
				steps = append(steps, tree.Step{Name: l.dir + name, Version: back[name]})
			}
		}
	}
	return steps
}

// seenThrough sets the window of a log of a branch to that of the nearest snapshot
// behind it whose agent.json is kept: both were in one log when that was the head. Of a
// log that ends before what the window then left out, the whole was seen.
func (b *branches) seenThrough(at *messageLog, k int) {
	if len(b.agents) == 0 {
		return
	}
	var d decoder
	var m message
	for next := slices.Clone(b.children[k]); len(next) > 0; {
		k, next = next[0], append(next[1:], b.children[next[0]]...)
		b.read(&d, k, &m)
		v, ok := b.agents[idText(m.id)]
		if !ok {
			continue
		}
		data, err := b.log.readKept(v)
		if err != nil {
			return // it was purged, and the whole log is shown
		}
		a := parseAgent(at.path("agent.json"), data, at.running, new(store.FaultList))
		if a.pinned+a.removed < len(at.files) && (a.removed > 0 || a.summary == nil) {
			at.behind = data
			at.agent = agentFile{removed: a.removed, pinned: a.pinned, summary: a.summary, manager: a.manager}
		}
		return
	}
}

// snapshot is where a snapshot was found: in a log that ends with it or goes on
// behind it.
type snapshot struct {
	log *messageLog
	i   int
	// message is the id that the message has by itself.
	message [sha256.Size]byte
	// aside is its position among what is aside, -1 if it lies in the folder.
	aside int
	// common is how many messages of the log lie in the folder, back the contents of the
	// others by their names.
	common   int
	back     map[string]journal.Version
	branches *branches // nil if no look was needed
}

// find finds a snapshot of a log, also one that is aside.
func (l *messageLog) find(ctx context.Context, text string) (snapshot, error) {
	id := parseID(text)
	i, err := l.positionOf(ctx, id)
	if err == nil || !errors.Is(err, model.ErrNoSnapshot) {
		return snapshot{log: l, i: i, message: id, aside: -1, common: i + 1}, err
	}
	b, err := l.branches(ctx)
	if err != nil {
		return snapshot{}, err
	}
	k, err := b.find(ctx, id)
	if err != nil {
		return snapshot{}, err
	}
	return b.snapshotOf(k, text), nil
}

// snapshotOf returns the place of message k of the messages aside, whose id is text.
func (b *branches) snapshotOf(k int, text string) snapshot {
	at, common, back := b.branchLog(k, text)
	var d decoder
	var m message
	b.read(&d, k, &m)
	return snapshot{log: at, i: len(at.files) - 1, message: m.id, aside: k, common: common, back: back, branches: b}
}

// asides returns the branches of a log, or no branches if the journal cannot be read; Faults
// reports that.
func (l *messageLog) asides(ctx context.Context) *branches {
	b, err := l.branches(ctx)
	if err != nil {
		return &branches{log: l}
	}
	return b
}

// leave hands on the headers of the branches that leave the log at message i, where
// the walker is; at -1 those that follow nothing.
func (b *branches) leave(ctx context.Context, w *walker, i int, visit func(*row) error) error {
	name := ""
	if i >= 0 {
		name = w.log.files[i].name
	}
	roots := b.leaving[name]
	if len(roots) == 0 {
		return nil
	}
	type next struct {
		k, i int // which message, and its place in its log
		w    *walker
	}
	var stack []next
	push := func(list []int, i int, w *walker) {
		for n, k := range slices.Backward(list) {
			along := w
			if n < len(list)-1 || w == nil {
				along = w.branch()
			}
			stack = append(stack, next{k, i, along})
		}
	}
	push(roots, i+1, w.branch())
	b.warm(ctx, roots)
	var d decoder
	var m message
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if err := ctx.Err(); err != nil {
			return err
		}
		b.read(&d, n.k, &m)
		m.id = b.id(n.k)
		n.w.full.again = func(*message) []byte { return b.body(n.k) }
		h := n.w.aside(n.i, &m)
		h.Reason = b.list[n.k].reason
		if len(b.agents) > 0 {
			h.Size = 0 // what agent.json held and left out then is a part of its state
		}
		if err := visit(&row{header: &h, msg: &m, aside: n.k}); err != nil {
			return err
		}
		push(b.children[n.k], n.i+1, n.w)
	}
	return nil
}

// aside goes on to a message that is aside, message i of its log.
func (w *walker) aside(i int, m *message) (h model.Header) {
	if !w.midway {
		w.full.add(m)
	}
	h.ID, h.ParentID, h.SessionID = idText(m.id), w.parent, w.log.id
	h.CreatedAt, h.Index, h.TurnIndex = m.created, i, w.completed
	w.parent = h.ID
	w.event(&h, m)
	h.Title, h.Marks, h.Orphaned = m.title(w.asked), m.marks(), true
	if w.midway {
		h.TurnIndex = model.TurnUnknown
	} else {
		h.Size = int64(len(stateOpen)+len(stateClose)+len("}")) + w.full.size
	}
	w.asked = append(w.asked[:0], m.calls...)
	return h
}

// from returns the message of the log at which a reading has to begin that wants the
// last n headers of all.
func (b *branches) from(l *messageLog, n int) int {
	from := len(l.files)
	for n > 0 && from > 0 {
		n -= 1 + b.behind(b.leaving[l.files[from-1].name])
		from--
	}
	return from
}

// behind counts the messages of branches.
func (b *branches) behind(roots []int) (n int) {
	stack := slices.Clone(roots)
	for len(stack) > 0 {
		k := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], b.children[k]...)
		n++
	}
	return n
}
