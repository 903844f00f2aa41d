package messages

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// A conversation of another tool becomes a session with one agent, as FileSessionManager 1.62 writes it. The agent has
// the id that the SDK gives to one without a name, and the conversation manager that it has by default.

const defaultAgent = "default"

// startSession implements engine.Format.Continue.
func (s *Store) startSession(_ context.Context, c *engine.Start) (*engine.Move, error) {
	if s.single != nil {
		return nil, &model.UnsupportedError{Op: model.OpContinue, Reason: "the folder of one session is open: open the folder that its sessions are in"}
	}
	if c.As == "" {
		c.As = uuid.NewString()
	}
	if err := checkName(c.In.Tree, model.OpContinue, c.As); err != nil {
		return nil, err
	}
	p := place{id: c.As, session: sessionPrefix + c.As, root: &s.root, agent: agentPrefix + defaultAgent}
	to, now := p.at(), pythonTime(c.In.Now)
	m := &mover{Move: &engine.Move{New: &to, Writes: []string{"journal: one entry"}}, in: c.In, op: model.OpContinue, now: &reading{messageLog: &messageLog{folders: foldersOf(p, c.In.Tree)}}}
	m.Own = m
	add := func(name string, data []byte) { m.Steps = append(m.Steps, tree.Step{Name: name, Data: data}) }
	for i := range c.Messages {
		add(p.path("messages", fmt.Sprintf("%s%d%s", messagePrefix, i, messageSuffix)), messageData(&c.Messages[i], i))
	}
	empty, err := jsontape.Parse([]byte(`{}`))
	if err != nil {
		return nil, err
	}
	mends := &mender{in: c.In, place: p, now: m.now.messageLog}
	add(p.path("agent.json"), mends.newAgent(empty, nil))
	// Until there is a session.json, the SDK does not take the folder for a session.
	add(path.Join(p.session, "session.json"), fmt.Appendf(nil, `{"session_id": %s, "session_type": "AGENT", "created_at": %q, "updated_at": %[2]q}`, jsontape.AppendQuoted(nil, c.As), now))
	m.hazard("agent.json names the SlidingWindowConversationManager, which an agent has by default: the SDK refuses one with another")
	return m.Move, nil
}

// messageData returns the file of a message.
func messageData(m *handover.Message, n int) []byte {
	at := pythonTime(m.At)
	return jsontape.EncodePlain(map[string]any{"message": m.ToConverse(), "message_id": n, "redact_message": nil, "created_at": at, "updated_at": at})
}

// opener returns the statement that makes the agent of a place, in sessions of a folder or a bucket.
func (l *messageLog) opener() string {
	session, _, _ := strings.Cut(l.id, "/")
	made := manager(l.on, session)
	if l.on == nil {
		made = strings.TrimSuffix(made, ")") + ", storage_dir=" + pyText(l.folder) + ")"
	}
	return "agent = Agent(agent_id=" + pyText(strings.TrimPrefix(l.place.agent, agentPrefix)) + ", session_manager=" + made + "); "
}
