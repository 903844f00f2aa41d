// Package agentframework reads the files of Microsoft's Agent Framework for Python, and restores
// its workflows.
//
//	DIR/<uuid>.json     a checkpoint of a workflow (FileCheckpointStorage)
//	DIR/<id>.jsonl      the messages of a session, one a line (FileHistoryProvider)
//	DIR/<id>.json       the other data of a session (FileSessionStore)
//	DIR/<id>.msgpack    one of these two in MessagePack
//
//	Agent Framework                             Hindcast
//	workflow_name                               session
//	checkpoint_id, previous_checkpoint_id       id and parent of a snapshot
//	a checkpoint without a previous one         the root of a run: runs have no name of their own
//	the greatest timestamp of a loadable one    head: get_latest returns it
//	messages, state, pending requests, count    state
//	messages of "internal:X"                    input for X, or the answer to a request
//	pending_request_info_events                 a question that waits: the run stands there
//	neither                                     the end of a run
//	<id>.jsonl                                  session "<id>.jsonl", a snapshot for each message
//	<id>.json                                   session "<id>.json", one snapshot
//
// A value that is no JSON is a pickle in base64 in the file. Here it is data, see package
// pickle: nothing that it names is imported or called.
//
// A restore copies a checkpoint under a new id, with the present time and the same previous
// checkpoint. So the copy becomes the latest checkpoint, and a sibling of its original.
package agentframework

import (
	"bytes"
	"path"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/checkpoints"
	"hindcast/store/media/files"
)

// Kind describes the kind.
func Kind(cache *files.Cache) engine.Kind { return kind.Kind(cache) }

var kind = checkpoints.Kind{
	Name: "agent-framework", Framework: "Agent Framework",
	IDs:       "the checkpoint's; of a message the SHA-256 of all messages up to it",
	Unlisted:  "leaves the file out of every list, with a line in its log",
	Severity:  model.Loses,
	Notes:     "agent-framework 4",
	Temporary: isTemporary,
	Running:   "a workflow that runs now does not notice: its next checkpoint follows the one that it went on from, and becomes the latest",
	Signed:    "a file with workflow_name and checkpoint_id, a session, or a line with a message",
	Format:    format{},
}

// isTemporary reports whether a checkpoint has this name only until it is renamed.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".tmp")
}

// format implements checkpoints.Format.
type format struct{}

// Is implements checkpoints.Format.
func (format) Is(name string) bool {
	return path.Ext(name) == ".json" || path.Ext(name) == ".jsonl" || path.Ext(name) == packed
}

// Signs implements checkpoints.Format. The SDK writes what tells a checkpoint, a session and a
// message before what they hold.
func (format) Signs(name string, head []byte) bool {
	extension, text, err := unpackFile(name, head)
	if err != nil { // a session that goes on behind the beginning
		return bytes.Contains(head, []byte("session_id"))
	}
	if extension == ".jsonl" {
		text, _, _ = bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
		return isMessage(jsontape.Prefix(text, len(text)))
	}
	t := jsontape.Prefix(text, len(text))
	return isCheckpoint(t) || isSession(t)
}

// Decode implements checkpoints.Format.
func (format) Decode(name string, data []byte) checkpoints.Decoded {
	switch extension, text, err := unpackFile(name, data); {
	case err != nil:
		return checkpoints.Decoded{Flaw: err.Error()}
	case extension == ".jsonl":
		return decodeHistory(name, text)
	default:
		return decodeDocument(name, text)
	}
}

// Arrange implements checkpoints.Format. The lines of a history have no times. get_latest passes over
// what it cannot load.
func (format) Arrange(items []checkpoints.Item) (head int) {
	if !isWorkflow(&items[0]) {
		return len(items) - 1
	}
	checkpoints.ByTime(items)
	for head = len(items) - 1; head >= 0; head-- {
		if isLoadable(&items[head]) {
			return head
		}
	}
	return len(items) - 1
}

// isLoadable reports whether the SDK loads a checkpoint.
func isLoadable(of *checkpoints.Item) bool {
	o := ownOf(of)
	return len(o.Unknown) == 0 && len(o.Leaves) == 0
}

// State implements checkpoints.Format.
func (format) State(data []byte, of *checkpoints.Item) ([]byte, error) {
	_, data, err := unpackFile(of.File, data)
	if err != nil {
		return nil, err
	}
	if n := lineOf(of); n > 0 {
		return firstMessages(data, n), nil
	}
	if !isWorkflow(of) {
		return data, nil
	}
	return stateOf(data)
}

// Lacks implements checkpoints.Format.
func (format) Lacks(op model.Op, of *checkpoints.Item) string {
	switch {
	case lineOf(of) > 0:
		return "histories of Agent Framework are only read: a file is only added to, and a copy of its first lines under another id is a session that ends there"
	case !isWorkflow(of):
		return "the file of a session has what the session keeps now, and nothing of before"
	case op == model.OpFork:
		return "a workflow finds its checkpoints by its name; the call on the Resume tab makes a new branch from any checkpoint"
	}
	return ""
}

// Restore implements checkpoints.Format.
func (format) Restore(p *checkpoints.Putting) (checkpoints.New, error) { return putBack(p) }
