package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
)

// threads is the index that Codex keeps of its threads, since about 0.118. It is not changed.
type threads struct {
	// dir is the folder of the database, and file its name, "" if there is no database. at and log are the
	// stamps of the file and of its log.
	dir, file string
	at, log   tree.Stamp
	// rows are by the id of the thread, and edges tell by it which thread started it.
	rows  map[string]row
	edges map[string]string
	err   error // why it could not be read
}

// row is the row of a thread in the index. The texts are untrusted.
type row struct {
	// rollout is the file that Codex goes on from, as a path of the machine that wrote it.
	rollout          string
	title, name, dir string
	// sourced marks a row that tells where the thread comes from. parent is the thread that started it.
	sourced bool
	parent  string
	// tokens are how many the thread used.
	tokens float64
	// updated is when it changed last, the zero time where that is not known.
	updated time.Time
}

// threadTitle returns the title of a thread, or "". The title is the thread's name, else the first
// prompt in the index, without the text that an editor put around it.
func (r row) threadTitle() string {
	words, by := conversation.WordsTyped(r.title)
	if by != conversation.Prompt {
		words = ""
	}
	return conversation.Cut(conversation.OneLine(cmp.Or(r.name, words)), conversation.MaxTitle)
}

// database is the name of the index. The number is the generation of its tables.
var database = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^state_(\d{1,4})\.sqlite$`) })

// elsewhere returns where an environment has Codex keep the index of a storage: it is about
// Codex's own one, and about no copy of it. "" where it does not say.
func elsewhere(dir string) string {
	moved := strings.TrimSpace(os.Getenv("CODEX_SQLITE_HOME"))
	home, err := os.Stat(cmp.Or(os.Getenv("CODEX_HOME"), fromHome("~/.codex")))
	if moved == "" || err != nil {
		return ""
	}
	if this, err := os.Stat(dir); err != nil || !os.SameFile(this, home) {
		return ""
	}
	at, _ := filepath.Abs(fromHome(moved)) // of Codex's folder of work, which is taken for this one
	return at
}

// fromHome returns a path that may begin with a tilde.
func fromHome(path string) string {
	below, is := strings.CutPrefix(path, "~")
	if home, err := os.UserHomeDir(); is && err == nil && (below == "" || os.IsPathSeparator(below[0])) {
		return filepath.Join(home, below)
	}
	return path
}

// mostSettings bounds the file of the settings.
const mostSettings = 1 << 20

// indexDir returns the folder of the index: that of the settings, else of the environment, else
// the storage, as 0.118 and 0.169 resolve it.
func (f *format) indexDir(in engine.In) string {
	home := f.readSettings(in).Home
	if home == nil {
		return cmp.Or(f.elsewhere, f.dir)
	}
	at := fromHome(*home)
	if !filepath.IsAbs(at) {
		at = filepath.Join(f.dir, at)
	}
	return at
}

// settings holds the settings that were read, and the stamp of their file.
type settings struct {
	Home *string `toml:"sqlite_home"`

	at   tree.Stamp
	read bool
}

// readSettings reads the settings, if they are others than when they were read last.
func (f *format) readSettings(in engine.In) *settings {
	const file = "config.toml"
	at, err := in.Stamp(file)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.settings.read && at.Is(f.settings.at) {
		was := f.settings
		return &was
	}
	now := &settings{at: at, read: err == nil}
	text, _ := tree.Head(in.Tree, file, mostSettings) // of none nothing is known
	if _, err := toml.Decode(string(text), now); err != nil {
		now.Home = nil
	}
	f.settings = *now
	return now
}

// Mark implements chat.Marker: the files of the session do not tell where an index outside of
// the storage has it go on.
func (f *format) Mark(ctx context.Context, _ chat.Spot) (string, error) {
	if f.dir == "" {
		return "", nil
	}
	disk, err := tree.OpenDisk(f.dir)
	if err != nil {
		return "", err
	}
	defer disk.Close() // it was only read
	now := f.currentIndex(ctx, engine.In{Tree: disk})
	if now.dir == f.dir {
		return "", nil
	}
	return fmt.Sprint(now.dir, now.file, now.at, now.log), nil
}

// currentIndex returns the current index. It has no rows if the database does not exist or cannot be read.
func (f *format) currentIndex(ctx context.Context, in engine.In) *threads {
	if f.dir == "" { // SQLite reads it where it is on a disk
		return &threads{}
	}
	now, newest := &threads{dir: f.indexDir(in)}, -1
	if now.dir != f.dir {
		disk, err := tree.OpenDisk(now.dir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				now.err = err
			}
			return now
		}
		defer disk.Close() // it was only read
		in.Tree = disk
	}
	list, _ := in.List(".") // Faults tells
	for _, name := range list {
		if m := database().FindStringSubmatch(name); m != nil {
			if n, _ := strconv.Atoi(m[1]); n > newest {
				now.file, newest = name, n
			}
		}
	}
	if now.file == "" {
		return now
	}
	now.at, _ = in.Stamp(now.file)
	now.log, _ = in.Stamp(now.file + "-wal")
	f.mu.Lock()
	was := f.threads
	f.mu.Unlock()
	if was != nil && was.dir == now.dir && was.file == now.file && was.at.LooksSame(now.at.Stamp) && was.log.LooksSame(now.log.Stamp) {
		return was
	}
	if now.err = now.readDatabase(ctx, filepath.Join(now.dir, now.file)); ctx.Err() == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.threads = now
	}
	return now
}

// columns are the columns that are read of the table of threads. readRows reads "" for a column that an older
// version lacks.
var columns = []string{"id", "rollout_path", "title", "name", "cwd", "source", "tokens_used", "updated_at"}

// readDatabase reads the database.
func (t *threads) readDatabase(ctx context.Context, file string) error {
	db, rows, edges := sqlitefile.New(file, nil), map[string]row{}, map[string]string{}
	err := db.Read(ctx, func(tx *sqlitefile.Tx) error {
		if err := readRows(ctx, tx, rows); err != nil {
			return err
		}
		return readEdges(ctx, tx, edges)
	})
	if err = cmp.Or(err, db.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.rows, t.edges = rows, edges
	return nil
}

// readRows reads the table of threads, where there is one.
func readRows(ctx context.Context, tx *sqlitefile.Tx, rows map[string]row) error {
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
		var id, source, tokens, updated string
		var r row
		err := scan(&id, &r.rollout, &r.title, &r.name, &r.dir, &source, &tokens, &updated)
		r.tokens, _ = strconv.ParseFloat(tokens, 64) // 0 where the index does not say
		if at, wrong := strconv.ParseInt(updated, 10, 64); wrong == nil {
			r.updated = time.Unix(at, 0).UTC()
		}
		if v, wrong := chat.Parse([]byte(source)); wrong == nil {
			r.parent = parentIn(v)
		}
		r.sourced = source != ""
		rows[id] = r
		return err
	}, "SELECT "+strings.Join(list, ", ")+" FROM threads")
}

// readEdges reads the table that says who started a thread, where there is one.
func readEdges(ctx context.Context, tx *sqlitefile.Tx, edges map[string]string) error {
	has, err := tx.Columns(ctx, "thread_spawn_edges")
	if err != nil || !has["parent_thread_id"] || !has["child_thread_id"] {
		return err
	}
	return tx.Each(ctx, func(scan func(...any) error) error {
		var parent, child string
		err := scan(&parent, &child)
		if isUUID(parent) {
			edges[child] = parent
		}
		return err
	}, "SELECT coalesce(parent_thread_id, ''), coalesce(child_thread_id, '') FROM thread_spawn_edges")
}

// parentOf returns the thread that started a thread, "" if none did. known reports whether the index says so.
func (t *threads) parentOf(thread string) (parent string, known bool) {
	row := t.rows[thread]
	parent = cmp.Or(row.parent, t.edges[thread])
	return parent, parent != "" || row.sourced
}

// baseName returns the last part of a path of any system, the same of a packed rollout.
func baseName(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), packed)
}
