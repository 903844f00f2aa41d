package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
)

const testdata = "../../../../testdata/strands"

// fixtures are the sessions that the real SDK wrote, and orchestrators those of
// its Graphs and Swarms.
var (
	fixtures      = filepath.Join(testdata, "python-file")
	orchestrators = filepath.Join(testdata, "python-multiagent")
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func state(t testing.TB, s *Store, h model.Header) []byte {
	t.Helper()
	state, err := s.State(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// written is a session by the short names of hazards.txtar.
type written map[string][]byte

// hazards reads hazards.txtar. The text has bytes that are not UTF-8, which is
// why it is taken apart here.
func hazards(t testing.TB) map[string]written {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join(testdata, "hazards.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]written)
	session, file := "", ""
	for line := range bytes.Lines(archive) {
		if header, ok := bytes.CutPrefix(line, []byte("-- ")); ok && bytes.HasSuffix(header, []byte(" --\n")) {
			session, file, _ = strings.Cut(strings.TrimSuffix(string(header), " --\n"), "/")
			if all[session] == nil {
				all[session] = written{}
			}
			all[session][file] = nil
		} else if session != "" {
			all[session][file] = append(all[session][file], line...)
		}
	}
	base := all["base"]
	delete(all, "base")
	for name, own := range all {
		all[name] = maps.Clone(base)
		maps.Copy(all[name], own)
	}
	return all
}

// with returns the session with other files in their place.
func (f written) with(more map[string]string) written {
	f = maps.Clone(f)
	for name, content := range more {
		f[name] = []byte(content)
	}
	return f
}

// write lays the session out in a folder of the store.
func (f written) write(t testing.TB, dir string) {
	t.Helper()
	agent := filepath.Join(dir, "agents", "agent_default")
	if err := os.MkdirAll(filepath.Join(agent, "messages"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range f {
		target := filepath.Join(agent, filepath.FromSlash(name))
		if name == "session.json" {
			target = filepath.Join(dir, name)
		}
		var err error
		switch link, isLink := bytes.CutPrefix(content, []byte("-> ")); {
		case name == "why", string(content) == "(absent)\n":
		case isLink:
			err = os.Symlink(strings.TrimSpace(string(link)), target)
		default:
			err = os.WriteFile(target, content, 0o644)
		}
		if err == nil && isTemporary(target) {
			err = age(target)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// age makes a file one that nobody is writing any more.
func age(file string) error { return os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)) }

// openFiles returns a store with one session "h".
func openFiles(t testing.TB, f written) *Store {
	t.Helper()
	dir := t.TempDir()
	f.write(t, filepath.Join(dir, "session_h"))
	return open(t, dir)
}

// answers is what the real SDK said, see testdata/interop/strands_initialize.py.
type answers struct {
	SDK       string
	Positions map[string][][]json.RawMessage
	Hazards   map[string]answer
}

// answer is what came of starting an agent.
type answer struct {
	Refuses    string
	Messages   []json.RawMessage
	State      json.RawMessage
	Next       string
	Overwrites bool
}

func answersOf(t testing.TB, version string) answers {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, "initialize-"+version+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	if a.SDK != version {
		t.Fatalf("the answers are those of %s", a.SDK)
	}
	return a
}

// tape parses a state in the way in which it was put together.
func tape(t testing.TB, data []byte) *jsontape.Tape {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return tape
}

// canonical writes a value with its keys in order, so that two can be
// compared. Numbers that JSON lacks are strings, as in the answers of the SDK.
func canonical(tape *jsontape.Tape, n jsontape.Node) string {
	switch tape.Kind(n) {
	case jsontape.Object:
		members := make(map[string]string)
		for c := tape.First(n); c >= 0; c = tape.Next(c) {
			members[tape.Key(c)] = canonical(tape, c)
		}
		var text strings.Builder
		for _, key := range slices.Sorted(maps.Keys(members)) {
			fmt.Fprintf(&text, "%q:%s,", key, members[key])
		}
		return "{" + text.String() + "}"
	case jsontape.Array:
		var text strings.Builder
		for c := tape.First(n); c >= 0; c = tape.Next(c) {
			text.WriteString(canonical(tape, c) + ",")
		}
		return "[" + text.String() + "]"
	case jsontape.String:
		return strconv.Quote(tape.Text(n))
	case jsontape.Number:
		raw := string(tape.Raw(n))
		f, err := strconv.ParseFloat(raw, 64)
		switch {
		case math.IsNaN(f):
			return `"nan"`
		case math.IsInf(f, 0) && (err != nil || !tape.Standard(n)) && strings.ContainsAny(raw, "eEyI"):
			return strconv.Quote(strings.TrimPrefix(strings.ToLower(fmt.Sprint(f)), "+"))
		}
		return raw
	}
	return string(tape.Raw(n))
}

// canonicalMessages returns the messages of a state, each as canonical writes it.
func canonicalMessages(t testing.TB, state []byte) []string {
	t.Helper()
	tape := tape(t, state)
	list := tape.Find(0, "messages")
	if list < 0 || tape.Kind(list) != jsontape.Array {
		t.Fatalf("no messages in %s", state)
	}
	messages := []string{}
	for n := tape.First(list); n >= 0; n = tape.Next(n) {
		messages = append(messages, canonical(tape, n))
	}
	return messages
}

// plainMessages returns the messages of an answer in the same way.
func plainMessages(t testing.TB, answer []json.RawMessage) []string {
	t.Helper()
	messages := []string{}
	for _, m := range answer {
		messages = append(messages, canonical(tape(t, m), 0))
	}
	return messages
}
