package opencode

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"path"
	"slices"

	"hindcast/model/filechange"
	"hindcast/store/encoding/gitobjects"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// opencode keeps the files of a project that is in Git as trees of a repository of its own:
//
//	snapshot/PROJECT/SHA-1 of the folder/objects/…    since 1.0; before, snapshot/PROJECT/objects/…
//
// A step-start and a step-finish of an answer name the trees before and behind its calls, and a patch the files that
// differ. Objects that the project's own repository has are not copied, and opencode removes trees that are a week old.
// Then the prompt has patches of its turn, in summary.diffs.

const snapshots = "snapshot"

// Copies implements chat.Copier.
func (f *format) Copies(ctx context.Context, in engine.In, s *chat.Session, found func(filechange.Copies) bool) error {
	projects, _ := in.List(snapshots) // there may be none
	repositories := map[string]*gitobjects.Objects{}
	defer func() {
		for _, o := range repositories {
			_ = o.Close() // they were only read
		}
	}()
	var turn filechange.Copies // by the patches of its prompt
	partly := false            // the trees do not tell all of the turn
	endTurn := func() bool {
		more := !partly || len(turn.Changes) == 0 || len(turn.Snapshots) == 0 || found(turn)
		turn, partly = filechange.Copies{}, false
		return more
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := f.loadEntry(in, s, e)
		if err != nil {
			continue // reading the session says why
		}
		if e.Said.Role == chat.User {
			if !endTurn() {
				return nil
			}
			turn.Changes = one.turnChanges()
		}
		if e.Said.Role != chat.Assistant {
			continue
		}
		turn.Snapshots = append(turn.Snapshots, e.ID)
		of := one.readTrees()
		if of.from == of.to && of.files == nil {
			continue
		}
		info, _ := chat.Parse(one.info) // of a damaged one the files' names are whole
		root := info.Get("path", "root").Text()
		o := repositories[root]
		if o == nil {
			o = openSnapshots(in.Tree, projects, root)
			repositories[root] = o
		}
		c := filechange.Copies{Snapshots: []string{e.ID}, Dir: root}
		if turn.Dir == "" {
			turn.Dir = root
			for k := range turn.Changes {
				turn.Changes[k].Path = gitobjects.JoinPath(root, turn.Changes[k].Path)
			}
		}
		if c.Changes, err = of.readChanges(ctx, o, root); err != nil {
			return err
		}
		partly = partly || slices.ContainsFunc(c.Changes, func(c filechange.Change) bool { return c.Known == filechange.NotRecorded })
		if len(c.Changes) > 0 && !found(c) {
			return nil
		}
	}
	endTurn()
	return nil
}

// turnChanges returns the patches that a prompt has of its turn.
func (m *stored) turnChanges() (list []filechange.Change) {
	info, _ := chat.Parse(m.info) // a damaged one has none
	for diff := range info.Get("summary", "diffs").Each() {
		c := filechange.Change{Path: diff.Get("file").Text(), Kind: kinds[diff.Get("status").Text()]}
		for _, one := range filechange.ParseUnified(diff.Get("patch").Text()) {
			c.Hunks = append(c.Hunks, one.Hunks...)
		}
		if c.Path != "" && len(c.Hunks) > 0 && len(list) < gitobjects.MostChanges {
			list = append(list, c)
		}
	}
	return list
}

// kinds are the kinds of changes by opencode's words.
var kinds = map[string]filechange.Kind{"added": filechange.Created, "deleted": filechange.Deleted, "modified": filechange.Changed}

// openSnapshots opens the repositories that may have the trees of a folder.
func openSnapshots(t tree.Tree, projects []string, root string) *gitobjects.Objects {
	sum := sha1.Sum([]byte(root))
	var dirs []string
	for _, project := range projects {
		dirs = append(dirs, path.Join(snapshots, project, hex.EncodeToString(sum[:]), "objects"), path.Join(snapshots, project, "objects"))
	}
	var there []string
	for _, dir := range dirs {
		if tree.IsFolder(t, dir) {
			there = append(there, dir)
		}
	}
	return gitobjects.Open(t, there)
}

// trees are the trees before and behind an answer, and the files that differ in them by opencode's word.
type trees struct {
	from, to string
	files    []string
}

// readTrees returns the trees that the parts of an answer name.
func (m *stored) readTrees() (of trees) {
	for i := range m.parts {
		v, err := chat.Parse(m.parts[i].data)
		if err != nil {
			continue // raw has it
		}
		switch v.Get("type").Text() {
		case typeStepStart:
			if of.from == "" {
				of.from = v.Get("snapshot").Text()
			}
		case typeStepFinish:
			of.to = v.Get("snapshot").Text()
		case typePatch:
			for file := range v.Get("files").Each() {
				of.files = append(of.files, file.Text())
			}
		}
	}
	return of
}

// readChanges returns how the files in two trees differ. Where an object is gone, the files are named.
func (of trees) readChanges(ctx context.Context, o *gitobjects.Objects, root string) (list []filechange.Change, err error) {
	if of.from != "" && of.to != "" {
		if list, err = o.FileChanges(ctx, root, of.from, of.to); err == nil || ctx.Err() != nil {
			return list, err
		}
	}
	for i, file := range of.files {
		if i == gitobjects.MostChanges {
			return append(list, filechange.Change{Known: filechange.NotRecorded, More: len(of.files) - i}), nil
		}
		list = append(list, filechange.Change{Path: gitobjects.JoinPath(root, file), Known: filechange.NotRecorded})
	}
	return list, nil
}
