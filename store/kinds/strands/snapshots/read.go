package snapshots

import (
	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/tree"
)

// scanned is the decoded content of one snapshot file, or of its note.
type scanned struct {
	note
	messages
	written int64 // bytes of the file
	// noted says that it was a note, with the messages alone that the one before it has
	// not.
	noted bool
	// joined says that the messages are all of the file's, and mark is theirs.
	joined bool
	mark   uint64
}

// codec makes it of a file.
var codec = tree.Codec[*scanned]{
	Decode: func(f tree.File) (*scanned, bool) {
		s := &scanned{written: f.Size}
		s.capture, s.messages = readCapture(f.Data)
		return s, s.Problem == ""
	},
	Note: func(s *scanned) []byte { return s.appendNote() },
	Recall: func(f tree.File) (*scanned, error) {
		s, err := parseNote(f.Data)
		s.written = f.Size
		return s, err
	},
	Join: func(before *scanned, is **scanned) bool { return (*is).joinShared(before) },
}

// joinShared completes a note with the messages that it shares with the snapshot listed before
// it; before is nil if there is no such snapshot.
func (s *scanned) joinShared(before *scanned) bool {
	if before == nil {
		before = &scanned{}
	}
	switch {
	case s.joined:
		return true // in the course of the same plan
	case s.noted && (s.After != before.mark || s.Keep > len(before.prints) || s.From > len(before.prints)-s.Keep):
		return false
	case !s.noted:
		s.After = before.mark
		s.From, s.Keep = s.findShared(&before.messages)
		s.prints, s.shapes = s.prints[s.Keep:], s.shapes[s.Keep:]
	}
	s.Own = len(s.prints)
	s.messages = before.extendRun(s.From, s.Keep, &s.messages)
	s.joined, s.mark = true, s.messages.listMark()
	return true
}

// room is where lists of messages lie that go on from one another, so that those of all
// snapshots together take the room of one conversation.
type room struct {
	prints []lineage.Print
	shapes []shape
}

// extendRun returns a run of a list with more messages behind it.
func (m *messages) extendRun(from, keep int, more *messages) messages {
	r := m.room
	if r == nil || m.end != len(r.prints) || from+keep != len(m.prints) {
		r = &room{append([]lineage.Print(nil), m.prints[from:from+keep]...), append([]shape(nil), m.shapes[from:from+keep]...)}
	}
	begin := len(r.prints) - keep
	r.prints, r.shapes = append(r.prints, more.prints...), append(r.shapes, more.shapes...)
	return messages{prints: r.prints[begin:], shapes: r.shapes[begin:], room: r, end: len(r.prints)}
}
