package model

import (
	"math"
	"strconv"
	"time"
)

// Count says how many things there are: "1 fault", "2 faults". The noun must form its plural with an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// ShortCount returns a count of tokens in at most five cells: "999", "12.3k", "1.2M".
func ShortCount(n float64) string {
	const units = "kMGT"
	if n < 999.5 {
		return strconv.Itoa(int(math.RoundToEven(n)))
	}
	for i, unit := range units {
		n /= 1000
		switch {
		case n < 99.95:
			tenths := int(math.RoundToEven(10 * n)) // in each frame: without what formats any number
			var buf [8]byte
			text := append(strconv.AppendInt(buf[:0], int64(tenths/10), 10), '.', '0'+byte(tenths%10), byte(unit))
			return string(text)
		case n < 999.5 || i == len(units)-1:
			return strconv.FormatFloat(min(n, 9999), 'f', 0, 64) + string(unit)
		}
	}
	return ""
}

// Thousands writes a number with a comma before every three digits.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// ShortTime returns a number of milliseconds with as many digits as tell: "340ms", "12.3s", "1m14s".
func ShortTime(ms float64) string {
	d, digits := time.Duration(ms*float64(time.Millisecond)), time.Second
	switch {
	case d < time.Second:
		digits = time.Millisecond
	case d < time.Minute:
		digits = 100 * time.Millisecond
	}
	return d.Round(digits).String()
}
