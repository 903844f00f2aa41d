package genkit

import (
	"time"

	"hindcast/model/jsontape"
)

// pointer is the file by which the SDKs find the newest row of a session without reading all rows:
// <prefix>/.pointers/<session>.json.
type pointer struct {
	current   string // id of the row that it names
	createdAt moment // of that row; Go alone writes it
	updatedAt moment
	// err is why the file is of no use: the SDKs then go through the rows.
	err error
}

// isGo reports whether the pointer was written by Go.
func (p *pointer) isGo() bool { return p.createdAt.text != "" }

// pointerError describes the fault of a pointer.
type pointerError string

func (e pointerError) Error() string { return string(e) }

// decodePointer reads a pointer. The SDKs treat an unreadable pointer as missing.
func decodePointer(data []byte) (p pointer) {
	tape, err := jsontape.Parse(data)
	if err != nil {
		p.err = err
		return p
	}
	if tape.Kind(0) != jsontape.Object {
		p.err = pointerError("it is no object")
		return p
	}
	current := tape.Find(0, "currentSnapshotId")
	if tape.Kind(current) != jsontape.String || tape.Text(current) == "" {
		p.err = pointerError("there is no currentSnapshotId")
		return p
	}
	p.current = clipText(tape.Text(current))
	for _, known := range []struct {
		key string
		m   *moment
	}{{"currentCreatedAt", &p.createdAt}, {"updatedAt", &p.updatedAt}} {
		n := tape.Find(0, known.key)
		if tape.Kind(n) != jsontape.String {
			continue
		}
		known.m.text = clipText(tape.Text(n))
		at, err := time.Parse(time.RFC3339, known.m.text)
		switch {
		case err == nil:
			known.m.at = at
		case known.key == "currentCreatedAt" || p.isGo(): // JavaScript looks at no time
			p.err = pointerError(known.key + " is no time")
		}
	}
	return p
}
