package cli

import (
	"strings"
	"testing"

	"hindcast/model"
)

// Where a session has no head, nothing is said to be meant by it.
func TestVisit_withoutHead(t *testing.T) {
	none := model.NewTimeline([]model.Header{{ID: "aaaa1111", SessionID: "s", Orphaned: true}})
	if none.Head() != model.NoNode {
		t.Fatal("the session has a head")
	}
	for _, spec := range []string{"head", "HEAD", "heat"} {
		if _, err := findVisit(none, spec); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	one := model.NewTimeline([]model.Header{{ID: "aaaa1111", SessionID: "s", Head: true}})
	if _, err := findVisit(one, "heat"); err == nil || !strings.Contains(err.Error(), `did you mean "head"?`) {
		t.Errorf("with a head: %v", err)
	}
}
