//go:build amd64

package kinds_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"hindcast/model"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
)

// The program is killed at each of its calls that write, in each kind of rows and in both journal
// modes. The store then opens, its journal says what became of the write, and everything is taken
// back to identical tables.
func TestRows_killedAtEachCallThatWrites(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	hindcast := program.Path(t)
	step := storetest.Sized(11, 1)
	if os.Getenv("HINDCAST_KILLS") != "" {
		step = 1
	}
	for _, c := range []struct {
		name, session string
		args          []string
	}{
		{"langgraph/agent.db", "tour", []string{"restore", "3"}},
		{"adk/sqlite_service.db", "tour_app/u1/tour", []string{"fork", "4", "--as", "ff"}},
		{"adk/database_service.db", "tour_app/u1/tour", []string{"restore", "5"}},
		{"openaiagents/sqlite_session.db", "tour", []string{"fork", "4", "--as", "ff"}},
		{"crewai/checkpoints.db", "tour-77f0b5ae", []string{"restore", "0"}},
	} {
		for _, mode := range []string{"DELETE", "WAL"} {
			t.Run(c.name+" "+mode, func(t *testing.T) {
				within := 0
				for n, done := 1, false; !done; n += step {
					path := storetest.Copy(t, filepath.Join(testdata, c.name))
					own := sqlitefile.NewOwn(path, "&_pragma=journal_mode("+mode+")", nil)
					err := own.Write(t.Context(), func(*sqlitefile.Tx) error { return nil })
					if err = errors.Join(err, own.Close()); err != nil {
						t.Fatal(err)
					}
					tables := storetest.Tables(t, path)
					args := append([]string{c.args[0], path, c.session}, c.args[1:]...)
					done, err = runKilled(t, n, hindcast, append(args, "--yes", "--anyway")...)
					if err != nil {
						skip.Missing(t, "the system lets no program be followed: %v", err)
					}
					for _, beside := range []string{"-journal", "-wal"} {
						if info, err := os.Stat(path + beside); err == nil && info.Size() > 0 && !done {
							within++
						}
					}
					s, err := allKinds.Open(t.Context(), path)
					if err != nil {
						t.Fatalf("killed at call %d: %v", n, err)
					}
					if len(storetest.Headers(t, s, c.session)) == 0 {
						t.Errorf("killed at call %d: the session is empty", n)
					}
					for _, f := range storetest.Faults(t, s, "") {
						t.Errorf("killed at call %d: %+v", n, f)
					}
					list, err := s.Features().Journal(t.Context())
					if err != nil || done && len(list) != 1 {
						t.Errorf("killed at call %d: the journal is %v, %v", n, list, err)
					}
					for range list {
						plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
						if err == nil {
							_, err = s.Features().Apply(t.Context(), plan)
						}
						if err != nil {
							t.Errorf("killed at call %d: undo: %v", n, err)
						}
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					// What is left is settled as the agent would, which opens the file for writing.
					own = sqlitefile.NewOwn(path, "", nil)
					if err := errors.Join(own.Settle(t.Context()), own.Close()); err != nil {
						t.Errorf("killed at call %d: %v", n, err)
					}
					if got := storetest.Tables(t, path); got != tables {
						t.Errorf("killed at call %d: the tables are not those of before", n)
					}
					if t.Failed() {
						return
					}
				}
				if step == 1 && within == 0 {
					t.Error("no kill fell within a write of SQLite")
				}
			})
		}
	}
}

// The numbers of the calls of Linux on amd64 that change files.
var writing = map[uint64]bool{
	syscall.SYS_PWRITE64: true, syscall.SYS_WRITE: true, syscall.SYS_FSYNC: true, syscall.SYS_FDATASYNC: true, syscall.SYS_FTRUNCATE: true,
	syscall.SYS_UNLINK: true, syscall.SYS_UNLINKAT: true, syscall.SYS_RENAME: true, syscall.SYS_RENAMEAT: true, 316 /* renameat2 */ : true,
}

// runKilled runs a program, and kills it when it begins its n-th call that writes. It reports whether
// the program was done before that.
func runKilled(t *testing.T, n int, name string, args ...string) (done bool, err error) {
	t.Helper()
	runtime.LockOSThread() // only the thread that follows a process may ask for it
	defer runtime.UnlockOSThread()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), program.Env(t.TempDir())...)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		return false, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	const wall, sysGood, exitKill = 0x40000000, 1, 0x100000
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, wall, nil); err != nil {
		return false, err
	}
	if err := syscall.PtraceSetOptions(pid, sysGood|exitKill|syscall.PTRACE_O_TRACECLONE); err != nil {
		return false, err
	}
	inside := map[int]bool{} // threads that are within a call
	calls, at := 0, pid
	signal := 0
	for {
		if err := syscall.PtraceSyscall(at, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, err
		}
		if at, err = syscall.Wait4(-pid, &status, wall, nil); err != nil {
			return false, fmt.Errorf("wait: %w", err)
		}
		signal = 0
		switch {
		case at == pid && (status.Exited() || status.Signaled()):
			if calls < n && status.ExitStatus() != 0 {
				said, _ := os.ReadFile(out.Name())
				t.Fatalf("%q: %v\n%s", strings.Join(args, " "), status, said)
			}
			return calls < n, nil
		case status.Exited(), status.Signaled(), !status.Stopped():
			at = 0
		case status.StopSignal() == syscall.SIGTRAP|0x80:
			if inside[at] = !inside[at]; !inside[at] {
				break
			}
			var regs syscall.PtraceRegs
			if err := syscall.PtraceGetRegs(at, &regs); err != nil {
				break
			}
			if !writing[regs.Orig_rax] || regs.Orig_rax == syscall.SYS_WRITE && isPipe(pid, regs.Rdi) {
				break
			}
			if calls++; calls == n {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					return false, err
				}
			}
		case status.StopSignal() != syscall.SIGTRAP && status.StopSignal() != syscall.SIGSTOP:
			signal = int(status.StopSignal())
		}
	}
}

// isPipe reports whether a descriptor is none of a file that stays.
func isPipe(pid int, fd uint64) bool {
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	return err != nil || fd <= 2 || !strings.HasPrefix(to, "/")
}
