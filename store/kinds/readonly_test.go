//go:build linux

package kinds_test

import (
	"cmp"
	"encoding/json"
	"hindcast/store/storetest/program"
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
				t.Skipf("the system lets nothing be mounted here: %v: %s", err, out)
			}
			path, err := exec.LookPath(inside[0])
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args, cmd.Path = append(inside, cmd.Args...), path
		}, "read-only file system (nothing was changed; the file system is read-only: copy the store to one that is not)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, fill := range map[string]func(dir string) string{
				"strands":           copied(t, filepath.Join(testdata, "strands/python-file")),
				"strands-snapshots": copied(t, filepath.Join(testdata, "strands/python-snapshot")),
				"genkit":            copied(t, filepath.Join(testdata, "genkit/go-1.13.1")),
				"sqlite": func(dir string) string {
					run("demo", dir)
					return filepath.Join(dir, "hindcast-demo.db")
				},
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
				store := fill(dir)
				var sessions []struct {
					ID        string `json:"id"`
					Snapshots int    `json:"snapshots"`
				}
				if err := json.Unmarshal([]byte(run("sessions", "--json", store)), &sessions); err != nil {
					t.Fatal(err)
				}
				for sessions[0].Snapshots < 4 {
					sessions = sessions[1:]
				}
				for _, op := range [][]string{{"restore", store, sessions[0].ID, "head~1"}, {"fork", store, sessions[0].ID, "head~1", "--as", "again"}} {
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

// copied returns a function that copies a folder to another place.
func copied(t *testing.T, from string) func(dir string) string {
	return func(dir string) string {
		t.Helper()
		to := filepath.Join(dir, "store")
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return to
	}
}
