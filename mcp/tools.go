package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
)

// tool is a question that an agent may ask.
type tool struct {
	name, does string
	// words are the command that answers, and flags those that it always has.
	words, flags []string
	// on is the subject of the question.
	on subject
	// takes are the arguments beside those of on, in the order of the command line.
	takes []argument
	// pages names the member of the answer whose elements are pages, "" where the answer is an array.
	pages string
}

// subject is a thing that a tool asks about.
type subject uint8

const (
	all       subject = iota // every session of the home, or those of one store
	sessions                 // the same, or one session
	session                  // one session
	snapshots                // a snapshot of a session, or the head
	pair                     // two of them
	file                     // lines of a file of the agent's project
)

// argument is a value that a call gives.
type argument struct {
	name, does string
	// is the value's type in JSON.
	is jsonType
	// flag is the flag that it becomes, "" for a word of its own. before has the word before those of the store and session.
	flag     string
	before   bool
	required bool
	// oneOf are the values that are allowed, nil for any.
	oneOf []string
}

type jsonType string

const (
	text   jsonType = "string"
	number jsonType = "integer"
	truth  jsonType = "boolean"
)

// arguments are those of a subject.
var arguments = map[subject][]argument{
	all:       {store},
	sessions:  {store, {name: "session", does: ofSession, is: text}},
	session:   {store, {name: "session", does: ofSession, is: text, required: true}},
	snapshots: {store, {name: "session", does: ofSession, is: text, required: true}, snapshot},
	pair: {
		{name: "a", does: "the one session: its id, as `sessions` gives it", is: text, required: true},
		{name: "aSnapshot", does: "its snapshot; without it the head", is: text},
		{name: "b", does: "the other session, or the same", is: text, required: true},
		{name: "bSnapshot", does: "its snapshot; without it the head", is: text},
	},
	file: {
		{name: "file", does: "the path of a file in a git work tree", is: text, required: true},
		{name: "first", does: "the number of the first line", is: number, required: true},
		{name: "last", does: "the number of the last line; without it the first", is: number},
	},
}

const (
	ofSession = "the session: its `id` in `sessions`, or the first characters of it"
	ofPath    = "where the value is: a JSON Pointer or a jq path, such as /messages/3"
)

var (
	store    = argument{name: "store", does: "only this store: its `store` in `sessions`, which has one where there are several", is: text}
	snapshot = argument{name: "snapshot", does: "the snapshot: its `name` in `timeline`, as #7, an id, a label, or head; without it the head", is: text}
	project  = argument{name: "project", does: "only sessions with this in the path of their project", is: text, flag: "project"}
	since    = argument{name: "since", does: "only what changed since then: today, yesterday, 12h, 7d, or 2026-11-01", is: text, flag: "since"}
)

// paging are the arguments of every tool.
var paging = []argument{
	{name: "offset", does: "go on from here: the `next` of the answer before", is: number},
	{name: "limit", does: "at most so many elements", is: number},
}

// tools are the questions that an agent may ask.
var tools = []tool{
	{name: "sessions", does: "List the sessions of every agent on this machine, the last changed first: id, kind, title, project, snapshots, branches that were left.", words: []string{"sessions"}, on: all},
	{name: "search", does: "Search everything that was ever said, called or returned, on every branch of every session. Each text is given once, at the snapshot that has it first.", words: []string{"grep"}, on: sessions, takes: []argument{
		{name: "pattern", does: "a regular expression (RE2); letters of either case are the same unless it has a capital one", is: text, before: true, required: true},
		{name: "fixed", does: "take the pattern as a text", is: truth, flag: "fixed-strings"},
		{name: "role", does: "only texts of messages of this role, such as user or assistant", is: text, flag: "role"},
		{name: "tool", does: "only texts of the calls and results of this tool", is: text, flag: "tool"},
		{name: "failed", does: "only results of calls that failed", is: truth, flag: "failed"},
		{name: "left", does: "only texts that were left behind on abandoned branches", is: truth, flag: "orphaned"},
		{name: "most", does: "stop after so many texts; 200 without it", is: number, flag: "max"},
		project, since,
	}},
	{name: "timeline", does: "List the snapshots of a session in order, with those of abandoned branches: name, time, turn, what happened, why it was left.", words: []string{"log"}, on: session},
	{name: "messages", does: "Read the conversation in a snapshot.", words: []string{"messages"}, on: snapshots, pages: "messages"},
	{name: "context", does: "What the model was sent for the answer in a snapshot, what was new in it, and what it no longer saw: dropped messages, rewritten prompts, why the cache broke.", words: []string{"context"}, flags: []string{"--dropped"}, on: snapshots, pages: "blocks"},
	{name: "files", does: "What each step of a session did to the files: path, kind of change, lines, the tool that made it.", words: []string{"files"}, on: session},
	{name: "line", does: "Which session, turn and tool wrote lines of a file, and the person's words that led to them.", words: []string{"blame"}, on: file},
	{name: "history", does: "Each snapshot at which a value of the state changed.", words: []string{"history"}, on: session, takes: []argument{{name: "path", does: ofPath, is: text, required: true}}},
	{name: "blame", does: "Which snapshot last set each value of the state.", words: []string{"blame"}, on: snapshots, takes: []argument{{name: "path", does: ofPath + "; without it all", is: text}}},
	{name: "find", does: "The first snapshot at which an expression of jq over the state becomes true.", words: []string{"find"}, on: session, takes: []argument{
		{name: "expression", does: "the expression, such as .cart.total > 200", is: text, required: true},
		{name: "all", does: "each snapshot at which it becomes true or false", is: truth, flag: "all"},
		{name: "sent", does: "look at the requests to the model in place of the states", is: truth, flag: "sent"},
	}},
	{name: "diverge", does: "Where two sessions or branches parted, and what each did since.", words: []string{"diverge"}, on: pair, pages: "changes"},
	{name: "stats", does: "Tokens, dollars, turns, tool calls and failures; and what was thrown away on branches that were left.", words: []string{"stats"}, on: sessions, takes: []argument{
		{name: "by", does: "add up by this, where no session is given", is: text, flag: "by", oneOf: []string{"day", "project", "tool", "model", "session", "store", "branch"}},
		since,
	}, pages: "rows"},
	{name: "doctor", does: "The faults of a session: what is damaged, and what would mend it.", words: []string{"doctor"}, on: session},
	{name: "plan", does: "Plan a write, and write nothing: what would change, what cannot be taken back, and the command that a person runs to carry it out.", flags: []string{dryRun}, on: snapshots, takes: []argument{
		{name: "do", does: "restore puts the session back, fork starts a new one there, continue starts one in another tool", is: text, before: true, required: true, oneOf: []string{"restore", "fork", "continue"}},
		{name: "in", does: "the tool that goes on, for continue: claude-code, codex, pi, gemini-cli, qwen, opencode, copilot-cli", is: text, flag: "in"},
	}, pages: "writes"},
}

// dryRun is the flag of a command that writes, with which it does not.
const dryRun = "--dry-run"

// allArguments returns the arguments of the tool, and those of every one.
func (t *tool) allArguments() []argument { return slices.Concat(t.takes, arguments[t.on], paging) }

// inputSchema returns the JSON Schema of the arguments.
func (t *tool) inputSchema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, a := range t.allArguments() {
		of := map[string]any{"type": a.is, "description": a.does}
		if a.oneOf != nil {
			of["enum"] = a.oneOf
		}
		if a.is == number {
			of["minimum"] = 0
		}
		properties[a.name] = of
		if a.required {
			required = append(required, a.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// values are the arguments of a call: texts, int64 and bool.
type values map[string]any

// text returns a text, "" where there is none.
func (v values) text(name string) string {
	s, _ := v[name].(string)
	return s
}

// number returns a number, 0 where there is none.
func (v values) number(name string) int64 {
	n, _ := v[name].(int64)
	return n
}

// longest bounds the bytes of a text that a call gives.
const longest = 8 << 10

// readArguments returns the arguments of a call. The error names the one that is wrong.
func (t *tool) readArguments(given json.RawMessage) (values, error) {
	raw := map[string]json.RawMessage{}
	if len(given) > 0 {
		if err := json.Unmarshal(given, &raw); err != nil {
			return nil, fmt.Errorf("the arguments are no object: %w", err)
		}
	}
	v := values{}
	for _, a := range t.allArguments() {
		text, ok := raw[a.name]
		delete(raw, a.name)
		if !ok || string(text) == "null" {
			if a.required {
				return nil, fmt.Errorf("%s needs %q: %s", t.name, a.name, a.does)
			}
			continue
		}
		value, err := a.parseValue(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", t.name, a.name, err)
		}
		v[a.name] = value
	}
	for name := range raw {
		return nil, fmt.Errorf("%s takes no %.80q", t.name, name)
	}
	return v, nil
}

// parseValue returns the value of an argument.
func (a *argument) parseValue(raw json.RawMessage) (any, error) {
	switch a.is {
	case number:
		var n int64
		if err := json.Unmarshal(raw, &n); err != nil || n < 0 {
			return nil, fmt.Errorf("%.80s is no whole number from 0 on", raw)
		}
		return n, nil
	case truth:
		var b bool
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, fmt.Errorf("%.80s is neither true nor false", raw)
		}
		return b, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%.80s is no text", raw)
	}
	switch {
	case len(s) > longest:
		return nil, fmt.Errorf("it has %d bytes: at most %d are taken", len(s), longest)
	case a.oneOf != nil && !slices.Contains(a.oneOf, s):
		return nil, fmt.Errorf("%.80q is none of %q", s, a.oneOf)
	}
	return s, nil
}
