package watch

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Entries tells that an entry appeared in one of the folders, whose path matters: a value comes soon after, one for
// several in a row. It watches nothing below the folders, and tells nothing where the system cannot watch: nothing
// is polled. When Entries returns, it is watching. The channel is closed when ctx ends.
func Entries(ctx context.Context, folders []string, matters func(path string) bool) <-chan struct{} {
	out := make(chan struct{}, 1)
	heard := newListener(func(event fsnotify.Event) bool { return event.Has(fsnotify.Create) && matters(event.Name) })
	if heard.system == nil {
		context.AfterFunc(ctx, func() { close(out) })
		return out
	}
	for _, folder := range folders {
		_ = heard.watchFolder(folder) // one that is gone brings nothing
	}
	go func() {
		defer close(out)
		defer heard.close()
		var settled <-chan time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-heard.sign:
				heard.takePaths()
				if settled == nil {
					settled = time.After(defaultBounds().settle)
				}
			case <-settled:
				settled = nil
				select {
				case out <- struct{}{}:
				default: // the last value has not been taken, and stands for this one too
				}
			}
		}
	}()
	return out
}
