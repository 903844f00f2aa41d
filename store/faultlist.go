package store

import (
	"fmt"
	"maps"
	"slices"

	"hindcast/model"
)

// mostFaults bounds the faults of one code and severity that are listed one by one.
const mostFaults = 20

// FaultList gathers the faults of a session for a Doctor. The zero value is
// empty. It is not safe for concurrent use.
type FaultList struct {
	list  []model.Fault
	count map[sort]int
}

// sort is the key by which faults are counted, so that many mild faults do not hide a severe one.
type sort struct {
	code     string
	severity model.Severity
}

// Add notes a fault.
func (l *FaultList) Add(f model.Fault) {
	if l.count == nil {
		l.count = make(map[sort]int)
	}
	of := sort{f.Code, f.Severity}
	if l.count[of]++; l.count[of] <= mostFaults {
		l.list = append(l.list, f)
	}
}

// CloneList returns a copy of the list.
func (l *FaultList) CloneList() FaultList {
	return FaultList{slices.Clone(l.list), maps.Clone(l.count)}
}

// Full reports whether a fault like one would only be counted.
func (l *FaultList) Full(f model.Fault) bool { return l.count[sort{f.Code, f.Severity}] >= mostFaults }

// Has reports whether a fault of a code was noted.
func (l *FaultList) Has(code string) bool {
	return slices.ContainsFunc(l.list, func(f model.Fault) bool { return f.Code == code })
}

// All returns the faults in the order in which they were noted; of each code and
// severity at most 20, and at the end one that counts the others. The list is the caller's.
func (l *FaultList) All() []model.Fault {
	list := slices.Clone(l.list)
	told := make(map[sort]bool)
	for _, f := range l.list {
		of := sort{f.Code, f.Severity}
		more := l.count[of] - mostFaults
		if more > 0 && !told[of] {
			told[of] = true
			list = append(list, model.Fault{Code: f.Code, Meaning: fmt.Sprintf("the same in %d more places", more), Verdict: f.Verdict, Severity: f.Severity})
		}
	}
	return list
}

// Codes of the faults that package inspect gives besides those of a
// model.Timeline.
const (
	FaultHashMismatch = "hash-mismatch"
	FaultState        = "unreadable-state"
)

// FaultUnread: records have a text that no message shows.
const FaultUnread = "unread-text"

// UnreadRecords returns how many records have texts that no message shows, by the faults of a session.
func UnreadRecords(faults []model.Fault) (n int) {
	for i := range faults {
		if faults[i].Code == FaultUnread {
			n += faults[i].Records
		}
	}
	return n
}

// A session is looked through for faults before anyone asks where it has so many snapshots at most,
// with states of so many bytes.
const (
	quickSnapshots = 1000
	quickBytes     = 64 << 20
)

// IsQuickToCheck reports whether a session is so small that its faults are looked for unasked.
func IsQuickToCheck(t *model.Timeline) bool {
	size := int64(0)
	for n := range model.Node(min(t.Len(), quickSnapshots+1)) {
		size += t.Header(n).Size
	}
	return t.Len() > 0 && t.Len() <= quickSnapshots && size <= quickBytes
}
