package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/store/engine"
	"hindcast/store/media/scratch"
	"hindcast/store/media/sqlitefile"
)

// made is a folder in which the databases of a store are made of the rows that are kept. Each lies there in the folders in
// which it was.
type made struct {
	dir *scratch.Folder
	// names are the kept files that are in it.
	names map[string]bool
}

// pathOf returns where a file is in the folder.
func (m *made) pathOf(name string) string {
	at := filepath.FromSlash(name)
	return filepath.Join(m.dir.Path, strings.TrimPrefix(at, filepath.VolumeName(at)))
}

// databaseRows are kept rows of sessions, by the databases that they are of and by their names.
type databaseRows map[string]map[string]*fileRow

func (by databaseRows) addName(database, name string, r *fileRow) {
	if by[database] == nil {
		by[database] = map[string]*fileRow{}
	}
	by[database][name] = r
}

// lostRows returns the sessions of a database that are not in it any more, by the names of their rows. Of a database that cannot be
// read nothing is lost.
func lostRows(ctx context.Context, k engine.Kind, database string, rows map[string]*fileRow) map[string]bool {
	lost := map[string]bool{}
	if isMissing(database) {
		for name := range rows {
			lost[name] = true
		}
		return lost
	}
	mark := rows[rowsName(database, "")]
	if mark != nil && mark.stamp != "" && mark.stamp == databaseStamp(database) {
		for name, r := range rows {
			if r.gone {
				lost[name] = true
			}
		}
		return lost
	}
	there := map[string]bool{}
	file := sqlitefile.New(filepath.FromSlash(database), nil)
	err := file.Read(ctx, func(t *sqlitefile.Tx) error {
		clear(there)
		list, err := k.Tables.List(ctx, t)
		for i := range list {
			there[rowsName(database, list[i].ID)] = true
		}
		return err
	})
	if err = errors.Join(err, file.Close()); err != nil && !errors.Is(err, sqlitefile.ErrNotSQLite) {
		return nil
	}
	for name := range rows {
		if !there[name] && name != rowsName(database, "") {
			lost[name] = true
		}
	}
	return lost
}

// findLostNames returns the kept names of a store that its tool has no more: rows, and files.
func (s *goneStore) findLostNames(ctx context.Context) map[string]bool {
	lost, by := map[string]bool{}, databaseRows{}
	for name, f := range s.source.files {
		if !isBelow(name, filepath.ToSlash(s.of.at)) {
			continue
		}
		if database, _, is := splitRows(name); is {
			by.addName(database, name, &f.fileRow)
		} else if isLost(name, f.size) {
			lost[name] = true
		}
	}
	for database, rows := range by {
		maps.Copy(lost, lostRows(ctx, s.kind, database, rows))
	}
	return lost
}

// makeTables makes the databases of a store in a folder, of the rows that are lost, or of all.
func (s *goneStore) makeTables(ctx context.Context, all bool) (err error) {
	if err := s.source.loadFiles(); err != nil {
		return err
	}
	s.made = &made{names: map[string]bool{}}
	if s.made.dir, err = scratch.Make(""); err != nil {
		return err
	}
	var lost map[string]bool
	if !all {
		lost = s.findLostNames(ctx)
	}
	by := map[string][]string{}
	root := filepath.ToSlash(s.of.at)
	for name := range s.source.files {
		database, session, is := splitRows(name)
		switch below, beside := strings.CutPrefix(name, root+"/"); {
		case !isBelow(name, root) || is && session == "":
		case is && (all || lost[name]):
			by[database] = append(by[database], name)
		case !is && (all || lost[name] || beside && slices.ContainsFunc(s.kind.Tables.Beside, func(pattern string) bool {
			fits, _ := path.Match(pattern, below)
			return fits
		})):
			if err := s.a.placeFile(ctx, s.made.pathOf(name), s.source.files[name]); err != nil {
				return err
			}
			s.made.names[name] = true
		}
	}
	for database, names := range by {
		slices.Sort(names)
		if err := s.fillDatabase(ctx, s.made.pathOf(database), names); err != nil {
			return fmt.Errorf("make %q of what is kept: %w", database, err)
		}
		for _, name := range names {
			s.made.names[name] = true
		}
	}
	return nil
}

// placeFile writes a kept file at a path.
func (a *Archive) placeFile(ctx context.Context, at string, f *keptFile) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(a.copyFile(ctx, to, f), to.Close())
}

// fillDatabase makes a database of kept rows.
func (s *goneStore) fillDatabase(ctx context.Context, at string, names []string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	const fast = "&_pragma=synchronous(OFF)"
	if err := sqlitefile.CreateFile(ctx, at, "", fast); err != nil {
		return err
	}
	file := sqlitefile.NewOwn(at, fast, nil)
	err := file.Write(ctx, func(t *sqlitefile.Tx) error {
		has := map[string]map[string]bool{}
		for _, name := range names {
			if _, err := readRows(s.rowsReader(name), func(row keptRow) error { return addRow(ctx, t, has, row) }); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, file.Close())
}

// rowsReader reads the rows of a session.
func (s *goneStore) rowsReader(name string) io.Reader {
	f := s.source.files[name]
	return io.NewSectionReader(openedFile{s.source.kept, f}, 0, f.size)
}

// addRow adds a row to a database, and its table if that is missing. has are the columns of the tables that there are.
func addRow(ctx context.Context, t *sqlitefile.Tx, has map[string]map[string]bool, row keptRow) (err error) {
	table := row.table
	if row.values == nil {
		if has[table.name] == nil {
			for _, define := range table.schema {
				if err := t.Define(ctx, define); err != nil {
					return err
				}
			}
			has[table.name], err = t.Columns(ctx, table.name)
		}
		for _, column := range table.columns { // of another version of the tool
			if err == nil && !has[table.name][column] {
				err = t.Define(ctx, "ALTER TABLE "+sqlitefile.QuoteName(table.name)+" ADD COLUMN "+sqlitefile.QuoteName(column))
				has[table.name][column] = true
			}
		}
		return err
	}
	columns, args := "", row.values
	for i, column := range table.columns {
		if i > 0 {
			columns += ", "
		}
		columns += sqlitefile.QuoteName(column)
	}
	verb := "INSERT"
	if table.shared {
		verb = "INSERT OR IGNORE"
	}
	if row.at != nil {
		var taken bool
		if err := t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM "+sqlitefile.QuoteName(table.name)+" WHERE rowid = ?)", row.at).Scan(&taken); err != nil {
			return err
		}
		if !taken {
			columns, args = columns+", rowid", append(slices.Clip(args), row.at)
		}
	}
	_, err = t.Exec(ctx, verb+" INTO "+sqlitefile.QuoteName(table.name)+" ("+columns+") VALUES (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	return err
}

// placeDatabase makes a database of kept rows. It never replaces a file.
func (s *goneStore) placeDatabase(ctx context.Context, database string, names []string) (err error) {
	at := filepath.FromSlash(database)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	dir, err := scratch.Make(filepath.Dir(at))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	name := filepath.Join(dir.Path, filepath.Base(at))
	if err := s.fillDatabase(ctx, name, names); err != nil {
		return err
	}
	if mark := s.source.files[rowsName(database, "")]; mark != nil {
		if err := os.Chmod(name, mark.mode); err != nil {
			return err
		}
	}
	if err := syncFile(name); err != nil {
		return err
	}
	if err = os.Link(name, at); errors.Is(err, fs.ErrExist) {
		err = &TakenError{at}
	}
	return err
}

// syncFile has the system write a file to the disk.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
