package messages

import (
	"math"
	"math/big"
	"strings"
	"unicode"
)

// mostDigits is how many digits int() of Python takes.
const mostDigits = 4300

// parseNumber reads text as int() of Python does: white space around it, a sign, single
// underscores between digits, and decimal digits of any script.
func parseNumber(text string) (n *big.Int, ok bool) {
	text = strings.Map(asciiDigit, strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' }))
	digits := strings.TrimPrefix(text, "-")
	if digits == text {
		digits = strings.TrimPrefix(text, "+")
	}
	if digits == "" || len(digits) > mostDigits || strings.Trim(digits, "0123456789_") != "" || strings.Contains("_"+digits+"_", "__") {
		return nil, false
	}
	return new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), 10)
}

// asciiDigit returns a decimal digit in ASCII, and any other character as it is. Unicode
// has each script's ten digits in one run that starts at zero.
func asciiDigit(r rune) rune {
	if r <= unicode.MaxASCII || !unicode.Is(unicode.Nd, r) {
		return r
	}
	value := rune(0)
	for unicode.Is(unicode.Nd, r-1-value) {
		value++
	}
	return '0' + value%10
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

// clamp returns a number as an int that is no larger than any number of files.
func clamp(n *big.Int) int {
	switch {
	case n.IsInt64():
		return int(min(max(n.Int64(), math.MinInt32), math.MaxInt32))
	case n.Sign() < 0:
		return math.MinInt32
	}
	return math.MaxInt32
}
