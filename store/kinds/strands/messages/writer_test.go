package messages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// started is what the SDK holds when it starts on an agent, told from the files
// alone and without the code that is tested: RepositorySessionManager.initialize.
type started struct {
	all    []string // message files in the SDK's order
	loaded []string
	next   int64 // number of the next message
}

// startSDK does what a start of the SDK does. The error is the exception.
func startSDK(dir string) (s started, err error) {
	agent, err := os.ReadFile(filepath.Join(dir, "agent.json"))
	if err != nil {
		return s, err
	}
	t, err := files.Parse(agent)
	if err != nil {
		return s, err
	}
	names, err := os.ReadDir(filepath.Join(dir, "messages"))
	if err != nil {
		return s, err
	}
	numbers := map[string]int64{}
	for _, e := range names {
		name := e.Name()
		if !strings.HasPrefix(name, "message_") || !strings.HasSuffix(name, ".json") {
			continue
		}
		number, ok := parseNumber(name[len("message_") : len(name)-len(".json")])
		if !ok {
			return s, fmt.Errorf("ValueError: invalid literal for int(): %q", name)
		}
		if numbers[name] = number.Int64(); !number.IsInt64() {
			numbers[name] = math.MaxInt64
		}
		s.all = append(s.all, name)
	}
	slices.SortFunc(s.all, func(a, b string) int {
		return cmp.Or(cmp.Compare(numbers[a], numbers[b]), strings.Compare(a, b))
	})
	offset := 0
	if manager := t.Find(0, "conversation_manager_state"); t.Count(manager) > 0 {
		count := t.Find(manager, "removed_message_count")
		if count < 0 {
			return s, fmt.Errorf("KeyError: removed_message_count")
		}
		offset, _ = strconv.Atoi(string(t.Raw(count)))
	}
	if offset < 0 {
		offset = max(0, len(s.all)+offset)
	}
	s.loaded = s.all[min(offset, len(s.all)):]
	for i, name := range s.loaded {
		data, err := os.ReadFile(filepath.Join(dir, "messages", name))
		if err != nil {
			return s, err
		}
		m, err := files.Parse(data)
		if err != nil {
			return s, err
		}
		id := m.Find(0, "message_id")
		if m.Find(0, "message") < 0 || id < 0 {
			return s, fmt.Errorf("TypeError: %s", name)
		}
		if i == len(s.loaded)-1 {
			n, err := strconv.ParseInt(string(m.Raw(id)), 10, 64)
			if err != nil {
				return s, fmt.Errorf("TypeError: %w", err)
			}
			s.next = n + 1
		}
	}
	return s, nil
}

// runningAgent writes as the SDK does: one counter in memory, a temporary file for
// each write that is then renamed, agent.json anew with the first message.
type runningAgent struct {
	t       testing.TB
	dir     string
	next    int64
	clock   time.Time
	written bool
	// held says that it goes on from what it holds although a restore may have come
	// between: it may write over messages, and tells over first.
	held bool
	over func(name string)
	// agent is agent.json as it holds it.
	agent []byte
}

// startAgent starts one on what lies in the folder of an agent.
func startAgent(t testing.TB, dir string, clock time.Time) *runningAgent {
	t.Helper()
	s, err := startSDK(dir)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile(filepath.Join(dir, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &runningAgent{t: t, dir: dir, next: s.next, clock: clock, agent: agent}
}

// replace writes a file as _write_file of the SDK does.
func (a *runningAgent) replace(name string, data []byte) {
	a.t.Helper()
	target := filepath.Join(a.dir, name)
	temporary := filepath.Join(filepath.Dir(target), ".strands_x.tmp")
	err := os.WriteFile(temporary, data, 0o600)
	if err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// append writes a message with content.
func (a *runningAgent) append(role string, content ...any) string {
	a.t.Helper()
	if !a.written {
		a.written = true
		a.sync(nil)
	}
	a.clock = a.clock.Add(time.Second)
	name := fmt.Sprintf("message_%d.json", a.next)
	if _, err := os.Lstat(filepath.Join(a.dir, "messages", name)); err == nil && !a.held {
		a.t.Fatalf("the SDK writes over %s", name)
	} else if err == nil && a.over != nil {
		a.over(name)
	}
	a.replace("messages/"+name, indented(a.t, object{
		"message":    object{"role": role, "content": content, "tracking_id": fmt.Sprintf("t-%d", a.clock.UnixNano())},
		"message_id": a.next, "redact_message": nil, "created_at": pythonTime(a.clock), "updated_at": pythonTime(a.clock),
	}))
	a.next++
	return name
}

// sync writes agent.json, with another state unless that is nil. One that holds its own
// writes that.
func (a *runningAgent) sync(state any) {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, "agent.json"))
	if err != nil {
		a.t.Fatal(err)
	}
	if a.held {
		data = a.agent
	}
	tape, err := files.Parse(data)
	if err != nil {
		a.t.Fatal(err)
	}
	a.clock = a.clock.Add(time.Millisecond)
	p := jsontape.NewPatch(tape)
	if state != nil {
		p.Put(0, "state", indented(a.t, state))
	}
	p.Put(0, "updated_at", jsontape.AppendQuoted(nil, pythonTime(a.clock)))
	a.agent = p.Bytes()
	a.replace("agent.json", a.agent)
}

// window has the conversation manager leave out so many messages, which agent.json tells
// with the next sync.
func (a *runningAgent) window(removed string) {
	a.t.Helper()
	held := tape(a.t, a.agent)
	p := jsontape.NewPatch(held)
	p.Put(held.Find(0, "conversation_manager_state"), "removed_message_count", []byte(removed))
	a.agent = p.Bytes()
}

// redact takes the text out of a message, as redact_latest_message does.
func (a *runningAgent) redact(name, text string) {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, "messages", name))
	if err != nil {
		a.t.Fatal(err)
	}
	var m object
	if err := json.Unmarshal(data, &m); err != nil {
		a.t.Fatal(err)
	}
	m["message"].(object)["content"] = []any{object{"text": text}}
	m["redact_message"] = m["message"]
	a.replace("messages/"+name, indented(a.t, m))
}

func indented(t testing.TB, v any) []byte {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// said is a text block.
func said(text string) object { return object{"text": text} }

// asked is a tool call, answered its result.
func asked(id string) object {
	return object{"toolUse": object{"toolUseId": id, "name": "look", "input": object{"q": id}}}
}

func answered(id string) object {
	return object{"toolResult": object{"toolUseId": id, "status": "success", "content": []any{object{"text": "found"}}}}
}

// copyOf copies fixtures to a folder that may be written to, their times long past.
func copyOf(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	rest(t, to)
	return to
}

// rest makes everything below a folder an hour old.
func rest(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.Type()&os.ModeSymlink != 0 {
			return err
		}
		return age(name)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns every file below a folder but those of the journal, with its mode.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".hindcast" {
			return filepath.SkipDir
		}
		short, err := filepath.Rel(dir, name)
		if err != nil || e.IsDir() {
			all[short] = "folder"
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.Type()&os.ModeSymlink != 0 {
			all[short] = "link"
			return nil
		}
		data, err := os.ReadFile(name)
		all[short] = fmt.Sprintf("%v %s", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// agentDir returns the folder of an agent of a session.
func agentDir(dir, session, agent string) string {
	return filepath.Join(dir, "session_"+session, "agents", "agent_"+agent)
}
