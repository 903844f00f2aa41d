package chat

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
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
	*engine.Start
	// Session is the new one, without entries: Spot.ID is its id, and Project the folder that it is about.
	*Session
	// Dir is the folder of the storage on the disk.
	Dir string
}

// Milliseconds is how agents write a time, in UTC.
const Milliseconds = "2006-01-02T15:04:05.000Z"

// AppendRecord appends a record to the lines of a file.
func AppendRecord(data []byte, record any) []byte {
	return append(append(data, jsontape.EncodePlain(record)...), '\n')
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

// continueSession plans the session of a start.
func (s *Store) continueSession(ctx context.Context, start *engine.Start) (*engine.Move, error) {
	id, err := s.newID(model.OpContinue, start.As)
	if err != nil {
		return nil, err
	}
	from := start.From
	if !filepath.IsAbs(from.Project) {
		return nil, &model.UnsupportedError{Op: model.OpContinue, Reason: fmt.Sprintf("%.80q is no absolute path of a project: name one", from.Project)}
	}
	c := &Start{start, &Session{Spot: Spot{ID: id}, Project: path.Clean(filepath.ToSlash(from.Project)), agent: s.agent, dir: s.folder}, s.folder}
	made, err := s.format.(Continuer).Continue(ctx, c)
	if err != nil {
		return nil, err
	}
	m, err := s.moveOf(start.In, made, from.Snapshot)
	if err == nil {
		m.Hazards = append(m.Hazards, (&Entry{}).workTree())
	}
	return m, err
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
