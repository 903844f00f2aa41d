package tui_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/store/kinds"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/theme"
)

// recordedSession returns options to open a session of a store below testdata.
func recordedSession(t *testing.T, address, session string) tui.Options {
	t.Helper()
	s, err := kinds.All((*files.Cache)(nil), "").Open(t.Context(), filepath.Join("..", "testdata", filepath.FromSlash(address)))
	o := steady(t, s, err)
	o.Session = session
	return o
}

// longestSession returns the session with the most snapshots of a store below testdata.
func longestSession(t *testing.T, address string) (longest string) {
	t.Helper()
	s, err := kinds.All((*files.Cache)(nil), "").Open(t.Context(), filepath.Join("..", "testdata", filepath.FromSlash(address)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	most := 0
	for _, info := range storetest.Sessions(t, s) {
		if n := len(storetest.Headers(t, s, info.ID)); n > most {
			longest, most = info.ID, n
		}
	}
	return longest
}

// The three questions to a long session take one key or two.
func TestKeys_leadThereInTwo(t *testing.T) {
	t.Parallel()
	const claude = "coding/claude-code/projects"
	for _, c := range []struct {
		name, address, session string
		keys                   []keymap.Action
		want                   []string
	}{
		{"to the prompt before", claude, "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", []keymap.Action{keymap.PrevPrompt}, []string{"▌ ▾   12 user"}},
		{"and to the one before that", claude, "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", []keymap.Action{keymap.PrevPrompt, keymap.PrevPrompt}, []string{"▌ ▾   10 user"}},
		{"to the command that failed, and its output", "strands/python-file", "basic", []keymap.Action{keymap.NextError, keymap.ShowMessages},
			[]string{"▌ ○ 10 tool", "boom: demo"}},
		{"to what was said before the compaction", claude, "e3826403-bf0d-4777-ba88-43b3f02bc184", []keymap.Action{keymap.PrevBranch, keymap.ShowMessages},
			[]string{"▌ ○ 10 end", "done: run: echo three"}},
	} {
		p := start(t, recordedSession(t, c.address, c.session), 120, 36)
		for _, key := range c.keys {
			p.Press(keymap.Timeline, key)
		}
		shows(t, p, c.want...)
	}
}

// A tool that failed marks the row of its result. Where the SDK's own text alone says so, the mark is an inferred one.
func TestTimelines_markTheToolThatFailed(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, c := range []struct {
		name, address, session string
		unicode, ascii         string
	}{
		{"openai-agents", "openaiagents/sqlite_session.db", "tour", `○ 10 tool  11       11:25:37 ~✗ stock {item: "broken"}  An error`, `o 10 tool  11       11:25:37 ~x stock {item: "broken"}  An error`},
		{"langgraph", "langgraph/agent.db", "tour", `tools  73e0-6bc 11:08:48 ✗ stock {item: "broken"}`, `tools  73e0-6bc 11:08:48 x stock {item: "broken"}`},
		{"adk", "adk/database_service.db", "tour_app/u1/tour", `12 tool   e0109bb9 18:41:36 ✗ stock`, `12 tool   e0109bb9 18:41:36 x stock`},
		{"strands", "strands/python-file", "basic", `10 tool  7a54cce8 01:10:16 ✗ boom`, `10 tool  7a54cce8 01:10:16 x boom`},
	} {
		for row, glyphs := range map[string]theme.Glyphs{c.unicode: theme.Unicode, c.ascii: theme.ASCII} {
			o := recordedSession(t, c.address, c.session)
			o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: glyphs})
			p := start(t, o, 160, 60)
			p.Press(keymap.Session, keymap.Zoom)
			shows(t, p, row)
		}
	}
}

// A session of every kind is a timeline that can be read, at each width.
func TestTimelines_ofEveryKind(t *testing.T) {
	t.Parallel()
	list := []struct{ name, address, session string }{
		{"adk", "adk/database_service.db", "tour_app/u1/tour"},
		{"agent-framework", "agent-framework/checkpoints", "bestellung"},
		{"aider", "coding/aider/.aider.chat.history.md", "2026-11-24T02:51:17"},
		{"claude-code", "coding/claude-code/projects", "e3826403-bf0d-4777-ba88-43b3f02bc184"},
		{"codex", "coding/codex/sessions", "01a20bc3-1de1-7a92-aa36-a0490d1adcff"},
		{"copilot", "coding/copilot-cli", "1176a339-4847-4a9a-8002-872c283cafb0"},
		{"crewai", "crewai/checkpoints.db", "tour-77f0b5ae"},
		{"crush", "coding/crush/crush.db", "f306c145-4c83-492c-b575-739c30bbced4"},
		{"cursor", "coding/cursor", "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a01"},
		{"vscode-chat", "coding/vscode-chat", "7c1e0f5e-2a54-4c61-9a59-0f1d6f3a1b01"},
		{"gemini", "coding/gemini-cli", "1b5ede93-2b00-4913-81da-ca579b4743a0"},
		{"genkit", "genkit/go-1.13.1", "toggler/sess-aba"},
		{"langgraph", "langgraph/agent.db", "tour"},
		{"langgraph-js", "langgraph/js.db", "js-tour"},
		{"langgraph-values", "langgraph/subgraph.db", "persistent"},
		{"langgraph-failed", "langgraph/failed.db", "crashed"},
		{"llamaindex", "llamaindex/server.db", "VR6ijXlTHh"},
		{"agno", "agno/sessions.db", "tree"},
		{"dbos", "dbos/system.db", "w2"},
		{"atif", "trajectory/atif", "crew__1"},
		{"trajectory", "trajectory/agents", "fix__1"},
		{"mastra", "mastra/store.db", "tour"},
		{"openai-agents", "openaiagents/advanced.db", "tour"},
		{"opencode", "coding/opencode/opencode.db", "ses_dfd04f515ffeT1YRFyfbO7rYT4"},
		{"openhands", "coding/openhands", "d3ba9894ad2a43abb6546f04276ce18f"},
		{"pi", "coding/pi", "01a20301-0000-7000-8000-000000000001"},
		{"qwen", "coding/qwen", "68129b7d-3f39-4f68-b64a-1484396e32f2"},
		{"kimi", "coding/kimi", "session_cc5476d0-0b10-4187-8cc1-26d8d0f4af91"},
		{"strands", "strands/python-file", "basic"},
		{"strands-snapshots", "strands/python-snapshot/session", "message-strategy"},
	}
	for _, m := range machine.Later() {
		list = append(list, struct{ name, address, session string }{m.Kind, m.From, longestSession(t, m.From)})
	}
	for _, c := range list {
		for _, w := range []int{60, 100, 160} {
			t.Run(fmt.Sprintf("%s/%d", c.name, w), func(t *testing.T) {
				t.Parallel()
				p := start(t, recordedSession(t, c.address, c.session), w, 32)
				p.Press(keymap.Session, keymap.Zoom)
				p.Golden()
			})
		}
	}
	t.Run("codex/ascii", func(t *testing.T) {
		t.Parallel()
		o := recordedSession(t, "coding/codex/sessions", "01a20bc3-1de1-7a92-aa36-a0490d1adcff")
		o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
		p := start(t, o, 100, 32)
		p.Press(keymap.Session, keymap.Zoom)
		p.Golden()
	})
}
