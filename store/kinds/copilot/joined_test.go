package copilot

import (
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// A record over several lines is put together: its text is in a message, and the fault says what
// Copilot CLI makes of it. Lines that are damaged otherwise are joined with no other.
func TestRead_recordOverSeveralLines(t *testing.T) {
	const before = `{"type":"session.start","data":{"sessionId":"` + session + `","version":1,"context":{"cwd":"/x"}},"id":"e0","timestamp":"2026-11-27T10:00:00.000Z","parentId":null}
{"type":"user.message","data":{"content":"fetch the page"},"id":"e1","timestamp":"2026-11-27T10:00:01.000Z","parentId":"e0"}
{"type":"assistant.message","data":{"messageId":"m1","content":"","toolRequests":[{"toolCallId":"c1","name":"web_fetch","arguments":{}}]},"id":"e2","timestamp":"2026-11-27T10:00:02.000Z","parentId":"e1"}
`
	const behind = `
{"type":"assistant.message","data":{"messageId":"m2","content":"It has three lines."},"id":"e4","timestamp":"2026-11-27T10:00:04.000Z","parentId":"e3"}
`
	const head, tail = `{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"`, `"}},"id":"e3","timestamp":"2026-11-27T10:00:03.000Z","parentId":"e2"}`
	for _, c := range []struct {
		name, text string
		rows       int
		says       string // in the state of the third row
	}{
		{"three lines", head + "line one\nline two\nline three" + tail, 4, `line one\u000aline two\u000aline three`},
		{"two", head + "a\nb" + tail, 4, `a\u000ab`},
		{"an empty line, quotes and braces", head + `a {\"` + "\n\n" + `} \\` + "\nb" + tail, 4, `\u000a\u000a`},
		{"a carriage return", head + "a\r\nb" + tail, 4, `a\u000d\u000ab`},
		{"two records in a row", head + "a\nb" + tail + "\n" + strings.ReplaceAll(head+"c\nd"+tail, `"e3"`, `"e5"`), 5, `a\u000ab`},
		{"one that never ends", head + "a\nb", 3, ""},
		{"half a line", head[:40], 3, ""},
	} {
		s := of(t, before+c.text+behind)
		list := storetest.Headers(t, s, session)
		if len(list) != c.rows {
			t.Errorf("%s: it has %d rows, want %d", c.name, len(list), c.rows)
			continue
		}
		if c.says == "" {
			continue
		}
		text, err := s.State(t.Context(), list[2].Ref())
		if err != nil || !strings.Contains(string(text), c.says) {
			t.Errorf("%s: the state says %s, %v", c.name, text, err)
		}
		if list[2].Reason == nil || list[2].Reason.Kind != model.ReasonDamaged {
			t.Errorf("%s: it is off the path for %+v", c.name, list[2].Reason)
		}
		faults := storetest.Faults(t, s, session)
		if faults[0].Code != chat.FaultLine || !strings.Contains(faults[0].Verdict, "since 1.0.57") || !strings.Contains(faults[0].Meaning, "goes on to line") {
			t.Errorf("%s: the fault is %+v", c.name, faults[0])
		}
	}
}
