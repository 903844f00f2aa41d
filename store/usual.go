package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoPlace: the usual place of a kind is not known.
var ErrNoPlace = errors.New("its usual place is not known here")

// OpenUsual opens the store of a kind in its usual place: the first that exists, else the first. If no place exists and makes
// is true it makes the folder; undo takes the folders away that it made and that are empty, and does nothing else. The caller
// closes the store before. The error is ErrNoPlace for a kind without a place of a fixed name, and fs.ErrNotExist without a
// folder.
func (k *Kind) OpenUsual(ctx context.Context, around Surroundings, makes bool) (s Store, undo func() error, err error) {
	at, first := "", ""
	if k.Places == nil {
		return nil, nil, fmt.Errorf("%s: %w", k.Name, ErrNoPlace)
	}
	for _, pattern := range k.Places(around.quotePatterns()) {
		if strings.Contains(strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "").Replace(pattern), "*") {
			continue
		}
		place := strings.NewReplacer(`\\`, `\`, `\*`, `*`, `\?`, `?`, `\[`, `[`).Replace(pattern)
		if first == "" {
			first = place
		}
		if info, err := os.Stat(place); err == nil && info.IsDir() {
			at = place
			break
		}
	}
	if first == "" {
		return nil, nil, fmt.Errorf("%s: %w", k.Name, ErrNoPlace)
	}
	var made []string
	if at == "" && !makes {
		return nil, nil, fmt.Errorf("%s has no folder %s: %w", k.Name, first, fs.ErrNotExist)
	}
	if at == "" {
		at = first
		for dir := at; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			made = append(made, dir)
		}
		if err := os.MkdirAll(at, 0o700); err != nil {
			return nil, nil, err
		}
	}
	undo = func() error {
		for _, dir := range made {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				return err
			}
			if err := os.Remove(dir); err != nil {
				return err
			}
		}
		return nil
	}
	if s, err = k.Open(ctx, at); err != nil {
		return nil, nil, errors.Join(err, undo())
	}
	return s, undo, nil
}
