package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/sample"
)

// A written path is a link on a terminal that opens links, and text anywhere else. No byte of the path ends the link.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	kitty := map[string]string{"TERM": "xterm-kitty", "NO_COLOR": "1"}
	for i, c := range []struct {
		terminal bool
		env      map[string]string
		theme    string
		link     bool
	}{
		{true, kitty, "auto", true},
		{false, kitty, "links", false},
		{true, kitty, "nolinks", false},
		{true, map[string]string{"TERM": "xterm-256color"}, "auto", false},
		{true, map[string]string{"TERM": "xterm-kitty", "TMUX": "x"}, "auto", false},
	} {
		s := start(t, sample.Rows())
		s.OutTerminal = c.terminal
		s.Getenv = func(name string) string { return c.env[name] }
		name := "a b\x1b]0;x\a\u202eé%" + string(rune('0'+i)) + ".html"
		code, out, err := s.run(t, "report", "mem:", "packing-list", "-o", name, "--theme", c.theme)
		if _, missing := os.Stat(filepath.Join(dir, name)); code != 0 || missing != nil {
			t.Fatalf("exit %d, %s, %v", code, err, missing)
		}
		want := "to a b^[]0;x^G<U+202E>é%" + string(rune('0'+i)) + ".html\n"
		if c.link {
			at := "file://" + filepath.ToSlash(dir) + "/a%20b%1B%5D0;x%07%E2%80%AE%C3%A9%25" + string(rune('0'+i)) + ".html"
			want = "to \x1b]8;;" + at + "\x1b\\" + strings.TrimSuffix(strings.TrimPrefix(want, "to "), "\n") + "\x1b]8;;\x1b\\\n"
		}
		if !strings.HasSuffix(out, want) {
			t.Errorf("%+v: %q, want %q", c, out, want)
		}
	}
}
