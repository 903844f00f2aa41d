package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/store/media/disk"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/storetest/skip"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// real is a disk of a folder.
type real interface {
	disk.Disk
	Close() error
}

// eachReal runs a test on a new folder, opened as this system does and as the others do.
func eachReal(t *testing.T, test func(t *testing.T, dir string, d real)) {
	for name, open := range map[string]func(dir string) (real, error){
		"OS":     func(dir string) (real, error) { return disk.Open(dir) },
		"Rooted": func(dir string) (real, error) { return disk.OpenRooted(dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d, err := open(dir)
			must(t, err)
			defer d.Close()
			test(t, dir, d)
		})
	}
}

// each runs a test on a disk of every sort.
func each(t *testing.T, test func(t *testing.T, d disk.Disk)) {
	eachReal(t, func(t *testing.T, _ string, d real) { test(t, d) })
	t.Run("Memory", func(t *testing.T) { test(t, disktest.NewMemory(nil, 0)) })
}

func read(t *testing.T, d disk.Disk, name string) string {
	t.Helper()
	data, err := d.Read(name)
	must(t, err)
	return string(data)
}

// refuse checks an error and that it names the file once.
func refuse(t *testing.T, err, want error, name string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v instead of %v", err, want)
	} else if strings.Count(err.Error(), name) != 1 {
		t.Errorf("%v: does not name %s once", err, name)
	}
}

func TestDisk(t *testing.T) {
	each(t, func(t *testing.T, d disk.Disk) {
		must(t, d.Mkdir("a", 0o750))
		must(t, d.Mkdir("a/b", 0o700))
		must(t, d.Create("a/b/one", []byte("first"), 0o640))
		refuse(t, d.Create("a/b/one", []byte("second"), 0o640), fs.ErrExist, "a/b/one")
		refuse(t, d.Mkdir("a/b", 0o700), fs.ErrExist, "a/b")
		must(t, d.Append("a/b/one", []byte(", then")))
		if got := read(t, d, "a/b/one"); got != "first, then" {
			t.Errorf("%q", got)
		}
		info, err := d.Lstat("a/b/one")
		must(t, err)
		if info.Mode() != 0o640 || info.Size() != 11 || info.Name() != "one" || info.IsDir() || info.ModTime().IsZero() {
			t.Error(info.Mode(), info.Size(), info.Name())
		}
		folder, err := d.Lstat("a")
		must(t, err)
		if folder.Mode() != fs.ModeDir|0o750 {
			t.Error(folder.Mode())
		}
		must(t, d.Mkdir("open", 0o777))
		must(t, d.Create("open/file", nil, 0o666))
		for name, want := range map[string]fs.FileMode{"open": fs.ModeDir | 0o777, "open/file": 0o666} {
			if info, err := d.Lstat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: the umask is in the mode: %v, %v", name, info, err)
			}
		}
		must(t, d.Copy("a/b/one", "a/two", 0o604))
		refuse(t, d.Copy("a/b/one", "a/two", 0o600), fs.ErrExist, "a/two")
		data, copied, err := d.Load("a/two", make([]byte, 3, 100))
		must(t, err)
		if d.SameFile(info, copied) || d.SameFile(info, folder) || string(data) != "first, then" ||
			copied.Mode() != 0o604 || !copied.ModTime().Equal(info.ModTime()) {
			t.Error("not a copy of the file", copied.Mode(), copied.ModTime(), info.ModTime())
		}
		must(t, d.Copy("a/b/one", "sealed", 0o400))
		must(t, d.Flush([]string{"a/two", "a/b/one", "sealed"}))
		must(t, d.Append("a/two", []byte(", too")))
		if got := read(t, d, "a/b/one"); got != "first, then" {
			t.Errorf("%q after a write into its copy", got)
		}
		must(t, d.Remove("a/two"))
		must(t, d.Copy("a/b/one", "a/two", 0o600))
		must(t, d.Create("three", []byte("third"), 0o400))
		refuse(t, d.Place("three", "a/two"), fs.ErrExist, "a/two")
		if err := d.Exchange("three", "a/two"); !errors.Is(err, errors.ErrUnsupported) {
			must(t, err)
			if read(t, d, "three") != "first, then" || read(t, d, "a/two") != "third" {
				t.Error("not exchanged")
			}
		}
		must(t, d.Place("three", "a/four"))
		must(t, d.Rename("a/four", "a/two"))
		names, err := d.Names("a")
		must(t, err)
		if !slices.Equal(names, []string{"b", "two"}) {
			t.Error(names)
		}
		for _, name := range []string{"a/two", "a/b", "a", "."} {
			must(t, d.Sync(name))
		}
		if err := d.Remove("a/b"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Error("a folder with a file in it is removed:", err)
		}
		must(t, d.Remove("a/b/one"))
		must(t, d.Remove("a/b"))
		must(t, d.Remove("a/two"))
		for what, err := range map[string]error{
			"remove": d.Remove("a/two"), "rename": d.Rename("a/two", "x"), "place": d.Place("a/two", "x"), "copy": d.Copy("a/two", "x", 0o600),
			"exchange": d.Exchange("a/two", "a"), "append": d.Append("a/two", nil), "sync": d.Sync("a/two"), "create": d.Create("a/two/x", nil, 0o600),
		} {
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := d.Read("a"); !errors.Is(err, disk.ErrNotRegular) {
			t.Error(err)
		}
	})
}

// TestDisk_names refuses every name that is not one below the folder.
func TestDisk_names(t *testing.T) {
	each(t, func(t *testing.T, d disk.Disk) {
		must(t, d.Create("file", []byte("x"), 0o600))
		for _, name := range []string{"", "..", "../x", "/etc/passwd", "a/../../x", "a//b", "a/", "./file"} {
			_, failed := d.Lstat(name)
			_, unread := d.Read(name)
			_, unlisted := d.Names(name)
			_, unlocked := d.Lock(name)
			for what, err := range map[string]error{
				"lstat": failed, "read": unread, "names": unlisted, "lock": unlocked,
				"create": d.Create(name, nil, 0o600), "append": d.Append(name, nil), "mkdir": d.Mkdir(name, 0o700), "remove": d.Remove(name), "sync": d.Sync(name),
				"copy": d.Copy("file", name, 0o600), "copy from": d.Copy(name, "new", 0o600), "rename": d.Rename("file", name), "place": d.Place("file", name),
			} {
				if err == nil {
					t.Errorf("%s %q", what, name)
				}
			}
		}
	})
}

func TestDisk_lock(t *testing.T) {
	each(t, func(t *testing.T, d disk.Disk) {
		unlock, err := d.Lock("lock")
		must(t, err)
		if _, err := d.Lock("lock"); !errors.Is(err, disk.ErrLocked) {
			t.Error(err)
		}
		must(t, unlock())
		unlock, err = d.Lock("lock")
		must(t, err)
		must(t, unlock())
	})
}

// TestReal_lockRemoved: who removes the lock's file does not make two have the lock.
func TestReal_lockRemoved(t *testing.T) {
	eachReal(t, func(t *testing.T, dir string, d real) {
		first, err := d.Lock("lock")
		must(t, err)
		must(t, d.Remove("lock"))
		second, err := d.Lock("lock") // a file of its own: the first is out of reach
		must(t, err)
		if _, err := d.Lock("lock"); !errors.Is(err, disk.ErrLocked) {
			t.Error(err)
		}
		must(t, first())
		must(t, second())
	})
}

// TestReal_links: nothing is done through a symbolic link, be it the file or a folder on
// the way, whether it leads outside or not.
func TestReal_links(t *testing.T) {
	eachReal(t, func(t *testing.T, dir string, d real) {
		outside := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
		for _, at := range []string{filepath.Join(dir, "real", "file"), filepath.Join(outside, "file")} {
			must(t, os.WriteFile(at, []byte("as it was"), 0o600))
		}
		for name, to := range map[string]string{"in": "real", "out": outside, "loop": "loop", "real/link": "file", "real/far": filepath.Join(outside, "file"), "real/none": "nowhere"} {
			must(t, os.Symlink(to, filepath.Join(dir, name)))
		}
		for _, way := range []string{"in", "out", "loop"} {
			name := way + "/file"
			_, looked := d.Lstat(name)
			_, got := d.Read(name)
			_, listed := d.Names(way)
			_, locked := d.Lock(name)
			for what, err := range map[string]error{
				"lstat": looked, "read": got, "names": listed, "lock": locked,
				"create": d.Create(way+"/new", nil, 0o600), "append": d.Append(name, []byte("x")), "mkdir": d.Mkdir(way+"/dir", 0o700),
				"remove": d.Remove(name), "sync": d.Sync(name), "rename": d.Rename(name, "x"), "rename to": d.Rename("real/file", way+"/x"),
				"place": d.Place("real/file", way+"/x"), "copy": d.Copy(name, "x", 0o600), "copy to": d.Copy("real/file", way+"/x", 0o600), "exchange": d.Exchange("real/file", name),
			} {
				if !errors.Is(err, disk.ErrSymlink) {
					t.Errorf("%s through %s: %v", what, way, err)
				}
			}
		}
		for _, name := range []string{"real/link", "real/far", "real/none"} {
			_, got := d.Read(name)
			for what, err := range map[string]error{"read": got, "append": d.Append(name, []byte("x")), "sync": d.Sync(name)} {
				if !errors.Is(err, disk.ErrSymlink) {
					t.Errorf("%s %s: %v", what, name, err)
				}
			}
			if err := d.Create(name, nil, 0o600); !errors.Is(err, fs.ErrExist) {
				t.Errorf("create %s: %v", name, err)
			}
			if _, err := d.Lock(name); err == nil {
				t.Errorf("%s is locked", name)
			}
			info, err := d.Lstat(name)
			must(t, err)
			if info.Mode()&fs.ModeSymlink == 0 {
				t.Error(info.Mode())
			}
		}
		for _, at := range []string{filepath.Join(dir, "real", "file"), filepath.Join(outside, "file")} {
			if data, err := os.ReadFile(at); err != nil || string(data) != "as it was" {
				t.Errorf("%s: %q, %v", at, data, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(outside, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestReal_pipes: nothing waits for the other end of a pipe.
func TestReal_pipes(t *testing.T) {
	eachReal(t, func(t *testing.T, dir string, d real) {
		if out, err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).CombinedOutput(); err != nil {
			skip.Missing(t, "there are no pipes: %v %s", err, out)
		}
		done := make(chan bool)
		go func() {
			defer close(done)
			if _, err := d.Read("pipe"); !errors.Is(err, disk.ErrNotRegular) {
				t.Error(err)
			}
			if err := d.Append("pipe", []byte("x")); !errors.Is(err, disk.ErrNotRegular) {
				t.Error(err)
			}
			if _, err := d.Names("pipe"); err == nil {
				t.Error("a pipe is listed")
			}
			d.Sync("pipe")
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("it waits")
		}
	})
}

func TestReal_tooLarge(t *testing.T) {
	eachReal(t, func(t *testing.T, dir string, d real) {
		f, err := os.Create(filepath.Join(dir, "large"))
		must(t, err)
		must(t, f.Truncate(disk.MaxSize+1)) // takes no space
		must(t, f.Close())
		if _, err := d.Read("large"); !errors.Is(err, disk.ErrTooLarge) {
			t.Error(err)
		}
	})
}

func TestReal_closed(t *testing.T) {
	eachReal(t, func(t *testing.T, dir string, d real) {
		must(t, d.Close())
		_, failed := d.Read("x")
		_, unlisted := d.Names(".")
		for _, err := range []error{failed, unlisted, d.Create("x", nil, 0o600), d.Rename("x", "y"), d.Sync(".")} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Error(err)
			}
		}
	})
}

// TestOS_exchange: where this is known to be there, it is.
func TestOS_exchange(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		skip.Missing(t, "the system exchanges no files")
	}
	d, err := disk.Open(t.TempDir())
	must(t, err)
	defer d.Close()
	must(t, d.Create("a", []byte("1"), 0o600))
	must(t, d.Create("b", []byte("2"), 0o600))
	must(t, d.Exchange("a", "b"))
	if read(t, d, "a") != "2" || read(t, d, "b") != "1" {
		t.Error("not exchanged")
	}
}

// TestReal_descriptors: no call leaves a descriptor open, whether it succeeds or not.
func TestReal_descriptors(t *testing.T) {
	eachReal(t, func(t *testing.T, dir string, d real) {
		count := func() int {
			list, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				skip.Missing(t, "the system does not list descriptors")
			}
			return len(list)
		}
		before := count()
		for range 20 {
			must(t, d.Mkdir("a", 0o700))
			must(t, d.Create("a/x", []byte("x"), 0o600))
			d.Create("a/x", nil, 0o600)
			must(t, d.Append("a/x", []byte("y")))
			d.Append("a", nil)
			d.Read("a")
			read(t, d, "a/x")
			d.Names("a")
			d.Names("a/x")
			must(t, d.Sync("a"))
			unlock, err := d.Lock("a/lock")
			must(t, err)
			d.Lock("a/lock")
			must(t, unlock())
			d.Exchange("a/x", "a/none")
			d.Place("a/x", "b/y")
			must(t, d.Remove("a/x"))
			must(t, d.Remove("a/lock"))
			must(t, d.Remove("a"))
		}
		if after := count(); after > before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	})
}

// TestHold: one holds a file until it is closed, and nothing but a regular file is held.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	must(t, os.Symlink("other", filepath.Join(dir, "link")))
	for range 2 {
		held, err := disk.Hold(name)
		must(t, err)
		_, err = disk.Hold(name)
		refuse(t, err, disk.ErrLocked, name)
		must(t, held.Close())
	}
	for _, name := range []string{dir, filepath.Join(dir, "link"), filepath.Join(dir, "none", "lock")} {
		if _, err := disk.Hold(name); err == nil {
			t.Errorf("%s is held", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was made where a link leads:", err)
	}
}
