package snapshots

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// How bad each fault of each hazard is decides what a restore refuses.
func TestFaults_haveASeverity(t *testing.T) {
	skip.Sequential(t)
	s, names := hazardStore(t)
	var text strings.Builder
	for _, name := range names {
		for _, f := range storetest.Faults(t, s, name) {
			fmt.Fprintf(&text, "%-28s %-24s %s\n", name, f.Code, f.Severity)
		}
	}
	golden(t, "snapshot-severities.txt", text.String())
}
