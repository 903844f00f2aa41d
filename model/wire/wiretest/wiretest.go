// Package wiretest holds what a Genkit runtime really sent, for the tests of
// both sides of the reflection API.
package wiretest

import (
	_ "embed"
	"strings"
)

//go:embed genkit.txtar
var recorded string

// Genkit returns the recorded texts, by name: "NAME/request", "NAME/header" and "NAME/answer", and
// "actions.json" for the list of actions.
func Genkit() map[string]string {
	files := map[string]string{}
	name := ""
	for line := range strings.Lines(recorded) {
		if marker, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(marker, " --\n")
			files[name] = ""
		} else if name != "" {
			files[name] += line
		}
	}
	return files
}
