package snapshots

import (
	"bytes"
	"fmt"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/inspect"
)

// addWarnings adds what a person should know of a snapshot that an SDK will start from.
func (m *move) addWarnings(d *document, next *engine.Next) {
	head := m.headDocument()
	for _, text := range []string{d.promptHazard(head), d.appHazard(), d.managerHazard(head), d.stashHazard(), d.redactedHazard(head), d.statefulHazard()} {
		if text != "" {
			next.Hazards = append(next.Hazards, text)
		}
	}
	sends := kind
	if d.Dialect == typeScript {
		sends = kindTypeScript
	}
	next.Hazards = append(next.Hazards, inspect.ConversationHazards(sends, "Strands", d.Data)...)
	if head != nil && head.Dialect != d.Dialect && head.Dialect != unknownDialect {
		next.Asks = append(next.Asks, fmt.Sprintf("only Strands for %s loads it, and Strands for %s wrote the snapshot that is loaded now", d.Dialect, head.Dialect))
	}
}

// headDocument reads what is loaded now; nil where there is nothing that can be
// read.
func (m *move) headDocument() *document {
	loaded := m.h.loadedContent()
	if loaded == nil {
		return nil
	}
	d := parseFile(loaded)
	if d.Err != nil || d.Tape.Kind(d.data) != jsontape.Object {
		return nil
	}
	return &d
}

// dataMember returns a member of the data by its name in the dialect, without white space;
// nil if it is missing.
func (d *document) dataMember(python, typeScriptName string) []byte {
	key := python
	if d.Dialect == typeScript {
		key = typeScriptName
	}
	n := d.Tape.Find(d.data, key)
	if n < 0 {
		return nil
	}
	return jsontape.AppendCompact(nil, d.Tape.Raw(n))
}

func (d *document) promptHazard(head *document) string {
	prompt := d.dataMember("system_prompt", "systemPrompt")
	switch {
	case prompt == nil:
		return ""
	case head != nil && !bytes.Equal(prompt, head.dataMember("system_prompt", "systemPrompt")):
		return "its system prompt differs from the head's: the SDK takes the stored one, whatever prompt the program passes"
	}
	return "the SDK takes the stored system prompt, whatever prompt the program passes"
}

// known are the members that the SDKs write; all others are gone with their next
// save.
var (
	knownMembers = []string{"scope", "schema_version", "schemaVersion", "created_at", "createdAt", "data", "app_data", "appData"}
	knownData    = []string{"messages", "state", "conversation_manager_state", "interrupt_state", "interrupts", "system_prompt", "systemPrompt", "model_state", "modelState", "stash"}
)

func (d *document) appHazard() string {
	var names []string
	if app := appDataOf(d); len(app) > 0 && string(app) != "{}" && string(app) != "null" {
		names = append(names, "app data")
	}
	for _, at := range []struct {
		n     jsontape.Node
		known []string
	}{{0, knownMembers}, {d.data, knownData}} {
		for n := d.Tape.First(at.n); n >= 0; n = d.Tape.Next(n) {
			if key := d.Tape.Key(n); !slices.Contains(at.known, key) {
				names = append(names, key)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "the SDK drops with its next save what it does not write itself: " + joinNames(names)
}

func (d *document) managerHazard(head *document) string {
	if head == nil || d.Manager == "" || head.Manager == "" || d.Manager == head.Manager {
		return ""
	}
	return fmt.Sprintf("it was saved with %.60q, and the head with %.60q: the SDK refuses to start (ValueError) unless the program has the former", d.Manager, head.Manager)
}

func (d *document) stashHazard() string {
	if d.Stash == "" {
		return ""
	}
	if !d.isExternal() {
		return ""
	}
	return "what the context manager has put outside of the snapshots stays as it is now"
}

// isExternal reports whether the context manager has put messages outside of the
// snapshots.
func (d *document) isExternal() bool {
	return textAt(d.Tape, d.Tape.Find(d.data, "stash"), "location") == "external"
}

func (d *document) statefulHazard() string {
	if state := d.dataMember("model_state", "modelState"); len(state) == 0 || state[0] != '{' || string(state) == "{}" {
		return ""
	}
	return "it holds a state of the model: a provider that keeps the conversation itself goes on from its own, and with a stateful model the SDK drops the messages"
}

// redactedHazard looks for messages that say something else by now: a guardrail
// has replaced what they said, most of the time.
func (d *document) redactedHazard(head *document) string {
	if head == nil || head.Dialect != d.Dialect {
		return ""
	}
	now := head.messageContents()
	changed := 0
	for id, content := range d.messageContents() {
		if other, ok := now[id]; ok && !bytes.Equal(content, other) {
			changed++
		}
	}
	switch changed {
	case 0:
		return ""
	case 1:
		return "one message says something else in the head, maybe because it was redacted: what it said comes back"
	}
	return fmt.Sprintf("%d messages say something else in the head, maybe because they were redacted: what they said comes back", changed)
}

// messageContents returns the content of the messages that have an id.
func (d *document) messageContents() map[string][]byte {
	said := make(map[string][]byte)
	t := d.Tape
	key := "tracking_id"
	if d.Dialect == typeScript {
		key = "trackingId"
	}
	messages := t.Find(d.data, "messages")
	if t.Kind(messages) != jsontape.Array {
		return said
	}
	for n := t.First(messages); n >= 0; n = t.Next(n) {
		id, content := t.Find(n, key), t.Find(n, "content")
		if t.Kind(id) == jsontape.String && content >= 0 {
			said[t.Text(id)] = jsontape.AppendCompact(nil, t.Raw(content))
		}
	}
	return said
}
