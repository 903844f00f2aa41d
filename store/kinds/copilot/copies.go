package copilot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"hindcast/model/filechange"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Copilot CLI keeps copies of the files that a turn changes, for its rewind:
//
//	SESSION/rewind-file-snapshots/index.json       for each prompt the files that changed up to the next one: path, preimage, postimage
//	SESSION/rewind-file-snapshots/backups/SHA-256  the text of a preimage
//
// A postimage has the SHA-256 alone. Its text is there where a later turn changed the file again. What commands do is in
// it, also outside of the project's folder.

const (
	copiesDir = "rewind-file-snapshots"
	// Bounds of reading: of the index, of a file, and of the files of a turn.
	mostIndex   = 64 << 20
	mostText    = 2 << 20
	mostChanges = 2000
)

// Copies implements chat.Copier.
func (f *format) Copies(ctx context.Context, in engine.In, s *chat.Session, found func(filechange.Copies) bool) error {
	if s.Spot.Part != "" || path.Base(s.Spot.File) != eventsFile {
		return nil // the turn of the session has what its sub-agents did
	}
	dir := tree.Join(path.Dir(s.Spot.File), copiesDir)
	text, err := tree.Head(in.Tree, tree.Join(dir, "index.json"), mostIndex)
	if err != nil {
		return ctx.Err() // there is none
	}
	index, err := chat.Parse(text)
	if err != nil {
		return ctx.Err() // it is damaged, and the events tell what they tell
	}
	for turn := range index.Get("snapshots").Each() {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := s.At(turn.Get("eventId").Text())
		if first < 0 {
			continue
		}
		c := filechange.Copies{Dir: s.Project}
		for i := first; i < len(s.Entries) && (i == first || s.Entries[i].Said.Role != chat.User); i++ {
			c.Snapshots = append(c.Snapshots, s.Entries[i].ID)
			c.Dir = cmp.Or(s.Entries[i].Meta.Dir, c.Dir)
		}
		more := 0
		for file := range turn.Get("files").Each() {
			switch change, changed := changeOf(in.Tree, dir, file); {
			case !changed:
			case len(c.Changes) == mostChanges:
				more++
			default:
				c.Changes = append(c.Changes, change)
			}
		}
		if more > 0 {
			c.Changes = append(c.Changes, filechange.Change{Known: filechange.NotRecorded, More: more})
		}
		if len(c.Changes) > 0 && !found(c) {
			return nil
		}
	}
	return nil
}

// changeOf returns the change of a file in a turn; false where it is as it was.
func changeOf(t tree.Tree, dir string, file chat.Value) (c filechange.Change, changed bool) {
	name := file.Get("path").Text()
	sumOf := func(image string) (sum string, known bool) {
		is := file.Get(image)
		kind := is.Get("kind").Text()
		sum = is.Get("contentHash").Text()
		return sum, kind == "absent" || kind == "content" && sum != ""
	}
	before, known := sumOf("preimage")
	after, also := sumOf("postimage")
	if name == "" || known && also && before == after {
		return c, false
	}
	from, has := readCopy(t, dir, before)
	to, had := readCopy(t, dir, after)
	if known && also && has && had {
		return filechange.Between(name, from, to), true
	}
	c = filechange.Change{Path: name, Known: filechange.NotRecorded}
	switch {
	case known && before == "":
		c.Kind = filechange.Created
	case also && after == "":
		c.Kind = filechange.Deleted
	}
	if known && has {
		c.Before = from
	}
	return c, true
}

// readCopy returns the text with a sum, nil for "". has is false where there is no copy, or none that is a text.
func readCopy(t tree.Tree, dir, sum string) (text *string, has bool) {
	if sum == "" {
		return nil, true
	}
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return nil, false
	}
	data, err := tree.Head(t, tree.Join(dir, "backups/"+sum), mostText+1)
	if err != nil || len(data) > mostText {
		return nil, false
	}
	if is := sha256.Sum256(data); hex.EncodeToString(is[:]) != sum {
		return nil, false
	}
	text = filechange.TextIn(data)
	return text, text != nil
}
