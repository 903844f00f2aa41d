package watch

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// listener gathers what the system says about folders. It always listens, so that
// nothing queues up behind a busy reader; the system's queue is short.
type listener struct {
	system *fsnotify.Watcher // nil where the system cannot tell
	takes  func(fsnotify.Event) bool
	// sign has a value when there is something to take.
	sign chan struct{}
	done chan struct{}

	mu    sync.Mutex
	paths map[string]bool // true of a folder that went away itself
	lost  bool
}

// mostPaths bounds the paths that are kept until they are taken. What is
// beyond is lost, and everything may have changed.
const mostPaths = 10_000

// newListener begins to listen to the events that takes lets through; close ends it.
func newListener(takes func(fsnotify.Event) bool) *listener {
	e := &listener{takes: takes, sign: make(chan struct{}, 1), done: make(chan struct{}), paths: map[string]bool{}}
	// Elsewhere a watched folder takes a descriptor for each file in it.
	if slices.Contains([]string{"linux", "windows"}, runtime.GOOS) {
		e.system, _ = fsnotify.NewWatcher() // without one, rounds are what is left
	}
	if e.system == nil {
		close(e.done)
		return e
	}
	go e.listen()
	return e
}

func (e *listener) listen() {
	defer close(e.done)
	for {
		select {
		case event, ok := <-e.system.Events:
			if !ok {
				return
			}
			e.noteEvent(event)
		case _, ok := <-e.system.Errors:
			if !ok {
				return
			}
			// Its queue ran over, or it cannot say what happened.
			e.mu.Lock()
			e.lost = true
			e.mu.Unlock()
			e.tell()
		}
	}
}

// noteEvent notes the folder in which something happened, and a folder that went
// away itself.
func (e *listener) noteEvent(event fsnotify.Event) {
	if event.Op == fsnotify.Chmod || !e.takes(event) {
		return
	}
	e.mu.Lock()
	if dir := filepath.Dir(event.Name); !e.paths[dir] {
		e.paths[dir] = false
	}
	if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
		e.paths[event.Name] = true
	}
	if len(e.paths) > mostPaths {
		clear(e.paths)
		e.lost = true
	}
	e.mu.Unlock()
	e.tell()
}

func (e *listener) tell() {
	select {
	case e.sign <- struct{}{}:
	default:
	}
}

// takePaths returns the paths at which something happened since the last call, each with
// whether what was there went away, and whether others were lost.
func (e *listener) takePaths() (paths map[string]bool, lost bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	paths, lost = e.paths, e.lost
	e.paths, e.lost = map[string]bool{}, false
	return paths, lost
}

// watchFolder begins to watch a folder. The error is errors.ErrUnsupported where the
// system cannot tell, or the system's own.
func (e *listener) watchFolder(path string) error {
	if e.system == nil {
		return errors.ErrUnsupported
	}
	return e.system.Add(path)
}

// unwatchFolder ends that. A folder that is gone has ended it already, which is all
// that can fail.
func (e *listener) unwatchFolder(path string) {
	if e.system != nil {
		_ = e.system.Remove(path)
	}
}

// close ends all watching. Nothing runs on when it returns.
func (e *listener) close() {
	if e.system != nil {
		_ = e.system.Close() // it has nothing to write back that could fail
	}
	<-e.done
}
