package genkit

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// rowCodec makes rows of files. A file that is no row is not remembered.
var rowCodec = tree.Codec[*row]{
	Decode: func(f tree.File) (*row, bool) {
		r, ok := decodeRow(strings.TrimSuffix(f.Name, rowSuffix), f.Data)
		r.written = f.Size
		return &r, ok && !r.broken
	},
	Note: func(r *row) []byte {
		if !r.isRow() {
			return nil
		}
		return r.appendNote(nil)
	},
	Recall: func(f tree.File) (*row, error) {
		r, err := parseNote(strings.TrimSuffix(f.Name, rowSuffix), f.Data)
		r.written = f.Size
		return &r, err
	},
}

// isRow reports whether the file says that it is the snapshot that it is named after.
func (r *row) isRow() bool { return r.snapshotID != "" && r.snapshotID == r.id }

// stray is a file among the rows that is not listed as one.
type stray struct {
	name string
	// err is why it could not be read; nil for a readable file that is not a row.
	err error
	// claims is the snapshot that it says it is, if it says so.
	claims string
	// flaws are the flaws of a file without such a claim.
	flaws []flaw
}

// isBlocking reports whether JavaScript cannot read the file, or cannot parse it.
func (s *stray) isBlocking() bool {
	if s.err != nil {
		return !errors.Is(s.err, files.ErrSymlink)
	}
	return slices.ContainsFunc(s.flaws, func(f flaw) bool { return f.code == FaultRowFile || f.code == FaultBOM })
}

// strayOf returns the stray that a file is, nil for a row.
func strayOf(n *tree.Noted[*row]) *stray {
	switch {
	case n.Err != nil:
		return &stray{name: n.Name, err: n.Err}
	case !n.Is.isRow():
		return &stray{name: n.Name, claims: n.Is.snapshotID, flaws: n.Is.flaws}
	}
	return nil
}

// readPointer returns the pointer of a session, or nil.
func readPointer(t tree.Tree, p place, session string) *pointer {
	if !p.pointers || !validName(session) {
		return nil
	}
	data, _, err := t.Read(path.Join(p.dir, pointersFolder, session+rowSuffix), nil)
	switch {
	case isGone(err):
		return nil
	case errors.Is(err, os.ErrInvalid):
		return nil
	case err != nil:
		return &pointer{err: err}
	}
	found := decodePointer(data)
	return &found
}
