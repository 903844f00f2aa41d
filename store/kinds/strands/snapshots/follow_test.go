package snapshots

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// writer writes as one of the SDKs does: beside the place, in two pieces so that
// readers meet half a file, and then into it.
type writer struct {
	kept string // the folder of the snapshots
	// temporary gives the name that is written to first.
	temporary func(file string) string
	text      func(n int) string
	// latestFirst says that the latest is written before the immutable one.
	latestFirst bool
}

func pythonWriter(kept string) writer {
	return writer{kept, func(file string) string {
		return filepath.Join(filepath.Dir(file), ".__strands_tmp_0123456789abcdef0123456789abcdef")
	}, func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"role": "user", "content": [{"text": "q%d"}], "tracking_id": "u%d"}, {"role": "assistant", "content": [{"text": "a%d"}], "tracking_id": "a%d"}`, i, i, i, i))
		}
		return fmt.Sprintf(`{"scope": "agent", "schema_version": "1.0", "created_at": "2026-03-01T10:00:%02d.000000Z", "data": {"messages": [%s], "state": {"n": %d}}, "app_data": {}}`, n, strings.Join(list, ", "), n)
	}, false}
}

func typeScriptWriter(kept string, legacy bool) writer {
	return writer{kept, func(file string) string {
		if legacy {
			return file + ".tmp"
		}
		return file + ".__strands_tmp_01234567-0123-4123-8123-0123456789ab"
	}, func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"role":"user","content":[{"text":"q%d"}],"trackingId":"u%d"},{"role":"assistant","content":[{"text":"a%d"}],"trackingId":"a%d"}`, i, i, i, i))
		}
		return fmt.Sprintf(`{"scope":"agent","schemaVersion":"1.0","createdAt":"2026-03-01T10:00:%02d.000Z","data":{"messages":[%s],"state":{"n":%d}},"appData":{}}`, n, strings.Join(list, ","), n)
	}, true}
}

func (w writer) put(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(w.kept, name)
	temporary := w.temporary(file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Error(err)
		return
	}
	f, err := os.Create(temporary)
	if err != nil {
		t.Error(err)
		return
	}
	for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
		if _, err := f.WriteString(piece); err != nil {
			t.Error(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(temporary, file); err != nil {
		t.Error(err)
	}
}

// turn saves after turn n, from 1.
func (w writer) turn(t *testing.T, n int) {
	t.Helper()
	if w.latestFirst {
		w.put(t, latestFile, w.text(n))
	}
	w.put(t, filepath.Join(historyDir, fmt.Sprintf("snapshot_01950000-%04x-7000-8000-000000000001.json", n)), w.text(n))
	if !w.latestFirst {
		w.put(t, latestFile, w.text(n))
	}
}

// A session that is written from its first file on is followed to its last, and
// is whole whenever somebody looks.
func TestWatch_followsAWriter(t *testing.T) {
	for name, path := range map[string][]string{
		"python":     {"session", "s", "scopes", "agent", "default", "snapshots"},
		"typescript": {"session", "s", "scopes", "agent", "agent", "snapshots"},
		"legacy":     {"s", "scopes", "agent", "agent", "snapshots"},
	} {
		s := open(t, t.TempDir())
		changes, err := s.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(append([]string{s.Address()}, path...)...)
		w := pythonWriter(kept)
		if name != "python" {
			w = typeScriptWriter(kept, name == "legacy")
		}
		const turns = 30
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range turns {
				w.turn(t, n+1)
			}
		}()
		seen := 0
		for seen < turns {
			storetest.Next(t, changes)
			list := sessions(t, s)
			if len(list) == 0 {
				continue
			}
			rows := storetest.Headers(t, s, "s")
			for i, h := range rows {
				if h.Index != i || h.Marks.Has(model.MarkDamaged) || h.TurnIndex != i && h.ID != latestID || i > 0 && h.ParentID != rows[i-1].ID {
					t.Fatalf("%s: row %d is %+v", name, i, h)
				}
			}
			if n := len(rows); n > 0 && rows[n-1].Head && rows[n-1].ID != latestID {
				seen = n
			}
			for _, f := range storetest.Faults(t, s, "s") {
				// Between its two files a save looks like one that was stopped.
				if f.Code != FaultLatestBehind && f.Code != FaultNoLatest {
					t.Fatalf("%s: after %d turns: %+v", name, seen, f)
				}
			}
		}
		<-done
		rows := storetest.Headers(t, s, "s")
		if last := rows[len(rows)-1]; len(rows) != turns || !strings.Contains(string(state(t, s, last)), "a29") {
			t.Errorf("%s: in the end there is\n%s", name, picture(rows))
		}
	}
}

// Each kind of change is told of, and whoever reads then finds it.
func TestWatch_tellsOfEveryKindOfChange(t *testing.T) {
	s := open(t, t.TempDir())
	kept := snapshotsOf(s.Address(), "py-old")
	w := pythonWriter(kept)
	w.turn(t, 1)
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := func(session string) int {
		for _, info := range sessions(t, s) {
			if info.ID == session {
				return info.Snapshots
			}
		}
		return -1
	}
	for _, step := range []struct {
		what string
		do   func()
		seen func() bool
	}{
		{"a turn", func() { w.turn(t, 2) }, func() bool { return count("py-old") == 2 }},
		{"the latest alone", func() { w.put(t, latestFile, w.text(3)) }, func() bool { return count("py-old") == 3 }},
		{"an earlier one put back", func() { w.put(t, latestFile, w.text(1)) }, func() bool {
			rows := storetest.Headers(t, s, "py-old")
			return len(rows) == 2 && rows[0].Head
		}},
		{"a session", func() { pythonWriter(snapshotsOf(s.Address(), "py-new")).turn(t, 1) }, func() bool { return count("py-new") == 1 }},
		{"another agent", func() {
			typeScriptWriter(filepath.Join(s.Address(), "session", "py-new", "scopes", "agent", "b", "snapshots"), false).turn(t, 1)
		}, func() bool { return count("py-new/b") == 1 }},
		{"a legacy session", func() {
			typeScriptWriter(filepath.Join(s.Address(), "old", "scopes", "agent", "agent", "snapshots"), true).turn(t, 1)
		}, func() bool { return count("old") == 1 }},
		{"a session taken away", func() {
			if err := os.RemoveAll(filepath.Join(s.Address(), "session", "py-old")); err != nil {
				t.Fatal(err)
			}
		}, func() bool { return count("py-old") < 0 }},
	} {
		step.do()
		for ok := step.seen(); !ok; ok = step.seen() {
			storetest.Next(t, changes)
		}
	}
}

func TestWatch_ofOneSession(t *testing.T) {
	dir := t.TempDir()
	w := pythonWriter(filepath.Join(dir, "scopes", "agent", "default", "snapshots"))
	w.turn(t, 1)
	s := open(t, dir)
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 2; n < 5; n++ {
		w.turn(t, n)
		for len(storetest.Headers(t, s, filepath.Base(dir))) != n {
			storetest.Next(t, changes)
		}
	}
}

// A temporary file is a fault only when nobody can be writing it any more.
func TestFaults_ofATemporaryFileThatIsNew(t *testing.T) {
	skip.Sequential(t)
	for _, name := range []string{".__strands_tmp_0123456789abcdef0123456789abcdef", "snapshot_latest.json.tmp", "snapshot_latest.json.__strands_tmp_x"} {
		s := open(t, t.TempDir())
		kept := snapshotsOf(s.Address(), "py-s")
		pythonWriter(kept).turn(t, 1)
		file := filepath.Join(kept, name)
		mustWrite(t, file, `{"sco`)
		if found := storetest.Faults(t, s, "py-s"); len(found) != 0 {
			t.Errorf("%s, while it is written: %+v", name, found)
		}
		age(t, file)
		if found := storetest.Faults(t, s, "py-s"); len(found) != 1 || found[0].Code != FaultLeftover {
			t.Errorf("%s, an hour later: %+v", name, found)
		}
	}
}
