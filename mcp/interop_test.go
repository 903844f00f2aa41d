package mcp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/program"
)

// The protocol's own inspector lists what the server has, and calls it.
func TestInterop_mcpInspector(t *testing.T) {
	inspector := chattest.Program(t, "mcp-inspector", "node_modules", ".bin", "mcp-inspector")
	hindcast, dir := program.Path(t), t.TempDir()
	if out := chattest.Run(t, dir, dir, hindcast+" demo"); !strings.Contains(out, "21 snapshots") {
		t.Fatal(out)
	}
	for asked, want := range map[string]string{
		"tools/list": `"name": "search"`, "resources/templates/list": `"uriTemplate": "hindcast://{+session}/transcript"`,
		"tools/call --tool-name sessions":                         `\"id\":\"trip-planner\"`,
		"tools/call --tool-name search --tool-arg pattern=Lyon":   `trip-planner`,
		"resources/read --uri hindcast://trip-planner/transcript": `"mimeType": "text/markdown"`,
	} {
		if out := chattest.Run(t, dir, dir, inspector+" --cli "+hindcast+" mcp --method "+asked); !strings.Contains(out, want) {
			t.Errorf("%s lacks %s:\n%s", asked, want, out)
		}
	}
}

// Coding agents ask about their own sessions, by the words of their own configuration.
func TestInterop_claudeCodeAndCodexAsk(t *testing.T) {
	hindcast := program.Path(t)
	for kind, how := range map[string]struct{ first, asks, knows string }{
		"claude-code": {
			"claude -p 'the heron stands in the reeds'",
			`claude -p 'call: mcp__hindcast__search {"pattern":"heron"}' --mcp-config asked.json --allowedTools mcp__hindcast__search`,
			"mcp__hindcast__timeline", // it describes a tool when the model looks for it
		},
		"codex": {
			"codex exec --skip-git-repo-check 'the heron stands in the reeds'",
			`codex exec --skip-git-repo-check -c 'mcp_servers.hindcast.command="` + hindcast + `"' -c 'mcp_servers.hindcast.args=["mcp"]' 'call: search {"pattern":"heron"}'`,
			"at the snapshot that has it first",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := chattest.StartAgent(t, kind)
			config := `{"mcpServers":{"hindcast":{"command":"` + hindcast + `","args":["mcp"]}}}`
			if err := os.WriteFile(filepath.Join(a.Work, "asked.json"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			chattest.Run(t, a.Work, a.Home, how.first+" </dev/null", a.Env...)
			said := chattest.Run(t, a.Work, a.Home, how.asks+" </dev/null", a.Env...)
			known, answered := false, false
			var last []byte
			for _, r := range a.Requests(t) {
				last = r.Body
				known = known || bytes.Contains(r.Body, []byte(how.knows))
				answered = answered || bytes.Contains(r.Body, []byte(`\"text\":\"the heron stands in the reeds\"`))
			}
			if !known || !answered {
				t.Errorf("the model knows of the tools: %v, and its answer sent: %v\n%s\nthe last request ends with %s", known, answered, said, last[max(0, len(last)-2000):])
			}
		})
	}
}
