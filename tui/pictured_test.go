package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/prices"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
)

// pictured holds the sessions of the home on the front page, for the formats of three tools. A turn has the person's
// words, the command, behind "! " if it failed, and the answer.
var pictured = []struct {
	tool, project, id, ended string
	turns                    [][3]string
}{
	{"claude", "payments-api", "7d1f2a60-03c5-4a8e-9a51-0c6d2f4b8e11", "2026-05-05T08:41:00Z", [][3]string{
		{"Customers get the same webhook twice, find out why", "rg -n \"deliver\" internal/webhooks", "Deliveries are retried on a timeout, and the receiver has no idempotency key: a slow 200 is sent twice."},
		{"Add the idempotency key to the delivery", "! go test ./internal/webhooks", "The key is the event's id now. One test still expects two deliveries."},
		{"Mend the test and run all of them", "go test ./...", "All tests pass: a webhook is delivered once."},
	}},
	{"codex", "storefront", "019df0a1-5c1e-7d30-8f5a-3a1b2c3d4e5f", "2026-05-05T07:12:00Z", [][3]string{
		{"List the exports of the price module", "grep -n export src/price.ts", "It exports formatPrice, parsePrice and the type Price."},
	}},
	{"pi", "notes", "019df090-0000-7000-8000-000000000004", "2026-05-05T06:55:00Z", [][3]string{
		{"Sum the expenses of April by category", "awk -F, '{s[$2]+=$3} END {for (k in s) print k, s[k]}' april.csv", "Travel 412.60, software 96.00, books 58.90."},
	}},
	{"claude", "payments-api", "b2c3d4e5-1111-4222-8333-444455556666", "2026-05-04T16:20:00Z", [][3]string{
		{"The nightly refund job hangs, look at its log", "! tail -n 200 log/refunds.log", "The log ends at a lock: two workers wait for each other's webhook row."},
		{"Take the locks in one order", "go vet ./...", "Both workers lock the refund first."},
	}},
	{"claude", "blog", "c9d8e7f6-2222-4333-8444-555566667777", "2026-05-04T10:03:00Z", [][3]string{
		{"Rename the helper to slugify", "sed -i s/makeSlug/slugify/ src/*.ts", "Renamed in six files."},
	}},
	{"codex", "payments-api", "019dec11-7777-7d30-8f5a-3a1b2c3d4e60", "2026-05-01T14:45:00Z", [][3]string{
		{"Write the runbook for a failed webhook", "! cat docs/runbook.md", "The runbook names the queue, the retry policy and who is called."},
	}},
}

// picturedHome writes the sessions of the front page and returns their home, and the ledger and prices of it.
func picturedHome(t *testing.T) (*home.Home, *ledger.Ledger, *prices.List) {
	t.Helper()
	dir := t.TempDir()
	for _, s := range pictured {
		ended, err := time.Parse(time.RFC3339, s.ended)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		file := ""
		cwd := "/home/you/" + s.project
		at := func(turn, step int) string {
			return ended.Add(time.Duration(turn-len(s.turns))*4*time.Minute + time.Duration(step)*time.Minute).Format(time.RFC3339Nano)
		}
		switch s.tool {
		case "claude":
			file = filepath.Join(".claude", "projects", strings.ReplaceAll(cwd, "/", "-"), s.id+".jsonl")
			parent := "null"
			entry := func(kind, when, message string) {
				id := fmt.Sprintf("%q", fmt.Sprintf("%s%04x", s.id[:32], len(lines)))
				add(`{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":%s,"timestamp":%q,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.330"}`,
					parent, kind, message, id, when, cwd, s.id)
				parent = id
			}
			for i, turn := range s.turns {
				command, failed := strings.CutPrefix(turn[1], "! ")
				answer := func(step int, content string) {
					entry("assistant", at(i, step), fmt.Sprintf(`{"model":"claude-opus-4-5","id":"msg_%s%02d%d","type":"message","role":"assistant","content":[%s],"usage":{"input_tokens":%d,"cache_creation_input_tokens":2100,"cache_read_input_tokens":%d,"output_tokens":240}}`,
						s.id[:13], i, step, content, 900, 18000+9000*i))
				}
				entry("user", at(i, 0), fmt.Sprintf(`{"role":"user","content":%q}`, turn[0]))
				answer(1, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":%q}}`, i, command))
				entry("user", at(i, 2), fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"…","is_error":%t}]}`, i, failed))
				answer(3, fmt.Sprintf(`{"type":"text","text":%q}`, turn[2]))
			}
		case "codex":
			file = filepath.Join(".codex", "sessions", ended.Format("2006/01/02"), "rollout-"+ended.Format("2006-01-02T15-04-05")+"-"+s.id+".jsonl")
			add(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"timestamp":%q,"cwd":%q,"originator":"codex_cli_rs","cli_version":"0.169.0"}}`, at(0, 0), s.id, at(0, 0), cwd)
			for i, turn := range s.turns {
				command, failed := strings.CutPrefix(turn[1], "! ")
				code := 0
				if failed {
					code = 1
				}
				add(`{"timestamp":%q,"type":"turn_context","payload":{"turn_id":"t%d","cwd":%q,"model":"gpt-5.5"}}`, at(i, 0), i, cwd)
				add(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`, at(i, 0), turn[0])
				add(`{"timestamp":%q,"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":%q,"call_id":"c%d"}}`, at(i, 1), fmt.Sprintf(`{"command":["bash","-lc",%q]}`, command), i)
				add(`{"timestamp":%q,"type":"response_item","payload":{"type":"function_call_output","call_id":"c%d","output":%q}}`, at(i, 2), i, fmt.Sprintf(`{"output":"…","metadata":{"exit_code":%d}}`, code))
				add(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}}`, at(i, 3), turn[2])
				add(`{"timestamp":%q,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":9000,"cached_input_tokens":7000,"output_tokens":300,"total_tokens":9300},"last_token_usage":{"input_tokens":9000,"cached_input_tokens":7000,"output_tokens":300,"total_tokens":9300}}}}`, at(i, 3))
			}
		case "pi":
			file = filepath.Join(".pi", "agent", "sessions", "-"+strings.ReplaceAll(cwd, "/", "-")+"--", ended.Format("2006-01-02T15-04-05-000Z")+"_"+s.id+".jsonl")
			add(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%q}`, s.id, at(0, 0), cwd)
			parent := "null"
			entry := func(when, message string) {
				id := fmt.Sprintf("%q", fmt.Sprintf("%08x", len(lines)))
				add(`{"type":"message","id":%s,"parentId":%s,"timestamp":%q,"message":%s}`, id, parent, when, message)
				parent = id
			}
			for i, turn := range s.turns {
				answer := func(step int, content string) {
					entry(at(i, step), fmt.Sprintf(`{"role":"assistant","content":[%s],"provider":"anthropic","model":"claude-opus-4-5","usage":{"input":4000,"output":200,"cacheRead":0,"cacheWrite":0,"totalTokens":4200,"cost":{"total":0.025}},"stopReason":"stop"}`, content))
				}
				entry(at(i, 0), fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, turn[0]))
				answer(1, fmt.Sprintf(`{"type":"toolCall","id":"call_%d","name":"bash","arguments":{"command":%q}}`, i, turn[1]))
				entry(at(i, 2), fmt.Sprintf(`{"role":"toolResult","toolCallId":"call_%d","toolName":"bash","content":[{"type":"text","text":"…"}],"isError":false}`, i))
				answer(3, fmt.Sprintf(`{"type":"text","text":%q}`, turn[2]))
			}
		}
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, ended, ended); err != nil {
			t.Fatal(err)
		}
	}
	h := home.New(kinds.All(nil, ""), home.Places{Around: store.Surroundings{Home: dir, Env: func(string) string { return "" }}})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	listed, err := prices.Load("")
	if err != nil {
		t.Fatal(err)
	}
	return h, ledger.New(nil), listed
}
