package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/native"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// filled makes a store with two sessions and a lost branch, closed again.
func filled(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"s", "t"} {
		if _, err := s.Import(t.Context(), storetest.Grow(session, 60, 600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// execute runs a statement on a database behind the store's back.
func execute(t testing.TB, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// number asks a database for a number.
func number(t *testing.T, path, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// snapshot is the next one of a session, by its headers.
func snapshot(t *testing.T, s *sqlite.Store, session, state string) *model.Snapshot[json.RawMessage] {
	t.Helper()
	next := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: session, State: json.RawMessage(state)}
	headers, _, err := s.Tail(t.Context(), session, 1)
	if err != nil && !errors.Is(err, model.ErrNoSession) {
		t.Fatal(err)
	}
	if len(headers) > 0 {
		next.ParentID, next.Index = headers[0].ID, headers[0].Index+1
	}
	return next
}

// directory describes every file in a directory, content and times.
func directory(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%q %v %v %d %x\n", e.Name(), info.Mode(), info.ModTime(), info.Size(), sha256.Sum256(content))
	}
	return out.String()
}

// readEverything does all that can be done with a store without writing.
func readEverything(t *testing.T, path string) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	dump := storetest.Dump(t, s)
	var ref model.Ref
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		headers, _, err := s.Tail(t.Context(), info.ID, 50)
		if err != nil {
			t.Fatal(err)
		}
		ref = headers[0].Ref()
		if _, err := s.Faults(t.Context(), info.ID); err != nil {
			t.Fatal(err)
		}
	}
	_, restoreErr := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
	_, forkErr := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: "new"})
	_, journalErr := s.Journal(t.Context())
	_, faultsErr := s.Faults(t.Context(), "")
	_, listErr := s.ListSnapshots(t.Context(), ref.Session, true)
	_, undoErr := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if nothing := (*model.NothingToError)(nil); errors.As(undoErr, &nothing) {
		undoErr = nil
	}
	if err := errors.Join(restoreErr, forkErr, journalErr, faultsErr, listErr, undoErr, s.Close()); err != nil {
		t.Fatal(err)
	}
	return dump
}

func TestOpen_readingChangesNothing(t *testing.T) {
	path := filled(t)
	dir := filepath.Dir(path)
	before := directory(t, dir)
	readEverything(t, path)
	if _, ok, err := sqlite.Kind().Recognise(t.Context(), path); !ok || err != nil {
		t.Errorf("not recognised: %v", err)
	}
	if after := directory(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
}

func TestOpen_readOnlyDirectory(t *testing.T) {
	if !storetest.Unprivileged(t) {
		return
	}
	path := filled(t)
	dir := filepath.Dir(path)
	for _, err := range []error{os.Chmod(path, 0o444), os.Chmod(dir, 0o555)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Error(err)
		}
	})
	before := directory(t, dir)
	readEverything(t, path)
	if after := directory(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	s := openStore(t, path)
	if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", "1")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a save into a read-only store: %v", err)
	}
	if after := directory(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
}

// TestOpen_besideAWriter: a reader sees the last word of a writer that has the
// store open, and does not keep it from tidying up.
func TestOpen_besideAWriter(t *testing.T) {
	path := filled(t)
	dir := filepath.Dir(path)
	reader, writer := openStore(t, path), openStore(t, path)
	same := func(when string) {
		t.Helper()
		if got, want := storetest.Dump(t, reader), storetest.Dump(t, writer); got != want {
			t.Errorf("%s the reader sees\n%s\nwant\n%s", when, got, want)
		}
	}
	same("before any write")
	for i := range 3 {
		if err := writer.SaveSnapshot(t.Context(), snapshot(t, writer, "s", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		same("while the writer is there")
		if got, want := readEverything(t, path), storetest.Dump(t, writer); got != want {
			t.Errorf("a new reader sees\n%s\nwant\n%s", got, want)
		}
	}
	plan, err := reader.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: model.SnapshotID([]byte("0"))}})
	if err != nil || len(plan.Hazards) == 0 || !strings.Contains(plan.Hazards[len(plan.Hazards)-1], "another program") {
		t.Errorf("hazards %q, %v", plan.Hazards, err)
	}
	want := storetest.Dump(t, writer)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Dump(t, reader); got != want {
		t.Errorf("when the writer is gone the reader sees\n%s\nwant\n%s", got, want)
	}
	if after := directory(t, dir); strings.Contains(after, "-wal") {
		t.Errorf("the reader kept the writer from tidying up:\n%s", after)
	}
}

// A writer opens the store, writes and closes it, over and over: its log comes and goes.
// Whatever moment a reader meets, it reads.
func TestOpen_besideAWriterThatComesAndGoes(t *testing.T) {
	const comes = "HINDCAST_TEST_COMES"
	if path := os.Getenv(comes); path != "" {
		for i := 0; ; i++ {
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				err = s.SaveSnapshot(t.Context(), snapshot(t, s, "coming", fmt.Sprint(i)))
				err = errors.Join(err, s.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filled(t)
	ctx, end := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestOpen_besideAWriterThatComesAndGoes$")
	cmd.Env = append(os.Environ(), comes+"="+path)
	var said bytes.Buffer
	cmd.Stdout = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Error(err)
			break
		}
		for _, err := range s.Headers(t.Context(), "s") {
			if err != nil {
				t.Error(err)
				break
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	end()
	if err := cmd.Wait(); said.Len() > 0 {
		t.Errorf("the writer ended by itself: %v\n%s", err, &said)
	}
}

// TestOpen_throughALink: the log lies beside the file, not beside the link.
func TestOpen_throughALink(t *testing.T) {
	path := filled(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		skip.Missing(t, "there are no links: %v", err)
	}
	writer := openStore(t, path)
	if err := writer.SaveSnapshot(t.Context(), snapshot(t, writer, "s", `"behind the link"`)); err != nil {
		t.Fatal(err)
	}
	reader := openStore(t, link)
	if got, want := storetest.Dump(t, reader), storetest.Dump(t, writer); got != want || reader.Address() != link {
		t.Errorf("through the link %q the reader sees\n%s\nwant\n%s", reader.Address(), got, want)
	}
	if err := reader.SaveSnapshot(t.Context(), snapshot(t, reader, "s", `"through the link"`)); err != nil {
		t.Fatal(err)
	}
	if got, want := storetest.Dump(t, reader), storetest.Dump(t, writer); got != want {
		t.Errorf("the writer sees\n%s\nwant\n%s", want, got)
	}
}

// TestOpen_besideAnotherProgram: looking at a store that another program has
// open changes none of its files, the log and its index included.
func TestOpen_besideAnotherProgram(t *testing.T) {
	if path := os.Getenv("HINDCAST_TEST_WRITER"); path != "" {
		s := openStore(t, path)
		if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", `"written by another program"`)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("saved")
		if _, err := io.ReadAll(os.Stdin); err != nil {
			t.Fatal(err)
		}
		return
	}
	path := filled(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpen_besideAnotherProgram$")
	cmd.Env = append(os.Environ(), "HINDCAST_TEST_WRITER="+path)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || line != "saved\n" {
		t.Fatalf("the other program says %q, %v", line, err)
	}
	before := directory(t, filepath.Dir(path))
	if !strings.Contains(before, "-wal") || !strings.Contains(before, "-shm") {
		t.Errorf("the other program does not have the store open:\n%s", before)
	}
	if dump := readEverything(t, path); !strings.Contains(dump, "written by another program") {
		t.Errorf("its last word is missing in\n%s", dump)
	}
	if after := directory(t, filepath.Dir(path)); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	closeErr := in.Close()
	rest, readErr := io.ReadAll(said)
	if err := errors.Join(closeErr, readErr, cmd.Wait()); err != nil {
		t.Errorf("the other program ends with %v: %s", err, rest)
	}
	if after := directory(t, filepath.Dir(path)); strings.Contains(after, "-wal") {
		t.Errorf("the other program could not tidy up:\n%s", after)
	}
}

// TestOpen_afterAKilledWriter: the log is read where it lies, as it is.
func TestOpen_afterAKilledWriter(t *testing.T) {
	path := filled(t)
	writer := openStore(t, path)
	if err := writer.SaveSnapshot(t.Context(), snapshot(t, writer, "s", `"last word"`)); err != nil {
		t.Fatal(err)
	}
	want := storetest.Dump(t, writer)
	left := filepath.Join(t.TempDir(), "left.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := directory(t, filepath.Dir(left))
	if got := readEverything(t, left); got != want {
		t.Errorf("the reader sees\n%s\nwant\n%s", got, want)
	}
	if after := directory(t, filepath.Dir(left)); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	if err := os.Remove(left + "-shm"); err != nil { // as a copy of the two files is
		t.Fatal(err)
	}
	before = directory(t, filepath.Dir(left))
	if got := readEverything(t, left); got != want {
		t.Errorf("without the index of the log, the reader sees\n%s\nwant\n%s", got, want)
	}
	if after := directory(t, filepath.Dir(left)); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	if why, ok, err := sqlite.Kind().Recognise(t.Context(), left); !ok || err != nil || why == "" {
		t.Errorf("recognised %v, %q, %v", ok, why, err)
	}
	// The next program that writes goes on from there, and so does Hindcast, which
	// may have been the one that was killed.
	for name, open := range map[string]func(path string) (store.Store, error){
		"writer":   func(path string) (store.Store, error) { return sqlite.OpenOrCreate(t.Context(), path) },
		"hindcast": func(path string) (store.Store, error) { return sqlite.Kind().Open(t.Context(), path) },
	} {
		mine := filepath.Join(t.TempDir(), "left.db")
		for _, suffix := range []string{"", "-wal"} {
			content, err := os.ReadFile(left + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(mine+suffix, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := open(mine)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := storetest.Dump(t, s.(storetest.Store)); got != want {
			t.Errorf("%s: after a killed writer it has\n%s\nwant\n%s", name, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A writer that was killed when it had begun a log left the header of one, and an
// index that does not go with it.
func TestOpen_logThatWasOnlyBegun(t *testing.T) {
	path := filled(t)
	want := readEverything(t, path)
	writer := openStore(t, path)
	if err := writer.SaveSnapshot(t.Context(), snapshot(t, writer, "s", `"last word"`)); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "left.db")
	for suffix, content := range map[string][]byte{"": content, "-wal": log[:32], "-shm": make([]byte, 32<<10)} {
		if err := os.WriteFile(left+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := directory(t, filepath.Dir(left))
	if got := readEverything(t, left); got != want {
		t.Errorf("the reader sees\n%s\nwant\n%s", got, want)
	}
	if after := directory(t, filepath.Dir(left)); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	s := openStore(t, left)
	if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", `"another word"`)); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Dump(t, s); !strings.Contains(got, "another word") {
		t.Errorf("after a write it has\n%s", got)
	}
}

func TestHeaders_fileThatChangesUnderneath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), storetest.Grow("s", 2500, 10)); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	reader := openStore(t, path)
	n := 0
	var last error
	for _, err := range reader.Headers(t.Context(), "s") {
		if last = err; err != nil {
			break
		}
		if n++; n == 1 {
			writer := openStore(t, path)
			if err := writer.InvalidateSnapshotsAfter(t.Context(), "s", -1); err != nil {
				t.Fatal(err)
			}
			closeStore(t, writer)
		}
	}
	if !errors.Is(last, sqlitefile.ErrChanged) || n == 0 || n == 2500 {
		t.Errorf("after %d headers: %v", n, last)
	}
	// The next reading is of the new file.
	for h, err := range reader.Headers(t.Context(), "s") {
		if err != nil || !h.Orphaned {
			t.Fatalf("visit %d is orphaned %v, %v", h.Visit, h.Orphaned, err)
		}
	}
}

func TestOpen_refuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	altered := func(name, statement string) string {
		content, err := os.ReadFile(filled(t))
		if err != nil {
			t.Fatal(err)
		}
		path := file(name, content)
		execute(t, path, statement)
		return path
	}
	foreign := filepath.Join(dir, "foreign")
	execute(t, foreign, "CREATE TABLE sessions (id TEXT); PRAGMA user_version = 1")
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       error
		word       string
	}{
		{"no file", filepath.Join(dir, "none"), fs.ErrNotExist, "no such file"},
		{"no directory", filepath.Join(dir, "none", "store.db"), fs.ErrNotExist, "no such file"},
		{"a directory", dir, nil, "directory"},
		{"an empty file", file("empty", nil), sqlitefile.ErrNotSQLite, "empty"},
		{"text", file("text", bytes.Repeat([]byte("hello\n"), 1000)), sqlitefile.ErrNotSQLite, "not a SQLite database"},
		{"short text", file("short", []byte("hello")), sqlitefile.ErrNotSQLite, "not a SQLite database"},
		{"half a header", file("half", whole[:50]), sqlite.ErrForeign, "not a Hindcast store"},
		{"another program's", foreign, sqlite.ErrForeign, "application id"},
		{"a newer schema", altered("newer", "PRAGMA user_version = 7"), sqlite.ErrVersion, "version 7"},
		{"an unknown schema", altered("unknown", "PRAGMA user_version = 0"), sqlite.ErrVersion, "version 0"},
		{"a trigger", altered("trigger", "CREATE TRIGGER x AFTER INSERT ON visits BEGIN DELETE FROM visits; END"), sqlite.ErrForeign, "schema"},
		{"a missing index", altered("index", "DROP INDEX visits_by_id"), sqlite.ErrForeign, "schema"},
		{"a file cut short", file("cut", whole[:3000]), sqlitefile.ErrDamaged, "malformed"},
	} {
		_, err := sqlite.Open(t.Context(), c.path)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) || !strings.HasPrefix(err.Error(), fmt.Sprintf("sqlite: open %q: ", c.path)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestOpen_refusesWhatItMayNotRead(t *testing.T) {
	if !storetest.Unprivileged(t) {
		return
	}
	path := filled(t)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("no permission: %v", err)
	}
}

// TestOpen_anotherVersionIsNamedAndLeft: what made the store is told, and the file
// stays as it is, also where a program comes to write.
func TestOpen_anotherVersionIsNamedAndLeft(t *testing.T) {
	for _, version := range []int{0, 1, 3} {
		path := filled(t)
		execute(t, path, fmt.Sprintf("PRAGMA user_version = %d", version))
		before := directory(t, filepath.Dir(path))
		_, read := sqlite.Open(t.Context(), path)
		_, write := sqlite.OpenOrCreate(t.Context(), path)
		_, kind := sqlite.Kind().Open(t.Context(), path)
		for _, err := range []error{read, write, kind} {
			want := fmt.Sprintf("its schema is version %d, this program reads 2; open it with the hindcast that wrote it", version)
			if !errors.Is(err, sqlite.ErrVersion) || !strings.Contains(err.Error(), want) {
				t.Errorf("version %d: %v", version, err)
			}
		}
		if after := directory(t, filepath.Dir(path)); after != before {
			t.Errorf("version %d: the directory was\n%s\nand is\n%s", version, before, after)
		}
	}
}

func TestKind_recognise(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	execute(t, foreign, "CREATE TABLE x (y)")
	text, empty := filepath.Join(dir, "text"), filepath.Join(dir, "empty")
	for path, content := range map[string]string{text: `{"id":"x"}`, empty: ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newer := filled(t)
	execute(t, newer, "PRAGMA user_version = 9")
	cut := filled(t)
	if err := os.Truncate(cut, 3000); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{filled(t): true, newer: true, cut: true, foreign: false, text: false, empty: false, dir: false} {
		why, ok, err := sqlite.Kind().Recognise(t.Context(), path)
		if ok != want || err != nil || why == "" && path != dir {
			t.Errorf("%s: %q, %v, %v", path, why, ok, err)
		}
	}
	if _, _, err := sqlite.Kind().Recognise(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	s, err := sqlite.Kind().Open(t.Context(), filled(t))
	if err != nil || s.Kind() != "sqlite" {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpen_damagedFile cuts a store short and overwrites parts of it: whatever
// comes of it, it is an error or data, and never a panic.
func TestOpen_damagedFile(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := 0; i < len(whole); i += 3061 {
		cut := whole[:i]
		torn := bytes.Clone(whole)
		copy(torn[i:], bytes.Repeat([]byte{0xa5}, 300))
		for _, content := range [][]byte{cut, torn} {
			if damagedStore(t, content) != nil {
				failed++
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}

// damagedStore reads all it can of a file and returns the first error.
func damagedStore(t testing.TB, content []byte) (first error) {
	path := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer s.Close()
	note := func(err error) { first = errors.Join(first, err) }
	for info, err := range s.Sessions(t.Context()) {
		note(err)
		for h, err := range s.Headers(t.Context(), info.ID) {
			note(err)
			_, err := s.State(t.Context(), h.Ref())
			note(err)
		}
		_, _, err := s.Tail(t.Context(), info.ID, 10)
		note(err)
		_, err = s.Get(t.Context(), info.ID)
		note(err)
	}
	faults, err := s.Faults(t.Context(), "")
	note(err)
	if len(faults) > 0 {
		note(errors.New(faults[0].Meaning))
	}
	return first
}

// FuzzOpen opens damaged stores. SQLite opens the file and reads it anew for each case,
// which takes a millisecond at least; FuzzDamage and FuzzBlock are quicker.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "store.db")
	s, err := sqlite.Create(f.Context(), path)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := s.Import(f.Context(), storetest.Grow("s", 6, 300)); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(16), []byte{0, 1})
	f.Add(uint32(4096*2), bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		content := bytes.Clone(whole)
		copy(content[int(at)%len(content):], patch)
		_ = damagedStore(t, content)
	})
}

func TestCreate_onlyWhereNothingIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal("an empty file: ", err)
	}
	closeStore(t, s)
	before := directory(t, dir)
	for _, p := range []string{path, dir} {
		if _, err := sqlite.Create(t.Context(), p); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if after := directory(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	if _, err := sqlite.Create(t.Context(), filepath.Join(dir, "none", "store.db")); err == nil {
		t.Error("a store in no directory")
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 8 {
		wait.Go(func() {
			s, err := sqlite.Create(context.WithoutCancel(t.Context()), filepath.Join(dir, "race.db"))
			if err != nil {
				if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made++
			closeStore(t, s)
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("one store was made %d times", made)
	}
}

func TestOpenOrCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	// Eight programs that begin at once find the same store.
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s, err := sqlite.OpenOrCreate(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.SaveSnapshot(t.Context(), snapshot(t, s, fmt.Sprint("s", i), `"hello"`)); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	want := readEverything(t, path)
	if n := strings.Count(want, "hello"); n < 8 {
		t.Fatalf("%d of 8 sessions are there:\n%s", n, want)
	}
	s, err := sqlite.OpenOrCreate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	if got := storetest.Dump(t, s); got != want {
		t.Errorf("opened again it has\n%s\nwant\n%s", got, want)
	}
	// What is somebody else's stays as it is.
	foreign := filepath.Join(dir, "foreign.db")
	execute(t, foreign, "CREATE TABLE theirs (a)")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("Dear diary, today I learnt about databases."), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{foreign: sqlite.ErrForeign, text: sqlitefile.ErrNotSQLite} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.OpenOrCreate(t.Context(), path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s has changed, %v", path, err)
		}
	}
	if _, err := sqlite.OpenOrCreate(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestCreate_oddNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b", "a?mode=memory", "a#b", "a%2fb", "a\nb", "名前", ":memory:", "file:x", "-", "'"} {
		s, err := sqlite.Create(t.Context(), filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", "1")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		closeStore(t, s)
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestStates_areStoredOnceAndDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	large := `"` + strings.Repeat("the same again ", 10_000) + `"`
	for _, session := range []string{"a", "b", "c"} {
		for _, state := range []string{"1", large} {
			if err := s.SaveSnapshot(t.Context(), snapshot(t, s, session, state)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := number(t, path, "SELECT count(*) FROM states"); n != 2 {
		t.Errorf("%d states are stored", n)
	}
	if n := number(t, path, "SELECT sum(length(data)) FROM blocks"); n > len(large)/10 {
		t.Errorf("%d bytes are stored", n)
	}
	for i := range 20 {
		if err := s.Save(t.Context(), "a", &model.Data[json.RawMessage]{State: fmt.Append(nil, i+100)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := number(t, path, "SELECT count(*) FROM states"); n != 3 {
		t.Errorf("%d states are stored after twenty records", n)
	}
}

func TestState_damaged(t *testing.T) {
	large := `"` + strings.Repeat("the same again ", 1000) + `"`
	for name, statement := range map[string]string{
		"other bytes":         "UPDATE blocks SET data = zeroblob(40) WHERE encoding = 1",
		"cut":                 "UPDATE blocks SET data = substr(data, 1, 20) WHERE encoding = 1",
		"a smaller size":      "UPDATE blocks SET size = 10 WHERE encoding = 1",
		"a larger size":       "UPDATE blocks SET size = size + 1 WHERE encoding = 1",
		"a huge size":         "UPDATE blocks SET size = 1 << 60 WHERE encoding = 1",
		"a negative size":     "UPDATE blocks SET size = -1 WHERE encoding = 1",
		"an encoding":         "UPDATE blocks SET encoding = 9 WHERE encoding = 1",
		"missing":             "DELETE FROM blocks WHERE encoding = 1",
		"raw, wrong size":     "UPDATE blocks SET encoding = 0 WHERE encoding = 1",
		"elsewhere":           "UPDATE blocks SET place = place + 1 WHERE encoding = 1",
		"another hash":        "UPDATE states SET sha256 = zeroblob(32) WHERE size > 1",
		"half a hash":         "UPDATE states SET sha256 = zeroblob(16) WHERE size > 1",
		"a state's size":      "UPDATE states SET size = size - 1 WHERE size > 1",
		"a huge state":        "UPDATE states SET size = 1 << 60 WHERE size > 1",
		"a large state":       "UPDATE states SET size = 1 << 29 WHERE size > 1",
		"a negative state":    "UPDATE states SET size = -1 WHERE size > 1",
		"no list":             "UPDATE states SET list = x'' WHERE size > 1",
		"half a list":         "UPDATE states SET list = substr(list, 1, length(list) - 1) WHERE size > 1",
		"no list at all":      "UPDATE states SET list = x'ffffffffffffffffffffffffff' WHERE size > 1",
		"the list of another": "UPDATE states SET list = (SELECT list FROM states WHERE size = 1) WHERE size > 1",
		"a missing state":     "DELETE FROM states WHERE size > 1",
	} {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := sqlite.Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{"1", large} {
			if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", state)); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)
		execute(t, path, statement)
		s = openStore(t, path)
		if _, err := s.State(t.Context(), model.Ref{Session: "s", ID: model.SnapshotID([]byte(large))}); !errors.Is(err, native.ErrDamagedState) {
			t.Errorf("%s: %v", name, err)
		}
		if state, err := s.State(t.Context(), model.Ref{Session: "s", ID: model.SnapshotID([]byte("1"))}); err != nil || string(state) != "1" {
			t.Errorf("%s: the other state is %s, %v", name, state, err)
		}
		faults, err := s.Faults(t.Context(), "s")
		if err != nil || len(faults) != 1 || faults[0].Code != store.FaultState {
			t.Errorf("%s: faults %+v, %v", name, faults, err)
		}
	}
}

func TestFaults_ofTheStoreItself(t *testing.T) {
	skip.Sequential(t)
	for name, c := range map[string]struct{ statement, code string }{
		"counts":        {"UPDATE sessions SET visits = visits + 1 WHERE id = 's'", native.FaultCount},
		"orphaned":      {"UPDATE sessions SET orphaned = 0 WHERE id = 's'", native.FaultCount},
		"head":          {"UPDATE sessions SET head = 12345 WHERE id = 's'", native.FaultHead},
		"missing state": {"DELETE FROM states WHERE state = 1", sqlite.FaultDatabase},
	} {
		path := filled(t)
		execute(t, path, c.statement)
		faults, err := openStore(t, path).Faults(t.Context(), "")
		if err != nil || len(faults) == 0 || faults[0].Code != c.code {
			t.Errorf("%s: faults %+v, %v", name, faults, err)
		}
	}
	path := filled(t)
	execute(t, path, "UPDATE visits SET id = '00000000' || substr(id, 9) WHERE session = 1 AND visit = 60")
	faults, err := openStore(t, path).Faults(t.Context(), "s")
	if err != nil || !strings.Contains(fmt.Sprint(faults), store.FaultHashMismatch) {
		t.Errorf("faults %+v, %v", faults, err)
	}
}

// TestSave_twoStoresOnOneFile: as two programs would.
func TestSave_twoStoresOnOneFile(t *testing.T) {
	path := filled(t)
	var wait sync.WaitGroup
	for w := range 4 {
		s := openStore(t, path)
		wait.Go(func() {
			for i := range 10 {
				state := fmt.Sprintf("[%d,%d]", w, i)
				if err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "new", Index: i, State: json.RawMessage(state)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	s := openStore(t, path)
	n := 0
	for h, err := range s.Headers(t.Context(), "new") {
		if n++; err != nil || h.Visit != int64(n) {
			t.Errorf("visit %d is number %d, %v", h.Visit, n, err)
		}
	}
	if n != 40 {
		t.Errorf("%d visits", n)
	}
}

// TestApply_killedAtAnyTime runs a program that restores to and fro, and kills
// it: the store is always as before or as planned.
func TestApply_killedAtAnyTime(t *testing.T) {
	skip.Sequential(t)
	if path := os.Getenv("HINDCAST_TEST_RESTORE"); path != "" {
		restoreForEver(t, path)
	}
	path := filled(t)
	for kill := range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(150+37*kill)*time.Millisecond)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestApply_killedAtAnyTime$")
		cmd.Env = append(os.Environ(), "HINDCAST_TEST_RESTORE="+path)
		out, err := cmd.CombinedOutput()
		cancel()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("the program ended by itself: %v\n%s", err, out)
		}
		s := openStore(t, path)
		faults, err := s.Faults(t.Context(), "")
		if err != nil || len(faults) != 0 {
			t.Fatalf("faults %+v, %v", faults, err)
		}
		headers, _, err := s.Tail(t.Context(), "s", 1000)
		if err != nil {
			t.Fatal(err)
		}
		// With a head at #40 and later ones orphaned, or at the end and none.
		data, err := s.Get(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range headers {
			if h.Head && (data != nil && data.LastSnapshot.ID != h.ID) {
				t.Fatalf("the head is #%d, the record's is #%d", h.Index, data.LastSnapshot.Index)
			}
		}
		tree := model.NewTimeline(headers)
		head := tree.Header(tree.Head())
		for i := range headers {
			h := &headers[i]
			if tree.OnPath(model.Node(i)) == h.Orphaned {
				t.Fatalf("half a restore: the head is #%d, visit %d (#%d) is orphaned %v", head.Index, h.Visit, h.Index, h.Orphaned)
			}
		}
	}
}

// restoreForEver restores the session to an early snapshot and takes it back.
func restoreForEver(t *testing.T, path string) {
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	headers, _, err := s.Tail(t.Context(), "s", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: headers[i*31%len(headers)].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if i%3 != 0 {
			continue
		}
		if plan, err = s.Plan(t.Context(), model.Change{Op: model.OpUndo}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
}
