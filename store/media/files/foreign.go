package files

import (
	"path"
	"strings"

	"hindcast/model"
)

// foreign are the files that other programs leave in any folder, by patterns of their
// names.
var foreign = []struct{ what, names string }{
	{"what macOS keeps of a folder", ".DS_Store"},
	{"what Windows keeps of a folder", "Thumbs.db thumbs.db desktop.ini Desktop.ini"},
	{"what macOS keeps of a file", "._*"},
	{"the backup of an editor", "*~ *.bak *.orig #*# .#* .*.sw?"},
}

// Stray returns a fault about a file that is passed over; where another program left
// it, it says so, and is a note.
func Stray(f model.Fault) model.Fault {
	if what := Foreign(path.Base(f.File)); what != "" {
		f.Meaning, f.Severity = what, model.Note
	}
	return f
}

// Foreign describes a file that other programs leave in any folder, by its name; ""
// if the name is not known as such.
func Foreign(name string) string {
	for _, row := range foreign {
		for pattern := range strings.FieldsSeq(row.names) {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return row.what
			}
		}
	}
	return ""
}
