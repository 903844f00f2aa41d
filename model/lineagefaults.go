package model

import (
	"fmt"
	"sync"
)

// maxFaultsOfKind bounds how many faults of one kind a timeline lists; the
// rest are counted.
const maxFaultsOfKind = 20

// Codes of the faults that [Timeline.Faults] gives.
const (
	FaultMissingParent  = "missing-parent"
	FaultForeignParent  = "foreign-parent"
	FaultSelfParent     = "self-parent"
	FaultParentCycle    = "parent-cycle"
	FaultParentMismatch = "parent-mismatch"
	FaultSeveralRoots   = "several-roots"
	FaultSeveralHeads   = "several-heads"
	FaultOrphanedPath   = "orphaned-path"
	FaultEqualIndex     = "equal-index"
	FaultIndexBack      = "index-back"
	FaultTurnBack       = "turn-back"
	FaultTurnRepeated   = "turn-repeated"
	FaultEqualTime      = "equal-time"
	FaultParentNewer    = "parent-newer"
	FaultDuplicateVisit = "duplicate-visit"
)

// seedVerdicts describe how a program after the Genkit Go design handles each fault. It loads a snapshot by
// its id and keeps the parent for information (sections 2 and 7), lists by index and orphans by index
// (section 2), and goes on from the turn and index of the snapshot (section 7). It knows no visits.
var seedVerdicts = sync.OnceValue(func() map[string]string {
	return map[string]string{
		FaultMissingParent:  "loads the snapshot by its id, and does not follow parents",
		FaultForeignParent:  "loads the snapshot by its id, and does not follow parents",
		FaultSelfParent:     "loads the snapshot by its id, and does not follow parents",
		FaultParentCycle:    "loads the snapshot by its id, and does not follow parents",
		FaultParentMismatch: "loads the snapshot by its id, and does not follow parents",
		FaultSeveralRoots:   "lists all of them by index, as one line",
		FaultSeveralHeads:   "resumes from the last snapshot in the session's record",
		FaultOrphanedPath:   "lists it only when orphaned snapshots are asked for",
		FaultEqualIndex:     "lists the two in any order, and a restore to either orphans neither",
		FaultIndexBack:      "lists it before its parent, and a restore to the parent does not orphan it",
		FaultTurnBack:       "counts on from the turn of the snapshot that it resumes",
		FaultTurnRepeated:   "counts on from the turn of the snapshot that it resumes",
		FaultEqualTime:      "orders by index, and does not look at the time",
		FaultParentNewer:    "orders by index, and does not look at the time",
		FaultDuplicateVisit: "knows snapshots, not visits",
	}
})

// Faults returns everything that is wrong with the lineage of the visits, in
// recorded order within each kind. Of each kind at most 20 are listed, and one
// more then says how many are not. The timeline draws them all the same: a
// lineage is never refused. The time is linear in the number of visits.
//
// The verdicts describe a program after the Genkit Go design; a store of another framework puts its own in
// their place.
//
// Indexes, turns and times are judged only where the session has them: if all of them are zero, the session
// does not record them.
//
// Steps are not judged, and a snapshot is compared with the snapshot before it.
// What is wrong with the edge of a step is told of the snapshot that its turn
// ended in, because it is that one's parent which the step stands behind.
func (t *Timeline) Faults() []Fault {
	l := faultList{Timeline: t, at: make(map[string]int)}
	l.measureNumbers()
	for i := range t.Len() {
		n := Node(i)
		l.judgeEdge(n)
		if p := t.parent[n]; p != NoNode && !t.IsStep(n) {
			l.judgeStep(n, l.snapshotBefore(p))
		}
	}
	l.judgeRoots()
	l.judgeHeads()
	l.judgeVisits()
	return l.listFaults()
}

// faultList gathers faults, a bounded number of each kind.
type faultList struct {
	*Timeline
	kinds           []faultKind // in order of first appearance
	at              map[string]int
	indexed, turned bool
	// behind is the snapshot before each step for which it was looked for.
	behind map[Node]Node
}

// snapshotBefore returns n, or if it is a step the snapshot before it. Each step is passed
// once, however many turns begin with the same ones.
func (l *faultList) snapshotBefore(n Node) Node {
	if !l.IsStep(n) {
		return n
	}
	if l.behind == nil {
		l.behind = make(map[Node]Node)
	}
	at := n
	for at != NoNode && l.IsStep(at) {
		if known, ok := l.behind[at]; ok {
			at = known
			break
		}
		at = l.parent[at]
	}
	for ; n != NoNode && l.IsStep(n); n = l.parent[n] {
		if _, ok := l.behind[n]; ok {
			break
		}
		l.behind[n] = at
	}
	return at
}

type faultKind struct {
	listed []Fault
	more   int
}

// measureNumbers finds out which numbers the session has at all.
func (l *faultList) measureNumbers() {
	for i := range l.Len() {
		l.indexed = l.indexed || l.headers.index(i) != 0
		l.turned = l.turned || l.headers.At(i).TurnIndex != 0
		if l.indexed && l.turned {
			return
		}
	}
}

// addFault notes a fault of a visit. The meaning is only put together when there is
// room for it.
func (l *faultList) addFault(code string, n Node, path string, meaning func() string) {
	k, ok := l.at[code]
	if !ok {
		k = len(l.kinds)
		l.at[code] = k
		l.kinds = append(l.kinds, faultKind{})
	}
	kind := &l.kinds[k]
	if len(kind.listed) == maxFaultsOfKind {
		kind.more++
		return
	}
	if end := l.EndOf(n); end != NoNode {
		n = end
	}
	h := l.Header(n)
	kind.listed = append(kind.listed, Fault{Code: code, File: h.SessionID + "/" + h.ID, Path: path, Meaning: meaning(), Verdict: seedVerdicts()[code]})
}

// listFaults returns all faults, each kind with the count of faults left out.
func (l *faultList) listFaults() []Fault {
	var faults []Fault
	for _, kind := range l.kinds {
		faults = append(faults, kind.listed...)
		if kind.more > 0 {
			last := kind.listed[len(kind.listed)-1]
			faults = append(faults, Fault{Code: last.Code, Meaning: fmt.Sprintf("%d more of this kind", kind.more)})
		}
	}
	return faults
}

// nameVisit returns a visit in few words.
func (l *faultList) nameVisit(n Node) string {
	return fmt.Sprintf("#%d %.12q", l.headers.index(int(n)), l.headers.id(int(n)))
}

// judgeEdge reports a fault if the parent that a visit names was not resolved.
func (l *faultList) judgeEdge(n Node) {
	h := l.Header(n)
	named := func() string {
		if h.ParentVisit != 0 {
			return fmt.Sprintf("visit %d", h.ParentVisit)
		}
		return fmt.Sprintf("%.80q", h.ParentID)
	}
	switch l.flags[n].edge() {
	case edgeMissing:
		l.addFault(FaultMissingParent, n, "/parentId", func() string {
			return fmt.Sprintf("its parent %s is not in the session: pruned, or never written", named())
		})
	case edgeForeign:
		l.addFault(FaultForeignParent, n, "/parentId", func() string {
			return fmt.Sprintf("its parent %s is only in another session", named())
		})
	case edgeSelf:
		l.addFault(FaultSelfParent, n, "/parentId", func() string { return "it is its own parent" })
	case edgeCycle:
		l.addFault(FaultParentCycle, n, "/parentId", func() string {
			return fmt.Sprintf("its lineage runs in a circle; it is cut here, above %s", l.nameVisit(n))
		})
	}
}

// judgeStep compares a snapshot's visit with the snapshot's before it, NoNode if
// nothing but steps is before it.
func (l *faultList) judgeStep(n, p Node) {
	h := l.Header(n)
	if l.IsStep(l.parent[n]) && h.ParentID == h.ID && h.ID != "" {
		l.addFault(FaultSelfParent, n, "/parentId", func() string { return "it is its own parent" })
		return
	}
	if p == NoNode {
		return
	}
	before := l.Header(p)
	if h.ParentID != "" && h.ParentID != before.ID {
		l.addFault(FaultParentMismatch, n, "/parentId", func() string {
			return fmt.Sprintf("it follows visit %d, which is %.12q, but names %.12q as its parent", before.Visit, before.ID, h.ParentID)
		})
	}
	if l.indexed && h.Index <= before.Index {
		code := FaultIndexBack
		if h.Index == before.Index {
			code = FaultEqualIndex
		}
		l.addFault(code, n, "/index", func() string {
			return fmt.Sprintf("its index %d does not come after the index %d of its parent", h.Index, before.Index)
		})
	}
	l.judgeTurn(n, p)
	if h.CreatedAt.IsZero() || before.CreatedAt.IsZero() {
		return
	}
	switch h.CreatedAt.Compare(before.CreatedAt) {
	case -1:
		l.addFault(FaultParentNewer, n, "/createdAt", func() string {
			return fmt.Sprintf("its parent %s is newer by %v", l.nameVisit(p), before.CreatedAt.Sub(h.CreatedAt))
		})
	case 0:
		l.addFault(FaultEqualTime, n, "/createdAt", func() string {
			return fmt.Sprintf("it has the same time as its parent %s", l.nameVisit(p))
		})
	}
}

// judgeTurn holds a step against the rule that the turn index counts completed
// turns: it never goes back, and what comes after a turn's end is in another
// turn, except for the end of the invocation. A step may skip turns, because a
// recorder need not keep every snapshot.
func (l *faultList) judgeTurn(n, p Node) {
	h, before := l.Header(n), l.Header(p)
	if !l.turned || h.TurnIndex > before.TurnIndex {
		return
	}
	if h.TurnIndex < before.TurnIndex {
		l.addFault(FaultTurnBack, n, "/turnIndex", func() string {
			return fmt.Sprintf("its turn %d comes before the turn %d of its parent", h.TurnIndex, before.TurnIndex)
		})
		return
	}
	inTurn := h.Event == SnapshotEventTurnEnd || h.Event == SnapshotEventToolIterationEnd
	if inTurn && before.Event == SnapshotEventTurnEnd {
		l.addFault(FaultTurnRepeated, n, "/turnIndex", func() string {
			return fmt.Sprintf("turn %d had ended with its parent", h.TurnIndex)
		})
	}
}

// judgeRoots names every root but the first.
func (l *faultList) judgeRoots() {
	for i, root := range l.roots {
		if i > 0 {
			l.addFault(FaultSeveralRoots, root, "/parentId", func() string {
				return fmt.Sprintf("it is root %d of %d in one session", i+1, len(l.roots))
			})
		}
	}
}

// judgeHeads names contradictions on where the session stands.
func (l *faultList) judgeHeads() {
	for i := range l.Len() {
		n := Node(i)
		if l.headers.isHead(i) && n != l.head {
			l.addFault(FaultSeveralHeads, n, "", func() string {
				return fmt.Sprintf("it is said to be the head, but so is %s", l.nameVisit(l.head))
			})
		}
		if l.OnPath(n) && l.flags[n]&flagOrphan != 0 && !l.IsStep(n) {
			l.addFault(FaultOrphanedPath, n, "/orphaned", func() string {
				return fmt.Sprintf("it is orphaned, but on the path to the head %s", l.nameVisit(l.head))
			})
		}
	}
}

// judgeVisits names the visits whose number another visit has.
func (l *faultList) judgeVisits() {
	ascending := true
	for i := range l.Len() {
		if i > 0 && l.headers.visit(i) <= l.headers.visit(i-1) {
			ascending = false
			break
		}
	}
	if ascending {
		return
	}
	seen := make(map[visitKey]Node)
	for i := range l.Len() {
		h := l.headers.At(i)
		if h.Visit == 0 {
			continue
		}
		key := visitKey{h.SessionID, h.Visit}
		if first, taken := seen[key]; taken {
			l.addFault(FaultDuplicateVisit, Node(i), "", func() string {
				return fmt.Sprintf("visit %d is also %s", h.Visit, l.nameVisit(first))
			})
			continue
		}
		seen[key] = Node(i)
	}
}
