package coding

import (
	"testing"

	"hindcast/store/media/tree"
)

// What is remembered of sessions is bounded by their entries.
func TestMemo_remembersFew(t *testing.T) {
	var m memo
	for _, name := range []string{"a", "b", "a", "c", "d", "a"} {
		m.remember(name, remembered{&Session{Entries: make([]Entry, mostRemembered*2/5)}, tree.Seen{}, ""})
		held := 0
		for _, r := range m.known {
			held += len(r.Entries)
		}
		if held != m.entries || held > mostRemembered || m.known[name].Session == nil {
			t.Errorf("after %s %d entries are remembered, %d are counted", name, held, m.entries)
		}
	}
}
