package sqlite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store/native/parts"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// busy is a session whose record is saved again and again, and everything that
// can come between.
type busy struct {
	*testing.T
	*sqlite.Store
	random  *rand.Rand
	state   *jsontest.State
	session string
	last    *model.Snapshot[json.RawMessage]
	// states are those of all snapshots, record that of the record.
	states map[string][]byte
	record []byte
}

func (b *busy) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// save changes the record: most of the time a little, sometimes all of it.
func (b *busy) save() {
	b.Helper()
	switch b.random.IntN(100) {
	case 0:
		b.state = jsontest.New(100_000, b.random.Uint64())
	case 1, 2:
		b.state.Mix(5)
	default:
		b.state.Step()
		b.state.DropFirst()
	}
	b.record = b.state.JSON()
	b.ok(b.Save(b.Context(), b.session, &model.Data[json.RawMessage]{State: b.record, LastSnapshot: b.last}))
}

// snapshot captures the record as it is, or with one message more.
func (b *busy) snapshot() {
	b.Helper()
	if b.random.IntN(2) == 0 {
		b.state.Step()
	}
	text := b.state.JSON()
	s := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), SessionID: b.session, State: text}
	if b.last != nil {
		s.ParentID, s.Index = b.last.ID, b.last.Index+1
	}
	b.ok(b.SaveSnapshot(b.Context(), s))
	b.states[s.ID], b.last = text, s
}

// apply carries out a plan.
func (b *busy) apply(plan model.Plan, err error) {
	b.Helper()
	b.ok(err)
	_, err = b.Apply(b.Context(), plan)
	b.ok(err)
}

// check reads everything.
func (b *busy) check() {
	b.Helper()
	for id, want := range b.states {
		got, err := b.State(b.Context(), model.Ref{Session: b.session, ID: id})
		if err != nil || !bytes.Equal(got, want) {
			b.Fatalf("snapshot %.8s: %d bytes instead of %d, %v", id, len(got), len(want), err)
		}
	}
	data, err := b.Get(b.Context(), b.session)
	if err != nil || !bytes.Equal(data.State, b.record) {
		b.Fatalf("the record is not what was saved last, %v", err)
	}
	faults, err := b.Faults(b.Context(), "")
	if err != nil || len(faults) > 0 {
		b.Fatalf("faults %+v, %v", faults, err)
	}
}

// unsynced returns a directory in memory where there is one: what is tested is
// not what reaches the disk.
func unsynced(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "hindcast")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestSave_theFileStaysBounded: a record of 100 kB that is saved thousands of
// times, with snapshots, restores that are taken back and forks in between.
func TestSave_theFileStaysBounded(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	saves, restores := storetest.Sized(1_500, 5_000), 0
	path := filepath.Join(unsynced(t), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	b := &busy{T: t, Store: s, random: rand.New(rand.NewPCG(7, 7)), state: jsontest.New(100_000, 1), session: "s", states: map[string][]byte{}}
	b.save()
	b.snapshot()
	for i := range saves {
		b.save()
		switch {
		case i%500 == 100:
			b.snapshot()
		case i%2000 == 200:
			// The record is in nothing but the journal until it is put back; the
			// journal keeps it for ever.
			restores++
			b.apply(s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: b.last.ID}}))
			b.apply(s.Plan(t.Context(), model.Change{Op: model.OpUndo}))
		case i%500 == 300:
			fork := fmt.Sprint("fork ", i)
			b.apply(s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: b.last.ID}, As: fork}))
			b.apply(s.Plan(t.Context(), model.Change{Op: model.OpUndo}))
		}
		if i%1000 == 999 {
			b.check()
		}
	}
	kept, drafts := number(t, path, "SELECT ifnull(sum(size), 0) FROM blocks WHERE (place >> 36) & 7 < 4"), number(t, path, "SELECT ifnull(sum(size), 0) FROM blocks WHERE (place >> 36) & 7 >= 4")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d saves, %d snapshots: %d bytes of snapshots, %d of drafts, a file of %d", saves, len(b.states), kept, drafts, info.Size())
	if most := 120_000 * len(b.states); kept > most {
		t.Errorf("%d snapshots have %d bytes", len(b.states), kept)
	}
	if drafts > 3*(1<<20+100_000*restores) {
		t.Errorf("the drafts have %d bytes", drafts)
	}
	if info.Size() > int64(kept)+12<<20 {
		t.Errorf("the file has %d bytes", info.Size())
	}
	if n := number(t, path, "SELECT count(*) FROM states"); n > len(b.states)+1+restores {
		t.Errorf("%d states are stored for %d snapshots, %d restores and a record", n, len(b.states), restores)
	}
}

// draftBytes returns how many bytes of drafts a store has.
func draftBytes(t *testing.T, path string) int {
	t.Helper()
	return number(t, path, "SELECT ifnull(sum(size), 0) FROM blocks WHERE (place >> 36) & 7 >= 4")
}

// TestSaveSnapshot_ofEveryRecord: a program that saves its record, and then a
// snapshot of it, each time: no record ever goes, but its drafts do.
func TestSaveSnapshot_ofEveryRecord(t *testing.T) {
	skip.Sequential(t)
	skip.Sequential(t)
	t.Parallel()
	s, path := newStore(t)
	const size = 300_000
	for i := range 12 {
		text := []byte(chunkState(size + i))
		if err := s.Save(t.Context(), "s", &model.Data[json.RawMessage]{State: text}); err != nil {
			t.Fatal(err)
		}
		keep(t, s, "s", text)
	}
	if n := draftBytes(t, path); n > 1<<20+size {
		t.Errorf("%d bytes of drafts are left of states that all are snapshots", n)
	}
	if faults, err := s.Faults(t.Context(), ""); err != nil || len(faults) > 0 {
		t.Errorf("faults %+v, %v", faults, err)
	}
}

// TestSave_aDamagedListAmongDrafts: a list may name any place of the store; what
// is not a draft of the session is not swept with it.
func TestSave_aDamagedListAmongDrafts(t *testing.T) {
	for name, stream := range map[string]parts.Stream{
		"a stream that nobody has":    1*8 + 7,
		"drafts of the session ahead": 4,
		"drafts of the next session":  2*8 + 4,
	} {
		t.Run(name, func(t *testing.T) {
			s, path := newStore(t)
			save := func(size int) {
				t.Helper()
				if err := s.Save(t.Context(), "s", &model.Data[json.RawMessage]{State: []byte(chunkState(size))}); err != nil {
					t.Fatal(err)
				}
			}
			save(1000)
			at := stream.At(0)
			list, err := parts.Encode([]parts.Extent{{At: at, Len: 10}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			execute(t, path, "INSERT INTO blocks VALUES (?, 10, 0, zeroblob(10))", int64(at))
			execute(t, path, "INSERT INTO states (sha256, size, draft, list) VALUES (randomblob(32), 10, 1, ?)", list)
			for i := range 8 {
				save(300_000 + i)
			}
			if n := number(t, path, fmt.Sprintf("SELECT count(*) FROM blocks WHERE place = %d", int64(at))); n != 1 {
				t.Error("the block was swept")
			}
		})
	}
}

// TestSaveSnapshot_nothingOfADraft: a table of parts that leads to drafts does
// not bring a snapshot to lie where they are swept.
func TestSaveSnapshot_nothingOfADraft(t *testing.T) {
	s, path := newStore(t)
	save := func(state string) {
		t.Helper()
		if err := s.Save(t.Context(), "a", &model.Data[json.RawMessage]{State: []byte(state)}); err != nil {
			t.Fatal(err)
		}
	}
	part := chunkState(5000)
	save(`[` + part + `]`)
	keep(t, s, "b", []byte(`[`+part+`]`+" "))
	const draft = "(SELECT min(place) FROM blocks WHERE (place >> 36) & 7 = 5)"
	execute(t, path, "UPDATE parts SET place = place - (SELECT min(place) FROM parts) + "+draft)
	text := []byte(`[` + part + `,0]`)
	ref := keep(t, s, "c", text)[0]
	for i := range 8 {
		save(chunkState(300_000 + i))
	}
	if got, err := s.State(t.Context(), ref); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
