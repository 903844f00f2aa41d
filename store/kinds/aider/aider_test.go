package aider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"

	"pgregory.net/rapid"
)

const fixture = "../../../testdata/coding/aider/.aider.chat.history.md"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

// inText returns the chats in a text.
func inText(t interface{ Fatal(...any) }, text []byte) []section {
	f := newFormat("").(*format)
	in := engine.In{Tree: tree.Overlay(nil, tree.Steps{{Name: fileName, Data: append([]byte{}, text...)}}, nil), Memo: tree.NewMemo(&files.Memory{})}
	file, err := f.scanFile(context.Background(), in, fileName)
	if err != nil {
		t.Fatal(err)
	}
	return file.chats
}

// What aider wrote in two runs, the second of which loaded the first.
func TestFixture(t *testing.T) {
	text, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, c := range inText(t, text) {
		fmt.Fprintf(&got, "%s from line %d\n", c.part, c.line)
		s := sessionOf(chat.Spot{}, c, text[c.At:c.At+c.Len])
		for i := range s.Entries {
			e := &s.Entries[i]
			m := messageOf(text[e.Records[0].At : e.Records[0].At+e.Records[0].Len])
			fmt.Fprintf(&got, "  %s<%s %s %d", e.ID, e.Parent, e.Said.Role, len(m.Blocks))
			if m.Usage.Counted {
				fmt.Fprintf(&got, ", %v in, %v out, $%v", m.Usage.Input, m.Usage.Output, m.Usage.Cost)
			}
			fmt.Fprintf(&got, ": %s\n", e.Said.Words)
		}
	}
	const want = `2026-11-24T02:51:17 from line 2
  line-4< tool 1: Detected dumb terminal, disabling fancy input and pretty output.
  line-15<line-4 user 1: first question
  line-16<line-15 assistant 2, 2700 in, 16 out, $0.0068: reply to: first question
2026-11-24T02:51:41 from line 21
  line-23< tool 1: Detected dumb terminal, disabling fancy input and pretty output.
  line-32<line-23 user 1: second question
  line-33<line-32 assistant 2, 2700 in, 16 out, $0.0069: reply to: second question
  line-38<line-33 user 1: with two lines and a # mark
  line-40<line-38 assistant 2, 2700 in, 19 out, $0.007: reply to: with two lines and a # mark
  line-46<line-40 user 2: /add a.py
  line-49<line-46 user 1: third question
  line-50<line-49 assistant 2, 2800 in, 16 out, $0.0072: reply to: third question
  line-55<line-50 user 1: /exit
`
	if got.String() != want {
		t.Errorf("the chats are\n%s\nwant\n%s", got.String(), want)
	}
}

// A text is no JSON: a quotation over several lines is read as it stands.
func TestRead_quotationOverLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileName)
	const text = "\n# aider chat started at 2026-05-04 12:04:28\n\n#### say \"hello\n#### world\" please\n\nHe said \"hello\nworld\" ok\nand\tmore \"x\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Kind(nil).Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	headers := storetest.Headers(t, s, storetest.Sessions(t, s)[0].ID)
	state, err := s.State(t.Context(), headers[len(headers)-1].Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"say \"hello\nworld\" please"`, `"He said \"hello\nworld\" ok\nand\tmore \"x"`} {
		if !bytes.Contains(state, []byte(want)) {
			t.Errorf("%s is not in %s", want, state)
		}
	}
}

// The line of costs, as each of aider's providers has it printed.
func TestUsage(t *testing.T) {
	for line, want := range map[string]string{
		"Tokens: 730 sent, 895 received.":                                                                      "730 895 0 0 0 false",
		"Tokens: 16k sent, 516 received. Cost: $0.05 message, $0.05 session.":                                  "16000 516 0 0 0.05 true",
		"Tokens: 2.3k sent, 1.1k cache write, 1k cache hit, 9 received. Cost: $0.0072 message, $1.00 session.": "2300 9 1000 1100 0.0072 true",
		"Tokens: many sent.": "0 0 0 0 0 false",
	} {
		m := messageOf([]byte("an answer\n> " + line + "  \n"))
		u := m.Usage
		if got := fmt.Sprint(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost, u.Priced); got != want || u.Counted != (want[0] != '0') {
			t.Errorf("%s is %s, want %s", line, got, want)
		}
	}
}

// aider prints the cost on a line of its own, without a mark, where there are both cache writes
// and hits: it is no answer.
func TestUsage_costOnItsOwnLine(t *testing.T) {
	const tokens, price = "> Tokens: 5.4k sent, 1.2k cache write, 3.0k cache hit, 120 received.  \n", "Cost: $0.02 message, $0.03 session.  \n"
	for text, want := range map[string]string{
		"#### q\n\nTwo\n\n" + tokens + price + "> Applied edit to foo.py  \n": "user q; assistant Two $0.02 true",
		"#### q\n\nTwo\n" + price:                   "user q; assistant Two " + strings.TrimSpace(price) + " $0 false",
		"#### q\n\nTwo\n\n" + tokens + "\n" + price: "user q; assistant Two $0 false; assistant " + strings.TrimSpace(price) + " $0 false",
	} {
		var got []string
		for _, e := range sessionOf(chat.Spot{}, section{}, []byte(text)).Entries {
			said := e.Said.Role.String() + " " + e.Said.Words
			if m := messageOf([]byte(text)[e.Records[0].At : e.Records[0].At+e.Records[0].Len]); m.Role == chat.Assistant {
				said += fmt.Sprintf(" $%v %v", m.Usage.Cost, m.Usage.Priced)
			}
			got = append(got, said)
		}
		if is := strings.Join(got, "; "); is != want {
			t.Errorf("of %q it is %s, want %s", text, is, want)
		}
	}
}

// Two chats that began in one second, one before the first line of a chat, and one whose time
// is none are sessions of their own.
func TestChats_namesAreDifferent(t *testing.T) {
	const text = "#### before\n# aider chat started at 2026-01-02 03:04:05\n#### a\n# aider chat started at 2026-01-02 03:04:05\n#### b\n# aider chat started at ../../x\n#### c\n"
	var parts []string
	for _, c := range inText(t, []byte(text)) {
		parts = append(parts, c.part)
	}
	if got, want := strings.Join(parts, " "), "0 2026-01-02T03:04:05 2026-01-02T03:04:05~2 3"; got != want {
		t.Errorf("the chats are called %s, want %s", got, want)
	}
}

// Lines that end as on Windows, a time that no calendar has, and marks inside a block of code,
// which aider's own reader takes for what they look like, too.
func TestChats_oddLines(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"Windows":           {"\r\n# aider chat started at 2026-01-02 03:04:05\r\n\r\n> Aider v0.86.1\r\n\r\n#### one  \r\n\r\nan answer\r\n", "2026-01-02T03:04:05 2026-01-02T03:04:05Z: tool Aider v0.86.1; user one; assistant an answer"},
		"no such day":       {"# aider chat started at 2026-02-30 25:61:00\n#### one\n", "2026-02-30T25:61:00 0001-01-01T00:00:00Z: user one"},
		"a mark in code":    {"# aider chat started at 2026-01-02 03:04:05\nSee:\n```\n#### no question\n# a heading\n```\n", "2026-01-02T03:04:05 2026-01-02T03:04:05Z: assistant See: ```; user no question; assistant # a heading ```"},
		"a mark, not whole": {"# aider chat started at 2026-01-02 03:04:05\n####no\n>no\n#  aider one started at 2026-01-02 03:04:05\n", "2026-01-02T03:04:05 2026-01-02T03:04:05Z: assistant ####no >no # aider one started at 2026-01-02 03:04:05"},
	} {
		var got []string
		for _, one := range inText(t, []byte(c.text)) {
			var said []string
			for _, e := range sessionOf(chat.Spot{}, one, []byte(c.text)[one.At:one.At+one.Len]).Entries {
				said = append(said, e.Said.Role.String()+" "+e.Said.Words)
			}
			began := time.Time{}
			if !one.started.IsZero() {
				_, offset := one.started.Zone() // it is a time of the place
				began = one.started.UTC().Add(time.Duration(offset) * time.Second)
			}
			got = append(got, one.part+" "+began.Format(time.RFC3339)+": "+strings.Join(said, "; "))
		}
		if is := strings.Join(got, " | "); is != c.want {
			t.Errorf("%s: it is\n%s\nwant\n%s", name, is, c.want)
		}
	}
}

// A chat that aider goes on with grows, and a new one comes.
func TestFollows(t *testing.T) {
	file := filepath.Join(t.TempDir(), fileName)
	write := func(text string) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("\n# aider chat started at 2026-01-02 03:04:05\n\n#### one  \n")
	s, err := Kind(nil).Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	changes, err := s.Features().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(storetest.Headers(t, s, "2026-01-02T03:04:05")); n != 1 {
		t.Fatalf("there are %d messages", n)
	}
	write("\nan answer\n\n# aider chat started at 2026-01-02 04:00:00\n\n#### two  \n")
	<-changes
	list := storetest.Headers(t, s, "2026-01-02T03:04:05")
	if len(list) != 2 || list[1].Title != "an answer" || !list[1].Head {
		t.Errorf("the chat is %+v", list)
	}
	if n := len(storetest.Sessions(t, s)); n != 2 {
		t.Errorf("there are %d chats", n)
	}
}

// A history that the option or the variable moved is one whatever it is called, if it begins as one:
// that one alone, also beside others. Where it lies in a folder that is searched, its name tells.
func TestMoved(t *testing.T) {
	dir := t.TempDir()
	const chat = "\n# aider chat started at 2026-01-02 03:04:05\n\n#### one  \n"
	for name, text := range map[string]string{"hist.md": chat, "notes.md": "how an # aider chat started at 2026\n", fileName: chat + "\nother\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	moved, kind := filepath.Join(dir, "hist.md"), Kind(nil).Kind
	places := kind.Places(store.Surroundings{Env: func(name string) string {
		return map[string]string{"AIDER_CHAT_HISTORY_FILE": moved}[name]
	}})
	if len(places) != 1 || places[0] != moved {
		t.Errorf("it is looked for in %q", places)
	}
	for name, is := range map[string]bool{"hist.md": true, "notes.md": false, fileName: true} {
		if _, ok, err := kind.Recognise(t.Context(), filepath.Join(dir, name)); ok != is || err != nil {
			t.Errorf("%s is a history: %t, %v", name, ok, err)
		}
	}
	s := storetest.OpenStore(t, kind, moved)
	if got, want := storetest.Draw(t, s, "2026-01-02T03:04:05"), "*0<-1 line-4 user input (1): one\n"; got != want {
		t.Errorf("it is\n%swant\n%s", got, want)
	}
	if n := len(storetest.Sessions(t, s)); n != 1 {
		t.Errorf("there are %d chats", n)
	}
	if list := storetest.Sessions(t, storetest.OpenStore(t, kind, filepath.Join(dir, "notes.md"))); len(list) != 0 {
		t.Errorf("notes are the chats %+v", list)
	}
}

// A chat in which nothing was said as yet is one without a message; a chat that is not there is
// none.
func TestChats_empty(t *testing.T) {
	file := filepath.Join(t.TempDir(), fileName)
	if err := os.WriteFile(file, []byte("# aider chat started at 2026-01-02 03:04:05\n#### one\n# aider chat started at 2026-01-02 04:00:00\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, file)
	for _, info := range storetest.Sessions(t, s) {
		if n := len(storetest.Headers(t, s, info.ID)); n != info.Snapshots {
			t.Errorf("the chat %s has %d messages, and the list says %d", info.ID, n, info.Snapshots)
		}
	}
	for id, want := range map[string]error{"2026-01-02T04:00:00": nil, "2026-01-02T05:00:00": model.ErrNoSession} {
		if _, err := s.Faults(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("of the chat %s: %v, want %v", id, err, want)
		}
	}
}

// lost returns a line with words that is in the states of no entry, "" for none.
func lost(t interface{ Fatal(...any) }, text []byte) string {
	var said bytes.Buffer
	for _, c := range inText(t, text) {
		part := text[c.At : c.At+c.Len]
		s := sessionOf(chat.Spot{}, c, part)
		for i := range s.Entries {
			span := s.Entries[i].Records[0]
			m := messageOf(text[span.At : span.At+span.Len])
			said.Write(m.AppendJSON(nil))
			if _, err := jsontape.Parse(m.AppendJSON(nil)); err != nil {
				return "the JSON of " + s.Entries[i].ID
			}
		}
	}
	for line := range bytes.Lines(text) {
		is, words := voiceOf(line)
		words = bytes.TrimSpace(words)
		if body := quoteText(words); is != none && len(words) > 0 && !bytes.Contains(said.Bytes(), body[1:len(body)-1]) {
			return string(line)
		}
	}
	return ""
}

func TestProperty_noMessageIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"", "# aider chat started at 2026-01-02 03:04:05", "# aider chat started at ", "####", "#### ", "> ", ">", "# a heading", "> Tokens: 1k sent, 2 received.", "Cost: $0.02 message, $0.03 session."}),
			rapid.StringMatching(`(#### |> |)[a-z]{1,8}( {2})?`),
		)).Draw(t, "lines")
		if line := lost(t, []byte(strings.Join(lines, "\n"))); line != "" {
			t.Fatalf("%q is nowhere", line)
		}
	})
}

func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile(fixture)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("# aider chat started at 2026-01-02 03:04:05\n#### a\r\n> b\n\xff\x00\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if line := lost(t, text); line != "" {
			t.Errorf("%q is nowhere", line)
		}
	})
}

// No way back is offered, and the reason is told.
func TestLacks(t *testing.T) {
	s, err := Kind(nil).Open(t.Context(), storetest.Copy(t, fixture))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo} {
		if store.Reason(s, op) == "" {
			t.Errorf("there is no reason against %s", op)
		}
	}
}

// The commit behind an edit tells what an answer did, and the one before it what the person did. The chat has the lines of
// aider 0.86, and git makes the commits.
func TestCopies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "there is no git")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(files map[string]string) string {
		t.Helper()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-qm", "m")
		return git("rev-parse", "--short=7", "HEAD")
	}
	git("init", "-q")
	commit(map[string]string{"a.py": "one\ntwo\n"})
	persons, answers := commit(map[string]string{"a.py": "one\ntwo\nmine\n"}), commit(map[string]string{"a.py": "ONE\ntwo\nmine\n", "b.py": "new\n"})
	text := "\n# aider chat started at 2026-05-10 05:21:19\n\n#### change it\n\nSo:\n\na.py\n```python\n<<<<<<< SEARCH\none\n=======\nONE\n>>>>>>> REPLACE\n```\n\n" +
		"> Commit " + persons + " chore: mine  \n> Applied edit to a.py  \n> Applied edit to b.py  \n> Commit " + answers + " feat: change it  \n> You can use /undo to undo and discard each aider commit.  \n\n" +
		"#### again\n\nThere.\n\n> Applied edit to a.py  \n> Commit 0123456 feat: of a rebase  \n"
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Kind(nil).Open(t.Context(), filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session := storetest.Sessions(t, s)[0].ID
	var got []string
	for c, err := range s.Features().FileCopies(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range c.Changes {
			got = append(got, fmt.Sprintf("%q %s %s %s", c.Snapshots, change.Kind, filepath.Base(change.Path), filechange.AppendHunks(nil, change.Hunks)))
		}
	}
	want := []string{"[\"line-5\"] changed a.py @@ -1,3 +1,3 @@\n-one\n+ONE\n two\n mine\n", "[\"line-5\"] created b.py @@ -0,0 +1 @@\n+new\n"}
	if !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
}
