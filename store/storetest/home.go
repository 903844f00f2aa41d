package storetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// turn is what a transcript repeats: one who asks, an answer with a call, the result of the
// tool, which is most of the bytes, and an answer. n counts messages.
type turn struct {
	question, call, result, answer func(n int)
	// others are the bytes, about, of all but what the tool printed.
	others int
}

func (t *turn) repeat(size, line int) {
	for n, written := 0, 0; written < size; n, written = n+4, written+line+t.others {
		t.question(n)
		t.call(n + 1)
		t.result(n + 2)
		t.answer(n + 3)
	}
}

// PiTranscript is a session of pi.
func PiTranscript(w *bufio.Writer, id string, begun time.Time, size, line int) {
	at := begun.Format(time.RFC3339Nano)
	fmt.Fprintf(w, `{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":"/home/demo/project"}`+"\n", id, at)
	parent := "null"
	entry := func(n int, message func()) {
		own := strconv.Quote(fmt.Sprintf("%08x", n))
		fmt.Fprintf(w, `{"type":"message","id":%s,"parentId":%s,"timestamp":%q,"message":`, own, parent, at)
		message()
		io.WriteString(w, "}\n")
		parent = own
	}
	t := turn{
		question: func(n int) {
			entry(n, func() {
				fmt.Fprintf(w, `{"role":"user","content":[{"type":"text","text":"please look at part %d of it"}]}`, n)
			})
		},
		call: func(n int) {
			entry(n, func() {
				fmt.Fprintf(w, `{"role":"assistant","content":[{"type":"text","text":"I look at it."},{"type":"toolCall","id":"call_%d","name":"bash","arguments":{"command":"sed -n %d,+50p main.go"}}],"provider":"demo","model":"demo-1","usage":{"input":%d,"output":50,"cacheRead":7,"cacheWrite":0,"totalTokens":99,"cost":{"input":0.001,"output":0.002,"cacheRead":0,"cacheWrite":0,"total":0.003}},"stopReason":"toolUse"}`, n, n, n)
			})
		},
		result: func(n int) {
			entry(n, func() {
				fmt.Fprintf(w, `{"role":"toolResult","toolCallId":"call_%d","toolName":"bash","content":[{"type":"text","text":"`, n-1)
				Prose(w, n, line)
				io.WriteString(w, `"}],"isError":false}`)
			})
		},
		answer: func(n int) {
			entry(n, func() {
				fmt.Fprintf(w, `{"role":"assistant","content":[{"type":"text","text":"That is part %d."}],"provider":"demo","model":"demo-1","usage":{"input":%d,"output":9,"cacheRead":7,"cacheWrite":0,"totalTokens":99,"cost":{"total":0.003}},"stopReason":"stop"}`, n, n)
			})
		},
		others: 900,
	}
	t.repeat(size, line)
}

// ClaudeTranscript is a session of Claude Code as 2.1.330 writes them: with what was asked of
// the model, once for each message, and the tools that it was offered, which are the longest
// line of a short session.
func ClaudeTranscript(w *bufio.Writer, id string, begun time.Time, size, line int) {
	own, parent := "null", "null"
	const offered = 200_000 // bytes of the system prompt and the tools
	record := func(n int, kind string, message func()) {
		parent, own = own, strconv.Quote(fmt.Sprintf("%08x-0000-4000-8000-%.12s", n, id[max(0, len(id)-12):]+"000000000000"))
		fmt.Fprintf(w, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":`, parent, kind)
		message()
		fmt.Fprintf(w, `,"uuid":%s,"timestamp":%q,"userType":"external","entrypoint":"cli","cwd":"/home/demo/project","sessionId":%q,"version":"2.1.330","gitBranch":"main"}`+"\n", own, begun.Add(time.Duration(n)*time.Second).Format(time.RFC3339Nano), id)
	}
	asked := func(n int, content func()) {
		fmt.Fprintf(w, `{"type":"api-request-blob","sessionId":%q,"hash":"%064x","message":{"role":"user","content":[`, id, n)
		content()
		fmt.Fprintf(w, `]}}`+"\n"+`{"type":"api-request","sessionId":%q,"id":"%08x-0000-4000-8000-000000000001","timestamp":%q,"version":"2.1.330","querySource":"sdk","shapeHash":"%064x","params":{"model":"demo-1","max_tokens":32000},"keep":%d,"tail":["%064x"],"requestDigest":"%064x"}`+"\n", id, n, begun.Format(time.RFC3339Nano), 1, n, n, n)
	}
	said := func(n int, content, stop string) {
		fmt.Fprintf(w, `{"model":"demo-1","id":"msg_%s_%d","type":"message","role":"assistant","content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":50,"service_tier":"standard"}}`, id, n, content, stop, n)
	}
	t := turn{
		question: func(n int) {
			record(n, "user", func() {
				fmt.Fprintf(w, `{"role":"user","content":"please look at part %d of it"}`, n)
			})
			if n == 0 {
				fmt.Fprintf(w, `{"type":"api-request-shape","sessionId":%q,"shapeHash":"%064x","timestamp":%q,"version":"2.1.330","shape":{"system":[{"type":"text","text":"`, id, 1, begun.Format(time.RFC3339Nano))
				Prose(w, n, min(offered, size/2))
				io.WriteString(w, `"}],"tools":[]}}`+"\n")
			}
			asked(n, func() { fmt.Fprintf(w, `{"type":"text","text":"please look at part %d of it"}`, n) })
		},
		call: func(n int) {
			record(n, "assistant", func() {
				said(n, fmt.Sprintf(`{"type":"text","text":"I look at it."},{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"sed -n %d,+50p main.go"}}`, n, n), "tool_use")
			})
		},
		result: func(n int) {
			printed := func() {
				fmt.Fprintf(w, `{"tool_use_id":"toolu_%d","type":"tool_result","content":"`, n-1)
				Prose(w, n, line)
				io.WriteString(w, `","is_error":false}`)
			}
			record(n, "user", func() {
				io.WriteString(w, `{"role":"user","content":[`)
				printed()
				io.WriteString(w, `]}`)
			})
			asked(n, printed)
		},
		answer: func(n int) {
			record(n, "assistant", func() { said(n, fmt.Sprintf(`{"type":"text","text":"That is part %d."}`, n), "end_turn") })
			fmt.Fprintf(w, `{"type":"last-prompt","lastPrompt":"please look at part %d of it","leafUuid":%s,"sessionId":%q}`+"\n", n-3, own, id)
		},
		others: 4200 + line,
	}
	t.repeat(size-min(offered, size/2), line)
}

// CodexTranscript is a session of Codex as 0.169 writes them, with the events that repeat each question and answer.
func CodexTranscript(w *bufio.Writer, id string, begun time.Time, size, line int) {
	ordinal := 0
	record := func(n int, kind string, payload func()) {
		fmt.Fprintf(w, `{"timestamp":%q,"ordinal":%d,"type":%q,"payload":{`, begun.Add(time.Duration(n)*time.Second).Format(time.RFC3339Nano), ordinal, kind)
		payload()
		io.WriteString(w, "}}\n")
		ordinal++
	}
	text := func(n int, kind, format string, args ...any) {
		record(n, kind, func() { fmt.Fprintf(w, format, args...) })
	}
	text(0, "session_meta", `"id":%q,"timestamp":%q,"cwd":"/home/demo/project","originator":"codex_exec","cli_version":"0.169.0","source":"exec","model_provider":"demo"`, id, begun.Format(time.RFC3339Nano))
	text(0, "turn_context", `"turn_id":"t0","cwd":"/home/demo/project","approval_policy":"never","model":"demo-1"`)
	t := turn{
		question: func(n int) {
			text(n, "response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"please look at part %d of it"}]`, n)
			text(n, "event_msg", `"type":"user_message","message":"please look at part %d of it","images":[]`, n)
		},
		call: func(n int) {
			text(n, "response_item", `"type":"function_call","name":"shell","arguments":"{\"command\":[\"sed\",\"-n\",\"part %d\"]}","call_id":"call_%d"`, n, n)
		},
		result: func(n int) {
			record(n, "response_item", func() {
				fmt.Fprintf(w, `"type":"function_call_output","call_id":"call_%d","output":"`, n-1)
				Prose(w, n, line)
				w.WriteByte('"')
			})
		},
		answer: func(n int) {
			text(n, "event_msg", `"type":"agent_message","message":"That is part %d."`, n)
			text(n, "response_item", `"type":"message","role":"assistant","content":[{"type":"output_text","text":"That is part %d."}]`, n)
			text(n, "event_msg", `"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"cached_input_tokens":7,"output_tokens":50,"reasoning_output_tokens":0,"total_tokens":99}}`, n)
		},
		others: 1400,
	}
	t.repeat(size, line)
}

// WithWords returns a transcript that writes another's lines, with words before the number of the part that a line names.
// oneOf says of each word which share of the lines has it: one of so many. Lines that name the same part have the same
// words, as agents write a text more than once.
func WithWords(write Transcript, oneOf map[string]int) Transcript {
	words := slices.Sorted(maps.Keys(oneOf))
	due := make([]int, len(words))
	return func(w *bufio.Writer, id string, begun time.Time, size, line int) {
		var plain bytes.Buffer
		to := bufio.NewWriter(&plain)
		write(to, id, begun, size, line)
		to.Flush() // a bytes.Buffer takes all
		said := map[string]string{}
		for text := range bytes.Lines(plain.Bytes()) {
			before, after, has := bytes.Cut(text, []byte("part "))
			w.Write(before)
			part := string(after[:len(after)-len(bytes.TrimLeft(after, "0123456789"))])
			chosen, known := said[part]
			for i, word := range words {
				if due[i]++; has && !known && due[i] >= oneOf[word] {
					chosen += word + " "
				}
				if has && strings.Contains(chosen, word) {
					due[i] -= oneOf[word]
				}
			}
			if has {
				said[part] = chosen
				io.WriteString(w, chosen+"part ")
			}
			w.Write(after)
		}
	}
}

// ClaudeAgents adds to sessions of Claude Code below a folder, to one of five, two sub-agents
// of about size bytes each.
func ClaudeAgents(t testing.TB, dir string, size int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "projects", "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for n, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 2 * (n % 5 / 4) {
			agent := filepath.Join(strings.TrimSuffix(file, ".jsonl"), "subagents", fmt.Sprintf("agent-a%016x", n*2+k))
			SaveTranscript(t, agent+".jsonl", ClaudeTranscript, strings.TrimSuffix(filepath.Base(file), ".jsonl"), info.ModTime(), size, 3000)
			if err := os.WriteFile(agent+".meta.json", fmt.Appendf(nil, `{"agentType":"general-purpose","description":"part %d of it","toolUseId":"toolu_%d","spawnDepth":1,"finished":true}`, k, 1+4*k), 0o600); err != nil {
				t.Fatal(err)
			}
		}
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
