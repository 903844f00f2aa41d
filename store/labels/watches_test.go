package labels_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/labels"
)

// What is watched is kept for each store by itself, in the user's folder alone.
func TestWatches_areKeptByStore(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	l, s, other := labels.New(data), open(t, trips(t)), open(t, trips(t))
	is := func(want ...string) {
		t.Helper()
		got, err := l.Watches(t.Context(), s)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("watched are %q, want %q; %v", got, want, err)
		}
	}
	is()
	for _, set := range [][]string{{"/cart/total"}, {"/cart/total", ".plan | length"}, nil, {"a\nb"}} {
		if err := l.SetWatches(t.Context(), s, set); err != nil {
			t.Fatal(err)
		}
		is(set...)
	}
	if got, err := l.Watches(t.Context(), other); got != nil || err != nil {
		t.Errorf("of another store %q are watched; %v", got, err)
	}
	if err := l.SetWatches(t.Context(), s, make([]string, 17)); err == nil {
		t.Error("17 are kept")
	}
	if err := l.SetWatches(t.Context(), s, []string{strings.Repeat("x", 5000)}); err == nil {
		t.Error("one of 5,000 bytes is kept")
	}
	found, err := filepath.Glob(filepath.Join(data, "watches", "*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	f, err := os.OpenFile(found[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"watch\":[\"half"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	is("a\nb")
	if err := l.SetWatches(t.Context(), s, []string{"after"}); err != nil {
		t.Fatal(err)
	}
	is("after")
	if err := (labels.Labels{}).SetWatches(t.Context(), s, []string{"x"}); err != nil {
		t.Error(err)
	}
}
