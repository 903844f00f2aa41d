package messages

import (
	"cmp"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
)

// broken returns the fault of the journal, or nil.
func (s *Store) broken() error { return cmp.Or(s.storage.Ready(), s.storage.Broken()) }

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		return s.storage.Lacks()
	}
	return store.Cannot(kind, op)
}

// findPlace returns the place of a session for the engine. The error refuses an operation.
func (s *Store) findPlace(op model.Op, id string) (folder.Place, error) {
	p, err := s.locate(s.tree(), id)
	if err == nil {
		err = p.refusal(op)
	}
	if err != nil && p.root == nil {
		return folder.Place{}, err
	}
	return p.at(), err
}

// portID returns the port's name for the session at a place.
func portID(at folder.Place) string { return at.Own.(place).id }
