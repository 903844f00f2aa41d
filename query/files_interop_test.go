package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// coding is a coding agent with a home, a project and a scripted model of its own.
type coding struct {
	kind string
	// program is the path of its program below the folder of agents, and store that of its sessions below its home.
	program []string
	store   string
	// set writes its configuration, and env and first and next are the environment and the calls of a session, in which
	// PROGRAM and $PROMPT stand for the program and what the person says.
	set         func(t *testing.T, home, url string)
	env         func(home, url string) []string
	first, next string
	// patch is a call of its tool that edits a.txt, where it has one.
	patch string
	// want are the changes, of sixteen files, a large one, a move, a file outside, and a sub-agent's.
	want []string
	// stops says that the agent ends before its sub-agents do: then a sub-agent's change may be missing.
	stops bool
	// parts says that the agent records no whole text.
	parts bool
	// late names a tool whose changes the agent looks for on the disk, and may end before it has found them.
	late string
}

var codings = []coding{
	{
		kind: "claude-code", program: []string{"claude-code", "node_modules", ".bin", "claude"}, store: ".claude/projects",
		env: func(_, url string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-ant-scripted", "ANTHROPIC_MODEL=claude-sonnet-4-5",
				"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_BASH_EDIT_DIFF=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1"}
		},
		first: `PROGRAM --dangerously-skip-permissions -p "$PROMPT"`, next: `PROGRAM --dangerously-skip-permissions --continue -p "$PROMPT"`,
		patch: `call: Write {"file_path":"WORK/b.txt","content":"b\n"}`,
		want: []string{
			"created b.txt +1 by Write",
			"created n1.txt +1 by Bash", "created n10.txt +1 by Bash", "created n11.txt +1 by Bash", "created n12.txt +1 by Bash", "created n13.txt +1 by Bash",
			"changed n14.txt  not recorded by Bash", "changed n15.txt  not recorded by Bash", "changed n16.txt  not recorded by Bash", "changed n2.txt  not recorded by Bash",
			"changed n3.txt  not recorded by Bash", "changed n4.txt  not recorded by Bash", "changed n5.txt  not recorded by Bash", "changed n6.txt  not recorded by Bash",
			"changed n7.txt  not recorded by Bash", "changed n8.txt  not recorded by Bash", "changed n9.txt  not recorded by Bash",
			"changed large.txt +1 −1 by Bash", "moved moved.txt  by Bash", "changed sub.txt +1 inferred by sub-agent",
		},
	},
	{
		kind: "codex", stops: true, program: []string{"codex", "node_modules", ".bin", "codex"}, store: ".codex",
		set: func(t *testing.T, home, url string) {
			t.Helper()
			text := fmt.Sprintf("model = \"fake-model\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"+
				"[model_providers.fake]\nname = \"fake\"\nbase_url = \"%s/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n[analytics]\nenabled = false\n", url)
			writeAll(t, filepath.Join(home, ".codex", "config.toml"), text)
		},
		env:   func(string, string) []string { return []string{"FAKE_KEY=x"} },
		first: `PROGRAM exec --skip-git-repo-check "$PROMPT"`, next: `PROGRAM exec --skip-git-repo-check resume --last "$PROMPT"`,
		patch: `call: exec_command {"cmd":"apply_patch <<'E'\n*** Begin Patch\n*** Add File: b.txt\n+b\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n one\n-\ttwo\n+\t2\n*** End Patch\nE\n"}`,
		want:  []string{"created b.txt +1 by exec_command", "moved c.txt +1 −1 by exec_command"},
	},
	{
		kind: "pi", program: []string{"pi", "node_modules", ".bin", "pi"}, store: ".pi/agent/sessions",
		set: func(t *testing.T, home, url string) {
			t.Helper()
			writeAll(t, filepath.Join(home, ".pi", "agent", "models.json"), `{"providers": {"fake": {"baseUrl": "`+url+`", "apiKey": "none", "api": "anthropic-messages", "models": [{"id": "fake-model",
				"name": "Fake", "reasoning": false, "input": ["text"], "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}, "contextWindow": 100000, "maxTokens": 4000}]}}}`)
		},
		env:   func(string, string) []string { return []string{"PI_OFFLINE=1"} },
		first: `PROGRAM --provider fake --model fake-model -p "$PROMPT"`, next: `PROGRAM --provider fake --model fake-model -c -p "$PROMPT"`,
		patch: "call: edit {\"path\":\"WORK/a.txt\",\"edits\":[{\"oldText\":\"\\ttwo\",\"newText\":\"\\t2\"}]}\ncall: write {\"path\":\"b.txt\",\"content\":\"b\\n\"}",
		want:  []string{"changed a.txt +1 −1 by edit", "changed b.txt +1 inferred by write", "changed sub.txt +1 inferred by write"},
		parts: true,
	},
	{
		kind: "gemini-cli", program: []string{"gemini-cli", "node_modules", ".bin", "gemini"}, store: ".gemini/tmp",
		set: func(t *testing.T, home, url string) {
			t.Helper()
			writeAll(t, filepath.Join(home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true}}`)
		},
		env: func(_, url string) []string {
			return []string{"GEMINI_API_KEY=scripted", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
		first: `PROGRAM -m gemini-2.5-flash -y -p "$PROMPT"`, next: `PROGRAM -r latest -m gemini-2.5-flash -y -p "$PROMPT"`,
		patch: "call: replace {\"file_path\":\"WORK/a.txt\",\"instruction\":\"two is 2\",\"old_string\":\"\\ttwo\",\"new_string\":\"\\t2\"}\ncall: write_file {\"file_path\":\"WORK/b.txt\",\"content\":\"b\\n\"}",
		want:  []string{"changed a.txt +1 −1 by replace", "created b.txt +1 by write_file", "created sub.txt +1 by write_file"},
	},
	{
		kind: "opencode", program: []string{"opencode", "node_modules", ".bin", "opencode"}, store: ".local/share/opencode",
		set: func(t *testing.T, home, url string) {
			t.Helper()
			writeAll(t, filepath.Join(home, ".config", "opencode", "opencode.json"), fmt.Sprintf(`{"model": "scripted/scripted", "small_model": "scripted/scripted",
				"autoupdate": false, "share": "disabled", "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
				"options": {"baseURL": "%s/v1", "apiKey": "none"}, "models": {"scripted": {"name": "scripted", "tool_call": true,
				"limit": {"context": 100000, "output": 4000}, "cost": {"input": 3, "output": 15}}}}}, "permission": {"bash": "allow", "edit": "allow"}}`, url))
		},
		env: func(string, string) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "NO_PROXY=127.0.0.1,localhost"}
		},
		first: `printf %s "$PROMPT" | PROGRAM run`, next: `printf %s "$PROMPT" | PROGRAM run -c`, // it quotes words that it is called with
		patch: "call: edit {\"filePath\":\"WORK/a.txt\",\"oldString\":\"\\ttwo\",\"newString\":\"\\t2\"}\ncall: write {\"filePath\":\"WORK/b.txt\",\"content\":\"b\\n\"}",
		want: []string{
			"changed a.txt +1 −1 by edit", "created b.txt +1 by write", "changed large.txt +1 −1 by bash", "moved moved.txt  by bash",
			"created n1.txt +1 by bash", "created n2.txt +1 by bash", "created n3.txt +1 by bash", "created n4.txt +1 by bash", "created n5.txt +1 by bash", "created n6.txt +1 by bash",
			"created n7.txt +1 by bash", "created n8.txt +1 by bash", "created n9.txt +1 by bash", "created n10.txt +1 by bash", "created n11.txt +1 by bash",
			"created n12.txt +1 by bash", "created n13.txt +1 by bash", "created n14.txt +1 by bash", "created n15.txt +1 by bash", "created n16.txt +1 by bash",
		},
	},
	{
		kind: "copilot-cli", program: []string{"copilot-cli", "node_modules", ".bin", "copilot"}, store: ".copilot/session-state",
		env: func(_, url string) []string {
			return []string{"COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=scripted", "COPILOT_MODEL=scripted", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false"}
		},
		late: "bash", first: `PROGRAM --allow-all-tools -p "$PROMPT"`, next: `PROGRAM --continue --allow-all-tools -p "$PROMPT"`,
		patch: "call: edit {\"path\":\"WORK/a.txt\",\"old_str\":\"\\ttwo\",\"new_str\":\"\\t2\"}\ncall: create {\"path\":\"WORK/b.txt\",\"file_text\":\"b\\n\"}",
		want:  []string{"changed a.txt +1 −1 by edit", "created b.txt +1 by create", "changed large.txt  not recorded by bash", "created ../outside.txt  not recorded by bash", "moved moved.txt  by bash"},
	},
}

func writeAll(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A command that changes many files, a large one, a file outside and a move, and the edits of a sub-agent: Hindcast tells
// the text that lies on the disk, or does not tell of the file as known. A sub-agent's file is told once.
func TestInterop_filesAreTheDisk(t *testing.T) {
	for _, of := range codings {
		t.Run(of.kind, func(t *testing.T) {
			t.Parallel() // they wait more than they work
			program := chattest.Program(t, of.program[0], of.program[1:]...)
			m, home := chattest.Start(t), t.TempDir()
			work := filepath.Join(home, "w")
			writeAll(t, filepath.Join(work, "a.txt"), "one\n\ttwo\nthree\n")
			writeAll(t, filepath.Join(work, "move.txt"), "x\ny\n")
			writeAll(t, filepath.Join(work, "large.txt"), strings.Repeat("a line of a large file\n", 10_000))
			chattest.Run(t, work, home, "git init -q . && git add -A && git -c user.name=a -c user.email=a@a commit -qm first")
			if of.set != nil {
				of.set(t, home, m.URL)
			}
			env := of.env(home, m.URL)
			ask := func(call, prompt string) {
				t.Helper()
				chattest.Run(t, work, home, "exec </dev/null; "+strings.ReplaceAll(call, "PROGRAM", program), append(env, "PROMPT="+prompt)...)
			}
			ask(of.first, strings.ReplaceAll(of.patch, "WORK", work))
			ask(of.next, "run: for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo $i > n$i.txt; done")
			ask(of.next, "run: sed -i '5000s/large/LARGE/' large.txt; mv move.txt moved.txt; echo x > ../outside.txt")
			ask(of.next, "agent: "+strings.NewReplacer("WORK", work, "b.txt", "sub.txt", "*** Update File: a.txt\\n*** Move to: c.txt\\n@@\\n one\\n-\\ttwo\\n+\\t2\\n", "").Replace(of.patch))
			s, err := kinds.All(nil, "").Open(t.Context(), filepath.Join(home, of.store))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			session := ""
			for _, info := range storetest.Sessions(t, s) {
				started, err := s.Features().SubAgents(t.Context(), info.ID)
				if err != nil || len(started) > 0 || session == "" {
					session = info.ID
				}
			}
			line, err := query.ReadTimeline(t.Context(), s, session)
			if err != nil {
				t.Fatal(err)
			}
			q := query.Open(s, line)
			var got []string
			subs := 0
			for _, text := range fileLines(t, line, q.AllFiles(t.Context(), false)) {
				_, text, _ = strings.Cut(strings.NewReplacer(work+"/", "", home+"/", "../").Replace(text), " ")
				text, _, _ = strings.Cut(text, ":")
				if agent := strings.Index(text, "sub-agent "); agent > 0 {
					text = text[:agent] + "sub-agent"
				}
				if strings.Contains(text, " sub.txt ") {
					if subs++; of.stops {
						continue
					}
				}
				got = append(got, text)
			}
			if subs > 1 {
				t.Errorf("the sub-agent's file is told %d times", subs)
			}
			slices.Sort(got)
			slices.Sort(of.want)
			of.want = slices.DeleteFunc(slices.Clone(of.want), func(line string) bool {
				return of.late != "" && strings.HasSuffix(line, " by "+of.late) && !slices.Contains(got, line)
			})
			if !slices.Equal(got, of.want) {
				t.Errorf("they are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(of.want, "\n"))
			}
			r, err := q.FilesBetween(t.Context(), model.NoNode, line.Head(), true)
			if err != nil {
				t.Fatal(err)
			}
			known := 0
			for _, f := range r.Fold().All() {
				text, whole := f.Text()
				path := f.Path()
				if !filepath.IsAbs(path) {
					path = filepath.Join(work, path)
				}
				disk, err := os.ReadFile(path)
				if f.Err() == nil && whole && err == nil {
					if known++; text != string(disk) {
						t.Errorf("%s is told to be %.200q, and is %.200q", path, text, disk)
					}
				}
			}
			if (known == 0) != of.parts {
				t.Errorf("%d texts are known", known)
			}
		})
	}
}
