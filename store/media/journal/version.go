package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"hindcast/store/media/disk"
)

// Folder is the name of the journal's folder in a store.
const Folder = ".hindcast"

// Where things are in a store.
const (
	fileName = Folder + "/journal"
	lockName = Folder + "/lock"
	keptName = Folder + "/kept"
	outName  = Folder + "/out"
)

// Version identifies the file or folder at a path, if there is one.
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

// file reports whether it is a file.
func (v Version) file() bool { return v.SHA256 != "" }

// same reports whether two versions are the same. Folders are, whatever their mode.
func (v Version) same(w Version) bool { return v == w || v.Folder && w.Folder }

// keptPath is where a content is kept.
func (v Version) keptPath() string { return path.Join(keptName, v.baseName()) }

func (v Version) baseName() string { return fmt.Sprintf("%s-%03o", v.SHA256, v.Mode) }

// sound reports whether it can be one of a file, of a folder or of nothing.
func (v Version) sound() bool {
	if v.Mode != v.Mode.Perm() || v.Size < 0 {
		return false
	}
	if v.SHA256 == "" {
		return v.Size == 0
	}
	for _, digit := range []byte(v.SHA256) {
		if (digit < '0' || digit > '9') && (digit < 'a' || digit > 'f') {
			return false
		}
	}
	return len(v.SHA256) == 2*sha256.Size && !v.Folder
}

func versionOf(data []byte, mode fs.FileMode) Version {
	sum := sha256.Sum256(data)
	return Version{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)), Mode: mode.Perm()}
}

// Version returns the version at a path. The error is disk.ErrSymlink or
// disk.ErrNotRegular if the path is neither a file nor a folder.
func (j *Journal) Version(name string) (Version, error) {
	look, err := j.lookAt(name, nil)
	return look.Version, err
}

// look is a look at a path: its version, and the file info that shows whether it still holds
// the same.
type look struct {
	Version
	info fs.FileInfo // nil where nothing is there, and of folders
	// at is when it was looked at; zero where the clock was not asked.
	at time.Time
}

// lookAt looks at a path, reading into buf.
func (j *Journal) lookAt(name string, buf *[]byte) (look, error) {
	var own []byte
	if buf == nil {
		buf = &own
	}
	data, info, err := j.disk.Load(name, *buf)
	switch {
	case err == nil:
		*buf = data[:0]
		return look{versionOf(data, info.Mode()), info, time.Now()}, nil
	case errors.Is(err, fs.ErrNotExist):
		return look{}, nil
	case !errors.Is(err, disk.ErrNotRegular):
		return look{}, err
	}
	info, failed := j.disk.Lstat(name)
	switch {
	case failed != nil:
		return look{}, failed
	case info.IsDir():
		return look{Version: Version{Folder: true, Mode: info.Mode().Perm()}}, nil
	}
	return look{}, err
}

// settled is how old a change has to be that the next cannot have the same time:
// file systems count in steps, of 2 s at the worst.
const settled = 3 * time.Second

// isStill reports whether a name has the file that was looked at, as it was then. It
// need not read it again unless it was written just then.
func (j *Journal) isStill(name string, seen look) (bool, error) {
	if seen.info != nil && seen.at.Sub(seen.info.ModTime()) > settled {
		info, err := j.disk.Lstat(name)
		if err != nil {
			return false, err
		}
		if j.disk.SameFile(info, seen.info) {
			return info.Size() == seen.Size && info.ModTime().Equal(seen.info.ModTime()) && info.Mode() == seen.info.Mode(), nil
		}
	}
	now, err := j.Version(name)
	if errors.Is(err, disk.ErrSymlink) || errors.Is(err, disk.ErrNotRegular) {
		return false, nil
	}
	return now == seen.Version, err
}

// Read returns a content that is kept. The error is fs.ErrNotExist if it was purged, and
// a KeptError if it is no longer the same.
func (j *Journal) Read(v Version) ([]byte, error) {
	data, err := j.disk.Read(v.keptPath())
	if err == nil && versionOf(data, v.Mode) != v {
		err = &KeptError{Names: []string{v.keptPath()}}
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return data, nil
}

// Check reads all that is kept. The error is a KeptError where that is not what its
// names say, and nil where nothing is kept. A name that no journal has is passed over.
func (j *Journal) Check(ctx context.Context) error {
	names, err := j.disk.Names(keptName)
	if errors.Is(err, fs.ErrNotExist) {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	damaged := make([]bool, len(names))
	err = j.runParallel(len(names), func(i int, buf *[]byte) error {
		sum, _, _ := strings.Cut(names[i], "-")
		if v := (Version{SHA256: sum}); sum == "" || !v.sound() {
			return ctx.Err()
		}
		found, err := j.lookAt(path.Join(keptName, names[i]), buf)
		switch {
		case errors.Is(err, disk.ErrSymlink), errors.Is(err, disk.ErrNotRegular):
			err = nil
		case err == nil && found.None():
			return ctx.Err() // it was purged just now
		}
		damaged[i] = found.SHA256 != sum
		return cmp.Or(err, ctx.Err())
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	bad := &KeptError{}
	for i, name := range names {
		if damaged[i] {
			bad.Names = append(bad.Names, path.Join(keptName, name))
		}
	}
	if len(bad.Names) == 0 {
		return nil
	}
	return bad
}
