package gemini

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Gemini CLI deletes a session for its age as its settings say, and nothing where they do not hold.
func TestLifetime(t *testing.T) {
	const day = 24 * time.Hour
	for settings, want := range map[string]time.Duration{
		"":                30 * day,
		`{"general": {}}`: 30 * day,
		`not JSON`:        30 * day,
		`{"general": {"sessionRetention": {"maxAge": "36h"}}}`:                        36 * time.Hour,
		`{"general": {"sessionRetention": {"maxAge": "2w", "enabled": true}}}`:        14 * day,
		`{"general": {"sessionRetention": {"maxAge": "1m"}}}`:                         30 * day,
		`{"general": {"sessionRetention": {"enabled": false}}}`:                       0,
		`{"general": {"sessionRetention": {"maxAge": "12h"}}}`:                        0, // less than it takes
		`{"general": {"sessionRetention": {"maxAge": "12h", "minRetention": "1h"}}}`:  12 * time.Hour,
		`{"general": {"sessionRetention": {"maxAge": "40d", "minRetention": "60d"}}}`: 0,
		`{"general": {"sessionRetention": {"maxAge": "30 days"}}}`:                    0,
		`{"general": {"sessionRetention": {"maxAge": "0d"}}}`:                         0,
		`{"general": {"sessionRetention": {"maxAge": ""}}}`:                           0,
	} {
		dir := filepath.Join(t.TempDir(), ".gemini", "tmp")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if settings != "" {
			if err := os.WriteFile(filepath.Join(filepath.Dir(dir), settingsFile), []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := lifetimeOf(dir); got != want {
			t.Errorf("with %s a session is kept for %v, and not %v", settings, got, want)
		}
	}
	if got := lifetimeOf(filepath.Join(t.TempDir(), "tmp")); got != 0 {
		t.Errorf("a copy of the folder is kept for %v", got)
	}
}
