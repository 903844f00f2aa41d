package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/store/media/files"
)

// words is what is made of a file that begins with what the file before it holds.
type words struct {
	all   string
	after string // what the one before holds; of a note
	own   string
}

// behind notes of a file what it does not share with the one before it.
var behind = Codec[*words]{
	Decode: func(f File) (*words, bool) { return &words{all: string(f.Data)}, true },
	Note:   func(w *words) []byte { return []byte(w.after + "|" + w.own) },
	Recall: func(f File) (*words, error) {
		after, own, ok := strings.Cut(string(f.Data), "|")
		if !ok {
			return nil, errors.New("no note")
		}
		return &words{after: after, own: own}, nil
	},
	Join: func(before *words, is **words) bool {
		w, held := *is, ""
		if before != nil {
			held = before.all
		}
		switch {
		case w.all != "":
			w.after, w.own = held, strings.TrimPrefix(w.all, held)
		case w.after != held:
			return false
		default:
			w.all = held + w.own
		}
		return true
	},
}

// A note that leans on the file before it is used where that is the same file, and passed
// over where it is another.
func TestNotes_leanOnTheFileBefore(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file, old := filepath.Join(dir, name), time.Now().Add(-time.Hour)
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	text, names := "", []string(nil)
	for i := range 3 * mostApart {
		text += "."
		names = append(names, fmt.Sprintf("%04d", i))
		put(names[i], text)
	}
	on, memo := openTree(t, dir), NewMemo((*files.Cache)(nil).Memory("k", dir))
	read := func(want int64) {
		t.Helper()
		before := memo.CountReads()
		list, err := Notes(t.Context(), on, memo, ".", names, behind)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range list {
			data, err := os.ReadFile(filepath.Join(dir, names[i]))
			if n.Err != nil || err != nil || n.Is.all != string(data) {
				t.Fatalf("%s: %q, %v, %v", n.Name, n.Is.all, n.Err, err)
			}
		}
		if got := memo.CountReads() - before; got != want {
			t.Errorf("%d files were read, not %d", got, want)
		}
	}
	read(int64(len(names)))
	read(0)
	put(names[5], ".....")
	read(2) // the one behind it leant on what it was
	read(0)
}
