package kinds_test

import (
	"fmt"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKilled_leavesNothingBehind kills the program while it makes a store or a file, or
// amid an edit. The next run takes away what it left.
func TestKilled_leavesNothingBehind(t *testing.T) {
	t.Parallel()
	hindcast := program.Path(t)
	home, temp := t.TempDir(), t.TempDir()
	var rows strings.Builder
	for i := range 30_000 { // to export them takes a while
		fmt.Fprintf(&rows, `{"session":"s","at":%d,"state":{"n":%d,"text":"%s"}}`+"\n", i, i, strings.Repeat("x", 200))
	}
	dump := filepath.Join(home, "dump.jsonl")
	if err := os.WriteFile(dump, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(dir string, args ...string) *exec.Cmd {
		cmd := exec.Command(hindcast, args...)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), program.Env(home)...), "TMPDIR="+temp, "VISUAL=cat")
		return cmd
	}
	run := func(dir string, args ...string) string {
		t.Helper()
		out, err := command(dir, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	mapped := []string{"--map", "session=session,state=state,index=at"}
	run(home, append([]string{"import", dump, "big.db"}, mapped...)...)
	run(home, "demo", ".")
	big, few := filepath.Join(home, "big.db"), filepath.Join(home, "hindcast-demo.db")

	for _, c := range []struct {
		target string
		args   []string
		again  []string // what runs in the same place afterwards
	}{
		{"new.db", append([]string{"import", "-", "new.db"}, mapped...), []string{"import", filepath.Join(home, "few.jsonl"), "new.db"}},
		{"big.jsonl", []string{"export", big, "-o", "big.jsonl"}, []string{"export", few, "-o", "big.jsonl"}},
		{"new.db", []string{"convert", big, "s", "--to", "sqlite:new.db", "--as", "s", "--yes"}, []string{"demo", "."}},
		{"hindcast-demo.db", []string{"demo", "."}, []string{"demo", "."}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			if c.args[0] == "import" {
				run(home, "export", few, "-o", "few.jsonl")
			}
			for range 50 {
				dir := t.TempDir()
				cmd := command(dir, c.args...)
				var in io.WriteCloser // stays open: nothing ends while it is
				if c.args[0] == "import" {
					var err error
					if in, err = cmd.StdinPipe(); err != nil {
						t.Fatal(err)
					}
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				over := false
				for len(drafts(t, dir)) == 0 && !over {
					select {
					case <-ended:
						over = true
					case <-time.After(time.Millisecond):
					}
				}
				_ = cmd.Process.Kill() // it may have ended
				<-ended
				if in != nil {
					_ = in.Close()
				}
				left := drafts(t, dir)
				if _, err := os.Lstat(filepath.Join(dir, c.target)); err == nil || len(left) == 0 {
					continue // it was too late
				}
				run(dir, c.again...)
				if left := drafts(t, dir); len(left) > 0 {
					t.Errorf("%q is left after %q", left, c.again)
				}
				return
			}
			t.Error("it was never killed amid the write")
		})
	}

	t.Run("edit", func(t *testing.T) {
		edit := func(editor string) {
			cmd := command(home, "edit", few, "trip-planner", "#5", "--at", "/cart", "--as", "edited", "--yes")
			cmd.Env = append(cmd.Env, "VISUAL="+editor)
			_ = cmd.Run() // it is killed, or nothing changed
		}
		edit("kill -9 $PPID; true")
		if left := drafts(t, temp); len(left) != 1 {
			t.Fatalf("the edit is in %q", left)
		}
		edit("cat")
		if left := drafts(t, temp); len(left) != 0 {
			t.Errorf("%q is left of an edit without a change", left)
		}
		edit(`change() { sed -i s/180.5/55/ "$1"; kill -9 $PPID; }; change`)
		edit("cat")
		left := drafts(t, temp)
		if len(left) != 1 {
			t.Fatalf("of an edit with a change %q is left", left)
		}
		found, err := filepath.Glob(filepath.Join(temp, left[0], "*.json"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%q, %v", found, err)
		}
		if text, err := os.ReadFile(found[0]); err != nil || !strings.Contains(string(text), "55") {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// TestKilled_sparesTheLiving: what a process is at work on stays, whatever else runs
// in the same place.
func TestKilled_sparesTheLiving(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	hindcast, dir := program.Path(t), t.TempDir()
	cmd := exec.Command(hindcast, "import", "-", "slow.db", "--map", "state=$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), program.Env(t.TempDir())...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	for len(drafts(t, dir)) == 0 {
		time.Sleep(time.Millisecond) // until it is there
	}
	other := exec.Command(hindcast, "demo", ".")
	other.Dir, other.Env = dir, cmd.Env
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := io.WriteString(in, `{"a":1}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "slow.db")); err != nil || len(drafts(t, dir)) > 0 {
		t.Errorf("%v, %q", err, drafts(t, dir))
	}
}

// drafts returns the folders in which something is being made.
func drafts(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(dir, e.Name(), "hindcast-lock")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}
