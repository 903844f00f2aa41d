package messages

import (
	"cmp"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
)

// broken returns the fault of the journal, or nil.
func (s *Store) broken() error { return cmp.Or(s.storage.Ready(), s.storage.Broken()) }

// kept reads a content that the journal keeps.
func (s *Store) kept(v journal.Version) ([]byte, error) {
	data, err := s.storage.Kept(v)
	return data, files.Cause(err)
}

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
	p, err := s.locate(id)
	if err == nil {
		err = p.refusal(op)
	}
	return s.in(p), err
}

// portID returns the port's name for the session at a place.
func portID(at folder.Place) string { return at.Own.(place).id }
