package kinds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// claudeLine is a record of Claude Code: its number, the one before it, who speaks, and the content.
func claudeLines(records ...string) (lines []string) {
	parent := "null"
	for i, content := range records {
		role, content, _ := strings.Cut(content, " ")
		side, role := strings.HasPrefix(role, "side-"), strings.TrimPrefix(role, "side-")
		id := `"0000000` + string(rune('1'+i)) + `-0000-4000-8000-000000000002"`
		line := `{"parentUuid":` + parent + `,"cwd":"/home/demo","sessionId":"33333333-aaaa-4bbb-8ccc-000000000002","version":"2.1.332","uuid":` + id + `,"timestamp":"2026-11-27T10:00:0` + string(rune('1'+i)) + `.000Z"`
		if side {
			line += `,"isSidechain":true`
		} else {
			parent = id
		}
		if role == "meta" {
			line, role = line+`,"isMeta":true`, "user"
		}
		lines = append(lines, line+`,"type":"`+role+`","message":{"role":"`+role+`","content":`+content+`}}`)
	}
	return lines
}

// codexLines are a rollout with items of messages.
func codexLines(items ...string) []string {
	lines := []string{`{"timestamp":"2026-11-27T10:00:00.000Z","type":"session_meta","payload":{"id":"01a20000-0000-7000-8000-000000000010","timestamp":"2026-11-27T10:00:00.000Z","cwd":"/home/demo/app","cli_version":"0.118.0","source":"vscode"}}`}
	for _, content := range items {
		role, content, _ := strings.Cut(content, " ")
		lines = append(lines, `{"timestamp":"2026-11-27T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"`+role+`","content":`+content+`}}`)
	}
	return lines
}

func piLines(messages ...string) []string {
	lines := []string{`{"type":"session","version":3,"id":"b","timestamp":"2026-11-27T10:00:00.000Z","cwd":"/home/demo"}`}
	parent := "null"
	for i, content := range messages {
		role, content, _ := strings.Cut(content, " ")
		id := `"0000000` + string(rune('1'+i)) + `"`
		lines = append(lines, `{"type":"message","id":`+id+`,"parentId":`+parent+`,"timestamp":"2026-11-27T10:00:01.000Z","message":{"role":"`+role+`","content":`+content+`}}`)
		parent = id
	}
	return lines
}

const (
	claudeFile  = "-home-demo/33333333-aaaa-4bbb-8ccc-000000000002.jsonl"
	codexFile   = "sessions/2026/11/27/rollout-2026-11-27T10-00-00-01a20000-0000-7000-8000-000000000010.jsonl"
	geminiFile  = "tmp/app/chats/session-2026-11-27T10-00-77777777.jsonl"
	copilotFile = "88888888-1111-4222-8333-444444444444/events.jsonl"
	piFile      = "--home-demo--/2026-11-27T10-00-00-000Z_b.jsonl"
	environment = `user [{"type":"input_text","text":"<environment_context>\n<cwd>/home/demo/app</cwd>\n</environment_context>"}]`
	initMessage = `user "<command-message>init is analyzing your codebase…</command-message>\n<command-name>/init</command-name>"`
	done        = `assistant [{"type":"text","text":"Done."}]`
	reminded    = `{"type":"text","text":"<system-reminder>\nThe user provided the following references:\n- /home/demo/CLAUDE.md\n</system-reminder>"}`
)

// A session is called what the person typed, in the list as after reading all of it.
func TestKinds_titlesAreTyped(t *testing.T) {
	skip.Sequential(t)
	kinds := All(nil, "")
	late := `user [{"type":"input_text","text":"# AGENTS.md instructions for /home/demo/app\n\n<INSTRUCTIONS>\n` + strings.Repeat("Keep lines short. ", 3800) + `\n</INSTRUCTIONS>"}]`
	for _, c := range []struct {
		name, file string
		lines      []string
		want       string
	}{
		{"IDE", claudeFile, claudeLines(`user [{"type":"text","text":"<ide_opened_file>The user opened the file /home/demo/app/y.ts in the IDE.</ide_opened_file>"},{"type":"text","text":"Rename the helper"}]`, done), "Rename the helper"},
		{"a selection in the same text", claudeFile, claudeLines(`user "<ide_selection>lines 1 to 3</ide_selection>\nexplain"`, done), "explain"},
		{"reminder", claudeFile, claudeLines(`user [`+reminded+`,{"type":"text","text":"Run 4 subagents in parallel"}]`, done), "Run 4 subagents in parallel"},
		{"two reminders, then a message of its own", claudeFile, claudeLines(`user [`+reminded+`,`+reminded+`]`, `user "go on"`, done), "go on"},
		{"/init", claudeFile, claudeLines(initMessage, `meta [{"type":"text","text":"Please analyze this codebase"}]`, done), "/init"},
		{"a command with arguments", claudeFile, claudeLines(`user "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n<command-args>PR 1234 please</command-args>"`, done, `user "and now the tests"`), "/review PR 1234 please"},
		{"/clear first", claudeFile, claudeLines(`user "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"`, `user "<local-command-stdout></local-command-stdout>"`, `user "fix it"`, done), "fix it"},
		{"/model alone", claudeFile, claudeLines(`user "<command-name>/model</command-name>\n<command-args>opus</command-args>"`, `user "<local-command-stdout>Set model</local-command-stdout>"`), "/model opus"},
		{"a caveat first", claudeFile, claudeLines(`meta "Caveat: The messages below were generated by the user while running local commands."`, `user "ls the files"`, done), "ls the files"},
		{"a side chain", claudeFile, claudeLines(initMessage, `meta "Please analyze this codebase"`, `side-user "Create React components"`, done, `user "Thanks! Please update CLAUDE.md"`), "/init"},
		{"a side chain before any prompt", claudeFile, claudeLines(`side-user "Create React components"`, done, `user "Thanks!"`), "Thanks!"},
		{"an interruption first", claudeFile, claudeLines(`user [{"type":"text","text":"[Request interrupted by user]"}]`, `user "again"`, done), "again"},
		{"an image with its place", claudeFile, claudeLines(`user [{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0="}},{"type":"text","text":"[Image #1] what is it"}]`, done), "what is it"},
		{"nothing typed", claudeFile, claudeLines(`user [`+reminded+`]`, done), "Done."},

		{"IDE", codexFile, codexLines(environment, `user [{"type":"input_text","text":"# Context from my IDE setup:\n\n## Active file: index.ts\n\n## My request for Codex:\nlist the exports"}]`), "list the exports"},
		{"image", codexFile, codexLines(environment, `user [{"type":"input_text","text":"<image name=[Image #1] path=\"/tmp/p.png\">"},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"what is in the picture"}]`), "what is in the picture"},
		{"late", codexFile, codexLines(late, environment, `user [{"type":"input_text","text":"list the exports"}]`, `assistant [{"type":"output_text","text":"Here they are."}]`), "list the exports"},
		{"context, then a prompt", geminiFile, []string{
			`{"sessionId":"77777777-1111-4222-8333-444444444444","projectHash":"x","startTime":"2026-11-27T10:00:00.000Z"}`,
			`{"id":"1","timestamp":"2026-11-27T10:00:01.000Z","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI.\n</session_context>"}]}`,
			`{"id":"2","timestamp":"2026-11-27T10:00:02.000Z","type":"user","content":[{"text":"explain @a.ts"},{"text":"\n--- Content from referenced files ---"},{"text":"\nContent from @a.ts:\nx"}]}`,
		}, "explain @a.ts"},
		{"a date in front", copilotFile, []string{
			`{"type":"session.start","data":{"sessionId":"88888888-1111-4222-8333-444444444444","context":{"cwd":"/home/demo"}},"id":"e1","timestamp":"2026-11-27T10:00:00.000Z","parentId":null}`,
			`{"type":"user.message","data":{"content":"<current_datetime>2026-11-27</current_datetime>\n\nadd a test"},"id":"e2","timestamp":"2026-11-27T10:00:01.000Z","parentId":"e1"}`,
		}, "add a test"},
		{"a skill in front", piFile, piLines(`user [{"type":"text","text":"<skill name=\"brave\" location=\"/x\">\nSearch.\n</skill>\n\nfind it"}]`, `assistant [{"type":"text","text":"Found."}]`), "find it"},
		{"a system message first", piFile, piLines(`system "You are pi"`, `user "hello"`), "hello"},
	} {
		for _, large := range []bool{false, true} {
			name := c.file[:4] + " " + c.name
			lines := c.lines
			if large { // the list reads a part of it
				name += ", large"
				lines = append(lines[:len(lines):len(lines)], padding[c.file])
				for range 9 {
					lines = append(lines, padding[c.file])
				}
			}
			if large && (c.name == "late" || padding[c.file] == "") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, filepath.FromSlash(c.file))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				s, err := kinds.Open(t.Context(), filepath.Dir(file))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				titled := 0
				for info, err := range s.Sessions(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if titled++; info.Title != c.want {
						t.Errorf("the list shows %q, want %q", info.Title, c.want)
					}
					if (large || c.name == "late") != (info.Snapshots == store.Uncounted) {
						t.Errorf("%d snapshots are counted", info.Snapshots)
					}
				}
				if titled == 0 {
					t.Error("no session is listed")
				}
			})
		}
	}
}

// padding are records that say nothing, by the file.
var padding = map[string]string{
	claudeFile:  `{"type":"file-history-snapshot","messageId":"m","snapshot":{"x":"` + strings.Repeat("x", 10_000) + `"}}`,
	codexFile:   `{"timestamp":"2026-11-27T10:00:04.000Z","type":"world_state","payload":{"x":"` + strings.Repeat("x", 10_000) + `"}}`,
	copilotFile: `{"type":"session.info","data":{"x":"` + strings.Repeat("x", 10_000) + `"},"id":"e9","timestamp":"2026-11-27T10:00:02.000Z","parentId":"e2"}`,
	piFile:      `{"type":"custom","id":"c1","timestamp":"2026-11-27T10:00:01.000Z","data":"` + strings.Repeat("x", 10_000) + `"}`,
}
