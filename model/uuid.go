package model

import (
	"strconv"
	"time"
)

// TimeOfUUID returns the time in a UUID of version 6 or 7, or the zero time for any other id.
func TimeOfUUID(id string) time.Time {
	if len(id) != 36 {
		return time.Time{}
	}
	high, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	low, errLow := strconv.ParseInt(id[15:18], 16, 64)
	if err != nil || errLow != nil || high < 0 || low < 0 {
		return time.Time{}
	}
	switch id[14] {
	case '6': // 60 bits, in units of 100 ns
		const from1582to1970 = 122_192_928_000_000_000
		ticks := high<<12 + low - from1582to1970
		return time.Unix(ticks/1e7, ticks%1e7*100).UTC()
	case '7': // 48 bits, in milliseconds
		return time.UnixMilli(high).UTC()
	}
	return time.Time{}
}
