package snapshots

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// usualPlaces are where the SDKs put sessions unless they are told otherwise:
// LocalFileStorage of both begins at ./.strands, and documents show ~/.strands.
func usualPlaces(at store.Surroundings) []string {
	var list []string
	for _, dir := range []string{at.Work, at.Home} {
		if dir != "" {
			list = append(list, filepath.Join(dir, ".strands"))
		}
	}
	if at.Work != "" {
		list = append(list, filepath.Join(at.Work, ".strands", namespace))
	}
	return list
}

// mostLooked bounds the names that sign looks at: a folder with more and no
// session among them is taken for something else.
const mostLooked = 20_000

// sign looks for snapshots where either SDK puts them: below scopes/ of the
// folder itself, of the folders in its session/, and of the folders in it.
func sign(ctx context.Context, _ engine.Site, t tree.Tree) (why string, ok bool, err error) {
	l := looker{ctx: ctx, tree: t}
	for _, at := range []struct{ dir, name string }{{"", ""}, {namespace, namespace + "/…/"}, {".", "…/"}} {
		if at.dir == "" {
			l.lookAtSession(".", at.name)
		} else {
			l.lookAtSessions(at.dir, at.name)
		}
		if l.why != "" || l.err != nil {
			break
		}
	}
	switch {
	case l.why != "" || l.err != nil:
		return l.why, l.why != "" && l.err == nil, l.err
	case l.near == "" && tree.IsFolder(t, namespace):
		l.near = "in session/ is no folder with scopes/"
	}
	return l.near, false, nil
}

// looker looks for the first session that has snapshots.
type looker struct {
	ctx    context.Context
	tree   tree.Tree
	looked int
	why    string // what was found
	near   string // what was nearly that
	err    error
}

// lookAtSessions looks into the folders in a folder.
func (l *looker) lookAtSessions(dir, name string) {
	names, err := l.tree.Folders(dir)
	if err != nil {
		return // it is not there, or not a folder that can be read
	}
	for _, base := range names {
		if l.looked++; l.looked > mostLooked || l.why != "" {
			return
		}
		if l.err = l.ctx.Err(); l.err != nil {
			return
		}
		if base != journal.Folder {
			l.lookAtSession(path.Join(dir, base), name)
		}
	}
}

// lookAtSession looks into the folder of one session. why has only names of the SDKs, and no
// names from the data.
func (l *looker) lookAtSession(dir, name string) {
	if !tree.IsFolder(l.tree, path.Join(dir, scopesDir)) {
		return
	}
	for _, scope := range scopes {
		at := path.Join(dir, scopesDir, scope)
		names, err := l.tree.List(at)
		if err != nil {
			continue
		}
		for _, agent := range names {
			if l.looked++; l.looked > mostLooked {
				return
			}
			kept := path.Join(at, agent, snapshots)
			for _, file := range []string{latestFile, historyDir} {
				if at, err := l.tree.Stamp(path.Join(kept, file)); err == nil && at.Kind != files.Nothing {
					l.why = fmt.Sprintf("%s%s/%s/…/%s/%s", name, scopesDir, scope, snapshots, file)
					return
				}
			}
		}
		l.near = fmt.Sprintf("%s%s/%s holds no %s", name, scopesDir, scope, snapshots)
	}
	if l.near == "" {
		l.near = fmt.Sprintf("%s%s holds neither %s nor %s", name, scopesDir, scopeAgent, scopeMultiAgent)
	}
}
