// Package einostore keeps the checkpoints of eino's graphs and agents in a store of Hindcast:
//
//	db, err := sqlite.OpenOrCreate(ctx, "checkpoints.db")
//	…
//	graph.Compile(ctx, compose.WithCheckPointStore(einostore.New(db)))
//	adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: einostore.New(db)})
//
// A checkpoint id is a session, and each checkpoint that is set under it is a visit: eino has the last one, and a person has all. A
// session that is put back on Hindcast's screen gives eino the checkpoint that the person picked.
//
// It follows compose.CheckPointStore of eino 0.7.36. A graph's checkpoint is JSON and is kept so. A Runner of package adk
// encodes its checkpoints with gob: they are kept as a JSON string in base64, and Hindcast does not decode it.
package einostore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/compose"

	"hindcast/agent/record"
	"hindcast/store/native/typed"
)

// Store implements compose.CheckPointStore. It is safe for concurrent use, by several processes, too: of two that set
// a checkpoint of the same id at once, both are kept, one behind the other. It holds no resource.
type Store struct{ db typed.Recording }

var _ compose.CheckPointStore = (*Store)(nil)

// New returns a Store in db, which is a *sqlite.Store or a *postgres.Store.
func New(db typed.Recording) *Store { return &Store{db} }

// Get implements compose.CheckPointStore: it returns the checkpoint at the head of a session, and false if there is no such session. It
// returns the errors of the store, and another one if the head is no checkpoint of eino's.
func (s *Store) Get(ctx context.Context, id string) ([]byte, bool, error) {
	head, _, err := s.db.HeadEntry(ctx, id)
	if err != nil || head == nil {
		return nil, false, err
	}
	if bytes.HasPrefix(head.State, []byte("{")) {
		return head.State, true, nil
	}
	var checkpoint []byte
	if err := json.Unmarshal(head.State, &checkpoint); err != nil {
		return nil, false, fmt.Errorf("einostore: snapshot %.12q of session %q is no checkpoint of eino's: %w", head.ID, id, err)
	}
	return checkpoint, true, nil
}

// Set implements compose.CheckPointStore. It returns the errors of package record, but no conflict: it follows a checkpoint that another
// process set in between.
func (s *Store) Set(ctx context.Context, id string, checkpoint []byte) error {
	var state any = checkpoint
	if bytes.HasPrefix(checkpoint, []byte("{")) && json.Valid(checkpoint) {
		state = json.RawMessage(checkpoint)
	}
	return typed.Retry(ctx, func() error {
		rec, err := record.Open(ctx, s.db, id)
		if err != nil {
			return err
		}
		return rec.Turn(ctx, state)
	})
}
