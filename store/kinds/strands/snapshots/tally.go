package snapshots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// The list of sessions says how many faults each has, for which files are read
// whole. So the count is noted, too, until something in the folders of the place
// changes.

// tally is a count of faults, and what there was to count in.
type tally struct {
	// at is the stamp of the snapshot that is listed last, which goes with nearly
	// every change, and sum the names, sizes and times of all files.
	at  files.Stamp
	sum []byte
}

// countFaults counts the faults of a place for the list of sessions. Faults describes
// them, and says why the search ended.
func (s *Store) countFaults(ctx context.Context, in engine.In, p *place, log *engine.Log) int {
	key := p.pathOf() + "/" + s.running.ListAssumed().Short() // no file is called so
	now, ok := s.tallyPlace(in, p)
	if ok {
		if text, known := in.Memo.Notes.Recall(key, now.at); known && bytes.HasPrefix(text, now.sum) {
			if n, size := binary.Uvarint(text[len(now.sum):]); size > 0 {
				return int(n)
			}
		}
	}
	found, err := s.checkPlaces(ctx, in, p, log, quickBytes)
	n := len(model.Harmful(found))
	if ok && err == nil {
		in.Memo.Notes.Note(key, now.at, binary.AppendUvarint(now.sum, uint64(n)))
	}
	return n
}

// tallyPlace looks at the files of a place. Its result cannot be cached if a file was just
// written, if the age of a file counts, or if a file cannot be read.
func (s *Store) tallyPlace(in engine.In, p *place) (now tally, ok bool) {
	t := in.Tree
	l, err := p.listFiles(t)
	if err != nil || len(l.history)+len(l.latest) == 0 || l.unlisted != nil || s.files.Storage.Broken() != nil {
		return tally{}, false
	}
	listed := slices.Concat(l.history, l.latest)
	last := p.storageName(listed[len(listed)-1])
	hash := sha256.New()
	for _, dir := range []string{p.nameOf(), p.nameOf(historyDir)} {
		defer t.Hold(dir)()
		names, err := t.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tally{}, false
		}
		for _, name := range slices.Sorted(slices.Values(names)) {
			at, err := t.Stamp(tree.Join(dir, name))
			if err != nil || isTemporary(name) || name != historyDir && !at.Same(at.Stamp) {
				return tally{}, false
			}
			if tree.Join(dir, name) == last {
				now.at = at.Stamp
			}
			if name == historyDir {
				at = tree.Stamp{} // what is in it is looked at itself
			}
			var numbers [16]byte
			binary.LittleEndian.PutUint64(numbers[:], uint64(at.Size))
			binary.LittleEndian.PutUint64(numbers[8:], uint64(at.Modified.UnixNano()))
			_, _ = io.WriteString(hash, name+"\x00") // a hash takes everything
			_, _ = hash.Write(numbers[:])
		}
		_, _ = io.WriteString(hash, "/")
	}
	now.sum = hash.Sum(nil)
	return now, true
}
