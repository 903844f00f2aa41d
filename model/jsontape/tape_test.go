package jsontape

import (
	"bytes"
	"encoding/json"
	"testing"
)

// checkTape holds a tape against itself: the links agree with each other and
// every value decodes to what encoding/json makes of its bytes.
func checkTape(t *testing.T, tape *Tape) {
	t.Helper()
	for n := range Node(tape.Len()) {
		children := 0
		for c := tape.First(n); c >= 0; c = tape.Next(c) {
			if tape.Parent(c) != n || tape.Depth(c) != tape.Depth(n)+1 {
				t.Fatalf("node %d: child %d has parent %d, depth %d", n, c, tape.Parent(c), tape.Depth(c))
			}
			if tape.Kind(n) == Array && tape.Index(c) != children {
				t.Fatalf("node %d: index %d, want %d", c, tape.Index(c), children)
			}
			children++
		}
		if children != tape.Count(n) {
			t.Fatalf("node %d: %d children, count says %d", n, children, tape.Count(n))
		}
		if key := tape.RawKey(n); key != nil {
			var want string
			if err := json.Unmarshal(key, &want); err != nil || tape.Key(n) != want {
				t.Fatalf("node %d: key %q, encoding/json %q (%v)", n, tape.Key(n), want, err)
			}
		}
		if tape.Kind(n) == String {
			var want string
			if err := json.Unmarshal(tape.Raw(n), &want); err != nil || tape.Text(n) != want {
				t.Fatalf("node %d: text %q, encoding/json %q (%v)", n, tape.Text(n), want, err)
			}
		}
		end, err := Skip(tape.Data(), int(tape.nodes[n].start))
		if err != nil || end != int(tape.nodes[n].end) {
			t.Fatalf("node %d: Skip ends at %d (%v), Parse at %d", n, end, err, tape.nodes[n].end)
		}
	}
	if raw := bytes.TrimSpace(tape.Data()); !bytes.Equal(raw, tape.Raw(0)) {
		t.Fatalf("root is %q of %q", tape.Raw(0), raw)
	}
}
