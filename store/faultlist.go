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
	count map[sort]int
}

// sort is what faults are counted by: notes take no fault its place.
type sort struct {
	code string
	note bool
}

// Add notes a fault.
func (l *FaultList) Add(f model.Fault) {
	if l.count == nil {
		l.count = make(map[sort]int)
	}
	of := sort{f.Code, f.Note}
	if l.count[of]++; l.count[of] <= mostFaults {
		l.list = append(l.list, f)
	}
}

// Has reports whether a fault of a code was noted.
func (l *FaultList) Has(code string) bool {
	return l.count[sort{code, false}]+l.count[sort{code, true}] > 0
}

// All gives the faults in the order in which they were noted; of each code at
// most 20, and at the end one that counts the others. The list is the caller's.
func (l *FaultList) All() []model.Fault {
	list := slices.Clone(l.list)
	told := make(map[sort]bool)
	for _, f := range l.list {
		of := sort{f.Code, f.Note}
		more := l.count[of] - mostFaults
		if more > 0 && !told[of] {
			told[of] = true
			list = append(list, model.Fault{Code: f.Code, Meaning: fmt.Sprintf("the same in %d more places", more), Verdict: f.Verdict, Note: f.Note})
		}
	}
	return list
}
