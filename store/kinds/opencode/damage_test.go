package opencode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

const (
	sessionsOfMany = 2
	messagesOfMany = 24
)

// made makes a database by statements.
func made(t *testing.T, statements ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "opencode.db")
	write(t, file, nil)
	db := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)&_pragma=page_size(4096)", nil)
	err := db.Fill(t.Context(), executing(t, tables, indexes, statements))
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// many makes a database of some sessions, each of messages whose words no other has. Its events
// are left out, so that a row is all that there is of a message.
func many(t *testing.T, changes ...string) (dir string) {
	t.Helper()
	var statements []string
	for s := range sessionsOfMany {
		id := fmt.Sprintf("ses_%d", s)
		statements = append(statements, fmt.Sprintf("INSERT INTO session VALUES ('%s', 'title %d', '/work', NULL, %d, %d, NULL)", id, s, s, s+1))
		for m := range messagesOfMany {
			message, at := fmt.Sprintf("msg_%d_%03d", s, m), 1000*s+m
			statements = append(statements, fmt.Sprintf(`INSERT INTO message VALUES ('%s', '%s', %d, %d, '{"role":"user","time":{"created":%d},"pad":"%s"}')`, message, id, at, at, at, strings.Repeat("x", 300)),
				fmt.Sprintf(`INSERT INTO part VALUES ('prt_%d_%03d', '%s', '%s', %d, %d, '{"type":"text","text":"<%d.%d>%s"}')`, s, m, message, id, at, at, s, m, strings.Repeat("y", 300)))
		}
	}
	return made(t, append(statements, changes...)...)
}

// lost returns how many messages of each session are in no state, and the codes of all faults.
func lost(t *testing.T, s store.Store) (gone [sessionsOfMany]int, codes []string) {
	t.Helper()
	for n := range sessionsOfMany {
		var all strings.Builder
		id := fmt.Sprintf("ses_%d", n)
		for h, err := range s.Headers(t.Context(), id) {
			if err != nil {
				gone[n] = messagesOfMany
				return gone, append(codes, err.Error())
			}
			if h.Head || h.Orphaned {
				state, err := s.State(t.Context(), h.Ref())
				if err != nil {
					t.Errorf("the state of %s: %v", h.ID, err)
				}
				all.Write(state)
			}
		}
		for m := range messagesOfMany {
			if !strings.Contains(all.String(), fmt.Sprintf("<%d.%d>", n, m)) {
				gone[n]++
			}
		}
		for _, f := range storetest.Faults(t, s, id) {
			codes = append(codes, f.Code)
		}
	}
	return gone, codes
}

// A row that is not as opencode writes it costs no more than itself.
func TestDamage_rows(t *testing.T) {
	const first = " WHERE id = 'msg_0_000'"
	for name, c := range map[string]struct {
		change string
		gone   int
		fault  string
	}{
		"nothing":                   {"", 0, ""},
		"a message of no JSON":      {"UPDATE message SET data = '{\"role\"'" + first, 0, FaultMessage},
		"a message of NULL":         {"UPDATE message SET data = NULL" + first, 0, FaultMessage},
		"a message that is a list":  {"UPDATE message SET data = '[]'" + first, 0, FaultMessage},
		"a message that is a blob":  {"UPDATE message SET data = CAST(data AS BLOB)" + first, 0, ""},
		"a part of no JSON":         {"UPDATE part SET data = '{' WHERE id = 'prt_0_000'", 1, FaultMessage},
		"a part of NULL":            {"UPDATE part SET data = NULL WHERE id = 'prt_0_000'", 1, FaultMessage},
		"a part of no message":      {"UPDATE part SET message_id = NULL WHERE id = 'prt_0_000'", 0, FaultStray},
		"a part without an id":      {"UPDATE part SET id = NULL WHERE id = 'prt_0_000'", 0, ""},
		"a message without an id":   {"UPDATE message SET id = NULL" + first, 0, FaultStray},
		"a time that is a word":     {"UPDATE message SET time_created = 'soon'" + first, 0, ""},
		"a time that is a fraction": {"UPDATE message SET time_created = 0.5" + first, 0, ""},
		"no time":                   {"UPDATE message SET time_created = NULL, time_updated = NULL" + first, 0, ""},
		"a session without a time":  {"UPDATE session SET time_created = 'x', time_updated = 'x' WHERE id = 'ses_0'", 0, ""},
		"a session of numbers":      {"UPDATE session SET title = 7, directory = NULL, revert = 7 WHERE id = 'ses_0'", 0, ""},
		"a session without an id":   {"UPDATE session SET id = NULL WHERE id = 'ses_0'", 0, FaultStray},
		"a revert of no JSON":       {"UPDATE session SET revert = '{\"messageID\"' WHERE id = 'ses_0'", 0, ""},
		"events of nothing":         {"INSERT INTO event VALUES (NULL, 'ses_0', 'x', 'message.updated.1', NULL), (NULL, 'ses_0', NULL, NULL, NULL), (NULL, NULL, 1, 'message.updated.1', '{}')", 0, chat.FaultUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, many(t, c.change))
			if n := len(storetest.Sessions(t, s)); n < sessionsOfMany {
				t.Errorf("it has %d sessions", n)
			}
			gone, codes := lost(t, s)
			if gone != [sessionsOfMany]int{c.gone} {
				t.Errorf("the sessions lose %v messages", gone)
			}
			if c.fault == "" && len(codes) > 0 || c.fault != "" && !slices.Contains(codes, c.fault) {
				t.Errorf("the faults are %q instead of %q", codes, c.fault)
			}
		})
	}
}

// Whatever page of the file is torn, the messages are read whose rows are on the others, and
// doctor tells. On the first page of a table depends all of it.
func TestDamage_pages(t *testing.T) {
	dir := many(t)
	file := filepath.Join(dir, "opencode.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	kinds := pageKinds(t, file)
	for n := 1; n < len(whole)/page; n++ {
		torn := slices.Clone(whole)
		for i := range page {
			torn[n*page+i] = byte(i*7 + 3)
		}
		write(t, file, torn)
		s, err := Kind(nil).Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		gone, codes := lost(t, s)
		most := 0
		switch kind := kinds[n+1]; {
		case strings.HasPrefix(kind, "leaf of message"), strings.HasPrefix(kind, "leaf of part"):
			most = page / 360 // the size of a row
		case kind == "root of message", kind == "root of part":
			most = sessionsOfMany * messagesOfMany
		}
		total := 0
		for _, lost := range gone {
			total += lost
		}
		if total > most {
			t.Errorf("page %d, %s: %v messages are lost, at most %d should: %.300q", n+1, kinds[n+1], gone, most, codes)
		}
		if total > 0 && !slices.Contains(codes, chat.FaultDatabase) {
			t.Errorf("page %d, %s: the faults are %q", n+1, kinds[n+1], codes)
		}
		if kinds[n+1] != "" && !slices.ContainsFunc(storetest.Faults(t, s, ""), isDatabase) {
			t.Errorf("page %d, %s: doctor does not tell", n+1, kinds[n+1])
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func isDatabase(f model.Fault) bool { return f.Code == chat.FaultDatabase }

// pageKinds returns what each page is, by its number: "leaf of part", "root of session".
func pageKinds(t *testing.T, file string) map[int]string {
	t.Helper()
	kinds := map[int]string{}
	db := sqlitefile.New(file, nil)
	defer db.Close()
	err := db.Read(t.Context(), func(tx *sqlitefile.Tx) error {
		return tx.Each(t.Context(), func(scan func(...any) error) error {
			var n int
			var path, kind, name string
			err := scan(&n, &path, &kind, &name)
			if path == "/" {
				kind = "root"
			}
			kinds[n] = kind + " of " + name
			return err
		}, "SELECT pageno, path, pagetype, name FROM dbstat")
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}
