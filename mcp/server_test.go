package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hindcast/store/storetest"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/program"
)

// asked is a client of the program, which it started on a machine.
type asked struct {
	*sdk.ClientSession
	machine.Machine
}

// ask lays out a machine with some kinds of stores, and starts the program for its person.
func ask(t *testing.T, kinds []string, words ...string) *asked {
	t.Helper()
	dir := t.TempDir()
	a := &asked{Machine: machine.Machine{Home: filepath.Join(dir, "me"), Work: filepath.Join(dir, "me", "work")}}
	if err := machine.LaySome("../testdata", a.Machine, kinds); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(a.Work, 0o700); err != nil {
		t.Fatal(err)
	}
	a.connect(t, words...)
	return a
}

func (a *asked) connect(t *testing.T, words ...string) {
	t.Helper()
	cmd := exec.Command(program.Path(t), append([]string{"mcp"}, words...)...)
	cmd.Dir, cmd.Stderr = a.Work, os.Stderr
	cmd.Env = append(append(os.Environ(), program.Env(a.Home)...), "HINDCAST_CACHE="+t.TempDir())
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var err error
	if a.ClientSession, err = client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

// callTool calls a tool and returns the text of its answer, or of its error.
func (a *asked) callTool(ctx context.Context, t *testing.T, tool string, arguments any) (text string, failed bool) {
	t.Helper()
	r, err := a.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s %v: %d parts", tool, arguments, len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// callPages calls a tool page by page and returns the elements of all pages. List names the member that has them.
func (a *asked) callPages(t *testing.T, tool string, arguments map[string]any, list string) (all []any) {
	t.Helper()
	for pages := 0; ; pages++ {
		text, failed := a.callTool(t.Context(), t, tool, arguments)
		if failed || len(text) > 2*mostAnswered {
			t.Fatalf("%s %v: %d bytes: %.500s", tool, arguments, len(text), text)
		}
		next := 0
		if rest, more := strings.CutPrefix(text, "There is more: ask again with offset "); more {
			if _, err := fmt.Sscanf(rest, "%d.", &next); err != nil {
				t.Fatal(err)
			}
			_, text, _ = strings.Cut(text, "\n")
		}
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatalf("%s %v: %v in %.300s", tool, arguments, err, text)
		}
		if list != "" {
			document = document.(map[string]any)[list]
		}
		all = append(all, document.([]any)...)
		if next == 0 {
			return all
		}
		if next != len(all) {
			t.Fatalf("%s %v: page %d ends at %d, and the next one begins at %d", tool, arguments, pages, len(all), next)
		}
		arguments["offset"] = next
	}
}

// session7 is a session of Claude Code with a branch that was left.
const session7 = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"

// An agent asks each tool, with the names that the answers before gave it, and goes through all pages.
func TestServe_answers(t *testing.T) {
	a := ask(t, []string{"claude-code", "codex", "pi"})
	listed, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s is not said to read only, or not described", tool.Name)
		}
	}
	if len(listed.Tools) != len(tools) {
		t.Errorf("%d tools are listed, and there are %d", len(listed.Tools), len(tools))
	}
	sessions := a.callPages(t, "sessions", map[string]any{"limit": 7}, "")
	var printed []any
	cmd := exec.CommandContext(t.Context(), program.Path(t), "sessions", "--json")
	cmd.Dir, cmd.Env = a.Work, append(os.Environ(), program.Env(a.Home)...)
	if out, err := cmd.Output(); err != nil || json.Unmarshal(out, &printed) != nil {
		t.Fatal(err, string(out))
	}
	if fmt.Sprint(sessions) != fmt.Sprint(printed) || len(sessions) < 20 {
		t.Errorf("the pages have %d sessions, and the command %d", len(sessions), len(printed))
	}
	for _, element := range sessions {
		s := element.(map[string]any)
		if line := a.callPages(t, "timeline", map[string]any{"session": s["id"], "store": s["store"], "limit": 9}, ""); len(line) == 0 || s["snapshots"] != nil && float64(len(line)) != s["snapshots"] {
			t.Errorf("%s has %d snapshots in its timeline, and %v in the list", s["id"], len(line), s["snapshots"])
		}
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"search", map[string]any{"pattern": "first question", "fixed": true, "role": "user"}, `"text":"first question"`},
		{"search", map[string]any{"pattern": "question", "session": session7[:8], "left": true, "most": 1}, `"text":"third question"`},
		{"messages", map[string]any{"session": session7, "snapshot": "#1"}, `"text":"reply to: first question"`},
		{"context", map[string]any{"session": session7}, `"model":"claude-sonnet-4-5"`},
		{"history", map[string]any{"session": session7, "path": "/messages"}, `"name":"#0"`},
		{"blame", map[string]any{"session": session7, "snapshot": "#1", "path": "/messages/1/role"}, `"value":"assistant"`},
		{"find", map[string]any{"session": session7, "expression": ".messages | length > 3"}, `"name":"#3"`},
		{"diverge", map[string]any{"a": session7, "aSnapshot": "#3", "b": session7}, `"fork":{"name":"#1"`},
		{"stats", map[string]any{"by": "model"}, `"model":"claude-sonnet-4-5"`},
		{"stats", map[string]any{"session": session7}, `"inputTokens"`},
		{"doctor", map[string]any{"session": session7}, `[]`},
		{"plan", map[string]any{"do": "fork", "session": session7, "snapshot": "#1"}, "A person carries it out: hindcast fork " + a.Home + "/.claude/projects " + session7 + " '#1'\n"},
		{"plan", map[string]any{"do": "continue", "in": "codex", "session": session7, "snapshot": "#1"}, "hindcast continue '--in=codex' "},
	} {
		if text, failed := a.callTool(t.Context(), t, c.tool, c.arguments); failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %.700s", c.tool, c.arguments, text)
		}
	}
	for name, want := range map[string]string{"transcript": "> first question", "page": "<!DOCTYPE html>"} {
		r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hindcast://" + session7 + "/" + name})
		if err != nil || len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hostileValues returns values of each type that try to leave the home, to write or to take long.
func hostileValues(dir string) []any {
	return []any{
		"", "-", "--", "--yes", "--output=" + dir + "/taken", "-o" + dir + "/taken", "--to=" + dir, "/etc/passwd", dir, "../..", "~", "file:///etc/passwd", "http://127.0.0.1:1/",
		"postgres://127.0.0.1:1/x", "s3://bucket/key", "sqlite:" + dir + "/taken.db", "$(touch " + dir + "/taken)", "; touch " + dir + "/taken", "a\x00b", "\x1b]52;c;YQ==\x07",
		"head", "#0", "\xff\xfe", strings.Repeat("x", longest+1), strings.Repeat("(", 999), "(a*)*$", `input_filename`, `env`, `$ENV`, `debug`, `[range(1e9)]`,
		-1, 0, 1e12, 1.5, true, nil, []any{}, map[string]any{"x": 1},
	}
}

// Whatever an agent asks, nothing below the home or the project is written, and the server goes on.
func TestServe_writesNothing(t *testing.T) {
	a := ask(t, []string{"claude-code", "opencode", "strands"})
	untouched := storetest.Untouched(t, filepath.Dir(a.Home))
	valid := map[string]any{
		"session": session7, "pattern": "question", "path": "/messages", "expression": ".messages", "a": session7, "b": session7, "do": "fork", "file": a.Work + "/x.go", "first": 1,
	}
	calls, refused := 0, 0
	list := hostileValues(a.Work)
	for i := range tools {
		for _, of := range tools[i].allArguments() {
			for range len(list) / 5 { // each value comes to every fifth argument
				arguments := map[string]any{"limit": 1, of.name: list[calls%len(list)]}
				for _, other := range tools[i].allArguments() {
					if fits, ok := valid[other.name]; ok && other.required && other.name != of.name {
						arguments[other.name] = fits
					}
				}
				text, failed := a.callTool(t.Context(), t, tools[i].name, arguments)
				if calls++; failed {
					refused++
				}
				if strings.ContainsAny(text, "\x1b\x00") || strings.Contains(text, "root:") {
					t.Errorf("%s %v: %q", tools[i].name, arguments, text)
				}
			}
		}
	}
	for _, do := range []string{"restore", "fork", "continue"} {
		for _, session := range a.callPages(t, "sessions", map[string]any{}, "") {
			s := session.(map[string]any)
			arguments := map[string]any{"do": do, "session": s["id"], "store": s["store"], "snapshot": "head~1"}
			if do == "continue" {
				arguments["in"] = []string{"claude-code", "codex", "gemini-cli", "opencode"}[calls%4]
			}
			a.callTool(t.Context(), t, "plan", arguments)
			calls++
		}
	}
	untouched()
	if calls < 400 || refused < calls/3 {
		t.Errorf("%d calls were tried, and %d refused", calls, refused)
	}
}

// Secrets are hidden from an agent, unless the person says otherwise.
func TestServe_hidesSecrets(t *testing.T) {
	const secret = "ghp_" + "R7tq2LxVd9KfWb3ZsYp8NcHm5JgA1uEo6TyQ"
	a := ask(t, []string{"claude-code"})
	file := filepath.Join(a.Home, ".claude/projects/-home-demo", session7+".jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "first question", "first question "+secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	shows := func(a *asked) (list []string) {
		for tool, arguments := range map[string]map[string]any{
			"search": {"pattern": "first question"}, "messages": {"session": session7}, "history": {"session": session7, "path": "/messages/0"}, "sessions": {}, "timeline": {"session": session7},
		} {
			if text, failed := a.callTool(t.Context(), t, tool, arguments); failed {
				t.Error(tool, text)
			} else if strings.Contains(text, secret) {
				list = append(list, tool)
			}
		}
		r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hindcast://" + session7 + "/transcript"})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Contents[0].Text, secret) {
			list = append(list, "transcript")
		}
		slices.Sort(list)
		return list
	}
	if list := shows(a); list != nil {
		t.Errorf("the secret is shown by %q", list)
	}
	a.connect(t, "--with-secrets")
	if list := shows(a); len(list) != 6 {
		t.Errorf("with secrets it is shown by %q alone", list)
	}
}
