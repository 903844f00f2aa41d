//go:build unix

package terminal_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
)

// comparison is work that the program and a peer do by turns, each as a process of its
// own, so that whatever else the machine does is shared fairly.
type comparison struct {
	name string
	// make writes what is read into a folder and returns the commands: Hindcast's first,
	// and maybe that of a peer, whose program is looked for on the PATH.
	make func(b *testing.B, dir string) [][]string
}

// BenchmarkPeers reports, for each comparison, what Hindcast takes and how many times that
// its peer takes: time of the processor, passed time, and memory at the most. README.md has
// the figures.
func BenchmarkPeers(b *testing.B) {
	for _, c := range append(homeSearches(b), []comparison{
		{"version", func(*testing.B, string) [][]string {
			return [][]string{{"hindcast", "--version"}, {"git", "--version"}}
		}},
		{"sessions/10000-strands", func(b *testing.B, dir string) [][]string {
			strandsSessions(b, dir, 10_000, 10)
			return [][]string{{"hindcast", "sessions", dir}, {"ls", "-lR", dir}}
		}},
		{"log/strands-100000", func(b *testing.B, dir string) [][]string {
			messages := strandsSessions(b, dir, 1, 100_000)
			return [][]string{{"sh", "-c", `HINDCAST_CACHE=off exec hindcast log "$0" s0`, dir}, {"python3", "-c", loadAll, messages}}
		}},
		{"log/strands-100000-again", func(b *testing.B, dir string) [][]string {
			strandsSessions(b, dir, 1, 100_000)
			return [][]string{{"hindcast", "log", dir, "s0"}}
		}},
		{"diff/strands-100000", func(b *testing.B, dir string) [][]string {
			strandsSessions(b, dir, 1, 100_000)
			return [][]string{{"hindcast", "diff", dir, "s0", "head"}}
		}},
		{"log/native-100000", func(b *testing.B, dir string) [][]string { return graphs(b, dir, 100_000) }},
		{"log/native-1000000", func(b *testing.B, dir string) [][]string { return graphs(b, dir, 1_000_000) }},
		{"diff/10MB", func(b *testing.B, dir string) [][]string {
			state := jsontest.New(10_000_000, 1)
			before, after := state.JSON(), state.Step().JSON()
			name := nativeStore(b, dir, before, after)
			return [][]string{
				{"hindcast", "diff", name, "s", "head"},
				{"git", "-C", dir, "diff", "--no-index", "--stat", indentedFile(b, dir, "before", before), indentedFile(b, dir, "after", after)},
			}
		}},
		{"import/100000", func(b *testing.B, dir string) [][]string {
			return [][]string{{"sh", "-c", `rm -f "$1"; hindcast import "$0" "$1"`, rowsFile(b, dir, 100_000), filepath.Join(dir, "to.db")}}
		}},
		{"restore/native-100000", func(b *testing.B, dir string) [][]string {
			at, name := storeOf(b, grown(100_000))
			return [][]string{{"sh", "-c", `hindcast restore "$0" big '#100.1' --yes && hindcast undo "$0" --yes`, filepath.Join(at, name)}}
		}},
		{"restore/strands-10000", func(b *testing.B, dir string) [][]string {
			strandsSessions(b, dir, 1, 10_000)
			return [][]string{{"sh", "-c", `hindcast restore "$0" s0 '#5000' --yes --anyway && hindcast undo "$0" --yes --anyway`, dir}}
		}},
		{"agent/sessions", func(b *testing.B, dir string) [][]string {
			dir = claudeHome(b, dir)
			return [][]string{
				{"sh", "-c", `HINDCAST_CACHE=off exec hindcast sessions "$0"`, dir},
				{"ccusage", "claude", "session", "--offline", "--json"},
				{"claude-code-log-python", "-c", loadProjects, filepath.Join(dir, "projects")},
			}
		}},
		{"agent/grep", func(b *testing.B, dir string) [][]string {
			dir = claudeHome(b, dir)
			const nowhere = "nowhere to be found"
			return [][]string{
				{"sh", "-c", `HINDCAST_CACHE=off hindcast grep -F "$1" "$0" || true`, dir, nowhere},
				{"rg", "-F", "--no-ignore", nowhere, dir},
				{"grep", "-rF", nowhere, dir},
			}
		}},
		{"agent/log-100MB", func(b *testing.B, dir string) [][]string {
			const id = "5e551011-0000-4000-8000-000000000000"
			dir = filepath.Join(dir, ".claude")
			file := filepath.Join(dir, "projects", "-p", id+".jsonl")
			storetest.SaveTranscript(b, file, storetest.ClaudeTranscript, id, time.Unix(1e9, 0), 100<<20, 256<<10)
			return [][]string{
				{"sh", "-c", `HINDCAST_CACHE=off exec hindcast log "$0" "$1"`, dir, id},
				{"jq", "-c", "[.type, .uuid, .parentUuid]", file},
				{"ccusage", "claude", "session", "--offline", "--json"},
				{"claude-code-log-python", "-c", loadProjects, filepath.Join(dir, "projects")},
			}
		}},
	}...) {
		b.Run(c.name, func(b *testing.B) {
			bin := filepath.Dir(program.Released(b))
			dir := b.TempDir()
			env := append(os.Environ(), program.Env(b.TempDir())...)
			env = append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env = append(env, "CLAUDE_CONFIG_DIR="+filepath.Join(dir, ".claude")) // for ccusage
			commands := c.make(b, dir)
			used := make([]usage, len(commands))
			for b.Loop() {
				for i, command := range commands {
					used[i].add(b, env, bin, command)
				}
			}
			n := float64(b.N)
			ours := used[0]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ours.processor.Seconds()*1000/n, "cpu-ms")
			b.ReportMetric(ours.passed.Seconds()*1000/n, "wall-ms")
			b.ReportMetric(ours.memory, "MB")
			for i, peer := range used[1:] {
				name := commands[i+1][0]
				if peer.runs == 0 {
					b.Logf("%s is not there", name)
					continue
				}
				b.ReportMetric(peer.processor.Seconds()/ours.processor.Seconds(), name+"-cpu/ours")
				b.ReportMetric(peer.passed.Seconds()/ours.passed.Seconds(), name+"-wall/ours")
				b.ReportMetric(peer.memory/ours.memory, name+"-MB/ours")
			}
		})
	}
}

// usage is what the runs of a command took.
type usage struct {
	runs              int
	processor, passed time.Duration
	memory            float64 // of the largest run, in MB
}

// add runs a command once. A peer that is not there is passed over.
func (u *usage) add(b *testing.B, env []string, bin string, command []string) {
	b.Helper()
	name := command[0]
	if name == "hindcast" {
		name = filepath.Join(bin, name)
	} else if _, err := exec.LookPath(name); err != nil {
		return
	}
	cmd := exec.CommandContext(b.Context(), name, command[1:]...)
	cmd.Env = env
	var complaint bytes.Buffer
	cmd.Stdout = io.Discard // a pipe: rg leaves a file at its first hit if it prints to the null device
	cmd.Stderr = &complaint
	forgetPeak()
	began := time.Now()
	err := cmd.Run()
	u.passed += time.Since(began)
	nothing := []string{"git", "rg", "grep"} // what they say of a difference, or of no line
	if differs := slices.Contains(nothing, command[0]) && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 1; err != nil && !differs {
		b.Fatalf("%s: %v: %s", command, err, complaint.Bytes())
	}
	u.runs++
	u.processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = max(u.memory, float64(r.Maxrss)/1024) // in KiB, on Linux
	}
}

// forgetPeak has the system take the memory of this process as it is now for the most that
// it had: what a process begins with counts as memory of the one that it starts.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // on Linux; elsewhere the figure is of both
}

// loadAll has Python parse each message of a folder, as its SDK does.
const loadAll = `
import json, os, sys
for name in sorted(os.listdir(sys.argv[1]), key=lambda name: int(name[8:-5])):
    with open(os.path.join(sys.argv[1], name), encoding="utf-8") as f: json.load(f)
`

// loadProjects has claude-code-log load each project, as it does before it writes anything.
const loadProjects = `
import pathlib, sys
from claude_code_log.converter import load_directory_transcripts
for project in sorted(pathlib.Path(sys.argv[1]).iterdir()): load_directory_transcripts(project, silent=True)
`

// claudeHome writes 500 sessions of Claude Code, 250 MB, and returns the folder of them.
func claudeHome(b *testing.B, dir string) string {
	b.Helper()
	dir = filepath.Join(dir, ".claude")
	storetest.Home(b, dir, 500, 250_000_000, storetest.ClaudeTranscript, func(project, id string, _ time.Time) string {
		return "projects/-" + project + "/" + id + ".jsonl"
	})
	storetest.ClaudeAgents(b, dir, 50_000)
	return dir
}

// homeWords are words of the home that is searched: one of so many of its lines has each.
var homeWords = map[string]int{"zeugma": 10_000, "frobnicate": 100, "quibble": 10, "sonorous": 2}

// homeSearches compare searches of a home for words that more and more of its lines have with ripgrep's.
func homeSearches(b *testing.B) (list []comparison) {
	home := sync.OnceValue(func() string { return writeHome(b, b.TempDir()) })
	for _, way := range []struct{ name, ours, peer string }{{"grep", "", "-n"}, {"count", "-c", "-c"}, {"sessions", "-l", "-l"}, {"first", "-m30", ""}} {
		for _, of := range []struct{ share, word string }{{"0%", "xqzzyv"}, {"0.01%", "zeugma"}, {"1%", "frobnicate"}, {"10%", "quibble"}, {"50%", "sonorous"}} {
			list = append(list, comparison{"home/" + way.name + "-" + of.share, func(*testing.B, string) [][]string {
				dir := home()
				const at = `cd "$0" && export HOME="$0" HINDCAST_CACHE=off && unset CODEX_HOME CLAUDE_CONFIG_DIR && `
				commands := [][]string{{"sh", "-c", at + `hindcast grep $1 "$2" || [ $? = 1 ]`, dir, way.ours, of.word}}
				if way.peer != "" {
					commands = append(commands, []string{"rg", way.peer, "-i", "--no-ignore", "--hidden", of.word, dir})
				}
				return commands
			}})
		}
	}
	return list
}

// writeHome writes 700 sessions of Claude Code, Codex and pi, 180 MB, which have the homeWords, and returns their folder.
func writeHome(b *testing.B, dir string) string {
	b.Helper()
	storetest.Home(b, filepath.Join(dir, ".claude"), 300, 80_000_000, storetest.WithWords(storetest.ClaudeTranscript, homeWords), func(project, id string, _ time.Time) string {
		return "projects/-" + project + "/" + id + ".jsonl"
	})
	storetest.Home(b, filepath.Join(dir, ".codex"), 300, 80_000_000, storetest.WithWords(storetest.CodexTranscript, homeWords), func(_, id string, begun time.Time) string {
		return begun.Format("sessions/2006/01/02/rollout-2006-01-02T15-04-05-") + id + ".jsonl"
	})
	storetest.Home(b, filepath.Join(dir, ".pi", "agent"), 100, 20_000_000, storetest.WithWords(storetest.PiTranscript, homeWords), func(project, id string, begun time.Time) string {
		return "sessions/--" + project + "--/" + begun.Format("2006-01-02T15-04-05-000Z_") + id + ".jsonl"
	})
	return dir
}

// strandsSessions writes sessions as the SDK for Python does, and returns the folder of the
// messages of the last one.
func strandsSessions(b *testing.B, dir string, sessions, messages int) (folder string) {
	b.Helper()
	const at = "2026-03-01T10:00:00.000000+00:00"
	write := func(data any, path ...string) {
		text, err := json.MarshalIndent(data, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(path...), text, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	type object = map[string]any
	for s := range sessions {
		id := fmt.Sprint("s", s)
		session := filepath.Join(dir, "session_"+id)
		agent := filepath.Join(session, "agents", "agent_default")
		folder = filepath.Join(agent, "messages")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			b.Fatal(err)
		}
		write(object{"session_id": id, "session_type": "AGENT", "created_at": at, "updated_at": at}, session, "session.json")
		write(object{
			"agent_id": "default", "state": object{}, "_internal_state": object{}, "created_at": at, "updated_at": at,
			"conversation_manager_state": object{"__name__": "NullConversationManager", "removed_message_count": 0},
		}, agent, "agent.json")
		for i := range messages {
			role := [...]string{"user", "assistant"}[i%2]
			text := strings.Repeat(fmt.Sprintf("What message %d says. ", i), 20)
			write(object{
				"message":    object{"role": role, "content": []any{object{"text": text}}},
				"message_id": i, "redact_message": nil, "created_at": at, "updated_at": at,
			}, folder, fmt.Sprintf("message_%d.json", i))
		}
	}
	past := time.Now().Add(-time.Hour) // nothing is noted of what was written just now
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		return cmp.Or(err, os.Chtimes(name, past, past))
	})
	if err != nil {
		b.Fatal(err)
	}
	return folder
}

// graphs returns the commands that draw a session of n snapshots, and git's graph of as
// many commits in the same shape.
func graphs(b *testing.B, dir string, n int) [][]string {
	b.Helper()
	at, name := storeOf(b, grown(n))
	commands := [][]string{{"hindcast", "log", filepath.Join(at, name), "big"}}
	if _, err := exec.LookPath("git"); err != nil {
		return commands
	}
	gitHistory(b, dir, n)
	return append(commands, []string{"git", "-C", dir, "log", "--graph", "--oneline", "--all"})
}

// nativeStore writes a session "s" of some states and returns its file.
func nativeStore(b *testing.B, dir string, states ...[]byte) string {
	b.Helper()
	at, name := storeOf(b, func(yield func(store.Row, error) bool) {
		for i, state := range states {
			h := model.Header{ID: model.SnapshotID(state), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i), Head: i == len(states)-1}
			if i > 0 {
				h.ParentID = model.SnapshotID(states[i-1])
			}
			if !yield(store.Row{Header: h, State: state}, nil) {
				return
			}
		}
	})
	return filepath.Join(at, name)
}

// indentedFile writes a state as people and programs that compare lines read it.
func indentedFile(b *testing.B, dir, name string, state []byte) string {
	b.Helper()
	var text bytes.Buffer
	err := json.Indent(&text, state, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// rowsFile writes the rows of a session of n snapshots as export does.
func rowsFile(b *testing.B, dir string, n int) string {
	b.Helper()
	at, from := storeOf(b, grown(n))
	name := filepath.Join(dir, "rows.jsonl")
	if out, err := exec.CommandContext(b.Context(), program.Released(b), "export", filepath.Join(at, from), "-o", name).CombinedOutput(); err != nil {
		b.Fatalf("export: %v: %s", err, out)
	}
	return name
}
