package inspect

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// How Hindcast checks that every text is in view.
//
// A kind yields its records as they are stored, without its framework's bookkeeping. A text of a
// record is in view if a state contains it, or a fact beside the state:
//
//	record     {"role":"user","content":"list the files"}     {"kind":"note","body":"by another program"}
//	state      {"messages":[{"role":"user","content":"list the files"}]}
//	                                                          1 record has a text that no message shows
//
// The state of the head has most texts. The others are looked for in the state of the record's
// own snapshot, and of its descendants.

// Carried is a record of a session as it is stored.
type Carried struct {
	// File and Place locate the record, as in a [model.Fault]. Kind is its type, or "".
	File, Place, Kind string
	// Snapshot is the id of the record's snapshot. If Beside is true, the record only belongs to that
	// snapshot; "" then means the whole session, and any snapshot may show it.
	Snapshot string
	Beside   bool
	// Data is the record's content: JSON, or else a text. Told is the part of it that is shown beside the
	// state, such as a title.
	Data []byte
	Told string
}

// UnreadFault returns the fault of n records with texts that no message shows. first is the first such record,
// and text its text.
func UnreadFault(n int, first *Carried, text string) model.Fault {
	have := "1 record has a text"
	if n != 1 {
		have = fmt.Sprintf("%d records have texts", n)
	}
	const most = 60
	of := ""
	if first.Kind != "" {
		of = fmt.Sprintf(" of type %.40q:", first.Kind)
	}
	meaning := fmt.Sprintf("%s that no message shows; the first is%s %s", have, of, conversation.Cut(conversation.OneLine(conversation.Cut(text, 4*most)), most))
	return model.Fault{Code: store.FaultUnread, Severity: model.Odd, File: first.File, Path: first.Place, Meaning: meaning, Verdict: "Hindcast does not read such a record: look at the file", Records: n}
}

// UnreadFaults returns the fault of a session's records whose texts are not in view, or nil. damaged reports
// whether another fault covers the unreadable state of a snapshot. each calls yield for each record;
// UnreadFaults calls each again if some texts are not in view. It returns the errors of each, of Headers, and
// of State for undamaged states.
func UnreadFaults(ctx context.Context, s store.Store, session string, damaged func(id string) bool, each func(yield func(*Carried)) error) ([]model.Fault, error) {
	u := unread{ctx: ctx, store: s, session: session, seed: maphash.MakeSeed(), left: map[uint64]bool{}, damaged: damaged}
	err := each(func(c *Carried) {
		for text := range c.eachText {
			if sum := u.hashText(text); !u.left[sum] {
				u.left[sum] = true
				u.order = append(u.order, carriedText{sum, c.Snapshot, c.Beside})
			}
		}
	})
	if err != nil || len(u.left) == 0 {
		return nil, err
	}
	if err := u.compareStates(); err != nil || len(u.lost) == 0 {
		return nil, err
	}
	if err := u.lookAgain(each); err != nil {
		return nil, err
	}
	var first Carried
	var said string
	n := 0
	err = each(func(c *Carried) {
		for text := range c.eachText {
			if _, lost := u.lost[u.hashText(text)]; !lost {
				continue
			}
			if n++; n == 1 {
				first, said = *c, text
			}
			return
		}
	})
	if err != nil || n == 0 {
		return nil, err
	}
	return []model.Fault{UnreadFault(n, &first, said)}, nil
}

// unread looks for texts that are not in view.
type unread struct {
	ctx     context.Context
	store   store.Store
	session string
	seed    maphash.Seed
	// left are the texts that were not seen yet, and order has them by the records.
	left    map[uint64]bool
	order   []carriedText
	damaged func(id string) bool
	// lost are the texts that no state has on its own, with the snapshots that should show them.
	lost map[uint64][]string
}

// carriedText is a text, and where the first record is that has it.
type carriedText struct {
	sum      uint64
	snapshot string
	beside   bool
}

func (u *unread) hashText(text string) uint64 { return maphash.String(u.seed, text) }

// mostLost bounds the texts that are in no view and are looked for one by one.
const mostLost = 256

// compareStates reads states until each text was seen, or is lost.
func (u *unread) compareStates() error {
	u.lost = map[uint64][]string{}
	var ids []string
	head, below, there := "", map[string][]string{}, map[string]bool{}
	for h, err := range u.store.Headers(u.ctx, u.session) {
		if err != nil {
			return err
		}
		ids, there[h.ID] = append(ids, h.ID), true
		below[h.ParentID] = append(below[h.ParentID], h.ID)
		if h.Head {
			head = h.ID
		}
	}
	slices.Reverse(ids) // the newest have most
	read := map[string]bool{}
	see := func(id string) error {
		if read[id] || !there[id] {
			return nil
		}
		read[id] = true
		return u.eachText(id, func(text string) { delete(u.left, u.hashText(text)) })
	}
	if err := see(head); err != nil {
		return err
	}
	for i := len(u.order) - 1; i >= 0 && len(u.lost) < mostLost; i-- {
		t := u.order[i]
		near := below[t.snapshot]
		if there[t.snapshot] {
			near = append([]string{t.snapshot}, near...)
		}
		if t.beside {
			near = slices.Concat(near, ids)
		}
		for k := 0; k < len(near) && u.left[t.sum]; k++ {
			if err := see(near[k]); err != nil {
				return err
			}
		}
		if u.left[t.sum] {
			u.lost[t.sum] = append([]string{}, near[:min(len(near), mostNear)]...) // never nil
		}
	}
	return nil
}

// mostNear bounds the snapshots at which a text is looked for in longer ones.
const mostNear = 8

// lookAgain finds the lost texts that a longer text has, or that are told beside a state.
func (u *unread) lookAgain(each func(yield func(*Carried)) error) error {
	texts := map[uint64]string{}
	err := each(func(c *Carried) {
		for text := range c.eachText {
			sum, line := u.hashText(text), conversation.OneLine(text)
			if strings.Contains(conversation.OneLine(c.Told), line) {
				delete(u.lost, sum)
			} else if u.lost[sum] != nil {
				texts[sum] = line
			}
		}
	})
	lines := map[string]string{}
	for sum, text := range texts {
		for _, id := range u.lost[sum] {
			if _, is := lines[id]; !is && err == nil {
				lines[id], err = u.linesOf(id)
			}
			if strings.Contains(lines[id], text) {
				delete(u.lost, sum)
			}
		}
	}
	return err
}

// linesOf returns the texts of the state of a snapshot and its facts, each on a line.
func (u *unread) linesOf(id string) (string, error) {
	var all strings.Builder
	add := func(text string) { all.WriteString(conversation.OneLine(text) + "\n") }
	if err := u.eachText(id, add); err != nil {
		return "", err
	}
	if f := u.store.Features(); f.Facts != nil {
		facts, err := f.Facts(u.ctx, model.Ref{Session: u.session, ID: id})
		if err := u.stateError(id, err); err != nil {
			return "", err
		}
		for _, f := range facts {
			add(f.Value)
		}
	}
	return all.String(), nil
}

// eachText runs yield on each text of the state of a snapshot. One that is damaged shows nothing.
func (u *unread) eachText(id string, yield func(string)) error {
	state, err := u.store.State(u.ctx, model.Ref{Session: u.session, ID: id})
	if err := u.stateError(id, err); err != nil {
		return err
	}
	walkStrings(state, "", mostWithin, func(_, text string) bool {
		yield(text)
		return true
	})
	return nil
}

// stateError returns the error of a snapshot, nil where another fault tells it.
func (u *unread) stateError(id string, err error) error {
	if ended := u.ctx.Err(); ended != nil || err == nil {
		return ended
	}
	if !errors.Is(err, fs.ErrClosed) && u.damaged(id) {
		return nil
	}
	return err
}

// DamagedIn returns a function that reports whether faults of a session, see [SessionFaults], tell that
// the state of a snapshot cannot be read.
func DamagedIn(faults []model.Fault, session string) func(id string) bool {
	return func(id string) bool {
		return slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == store.FaultState && f.File == session+"/"+id })
	}
}

// eachText yields what people, models and tools say in a record: texts of several words, and those of
// the members of messages.
func (c *Carried) eachText(yield func(string) bool) {
	walkStrings(c.Data, "", mostWithin, func(key, text string) bool { return !isSaid(key, text) || yield(text) })
}

// mostWithin bounds the JSON that is in strings of JSON.
const mostWithin = 4

// walkStrings yields the strings of a JSON text without white space around them, each with the key of the
// member that it is in, and goes into JSON in a string. What is no JSON is a text itself.
func walkStrings(data []byte, key string, deeper int, yield func(key, text string) bool) bool {
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		text := strings.TrimSpace(string(data))
		return text == "" || yield(key, text)
	}
	for n := range jsontape.Node(tape.Len()) {
		if tape.Kind(n) != jsontape.String {
			continue
		}
		key := key
		for at := n; at >= 0; at = tape.Parent(at) {
			if up := tape.Parent(at); up >= 0 && tape.Kind(up) == jsontape.Object {
				key = tape.Key(at)
				break
			}
		}
		text := strings.TrimSpace(tape.Text(n))
		if text == "" {
			continue
		}
		if deeper > 0 && strings.ContainsRune(`{["`, rune(text[0])) && jsontape.Valid([]byte(text)) {
			if !walkStrings([]byte(text), key, deeper-1, yield) {
				return false
			}
			continue
		}
		if !yield(key, text) {
			return false
		}
	}
	return true
}

// isSaid reports whether a string is part of a conversation: it has words, or is the text of a message.
func isSaid(key, text string) bool {
	if key == "text" || key == "content" {
		return strings.ContainsFunc(text, unicode.IsLetter)
	}
	const short = 8
	if len(text) < short || !strings.ContainsAny(text, " \n") {
		return false
	}
	words := 0
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) {
			words++
		}
	}
	return words > 1
}
