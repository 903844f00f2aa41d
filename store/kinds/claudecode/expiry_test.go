package claudecode

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A session goes thirty days after its last change, or as many as the settings say. A copy of the folder says nothing.
func TestStore_expires(t *testing.T) {
	for name, c := range map[string]struct {
		folder, settings string
		days             float64
	}{
		"default":       {".claude", "", 30},
		"other setting": {".claude", `{"model": "opus"}`, 30},
		"set":           {".claude", `{"cleanupPeriodDays": 7}`, 7},
		"moved":         {"config", `{"cleanupPeriodDays": 90}`, 90},
		"wrong":         {".claude", `{"cleanupPeriodDays": "x"}`, 30},
		"copy":          {"backup", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), c.folder)
			if err := os.CopyFS(filepath.Join(dir, projects), os.DirFS("../../../testdata/coding/claude-code/projects")); err != nil {
				t.Fatal(err)
			}
			if c.settings != "" {
				if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(c.settings), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := Kind(nil).Open(t.Context(), filepath.Join(dir, projects))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			sessions := 0
			for info, err := range s.Sessions(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				want := time.Time{}
				if c.days > 0 && info.Parent == "" {
					want = info.UpdatedAt.Add(time.Duration(c.days * 24 * float64(time.Hour)))
				}
				if sessions++; !info.ExpiresAt.Equal(want) {
					t.Errorf("%s: %v, want %v", info.ID, info.ExpiresAt, want)
				}
			}
			if sessions == 0 {
				t.Error("there is no session")
			}
		})
	}
}
