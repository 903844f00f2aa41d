package runs

import (
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// maxSaid bounds the message that is read for a line on what a node said: of a
// longer one nothing is told.
const maxSaid = 1 << 20

// sayPython returns one line on a NodeResult of Python: the answer, or the reason why it
// is missing.
func (r *Run) sayPython(result jsontape.Node) string {
	said := ""
	r.walkPython(result, func(n jsontape.Node, _ string) {
		inner := r.tape.Find(n, "result")
		switch r.textOf(r.tape.Find(inner, "type")) {
		case "agent_result":
			if line := r.sayMessages("[", r.tape.Find(inner, "message"), "]"); line != "" {
				said = line
			}
		case "exception":
			said = r.briefValue(r.tape.Find(inner, "message"), conversation.MaxTitle)
		}
	})
	return said
}

// walkPython visits a NodeResult and those that its multiagent_result holds,
// at any depth, in the order of the text. name is "" for the outermost one.
func (r *Run) walkPython(result jsontape.Node, visit func(n jsontape.Node, name string)) {
	t := r.tape
	visit(result, "")
	// open are the containers of results that are being walked.
	open := []jsontape.Node{r.nestedResult(result)}
	for len(open) > 0 {
		at := &open[len(open)-1]
		if *at < 0 {
			open = open[:len(open)-1]
			continue
		}
		n := *at
		*at = t.Next(n)
		visit(n, t.Key(n))
		open = append(open, r.nestedResult(n))
	}
}

// nestedResult returns the first of the results inside a NodeResult, or None.
func (r *Run) nestedResult(result jsontape.Node) jsontape.Node {
	inner := r.tape.Find(result, "result")
	if r.textOf(r.tape.Find(inner, "type")) != "multiagent_result" {
		return jsontape.None
	}
	if list := r.tape.Find(inner, "results"); r.tape.Kind(list) == jsontape.Object {
		return r.tape.First(list)
	}
	return jsontape.None
}

// sayTypeScript returns one line on a NodeResult of TypeScript. What a node of a
// Swarm said may stand in its structured output alone.
func (r *Run) sayTypeScript(result jsontape.Node) string {
	t := r.tape
	if failure := r.briefValue(t.Find(result, "error"), conversation.MaxTitle); failure != "" {
		return failure
	}
	if message := r.briefValue(t.Find(t.Find(result, "structuredOutput"), "message"), conversation.MaxTitle); message != "" {
		return message
	}
	return r.sayMessages(`[{"role":"assistant","content":`, t.Find(result, "content"), "}]")
}

// sayInput returns one line on a task: a text, blocks, or messages.
func (r *Run) sayInput(n jsontape.Node) string {
	switch r.tape.Kind(n) {
	case jsontape.String:
		return r.briefValue(n, conversation.MaxTitle)
	case jsontape.Array:
		if r.tape.Find(r.tape.First(n), "role") >= 0 {
			return r.sayMessages("", n, "")
		}
		return r.sayMessages(`[{"role":"user","content":`, n, "}]")
	}
	return ""
}

// sayMessages returns one line on the last message in before + n + after, which
// are a list of messages.
func (r *Run) sayMessages(before string, n jsontape.Node, after string) string {
	if n < 0 || len(r.tape.Raw(n)) > maxSaid {
		return ""
	}
	list := append(append([]byte(before), r.tape.Raw(n)...), after...)
	title, _ := conversation.Title(list, conversation.LastMessage)
	return shortenText(title, conversation.MaxTitle)
}

// sayInterrupts returns one line on what is asked.
func (r *Run) sayInterrupts(list []jsontape.Node) string {
	return conversation.List(list, func(n jsontape.Node) string {
		name, reason := r.briefValue(r.tape.Find(n, "name"), maxName), r.briefValue(r.tape.Find(n, "reason"), maxName)
		if name != "" && reason != "" {
			return name + ": " + reason
		}
		return name + reason
	})
}
