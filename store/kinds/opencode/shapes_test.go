package opencode

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// indexes are those that opencode makes.
var indexes = []string{
	"CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq)",
	"CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id)",
	"CREATE INDEX part_message_id_id_idx ON part (message_id, id)",
	"CREATE INDEX part_session_idx ON part (session_id)",
}

// A session of any shape is read in time that does not grow with the square of its messages: of
// events whose rows are all gone, of parts that come and go, of one time for all.
func TestRead_shapes(t *testing.T) {
	const n = 1500
	message := func(tx *sqlitefile.Tx, seq *int, i int) (err error) {
		add := func(kind, data string) {
			if *seq++; err == nil {
				_, err = tx.Exec(t.Context(), "INSERT INTO event VALUES (?, 'ses_1', ?, ?, ?)", fmt.Sprint("evt_", *seq), *seq, kind, data)
			}
		}
		id := fmt.Sprintf("msg_%06d", i)
		add("message.updated.1", fmt.Sprintf(`{"sessionID":"ses_1","info":{"id":%q,"role":"user","time":{"created":%d}}}`, id, i))
		add("message.part.updated.1", fmt.Sprintf(`{"sessionID":"ses_1","part":{"id":"prt_%06d","messageID":%q,"type":"text","text":"w%d"}}`, i, id, i))
		return err
	}
	remove := func(tx *sqlitefile.Tx, seq *int, i int) error {
		*seq++
		_, err := tx.Exec(t.Context(), "INSERT INTO event VALUES (?, 'ses_1', ?, 'message.removed.1', ?)", fmt.Sprint("evt_", *seq), *seq, fmt.Sprintf(`{"sessionID":"ses_1","messageID":"msg_%06d"}`, i))
		return err
	}
	row := func(tx *sqlitefile.Tx, i, at int) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO message VALUES (?, 'ses_1', ?, ?, ?)", fmt.Sprintf("msg_%06d", i), at, at, fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, at))
		if err == nil {
			_, err = tx.Exec(t.Context(), "INSERT INTO part VALUES (?, ?, 'ses_1', ?, ?, ?)", fmt.Sprintf("prt_%06d", i), fmt.Sprintf("msg_%06d", i), at, at, fmt.Sprintf(`{"type":"text","text":"w%d"}`, i))
		}
		return err
	}
	each := func(do ...func(tx *sqlitefile.Tx, seq *int, i int) error) func(*sqlitefile.Tx) error {
		return func(tx *sqlitefile.Tx) error {
			seq := 0
			for _, one := range do {
				for i := range n {
					if err := one(tx, &seq, i); err != nil {
						return err
					}
				}
			}
			return nil
		}
	}
	over := func(tx *sqlitefile.Tx, seq *int, i int) (err error) { // parts of the first message, each written over
		if i == 0 {
			return message(tx, seq, i)
		}
		for _, text := range []string{"a", "b", "b and more"} {
			*seq++
			_, failed := tx.Exec(t.Context(), "INSERT INTO event VALUES (?, 'ses_1', ?, 'message.part.updated.1', ?)", fmt.Sprint("evt_", *seq), *seq, fmt.Sprintf(`{"part":{"id":"prt_%06d","messageID":"msg_000000","type":"text","text":%q}}`, i, text))
			err = errors.Join(err, failed)
		}
		return err
	}
	for name, fill := range map[string]func(*sqlitefile.Tx) error{
		"parts written over": each(over),
		"rows of one time":   each(func(tx *sqlitefile.Tx, _ *int, i int) error { return row(tx, i, 1) }),
		"all deleted":        each(message, remove),
		"deleted one by one": each(func(tx *sqlitefile.Tx, seq *int, i int) error {
			if err := message(tx, seq, i); err != nil {
				return err
			}
			return remove(tx, seq, i)
		}),
		"rows and events": each(func(tx *sqlitefile.Tx, _ *int, i int) error { return row(tx, i, i) }, message),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "opencode.db")
			write(t, file, nil)
			db := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)", nil)
			made := executing(t, tables, indexes, []string{"INSERT INTO session VALUES ('ses_1', 'a title', '/work', '', 1, 2, NULL)"})
			err := db.Fill(t.Context(), func(tx *sqlitefile.Tx) error { return errors.Join(made(tx), fill(tx)) })
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			storetest.Sessions(t, s)
			list := storetest.Headers(t, s, "ses_1")
			if len(list) != n {
				t.Fatalf("%d messages of %d", len(list), n)
			}
			storetest.Faults(t, s, "ses_1")
			if _, err := s.State(t.Context(), list[len(list)-1].Ref()); err != nil {
				t.Error(err)
			}
		})
	}
}
