package pi

import (
	"testing"

	"hindcast/store/storetest"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil), "../../../testdata/coding/pi") }
