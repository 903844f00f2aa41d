package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"hindcast/model"
	"hindcast/store/disk"
)

// Folder is the name of the journal's folder in a store.
const Folder = ".hindcast"

// Version is what a path holds.
type Version struct {
	// SHA256 is that of the content in lowercase hex, "" where there is no file.
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes
	// Mode are the permission bits.
	Mode fs.FileMode `json:"mode,omitempty"`
	// Folder says that it is a folder, which has no content.
	Folder bool `json:"folder,omitempty"`
}

// None reports whether nothing is there.
func (v Version) None() bool { return v.SHA256 == "" && !v.Folder }

// Change is one file that goes from one version to another.
type Change struct {
	Path   string           `json:"path"`
	Does   model.FileChange `json:"does"`
	Before Version          `json:"before"`
	After  Version          `json:"after"`
}

// Guard is something beside the changes that must stay as the plan saw it while
// the files change.
type Guard struct {
	// Path is a file that must keep its version, or a folder to which no names may
	// come and from which none may go but those of the changes.
	Path    string  `json:"path"`
	Version Version `json:"version"`
	// Others is the SHA-256 of the other names of a folder.
	Others string `json:"others,omitempty"`
}

// Entry is one write in the journal.
type Entry struct {
	model.JournalEntry
	// NewSession is set of a write that made one.
	NewSession string `json:"newSession,omitempty"`
	// Changes are in the order in which they were made.
	Changes []Change `json:"changes"`
	Guards  []Guard  `json:"guards,omitempty"`
}

// Options are what a kind says about its journal.
type Options struct {
	// Ignore reports whether a name in a folder is not the kind's, such as that of
	// a file that is being written. Nil ignores none.
	Ignore func(name string) bool
	// Now gives the time for the journal; nil is time.Now.
	Now func() time.Time
}

// Journal is that of one store. It is safe for concurrent use, by several
// processes too.
type Journal struct {
	disk disk.Disk
	o    Options
}

// New gives the journal of the store on a disk. Nothing is read or written.
func New(d disk.Disk, o Options) *Journal {
	if o.Ignore == nil {
		o.Ignore = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Journal{d, o}
}

// ConflictError says that a file is not as the plan saw it.
type ConflictError struct {
	// Path is the file, or the folder whose names changed.
	Path string
	// Found says in a few words what became of it.
	Found string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s since: somebody else writes to the session", e.Path, e.Found)
}

// Is makes errors.Is(err, model.ErrHeadMoved) hold.
func (e *ConflictError) Is(target error) bool { return target == model.ErrHeadMoved }

// record is one line of the journal: an intent, or what became of it.
type record struct {
	*Entry
	// Of is the entry that an undo or a redo is about.
	Of int64 `json:"of,omitempty"`
	// Done and Back are the entry that was finished, or taken back, and Why.
	Done int64  `json:"done,omitempty"`
	Back int64  `json:"back,omitempty"`
	Why  string `json:"why,omitempty"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entries gives what was written, the oldest first, each with whether it is undone
// just now. Undoing and redoing are not entries of their own. A store to which
// nothing was written has none.
func (j *Journal) Entries(ctx context.Context) ([]Entry, error) {
	records, err := j.records()
	if err != nil {
		return nil, err
	}
	return fold(records), ctx.Err()
}

func (j *Journal) records() ([]record, error) {
	data, err := j.disk.Read(path.Join(Folder, "journal"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: read: %w", err)
	}
	var records []record
	for line := range bytes.Lines(data) {
		sum, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		want, err := strconv.ParseUint(string(sum), 16, 32)
		if !ok || err != nil || uint32(want) != crc32.Checksum(text, castagnoli) {
			continue // torn
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		records = append(records, r)
	}
	return records, nil
}

func fold(records []record) []Entry {
	var list []Entry
	intents := map[int64]record{}
	for _, r := range records {
		if r.Entry != nil && r.Entry.ID != 0 {
			intents[r.Entry.ID] = r
		}
		intent, ok := intents[r.Done]
		if r.Done == 0 || !ok {
			continue
		}
		if intent.Of == 0 {
			list = append(list, *intent.Entry)
			continue
		}
		if i := slices.IndexFunc(list, func(e Entry) bool { return e.ID == intent.Of }); i >= 0 {
			list[i].Undone = intent.Op == model.OpUndo
		}
	}
	return list
}

func (j *Journal) append(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "\n%08x %s\n", crc32.Checksum(text, castagnoli), text)
	name := path.Join(Folder, "journal")
	if err := j.disk.Append(name, line); err != nil {
		return err
	}
	return j.disk.Sync(name)
}

// Version gives what a path holds.
func (j *Journal) Version(name string) (Version, error) {
	info, err := j.disk.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Version{}, nil
	case err != nil:
		return Version{}, err
	case info.IsDir():
		return Version{Folder: true, Mode: info.Mode().Perm()}, nil
	case !info.Mode().IsRegular():
		return Version{}, fmt.Errorf("%s: not a regular file", name)
	}
	data, err := j.disk.Read(name)
	if err != nil {
		return Version{}, err
	}
	return versionOf(data, info.Mode().Perm()), nil
}

func versionOf(data []byte, mode fs.FileMode) Version {
	sum := sha256.Sum256(data)
	return Version{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)), Mode: mode}
}

func (v Version) kept() string {
	return path.Join(Folder, "kept", fmt.Sprintf("%s-%03o", v.SHA256, v.Mode))
}

// Read gives a content that is kept. The error is fs.ErrNotExist if it was purged,
// and says so if it is no longer the same.
func (j *Journal) Read(v Version) ([]byte, error) {
	data, err := j.disk.Read(v.kept())
	if err == nil && versionOf(data, v.Mode) != v {
		err = fmt.Errorf("journal: %s was changed", v.kept())
	}
	return data, err
}
