package adk

import (
	"testing"

	"hindcast/store/storetest"
)

// At every event of recorded stores of both services: what is written, taken back and done again.
func TestRows(t *testing.T) {
	for _, name := range []string{"sqlite_service.db", "database_service.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Rows(t, Kind(), recorded(name), "sessions")
		})
	}
}
