package jsonl_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// watched begins to watch a store.
func watched(t *testing.T, s *jsonl.Store) <-chan struct{} {
	t.Helper()
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// lines are the lines of a session with so many snapshots, line ends included.
func lines(t *testing.T, n int) []string {
	t.Helper()
	var states []string
	for i := range n {
		states = append(states, fmt.Sprintf(`{"n":%d}`, i))
	}
	return strings.SplitAfter(strings.TrimSuffix(seed(t, states...), "\n"), "\n")
}

func TestWatch_followsAWriter(t *testing.T) {
	all := lines(t, 300)
	all[len(all)-1] += "\n"
	path := write(t, all[0])
	s, err := jsonl.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	changes := watched(t, s)
	cursor, err := s.Cursor(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	got := headers(t, s, "s")[:cursor.Visit]
	go func() {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for i, line := range all[1:] {
			// In two pieces: readers meet half a line.
			for _, piece := range []string{line[:i%len(line)], line[i%len(line):]} {
				if _, err := f.WriteString(piece); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for len(got) < len(all) {
		storetest.Next(t, changes)
		growth, err := s.Growth(t.Context(), "s", cursor)
		if err != nil || growth.Rewritten {
			t.Fatalf("after %d: %+v, %v", len(got), growth, err)
		}
		got, cursor = append(got, growth.Headers...), growth.Cursor
		if n := len(growth.Headers); n > 0 && !growth.Headers[n-1].Head {
			t.Errorf("the newest of %d is not the head", len(got))
		}
		if faults, err := s.Faults(t.Context(), ""); err != nil || len(faults) > 0 {
			t.Fatalf("after %d the faults are %+v, %v", len(got), faults, err)
		}
	}
	for i, h := range got {
		if state, err := s.State(t.Context(), h.Ref()); h.Index != i || err != nil || string(state) != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("snapshot %d is #%d, %s, %v", i, h.Index, state, err)
		}
	}
	heads := 0
	for _, h := range headers(t, s, "s") {
		if h.Head {
			heads++
		}
	}
	if heads != 1 {
		t.Errorf("%d heads", heads)
	}
}

// Whatever happens to the file, the store is what is at its path, and says
// whether that only grew.
func TestWatch_followsTheName(t *testing.T) {
	all := lines(t, 9)
	path := write(t, all[0])
	s, err := jsonl.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cursor, err := s.Cursor(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(lines ...string) { must(os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600)) }
	add := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		must(err)
		_, err = f.WriteString(text)
		must(errors.Join(err, f.Close()))
	}
	changes := watched(t, s)
	for _, step := range []struct {
		what      string
		do        func()
		want      int // snapshots then
		rewritten bool
		head      int // index of the head
	}{
		{"two lines more", func() { add(all[1] + all[2]) }, 3, false, 2},
		{"half a line", func() { add(all[3][:20]) }, 3, false, 2},
		{"the other half, but for its end", func() { add(strings.TrimSpace(all[3][20:])) }, 4, false, 3},
		{"its end", func() { add("\n") }, 4, true, 3},
		{"cut", func() { must(os.Truncate(path, int64(len(all[0])))) }, 1, true, 0},
		{"a line more", func() { add(all[1]) }, 2, false, 1},
		{"replaced by a longer file", func() {
			must(os.WriteFile(path+".new", []byte(strings.Join(all[:5], "")), 0o600))
			must(os.Rename(path+".new", path))
		}, 5, true, 4},
		{"a line more in the new file", func() { add(all[5]) }, 6, false, 5},
		{"written anew in place, longer", func() { put(all[1], all[0], all[2], all[3], all[4], all[5], all[6], all[7]) }, 8, true, 7},
		{"written anew in place, as long", func() { put(all[0], all[1], all[2], all[3], all[4], all[5], all[7], all[6]) }, 8, true, 7},
		{"removed", func() { must(os.Remove(path)) }, 8, false, 7},
		{"made again", func() { put(all[:2]...) }, 2, true, 1},
	} {
		step.do()
		for got := -1; got != step.want; {
			storetest.Next(t, changes)
			growth, err := s.Growth(t.Context(), "s", cursor)
			if err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			all := headers(t, s, "s")
			if got = len(all); got != step.want {
				continue // between two writes
			}
			if growth.Rewritten != step.rewritten || !growth.Rewritten && cursor.Visit+int64(len(growth.Headers)) != int64(step.want) {
				t.Errorf("%s: it became %+v", step.what, growth)
			}
			for _, h := range all {
				if h.Head != (h.Index == step.head) {
					t.Errorf("%s: the head is not #%d: %+v", step.what, step.head, h)
				}
				if state, err := s.State(t.Context(), h.Ref()); err != nil || string(state) != fmt.Sprintf(`{"n":%d}`, h.Index) {
					t.Errorf("%s: #%d is %s, %v", step.what, h.Index, state, err)
				}
			}
			cursor = growth.Cursor
		}
	}
	put(all[0])
	storetest.Next(t, changes)
	if _, err := s.State(t.Context(), model.Ref{Session: "s", ID: model.SnapshotID([]byte(`{"n":1}`))}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("a state that is gone: %v", err)
	}
	put("")
	storetest.Next(t, changes)
	if _, err := s.Growth(t.Context(), "s", cursor); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("a session that is gone: %v", err)
	}
	if _, err := s.Cursor(t.Context(), "s"); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("the end of a session that is gone: %v", err)
	}
}

// The last line of a writer at work is no damage; that of one who was stopped
// is.
func TestFaults_ofALastLineWithoutEnd(t *testing.T) {
	skip.Sequential(t)
	all := lines(t, 3)
	path := write(t, all[0]+all[1][:30])
	s, err := jsonl.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check := func(what string, want int, snapshots int) {
		t.Helper()
		faults, err := s.Faults(t.Context(), "")
		if err != nil || len(faults) != want || len(headers(t, s, "s")) != snapshots {
			t.Errorf("%s: faults %+v, %v, and %d snapshots", what, faults, err, len(headers(t, s, "s")))
		}
		for _, f := range faults {
			if f.Code != jsonl.FaultLine || f.Path != "line 2" || !strings.HasPrefix(f.Meaning, "byte 30: ") {
				t.Errorf("%s: %+v", what, f)
			}
		}
	}
	touch := func(ago time.Duration) {
		t.Helper()
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	check("just written", 0, 1)
	touch(time.Hour)
	check("at rest", 1, 1)
	touch(-time.Hour)
	check("at rest, by a clock that is fast", 1, 1)
	touch(0)
	check("touched", 0, 1)
	if err := os.WriteFile(path, []byte(all[0]+all[1][:30]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("with an end", 1, 1)
	if err := os.WriteFile(path, []byte(all[0]+all[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	check("whole", 0, 2)
}

func TestWatch_needsAFile(t *testing.T) {
	s, err := jsonl.From(t.Context(), "-", strings.NewReader(seed(t, "1")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Features().Watch != nil {
		t.Error("a pipe is watched")
	}
}
