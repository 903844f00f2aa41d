package sqlitefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A database in memory is made once of its files, and again when one of them changed.
func TestMade(t *testing.T) {
	dir, times := t.TempDir(), 0
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for _, file := range files {
		writeText(t, file, "first")
	}
	f := NewMade(Source{Files: files, Fill: func(ctx context.Context, tx *Tx) error {
		times++
		if err := tx.Define(ctx, "CREATE TABLE files (name TEXT)"); err != nil {
			return err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO files VALUES (?)", string(data))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}, nil)
	defer f.Close()
	read := func() (text string, err error) {
		err = f.Read(t.Context(), func(tx *Tx) error {
			return tx.Row(t.Context(), "SELECT group_concat(name) FROM files").Scan(&text)
		})
		return text, err
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if text, err := read(); err != nil || text != "first,first" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	if wait.Wait(); times != 1 {
		t.Errorf("it was made %d times", times)
	}
	writeText(t, files[0], "a second")
	if text, err := read(); err != nil || text != "a second,first" || times != 2 {
		t.Errorf("%q, %v, made %d times", text, err, times)
	}
	err := f.Suppose(t.Context(), func(tx *Tx) error {
		return tx.Define(t.Context(), "CREATE TEMP VIEW other AS SELECT * FROM main.files")
	})
	if err != nil {
		t.Error(err)
	}
	err = f.Read(t.Context(), func(tx *Tx) error { return tx.Define(t.Context(), "DELETE FROM files") })
	if err == nil {
		t.Error("it was written to")
	}
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is gone: %v", err)
	}
}

// What changes while it is made is made anew.
func TestMade_whileAFileChanges(t *testing.T) {
	file, times := filepath.Join(t.TempDir(), "a"), 0
	writeText(t, file, "x")
	f := NewMade(Source{Files: []string{file}, Fill: func(ctx context.Context, tx *Tx) error {
		if times++; times == 1 {
			writeText(t, file, "xy")
		}
		return tx.Define(ctx, "CREATE TABLE files (name TEXT)")
	}}, nil)
	defer f.Close()
	if err := f.Read(t.Context(), func(*Tx) error { return nil }); err != nil || times != 2 {
		t.Errorf("%v, made %d times", err, times)
	}
}

// The error of making it is that of reading it.
func TestMade_fails(t *testing.T) {
	file, why := filepath.Join(t.TempDir(), "a"), errors.New("no table")
	writeText(t, file, "x")
	f := NewMade(Source{Files: []string{file}, Fill: func(context.Context, *Tx) error { return why }}, nil)
	defer f.Close()
	if err := f.Read(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, why) {
		t.Error(err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(1_000_000_000+int64(len(text)), 0)); err != nil {
		t.Fatal(err)
	}
}
