//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sqlite"
)

// What a person waits for, measured on the program as it is shipped: from the
// start of the process, or from the key, to the bytes on the terminal.

const (
	wide = 200
	high = 50
)

// grown gives a session of n snapshots whose states stay small: a restore to
// 25 snapshots back comes after every 50.
func grown(n int) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
		var path []model.Header
		put := func(h model.Header) bool {
			state := fmt.Appendf(nil, `{"turn":%d,"note":"snapshot %d"}`, h.TurnIndex, h.Visit)
			return yield(store.Row{Header: h, State: state}, nil)
		}
		var all []model.Header
		for i := range n {
			h := model.Header{SessionID: "big", CreatedAt: at.Add(time.Duration(i) * time.Second), Visit: int64(i + 1)}
			if len(path) > 0 {
				parent := path[len(path)-1]
				h.ParentID, h.ParentVisit = parent.ID, parent.Visit
				h.Index, h.TurnIndex = parent.Index+1, parent.TurnIndex+i%2
			}
			h.ID = model.SnapshotID(fmt.Appendf(nil, `{"turn":%d,"note":"snapshot %d"}`, h.TurnIndex, h.Visit))
			all, path = append(all, h), append(path, h)
			if i%50 == 49 && i < n-1 {
				back := 25
				target := path[len(path)-1-back]
				reason := &model.Reason{Kind: model.ReasonRestore, At: h.CreatedAt, TargetID: target.ID, TargetIndex: target.Index}
				for _, left := range path[len(path)-back:] {
					all[left.Visit-1].Orphaned, all[left.Visit-1].Reason = true, reason
				}
				path = path[:len(path)-back]
			}
		}
		for i, h := range all {
			h.Head = i == len(all)-1
			if !put(h) {
				return
			}
		}
	}
}

// largeState gives the compact JSON of a conversation of about that many bytes.
func largeState(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := []byte(`{"messages":[`)
	for i := 0; len(out) < size; i++ {
		if i > 0 {
			out = append(out, ',')
		}
		words := make([]string, 100)
		for j := range words {
			words[j] = strconv.FormatUint(r.Uint64N(1<<40), 36)
		}
		m, err := json.Marshal(map[string]any{"role": "user", "content": []any{map[string]any{"text": strings.Join(words, " ")}}, "n": i})
		if err != nil {
			panic(err)
		}
		out = append(out, m...)
	}
	return append(out, `]}`...)
}

// storeOf writes rows into a new store.
func storeOf(tb testing.TB, rows iter.Seq2[store.Row, error]) (dir, name string) {
	tb.Helper()
	dir, name = tb.TempDir(), "big.db"
	s, err := sqlite.Create(tb.Context(), filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := s.Import(tb.Context(), rows); err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return dir, name
}

// filled says that n rows of the screen hold something.
func filled(n int) func(string) bool {
	return func(screen string) bool {
		rows := 0
		for line := range strings.Lines(screen) {
			if left, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "│"), "││"); strings.TrimSpace(strings.Trim(left, "│┌┐└┘─ ")) != "" {
				rows++
			}
		}
		return rows >= n
	}
}

// peak gives the largest resident size of the program so far, in MB.
func (t *terminal) peak(tb testing.TB) float64 {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		tb.Skipf("no resident size on this system: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	tb.Fatal("no peak in the status of the process")
	return 0
}

// press writes keys and gives the time until the program writes anything.
func (t *terminal) press(tb testing.TB, keys string) time.Duration {
	tb.Helper()
	at := time.Now()
	if _, err := t.tty.WriteString(keys); err != nil {
		tb.Fatal(err)
	}
	for {
		<-t.changed
		t.mu.Lock()
		arrived := t.arrived
		t.mu.Unlock()
		if arrived.After(at) {
			return arrived.Sub(at)
		}
	}
}

// The figures: first screen after at most 100 ms, all of it after 400 ms, and
// at most 100 MB resident.
func BenchmarkTerminal_store100k(b *testing.B) {
	const n = 100_000
	dir, name := storeOf(b, grown(n))
	program(b)
	var first, complete time.Duration
	var memory float64
	runs := 0
	for b.Loop() {
		t := on(b, wide, high, dir, nil, name)
		first += t.until(b, "first screen", filled(high-5))
		complete += t.until(b, "whole timeline", func(screen string) bool {
			return strings.Contains(screen, "100000 snapshots") || strings.Contains(screen, "100,000 snapshots")
		})
		memory = max(memory, t.peak(b))
		runs++
		t.kill(b)
	}
	b.ReportMetric(float64(first.Milliseconds())/float64(runs), "ms/first-screen")
	b.ReportMetric(float64(complete.Milliseconds())/float64(runs), "ms/complete")
	b.ReportMetric(memory, "MB-resident")
}

// The peer of BenchmarkTerminal_store100k: git's graph of as many commits in
// the same shape.
func BenchmarkTerminal_gitLogGraph100k(b *testing.B) {
	git, err := exec.LookPath("git")
	if err != nil {
		b.Skip("git is not installed")
	}
	dir := b.TempDir()
	run := func(stdin string, args ...string) {
		cmd := exec.CommandContext(b.Context(), git, append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	run("", "init", "-q")
	var in strings.Builder
	leaves := map[int64]bool{}
	for row := range grown(100_000) {
		h := row.Header
		fmt.Fprintf(&in, "commit refs/heads/x\nmark :%d\ncommitter a <a@b> %d +0000\ndata 1\nx\n", h.Visit, h.CreatedAt.Unix())
		if h.ParentVisit != 0 {
			fmt.Fprintf(&in, "from :%d\n", h.ParentVisit)
			delete(leaves, h.ParentVisit)
		}
		leaves[h.Visit] = true
	}
	for leaf := range leaves {
		fmt.Fprintf(&in, "reset refs/heads/leaf-%d\nfrom :%d\n\n", leaf, leaf)
	}
	run(in.String(), "fast-import", "--quiet", "--force")
	for b.Loop() {
		run("", "log", "--graph", "--oneline", "--all")
	}
}

// The figure: p50 at most 6 ms from the key to the bytes on the wire.
func BenchmarkTerminal_keyToWire(b *testing.B) {
	dir, name := storeOf(b, grown(10_000))
	program(b)
	t := on(b, wide, high, dir, nil, name)
	t.until(b, "timeline", filled(high-5))
	r := rand.New(rand.NewPCG(3, 4))
	var took []time.Duration
	for b.Loop() {
		// The phase of the key against the renderer's tick is what is measured
		// over, so the pause before each is random.
		time.Sleep(time.Duration(40+r.IntN(40)) * time.Millisecond)
		key := "k"
		if r.IntN(2) == 0 {
			key = "\x15" // half a page up
		}
		if len(took)%40 == 39 {
			key = "G"
		}
		took = append(took, t.press(b, key))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
}

// The figure: 30 ms to the first paint whatever the state's size. The rows of
// the state follow the key once the store has given its bytes.
func BenchmarkTerminal_openState(b *testing.B) {
	for _, mb := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			state := largeState(mb << 20)
			dir, name := storeOf(b, func(yield func(store.Row, error) bool) {
				yield(store.Row{Header: model.Header{ID: model.SnapshotID(state), SessionID: "big", CreatedAt: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), Visit: 1, Head: true}, State: state}, nil)
			})
			program(b)
			var opened, stateShown time.Duration
			runs := 0
			for b.Loop() {
				t := on(b, wide, high, dir, nil, name)
				opened += t.until(b, "timeline", func(screen string) bool { return strings.Contains(screen, "1 snapshot") })
				pressed := time.Since(t.started)
				if _, err := t.tty.WriteString("2"); err != nil {
					b.Fatal(err)
				}
				stateShown += t.until(b, "first rows of the state", func(screen string) bool { return strings.Contains(screen, "messages") }) - pressed
				runs++
				t.kill(b)
			}
			b.ReportMetric(float64(opened.Microseconds())/1000/float64(runs), "ms/first-paint")
			b.ReportMetric(float64(stateShown.Microseconds())/1000/float64(runs), "ms/key-to-state")
		})
	}
}
