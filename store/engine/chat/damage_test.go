package chat_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/codex"
	"hindcast/store/kinds/copilot"
	"hindcast/store/kinds/gemini"
	"hindcast/store/kinds/pi"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// linear is an agent with a session of four messages, a line each behind those of the header.
type linear struct {
	kind         func(*files.Cache) engine.Kind
	file         string // in the storage
	header       string // lines
	message      func(n int, words string) string
	conversation string // the id
	// ofFolder says that the session is called as the folder that its file is in.
	ofFolder bool
}

// turnOf returns who says the nth message.
func turnOf(n int) string { return []string{"user", "assistant"}[n%2] }

const lone = "11111111-1111-4111-8111-111111111111"

var linears = map[string]linear{
	"claude-code": {claudecode.Kind, "-w/" + lone + ".jsonl", "", func(n int, words string) string {
		parent := "null"
		if n > 0 {
			parent = fmt.Sprintf(`"m%d"`, n-1)
		}
		return fmt.Sprintf(`{"parentUuid":%s,"type":%q,"uuid":"m%d","sessionId":%q,"timestamp":"2026-01-01T00:00:0%d.000Z","cwd":"/w","message":{"role":%q,"content":[{"type":"text","text":"%s"}]}}`,
			parent, turnOf(n), n, lone, n, turnOf(n), words)
	}, lone, false},
	"codex": {codex.Kind, "sessions/2026/01/02/rollout-2026-01-02T03-04-00-" + lone + ".jsonl",
		`{"timestamp":"2026-01-02T03:04:00.000Z","type":"session_meta","payload":{"id":"` + lone + `","timestamp":"2026-01-02T03:04:00.000Z","cwd":"/w"}}` + "\n",
		func(n int, words string) string {
			return fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:0%d.000Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"text","text":"%s"}]}}`, n, turnOf(n), words)
		}, lone, false},
	"pi": {pi.Kind, "--w--/2026-01-01T00-00-00-000Z_" + lone + ".jsonl", `{"type":"session","version":3,"id":"` + lone + `","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}` + "\n",
		func(n int, words string) string {
			parent := "null"
			if n > 0 {
				parent = fmt.Sprintf(`"m%d"`, n-1)
			}
			return fmt.Sprintf(`{"type":"message","id":"m%d","parentId":%s,"timestamp":"2026-01-01T00:00:0%dZ","message":{"role":%q,"content":"%s"}}`, n, parent, n, turnOf(n), words)
		}, lone, false},
	"gemini-cli": {gemini.Kind, "p/chats/session-2026-01-01T00-00-11111111.jsonl", `{"sessionId":"` + lone + `","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z"}` + "\n",
		func(n int, words string) string {
			return fmt.Sprintf(`{"id":"m%d","timestamp":"2026-01-01T00:00:0%dZ","type":%q,"content":"%s"}`, n, n, []string{"user", "gemini"}[n%2], words)
		}, lone, false},
	"copilot-cli": {copilot.Kind, lone + "/events.jsonl", `{"type":"session.start","data":{"sessionId":"` + lone + `","context":{"cwd":"/w"}},"id":"s","timestamp":"2026-01-01T00:00:00Z","parentId":null}` + "\n",
		func(n int, words string) string {
			parent := "s"
			if n > 0 {
				parent = fmt.Sprintf("m%d", n-1)
			}
			return fmt.Sprintf(`{"type":%q,"data":{"content":"%s"},"id":"m%d","timestamp":"2026-01-01T00:00:0%dZ","parentId":%q}`, turnOf(n)+".message", words, n, n, parent)
		}, lone, true},
}

// text returns the file of the session, with other words in one of its messages.
func (l linear) text() string {
	text := l.header
	for n := range 4 {
		text += l.message(n, fmt.Sprintf("words%d", n)) + "\n"
	}
	return text
}

// put writes the session into a new storage and opens that.
func (l linear) put(t testing.TB, text string) (dir, file string, s store.Store) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, filepath.FromSlash(l.file))
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, file, l.open(t, dir)
}

func (l linear) open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := l.kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it was only read
	return s
}

// shown returns the words of all states of a storage.
func shown(t testing.TB, s store.Store) string {
	t.Helper()
	var all strings.Builder
	for _, info := range storetest.Sessions(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			state, err := s.State(t.Context(), h.Ref())
			if err != nil || !json.Valid(state) {
				t.Fatalf("%s: %.300q, %v", h.ID, state, err)
			}
			all.Write(state)
		}
		storetest.Faults(t, s, info.ID)
	}
	storetest.Faults(t, s, "")
	return all.String()
}

// What crashes, other systems and other programs leave in a file takes no message from view
// that the file has whole.
func TestDamage(t *testing.T) {
	skip.Sequential(t)
	all := []int{0, 1, 2, 3}
	whole := func(text string) string { return text }
	at := func(text string, n int) int { return strings.Index(text, fmt.Sprintf("words%d", n)) }
	begin := func(text string, n int) int { return strings.LastIndexByte(text[:at(text, n)], '\n') + 1 }
	for _, c := range []struct {
		name   string
		damage func(text string) string
		keeps  []int
	}{
		{"nothing", whole, all},
		{"the last line has no end", func(s string) string { return strings.TrimSuffix(s, "\n") }, all},
		{"the last line is torn", func(s string) string { return s[:at(s, 3)] }, all[:3]},
		{"lines of another system", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, all},
		{"a mark of the byte order", func(s string) string { return "\ufeff" + s }, all},
		{"lines of white space", func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n \t\r\n") }, all},
		{"zeros behind the end, as a crash leaves them", func(s string) string { return s + strings.Repeat("\x00", 5000) }, all},
		{"zeros before a line that was written after a crash", func(s string) string { return s[:begin(s, 3)] + strings.Repeat("\x00", 5000) + s[begin(s, 3):] }, all},
		{"a line that was torn before the next was written", func(s string) string { return s[:at(s, 2)] + s[begin(s, 3):] }, []int{0, 1, 3}},
		{"two lines with no end between", func(s string) string { return s[:begin(s, 3)-1] + s[begin(s, 3):] }, all},
		{"bytes that are no UTF-8", func(s string) string { return strings.Replace(s, "words1", "words1\xff\xfe\x80", 1) }, all},
		{"half of a character that is escaped", func(s string) string { return strings.Replace(s, "words1", `words1\ud800`, 1) }, all},
		{"the file twice", func(s string) string { return s + s }, all},
		{"the lines backwards", func(s string) string {
			lines := strings.SplitAfter(strings.TrimSuffix(s, "\n"), "\n")
			lines[len(lines)-1] += "\n"
			slices.Reverse(lines)
			return strings.Join(lines, "")
		}, all},
		{"very deep values", func(s string) string {
			return s + strings.Repeat("[", 1<<20) + "\n" + strings.Repeat(`{"a":`, 1<<18) + "\n"
		}, all},
		{"a huge line", func(s string) string { return strings.Replace(s, "words1", "words1"+strings.Repeat("x", 5<<20), 1) }, all},
		{"a huge first line", func(s string) string { return strings.Replace(s, "words0", "words0"+strings.Repeat("x", 5<<20), 1) }, all},
	} {
		for name, l := range linears {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				_, _, s := l.put(t, c.damage(l.text()))
				got := shown(t, s)
				for _, n := range c.keeps {
					if !strings.Contains(got, fmt.Sprintf("words%d", n)) {
						t.Errorf("message %d is in no state", n)
					}
				}
			})
		}
	}
}

// A storage holds more than files of sessions.
func TestDamage_ofAStorage(t *testing.T) {
	skip.Sequential(t)
	for name, l := range linears {
		t.Run(name, func(t *testing.T) {
			dir, _, _ := l.put(t, l.text())
			other := func(with string) string {
				path := filepath.Join(dir, strings.Replace(filepath.FromSlash(l.file), "111", with, 1))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				return path
			}
			away := filepath.Join(t.TempDir(), "away.jsonl")
			for _, err := range []error{
				os.WriteFile(other("222"), nil, 0o600),
				os.Mkdir(other("333"), 0o700),
				os.WriteFile(away, []byte(strings.ReplaceAll(l.text(), "words", "linked")), 0o600),
				os.Symlink(away, other("444")),
				os.Symlink(filepath.Base(other("555")), other("555")),
				os.Symlink("/nowhere", other("666")),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			storetest.Pipe(t, other("777"))
			s := l.open(t, dir)
			var ids []string
			for _, info := range storetest.Sessions(t, s) {
				ids = append(ids, info.ID)
			}
			if len(ids) != 5 { // itself, the empty one and the links
				t.Errorf("the sessions are %q", ids)
			}
			if got := storetest.Messages(t, s, storetest.Headers(t, s, l.conversation)[3].Ref()); len(got) != 4 {
				t.Errorf("the session has %d messages", len(got))
			}
			if n := links(t, s); n != 3 {
				t.Errorf("doctor tells of %d links", n)
			}
		})
	}
}

// links returns how many links a storage has that are not followed, as far as its faults tell.
func links(t testing.TB, s store.Store) (n int) {
	t.Helper()
	for _, f := range storetest.Faults(t, s, "") {
		if f.Code == chat.FaultLink {
			n++
		}
	}
	return n
}

// A folder of sessions that is a link is not followed, and doctor tells.
func TestDamage_linkedFolder(t *testing.T) {
	skip.Sequential(t)
	for name, l := range linears {
		t.Run(name, func(t *testing.T) {
			dir, file, _ := l.put(t, l.text())
			top := filepath.Join(dir, strings.Split(l.file, "/")[0])
			away := filepath.Join(t.TempDir(), "away")
			err := os.Rename(top, away)
			if err == nil {
				err = os.Symlink(away, top)
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := links(t, l.open(t, dir)); n != 1 {
				t.Errorf("doctor tells of %d links", n)
			}
			if l.ofFolder {
				return
			}
			if got := shown(t, l.open(t, file)); !strings.Contains(got, "words3") {
				t.Error("the file does not open by itself")
			}
		})
	}
}

// What a damaged line has whole is shown, and is on the way to nothing that is whole: the agent
// passes the line over. Of a message that names one in it, pi makes the first one. Claude Code
// puts it behind the newest one of the seconds before, as a log does.
func TestDamage_noHeadInADamagedLine(t *testing.T) {
	skip.Sequential(t)
	for name, l := range linears {
		damaged := `{"torn` + l.message(4, "words4") + "\n"
		for _, c := range []struct {
			name, text string
			head       int
			off, left  []int // passed over, and off the path for another reason
		}{
			{"the last line", l.text() + damaged, 3, []int{4}, nil},
			{"two records in the last line", l.text() + `{"torn` + l.message(4, "words4") + l.message(5, "words5") + "\n", 3, []int{4, 5}, nil},
			{"a line before the last", l.text() + damaged + l.message(5, "words5") + "\n", 5, []int{4}, nil},
		} {
			if c.head == 5 && name == "pi" {
				c.left = []int{0, 1, 2, 3}
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				_, _, s := l.put(t, c.text)
				list := storetest.Headers(t, s, l.conversation)
				if want := 4 + strings.Count(c.text[len(l.text()):], "words"); len(list) != want {
					t.Errorf("there are %d messages, want %d", len(list), want)
				}
				for _, h := range list {
					state, err := s.State(t.Context(), h.Ref())
					if err != nil {
						t.Fatal(err)
					}
					last := words(t, state)
					if h.Head != (last == c.head) {
						t.Errorf("message %d is the head: %t", last, h.Head)
					}
					off, left := slices.Contains(c.off, last), slices.Contains(c.left, last)
					if (off || left) != h.Orphaned || off != (h.Orphaned && h.Reason.Kind == model.ReasonDamaged) {
						t.Errorf("message %d is off the path: %t, because %+v", last, h.Orphaned, h.Reason)
					}
					for _, n := range slices.Concat(c.off, c.left) {
						if h.Head && strings.Contains(string(state), fmt.Sprintf("words%d", n)) {
							t.Errorf("the head has message %d", n)
						}
					}
				}
			})
		}
	}
}

// words returns the number of the last message in a state.
func words(t testing.TB, state []byte) int {
	t.Helper()
	at := strings.LastIndex(string(state), `"words`)
	if at < 0 {
		t.Fatalf("no words in %s", state)
	}
	return int(state[at+len(`"words`)] - '0')
}
