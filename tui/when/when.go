// Package when says in words how long ago something was. Panes share it; it may
// not know what a time stands for.
package when

import (
	"strconv"
	"time"
)

var units = []struct {
	size time.Duration
	name string
}{{365 * 24 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}}

// Ago says how long before now t was, in the largest unit that fits: "5 h ago",
// "just now" within a minute, "in future" for a time that is still to come. It
// is "" for the zero time.
func Ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return ""
	case d < 0:
		return "in future"
	}
	for _, unit := range units {
		if d >= unit.size {
			return strconv.Itoa(int(d/unit.size)) + " " + unit.name + " ago"
		}
	}
	return "just now"
}
