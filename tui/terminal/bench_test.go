//go:build unix

package terminal_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
)

// What a person waits for, measured on the program as it is shipped: from the
// start of the process, or from the key, to the bytes on the terminal.

const (
	wide = 200
	high = 50
)

// grown returns a session of n snapshots whose states stay small: a restore to
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

// largeState returns the compact JSON of a conversation of about that many bytes.
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

// peak returns the largest resident size of the program so far, in MB.
func (t *terminal) peak(tb testing.TB) float64 { return t.status(tb, "VmHWM") }

// status returns a size from the status of the process, in MB.
func (t *terminal) status(tb testing.TB, name string) float64 {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		skip.Missing(tb, "the system tells no resident size: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, name+": %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	tb.Fatalf("no %s in the status of the process", name)
	return 0
}

// press writes keys and returns the time until the program writes anything.
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
	program.Released(b)
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

// The figures of one session of a coding agent of 100 MB, in lines of 256 kB: its newest
// snapshots after at most 50 ms, all of it after a second.
func BenchmarkTerminal_agentSession(b *testing.B) {
	const id, size, line = "5e551011-0000-4000-8000-000000000000", 100 << 20, 256 << 10
	begun := time.Unix(1e9, 0)
	for _, agent := range []struct {
		name, file string
		write      storetest.Transcript
	}{
		{"claude-code", "projects/-p/" + id + ".jsonl", storetest.ClaudeTranscript},
		{"pi", "sessions/--p--/2001-09-09T01-46-40-000Z_" + id + ".jsonl", storetest.PiTranscript},
	} {
		b.Run(agent.name, func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "."+agent.name)
			storetest.SaveTranscript(b, filepath.Join(dir, filepath.FromSlash(agent.file)), agent.write, id, begun, size, line)
			program.Released(b)
			var paint, first, complete time.Duration
			var memory float64
			runs := 0
			for b.Loop() {
				t := on(b, wide, high, dir, nil, dir, id)
				paint += t.until(b, "frame", func(screen string) bool { return strings.Contains(screen, "Timeline") })
				first += t.until(b, "first screen", filled(high-5))
				complete += t.until(b, "whole timeline", func(screen string) bool { return regexp.MustCompile(`[\d,]+ snapshots`).MatchString(screen) })
				memory = max(memory, t.peak(b))
				runs++
				t.kill(b)
			}
			b.ReportMetric(float64(paint.Milliseconds())/float64(runs), "ms/paint")
			b.ReportMetric(float64(first.Milliseconds())/float64(runs), "ms/first-screen")
			b.ReportMetric(float64(complete.Milliseconds())/float64(runs), "ms/complete")
			b.ReportMetric(memory, "MB-resident")
		})
	}
}

// resident returns the resident size of the program now, in MB.
func (t *terminal) resident(tb testing.TB) float64 { return t.status(tb, "VmRSS") }

// cpu returns the time that the program has used of the processor.
func (t *terminal) cpu(tb testing.TB) time.Duration {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		skip.Missing(tb, "the system tells no times: %v", err)
	}
	fields := strings.Fields(string(data)[strings.LastIndexByte(string(data), ')')+1:])
	ticks := 0
	for _, f := range fields[11:13] { // in user and in system mode, in 1/100 s
		n, err := strconv.Atoi(f)
		if err != nil {
			tb.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// capturer is an agent that captures into a session of a file, in this process,
// while the program shows it in another.
type capturer struct {
	store *sqlite.Store
	last  model.Header
}

func newCapturer(tb testing.TB, file string) *capturer {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), file)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	c := &capturer{store: s}
	for h, err := range s.Headers(tb.Context(), "big") {
		if err != nil {
			tb.Fatal(err)
		}
		if h.Head {
			c.last = h
		}
	}
	return c
}

// capture adds a snapshot below the head.
func (c *capturer) capture(tb testing.TB) {
	tb.Helper()
	index := c.last.Index + 1
	state := fmt.Appendf(nil, `{"turn":%d,"note":"captured %d"}`, index, index)
	h := model.Header{ID: model.SnapshotID(state), Index: index}
	if err := c.store.SaveSnapshot(tb.Context(), &model.Snapshot[json.RawMessage]{
		ID: h.ID, ParentID: c.last.ID, SessionID: "big", CreatedAt: time.Now(), State: state, Index: index, TurnIndex: index,
	}); err != nil {
		tb.Fatal(err)
	}
	c.last = h
}

// frames counts the frames that the program has drawn: Bubble Tea begins each at
// the upper left.
func (t *terminal) frames() int { return strings.Count(t.written(), "\x1b[H") }

// The figures: a burst of 10,000 captures by another process is followed with
// none dropped, fewer than 50 frames, memory that grows by the headers alone, and
// the last one on the screen within a second.
func BenchmarkTerminal_burst(b *testing.B) {
	const before, n = 1000, 10_000
	program.Released(b)
	var frames, behind, took, grew float64
	runs := 0
	for b.Loop() {
		dir, name := storeOf(b, grown(before))
		t := on(b, wide, high, dir, nil, name)
		t.until(b, "timeline", func(screen string) bool { return strings.Contains(screen, "following") })
		c := newCapturer(b, filepath.Join(dir, name))
		drawn, resident := t.frames(), t.resident(b)
		began := time.Now()
		for range n {
			c.capture(b)
		}
		took += time.Since(began).Seconds()
		last := time.Now()
		t.until(b, "the last capture", func(screen string) bool {
			return strings.Contains(screen, fmt.Sprintf("%d snapshots", before+n)) && strings.Contains(screen, fmt.Sprintf("head #%d ", c.last.Index))
		})
		behind = max(behind, float64(time.Since(last).Milliseconds()))
		frames = max(frames, float64(t.frames()-drawn))
		grew = max(grew, t.resident(b)-resident)
		runs++
		t.kill(b)
	}
	b.ReportMetric(took/float64(runs), "s/burst")
	b.ReportMetric(frames, "frames")
	b.ReportMetric(behind, "ms/behind")
	b.ReportMetric(grew, "MB-more")
}

// The figure: a capture by another process is on the wire within a second.
func BenchmarkTerminal_captureToWire(b *testing.B) {
	dir, name := storeOf(b, grown(10_000))
	program.Released(b)
	t := on(b, wide, high, dir, nil, name)
	t.until(b, "timeline", func(screen string) bool { return strings.Contains(screen, "following") })
	c := newCapturer(b, filepath.Join(dir, name))
	r := rand.New(rand.NewPCG(5, 6))
	var took []time.Duration
	for b.Loop() {
		// The phase against the store's polling and the screen's rests is what is
		// measured over.
		time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		at := time.Now()
		c.capture(b)
		t.until(b, "the capture", func(screen string) bool { return strings.Contains(screen, fmt.Sprintf("head #%d ", c.last.Index)) })
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms/p50")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms/max")
}

// What the program uses of a processor while a store of 100,000 snapshots is
// followed and nothing changes.
func BenchmarkTerminal_idle(b *testing.B) {
	dir, name := storeOf(b, grown(100_000))
	program.Released(b)
	t := on(b, wide, high, dir, nil, name)
	t.until(b, "whole timeline", func(screen string) bool {
		return strings.Contains(screen, "100000 snapshots") && strings.Contains(screen, "following")
	})
	time.Sleep(15 * time.Second) // the store looks again a few times after the last write
	var used, passed time.Duration
	drawn := t.frames()
	for b.Loop() {
		before, began := t.cpu(b), time.Now()
		time.Sleep(10 * time.Second)
		used, passed = used+t.cpu(b)-before, passed+time.Since(began)
	}
	b.ReportMetric(100*used.Seconds()/passed.Seconds(), "%cpu")
	b.ReportMetric(float64(t.frames()-drawn), "frames")
}

// gitHistory makes a folder a repository with a history of n commits in the shape of the
// session that grown returns.
func gitHistory(b *testing.B, dir string, n int) {
	b.Helper()
	run := func(stdin string, args ...string) {
		cmd := exec.CommandContext(b.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	run("", "init", "-q")
	var in strings.Builder
	leaves := map[int64]bool{}
	for row := range grown(n) {
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
}

// The figure: p50 at most 6 ms from the key to the bytes on the wire.
func BenchmarkTerminal_keyToWire(b *testing.B) {
	dir, name := storeOf(b, grown(10_000))
	program.Released(b)
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
			program.Released(b)
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
