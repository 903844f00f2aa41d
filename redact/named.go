package redact

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// strength tells how strongly a name marks the value beside it as a secret.
type strength uint8

const (
	// unnamed: the name says nothing.
	unnamed strength = iota
	// weak: a key of something. Its value is a secret if it looks drawn by chance.
	weak
	// token: the name of a secret that a program makes. Its value has letters and digits.
	token
	// literal is token for a value that stands in quotes, behind = or in a flag.
	literal
	// query is literal for a parameter of a URL, which no sentence has.
	query
	// password: the name of a secret that a person may have made. Any text but a word.
	password
	// anything: whatever stands there is a secret, but a placeholder.
	anything
	// certain: whatever stands there is a secret.
	certain
)

// name describes the end of a secret's name, in lower case and without _, -, . and spaces.
type name struct {
	suffix string
	strength
	// apart means that no letter may go before it, as in bypass.
	apart bool
}

var names = []name{
	{"password", password, false}, {"passwords", password, false}, {"passwd", password, false}, {"passphrase", password, false}, {"passwort", password, false},
	{"kennwort", password, false}, {"pwd", password, false}, {"motdepasse", password, false}, {"contraseña", password, false},
	{"senha", password, true}, {"wachtwoord", password, false}, {"пароль", password, false}, {"密码", password, false},
	{"パスワード", password, false}, {"hasło", password, true}, {"mnemonic", password, true}, {"seedphrase", password, false},
	{"sshpass", password, false}, {"pass", token, true}, {"pw", token, true}, {"psk", literal, true},
	{"token", token, false}, {"secret", token, false}, {"apikey", token, false}, {"accesskey", token, false}, {"secretkey", token, false},
	{"privatekey", token, false}, {"accountkey", token, false}, {"authkey", token, false}, {"masterkey", token, false},
	{"signingkey", token, false}, {"encryptionkey", token, false}, {"sharedkey", token, false}, {"servicekey", token, false},
	{"licensekey", token, false}, {"adminkey", token, false}, {"subscriptionkey", token, false}, {"authorization", token, false},
	{"credential", token, false}, {"credentials", token, false}, {"connectionstring", token, false}, {"cookie", token, false},
	{"apikeyid", token, false}, {"secretid", token, false}, {"accesskeyid", token, false}, {"auth", token, true}, {"key", weak, true}, {"webhook", weak, false},
}

// namesByEnd returns the names by their last byte.
var namesByEnd = sync.OnceValue(func() *[256][]name {
	by := new([256][]name)
	for _, n := range names {
		last := n.suffix[len(n.suffix)-1]
		by[last] = append(by[last], n)
	}
	return by
})

// publicNames are parts of names whose values are told to others, or count something.
var publicNames = []string{"public", "primary", "foreign", "partition", "cache", "sortkey", "idempotency", "pagetoken", "nexttoken",
	"continuationtoken", "synctoken", "sitekey", "tokenizer", "eostoken", "bostoken", "padtoken", "stoptoken", "unktoken", "specialtoken", "hotkey", "publishable", "applicationserver", "ġ", "▁"}

// nameStrength returns how strongly a name marks the value beside it as a secret.
func nameStrength(key string) strength {
	if key == "" || len(key) > 200 {
		return unnamed
	}
	switch last, _ := utf8.DecodeLastRuneInString(key); {
	case last >= utf8.RuneSelf:
	case !strings.ContainsRune("dtenysahkcw", last|0x20):
		return unnamed
	}
	low := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
	for _, n := range namesByEnd()[low[len(low)-1]] {
		if !strings.HasSuffix(low, n.suffix) || n.apart && !beginsWord(key, len(key)-len(n.suffix)) {
			continue
		}
		for _, part := range publicNames {
			if strings.Contains(low, part) {
				return unnamed
			}
		}
		return n.strength
	}
	return unnamed
}

// beginsWord reports whether a word of a name begins at i, as Pass does in dbPass.
func beginsWord(key string, i int) bool {
	if i <= 0 || i >= len(key) {
		return i == 0
	}
	before, _ := utf8.DecodeLastRuneInString(key[:i])
	first, _ := utf8.DecodeRuneInString(key[i:])
	return !unicode.IsLetter(before) || unicode.IsUpper(first) && unicode.IsLower(before)
}

// appendNamed appends the values of a text that stand behind the name of a secret and =, :, =>, |,
// or between the tags of an element, in quotes or not, escaped or not.
func appendNamed(spans []span, text string) []span {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '=', ':', '|', '>', '(', ',':
		default:
			continue
		}
		if from, to := pgpass(text, i); from < to {
			spans = append(spans, span{from, to, "assignment", true})
			i = to - 1
			continue
		}
		if strings.HasPrefix(text[i:], "==") { // a comparison
			i += len("=")
			continue
		}
		key, begins := nameBefore(text, i)
		if key == "" || text[i] == ':' && begins > 0 && text[begins-1] == ':' { // a name of Amazon has colons
			continue
		}
		s := nameStrength(key)
		if s == unnamed || text[i] == '|' && inTemplate(text[:i]) || strings.HasSuffix(text[:begins], "${") || strings.HasSuffix(key, " key") && inTag(text[:i]) {
			continue
		}
		if from, to, how := valueAfter(text, i, begins, s); from < to {
			if hide, spread := judge(text[from:to], how); hide && !(text[to-1] == '=' && isName(text[from:to-1])) {
				spans = append(spans, span{from, to, "assignment", spread})
				i = max(i, from)
			}
		}
	}
	return spans
}

// inTemplate reports whether a text ends within a placeholder of a template.
func inTemplate(text string) bool {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.LastIndex(line, "{{") > strings.LastIndex(line, "}}")
}

// inTag reports whether a text ends within a tag of markup.
func inTag(text string) bool {
	at := strings.LastIndexAny(text[max(0, len(text)-mostTag):], "<>\n")
	return at >= 0 && text[max(0, len(text)-mostTag)+at] == '<'
}

const mostTag = 256

var pgpassTail = expression(`^:(?:[1-9][0-9]{3,4}|\*):[\w.*-]+:[\w.*-]+:([^\s"'` + "`" + `]{4,})`)

// pgpass returns where the password of a line HOST:PORT:DATABASE:USER:PASSWORD stands, whose
// first colon is at i.
// https://www.postgresql.org/docs/current/libpq-pgpass.html
func pgpass(text string, i int) (from, to int) {
	if text[i] != ':' || !isNameByte(text[i-1]) && text[i-1] != '*' || i+3 >= len(text) || text[i+1] != '*' && (text[i+1] < '0' || text[i+1] > '9') {
		return 0, 0
	}
	if n := strings.IndexByte(text[i+1:min(len(text), i+8)], ':'); n < 1 || n == 1 && text[i+1] != '*' {
		return 0, 0
	}
	begins := i
	for begins > 0 && (isNameByte(text[begins-1]) || text[begins-1] == '*') && i-begins < 256 {
		begins--
	}
	m := pgpassTail().FindStringSubmatchIndex(text[i:min(len(text), i+1024)])
	if m == nil || begins > 0 && strings.IndexByte(" \t\n=\"'`\\(|", text[begins-1]) < 0 {
		return 0, 0
	}
	from = i + m[2]
	to = from + len(trimEnd(text[from:i+m[3]]))
	if hide, _ := judge(text[from:to], password); !hide {
		return 0, 0
	}
	return from, to
}

// nameBefore returns the name that ends before the separator at i, with the word before it
// where a space parts the two, and where it begins.
func nameBefore(text string, i int) (string, int) {
	end := i
	for end > 0 && i-end < 6 && strings.IndexByte(" \t\"'`\\]*?", text[end-1]) >= 0 {
		end--
	}
	for _, typed := range typesBefore {
		if bare := strings.TrimSuffix(text[:end], typed); len(bare) < end {
			end = len(strings.TrimRight(bare, " :"))
			break
		}
	}
	from, spaces := end, 0
	for from > 0 && end-from < 60 {
		c := text[from-1]
		if c == ' ' && spaces < 2 && from > 1 && isNameByte(text[from-2]) && from < end {
			spaces++
		} else if !isNameByte(c) {
			break
		}
		from--
	}
	for from < end && text[from] >= 0x80 && !utf8.RuneStart(text[from]) {
		from++
	}
	if isEscapeLetter(text, from) {
		from++
	}
	return text[min(from, end):end], from
}

// typesBefore are types of texts that stand between a name and its value.
var typesBefore = []string{" untyped string", " string", ": String", ": str", ": &str", ": &'static str"}

func isNameByte(c byte) bool { return isWordByte(c) || c == '-' || c == '.' || c >= 0x80 }

// valueAfter returns where the value behind the separator at i stands, and how strong its name
// is there.
func valueAfter(text string, i, begins int, s strength) (from, to int, how strength) {
	from = i + 1
	if strings.HasPrefix(text[i:], "=>") || strings.HasPrefix(text[i:], ":=") {
		from++
	}
	tight := from < len(text) && text[from] > ' '
	for from < len(text) && from-i < 12 && (text[from] == ' ' || text[from] == '\t') {
		from++
	}
	quotes := from
	for quotes < len(text) && text[quotes] == '\\' && quotes-from < 8 {
		quotes++
	}
	if quotes < len(text) && strings.IndexByte("\"'`", text[quotes]) >= 0 {
		closing := text[from : quotes+1]
		if s == token {
			s = literal
		}
		from = quotes + 1
		most := min(len(text), from+mostValue)
		n := strings.Index(text[from:most], closing)
		if line := strings.IndexByte(text[from:most], '\n'); n < 0 || line >= 0 && line < n {
			n = max(line, 0)
		}
		return from, from + n, s
	}
	switch text[i] {
	case '(', ',': // a call has its argument in quotes
		return 0, 0, unnamed
	case '>':
		if begins == 0 || text[begins-1] != '<' {
			return 0, 0, unnamed
		}
	}
	lead := begins == 0 || text[begins-1] == '\n' || text[begins-1] == '\r'
	if last := strings.LastIndexByte(text[begins:i], ' '); !lead && last >= 0 {
		begins += last + 1 // the words before the name may be an option
	}
	if !lead && text[begins-1] == ' ' {
		line := text[max(0, begins-40):begins]
		line = strings.TrimSpace(line[strings.LastIndexByte(line, '\n')+1:])
		lead = line == "" || line == "export" || line == "set" || line == "-" || strings.HasSuffix(line, "-e") || line == "ENV"
	}
	if lead && text[i] != '|' && text[i] != '>' || s == password && text[i] == '=' && tight {
		to = from
		for to < len(text) && text[to] > ' ' && to-from < mostValue && strings.IndexByte("\"'`", text[to]) < 0 {
			if text[to] == '&' && !lead {
				break
			}
			to++
		}
		if s == token && (text[i] == '=' && tight || text[i] == ':' && (to == len(text) || text[to] == '\n' || text[to] == '\r')) {
			s = literal
		}
	} else {
		to = from
		for to < len(text) && text[to] > ' ' && to-from < mostValue && (strings.IndexByte("\"'`,;&{}<>()[]|\\", text[to]) < 0 || text[to] == '&' && text[i] == ':') {
			to++
		}
		if to < len(text) && (text[to] == '(' || text[to] == '[') { // a call, an element
			return 0, 0, unnamed
		}
	}
	if text[i] == '>' && (to == len(text) || text[to] != '<') {
		return 0, 0, unnamed
	}
	to = from + len(trimEnd(text[from:to]))
	// A header names its scheme before the value.
	if value := text[from:to]; s >= token && to-from <= 12 && isLetters(value) && to+1 < len(text) && text[to] == ' ' && text[i] == ':' {
		low := strings.ToLower(text[begins:i])
		if strings.HasSuffix(low, "authorization") || strings.HasSuffix(low, "auth") {
			from, to = to+1, to+1
			for to < len(text) && text[to] > ' ' && to-from < mostValue && strings.IndexByte("\"'`,;", text[to]) < 0 {
				to++
			}
			return from, to, literal
		}
	}
	return from, to, s
}

// mostValue bounds a value that stands behind a name.
const mostValue = 4 << 10

// trimEnd cuts what ends a sentence or a statement from a value.
func trimEnd(value string) string {
	if strings.HasSuffix(value, "...") {
		return value // it is cut off
	}
	return strings.TrimRight(value, ".,;:)`")
}

func isLetters(text string) bool {
	for i := range len(text) {
		if c := text[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return text != ""
}

// piece is a part of a text, decoded, and where each of its bytes stands in the text.
type piece struct {
	decoded string
	at      []int
}

// decodeEscapes yields the parts of a text that have percent escapes, decoded, and a text with escapes
// of JSON for < and >. A + in a URL is a space for some writers, so a part with one is yielded
// both ways.
func decodeEscapes(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		if strings.Contains(text, `\u00`) && !yield(decodeJSON(text)) {
			return
		}
		for i := 0; ; {
			next := strings.IndexAny(text[i:], "%+")
			if next < 0 {
				return
			}
			from := i + next
			for from > i && isURLByte(text[from-1]) {
				from--
			}
			to, escapes, plus, question := from, 0, false, false
			for ; to < len(text) && isURLByte(text[to]); to++ {
				if text[to] == '%' && to+2 < len(text) && isHex(text[to+1]) && isHex(text[to+2]) {
					escapes++
				}
				plus, question = plus || text[to] == '+', question || text[to] == '?'
			}
			for _, spaces := range []bool{false, true} {
				if !spaces && escapes > 0 || spaces && plus && (escapes > 0 || question) {
					if p := decodePercent(text, from, to, spaces); utf8.ValidString(p.decoded) && !yield(p) {
						return
					}
				}
			}
			i = max(to, i+next+1)
		}
	}
}

// decodeJSON decodes the escapes \u00XX of a text.
func decodeJSON(text string) piece {
	decoded, at := make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	for i := 0; i < len(text); i++ {
		at = append(at, i)
		if strings.HasPrefix(text[i:], `\u00`) && i+5 < len(text) && text[i+4] < '8' && isHex(text[i+4]) && isHex(text[i+5]) {
			decoded = append(decoded, unhex(text[i+4])<<4|unhex(text[i+5]))
			i += 5
			continue
		}
		decoded = append(decoded, text[i])
	}
	return piece{string(decoded), append(at, len(text))}
}

func decodePercent(text string, from, to int, plus bool) piece {
	decoded, at := make([]byte, 0, to-from), make([]int, 0, to-from+1)
	for i := from; i < to; i++ {
		at = append(at, i)
		switch {
		case text[i] == '%' && i+2 < to && isHex(text[i+1]) && isHex(text[i+2]):
			for strings.HasPrefix(text[i:to], "%25") && i+4 < to && isHex(text[i+3]) && isHex(text[i+4]) {
				i += 2 // encoded again
			}
			decoded = append(decoded, unhex(text[i+1])<<4|unhex(text[i+2]))
			i += 2
		case text[i] == '+' && plus:
			decoded = append(decoded, ' ')
		default:
			decoded = append(decoded, text[i])
		}
	}
	return piece{string(decoded), append(at, to)}
}

func isURLByte(c byte) bool {
	return isWordByte(c) || c >= 0x80 || c > ' ' && strings.IndexByte("\"'`<>{}|\\^[]()", c) < 0 && c != 0x7f
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
