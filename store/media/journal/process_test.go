package journal_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
	"hindcast/store/storetest/skip"
)

var kills = flag.Int("kills", 200, "how often TestKill_anyInstant kills a process")

// The tests start themselves as another process: the variable says what that does.
const roleVariable = "HINDCAST_JOURNAL_TEST"

func TestMain(m *testing.M) {
	role := strings.Fields(os.Getenv(roleVariable))
	if len(role) == 0 {
		os.Exit(m.Run())
	}
	if err := roles[role[0]](role[1], role[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// roles are what such a process does in a folder.
var roles = map[string]func(dir string, args []string) error{
	"step":    roleStep,
	"restore": roleRestore,
	"write":   roleWrite,
}

// start starts another process in a role.
func start(t *testing.T, role ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(role, " "))
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	return cmd
}

// begin starts another process, and returns a function that waits until it has begun.
func begin(t *testing.T, role ...string) (cmd *exec.Cmd, begun func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(role, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, func() {
		t.Helper()
		_, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
	}
}

// roleStep does the i-th step of the life, or recovers where i is -1, and kills
// itself at the n-th call of the disk if n is not -1.
func roleStep(dir string, args []string) error {
	i, _ := strconv.Atoi(args[0])
	n, _ := strconv.Atoi(args[1])
	d, err := disk.Open(dir)
	if err != nil {
		return err
	}
	f := &disktest.Faulty{Disk: d, Hook: func(call disktest.Call) error {
		if call.N == n {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {} // until it is done
		}
		return nil
	}}
	if i < 0 {
		return journal.New(f, journal.Options{}).Recover(context.Background())
	}
	return life[i].apply(context.Background(), f, nil)
}

// treeOf returns what is in a folder on a real disk as Memory.Tree does.
func treeOf(t *testing.T, dir string, keep func(string) bool) map[string]string {
	t.Helper()
	tree := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		full, _ := filepath.Rel(dir, name)
		full = filepath.ToSlash(full)
		switch {
		case err != nil || full == ".":
			return err
		case !keep(full) && e.IsDir():
			return fs.SkipDir
		case !keep(full):
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			tree[full+"/"] = fmt.Sprintf("%03o", info.Mode().Perm())
			return nil
		}
		data, err := os.ReadFile(name)
		tree[full] = fmt.Sprintf("%03o %s", info.Mode().Perm(), data)
		return err
	}))
	return tree
}

// unfold writes a disk into a folder. Files that share their bytes there do not here.
func unfold(t *testing.T, m *disktest.Memory, dir string) {
	t.Helper()
	for name, text := range m.Tree(whole) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		mode, err := strconv.ParseUint(text[:3], 8, 32)
		must(t, err)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(full, 0o755))
			must(t, os.Chmod(full, fs.FileMode(mode)))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(text[4:]), 0o600))
		must(t, os.Chmod(full, fs.FileMode(mode)))
	}
}

// fold reads a folder into a disk in memory.
func fold(t *testing.T, dir string) *disktest.Memory {
	t.Helper()
	m := disktest.NewMemory(nil, 0)
	tree := treeOf(t, dir, whole)
	var folders []string
	for name := range tree {
		if strings.HasSuffix(name, "/") {
			folders = append(folders, strings.TrimSuffix(name, "/"))
		}
	}
	for depth := range 10 {
		for _, name := range folders {
			if strings.Count(name, "/") == depth {
				mode, err := strconv.ParseUint(tree[name+"/"], 8, 32)
				must(t, err)
				must(t, m.Mkdir(name, fs.FileMode(mode)))
			}
		}
	}
	for name, text := range tree {
		if !strings.HasSuffix(name, "/") {
			mode, err := strconv.ParseUint(text[:3], 8, 32)
			must(t, err)
			must(t, m.Create(name, []byte(text[4:]), fs.FileMode(mode)))
		}
	}
	return m
}

// TestKill_everyCall kills a real process at every call of every write and of its
// recovery, on a real disk.
func TestKill_everyCall(t *testing.T) {
	skip.Sequential(t)
	runs := 0
	for i, c := range chapters(t, story()) {
		if testing.Short() && i != 0 {
			continue
		}
		every := 1
		if testing.Short() {
			every = 4
		}
		for n := 0; ; n += every {
			dir := t.TempDir()
			unfold(t, c.before, dir)
			over := start(t, "step", dir, strconv.Itoa(i), strconv.Itoa(n)).Wait() == nil
			runs++
			broken := fold(t, dir)
			if n%5 == 0 && !over { // and the recovery somewhere
				start(t, "step", dir, "-1", strconv.Itoa(n/5)).Wait()
				runs++
			}
			d, err := disk.Open(dir)
			must(t, err)
			err = journal.New(d, journal.Options{}).Recover(t.Context())
			must(t, err)
			must(t, d.Close())
			done, err := c.check(fold(t, dir))
			if err == nil && over && !done {
				err = errors.New("it was not killed, and is not done")
			}
			if err != nil {
				t.Fatalf("%s, killed at %d: %v", c.name, n, err)
			}
			if _, err := c.check(broken); err != nil {
				t.Fatalf("%s, killed at %d: %v", c.name, n, err)
			}
			must(t, os.RemoveAll(dir))
			if over {
				break
			}
		}
	}
	t.Logf("%d processes", runs)
}

// roleRestore restores the first session of a folder to and fro until it is killed,
// or as often as it is told. Whoever else writes is waited for.
func roleRestore(dir string, args []string) error {
	times, _ := strconv.Atoi(args[0])
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	fmt.Println("begun")
	_, _, err := restoreOften(dir, times, seed)
	return err
}

// restoreOften sets messages aside, puts them back, undoes and redoes at random, and
// gives how often that was done and how often somebody else was in the way.
func restoreOften(dir string, times int, seed uint64) (done, refused int, err error) {
	d, err := disk.Open(dir)
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	j := journal.New(d, journal.Options{Ignore: func(name string) bool { return strings.HasSuffix(name, ".tmp") }})
	for n := 0; n < times || times == 0; n++ {
		err := restoreOnce(ctx, j, d, rng)
		nothing := (*model.NothingToError)(nil)
		gone := (*journal.PurgedError)(nil)
		switch {
		case err == nil:
			done++
		case errors.Is(err, model.ErrHeadMoved), errors.Is(err, disk.ErrLocked):
			refused++
		case errors.As(err, &nothing), errors.As(err, &gone), errors.Is(err, fs.ErrNotExist):
		default:
			return done, refused, err
		}
	}
	return done, refused, nil
}

func restoreOnce(ctx context.Context, j *journal.Journal, d disk.Disk, rng *rand.Rand) error {
	var plan model.Plan
	var err error
	switch rng.IntN(4) {
	case 0:
		plan, err = j.PlanUndo(ctx)
	case 1:
		plan, err = j.PlanRedo(ctx)
	default:
		draft := j.Draft()
		draft.Expect("s/m")
		names, err := d.Names("s/m")
		if err != nil {
			return err
		}
		for len(names) > 4 && rng.IntN(3) > 0 {
			if last := names[len(names)-1]; !strings.HasSuffix(last, ".tmp") {
				draft.SetAside("s/m/" + last)
			}
			names = names[:len(names)-1]
		}
		draft.Put("s/agent.json", fmt.Appendf(nil, "restored %d", rng.Uint64()))
		if plan, err = draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"}); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	_, err = j.Apply(ctx, plan, nil)
	return err
}

// roleWrite is an agent that goes on with its session: it writes messages, each with
// a text of its own, through one temporary file with a fixed name.
func roleWrite(dir string, args []string) error {
	times, _ := strconv.Atoi(args[0])
	for n := range times {
		name := filepath.Join(dir, "s", "m", fmt.Sprintf("9%06d", n))
		if err := os.WriteFile(name+".tmp", fmt.Appendf(nil, "written %d", n), 0o640); err != nil {
			return err
		}
		if err := os.Rename(name+".tmp", name); err != nil {
			return err
		}
	}
	return nil
}

// TestKill_anyInstant kills a process that restores, undoes and redoes, at any moment.
func TestKill_anyInstant(t *testing.T) {
	skip.Sequential(t)
	times := *kills
	if testing.Short() {
		times = min(times, 20)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	broken := 0
	const life = 25 // kills of a folder: its journal grows, and is read before each write
	n := 0
	for ; n < times || broken < times/50 && n < 20*times; n += life { // a busy machine is slow to begin a write
		broken += killOften(t, t.TempDir(), life, rng)
	}
	t.Logf("%d kills, %d of them within a write", n, broken)
	if broken < times/50 {
		t.Error("too few to show anything")
	}
}

// killOften kills a process that writes in a folder, several times, and returns how often
// it was within a write.
func killOften(t *testing.T, dir string, times int, rng *rand.Rand) (broken int) {
	unfold(t, story(), dir)
	first := map[string]bool{}
	for _, text := range treeOf(t, dir, live) {
		first[text] = true
	}
	for n := range times {
		cmd, begun := begin(t, "restore", dir, "0", strconv.FormatUint(rng.Uint64(), 10))
		begun()
		time.Sleep(time.Duration(rng.IntN(5_000)) * time.Microsecond) // where it is then is the point
		must(t, cmd.Process.Kill())
		cmd.Wait()
		d, err := disk.Open(dir)
		must(t, err)
		j := journal.New(d, journal.Options{})
		open, err := j.OpenEntry(t.Context())
		must(t, err)
		if open != nil {
			broken++
		}
		must(t, j.Recover(t.Context()))
		all := treeOf(t, dir, whole)
		must(t, j.Recover(t.Context()))
		if !maps.Equal(all, treeOf(t, dir, whole)) {
			t.Fatal("a second recovery changed something")
		}
		asJournaled(t, dir, j)
		must(t, d.Close())
		have := map[string]bool{}
		for _, text := range all {
			have[text] = true
		}
		for text := range first {
			if !have[text] {
				t.Fatalf("after %d kills: %.40q is lost", n+1, text)
			}
		}
	}
	return broken
}

// asJournaled checks that every file is as the journal says that it was left.
func asJournaled(t *testing.T, dir string, j *journal.Journal) {
	t.Helper()
	list, err := j.Entries(t.Context())
	must(t, err)
	last := map[string]journal.Version{}
	undone := 0
	for _, e := range list {
		if e.Undone {
			undone++
		}
		for _, c := range e.Changes() {
			switch _, known := last[c.Path]; {
			case !e.Undone:
				last[c.Path] = c.After
			case !known:
				last[c.Path] = c.Before
			}
		}
	}
	for name, want := range last {
		if got, err := j.Version(name); err != nil || got != want {
			t.Fatalf("%s is %v, the journal says %v (%v, %d of %d undone)", name, got, want, err, undone, len(list))
		}
	}
}

// TestApply_manyAtOnce lets two processes and two goroutines of this one restore,
// undo and redo in one store while an agent writes, as older SDKs do, through a
// temporary file of a fixed name.
func TestApply_manyAtOnce(t *testing.T) {
	times, messages := 60, 400
	if testing.Short() {
		times, messages = 10, 60
	}
	dir := t.TempDir()
	unfold(t, story(), dir)
	var processes []*exec.Cmd
	for i := range 2 {
		processes = append(processes, start(t, "restore", dir, strconv.Itoa(times), strconv.Itoa(10+i)))
	}
	processes = append(processes, start(t, "write", dir, strconv.Itoa(messages)))
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			done, refused, err := restoreOften(dir, times, uint64(20+i))
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d done, %d refused", done, refused)
		})
	}
	wg.Wait()
	for _, cmd := range processes {
		must(t, cmd.Wait())
	}
	d, err := disk.Open(dir)
	must(t, err)
	defer d.Close()
	j := journal.New(d, journal.Options{})
	must(t, j.Recover(t.Context()))
	list, err := j.Entries(t.Context())
	must(t, err)
	for _, e := range list {
		if e.Broken != "" {
			t.Errorf("write %d was broken off: %s", e.ID, e.Broken)
		}
	}
	have := map[string]bool{}
	for _, text := range treeOf(t, dir, whole) {
		have[text] = true
	}
	for n := range messages {
		if !have[fmt.Sprintf("640 written %d", n)] {
			t.Errorf("message %d of the agent is lost", n)
		}
	}
	for _, text := range []string{"zeroth", "first", "second", "twice", "agent at 6"} {
		if !have["640 "+text] {
			t.Errorf("%s is lost", text)
		}
	}
}
