package files

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

// The format of a file of notes.
//
// A line names the format. Then come the store's kind and address, the number of
// notes, each note, and a checksum of everything before it. A string has its length
// in front. A number is a uvarint of encoding/binary, or a varint if it may be
// negative.
//
// A note has the file's name; its size; the second and the nanosecond of both of its
// times; inode and device; the number of processes that did not ask for the note;
// and the text.

const keptFormat = "hindcast notes 1\n"

// leastNote is the least size of a note: its ten numbers and lengths.
const leastNote = 10

// keptSum is fast wherever there is an instruction for it. It tells damage, and
// not deceit: who can write here can write anything of the user's.
var keptSum = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("damaged")

// encodeNotes returns the notes as they are kept. What has not been used for long is
// left out. The caller holds mu.
func (m *Memory) encodeNotes() []byte {
	count := uint64(0)
	for _, n := range m.notes {
		if n.unused <= maxUnused {
			count++
		}
	}
	text := make([]byte, 0, m.size+len(keptFormat)+len(m.kind)+len(m.store)+100)
	text = append(text, keptFormat...)
	text = AppendText(text, m.kind)
	text = AppendText(text, m.store)
	text = binary.AppendUvarint(text, count)
	for name, n := range m.notes {
		if n.unused <= maxUnused {
			text = n.appendTo(text, name)
		}
	}
	return binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, keptSum))
}

func (n *note) appendTo(text []byte, name string) []byte {
	text = AppendText(text, name)
	text = binary.AppendVarint(text, n.stamp.Size)
	for _, at := range []time.Time{n.stamp.Modified, n.stamp.changed} {
		text = AppendTime(text, at)
	}
	for _, number := range []uint64{n.stamp.inode, n.stamp.device, uint64(n.unused)} {
		text = binary.AppendUvarint(text, number)
	}
	return AppendText(text, n.text)
}

// parseNotes takes notes that were kept. The texts stay in text. After an error, the
// notes are not to be used.
func (m *Memory) parseNotes(text []byte) error {
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
	k := ReadNote(text[len(keptFormat):])
	if kind, store := k.Text(), k.Text(); k.IsDamaged() || string(kind) != m.kind || string(store) != m.store {
		return errDamaged
	}
	count := k.Uvarint()
	if count > uint64(min(k.Len()/leastNote, maxNotes/noteCost)) {
		return errDamaged
	}
	m.notes = make(map[string]*note, count)
	all := make([]note, count)
	for i := range all {
		n := &all[i]
		name := string(k.Text())
		n.stamp = Stamp{Kind: Regular, Size: k.Varint(), Modified: k.Time(), changed: k.Time(), inode: k.Uvarint(), device: k.Uvarint(), settled: true}
		n.unused = int(min(k.Uvarint(), maxUnused)) + 1
		n.text = k.Text()
		if k.IsDamaged() {
			return errDamaged
		}
		m.dropNote(name)
		m.notes[name] = n
		m.size += n.size(name)
	}
	if k.Len() > 0 || m.size > maxNotes {
		return errDamaged
	}
	return nil
}
