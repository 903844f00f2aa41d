//go:build linux

package kinds_test

import (
	"cmp"
	"encoding/json"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Where the system lets no store be written, each kind says why in the same words, and
// what to do, once.
func TestUnwritable_isToldAlikeInEveryKind(t *testing.T) {
	skip.Sequential(t)
	hindcast := program.Path(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), hindcast, args...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	for name, c := range map[string]struct {
		deny func(t *testing.T, dir string, cmd *exec.Cmd)
		want string
	}{
		"no permission": {func(t *testing.T, dir string, cmd *exec.Cmd) {
			every := func(mode os.FileMode) {
				err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error { return cmp.Or(err, os.Chmod(path, mode)) })
				if err != nil {
					t.Fatal(err)
				}
			}
			every(0o555)
			t.Cleanup(func() { every(0o755) })
			if os.Getuid() == 0 { // root may write everywhere
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
		}, "permission denied (nothing was changed; the store must be writable: run Hindcast as its owner, or change its permissions)\n"},
		"read-only": {func(t *testing.T, dir string, cmd *exec.Cmd) {
			inside := []string{"unshare", "-m", "sh", "-c", `mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"`, dir}
			if os.Getuid() != 0 {
				inside = append([]string{"unshare", "-r"}, inside[1:]...)
			}
			if out, err := exec.CommandContext(t.Context(), inside[0], append(inside[1:len(inside):len(inside)], "true")...).CombinedOutput(); err != nil {
				skip.Missing(t, "the system lets nothing be mounted: %v: %s", err, out)
			}
			path, err := exec.LookPath(inside[0])
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args, cmd.Path = append(inside, cmd.Args...), path
		}, "read-only file system (nothing was changed; the file system is read-only: copy the store to one that is not)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, of := range map[string]struct {
				fill func(dir string) string
				// restore and fork are the snapshots that are taken, "" for none.
				restore, fork string
			}{
				"strands":           {copied(t, "strands/python-file"), "head~1", "head~1"},
				"strands-snapshots": {copied(t, "strands/python-snapshot"), "head~1", "head~1"},
				"genkit":            {copied(t, "genkit/go-1.13.1"), "head~1", "head~1"},
				"sqlite": {func(dir string) string {
					run("demo", dir)
					return filepath.Join(dir, "hindcast-demo.db")
				}, "head~1", "head~1"},
				"langgraph":     {copied(t, "langgraph/types.db"), "#0", "#0"},
				"adk":           {copied(t, "adk/database_service.db"), "#1", "head~1"},
				"openai-agents": {copied(t, "openaiagents/advanced.db"), "", "head~1"},
				"crewai":        {copied(t, "crewai/checkpoints.db"), "#0", ""},
			} {
				dir, err := os.MkdirTemp("", "hindcast-unwritable-")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(dir) })
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				ours := filepath.Join(dir, "hindcast") // where any user may run it
				if err := os.Link(hindcast, ours); err != nil {
					t.Fatal(err)
				}
				store := of.fill(dir)
				var sessions []struct {
					ID        string `json:"id"`
					Snapshots int    `json:"snapshots"`
				}
				if err := json.Unmarshal([]byte(run("sessions", "--json", store)), &sessions); err != nil {
					t.Fatal(err)
				}
				for len(sessions) > 1 && sessions[0].Snapshots < 4 {
					sessions = sessions[1:]
				}
				for _, op := range [][]string{{"restore", store, sessions[0].ID, of.restore}, {"fork", store, sessions[0].ID, of.fork, "--as", "again"}} {
					if op[3] == "" {
						continue
					}
					cmd := exec.CommandContext(t.Context(), ours, append(op, "--yes", "--anyway")...)
					cmd.Env = append(os.Environ(), "HOME="+dir)
					c.deny(t, dir, cmd)
					out, err := cmd.CombinedOutput()
					if said := string(out); err == nil || !strings.HasSuffix(said, c.want) {
						t.Errorf("%s of %s: %v, %s", op[0], kind, err, said)
					}
				}
			}
		})
	}
}

// copied returns a function that copies a store of testdata to another place.
func copied(t *testing.T, name string) func(dir string) string {
	return func(dir string) string {
		t.Helper()
		from, to := filepath.Join(testdata, filepath.FromSlash(name)), filepath.Join(dir, "store")
		info, err := os.Stat(from)
		if err == nil && info.IsDir() {
			err = os.CopyFS(to, os.DirFS(from))
		} else if err == nil {
			data, failed := os.ReadFile(from)
			to += filepath.Ext(from)
			err = cmp.Or(failed, os.WriteFile(to, data, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
}
