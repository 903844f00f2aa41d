package files_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hindcast/store/media/files"
)

// messages makes a folder of as many files of 1.8 KB.
func messages(b *testing.B, n int) (dir string, names []string) {
	dir = b.TempDir()
	text := bytes.Repeat([]byte("m"), 1800)
	for i := range n {
		names = append(names, fmt.Sprintf("message_%d.json", i))
		if err := os.WriteFile(filepath.Join(dir, names[i]), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir, names
}

// BenchmarkRead reads a message log of 100,000 files, from a folder that is held
// open and from a root.
func BenchmarkRead(b *testing.B) {
	dir, names := messages(b, 100_000)
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	folder, err := files.OpenFolder(root, ".")
	if err != nil {
		b.Fatal(err)
	}
	defer folder.Close()
	for _, r := range []struct {
		name string
		read files.Reader
	}{{"folder", folder.Read}, {"root", files.From(root)}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprint(r.name, "-", workers), func(b *testing.B) {
				b.SetBytes(1800 * int64(len(names)))
				for b.Loop() {
					var all sync.WaitGroup
					for w := range workers {
						all.Go(func() {
							var buf []byte
							for i := w; i < len(names); i += workers {
								var err error
								if buf, err = r.read(names[i], buf); err != nil || len(buf) != 1800 {
									b.Error(len(buf), err)
								}
							}
						})
					}
					all.Wait()
				}
			})
		}
	}
}
