package messages

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// number is an integer of any size, as int() of Python reads it from a file
// name: no leading zeros, and "0" is never negative.
type number struct {
	digits   string
	negative bool
}

// parseNumber reads text as int() of Python does: white space around it, a
// sign, single underscores between digits, and decimal digits of any script.
func parseNumber(text string) (n number, ok bool) {
	text = strings.TrimFunc(text, isPythonSpace)
	if rest, signed := strings.CutPrefix(text, "-"); signed {
		n.negative, text = true, rest
	} else {
		text = strings.TrimPrefix(text, "+")
	}
	digits := text
	if strings.Trim(text, "0123456789") != "" {
		digits = plainDigits(text)
	}
	if digits == "" {
		return number{}, false
	}
	if n.digits = strings.TrimLeft(digits, "0"); n.digits == "" {
		return number{digits: "0"}, true
	}
	return n, true
}

// isPythonSpace is str.isspace of Python, which knows four more than Unicode.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' }

// plainDigits returns the digits of text in ASCII without the underscores, or ""
// if it is not digits alone.
func plainDigits(text string) string {
	var digits strings.Builder
	between := false // an underscore may follow
	for i, r := range text {
		switch {
		case r == '_' && between && i+1 < len(text):
			between = false
		case unicode.Is(unicode.Nd, r):
			digits.WriteByte('0' + digitValue(r))
			between = true
		default:
			return ""
		}
	}
	return digits.String()
}

// digitValue returns the value of a decimal digit. Unicode has each script's ten
// digits in one run that starts at zero, and where runs touch they are whole.
func digitValue(r rune) byte {
	before := 0
	for unicode.Is(unicode.Nd, r-1) {
		r--
		before++
	}
	return byte(before % 10)
}

// smallNumber reads what nearly all names have: up to 18 plain digits.
func smallNumber(text string) (value int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		value = 10*value + int64(digit)
	}
	return value, true
}

// compare orders by value.
func (n number) compare(m number) int {
	if n.negative != m.negative {
		if n.negative {
			return -1
		}
		return 1
	}
	size := cmp.Or(cmp.Compare(len(n.digits), len(m.digits)), strings.Compare(n.digits, m.digits))
	if n.negative {
		return -size
	}
	return size
}

// int64 returns the value if it fits.
func (n number) int64() (int64, bool) {
	value, err := strconv.ParseInt(n.String(), 10, 64)
	return value, err == nil
}

// String returns the number in decimal.
func (n number) String() string {
	if n.negative {
		return "-" + n.digits
	}
	return n.digits
}
