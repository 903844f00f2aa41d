package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What means a snapshot, in this order:
//
//	head @ HEAD   the head
//	#7  7         the snapshot with index 7
//	#6.2  #6:1    the name of a visit, see name.go; here too the # may be left out
//	opera         a label, see [Label]
//	3f2a91c0      an id, or at least leastOfID characters from its beginning; or of the
//	              part to which [ShortID] shortens ids that begin alike
//	order-7       the id that the program itself gave the visit, see [Header].Alias, whole
//	              or from its beginning as an id
//	X~2           two snapshots before X, towards the root; X~ is X~1
//
// An id in full needs no least length. Case counts in ids; hexadecimal digits are
// found in either case where nothing fits exactly. An id that looks like a name is
// reached by its index.
//
// What fits several visits is an error: no visit is chosen silently.

// leastOfID is the least number of characters of an id that mean it.
const leastOfID = 4

// maxCandidates bounds what an AmbiguousError of a timeline names.
const maxCandidates = 20

// Resolve returns the visit that spec means. The error is [ErrNoSnapshot], or an
// [AmbiguousError] with the names of the visits that spec fits.
func (t *Timeline) Resolve(spec string) (Node, error) {
	if base, steps, ok := cutSteps(spec); ok {
		return t.resolveBefore(spec, base, steps)
	}
	switch {
	case spec == "":
		return NoNode, noSnapshot(spec, "it is empty")
	case isHead(spec):
		if t.head == NoNode {
			return NoNode, noSnapshot(spec, "the session has no head: name a snapshot by its index or its id")
		}
		return t.head, nil
	}
	digits, sharp := strings.CutPrefix(spec, "#")
	name, isName := parseName(digits)
	if isName {
		if found := t.findNamed(name); len(found.nodes) > 0 {
			return t.onlyNode(spec, found)
		}
		if sharp {
			return NoNode, noSnapshot(spec, t.suggestVisits(name))
		}
	}
	found := t.withID(spec)
	if n := t.FindLabel(spec); n != NoNode && !slices.Contains(found.nodes, n) {
		found.nodes = slices.Insert(found.nodes, 0, n)
	}
	switch short := tooShort(spec) && len(found.nodes) == 0; {
	case short && isName:
		return NoNode, noSnapshot(spec, t.suggestVisits(name))
	case short:
		return NoNode, noSnapshot(spec, fmt.Sprintf("no index, and too short for the beginning of an id (at least %d characters)", leastOfID))
	}
	return t.onlyNode(spec, found)
}

// isHead reports whether a spec means the head.
func isHead(spec string) bool { return spec == "head" || spec == "HEAD" || spec == "@" }

// cutSteps parts X~2 into X and 2.
func cutSteps(spec string) (base string, steps int, ok bool) {
	at := strings.LastIndexByte(spec, '~')
	if at <= 0 {
		return "", 0, false
	}
	if spec[at+1:] == "" {
		return spec[:at], 1, true
	}
	steps, ok = parseNumber(spec[at+1:])
	return spec[:at], steps, ok
}

// resolveBefore returns the snapshot some steps before base. An id that ends so
// itself is meant first.
func (t *Timeline) resolveBefore(spec, base string, steps int) (Node, error) {
	if found := t.fittingVisits(func(id string) bool { return id == spec }); len(found.nodes) > 0 {
		return t.onlyNode(spec, found)
	}
	n, err := t.Resolve(base)
	if err != nil {
		return NoNode, err
	}
	for taken := range steps {
		before := t.Base(n)
		if before == NoNode {
			return NoNode, noSnapshot(spec, fmt.Sprintf("the path begins at %s, %d before %.80s", t.Name(n), taken, base))
		}
		n = before
	}
	return n, nil
}

// onlyNode returns the one node that was found.
func (t *Timeline) onlyNode(spec string, found candidates) (Node, error) {
	switch len(found.nodes) {
	case 0:
		return NoNode, noSnapshot(spec, "")
	case 1:
		return found.nodes[0], nil
	}
	ambiguous := &AmbiguousError{ID: spec, More: found.more}
	for _, n := range found.nodes {
		h := t.Header(n)
		ambiguous.Candidates = append(ambiguous.Candidates, t.Name(n))
		ambiguous.Meanings = append(ambiguous.Meanings, strings.TrimSpace(ShortID(h.ID, 8)+"  "+h.EventText()+"  "+h.Title))
	}
	return NoNode, ambiguous
}

// suggestVisits says which visits there are instead of one whose name none has.
func (t *Timeline) suggestVisits(name visitName) string {
	if t.Len() == 0 {
		return "the session is empty"
	}
	if others := t.findNamed(visitName{index: name.index}); len(others.nodes) > 0 {
		first, last := t.Name(others.nodes[0]), t.Name(others.nodes[len(others.nodes)-1])
		if first == last {
			return "there is only " + first
		}
		return "there are " + first + " to " + last
	}
	least, most := t.headers.index(0), t.headers.index(0)
	for i := range t.Len() {
		least, most = min(least, t.headers.index(i)), max(most, t.headers.index(i))
	}
	return fmt.Sprintf("the snapshots are #%d to #%d", least, most)
}

// noSnapshot returns ErrNoSnapshot about a spec. why may be "".
func noSnapshot(spec, why string) error {
	if why != "" {
		return fmt.Errorf("snapshot %.80q: %w: %s", spec, ErrNoSnapshot, why)
	}
	return fmt.Errorf("snapshot %.80q: %w", spec, ErrNoSnapshot)
}

// tooShort reports whether no id is meant by a beginning of this length.
func tooShort(spec string) bool { return utf8.RuneCountInString(spec) < leastOfID }

// visitName is the name of a visit in its parts; 0 stands for a part that is not
// there.
type visitName struct{ index, turn, step int }

// parseName reads the name of a visit, without the #. An index is spelled as names
// spell it: 0012 is the beginning of an id.
func parseName(text string) (name visitName, ok bool) {
	text, step, hasStep := strings.Cut(text, ":")
	text, turn, hasTurn := strings.Cut(text, ".")
	index, err := strconv.Atoi(text)
	name.index, ok = index, err == nil && strconv.Itoa(index) == text
	if hasStep && ok {
		name.step, ok = parseNumber(step)
	}
	if hasTurn && ok {
		name.turn, ok = parseNumber(turn)
	}
	return name, ok
}

// parseNumber reads a number from 1 of digits alone.
func parseNumber(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil && n > 0
}

// findNamed returns the visits that a name fits. An index alone means snapshots, and not
// the steps of their turns.
func (t *Timeline) findNamed(name visitName) (found candidates) {
	for i := range t.Len() {
		n := Node(i)
		if t.headers.index(i) == name.index && t.stepOf(n) == name.step && (name.turn == 0 || t.turnOf(n) == name.turn) {
			found.addCandidate(n)
		}
	}
	return found
}

// withID returns the visits of an id, or of the ids that a part fits.
func (t *Timeline) withID(spec string) candidates {
	found := t.fittingVisits(func(id string) bool { return id == spec })
	if len(found.nodes) > 0 || tooShort(spec) {
		return found
	}
	found = t.fittingVisits(func(id string) bool { return strings.HasPrefix(id, spec) })
	if len(found.nodes) == 0 && isHex(spec) {
		found = t.fittingVisits(func(id string) bool { return hasPrefixFold(id, spec) })
	}
	if len(found.nodes) == 0 {
		found = t.fittingVisits(func(id string) bool { return isDiffering(id, spec) })
	}
	return found
}

func hasPrefixFold(id, prefix string) bool {
	return len(id) >= len(prefix) && strings.EqualFold(id[:len(prefix)], prefix)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// fittingVisits returns the visits whose id or alias fits.
func (t *Timeline) fittingVisits(fits func(id string) bool) (found candidates) {
	for i := range t.Len() {
		if alias := t.headers.alias(i); fits(t.headers.id(i)) || alias != "" && fits(alias) {
			found.addCandidate(Node(i))
		}
	}
	return found
}

// candidates are the nodes that a spec could mean; more counts those there was
// no room for.
type candidates struct {
	nodes []Node
	more  int
}

func (c *candidates) addCandidate(n Node) {
	if len(c.nodes) == maxCandidates {
		c.more++
		return
	}
	c.nodes = append(c.nodes, n)
}
