package redact

import "strings"

// A private key in PEM, RFC 7468, as it stands in a file, a listing with numbers of lines, a diff, a
// literal of a program, or a text of JSON:
//
//	-----BEGIN RSA PRIVATE KEY-----       + "-----BEGIN PRIVATE KEY-----\n" +
//	Proc-Type: 4,ENCRYPTED                + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC…\n"
//	MIIEpAIBAAKCAQEA…
//	-----END RSA PRIVATE KEY-----
//
// A mark that no line of a key follows is spoken of: in code that looks for it, or in a sentence.

var (
	keyBegins = expression(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	keyEnds   = expression(`^-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	// keyHeader matches a line before the base64, up to where it ends.
	keyHeader = expression(`^[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,120}`)
	// betweenLines matches what stands between two lines of a key.
	betweenLines = expression(`^(?:\\+[nrt]|[\s"'` + "`" + `|>,;+]|-(?:[^-]|$)|[0-9]{1,6}(?:[\s→:|]|\\+t))+`)
)

// leastLine is the least length of a base64 line that is not the last.
const leastLine = 16

// keysInLines appends the private keys of a text.
func keysInLines(spans []span, text string) []span {
	if !strings.Contains(text, "PRIVATE KEY") {
		return spans
	}
	for at := 0; ; {
		m := keyBegins().FindStringIndex(text[at:])
		if m == nil {
			return spans
		}
		from, to := at+m[0], at+m[1]
		at = to
		if end := endOfKey(text, to); end > to {
			spans, at = append(spans, span{from, end, "private-key", false}), end
		}
	}
}

// endOfKey returns where the lines of a key end that begin at a place, with the mark behind them; the
// place itself where none begin there.
func endOfKey(text string, at int) int {
	begins, end := at, at
	for {
		i := at + len(betweenLines().FindString(text[at:]))
		if mark := keyEnds().FindString(text[i:]); mark != "" {
			if end > begins {
				end = i + len(mark)
			}
			return end
		}
		line := len(keyHeader().FindString(text[i:]))
		if line == 0 {
			for i+line < len(text) && (isDrawnByte(text[i+line]) && text[i+line] != '-' && text[i+line] != '_' || text[i+line] == '=') {
				line++
			}
			rest := text[i+line:]
			rest = rest[len(betweenLines().FindString(rest)):]
			if isLast := rest == "" || keyEnds().MatchString(rest); line == 0 || line < leastLine && !isLast {
				return end
			}
		}
		end, at = i+line, i+line
	}
}
