package handover

import "testing"

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
