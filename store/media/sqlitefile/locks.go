package sqlitefile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// locks are the files that SQLite may have locked in this process. A POSIX lock ends when
// its process closes any descriptor of the file, so a descriptor that is not SQLite's stays
// open until SQLite has let go of the file. SQLite keeps such a list of its own descriptors.
var locks lockList

type lockList struct {
	mu   sync.Mutex
	list []*locked
}

// locked is one file.
type locked struct {
	info fs.FileInfo
	// users are the connections that may hold a lock.
	users int
	// waiting are the descriptors to close after the last user.
	waiting []*os.File
}

// entryOf returns the entry of a file, nil if it has no entry. The caller holds the mutex.
func (l *lockList) entryOf(info fs.FileInfo) *locked {
	for _, one := range l.list {
		if os.SameFile(one.info, info) {
			return one
		}
	}
	return nil
}

// enterFile tells that connections to a file are about to be made, and leave that they are closed.
func (l *lockList) enterFile(path string) (leave func() error) {
	info, err := os.Stat(path)
	if err != nil {
		return func() error { return nil } // SQLite cannot open it either
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.entryOf(info)
	if one == nil {
		one = &locked{info: info}
		l.list = append(l.list, one)
	}
	one.users++
	return func() (err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users > 0 {
			return nil
		}
		for _, file := range one.waiting {
			err = errors.Join(err, file.Close())
		}
		for i := range l.list {
			if l.list[i] == one {
				l.list = append(l.list[:i], l.list[i+1:]...)
				break
			}
		}
		return err
	}
}

// closeFile closes a descriptor as soon as SQLite has no lock on the file.
func (l *lockList) closeFile(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.entryOf(info); one != nil {
		one.waiting = append(one.waiting, file)
		return nil
	}
	return file.Close()
}
