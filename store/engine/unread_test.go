package engine

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// shown is a store of one snapshot that shows some words.
type shown struct {
	store.Store
	words string
}

func (shown) Features() store.Features { return store.Features{} }

func (shown) Headers(context.Context, string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) { yield(model.Header{ID: "a", Head: true}, nil) }
}

func (s shown) State(context.Context, model.Ref) ([]byte, error) {
	return []byte(`{"messages":[{"role":"user","content":"` + s.words + `"}]}`), nil
}

// Each line of a file of lines is a record by itself, and one that no message shows is told with its
// line; a line that is no object is none.
func TestStorage_Unread(t *testing.T) {
	say := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	const seen, lost = "words that everybody can see", "words that nobody can see"
	for name, c := range map[string]struct{ text, at, what string }{
		"all in view":         {say(seen) + "\n" + say(seen), "", ""},
		"the third line":      {say(seen) + "\n" + say(seen) + "\n" + say(lost) + "\n", "line 3", "1 record has a text"},
		"two of them":         {say(seen) + "\n" + say(lost) + "\n" + say(lost+" either"), "line 2", "2 records have texts"},
		"no object":           {say(seen) + "\n" + `"` + lost + `"` + "\n", "", ""},
		"a torn line":         {say(seen) + "\n" + `{"content":"` + lost + "\n", "", ""},
		"behind a blank one":  {say(seen) + "\n\n" + say(lost) + "\n", "line 3", "1 record has a text"},
		"a file of one":       {say(lost), "", "1 record has a text"},
		"a file that is told": {say(lost), "", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStorage(dir, StorageOptions{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		log := &Log{Rows: []model.Header{{ID: "a"}, {ID: "none"}}, Files: []string{"file", "none"}}
		var told []model.Fault
		if strings.HasSuffix(name, "told") {
			told = []model.Fault{{File: "file"}}
		}
		faults, err := s.Unread(t.Context(), shown{words: seen}, "s", log, told...)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case c.what == "" && len(faults) != 0:
			t.Errorf("%s: %+v", name, faults)
		case c.what != "" && (len(faults) != 1 || faults[0].File != "file" || faults[0].Path != c.at || !strings.HasPrefix(faults[0].Meaning, c.what)):
			t.Errorf("%s: %+v", name, faults)
		}
	}
}
