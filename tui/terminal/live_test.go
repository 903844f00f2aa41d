package terminal_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"hindcast/store/storetest/program"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// worker is `hindcast demo --live` as a program of its own.
type worker struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	said  strings.Builder
	err   bytes.Buffer
}

func work(t *testing.T, dir string, args ...string) *worker {
	t.Helper()
	w := &worker{t: t, cmd: exec.CommandContext(t.Context(), program.Path(t), append([]string{"demo", "--live", dir}, args...)...)}
	w.cmd.Env = append(os.Environ(), program.Env(dir)...)
	w.cmd.Stderr = &w.err
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// until waits until it says something.
func (w *worker) until(words string) {
	w.t.Helper()
	for w.lines.Scan() {
		w.said.WriteString(w.lines.Text() + "\n")
		if strings.Contains(w.lines.Text(), words) {
			return
		}
	}
	w.t.Fatalf("it never says %q:\n%s%s", words, w.said.String(), w.err.String())
}

// end waits for its end and returns the exit code, all that it said and its
// errors.
func (w *worker) end() (code int, said, errs string) {
	w.t.Helper()
	for w.lines.Scan() {
		w.said.WriteString(w.lines.Text() + "\n")
	}
	if err := w.cmd.Wait(); err != nil && w.cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return w.cmd.ProcessState.ExitCode(), w.said.String(), w.err.String()
}

// hindcast runs a command as a program beside the worker.
func (w *worker) hindcast(line string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "sh", "-c", `"$0" `+line, program.Path(w.t))
	cmd.Dir = w.cmd.Args[3]
	cmd.Env = append(os.Environ(), program.Env(cmd.Dir)...)
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		w.t.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

// Each step is told when it happens, and is in the store by then for whoever
// looks. Ctrl-C ends the work and keeps what was done; --resume goes on.
func TestLiveDemo_isFollowedAndInterrupted(t *testing.T) {
	w := work(t, t.TempDir(), "--pace", "20ms")
	w.until("snapshot  #0")
	if got := w.hindcast("log . release-1.4"); !strings.Contains(got, "#0  turn 0") {
		t.Errorf("the first snapshot is not there yet:\n%s", got)
	}
	w.until("snapshot  #3")
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code, said, errs := w.end()
	if code != 0 || errs != "" || !strings.Contains(said, "\nstopped: ") || !strings.Contains(said, " --resume goes on\n") {
		t.Errorf("interrupted, it ends with %d\n%s%s", code, said, errs)
	}
	got := w.hindcast("log . release-1.4")
	if !strings.Contains(got, "#3  turn 1") || !strings.Contains(got, "0 off the path") {
		t.Errorf("this was kept:\n%s", got)
	}
	again := work(t, w.cmd.Args[3], "--resume", "--pace", "0")
	if code, said, errs := again.end(); code != 0 || !strings.Contains(said, "release-1.4 is at #") || strings.Contains(said, "turn 0") {
		t.Errorf("resumed, it ends with %d\n%s%s", code, said, errs)
	}
	if got := w.hindcast("show . release-1.4 head --json"); !strings.Contains(got, "v1.4.0 is out") {
		t.Errorf("in the end the state is %s", got)
	}
}

// Killed at a step, even before the first, it is gone on with by --resume.
func TestLiveDemo_isKilled(t *testing.T) {
	for at, next := range map[string]string{
		"in a second terminal":   "turn 0   user ",
		"tool      list_commits": "turn 0   tool ",
		"snapshot  #0":           "turn 0   agent ",
	} {
		w := work(t, t.TempDir(), "--pace", "300ms")
		w.until(at)
		if err := w.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		w.end()
		code, said, errs := work(t, w.cmd.Args[3], "--resume", "--pace", "0").end()
		if code != 0 || !strings.Contains(said, " follows this\n"+next) || !strings.Contains(said, "release-1.4 is at #9 cc686493") {
			t.Errorf("killed at %q and resumed, it ends with %d\n%s%s", at, code, said, errs)
		}
		if got := w.hindcast("doctor ."); !strings.Contains(got, "no faults") {
			t.Errorf("killed at %q, the doctor says %s", at, got)
		}
	}
}

// In JSON nothing is told on the way, and it is one document all the same.
func TestLiveDemo_interruptedInJSON(t *testing.T) {
	w := work(t, t.TempDir(), "--pace", "20ms", "--json")
	for !strings.Contains(w.hindcast("log hindcast-live.db release-1.4"), "#0  turn 0") {
		// It has not come that far yet.
	}
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code, said, errs := w.end()
	var done struct {
		Store, Session, Head string
		Snapshots, HeadIndex int
		Stopped              bool
	}
	if err := json.Unmarshal([]byte(said), &done); err != nil || code != 0 || errs != "" {
		t.Fatalf("it ends with %d and %s%s: %v", code, said, errs, err)
	}
	if !done.Stopped || done.Session != "release-1.4" || done.Snapshots != done.HeadIndex+1 || len(done.Head) != 64 {
		t.Errorf("it says %+v", done)
	}
}

// Put back by another program while it works, it says so at its next step and
// how to go on, and has overwritten nothing.
func TestLiveDemo_isPutBackUnderneath(t *testing.T) {
	w := work(t, t.TempDir(), "--pace", "50ms")
	w.until("snapshot  #3")
	// Between its plan and its doing the agent may have gone on: then it is
	// refused, and asked for again.
	for said := ""; !strings.Contains(said, "release-1.4 is at #1"); {
		if said = w.hindcast("restore . release-1.4 '#1' --yes"); strings.Contains(said, "hindcast: ") && !strings.Contains(said, "the session's head has moved") {
			t.Fatalf("restore says\n%s", said)
		}
	}
	code, said, errs := w.end()
	if code != 1 || strings.Contains(said, "done: ") {
		t.Errorf("it ends with %d\n%s", code, said)
	}
	for _, words := range []string{
		`hindcast: live demo: session "release-1.4" has moved on: its head is #1 `,
		"\n  Nothing was overwritten. hindcast demo --live " + w.cmd.Args[3] + " --resume goes on from there.\n",
	} {
		if !strings.Contains(errs, words) {
			t.Errorf("its errors do not say %q:\n%s", words, errs)
		}
	}
	if got := w.hindcast("log . release-1.4"); !strings.Contains(got, "left by a restore to #1") || !strings.Contains(got, "head #1") {
		t.Errorf("the session is\n%s", got)
	}
	again := work(t, w.cmd.Args[3], "--resume", "--pace", "0")
	if code, said, errs := again.end(); code != 0 || !strings.Contains(said, "with thanks to everybody") {
		t.Errorf("resumed, it ends with %d\n%s%s", code, said, errs)
	}
	if got := w.hindcast("doctor ."); !strings.Contains(got, "no faults") {
		t.Errorf("the doctor says %s", got)
	}
}
