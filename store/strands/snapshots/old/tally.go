package old

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"

	"hindcast/model"
	"hindcast/store/files"
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

// countFaults counts the faults that the list of sessions tells of a place.
// Faults says what they are, and why it could not look further.
func (s *Store) countFaults(ctx context.Context, p *place) int {
	key := p.path() + "/" + s.Assumed().Short() // no file is called so
	now, ok := s.tally(p)
	if ok {
		if text, known := s.memory.Recall(key, now.at); known && bytes.HasPrefix(text, now.sum) {
			if n, size := binary.Uvarint(text[len(now.sum):]); size > 0 {
				return int(n)
			}
		}
	}
	found, err := s.check(ctx, p, quickBytes)
	n := len(model.Harmful(found))
	if ok && err == nil {
		s.memory.Note(key, now.at, binary.AppendUvarint(now.sum, uint64(n)))
	}
	return n
}

// tally looks at the files of a place. It is of no use later where one was just
// written, where the age of one is what counts, or where something cannot be
// looked at.
func (s *Store) tally(p *place) (now tally, ok bool) {
	o, err := s.open(p)
	if err != nil {
		return tally{}, false
	}
	defer o.close()
	items, err := o.items()
	if err != nil || len(items) == 0 || o.unlisted != nil || s.writer.unfinished != nil {
		return tally{}, false
	}
	hash := sha256.New()
	for _, f := range []*files.Folder{o.latest, o.history} {
		if f == nil {
			continue
		}
		names, err := f.Names()
		if err != nil {
			return tally{}, false
		}
		slices.Sort(names)
		for _, name := range names {
			at, err := f.Stat(name)
			if err != nil || isTemporary(name) || name != historyDir && !at.Same(at) {
				return tally{}, false
			}
			if name == items[len(items)-1].name {
				now.at = at
			}
			if name == historyDir {
				at = files.Stamp{} // what is in it is looked at itself
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
