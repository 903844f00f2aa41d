package crewai

import (
	"path/filepath"
	"testing"

	"hindcast/store/storetest/weavetest"
)

// A checkpoint is a whole state, and all are read by one statement.
func TestWeave(t *testing.T) {
	k := kindOfRows("")
	weavetest.Weaves(t, k, "long-run", -1, weavetest.Grown(filepath.Join("..", "..", "..", "testdata", "crewai", "checkpoints.db"), `INSERT INTO checkpoints SELECT printf('%s_%08x', strftime('%Y%m%dT%H%M%S', i, 'unixepoch'), i), strftime('%Y%m%dT%H%M%S', i, 'unixepoch'), iif(i > 1, printf('%s_%08x', strftime('%Y%m%dT%H%M%S', i - 1, 'unixepoch'), i - 1), NULL), 'main', '{"entities":[{"name":"long"}],"n":' || i || '}' FROM n`))
}
