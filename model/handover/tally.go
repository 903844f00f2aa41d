package handover

import (
	"fmt"
	"strings"

	"hindcast/model"
)

// Tally counts the parts of a conversation by their fate.
type Tally struct {
	// Texts, Calls and Pictures go over. Calls have their results.
	Texts, Calls, Pictures int
	// Renamed counts the calls that become calls of another tool.
	Renamed []Renaming
	// Renumbered calls get another id. Unanswered calls get a result that says so. Quoted parts
	// become texts: files, values, results without a call. Notes stand where a provider wants words.
	Renumbered, Unanswered, Quoted, Notes int
	// Thoughts, Contexts, Prompts and files stay: hidden reasoning, texts of the agent itself, system prompts, and
	// files that a label stands for.
	Thoughts, Contexts, Prompts, Left int
	// Agents are the sessions of sub-agents, which stay. They are untrusted.
	Agents []string
}

// Renaming counts the calls of one tool that become calls of another.
type Renaming struct {
	From, To string
	Times    int
}

func (t *Tally) noteRenamed(from, to string) {
	for i := range t.Renamed {
		if r := &t.Renamed[i]; r.From == from && r.To == to {
			r.Times++
			return
		}
	}
	t.Renamed = append(t.Renamed, Renaming{from, to, 1})
}

// mostNamed bounds the names in a line of a plan.
const mostNamed = 8

// ListCarried returns the lines of a plan: the parts that go over, change, and stay behind.
func (t *Talk) ListCarried() (lines []string) {
	for _, line := range []string{t.Goes(), t.Changes(), t.Stays()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Goes counts in one line the parts that go over.
func (t *Talk) Goes() string {
	return model.Count(len(t.Messages), "message") + ": " + joinCounts(
		countSome(t.Texts, "text"), countSome(t.Calls, "call"), countSome(t.Pictures, "picture"))
}

// Changes counts in one line the parts that change, "" if nothing changes.
func (t *Tally) Changes() string {
	var list []string
	for i, r := range t.Renamed {
		if i == mostNamed {
			list = append(list, fmt.Sprintf("and of %s more", model.Count(len(t.Renamed)-i, "tool")))
			break
		}
		list = append(list, fmt.Sprintf("%s of %.40s to %.40s", model.Count(r.Times, "call"), r.From, r.To))
	}
	list = append(list, countSome(t.Renumbered, "new id"), countWith(t.Quoted, "part", " quoted as text"))
	if t.Unanswered > 0 {
		list = append(list, model.Count(t.Unanswered, "call")+" without a result: a note stands for it")
	}
	if t.Notes > 0 {
		list = append(list, model.Count(t.Notes, "note")+" where there were no words")
	}
	return putBefore("changed: ", joinCounts(list...))
}

// Stays counts in one line the parts that stay behind, "" if all go over.
func (t *Tally) Stays() string {
	list := []string{countSome(t.Thoughts, "thought"), countWith(t.Contexts, "text", " that the agent adds by itself"), countSome(t.Prompts, "system prompt"), countSome(t.Left, "file")}
	if n := len(t.Agents); n > 0 {
		named := t.Agents[:min(n, mostNamed)]
		text := model.Count(n, "sub-agent") + " (" + strings.Join(named, ", ")
		if n > len(named) {
			text += ", …"
		}
		list = append(list, text+")")
	}
	return putBefore("stays behind: ", joinCounts(list...))
}

func putBefore(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// countSome returns a count of a noun, "" for 0.
func countSome(n int, noun string) string {
	if n == 0 {
		return ""
	}
	return model.Count(n, noun)
}

// countWith is countSome, with words behind the noun.
func countWith(n int, noun, words string) string {
	if n == 0 {
		return ""
	}
	return model.Count(n, noun) + words
}

func joinCounts(list ...string) string {
	var some []string
	for _, text := range list {
		if text != "" {
			some = append(some, text)
		}
	}
	return strings.Join(some, ", ")
}
