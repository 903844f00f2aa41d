package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/store"
)

// open opens the store at an address. A directory that is no store itself
// stands for the one store that is a file in it.
func (a *App) open(ctx context.Context, address string) (store.Store, error) {
	s, err := a.Kinds.Open(ctx, address)
	if !errors.Is(err, store.ErrUnrecognised) {
		return s, err
	}
	names, unseen := a.inside(ctx, address)
	switch {
	case unseen != nil:
		return nil, fmt.Errorf("open %q: %w", address, unseen)
	case len(names) == 1:
		return a.Kinds.Open(ctx, filepath.Join(address, names[0]))
	case len(names) > 1:
		return nil, &advisedError{
			fmt.Errorf("open %q: it is a directory of %d stores: %s", address, len(names), strings.Join(names, ", ")),
			"Name one of them: hindcast " + filepath.Join(address, names[0]),
		}
	}
	return nil, err
}

// mostInside bounds the entries of a directory among which a store is looked
// for.
const mostInside = 1000

// inside gives the names of the files in a directory that are stores, in order;
// none where the path is no directory.
func (a *App) inside(ctx context.Context, dir string) (names []string, err error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it need not be a path
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return nil, err
	}
	entries, err := f.ReadDir(mostInside)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && a.recognised(ctx, filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, ctx.Err()
}

// screen shows the store that was named, or what is found, or the demo.
func (a *App) screen(ctx context.Context, args []string) error {
	if !a.OutTerminal {
		return errors.New("the screen needs a terminal, and the output is none; the commands do not: see hindcast --help")
	}
	what, err := a.choose(ctx, args)
	if err != nil {
		return err
	}
	defer what.Store.Close()
	return a.Screen(ctx, what)
}

func (a *App) choose(ctx context.Context, args []string) (Shown, error) {
	if len(args) == 1 {
		s, err := a.open(ctx, args[0])
		return Shown{Store: s}, err
	}
	found := a.look(ctx)
	if len(found) == 0 {
		return a.Sample(ctx)
	}
	note := ""
	if len(found) > 1 {
		note = fmt.Sprintf("found %d stores, opened the one that changed last; also %s", len(found), strings.Join(found[1:], ", "))
	}
	s, err := a.open(ctx, found[0])
	return Shown{Store: s, Note: note}, err
}

// look gives the places that hold a store, the one that changed last first. It
// only looks: a place that cannot be read is passed over, as nobody named it.
func (a *App) look(ctx context.Context) []string {
	type place struct {
		path    string
		changed time.Time
	}
	var found []place
	for _, path := range a.Places() {
		info, err := os.Stat(path)
		if err != nil || !a.recognised(ctx, path) {
			continue
		}
		found = append(found, place{path, info.ModTime()})
	}
	slices.SortStableFunc(found, func(x, y place) int { return y.changed.Compare(x.changed) })
	var paths []string
	for _, p := range found {
		paths = append(paths, p.path)
	}
	return paths
}

func (a *App) recognised(ctx context.Context, path string) bool {
	for _, k := range a.Kinds {
		if k.Recognise == nil {
			continue
		}
		if _, ok, err := k.Recognise(ctx, path); err == nil && ok {
			return true
		}
	}
	return false
}
