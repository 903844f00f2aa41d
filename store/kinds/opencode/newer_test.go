package opencode

import (
	"strings"
	"testing"

	"hindcast/store/storetest"
)

// Sessions that opencode 2 alone has are named; one that it took over from an older version is read as before.
func TestCheck_namesOpencode2(t *testing.T) {
	const newer = "CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL, title text, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL)"
	for want, ids := range map[string][]string{
		"":             {"ses_0"},
		"1 session of": {"ses_0", "ses_new"},
	} {
		statements := []string{newer}
		for _, id := range ids {
			statements = append(statements, "INSERT INTO session_v2 VALUES ('"+id+"', 'p', NULL, 'tidy-squid', '/work', 'a title', '2.0.26', 1, 2)")
		}
		s := open(t, many(t, statements...))
		var told []string
		for _, f := range storetest.Faults(t, s, "") {
			if f.Code == FaultNewer {
				told = append(told, f.Meaning)
			}
		}
		if got := strings.Join(told, "\n"); !strings.HasPrefix(got, want) || (got == "") != (want == "") || want != "" && !strings.HasSuffix(got, "sessions of opencode 2 are not read") {
			t.Errorf("%q: %q", ids, got)
		}
		if len(storetest.Sessions(t, s)) != sessionsOfMany {
			t.Errorf("%d sessions", len(storetest.Sessions(t, s)))
		}
	}
}
