package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Label is a name that a person gave to a snapshot, maybe with a note. Within a session a name stands for
// one snapshot. A store holds no labels: package labels keeps them.
//
// Its JSON leaves out the snapshot, because a label stands with that.
type Label struct {
	// Session, ID and Visit name the snapshot. Visit is 0 where the store numbers none.
	Session string `json:"-"`
	ID      string `json:"-"`
	Visit   int64  `json:"-"`
	// Name is a name that Check accepts, and Note is any text; both are untrusted.
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	// At is when the label was set; zero if that is not known.
	At time.Time `json:"at,omitzero"`
}

const (
	// mostOfLabel bounds the name of a label, in bytes.
	mostOfLabel = 80
	// mostOfNote bounds a note, in bytes.
	mostOfNote = 4 << 10
)

// LabelError says why a name is no label, or a note none.
type LabelError struct{ Name, Why string }

func (e *LabelError) Error() string { return fmt.Sprintf("label %.80q: %s", e.Name, e.Why) }

// Check returns why a label cannot be kept, nil if it can. A name that means a snapshot
// already could never be used, and one with a blank is two words of a command line. The
// error is a [LabelError].
func (l *Label) Check() error {
	bad := func(why string) error { return &LabelError{l.Name, why} }
	_, isName := parseName(l.Name)
	switch {
	case l.Name == "":
		return bad("it is empty")
	case len(l.Name) > mostOfLabel:
		return bad(fmt.Sprintf("it is longer than %d bytes", mostOfLabel))
	case !utf8.ValidString(l.Name) || !utf8.ValidString(l.Note):
		return bad("it is not UTF-8")
	case isName:
		return bad("it means an index")
	case isHead(l.Name):
		return bad("it means the head")
	case strings.Contains(l.Name, ".."):
		return bad("two dots lead from one snapshot to another")
	case strings.ContainsFunc(l.Name, func(r rune) bool { return !inLabel(r) && !strings.ContainsRune("-_.+/", r) }):
		return bad("it has a character that is no letter, no digit, and none of - _ . + /")
	case !inLabel([]rune(l.Name)[0]):
		return bad("it does not begin with a letter or a digit")
	case len(l.Note) > mostOfNote:
		return bad(fmt.Sprintf("its note is longer than %d bytes", mostOfNote))
	}
	return nil
}

// inLabel reports whether a character may stand anywhere in a label.
func inLabel(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Places returns the visit of each label, NoNode for one whose snapshot is not there. The time
// is linear in the length of the timeline.
//
// A label names the visit with its number and its id, else the first visit of that id: a
// store that was imported again numbers its visits anew.
func (t *Timeline) Places(labels []Label) []Node {
	if len(labels) == 0 {
		return nil
	}
	wanted := map[string][]int{} // the labels of an id
	for i := range labels {
		wanted[labels[i].ID] = append(wanted[labels[i].ID], i)
	}
	found := make([]Node, len(labels))
	for i := range found {
		found[i] = NoNode
	}
	for n := range Node(t.Len()) {
		for _, i := range wanted[t.headers.id(int(n))] {
			if found[i] == NoNode || labels[i].Visit != 0 && t.Header(n).Visit == labels[i].Visit {
				found[i] = n
			}
		}
	}
	return found
}

// SetLabels tells the timeline the labels of its session, and replaces the previous labels. A label stays
// with its visit while headers are appended; a label whose snapshot is missing is left out, and found by
// the next call. It is no reading: as for Append, nothing else may use the timeline meanwhile.
func (t *Timeline) SetLabels(labels []Label) {
	t.labels = map[Node][]Label{}
	for i, n := range t.Places(labels) {
		if n != NoNode {
			t.labels[n] = append(t.labels[n], labels[i])
		}
	}
	for _, list := range t.labels {
		slices.SortFunc(list, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	}
}

// Labels returns the labels of a node, by name, or nil. The caller may not write to
// them.
func (t *Timeline) Labels(n Node) []Label { return t.labels[n] }

// FindLabel returns the visit that has a label, or NoNode.
func (t *Timeline) FindLabel(name string) Node {
	for n, list := range t.labels {
		for i := range list {
			if list[i].Name == name {
				return n
			}
		}
	}
	return NoNode
}
