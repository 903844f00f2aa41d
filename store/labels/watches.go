package labels

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"hindcast/store"
)

// What a person watches in a store lies in DATA/watches/<hash>, in lines as labels do. The
// last line counts.

// watched is a line of such a file.
type watched struct {
	Watch []string `json:"watch"`
}

const (
	watchesFolder = "watches"
	// mostWatches and mostOfWatch bound how many expressions are watched, and the bytes of one.
	mostWatches = 16
	mostOfWatch = 4 << 10
)

// Watches returns the expressions that a person watches in a store, as SetWatches had them;
// none where none were kept. They are untrusted.
func (l Labels) Watches(_ context.Context, s store.Store) ([]string, error) {
	p, ok := l.ownPlace(s, watchesFolder)
	if !ok {
		return nil, nil
	}
	data, err := read(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("watches: read %q: %w", p.path(), err)
	}
	var last watched
	for line := range bytes.Lines(data) {
		var w watched
		if json.Unmarshal(line, &w) == nil && w.check() == nil {
			last = w
		}
	}
	return last.Watch, nil
}

// SetWatches replaces the expressions that a person watches in a store. It stores nothing if the user has no
// data folder. The error is ErrTooLarge, for too many or too long expressions, or comes from the file system.
func (l Labels) SetWatches(_ context.Context, s store.Store, expressions []string) error {
	p, ok := l.ownPlace(s, watchesFolder)
	if !ok {
		return nil
	}
	w := watched{append([]string{}, expressions...)}
	if err := w.check(); err != nil {
		return err
	}
	if err := write(p, w); err != nil {
		return fmt.Errorf("watches: write %q: %w", p.path(), err)
	}
	return nil
}

func (w *watched) check() error {
	if w.Watch == nil || len(w.Watch) > mostWatches {
		return fmt.Errorf("watches: %d expressions, and %d are the most", len(w.Watch), mostWatches)
	}
	for _, text := range w.Watch {
		if len(text) > mostOfWatch || !utf8.ValidString(text) {
			return fmt.Errorf("watches: %.40q is longer than %d bytes, or no UTF-8", text, mostOfWatch)
		}
	}
	return nil
}
