package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
)

// Continuer is a [Forker] whose agent goes on with the conversation of another one.
type Continuer interface {
	Forker
	// Continue returns the files of a new session with a conversation.
	Continue(ctx context.Context, c *Start) (*Fork, error)
}

// Start describes a new session that begins with a conversation.
type Start struct {
	*handover.Talk
	In engine.In
	// Session is the new one, without entries: Spot.ID is its id, and Project the folder that it is about.
	*Session
	// Dir is the folder of the storage on the disk.
	Dir string
}

// Milliseconds is how agents write a time, in UTC.
const Milliseconds = "2006-01-02T15:04:05.000Z"

// AppendRecord appends a record to the lines of a file.
func AppendRecord(data []byte, record any) []byte {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	_ = to.Encode(record) // records are made of texts and numbers
	return append(data, line.Bytes()...)
}

// Text returns the words of the user with which the conversation begins.
func (c *Start) Text() string {
	for _, m := range c.Messages {
		for _, p := range m.Parts {
			if !m.Assistant && p.Kind == handover.Text {
				return p.Text
			}
		}
	}
	return ""
}

// PlanContinue is that of store.Features.
func (s *Store) PlanContinue(ctx context.Context, from *handover.Source, as string) (model.Plan, error) {
	plan, err := s.PlanNew(ctx, model.OpContinue, func(in engine.In) (*engine.Move, error) { return s.planContinue(ctx, in, from, as) })
	plan.Session = from.Session
	return plan, s.Wrap(err, "continue session %q", from.Session)
}

func (s *Store) planContinue(ctx context.Context, in engine.In, from *handover.Source, as string) (*engine.Move, error) {
	refuse := func(format string, args ...any) (*engine.Move, error) {
		return nil, &model.UnsupportedError{Op: model.OpContinue, Reason: fmt.Sprintf(format, args...)}
	}
	format := s.format.(Continuer)
	id, err := s.newID(model.OpContinue, as)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(from.Project) {
		return refuse("%.80q is no absolute path of a project: name one", from.Project)
	}
	talk := handover.New(from, s.agent.Name)
	if len(talk.Messages) == 0 {
		return refuse("there are no messages at %s of %.80q: nothing is there to go on with", from.Snapshot, from.Session)
	}
	c := &Start{talk, in, &Session{Spot: Spot{ID: id}, Project: path.Clean(filepath.ToSlash(from.Project)), agent: s.agent, dir: s.folder}, s.folder}
	for i := range talk.Messages {
		if m := &talk.Messages[i]; m.At.IsZero() {
			m.At = in.Now
		}
	}
	made, err := format.Continue(ctx, c)
	if err != nil {
		return nil, err
	}
	m, err := s.moveOf(in, made, from.Snapshot)
	if err != nil {
		return nil, err
	}
	for _, line := range []string{talk.Goes(), talk.Changes(), talk.Stays()} {
		if line != "" {
			m.Carries = append(m.Carries, line)
		}
	}
	m.Hazards = append(m.Hazards, (&Entry{}).workTree())
	return m, nil
}

// moveOf returns the move that makes the files of a new session, from a snapshot. The error is store.ErrSessionExists if one is
// there.
func (s *Store) moveOf(in engine.In, made *Fork, from model.Point) (*engine.Move, error) {
	for _, step := range made.Steps {
		if now, err := in.Stamp(step.Name); err != nil || now.Kind != files.Nothing {
			return nil, store.ErrSessionExists
		}
	}
	place := s.enginePlace(made.Spot)
	return &engine.Move{Target: from, New: &place, Steps: made.Steps, Writes: append(made.Writes, "journal: one entry"), Hazards: made.Hazards, Own: made.Calls}, nil
}

// newID returns the id of a new session: see [Forker].
func (s *Store) newID(op model.Op, as string) (string, error) {
	id, err := s.format.(Forker).NewID(as)
	if err != nil {
		err = &model.UnsupportedError{Op: op, Reason: fmt.Sprintf("%.80q is no id of a session of %s: %v; give such an id, or none to get a new one", as, s.agent.Framework, err)}
	}
	return id, err
}
