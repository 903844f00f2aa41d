package model

import "testing"

// What is said of a spec that means nothing.
func TestTimeline_Resolve_says(t *testing.T) {
	headers, _ := picture{"", `
aa11 - #0        ¦
ab22 aa11        ¦
`}.read(t)
	for spec, want := range map[string]string{
		"":       `snapshot "": no such snapshot: it is empty`,
		"~1":     `snapshot "~1": no such snapshot: no index, and too short for the beginning of an id (at least 4 characters)`,
		"ab2":    `snapshot "ab2": no such snapshot: no index, and too short for the beginning of an id (at least 4 characters)`,
		"#7":     `snapshot "#7": no such snapshot: the snapshots are #0 to #1`,
		"7":      `snapshot "7": no such snapshot: the snapshots are #0 to #1`,
		"#1.3":   `snapshot "#1.3": no such snapshot: there is only #1`,
		"abcdef": `snapshot "abcdef": no such snapshot`,
		"head~3": `snapshot "head~3": no such snapshot: the path begins at #0, 1 before head`,
	} {
		_, err := NewTimeline(headers).Resolve(spec)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", spec, err, want)
		}
	}
	if _, err := NewTimeline(nil).Resolve("@"); err == nil || err.Error() != `snapshot "@": no such snapshot: the session has no head: name a snapshot by its index or its id` {
		t.Error(err)
	}
}
