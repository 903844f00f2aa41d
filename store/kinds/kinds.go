// Package kinds is the list of the kinds of store that Hindcast knows.
package kinds

import (
	"context"
	"errors"
	"fmt"

	"hindcast/store"
	"hindcast/store/engine/databases"
	"hindcast/store/kinds/adk"
	"hindcast/store/kinds/agentframework"
	"hindcast/store/kinds/aider"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/codex"
	"hindcast/store/kinds/copilot"
	"hindcast/store/kinds/crewai"
	"hindcast/store/kinds/crush"
	"hindcast/store/kinds/gemini"
	"hindcast/store/kinds/genkit"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/kinds/langgraph"
	"hindcast/store/kinds/llamaindex"
	"hindcast/store/kinds/mastra"
	"hindcast/store/kinds/openaiagents"
	"hindcast/store/kinds/opencode"
	"hindcast/store/kinds/openhands"
	"hindcast/store/kinds/pi"
	"hindcast/store/kinds/remote"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/kinds/strands/snapshots"
	"hindcast/store/media/bucket"
	"hindcast/store/media/files"
	"hindcast/store/media/pg"
	"hindcast/store/media/tree"
	"hindcast/store/native/postgres"
	"hindcast/store/native/sqlite"
)

// All returns the kinds in the order in which they are asked whether a store is
// theirs. They keep notes of what they read in the cache, if it is not nil, and of what they write where
// there is no place beside it in the user's folder for data; with "" nothing is written there.
func All(cache *files.Cache, data string) store.Kinds {
	graphs, sessions, items := langgraph.ServedKind(data), adk.ServedKind(data), openaiagents.ServedKind(data)
	return store.Kinds{
		jsonl.Kind(),
		messages.Kind(cache),
		snapshots.Kind(cache),
		genkit.Kind(cache),
		sqlite.Kind(),
		databases.Also(langgraph.Kind(), graphs),
		agentframework.Kind(cache),
		crewai.Kind(cache),
		databases.Also(adk.Kind(), sessions),
		databases.Also(openaiagents.Kind(), items),
		mastra.Kind(),
		llamaindex.Kind(),
		pi.Kind(cache),
		claudecode.Kind(cache),
		codex.Kind(cache),
		gemini.Kind(cache),
		openhands.Kind(cache),
		opencode.Kind(cache),
		copilot.Kind(cache),
		crush.Kind(cache),
		aider.Kind(cache),
		remote.Kind(),
		databases.Kind(postgres.Format{}, graphs, sessions, items),
		bucket.Kind(bucket.Options{}, elsewhere(cache)...),
	}
}

// ErrNoPlace: there are no stores of Hindcast's own at such an address.
var ErrNoPlace = errors.New("a store of Hindcast's own is a file, or in a database: postgres://user@host/database")

// Create makes an empty store of Hindcast's own: in a file that is not there yet, or in the database that a
// URL names. The errors are ErrNoPlace for another URL, fs.ErrExist where one is there, and those of the
// packages sqlite and postgres.
func Create(ctx context.Context, address string) (store.Store, error) {
	switch {
	case pg.IsURL(address):
		return postgres.Create(ctx, address)
	case All(nil, "").IsURL(address):
		return nil, fmt.Errorf("make %q: %w", address, ErrNoPlace)
	}
	return sqlite.Create(ctx, address)
}

// elsewhere returns those of the kinds whose stores are opened where no disk is, in the same
// order.
func elsewhere(cache *files.Cache) []tree.Opener {
	return []tree.Opener{
		messages.Elsewhere(cache),
		snapshots.Elsewhere(cache),
		genkit.Elsewhere(cache),
		agentframework.Elsewhere(cache),
		crewai.Elsewhere(cache),
		pi.Elsewhere(cache),
		claudecode.Elsewhere(cache),
		codex.Elsewhere(cache),
		gemini.Elsewhere(cache),
		openhands.Elsewhere(cache),
		copilot.Elsewhere(cache),
		aider.Elsewhere(cache),
	}
}
