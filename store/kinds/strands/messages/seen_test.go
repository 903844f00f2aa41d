package messages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A snapshot that was seen keeps its messages, whatever is restored: what the window had
// taken out then is part of it. And a restore to it loads the same, by whatever way.
func TestRestore_changesNoOtherSnapshot(t *testing.T) {
	skip.Sequential(t)
	for _, session := range []string{"sliding", "summarizing", "basic"} {
		t.Run(session, func(t *testing.T) {
			fresh := func() (*Store, string) {
				t.Helper()
				dir := t.TempDir()
				name := "session_" + session
				if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(fixtures, name))); err != nil {
					t.Fatal(err)
				}
				return open(t, dir), dir
			}
			s, _ := fresh()
			seen, order := map[string][]string{}, []model.Header{}
			for _, h := range storetest.Headers(t, s, session) {
				seen[h.ID], order = canonicalMessages(t, state(t, s, h)), append(order, h)
			}
			loaded := func(dir string) []string {
				t.Helper()
				got, err := startSDK(dir)
				if err != nil {
					t.Fatal(err)
				}
				return got.loaded
			}
			agentOf := func(dir string) string {
				return filepath.Join(dir, "session_"+session, "agents", "agent_default")
			}
			for k := 1; k < len(order); k += 3 {
				s, _ := fresh()
				restore(t, s, session, order[k].ID)
				for _, h := range storetest.Headers(t, s, session) {
					if h.ID == order[k].ID {
						continue // what a session that is put back loads may be more
					}
					if got := canonicalMessages(t, state(t, s, h)); !slices.Equal(got, seen[h.ID]) {
						t.Errorf("after a restore to #%d, #%d has %d messages instead of %d", k, h.Index, len(got), len(seen[h.ID]))
					}
				}
				for to := k + 1; to < len(order)-1; to += 2 {
					direct, directly := fresh()
					restore(t, direct, session, order[to].ID)
					about, around := fresh()
					restore(t, about, session, order[k].ID)
					restore(t, about, session, order[to].ID)
					if one, other := loaded(agentOf(directly)), loaded(agentOf(around)); !slices.Equal(one, other) {
						t.Errorf("#%d loads %s directly, and %s by way of #%d", to, strings.Join(one, " "), strings.Join(other, " "), k)
					}
				}
			}
		})
	}
}
