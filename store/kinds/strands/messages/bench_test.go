package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

// longLog writes a session of n messages in the way of the SDK, of the sizes
// and shapes that agents have: a question, a tool call, its result and an answer,
// over and over, 1.8 kB each on average.
func longLog(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	hazards(b)["healthy"].with(map[string]string{"messages/message_0.json": "(absent)\n"}).write(b, filepath.Join(dir, "session_h"))
	messages := messagesOf(dir)
	for i := range n {
		if err := os.WriteFile(filepath.Join(messages, fmt.Sprintf("message_%d.json", i)), longMessage(i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// messagesOf returns the folder of the messages of session "h".
func messagesOf(dir string) string {
	return filepath.Join(dir, "session_h", "agents", "agent_default", "messages")
}

// prose is what people and models say.
func prose(i, n int) string {
	return strings.Repeat(fmt.Sprintf("In step %d the “plan” was looked at again, and the café on the corner is open.\n", i), n)
}

// longMessage returns message i of a long log as json.dump with indent=2 and
// ensure_ascii=False writes it.
func longMessage(i int) []byte {
	tool := fmt.Sprintf("tooluse_search_%06d", i/4)
	var inner any
	switch i % 4 {
	case 0:
		inner = object{"role": "user", "content": []any{object{"text": prose(i, 12)}}}
	case 1:
		inner = object{"role": "assistant", "content": []any{object{"text": prose(i, 8)},
			object{"toolUse": object{"toolUseId": tool, "name": "search", "input": object{"query": prose(i, 1), "limit": 20, "deep": true}}}}}
	case 2:
		var rows []any
		for k := range 12 {
			rows = append(rows, object{"title": fmt.Sprintf("result %d of %d", k, i), "score": float64(k) / 7, "tags": []any{"a", "b"}})
		}
		inner = object{"role": "user", "content": []any{object{"toolResult": object{"toolUseId": tool, "status": "success", "content": []any{object{"json": object{"rows": rows}}}}}}}
	case 3:
		inner = object{"role": "assistant", "content": []any{object{"text": prose(i, 16)}},
			"metadata": object{"usage": object{"inputTokens": 43 + i, "outputTokens": 42, "totalTokens": 85 + i}, "metrics": object{"latencyMs": 137, "timeToFirstByteMs": 1}}}
	}
	inner.(object)["tracking_id"] = fmt.Sprintf("7a941769-ed24-4d79-b9f1-%012x", i)
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05.000000+00:00")
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object{"message": inner, "message_id": i, "redact_message": nil, "created_at": at, "updated_at": at}); err != nil {
		panic(err) // it is made of what JSON has
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// pythonLoad is list_messages of FileSessionManager without anything around it.
const pythonLoad = `
import json, os, sys, time
folder = sys.argv[1]
start = time.perf_counter()
names = sorted(os.listdir(folder), key=lambda name: int(name[8:-5]))
for name in names:
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        json.load(f)
print(time.perf_counter() - start)
`

// python returns how long Python takes to load the messages of a session.
func python(b *testing.B, messages string) (took time.Duration, ok bool) {
	b.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return 0, false
	}
	out, err := exec.CommandContext(b.Context(), interpreter, "-c", pythonLoad, messages).Output()
	if err != nil {
		b.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// messages100k is a session as long as any that was met.
const messages100k = 100_000

// BenchmarkOpen reads all headers of a session of 100,000 messages for the
// first time, and in turn with it Python loads the same files, so that what else
// the machine does hits both. system-s is what the system alone takes to list the
// names and to open, read and close the files on as many threads as there are
// processors: no reader is faster.
func BenchmarkOpen(b *testing.B) {
	dir := longLog(b, messages100k)
	var ours, theirs, system time.Duration
	for b.Loop() {
		took, ok := python(b, messagesOf(dir))
		if !ok {
			b.Skip("there is no python3 to compare with")
		}
		theirs += took
		system += systemAlone(b, messagesOf(dir))
		s := open(b, dir)
		start := time.Now()
		countHeaders(b, s, messages100k)
		ours += time.Since(start)
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/open")
	b.ReportMetric(theirs.Seconds()/float64(b.N), "python-s/open")
	b.ReportMetric(system.Seconds()/float64(b.N), "system-s/open")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

// systemAlone reads all files and does nothing with them.
func systemAlone(b *testing.B, messages string) time.Duration {
	b.Helper()
	root, err := os.OpenRoot(messages)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	start := time.Now()
	f, err := files.OpenFolder(root, ".")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	names, err := f.Names()
	if err != nil {
		b.Fatal(err)
	}
	var running sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		running.Go(func() {
			buf := make([]byte, 64<<10)
			for i := w; i < len(names); i += workers {
				if _, err := f.Read(names[i], buf); err != nil {
					b.Error(err)
				}
			}
		})
	}
	running.Wait()
	return time.Since(start)
}

// BenchmarkOpenAgain reads all headers once more: of a store that stays open,
// with nothing changed, and with one message more.
func BenchmarkOpenAgain(b *testing.B) {
	dir := longLog(b, messages100k)
	// What was written in the last two seconds is not trusted to stay.
	time.Sleep(3 * time.Second)
	s := open(b, dir)
	start := time.Now()
	countHeaders(b, s, messages100k)
	first := time.Since(start)
	n := messages100k
	for _, more := range []int{0, 1} {
		b.Run(fmt.Sprintf("appended=%d", more), func(b *testing.B) {
			for b.Loop() {
				for range more {
					if err := os.WriteFile(filepath.Join(messagesOf(dir), fmt.Sprintf("message_%d.json", n)), longMessage(n), 0o644); err != nil {
						b.Fatal(err)
					}
					n++
				}
				countHeaders(b, s, n)
			}
			b.ReportMetric(first.Seconds()/(b.Elapsed().Seconds()/float64(b.N)), "times-the-first")
		})
	}
}

// BenchmarkTail opens a store and gives what a first screen shows of a session of
// 100,000 messages.
func BenchmarkTail(b *testing.B) {
	dir := longLog(b, messages100k)
	for b.Loop() {
		s := open(b, dir)
		tail, before, err := s.Tail(b.Context(), "h", 200)
		if err != nil || before == 0 || len(tail) != 200 {
			b.Fatal(len(tail), before, err)
		}
	}
}

// countHeaders reads the headers of session "h" and makes sure that there are n.
func countHeaders(b *testing.B, s *Store, n int) {
	b.Helper()
	count := 0
	for _, err := range s.Headers(b.Context(), "h") {
		if err != nil {
			b.Fatal(err)
		}
		count++
	}
	if count != n {
		b.Fatalf("%d headers", count)
	}
}

// BenchmarkState puts the newest state of a session together, which holds all
// messages, and one in the middle.
func BenchmarkState(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		s := open(b, longLog(b, n))
		list := storetest.Headers(b, s, "h")
		for name, h := range map[string]model.Header{"newest": list[n-1], "middle": list[n/2]} {
			b.Run(fmt.Sprintf("messages=%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					b.SetBytes(int64(len(state(b, s, h))))
				}
			})
		}
	}
}

// BenchmarkRestore puts a session of 10,000 messages back to its middle and takes that
// back again: to plan, and to carry out what was planned.
func BenchmarkRestore(b *testing.B) {
	const n = 10_000
	dir := longLog(b, n)
	rest(b, dir)
	s := open(b, dir)
	list := storetest.Headers(b, s, "h")
	var planned, applied, undone time.Duration
	for b.Loop() {
		start := time.Now()
		plan, err := s.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: list[n/2-1].Ref()})
		planned += time.Since(start)
		start = time.Now()
		apply(b, s, plan, err)
		applied += time.Since(start)
		start = time.Now()
		undo(b, s)
		undone += time.Since(start)
	}
	b.ReportMetric(planned.Seconds()/float64(b.N), "plan-s")
	b.ReportMetric(applied.Seconds()/float64(b.N), "apply-s")
	b.ReportMetric(undone.Seconds()/float64(b.N), "undo-s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRestore_cold plans in a process that knows nothing of the session yet.
func BenchmarkRestore_cold(b *testing.B) {
	const n = 10_000
	dir := longLog(b, n)
	rest(b, dir)
	list := storetest.Headers(b, open(b, dir), "h")
	for b.Loop() {
		s := open(b, dir)
		plan, err := s.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: list[n-10].Ref()})
		apply(b, s, plan, err)
		b.StopTimer()
		undo(b, s)
		b.StartTimer()
	}
}

// BenchmarkBranches lists a session of 10,000 messages that was put back and forth as often
// as the journal has room for, some 450 times: with nothing aside, and with 9,900 messages.
// more-ms is what that takes longer than to list a session without a journal that has as
// many rows, and first-more-ms the same of a program that opens the store and lists for the
// first time, for which the journal is read.
func BenchmarkBranches(b *testing.B) {
	const n, entries = 10_000, 440
	dir := longLog(b, n)
	rest(b, dir)
	s := open(b, dir)
	list := storetest.Headers(b, s, "h")
	least := func(s *Store, rows int) time.Duration {
		took := time.Hour
		for range 5 {
			start := time.Now()
			countHeaders(b, s, rows)
			took = min(took, time.Since(start))
		}
		return took
	}
	first := func() time.Duration {
		took := time.Hour
		for range 3 {
			start := time.Now()
			countHeaders(b, open(b, dir), n)
			took = min(took, time.Since(start))
		}
		return took
	}
	alone, firstAlone := least(s, n), first()
	restored(b, s, list[99].Ref())
	restored(b, s, list[n-1].Ref())
	repeatEntries(b, filepath.Join(dir, ".hindcast", "journal"), entries)
	for _, c := range []struct {
		name string
		to   int
	}{{"back", n - 1}, {"aside", 99}} {
		b.Run(c.name, func(b *testing.B) {
			if c.to != n-1 {
				restored(b, open(b, dir), list[c.to].Ref())
			}
			s := open(b, dir)
			for b.Loop() {
				b.ReportMetric(float64((first() - firstAlone).Milliseconds()), "first-more-ms")
				b.ReportMetric(float64((least(s, n) - alone).Milliseconds()), "more-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func restored(b *testing.B, s *Store, ref model.Ref) {
	b.Helper()
	plan, err := s.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: ref})
	apply(b, s, plan, err)
}

// repeatEntries has a journal tell of its two entries over and over.
func repeatEntries(b *testing.B, name string, entries int) {
	b.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	ids := regexp.MustCompile(`"(id|done)":([12])\b`)
	var out bytes.Buffer
	for k := 0; k < entries; k += 2 {
		for line := range bytes.Lines(data) {
			if len(line) < 10 || k > 0 && bytes.HasPrefix(line[9:], []byte(`{"part":`)) {
				continue // what the journal has it says once
			}
			text := ids.ReplaceAllFunc(bytes.TrimSpace(line[9:]), func(id []byte) []byte {
				part := ids.FindSubmatch(id)
				return fmt.Appendf(nil, "\"%s\":%d", part[1], k+int(part[2][0]-'0'))
			})
			fmt.Fprintf(&out, "\n%08x %s\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
		}
	}
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
}
