package conversation

import (
	"fmt"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Checkpoint is a Strands checkpoint joined with the conversation that it
// marks a place in. A checkpoint holds no messages, and the SDK stores it
// nowhere; applications put it where they like.
type Checkpoint struct {
	model.Checkpoint
	// Node is where the state holds the checkpoint; -1 if the state lacks it, but the SDK would emit it at
	// this position.
	Node Node
	// Err is why the SDK refuses the stored one ([model.CheckpointError]); the
	// embedded Checkpoint is then empty. It is nil for an implied one.
	Err error
	// Note is a remark for the person, or "".
	Note string
	// Warnings say what the person should know: keys that are ignored, and
	// where the checkpoint and the conversation disagree.
	Warnings []string
}

// IsStored reports whether the state itself holds the checkpoint.
func (c Checkpoint) IsStored() bool { return c.Node >= 0 }

// Payload returns the exact input that resumes from the checkpoint; nil when the
// SDK would refuse it.
func (c Checkpoint) Payload() []byte {
	if c.Err != nil {
		return nil
	}
	return c.ResumePayload()
}

// Call returns the call that the payload is passed to.
func (c Checkpoint) Call() string {
	if c.Dialect == model.CheckpointTypeScript {
		return "agent.invoke(payload), with checkpointing: true"
	}
	return "agent(payload), with checkpointing=True"
}

// Executes describes the effect of resuming from the checkpoint; warning describes its danger, or is "".
// Seen by running both SDKs: in TypeScript the assistant's message is stored only after its tools ran, so
// that resuming after the model asks the model again.
func (c Checkpoint) Executes() (effect, warning string) {
	switch boundary := c.Boundary(); {
	case c.Err != nil:
		return "Nothing: the SDK refuses this checkpoint.", ""
	case boundary == model.PositionAfterTools:
		return "The model is called with the tool results; no tool is executed again. The next checkpoint has cycle index " + fmt.Sprint(c.CycleIndex+1) + ".", ""
	case boundary == model.PositionAfterModel && c.Dialect == model.CheckpointTypeScript:
		return "The model is called again, and then the tools that it asks for are executed.", "The model may ask for other tools than before."
	case boundary == model.PositionAfterModel:
		return "The tool calls that are listed as not run are executed without a model call before.", reruns
	}
	return "The SDK does not check the position; it knows after_model and after_tools.", ""
}

// Checkpoint returns the checkpoint that the state holds, found by its shape not
// far below the root: the one nearest to it, and of several the last one.
// Where it holds none, Checkpoint returns the one that Strands would emit here.
// ok is false when there is neither: Strands emits checkpoints only in cycles
// that use tools, and other frameworks never.
func (c *Conversation) Checkpoint() (cp Checkpoint, ok bool) {
	node, others := c.storedCheckpoint()
	if node < 0 {
		return c.impliedCheckpoint()
	}
	cp = Checkpoint{Node: node}
	cp.Checkpoint, cp.Warnings, cp.Err = model.CheckpointFromDict(c.tape.Raw(node))
	if others > 0 {
		cp.Warnings = append(cp.Warnings, fmt.Sprintf("the state holds %d more checkpoints; this is the last one nearest to its root", others))
	}
	if cp.Err == nil {
		cp.Warnings = append(cp.Warnings, c.disagreements(cp.Checkpoint)...)
	}
	return cp, true
}

// disagreements compares a stored checkpoint with where the messages stand.
func (c *Conversation) disagreements(cp model.Checkpoint) []string {
	boundary, here := cp.Boundary(), c.Position()
	switch {
	case boundary == "":
		return []string{fmt.Sprintf("position %.40q is neither after_model nor after_tools", cp.Position)}
	case here == Empty:
		return []string{"there are no messages here: the conversation that it belongs to is in the session"}
	case boundary != here.Name() && !(cp.Dialect == model.CheckpointTypeScript && boundary == model.PositionAfterModel && here == UserInput):
		return []string{fmt.Sprintf("the checkpoint says %s, but the conversation stands at %s", boundary, here)}
	case here.Name() != "" && int64(c.Cycle()) != cp.CycleIndex:
		return []string{fmt.Sprintf("the checkpoint says cycle %d, but the messages of this turn show cycle %d; the SDK counts anew with each call", cp.CycleIndex, c.Cycle())}
	}
	return nil
}

// impliedCheckpoint returns the checkpoint that Strands would emit at this position. An interrupt goes
// before a checkpoint: it is then not emitted.
func (c *Conversation) impliedCheckpoint() (Checkpoint, bool) {
	position := c.Position().Name()
	if position == "" || c.IsInterrupted() {
		return Checkpoint{Node: jsontape.None}, false
	}
	cp := model.Checkpoint{Position: position, CycleIndex: int64(max(0, c.Cycle())), SchemaVersion: model.CheckpointSchemaVersion}
	note := ""
	switch c.Framework() {
	case Strands:
		note = "the messages fit both Strands SDKs; this is the spelling of Python"
	case StrandsPython:
	case StrandsTypeScript:
		cp.Dialect = model.CheckpointTypeScript
		cp.Position = map[string]string{model.PositionAfterModel: "afterModel", model.PositionAfterTools: "afterTools"}[position]
	default:
		return Checkpoint{Node: jsontape.None}, false
	}
	return Checkpoint{Checkpoint: cp, Node: jsontape.None, Note: note}, true
}

// storedCheckpoint finds the checkpoints outside the messages, and counts
// those besides the one that it returns.
func (c *Conversation) storedCheckpoint() (node Node, others int) {
	node = jsontape.None
	depth := 0
	searchLevels(c.tape, c.list, searchDepth, func(n Node) bool {
		if !isCheckpoint(c.tape, n) {
			return true
		}
		if node >= 0 {
			others++
		}
		if node < 0 || c.tape.Depth(n) == depth {
			node, depth = n, c.tape.Depth(n)
		}
		return true
	})
	return node, others
}

// isCheckpoint reports whether n looks like a checkpoint in any of its
// spellings, one that the SDK would refuse for its version included.
func isCheckpoint(t *jsontape.Tape, n Node) bool {
	if t.Kind(t.Find(n, "position")) != jsontape.String {
		return false
	}
	return t.Find(n, "schema_version") >= 0 || t.Find(n, "schemaVersion") >= 0 || t.Find(n, "cycle_index") >= 0 || t.Find(n, "cycleIndex") >= 0
}
