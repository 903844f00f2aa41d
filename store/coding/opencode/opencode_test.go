package opencode

import (
	"testing"

	"hindcast/store/storetest"
)

const fixture = "../../../testdata/coding/opencode"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil), fixture) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil), fixture) }
