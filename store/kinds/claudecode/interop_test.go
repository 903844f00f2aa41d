package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/skip"
)

// claude is Claude Code with a home, a project and a model of its own.
type claude struct {
	testing.TB
	model      *chattest.Model
	home, work string
	env        []string
}

func newClaude(t *testing.T) *claude {
	a := chattest.StartAgent(t, agent.Name)
	return &claude{t, a.Model, a.Home, a.Work, a.Env}
}

// run runs a command and returns the last conversation that the model was sent.
func (c *claude) run(command string) []string {
	c.Helper()
	chattest.Run(c, c.work, c.home, command, c.env...)
	all := c.model.Requests(c)
	for _, r := range slices.Backward(all) {
		if strings.Contains(r.Path, "/messages") {
			return blocks(c, r.Body)
		}
	}
	c.Fatalf("%s: the model was asked nothing", command)
	return nil
}

// reminders are what Claude Code puts around the words of the user; it sends the message that
// a sub-agent is done as one.
var reminders = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>|<task-notification>.*?</task-notification>`)

// blocks returns the parts of the messages of a request or of a state, a line for each: the
// texts, calls and results, without what Claude Code adds to each request anew.
func blocks(t testing.TB, text []byte) (list []string) {
	t.Helper()
	var of struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	say := func(what, text string) {
		if text = strings.TrimSpace(reminders.ReplaceAllString(text, "")); text != "" {
			list = append(list, what+": "+text)
		}
	}
	for _, m := range of.Messages {
		if m.Role == "tool" {
			m.Role = "user"
		}
		var words string
		if json.Unmarshal(m.Content, &words) == nil {
			say(m.Role, words)
			continue
		}
		var parts []struct {
			Text       string
			ToolUse    *struct{ ToolUseID string } // of a state
			ToolResult *struct {
				ToolUseID string
				Content   json.RawMessage
			}
			Type, ID  string // of a request
			ToolUseID string `json:"tool_use_id"`
			Content   json.RawMessage
		}
		if err := json.Unmarshal(m.Content, &parts); err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			switch {
			case p.ToolUse != nil:
				say("call", p.ToolUse.ToolUseID)
			case p.ToolResult != nil:
				say("result", p.ToolResult.ToolUseID+" "+resultText(p.ToolResult.Content))
			case p.Type == "tool_use":
				say("call", p.ID)
			case p.Type == "tool_result":
				say("result", p.ToolUseID+" "+resultText(p.Content))
			default:
				say(m.Role, p.Text)
			}
		}
	}
	return list
}

func resultText(content json.RawMessage) string {
	var words string
	if json.Unmarshal(content, &words) == nil {
		return words
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts)
	for _, p := range parts {
		words += p.Text
	}
	return words
}

func (c *claude) open() (store.Store, string) {
	c.Helper()
	s, err := Kind(nil).Open(c.Context(), filepath.Join(c.home, ".claude"))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = s.Close() })
	return s, storetest.Sessions(c, s)[0].ID
}

const goOn = "and now go on"

// Claude Code writes a session with calls in parallel, a sub-agent, a branch that it leaves
// and a compaction. From each message a session of Hindcast's own goes on, and the model is
// sent the messages that Hindcast shows; on the path so does the call of Claude Code's own.
func TestInterop_claudeCode(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	again := "claude --dangerously-skip-permissions --resume " + id + " -p "
	c.run(again + "'run: echo one\nrun: echo two'")
	c.run(again + "'agent: run: echo three'")
	c.run(again + "'third question'")
	first := storetest.Headers(t, s, id)[1]
	c.run(again + "--resume-session-at " + first.ID + " 'another question'")
	c.run(again + "/compact")
	c.run(again + "'after the compaction'")
	agents := 0
	for _, info := range storetest.Sessions(t, s) {
		if strings.HasPrefix(info.ID, id+"/agent-") {
			agents++
			same(t, "the sub-agent", titlesOf(storetest.Headers(t, s, info.ID)), []string{"run: echo three", "$ echo three", "$ echo three  three", "done: echo three"})
		}
	}
	rows := storetest.Headers(t, s, id)
	started := slices.ContainsFunc(rows, func(h model.Header) bool { return strings.Contains(h.Title, `"sub task" → agent-`) })
	if agents != 1 || !started {
		t.Errorf("%d sub-agents; one was started by a call: %t", agents, started)
	}
	if len(rows) < 12 {
		t.Fatalf("the session has %d snapshots", len(rows))
	}
	forked, called := c.goesOn(s, rows)
	if forked != len(rows)-3 || called < 5 {
		t.Errorf("of %d snapshots %d were forked, and %d called", len(rows), forked, called)
	}
}

// Claude Code forks a session behind a compaction: the new one begins with that. From each of
// its messages goes on, too, what Hindcast makes.
func TestInterop_claudeCodeForksBehindACompaction(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	again := "claude --resume " + id + " -p "
	c.run(again + "/compact")
	c.run(again + "'after the compaction'")
	c.run(again + "--fork-session 'in the fork'")
	for _, info := range storetest.Sessions(t, s) {
		if info.ID == id {
			continue
		}
		rows := storetest.Headers(t, s, info.ID)
		last := rows[len(rows)-1]
		facts, err := s.Features().Facts(t.Context(), last.Ref())
		if !slices.ContainsFunc(facts, model.Fact{Label: "forked from", Value: id}.Same) {
			t.Errorf("%+v does not say what it was forked from, %v", facts, err)
		}
		same(t, "the faults", codes(storetest.Faults(t, s, info.ID)), []string{FaultCompacted})
		if forked, _ := c.goesOn(s, rows); forked != len(rows) {
			t.Errorf("of %d snapshots %d were forked", len(rows), forked)
		}
		return
	}
	t.Error("there is no fork")
}

// goesOn holds that from each snapshot a session of Hindcast's own goes on, and so does the
// call of Claude Code's own where there is one: the model is sent the messages that Hindcast
// shows.
func (c *claude) goesOn(s store.Store, rows []model.Header) (forked, called int) {
	c.Helper()
	t := c.TB
	for _, row := range rows {
		state, err := s.State(t.Context(), row.Ref())
		if err != nil {
			t.Fatal(err)
		}
		want := blocks(t, state)
		if calls, err := s.Features().Resume(t.Context(), row.Ref()); err != nil {
			t.Fatal(err)
		} else if len(calls) > 0 {
			called++
			c.same(row, calls[0].Call, append(slices.Clip(want), "user: "+goOn))
		}
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: row.Ref()})
		if err != nil {
			if !strings.Contains(err.Error(), "a tool call that nothing answers") {
				t.Errorf("#%d: %v", row.Index, err)
			}
			continue
		}
		if _, err := s.Features().Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		forked++
		adds := slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, `"No response requested."`) })
		if adds {
			want = append(want, "assistant: No response requested.")
		}
		c.same(row, plan.Resume[0].Call, append(want, "user: "+goOn))
	}
	return forked, called
}

func titlesOf(rows []model.Header) (list []string) {
	for _, h := range rows {
		list = append(list, h.Title)
	}
	return list
}

// file returns where a session is, and what is in it.
func (c *claude) file(id string) (name, text string) {
	c.Helper()
	files, err := filepath.Glob(filepath.Join(c.home, ".claude", projects, "*", id+suffix))
	if err != nil || len(files) != 1 {
		c.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		c.Fatal(err)
	}
	return files[0], string(data)
}

// same holds that a call goes on from the messages that Hindcast shows.
func (c *claude) same(row model.Header, call string, want []string) {
	c.Helper()
	ask := fmt.Sprintf("'%s'", goOn)
	if !strings.Contains(call, "'…'") {
		call += " -p '…'"
	}
	if got := c.run(strings.ReplaceAll(call, "'…'", ask)); !slices.Equal(got, want) {
		c.Errorf("#%d %s\n%s\nsends\n  %s\nand not\n  %s", row.Index, row.Title, call, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Claude Code passes over a damaged line. A record that names one in it follows the newest record of
// the seconds before; where there is none, the conversation begins there.
func TestInterop_claudeCodeDamage(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	c.run("claude --resume " + id + " -p 'second question'")
	c.run("claude --resume " + id + " -p 'third question'")
	file, text := c.file(id)
	lines := strings.SplitAfter(text, "\n")
	asked := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(line, `"type":"user"`) && strings.Contains(line, "third question")
	})
	// How long the runs took does not count: what follows the damage has the time of the newest record before.
	times := regexp.MustCompile(`"timestamp":"[^"]*"`)
	newest := slices.Max(times.FindAllString(strings.Join(lines[:asked], ""), -1))
	soon := func(behind string) string { return times.ReplaceAllLiteralString(behind, newest) }
	for k, damage := range []struct {
		name   string
		change func(behind string) string
		first  string
	}{
		{"within seconds", soon, "user: first question"},
		{"a century later", func(behind string) string {
			return strings.ReplaceAll(behind, `"timestamp":"20`, `"timestamp":"21`)
		}, "assistant: reply to: third question"},
		{"a pointer before it", func(behind string) string {
			return strings.ReplaceAll(soon(behind), `"last-prompt"`, `"another-type"`)
		}, "user: first question"},
	} {
		t.Run(damage.name, func(t *testing.T) {
			c := *c
			c.TB = t
			other := fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", k)
			damaged := strings.Join(lines[:asked], "") + `{"torn` + damage.change(strings.Join(lines[asked:], ""))
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), other+suffix), []byte(strings.ReplaceAll(damaged, id, other)), 0o600); err != nil {
				t.Fatal(err)
			}
			rows := storetest.Headers(t, s, other)
			head := rows[slices.IndexFunc(rows, func(h model.Header) bool { return h.Head })]
			state, err := s.State(t.Context(), head.Ref())
			if err != nil {
				t.Fatal(err)
			}
			shown := blocks(t, state)
			if shown[0] != damage.first {
				t.Errorf("the conversation begins with %q", shown[0])
			}
			c.same(head, "claude --resume "+other, append(shown, "user: "+goOn))
		})
	}
}

// Claude Code finds a parent wherever it stands in the file, and Hindcast shows what is sent.
func TestInterop_claudeCodeFindsAParentBehindItsRecord(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	c.run("claude --dangerously-skip-permissions --resume " + id + " -p 'run: echo one'")
	c.run("claude --resume " + id + " -p 'third question'")
	file, text := c.file(id)
	rows := storetest.Headers(t, s, id)
	shown := titlesOf(rows)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	moved := 0
	for i := 1; i < len(lines)-1; i++ { // a child goes before its parent
		parent, err := decodeLine(&chat.Line{Raw: []byte(strings.TrimSpace(lines[i-1]))})
		if err != nil || !parent.tree {
			continue
		}
		if child, err := decodeLine(&chat.Line{Raw: []byte(strings.TrimSpace(lines[i]))}); err == nil && child.tree && child.parent == parent.id {
			lines[i-1], lines[i] = lines[i], lines[i-1]
			moved++
			i++
		}
	}
	if moved < 4 {
		t.Fatalf("%d records stand before their parents", moved)
	}
	const other = "00000000-0000-4000-8000-000000000009"
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), other+suffix), []byte(strings.ReplaceAll(strings.Join(lines, "")+"\n", id, other)), 0o600); err != nil {
		t.Fatal(err)
	}
	rows = storetest.Headers(t, s, other)
	same(t, "the session", titlesOf(rows), shown)
	same(t, "its faults", codes(storetest.Faults(t, s, other)), nil)
	rows = slices.DeleteFunc(rows, func(h model.Header) bool { return h.Title == "run: echo one" }) // the model would run it again
	if forked, _ := c.goesOn(s, rows); forked < len(rows)-1 {
		t.Errorf("of %d snapshots %d were forked", len(rows), forked)
	}
}

// Where a variable has Claude Code keep its sessions, Hindcast finds them.
func TestInterop_claudeCodeElsewhere(t *testing.T) {
	c := newClaude(t)
	elsewhere := "CLAUDE_CONFIG_DIR=" + t.TempDir()
	c.run(elsewhere + " claude -p 'first question'")
	chattest.Found(t, Kind(nil).Kind, c.home, elsewhere)
}

// Where parents were never written, Claude Code sends the last piece; of a join it sends all of them,
// in the order of the file.
func TestInterop_claudeCodeJoins(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	again := "claude --dangerously-skip-permissions --resume " + id + " -p "
	c.run(again + "'run: echo one'")
	c.run(again + "'third question'")
	file, text := c.file(id)
	var broken strings.Builder
	pieces := 0
	for line := range strings.Lines(text) {
		r, err := decodeLine(&chat.Line{Raw: []byte(strings.TrimSpace(line))})
		if err != nil {
			t.Fatal(err)
		}
		if r.speaks && r.event == "" && r.said.Role == chat.User && r.parent != "" {
			pieces++
			line = strings.Replace(line, r.parent, fmt.Sprintf("ffffffff-0000-4000-8000-%012d", pieces), 1)
		}
		broken.WriteString(strings.ReplaceAll(line, `"timestamp":"20`, fmt.Sprintf(`"timestamp":"2%d`, pieces))) // centuries apart
	}
	if pieces != 2 {
		t.Fatalf("%d parents are gone", pieces)
	}
	if err := os.WriteFile(file, []byte(broken.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := storetest.Headers(t, s, id)
	head := rows[len(rows)-1]
	state, err := s.State(t.Context(), head.Ref())
	if err != nil {
		t.Fatal(err)
	}
	if shown := blocks(t, state); len(shown) != 2 {
		t.Errorf("the piece at the end is %q", shown)
	}
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: id}, Join: true})
	if err == nil {
		_, err = s.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	joined := storetest.Headers(t, s, plan.NewSession)
	if state, err = s.State(t.Context(), joined[len(joined)-1].Ref()); err != nil {
		t.Fatal(err)
	}
	shown := blocks(t, state)
	for _, want := range []string{"user: first question", "user: run: echo one", "user: third question"} {
		if !slices.Contains(shown, want) {
			t.Errorf("the join shows %q, without %q", shown, want)
		}
	}
	c.same(joined[len(joined)-1], plan.Resume[0].Call, append(shown, "user: "+goOn))
	c.same(head, "claude --resume "+id, append(blocks(t, mustState(t, s, head)), "user: "+goOn))
}

func mustState(t testing.TB, s store.Store, h model.Header) []byte {
	t.Helper()
	state, err := s.State(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Claude Code drops what the last compaction does not keep, though the newest last-prompt names it:
// a summary of what followed a message, with a turn behind it, goes on from there.
func TestInterop_claudeCodeGoesOnBehindASummary(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	c.run("claude --resume " + id + " -p 'second question'")
	file, text := c.file(id)
	rows := storetest.Headers(t, s, id)
	var ids []string // of the records up to the first answer
	for line := range strings.Lines(text) {
		r, err := decodeLine(&chat.Line{Raw: []byte(strings.TrimSpace(line))})
		if err != nil {
			t.Fatal(err)
		}
		if r.tree && (len(ids) == 0 || ids[len(ids)-1] != rows[1].ID) {
			ids = append(ids, r.id)
		}
	}
	last := ids[len(ids)-1]
	const boundary, summary = "bbbbbbbb-0000-4000-8000-000000000001", "cccccccc-0000-4000-8000-000000000001"
	bounds := boundaryOf(boundary, last, boundary, ids...)
	sum, next := user(summary, boundary, "a summary of the second question"), user("dddddddd-0000-4000-8000-000000000001", summary, "third question")
	sum.more = map[string]any{"isCompactSummary": true, "summarizeMetadata": map[string]any{"direction": "from"}}
	for k, behind := range [][]rec{{bounds, sum, next}, {bounds, sum, lastPrompt(rows[3].ID), next}} {
		other := fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", k)
		whole := text
		for _, r := range behind {
			whole += strings.ReplaceAll(r.String(), session, id) + "\n"
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), other+suffix), []byte(strings.ReplaceAll(whole, id, other)), 0o600); err != nil {
			t.Fatal(err)
		}
		list := storetest.Headers(t, s, other)
		head := list[slices.IndexFunc(list, func(h model.Header) bool { return h.Head })]
		if head.Title != "third question" {
			t.Errorf("the head is %q", head.Title)
		}
		c.same(head, "claude --resume "+other, append(blocks(t, mustState(t, s, head)), "assistant: No response requested.", "user: "+goOn))
	}
}

// Each request of a session that Claude Code has just written is proven, where this version keeps its requests: before and
// behind calls, a branch that is left, and a compaction.
func TestInterop_claudeCodeRequestsAreProven(t *testing.T) {
	c := newClaude(t)
	c.run("claude -p 'first question'")
	s, id := c.open()
	if _, text := c.file(id); !strings.Contains(text, `"type":"`+typeRequest+`"`) {
		skip.Missing(t, "this version of Claude Code does not keep its requests")
	}
	again := "claude --dangerously-skip-permissions --resume " + id + " -p "
	c.run(again + "'run: echo one\nrun: echo two'")
	first := storetest.Headers(t, s, id)[1]
	c.run(again + "--resume-session-at " + first.ID + " 'another question'")
	c.run(again + "/compact")
	c.run(again + "'after the compaction'")
	answers := requestsOf(t, filepath.Join(c.home, ".claude"), id)
	for name, r := range answers {
		if !r.Proven {
			t.Errorf("%s: not known is %q", name, r.Unknown)
		}
	}
	if len(answers) < 5 {
		t.Errorf("%d answers", len(answers))
	}
}
