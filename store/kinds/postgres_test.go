package kinds_test

import (
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/pg/pgtest"
)

// An import makes Hindcast's own store in the database of a URL, and adds to it the next time;
// what comes out of it is what went in. Elsewhere no store is made.
func TestImport_intoADatabase(t *testing.T) {
	dir := t.TempDir()
	hindcastRuns(t, "", "demo", dir)
	file := filepath.Join(dir, "hindcast-demo.db")
	rows := hindcastRuns(t, "", "export", file)
	url := pgtest.Shared(t).Database(t)
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

	graphs := pgtest.Shared(t).Recorded(t, filepath.Join(testdata, "langgraph", "postgres.sql"))
	for at, want := range map[string]string{
		graphs:                       "langgraph",
		"http://127.0.0.1:1/nothing": "",
	} {
		if code, _, errs := inProcessWith(t, allKinds, rows, "import", "-", at); code != 1 || !strings.Contains(errs, want) || strings.Contains(errs, pgtest.Password) {
			t.Errorf("%s: exit %d: %s", want, code, errs)
		}
	}
}
