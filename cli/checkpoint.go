package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
)

// checkpointCommand is `hindcast checkpoint`.
func (a *App) checkpointCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint [STORE...] [SESSION] SNAPSHOT | FILE",
		Short: "decode a Strands checkpoint, with the payload that resumes it",
		Long: `Checkpoint decodes a Strands checkpoint. A checkpoint holds no conversation: with
a snapshot, it is joined with the session, and says which tools have not run. A
FILE (- for the standard input) holds what to_dict() gave, or the answer of the
agent with a "checkpoint" in it; it is refused as the SDK would refuse it.

The last line is the payload that makes the agent go on from there.`,
		Args:              a.argsCheck(oneOf),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			if len(args) == 1 && a.isStore(args[0]) {
				c, err := a.checkpointInFile(args[0])
				return p.writeAnswer(c, err)
			}
			err := a.withSubject(oneOf, func(ctx context.Context, p *printer, of *subject) error {
				c, err := of.readCheckpoint(ctx)
				return p.writeAnswer(c, err)
			})(ctx, p, args)
			if len(args) == 1 && errors.Is(err, model.ErrNoSnapshot) {
				return fmt.Errorf("no such file: %s; and %w", args[0], err)
			}
			return err
		}),
	}
}

// writeAnswer writes a checkpoint.
func (p *printer) writeAnswer(c *checkpointJSON, err error) error {
	switch {
	case err != nil:
		return err
	case p.json:
		return p.writeDocument(c)
	}
	p.writeCheckpoint(c)
	return nil
}

// checkpointJSON is the document of `checkpoint --json`. Session, ID, Index and
// Tools are there for a snapshot.
type checkpointJSON struct {
	Session       string     `json:"session,omitempty"`
	ID            string     `json:"id,omitempty"`
	Index         *int       `json:"index,omitempty"`
	Position      string     `json:"position"`
	CycleIndex    int64      `json:"cycleIndex"`
	SchemaVersion string     `json:"schemaVersion"`
	Tools         []toolJSON `json:"tools,omitempty"`
	Warnings      []string   `json:"warnings,omitempty"`
	// Next is the first step of resuming; Call is the call that takes Resume.
	Next   string          `json:"next"`
	Call   string          `json:"call"`
	Resume json.RawMessage `json:"resume"`
}

// toolJSON is one tool call of the cycle that the checkpoint stands in.
type toolJSON struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Run   bool            `json:"run"`
	Input json.RawMessage `json:"input,omitempty"`
}

// readCheckpoint returns the checkpoint at the snapshot.
func (o *subject) readCheckpoint(ctx context.Context) (*checkpointJSON, error) {
	t, n, err := o.resolveVisit(ctx, o.firstSnapshot())
	if err != nil {
		return nil, err
	}
	h := t.Header(n)
	state, err := o.store.State(ctx, h.Ref())
	if err != nil {
		return nil, err
	}
	kind, _ := o.app.Kinds.FindKind(o.store.Kind())
	return joinCheckpoint(&h, state, kind.Framework)
}

// joinCheckpoint returns the checkpoint that the state of a snapshot holds, or else the
// one that Strands would emit there, with the tools of its cycle. framework is the
// one whose sessions the store has, "" for any: no other emits a checkpoint, though
// its messages may read as those of Strands.
func joinCheckpoint(h *model.Header, state []byte, framework string) (*checkpointJSON, error) {
	tape, err := jsontape.Parse(state)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read the state of %q: %w", h.ID, err)
	}
	conv := conversation.Decode(tape)
	c, ok := conv.Checkpoint()
	switch {
	case (!ok || c.Node < 0) && framework != "" && framework != "Strands":
		return nil, &advisedError{
			fmt.Errorf("checkpoint: none stands at #%d: Strands alone emits them, and the session is one of %s", h.Index, framework),
			"hindcast show says how to go on from the snapshot, where the framework can.",
		}
	case !ok && conv.IsInterrupted():
		return nil, fmt.Errorf("checkpoint: none stands at #%d: an interrupt waits there, which goes before a checkpoint", h.Index)
	case !ok:
		return nil, fmt.Errorf("checkpoint: none stands at #%d: it is at %s, and only cycles that use tools have checkpoints", h.Index, conv.Position())
	case c.Err != nil:
		return nil, fmt.Errorf("checkpoint: read the one at #%d: %w", h.Index, c.Err)
	}
	out := describeCheckpoint(c)
	out.Session, out.ID, out.Index = h.SessionID, h.ID, &h.Index
	for _, number := range conv.Calls() {
		b := conv.Block(number)
		tool := toolJSON{Name: conv.ToolName(b), Run: b.Pair >= 0}
		if b.ID >= 0 {
			tool.ID = tape.Text(b.ID)
		}
		if b.Body >= 0 {
			tool.Input = tape.Raw(b.Body)
		}
		out.Tools = append(out.Tools, tool)
	}
	return out, nil
}

// describeCheckpoint returns the document of a checkpoint without its session.
func describeCheckpoint(c conversation.Checkpoint) *checkpointJSON {
	next, warning := c.Executes()
	out := &checkpointJSON{
		Position: c.Position, CycleIndex: c.CycleIndex, SchemaVersion: c.SchemaVersion,
		Warnings: c.Warnings, Next: next, Call: c.Call(), Resume: c.Payload(),
	}
	for _, more := range []string{c.Note, warning} {
		if more != "" {
			out.Warnings = append(out.Warnings, more)
		}
	}
	return out
}

// maxCheckpoint bounds what is read of a file that should hold a checkpoint.
const maxCheckpoint = 16 << 20

func (a *App) checkpointInFile(path string) (*checkpointJSON, error) {
	in := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxCheckpoint+1))
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read %q: %w", path, err)
	}
	if len(data) > maxCheckpoint {
		return nil, fmt.Errorf("checkpoint: read %q: larger than %d bytes, so not a checkpoint", path, maxCheckpoint)
	}
	c, warnings, err := model.CheckpointFromDict(unwrapCheckpoint(data))
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read %q: %w", path, err)
	}
	return describeCheckpoint(conversation.Checkpoint{Checkpoint: c, Node: jsontape.None, Warnings: warnings}), nil
}

// unwrapCheckpoint returns the checkpoint inside the answer of an agent, or inside the
// payload that resumes one; data as it is when it is neither.
func unwrapCheckpoint(data []byte) []byte {
	tape, err := jsontape.Parse(data)
	if err != nil {
		return data
	}
	for _, path := range [][]string{{"checkpoint"}, {"checkpointResume", "checkpoint"}} {
		if n := tape.Lookup(path...); n >= 0 && tape.Kind(n) == jsontape.Object {
			return tape.Raw(n)
		}
	}
	return data
}

func (p *printer) writeCheckpoint(c *checkpointJSON) {
	field := func(name, value string) { fmt.Fprintf(p, "%-9s %s\n", name, printable.String(value)) }
	if c.Index != nil {
		field("snapshot", fmt.Sprintf("#%d %s of %s", *c.Index, c.ID, c.Session))
	}
	field("position", c.Position)
	field("cycle", fmt.Sprint(c.CycleIndex))
	field("schema", c.SchemaVersion)
	for _, tool := range c.Tools {
		run := "has run"
		if !tool.Run {
			run = "has NOT run"
		}
		field("tool", fmt.Sprintf("%s %s %s", run, tool.Name, tool.Input))
	}
	for _, warning := range c.Warnings {
		field("warning", warning)
	}
	field("next", c.Next)
	field("call", c.Call)
	field("payload", string(c.Resume))
}
