package files

import "testing"

func TestForeign(t *testing.T) {
	for _, name := range []string{".DS_Store", "Thumbs.db", "desktop.ini", "._message_1.json", "message_1.json~", ".message_1.json.swp", ".x.swo", "#message_1.json#", ".#x", "x.bak", "x.orig"} {
		if Foreign(name) == "" {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"message_1.json", "x.db", "session.json", "bak", "x.swp", "_x", "a#", "x.tmp", "snapshot_latest.json", ".pointers"} {
		if what := Foreign(name); what != "" {
			t.Errorf("%s is taken for %s", name, what)
		}
	}
}
