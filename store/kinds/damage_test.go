package kinds_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// journaled are the stores of files that Hindcast writes to with its journal: a folder
// below testdata, what of it is taken, and the session.
var journaled = []struct{ name, path, part, session string }{
	{"strands", "strands/python-file", "session_basic", "basic"},
	{"strands-snapshots", "strands/python-snapshot", "session", "every-turn"},
	{"strands-typescript", "strands/typescript/unified", "session", "branching"},
	{"genkit", "genkit/go-1.13.1/barista", "global", "sess-main"},
}

// folder is a folder of files in memory: the names end with a slash where they are
// folders themselves.
type folder map[string][]byte

func readFolder(t *testing.T, dir string) folder {
	t.Helper()
	f := folder{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			f[filepath.ToSlash(name)+"/"] = nil
			return nil
		case !e.Type().IsRegular():
			return nil
		}
		f[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f folder) write(t *testing.T, dir string) {
	t.Helper()
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if err == nil {
			err = os.WriteFile(path, f[name], modeOf(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// modeOf returns the mode of a file: that of a kept one is in its name.
func modeOf(name string) fs.FileMode {
	_, octal, _ := strings.Cut(filepath.Base(name), "-")
	mode, err := strconv.ParseUint(octal, 8, 9)
	if err != nil || !strings.HasPrefix(name, ".hindcast/kept/") {
		return 0o644
	}
	return fs.FileMode(mode) | 0o600
}

// contents returns the digests of what the sessions hold and of what is kept, but for the
// kept files that are not what their names say, if all is false.
func (f folder) contents(all bool) map[[sha256.Size]byte]string {
	sums := map[[sha256.Size]byte]string{}
	for name, data := range f {
		own := strings.HasPrefix(name, ".hindcast/")
		kept := strings.HasPrefix(name, ".hindcast/kept/")
		sum := sha256.Sum256(data)
		switch {
		case strings.HasSuffix(name, "/"), own && !kept && !all:
		case kept && !all && !strings.HasPrefix(filepath.Base(name), fmt.Sprintf("%x-", sum)):
		default:
			sums[sum] = name
		}
	}
	return sums
}

// tookForAgents reports whether a file of a session now holds what lay in out/ under the
// number of a write that was broken off. It cannot be told from what an agent wrote into
// the middle of that write, and so it is put into its place, whatever it holds.
func (f folder) tookForAgents(now folder) bool {
	for name, data := range now {
		if strings.HasPrefix(name, ".hindcast/") || strings.HasSuffix(name, "/") || bytes.Equal(data, f[name]) {
			continue
		}
		for lay, foreign := range f {
			if strings.HasPrefix(lay, ".hindcast/out/") && !strings.HasSuffix(lay, "/") && bytes.Equal(data, foreign) {
				return true
			}
		}
	}
	return false
}

// memoryDir returns a folder for small files that come and go, in memory where that is
// to be had: a sync then costs nothing.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "hindcast-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// bounded runs a command line in this process, and says when it panics or hangs.
func bounded(t *testing.T, args ...string) (code int, told string) {
	t.Helper()
	done := make(chan string, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		var out, wrong string
		code, out, wrong = inProcess(t, args...)
		told = out + wrong
		done <- ""
	}()
	select {
	case wrong := <-done:
		if wrong != "" {
			t.Fatalf("%q: %s", args, wrong)
		}
	case <-time.After(20 * time.Second): // others have the processors, too
		t.Fatalf("%q: no answer after 20 s", args)
	}
	return code, told
}

// lived returns a store after some writes, once finished and once as if the last of them
// had been killed before the journal said that it was done.
func lived(t *testing.T, path, part, session string, writes [][]string) (finished, killed folder) {
	t.Helper()
	dir := filepath.Join(memoryDir(t), "store")
	if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(testdata, path, part))); err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		args := append([]string{w[0], dir}, w[1:]...)
		if code, out := bounded(t, append(args, "--yes", "--anyway")...); code != 0 {
			t.Fatalf("%q: %d %s", args, code, out)
		}
	}
	finished = readFolder(t, dir)
	killed = folder{}
	for name, data := range finished {
		killed[name] = data
	}
	lines := bytes.Split(bytes.TrimSpace(finished[".hindcast/journal"]), []byte("\n"))
	killed[".hindcast/journal"] = append(bytes.Join(lines[:len(lines)-1], []byte("\n")), '\n')
	return finished, killed
}

// mutations are what may become of the files in .hindcast. Each changes one file, with
// the help of another.
var mutations = []struct {
	name string
	do   func(f folder, random *rand.Rand, one, other string)
}{
	{"flip", func(f folder, random *rand.Rand, one, _ string) {
		data := slices.Clone(f[one])
		if len(data) > 0 {
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		}
		f[one] = data
	}},
	{"truncate", func(f folder, random *rand.Rand, one, _ string) { f[one] = f[one][:random.IntN(len(f[one])+1)] }},
	{"swap", func(f folder, _ *rand.Rand, one, other string) { f[one], f[other] = f[other], f[one] }},
	{"duplicate", func(f folder, _ *rand.Rand, one, other string) { f[one] = f[other] }},
	{"append", func(f folder, _ *rand.Rand, one, other string) { f[one] = append(slices.Clone(f[one]), f[other]...) }},
	{"delete", func(f folder, _ *rand.Rand, one, _ string) { delete(f, one) }},
	{"foreign", func(f folder, _ *rand.Rand, one, _ string) { f[one] = []byte("what is this") }},
	{"foreign beside", func(f folder, _ *rand.Rand, one, _ string) { f[one+"x"] = []byte("what is this") }},
	{"foreign on its way", func(f folder, random *rand.Rand, _, other string) {
		f[fmt.Sprintf(".hindcast/out/%d.%d", random.IntN(6), random.IntN(6))] = f[other]
	}},
	{"folder", func(f folder, _ *rand.Rand, one, _ string) { delete(f, one); f[one+"/in/it/"] = nil }},
}

// special puts what is no file in the place of one.
func special(t *testing.T, random *rand.Rand, path string) string {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if random.IntN(2) == 0 {
		storetest.Pipe(t, path)
		return "pipe"
	}
	if err := os.Symlink("/etc/hostname", path); err != nil {
		t.Fatal(err)
	}
	return "symlink"
}

// damages is how many stores are damaged in all. HINDCAST_DAMAGES says another number.
func damages(t *testing.T) int {
	if text := os.Getenv("HINDCAST_DAMAGES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return 40
	}
	return storetest.Sized(80, 200)
}

// TestJournal_damaged damages what Hindcast keeps beside the sessions, in every way and
// as often as HINDCAST_DAMAGES says, and runs every command. None panics or hangs, those
// that read always read, and no byte is lost that a session held or that was kept and
// is what its name says.
func TestJournal_damaged(t *testing.T) {
	skip.Sequential(t)
	seed := seedOf(t)
	for i, v := range journaled {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			restore := []string{"restore", v.session, "#1"}
			var starts []folder
			for _, writes := range [][][]string{
				{restore},
				{restore, {"undo"}},
				{restore, {"undo"}, {"redo"}},
				{restore, {"fork", v.session, "head", "--as", "forked"}, {"undo"}},
				{restore, {"fork", v.session, "head", "--as", "forked"}},
			} {
				finished, killed := lived(t, v.path, v.part, v.session, writes)
				starts = append(starts, finished, killed)
			}
			wanted := damages(t) / len(journaled)
			codes := map[string]int{}
			for n := range wanted {
				damage(t, random, starts[n%len(starts)], v.session, codes)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d stores; exit codes %v", wanted, codes)
			for _, write := range []string{"restore", "undo", "redo", "fork", "purge"} {
				if wanted >= 50 && write != "purge" && (codes[write+" 0"] == 0 || codes[write+" 1"] == 0) {
					t.Errorf("%s: it must both succeed and be refused: %v", write, codes)
				}
			}
		})
	}
}

// damage damages one store once to three times and runs every command on it.
func damage(t *testing.T, random *rand.Rand, start folder, session string, codes map[string]int) {
	t.Helper()
	f := folder{}
	var targets []string
	for name, data := range start {
		f[name] = data
		if strings.HasPrefix(name, ".hindcast/") && !strings.HasSuffix(name, "/") {
			targets = append(targets, name)
		}
	}
	slices.Sort(targets)
	pick := func() string {
		// The journal is one file of many, and the most interesting one.
		if random.IntN(6) == 0 {
			return ".hindcast/journal"
		}
		return targets[random.IntN(len(targets))]
	}
	var did []string
	for range 1 + random.IntN(3) {
		m := mutations[random.IntN(len(mutations))]
		one, other := pick(), pick()
		if f[one] == nil || f[other] == nil {
			continue // it is gone already
		}
		m.do(f, random, one, other)
		did = append(did, fmt.Sprintf("%s %s %s", m.name, one, other))
	}
	dir := filepath.Join(memoryDir(t), "store")
	f.write(t, dir)
	if random.IntN(8) == 0 {
		if one := pick(); f[one] != nil {
			did = append(did, special(t, random, filepath.Join(dir, filepath.FromSlash(one)))+" "+one)
		}
	}
	before := readFolder(t, dir).contents(false)

	read := func(when string, reads ...[]string) {
		for _, args := range reads {
			if code, out := bounded(t, args...); code != 0 && !(code == 1 && f.tookForAgents(readFolder(t, dir))) {
				t.Fatalf("%q, %s: %q: exit code %d: %s", did, when, args, code, out)
			}
		}
		code, out := bounded(t, "doctor", dir)
		if code != 0 && code != 3 {
			t.Fatalf("%q, %s: doctor: exit code %d: %s", did, when, code, out)
		}
		codes[fmt.Sprint("doctor ", code)]++
		code, _ = bounded(t, "journal", dir)
		codes[fmt.Sprint("journal ", code)]++
	}
	read("damaged", []string{"log", dir, session}, []string{"log", dir, session, "--json"}, []string{"show", dir, session, "head"},
		[]string{"messages", dir, session, "head"}, []string{"sessions", dir})
	for _, args := range [][]string{
		{"restore", dir, session, "#0"}, {"undo", dir}, {"undo", dir}, {"redo", dir}, {"fork", dir, session, "head", "--as", "another"}, {"undo", dir}, {"purge", dir, session, "--all"},
	} {
		code, out := bounded(t, append(args, "--yes", "--anyway")...)
		codes[fmt.Sprint(args[0], " ", code)]++
		if code != 0 && code != 1 {
			t.Fatalf("%q: %q: exit code %d: %s", did, args, code, out)
		}
		if args[0] == "purge" {
			break // it deletes
		}
		after := readFolder(t, dir).contents(true)
		for sum, name := range before {
			if after[sum] == "" {
				t.Fatalf("%q: %q (exit code %d: %s): the bytes of %s are lost", did, args, code, out, name)
			}
		}
	}
	read("written", []string{"log", dir, session})
}

// TestJournal_keptSwapped swaps what two kept files hold. All commands that read do so,
// the doctor tells of it once, and what needs one of the two refuses and names it.
func TestJournal_keptSwapped(t *testing.T) {
	skip.Sequential(t)
	for _, v := range journaled {
		t.Run(v.name, func(t *testing.T) {
			f, _ := lived(t, v.path, v.part, v.session, [][]string{{"restore", v.session, "#1"}})
			var kept []string
			for name := range f {
				if strings.HasPrefix(name, ".hindcast/kept/") && !strings.HasSuffix(name, "/") {
					kept = append(kept, name)
				}
			}
			slices.Sort(kept)
			if len(kept) < 2 {
				t.Fatal("nothing to swap")
			}
			for i := range len(kept) - 1 {
				f[kept[i]], f[kept[i+1]] = f[kept[i+1]], f[kept[i]] // each is another one's
			}
			dir := filepath.Join(memoryDir(t), "store")
			f.write(t, dir)
			for _, args := range [][]string{{"log", dir, v.session}, {"show", dir, v.session, "head"}, {"sessions", dir}, {"journal", dir}, {"messages", dir, v.session, "head"}} {
				if code, out := bounded(t, args...); code != 0 {
					t.Errorf("%q: exit code %d: %s", args, code, out)
				}
			}
			code, out := bounded(t, "doctor", dir)
			told := strings.Join(strings.Fields(out), " ")
			if code != 3 || strings.Count(told, "not what its name") != 1 || !strings.Contains(told, kept[0]) {
				t.Errorf("the doctor: %d %s", code, out)
			}
			for _, args := range [][]string{{"undo", dir, "--yes"}, {"undo", dir, "--yes"}} {
				code, out := bounded(t, args...)
				if code != 1 || !strings.Contains(out, ".hindcast/kept/") || !strings.Contains(out, "put the true file back") {
					t.Errorf("%q: exit code %d: %s", args, code, out)
				}
			}
			if code, out := bounded(t, "redo", dir, "--yes"); code != 1 {
				t.Errorf("redo: %d %s", code, out)
			}
			if code, out := bounded(t, "fork", dir, v.session, "head", "--as", "another", "--yes", "--anyway"); code != 0 {
				t.Errorf("a fork, which needs none of them: %d %s", code, out)
			}
			if code, out := bounded(t, "restore", dir, v.session, "#0", "--yes", "--anyway"); code != 0 && !strings.Contains(out, ".hindcast/kept/") {
				t.Errorf("restore: %d %s", code, out)
			}
			bounded(t, "purge", dir, v.session, "--all", "--yes", "--anyway")
			if code, out := bounded(t, "log", dir, v.session); code != 0 {
				t.Errorf("log: %d %s", code, out)
			}
		})
	}
}

// TestWrites_apart writes in place, as an editor does, into every file that a restore,
// a fork, an undo or a redo made. No other file changes: not what is kept, and not the
// files that were copied. Then all is taken back.
func TestWrites_apart(t *testing.T) {
	skip.Sequential(t)
	for _, v := range journaled {
		t.Run(v.name, func(t *testing.T) {
			dir := filepath.Join(memoryDir(t), "store")
			if err := os.CopyFS(filepath.Join(dir, v.part), os.DirFS(filepath.Join(testdata, v.path, v.part))); err != nil {
				t.Fatal(err)
			}
			first := readFolder(t, dir)
			made := 0
			for _, args := range [][]string{
				{"restore", dir, v.session, "#1"}, {"undo", dir}, {"redo", dir},
				{"fork", dir, v.session, "head", "--as", "forked"}, {"undo", dir}, {"redo", dir}, {"undo", dir}, {"undo", dir},
			} {
				was := readFolder(t, dir)
				if code, out := bounded(t, append(args, "--yes", "--anyway")...); code != 0 {
					t.Fatalf("%q: %d %s", args, code, out)
				}
				is := readFolder(t, dir)
				for name, data := range is {
					old, there := was[name]
					if strings.HasPrefix(name, ".hindcast/") || strings.HasSuffix(name, "/") || there && bytes.Equal(old, data) {
						continue
					}
					made++
					path := filepath.Join(dir, filepath.FromSlash(name))
					inPlace(t, path, []byte("an edit in place"))
					for other, now := range readFolder(t, dir) {
						if other != name && !bytes.Equal(now, is[other]) {
							t.Errorf("%q: a write into %s changes %s", args, name, other)
						}
					}
					inPlace(t, path, data)
				}
			}
			if made < 6 {
				t.Errorf("only %d files were made", made)
			}
			for name, data := range readFolder(t, dir) {
				if old, there := first[name]; !strings.HasPrefix(name, ".hindcast/") && (!there || !bytes.Equal(old, data)) {
					t.Errorf("%s is not as it was", name)
				}
			}
			if code, out := bounded(t, "doctor", dir); strings.Contains(out, "not what its name") {
				t.Errorf("the doctor: %d %s", code, out)
			}
		})
	}
}

// inPlace writes into a file as it is.
func inPlace(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err = f.Close(); err != nil {
		t.Fatal(err)
	}
}
