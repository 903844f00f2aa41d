package strands

import (
	"encoding/binary"
	"time"
)

// What is remembered of a message file.
//
// A note has what the headers and the faults are made of, and not the message
// itself: its id and its length, its place in the turn, its tool calls and
// results, its title, and what is wrong with it. It takes about 130 bytes, a
// tenth of the file. States are read when they are asked for.
//
// Notes may have been kept by another process, and so are read with care; what is
// damaged is as if it was not there.

// noteKind names the notes for a files.Shelf. Its number grows with every change
// of what is noted or of how a file is judged.
const noteKind = kind + " 1"

// Bits of a note.
const (
	noteWhole = 1 << iota
	noteHasID
	noteRedacted
	notePinned
	noteErrored
	noteCreated
	noteLocated
)

// roles are those that a note has a number for; 0 is another one.
var roles = [...]string{"", "user", "assistant"}

// appendNote appends what is remembered of a message.
func (m *message) appendNote(dst []byte) []byte {
	bits := uint64(0)
	for i, set := range []bool{m.whole, m.hasID, m.redacted, m.pinned, m.errored, !m.created.IsZero(), m.location != ""} {
		if set {
			bits |= 1 << i
		}
	}
	dst = append(dst, m.id[:]...)
	dst = binary.AppendUvarint(dst, bits)
	dst = binary.AppendUvarint(dst, uint64(m.size))
	if m.hasID {
		dst = binary.AppendVarint(dst, m.messageID)
	}
	if !m.created.IsZero() {
		dst = binary.AppendVarint(dst, m.created.Unix())
		dst = binary.AppendUvarint(dst, uint64(m.created.Nanosecond()))
	}
	role := 0
	for i, known := range roles {
		if known == m.role {
			role = i
		}
	}
	dst = binary.AppendUvarint(dst, uint64(role))
	if role == 0 {
		dst = appendText(dst, m.role)
	}
	dst = appendText(dst, m.said)
	dst = binary.AppendUvarint(dst, uint64(m.others))
	dst = binary.AppendUvarint(dst, uint64(len(m.calls)))
	for _, c := range m.calls {
		dst = appendText(appendText(appendText(dst, c.id), c.rawID), c.name)
		dst = binary.AppendUvarint(dst, uint64(c.block))
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.results)))
	for _, r := range m.results {
		dst = appendText(appendText(dst, r.id), r.status)
		dst = binary.AppendUvarint(dst, uint64(r.block))
	}
	for _, list := range [][]flaw{m.flaws, m.notes} {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, f := range list {
			dst = appendText(appendText(appendText(appendText(dst, f.code), f.path), f.meaning), f.verdict)
		}
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// recall takes a message from a note of the file of a name. It reports whether the
// note is whole; if not, m is not to be used.
func (m *message) recall(name string, text []byte) bool {
	n := noted{text: text}
	*m = message{name: name, calls: m.calls[:0], results: m.results[:0]}
	n.bytes(m.id[:])
	bits := n.uvarint()
	m.whole, m.hasID, m.redacted = bits&noteWhole != 0, bits&noteHasID != 0, bits&noteRedacted != 0
	m.pinned, m.errored = bits&notePinned != 0, bits&noteErrored != 0
	m.size = n.count()
	if m.hasID {
		m.messageID = n.varint()
	}
	if bits&noteCreated != 0 {
		second, nanosecond := n.varint(), n.uvarint()
		if nanosecond >= uint64(time.Second) {
			return false
		}
		m.created = time.Unix(second, int64(nanosecond)).UTC()
	}
	if role := n.uvarint(); role == 0 {
		m.role = n.string()
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
	m.said = n.string()
	m.others = n.count()
	for range n.items() {
		m.calls = append(m.calls, call{id: n.string(), rawID: n.string(), name: n.string(), block: n.count()})
	}
	for range n.items() {
		m.results = append(m.results, result{id: n.string(), status: n.string(), block: n.count()})
	}
	for _, list := range []*[]flaw{&m.flaws, &m.notes} {
		for range n.items() {
			*list = append(*list, flaw{n.string(), n.string(), n.string(), n.string()})
		}
	}
	return !n.damaged && len(n.text) == 0
}

// noted is what is left to read of a note. After damage, everything is zero.
type noted struct {
	text    []byte
	damaged bool
}

func (n *noted) broken() { n.damaged, n.text = true, nil }

func (n *noted) uvarint() uint64 {
	v, size := binary.Uvarint(n.text)
	n.skip(size)
	return v
}

func (n *noted) varint() int64 {
	v, size := binary.Varint(n.text)
	n.skip(size)
	return v
}

// skip passes over a number of some bytes; not positive if it was none.
func (n *noted) skip(size int) {
	if size <= 0 {
		n.broken()
		return
	}
	n.text = n.text[size:]
}

// count gives a number of bytes or blocks.
func (n *noted) count() int { return int(min(n.uvarint(), 1<<40)) }

// items gives how many things follow, each of which takes more than a byte.
func (n *noted) items() int {
	if items := n.uvarint(); items <= uint64(len(n.text)) {
		return int(items)
	}
	n.broken()
	return 0
}

func (n *noted) bytes(into []byte) {
	if len(n.text) < len(into) {
		n.broken()
		return
	}
	n.text = n.text[copy(into, n.text):]
}

func (n *noted) string() string {
	size := n.uvarint()
	if size > uint64(len(n.text)) {
		n.broken()
		return ""
	}
	text := string(n.text[:size])
	n.text = n.text[size:]
	return text
}
