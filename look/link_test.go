package look

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Only files and pages are linked, and no text leaves the link.
func TestLinkTarget(t *testing.T) {
	root := "/"
	if runtime.GOOS == "windows" {
		root = `C:\`
	}
	at := "file:///" + strings.TrimPrefix(filepath.ToSlash(root), "/")
	for place, want := range map[string]string{
		root + "a b\x1b]0;x\a\u202eé\u009c%": at + "a%20b%1B%5D0;x%07%E2%80%AE%C3%A9%C2%9C%25",
		"https://example.org/a?b=\u009c#é":   "https://example.org/a?b=%C2%9C#%C3%A9",
		"http://example.org/\x1b\\":          "",
		"relative/path":                      "",
		"javascript://x":                     "",
		"postgres://me@host/db":              "",
		"https://me:secret@host/":            "",
		"s3://bucket/agents":                 "",
	} {
		if got := LinkTarget(place); got != want {
			t.Errorf("%q: %q, want %q", place, got, want)
		}
	}
}
