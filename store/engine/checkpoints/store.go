package checkpoints

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Codes of the faults that are found here.
const (
	// FaultFile: a file cannot be read.
	FaultFile = "unreadable-checkpoint"
	// FaultJournal: a write of Hindcast's own was broken off.
	FaultJournal = "journal"
)

// Kind returns the kind for the list of kinds. What files say is remembered in the cache;
// nil remembers it as long as a store is open.
func (k Kind) Kind(cache *files.Cache) engine.Kind {
	return engine.Kind{
		Kind: store.Kind{Name: k.Name, Framework: k.Framework, Places: k.Places},
		Sign: engine.InFolder(k.sign), Copied: true,
		OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) { return k.Open(ctx, cache, at) },
	}.Derive()
}

// Open opens a folder. A write of Hindcast's own that was broken off is finished; nothing
// else is written.
func (k Kind) Open(ctx context.Context, cache *files.Cache, at engine.Site) (*engine.Store, error) {
	r, dir := reader{Kind: &k}, at.Name()
	if at.On == nil {
		r.dir = filepath.FromSlash(at.Whole())
	}
	m := &engine.Files{Damage: model.Fault{Code: FaultJournal, Severity: model.Odd, Verdict: "nothing: it does not know of the journal"}}
	o := engine.StorageOptions{Cache: cache, On: at.On, Private: true, Ignore: k.Temporary, Notes: k.Notes, Now: time.Now, Framework: k.Framework}
	o.Place = func(session string) engine.Place { return r.placeOf(m.Storage.In(), session) }
	var err error
	if m.Storage, err = engine.OpenStorage(dir, o); err != nil {
		return nil, fmt.Errorf("%s: open %q: %w", k.Name, dir, files.Cause(err))
	}
	m.Watching = func(ctx context.Context) (<-chan struct{}, error) {
		var levels []watch.Level
		if k.Depth > 0 {
			levels = []watch.Level{{Depth: k.Depth}}
		}
		return watch.Tree(ctx, dir, levels, k.isForeign), nil
	}
	m.Storage.Recover(ctx)
	r.storage = m.Storage
	return engine.OnFiles(r.engineFormat(), m, dir), nil
}

// engineFormat returns the engine's format for a folder of the kind.
func (r reader) engineFormat() engine.Format {
	return engine.Format{
		Name: r.Kind.Name, Framework: r.Framework, IDs: r.IDs, Own: r.Own,
		Sessions: r.listSessions, Place: r.findPlace, Read: r.readSession, State: r.readState, About: r.describeRow, Faults: r.findFaults, Info: r.fillInfo,
		Check: r.checkFiles, Lacks: r.explainLack, Move: r.planMove, Next: r.predictNext,
	}
}

func (r reader) listSessions(ctx context.Context, in engine.In) (list []engine.Listed, err error) {
	all, err := r.readFiles(ctx, in)
	if err != nil {
		return nil, err
	}
	for session, items := range all.sessions {
		at := r.placeOf(in, session)
		list = append(list, engine.Listed{Place: at, Log: r.buildLog(in, at, items)})
	}
	return list, nil
}

func (r reader) fillInfo(log *engine.Log, info *model.SessionInfo) {
	items, _ := log.Own.([]Item)
	for i := range items {
		info.Title, info.Size = cmp.Or(info.Title, items[i].Opening), info.Size+items[i].Size
		if items[i].CreatedAt.After(info.UpdatedAt) {
			info.UpdatedAt = items[i].CreatedAt
		}
	}
	if info.UpdatedAt.IsZero() && len(log.Written) > 0 {
		info.UpdatedAt = log.Written[0].At
	}
	faults, _ := r.findFaults(context.Background(), engine.In{}, log) // it reads nothing more
	info.Faults = len(model.Harmful(faults))
}

// readContent returns the content of a row's file, from the journal if the file is set aside.
func (r reader) readContent(in engine.In, log *engine.Log, i int) (data []byte, err error) {
	if aside := log.Aside[log.Rows[i].ID]; aside != nil {
		return in.Writes.ForSession(log.Place.Session).Read(aside)
	}
	data, _, err = in.Read(log.Files[i], nil)
	return data, err
}

func (r reader) readState(_ context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	log, i, err := row.In()
	if err != nil {
		return nil, err
	}
	data, err := r.readContent(in, log, i)
	if err != nil {
		return nil, err
	}
	return r.Format.State(data, &itemsOf(log)[i])
}

func (r reader) describeRow(_ context.Context, in engine.In, row *engine.Row) (about engine.About, err error) {
	log, i, err := row.In()
	if err != nil {
		return about, err
	}
	data, err := r.readContent(in, log, i)
	if err != nil {
		return about, err
	}
	about.Facts = append(in.Writes.ForSession(log.Place.Session).Facts(log.Files[i]), r.Format.Facts(data, &itemsOf(log)[i])...)
	about.Facts.Add("file", log.Files[i])
	if log.Aside[log.Rows[i].ID] == nil {
		about.Resume = r.storage.Calls(r.Format.Resume(r.dir, &itemsOf(log)[i]))
	}
	return about, nil
}

// findFaults returns the faults of a session. It ignores the rows that Hindcast set aside, because
// no framework meets them. Several roots are several runs.
func (r reader) findFaults(_ context.Context, _ engine.In, log *engine.Log) ([]model.Fault, error) {
	items, _ := log.Own.([]Item)
	if len(items) == 0 {
		return nil, nil
	}
	items = slices.Clone(items)
	list := slices.DeleteFunc(model.NewTimeline(log.Rows).Faults(), func(f model.Fault) bool { return f.Code == model.FaultSeveralRoots })
	return append(list, r.Format.Faults(items, r.Format.Arrange(items))...), nil
}

// checkFiles returns the files that cannot be read.
func (r reader) checkFiles(ctx context.Context, in engine.In) (list []model.Fault, err error) {
	all, err := r.readFiles(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, f := range all.flawed {
		list = append(list, model.Fault{Code: FaultFile, Severity: r.Severity, File: f.file, Meaning: f.why, Verdict: r.Unlisted})
	}
	return list, nil
}

// sign looks at the first files of a folder that can be of the kind.
func (k Kind) sign(ctx context.Context, _ engine.Site, t tree.Tree) (why string, ok bool, err error) {
	looked := 0
	for _, at := range k.listFolders(t, min(k.Depth, 1), fewFolders) {
		names, err := t.List(at)
		if err != nil {
			continue
		}
		slices.Sort(names)
		for _, name := range names {
			full := tree.Join(at, name)
			if looked == mostLooked || !k.Format.Is(full) || strings.HasPrefix(name, ".") {
				continue
			}
			looked++
			if head, err := tree.Head(t, full, headSize); err == nil && k.Format.Signs(full, head) {
				return k.Signed, true, ctx.Err()
			}
		}
	}
	return "", false, ctx.Err()
}

// mostLooked bounds the files that are read to recognise a folder, and headSize is how much of
// each, in bytes.
const (
	mostLooked = 8
	headSize   = 64 << 10
)
