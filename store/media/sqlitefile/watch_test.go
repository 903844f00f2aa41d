package sqlitefile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLookout_seesWhatHappensToTheFiles moves the time by hand: every change
// is told of at once, and has its echoes.
func TestLookout_seesWhatHappensToTheFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	now := time.Now()
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// All files look alike but for what a step is about.
	write := func(path, content string) {
		t.Helper()
		do(os.WriteFile(path, []byte(content), 0o600), os.Chtimes(path, now.Add(-time.Hour), now.Add(-time.Hour)))
	}
	write(path, "database")
	l := newLookout(path, now)
	// quiet lets a while pass and gives how often the lookout spoke up.
	quiet := func(d time.Duration) (told int) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(firstEcho)
			if l.hasNews(now) {
				told++
			}
		}
		return told
	}
	if told := quiet(time.Minute); told != 0 {
		t.Errorf("nothing happened, and was told %d times", told)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a log is there", func() { write(path+"-wal", "") }},
		{"the log grows", func() { write(path+"-wal", "frame") }},
		{"the log is written over", func() { do(os.Chtimes(path+"-wal", now, now)) }},
		{"the file is written to", func() { do(os.Chtimes(path, now, now)) }},
		{"the log goes", func() { do(os.Remove(path + "-wal")) }},
		{"another file takes its place", func() {
			write(path, "database")
			quiet(time.Minute)
			write(path+".new", "database")
			do(os.Rename(path+".new", path))
		}},
		{"the file goes", func() { do(os.Remove(path)) }},
		{"a file comes", func() { write(path, "database") }},
	} {
		step.do()
		if !l.hasNews(now) {
			t.Errorf("%s: it is not told", step.name)
		}
		if l.hasNews(now) {
			t.Errorf("%s: it is told twice", step.name)
		}
		if first := quiet(firstEcho); first != 1 {
			t.Errorf("%s: no echo after %v", step.name, firstEcho)
		}
		if rest := quiet(time.Minute); rest != 7 {
			t.Errorf("%s: %d more echoes", step.name, rest)
		}
		if late := quiet(time.Hour); late != 0 {
			t.Errorf("%s: %d echoes after a minute", step.name, late)
		}
	}
	// Who begins to watch while a write may be under way hears echoes of it.
	do(os.Chtimes(path, now.Add(-time.Second), now.Add(-time.Second)))
	l = newLookout(path, now)
	if l.hasNews(now) {
		t.Error("a change before the watch is told as one")
	}
	if told := quiet(time.Minute); told != 8 {
		t.Errorf("a write that may be under way has %d echoes", told)
	}
}

// BenchmarkWatch is what a look costs, by the ways that there are.
func BenchmarkWatch(b *testing.B) {
	f, writer := written(b)
	b.Run("Files", func(b *testing.B) {
		l := newLookout(f.Path(), time.Now())
		for b.Loop() {
			l.hasNews(time.Time{})
		}
	})
	b.Run("DataVersion", func(b *testing.B) {
		var version int64
		for b.Loop() {
			if err := writer.QueryRowContext(b.Context(), "PRAGMA data_version").Scan(&version); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("NewConnection", func(b *testing.B) {
		for b.Loop() {
			if n := count(b, f); n != 1 {
				b.Fatal(n)
			}
		}
	})
}
