package strands

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
)

// longLog writes a session of n messages, of the sizes and shapes that the SDK
// writes: a question, a tool call, its result and an answer, over and over.
func longLog(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	hazards(b)["healthy"].with(map[string]string{"messages/message_0.json": "(absent)\n"}).write(b, filepath.Join(dir, "session_h"))
	messages := filepath.Join(dir, "session_h", "agents", "agent_default", "messages")
	var shapes [][]byte
	for _, k := range []int{2, 3, 4, 5} {
		data, err := os.ReadFile(filepath.Join(fixtures, "session_basic", "agents", "agent_default", "messages", fmt.Sprintf("message_%d.json", k)))
		if err != nil {
			b.Fatal(err)
		}
		shapes = append(shapes, data)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(messages, fmt.Sprintf("message_%d.json", i)), shapes[i%len(shapes)], 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkHeaders reads all headers of a session, and in turn with it decodes
// the same files one after the other with encoding/json, so that what else the
// machine does hits both.
func BenchmarkHeaders(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			dir := longLog(b, n)
			messages := filepath.Join(dir, "session_h", "agents", "agent_default", "messages")
			s := open(b, dir)
			var ours, plain time.Duration
			for b.Loop() {
				start, count := time.Now(), 0
				for _, err := range s.Headers(b.Context(), "h") {
					if err != nil {
						b.Fatal(err)
					}
					count++
				}
				ours += time.Since(start)
				if count != n {
					b.Fatalf("%d headers", count)
				}
				start = time.Now()
				decodeAll(b, messages, n)
				plain += time.Since(start)
			}
			total := float64(n) * float64(b.N)
			b.ReportMetric(total/ours.Seconds(), "headers/s")
			b.ReportMetric(total/plain.Seconds(), "encoding/json/s")
			b.ReportMetric(plain.Seconds()/ours.Seconds(), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// decodeAll decodes the files as a plain program would.
func decodeAll(b *testing.B, messages string, n int) {
	b.Helper()
	for i := range n {
		data, err := os.ReadFile(filepath.Join(messages, fmt.Sprintf("message_%d.json", i)))
		if err != nil {
			b.Fatal(err)
		}
		var wrapper struct {
			Message struct {
				Role    string           `json:"role"`
				Content []map[string]any `json:"content"`
			} `json:"message"`
			MessageID int       `json:"message_id"`
			CreatedAt time.Time `json:"created_at"`
		}
		if err := json.Unmarshal(data, &wrapper); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkState puts the newest state of a session together, which holds all
// messages, and one in the middle.
func BenchmarkState(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		s := open(b, longLog(b, n))
		list := headers(b, s, "h")
		for name, h := range map[string]model.Header{"newest": list[n-1], "middle": list[n/2]} {
			b.Run(fmt.Sprintf("messages=%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					b.SetBytes(int64(len(state(b, s, h))))
				}
			})
		}
	}
}
