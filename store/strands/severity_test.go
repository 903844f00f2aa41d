package strands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

func severityOf(f *model.Fault) string {
	switch {
	case f.Note:
		return "note"
	case strings.HasPrefix(f.Verdict, refuses):
		return "stops"
	case fatal(f):
		return "loses"
	case strings.HasPrefix(f.Verdict, repaired):
		return "mended"
	}
	return "odd"
}

// How bad each fault of each hazard is decides what a repair mends and what a restore
// refuses.
func TestFaults_haveASeverity(t *testing.T) {
	var text strings.Builder
	all := hazards(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, f := range storetest.Faults(t, openFiles(t, all[name]), "h") {
			fmt.Fprintf(&text, "%-28s %-24s %s\n", name, f.Code, severityOf(&f))
		}
	}
	golden(t, "severities.txt", text.String())
}
