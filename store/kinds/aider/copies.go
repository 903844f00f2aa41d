package aider

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"hindcast/model/filechange"
	"hindcast/store/encoding/gitobjects"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// aider commits what an answer edits, and prints the commit behind it:
//
//	> Commit 1a2b3c4 chore: what the person had changed     not the answer's
//	> Applied edit to a.py
//	> Commit 5d6e7f8 feat: …                                what the answer did

// objects is where a project's repository has its objects.
const objects = ".git/objects"

var (
	appliedLine = []byte("> Applied edit to ")
	commitLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^> Commit ([0-9a-f]{7,40})\b`) })
)

// commitsIn returns the commits of the edits in the text of an entry.
func commitsIn(text []byte) (list []string) {
	applied := false
	for line := range bytes.Lines(text) {
		applied = applied || bytes.HasPrefix(line, appliedLine)
		if m := commitLine().FindSubmatch(line); m != nil && applied {
			list, applied = append(list, string(m[1])), false
		}
	}
	return list
}

// Copies implements chat.Copier. A commit that is gone, by a rebase for one, tells nothing.
func (f *format) Copies(ctx context.Context, in engine.In, s *chat.Session, found func(filechange.Copies) bool) error {
	if !tree.IsFolder(in.Tree, objects) {
		return ctx.Err()
	}
	o := gitobjects.Open(in.Tree, []string{objects})
	defer o.Close() // it was only read
	for i := range s.Entries {
		e := &s.Entries[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Said.Role != chat.Assistant {
			continue
		}
		raw, err := chat.Bytes(in.Tree, e.File, e.Records)
		if err != nil {
			return err
		}
		for _, commit := range commitsIn(bytes.Join(raw, nil)) {
			before, after, at, err := o.CommitTrees(o.ResolvePrefix(commit))
			if err != nil {
				continue
			}
			// aider commits the person's changes first, and may do both within a second.
			c := filechange.Copies{Snapshots: []string{e.ID}, Dir: s.Project, At: at.Add(time.Second - 1)}
			if c.Changes, err = o.FileChanges(ctx, filepath.ToSlash(s.Project), before, after); err != nil {
				continue
			}
			if len(c.Changes) > 0 && !found(c) {
				return nil
			}
		}
	}
	return ctx.Err()
}
