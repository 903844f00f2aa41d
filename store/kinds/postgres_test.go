package kinds_test

import (
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest/skip"
)

// An import makes Hindcast's own store in the database of a URL, and adds to it the next time;
// what comes out of it is what went in. Elsewhere no store is made.
func TestImport_intoADatabase(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	hindcastRuns(t, "", "demo", dir)
	file := filepath.Join(dir, "hindcast-demo.db")
	rows := hindcastRuns(t, "", "export", file)
	url := pgtest.SharedCluster(t).Database(t)
	for _, new := range []string{" 21 new", " 0 new"} {
		if said := hindcastRuns(t, rows, "import", "-", url); !strings.Contains(said, new) || strings.Contains(said, pgtest.Password) {
			t.Errorf("instead of%s: %s", new, said)
		}
	}
	if out := hindcastRuns(t, "", "export", url); out != rows {
		t.Errorf("the rows are others:\n%s\n%s", out, rows)
	}
	if plan := hindcastRuns(t, "", "restore", url, "trip-planner", "#3", "--yes"); !strings.Contains(plan, "#3") {
		t.Error(plan)
	}
	hindcastRuns(t, "", "undo", url, "--yes")
	if out := hindcastRuns(t, "", "export", url); out != rows {
		t.Error("an undo left something else")
	}

	for _, args := range [][]string{
		{"sessions", url}, {"log", url, "trip-planner"}, {"show", url, "trip-planner"}, {"restore", url, "trip-planner", "#3"}, {"restore", url, "trip-planner", "#3", "--yes"},
		{"journal", url}, {"undo", url, "--yes"}, {"doctor", url}, {"stats", url, "trip-planner"}, {"log", url, "nowhere"}, {"sessions", url, "--json"}, {"fork", url, "trip-planner", "#3", "--as", "new", "--yes"},
		{"label", url, "trip-planner", "#3", "good"}, {"convert", url, "trip-planner", "--to", "sqlite:" + filepath.Join(dir, "new.db"), "--yes"}, {"report", url, "trip-planner", "-o", filepath.Join(dir, "r.html")},
	} {
		code, out, errs := inProcess(t, args...)
		if strings.Contains(out+errs, pgtest.Password) {
			t.Errorf("%q shows the password: %d %s%s", args[0], code, out, errs)
		}
	}

	graphs := pgtest.SharedCluster(t).Restore(t, filepath.Join(testdata, "langgraph", "postgres.sql"))
	for at, want := range map[string]string{
		graphs:                       "langgraph",
		"http://127.0.0.1:1/nothing": "",
	} {
		if code, _, errs := inProcessWith(t, allKinds, rows, "import", "-", at); code != 1 || !strings.Contains(errs, want) || strings.Contains(errs, pgtest.Password) {
			t.Errorf("%s: exit %d: %s", want, code, errs)
		}
	}
}

// A conversion makes Hindcast's own store in the database of a URL once it is agreed to, and is taken away again; what
// comes out of it, into a file, is what went in.
func TestConvert_intoADatabase(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	hindcastRuns(t, "", "demo", dir)
	file, back := filepath.Join(dir, "hindcast-demo.db"), "sqlite:"+filepath.Join(dir, "back.db")
	url := pgtest.SharedCluster(t).Database(t)
	convert := func(from, to string, more ...string) (int, string) {
		t.Helper()
		code, out, errs := inProcessWith(t, allKinds, "", append([]string{"convert", from, "trip-planner", "--to", to, "--as", "trip-planner"}, more...)...)
		if strings.Contains(out+errs, pgtest.Password) {
			t.Errorf("it shows the password: %s%s", out, errs)
		}
		return code, out + errs
	}
	for want, more := range map[int]string{0: "--dry-run", 1: "--json"} {
		if code, said := convert(file, url, more); code != want {
			t.Errorf("%s: %d: %s", more, code, said)
		}
		if code, _, errs := inProcessWith(t, allKinds, "", "sessions", url); code != 1 || !strings.Contains(errs, "not a store") {
			t.Errorf("%s made one: %d %s", more, code, errs)
		}
	}
	if code, said := convert(file, url, "--yes"); code != 0 || !strings.Contains(said, "done: convert, entry 1: trip-planner is at #13 add177ad\n") {
		t.Fatal(code, said)
	}
	if code, said := convert(url, back, "--yes"); code != 0 {
		t.Fatal(code, said)
	}
	rows := hindcastRuns(t, "", "export", file, "trip-planner")
	for _, from := range []string{url, back} {
		if out := hindcastRuns(t, "", "export", from); out != rows {
			t.Errorf("the rows are others:\n%s\n%s", out, rows)
		}
	}
	if code, said := convert(file, url, "--yes"); code != 1 || !strings.Contains(said, "exists already") {
		t.Error(code, said)
	}
	hindcastRuns(t, "", "undo", url, "--yes")
	if code, said := convert(file, url, "--yes"); code != 0 {
		t.Error(code, said)
	}
}
