package opencode

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// writer writes a database as opencode does, and worse: rows without events and events without
// rows, damaged records, reverts of all kinds.
type writer struct {
	t  *rapid.T
	db *sqlitefile.Tx
	// texts are the words of each message by its parts, rows and events have them.
	rows, events map[string]map[string]string
	order        []string
	seq, n       int
}

func (w *writer) exec(query string, args ...any) {
	if _, err := w.db.Exec(w.t.Context(), query, args...); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
}

func (w *writer) event(kind, data string) {
	w.seq++
	w.exec("INSERT INTO event VALUES (?, 'ses_1', ?, ?, ?)", fmt.Sprint("evt_", w.seq), w.seq, kind, data)
}

func put(of map[string]map[string]string, message, part, text string) {
	if of[message] == nil {
		of[message] = map[string]string{}
	}
	of[message][part] = text
}

// message adds a message, in rows, in events, or in both.
func (w *writer) message() {
	w.n++
	id := fmt.Sprintf("msg_%04d", w.n)
	created := w.n - rapid.IntRange(0, 2).Draw(w.t, "how much earlier it says")
	role := rapid.SampledFrom([]string{"user", "assistant", "what"}).Draw(w.t, "role")
	where := rapid.SampledFrom([]string{"both", "both", "rows", "events"}).Draw(w.t, "where")
	info := fmt.Sprintf(`"role":%q,"time":{"created":%d}`, role, created)
	if where != "events" {
		data := "{" + info + "}"
		if rapid.IntRange(0, 9).Draw(w.t, "damage") == 0 {
			data = data[:len(data)/2]
		}
		w.exec("INSERT INTO message VALUES (?, 'ses_1', ?, ?, ?)", id, created, created, data)
		w.rows[id] = map[string]string{}
	}
	if where != "rows" {
		w.event("message.updated.1", fmt.Sprintf(`{"sessionID":"ses_1","info":{"id":%q,"sessionID":"ses_1",%s}}`, id, info))
		w.events[id] = map[string]string{}
	}
	w.order = append(w.order, id)
	for p := range rapid.IntRange(1, 3).Draw(w.t, "parts") {
		part, text := fmt.Sprintf("prt_%04d%d", w.n, p), fmt.Sprintf("<%d.%d>", w.n, p)
		body := fmt.Sprintf(`"type":"text","text":%q`, text)
		if where != "events" {
			w.exec("INSERT INTO part VALUES (?, ?, 'ses_1', ?, ?, ?)", part, id, created, created, "{"+body+"}")
			put(w.rows, id, part, text)
		}
		if where != "rows" {
			w.event("message.part.updated.1", fmt.Sprintf(`{"sessionID":"ses_1","part":{"id":%q,"messageID":%q,%s}}`, part, id, body))
			put(w.events, id, part, text)
		}
	}
}

// remove deletes a message, or parts of it: the rows, and maybe an event tells.
func (w *writer) remove() {
	if len(w.order) == 0 {
		return
	}
	id := rapid.SampledFrom(w.order).Draw(w.t, "message")
	told := rapid.Bool().Draw(w.t, "told")
	switch rapid.SampledFrom([]string{"message", "part", "row alone"}).Draw(w.t, "what") {
	case "message":
		w.exec("DELETE FROM message WHERE id = ?", id)
		w.exec("DELETE FROM part WHERE message_id = ?", id)
		if delete(w.rows, id); told {
			w.event("message.removed.1", fmt.Sprintf(`{"sessionID":"ses_1","messageID":%q}`, id))
		}
	case "part":
		for _, part := range slices.Sorted(maps.Keys(w.rows[id]))[:min(1, len(w.rows[id]))] {
			w.exec("DELETE FROM part WHERE id = ?", part)
			if delete(w.rows[id], part); told {
				w.event("message.part.removed.1", fmt.Sprintf(`{"sessionID":"ses_1","messageID":%q,"partID":%q}`, id, part))
			}
		}
	default: // the parts stay
		w.exec("DELETE FROM message WHERE id = ?", id)
	}
}

// edit writes over the text of a part that has rows and events: what it had stays in events.
func (w *writer) edit() {
	if len(w.order) == 0 {
		return
	}
	id := rapid.SampledFrom(w.order).Draw(w.t, "message")
	part := fmt.Sprintf("prt_%s%d", strings.TrimPrefix(id, "msg_"), rapid.IntRange(0, 2).Draw(w.t, "part"))
	if w.rows[id][part] == "" || w.events[id][part] == "" {
		return
	}
	w.seq++
	body := fmt.Sprintf(`"type":"text","text":"<%d>"`, w.seq)
	w.exec("UPDATE part SET data = ? WHERE id = ?", "{"+body+"}", part)
	w.exec("INSERT INTO event VALUES (?, 'ses_1', ?, 'message.part.updated.1', ?)", fmt.Sprint("evt_", w.seq), w.seq, fmt.Sprintf(`{"part":{"id":%q,"messageID":%q,%s}}`, part, id, body))
	put(w.rows, id, part, fmt.Sprintf("<%d>", w.seq))
	put(w.events, id, fmt.Sprint(part, "@", w.seq), fmt.Sprintf("<%d>", w.seq))
}

// Whatever was written, written over and deleted: each text that rows or events have is in some state.
func TestNoMessageIsLost(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, storetest.Few(60, func(t *rapid.T) {
		runs++
		at := filepath.Join(dir, fmt.Sprint(runs))
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(at, "opencode.db")
		write(t, file, nil)
		db := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)", nil)
		w := &writer{t: t, rows: map[string]map[string]string{}, events: map[string]map[string]string{}}
		err := db.Fill(t.Context(), func(tx *sqlitefile.Tx) error {
			w.db = tx
			w.fill()
			return nil
		})
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		w.holds(at)
	}))
}

// tables are those of opencode, without what is not read.
var tables = []string{
	"CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT, directory TEXT, revert TEXT, time_created INT, time_updated INT, parent_id TEXT)",
	"CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT)",
	"CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, time_updated INT, data TEXT)",
	"CREATE TABLE event (id TEXT, aggregate_id TEXT, seq INT, type TEXT, data TEXT)",
}

// fill makes the tables and takes some steps.
func (w *writer) fill() {
	for _, table := range tables {
		w.exec(table)
	}
	for range rapid.IntRange(1, 12).Draw(w.t, "steps") {
		switch rapid.IntRange(0, 5).Draw(w.t, "step") {
		case 0:
			w.remove()
		case 1:
			w.edit()
		default:
			w.message()
		}
	}
	if rapid.IntRange(0, 5).Draw(w.t, "session") > 0 { // else it has no row
		revert := ""
		if len(w.order) > 0 && rapid.Bool().Draw(w.t, "reverted") {
			id := rapid.SampledFrom(w.order).Draw(w.t, "to")
			revert = fmt.Sprintf(`{"messageID":%q,"partID":"prt_%s1"}`, id, strings.TrimPrefix(id, "msg_"))
			if rapid.Bool().Draw(w.t, "whole") {
				revert = fmt.Sprintf(`{"messageID":%q}`, id)
			}
		}
		w.exec("INSERT INTO session VALUES ('ses_1', 'a title', '/work', ?, 1, 2, NULL)", revert)
	}
}

func (w *writer) holds(dir string) {
	s, err := Kind(nil).Open(w.t.Context(), dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	var all strings.Builder
	for info, err := range s.Sessions(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		for h, err := range s.Headers(w.t.Context(), info.ID) {
			if err != nil {
				w.t.Fatal(err)
			}
			state, err := s.State(w.t.Context(), h.Ref())
			if err != nil {
				w.t.Fatalf("state of %s: %v", h.ID, err)
			}
			all.Write(state)
		}
	}
	for _, of := range []map[string]map[string]string{w.rows, w.events} {
		for _, id := range w.order {
			var texts []string
			for _, text := range of[id] {
				texts = append(texts, text)
			}
			slices.Sort(texts)
			for _, text := range texts {
				if !strings.Contains(all.String(), text) {
					w.t.Errorf("no state has %s of message %s", text, id)
				}
			}
		}
	}
}
