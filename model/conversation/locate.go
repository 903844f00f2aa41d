package conversation

import (
	"slices"

	"hindcast/model/jsontape"
)

// usualPlaces is where the known frameworks keep their messages: the native
// store's and Genkit's state, the snapshots of Strands, a whole Genkit row.
var usualPlaces = [][]string{{}, {"messages"}, {"data", "messages"}, {"state", "messages"}, {"history"}}

// Searching elsewhere is bounded, because a state may be of any size.
const (
	searchDepth = 4
	searchNodes = 10_000
)

// findMessages returns the array of messages, or None. ended reports that they belong to a task that ended: no
// request has them again.
func findMessages(t *jsontape.Tape) (list Node, ended bool) {
	for _, place := range usualPlaces {
		if n := t.Lookup(place...); isMessageList(t, n, len(place) > 0) {
			return n, false
		}
	}
	if n := deepestMessages(t); n >= 0 {
		return n, false
	}
	if n, ended := ofCrew(t); n >= 0 {
		return n, ended
	}
	found := jsontape.None
	searchLevels(t, jsontape.None, searchDepth, func(n Node) bool {
		if isMessageList(t, n, false) {
			found = n
		}
		return found < 0
	})
	return found, false
}

// deepestMessages returns the messages of a workflow of Microsoft's Agent Framework: those of the agent that
// has the most, for it was handed what the others said. None for any other state.
func deepestMessages(t *jsontape.Tape) Node {
	found, most := jsontape.None, 0
	if agents := t.Lookup("state", "_executor_state"); t.Kind(agents) == jsontape.Object {
		for a := t.First(agents); a >= 0; a = t.Next(a) {
			if list := t.Find(a, "full_conversation"); isMessageList(t, list, false) && t.Count(list) >= most {
				found, most = list, t.Count(list)
			}
		}
	}
	return found
}

// ofCrew returns the messages of a checkpoint of crewAI: those that the task sends which was begun and has not ended,
// else those of the last one that has ended, which is not sent again. None for any other state.
func ofCrew(t *jsontape.Tape) (list Node, ended bool) {
	list = jsontape.None
	crews := t.Find(0, "entities")
	if t.Kind(crews) != jsontape.Array {
		return list, false
	}
	text := func(n Node) string {
		if t.Kind(n) != jsontape.String {
			return ""
		}
		return t.Text(n)
	}
	begun := map[string]bool{}
	if events := t.Lookup("event_record", "nodes"); t.Kind(events) == jsontape.Object {
		for n := t.First(events); n >= 0; n = t.Next(n) {
			if e := t.Find(n, "event"); isText(t, t.Find(e, "type"), "task_started") {
				begun[text(t.Find(e, "task_id"))] = true
			}
		}
	}
	for e := t.First(crews); e >= 0; e = t.Next(e) {
		tasks := t.Find(e, "tasks")
		if t.Kind(tasks) != jsontape.Array {
			continue
		}
		for task := t.First(tasks); task >= 0; task = t.Next(task) {
			output, sends := t.Find(task, "output"), t.Find(t.Find(t.Find(t.Find(task, "agent"), "agent_executor"), "checkpoint_state"), "messages")
			if own := t.Find(output, "messages"); isMessageList(t, own, false) {
				list, ended = own, true
			} else if t.Kind(output) == jsontape.Null && begun[text(t.Find(task, "id"))] && isMessageList(t, sends, false) {
				return sends, false
			}
		}
	}
	return list, ended
}

// searchLevels visits the root and what is below it, objects and arrays alike, level
// by level, until visit gives false or a bound is reached. It does not look
// into skip, nor deeper than depth.
func searchLevels(t *jsontape.Tape, skip Node, depth int, visit func(Node) bool) {
	level, seen := []Node{0}, 0
	for range depth {
		var below []Node
		for _, n := range level {
			if !visit(n) {
				return
			}
			for c := t.First(n); c >= 0 && seen < searchNodes; c = t.Next(c) {
				seen++
				if c != skip && t.First(c) >= 0 {
					below = append(below, c)
				}
			}
		}
		level = below
	}
}

// isMessageList reports whether n is an array that starts with a message. An
// empty one is taken only where the name says so.
func isMessageList(t *jsontape.Tape, n Node, named bool) bool {
	if t.Kind(n) != jsontape.Array {
		return false
	}
	first := t.First(n)
	if first < 0 {
		return named
	}
	return isMessage(t, first) || isMessage(t, unwrapMessage(t, first))
}

// isMessage reports whether n is an object that says who speaks and has
// something to say.
func isMessage(t *jsontape.Tape, n Node) bool {
	if openEnvelope(t, n) >= 0 || isLangChain(t, n, t.Find(n, "type")) || isItem(t, n) || partsOf(t, t.Find(n, "content")) >= 0 {
		return true
	}
	if t.Kind(t.Find(n, "role")) != jsontape.String {
		return false
	}
	return t.Find(n, "content") >= 0 || t.Find(n, "tool_calls") >= 0 || t.Kind(t.Find(n, "contents")) == jsontape.Array || partsOf(t, n) >= 0
}

// langChainKinds are the types of LangChain's messages that are written as they are.
var langChainKinds = []string{"human", "ai", "tool", "system", "AIMessageChunk"}

// isLangChain reports whether n is a message of LangChain, whose "type" is kind.
func isLangChain(t *jsontape.Tape, n, kind Node) bool {
	return t.Find(n, "content") >= 0 && t.Find(n, "response_metadata") >= 0 && isLangChainKind(t, kind)
}

// isLangChainKind reports whether n is the type of a message of LangChain.
func isLangChainKind(t *jsontape.Tape, n Node) bool {
	return slices.ContainsFunc(langChainKinds, func(known string) bool { return isText(t, n, known) })
}

// openEnvelope returns the message in LangChain's envelope {"lc": 1, "id": […,
// "AIMessage"], "kwargs": {…}}, or in {"type": "ai", "data": {…}} of messages_to_dict, or None.
func openEnvelope(t *jsontape.Tape, n Node) Node {
	if inner := t.Find(n, "kwargs"); t.Find(n, "lc") >= 0 && t.Find(inner, "content") >= 0 {
		return inner
	}
	if inner := t.Find(n, "data"); inner >= 0 && t.Find(inner, "content") >= 0 && isLangChainKind(t, t.Find(n, "type")) {
		return inner
	}
	return jsontape.None
}

// className returns the name of the class in LangChain's envelope, or None.
func className(t *jsontape.Tape, n Node) Node {
	class := jsontape.None
	if id := t.Find(n, "id"); t.Kind(id) == jsontape.Array {
		for part := t.First(id); part >= 0; part = t.Next(part) {
			class = part
		}
	}
	return class
}

// unwrapMessage returns the message inside the wrapper that Strands for Python writes
// around one in a file ("redact_message" stands for "message" when it is not
// null), and n itself for anything else.
func unwrapMessage(t *jsontape.Tape, n Node) Node {
	if redacted := t.Find(n, "redact_message"); t.Kind(redacted) == jsontape.Object {
		return redacted
	}
	if inner := openEnvelope(t, n); inner >= 0 {
		return inner
	}
	if inner := t.Find(n, "message"); t.Kind(inner) == jsontape.Object && t.Find(n, "role") < 0 {
		return inner
	}
	return n
}
