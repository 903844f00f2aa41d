package runs

import (
	"fmt"
	"strings"
	"testing"
)

// How bad each fault of each hazard is decides what a repair mends.
func TestFaults_haveASeverity(t *testing.T) {
	var text strings.Builder
	for _, sdk := range []struct {
		name, folder string
		within       []string
	}{{"python", "python-multiagent-life", nil}, {"typescript", "typescript-multiagent-life", []string{"data"}}} {
		for _, h := range hazards(t, sdk.name) {
			for _, f := range decode(t, h.build(t, sdk.folder, sdk.within...)).Faults() {
				fmt.Fprintf(&text, "%-10s %-20s %-50s %-20s %s\n", sdk.name, h.Base, h.Name, f.Code, f.Severity)
			}
		}
	}
	golden(t, "severities.txt", text.String())
}
