package store

import (
	"fmt"
	"slices"

	"hindcast/model"
)

// mostFaults bounds the faults of one code that are listed one by one.
const mostFaults = 20

// FaultList gathers the faults of a session for a Doctor. The zero value is
// empty. It is not safe for concurrent use.
type FaultList struct {
	list  []model.Fault
	count map[string]int
}

// Add notes a fault.
func (l *FaultList) Add(f model.Fault) {
	if l.count == nil {
		l.count = make(map[string]int)
	}
	if l.count[f.Code]++; l.count[f.Code] <= mostFaults {
		l.list = append(l.list, f)
	}
}

// Has reports whether a fault of a code was noted.
func (l *FaultList) Has(code string) bool { return l.count[code] > 0 }

// All gives the faults in the order in which they were noted; of each code at
// most 20, and at the end one that counts the others. The list is the caller's.
func (l *FaultList) All() []model.Fault {
	list := slices.Clone(l.list)
	told := make(map[string]bool)
	for _, f := range l.list {
		more := l.count[f.Code] - mostFaults
		if more > 0 && !told[f.Code] {
			told[f.Code] = true
			list = append(list, model.Fault{Code: f.Code, Meaning: fmt.Sprintf("the same in %d more places", more), Verdict: f.Verdict})
		}
	}
	return list
}
