package files_test

import (
	"encoding/binary"
	"testing"
	"time"

	"hindcast/store/media/files"
)

// written is a note with one of everything.
func written() []byte {
	note := files.AppendText(nil, "a name")
	note = files.AppendTime(note, time.Date(2026, 3, 1, 10, 0, 0, 123456789, time.FixedZone("", 5400)))
	note = binary.AppendUvarint(note, 7)
	note = binary.AppendVarint(note, -7)
	note = binary.AppendUvarint(note, 2)
	return append(note, 'x', 'y')
}

func TestNoteReader_givesBackWhatWasAppended(t *testing.T) {
	r := files.ReadNote(written())
	if got := string(r.Text()); got != "a name" {
		t.Errorf("text %q", got)
	}
	if got := r.Time(); !got.Equal(time.Date(2026, 3, 1, 8, 30, 0, 123456789, time.UTC)) {
		t.Errorf("time %v", got)
	}
	if u, v := r.Count(), r.Varint(); u != 7 || v != -7 {
		t.Errorf("numbers %d and %d", u, v)
	}
	if items := r.Items(); items != 2 || string(r.Bytes(items)) != "xy" || r.Len() != 0 || r.IsDamaged() {
		t.Errorf("%d items, %d bytes left, damaged %v", items, r.Len(), r.IsDamaged())
	}
}

func TestNoteReader_isDamagedWhereverItIsCut(t *testing.T) {
	whole := written()
	for size := range whole {
		r := files.ReadNote(whole[:size])
		r.Text()
		r.Time()
		r.Count()
		r.Varint()
		r.Bytes(r.Items())
		if !r.IsDamaged() || r.Len() != 0 || r.Uvarint() != 0 || r.Text() != nil || !r.Time().IsZero() && r.Time().Unix() != 0 {
			t.Errorf("cut after %d bytes, it is read as a whole note", size)
		}
	}
}

func TestNoteReader_believesNoLength(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<62)
	for name, read := range map[string]func(*files.NoteReader){
		"text":  func(r *files.NoteReader) { r.Text() },
		"items": func(r *files.NoteReader) { r.Items() },
		"bytes": func(r *files.NoteReader) { r.Bytes(-1) },
		"time":  func(r *files.NoteReader) { r.Time() },
	} {
		r := files.ReadNote(append(huge, huge...))
		if read(&r); !r.IsDamaged() {
			t.Errorf("%s: a length beyond the note is taken", name)
		}
	}
}
