package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseSince returns the moment that a person named: today, yesterday, a number of hours, days or weeks ago (12h, 7d,
// 2w), a day (2026-11-01) or a time (RFC 3339). Days begin at midnight of now's zone.
func ParseSince(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	const mostUnits = 100_000 // centuries of days
	if unit := strings.TrimLeft(text, "0123456789"); unit != text {
		n, err := strconv.Atoi(strings.TrimSuffix(text, unit))
		switch {
		case err != nil || n > mostUnits:
		case unit == "h":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case unit == "d":
			return now.AddDate(0, 0, -n), nil
		case unit == "w":
			return now.AddDate(0, 0, -7*n), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time: give today, yesterday, 12h, 7d, 2w, or a day as 2026-11-01", text)
}
