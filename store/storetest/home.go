package storetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Transcript writes a session of a coding agent, of about size bytes in lines of about line
// bytes, the same every time. id is a UUID.
type Transcript func(w *bufio.Writer, id string, begun time.Time, size, line int)

// Home fills a folder with sessions of a coding agent, as many as that and about size bytes
// in all: half of them are small, and one in a hundred is ten times as large as the mean. The
// file of each is named by its project, its id and the time at which it began.
func Home(t testing.TB, dir string, sessions int, size int64, write Transcript, name func(project, id string, begun time.Time) string) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const spread = 1.4 // of the logarithms of the sizes
	mean := float64(size) / float64(sessions) / math.Exp(spread*spread/2)
	for n := range sessions {
		begun = begun.Add(7 * time.Minute)
		id := fmt.Sprintf("%08x-0000-7000-8000-%012x", random.Uint32(), n)
		file := filepath.Join(dir, filepath.FromSlash(name(fmt.Sprintf("project-%d", random.IntN(60)), id, begun)))
		SaveTranscript(t, file, write, id, begun, int(mean*math.Exp(spread*random.NormFloat64())), 3000)
	}
}

// SaveTranscript writes one session into a file, with the time at which it began.
func SaveTranscript(t testing.TB, file string, write Transcript, id string, begun time.Time, size, line int) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	write(w, id, begun, size, line)
	if err := errors.Join(w.Flush(), f.Close(), os.Chtimes(file, begun, begun)); err != nil {
		t.Fatal(err)
	}
}

// PiTranscript is a session of pi: one who asks, an answer with a call, the result of the
// tool, which is most of the bytes, and an answer.
func PiTranscript(w *bufio.Writer, id string, begun time.Time, size, line int) {
	at := begun.Format(time.RFC3339Nano)
	written, _ := fmt.Fprintf(w, `{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":"/home/demo/project"}`+"\n", id, at)
	parent := "null"
	entry := func(n int, message func()) {
		own := strconv.Quote(fmt.Sprintf("%08x", n))
		fmt.Fprintf(w, `{"type":"message","id":%s,"parentId":%s,"timestamp":%q,"message":`, own, parent, at)
		message()
		io.WriteString(w, "}\n")
		parent = own
	}
	const others = 900 // bytes, about, beside the result
	for n := 0; written < size; n, written = n+4, written+line+others {
		call := fmt.Sprintf("call_%d", n)
		entry(n, func() {
			fmt.Fprintf(w, `{"role":"user","content":[{"type":"text","text":"please look at part %d of it"}]}`, n)
		})
		entry(n+1, func() {
			fmt.Fprintf(w, `{"role":"assistant","content":[{"type":"text","text":"I look at it."},{"type":"toolCall","id":%q,"name":"bash","arguments":{"command":"sed -n %d,+50p main.go"}}],"provider":"demo","model":"demo-1","usage":{"input":%d,"output":50,"cacheRead":7,"cacheWrite":0,"totalTokens":99,"cost":{"input":0.001,"output":0.002,"cacheRead":0,"cacheWrite":0,"total":0.003}},"stopReason":"toolUse"}`, call, n, n)
		})
		entry(n+2, func() {
			fmt.Fprintf(w, `{"role":"toolResult","toolCallId":%q,"toolName":"bash","content":[{"type":"text","text":"`, call)
			Prose(w, n, line)
			io.WriteString(w, `"}],"isError":false}`)
		})
		entry(n+3, func() {
			fmt.Fprintf(w, `{"role":"assistant","content":[{"type":"text","text":"That is part %d."}],"provider":"demo","model":"demo-1","usage":{"input":%d,"output":9,"cacheRead":7,"cacheWrite":0,"totalTokens":99,"cost":{"total":0.003}},"stopReason":"stop"}`, n, n)
		})
	}
}

// Prose writes about size bytes of what stands in a JSON string: lines of a program, with
// what is escaped in them. Each n has other words.
func Prose(w *bufio.Writer, n, size int) {
	for written := 0; written < size; n++ {
		k, _ := fmt.Fprintf(w, `\tif err := step%d(ctx, \"part %d\"); err != nil {\n\t\treturn fmt.Errorf(\"step %d: %%w\", err)\n\t}\n`, n, n*7, n)
		written += k
	}
}
