package keep

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
)

// The rows of a session are a file of the archive with the name of the database, two slashes, and the id of the session. The
// name without an id is of the database itself: an empty file, whose stamp says whether anything was written since.
const rowsMark = "//"

// rowsName returns the name of the rows of a session.
func rowsName(database, session string) string { return database + rowsMark + url.QueryEscape(session) }

// splitRows returns the database and the session of a name of rows. is reports whether it is one.
func splitRows(name string) (database, session string, is bool) {
	database, session, is = strings.Cut(name, rowsMark)
	if id, err := url.QueryUnescape(session); err == nil {
		session = id
	}
	return database, session, is
}

// findDatabases returns the databases of a store, whole, with slashes, in order.
func findDatabases(k engine.Kind, at string) (list []string, err error) {
	info, err := os.Stat(at)
	if err != nil || k.Tables == nil {
		return nil, err
	}
	if !info.IsDir() {
		if head, _ := readHead(at); strings.HasPrefix(head, "SQLite format 3\x00") {
			list = append(list, filepath.ToSlash(at))
		}
		return list, nil
	}
	found, err := matchAll(at, k.Tables.In)
	for _, name := range found {
		if info, err := os.Stat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			list = append(list, name)
		}
	}
	return list, err
}

// readHead returns the first bytes of a file.
func readHead(at string) (string, error) {
	f, err := os.Open(at)
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read
	head := make([]byte, 16)
	n, err := f.Read(head)
	return string(head[:n]), err
}

// matchAll returns the names in a folder that fit a pattern, whole, with slashes, in order.
func matchAll(dir string, patterns []string) (list []string, err error) {
	in, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it was only read
	for _, pattern := range patterns {
		names, err := fs.Glob(in.FS(), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			list = append(list, path.Join(filepath.ToSlash(dir), name))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// databaseStamp returns a text that is another when something is written to a database, "" while that is not sure.
func databaseStamp(database string) string {
	stamp, now := "", time.Now()
	for _, suffix := range []string{"", "-wal", "-journal"} {
		info, err := os.Stat(filepath.FromSlash(database) + suffix)
		if err != nil {
			stamp += "|"
			continue
		}
		key := files.StampOf(info, now).ContentKey()
		if key == "" {
			return ""
		}
		stamp += key + "|"
	}
	return stamp
}

// addTables adds the rows of the sessions of a database that were written to since. there gets the names of all of them.
func (k *keeping) addTables(ctx context.Context, kind engine.Kind, database string, there map[string]bool) error {
	mark := rowsName(database, "")
	stamp := databaseStamp(database)
	if old := k.rows[mark]; old != nil && !old.gone && stamp != "" && old.stamp == stamp && !k.unhides(old) {
		for name, r := range k.rows {
			if of, session, is := splitRows(name); is && of == database && !r.gone && session != "" {
				there[name] = true
				k.countFile(r.size)
			}
		}
		there[mark] = true
		return nil
	}
	info, err := os.Stat(filepath.FromSlash(database))
	if err != nil {
		return err
	}
	file := sqlitefile.New(filepath.FromSlash(database), nil)
	known, hidden := false, 0
	err = file.Read(ctx, func(t *sqlitefile.Tx) error { // again from the beginning if it is written to in place
		list, err := kind.Tables.List(ctx, t)
		if err != nil {
			return err
		}
		known = len(list) > 0
		reader := &rowReader{ctx: ctx, t: t}
		if k.masker != nil {
			reader.mask = k.masker.Mask
		}
		for i := range list {
			name := rowsName(database, list[i].ID)
			if k.forgotten[name] {
				continue
			}
			row := newRow{name: name, old: k.rows[name], row: fileRow{mode: info.Mode().Perm(), modified: info.ModTime().UnixNano()}}
			reader.of = &list[i]
			if err := k.readParts(ctx, reader, row.old, &row); err != nil {
				return fmt.Errorf("read the rows of %q: %w", list[i].ID, err)
			}
			if t.Stale() {
				return sqlitefile.ErrChanged
			}
			row.row.redacted = reader.hidden > 0
			if hidden += reader.hidden; !there[name] {
				there[name] = true
				k.countFile(row.row.size)
			}
			if err := k.addRows(ctx, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, file.Close()); err != nil || !known && k.rows[mark] == nil {
		return err
	}
	there[mark], k.read[database] = true, true
	empty := sha256.Sum256(nil)
	k.batch.rows = append(k.batch.rows, newRow{name: mark, old: k.rows[mark], row: fileRow{mode: info.Mode().Perm(), modified: info.ModTime().UnixNano(), stamp: stamp, tag: empty[:],
		redacted: hidden > 0}})
	return nil
}

// addRows adds the row of a session that changed.
func (k *keeping) addRows(ctx context.Context, row newRow) error {
	if old := row.old; old != nil && !old.gone && old.redacted == row.row.redacted && k.sameParts(old, row.pieces) {
		return nil
	}
	k.batch.rows = append(k.batch.rows, row)
	k.done.Changed++
	return ctx.Err()
}

// sameParts reports whether a kept file has these parts.
func (k *keeping) sameParts(old *fileRow, pieces []*piece) bool {
	list := decodeList(old.list)
	return len(list) == len(pieces) && !slices.ContainsFunc(pieces, func(p *piece) bool {
		same := k.byID[list[0]] == p
		list = list[1:]
		return !same
	})
}
