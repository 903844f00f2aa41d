package codex

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"hindcast/model/conversation"
	"hindcast/store/coding"
	"hindcast/store/folder"
	"hindcast/store/sqlitefile"
)

// threads is the index that Codex keeps of its threads, since about 0.118. It is not changed.
type threads struct {
	// file is the database, "" for none, and at and log are how it and its log looked.
	file    string
	at, log folder.Stamp
	// rows are by the id of the thread.
	rows map[string]row
	err  error // why it could not be read
}

// row is what the index says of a thread. The texts are untrusted.
type row struct {
	// rollout is the file that Codex goes on from, as a path of the machine that wrote it.
	rollout                  string
	title, name, dir, parent string
}

// called returns the title of a thread, "" for none.
func (r row) called() string {
	return conversation.Cut(conversation.OneLine(cmp.Or(r.name, r.title)), conversation.MaxTitle)
}

// database is the name of the index. The number is the generation of its tables.
var database = regexp.MustCompile(`^state_(\d{1,4})\.sqlite$`)

// index returns the index as it is, one without rows where there is none that can be read.
func (f *format) index(ctx context.Context, in folder.In) *threads {
	now, newest := &threads{}, -1
	list, _ := in.List(".") // Faults tells
	for _, name := range list {
		if m := database.FindStringSubmatch(name); m != nil {
			if n, _ := strconv.Atoi(m[1]); n > newest {
				now.file, newest = name, n
			}
		}
	}
	if now.file == "" || f.dir == "" { // SQLite reads it where it is on a disk
		return now
	}
	now.at, _ = in.Stamp(now.file)
	now.log, _ = in.Stamp(now.file + "-wal")
	f.mu.Lock()
	was := f.threads
	f.mu.Unlock()
	if was != nil && was.file == now.file && was.at.Unchanged(now.at.Stamp) && was.log.Unchanged(now.log.Stamp) {
		return was
	}
	if now.err = now.read(ctx, filepath.Join(f.dir, now.file)); ctx.Err() == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.threads = now
	}
	return now
}

// columns are those of the table of threads that are read, "" of one that an older generation
// lacks.
var columns = []string{"id", "rollout_path", "title", "name", "cwd", "source"}

// read reads the database.
func (t *threads) read(ctx context.Context, file string) error {
	db, rows := sqlitefile.New(file, nil), map[string]row{}
	err := db.Read(ctx, func(tx *sqlitefile.Tx) error {
		has, err := tx.Columns(ctx, "threads")
		if err != nil || !has["id"] {
			return err
		}
		list := make([]string, len(columns))
		for i, c := range columns {
			if list[i] = "''"; has[c] {
				list[i] = "coalesce(" + c + ", '')"
			}
		}
		return tx.Each(ctx, func(scan func(...any) error) error {
			var id, source string
			var r row
			if err := scan(&id, &r.rollout, &r.title, &r.name, &r.dir, &source); err != nil {
				return err
			}
			if v, err := coding.Parse([]byte(source)); err == nil {
				r.parent = parentIn(v)
			}
			rows[id] = r
			return nil
		}, "SELECT "+strings.Join(list, ", ")+" FROM threads")
	})
	if err = cmp.Or(err, db.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.rows = rows
	return nil
}

// base returns the last part of a path of any system, the same of a packed rollout.
func base(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), packed)
}
