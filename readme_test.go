package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/txtar"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/media/pg"
	"hindcast/store/storetest/program"
	"hindcast/tui/theme"
)

// What the pages of prose show is made by these tests, and what they claim is run
// by them. With -update they write what they would otherwise compare.

// page is a file of prose, by its path below the root.
type page string

const (
	frontPage    page = "README.md"
	commandPage  page = "cli/README.md"
	keyPage      page = "keymap/README.md"
	storePage    page = "store/README.md"
	agentPage    page = "agent/README.md"
	proofPage    page = "testdata/interop/README.md"
	buildingPage page = "ARCHITECTURE.md"
	documentPage page = "cli/schema/README.md"
	questionPage page = "query/README.md"
	kindPage     page = "store/kinds/README.md"
	mediaPage    page = "store/media/README.md"
	writePage    page = "store/engine/README.md"
	mapPage      page = "store/kinds/mapped/README.md"
	skeletonPage page = "store/kinds/skeleton/README.md"
)

// pages are all of them, and those in consoles show commands.
var (
	pages = []page{
		frontPage, commandPage, documentPage, questionPage, keyPage, storePage, kindPage, mediaPage, writePage, mapPage,
		agentPage, proofPage, buildingPage, skeletonPage,
	}
	consoles = []page{frontPage, commandPage, documentPage, questionPage, storePage, writePage, mapPage, agentPage}
)

func (p page) text(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(string(p)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hold holds a part of a page to what it should be.
func (p page) hold(t *testing.T, have, want string) {
	t.Helper()
	if have == want {
		return
	}
	if !updating() {
		t.Errorf("%s is stale; go test -run %s -update . rewrites it. It has\n%s\nand should have\n%s", p, t.Name(), have, want)
		return
	}
	text := strings.Replace(p.text(t), have, want, 1)
	if err := os.WriteFile(filepath.FromSlash(string(p)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// generated returns the marked part of a page of that name, with its marks.
func (p page) generated(t *testing.T, name string) string {
	t.Helper()
	text := p.text(t)
	begin := strings.Index(text, marked(name, "")[0])
	end := strings.Index(text, marked(name, "")[1])
	if begin < 0 || end < begin {
		t.Fatalf("%s has no part %q", p, name)
	}
	return text[begin : end+len(marked(name, "")[1])]
}

func marked(name, text string) [2]string {
	return [2]string{"<!-- " + name + ":begin -->\n" + text, "<!-- " + name + ":end -->"}
}

func (p page) holdGenerated(t *testing.T, name, text string) {
	t.Helper()
	parts := marked(name, text)
	p.hold(t, p.generated(t, name), parts[0]+parts[1])
}

// shell runs a line of shell in a directory, as a reader of the README would whose agent
// has its settings there, and returns what it wrote.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), program.Env(dir)...), "CLAUDE_CONFIG_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

// A front page is read in a minute, and the page of a room in a few. The list of documents is looked up.
const (
	longestFront = 200
	longestPage  = 250
)

func TestREADME_pagesAreShort(t *testing.T) {
	for _, p := range pages {
		most := longestPage
		switch p {
		case frontPage:
			most = longestFront
		case documentPage:
			continue
		}
		if n := strings.Count(p.text(t), "\n"); n > most {
			t.Errorf("%s has %d lines, of at most %d", p, n, most)
		}
	}
}

var (
	fenced = regexp.MustCompile("(?s)```.*?```")
	link   = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
)

// widest is how long a line of prose is at most.
const widest = 140

// Prose has lines that fit a pane: tables and what the program prints are as wide as they are.
func TestREADME_linesFit(t *testing.T) {
	long := func(text string) (lines []string) {
		for line := range strings.Lines(fenced.ReplaceAllString(text, "")) {
			if line = strings.TrimSpace(line); utf8.RuneCountInString(line) > widest && !strings.HasPrefix(line, "|") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if word := strings.Repeat("x", widest+1); len(long(word)) != 1 || long("| "+word+" |") != nil {
		t.Error("a long line is not told from a row of a table")
	}
	for _, p := range pages {
		for _, line := range long(p.text(t)) {
			t.Errorf("%s has a line of over %d characters: %.60q", p, widest, line)
		}
	}
}

// What a page links to or shows is in the repository.
func TestREADME_linksLeadSomewhere(t *testing.T) {
	for _, p := range pages {
		for _, target := range link.FindAllStringSubmatch(fenced.ReplaceAllString(p.text(t), ""), -1) {
			file := filepath.Join(filepath.Dir(filepath.FromSlash(string(p))), filepath.FromSlash(target[1]))
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}

// twelve are the keys that the front page names: those of the first hour.
var twelve = []struct {
	scope   keymap.Scope
	actions []keymap.Action
	what    string
}{
	{keymap.Timeline, []keymap.Action{keymap.MoveDown, keymap.MoveUp}, "down, up"},
	{keymap.Session, []keymap.Action{keymap.StepBack, keymap.StepForward}, "a step back, forward in time"},
	{keymap.Session, []keymap.Action{keymap.PrevBranch, keymap.NextBranch}, "to branches and their tips"},
	{keymap.Session, []keymap.Action{keymap.GoHead}, "to the head, and follow it"},
	{keymap.Session, []keymap.Action{keymap.NextTab}, "next tab: Diff, State, Messages, Context, Files, Resume, Info"},
	{keymap.Session, []keymap.Action{keymap.CompareHead}, "what differs from the head"},
	{keymap.Session, []keymap.Action{keymap.Mark, keymap.Compare}, "mark, and compare with the mark"},
	{keymap.Session, []keymap.Action{keymap.NextError}, "to the next error"},
	{keymap.Session, []keymap.Action{keymap.Search}, "search"},
	{keymap.Session, []keymap.Action{keymap.Restore}, "put the session back to here"},
	{keymap.Session, []keymap.Action{keymap.Undo}, "undo the last write"},
	{keymap.Session, []keymap.Action{keymap.Yank}, "copy: the id, a value, the call that goes on"},
}

func TestREADME_keysOfTheFirstHour(t *testing.T) {
	var table strings.Builder
	table.WriteString("| key | what it does |\n|---|---|\n")
	for _, row := range twelve {
		for i, a := range row.actions {
			keys := keymap.Default().Keys(row.scope, a)
			if len(keys) == 0 {
				t.Fatalf("no key leads to %s", a)
			}
			fmt.Fprintf(&table, "%s`%s`", [...]string{"| ", " "}[min(i, 1)], keymap.Label(keys[:1]))
		}
		fmt.Fprintf(&table, " | %s |\n", row.what)
	}
	frontPage.holdGenerated(t, "keys", table.String())
}

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

func TestREADME_bindingsCanBeRead(t *testing.T) {
	block := tomlBlock.FindStringSubmatch(keyPage.text(t))
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
	_, rest, _ := strings.Cut(commandPage.text(t), "`HINDCAST_THEME` overrules them")
	sentence, _, _ := strings.Cut(rest, ". ")
	var words []string
	for i, word := range strings.Split(sentence, "`") {
		if i%2 == 1 {
			words = append(words, word)
		}
	}
	if len(words) != 8 {
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
	commandPage.holdGenerated(t, "commands", table.String())
}

// The files for agents are printed from the help of the commands.
func TestREADME_agentsReadTheHelpOfTheProgram(t *testing.T) {
	for file, topic := range map[string]string{"SKILL.md": "agents", "llms.txt": "llms"} {
		printed := shell(t, t.TempDir(), "hindcast help "+topic)
		if updating() {
			if err := os.WriteFile(file, []byte(printed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != printed {
			t.Errorf("%s is stale; go test -run TestREADME_agentsReadTheHelpOfTheProgram -update . writes it again: %v", file, err)
		}
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// The test runs every line behind a "$ ", all of a page in one directory, and compares the output with the lines that
// follow. The directory has a store of Strands and two of Claude Code, whose files are old. That of the front page has a
// repository, too, and a session that wrote there.
func TestREADME_commandsPrintWhatItShows(t *testing.T) {
	for _, p := range consoles {
		t.Run(string(p), func(t *testing.T) { p.runConsoles(t) })
	}
}

func (p page) runConsoles(t *testing.T) {
	dir := t.TempDir()
	session := filepath.Join(dir, "sessions", "session_basic")
	if err := os.CopyFS(session, os.DirFS(filepath.Join("testdata", "strands", "python-file", "session_basic"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "projects"), os.DirFS(filepath.Join("testdata", "coding", "claude-code", "projects"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "edits"), os.DirFS(filepath.Join("testdata", "files", "claude-code"))); err != nil {
		t.Fatal(err)
	}
	if p == frontPage {
		writeBlamed(t, dir)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		long := time.Date(2026, time.January, 2, 0, 0, 0, 0, time.UTC)
		return errors.Join(err, os.Chtimes(path, long, long))
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := consoleBlock.FindAllStringSubmatch(p.text(t), -1)
	if len(blocks) == 0 {
		t.Fatal("it shows no command")
	}
	for _, block := range blocks {
		var want strings.Builder
		want.WriteString("```console\n")
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				want.WriteString(line)
				want.WriteString(shell(t, dir, command))
			}
		}
		want.WriteString("```")
		p.hold(t, block[0], want.String())
	}
}

// writeBlamed writes the repository of the script of blame, and its session.
func writeBlamed(t *testing.T, dir string) {
	t.Helper()
	script, err := txtar.ParseFile(filepath.Join("testdata", "script", "blame_file.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range script.Files {
		files[f.Name] = string(f.Data)
	}
	repo := filepath.Join(dir, "work")
	notes, session := filepath.Join(repo, "notes.txt"), filepath.Join(dir, "lines", "-work", "51111111-2222-4333-8444-555555555555.jsonl")
	write := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(session, strings.NewReplacer("WORKTREE", dir, `\u001b[2J `, "the ").Replace(files["session.jsonl"]))
	write(notes, files["one.txt"])
	for _, line := range []string{"git init -q", "git add notes.txt", "git -c user.name=A -c user.email=a@example.com commit -q -m one --date 2026-11-29T10:00:00Z"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-29T10:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	write(notes, files["two.txt"])
}

// How a person names things is what the program's own help says.
func TestREADME_namesAreExplainedAsInTheHelp(t *testing.T) {
	help := shell(t, t.TempDir(), "hindcast --help")
	_, rest, _ := strings.Cut(help, "\nSTORE is ")
	text, _, found := strings.Cut(rest, "\n\nUsage:")
	if !found {
		t.Fatalf("the help does not say what STORE is:\n%s", help)
	}
	commandPage.holdGenerated(t, "names", "```text\nSTORE is "+text+"\n```\n")
}

// The documents and their members are those of the schemas.
func TestREADME_documentsAreThoseOfTheSchemas(t *testing.T) {
	var names []string
	if err := json.Unmarshal([]byte(shell(t, t.TempDir(), "hindcast schema --json")), &names); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("cli", "schema", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		tape, err := jsontape.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		s := schemaNode{tape, 0}
		fmt.Fprintf(&text, "## %s\n\n", name)
		said := fmt.Sprintf("%s It is %s.", s.text("description"), s.kind())
		if title := s.text("title"); title != name {
			said = fmt.Sprintf("Of `%s`. %s", title, said)
		}
		fmt.Fprintln(&text, ansi.Wordwrap(said, widest, ""))
		var rows strings.Builder
		s.rows(&rows, "")
		if rows.Len() > 0 {
			fmt.Fprintf(&text, "\n| member | type | what it is |\n|---|---|---|\n%s", &rows)
		}
		text.WriteByte('\n')
	}
	documentPage.holdGenerated(t, "documents", text.String())
}

// schemaNode is a place in a JSON Schema.
type schemaNode struct {
	tape *jsontape.Tape
	n    jsontape.Node
}

func (s schemaNode) at(key string) schemaNode { return schemaNode{s.tape, s.tape.Find(s.n, key)} }

func (s schemaNode) text(key string) string {
	if at := s.at(key); at.n >= 0 {
		return at.tape.Text(at.n)
	}
	return ""
}

// kind returns the type in words.
func (s schemaNode) kind() string {
	article := func(noun string) string {
		if strings.ContainsRune("aeio", rune(noun[0])) {
			return "an " + noun
		}
		return "a " + noun
	}
	switch of := s.at("type"); {
	case s.at("items").n >= 0:
		return "an array, each element " + s.at("items").kind()
	case s.at("$ref").n >= 0:
		other := strings.TrimSuffix(s.text("$ref"), ".json")
		link := article("[" + other + "](#" + other + ")")
		if s.at("properties").n >= 0 {
			return link + " with more members"
		}
		return link
	case of.n >= 0 && s.tape.Kind(of.n) == jsontape.Array:
		return article(s.tape.Text(s.tape.At(of.n, 0))) + " or null"
	case of.n >= 0:
		return article(s.tape.Text(of.n))
	case s.at("const").n >= 0:
		return "always " + string(s.tape.Raw(s.at("const").n))
	case s.at("enum").n >= 0:
		return "a string"
	}
	return "any value"
}

// rows writes a row for each member, those inside it below.
func (s schemaNode) rows(w *strings.Builder, below string) {
	if items := s.at("items"); items.n >= 0 {
		items.rows(w, below+"[]")
		return
	}
	var required []string
	if list := s.at("required"); list.n >= 0 {
		for r := s.tape.First(list.n); r >= 0; r = s.tape.Next(r) {
			required = append(required, s.tape.Text(r))
		}
	}
	properties := s.at("properties")
	if properties.n < 0 {
		return
	}
	for n := s.tape.First(properties.n); n >= 0; n = s.tape.Next(n) {
		member, optional := schemaNode{s.tape, n}, "?"
		if slices.Contains(required, s.tape.Key(n)) {
			optional = ""
		}
		name := strings.TrimPrefix(below+"."+s.tape.Key(n), ".")
		words := member.text("description")
		if values := member.words(); values != "" {
			words += " One of " + values + "."
		}
		fmt.Fprintf(w, "| `%s`%s | %s | %s |\n", name, optional, member.kind(), words)
		member.rows(w, name)
	}
}

// words returns the words that a member may be, "" for any.
func (s schemaNode) words() string {
	of := s.at("enum")
	if of.n < 0 {
		if of = s.at("items"); of.n < 0 {
			return ""
		}
		return of.words()
	}
	var list []string
	for n := s.tape.First(of.n); n >= 0; n = s.tape.Next(n) {
		list = append(list, "`"+s.tape.Text(n)+"`")
	}
	return strings.Join(list, ", ")
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// The agent that the README shows is built as anybody would build it, in a
// module of its own, and talked to. Put back, it goes on from there.
func TestREADME_agentIsRecordedAndResumed(t *testing.T) {
	block := goBlock.FindStringSubmatch(agentPage.text(t))
	if block == nil {
		t.Fatal("no agent")
	}
	const local = "require hindcast v0.0.0\n\nreplace hindcast => ../hindcast\n"
	if !strings.Contains(agentPage.text(t), "```\n"+local+"```") {
		t.Fatalf("it does not say %s", local)
	}
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
	beside := t.TempDir()
	dir := filepath.Join(beside, "chat")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(ours, filepath.Join(beside, "hindcast"))); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"main.go": block[1],
		"go.mod":  strings.Replace(string(mod), "module hindcast", "module chat\n\n"+local, 1),
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
	if out := shell(t, dir, "hindcast log chat.db first"); !strings.Contains(out, "2 snapshots, 0 off the path, head #1") {
		t.Errorf("recorded was\n%s", out)
	}
	shell(t, dir, "hindcast restore chat.db first '#0' --yes")
	if out := shell(t, dir, "printf 'something else\n' | ./chat"); out != "that was message 3\n" {
		t.Errorf("put back, it answers %q", out)
	}
	if out := shell(t, dir, "hindcast log chat.db first"); !strings.Contains(out, "3 snapshots, 1 off the path, head #1") || !strings.Contains(out, "left by a restore to #0") {
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
	if out := shell(t, dir, "hindcast log chat.db first"); !strings.Contains(out, "4 snapshots, 3 off the path, head #0") {
		t.Errorf("after that this is recorded\n%s", out)
	}
}

var positions = regexp.MustCompile(`(?m)^  \S.*?  +(\d+) `)

// The number of positions is that of the matrix.
func TestREADME_positionsAreThoseOfTheMatrix(t *testing.T) {
	matrix, err := os.ReadFile(filepath.Join("testdata", "interop", "matrix.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, row := range positions.FindAllSubmatch(matrix, -1) {
		n, err := strconv.Atoi(string(row[1]))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if said := fmt.Sprintf("at each of %d positions", sum); !strings.Contains(frontPage.text(t), said) {
		t.Errorf("it does not say %q", said)
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The two commands for a fresh machine. That the first one opens a screen is
// held by the tests on a terminal; the second one is running just now.
func TestREADME_twoCommandsAreEnough(t *testing.T) {
	var commands []string
	for _, block := range shellBlock.FindAllStringSubmatch(frontPage.text(t), -1) {
		commands = append(commands, strings.TrimSpace(block[1]))
	}
	if want := []string{"go run .", "go test ./..."}; !slices.Equal(commands, want) {
		t.Errorf("commands %q, want %q", commands, want)
	}
}

// What is shipped is what the tests build and measure.
func TestREADME_saysHowTheProgramIsShipped(t *testing.T) {
	env, command := program.Release()
	line := strings.Join(append(env, command...), " ")
	line = strings.Replace(line, "-ldflags=-s -w", `-ldflags="-s -w"`, 1)
	if said := strings.Join(strings.Fields(frontPage.text(t)), " "); !strings.Contains(said, "`"+line+"`") { // it goes over two lines
		t.Errorf("it does not say %s", line)
	}
}

var storeRow = regexp.MustCompile("(?m)^\\| `([\\w-]+)` \\| .* \\| (yes|not yet|no|fork, undo|restore, undo|as the kind on a disk) \\| (yes|no) \\|$")

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
		"agent-framework":   filepath.Join("testdata", "agent-framework", "checkpoints"),
		"crewai":            filepath.Join("testdata", "crewai", "json"),
		"langgraph":         filepath.Join("testdata", "langgraph", "agent.db"),
		"deepagents":        filepath.Join("testdata", "langgraph", "deepagents.db"),
		"adk":               filepath.Join("testdata", "adk", "sqlite_service.db"),
		"openai-agents":     filepath.Join("testdata", "openaiagents", "sqlite_session.db"),
		"mastra":            filepath.Join("testdata", "mastra", "store.db"),
		"dbos":              filepath.Join("testdata", "dbos", "system.db"),
		"atif":              filepath.Join("testdata", "trajectory", "atif"),
		"trajectory":        filepath.Join("testdata", "trajectory", "agents"),
		"agno":              filepath.Join("testdata", "agno", "sessions.db"),
		"llamaindex":        filepath.Join("testdata", "llamaindex", "server.db"),
		"sqlite":            filepath.Join(dir, "hindcast-demo.db"),
		"jsonl":             filepath.Join(dir, "demo.jsonl"),
		"reflection":        server.URL,
		"aider":             filepath.Join("testdata", "coding", "aider", ".aider.chat.history.md"),
	}
	documented := map[string][]string{}
	for _, row := range storeRow.FindAllStringSubmatch(storePage.text(t), -1) {
		documented[row[1]] = row[2:]
	}
	for _, kind := range kinds.All(nil, "") {
		row, ok := documented[kind.Name]
		if !ok {
			t.Errorf("%s is not in the table", kind.Name)
			continue
		}
		delete(documented, kind.Name)
		if kind.At != nil || slices.Equal(kind.Schemes, pg.Schemes) {
			continue // they open stores of other kinds; their own tests restore some
		}
		address, known := addresses[kind.Name]
		if !known {
			address = filepath.Join("testdata", "coding", kind.Name)
		}
		s, err := kinds.All(nil, "").Open(t.Context(), address)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Kind() != kind.Name {
			t.Errorf("%s opens as %s", address, s.Kind())
		}
		for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo} {
			if can := store.Reason(s, op) == ""; can != (row[0] == "yes" || strings.Contains(row[0], string(op))) {
				t.Errorf("%s: the table says %s of %s, the store %q", kind.Name, row[0], op, store.Reason(s, op))
			}
		}
		if can := s.Features().Import != nil; can != (row[1] == "yes") {
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

// In a clone there is no store but those that tests read, so that the first
// command opens the demo.
func TestREADME_aCloneHasNoStoreOfItsOwn(t *testing.T) {
	ours, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	var found struct{ Stores []struct{ Path string } }
	if err := json.Unmarshal([]byte(shell(t, t.TempDir(), "hindcast doctor "+strconv.Quote(ours)+" --json 2>/dev/null")), &found); err != nil {
		t.Fatal(err)
	}
	for _, s := range found.Stores {
		t.Errorf("%s is taken for a store of the user", s.Path)
	}
}

// The page of stores names the places that are looked at.
func TestREADME_placesAreThoseOfTheKinds(t *testing.T) {
	_, rest, _ := strings.Cut(storePage.text(t), "Without an argument Hindcast looks")
	sentence, _, _ := strings.Cut(rest, "; then below")
	var named, real []string
	for i, word := range strings.Split(sentence, "`") {
		if i%2 == 1 {
			named = append(named, word)
		}
	}
	for _, k := range kinds.All(nil, "") {
		if k.Places != nil {
			real = append(real, k.Places(store.Surroundings{Home: "~", Temp: "$TMPDIR", Work: "."})...)
		}
	}
	real = slices.DeleteFunc(real, func(place string) bool { return place == filepath.Join(".strands", "session") }) // a part of .strands
	slices.Sort(named)
	slices.Sort(real)
	if real = slices.Compact(real); !slices.Equal(named, real) {
		t.Errorf("it names %q, and the kinds %q", named, real)
	}
}

// What the page shows is what the test found.
func TestREADME_matrixIsWhatTheSDKsDid(t *testing.T) {
	matrix, err := os.ReadFile(filepath.Join("testdata", "interop", "matrix.txt"))
	if err != nil {
		t.Fatal(err)
	}
	proofPage.holdGenerated(t, "interop", "```text\n"+string(matrix)+"```\n")
	var ofRows []string
	for _, sdk := range []string{"langgraph", "adk", "openai-agents", "crewai"} {
		matrix, err := os.ReadFile(filepath.Join("testdata", "interop", sdk, "matrix.txt"))
		if err != nil {
			t.Fatal(err)
		}
		ofRows = append(ofRows, string(matrix))
	}
	proofPage.holdGenerated(t, "rows", "```text\n"+strings.Join(ofRows, "\n")+"```\n")
}

// toolLine finds the lines of testdata/interop/agents/install that name a tool.
var toolLine = regexp.MustCompile(`(?m)^([a-z-]+) +(?:npm|pip) +(.+)$`)

// letters are those of a name, in lower case.
func letters(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, name))
}

// The table of coding agents has each test that runs one, with the tool that is installed for
// it, and what the test says of itself. Each tool has a test.
func TestREADME_agentsAreThoseThatTheTestsRun(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "interop", "agents", "install"))
	files, globErr := filepath.Glob(filepath.Join("store", "kinds", "*", "interop_test.go"))
	files = append(files, filepath.Join("mcp", "interop_test.go"))
	if err != nil || globErr != nil {
		t.Fatal(err, globErr)
	}
	tools := toolLine.FindAllStringSubmatch(string(script), -1)
	slices.SortStableFunc(tools, func(a, b []string) int { return len(b[1]) - len(a[1]) }) // openhands-cli before openhands
	tested := map[string]bool{}
	table := "| tool | test | what it holds |\n|---|---|---|\n"
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			test, is := d.(*ast.FuncDecl)
			if !is || !strings.HasPrefix(test.Name.Name, "TestInterop_") {
				continue
			}
			subject := letters(strings.TrimPrefix(test.Name.Name, "TestInterop_"))
			i := slices.IndexFunc(tools, func(tool []string) bool { return strings.HasPrefix(subject, letters(tool[1])) })
			if i < 0 {
				t.Errorf("%s in %s names no tool that is installed", test.Name.Name, name)
				continue
			}
			tested[tools[i][1]] = true
			table += fmt.Sprintf("| %s | `%s` | %s |\n", strings.ReplaceAll(tools[i][2], "==", "@"), test.Name.Name, strings.Join(strings.Fields(test.Doc.Text()), " "))
		}
	}
	for _, tool := range tools {
		if !tested[tool[1]] {
			t.Errorf("no test runs %s", tool[1])
		}
	}
	proofPage.holdGenerated(t, "agents", table)
}

// The table of adapters has each module below it, with the versions that its go.mod requires.
func TestREADME_adaptersAreTheModules(t *testing.T) {
	dir := filepath.Join("agent", "adapt")
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	modules, globErr := filepath.Glob(filepath.Join(dir, "*", "go.mod"))
	if err != nil || globErr != nil || len(modules) == 0 {
		t.Fatal(err, globErr, modules)
	}
	rows := regexp.MustCompile(`(?m)^\| \[([a-z]+)\].* ([0-9]+\.[0-9]+\.[0-9]+)\b.*\|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(modules) {
		t.Errorf("the table has %d rows with a version, and there are %d modules", len(rows), len(modules))
	}
	for _, row := range rows {
		required, err := os.ReadFile(filepath.Join(dir, row[1], "go.mod"))
		if err != nil || !strings.Contains(string(required), " v"+row[2]+"\n") {
			t.Errorf("%s is not tested with %s: %v", row[1], row[2], err)
		}
	}
}
