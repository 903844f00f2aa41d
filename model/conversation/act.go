package conversation

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"hindcast/model"
	"hindcast/model/align"
	"hindcast/model/jsontape"
)

// A row tells a call by its main argument, and a result by its outcome:
//
//	$ npx tsc --noEmit             exit 1: TS2339 Property 'x' does not exist
//	✎ src/editor.ts                +3 −1
//	◱ src/editor.ts 1-80
//	→ task "find the bug"          12 calls
//	grep borderColor in src        3 lines
//	search_trains {from: "Paris"}  3 results
//
// [NewAct] makes the left part, and [Act.Outcome] the right one.

// The signs of acts. Package look spells them in ASCII.
const (
	signCommand, signRead, signEdit, signAgent = "$", "◱", "✎", "→"
)

const (
	maxAct   = 100      // bytes of what a call asks for
	maxPath  = 1 << 10  // bytes of a path whose end is told
	maxValue = 40       // bytes of one value in a compact input
	maxHead  = 4 << 10  // bytes of a text in which its first line is looked for
	maxEdit  = 64 << 10 // bytes of an edit whose equal lines are left out of the count
)

// Act describes the call of a tool. The zero value says nothing.
type Act struct {
	// Text says it on one line, and is untrusted.
	Text string
	// Verb is the work of the tool.
	Verb Verb
	// Change is how many lines an edit adds and removes, as its input says.
	Change string
	// Ranged says that the text has the lines of a read.
	Ranged bool
}

// Verb is the work of a tool.
type Verb uint8

const (
	verbOther Verb = iota
	verbCommand
	verbRead
	verbEdit
	verbWrite
	verbSearch
	verbFetch
	verbAgent
	verbPlan
	verbAsk
)

// IsCommand reports whether the tool runs a command.
func (v Verb) IsCommand() bool { return v == verbCommand }

// StartsAgent reports whether the tool starts a sub-agent.
func (v Verb) StartsAgent() bool { return v == verbAgent }

// Writes reports whether the tool edits or writes files.
func (v Verb) Writes() bool { return v == verbEdit || v == verbWrite }

// tools are the tools of coding agents by their names in lower case, without the signs between words. Sources: the
// recorded sessions below testdata, and the agents' own tools as of Claude Code 2.1, Codex 0.171, Gemini CLI 0.61,
// opencode 1.18, Copilot CLI 1.0, pi 0.74, OpenHands SDK 1.58 and crush 0.10; of Cursor its public transcripts, and
// the tools of vscode-copilot-chat, of Cline 3.0 and of Droid 0.225.
var tools = sync.OnceValue(func() map[string]Verb {
	return map[string]Verb{
		"bash": verbCommand, "shell": verbCommand, "localshell": verbCommand, "execcommand": verbCommand, "containerexec": verbCommand,
		"shellcommand": verbCommand, "runshellcommand": verbCommand, "executebash": verbCommand, "terminal": verbCommand, "powershell": verbCommand,
		"runcommand": verbCommand, "runcommands": verbCommand, "runinterminal": verbCommand, "runterminalcmd": verbCommand, "runterminalcommandv2": verbCommand, "executecommand": verbCommand, "execute": verbCommand,
		"read": verbRead, "readfile": verbRead, "view": verbRead, "readmanyfiles": verbRead, "readfilev2": verbRead, "notebookread": verbRead, "viewimage": verbRead,
		"edit": verbEdit, "editor": verbEdit, "editfilev2": verbEdit, "strreplace": verbEdit, "multiedit": verbEdit, "notebookedit": verbEdit, "replace": verbEdit, "applypatch": verbEdit, "patch": verbEdit,
		"replacestringinfile": verbEdit, "multireplacestringinfile": verbEdit, "inserteditintofile": verbEdit, "replacestring": verbEdit,
		"strreplaceeditor": verbEdit, "strreplacebasededittool": verbEdit, "fileeditor": verbEdit, "editfile": verbEdit, "searchreplace": verbEdit,
		"write": verbWrite, "writefile": verbWrite, "create": verbWrite, "createfile": verbWrite,
		"grep": verbSearch, "glob": verbSearch, "ls": verbSearch, "rg": verbSearch, "find": verbSearch, "searchfilecontent": verbSearch,
		"grepsearch": verbSearch, "listdirectory": verbSearch, "list": verbSearch, "toolsearch": verbSearch,
		"filesearch": verbSearch, "semanticsearch": verbSearch, "listdir": verbSearch, "codebasesearch": verbSearch, "globfilesearch": verbSearch,
		"fetchwebpage": verbFetch, "webfetch": verbFetch, "fetch": verbFetch, "fetchurl": verbFetch, "websearch": verbFetch, "googlewebsearch": verbFetch,
		"runsubagent": verbAgent, "task": verbAgent, "agent": verbAgent, "spawnagent": verbAgent,
		"managetodolist": verbPlan, "todowrite": verbPlan, "updateplan": verbPlan, "writetodos": verbPlan, "exitplanmode": verbPlan,
		"askuserquestion": verbAsk, "askuser": verbAsk, "question": verbAsk,
	}
})

// words are the words for tools that a row names in another way than the agent does.
var words = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"searchfilecontent": "grep", "grepsearch": "grep", "listdirectory": "ls", "list": "ls", "webfetch": "fetch", "websearch": "search",
		"filesearch": "find", "semanticsearch": "search", "fetchwebpage": "fetch", "runsubagent": "task", "managetodolist": "plan",
		"listdir": "ls", "codebasesearch": "search", "globfilesearch": "glob",
		"googlewebsearch": "search", "spawnagent": "task", "agent": "task", "todowrite": "plan", "updateplan": "plan", "writetodos": "plan",
		"exitplanmode": "plan", "askuserquestion": "ask", "askuser": "ask", "question": "ask",
	}
})

// plainName returns the name of a tool as the tables have it.
func plainName(tool string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, Cut(tool, maxName))
}

// telling are the arguments that say most, the best first. A tool that the tables do not have is told by one of
// them, and else by all it is given.
var telling = sync.OnceValue(func() []string {
	return slices.Concat(CommandNames[:2], PathNames, []string{
		"pattern", "regex", "query", "url", "description", "prompt", "message", "task", "question", "skill", "dir_path", "name", "script", "code",
	})
})

// arguments are the members of an input, by their keys.
type arguments map[string][]byte

// readArguments reads the input of a call, which may be a JSON object in a string.
func readArguments(input []byte) (a arguments, raw []byte) {
	if len(input) > 0 && input[0] == '"' {
		if text := []byte(jsontape.Unquote(input)); len(text) > 0 && text[0] == '{' && jsontape.Valid(text) {
			input = text
		}
	}
	a = arguments{}
	if len(input) == 0 || input[0] != '{' {
		return a, input
	}
	for m, err := range jsontape.Members(input) {
		if err != nil {
			break
		}
		a[string(m.Key[1:len(m.Key)-1])] = m.Value
	}
	return a, input
}

// words returns the first of some arguments that is there, on one line.
func (a arguments) words(keys ...string) string {
	for _, key := range keys {
		if text := lineOf(a[key], maxAct); text != "" {
			return text
		}
	}
	return ""
}

// path returns the path that a call is about, on one line. The end of a long one tells most.
func (a arguments) path() string {
	for _, key := range PathNames {
		if text := lineOf(a[key], maxPath); text != "" {
			return cutFront(text, maxAct)
		}
	}
	return cutFront(lineOf(a["dir_path"], maxPath), maxAct)
}

// cutFront returns the end of a path, of at most limit bytes, from the beginning of a name where that has room.
func cutFront(path string, limit int) string {
	if len(path) <= limit {
		return path
	}
	end := strings.ToValidUTF8(path[len(path)-limit:], "")
	if at := strings.IndexByte(end, '/'); at >= 0 && at+1 < len(end) {
		end = end[at:]
	}
	return "…" + end
}

// number returns a number, 0 for anything else.
func (a arguments) number(key string) int {
	n, _ := strconv.Atoi(string(a[key]))
	return n
}

// lineOf returns the beginning of a value on one line: of a string, or of the strings of a list.
func lineOf(value []byte, limit int) string {
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		return Cut(OneLine(headOf(value, 4*limit)), limit)
	case value[0] != '[':
		return ""
	}
	var list []string
	for m, err := range jsontape.Members(value) {
		if err != nil || len(list) > limit {
			break
		}
		if len(m.Value) > 0 && m.Value[0] == '"' {
			list = append(list, OneLine(headOf(m.Value, 4*limit)))
		}
	}
	if len(list) == 3 && list[1] == "-lc" || len(list) == 3 && list[1] == "-c" {
		list = list[2:] // a shell runs it
	}
	return Cut(strings.Join(list, " "), limit)
}

// headOf decodes the beginning of a JSON string, about limit bytes of it.
func headOf(quoted []byte, limit int) string {
	if len(quoted) > limit {
		quoted = append(bytes.Clone(quoted[:limit]), '"')
	}
	return strings.ToValidUTF8(jsontape.Unquote(quoted), "")
}

// NewAct describes the call of a tool by its name and its input, which is JSON.
func NewAct(tool string, input []byte) Act {
	name := plainName(tool)
	is := Act{Verb: tools()[name]}
	a, raw := readArguments(input)
	path := a.path()
	word := cmp.Or(words()[name], name)
	switch is.Verb {
	case verbCommand:
		if is.noteScript(a); is.Text == "" {
			is.Text = sign(signCommand, a.words("command", "cmd", "script", "input", "commands"))
		}
	case verbRead:
		is.noteRead(path, a.lines(name))
	case verbEdit, verbWrite:
		is.noteEdit(a, path, raw)
	case verbSearch:
		what := a.words("pattern", "query", "regex")
		if path = cmp.Or(path, a.words("include")); what != "" && path != "" {
			what += " in "
		}
		is.Text = sign(word, what+path)
	case verbFetch:
		is.Text = sign(word, a.words("url", "query", "prompt"))
	case verbAgent:
		if what := a.words("description", "task", "message", "prompt"); what != "" {
			is.Text = signAgent + " " + cmp.Or(a.words("subagent_type", "agent_type"), "task") + " " + strconv.Quote(what)
		}
	case verbPlan:
		is.Text = sign(word, a.plan())
	case verbAsk:
		is.Text = sign(word, a.question())
	}
	if is.Text == "" {
		is.Verb, is.Text = verbOther, otherAct(OneLine(Cut(tool, maxName)), a, raw)
	}
	is.Text = Cut(is.Text, maxAct+maxValue)
	return is
}

// sign puts a sign before the argument of a call; it returns "" without an argument.
func sign(sign, what string) string {
	if what == "" {
		return ""
	}
	return sign + " " + what
}

// otherAct describes a call by the argument that says most, or by the whole input in a compact form.
func otherAct(tool string, a arguments, raw []byte) string {
	tool = cmp.Or(tool, "tool")
	if what := a.words(telling()...); what != "" {
		return tool + " " + what
	}
	var list []string
	size := 0
	for m, err := range jsontape.Members(raw) {
		if err != nil || size > maxAct {
			break
		}
		text := compactValue(m.Value)
		if m.Key != nil {
			text = OneLine(headOf(m.Key, maxValue)) + ": " + text
		}
		list, size = append(list, text), size+len(text)
	}
	switch {
	case len(list) > 0 && raw[0] == '{':
		return tool + " {" + Cut(strings.Join(list, ", "), maxAct) + "}"
	case len(list) > 0:
		return tool + " [" + Cut(strings.Join(list, ", "), maxAct) + "]"
	case len(raw) > 0 && raw[0] == '"':
		return strings.TrimSpace(tool + " " + lineOf(raw, maxAct))
	}
	return tool
}

// compactValue returns the beginning of a value as it stands in a row.
func compactValue(value []byte) string {
	if len(value) > 0 && value[0] == '"' {
		return `"` + Cut(OneLine(headOf(value, 4*maxValue)), maxValue) + `"`
	}
	if bytes.HasPrefix(value, []byte(`{"$`)) {
		if data := jsontape.FindMember(value, `"$bytes"`); len(data) > 1 {
			return tellBytes(data, jsontape.FindMember(value, `"$type"`))
		}
	}
	return Cut(OneLine(string(value[:min(len(value), 2*maxValue)])), maxValue)
}

// tellBytes tells bytes, in base64, by their number, and by the encoding that is not read.
func tellBytes(quoted, encoding []byte) string {
	text := quoted[1 : len(quoted)-1]
	size := base64.StdEncoding.DecodedLen(len(text)) - (len(text) - len(bytes.TrimRight(text, "=")))
	told := string(model.AppendSize(nil, int64(size)))
	if encoding != nil {
		told += " of " + OneLine(headOf(encoding, maxValue))
	}
	return told
}

// Assignment tells a value by its name, on one line: `total 3`. Of a value that is null or nil it tells the name alone.
func Assignment(name string, value []byte) string {
	name = OneLine(Cut(name, maxName))
	if len(value) == 0 || string(value) == "null" {
		return name
	}
	return name + " " + compactValue(value)
}

// Assignments tells the members of an object, as [Assignment] does. It is "" for any other value.
func Assignments(object []byte) string {
	var list []string
	for m, err := range jsontape.Members(object) {
		if err != nil || m.Key == nil {
			break
		}
		list = append(list, Assignment(jsontape.Unquote(m.Key), m.Value))
	}
	return List(list, strings.Clone)
}

// noteRead describes a call that reads some lines of a file.
func (is *Act) noteRead(path, lines string) {
	is.Verb, is.Ranged = verbRead, lines != ""
	is.Text = strings.TrimSpace(sign(signRead, path) + " " + lines)
}

// fromZero are the tools that count the lines of an offset from 0.
var fromZero = []string{"readfile", "view"}

// lines returns the lines that a read asks for: "1-80", "from 40", or "" of all.
func (a arguments) lines(tool string) string {
	first, most := a.number("offset"), a.number("limit")
	if slices.Contains(fromZero, tool) && (first > 0 || most > 0) {
		first++
	}
	last := 0
	if first = max(first, min(most, 1)); most > 0 {
		last = first + most - 1
	}
	if n := a.number("start_line"); n > 0 {
		first, last = n, a.number("end_line")
	}
	var both [2]int
	if n, _ := fmt.Sscanf(string(a["view_range"]), "[%d,%d]", &both[0], &both[1]); n == 2 {
		first, last = both[0], both[1]
	}
	switch {
	case last > 0:
		return fmt.Sprintf("%d-%d", first, last)
	case first > 1:
		return fmt.Sprintf("from %d", first)
	}
	return ""
}

// plan describes a plan by how much of it is done, and by the step in progress; one in prose by its first words.
func (a arguments) plan() string {
	done, all, now := 0, 0, ""
	for _, key := range []string{"todos", "plan"} {
		list := a[key]
		if len(list) == 0 || list[0] != '[' {
			continue
		}
		for m, err := range jsontape.Members(list) {
			if err != nil {
				break
			}
			all++
			step, _ := readArguments(m.Value)
			switch what := step.words("content", "step", "description", "title"); step.words("status") {
			case "completed", "done":
				done++
			case "in_progress":
				now = cmp.Or(now, what)
			}
		}
	}
	switch {
	case all == 0:
		return strings.TrimLeft(a.words("plan"), "# ")
	case now == "":
		return fmt.Sprintf("%d of %d done", done, all)
	}
	return fmt.Sprintf("%d of %d: %s", done+1, all, now)
}

// question returns the first question that a call puts to the person, and how many there are where it is not alone.
func (a arguments) question() string {
	all, first := 0, ""
	if list := a["questions"]; len(list) > 0 && list[0] == '[' {
		for m, err := range jsontape.Members(list) {
			if err != nil {
				break
			}
			asked, _ := readArguments(m.Value)
			all++
			first = cmp.Or(first, asked.words("question", "header"))
		}
	}
	if all > 1 && first != "" {
		return fmt.Sprintf("%s (1 of %d)", first, all)
	}
	return cmp.Or(first, a.words("question", "message", "prompt"))
}

// PatchBegin begins a patch in the form of Codex.
const PatchBegin = "*** Begin Patch"

// noteScript describes a command that applies a patch.
func (is *Act) noteScript(a arguments) {
	for _, key := range []string{"command", "cmd"} {
		if value := a[key]; len(value) < maxEdit && bytes.Contains(value, []byte(PatchBegin)) {
			is.notePatch(value)
		}
	}
}

// noteEdit describes a call that changes files.
func (is *Act) noteEdit(a arguments, path string, raw []byte) {
	for _, patch := range [][]byte{a["input"], a["patch"], a["patchText"], raw} {
		if len(patch) > 0 && patch[0] == '"' && bytes.Contains(patch[:min(len(patch), maxHead)], []byte(PatchBegin)) {
			is.notePatch(patch)
			return
		}
	}
	switch a.words("command") {
	case "view":
		is.noteRead(path, a.lines(""))
		return
	case "create":
		is.Verb = verbWrite
	}
	is.Text = sign(signEdit, path)
	added, removed := a.countEdit()
	if list := a["edits"]; len(list) > 0 && list[0] == '[' {
		for m, err := range jsontape.Members(list) {
			if err != nil {
				break
			}
			one, _ := readArguments(m.Value)
			more, less := one.countEdit()
			added, removed = added+more, removed+less
		}
	}
	is.Change = Change(added, removed)
}

// countEdit counts the lines that a text in place of another one adds and removes.
func (a arguments) countEdit() (added, removed int) {
	var before, after []byte
	for _, key := range OldNames {
		before = append(before, a[key]...)
	}
	for _, key := range NewNames {
		after = append(after, a[key]...)
	}
	for _, key := range []string{"content", "file_text", "new_source"} {
		after = append(after, a[key]...)
	}
	if len(before)+len(after) > maxEdit {
		return countLines(after), countLines(before)
	}
	numbers := map[string]uint64{}
	x, y := linesOf(before, numbers), linesOf(after, numbers)
	kept := 0
	for _, partner := range new(align.Aligner).Align(x, y) {
		if partner != align.None {
			kept++
		}
	}
	return len(y) - kept, len(x) - kept
}

// linesOf returns the lines of a JSON string as numbers, and adds those of new ones to numbers.
func linesOf(quoted []byte, numbers map[string]uint64) (lines []uint64) {
	for line := range strings.Lines(jsontape.Unquote(quoted)) {
		line = strings.TrimSuffix(line, "\n")
		if _, known := numbers[line]; !known {
			numbers[line] = uint64(len(numbers))
		}
		lines = append(lines, numbers[line])
	}
	return lines
}

// notePatch describes a patch in the form of Codex, in a JSON string or in a list of them.
func (is *Act) notePatch(patch []byte) {
	var files []string
	added, removed := 0, 0
	text := string(patch)
	if patch[0] == '"' {
		text = jsontape.Unquote(patch)
	} else {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	_, text, _ = strings.Cut(text, PatchBegin)
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "*** End Patch"):
			text = ""
		case strings.HasPrefix(line, "*** "):
			for _, begin := range patchLines {
				if path, is := strings.CutPrefix(line, begin); is {
					files = append(files, OneLine(cutFront(path, maxAct)))
				}
			}
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
		if text == "" {
			break
		}
	}
	if len(files) == 0 {
		return
	}
	const most = 3
	if n := len(files); n > most {
		files = append(files[:most-1], strconv.Itoa(n-most+1)+" more")
	}
	is.Verb, is.Text, is.Change = verbEdit, sign(signEdit, Cut(strings.Join(files, ", "), maxAct+maxValue)), Change(added, removed)
}

// Change tells how many lines an edit added and removed: "+3 −1"; "" without any.
func Change(added, removed int) string {
	switch {
	case added == 0 && removed == 0:
		return ""
	case removed == 0:
		return fmt.Sprintf("+%d", added)
	case added == 0:
		return fmt.Sprintf("−%d", removed)
	}
	return fmt.Sprintf("+%d −%d", added, removed)
}

// NamesFile reports whether a title begins with a call that reads or edits a file, whose path follows.
func NamesFile(title string) bool {
	return strings.HasPrefix(title, signRead+" ") || strings.HasPrefix(title, signEdit+" ")
}

// TextIn returns the text of the act, with paths below a folder without that.
func (is *Act) TextIn(dir string) string {
	switch {
	case len(dir) < 2 || is.Verb == verbOther || is.Verb == verbAgent:
		return is.Text
	case is.Verb == verbCommand:
		return strings.Replace(is.Text, signCommand+" cd "+dir+" && ", signCommand+" ", 1)
	}
	return strings.ReplaceAll(is.Text, strings.TrimSuffix(dir, "/")+"/", "")
}
