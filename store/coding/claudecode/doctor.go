package claudecode

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/store/coding"
)

// Codes of faults.
const (
	// FaultPointer: the newest last-prompt names a record that is not in the file.
	FaultPointer = "pointer-missing"
	// FaultKept: a compaction keeps messages that are not in the file.
	FaultKept = "kept-missing"
)

// faults returns what is wrong with the records of a session.
func (b *build) faults() (list []model.Fault) {
	file := b.s.Spot.File
	list = append(list, coding.UnknownFaults(file, b.unknown)...)
	if b.pointer != nil {
		if _, there := b.at[b.pointer.text]; !there {
			list = append(list, model.Fault{Code: FaultPointer, Severity: model.Odd, File: file, Meaning: fmt.Sprintf("the newest last-prompt names the record %.60q, which is not in the file", b.pointer.text), Verdict: "Claude Code goes on from the last record"})
		}
	}
	if n := len(b.missing); n > 0 {
		list = append(list, model.Fault{Code: FaultKept, Severity: model.Loses, File: file, Meaning: "a compaction keeps " + model.Count(n, "record") + " that the file does not have: " + strings.Join(b.missing[:min(n, 3)], ", "), Verdict: "Claude Code keeps none of them"})
	}
	return list
}
