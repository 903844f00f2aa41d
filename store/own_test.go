package store_test

import (
	"testing"

	"hindcast/store"
)

func TestOwn_Has(t *testing.T) {
	own := &store.Own{By: "x", Paths: []string{"/events", "/entities/*/context"}}
	for path, want := range map[string]bool{
		"": false, "/events": true, "/events/0/id": true, "/event": false, "/entities/3/context": true, "/entities/3/context/a": true,
		"/entities/3": false, "/entities/3/contexts": false, "/x/events": false,
	} {
		if own.Has(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
