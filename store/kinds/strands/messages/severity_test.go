package messages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// How bad each fault of each hazard is decides what a repair mends and what a restore
// refuses.
func TestFaults_haveASeverity(t *testing.T) {
	skip.Sequential(t)
	var text strings.Builder
	all := hazards(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, f := range storetest.Faults(t, openFiles(t, all[name]), "h") {
			fmt.Fprintf(&text, "%-28s %-24s %s\n", name, f.Code, f.Severity)
		}
	}
	golden(t, "severities.txt", text.String())
}
