//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
)

// mostEnding is how long the program may take to end after a signal, on a loaded machine.
const mostEnding = 60 * time.Second

// A signal ends every command in a store whose tables have more rows than can be read: each leads
// to the same few pages again and again, so that a query of them does not end.
func TestProgram_endsWithASignal(t *testing.T) {
	hindcast := program.Path(t)
	commands := [][]string{
		{"sessions"}, {"doctor"}, {"grep", "no such text"}, {"find", ".nothing"}, {"stats"}, {"export"}, {"report"}, {"log"}, {"journal"}, {"undo", "--yes"},
	}
	stores := []string{
		"langgraph/agent.db", "adk/database_service.db", "openaiagents/sqlite_session.db", "crewai/checkpoints.db",
		"mastra/store.db", "llamaindex/server.db", "agno/sessions.db", "dbos/system.db", "coding/opencode/opencode.db", "coding/crush/crush.db", "coding/cursor/globalStorage/state.vscdb",
	}
	endless := 0
	if testing.Short() {
		commands, stores = commands[:3], stores[:3]
	}
	for i, name := range stores {
		for k, command := range commands {
			end := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[(i+k)%2]
			t.Run(fmt.Sprintf("%s %s %v", name, command[0], end), func(t *testing.T) {
				path := storetest.Copy(t, filepath.Join("testdata", name))
				multiply(t, path)
				args := append([]string{command[0]}, command[1:]...)
				switch command[0] {
				case "grep", "find":
					args = append(args, path)
				default:
					args = append([]string{command[0], path}, command[1:]...)
				}
				if endsWith(t, end, hindcast, args...) {
					endless++
				}
			})
		}
	}
	if endless < len(stores)/3 {
		t.Errorf("of all commands %d had to be ended", endless)
	}
}

// A signal ends a question that does not end, too. Each step takes a millisecond, so that a quick
// machine does not come to the bound of steps first.
func TestProgram_endsQuestionsWithASignal(t *testing.T) {
	hindcast := program.Path(t)
	const slow = `("x" * 1000000) as $s | def n: $s | ascii_downcase | length; `
	for i, expression := range []string{"last(range(1e12) | n) > 0", "[range(1e9) | select(n < 0)] | length > 0", "def f: n | f; f"} {
		if !endsWith(t, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2], hindcast, "find", filepath.Join("testdata", "langgraph", "agent.db"), "tour", slow+expression) {
			t.Errorf("%q ended by itself", expression)
		}
	}
}

// endsWith runs the program, and holds it to end after a signal. It reports false where the program
// ended before that.
func endsWith(t *testing.T, end syscall.Signal, name string, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*mostEnding)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), program.Env(t.TempDir())...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended: // it refused
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatalf("%q: %v", args, err)
		}
		return false
	case <-time.After(500 * time.Millisecond):
	}
	began := time.Now()
	if err := cmd.Process.Signal(end); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Logf("%q ended after %v", args[0], time.Since(began).Round(time.Millisecond))
	case <-time.After(mostEnding):
		_ = cmd.Process.Kill()
		<-ended
		t.Errorf("%q does not end after %v: %.2000s", args, end, out.String())
	}
	return true
}

// A report that is ended leaves nothing in its folder, in whatever stage it was.
func TestProgram_leavesNoPartOfAReport(t *testing.T) {
	hindcast := program.Path(t)
	sessions := filepath.Join(t.TempDir(), "-home-demo")
	if err := os.MkdirAll(sessions, 0o755); err != nil {
		t.Fatal(err)
	}
	const id = "11111111-2222-4333-8444-555555555555"
	var rows bytes.Buffer
	for i, parent := 0, "null"; i < 40_000; i++ {
		uuid := fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, i)
		fmt.Fprintf(&rows, `{"type":"user","uuid":%s,"parentUuid":%s,"sessionId":%q,"isSidechain":false,"cwd":"/home/demo","version":"2.0.14","timestamp":"2026-05-04T12:00:00.000Z","message":{"role":"user","content":"question %d: %s"}}`+"\n",
			uuid, parent, id, i, bytes.Repeat([]byte("what is the token of this key? "), 20))
		parent = uuid
	}
	if err := os.WriteFile(filepath.Join(sessions, id+".jsonl"), rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		to := t.TempDir()
		cmd := exec.CommandContext(t.Context(), hindcast, "report", filepath.Dir(sessions), id, "-o", filepath.Join(to, "page.html"))
		cmd.Env = append(os.Environ(), program.Env(t.TempDir())...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for begun := false; !begun; {
			select {
			case err := <-ended:
				t.Fatalf("it ended by itself: %v: %s", err, said.String())
			case <-look.C:
				drafts, err := filepath.Glob(filepath.Join(to, ".hindcast-*", "page.html"))
				if begun = len(drafts) > 0; err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%v: it went on to its end", end)
			}
		case <-time.After(mostEnding):
			_ = cmd.Process.Kill()
			<-ended
			t.Errorf("it does not end after %v", end)
		}
		left, err := os.ReadDir(to)
		if err != nil || len(left) > 0 {
			t.Errorf("%v: %v, and it left %v", end, err, left)
		}
	}
}

// multiply gives each table of a database rows without end: its root leads by seven levels of pages,
// each of which names the one below many times, to the page that it was.
func multiply(t *testing.T, path string) {
	t.Helper()
	var roots []uint32
	file := sqlitefile.New(path, nil)
	err := file.Read(t.Context(), func(tx *sqlitefile.Tx) error {
		roots = nil
		return tx.Each(t.Context(), func(scan func(...any) error) error {
			var root uint32
			err := scan(&root)
			roots = append(roots, root)
			return err
		}, "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND rootpage > 1")
	})
	data, readErr := os.ReadFile(path)
	if err = errors.Join(err, file.Close(), readErr); err != nil {
		t.Fatal(err)
	}
	size := int(binary.BigEndian.Uint16(data[16:]))
	if size == 1 {
		size = 65536
	}
	multiplied := 0
	for _, root := range roots {
		page := data[int(root-1)*size:][:size]
		if binary.BigEndian.Uint16(page[3:]) == 0 || page[0] != 0x0d && page[0] != 0x05 { // an empty one, or of an index
			continue
		}
		multiplied++
		data = append(data, page...)
		below := uint32(len(data) / size)
		for level := range 7 {
			inner := innerPage(size, below)
			if level == 6 {
				copy(data[int(root-1)*size:], inner)
				break
			}
			data = append(data, inner...)
			below = uint32(len(data) / size)
		}
	}
	binary.BigEndian.PutUint32(data[28:], uint32(len(data)/size))
	if multiplied == 0 {
		t.Fatalf("no table of %s has rows", path)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// innerPage returns a page of a table that names another one many times.
func innerPage(size int, below uint32) []byte {
	cells := min(200, (size-12)/8)
	page := make([]byte, size)
	page[0] = 0x05
	binary.BigEndian.PutUint16(page[3:], uint16(cells))
	binary.BigEndian.PutUint32(page[8:], below)
	at := size
	for i := range cells {
		at -= 6
		binary.BigEndian.PutUint32(page[at:], below)
		page[at+4], page[at+5] = 0x80|byte(i>>7), byte(i&0x7f)
		binary.BigEndian.PutUint16(page[12+2*i:], uint16(at))
	}
	binary.BigEndian.PutUint16(page[5:], uint16(at))
	return page
}
