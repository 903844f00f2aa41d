// Package machine lays stores that real tools wrote out as each tool keeps its own: the machine of a person who works
// with all of them.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/store"
)

// counted are stores of the machine: what lies below testdata, and where its tool keeps it. A place that begins
// with ~ is below the home of the person, any other one below the folder of a project.
//
// The demo that Hindcast writes itself, a store in SQLite, is not among them: `hindcast demo` makes one. Pages have the
// sums of these stores, so that of a new kind is one of later.
var counted = []Layout{
	{"claude-code", "coding/claude-code/projects", "~/.claude/projects"},
	{"codex", "coding/codex/sessions", "~/.codex/sessions"},
	{"copilot-cli", "coding/copilot-cli", "~/.copilot/session-state"},
	{"gemini-cli", "coding/gemini-cli", "~/.gemini/tmp"},
	{"opencode", "coding/opencode/opencode.db", "~/.local/share/opencode/opencode.db"},
	{"openhands", "coding/openhands", "~/.openhands/conversations"},
	{"pi", "coding/pi", "~/.pi/agent/sessions"},
	{"qwen", "coding/qwen/projects", "~/.qwen/projects"},
	{"kimi", "coding/kimi/sessions", "~/.kimi-code/sessions"},
	{"strands", "strands/python-file", "~/.strands/sessions"},
	{"crush", "coding/crush", ".crush"},
	{"cursor", "coding/cursor", "~/.config/Cursor/User"},
	{"vscode-chat", "coding/vscode-chat", "~/.config/Code/User"},
	{"aider", "coding/aider/.aider.chat.history.md", ".aider.chat.history.md"},
	{"strands-snapshots", "strands/python-snapshot", "saved"},
	{"genkit", "genkit/go-1.13.1", ".snapshots"},
	{"crewai", "crewai/json", ".checkpoints"},
	{"adk", "adk/sqlite_service.db", ".adk/session.db"},
	{"langgraph", "langgraph/agent.db", "checkpoints.sqlite"},
	{"openai-agents", "openaiagents/sqlite_session.db", "conversations.db"},
	{"agent-framework", "agent-framework/checkpoints", "workflows"},
	{"mastra", "mastra/store.db", "mastra.db"},
	{"llamaindex", "llamaindex/server.db", "server.db"},
	{"agno", "agno/sessions.db", "agno.db"},
	{"dbos", "dbos/system.db", "workflows.sqlite"},
	{"atif", "trajectory/atif", "jobs"},
	{"trajectory", "trajectory/agents", "runs"},
	{"jsonl", "inputs/redact-tool-schema.jsonl", "exported.jsonl"},
}

// later are the stores of kinds that came since, as above.
var later = []Layout{
	{"cline", "coding/cline", "~/.cline/data/sessions"},
	{"droid", "coding/droid", "~/.factory/sessions"},
	{"iflow", "coding/iflow", "~/.iflow/projects"},
	{"kimi-cli", "coding/kimi-cli", "~/.kimi/sessions"},
	{"deepagents", "langgraph/deepagents.db", "~/.deepagents/.state/sessions.db"},
}

// Later returns the stores of the machine that no page counts, in no order.
func Later() []Layout { return slices.Clone(later) }

// Layout is a store of a machine.
type Layout struct {
	// Kind is its kind, and From its path below testdata, with slashes.
	Kind, From string
	to         string
}

// Stores returns the stores of the machine with one of every kind, in no order.
func Stores() []Layout { return slices.Concat(counted, later) }

// Machine is where a machine was laid out.
type Machine struct {
	// Home is the home of the person, and Work the folder of the project.
	Home, Work string
}

// Kinds are the kinds of the stores, in no order.
func Kinds() (names []string) {
	for _, s := range Stores() {
		names = append(names, s.Kind)
	}
	return names
}

// Surroundings returns what the kinds are told of the machine.
func (m Machine) Surroundings() store.Surroundings {
	return store.Surroundings{Home: m.Home, Work: m.Work, Env: func(string) string { return "" }}
}

// Lay copies the stores of a folder testdata into a machine whose folders it makes. Files keep their times.
func Lay(testdata string, m Machine) error { return LaySome(testdata, m, Kinds()) }

// LayCounted copies the stores that do not change with a new kind as Lay does.
func LayCounted(testdata string, m Machine) error {
	var kinds []string
	for _, s := range counted {
		kinds = append(kinds, s.Kind)
	}
	return LaySome(testdata, m, kinds)
}

// LaySome copies the stores of some kinds as Lay does.
func LaySome(testdata string, m Machine, kinds []string) error {
	for _, s := range Stores() {
		if !slices.Contains(kinds, s.Kind) {
			continue
		}
		to := filepath.Join(m.Work, filepath.FromSlash(s.to))
		if below, ok := strings.CutPrefix(s.to, "~"); ok {
			to = filepath.Join(m.Home, filepath.FromSlash(below))
		}
		if err := copyAll(filepath.Join(testdata, filepath.FromSlash(s.From)), to); err != nil {
			return fmt.Errorf("lay out %s: %w", s.Kind, err)
		}
	}
	return nil
}

// copyAll copies a file or a folder.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, path.Clean(rel))
		if e.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, data, 0o600), os.Chtimes(target, time.Time{}, info.ModTime()))
	})
}
