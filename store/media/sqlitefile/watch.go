package sqlitefile

import (
	"context"
	"io/fs"
	"os"
	"time"

	"hindcast/store/media/watch"
)

// How a file is watched
//
// Package watch tells when something happened to the file or its log. Then their times, sizes and
// inodes are looked at. Nothing is opened for that: a connection that is kept would keep a
// writer from tidying up when it goes, and a descriptor of our own on a file
// would, when closed, drop the locks that this process holds on it. It is the
// cheapest way besides (BenchmarkWatch): 3 µs a look, where asking a kept
// connection for its data_version takes 6 µs and a new connection 250 µs.
//
// The log tells of a write too early, however: a commit can be seen only after
// the log was written, and then brought to the disk, and then its index
// changed, and of that the file system tells nothing. And two changes within one
// tick of the file system's clock may look like one. A change therefore has
// echoes, further and further apart: a reader that reads too soon reads again.
// When the last echo is over, nothing runs until the files change.

const (
	// firstEcho is how long after a change its first echo comes.
	firstEcho = 200 * time.Millisecond
	// lastEcho bounds how far apart echoes get. They cover together twice that:
	// the longest that bringing a write to the disk may take.
	lastEcho = 128 * firstEcho
)

// Watch returns a value for each of own, which tells of the changes that this program
// makes, and one within half a second after a write of another became visible, or within as
// long as it took to become so. After a change come a few more values, in case that it
// was not visible yet. The channel is closed when own is. The errors are fs.ErrClosed
// and that of ctx.
func (f *File) Watch(ctx context.Context, own <-chan struct{}) (<-chan struct{}, error) {
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx)) // own says when it ends
	signs := watch.File(ctx, f.path, logSuffix)
	l := newLookout(f.path, time.Now())
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		defer func() {
			end()
			for range signs { // until it has ended
			}
		}()
		for {
			select {
			case _, going := <-own:
				if !going {
					return
				}
			case <-signs:
				if !l.hasNews(time.Now()) {
					continue
				}
			case <-l.nextEcho():
				if !l.hasNews(time.Now()) {
					continue
				}
			}
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}()
	return changes, nil
}

// lookout tracks how a file has looked from outside.
type lookout struct {
	file string
	seen sight
	// echo is when the next echo is due, wait how long after the one before; 0
	// when none is.
	echo time.Time
	wait time.Duration
}

// sight is the file info of a file and of its log, nil for a missing file. made identifies the files that a database
// is made of.
type sight struct {
	file, log fs.FileInfo
	made      string
}

func (a sight) same(b sight) bool { return isSameInfo(a.file, b.file) && isSameInfo(a.log, b.log) }

func isSameInfo(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return sameFile(a, b)
}

// isWrittenSince reports whether one of the files was written to after a time.
func (a sight) isWrittenSince(t time.Time) bool {
	return a.file != nil && a.file.ModTime().After(t) || a.log != nil && a.log.ModTime().After(t)
}

func lookAtFiles(file string) sight {
	return sight{file: statFile(file), log: statFile(file + logSuffix)}
}

// logSuffix is the suffix that the name of a log adds to the name of its file.
const logSuffix = "-wal"

// statFile returns the info of a file, nil if it does not exist. A file that cannot be looked at is as
// good as gone until it can be.
func statFile(path string) fs.FileInfo {
	info, _ := os.Stat(path)
	return info
}

// newLookout begins to watch; a write that may be under way has its echoes.
func newLookout(file string, now time.Time) *lookout {
	l := &lookout{file: file, seen: lookAtFiles(file)}
	if l.seen.isWrittenSince(now.Add(-2 * lastEcho)) {
		l.echoFrom(now)
	}
	return l
}

func (l *lookout) echoFrom(now time.Time) { l.wait, l.echo = firstEcho, now.Add(firstEcho) }

// nextEcho returns a timer channel for the next echo, nil if no echo is due.
func (l *lookout) nextEcho() <-chan time.Time {
	if l.wait == 0 {
		return nil
	}
	return time.After(time.Until(l.echo))
}

// hasNews looks at the files, and reports whether they are worth reading.
func (l *lookout) hasNews(now time.Time) bool {
	if seen := lookAtFiles(l.file); !l.seen.same(seen) {
		l.seen = seen
		l.echoFrom(now)
		return true
	}
	if l.wait == 0 || now.Before(l.echo) {
		return false
	}
	if l.wait *= 2; l.wait > lastEcho {
		l.wait = 0
	}
	l.echo = now.Add(l.wait)
	return true
}
