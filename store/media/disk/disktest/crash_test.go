package disktest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// found draws many states after a power failure, and returns what each holds in the
// order of names, "-" for a name that is not there, with how often that was.
func found(m *Memory, names ...string) map[string]int {
	rng := rand.New(rand.NewPCG(1, 2))
	states := map[string]int{}
	for range 2000 {
		tree := m.Crash(rng).Tree(func(string) bool { return true })
		var state []string
		for _, name := range names {
			text, ok := tree[name]
			if !ok {
				text = "600 -"
			}
			state = append(state, text[4:])
		}
		states[strings.Join(state, " ")]++
	}
	return states
}

// only checks that all of the wanted states are found and no other.
func only(t *testing.T, states map[string]int, want ...string) {
	t.Helper()
	for _, state := range want {
		if states[state] == 0 {
			t.Errorf("%q is never found", state)
		}
		delete(states, state)
	}
	if len(states) > 0 {
		t.Errorf("found as well: %v", states)
	}
}

func TestCrash_names(t *testing.T) {
	m := NewMemory(map[string]string{"d/a": "1", "d/b": "2", "e/c": "3"}, 0o600)
	only(t, found(m, "d/a", "d/b", "e/c"), "1 2 3")
	must(t, m.Remove("d/a"))
	must(t, m.Create("d/n", []byte("4"), 0o600))
	only(t, found(m, "d/a", "d/n"), "1 -", "1 4", "- -", "- 4")
	must(t, m.Sync("d"))
	only(t, found(m, "d/a", "d/n"), "- 4")
}

func TestCrash_rename(t *testing.T) {
	m := NewMemory(map[string]string{"d/a": "1", "d/b": "2", "e/c": "3"}, 0o600)
	must(t, m.Rename("d/a", "e/c"))
	only(t, found(m, "d/a", "e/c"), "1 3", "1 1", "- 1")
	must(t, m.Sync("d")) // what is durably gone there is durably here
	only(t, found(m, "d/a", "e/c"), "- 1")
	must(t, m.Exchange("d/b", "e/c"))
	only(t, found(m, "d/b", "e/c"), "2 1", "1 2")
	must(t, m.Sync("e"))
	only(t, found(m, "d/b", "e/c"), "1 2")
}

func TestCrash_folders(t *testing.T) {
	m := NewMemory(map[string]string{"a": "1"}, 0o600)
	must(t, m.Mkdir("d", 0o700))
	must(t, m.Create("d/x", []byte("2"), 0o600))
	must(t, m.Sync("d"))
	only(t, found(m, "a", "d/x"), "1 -", "1 2") // the folder itself may be lost
	must(t, m.Sync("."))
	only(t, found(m, "a", "d/x"), "1 2")
}

func TestCrash_bytes(t *testing.T) {
	a, b := strings.Repeat("a", 512), strings.Repeat("b", 512)
	m := NewMemory(map[string]string{"f": a + a}, 0o600)
	must(t, m.Write("f", []byte(b+b), 0o600))
	states := found(m, "f")
	for _, want := range []string{"", a, b, a + a, b + b, a + b, b + a} {
		if states[want] == 0 {
			t.Errorf("%.3q… of %d bytes is never found", want, len(want))
		}
	}
	must(t, m.Sync("f"))
	only(t, found(m, "f"), b+b)
}

// TestCrash_append: what was there before is never harmed by what is added.
func TestCrash_append(t *testing.T) {
	m := NewMemory(map[string]string{"f": "before"}, 0o600)
	after := strings.Repeat("x", 5000)
	m.Step = func() {
		for state := range found(m, "f") {
			if !strings.HasPrefix(state, "before") || strings.Trim(state[6:], "x\x00") != "" {
				t.Errorf("%.20q", state)
			}
		}
	}
	must(t, m.Append("f", []byte(after)))
	m.Step = nil
	only(t, found(m, "f"), "before"+after)
}

func TestFaulty(t *testing.T) {
	m := NewMemory(map[string]string{"f": "1"}, 0o600)
	var calls []string
	f := &Faulty{Disk: m, Hook: func(c Call) error {
		calls = append(calls, c.Op)
		if c.Op == "create sync" || c.Op == "append torn" {
			return syscall.EIO
		}
		return nil
	}}
	if err := f.Create("g", []byte("two"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if _, err := m.Lstat("g"); err == nil {
		t.Error("what could not be made durable is there")
	}
	if err := f.Append("f", []byte("234")); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if data, err := f.Read("f"); err != nil || string(data) != "12" {
		t.Errorf("%q, %v", data, err)
	}
	if got := strings.Join(calls, ", "); got != "create, create torn, create sync, append, append torn, load" || f.Calls() != 6 {
		t.Error(got)
	}
}
