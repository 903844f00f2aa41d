package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/sqlite"
)

// versionOne gives a copy of a store that a program of version 1 wrote: an
// import, a conversation with a restore and a record ahead of its head, a fork,
// a fork that was undone, odd states, and one of more than 1 MiB.
func versionOne(t testing.TB) string {
	t.Helper()
	f, err := os.Open("testdata/version1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asWritten is the hash of what version 1 itself said was in its store.
const asWritten = "504209c07b809d81b63d8e672d3a8055961e5b32f9a058d3d44b6a4d414e7229"

// contents puts everything in a store into words.
func contents(t testing.TB, s *sqlite.Store) string {
	t.Helper()
	var out strings.Builder
	for row, err := range store.Rows(context.Background(), s) {
		if err != nil {
			t.Fatal(err)
		}
		if r := row.Record; r != nil {
			fmt.Fprintf(&out, "record of %q turn %d: %x\n", r.ID, r.TurnIndex, sha256.Sum256(r.State))
			continue
		}
		h := row.Header
		fmt.Fprintf(&out, "%q %d %q parent %d %q #%d turn %d event %d at %s size %d orphaned %t head %t %.300q\n",
			h.SessionID, h.Visit, h.ID, h.ParentVisit, h.ParentID, h.Index, h.TurnIndex, int(h.Event), h.CreatedAt.UTC(), h.Size, h.Orphaned, h.Head, row.State)
		fmt.Fprintf(&out, "  %x", sha256.Sum256(row.State))
		if r := h.Reason; r != nil {
			fmt.Fprintf(&out, " reason %d at %s %q #%d", int(r.Kind), r.At.UTC(), r.TargetID, r.TargetIndex)
		}
		fmt.Fprintln(&out)
	}
	journal, err := s.Journal(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range journal {
		fmt.Fprintf(&out, "entry %d at %s %s %q from %q to %q undone %t\n", e.ID, e.At.UTC(), e.Op, e.Session, e.From, e.To, e.Undone)
	}
	return out.String()
}

func sameContents(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("%s: line %d is\n%s\nwant\n%s", what, i, g[i], w[i])
			}
		}
		t.Fatalf("%s: %d lines, want %d", what, len(g), len(w))
	}
}

func TestOpen_versionOneIsReadWithoutWriting(t *testing.T) {
	path := versionOne(t)
	before := directory(t, filepath.Dir(path))
	readEverything(t, path)
	s := openStore(t, path)
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(contents(t, s)))); got != asWritten {
		t.Errorf("it holds something else than version 1 said: %s", got)
	}
	headers, _, err := s.Tail(t.Context(), "odd", 4)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Peek(t.Context(), headers[3].Ref())
	if err != nil || len(first) != mebibyte {
		t.Errorf("the beginning of a large state has %d bytes, %v", len(first), err)
	}
	spans, err := s.Compare(t.Context(), headers[0].Ref(), headers[3].Ref())
	if want := (store.Span{ATo: headers[0].Size, BTo: headers[3].Size}); err != nil || len(spans) != 1 || spans[0] != want {
		t.Errorf("spans %v, %v", spans, err)
	}
	if spans, err := s.Compare(t.Context(), headers[0].Ref(), headers[0].Ref()); err != nil || spans != nil {
		t.Errorf("spans of a state and itself: %v, %v", spans, err)
	}
	_, at, loadErr := s.Load(t.Context(), "chat")
	_, cursorErr := s.Cursor(t.Context(), "chat")
	if err := errors.Join(loadErr, cursorErr); err != nil || at == 0 {
		t.Errorf("revision %d, %v", at, err)
	}
	if after := directory(t, filepath.Dir(path)); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
}

// TestOpen_versionOneBesideItsWriter: an old program has the store open.
func TestOpen_versionOneBesideItsWriter(t *testing.T) {
	path := versionOne(t)
	want := contents(t, openStore(t, path))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE sessions SET record_turn = 77 WHERE id = 'odd'"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(directory(t, filepath.Dir(path)), "-wal") {
		t.Error("the writer does not have it open")
	}
	s := openStore(t, path)
	sameContents(t, "beside a writer", contents(t, s), strings.Replace(want, `record of "odd" turn 3`, `record of "odd" turn 77`, 1))
}

// version gives the version of the schema in a file.
func version(t *testing.T, path string) int { return number(t, path, "PRAGMA user_version") }

func TestMigrate_keepsEverything(t *testing.T) {
	path := versionOne(t)
	s, reader := openStore(t, path), openStore(t, path)
	want := contents(t, s)
	undo, err := s.PlanUndo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.InvalidateSnapshotsAfter(t.Context(), "no such session", 0); err != nil {
		t.Fatal(err)
	}
	if v := version(t, path); v != 2 {
		t.Fatalf("version %d", v)
	}
	sameContents(t, "after the migration", contents(t, s), want)
	sameContents(t, "for a reader that was there before", contents(t, reader), want)
	if now, err := s.PlanUndo(t.Context()); err != nil || !store.SamePlan(now, undo) {
		t.Errorf("what would be undone is %+v, was %+v, %v", now, undo, err)
	}
	if faults, err := s.Faults(t.Context(), ""); err != nil || len(faults) != 0 {
		t.Errorf("faults %+v, %v", faults, err)
	}
	// The fork and the restore are taken back: the record that the restore
	// replaced was in nothing but the journal.
	for range 2 {
		plan, err := s.PlanUndo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	data, err := s.Get(t.Context(), "chat")
	if err != nil || data.TurnIndex != 20 || bytes.Equal(data.State, data.LastSnapshot.State) {
		t.Errorf("the record is %+v, %v", data, err)
	}
	closeStore(t, s)
	if readEverything(t, path) == "" || strings.Contains(directory(t, filepath.Dir(path)), "-wal") {
		t.Errorf("it cannot be read, or was not tidied up:\n%s", directory(t, filepath.Dir(path)))
	}
}

func TestMigrate_twoProgramsAtOnce(t *testing.T) {
	path := versionOne(t)
	want := contents(t, openStore(t, path))
	var wait sync.WaitGroup
	for i := range 4 {
		s := openStore(t, path)
		wait.Go(func() {
			if err := s.Save(t.Context(), fmt.Sprint("new ", i), &model.Data[json.RawMessage]{State: json.RawMessage("1")}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	s := openStore(t, path)
	if got := contents(t, s); version(t, path) != 2 || strings.Count(got, `record of "new `) != 4 {
		t.Errorf("version %d holds\n%.1000s", version(t, path), got)
	}
	for i := range 4 {
		execute(t, path, "DELETE FROM sessions WHERE id = ?", fmt.Sprint("new ", i))
	}
	sameContents(t, "after the migration", contents(t, openStore(t, path)), want)
}

// TestMigrate_whatWasDamagedStaysSo: it is told, and hides nothing else.
func TestMigrate_whatWasDamagedStaysSo(t *testing.T) {
	path := versionOne(t)
	s := openStore(t, path)
	chat, _, err := s.Tail(t.Context(), "chat", 3)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	execute(t, path, "UPDATE states SET data = zeroblob(50) WHERE state = (SELECT state FROM visits WHERE id = ?)", chat[1].ID)
	execute(t, path, "DELETE FROM states WHERE state = (SELECT state FROM visits WHERE id = ?)", chat[2].ID)
	s = openStore(t, path)
	before, err := s.Faults(t.Context(), "chat")
	if err != nil || len(before) != 2 {
		t.Fatalf("faults %+v, %v", before, err)
	}
	for range 2 {
		if err := s.Save(t.Context(), "new", &model.Data[json.RawMessage]{State: json.RawMessage("1")}); err != nil {
			t.Fatal(err)
		}
		after, err := s.Faults(t.Context(), "chat")
		if err != nil || len(after) != 2 || after[0].File != before[0].File || after[1].File != before[1].File {
			t.Fatalf("faults %+v, were %+v, %v", after, before, err)
		}
	}
	if _, err := s.State(t.Context(), chat[0].Ref()); err != nil {
		t.Error(err)
	}
}

// oldStore makes a larger store of version 1 by its schema: sessions of growing
// conversations.
func oldStore(t testing.TB, sessions, turns int) string {
	t.Helper()
	schema, err := os.ReadFile("schema1.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	execute(t, path, fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = 1", schema, 0x48637374))
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sessions {
		exec("INSERT INTO sessions (session, id, head, revision, visits) VALUES (?, ?, ?, ?, ?)", i+1, fmt.Sprint("s", i), turns, turns, turns)
		s := jsontest.New(0, uint64(i))
		for n := range turns {
			text := s.Step().JSON()
			if len(text) > mebibyte {
				t.Fatal("the states are larger than a piece")
			}
			sum := sha256.Sum256(text)
			key := i*turns + n + 1
			exec("INSERT INTO states VALUES (?, ?, ?, 1, ?)", key, sum[:], len(text), encoder.EncodeAll(text, nil))
			exec("INSERT INTO visits (session, visit, id, parent_visit, idx, turn, event, state, size) VALUES (?, ?, ?, nullif(?, 0), ?, ?, 0, ?, ?)",
				i+1, n+1, model.SnapshotID(text), n, n, n, key, len(text))
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMigrate_killedAtAnyTime kills a program that migrates a store, as far as
// the log of its one transaction has come: the store is whole, as one version
// or the other.
func TestMigrate_killedAtAnyTime(t *testing.T) {
	alone(t)
	if path := os.Getenv("HINDCAST_TEST_MIGRATE"); path != "" {
		s := openStore(t, path)
		fmt.Println("ready")
		if err := s.InvalidateSnapshotsAfter(t.Context(), "no such session", 0); err != nil {
			t.Fatal(err)
		}
		fmt.Println("done")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	whole := oldStore(t, 3, 150)
	want := contents(t, openStore(t, whole))
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[int]int{}
	for _, log := range []int64{0, 1, 1 << 12, 1 << 16, 1 << 18, 1 << 19, 3 << 18, 1 << 20, 1 << 40} {
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		killWhileMigrating(t, path, log)
		versions[version(t, path)]++
		// The log that is left is settled by opening it for writing, as the next
		// program does that writes; and it can be read before that.
		s := openStore(t, path)
		sameContents(t, fmt.Sprintf("killed at %d bytes of log, before the next write", log), contents(t, s), want)
		if err := s.InvalidateSnapshotsAfter(t.Context(), "no such session", 0); err != nil {
			t.Fatal(err)
		}
		sameContents(t, fmt.Sprintf("killed at %d bytes of log", log), contents(t, s), want)
		if faults, err := s.Faults(t.Context(), ""); err != nil || len(faults) != 0 || version(t, path) != 2 {
			t.Fatalf("faults %+v, %v", faults, err)
		}
	}
	if versions[1] == 0 || versions[2] == 0 {
		t.Errorf("the stores that were left, by version: %v", versions)
	}
}

// killWhileMigrating kills the program when the log has so many bytes, or when
// it is done.
func killWhileMigrating(t *testing.T, path string, log int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMigrate_killedAtAnyTime$")
	cmd.Env = append(os.Environ(), "HINDCAST_TEST_MIGRATE="+path)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said := make(chan string, 2)
	go func() {
		defer close(said)
		buffer := make([]byte, 100)
		for {
			n, err := out.Read(buffer)
			if err != nil {
				return
			}
			said <- string(buffer[:n])
		}
	}()
	if first := <-said; !strings.HasPrefix(first, "ready") {
		t.Fatalf("the program says %q", first)
	}
	for waiting := true; waiting; {
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() >= log {
			break
		}
		select {
		case <-said:
			waiting = false
		case <-time.After(100 * time.Microsecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// BenchmarkMigrate is the first write to a store of 10,000 states of version 1.
func BenchmarkMigrate(b *testing.B) {
	for _, c := range []struct{ sessions, turns int }{{200, 50}, {10, 1000}} {
		b.Run(fmt.Sprintf("%dx%d", c.sessions, c.turns), func(b *testing.B) {
			if c.turns == 1000 && testing.Short() {
				b.Skip("3.4 GB of states")
			}
			for b.Loop() {
				b.StopTimer()
				path := oldStore(b, c.sessions, c.turns)
				before, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				s, err := sqlite.Open(b.Context(), path)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := s.InvalidateSnapshotsAfter(b.Context(), "no such session", 0); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				after, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(before.Size())/1e6, "MB-before")
				b.ReportMetric(float64(after.Size())/1e6, "MB-after")
				b.StartTimer()
			}
		})
	}
}
