package diff

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

func TestEdits(t *testing.T) {
	long := strings.Repeat(`line\n`, 20)
	for value, want := range map[string]string{
		`{"file_path":"a.go","old_string":"x\ny","new_string":"x\nz"}`:                                                        "*** a.go\n@@\n x\n-y\n+z\n",
		`{"filePath":"a","oldString":"","newString":"z\n"}`:                                                                   "*** a\n@@\n+z\n",
		`{"path":"a","edits":[{"oldText":"b","newText":"c"},{"oldText":"d","newText":""}]}`:                                   "*** a\n@@\n-b\n+c\n@@\n-d\n",
		`{"old_string":"` + long + `b","new_string":"` + long + `c"}`:                                                         "@@\n@@ 17 lines as before\n line\n line\n line\n-b\n+c\n",
		`{"old_string":"a\nb\nc","new_string":"a\nB\nc\nd"}`:                                                                  "@@\n a\n-b\n+B\n c\n+d\n",
		`{"old_string":"` + long + `b\n` + long + `","new_string":"` + long + `c\n` + long + `"}`:                             "@@\n@@ 17 lines as before\n line\n line\n line\n-b\n+c\n line\n line\n line\n@@ 17 lines as before\n",
		`{"filePath":"a","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" x","-y","+z"]}]}`: "*** a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n",
		`{"command":["apply_patch","*** Begin Patch\n+x\n*** End Patch"]}`:                                                    "*** Begin Patch\n+x\n*** End Patch",
		`"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"`:                                                                               "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
		`"+++ b is not a patch"`:                                                                                              "", `{"old":"x"}`: "", `{"new":1,"old":"x"}`: "", `[]`: "", `3`: "", `{"structuredPatch":[]}`: "", `{"edits":[3]}`: "",
	} {
		tape, err := jsontape.Parse([]byte(value))
		if err != nil {
			t.Fatal(value, err)
		}
		if got := Edits(tape, 0); got != want {
			t.Errorf("%s\n is %q\nwant %q", value, got, want)
		}
	}
}

func TestEditSummary(t *testing.T) {
	for edits, want := range map[string]string{
		"*** a.go\n@@\n-y\n": "a.go +0 -1",
		"*** Begin Patch\n*** Update File: a.go\n+x\n*** Add File: b\n+y\n": "a.go +2 -0",
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n":       "b/a +1 -1",
		"": " +0 -0",
	} {
		file, added, removed := EditSummary(edits)
		if got := fmt.Sprintf("%s +%d -%d", file, added, removed); got != want {
			t.Errorf("%q is %q, want %q", edits, got, want)
		}
	}
}
