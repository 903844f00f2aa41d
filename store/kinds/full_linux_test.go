package kinds_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
)

// onFullDisk runs a command on a store in a file system that has some kB left, and copies what
// became of the store to another place: $0 is the folder of the store, $1 where the copy goes, $2 what is left.
const onFullDisk = `set -e
cp -a "$0" "$1.before"
size=$(du -sk "$0" | cut -f1)
mount -t tmpfs -o size=$((size * 2 + 1024))k none "$0"
cp -a "$1.before/." "$0"
cat /dev/zero > "$0/filler" 2> /dev/null || true
truncate -s -"$2"k "$0/filler"
to="$1"; dir="$0"; shift 2
code=0; "$@" || code=$?
rm "$dir/filler"
cp -a "$dir" "$to"
exit $code`

// again is the id of a fork that each kind takes.
const again = "0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b9ad"

// On a full disk a write is refused in words that say what to do, and the store is as before.
func TestFull_isToldAndLosesNothing(t *testing.T) {
	skip.Sequential(t)
	if testing.Short() {
		t.Skip("mounts a file system for each write")
	}
	hindcast := program.Path(t)
	inside := []string{"unshare", "-m"}
	if os.Getuid() != 0 {
		inside = append(inside, "-r")
	}
	if out, err := exec.CommandContext(t.Context(), inside[0], append(slices.Clone(inside[1:]), "mount", "-t", "tmpfs", "none", t.TempDir())...).CombinedOutput(); err != nil {
		skip.Missing(t, "the system lets nothing be mounted: %v: %s", err, out)
	}
	for kind, of := range map[string]struct{ store, restore, fork string }{
		"strands":           {"strands/python-file", "head~1", "head~1"},
		"strands-snapshots": {"strands/python-snapshot", "head~1", "head~1"},
		"genkit":            {"genkit/go-1.13.1", "head~1", "head~1"},
		"claude-code":       {"coding/claude-code/projects", "", "head~1"},
		"codex":             {"coding/codex/sessions", "", "head~1"},
		"langgraph":         {"langgraph/types.db", "#0", "#0"},
		"adk":               {"adk/database_service.db", "#1", "head~1"},
		"openai-agents":     {"openaiagents/advanced.db", "", "head~1"},
		"crewai":            {"crewai/checkpoints.db", "#0", ""},
	} {
		t.Run(kind, func(t *testing.T) {
			refused := 0
			for _, left := range []string{"0", "4", "16"} {
				for op, at := range map[string]string{"restore": of.restore, "fork": of.fork, "undo": of.restore + of.fork} {
					if at == "" {
						continue
					}
					dir, home := t.TempDir(), t.TempDir()
					path := copied(t, of.store)(dir)
					run := func(args ...string) (out []byte, err error) {
						cmd := exec.CommandContext(t.Context(), hindcast, args...)
						cmd.Env = append(os.Environ(), program.Env(home)...)
						return cmd.CombinedOutput()
					}
					var sessions []struct {
						ID        string `json:"id"`
						Snapshots int    `json:"snapshots"`
					}
					out, err := run("sessions", "--json", path)
					if err == nil {
						err = json.Unmarshal(out, &sessions)
					}
					if err != nil {
						t.Fatalf("%v: %s", err, out)
					}
					for len(sessions) > 1 && sessions[0].Snapshots < 4 {
						sessions = sessions[1:]
					}
					args := []string{op, path, sessions[0].ID, at, "--yes", "--anyway"}
					if op == "fork" {
						args = append(args, "--as", again)
					}
					if op == "undo" {
						first := []string{"fork", path, sessions[0].ID, of.fork, "--as", again, "--yes", "--anyway"}
						if of.restore != "" {
							first = []string{"restore", path, sessions[0].ID, of.restore, "--yes", "--anyway"}
						}
						if out, err := run(first...); err != nil {
							t.Fatalf("%q: %v: %s", first, err, out)
						}
						args = []string{"undo", path, "--yes", "--anyway"}
					}
					after := filepath.Join(t.TempDir(), "after")
					cmd := exec.CommandContext(t.Context(), inside[0], slices.Concat(inside[1:], []string{"sh", "-c", onFullDisk, dir, after, left, hindcast}, args)...)
					cmd.Env = append(os.Environ(), program.Env(home)...)
					said, err := cmd.CombinedOutput()
					if _, wrong := os.Stat(after); wrong != nil {
						t.Fatalf("%q: %v: %s", args, err, said)
					}
					if err == nil {
						continue // there was room
					}
					refused++
					if text := string(said); !strings.Contains(text, "no space left on device") || !strings.Contains(text, "free some space and try again") {
						t.Errorf("%s, %s kB left: %s", op, left, text)
					}
					if was, is := contentOf(t, path), contentOf(t, filepath.Join(after, filepath.Base(path))); is != was {
						t.Errorf("%s, %s kB left: the store was\n%s\nand is\n%s", op, left, was, is)
					}
				}
			}
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// contentOf returns what a store has: its sessions, their snapshots, and faults.
func contentOf(t *testing.T, path string) string {
	t.Helper()
	s, err := allKinds.Open(t.Context(), path)
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	var out strings.Builder
	for _, info := range storetest.Sessions(t, s) {
		out.WriteString(info.ID + "\n")
		for _, h := range storetest.Headers(t, s, info.ID) {
			out.WriteString("\t" + h.ID + " " + h.ParentID + " " + h.Title + "\n")
		}
		for _, f := range storetest.Faults(t, s, info.ID) {
			out.WriteString("\t" + f.Meaning + "\n")
		}
	}
	return out.String()
}
