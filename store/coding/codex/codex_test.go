package codex

import (
	"testing"

	"hindcast/store/storetest"
)

const recorded = "../../../testdata/coding/codex"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil), recorded) }
