package sqlitefile

import (
	"context"
	"io/fs"
	"os"
	"time"
)

// How a file is watched
//
// Of other programs the times, sizes and inodes of the file and of its log are seen,
// which are asked for five times a second. Nothing is opened for that: a connection that is kept would keep a
// writer from tidying up when it goes, and a descriptor of our own on a file
// would, when closed, drop the locks that this process holds on it. It is the
// cheapest way besides (BenchmarkWatch): 3 µs a look, where asking a kept
// connection for its data_version takes 6 µs and a new connection 250 µs. A
// watch takes a thousandth of a core, nearly all of it for waking up.
//
// The log tells of a write too early, however: a commit can be seen only after
// the log was written, and then brought to the disk, and then its index
// changed, and of that the file system tells nothing. And two changes within one
// tick of the file system's clock may look like one. A change therefore has
// echoes, further and further apart: a reader that reads too soon reads again.

const (
	// watchEvery is how often the files are looked at.
	watchEvery = 200 * time.Millisecond
	// lastEcho bounds how far apart echoes get. They cover together twice that:
	// the longest that bringing a write to the disk may take.
	lastEcho = 128 * watchEvery
)

// Watch returns a value for each of own, which tells of the changes that this program
// makes, and one within 200 ms after a write of another became visible, or within as
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
	l := newLookout(f.path, time.Now())
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case _, going := <-own:
				if !going {
					return
				}
			case now := <-ticker.C:
				if !l.changed(now) {
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

// lookout is what has been seen of a file from outside.
type lookout struct {
	file string
	seen sight
	// echo is when the next echo is due, wait how long after the one before; 0
	// when none is.
	echo time.Time
	wait time.Duration
}

// sight is how a file and its log look, nil for one that is not there.
type sight struct{ file, log fs.FileInfo }

func (a sight) same(b sight) bool { return same(a.file, b.file) && same(a.log, b.log) }

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return sameFile(a, b)
}

// since reports whether one of the files was written to after a time.
func (a sight) since(t time.Time) bool {
	return a.file != nil && a.file.ModTime().After(t) || a.log != nil && a.log.ModTime().After(t)
}

func see(file string) sight { return sight{stat(file), stat(file + "-wal")} }

// stat returns how a file looks, nil where there is none. One that cannot be looked at is as
// good as gone until it can be.
func stat(path string) fs.FileInfo {
	info, _ := os.Stat(path)
	return info
}

// newLookout begins to watch; a write that may be under way has its echoes.
func newLookout(file string, now time.Time) *lookout {
	l := &lookout{file: file, seen: see(file)}
	if l.seen.since(now.Add(-2 * lastEcho)) {
		l.echoFrom(now)
	}
	return l
}

func (l *lookout) echoFrom(now time.Time) { l.wait, l.echo = watchEvery, now.Add(watchEvery) }

// changed looks at the files, and reports whether they are worth reading.
func (l *lookout) changed(now time.Time) bool {
	if seen := see(l.file); !l.seen.same(seen) {
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
