package kinds_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// mostSurveyed is how much of one file is read to find a store or to list it, in bytes.
	mostSurveyed = 64 << 10
	// padding is how much each file grows: more than all that a kind may read to recognise a store.
	padding = 8 << 20
	// mostSampled is how many files a kind looks into to recognise a store.
	mostSampled = 32
)

// readBytes returns how many bytes this process reads in the course of a function, by whatever call.
func readBytes(t *testing.T, do func()) int64 {
	t.Helper()
	count := func() (n, own int64) {
		t.Helper()
		text, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(text, []byte("rchar: "))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		n, err = strconv.ParseInt(string(line), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n, int64(len(text))
	}
	before, own := count()
	do()
	after, _ := count()
	return after - before - own // to count is to read
}

// padded copies a store and makes each of its files large: white space goes behind it as far as a
// survey may read, and a hole behind that. It returns the place of the copy, and how many files it has.
func padded(t *testing.T, address string) (dir string, files int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), filepath.Base(address))
	from := os.DirFS(filepath.Dir(address))
	err := fs.WalkDir(from, filepath.Base(address), func(name string, e fs.DirEntry, err error) error {
		to := filepath.Join(filepath.Dir(dir), filepath.FromSlash(name))
		if err != nil || e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		files++
		space := strings.Repeat(" ", mostSurveyed) + "\n"
		if err := os.WriteFile(to, append(data, space...), 0o600); err != nil {
			return err
		}
		return os.Truncate(to, int64(len(data)+padding))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, files
}

// To find a store reads a part of some of its files, whatever their size.
func TestSurvey_readsAPartOfEachFile(t *testing.T) {
	held := map[string]bool{}
	for kind, places := range addresses(t) {
		for _, address := range places {
			if strings.HasSuffix(address, ".db") || kind == "reflection" {
				continue
			}
			t.Run(kind+"/"+filepath.Base(address), func(t *testing.T) {
				held[kind] = true
				dir, files := padded(t, address)
				for _, k := range allKinds {
					if k.Recognise == nil {
						continue
					}
					var ok bool
					n := readBytes(t, func() { _, ok, _ = k.Recognise(t.Context(), dir) })
					if most := int64(mostSurveyed*min(files, mostSampled) + 1<<10); n > most {
						t.Errorf("%s reads %d bytes of %d files to recognise it, want at most %d", k.Name, n, files, most)
					}
					if k.Name == kind && !ok {
						t.Errorf("%s does not recognise it", k.Name)
					}
				}
			})
		}
	}
	for _, k := range allKinds {
		if inDatabase := slices.Contains([]string{"sqlite", "langgraph", "adk", "openai-agents", "mastra", "llamaindex"}, k.Name); k.Recognise != nil && k.At == nil && !inDatabase != held[k.Name] {
			t.Errorf("%s: a store of it was looked at: %v", k.Name, held[k.Name])
		}
	}
}
