package strands

import (
	"errors"
	"fmt"
	"io/fs"

	"hindcast/model/jsontape"
	"hindcast/store/files"
)

// maxPythonDepth is how deep a file may be nested for the SDK to load it. Its
// decode_bytes_values recurses; with Python 3.11 and its default limit 493
// levels were too many below four others.
const maxPythonDepth = 490

// encodingFlaws gives what keeps Python from reading a file that parses here.
func encodingFlaws(d *files.Document) (flaws []flaw) {
	e := d.Encoding()
	if e.BOM {
		flaws = append(flaws, flaw{FaultEncoding, "byte 0", "the file begins with a byte order mark",
			refuses + "SessionException: Unexpected UTF-8 BOM"})
	}
	if e.Invalid >= 0 {
		flaws = append(flaws, flaw{FaultEncoding, fmt.Sprintf("byte %d", e.Invalid), "the file is not UTF-8",
			refuses + "UnicodeDecodeError"})
	}
	if e.Depth > maxPythonDepth {
		flaws = append(flaws, flaw{FaultDepth, "", fmt.Sprintf("values are nested %d deep", e.Depth),
			refuses + "RecursionError, unless Python's recursion limit is raised"})
	}
	return flaws
}

// readVerdict says what the SDK makes of a file that could not be read.
func readVerdict(err error) string {
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case errors.As(err, &syntax):
		return refuses + "SessionException: Invalid JSON"
	case errors.Is(err, files.ErrSymlink):
		return refuses + "SessionException: Refusing to read symlink (older SDKs, before 1.48, follow it)"
	case errors.Is(err, files.ErrTooLarge):
		return loads + "only Hindcast does not read files of this size"
	case errors.Is(err, fs.ErrNotExist):
		return loads + "the file is gone"
	}
	return refuses + "it cannot be opened"
}
