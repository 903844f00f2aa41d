package snapshots

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// told is a conversation as the SDKs for TypeScript before 1.9 write it: its
// messages have no ids. Each word is one: what begins with "+" calls a tool, with
// "=" is its result, with "!" that of a tool that failed, with "-" an answer, and
// else it is a question.
func told(words ...string) string {
	var list []string
	for _, word := range words {
		role, block := "user", fmt.Sprintf(`{"text":%q}`, word)
		switch word[0] {
		case '+':
			role, block = "assistant", fmt.Sprintf(`{"toolUse":{"name":"add","toolUseId":%q,"input":{}}}`, word[1:])
		case '=':
			block = fmt.Sprintf(`{"toolResult":{"toolUseId":%q,"status":"success","content":[]}}`, word[1:])
		case '!':
			block = fmt.Sprintf(`{"toolResult":{"toolUseId":%q,"status":"error","content":[]}}`, word[1:])
		case '-':
			role = "assistant"
		}
		list = append(list, fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, block))
	}
	return fmt.Sprintf(`{"scope":"agent","schemaVersion":"1.0","createdAt":"2026-03-01T10:00:00.000Z","data":{"messages":[%s]}}`, strings.Join(list, ","))
}

// lives are sessions as they happen to people, and how they are drawn.
func TestHeaders_lives(t *testing.T) {
	for name, c := range map[string]struct {
		saved  [][]string
		latest []string // nil for none
		want   string
	}{
		"inside a turn": {
			[][]string{{"q"}, {"q", "+1"}, {"q", "+1", "=1"}, {"q", "+1", "=1", "-a"}}, []string{"q", "+1", "=1", "-a", "q2"}, `
○    0  turn 0  user input
○    1  turn 0  after model inferred
○    2  turn 0  tool iteration inferred
○    3  turn 0  turn end inferred
◉    4  turn 1  user input inferred
`},
		"a tool fails on the way": {
			[][]string{{"q", "-a"}}, []string{"q", "-a", "q2", "+1", "!1", "-b"}, `
○    0  turn 0  turn end
◉    1  turn 1  turn end error inferred
`},
		"an earlier one put back": {
			[][]string{{"q", "-a"}, {"q", "-a", "q2", "-b"}, {"q", "-a", "q2", "-b", "q3", "-c"}}, []string{"q", "-a", "q2", "-b"}, `
○    0  turn 0  turn end
◉    1  turn 1  turn end inferred
╰─╮
  ◌  2  turn 2  turn end inferred: the framework's pointer names another snapshot
`},
		"put back, gone on, and put back again": {
			[][]string{{"q", "-a"}, {"q", "-a", "x", "-y"}, {"q", "-a", "x", "-y", "z", "-z"}, {"q", "-a", "k", "-l"}}, []string{"q", "-a", "x", "-y", "m", "-n"}, `
○    0  turn 0  turn end
├─╮
│ ◌  3  turn 1  turn end inferred: another branch was chosen
○    1  turn 1  turn end inferred
├─╮
│ ◌  2  turn 2  turn end inferred: cut off by a rewind to #1
◉    4  turn 2  turn end inferred
`},
		"only the state changed": {
			[][]string{{"q", "-a"}, {"q", "-a"}}, []string{"q", "-a", "q2"}, `
○    0  turn 0  turn end
○    1  turn 0  saved again inferred
◉    2  turn 1  user input inferred
`},
		"a window that slides": {
			[][]string{{"q1", "-a1", "q2", "-a2"}, {"q2", "-a2", "q3", "-a3"}, {"q3", "-a3", "q4", "-a4"}}, []string{"q4", "-a4", "q5", "-a5"}, `
○    0  turn 1  turn end
○    1  turn 2  turn end inferred
○    2  turn 3  turn end inferred
◉    3  turn 4  turn end inferred
`},
		"nothing to start from": {
			[][]string{{"q", "-a"}, {"q", "-a", "q2", "-b"}}, nil, `
◌    0  turn 0  turn end: the framework's pointer names another snapshot
◌    1  turn 1  turn end inferred: the framework's pointer names another snapshot
`},
	} {
		dir := t.TempDir()
		kept := filepath.Join(dir, "s", "scopes", "agent", "agent", "snapshots")
		for i, words := range c.saved {
			mustWrite(t, filepath.Join(kept, historyDir, fmt.Sprintf("snapshot_01950000-%04x-7000-8000-000000000001.json", i)), told(words...))
		}
		if c.latest != nil {
			mustWrite(t, filepath.Join(kept, latestFile), told(c.latest...))
		}
		rows := storetest.Headers(t, open(t, dir), "s")
		timeline := model.NewTimeline(rows)
		var text strings.Builder
		for i := range timeline.Rows() {
			row := timeline.Row(i)
			line := string(timeline.AppendGutter(nil, i, max(2, timeline.Lanes()), model.GlyphsUnicode))
			if row.Kind == model.RowNode {
				h := timeline.FullHeader(row.Node)
				line += fmt.Sprintf("%2d  turn %d  %s %s", h.Index, h.TurnIndex, h.EventText(), strings.Join(h.Marks.Words(), " "))
				line = strings.TrimRight(line, " ")
				if h.Reason != nil {
					line += ": " + h.Reason.Text(nil)
				}
			}
			text.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		if got := "\n" + text.String(); got != c.want {
			t.Errorf("%s:%snot%s", name, got, c.want)
		}
	}
}
