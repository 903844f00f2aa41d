package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hindcast/store"
)

// open opens the store at an address.
func (a *App) open(ctx context.Context, address string) (store.Store, error) {
	return a.Kinds.Open(ctx, address)
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
