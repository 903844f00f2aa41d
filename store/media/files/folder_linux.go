package files

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"

	"hindcast/store/media/disk"
)

// openBelow opens a folder below f in one system call; os.Root makes one for each part of the
// name. It returns nil where the system has no such call. The error is fs.ErrNotExist if the
// folder does not exist; after any other error, os.Root may still open the folder.
func (f *Folder) openBelow(dir string) (*Folder, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	var fd int
	var err error
	failed := descriptor{f.dir}.withDescriptor(func(at int) {
		err = disk.Retry(func() (err error) {
			fd, err = unix.Openat2(at, dir, &how)
			return err
		})
	})
	if failed != nil || err != nil {
		return nil, cmp.Or(failed, err)
	}
	return folderOf(os.NewFile(uintptr(fd), dir)), nil
}

// listFolders lists the names from where the listing stands that are folders or links. The entries of
// the system tell which: os.File.ReadDir looks at each entry of a folder in an os.Root.
//
//	0 inode   8 offset   16 length of the entry   18 type   19 name, and a zero
func (f *Folder) listFolders() (names []string, err error) {
	buf := make([]byte, 64<<10)
	for {
		n := 0
		failed := descriptor{f.dir}.withDescriptor(func(at int) {
			err = disk.Retry(func() (err error) {
				n, err = unix.Getdents(at, buf)
				return err
			})
		})
		if err = cmp.Or(failed, err); err != nil || n == 0 {
			return names, err
		}
		for rest := buf[:n]; len(rest) > 0; rest = rest[binary.NativeEndian.Uint16(rest[16:]):] {
			text, _, _ := bytes.Cut(rest[19:], []byte{0})
			name, kind := string(text), rest[18]
			if !isEntry(name) || binary.NativeEndian.Uint64(rest) == 0 {
				continue
			}
			if kind == unix.DT_DIR || kind == unix.DT_LNK || kind == unix.DT_UNKNOWN && f.leadsOn(name) {
				names = append(names, name)
			}
		}
	}
}
