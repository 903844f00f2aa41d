package model

import (
	"testing"
	"time"
)

func TestTimeOfUUID(t *testing.T) {
	for id, want := range map[string]time.Time{
		"1f1e6651-7353-6046-bfff-fc4caea1a423": time.Date(2026, time.November, 22, 11, 8, 48, 64_314_200, time.UTC), // LangGraph's, which notes 11:08:48.064300
		"1ec9414c-232a-6b00-b3c8-9f6bdeced846": time.Date(2022, time.February, 22, 19, 22, 22, 0, time.UTC),         // RFC 9562, A.5
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f": time.Date(2022, time.February, 22, 19, 22, 22, 0, time.UTC),         // RFC 9562, A.6
		"919108f7-52d1-4320-9bac-f847db4148a8": {},                                                                  // version 4
		"":                                     {},
		"1f1e6651-7353-6046-bfff":              {},
		"1f1e6651-7353-6xyz-bfff-fc4caea1a423": {},
		"-f1e6651-7353-6046-bfff-fc4caea1a423": {},
		"x1f1e6651-7353-6046-bfff-fc4caea1a42": {},
	} {
		if got := TimeOfUUID(id); got.Sub(want).Abs() > time.Microsecond {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
}
