//go:build unix

package storetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hindcast/store"
)

// Tree makes a folder: names that end in a slash are folders, "a -> b" is a link
// to b, "a |" a pipe, and every other name a file that holds "x".
func Tree(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		name, target, isLink := strings.Cut(name, " -> ")
		name, isPipe := strings.CutSuffix(name, " |")
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		case isLink:
			err = os.Symlink(target, at)
		case isPipe:
			err = syscall.Mkfifo(at, 0o644)
		default:
			err = os.WriteFile(at, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Holding recognises folders in which there is a file or folder of a name.
func Holding(kind, name string) store.Kind {
	return store.Kind{
		Name: kind,
		Recognise: func(_ context.Context, path string) (string, bool, error) {
			info, err := os.Stat(path)
			if err != nil || !info.IsDir() {
				return "", false, err
			}
			if _, err := os.Stat(filepath.Join(path, name)); err != nil {
				return "", false, nil
			}
			return name, true, nil
		},
		Open: func(_ context.Context, address string) (store.Store, error) {
			return openedAt{kind: kind, address: address}, nil
		},
	}
}

// openedAt is a store that only tells where it came from.
type openedAt struct {
	store.Store
	kind, address string
}

func (openedAt) Features() store.Features { return store.Features{} }

func (o openedAt) Kind() string    { return o.kind }
func (o openedAt) Address() string { return o.address }
func (o openedAt) Close() error    { return nil }

// Filed recognises files by the end of their names, and misses what it says of
// those that have "bad" in them.
func Filed(kind, suffix string) store.Kind {
	return store.Kind{
		Name:  kind,
		Files: []string{"*" + suffix},
		Recognise: func(_ context.Context, path string) (string, bool, error) {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(strings.ToLower(path), suffix) {
				return "", false, err
			}
			if strings.Contains(path, "bad") {
				return "it is bad", false, nil
			}
			return "a file", true, nil
		},
	}
}
