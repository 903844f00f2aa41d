package model

import (
	"fmt"
	"time"
)

// DescribeEnd says when the tool deletes the session for its age, at a time now; "" if that is later than within, or
// never.
func (i *SessionInfo) DescribeEnd(now time.Time, within time.Duration) string {
	const day = 24 * time.Hour
	left := i.ExpiresAt.Sub(now)
	switch {
	case i.ExpiresAt.IsZero() || left > within:
		return ""
	case left <= 0:
		return "the next start deletes this session"
	case left < day:
		return fmt.Sprintf("deleted in %d h", left/time.Hour+1)
	}
	return fmt.Sprintf("deleted in %d d", left/day)
}
