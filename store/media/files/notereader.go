package files

import (
	"encoding/binary"
	"time"
)

// AppendText appends a text to a note, so that NoteReader.Text returns it.
func AppendText[T string | []byte](note []byte, text T) []byte {
	return append(binary.AppendUvarint(note, uint64(len(text))), text...)
}

// AppendTime appends a time to a note, to the nanosecond and without its zone, so
// that NoteReader.Time returns it. The zero time is one like any other.
func AppendTime(note []byte, at time.Time) []byte {
	return binary.AppendUvarint(binary.AppendVarint(note, at.Unix()), uint64(at.Nanosecond()))
}

// NoteReader takes a note apart that was put together with AppendText, AppendTime
// and the integers of encoding/binary. Notes come back from a file, so that they
// may be damaged in any way: after that everything is zero, and Damaged says so.
// Nothing is made larger than the note.
type NoteReader struct {
	rest    []byte
	damaged bool
}

// ReadNote begins to read a note.
func ReadNote(text []byte) NoteReader { return NoteReader{rest: text} }

// Len returns how many bytes are left to read.
func (r *NoteReader) Len() int { return len(r.rest) }

// IsDamaged reports whether something was not there as it should be.
func (r *NoteReader) IsDamaged() bool { return r.damaged }

// Break declares the note damaged, because of its content.
func (r *NoteReader) Break() { r.damaged, r.rest = true, nil }

// Bytes returns the next n bytes, which stay in the note.
func (r *NoteReader) Bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.Break()
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// Uvarint returns the next number that binary.AppendUvarint wrote.
func (r *NoteReader) Uvarint() uint64 {
	v, size := binary.Uvarint(r.rest)
	r.skipNumber(size)
	return v
}

// Varint returns the next number that binary.AppendVarint wrote.
func (r *NoteReader) Varint() int64 {
	v, size := binary.Varint(r.rest)
	r.skipNumber(size)
	return v
}

// skipNumber skips a number of size bytes; a size that is not positive means a malformed number.
func (r *NoteReader) skipNumber(size int) {
	if size <= 0 {
		r.Break()
		return
	}
	r.rest = r.rest[size:]
}

// Count returns the next unsigned number as one that an int holds on any system.
func (r *NoteReader) Count() int { return int(min(r.Uvarint(), 1<<31-1)) }

// Items returns how many items follow. Each takes at least one byte.
func (r *NoteReader) Items() int {
	items := r.Uvarint()
	if items > uint64(len(r.rest)) {
		r.Break()
		return 0
	}
	return int(items)
}

// Text returns the next text, which stays in the note.
func (r *NoteReader) Text() []byte {
	size := r.Uvarint()
	if size > uint64(len(r.rest)) {
		r.Break()
		return nil
	}
	return r.Bytes(int(size))
}

// Time returns the next time, in UTC.
func (r *NoteReader) Time() time.Time {
	second, nanosecond := r.Varint(), r.Uvarint()
	if nanosecond >= uint64(time.Second) {
		r.Break()
		return time.Time{}
	}
	return time.Unix(second, int64(nanosecond)).UTC()
}
