package files

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

// How notes are kept.
//
// A line that names the format; the kind and the address that they are of; how
// many there are; each note; and a sum of all that. Strings have their length
// before them. Numbers are those of encoding/binary: uvarints, and varints where
// they may be negative.
//
// A note is the name of the file; its size; the second and the nanosecond of both
// of its times; inode and device; how many processes did not ask for the note;
// and the text.

const keptFormat = "hindcast notes 1\n"

// leastNote is what a note takes at least: its ten numbers and lengths.
const leastNote = 10

// keptSum is fast wherever there is an instruction for it. It tells damage, and
// not deceit: who can write here can write anything of the user's.
var keptSum = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("damaged")

// encode gives the notes as they are kept. What has not been used for long is
// left out. The caller holds mu.
func (m *Memory) encode() []byte {
	count := uint64(0)
	for _, n := range m.notes {
		if n.unused <= maxUnused {
			count++
		}
	}
	text := make([]byte, 0, m.size+len(keptFormat)+len(m.kind)+len(m.store)+100)
	text = append(text, keptFormat...)
	text = appendKept(text, m.kind)
	text = appendKept(text, m.store)
	text = binary.AppendUvarint(text, count)
	for name, n := range m.notes {
		if n.unused <= maxUnused {
			text = n.append(text, name)
		}
	}
	return binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, keptSum))
}

func (n *note) append(text []byte, name string) []byte {
	text = appendKept(text, name)
	text = binary.AppendVarint(text, n.stamp.Size)
	for _, at := range []time.Time{n.stamp.Modified, n.stamp.changed} {
		text = binary.AppendVarint(text, at.Unix())
		text = binary.AppendUvarint(text, uint64(at.Nanosecond()))
	}
	for _, number := range []uint64{n.stamp.inode, n.stamp.device, uint64(n.unused)} {
		text = binary.AppendUvarint(text, number)
	}
	return appendKept(text, n.text)
}

func appendKept[T string | []byte](text []byte, s T) []byte {
	return append(binary.AppendUvarint(text, uint64(len(s))), s...)
}

// decode takes notes that were kept. The texts stay in text. After an error, the
// notes are not to be used.
func (m *Memory) decode(text []byte) error {
	end := len(text) - crc32.Size
	if end < 0 || binary.LittleEndian.Uint32(text[end:]) != crc32.Checksum(text[:end], keptSum) {
		return errDamaged
	}
	return m.decodeNotes(text[:end])
}

// decodeNotes is decode without the sum.
func (m *Memory) decodeNotes(text []byte) error {
	if len(text) < len(keptFormat) || string(text[:len(keptFormat)]) != keptFormat {
		return errDamaged
	}
	k := kept{text: text[len(keptFormat):]}
	if kind, store := k.string(), k.string(); k.damaged || string(kind) != m.kind || string(store) != m.store {
		return errDamaged
	}
	count := k.uvarint()
	if count > uint64(min(len(k.text)/leastNote, maxNotes/noteCost)) {
		return errDamaged
	}
	m.notes = make(map[string]*note, count)
	all := make([]note, count)
	for i := range all {
		n := &all[i]
		name := string(k.string())
		n.stamp = Stamp{Size: k.varint(), Modified: k.time(), changed: k.time(), inode: k.uvarint(), device: k.uvarint(), settled: true}
		n.unused = int(min(k.uvarint(), maxUnused)) + 1
		n.text = k.string()
		if k.damaged {
			return errDamaged
		}
		m.drop(name)
		m.notes[name] = n
		m.size += n.size(name)
	}
	if len(k.text) > 0 || m.size > maxNotes {
		return errDamaged
	}
	return nil
}

// kept is what is left to read. After damage, everything is zero.
type kept struct {
	text    []byte
	damaged bool
}

func (k *kept) uvarint() uint64 {
	v, n := binary.Uvarint(k.text)
	k.skip(n)
	return v
}

func (k *kept) varint() int64 {
	v, n := binary.Varint(k.text)
	k.skip(n)
	return v
}

// skip passes over a number of n bytes; n is not positive if it was none.
func (k *kept) skip(n int) {
	if n <= 0 {
		k.damaged, k.text = true, nil
		return
	}
	k.text = k.text[n:]
}

func (k *kept) time() time.Time {
	second, nanosecond := k.varint(), k.uvarint()
	if nanosecond >= uint64(time.Second) {
		k.damaged = true
		return time.Time{}
	}
	return time.Unix(second, int64(nanosecond))
}

// string gives the next string, which stays in the text.
func (k *kept) string() []byte {
	size := k.uvarint()
	if size > uint64(len(k.text)) {
		k.damaged, k.text = true, nil
		return nil
	}
	s := k.text[:size:size]
	k.text = k.text[size:]
	return s
}
