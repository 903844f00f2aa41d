package messages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/journal"
)

// What is aside was worked out anew for each listing. Until that goes, it tells whether
// what is kept in numbers says the same.

// sameBranches makes sure that both say the same of every session.
func (w *world) sameBranches() {
	for _, session := range w.sessions() {
		p, err := w.s.locate(session)
		if err != nil {
			w.t.Fatal(err)
		}
		sameBranches(w.t, w.s, p)
	}
}

func sameBranches(t rapid.TB, s *Store, p place) {
	l := s.openLog(p, p.tree)
	defer l.close()
	old, err := l.oldBranches(bounded, s.desk)
	now, failed := l.branches(bounded, s.desk)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if !reflect.DeepEqual(old.list, now.list) || !reflect.DeepEqual(old.leaving, now.leaving) || !reflect.DeepEqual(old.children, now.children) ||
		!reflect.DeepEqual(old.agents, now.agents) || !reflect.DeepEqual(old.named, now.named) || !reflect.DeepEqual(old.lying, now.lying) {
		t.Fatalf("of %s it is\n%+v\nand was\n%+v", p.id, now, old)
	}
}

// oldVersion tells one content of a message file from another; "" for sum is what
// lies in the folder.
type oldVersion struct{ name, sum string }

// oldTold is what the journal tells of a content of a message.
type oldTold struct {
	file    messageFile
	version journal.Version
	// reason is why it left; nil if it came, or came back.
	reason *model.Reason
	// order counts the times that one came or left.
	order int
	// sure says that it was kept.
	sure bool
}

// oldToldOf collects the contents of messages that a journal names, those not counted that
// it forgot, and which it forgot.
func oldToldOf(entries []journal.Entry, folder string) (list map[oldVersion]oldTold, forgotten map[oldVersion]bool) {
	list, forgotten = map[oldVersion]oldTold{}, map[oldVersion]bool{}
	order := 0
	for i := range entries {
		e := &entries[i]
		if e.Undone && e.NewSession != "" {
			continue // it took everything along that was in it
		}
		for _, c := range e.Changes {
			if c.Does == model.FileForgotten {
				for v := range list {
					if v.sum == c.Before.SHA256 {
						delete(list, v)
						forgotten[v] = true
					}
				}
			}
		}
		left, came := reasonOf(e), (*model.Reason)(nil)
		for _, c := range oldMessageChanges(e.Named(), folder) {
			stays := c.Before == c.After // and is kept before the journal names it
			tell := func(v journal.Version, reason *model.Reason) {
				if v.None() {
					return
				}
				key := oldVersion{c.file.name, v.SHA256}
				before, known := list[key]
				if known && reason == nil && e.Broken != "" && !stays {
					return // it may not have come
				}
				list[key] = oldTold{c.file, v, reason, order, before.sure || stays || e.Broken == "" && !e.TakenBack && c.Does != model.FileCopied}
				delete(forgotten, key)
				order++
			}
			switch {
			case stays:
				tell(c.Before, came)
			case e.Undone:
				if _, known := list[oldVersion{c.file.name, c.After.SHA256}]; !known && !e.TakenBack { // else it is as it was before
					tell(c.After, &model.Reason{Kind: model.ReasonUndo})
				}
				tell(c.Before, came)
			default:
				tell(c.Before, left)
				tell(c.After, came)
			}
		}
	}
	return list, forgotten
}

// branches works out what is aside. Where nothing was ever written it costs one
// look.
func (l *messageLog) oldBranches(ctx context.Context, d *desk) (*branches, error) {
	entries, _ := d.entries(ctx) // what is wrong with it the doctor tells: the log can be read
	if len(entries) == 0 {
		return &branches{}, ctx.Err()
	}
	folder := d.onDesk(l.path("messages"))
	b := &branches{leaving: map[string][]int{}, children: map[int][]int{}, agents: oldAgentsOf(entries, d.onDesk(l.path("agent.json"))),
		dir: l.dir, named: map[string][]int{}, lying: map[string][sha256.Size]byte{}}
	list, forgotten := oldToldOf(entries, folder)
	if err := l.oldLying(ctx, d, list, b.lying); err != nil {
		return nil, err
	}
	before := oldPredecessors(entries, folder, l.files)
	names := make([]oldVersion, 0, len(list))
	for v := range list {
		names = append(names, v)
	}
	slices.SortFunc(names, func(a, b oldVersion) int { return list[a].order - list[b].order })
	below := map[oldVersion][]oldVersion{} // by the one before it
	for _, v := range names {
		at := before[v]
		for forgotten[at] {
			at = before[at]
		}
		for _, aside := list[at]; !aside && at.name != "" && l.position(at.name) < 0; _, aside = list[at] {
			at = before[at] // it was taken away, and is not kept
		}
		if _, aside := list[at]; !aside {
			at.sum = "" // it lies in the folder
		}
		below[at] = append(below[at], v)
	}
	b.oldLay(l, below, func(v oldVersion, parent int, after string) {
		a := list[v]
		b.named[v.name] = append(b.named[v.name], len(b.list))
		b.list = append(b.list, kept{file: a.file, version: a.version, reason: a.reason, parent: parent, after: after})
	})
	return b, nil
}

// lying takes out of what the journal tells of what lies in the folder, and what is not
// kept; and it notes the ids of the messages that have the names of others. What was
// redacted in its place is no branch: the SDK was to forget it, and a purge does.
func (l *messageLog) oldLying(ctx context.Context, d *desk, list map[oldVersion]oldTold, ids map[string][sha256.Size]byte) error {
	versions := map[string][]oldVersion{}
	for v := range list {
		versions[v.name] = append(versions[v.name], v)
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
		for _, v := range versions[m.name] {
			t := list[v]
			if v.sum == sum || t.reason == nil && (unread || m.redacted && d.createdAt(t.version, m.created)) {
				delete(list, v)
				continue
			}
			ids[m.name] = m.id
			if t.reason == nil {
				t.reason = &model.Reason{Kind: model.ReasonOverwritten}
				list[v] = t
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for v, t := range list {
		if t.reason == nil {
			t.reason = &model.Reason{}
			list[v] = t
		}
		if t.sure {
			continue
		}
		if _, err := d.journal.Read(t.version); errors.Is(err, fs.ErrNotExist) {
			delete(list, v)
		}
	}
	return ctx.Err()
}

// lay puts what is aside in order: each behind the one that it follows.
func (b *branches) oldLay(l *messageLog, below map[oldVersion][]oldVersion, add func(v oldVersion, parent int, after string)) {
	type next struct {
		oldVersion
		parent int
		after  string
	}
	var stack []next
	push := func(list []oldVersion, parent int, after string) {
		for _, v := range slices.Backward(list) {
			stack = append(stack, next{v, parent, after})
		}
	}
	var roots []oldVersion
	for at := range below {
		if at.sum == "" {
			roots = append(roots, at)
		}
	}
	slices.SortFunc(roots, func(a, b oldVersion) int { return strings.Compare(a.name, b.name) })
	for _, root := range roots {
		after := root.name
		if l.position(after) < 0 {
			after = ""
		}
		push(below[root], -1, after)
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			i := len(b.list)
			add(n.oldVersion, n.parent, n.after)
			if n.parent < 0 {
				b.leaving[n.after] = append(b.leaving[n.after], i)
			} else {
				b.children[n.parent] = append(b.children[n.parent], i)
			}
			push(below[n.oldVersion], i, "")
		}
	}
}

// oldMessageChange is a change of a message file.
type oldMessageChange struct {
	journal.Change
	file messageFile
}

// oldMessageChanges returns those of some changes that are to the messages in a folder, in
// the order of the log.
func oldMessageChanges(changes []journal.Change, folder string) (list []oldMessageChange) {
	for _, c := range changes {
		dir, name := path.Split(c.Path)
		if path.Clean(dir) != folder {
			continue
		}
		if f, ok := fileOf(name); ok && c.Does != model.FileForgotten && !c.Before.Folder && !c.After.Folder {
			list = append(list, oldMessageChange{c, f})
		}
	}
	slices.SortStableFunc(list, func(a, b oldMessageChange) int { return a.file.compare(b.file) })
	return list
}

// oldElement is a message of a log as it once was.
type oldElement struct {
	file messageFile
	oldVersion
}

// oldPredecessors returns for each oldVersion that an entry wrote, replaced, set aside or kept
// where it was the one before it in the log of that time: of the first entry that names it.
func oldPredecessors(entries []journal.Entry, folder string, now []messageFile) map[oldVersion]oldVersion {
	before := map[oldVersion]oldVersion{}
	log := make([]oldElement, len(now))
	for i, f := range now {
		log[i] = oldElement{f, oldVersion{f.name, ""}}
	}
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		changes := oldMessageChanges(e.Named(), folder)
		if len(changes) == 0 {
			continue
		}
		changed := make(map[string]bool, len(changes))
		for _, c := range changes {
			changed[c.file.name] = true
		}
		// What is in front of the first change stays where it is.
		was := namesFrom(e.Was)
		first, _ := slices.BinarySearchFunc(log, changes[0].file, func(e oldElement, f messageFile) int { return e.file.compare(f) })
		if !was.oldHasAll(log[:first]) {
			log, first = slices.Clone(log), 0
		}
		stays := log[first:first:first]
		for _, e := range log[first:] {
			if !changed[e.name] && was.has(e.file) {
				stays = append(stays, e)
			}
		}
		// with is the log with one side of the changes.
		with := func(side func(c *oldMessageChange) journal.Version) []oldElement {
			tail := slices.Clone(stays)
			for k := range changes {
				if v := side(&changes[k]); !v.None() {
					tail = append(tail, oldElement{changes[k].file, oldVersion{changes[k].file.name, v.SHA256}})
				}
			}
			slices.SortStableFunc(tail, func(a, b oldElement) int { return a.file.compare(b.file) })
			whole := append(log[:first:first], tail...)
			for k := first; k < len(whole); k++ {
				switch {
				case !changed[whole[k].name]:
				case k > 0:
					before[whole[k].oldVersion] = whole[k-1].oldVersion
				default:
					before[whole[k].oldVersion] = oldVersion{}
				}
			}
			return whole
		}
		with(func(c *oldMessageChange) journal.Version { return c.After })
		log = with(func(c *oldMessageChange) journal.Version { return c.Before })
	}
	return before
}

// oldAgentsOf finds what agent.json was when a snapshot was the head: as a write found
// it that then led elsewhere, unless Hindcast itself had left it there.
func oldAgentsOf(entries []journal.Entry, file string) map[string]journal.Version {
	agents, own := map[string]journal.Version{}, map[string]bool{}
	for i := range entries {
		e := &entries[i]
		for _, c := range e.Changes {
			if c.Path != file {
				continue
			}
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

// oldHasAll reports whether it is known at one look that the log had all of some files,
// which are in order.
func (n *names) oldHasAll(log []oldElement) bool {
	if n == nil || len(log) == 0 {
		return true
	}
	first, plain := log[0].file.plain()
	last, also := log[len(log)-1].file.plain()
	r, ok := n.run(first)
	// As many files as numbers leave no room for another name.
	return plain && also && ok && last <= r.last && last-first == int64(len(log)-1)
}
