package pg

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// How any text is kept
//
// PostgreSQL's texts are UTF-8 without the character NUL, and the names of sessions, snapshots and files are
// whatever their writer says. A text that cannot be kept as it is stands as its bytes in
// hexadecimal digits behind a character that hardly any text begins with, and so does one that
// begins with that character.
const escaped = "\x01"

// Escape returns a text as a column of an [Own] holds it.
func Escape(text string) string {
	if !strings.HasPrefix(text, escaped) && strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return text
	}
	return escaped + hex.EncodeToString([]byte(text))
}

// Unescape returns the text that a column of an [Own] holds.
func Unescape(text string) string {
	digits, is := strings.CutPrefix(text, escaped)
	if !is {
		return text
	}
	plain, err := hex.DecodeString(digits)
	if err != nil {
		return text // another program wrote it
	}
	return string(plain)
}

// EscapeAll returns the arguments of a statement as columns hold them. It changes nothing in args.
func EscapeAll(args []any) []any {
	changed := false
	for i, arg := range args {
		text, is := arg.(string)
		if !is || Escape(text) == text {
			continue
		}
		if !changed {
			args, changed = slices.Clone(args), true
		}
		args[i] = Escape(text)
	}
	return args
}

// UnescapeAll puts the texts that were scanned from columns back as they were.
func UnescapeAll(into []any) {
	for _, to := range into {
		if text, is := to.(*string); is {
			*text = Unescape(*text)
		}
	}
}
