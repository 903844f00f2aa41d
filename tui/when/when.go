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

// AppendShort writes a duration in the first of its units with two
// digits at most: "+40s", in four cells up to 99 years.
func AppendShort(dst []byte, d time.Duration) []byte {
	sign := byte('+')
	if d < 0 {
		sign, d = '-', -d
	}
	switch tenth := d / (100 * time.Millisecond); {
	case tenth == 0 && d > 0:
		return append(dst, "<.1s"...)
	case tenth > 0 && tenth < 10:
		return append(dst, sign, '.', '0'+byte(tenth), 's')
	}
	dst = append(dst, sign)
	const day = 24 * time.Hour
	for _, unit := range []struct {
		size time.Duration
		name byte
	}{{time.Second, 's'}, {time.Minute, 'm'}, {time.Hour, 'h'}, {day, 'd'}, {7 * day, 'w'}} {
		if n := int64(d.Round(unit.size) / unit.size); n < 100 {
			return append(strconv.AppendInt(dst, n, 10), unit.name)
		}
	}
	return append(strconv.AppendInt(dst, int64(d/(365*day)), 10), 'y')
}
