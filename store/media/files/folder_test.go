package files_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

// scene is a root with a folder "log" of one of each thing that a name can lead
// to, and a file beside it.
func scene(t *testing.T) (dir string, root *os.Root) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "root")
	for _, d := range []string{"log/folder", "elsewhere"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	write(t, filepath.Join(top, "outside"), "secret")
	write(t, filepath.Join(dir, "beside"), "beside")
	write(t, filepath.Join(dir, "log", "file"), "text")
	write(t, filepath.Join(dir, "log", "empty"), "")
	write(t, filepath.Join(dir, "log", "large"), "")
	must(t, os.Truncate(filepath.Join(dir, "log", "large"), files.MaxSize+1))
	for name, target := range map[string]string{"near": "file", "far": "../../outside", "gone": "nowhere", "up": "../elsewhere"} {
		must(t, os.Symlink(target, filepath.Join(dir, "log", name)))
	}
	must(t, os.Symlink("log", filepath.Join(dir, "logs")))
	must(t, os.Symlink("../..", filepath.Join(dir, "out")))
	storetest.Pipe(t, filepath.Join(dir, "log", "pipe"))
	return dir, open(t, dir)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func open(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

// opener opens a folder below a root.
type opener func(root *os.Root, dir string) (*files.Folder, error)

// of opens a folder until the test ends.
func (open opener) of(t testing.TB, root *os.Root, dir string) *files.Folder {
	t.Helper()
	f, err := open(root, dir)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// eachFolder runs a test on folders that are opened as this system does, and as the others do.
func eachFolder(t *testing.T, test func(t *testing.T, opening opener)) {
	for name, opening := range map[string]opener{"system": files.OpenFolder, "rooted": files.OpenRooted} {
		t.Run(name, func(t *testing.T) { test(t, opening) })
	}
}

// A folder and a root read the same, and refuse the same.
func TestReaders(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		_, root := scene(t)
		folder, linked := opening.of(t, root, "log"), opening.of(t, root, "logs")
		from := files.From(root)
		readers := map[string]files.Reader{
			"folder": folder.Read,
			"linked": linked.Read,
			"root":   func(name string, buf []byte) ([]byte, error) { return from("log/"+name, buf) },
		}
		for name, want := range map[string]error{
			"file": nil, "empty": nil,
			"near": files.ErrSymlink, "far": files.ErrSymlink, "gone": files.ErrSymlink, "up": files.ErrSymlink,
			"folder": files.ErrNotRegular, "pipe": files.ErrNotRegular,
			"large": files.ErrTooLarge, "missing": fs.ErrNotExist, "file\x00": fs.ErrInvalid,
			strings.Repeat("n", 5000): errAny,
		} {
			for which, read := range readers {
				data, err := read(name, []byte("used before"))
				if want == nil && string(data) != map[string]string{"file": "text"}[name] {
					t.Errorf("%s: %.10s is read as %q", which, name, data)
				}
				if want == errAny && err == nil || want != errAny && !errors.Is(err, want) {
					t.Errorf("%s: the error of %.10s is %v", which, name, err)
				}
				if err != nil && len(data) != 0 {
					t.Errorf("%s: %q comes with the error of %s", which, data, name)
				}
				if path := (*fs.PathError)(nil); errors.As(err, &path) {
					t.Errorf("%s: the error of %.10s names a path: %v", which, name, err)
				}
			}
		}
	})
}

// errAny is any error.
var errAny = errors.New("any")

// No name leads out of the folder, not even to what is in the root.
func TestFolder_staysInside(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir, root := scene(t)
		folder := opening.of(t, root, "log")
		for _, name := range []string{"", ".", "..", "/", "../beside", "folder/../file", "./file", "up/x", filepath.Join(dir, "log", "file"), "file/"} {
			if data, err := folder.Read(name, nil); !errors.Is(err, fs.ErrInvalid) || len(data) > 0 {
				t.Errorf("%q is read: %q, %v", name, data, err)
			}
			if _, err := folder.Stat(name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q is looked at: %v", name, err)
			}
		}
		for name, want := range map[string]error{"missing": fs.ErrNotExist, "out": errAny, "..": errAny, "/": errAny, "beside": errAny, "log/pipe": errAny, "log/pipe/x": errAny, "log/file/x": errAny} {
			if f, err := opening(root, name); err == nil || want != errAny && !errors.Is(err, want) {
				t.Errorf("the folder %s opens: %v, %v", name, f, err)
			}
		}
	})
}

// A buffer that is large enough is used, and one that is not is left behind.
func TestFolder_Read_intoABuffer(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		_, root := scene(t)
		folder := opening.of(t, root, "log")
		for _, size := range []int{0, 3, 4, 5, 100} {
			buf := make([]byte, size)
			data, err := folder.Read("file", buf)
			if string(data) != "text" || err != nil {
				t.Errorf("with %d bytes: %q, %v", size, data, err)
			}
			if inside := size > 0 && &data[0] == &buf[0]; inside != (size >= len("text")) {
				t.Errorf("of %d bytes, the buffer is used: %v", size, inside)
			}
		}
	})
}

// A kept folder gives what is in it now, each time.
func TestFolder_Names(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir, root := scene(t)
		must(t, os.MkdirAll(filepath.Join(dir, "many"), 0o755))
		folder := opening.of(t, root, "many")
		var want []string
		for n := range 3000 { // more than the system gives at once
			name := fmt.Sprint("message_", n, ".json")
			want = append(want, name)
			write(t, filepath.Join(dir, "many", name), "{}")
			if n%1000 == 999 {
				got, err := folder.Names()
				must(t, err)
				slices.Sort(got)
				if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(got, sorted) {
					t.Errorf("%d names of %d", len(got), len(want))
				}
			}
		}
		got, err := files.Names(root, "many")
		if len(got) != len(want) || err != nil {
			t.Errorf("from the root: %d names, %v", len(got), err)
		}
		entries, err := files.Entries(root, "many")
		if len(entries) != len(want) || err != nil {
			t.Errorf("from the root: %d entries, %v", len(entries), err)
		}
		for _, bad := range []string{"log/pipe", "log/pipe/x", "log/file", "missing", "out"} {
			if _, err := files.Names(root, bad); err == nil {
				t.Errorf("%s is listed", bad)
			}
			if _, err := files.Entries(root, bad); err == nil {
				t.Errorf("the entries of %s are listed", bad)
			}
		}
	})
}

// Another folder of its name is another folder.
func TestFolder_staysTheSame(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir, root := scene(t)
		folder := opening.of(t, root, "log")
		must(t, os.Rename(filepath.Join(dir, "log"), filepath.Join(dir, "old")))
		must(t, os.Mkdir(filepath.Join(dir, "log"), 0o755))
		write(t, filepath.Join(dir, "log", "file"), "of another")
		if data, err := folder.Read("file", nil); string(data) != "text" || err != nil {
			t.Errorf("it reads %q, %v", data, err)
		}
		names, err := folder.Names()
		if len(names) != 9 || err != nil {
			t.Errorf("it lists %q, %v", names, err)
		}
	})
}

func TestFolder_Stat(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir, root := scene(t)
		long := time.Now().Add(-time.Hour)
		for _, name := range []string{"file", "empty"} {
			must(t, os.Chtimes(filepath.Join(dir, "log", name), long, long))
		}
		folder := opening.of(t, root, "log")
		at, err := folder.Stat("file")
		must(t, err)
		if at.Size != 4 || !at.Modified.Equal(long) {
			t.Errorf("%+v", at)
		}
		again, err := folder.Stat("file")
		must(t, err)
		if !at.Same(again) {
			t.Errorf("looked at twice it is %+v and %+v", at, again)
		}
		if other, err := folder.Stat("empty"); at.Same(other) || err != nil {
			t.Errorf("two files are the same: %+v, %+v, %v", at, other, err)
		}
		if _, err := folder.Stat("missing"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		// A link is looked at, and not what it leads to.
		if link, err := folder.Stat("near"); at.Same(link) || link.Size != int64(len("file")) || err != nil {
			t.Errorf("%+v, %v", link, err)
		}
	})
}

// Whoever looks at a name sees the same kind and, of a file, the same content: a
// note that was made by one way of looking is found by any other.
func TestStamp_isTheSameFromEverywhere(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir, root := scene(t)
		long := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(filepath.Join(dir, "log", "file"), long, long))
		folder, on := opening.of(t, root, "log"), openDisk(t, dir)
		kinds := map[string]files.Kind{"file": files.Regular, "folder": files.Directory, "near": files.Link, "pipe": files.Other}
		for name, want := range kinds {
			before := time.Now()
			at, err := folder.Stat(name)
			if name == "pipe" && errors.Is(err, fs.ErrNotExist) {
				continue // not every system has pipes
			}
			must(t, err)
			looks := map[string]files.Stamp{"a folder": at}
			info, err := on.Lstat("log/" + name)
			must(t, err)
			looks["a disk"] = files.StampOf(info, before)
			info, err = root.Lstat("log/" + name)
			must(t, err)
			looks["a root"] = files.StampOf(info, before)
			for who, look := range looks {
				if look.Kind != want || want == files.Regular && !look.Same(at) {
					t.Errorf("%s sees %s as %+v instead of %+v", who, name, look, at)
				}
			}
		}
	})
}

func openDisk(t *testing.T, dir string) *disk.OS {
	t.Helper()
	on, err := disk.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, on.Close()) })
	return on
}

// A folder may be closed while it is in use: what comes after fails, and nothing
// else of the program is touched. Where the two meet is for the scheduler to say,
// so that it is done often.
func TestFolder_concurrently(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		_, root := scene(t)
		for range 500 {
			useAndClose(t, opening, root)
		}
	})
}

func useAndClose(t *testing.T, opening opener, root *os.Root) {
	t.Helper()
	folder, err := opening(root, "log")
	must(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var buf []byte
			for {
				var err, listed, looked error
				if buf, err = folder.Read("file", buf); err == nil && string(buf) != "text" {
					t.Errorf("it reads %q", buf)
				}
				names, listed := folder.Names()
				if listed == nil && len(names) != 9 {
					t.Errorf("it lists %q", names)
				}
				_, looked = folder.Stat("file")
				for _, err := range []error{err, listed, looked} {
					if err != nil && !errors.Is(err, fs.ErrClosed) {
						t.Error(err)
					}
				}
				if looked != nil {
					return
				}
			}
		})
	}
	must(t, folder.Close())
	all.Wait()
	if _, err := folder.Read("file", nil); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

func TestFolder_readStampedGivesTheStampOfStat(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, "a"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		f, err := opening(root, ".")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, stamp, err := f.ReadStamped("a", nil)
		want, wrong := f.Stat("a")
		if string(data) != "text" || err != nil || wrong != nil || !stamp.Same(want) {
			t.Errorf("%q, %v, %v; the stamp is %+v, that of Stat %+v", data, err, wrong, stamp, want)
		}
		for _, name := range []string{"missing", "", "../a", "."} {
			if _, _, err := f.ReadStamped(name, nil); err == nil {
				t.Errorf("%q is read", name)
			}
		}
	})
}

// An open file is read in parts, and closed once.
func TestFolder_OpenFile(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "a"), []byte("0123456789"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		folder, err := opening(root, ".")
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		f, err := folder.OpenFile("a")
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4)
		for at, want := range map[int64]string{0: "0123", 6: "6789", 8: "89", 10: ""} {
			n, err := f.ReadAt(buf, at)
			if string(buf[:n]) != want || (n < len(buf)) != errors.Is(err, io.EOF) {
				t.Errorf("at %d it has %q, %v", at, buf[:n], err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("it is closed again: %v", err)
		}
		for name, want := range map[string]error{"b": fs.ErrNotExist, ".": fs.ErrInvalid, "a/b": fs.ErrInvalid} {
			if _, err := folder.OpenFile(name); !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.OpenFile("d"); !errors.Is(err, files.ErrNotRegular) {
			t.Errorf("a folder: %v", err)
		}
	})
}

// A folder is another one's by what it is, whatever name or link leads to it.
func TestFolder_Leads(t *testing.T) {
	eachFolder(t, func(t *testing.T, opening opener) {
		dir, root := scene(t)
		top, log := opening.of(t, root, "."), opening.of(t, root, "log")
		for name, want := range map[string]bool{"log": true, "logs": true, "elsewhere": false, "beside": false, "none": false, ".": false} {
			if got := top.Leads(name, log); got != want {
				t.Errorf("%s leads to it: %v", name, got)
			}
		}
		must(t, os.Rename(filepath.Join(dir, "log"), filepath.Join(dir, "old")))
		must(t, os.Mkdir(filepath.Join(dir, "log"), 0o755))
		if top.Leads("log", log) || !top.Leads("old", log) {
			t.Error("another folder took its name")
		}
		must(t, log.Close())
		if top.Leads("old", log) {
			t.Error("a closed folder is led to")
		}
	})
}
