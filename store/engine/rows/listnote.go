package rows

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
)

// listNote keeps the list of the sessions of a file, so that an unchanged file is not read again for it. The zero value
// keeps nothing.
type listNote struct {
	notes *files.Memory
	path  string
}

// fileLook identifies the content of a file, and of its logs and journals beside it. The zero value identifies nothing.
type fileLook struct {
	at     files.Stamp
	beside string
}

// lookNow returns the look of the file as it is now.
func (n *listNote) lookNow() (look fileLook) {
	if n.notes == nil {
		return look
	}
	now := time.Now()
	info, err := os.Stat(n.path)
	if err != nil {
		return look
	}
	look.at = files.StampOf(info, now)
	for _, suffix := range []string{"-wal", "-journal", Beside} {
		side, err := os.Stat(n.path + suffix)
		switch {
		case os.IsNotExist(err):
		case err != nil || now.Sub(side.ModTime()) < sideSettles:
			return fileLook{}
		default:
			look.beside += fmt.Sprintln(suffix, side.Size(), side.ModTime().UnixNano())
		}
	}
	return look
}

// sideSettles is how long ago a log was written that another write would show by its time.
const sideSettles = 2 * time.Second

// listAgain returns the list that was kept of the file as it was before the transaction, or else the list that read
// returns. It keeps that if the file is still the same.
func (m *medium) listAgain(in engine.In, read func() ([]model.SessionInfo, error)) ([]model.SessionInfo, error) {
	before := in.Tx.(*moment).look
	if before == (fileLook{}) {
		return read()
	}
	if text, ok := m.note.notes.Recall(listName, before.at); ok {
		if list, ok := parseList(text, before.beside, m.kind.Name); ok {
			return list, nil
		}
	}
	list, err := read()
	if now := m.note.lookNow(); err == nil && now.beside == before.beside && now.at.Same(before.at) {
		m.note.notes.Note(listName, before.at, appendList(nil, before.beside, list))
		m.note.notes.Keep()
	}
	return list, err
}

// listName is the name of the note of a list.
const listName = "list"

// appendList appends a note of a list.
func appendList(text []byte, beside string, list []model.SessionInfo) []byte {
	text = binary.AppendUvarint(files.AppendText(text, beside), uint64(len(list)))
	for i := range list {
		info := &list[i]
		for _, s := range []string{info.ID, info.Head.ID, info.Title, info.Project, info.Parent} {
			text = files.AppendText(text, s)
		}
		for _, n := range []int64{int64(info.Head.Index), int64(info.Snapshots), int64(info.Orphaned), int64(info.Faults), info.Size} {
			text = binary.AppendVarint(text, n)
		}
		text = files.AppendTime(text, info.UpdatedAt)
	}
	return text
}

// parseList reads a note of a list, and reports false if it is of another state of the files beside, or damaged.
func parseList(text []byte, beside, kind string) ([]model.SessionInfo, bool) {
	r := files.ReadNote(text)
	if string(r.Text()) != beside {
		return nil, false
	}
	list := make([]model.SessionInfo, r.Items())
	for i := range list {
		info := &list[i]
		info.Kind = kind
		for _, s := range []*string{&info.ID, &info.Head.ID, &info.Title, &info.Project, &info.Parent} {
			*s = string(r.Text())
		}
		for _, n := range []*int{&info.Head.Index, &info.Snapshots, &info.Orphaned, &info.Faults} {
			*n = int(r.Varint())
		}
		info.Size, info.UpdatedAt = r.Varint(), r.Time()
	}
	return list, !r.IsDamaged() && r.Len() == 0
}
