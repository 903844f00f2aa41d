package copilot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/storetest"
)

// Copilot CLI mends what is wrong between calls and results before it asks the model, as the verdicts say: it puts
// an error for a result that is missing or comes late, and leaves out results of no call, second ones and blank answers.
func TestInterop_copilotCLIPairs(t *testing.T) {
	const mended = "tool The execution of this tool, or a previous tool was interrupted."
	isResult := func(line string) bool { return strings.Contains(line, `"type":"tool.execution_complete"`) }
	for name, c := range map[string]struct {
		// change returns the lines that stand for one, and whether the result moves behind the second prompt.
		change func(line string) (lines []string, late bool)
		// tools are the results that are sent, "" for one that ran; answers how often the answer to them is.
		tools   []string
		answers int
	}{
		"whole": {func(l string) ([]string, bool) { return []string{l}, false }, []string{""}, 1},
		"no result": {func(l string) ([]string, bool) {
			if isResult(l) {
				return nil, false
			}
			return []string{l}, false
		}, []string{mended}, 1},
		"two results": {func(l string) ([]string, bool) {
			if isResult(l) {
				return []string{l, l}, false
			}
			return []string{l}, false
		}, []string{""}, 1},
		"the result of another call": {func(l string) ([]string, bool) {
			if isResult(l) {
				l = strings.Replace(l, `"toolCallId":"call`, `"toolCallId":"none`, 1)
			}
			return []string{l}, false
		}, []string{mended}, 1},
		"a late result":  {func(l string) ([]string, bool) { return []string{l}, isResult(l) }, []string{mended}, 1},
		"a blank answer": {func(l string) ([]string, bool) { return []string{strings.Replace(l, "done: ls -1", "", 1)}, false }, []string{""}, 0},
	} {
		run := newCLI(t)
		run.ask("copilot", "run: ls -1")
		s := open(t, filepath.Join(run.home, ".copilot"))
		session := storetest.Sessions(t, s)[0].ID
		run.ask("copilot --resume="+session, "second question")
		file := filepath.Join(run.home, ".copilot", "session-state", session, eventsFile)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var lines, held []string
		for line := range strings.Lines(string(data)) {
			made, late := c.change(line)
			if late {
				held = made
				continue
			}
			if lines = append(lines, made...); strings.Contains(line, `"type":"user.message"`) && strings.Contains(line, "second question") {
				lines = append(lines, held...)
			}
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		var tools []string
		answers := 0
		for _, said := range run.ask("copilot --resume="+session, "go on") {
			switch {
			case said == mended:
				tools = append(tools, mended)
			case strings.HasPrefix(said, "tool "):
				tools = append(tools, "")
			case said == "assistant done: ls -1":
				answers++
			}
		}
		if !slices.Equal(tools, c.tools) || answers != c.answers {
			t.Errorf("%s: the model is sent the results %q and %d answers to them, want %q and %d", name, tools, answers, c.tools, c.answers)
		}
	}
}
