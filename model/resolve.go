package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCandidates bounds what an AmbiguousError of a timeline names.
const maxCandidates = 20

// Resolve finds the visit that a person means by spec:
//
//   - "head" is the head;
//   - "#4" is the visit with index 4: the active one if several have it. The
//     steps of its turn, which bear the same index, are not meant;
//   - an id, or the beginning of one that fits no other id. Of several visits
//     of one id it is the latest active one, else the latest;
//   - the end of an id that [ShortID] gives the end of.
//
// Ids are data, so case counts; only where nothing fits exactly, hexadecimal
// digits are found in either case. An id that is "head" or begins with "#" can
// only be reached by its index. The error is [ErrNoSnapshot], or an
// [AmbiguousError] with the ids that it could be.
func (t *Timeline) Resolve(spec string) (Node, error) {
	var found candidates
	switch index, isIndex := strings.CutPrefix(spec, "#"); {
	case spec == "head":
		if t.head != NoNode {
			return t.head, nil
		}
	case isIndex:
		found = t.withIndex(index)
	case spec != "":
		found = t.withID(spec, strings.HasPrefix)
		if len(found.nodes) == 0 && isHex(spec) {
			found = t.withID(spec, hasPrefixFold)
		}
		if len(found.nodes) == 0 && isHex(spec) {
			found = t.withID(spec, hasTimeOrderedSuffixFold)
		}
	}
	switch len(found.nodes) {
	case 0:
		return NoNode, fmt.Errorf("snapshot %.80q: %w", spec, ErrNoSnapshot)
	case 1:
		return found.nodes[0], nil
	}
	ambiguous := &AmbiguousError{ID: spec, More: found.more}
	for _, n := range found.nodes {
		ambiguous.Candidates = append(ambiguous.Candidates, t.headers[n].ID)
	}
	return NoNode, ambiguous
}

func hasPrefixFold(id, prefix string) bool {
	return len(id) >= len(prefix) && strings.EqualFold(id[:len(prefix)], prefix)
}

func hasTimeOrderedSuffixFold(id, suffix string) bool {
	return len(id) >= len(suffix) && timeOrdered(id) && strings.EqualFold(id[len(id)-len(suffix):], suffix)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// candidates are the nodes that a spec could mean; more counts those there was
// no room for.
type candidates struct {
	nodes []Node
	more  int
}

func (c *candidates) add(n Node) {
	if len(c.nodes) == maxCandidates {
		c.more++
		return
	}
	c.nodes = append(c.nodes, n)
}

// withIndex gives the active visits with an index, or all of them if none is
// active.
func (t *Timeline) withIndex(index string) candidates {
	var active, all candidates
	want, err := strconv.Atoi(index)
	if err != nil {
		return all
	}
	for i := range t.headers {
		if t.headers[i].Index != want || t.traced(Node(i)) {
			continue
		}
		all.add(Node(i))
		if t.OnPath(Node(i)) {
			active.add(Node(i))
		}
	}
	if len(active.nodes) > 0 {
		return active
	}
	return all
}

// withID gives one visit of every id that fits, or of the id that is meant in
// full.
func (t *Timeline) withID(spec string, fits func(id, prefix string) bool) candidates {
	var found candidates
	exact := NoNode
	for i := range t.headers {
		n, id := Node(i), t.headers[i].ID
		if !fits(id, spec) {
			continue
		}
		if len(id) == len(spec) && id == spec {
			exact = t.preferred(exact, n)
			continue
		}
		seen := slices.IndexFunc(found.nodes, func(have Node) bool { return t.headers[have].ID == id })
		if seen < 0 {
			found.add(n)
			continue
		}
		found.nodes[seen] = t.preferred(found.nodes[seen], n)
	}
	if exact != NoNode {
		return candidates{nodes: []Node{exact}}
	}
	return found
}

// preferred chooses between two visits of one id, of which b is later.
func (t *Timeline) preferred(a, b Node) Node {
	if a != NoNode && t.OnPath(a) && !t.OnPath(b) {
		return a
	}
	return b
}
