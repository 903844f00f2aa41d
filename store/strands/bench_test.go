package strands

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
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

// BenchmarkHeaders reads all headers of a session, and beside it what
// encoding/json takes to decode the same files one after the other.
func BenchmarkHeaders(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		dir := longLog(b, n)
		rate := func(b *testing.B) {
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "headers/s")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/op")
		}
		b.Run(fmt.Sprintf("messages=%d/hindcast", n), func(b *testing.B) {
			s := open(b, dir)
			b.ReportAllocs()
			for b.Loop() {
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
			rate(b)
		})
		b.Run(fmt.Sprintf("messages=%d/encoding-json", n), func(b *testing.B) {
			messages := filepath.Join(dir, "session_h", "agents", "agent_default", "messages")
			b.ReportAllocs()
			for b.Loop() {
				decodeAll(b, messages, n)
			}
			rate(b)
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
		last, middle := list[n-1].Ref(), list[n/2].Ref()
		b.Run(fmt.Sprintf("messages=%d/newest", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.State(b.Context(), last); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("messages=%d/middle", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.State(b.Context(), middle); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
