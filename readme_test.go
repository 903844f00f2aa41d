package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// What the README shows is made by these tests, and what it claims is run by
// them. With -update they write what they would otherwise compare.

const readmeFile = "README.md"

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hold holds a part of the README to what it should be.
func hold(t *testing.T, have, want string) {
	t.Helper()
	if have == want {
		return
	}
	if !updating() {
		t.Errorf("%s is stale; go test -run %s -update . rewrites it. It has\n%s\nand should have\n%s", readmeFile, t.Name(), have, want)
		return
	}
	text := strings.Replace(readme(t), have, want, 1)
	if err := os.WriteFile(readmeFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// generated gives the marked part of the README of that name, with its marks.
func generated(t *testing.T, name string) string {
	t.Helper()
	text := readme(t)
	begin := strings.Index(text, marked(name, "")[0])
	end := strings.Index(text, marked(name, "")[1])
	if begin < 0 || end < begin {
		t.Fatalf("%s has no part %q", readmeFile, name)
	}
	return text[begin : end+len(marked(name, "")[1])]
}

func marked(name, text string) [2]string {
	return [2]string{"<!-- " + name + ":begin -->\n" + text, "<!-- " + name + ":end -->"}
}

func holdGenerated(t *testing.T, name, text string) {
	t.Helper()
	parts := marked(name, text)
	hold(t, generated(t, name), parts[0]+parts[1])
}

// shell runs a line of shell in a directory, as a reader of the README would,
// and gives what it wrote.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), quietly(dir)...)
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

// The picture is what stands on a terminal of 100×30 when the demo is opened and
// the cursor is moved up to where everything was cancelled.
func TestREADME_screenIsTheProgram(t *testing.T) {
	what, err := sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := tui.New(t.Context(), tui.Options{
		Store: what.Store, Session: what.Session,
		Now:    func() time.Time { return time.Date(2026, time.May, 4, 12, 10, 0, 0, time.UTC) },
		Zone:   time.UTC,
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	p := screentest.Start(t, m, keymap.Default(), 100, 30)
	p.Press(keymap.Timeline, slices.Repeat([]keymap.Action{keymap.MoveUp}, 5)...)
	if !regexp.MustCompile(`(?m)▌.*18d2`).MatchString(p.Screen()) {
		t.Fatalf("the cursor is elsewhere:\n%s", p.Screen())
	}
	holdGenerated(t, "screen", "```text\n"+strings.TrimRight(p.Screen(), "\n")+"\n```\n")
}

func TestREADME_keysAreThoseOfTheKeymap(t *testing.T) {
	holdGenerated(t, "keys", keymap.Default().Markdown())
}

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

func TestREADME_bindingsCanBeRead(t *testing.T) {
	block := tomlBlock.FindStringSubmatch(readme(t))
	if block == nil {
		t.Fatal("no example of bindings")
	}
	m, err := keymap.Parse("keys.toml", block[1])
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Keys(keymap.Session, keymap.Restore); !slices.Equal(got, []string{"alt+r"}) {
		t.Errorf("restore is on %q", got)
	}
	if got := m.Keys(keymap.Session, keymap.Fork); len(got) > 0 {
		t.Errorf("fork is on %q", got)
	}
}

func TestREADME_themesAreKnown(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "`HINDCAST_THEME` overrules them")
	sentence, _, _ := strings.Cut(rest, ". ")
	var words []string
	for i, word := range strings.Split(sentence, "`") {
		if i%2 == 1 {
			words = append(words, word)
		}
	}
	if len(words) != 6 {
		t.Fatalf("it names %q", words)
	}
	for _, word := range words {
		if _, err := theme.Choose(word, func(string) string { return "" }); err != nil {
			t.Error(err)
		}
	}
}

var usageLine = regexp.MustCompile(`(?m)^Usage:\n  (.*?)(?: \[flags\])?$`)

func TestREADME_commandsAreThoseOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	var table strings.Builder
	use := usageLine.FindStringSubmatch(shell(t, dir, "hindcast --help"))
	if use == nil {
		t.Fatal("hindcast --help has no usage")
	}
	fmt.Fprintf(&table, "| command | what it does |\n|---|---|\n| `%s` | open the screen |\n", use[1])
	for line := range strings.Lines(shell(t, dir, "hindcast __complete '' 2>/dev/null")) {
		name, short, isCommand := strings.Cut(strings.TrimSpace(line), "\t")
		if !isCommand || name == "help" || name == "completion" {
			continue
		}
		if use = usageLine.FindStringSubmatch(shell(t, dir, "hindcast "+name+" --help")); use == nil {
			t.Fatalf("hindcast %s --help has no usage", name)
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", strings.ReplaceAll(use[1], "|", `\|`), short)
	}
	holdGenerated(t, "commands", table.String())
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// Every line behind a "$ " is run, all of them in one directory, and what
// follows it is what it wrote. In the directory is a store of Strands, in which
// nobody has written for long.
func TestREADME_commandsPrintWhatItShows(t *testing.T) {
	dir := t.TempDir()
	session := filepath.Join(dir, "sessions", "session_basic")
	if err := os.CopyFS(session, os.DirFS(filepath.Join("testdata", "strands", "python-file", "session_basic"))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(session, func(path string, _ fs.DirEntry, err error) error {
		long := time.Date(2026, time.January, 2, 0, 0, 0, 0, time.UTC)
		return errors.Join(err, os.Chtimes(path, long, long))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range consoleBlock.FindAllStringSubmatch(readme(t), -1) {
		var want strings.Builder
		want.WriteString("```console\n")
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				want.WriteString(line)
				want.WriteString(shell(t, dir, command))
			}
		}
		want.WriteString("```")
		hold(t, block[0], want.String())
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// The agent that the README shows is built as anybody would build it, in a
// module of its own, and talked to. Put back, it goes on from there.
func TestREADME_agentIsRecordedAndResumed(t *testing.T) {
	block := goBlock.FindStringSubmatch(readme(t))
	if block == nil {
		t.Fatal("no agent")
	}
	dir := t.TempDir()
	ours, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"main.go": block[1],
		"go.mod":  strings.Replace(string(mod), "module hindcast", "module chat\n\nrequire hindcast v0.0.0\n\nreplace hindcast => "+strconv.Quote(ours), 1),
		"go.sum":  string(sums),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "chat", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if out := shell(t, dir, "printf 'hello\nand again\n' | ./chat"); out != "that was message 1\nthat was message 3\n" {
		t.Errorf("it answers %q", out)
	}
	if out := shell(t, dir, "hindcast log chat.db first"); !strings.Contains(out, "2 snapshots, 0 orphaned, head #1") {
		t.Errorf("recorded was\n%s", out)
	}
	shell(t, dir, "hindcast restore chat.db first '#0' --yes")
	if out := shell(t, dir, "printf 'something else\n' | ./chat"); out != "that was message 3\n" {
		t.Errorf("put back, it answers %q", out)
	}
	if out := shell(t, dir, "hindcast log chat.db first"); !strings.Contains(out, "3 snapshots, 1 orphaned, head #1") || !strings.Contains(out, "left by a restore to #0") {
		t.Errorf("then this is recorded\n%s", out)
	}
	out := shell(t, dir, "hindcast show chat.db first head")
	if !strings.Contains(out, "hello") || !strings.Contains(out, "something else") || strings.Contains(out, "and again") {
		t.Errorf("in the end the state is %s", out)
	}

	// Put back while it runs, it is told so at once and overwrites nothing.
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	chat := exec.CommandContext(t.Context(), "./chat")
	chat.Dir, chat.Stderr = dir, said
	words, err := chat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	replies, err := chat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(words, "one more")
	if reply, err := bufio.NewReader(replies).ReadString('\n'); err != nil || reply != "that was message 5\n" {
		t.Errorf("it answers %q, %v", reply, err)
	}
	for !strings.Contains(shell(t, dir, "hindcast log chat.db first"), "4 snapshots") {
		// What it answered is recorded a moment later.
	}
	for out := ""; !strings.Contains(out, "first is at #0"); {
		if out = shell(t, dir, "hindcast restore chat.db first '#0' --yes"); !strings.Contains(out, "plan: ") {
			t.Fatal(out)
		}
	}
	fmt.Fprintln(words, "and on")
	err = chat.Wait()
	told, readErr := os.ReadFile(said.Name())
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || readErr != nil || !strings.Contains(string(told), `session "first" has moved on: its head is #0 `) {
		t.Errorf("it ends with %v and says %q, %v", err, told, readErr)
	}
	if out := shell(t, dir, "hindcast log chat.db first"); !strings.Contains(out, "4 snapshots, 3 orphaned, head #0") {
		t.Errorf("after that this is recorded\n%s", out)
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The two commands for a fresh machine. That the first one opens a screen is
// held by the tests on a terminal; the second one is running just now.
func TestREADME_twoCommandsAreEnough(t *testing.T) {
	var commands []string
	for _, block := range shellBlock.FindAllStringSubmatch(readme(t), -1) {
		commands = append(commands, strings.TrimSpace(block[1]))
	}
	if want := []string{"go run .", "go test ./..."}; !slices.Equal(commands, want) {
		t.Errorf("commands %q, want %q", commands, want)
	}
}

var storeRow = regexp.MustCompile("(?m)^\\| `([\\w-]+)` \\| .* \\| (yes|not yet|no) \\| (yes|no) \\|$")

func TestREADME_storesAreThoseOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	shell(t, dir, "hindcast demo . && hindcast export hindcast-demo.db -o demo.jsonl")
	server, err := demoServer(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	addresses := map[string]string{
		"strands":           filepath.Join("testdata", "strands", "python-file"),
		"strands-snapshots": filepath.Join("testdata", "strands", "python-snapshot"),
		"genkit":            filepath.Join("testdata", "genkit", "go-1.13.1"),
		"sqlite":            filepath.Join(dir, "hindcast-demo.db"),
		"jsonl":             filepath.Join(dir, "demo.jsonl"),
		"reflection":        server.URL,
	}
	documented := map[string][]string{}
	for _, row := range storeRow.FindAllStringSubmatch(readme(t), -1) {
		documented[row[1]] = row[2:]
	}
	for _, kind := range app().Kinds {
		row, ok := documented[kind.Name]
		if !ok {
			t.Errorf("%s is not in the table", kind.Name)
			continue
		}
		delete(documented, kind.Name)
		s, err := app().Kinds.Open(t.Context(), addresses[kind.Name])
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Kind() != kind.Name {
			t.Errorf("%s opens as %s", addresses[kind.Name], s.Kind())
		}
		for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo} {
			if can := store.Reason(s, op) == ""; can != (row[0] == "yes") {
				t.Errorf("%s: the table says %s of %s, the store %q", kind.Name, row[0], op, store.Reason(s, op))
			}
		}
		if _, can := s.(store.Importer); can != (row[1] == "yes") {
			t.Errorf("%s: the table says %s of import, the store %v", kind.Name, row[1], can)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for name := range documented {
		t.Errorf("%s is in the table but not in the program", name)
	}
}

var (
	documentRow = regexp.MustCompile("(?m)^\\| `([a-z]+)(?: (--[a-z-]+|DIR))?` \\| (.*) \\|$")
	braces      = regexp.MustCompile(`\{([^}]*)\}`)
)

// The members that the README names are there, in every element where they
// must be, and of those that it lists as the whole no other is.
func TestREADME_documentsHaveTheFieldsItNames(t *testing.T) {
	dir := t.TempDir()
	shell(t, dir, "hindcast demo && hindcast restore hindcast-demo.db trip-planner '#10' -y")
	if err := os.WriteFile(filepath.Join(dir, "damaged.jsonl"), []byte(`{"id":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","parentId":"no","sessionId":"s","index":1,"turnIndex":0,"event":0,"state":{}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{
		"sessions":          "sessions hindcast-demo.db",
		"log":               "log hindcast-demo.db trip-planner",
		"show":              "show hindcast-demo.db trip-planner head",
		"diff":              "diff hindcast-demo.db trip-planner '#3'",
		"checkpoint":        "checkpoint hindcast-demo.db packing-list head",
		"restore --dry-run": "restore hindcast-demo.db trip-planner '#5' --dry-run",
		"restore --yes":     "restore hindcast-demo.db trip-planner '#5' --yes",
		"journal":           "journal hindcast-demo.db",
		"doctor":            "doctor damaged.jsonl",
		"doctor DIR":        "doctor .",
	}
	for _, row := range documentRow.FindAllStringSubmatch(readme(t), -1) {
		name := row[1]
		if row[2] != "" {
			name += " " + row[2]
		}
		line, ok := lines[name]
		if !ok {
			continue // a row of another table
		}
		delete(lines, name)
		out := shell(t, dir, "hindcast "+line+" --json")
		have := map[string]bool{}
		for _, element := range elements(t, out) {
			for member := range element {
				have[member] = true
			}
		}
		var named []string
		for _, list := range braces.FindAllStringSubmatch(row[3], -1) {
			named = append(named, strings.Split(list[1], ", ")...)
		}
		for _, member := range named {
			if !have[member] {
				t.Errorf("hindcast %s --json has no %q: %q", line, member, slices.Sorted(maps.Keys(have)))
			}
		}
		if name == "sessions" && len(have) != len(named) {
			t.Errorf("hindcast %s --json has more than %q: %q", line, named, slices.Sorted(maps.Keys(have)))
		}
	}
	for name := range lines {
		t.Errorf("%s is not in the table", name)
	}
}

// elements gives the objects of a document: those of an array, or the one.
func elements(t *testing.T, document string) []map[string]json.RawMessage {
	t.Helper()
	var list []map[string]json.RawMessage
	text := bytes.TrimSpace([]byte(document))
	if !bytes.HasPrefix(text, []byte("[")) {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	return list
}
