package kinds_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/keep"
	"hindcast/store/kinds"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// archiveAt returns the archive at an address, which the test closes.
func archiveAt(t *testing.T, address string) *keep.Archive {
	t.Helper()
	a := kinds.Archive(address, nil, "")
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestKeep_served keeps stores of files and of rows into one database on a server: each is read, given back byte for byte and taken
// away again as from an archive in a file.
func TestKeep_served(t *testing.T) {
	address := pgtest.SharedCluster(t).Database(t)
	a := archiveAt(t, address)
	if list, err := a.ListGone(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("without an archive gone are %v, %v", list, err)
	}
	if _, err := a.Verify(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an archive that is not there verifies: %v", err)
	}
	files := 0
	odd := filepath.Join("projects", "-home-demo", "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", "tool-results", "\xff \x01 odd.txt")
	for from, kind := range map[string]string{"coding/claude-code": "claude-code", "coding/codex": "codex", "coding/pi": "pi", "langgraph/agent.db": "langgraph"} {
		source := filepath.Join(testdata, filepath.FromSlash(from))
		info, err := os.Stat(source)
		if err != nil {
			t.Fatal(err)
		}
		at := ""
		if info.IsDir() {
			at = storetest.Copy(t, source)
		} else {
			at = rowstest.Copied(t, source)
		}
		if strings.HasSuffix(from, "claude-code") { // no name of a file is too odd, and an empty one is kept
			if err := os.MkdirAll(filepath.Dir(filepath.Join(at, odd)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(at, odd), nil, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		k, _ := allKinds.FindKind(kind)
		one := store.Found{Identity: store.Identity{Kind: k, At: at}}
		done, err := a.Keep(t.Context(), one)
		if err != nil || done.Changed == 0 {
			t.Fatalf("%s: kept %+v, %v", from, done, err)
		}
		files += done.Files
		if again, err := a.Keep(t.Context(), one); err != nil || again.Added != 0 || again.Files != done.Files {
			t.Errorf("%s again: %+v, %v", from, again, err)
		}
		if list, err := a.ListGone(t.Context()); err != nil || len(list) > 0 {
			t.Fatalf("%s: gone are %v, %v", from, list, err)
		}
		all, rows, aside := readAll(t, at), map[string]bool{}, at+".aside"
		if !info.IsDir() {
			rows = rowsOf(t, at)
		}
		if err := os.Rename(at, aside); err != nil {
			t.Fatal(err)
		}
		was, err := k.Open(t.Context(), aside)
		if err != nil {
			t.Fatal(err)
		}
		gone := goneStore(t, a, one)
		sameSessions(t, gone, was)
		giveAllBack(t, gone)
		if err := was.Close(); err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() {
			sameRows(t, from, rowsOf(t, at), rows)
			continue
		}
		if now := readAll(t, at); !maps.Equal(now, all) {
			t.Errorf("%s: %d files are back of %d", from, len(now), len(all))
		}
		if kind != "claude-code" { // an undo leaves the odd one
			undoAll(t, gone, all)
		}
	}
	v, err := a.Verify(t.Context())
	if err != nil || len(v.Damaged) > 0 || v.Files < files {
		t.Errorf("verified %+v of %d files, %v", v, files, err)
	}
}

// TestKeep_servedRedact keeps a transcript into a database without a secret that is in it, and then as it is.
func TestKeep_servedRedact(t *testing.T) {
	cluster := pgtest.SharedCluster(t)
	address := cluster.Database(t)
	x := keepTranscript(t)
	line := []byte(`{"type":"user","uuid":"6f1a9a1e-0000-4000-8000-000000000001","sessionId":"7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789","message":{"role":"user","content":"the key is ` + secretKey + `"}}` + "\n")
	x.write(t, line)
	a := archiveAt(t, address)
	for want, keepAll := range []func() error{
		func() error { _, err := a.KeepRedacted(t.Context(), x.Found); return err },
		func() error { _, err := a.Keep(t.Context(), x.Found); return err },
	} {
		if err := keepAll(); err != nil {
			t.Fatal(err)
		}
		got, _, err := a.Source(t.Context(), filepath.ToSlash(filepath.Dir(x.file))).Tree().Read(filepath.Base(x.file), nil)
		if err != nil || len(got) != len(line) || bytes.Count(got, []byte(secretKey)) != want {
			t.Errorf("kept is %q, %v", got, err)
		}
		if n := queryServer(t, address, "SELECT count(*)::text FROM hindcast_kept.files WHERE newest = 1 AND redacted"); n != []string{"1", "0"}[want] {
			t.Errorf("%s files are redacted", n)
		}
	}
}

// TestKeep_servedAtOnce has several programs keep one store into a database at once, each the first, while its tool writes to it.
func TestKeep_servedAtOnce(t *testing.T) {
	x := keepTranscript(t)
	x.write(t, records(4, 3<<20))
	address := pgtest.SharedCluster(t).Database(t)
	var keepers sync.WaitGroup
	for range 3 {
		a := archiveAt(t, address)
		keepers.Go(func() {
			for range 3 {
				if _, err := a.Keep(t.Context(), x.Found); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range uint64(100) {
		f, err := os.OpenFile(x.file, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(records(5+i, 1000))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	keepers.Wait()
	x.a = archiveAt(t, address)
	x.keep(t)
	x.sameBytes(t, x.file)
	verifySound(t, x.a, len(readAll(t, x.At)))
}

// TestKeep_servedKilled kills the program at random instants while it keeps into a database, and the server at others: what was kept before
// stays, the archive is sound, and the next run goes on.
func TestKeep_servedKilled(t *testing.T) {
	skip.Sequential(t)
	hindcast, random := program.Path(t), rand.New(rand.NewPCG(seedOf(t), 0))
	x := keepTranscript(t)
	files := len(readAll(t, x.At))
	kept := filepath.Join(filepath.Dir(x.file), "e3826403-bf0d-4777-ba88-43b3f02bc184.jsonl")
	cluster := pgtest.New(t, "fsync=on")
	address := cluster.Database(t)
	x.a = archiveAt(t, address)
	x.keep(t)
	for i := range uint64(storetest.Sized(6, 60)) {
		x.write(t, records(100+i, 4<<20))
		run := exec.CommandContext(t.Context(), hindcast, "keep", x.At, "--to", address)
		run.Env = append(os.Environ(), "HINDCAST_CACHE=off")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond)))) // the instant is drawn, whatever is under way then
		if i%3 == 2 {
			if err := cluster.Restart(pgtest.Kill); err != nil {
				t.Fatal(err)
			}
		} else {
			_ = run.Process.Kill() // or it had ended
		}
		_ = run.Wait() // it was killed, had ended, or says that the server went
		v, err := x.a.Verify(t.Context())
		if err != nil || len(v.Damaged) > 0 || v.Files != files {
			t.Fatalf("verified %+v, %v", v, err)
		}
		x.sameBytes(t, kept)
	}
	x.keep(t)
	x.sameBytes(t, x.file)
}

// queryServer returns the first column of the first row of a query.
func queryServer(t *testing.T, address, query string) (text string) {
	t.Helper()
	server, err := pg.New(address)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.Read(t.Context(), func(tx *pg.Tx) error { return tx.Row(t.Context(), query).Scan(&text) }); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestKeep_servedForget removes a session from an archive in a database: its bytes are in no file of a table, those of the others are as they
// were, and it is not kept again.
func TestKeep_servedForget(t *testing.T) {
	cluster := pgtest.New(t)
	address := cluster.Database(t)
	x := keepTranscript(t)
	x.a = archiveAt(t, address)
	const session = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"
	random := rand.New(rand.NewPCG(1, 0))
	noise := make([]byte, 300_000) // so that it is stored as it is
	for i := range noise {
		noise[i] = byte(random.Uint64())
	}
	beside := filepath.Join(strings.TrimSuffix(x.file, ".jsonl"), "tool-results", "a.txt")
	err := os.MkdirAll(filepath.Dir(beside), 0o700)
	if err == nil {
		err = os.WriteFile(beside, noise, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.keep(t)
	folder := filepath.Join(queryServer(t, cluster.Superuser(t, address), "SELECT setting FROM pg_settings WHERE name = 'data_directory'"), "base")
	onDisk := func() (n int) {
		t.Helper()
		cluster.Exec(t, cluster.Superuser(t, address), "CHECKPOINT")
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			n += bytes.Count(data, noise[150_000:150_064])
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if onDisk() == 0 {
		t.Fatal("the bytes are not on the disk before, as they are")
	}
	was := readAll(t, x.At)
	s, err := x.a.OpenKept(t.Context(), x.Found)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpForget, Ref: model.Ref{Session: session}})
	if err == nil {
		_, err = s.Features().Apply(t.Context(), plan)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if n := onDisk(); n > 0 {
		t.Errorf("the bytes are on the disk %d times", n)
	}
	x.keep(t)
	verifySound(t, x.a, len(was)-2)
	for path := range was {
		if path != x.file && path != beside {
			x.sameBytes(t, path)
		}
	}
}

// TestKeep_servedDamaged changes a byte in a database: verify names the files, and no other. Tables of a later version are refused.
func TestKeep_servedDamaged(t *testing.T) {
	cluster := pgtest.SharedCluster(t)
	address := cluster.Database(t)
	x := keepTranscript(t)
	x.a = archiveAt(t, address)
	x.keep(t)
	x.write(t, records(3, 1<<16))
	x.keep(t)
	cluster.Exec(t, address, "UPDATE hindcast_kept.blocks SET data = set_byte(data, 2000, get_byte(data, 2000) # 64) WHERE block = (SELECT max(block) FROM hindcast_kept.blocks)")
	damaged := archiveAt(t, address)
	v, err := damaged.Verify(t.Context())
	if want := filepath.ToSlash(x.file); err != nil || len(v.Damaged) != 1 || v.Damaged[0] != want {
		t.Errorf("verified %+v, want %s: %v", v, want, err)
	}
	cluster.Exec(t, address, "UPDATE hindcast_kept.archive SET version = version + 1")
	later := archiveAt(t, address)
	if _, err := later.Keep(t.Context(), x.Found); !errors.Is(err, keep.ErrForeign) {
		t.Errorf("tables of a later version: %v", err)
	}
}

// TestKeep_address hides the password of a server, and refuses an address at which there can be no archive with what to do instead.
func TestKeep_address(t *testing.T) {
	x := keepTranscript(t)
	for address, want := range map[string]string{
		"s3://bucket/kept":                        "an archive is a file or a PostgreSQL database, and a bucket has no transactions: copy a file to it, or name postgres://user@host/db",
		"postgres://u:geheim@127.0.0.1:1/nothing": "the PostgreSQL server cannot be reached",
		"postgres://u:ge@heim/@/x":                "write each of @ : / # ? in a password as %40 and its like",
	} {
		a := archiveAt(t, address)
		_, err := a.Keep(t.Context(), x.Found)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
		if text := a.Path() + " " + err.Error(); strings.Contains(text, "geheim") || strings.Contains(text, "heim") {
			t.Errorf("the password is told: %s", text)
		}
	}
	if a := archiveAt(t, "s3://bucket/kept"); a.Close() == nil {
		_, err := a.Keep(t.Context(), x.Found)
		if !errors.Is(err, keep.ErrNoArchive) {
			t.Error(err)
		}
	}
}

// TestKeep_servedCommands runs the commands on the archive that HINDCAST_ARCHIVE names: what was kept there and deleted is listed, given back and
// forgotten.
func TestKeep_servedCommands(t *testing.T) {
	address := pgtest.SharedCluster(t).Database(t)
	hindcast := program.Path(t)
	x := keepTranscript(t)
	run := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), hindcast, args...)
		command.Env = append(os.Environ(), "HINDCAST_CACHE=off", "HINDCAST_ARCHIVE="+address, "HOME="+t.TempDir(), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		if strings.Contains(string(out), pgtest.Password) {
			t.Errorf("%s tells the password:\n%s", args, out)
		}
		return string(out)
	}
	where, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if out := run("keep", x.At); !strings.Contains(out, " new in postgres://") || !strings.Contains(out, where.Host) {
		t.Errorf("keep:\n%s", out)
	}
	was, err := os.ReadFile(x.file)
	if err == nil {
		err = os.Remove(x.file)
	}
	if err != nil {
		t.Fatal(err)
	}
	const session = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"
	if out := run("sessions"); !strings.Contains(out, "⌫ 20") {
		t.Errorf("sessions:\n%s", out)
	}
	run("give-back", session, "--yes")
	if now, err := os.ReadFile(x.file); err != nil || !bytes.Equal(now, was) {
		t.Errorf("%d bytes are back of %d, %v", len(now), len(was), err)
	}
	run("forget", x.At, session, "--yes", "--anyway")
	for address, want := range map[string]string{"s3://bucket/kept": `the archive "s3://bucket/kept": an archive is a file or a PostgreSQL database`, "postgres://u:geheim@127.0.0.1:1/x": "cannot be reached"} {
		command := exec.CommandContext(t.Context(), hindcast, "keep", x.At, "--to", address)
		command.Env = append(os.Environ(), "HINDCAST_CACHE=off")
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "geheim") {
			t.Errorf("keep --to %s: %v\n%s", address, err, out)
		}
	}
	if out := run("keep", "verify"); !strings.Contains(out, "each byte is as it was kept") {
		t.Errorf("verify:\n%s", out)
	}
}

// BenchmarkKeep keeps 300 transcripts, or 10,000 with HINDCAST_FULL, into a file and into a database: how fast, in how much of their size, and
// how long it takes again with nothing new.
func BenchmarkKeep(b *testing.B) {
	count, random := storetest.Sized(300, 10_000), rand.New(rand.NewPCG(3, 0))
	words := make([]string, 4000)
	for i := range words {
		words[i] = strconv.FormatUint(random.Uint64N(1<<30), 36)
	}
	at := filepath.Join(b.TempDir(), ".claude")
	dir := filepath.Join(at, "projects", "-home-demo")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	then, size := time.Now().Add(-time.Hour), 0
	for i := range count {
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		var text []byte
		for n := 0; len(text) < 27_000; n++ {
			text = fmt.Appendf(text, `{"parentUuid":null,"isSidechain":false,"type":"user","sessionId":"%s","uuid":"%08x-0000-4000-8000-%012x","message":{"role":"user","content":"`, id, random.Uint32(), n)
			for range 60 {
				text = append(append(text, words[random.IntN(len(words))]...), ' ')
			}
			text = append(text, "\"}}\n"...)
		}
		file := filepath.Join(dir, id+".jsonl")
		if err := errors.Join(os.WriteFile(file, text, 0o600), os.Chtimes(file, then, then)); err != nil {
			b.Fatal(err)
		}
		size += len(text)
	}
	k, _ := allKinds.FindKind("claude-code")
	found := store.Found{Identity: store.Identity{Kind: k, At: at}}
	for name, address := range map[string]string{"file": filepath.Join(b.TempDir(), "kept.db"), "database": pgtest.New(b, "fsync=on").Database(b)} {
		b.Run(name, func(b *testing.B) {
			a := kinds.Archive(address, nil, "")
			defer a.Close()
			began := time.Now()
			done, err := a.Keep(b.Context(), found)
			if err != nil {
				b.Fatal(err)
			}
			took, again := time.Since(began), time.Now()
			if _, err := a.Keep(b.Context(), found); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(again).Milliseconds()), "ms-again")
			b.ReportMetric(float64(size)/1e6/took.Seconds(), "MB/s")
			b.ReportMetric(100*float64(done.Stored)/float64(size), "%-of-size")
			b.ReportMetric(0, "ns/op")
		})
	}
}
