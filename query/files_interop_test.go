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
	// set writes its configuration, and env and first and next are the environment and the calls of a session.
	set         func(t *testing.T, home, url string)
	env         func(home, url string) []string
	first, next string
	// patch is a call of its tool that edits a.txt, where it has one.
	patch string
	// want are the changes, of sixteen files, a large one, a move, a file outside, and a sub-agent's.
	want []string
	// stops says that the agent ends before its sub-agents do: then a sub-agent's change may be missing.
	stops bool
}

var codings = []coding{
	{
		kind: "claude-code", program: []string{"claude-code", "node_modules", ".bin", "claude"}, store: ".claude/projects",
		env: func(_, url string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-ant-scripted", "ANTHROPIC_MODEL=claude-sonnet-4-5",
				"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_BASH_EDIT_DIFF=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1"}
		},
		first: "claude --dangerously-skip-permissions -p", next: "claude --dangerously-skip-permissions --continue -p",
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
		first: "codex exec --skip-git-repo-check", next: "codex exec --skip-git-repo-check resume --last",
		patch: `call: exec_command {"cmd":"apply_patch <<'E'\n*** Begin Patch\n*** Add File: b.txt\n+b\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n one\n-\ttwo\n+\t2\n*** End Patch\nE\n"}`,
		want:  []string{"created b.txt +1 by exec_command", "moved c.txt +1 −1 by exec_command"},
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
			env := append(of.env(home, m.URL), "PATH="+filepath.Dir(program)+":/usr/local/bin:/usr/bin:/bin")
			ask := func(call, prompt string) {
				t.Helper()
				chattest.Run(t, work, home, call+` "$PROMPT" </dev/null`, append(env, "PROMPT="+prompt)...)
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
				if started, err := s.Features().SubAgents(t.Context(), info.ID); err != nil || len(started) > 0 {
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
				_, text, _ = strings.Cut(strings.ReplaceAll(text, work+"/", ""), " ")
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
			if known == 0 {
				t.Error("no text is known")
			}
		})
	}
}
