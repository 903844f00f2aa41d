package opencode

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// Sessions that an opencode 2 of other tables alone has are named; one that it took over from an older version is read as before.
func TestCheck_namesOpencode2(t *testing.T) {
	const newer = "CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, title text, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL)"
	for want, ids := range map[string][]string{
		"":             {"ses_0"},
		"1 session of": {"ses_0", "ses_new"},
	} {
		statements := []string{newer}
		for _, id := range ids {
			statements = append(statements, "INSERT INTO session_v2 VALUES ('"+id+"', 'p', NULL, 'tidy-squid', 'a title', '2.0.26', 1, 2)")
		}
		s := open(t, many(t, statements...))
		var told []string
		for _, f := range storetest.Faults(t, s, "") {
			if f.Code == FaultNewer {
				told = append(told, f.Meaning)
			}
		}
		if got := strings.Join(told, "\n"); !strings.HasPrefix(got, want) || (got == "") != (want == "") || want != "" && !strings.HasSuffix(got, "sessions of an opencode 2 with other tables are not read") {
			t.Errorf("%q: %q", ids, got)
		}
		if len(storetest.Sessions(t, s)) != sessionsOfMany {
			t.Errorf("%d sessions", len(storetest.Sessions(t, s)))
		}
	}
}

// A database of such an opencode 2 alone is no store, and why is said.
func TestRecognise_opencode2(t *testing.T) {
	dir := t.TempDir()
	for name, table := range map[string]string{"opencode.db": "session_v2", "else.db": "other"} {
		write(t, filepath.Join(dir, name), nil)
		db := sqlitefile.NewOwn(filepath.Join(dir, name), "", nil)
		err := db.Fill(t.Context(), executing(t, []string{"CREATE TABLE " + table + " (id text PRIMARY KEY)"}))
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]string{".": "sessions of an opencode 2 with other tables are not read", "opencode.db": "sessions of an opencode 2 with other tables are not read", "else.db": ""} {
		if why, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(dir, at)); ok || err != nil || why != want {
			t.Errorf("%s: %q, %v, %v", at, why, ok, err)
		}
	}
}
