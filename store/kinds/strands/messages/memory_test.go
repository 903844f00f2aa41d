package messages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// bounded is the context of tests that have none of their own.
var bounded = context.Background()

// reads counts which message files are read and looked at.
type reads struct {
	mu           sync.Mutex
	read, stated map[string]int
}

// counting makes a store one whose reads are counted.
func counting(s *Store) (*Store, *reads) {
	r := &reads{}
	r.reset()
	s.storage.ReadThrough(func(t tree.Tree) tree.Tree { return counted{t.(*tree.Disk), r} })
	return s, r
}

type counted struct {
	*tree.Disk
	reads *reads
}

func (c counted) note(name string, count map[string]int) {
	if base, isMessage := strings.CutPrefix(name, messagesOf("")+"/"); isMessage {
		c.reads.mu.Lock()
		count[base]++
		c.reads.mu.Unlock()
	}
}

func (c counted) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	c.note(name, c.reads.read)
	return c.Disk.Read(name, buf)
}

func (c counted) Stamp(name string) (tree.Stamp, error) {
	c.note(name, c.reads.stated)
	return c.Disk.Stamp(name)
}

// rewriting is a tree in which a file gets another content before it is read once more.
type rewriting struct {
	*tree.Disk
	name    string
	read    atomic.Int64
	rewrite func()
}

func (r *rewriting) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if path.Base(name) == r.name && r.read.Add(1) == 2 {
		r.rewrite()
	}
	return r.Disk.Read(name, buf)
}

// A message that the agent writes over while a plan is made is in the plan as it was, or
// there is none.
func TestEdit_writtenOverWhilePlanned(t *testing.T) {
	s, agent := freshLog(t, 8)
	rest(t, s.dir)
	list := storetest.Headers(t, open(t, s.dir), "h")
	edited := edited(t, state(t, open(t, s.dir), list[7]), "/messages/7/content/0/text", `"mine"`)
	s.storage.ReadThrough(func(on tree.Tree) tree.Tree {
		return &rewriting{Disk: on.(*tree.Disk), name: "message_2.json", rewrite: func() {
			startAgent(t, agent, time.Now()).redact("message_2.json", "[gone]")
		}}
	})
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: list[7].Ref(), As: "f", State: edited})
	if conflict := (*journal.ConflictError)(nil); !errors.As(err, &conflict) || !strings.Contains(conflict.Path, "message_2.json") {
		t.Errorf("the error is %v", err)
	}
}

func (r *reads) reset() { r.read, r.stated = map[string]int{}, map[string]int{} }

// names returns what was read, in order.
func (r *reads) names() []string { return slices.Sorted(maps.Keys(r.read)) }

// looked returns what was read, with every file as often as it was.
func (r *reads) looked() (list []string) {
	for name, n := range r.read {
		for range n {
			list = append(list, name)
		}
	}
	return list
}

// settle makes files some that were written an hour ago: what was written just now
// is not trusted to stay.
func settle(t *testing.T, pattern string) {
	t.Helper()
	for _, name := range mustGlob(t, pattern) {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// A second reading reads what changed, and tells what a first one would.
func TestHeaders_areReadAgainWhereFilesChanged(t *testing.T) {
	f := hazards(t)["partial-result"] // its repair takes the message itself
	for i := 6; i < 60; i++ {
		f[fmt.Sprintf("messages/message_%d.json", i)] = fmt.Appendf(nil,
			`{"message":{"role":%q,"content":[{"text":"message %d"}]},"message_id":%d,"created_at":"2026-03-01T11:00:00+00:00"}`, []string{"user", "assistant"}[i%2], i, i)
	}
	f["messages/message_50.json"] = []byte(`{"message":{"role":"user","content":[{"text":"to go"}]},"message_id":50,"redact_message":null}`)
	f["messages/message_55.json"] = []byte(`{"message":`)
	s, read := counting(openFiles(t, f))
	agent := filepath.Join(s.dir, "session_h", "agents", "agent_default")
	settle(t, filepath.Join(agent, "messages", "*"))
	message := func(n int) string { return filepath.Join(agent, "messages", fmt.Sprintf("message_%d.json", n)) }
	check := func(what string, want ...string) {
		t.Helper()
		read.reset()
		got := storetest.Headers(t, s, "h")
		slices.Sort(want)
		if names := read.names(); !slices.Equal(names, want) {
			t.Errorf("%s: %q are read, want %q", what, names, want)
		}
		if first := storetest.Headers(t, open(t, s.dir), "h"); !slices.Equal(got, first) {
			t.Errorf("%s: the headers are\n%s, a first reading gives\n%s", what, picture(got), picture(first))
		}
		if told, first := pictureFaults(storetest.Faults(t, s, "h")), pictureFaults(storetest.Faults(t, open(t, s.dir), "h")); told != first {
			t.Errorf("%s: the faults are\n%s, a first reading gives\n%s", what, told, first)
		}
	}
	all := make([]string, 0, 60)
	for i := range 60 {
		all = append(all, filepath.Base(message(i)))
	}
	check("the first time", all...)
	// Where anything changed, what could not be read is tried again, and the repair looks at a message.
	again := []string{"message_2.json", "message_55.json"}
	check("nothing changed")

	mustWrite(t, message(60), `{"message":{"role":"user","content":[{"text":"new"}]},"message_id":60}`)
	settle(t, message(60))
	check("one was appended", append(again, "message_60.json")...)
	check("nothing since")

	mustWrite(t, message(50), `{"message":{"role":"user","content":[{"text":"gone"}]},"message_id":50,"redact_message":{"role":"user","content":[{"text":"gone"}]}}`)
	settle(t, message(50))
	check("one was redacted", append(again, "message_50.json")...)
	if h := storetest.Headers(t, s, "h")[50]; !h.Marks.Has(model.MarkRedacted) || h.Title != "gone" {
		t.Errorf("it is %+v", h)
	}

	mustWrite(t, filepath.Join(agent, "agent.json"), strings.Replace(string(f["agent.json"]), `"removed_message_count":0`, `"removed_message_count":58`, 1))
	check("agent.json was rewritten", again...)
	if h := storetest.Headers(t, s, "h")[57]; !h.Marks.Has(model.MarkEvicted) {
		t.Errorf("it is %+v", h)
	}
	if err := os.Remove(message(3)); err != nil {
		t.Fatal(err)
	}
	check("one was removed", again...)
}

// What was remembered is what was read, whatever the message.
func TestNote_givesTheMessageBack(t *testing.T) {
	for name, f := range hazards(t) {
		for file, text := range f {
			if !strings.HasPrefix(file, "messages/") {
				continue
			}
			m := readText(string(text))
			note := m.appendNote(nil)
			var got message
			if !got.recall(m.name, note) {
				t.Fatalf("%s/%s: the note is damaged", name, file)
			}
			m.body = nil
			if want := fmt.Sprintf("%+v", *m); fmt.Sprintf("%+v", got) != want {
				t.Errorf("%s/%s:\n%+v, want\n%s", name, file, got, want)
			}
			for n := range note {
				if got.recall(m.name, note[:n]) {
					t.Fatalf("%s/%s: %d of %d bytes are taken for the whole", name, file, n, len(note))
				}
			}
		}
	}
}

func FuzzNote(f *testing.F) {
	for _, text := range fixtureFiles(f, "session_*/agents/*/messages/*") {
		f.Add(readText(string(text)).appendNote(nil))
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		var m, again message
		if !m.recall("message_0.json", note) {
			return
		}
		if !again.recall("message_0.json", m.appendNote(nil)) || fmt.Sprintf("%+v", m) != fmt.Sprintf("%+v", again) {
			t.Errorf("%+v is kept as %+v", m, again)
		}
	})
}

// What one process read, the next one need not: the cache is all that is written,
// and it is not in the store.
func TestKind_remembersOnTheShelf(t *testing.T) {
	f := longFiles(t, 40)
	for i := range 40 { // 4 MiB are worth keeping
		f[fmt.Sprintf("messages/message_%d.json", i)] = fmt.Appendf(nil, `{"message":{"role":"user","content":[{"text":"message %d %s"}]},"message_id":%d}`, i, strings.Repeat("x", 150_000), i)
	}
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	f.write(t, filepath.Join(dir, "session_h"))
	settle(t, filepath.Join(messagesOf(dir), "*"))
	before := inventory(t, dir)
	var first []model.Header
	for again := range 2 {
		s, err := openSite(t.Context(), files.NewCache(cache), engine.SiteOf(dir))
		if err != nil {
			t.Fatal(err)
		}
		s, read := counting(s)
		list := storetest.Headers(t, s, "h")
		if again == 0 {
			first = list
		}
		if want := 40 - 40*again; len(read.names()) != want || !slices.Equal(list, first) {
			t.Errorf("opening %d reads %d files, want %d", again, len(read.names()), want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := inventory(t, dir); after != before {
		t.Errorf("the store is not as it was:\n%s", after)
	}
	kept, err := os.ReadDir(cache)
	if err != nil || len(kept) != 1 {
		t.Errorf("on the cache: %v, %v", kept, err)
	}
}

// A state is put together where it stays: what grows is copied several times.
func TestState_isNotCopiedAsItGrows(t *testing.T) {
	skip.Sequential(t) // beside the race detector other things are allocated, too
	const n = 4000
	dir := t.TempDir()
	hazards(t)["healthy"].with(map[string]string{"messages/message_0.json": "(absent)\n"}).write(t, filepath.Join(dir, "session_h"))
	for i := range n {
		if err := os.WriteFile(filepath.Join(messagesOf(dir), fmt.Sprintf("message_%d.json", i)), longMessage(i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	head := storetest.Headers(t, s, "h")[n-1]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	state, err := s.State(t.Context(), head.Ref())
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if took := int(after.TotalAlloc - before.TotalAlloc); len(state) < 4<<20 || took > 2*len(state) {
		t.Errorf("a state of %d bytes took %d", len(state), took)
	}
}
