package conversation

import (
	"bytes"
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Yield describes the result of a tool, as far as a row says it. [ReadYield] makes one.
type Yield struct {
	// First is the first line that says something, untrusted; "" without any.
	First string
	// Lines is how many lines there are, and Items how many values a list has that a tool gave; -1 of no list.
	Lines, Items int
	// Exit is the exit code of a command, "" where it is not known.
	Exit string
	// Failed says that the tool failed.
	Failed bool
	// Told is how much came of it, as the agent's own record says: "+3 −1", "1-80".
	Told string
}

// ReadYield reads the result of a tool: a JSON string, a list of blocks, or any other value.
func ReadYield(body []byte) Yield {
	y := Yield{Items: -1}
	y.addValue(body, 0)
	if rest, is := strings.CutPrefix(y.First, sdkFailure); is {
		_, why, _ := strings.Cut(rest, "Error: ")
		y.Failed, y.First = true, cmp.Or(why, y.First)
	}
	y.First = strings.Clone(Cut(y.First, maxAct)) // a part of a text holds the text
	return y
}

// sdkFailure begins the result that the OpenAI Agents SDK gives the model for a tool that failed.
const sdkFailure = "An error occurred while running the tool"

// addValue adds a value that stands at a depth in others.
func (y *Yield) addValue(value []byte, depth int) {
	const deepest = 4
	if value = bytes.TrimLeft(value, " \t\r\n"); len(value) == 0 || depth > deepest {
		return
	}
	switch value[0] {
	case '"':
		y.addText(value, depth)
	case '[':
		y.addList(value, depth)
	case '{':
		y.addObject(value, depth)
	case 'n': // null
	default:
		y.addLine(string(value[:min(len(value), maxValue)]))
	}
}

// addLine adds a line that says something.
func (y *Yield) addLine(line string) {
	y.Lines++
	y.First = cmp.Or(y.First, line)
}

// addList adds a list: of blocks, or of values that a tool gave.
func (y *Yield) addList(list []byte, depth int) {
	n, blocks := 0, false
	for m, err := range jsontape.Members(list) {
		if err != nil {
			return
		}
		if n++; n == 1 {
			blocks = isResultBlock(m.Value)
		}
		if blocks {
			y.addValue(m.Value, depth+1)
		}
	}
	if !blocks && (n > 0 || depth > 0) {
		y.Items = n
	}
}

// isResultBlock reports whether the first value of a list is a block, and no value of the tool's own.
func isResultBlock(value []byte) bool {
	a, _ := readArguments(value)
	if a["type"] != nil {
		return true
	}
	for key := range a {
		return len(a) == 1 && (key == "text" || key == "json" || key == "media" || fileKinds[key] != 0)
	}
	return false
}

// resultTexts are the members of an object that have the text of a result, the best first.
var resultTexts = []string{"text", "json", "output", "content", "stdout", "result", "error", "message", "stderr"}

// addObject adds the text of an object, or the object in a compact form.
func (y *Yield) addObject(object []byte, depth int) {
	if file := FileLabel(object[:min(len(object), maxEdit)]); file != "" {
		y.addLine(file)
		return
	}
	a, _ := readArguments(object)
	about, _ := readArguments(a["metadata"])
	if code := cmp.Or(string(a["exit_code"]), string(a["exitCode"]), string(about["exit_code"])); exitCode().MatchString(code) {
		y.Exit = cmp.Or(y.Exit, code)
	}
	for _, key := range resultTexts {
		if value := a[key]; len(value) > 0 && (value[0] == '"' && len(value) > len(`""`) || key == "json" || key == "content" && value[0] == '[') {
			y.addValue(value, depth+1)
			return
		}
	}
	if len(a) > 1 || len(a) == 1 && !isResultBlock(object) && a["stdout"] == nil {
		y.addLine(strings.TrimSpace(otherAct("", nil, object)[len("tool"):]))
	}
}

// addText adds a JSON string.
func (y *Yield) addText(quoted []byte, depth int) {
	head := headOf(quoted, maxHead)
	if begin := strings.TrimLeft(head, " \n\t"); begin != "" && strings.IndexByte("[{", begin[0]) >= 0 && len(quoted) < maxEdit {
		if text := []byte(jsontape.Unquote(quoted)); jsontape.Valid(text) {
			y.addValue(text, depth+1)
			return
		}
	}
	tail := head
	if len(quoted) > maxHead {
		_, tail, _ = strings.Cut(headOf(append([]byte{'"'}, quoted[len(quoted)-maxHead/4:]...), maxHead), "\n")
	}
	first, wrapped := y.readHead(head)
	last, behind := readTail(tail)
	if strings.HasPrefix(first, "Traceback (most recent call last)") {
		first = last
	}
	y.First = cmp.Or(y.First, first)
	y.Lines += max(countLines(quoted)-wrapped-behind, 0)
}

// wrapper fits the lines that agents put around the output of a tool. Sources: the recorded sessions below testdata.
var wrapper = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:Chunk ID: |Wall time: |Original token count: |Total output lines: |Output: ?$|Command: |Directory: |Error: \(none\)|Signal: |` +
		`Process Group PGID: |Background PIDs: |(?:Process )?Exit [Cc]ode:? -?\d|Process exited with code -?\d|</?[A-Za-z_-]+:?(?: [^>]*)?>$|` +
		`\((?:Bash completed with )?no output\)$|\[This command modified )`)
})

// exitLine finds the exit code in a line that an agent wrote.
var exitLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:Exit [Cc]ode:? |exited with (?:exit )?code )(-?\d+)`)
})

// exitCode fits the code in a member of its own.
var exitCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?\d{1,10}$`) })

// escapes fits the colours and the like in the output of a command.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]") })

// errorTags are the tags in which agents wrap a failure.
var errorTags = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "", "<error>", "", "</error>", "")

// plainLine returns a line of output without colours, tags of failures, and white space around it.
func plainLine(line string) string {
	if strings.IndexByte(line, '\x1b') >= 0 {
		line = escapes().ReplaceAllString(line, "")
	}
	if strings.IndexByte(line, '<') >= 0 {
		line = errorTags.Replace(line)
	}
	return strings.TrimSpace(line)
}

// saysNothing reports whether a line has no letter and no digit, or opens a block of code.
func saysNothing(line string) bool {
	return strings.HasPrefix(line, "```") || strings.IndexFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0
}

// readHead returns the first line of a text that says something, and how many lines before it an agent wrote.
func (y *Yield) readHead(text string) (first string, wrapped int) {
	blank, reminds := "", false
	for line := range strings.Lines(text) {
		if reminds = reminds || strings.HasPrefix(line, "<system-reminder>"); reminds {
			reminds = !strings.Contains(line, "</system-reminder>")
			wrapped++
			continue
		}
		line = plainLine(line)
		if rest, is := strings.CutPrefix(line, "Output: "); is {
			line = rest
		}
		switch {
		case wrapper().MatchString(line):
			wrapped++
			if m := exitLine().FindStringSubmatch(line); m != nil {
				y.Exit = cmp.Or(y.Exit, m[1])
			}
		case line == "":
			wrapped++
		case saysNothing(line):
			blank = cmp.Or(blank, line)
			if line[0] == '`' {
				wrapped++
			}
		default:
			return cutLine(line), wrapped
		}
	}
	return blank, wrapped
}

// cutLine begins a line without white space at its ends, with single spaces in it.
func cutLine(line string) string {
	if len(line) > MaxTitle && isOneLine(line[:MaxTitle]) { // no more of it can show
		return Cut(line, MaxTitle)
	}
	return Cut(OneLine(Cut(line, 2*MaxTitle)), MaxTitle)
}

// readTail returns the last line of a text that says something, and how many lines behind it an agent wrote.
func readTail(text string) (last string, wrapped int) {
	for lines := strings.TrimRight(text, " \n"); lines != ""; {
		i := strings.LastIndexByte(lines, '\n')
		line := plainLine(lines[i+1:])
		lines = lines[:max(i, 0)]
		switch {
		case i < 0:
			return line, wrapped // it may be the first
		case wrapper().MatchString(line):
			wrapped++
		case !saysNothing(line):
			return cutLine(line), wrapped
		}
	}
	return "", wrapped
}

// countLines counts the lines of a JSON string.
func countLines(quoted []byte) (n int) {
	if len(quoted) <= len(`""`) {
		return 0
	}
	text := quoted[1 : len(quoted)-1]
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return n + 1
		}
		c := text[i+1]
		if text = text[i+2:]; c == 'n' {
			if n++; len(text) == 0 {
				return n
			}
		}
	}
}

// Outcome describes the result of a call: "3 lines", "exit 1: TS2339 …", "+3 −1"; "" where a row has nothing to say.
func (is *Act) Outcome(y Yield) string {
	first := Cut(y.First, maxAct)
	switch {
	case y.Failed && y.Exit != "" && y.Exit != "0":
		return strings.TrimSuffix("exit "+y.Exit+": "+first, ": ")
	case y.Failed:
		return cmp.Or(first, "failed")
	case is.Verb == verbRead && is.Ranged:
		return ""
	case y.Told != "":
		return y.Told
	}
	switch is.Verb {
	case verbRead:
		if y.Lines > 1 {
			return model.Count(y.Lines, "line")
		}
		return first
	case verbEdit, verbWrite:
		return cmp.Or(is.Change, "ok")
	case verbPlan:
		return ""
	case verbCommand, verbSearch:
		switch {
		case y.Items >= 0:
			return model.Count(y.Items, "result")
		case y.Lines > 1 && is.Verb == verbSearch && foundWords(first) != "":
			return foundWords(first)
		case y.Lines > 1:
			return model.Count(y.Lines, "line")
		}
		return cmp.Or(first, "no output")
	}
	if y.Items >= 0 {
		return model.Count(y.Items, "result")
	}
	return cmp.Or(first, "ok")
}

// foundWords returns the number and the word behind it of a line that a search begins with: "3 files" of "Found 3 files:".
func foundWords(line string) string {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "Found" {
		return ""
	}
	if _, err := strconv.Atoi(words[1]); err != nil {
		return ""
	}
	return words[1] + " " + strings.TrimRight(words[2], ".,:;")
}
