package query_test

import (
	"testing"
	"time"

	"hindcast/query"
)

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 11, 29, 14, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"today": "2026-11-29T00:00:00+02:00", "yesterday": "2026-11-28T00:00:00+02:00",
		"12h": "2026-11-29T02:30:00+02:00", "7d": "2026-11-22T14:30:00+02:00", "2w": "2026-11-15T14:30:00+02:00",
		"2026-11-01": "2026-11-01T00:00:00+02:00", "2026-11-01T10:00:00Z": "2026-11-01T10:00:00Z",
		"": "", "7": "", "d": "", "7y": "", "99999999999999999999d": "", "1000000d": "", "2026-13-01": "", "-3d": "",
	} {
		at, err := query.ParseSince(text, now)
		if got := at.Format(time.RFC3339); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}
