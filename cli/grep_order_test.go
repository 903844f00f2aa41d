package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store before the pattern is told, with the order that is meant.
func TestGrep_storeFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := orderOf([]string{file, "words"}); err == nil || !strings.Contains(err.Error(), "the pattern comes first: hindcast grep PATTERN STORE") {
		t.Errorf("it says %v", err)
	}
	for _, args := range [][]string{{file}, {"words", file}} {
		if err := orderOf(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
