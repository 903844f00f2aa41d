// Package scratch has folders for files that are being made: a store before it takes
// its name, a state in an editor. A process that is killed leaves its folder behind;
// the next one that makes a folder in the same place takes it away.
//
//	DIR/.hindcast-123/hindcast-lock   locked as long as the process lives, or one that
//	                                  it handed the lock to; it may name a content, see
//	                                  [Folder.Write]
//	                  …               what is being made
//
// A folder without a lock stays, as it may be another program's; but an empty one of the same
// user that is older than a minute, which a process left that was killed before it had the lock.
package scratch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hindcast/store/media/disk"
)

const (
	prefix   = ".hindcast-"
	lockName = "hindcast-lock"
)

// Folder is a folder that one process makes something in.
type Folder struct {
	// Path is where it is.
	Path string
	lock *os.File
}

// Make makes a folder in another one, "" for that of temporary files, which the user
// alone can read, and holds its lock. First it removes the folders there that processes
// left which were killed.
func Make(dir string) (*Folder, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	sweepDead(dir)
	for {
		path, err := os.MkdirTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		lock, err := disk.Hold(filepath.Join(path, lockName))
		switch {
		case err == nil:
			return &Folder{path, lock}, nil
		case errors.Is(err, disk.ErrLocked), errors.Is(err, fs.ErrNotExist):
			continue // another process took it for one that was left
		case errors.Is(err, errors.ErrUnsupported): // then nothing is ever swept
			return &Folder{path, nil}, os.Remove(filepath.Join(path, lockName))
		}
		return nil, errors.Join(err, os.RemoveAll(path))
	}
}

// Write makes a file in the folder that a person may change. When the process is
// killed, the folder is taken away only if the file is as it was written.
func (f *Folder) Write(name string, data []byte) (path string, err error) {
	path = filepath.Join(f.Path, name)
	if err := os.WriteFile(path, data, 0o600); err != nil || f.lock == nil {
		return path, err
	}
	sum := sha256.Sum256(data)
	_, err = f.lock.WriteAt(hex.AppendEncode(nil, sum[:]), 0)
	return path, err
}

// Inherit has a command hold the lock, too, so that the folder stays as long as the
// command runs. Windows knows no such thing.
func (f *Folder) Inherit(cmd *exec.Cmd) {
	if f.lock != nil && runtime.GOOS != "windows" {
		cmd.ExtraFiles = append(cmd.ExtraFiles, f.lock)
	}
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	return errors.Join(err, f.release())
}

func (f *Folder) release() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// sweepDead removes what processes left in a folder that were killed. What cannot be
// removed stays, and does no harm.
func sweepDead(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil && len(entries) == 0 {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(filepath.Join(path, lockName)); err != nil {
			if isLeft(e) {
				_ = os.Remove(path) // which removes no folder that has something in it
			}
			continue
		}
		lock, err := disk.Hold(filepath.Join(path, lockName))
		if err != nil {
			continue // it is in use, or another user's
		}
		if holdsContent(path, lock) {
			_ = os.RemoveAll(path) // as said above
		}
		_ = lock.Close() // nothing was written
	}
}

// leastAge is how old a folder without a lock is that a process left: one that is alive makes
// the lock at once.
const leastAge = time.Minute

// isLeft reports whether this user made a folder without a lock long ago.
func isLeft(e os.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > leastAge && isOwn(info)
}

// holdsContent reports whether the one file of a folder whose lock names a content has
// that content. A lock that names none is of a folder in which no person writes.
func holdsContent(path string, lock *os.File) bool {
	want, err := io.ReadAll(io.LimitReader(lock, 2*sha256.Size+1))
	if err != nil {
		return false
	}
	if len(want) == 0 {
		return true
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(path, e.Name()))
		sum := sha256.Sum256(data)
		if err != nil || !e.Type().IsRegular() || !bytes.Equal(hex.AppendEncode(nil, sum[:]), want) {
			return false // a person's, or what their editor keeps beside it
		}
	}
	return true
}
