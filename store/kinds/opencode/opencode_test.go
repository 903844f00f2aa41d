package opencode

import (
	"testing"

	"hindcast/store/storetest"
)

const fixture = "../../../testdata/coding/opencode"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixture) }

// recorded has a sub-agent, a revert that was carried out, one that is pending within a message,
// a copy, and a compaction.
const recorded = "testdata/recorded"

func TestRead_recorded(t *testing.T) { storetest.Read(t, Kind(nil).Kind, recorded) }

func TestFork_recorded(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, recorded) }

// Sessions of the recorded store.
const (
	main      = "ses_df4852fc1ffeExf3cFHlSf36fK"
	compacted = "ses_df4838842ffeyneOPOyJKyHCwV"
)
