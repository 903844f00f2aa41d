//go:build unix

package keymap

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A file of bindings that never ends, or that nothing is written to, is refused.
func TestLoad_neverHangs(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "keys.toml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "keys.toml")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a pipe": pipe, "a device": link, "a folder": t.TempDir()} {
		ended := make(chan error, 1)
		go func() { _, err := Load(path); ended <- err }()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it hangs", name)
		}
	}
}

// A file whose size is not told is read no further than a file may be long.
func TestLoad_ofAFileThatGrows(t *testing.T) {
	long := filepath.Join(t.TempDir(), "keys.toml")
	if err := os.WriteFile(long, []byte(strings.Repeat("#", maxFile+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong *FileError
	if _, err := Load(long); !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, "larger than") {
		t.Errorf("%v", err)
	}
}
