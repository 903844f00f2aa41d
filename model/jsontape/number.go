package jsontape

import (
	"bytes"
	"strconv"
)

// decimal is the exact value of a number as its spelling gives it: the digits
// of whole and fraction read as one integer without zeros at either end, times
// ten to the power of shift plus the exponent. Zero has no digits.
//
// The exponent stays text because it may have a million digits as well; all
// work on numbers is linear in the length of their spelling.
type decimal struct {
	negative        bool
	whole, fraction []byte
	shift           int64
	exponent        []byte // sign and digits as written; nil for none
}

// parseDecimal takes a number that follows the grammar apart.
func parseDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.negative = true
		raw = raw[1:]
	}
	end := digitsEnd(raw, 0)
	d.whole = raw[:end]
	if end < len(raw) && raw[end] == '.' {
		start := end + 1
		end = digitsEnd(raw, start)
		d.fraction = raw[start:end]
	}
	if end < len(raw) {
		d.exponent = raw[end+1:]
	}
	d.fraction = bytes.TrimRight(d.fraction, "0")
	d.shift = -int64(len(d.fraction))
	if len(d.fraction) == 0 {
		trimmed := bytes.TrimRight(d.whole, "0")
		d.shift = int64(len(d.whole) - len(trimmed))
		d.whole = trimmed
	}
	d.whole = bytes.TrimLeft(d.whole, "0")
	if len(d.whole) == 0 {
		d.fraction = bytes.TrimLeft(d.fraction, "0")
		if len(d.fraction) == 0 {
			return decimal{}
		}
	}
	return d
}

// maxPower is far from what 64 bits hold, and farther from zero than any shift.
const maxPower = 1e17

// power returns the power of ten if it is less than maxPower either way.
func (d decimal) power() (int64, bool) {
	digits := bytes.TrimLeft(bytes.TrimLeft(d.exponent, "+-"), "0")
	if len(digits) > 18 {
		return 0, false
	}
	var e int64
	for _, c := range digits {
		e = e*10 + int64(c-'0')
	}
	if len(d.exponent) > 0 && d.exponent[0] == '-' {
		e = -e
	}
	e += d.shift
	return e, -maxPower < e && e < maxPower
}

// longPower returns the power of ten as sign and digits where [decimal.power]
// does not.
// The shift is far smaller than the exponent, so it never turns the sign.
func (d decimal) longPower() (negative bool, digits []byte) {
	negative = d.exponent[0] == '-'
	digits = bytes.Clone(bytes.TrimLeft(bytes.TrimLeft(d.exponent, "+-"), "0"))
	carry := d.shift
	if negative {
		carry = -carry
	}
	for i := len(digits) - 1; i >= 0 && carry != 0; i-- {
		carry += int64(digits[i] - '0')
		digit := ((carry % 10) + 10) % 10
		digits[i] = '0' + byte(digit)
		carry = (carry - digit) / 10
	}
	if carry > 0 {
		digits = append(strconv.AppendInt(nil, carry, 10), digits...)
	}
	return negative, bytes.TrimLeft(digits, "0")
}

// sameNumber reports whether two spellings of numbers have the same decimal
// value. Numbers that JSON cannot spell are the same only when they read so.
func sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if !isNumeric(a) || !isNumeric(b) {
		return false
	}
	x, y := parseDecimal(a), parseDecimal(b)
	if x.negative != y.negative || !sameDigits(x, y) {
		return false
	}
	p, fits := x.power()
	q, fitsToo := y.power()
	if fits || fitsToo {
		return fits == fitsToo && p == q
	}
	xNegative, xDigits := x.longPower()
	yNegative, yDigits := y.longPower()
	return xNegative == yNegative && bytes.Equal(xDigits, yDigits)
}

// sameDigits compares two runs of digits that may be split at other places.
func sameDigits(x, y decimal) bool {
	if len(x.whole)+len(x.fraction) != len(y.whole)+len(y.fraction) {
		return false
	}
	if len(x.whole) < len(y.whole) {
		x, y = y, x
	}
	n, m := len(y.whole), len(x.whole)
	return bytes.Equal(x.whole[:n], y.whole) &&
		bytes.Equal(x.whole[n:], y.fraction[:m-n]) &&
		bytes.Equal(x.fraction, y.fraction[m-n:])
}

// isNumeric tells a number of JSON from NaN and the infinities.
func isNumeric(raw []byte) bool {
	return isDigit(raw[0]) || len(raw) > 1 && isDigit(raw[1])
}
