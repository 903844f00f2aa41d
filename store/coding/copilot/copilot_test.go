package copilot

import (
	"testing"

	"hindcast/store/storetest"
)

const fixtures = "../../../testdata/coding/copilot-cli"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil), fixtures) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil), fixtures) }
