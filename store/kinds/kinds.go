// Package kinds is the list of the kinds of store that Hindcast knows.
package kinds

import (
	"context"
	"errors"
	"fmt"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/keep"
	"hindcast/store/kinds/adk"
	"hindcast/store/kinds/agentframework"
	"hindcast/store/kinds/agno"
	"hindcast/store/kinds/aider"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/cline"
	"hindcast/store/kinds/codex"
	"hindcast/store/kinds/copilot"
	"hindcast/store/kinds/crewai"
	"hindcast/store/kinds/crush"
	"hindcast/store/kinds/cursor"
	"hindcast/store/kinds/dbos"
	"hindcast/store/kinds/droid"
	"hindcast/store/kinds/gemini"
	"hindcast/store/kinds/genkit"
	"hindcast/store/kinds/iflow"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/kinds/kimi"
	"hindcast/store/kinds/kimicli"
	"hindcast/store/kinds/langgraph"
	"hindcast/store/kinds/llamaindex"
	"hindcast/store/kinds/mastra"
	"hindcast/store/kinds/openaiagents"
	"hindcast/store/kinds/opencode"
	"hindcast/store/kinds/openhands"
	"hindcast/store/kinds/pi"
	"hindcast/store/kinds/qwen"
	"hindcast/store/kinds/remote"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/kinds/strands/snapshots"
	"hindcast/store/kinds/trajectory"
	"hindcast/store/kinds/vscodechat"
	"hindcast/store/media/bucket"
	"hindcast/store/media/files"
	"hindcast/store/media/pg"
	"hindcast/store/native/postgres"
	"hindcast/store/native/sqlite"
)

// All returns the kinds in the order in which they are asked whether a store is
// theirs. They keep notes of what they read in the cache, if it is not nil, and of what they write where
// there is no place beside it in the user's folder for data; with "" nothing is written there.
func All(cache *files.Cache, data string) store.Kinds {
	list := described(cache, data)
	var all store.Kinds
	for _, k := range list {
		all = append(all, k.Kind)
	}
	return append(all, engine.Servers(append([]engine.Kind{served}, list...)...), bucket.Kind(bucket.Options{}, engine.Finder(list...)))
}

// Archive returns the archive in a file or in the database that a URL names, which keeps the stores of all kinds, see [keep.New].
func Archive(address string, cache *files.Cache, data string) *keep.Archive {
	return keep.New(address, described(cache, data))
}

// described returns the kinds that lie in files or in the tables of one database.
func described(cache *files.Cache, data string) []engine.Kind {
	list := []engine.Kind{
		{Kind: jsonl.Kind()},
		messages.Kind(cache),
		snapshots.Kind(cache),
		genkit.Kind(cache),
		{Kind: sqlite.Kind()},
		langgraph.DeepAgents(cache, data),
		langgraph.Kind(cache, data),
		agentframework.Kind(cache),
		crewai.Kind(cache),
		adk.Kind(cache, data),
		openaiagents.Kind(cache, data),
		mastra.Kind(cache),
		llamaindex.Kind(cache),
		agno.Kind(cache),
		dbos.Kind(cache),
		pi.Kind(cache),
		claudecode.Kind(cache),
		codex.Kind(cache),
		gemini.Kind(cache),
		qwen.Kind(cache),
		kimi.Kind(cache),
		kimicli.Kind(cache),
		openhands.Kind(cache),
		opencode.Kind(cache),
		copilot.Kind(cache),
		crush.Kind(cache),
		cursor.Kind(cache),
		vscodechat.Kind(cache),
		cline.Kind(cache),
		droid.Kind(cache),
		iflow.Kind(cache),
		aider.Kind(cache),
		{Kind: remote.Kind()},
	}
	return append(list, trajectory.Kinds(cache)...)
}

// served is the kind of Hindcast's own stores in databases on a server.
var served = engine.Kind{
	Kind: store.Kind{Name: "postgres"}, Served: true,
	Sign: func(_ context.Context, at engine.Site) (why string, ok bool, err error) {
		why, ok = postgres.Sign(at.Tables)
		return why, ok, nil
	},
	OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) { return postgres.On(ctx, at.Server) },
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
