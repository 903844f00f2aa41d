package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"hindcast/store/engine"
	"hindcast/store/media/sqlitefile"
)

// Made describes the files of a folder that stand for the tables of a kind. They are read whole, and never written. The
// tables are made of them in memory.
type Made struct {
	// Files are the names of the files. The program writes the last of them last.
	Files []string
	// Noun names the files in a few words.
	Noun string
	// Signs reports whether files that begin so are a store.
	Signs func(heads [][]byte) bool
	// Fill makes the tables in an empty database, and fills them from the contents of the files.
	Fill func(ctx context.Context, t *sqlitefile.Tx, data [][]byte) error
}

// headSize bounds what is read of a file to recognise it, in bytes.
const headSize = 64 << 10

// filePaths returns the paths of the files in a folder.
func (f *Made) filePaths(folder string) (list []string) {
	for _, name := range f.Files {
		list = append(list, filepath.Join(folder, name))
	}
	return list
}

// readFiles reads up to most bytes of each file of a folder, and reports whether that is all of each.
func (f *Made) readFiles(folder string, most int64) (data [][]byte, all bool, err error) {
	all = true
	for _, path := range f.filePaths(folder) {
		file, err := os.Open(path)
		if err != nil {
			return nil, false, err
		}
		one, err := io.ReadAll(io.LimitReader(file, most+1))
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, false, err
		}
		if int64(len(one)) > most {
			one, all = one[:most], false
		}
		data = append(data, one)
	}
	return data, all, nil
}

// findFolder returns the first kind of folder that recognises a site, and what it says, or the last one.
func (k Kind) findFolder(at engine.Site) (is *Kind, why string, ok bool, err error) {
	for is = k.Folder; ; is = is.Folder {
		if why, ok, err = is.signFolder(at); ok || err != nil || is.Folder == nil {
			return is, why, ok, err
		}
	}
}

// signFolder recognises a folder of the kind.
func (k Kind) signFolder(at engine.Site) (why string, ok bool, err error) {
	var missing []string
	for i, path := range k.Made.filePaths(at.Path) {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			missing = append(missing, k.Made.Files[i])
		}
	}
	switch len(missing) {
	case 0:
	case len(k.Made.Files):
		return "", false, nil
	default:
		return k.Made.Noun + " need a file that is not here: " + missing[0], false, nil
	}
	heads, _, err := k.Made.readFiles(at.Path, headSize)
	if err != nil {
		return "", false, err
	}
	if !k.Made.Signs(heads) {
		return "the files are not " + k.Made.Noun + " as they are read", false, nil
	}
	return k.Made.Noun, true, nil
}

// openFolder opens a folder of the kind.
func (k Kind) openFolder(ctx context.Context, folder string) (*medium, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	file := sqlitefile.NewMade(sqlitefile.Source{Files: k.Made.filePaths(folder), Fill: func(ctx context.Context, t *sqlitefile.Tx) error {
		data, all, err := k.Made.readFiles(folder, mostCell)
		if err == nil && !all {
			err = fmt.Errorf("a file is larger than %d MB", mostCell>>20)
		}
		if err != nil {
			return err
		}
		return k.Made.Fill(ctx, t, data)
	}}, nil)
	m := &medium{kind: k, address: folder, now: time.Now, carrier: sqliteFile{file, k, new(atomic.Bool)}}
	if k.Cache != nil {
		m.note = listNote{k.Cache.Memory(k.Name+" list 1", file.Path()), file.Path()}
	}
	if err := m.carrier.Read(ctx, func(tables) error { return nil }); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", k.Name, folder, errors.Join(err, m.Close()))
	}
	return m, nil
}
