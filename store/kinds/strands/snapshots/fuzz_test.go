package snapshots

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/storetest"
)

// seeds gives all files of the fixtures and the hazards.
func seeds(tb testing.TB, add func(data []byte)) {
	tb.Helper()
	for _, name := range written {
		err := filepath.WalkDir(fixture(name), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			add(data)
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	for _, h := range hazards(tb) {
		for _, content := range h {
			add(content)
		}
	}
}

// around is a store with the snapshot that files are put behind.
type around struct {
	*Store
	agent, graph place
	healthy      item
	before       messages
}

func newAround(tb testing.TB) *around {
	tb.Helper()
	dir := tb.TempDir()
	mustWrite(tb, filepath.Join(snapshotsOf(dir, "a"), latestFile), "{}")
	mustWrite(tb, filepath.Join(dir, "session", "g", "scopes", "multiAgent", "g1", "snapshots", latestFile), "{}")
	id := "01950000-0000-7000-8000-000000000001"
	content := hazards(tb)["py-healthy"]["latest"]
	mustWrite(tb, filepath.Join(snapshotsOf(dir, "a"), historyDir, "snapshot_"+id+".json"), string(content))
	a := &around{Store: open(tb, dir)}
	for session, p := range map[string]*place{"a": &a.agent, "g": &a.graph} {
		var err error
		if *p, err = a.locate(session); err != nil {
			tb.Fatal(err)
		}
	}
	a.healthy = item{id: id, name: "snapshot_" + id + ".json", written: int64(len(content))}
	a.healthy.capture, a.before = readCapture(content)
	return a
}

// history puts a file into the place of snapshot_latest.json, in memory.
func (a *around) history(data []byte) *history {
	h := &history{place: a.agent, in: a.files.Storage.In(), at: -1, same: -1}
	line := newLine(h)
	line.addSnapshot(a.healthy, &a.before)
	latest := item{id: latestID, name: latestFile, written: int64(len(data))}
	var m messages
	latest.capture, m = readCapture(data)
	line.addSnapshot(latest, &m)
	h.findLatest()
	return h
}

// rows returns the headers of a history.
func (h *history) rows(t testing.TB) []model.Header {
	t.Helper()
	var nothing engine.Writes
	log, err := nothing.Complete(t.Context(), h.in, h.buildLog(engine.Place{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return log.Rows
}

// FuzzFile puts any bytes into the place of a snapshot of an agent and of an
// orchestrator, in memory: all there is to it is asked, and holds together.
// TestFile_anyOnTheDisk takes the same way over the disk.
func FuzzFile(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data) })
	a := newAround(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<15 {
			return
		}
		h, doc := a.history(data), parseFile(data)
		for i, header := range h.rows(t) {
			if n := len(h.neighbourFacts(i)) + len(h.items[i].fileFacts(&h.place)); n == 0 {
				t.Errorf("nothing is known of %+v", header)
			}
			if header.ID != latestID {
				continue
			}
			state, err := dataOf(data)
			if err == nil && header.Size != int64(len(state)) {
				t.Errorf("%+v has a state of %d bytes", header, len(state))
			}
			if err == nil && !bytes.Contains(data, state) {
				t.Errorf("the state is not in the file: %s", state)
			}
		}
		fatal, others := faultsOf(a.files.Storage.In().Tree, nil, &a.agent, &doc, h.startDialect())
		for _, list := range [][]model.Fault{fatal, others} {
			worded(t, list)
		}
		c := checkup{place: &a.agent, tree: a.files.Storage.In().Tree, said: make(map[string]bool), dialect: h.startDialect()}
		c.checkHistory(h)
		worded(t, c.list.All())

		r := record{item: item{id: latestID, name: latestFile, capture: doc.capture}, doc: doc.Document}
		if doc.Err == nil {
			run := orchestrators{&Store{}}.decodeRun(&r, &a.graph)
			worded(t, run.Faults())
			for i, header := range run.Headers() {
				if state := run.State(i); header.Size != int64(len(state)) {
					t.Errorf("%+v has a state of %d bytes", header, len(state))
				}
				run.Facts(i)
			}
		}
		c = checkup{place: &a.graph, tree: a.files.Storage.In().Tree, said: make(map[string]bool), dialect: r.Dialect}
		c.checkFile(&r.item, &r.doc)
		worded(t, c.list.All())
	})
}

// worded says that each fault has all its words.
func worded(t *testing.T, list []model.Fault) {
	t.Helper()
	for _, f := range list {
		if f.Code == "" || f.File == "" || f.Meaning == "" || f.Verdict == "" {
			t.Errorf("half a fault: %+v", f)
		}
	}
}

// What FuzzFile begins with is put on the disk, and read through the store.
func TestFile_anyOnTheDisk(t *testing.T) {
	a := newAround(t)
	files := map[string]string{
		"a": filepath.Join(a.Address(), filepath.FromSlash(a.agent.pathOf(latestFile))),
		"g": filepath.Join(a.Address(), filepath.FromSlash(a.graph.pathOf(latestFile))),
	}
	seeds(t, func(data []byte) {
		for session, file := range files {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			worded(t, storetest.Faults(t, a.Store, session))
			for _, h := range storetest.Headers(t, a.Store, session) {
				state, err := a.State(t.Context(), h.Ref())
				if err == nil && session == "a" && h.Size != int64(len(state)) {
					t.Errorf("%+v has a state of %d bytes", h, len(state))
				}
				if err == nil && !bytes.Contains(data, state) && session == "a" && h.ID == latestID {
					t.Errorf("the state is not in the file: %s", state)
				}
				if _, err := a.Facts(t.Context(), h.Ref()); err != nil && session == "a" {
					t.Error(err)
				}
			}
		}
	})
}

// FuzzCapture reads any bytes, and the note of what was read gives the same.
func FuzzCapture(f *testing.F) {
	seeds(f, func(data []byte) { f.Add(data) })
	before := first([]lineage.Print{lineage.OfID("00000000-0000-4000-8000-000000000000")}, []shape{fromUser})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &scanned{}
		s.capture, s.messages = readCapture(data)
		if len(s.prints) != len(s.shapes) {
			t.Fatalf("%d messages and %d shapes", len(s.prints), len(s.shapes))
		}
		read := s.messages
		if !s.joinShared(before) || !slices.Equal(s.prints, read.prints) || !slices.Equal(s.shapes, read.shapes) {
			t.Fatalf("joined they are %+v, not %+v", s.messages, read)
		}
		note := s.appendNote()
		if note == nil {
			return
		}
		again, err := parseNote(note)
		if err != nil || !again.joinShared(before) || !slices.Equal(again.prints, read.prints) || !slices.Equal(again.shapes, read.shapes) {
			t.Fatalf("%v: %+v, not %+v", err, again, read)
		}
		if other := again.appendNote(); !bytes.Equal(other, note) {
			t.Fatalf("%s\nnot\n%s", other, note)
		}
	})
}

// first is the first snapshot of a place, read and joined.
func first(prints []lineage.Print, shapes []shape) *scanned {
	s := &scanned{messages: messages{prints: prints, shapes: shapes}}
	s.joinShared(nil)
	return s
}

// FuzzParseNote reads any bytes as a note.
func FuzzParseNote(f *testing.F) {
	for _, m := range []messages{{prints: []lineage.Print{4, 6, 8}, shapes: []shape{2, 3, 4}}, {}} {
		s := &scanned{note: note{capture: capture{Dialect: python, Title: "t"}}, messages: m}
		s.joinShared(first([]lineage.Print{2, 4, 6}, []shape{1, 2, 3}))
		f.Add(s.appendNote())
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		s, err := parseNote(note)
		if err == nil && s.joinShared(first([]lineage.Print{2, 4, 6}, []shape{1, 2, 3})) && len(s.prints) != len(s.shapes) {
			t.Fatalf("%d messages and %d shapes", len(s.prints), len(s.shapes))
		}
	})
}
