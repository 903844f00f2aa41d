package snapshots

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/journal"
)

// FaultJournal: a write of Hindcast's own was broken off and could not be finished.
const FaultJournal = "journal"

func journalFault(meaning string) model.Fault {
	return model.Fault{Code: FaultJournal, File: engine.JournalFile, Meaning: meaning, Verdict: "loads; no SDK looks at the journal"}
}

func lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		return ""
	case model.OpRun:
		return "Strands has no process that can be asked to go on"
	}
	return store.Cannot(kind, op)
}

// checkIdentity checks the name of a new session: that the SDK of a dialect takes it,
// and that it names one folder.
func checkIdentity(as string, d dialect) error {
	switch {
	case as == "":
		return errors.New("the new session needs a name")
	case d == typeScript && !identifier().MatchString(as):
		return fmt.Errorf("%q is no session for Strands for TypeScript: use a-z, 0-9, - and _ alone", as)
	case strings.TrimSpace(as) == "" || as == "." || as == ".." || strings.ContainsAny(as, "/\x00"):
		return fmt.Errorf("%q is no session for Strands: take the name of a folder, without a slash", as)
	case !fs.ValidPath(as) || !filepath.IsLocal(as) || filepath.Base(as) != as:
		return fmt.Errorf("%q cannot be the name of a folder", as)
	case as == journal.Folder || as == namespace || as == stashDir || as == latestFile:
		return fmt.Errorf("the name %q is taken by the storage itself", as)
	}
	return nil
}
