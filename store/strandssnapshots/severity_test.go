package strandssnapshots

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

func severityOf(f *model.Fault) string {
	switch {
	case f.Severity == model.Note:
		return "note"
	case strings.Contains(f.Verdict, refuses):
		return "stops"
	}
	return "starts"
}

// How bad each fault of each hazard is decides what a restore refuses.
func TestFaults_haveASeverity(t *testing.T) {
	s, names := hazardStore(t)
	var text strings.Builder
	for _, name := range names {
		for _, f := range storetest.Faults(t, s, name) {
			fmt.Fprintf(&text, "%-28s %-24s %s\n", name, f.Code, severityOf(&f))
		}
	}
	golden(t, "snapshot-severities.txt", text.String())
}
