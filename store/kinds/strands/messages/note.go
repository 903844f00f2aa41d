package messages

import (
	"encoding/binary"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
)

// What is remembered of a message file.
//
// A note has what the headers and the faults are made of, and not the message
// itself: its id, the hash of its file and its length, its place in the turn, its tool calls and
// results, its title, and what is wrong with it. It takes about 160 bytes, a
// tenth of the file. States are read when they are asked for.
//
// Notes may have been kept by another process, and so are read with care; what is
// damaged is as if it was not there.

// noteKind names the notes for a files.Cache. Its number grows with every change of the notes or
// of the rules for faults.
const noteKind = kind + " 7"

// Bits of a note.
const (
	noteWhole = 1 << iota
	noteHasID
	noteRedacted
	notePinned
	noteErrored
	noteCreated
	noteLocated
	noteNameless
)

// roles are the roles with a number in notes; 0 is any other role.
var roles = [...]string{"", "user", "assistant"}

// appendNote appends what is remembered of a message.
func (m *message) appendNote(dst []byte) []byte {
	bits := uint64(0)
	for i, set := range []bool{m.whole, m.hasID, m.redacted, m.pinned, m.errored, !m.created.IsZero(), m.location != "", m.nameless} {
		if set {
			bits |= 1 << i
		}
	}
	dst = append(append(dst, m.id[:]...), m.sum[:]...)
	dst = binary.AppendUvarint(dst, bits)
	dst = binary.AppendUvarint(dst, uint64(m.size))
	if m.hasID {
		dst = binary.AppendVarint(dst, m.messageID)
	}
	if !m.created.IsZero() {
		dst = files.AppendTime(dst, m.created)
	}
	role := 0
	for i, known := range roles {
		if known == m.role {
			role = i
		}
	}
	dst = binary.AppendUvarint(dst, uint64(role))
	if role == 0 {
		dst = files.AppendText(dst, m.role)
	}
	dst = binary.AppendUvarint(files.AppendText(dst, m.said), uint64(m.by))
	dst = binary.AppendUvarint(dst, uint64(m.others))
	dst = binary.AppendUvarint(dst, uint64(len(m.calls)))
	for _, c := range m.calls {
		dst = files.AppendText(files.AppendText(files.AppendText(dst, c.id), c.rawID), c.name)
		dst = binary.AppendUvarint(dst, uint64(c.block))
		dst = binary.AppendUvarint(files.AppendText(files.AppendText(dst, c.act.Text), c.act.Change), uint64(c.act.Verb))
		dst = appendBool(dst, c.act.Ranged)
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.results)))
	for _, r := range m.results {
		dst = files.AppendText(files.AppendText(files.AppendText(files.AppendText(dst, r.id), r.status), r.yield.First), r.yield.Exit)
		for _, n := range [...]int{r.block, r.yield.Lines, r.yield.Items + 1} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		dst = appendBool(dst, r.yield.Failed)
	}
	for _, list := range [][]flaw{m.flaws, m.notes} {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, f := range list {
			dst = files.AppendText(files.AppendText(files.AppendText(files.AppendText(dst, f.code), f.path), f.meaning), f.verdict.Text())
			dst = binary.AppendUvarint(binary.AppendVarint(dst, int64(f.verdict.Severity())), uint64(f.looks))
		}
	}
	return dst
}

// appendBool appends 1 for true and 0 for false.
func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// recall takes a message from a note of the file of a name. It reports whether the
// note is whole; if not, m is not to be used.
func (m *message) recall(name string, text []byte) bool {
	n := files.ReadNote(text)
	*m = message{name: name, calls: m.calls[:0], results: m.results[:0]}
	copy(m.id[:], n.Bytes(len(m.id)))
	copy(m.sum[:], n.Bytes(len(m.sum)))
	bits := n.Uvarint()
	m.whole, m.hasID, m.redacted = bits&noteWhole != 0, bits&noteHasID != 0, bits&noteRedacted != 0
	m.pinned, m.errored, m.nameless = bits&notePinned != 0, bits&noteErrored != 0, bits&noteNameless != 0
	m.size = n.Count()
	if m.hasID {
		m.messageID = n.Varint()
	}
	if bits&noteCreated != 0 {
		m.created = n.Time()
	}
	if role := n.Uvarint(); role == 0 {
		m.role = string(n.Text())
	} else if role < uint64(len(roles)) {
		m.role = roles[role]
	} else {
		return false
	}
	if bits&noteLocated != 0 {
		m.location = messagePath
		if m.redacted {
			m.location = redactPath
		}
	}
	m.said, m.by = string(n.Text()), conversation.Typed(n.Count())
	m.others = n.Count()
	for range n.Items() {
		c := call{id: string(n.Text()), rawID: string(n.Text()), name: string(n.Text()), block: n.Count()}
		c.act = conversation.Act{Text: string(n.Text()), Change: string(n.Text()), Verb: conversation.Verb(n.Count()), Ranged: n.Count() > 0}
		m.calls = append(m.calls, c)
	}
	for range n.Items() {
		r := result{id: string(n.Text()), status: string(n.Text())}
		r.yield.First, r.yield.Exit = string(n.Text()), string(n.Text())
		r.block, r.yield.Lines, r.yield.Items, r.yield.Failed = n.Count(), n.Count(), n.Count()-1, n.Count() > 0
		m.results = append(m.results, r)
	}
	for _, list := range []*[]flaw{&m.flaws, &m.notes} {
		for range n.Items() {
			f := flaw{code: string(n.Text()), path: string(n.Text()), meaning: string(n.Text())}
			text, severity := string(n.Text()), model.Severity(n.Varint())
			f.verdict, f.looks = sdk.Of(severity, text), looks(n.Uvarint())
			*list = append(*list, f)
		}
	}
	return !n.IsDamaged() && n.Len() == 0
}
