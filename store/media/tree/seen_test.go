package tree

import (
	"os"
	"path/filepath"
	"testing"
)

// What was found of a folder in which another program writes may be of two moments.
func TestView_moved(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "1")
	for want, then := range map[string]func(){"": func() {}, ".": func() { write("b", "1") }, "a": func() { write("a", "22") }} {
		v := NewView(openTree(t, dir))
		if _, err := v.List("."); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Stamp("a"); err != nil {
			t.Fatal(err)
		}
		if then(); v.FindMoved() != want {
			t.Errorf("%q moved, and not %q", v.FindMoved(), want)
		}
	}
}

// What was seen in a view holds for a tree as long as all of it is there as it was, and what
// was not there is not.
func TestSeen_moved(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(dir string) error
		want string
	}{
		"nothing":                  {func(string) error { return nil }, ""},
		"a file grows":             {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("longer"), 0o600) }, "a"},
		"a file comes":             {func(dir string) error { return os.WriteFile(filepath.Join(dir, "sub", "b"), nil, 0o600) }, "sub"},
		"a file that was not read": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "none"), nil, 0o600) }, "none"},
		"a folder that was not":    {func(dir string) error { return os.Mkdir(filepath.Join(dir, "nowhere"), 0o700) }, "nowhere"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
		tree := openTree(t, dir)
		v := NewView(tree)
		_, stampErr := v.Stamp("a")
		_, listErr := v.List("sub")
		_, _, readErr := v.Read("none", nil)
		_, noneErr := v.List("nowhere")
		if stampErr != nil || listErr != nil || readErr == nil || noneErr == nil {
			t.Fatal(stampErr, listErr, readErr, noneErr)
		}
		seen := v.ListSeen()
		if err := c.do(dir); err != nil {
			t.Fatal(err)
		}
		if got := seen.FindMoved(tree); got != c.want {
			t.Errorf("%s: %q moved, want %q", name, got, c.want)
		}
	}
}
