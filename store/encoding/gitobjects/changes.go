package gitobjects

import (
	"context"
	"path"
	"strings"

	"hindcast/model/filechange"
)

// Bounds of the changes that are read.
const (
	// MostChanges bounds the files; more are counted.
	MostChanges = 2000
	// mostText bounds a file whose text is read.
	mostText = 2 << 20
)

// FileChanges returns how the files of a folder differ in two trees, with their texts. What is no text, or is too large,
// is named; so is a file whose content is missing.
func (o *Objects) FileChanges(ctx context.Context, dir, a, b string) (list []filechange.Change, err error) {
	more := 0
	err = o.CompareTrees(ctx, a, b, func(name string, before, after Entry) error {
		if len(list) == MostChanges {
			more++
			return nil
		}
		list = append(list, o.fileChange(JoinPath(dir, name), before, after))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if more > 0 {
		list = append(list, filechange.Change{Known: filechange.NotRecorded, More: more})
	}
	return list, nil
}

// fileChange returns the change of a file.
func (o *Objects) fileChange(name string, before, after Entry) filechange.Change {
	textOf := func(e Entry) (text *string, known bool) {
		if e.ID == "" {
			return nil, true
		}
		if !e.Regular {
			return nil, false
		}
		data, err := o.ReadBlob(e.ID, mostText)
		if err != nil {
			return nil, false
		}
		text = filechange.TextIn(data)
		return text, text != nil
	}
	from, known := textOf(before)
	to, also := textOf(after)
	if known && also {
		return filechange.Between(name, from, to)
	}
	c := filechange.Change{Path: name, Known: filechange.NotRecorded}
	switch {
	case before.ID == "":
		c.Kind = filechange.Created
	case after.ID == "":
		c.Kind = filechange.Deleted
	}
	return c
}

// JoinPath returns the path of a file of a folder, with slashes. A path that is whole stays.
func JoinPath(dir, name string) string {
	if dir == "" || path.IsAbs(name) || strings.Contains(name, `:\`) {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}
