package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A file of any shape is read in time and memory that do not grow with the square of its lines:
// of compactions that keep all before them, of ids that all are one, of a log that goes back to
// the same place with each line.
func TestRead_shapes(t *testing.T) {
	skip.Sequential(t)
	const n = 10_000
	gen := func(f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i) + "\n")
		}
		return b.String()
	}
	cl := linears["claude-code"]
	gm := linears["gemini-cli"]
	cx := linears["codex"]
	pi := linears["pi"]
	co := linears["copilot-cli"]
	ce := func(id, parent int, more string) string {
		return fmt.Sprintf(`{"type":"user.message","data":{"content":"w%d"},"id":"m%d","parentId":"m%d","timestamp":"2026-01-01T00:00:01Z"%s}`, id, id, parent, more)
	}
	cu := func(id, parent int, more string) string {
		p := "null"
		if parent >= 0 {
			p = fmt.Sprintf(`"m%d"`, parent)
		}
		return fmt.Sprintf(`{"parentUuid":%s,"type":"user","uuid":"m%d","sessionId":%q,"cwd":"/w","message":{"role":"user","content":"w%d"}%s}`, p, id, lone, id, more)
	}
	for _, c := range []struct {
		name, text string
		l          linear
	}{
		{"claude chain", gen(func(i int) string { return cu(i, i-1, "") }), cl},
		{"claude star", gen(func(i int) string { return cu(i, min(i-1, 0), "") }), cl},
		{"claude two", gen(func(i int) string { return cu(i, max(i-2, -1), "") }), cl},
		{"claude boundaries", gen(func(i int) string {
			if i%2 == 0 {
				return cu(i, i-1, "")
			}
			return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":"m%d","parentUuid":null,"logicalParentUuid":"m%d","sessionId":%q,"compactMetadata":{"preservedSegment":{"headUuid":"m0","anchorUuid":"m%d","tailUuid":"m%d"}}}`, i, i-1, lone, i, i-1)
		}), cl},
		{"claude same id", gen(func(i int) string { return cu(0, -1, "") }), cl},
		{"claude lastprompts", gen(func(i int) string {
			return cu(i, i-1, "") + "\n" + fmt.Sprintf(`{"type":"last-prompt","leafUuid":"m%d"}`, i)
		}), cl},
		{"gemini same id", gen(func(i int) string { return gm.message(0, fmt.Sprintf("w%d", i)) }), gm},
		{"gemini rewinds", gm.message(0, "a") + "\n" + gen(func(i int) string {
			return gm.message(1, fmt.Sprintf("w%d", i)) + "\n" + `{"$rewindTo":"m1"}`
		}), gm},
		{"gemini silent", gen(func(i int) string {
			return fmt.Sprintf(`{"id":"i%d","timestamp":"2026-01-01T00:00:01Z","type":"info","content":"w%d"}`, i, i)
		}) + `{"$set":{"messages":[` + strings.TrimSuffix(strings.ReplaceAll(gen(func(i int) string {
			return fmt.Sprintf(`{"id":"j%d","timestamp":"2026-01-01T00:00:01Z","type":"info","content":"v%d"},`, i, i)
		}), "\n", ""), ",") + `]}}`, gm},
		{"gemini sets", gen(func(i int) string {
			return fmt.Sprintf(`{"$set":{"messages":[{"id":"i%d","timestamp":"2026-01-01T00:00:01Z","type":"user","content":"w%d"}]}}`, i, i)
		}), gm},
		{"codex compacted", gen(func(i int) string {
			if i%2 == 0 {
				return cx.message(0, "w")
			}
			return `{"timestamp":"2026-01-02T03:04:01.000Z","type":"compacted","payload":{"message":"s"}}`
		}), cx},
		{"codex rollbacks", gen(func(i int) string {
			if i%2 == 0 {
				return cx.message(0, "w")
			}
			return fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:01.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":%d}}`, i%3)
		}), cx},
		{"copilot chain", gen(func(i int) string { return ce(i, i-1, "") }), co},
		{"copilot star", gen(func(i int) string { return ce(i, 0, "") }), co},
		{"copilot two", gen(func(i int) string { return ce(i, max(i-2, 0), "") }), co},
		{"copilot same id", gen(func(int) string { return ce(0, -1, "") }), co},
		{"copilot lost", gen(func(i int) string { return ce(i, 2*n+i, "") }), co},
		{"copilot compacted", gen(func(i int) string {
			if i%2 == 0 {
				return ce(i, i-1, "")
			}
			return fmt.Sprintf(`{"type":"session.compaction_complete","data":{"success":true,"summaryContent":"s"},"id":"m%d","parentId":"m%d","timestamp":"2026-01-01T00:00:01Z"}`, i, i-1)
		}), co},
		{"copilot one answer", gen(func(i int) string {
			return fmt.Sprintf(`{"type":"assistant.message","data":{"content":"w%d","messageId":"one","toolRequests":[{"toolCallId":"c%d","name":"t","arguments":{}}]},"id":"m%d","parentId":"m%d","timestamp":"2026-01-01T00:00:01Z"}`, i, i, i, i-1)
		}), co},
		{"copilot usage", ce(0, -1, "") + "\n" + `{"type":"assistant.message","data":{"content":"w","apiCallId":"x"},"id":"a","parentId":"m0","timestamp":"2026-01-01T00:00:01Z"}` + "\n" + gen(func(i int) string {
			return fmt.Sprintf(`{"type":"session.usage_record","data":{"usage":{"apiCallId":"x","inputTokens":1}},"id":"u%d","parentId":"a","timestamp":"2026-01-01T00:00:01Z"}`, i)
		}), co},
		{"copilot agents", ce(0, -1, "") + "\n" + gen(func(i int) string { return ce(i+1, i, fmt.Sprintf(`,"agentId":"a%d"`, i/5)) }), co},
		{"pi chain", gen(func(i int) string { return pi.message(i, "w") }), pi},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, s := c.l.put(t, c.l.header+c.text)
			storetest.Sessions(t, s)
			list := storetest.Headers(t, s, c.l.conversation)
			storetest.Faults(t, s, c.l.conversation)
			if _, err := s.State(t.Context(), list[len(list)-1].Ref()); err != nil {
				t.Error(err)
			}
		})
	}
}
