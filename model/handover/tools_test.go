package handover

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

func TestToolPair(t *testing.T) {
	for _, c := range []struct{ from, to, tool, input, wantTool, want string }{
		{"claude-code", "codex", "Bash", `{"command":"ls -1","description":"list","timeout":5000}`, "exec_command", `{"cmd":"ls -1"}`},
		{"codex", "claude-code", "shell", `{"command":["bash","-lc","ls -1 | wc -l"],"timeout_ms":100}`, "Bash", `{"command":"ls -1 | wc -l"}`},
		{"codex", "pi", "exec_command", `{"cmd":"ls","workdir":"/home/demo"}`, "bash", `{"command":"ls"}`},
		{"codex", "pi", "exec_command", `{"cmd":"ls","workdir":"/tmp/it's"}`, "bash", `{"command":"cd '/tmp/it'\\''s' \u0026\u0026 ls"}`},
		{"codex", "opencode", "exec_command", `{"cmd":"ls","workdir":"/tmp"}`, "bash", `{"command":"ls","workdir":"/tmp"}`},
		{"claude-code", "pi", "Read", `{"file_path":"/a","offset":10,"limit":5}`, "read", `{"limit":5,"offset":10,"path":"/a"}`},
		{"claude-code", "copilot-cli", "Read", `{"file_path":"/a","offset":10,"limit":5}`, "view", `{"path":"/a","view_range":[10,14]}`},
		{"claude-code", "copilot-cli", "Read", `{"file_path":"/a","offset":10}`, "view", `{"path":"/a","view_range":[10,-1]}`},
		{"copilot-cli", "claude-code", "view", `{"path":"/a","view_range":[10,-1]}`, "Read", `{"file_path":"/a","offset":10}`},
		{"copilot-cli", "gemini-cli", "view", `{"path":"/a","view_range":[1,5]}`, "read_file", `{"end_line":5,"file_path":"/a"}`},
		{"claude-code", "qwen", "Read", `{"file_path":"/a","offset":10,"limit":5}`, "read_file", `{"file_path":"/a","limit":5,"offset":9}`},
		{"qwen", "gemini-cli", "read_file", `{"file_path":"/a","offset":0,"limit":5}`, "read_file", `{"end_line":5,"file_path":"/a"}`},
		{"gemini-cli", "claude-code", "read_file", `{"absolute_path":"/a"}`, "Read", `{"file_path":"/a"}`},
		{"claude-code", "opencode", "Edit", `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}`, "edit", `{"filePath":"/a","newString":"y","oldString":"x","replaceAll":true}`},
		{"claude-code", "pi", "Edit", `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":false}`, "edit", `{"newText":"y","oldText":"x","path":"/a"}`},
		{"opencode", "copilot-cli", "write", `{"filePath":"/a","content":"x"}`, "create", `{"file_text":"x","path":"/a"}`},
		{"gemini-cli", "qwen", "grep_search", `{"pattern":"x","dir_path":"d","include_pattern":"*.go"}`, "grep_search", `{"glob":"*.go","path":"d","pattern":"x"}`},
		// No place for an argument, no tool of the work, no row of the agent: as it is.
		{"claude-code", "pi", "Edit", `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}`, "Edit", `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}`},
		{"claude-code", "codex", "Read", `{"file_path":"/a"}`, "Read", `{"file_path":"/a"}`},
		{"claude-code", "pi", "Grep", `{"pattern":"x","output_mode":"count"}`, "Grep", `{"pattern":"x","output_mode":"count"}`},
		{"claude-code", "pi", "Read", `{"file_path":"/a","offset":-1}`, "Read", `{"file_path":"/a","offset":-1}`},
		{"copilot-cli", "pi", "view", `{"path":"/a","view_range":["x"]}`, "view", `{"path":"/a","view_range":["x"]}`},
		{"langgraph", "codex", "Bash", `{"command":"ls"}`, "Bash", `{"command":"ls"}`},
		{"codex", "codex", "shell", `{"command":["ls"]}`, "shell", `{"command":["ls"]}`},
		{"langgraph", "codex", "my.tool/ä", `{}`, "my_tool___", `{}`},
		{"langgraph", "codex", "", `{}`, "tool", `{}`},
	} {
		p := pairTools(c.from, c.to, "/home/demo")
		tool, input := p.convert(c.tool, []byte(c.input))
		if tool != c.wantTool || string(input) != c.want {
			t.Errorf("%s of %s in %s: %s %s, want %s %s", c.tool, c.from, c.to, tool, input, c.wantTool, c.want)
		}
	}
}

// In each direction a call of each tool becomes one of the first tool of its work, or stays where the agent has none; on the way
// back nothing of it is lost.
func TestToolPair_eachDirection(t *testing.T) {
	values := map[string]json.RawMessage{"command": []byte(`"ls"`), "path": []byte(`"/a"`), "text": []byte(`"x"`), "old": []byte(`"x"`), "new": []byte(`"y"`), "pattern": []byte(`"z"`)}
	needs := map[string]string{"run": "command", "read": "path", "write": "path text", "edit": "path old new", "search": "pattern", "find": "pattern", "list": "path"}
	firstOf := func(tools []tool, work string) string {
		for _, is := range tools {
			if is.work == work {
				return is.name
			}
		}
		return ""
	}
	tried := 0
	for from, tools := range allTools() {
		for _, is := range tools {
			means, given := map[string]json.RawMessage{}, map[string]json.RawMessage{}
			for argument, meaning := range is.arguments {
				if slices.Contains(strings.Fields(needs[is.work]), meaning) {
					means[meaning], given[argument] = values[meaning], values[meaning]
				}
			}
			if len(means) != len(strings.Fields(needs[is.work])) {
				t.Errorf("%s of %s takes %v, and its work needs %s", is.name, from, is.arguments, needs[is.work])
			}
			input := jsontape.EncodePlain(given)
			for to, others := range allTools() {
				tried++
				there, back := pairTools(from, to, "/home/demo"), pairTools(to, from, "/home/demo")
				name, converted := there.convert(is.name, input)
				want := firstOf(others, is.work)
				if from == to || want == "" {
					if name != is.name || string(converted) != string(input) {
						t.Errorf("%s of %s becomes %s %s in %s", is.name, from, name, converted, to)
					}
					continue
				}
				again, returned := back.convert(name, converted)
				if name != want || again != firstOf(tools, is.work) {
					t.Errorf("%s of %s is %s in %s, want %s, and %s on the way back", is.name, from, name, to, want, again)
				}
				read := false
				for _, first := range tools {
					if got, ok := first.readInput(returned); ok && first.name == again && !read {
						read = maps.EqualFunc(got, means, func(a, b json.RawMessage) bool { return string(a) == string(b) })
					}
				}
				if !read {
					t.Errorf("%s %s of %s comes back from %s as %s", is.name, input, from, to, returned)
				}
			}
		}
	}
	if tried < 250 {
		t.Errorf("%d directions were tried", tried)
	}
}
