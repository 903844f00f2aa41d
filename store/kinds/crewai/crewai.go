// Package crewai reads the checkpoints of crewAI, in files and in SQLite, and puts a run of
// files back.
//
//	LOCATION/<branch>/<time>_<8 hex>_p-<parent or "none">.json     JsonProvider
//	FILE.db, table checkpoints(id, created_at, parent_id, branch, data)  SqliteProvider
//
//	crewAI                                  Hindcast
//	a kickoff of a crew, a flow, an agent   session "NAME-EVENT", after the event that started it
//	<time>_<8 hex>                          id of a snapshot
//	the parent in the name of the file      its parent, unless the events in it say another
//	the newest checkpoint                   head: `crewai checkpoint resume` takes it; a program names one
//	the whole document                      state
//	outputs of tasks, and of methods        title
//
// Checkpoints are written by threads of crewAI's event bus, and race: of a line of tasks two
// can be roots, or children of one parent. But each has the events of the run until then, and
// those nest. So the parent is the checkpoint whose events are most of its own, see lineage.go.
//
// A checkpoint has the location of its store in it. A crew that is resumed from a copied store
// writes into the first one, unless the program names another location. What Hindcast writes
// names the store that it is in.
package crewai

import (
	"context"
	"path/filepath"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/checkpoints"
	"hindcast/store/media/files"
)

const name = "crewai"

// Kind describes the kind, in both of its forms.
func Kind(cache *files.Cache) engine.Kind {
	kind := folderKind.Kind(cache)
	inFolder := kind
	form := func(at engine.Site) engine.Kind {
		if at.Info == nil || !at.Info.Mode().IsRegular() {
			return inFolder
		}
		k := kindOfRows(filepath.FromSlash(at.Whole()))
		k.Cache = cache
		return k.Kind(nil, "")
	}
	inFile := kindOfRows("").Kind(nil, "")
	kind.Files, kind.Tables = inFile.Files, inFile.Tables
	kind.Sign = func(ctx context.Context, at engine.Site) (string, bool, error) { return form(at).Sign(ctx, at) }
	kind.OpenAt = func(ctx context.Context, at engine.Site) (store.Store, error) { return form(at).OpenAt(ctx, at) }
	return kind.Derive()
}

var folderKind = checkpoints.Kind{
	Name: name, Framework: "crewAI", Depth: 4,
	IDs: "the checkpoint's, made of its second and a random number",
	Own: []string{
		"/parent_id", "/branch", "/trigger", "/event_record", "/entities/*/execution_context", "/entities/*/checkpoint_method_counts",
		"/entities/*/checkpoint_state/id", "/entities/*/checkpoint_completed_methods",
	},
	Unlisted:  "lists the file without its content, and fails to resume it",
	Severity:  model.Loses,
	Notes:     "crewai 3",
	Temporary: func(string) bool { return false },
	Running:   "a crew that runs now does not notice: its next checkpoint follows the one that it wrote last, and is the newest",
	Signed:    "BRANCH/TIME_ID_p-PARENT.json with entities and an event_record",
	Places: func(at store.Surroundings) []string {
		if at.Work == "" {
			return nil
		}
		return []string{filepath.Join(at.Work, ".checkpoints")}
	},
	Format: format{},
}
