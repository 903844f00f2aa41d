package mapped

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hindcast/model/jsontape"
)

// ErrTime: a value is no time that is known here.
var ErrTime = errors.New("no time: want RFC 3339, Python's isoformat(), a Date of JavaScript, or a number since 1970")

// layouts are the ways in which a time is written as text. Those without a zone
// are taken as UTC. Fractions of a second are read behind any 05.
var layouts = []string{
	time.RFC3339,                        // and toISOString() of JavaScript
	"2006-01-02T15:04:05Z07:00:00",      // isoformat() of Python in a zone with seconds
	"2006-01-02 15:04:05Z07:00",         // str() of Python
	"2006-01-02T15:04:05Z0700",          //
	"2006-01-02T15:04:05",               // isoformat() of Python without a zone
	"2006-01-02 15:04:05",               //
	"2006-01-02T15:04Z07:00",            //
	"2006-01-02T15:04",                  //
	"2006-01-02",                        //
	"Mon Jan 02 2006 15:04:05 GMT-0700", // toString() of JavaScript, but for the name of the zone
	"Mon, 02 Jan 2006 15:04:05 GMT",     // toUTCString() of JavaScript
	time.RFC1123Z,                       //
}

// readTime reads a time from a text or a number. The text "0" is no time: OTLP writes it where the time is not known.
func readTime(t *jsontape.Tape, n jsontape.Node) (time.Time, error) {
	var text string
	switch t.Kind(n) {
	case jsontape.String:
		if text = t.Text(n); text == "0" {
			return time.Time{}, nil
		}
	case jsontape.Number:
		text = string(t.Raw(n))
	default:
		return time.Time{}, fmt.Errorf("%s is %w", t.Kind(n), ErrTime)
	}
	if at, ok := parseTime(text, t.Kind(n) == jsontape.String); ok {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%.60q is %w", text, ErrTime)
}

// shortestNumber is how long a number in quotes has to be to be one of seconds:
// what is shorter is a year, or a date without hyphens.
const shortestNumber = len("999999999")

func parseTime(text string, quoted bool) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if len(text) >= shortestNumber || !quoted {
		if at, ok := sinceEpoch(text); ok {
			return at, true
		}
	}
	zone := strings.Index(text, " (") // Tue May 14 2024 10:00:00 GMT+0200 (CEST)
	if zone > 0 && strings.HasSuffix(text, ")") {
		text = text[:zone]
	}
	for _, layout := range layouts {
		at, err := time.Parse(layout, text)
		if err != nil || at.Year() < 0 || at.Year() > 9999 {
			continue
		}
		if _, offset := at.Zone(); offset == 0 {
			at = at.UTC()
		}
		return at, true
	}
	return time.Time{}, false
}

// The magnitudes from which on a number counts smaller units: 10^11 seconds are
// in the year 5138, and 10^11 milliseconds in 1973.
const (
	fromMillis = 1e11
	fromMicros = 1e14
	fromNanos  = 1e17
)

// sinceEpoch reads a number since 1970, whose magnitude tells its unit. The
// digits are not rounded, unless the number has an exponent.
func sinceEpoch(text string) (time.Time, bool) {
	size, err := strconv.ParseFloat(text, 64)
	if err != nil || !(size > -9.3e18 && size < 9.2e18) {
		return time.Time{}, false
	}
	if strings.ContainsAny(text, "xXpP_iInN") {
		return time.Time{}, false // a number, but not of JSON
	}
	if strings.ContainsAny(text, "eE") {
		text = strconv.FormatFloat(size, 'f', -1, 64)
	}
	digits := 9 // of a unit's fraction that are nanoseconds
	switch size = max(size, -size); {
	case size >= fromNanos:
		digits = 0
	case size >= fromMicros:
		digits = 3
	case size >= fromMillis:
		digits = 6
	}
	whole, fraction, _ := strings.Cut(text, ".")
	sign := int64(1)
	if strings.HasPrefix(whole, "-") {
		sign = -1
	}
	units, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	nanos := int64(0)
	if digits > 0 && fraction != "" {
		fraction = (fraction + "000000000")[:digits]
		if nanos, err = strconv.ParseInt(fraction, 10, 64); err != nil || nanos < 0 {
			return time.Time{}, false
		}
	}
	each := int64(1) // nanoseconds of a unit
	for range digits {
		each *= 10
	}
	second := int64(time.Second) / each
	return time.Unix(units/second, units%second*each+sign*nanos).UTC(), true
}
