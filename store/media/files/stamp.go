package files

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"time"
)

// Kind is the kind of file that a name stands for.
type Kind uint8

// The kinds. A link is not followed, wherever it leads.
const (
	Nothing Kind = iota
	Regular
	Directory
	Link
	Other // a pipe, a device
)

// kindOf returns the kind of a mode.
func kindOf(mode fs.FileMode) Kind {
	switch mode.Type() {
	case 0:
		return Regular
	case fs.ModeDir:
		return Directory
	case fs.ModeSymlink:
		return Link
	}
	return Other
}

// Stamp identifies the content of a file without reading it, as one stat of its name
// showed it. The zero value stands for a missing file. [Stamp.Same] compares stamps;
// == does not.
type Stamp struct {
	Kind     Kind
	Size     int64 // bytes
	Modified time.Time
	// changed is when the system last changed what it keeps about the file, its
	// bytes included. No program sets it. Zero where the system does not say.
	changed time.Time
	// inode and device say which file it is; 0 where the system does not say.
	inode, device uint64
	// settled says that whatever was written after the look has another time.
	settled bool
}

// tick is the coarsest that times of files are.
const tick = 2 * time.Second

// StampOf returns the stamp of a name from what the system says of it, to whomever it
// was said: package os, or package disk. before is a time before the system was asked.
func StampOf(info fs.FileInfo, before time.Time) Stamp {
	s := Stamp{Kind: kindOf(info.Mode()), Size: info.Size(), Modified: info.ModTime()}
	s.identify(info.Sys())
	return s.lookedAt(before)
}

// lookedAt completes the stamp of a look at a time.
//
// A file that is written twice within a tick of its clock has the same time
// twice. So a stamp that is not older than a tick may stay the same although the
// file changes after the look, and is not trusted later. To write a file sets
// both of its times, which is why one that is older is enough: it would change.
// What is not noticed is a writer that leaves the size as it was, sets the time
// of modification back, and does both within the tick of the system's own time
// at which the file was looked at; and one on another machine whose clock is
// behind by more than a tick, if it writes twice within one of that clock.
func (s Stamp) lookedAt(now time.Time) Stamp {
	s.settled = now.Sub(s.Modified) > tick || !s.changed.IsZero() && now.Sub(s.changed) > tick
	return s
}

// LooksSame reports whether nothing that the system says of a name differs between two
// looks. Whether the content is surely the same, Same says.
func (s Stamp) LooksSame(other Stamp) bool {
	return s.Size == other.Size && s.inode == other.inode && s.device == other.device &&
		s.Modified.Equal(other.Modified) && s.changed.Equal(other.changed)
}

// Same reports whether the file surely has the content that it had at the other
// look, as far as times of files can tell: nothing that the system says of it
// differs, and neither look was too soon after it was written.
func (s Stamp) Same(other Stamp) bool {
	return s.settled && other.settled && s.LooksSame(other)
}

// ContentKey returns a text that is the same for two stamps that Same is true of. It is "" for a look that came too soon after
// the file was written.
func (s Stamp) ContentKey() string {
	if !s.settled {
		return ""
	}
	return fmt.Sprintf("%d %d %d %d %d", s.Size, s.Modified.UnixNano(), s.changed.UnixNano(), s.inode, s.device)
}

// IsFile reports whether two looks were at one file, whatever it held, as far as the system
// says: a file that takes the name of another is another.
func (s Stamp) IsFile(other Stamp) bool { return s.inode == other.inode && s.device == other.device }

// TaggedStamp returns the stamp of a file whose content its keeper names by a tag, as a bucket
// does: of another content the tag is another, however soon after the look it is written.
func TaggedStamp(size int64, modified time.Time, tag string) Stamp {
	sum := sha256.Sum256([]byte(tag))
	return Stamp{
		Kind: Regular, Size: size, Modified: modified, settled: true,
		inode: binary.BigEndian.Uint64(sum[:8]), device: binary.BigEndian.Uint64(sum[8:16]),
	}
}
