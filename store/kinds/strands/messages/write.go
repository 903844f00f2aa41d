package messages

import (
	"cmp"

	"hindcast/model"
	"hindcast/store"
)

// broken returns the fault of the journal, or nil.
func (s *Store) broken() error { return cmp.Or(s.storage.Ready(), s.storage.Broken()) }

func lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpContinue, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		return ""
	}
	return store.Cannot(kind, op)
}
