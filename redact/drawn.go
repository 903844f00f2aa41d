package redact

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// judge reports whether to hide the value behind a name, and whether to hide it wherever it stands (spread).
// It does not hide placeholders, words, paths and code.
func judge(value string, s strength) (hide, spread bool) {
	value = strings.TrimSpace(value)
	if value == "" || isPlaceholder(value) || hasWord(value) {
		return false, false
	}
	if s == anything {
		return true, len(value) >= leastSpread && !isWordy(value, true) && !isDigits(value)
	}
	if s == weak && endsInHash(value) {
		return false, false
	}
	if uuid().MatchString(value) || (isDrawn(value) || isRandom(value)) && !beginsPublic(value) {
		return true, true
	}
	if isVocabulary(value) || isPath(value) || isCode(value) {
		return false, false
	}
	letters, digits, classes := count(value)
	switch {
	case s == weak, value[0] == '(':
		return false, false
	case s == query:
		return len(value) >= 8, classes >= 3
	case isCaption(value):
		return false, false
	case isWordy(value, s == token):
		return s == password && isPassphrase(value), false
	case digits == len(value):
		return len(value) >= 6 && s != token || s == password && len(value) >= 4, false
	case isProse(value):
		return false, false
	case s == password:
		return len(value) >= 4, classes >= 3 && len(value) >= 8
	case s == literal:
		return digits > 0 && letters > 0 && len(value) >= 6 || classes >= 3 && len(value) >= 6, classes >= 3 && len(value) >= 8
	}
	return digits > 0 && letters > 0 && len(value) >= 8 || classes >= 3 && len(value) >= 6, classes >= 3 && len(value) >= 8
}

// endsInHash reports whether a value is a name with a hash behind it, as the key of a cache.
func endsInHash(value string) bool {
	at := strings.LastIndexAny(value, "-_:/")
	return at > 0 && isAllHex(value[at+1:]) && slices.Contains(hashLengths, len(value)-at-1)
}

// judgeText is judge for a text right under a key of a state.
func judgeText(value string, s strength) (hide, spread bool) {
	switch {
	case s == weak:
		return judge(value, weak)
	case strings.TrimSpace(value) == "" || isPlaceholder(value) || hasWord(value) || isProse(value):
		return false, false
	case isDigits(value):
		return true, false
	case isWordy(value, false):
		return s == password && !slices.ContainsFunc(strings.Fields(strings.ToLower(value)), isAboutSecrets), false
	case s != password && (isVocabulary(value) || isPath(value)):
		return false, false
	}
	return true, len(value) >= leastSpread
}

// schemaWords stand under the key of a password where it is described, not given.
var schemaWords = wordList(`string str text required optional password passwd secret token hidden masked input number integer boolean
	object array any bytes varchar empty unknown missing invalid valid incorrect wrong correct forgot reset change update body query header
	field literal plaintext encrypted hashed bcrypt secretstr env vault file prompt stdin never always forbidden denied expired`)

// isAboutSecrets reports whether a word, in lower case, describes a secret, in one of the languages of forms.
func isAboutSecrets(word string) bool {
	return slices.Contains(schemaWords(), word) || slices.Contains(spokenHints(), word) || nameStrength(word) == password
}

// count returns how many letters and digits a text has, and how many of the classes lower case,
// upper case, digits and others.
func count(text string) (letters, digits, classes int) {
	var has [4]int
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
			has[0] = 1
		case unicode.IsUpper(c):
			letters++
			has[1] = 1
		case unicode.IsLetter(c):
			letters++
			has[2] = 1
		default:
			has[3] = 1
		}
	}
	return letters, digits, has[0] + has[1] + has[2] + has[3]
}

func isDigits(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' }) < 0
}

// placeholder matches what stands where a secret has to be put.
var placeholder = expression(`(?i)^(?:<.*>|\\+u003c.*|\[.*\]|\{.*\}|%[\w:-]+%|\$\(.*|\$?\{\{?.*|#\{.*|@\w+@|\$[a-z_]+|\$[A-Z_][A-Z0-9_]*|.*\.\.\.|.*…)$` +
	`|^!\w+(?: |$)|^ENC\[|^(?:change|replace|insert|enter|put|add|paste|use|set|fill)[-_ ]?(?:me|this|it|your|the|here|with|in)(?:[-_ ].*)?$` +
	`|^(?:the[-_ ])?your[-_ ]?|[-_ ]your[-_ ]|^my[-_](?:super[-_])?(?:secret|password|token|api)|(?:[-_]|^)here$|x{4,}|EXAMPLE(?:KEY)?$|\*{3,}|•{3,}|_{4,}|\.{3,}` +
	`|^(?:pass(?:word|wd)?|pwd|secret|token|api[-_]?key|none|null|nil|true|false|undefined|n/?a|tbd|todo|fixme|dummy|fake|foo|bar|foobar|example|sample|guest|postgres|placeholder|redacted|removed|hidden|masked|omitted)$` +
	`|^(?:process\.env|import\.meta|os\.(?:environ|getenv)|system\.getenv|env[.(\[]|secrets?\.|vars\.|config\.|settings\.|self\.|this\.|req\.|request\.|ctx\.|args\.|options\.|opts\.|params\.)` +
	`|^(?:getenv|env|vault|ssm|sops|op|keyring|secretsmanager|arn|file)(?:[(]|:/|:\w+[:/])`)

// scheme matches the word that a header has before its value.
var scheme = expression(`^(?i:bearer|basic|token|digest)\s+`)

// isPlaceholder reports whether a value stands for a secret that is not there.
func isPlaceholder(value string) bool {
	if len(value) > mostJudged {
		return false
	}
	value = value[len(scheme().FindString(value)):]
	var seen [256]bool
	different := 0
	for i := range len(value) {
		if !seen[value[i]] {
			seen[value[i]] = true
			different++
		}
	}
	return different <= 2 || placeholder().MatchString(value)
}

// vocabulary matches names of algorithms, dates and versions, and sizes.
var vocabulary = expression(`(?i)^(?:sha-?\d+|md5|base\d+|utf-?\d+|argon2\w*|oauth\d?|[hrep]s\d{3}|x\.?509|ed25519|pbkdf2|aes-?\d+\S*|rsa-?\d+|http/?\d\S*` +
	`|v?\d+(?:\.\d+)+\S*|[\d:.TZ+/-]+|\d+(?:ms|s|m|h|d|kb|mb|gb|px|%|k)|0x[0-9a-f]{1,8}|[a-z]\d|id_\w+)$`)

func isVocabulary(value string) bool { return len(value) < 40 && vocabulary().MatchString(value) }

// isPath reports whether a value names a file or an address.
func isPath(value string) bool {
	for _, begin := range []string{"/", "./", "../", "~/", "http://", "https://", "file:", "projects/", "arn:", "C:\\"} {
		if strings.HasPrefix(value, begin) {
			return true
		}
	}
	return false
}

// code matches the beginning of an expression. A short name is one only where it ends as a call does.
var code = expression(`^&?[A-Za-z_][\w.]{3,}(?:\(|\[|<)|^&?[A-Za-z_][\w.]*(?:\?\.|->|::|\.[a-z_]+[A-Z(])|^&?[A-Za-z_][\w.]{0,2}[(\[<](?:.*[)\]>])?$` +
	`|^[A-Z]\w*(?:\.\w+)*\?$|^\[?(?:String|ID|Int|Float|Boolean)!?\]?!$|^(?:\+|\.|&|\|\||\?\?) | (?:\+|\.|&|\|\||\?\?)$` +
	`|^\\[sSwWdDb][*+?({[]` + `|^(?:required|nullable|sometimes|omitempty|bail|confirmed)(?:[|,].*)?$`)

// isCode reports whether a value is an expression of a program.
func isCode(value string) bool { return code().MatchString(value) }

// isWordy reports whether a text is a word or some, joined in the way of names. With digits,
// a word may have a number behind it.
func isWordy(text string, digits bool) bool {
	if len(text) > 200 {
		return false
	}
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" _-./:,|", c) }) {
		bare := word
		if digits {
			bare = strings.TrimRight(word, "0123456789")
			if len(word)-len(bare) > 4 {
				return false
			}
		}
		if bare != "" && !isName(bare) {
			return false
		}
	}
	return true
}

// isName reports whether letters are a word, or words in camel case.
func isName(word string) bool {
	if len(word) > 24 {
		return false
	}
	upper, turns, vowels, consonants, most := 0, 0, 0, 0, 0
	wasLower := false
	for _, c := range word {
		if !unicode.IsLetter(c) {
			return false
		}
		if unicode.IsUpper(c) {
			upper++
			if wasLower {
				turns++
			}
		}
		wasLower = unicode.IsLower(c)
		if c > unicode.MaxASCII || strings.ContainsRune("aeiouyAEIOUY", c) {
			vowels, consonants = vowels+1, 0
		} else {
			consonants++
			most = max(most, consonants)
		}
	}
	return turns <= len(word)/5 && (len(word) < 6 || vowels*6 >= len(word) && most <= 5) && (upper-turns <= 1 || upper == len(word) || upper-turns <= 3 && len(word) > 6)
}

// aboutSecrets are words that describe a secret and never occur in one.
var aboutSecrets = wordList(`password passwd secret token required optional string field reset`)

// isCaption reports whether a text labels a field for a secret in a form: two words or more, one of them about
// secrets, or a question.
func isCaption(text string) bool {
	bare := strings.TrimRight(text, "?!.:… ")
	words := strings.Fields(strings.ToLower(bare))
	return len(words) >= 2 && isWordy(bare, false) && (strings.HasPrefix(text[len(bare):], "?") || slices.ContainsFunc(words, isAboutSecrets))
}

// isPassphrase reports whether words are a passphrase: four or more in lower case, without a
// word about secrets.
func isPassphrase(text string) bool {
	words := strings.FieldsFunc(text, func(c rune) bool { return c == '-' || c == ' ' || c == '_' || c == '.' })
	return len(words) >= 4 && !slices.ContainsFunc(words, func(word string) bool {
		return strings.ToLower(word) != word || len(word) < 3 || slices.Contains(aboutSecrets(), word)
	})
}

// isProse reports whether a text is a sentence or a part of one; a script without spaces is always prose.
func isProse(text string) bool {
	if strings.ContainsFunc(text, func(c rune) bool {
		return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}) {
		return true
	}
	words := strings.Fields(text)
	return len(words) >= 3 && !strings.ContainsAny(text, "\t\n") && slices.ContainsFunc(words, func(word string) bool {
		return stopWords()[strings.ToLower(strings.Trim(word, ".,;:!?'\""))]
	})
}

// stopWords are the commonest words, which no list of words for secrets has.
var stopWords = wordSet(`the a an of to in is it on and or for with as at by from not be are was were has had his her its our their
	your how who why she him may did does which would could should than them these those been if no so we he`)

// wordList returns a function that returns the words of a text.
func wordList(text string) func() []string {
	return sync.OnceValue(func() []string { return strings.Fields(text) })
}

// wordSet returns a function that returns the set of the words of a text.
func wordSet(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			set[word] = true
		}
		return set
	})
}

// isDrawn reports whether a text has letters and digits as a key has that a program made.
func isDrawn(text string) bool {
	if len(text) < 16 || len(text) > mostJudged || strings.ContainsAny(text, " \t\n\"'`<>(){}") || isWordy(text, true) || isPath(text) || hasShortPieces(text) {
		return false
	}
	letters, digits, classes := count(text)
	return letters > 0 && digits >= 2 && bits(text) >= 3 && letters+digits >= len(text)*3/4 && !isVocabulary(text) && (classes > 1)
}

// bits returns how many bits a character of a text has.
func bits(text string) (bits float64) {
	var count [256]int
	for i := range len(text) {
		count[text[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

var uuid = expression(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// isRandom reports whether a word of letters and digits looks drawn by chance: it has letters
// and digits, more bits a character than words of a language or numbers in order, and goes
// from lower case to upper and to digits and back more often than a name made of words.
func isRandom(word string) bool {
	var lower, upper, digit, hex, turns, ordered, syllables, run int
	var last, lastClass byte
	for i := range len(word) {
		c := word[i]
		class := lastClass
		switch {
		case c >= '0' && c <= '9':
			class = '0'
			digit++
		case c >= 'a' && c <= 'z':
			class = 'a'
			lower++
			if run++; run == 3 {
				syllables += 2
			}
			if run >= 3 {
				syllables++
			}
		case c >= 'A' && c <= 'Z':
			class = 'A'
			upper++
		}
		if class != 'a' {
			run = 0
		}
		if isHex(c) {
			hex++
		}
		if class != lastClass && lastClass != 0 {
			turns++
		}
		if c == last+1 {
			ordered++
		}
		last, lastClass = c, class
	}
	if digit == 0 || lower+upper == 0 || len(word) < 20 || ordered > len(word)/3 {
		return false
	}
	oft, bits := float64(turns)/float64(len(word)), bits(word)
	switch {
	case hex == len(word):
		return len(word) >= 32 && bits >= 3
	case lower == 0 || upper == 0:
		return bits >= 3.8 && oft >= 0.25
	}
	return bits >= 3.8 && oft >= 0.3 && syllables <= len(word)/2
}

// drawnWords appends the words of a text that look drawn by chance and are not known to be
// something else: a hash, an id, a public key, the bytes of a file. public returns the parts of the text that
// everybody may read; it is called only for a text with such a word.
func (r *Redactor) drawnWords(spans []span, text string, public func() [][]int) []span {
	for i := 0; i < len(text); {
		if !isDrawnByte(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && isDrawnByte(text[i]) {
			i++
		}
		to := i
		for i < len(text) && text[i] == '=' && i-to < 2 {
			i++
		}
		if to < len(text) && text[to] == '=' && i < len(text) && isDrawnByte(text[i]) {
			i = to // the name of a value
			continue
		}
		if from > 0 && text[from-1] == '%' && to-from > 2 && isAllHex(text[from:from+2]) {
			from += 2 // an escape of URLs
		}
		for from < to && text[from] == '/' {
			from++
		}
		begin := from
		inURL := isInURL(text, from)
		if !inURL && hasName(text[from:to]) {
			continue // the path of a file
		}
		for from < to {
			end := to
			if slash := strings.IndexByte(text[from:to], '/'); inURL && slash >= 0 {
				end = from + slash
			}
			word := text[from:end]
			if len(word) >= leastDrawn && len(word) <= mostDrawn && !r.ids[word] && !(inURL && (isAllHex(word) || len(word) < 24 && !inEnvironment().MatchString(word))) {
				hide, spread := judgeWord(text, from, end)
				if plain, encoded := decodeBase64(word); encoded {
					hide = len(r.search(plain, false)) > 0
				}
				if hide && !slices.ContainsFunc(public(), func(part []int) bool { return part[0] <= begin && begin < part[1] }) {
					if end == to {
						end = i
					}
					spans = append(spans, span{from, end, "entropy", spread})
				}
			}
			from = end + 1
		}
	}
	return spans
}

// decodeBase64 decodes a word of base64 that holds plain text.
func decodeBase64(word string) (text string, encoded bool) {
	data, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(word))
	if err != nil || slices.ContainsFunc(data, func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c > '~' }) {
		return "", false
	}
	return string(data), true
}

// isInURL reports whether the byte at i stands in the path of a URL.
func isInURL(text string, i int) bool {
	from := i
	for from > 0 && i-from < mostJudged && text[from-1] > ' ' && strings.IndexByte("\"'`<>?=&", text[from-1]) < 0 {
		from--
	}
	return strings.Contains(text[from:i], "://")
}

// hasName reports whether a word has a name between slashes.
func hasName(word string) bool {
	for piece := range strings.SplitSeq(word, "/") {
		if len(piece) < len(word) && len(piece) >= 4 && strings.ToLower(piece) == piece && isName(piece) {
			return true
		}
	}
	return false
}

// A word that is taken for drawn by chance has a length in these bounds: what is longer, and of
// no known shape, is the content of a file, or what a vendor encrypted for itself.
const (
	leastDrawn = 20
	mostDrawn  = 256
)

func isDrawnByte(c byte) bool { return isWordByte(c) || c == '+' || c == '/' || c == '-' }

// publicBlocks matches what everybody may read: certificates, public keys and signatures, the
// bytes of a file in a URL, a hashed host of SSH, what a tool encrypted.
var publicBlocks = expression(`-----BEGIN (?:[A-Z0-9]+ )*(?:CERTIFICATE|PUBLIC KEY|SIGNATURE|MESSAGE|CRL|REQUEST|PARAMETERS)(?: [A-Z]+)*-----[^-]*(?:-[^-]+)*` +
	`|;base64,[A-Za-z0-9+/_-]+|(?i:public key)\n\S+|CHECKSUMS:\n(?:\s+\S+: [0-9a-f]{40}\b)+|\b(?:spotify|urn):[\w:.-]+|\bbh=[A-Za-z0-9+/]{43}|<[A-Za-z0-9._+-]+@|(?m:^C:Q1\S+)|\[\$LATEST\][0-9a-f]{32}|\bp=MI[A-Za-z0-9+/=]+|\b(?:DNSKEY|RRSIG|SSHFP|TLSA)\b[^\n]*|\|1\|[A-Za-z0-9+/=]+\|[A-Za-z0-9+/]+|\bENC\[[^\]]*`)

// judgeWord reports whether the word of a text in [from, to) is a secret, and whether it is one
// wherever it stands.
func judgeWord(text string, from, to int) (hide, spread bool) {
	word := text[from:to]
	if isPublic(word) && !uuid().MatchString(word) {
		return false, false
	}
	name, secret := wordsAround(text, from, to)
	key := word
	if hex, found := strings.CutPrefix(word, "0x"); found && isAllHex(hex) {
		key = hex
	} else if at := strings.LastIndexAny(word, "_-+"); at >= 0 && len(word)-at > 32 && isAllHex(word[at+1:]) && at <= 24 {
		key = word[at+1:] // a prefix and hexadecimal digits
		switch prefix := strings.ToLower(word[:at]); {
		case slices.ContainsFunc(keyWords(), func(part string) bool { return strings.Contains(prefix, part) }), word[at] == '_' && at < 6:
			return !name && bits(key) >= 3, true // the prefix of a vendor
		case (isName(prefix) || word[at] == '-' && !strings.Contains(prefix, "_") && isWordy(prefix, true)) && at >= 6, slices.Contains(hashLengths, len(key)):
			return false, false // a name with a hash
		}
	} else if !isRandom(word) && !uuid().MatchString(word) {
		long := word[strings.LastIndexAny(word, "_-")+1:]
		if at, environment := strings.LastIndexAny(word, "_-"), inEnvironment().MatchString(word); at < 0 || !isRandom(long) && !(environment && isDrawn(word)) {
			return false, false
		}
	}
	switch {
	case uuid().MatchString(key):
		return secret && !name && bits(key) >= 2.5, true
	case isAllHex(key):
		if bits(key) < 3 {
			return false, false
		}
		if len(key) == 40 && strings.ToUpper(key) == key {
			return false, false // a fingerprint of PGP
		}
		return !name && (secret || !slices.Contains(hashLengths, len(key))), secret
	case name && !secret:
		return false, false
	}
	return true, false
}

// inEnvironment matches a key that names the environment of a service.
var inEnvironment = expression(`(?:^|[_-])(?:live|test|prod|sandbox|sbox|sdbx|dev)[_-][A-Za-z0-9_-]{14,}$`)

// hashLengths are the lengths of SHA-1, SHA-256, SHA-384 and SHA-512 in hexadecimal digits. 32 digits may be
// an MD5 or a key, and count as a key.
var hashLengths = []int{40, 64, 96, 128}

func isAllHex(text string) bool {
	for i := range len(text) {
		if !isHex(text[i]) {
			return false
		}
	}
	return text != ""
}

// wordsAround looks at what stands in the line before and behind a word. It reports whether that
// names a hash or an id, and whether it names a secret; the nearer one counts.
func wordsAround(text string, from, to int) (name, secret bool) {
	before := text[max(0, from-contextBytes):from]
	before = strings.ToLower(before[strings.LastIndexByte(before, '\n')+1:])
	before = strings.NewReplacer("<key>", "", "</key>", "").Replace(before) // a property list
	behind := text[to:min(len(text), to+3)]
	tail := strings.TrimRight(before, " =:\"'#(\\[{`*|-0123456789")
	if strings.HasSuffix(strings.TrimRight(before, "/"), "h1:") || inAddress().MatchString(before) || strings.HasSuffix(before, "@") && isAllHex(text[from:to]) || strings.HasSuffix(tail, "id") && !strings.HasSuffix(tail, "keyid") ||
		strings.HasPrefix(behind, "  ") || strings.HasPrefix(behind, " *") || strings.HasPrefix(behind, "..") ||
		isAllHex(text[from:to]) && len(behind) > 1 && behind[0] == '.' && isWordByte(behind[1]) {
		return true, false
	}
	last := func(words []string) int {
		at := -1
		for _, word := range words {
			at = max(at, strings.LastIndex(before, word))
		}
		return at
	}
	hash, key := last(hashWords()), last(keyWords())
	if public := last(publicKeyWords()); public >= 0 && key > public && key-public <= 12 {
		return true, false
	}
	if isAllHex(text[from:to]) || uuid().MatchString(text[from:to]) {
		return hash >= 0 && hash > key, key >= 0 && key > hash
	}
	// Another word is a hash only if it is called one directly before it.
	return hash >= 0 && hash > key && len(before)-hash <= 16 && !strings.ContainsAny(before[hash:], ",;."), key > hash
}

// inAddress matches what stands before the id of a document, or before that of a resource of Oracle.
var inAddress = expression(`://(?:docs|drive|sheets|script|forms)\.google\.com/[^\s?#]*$|://(?:[\w-]+\.)?(?:notion\.(?:so|site)|figma\.com|miro\.com|airtable\.com|loom\.com|youtube\.com)/[^\s?#]*$|\bocid1\.[\w.-]*$`)

const contextBytes = 64

var (
	hashWords = wordList(`commit sha hash digest md5 checksum etag integrity trace span tree blob parent merge head rev object oid image
		layer fingerprint git index version ref request public primary idempotency uuid address signature nonce container snapshot session file build cursor zone kid state challenge timestamp ciphertext boot peer verification accept serial page mlflow`)
	// publicKeyWords make of the key behind them one that is no secret.
	publicKeyWords = wordList(`public primary idempotency cache foreign rsa next page continuation sync site`)
	keyWords       = wordList(`key token secret passw pwd credential auth bearer apikey`)
)

// ids are the prefixes by which vendors tell ids. What follows one is no secret.
var ids = expression(`^(?:toolu|tooluse|toolu_bdrk|toolu_vrtx|srvtoolu|call|function-call|fc|fco|ctc|msg|message|run|run-|lc_run-|thread|thrd|resp|rs|asst|step|file|vs|vsfb|batch` +
	`|req|request|chatcmpl|cmpl|gen|embd|modr|ig|cntr|conv|conversation|item|ws|mcp|mcpl|mcpr|mcpc|org|proj|project|user|usr|acct|account|cus|sub|pi|ch|in|ii|il|si|seti|pm|card|src|txn|inv|price|prod|evt|event` +
	`|job|task|wf|exec|dpl|prj|team|session|sess_id|trace|span|obs|agent|ord|order|mem|memory|doc|chunk|node|edge|ckpt|checkpoint|bqjob|db|snap|ses|prt|cache|ftjob|ft|image|img|upload|media|pod|vpc|subnet|sg|i|vol|ami|eni|rtb|igw|eipalloc|arn|cid|ctx|turn|interaction|operation|op|bedrock)` +
	`[_-](?:[A-Za-z0-9_-]{6,})$`)

var (
	ulid    = expression(`^(?:[a-z]{2,24}_)?(?:[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-7][0-9a-hjkmnp-tv-z]{25})$`)
	twilio  = expression(`^[A-Z]{2}[0-9a-f]{32}$`)
	ipfs    = expression(`^Qm[A-Za-z0-9]{44}$`)
	cuid    = expression(`^c[lmk][a-z0-9]{23}$`)
	pod     = expression(`^[a-z][a-z0-9-]*-(?:[bcdfghjklmnpqrstvwxz2456789]{8,10}|[0-9a-f]{8,10}|[0-9]{8})-[a-z0-9]{5}$`)
	traceOf = expression(`^(?:[0-9a-f]{2}-)?[0-9a-f]{32}-[0-9a-f]{16}(?:-[0-9a-f]{1,2})?$`)
	anyUUID = expression(`[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`)
)

// isPublic reports whether a word is by its own shape an id, a hash or a public key.
func isPublic(word string) bool {
	return beginsPublic(word) || len(word) < 200 && (ids().MatchString(word) || ulid().MatchString(word) || cuid().MatchString(word) || ipfs().MatchString(word) || twilio().MatchString(word) || pod().MatchString(word) || traceOf().MatchString(word) ||
		len(word) > 36 && isWordy(anyUUID().ReplaceAllString(word, ""), true) && anyUUID().MatchString(word) || hasShortPieces(word))
}

// publicBegins begin hashes with their algorithm, public keys, addresses, mangled names, and files in base64.
var publicBegins = []string{"sha1-", "sha256-", "sha384-", "sha512-", "md5-", "SHA256-", "LS0tLS1CRUdJTiBDRVJU", "LS0tLS1CRUdJTiBQVUJM", "AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNr", "age1", "bc1q", "bc1p", "pk_live_", "pk_test_", "bafybei", "_ZN", "_RNv",
	"iVBORw0KGgo", "/9j/4", "R0lGOD", "UklGR", "JVBERi0", "UEsDB", "H4sIA", "PHN2Z", "PD94b"}

func beginsPublic(word string) bool {
	return slices.ContainsFunc(publicBegins, func(begin string) bool { return strings.HasPrefix(word, begin) })
}

// hasShortPieces reports whether a word consists of pieces too short to be drawn
// by chance, as the name of a file with a short hash.
func hasShortPieces(word string) bool {
	if !strings.ContainsAny(word, "-_") {
		return false
	}
	drawn, most := 0, 16
	if strings.ToLower(word) != word {
		most = 12 // one letter tells more
	}
	for piece := range strings.FieldsFuncSeq(word, func(c rune) bool { return c == '-' || c == '_' || c == '/' || c == '+' }) {
		if !isName(piece) && !isDigits(piece) && (len(piece) >= 24 || !isAllHex(piece)) {
			drawn += len(piece)
		}
	}
	return drawn < most
}

// appendPhrases appends the phrases of words from which a wallet is made again: twelve or more words
// of three to eight letters in a row, most of them once, without the commonest ones.
func appendPhrases(spans []span, text string) []span {
	words, common, from := 0, 0, 0
	end := func(to int) {
		if words >= 12 && words <= 48 && common <= 1 && 2*distinct(text[from:to]) > words {
			spans = append(spans, span{from, to, "phrase", true})
		}
		words, common = 0, 0
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < 'a' || c > 'z' {
			end(max(i-1, 0))
			i++
			continue
		}
		begin := i
		for i < len(text) && text[i] >= 'a' && text[i] <= 'z' {
			i++
		}
		word := text[begin:i]
		fits := len(word) >= 3 && len(word) <= 8 && !stopWords()[word] && (i == len(text) || !isWordByte(text[i]) && text[i] < 0x80) &&
			(begin == 0 || !isWordByte(text[begin-1]) && text[begin-1] < 0x80)
		if !fits {
			end(max(begin-1, 0))
			continue
		}
		if words == 0 {
			from = begin
		}
		words++
		if linkWords()[word] {
			common++
		}
		if i < len(text) && text[i] == ' ' && i+1 < len(text) && text[i+1] >= 'a' && text[i+1] <= 'z' {
			i++
			continue
		}
		end(i)
	}
	end(len(text))
	return spans
}

// distinct returns the number of different words in a text.
func distinct(text string) int {
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		seen[word] = true
	}
	return len(seen)
}

// linkWords are common in sentences, and in the lists of words for wallets, too.
var linkWords = wordSet(`you can then use that this when will have all any what there they must just also only more about other where
	into one two like name file test list text code type time work make`)

// hasWord reports whether a text has a word that stands for a secret.
func hasWord(text string) bool {
	return strings.Contains(text, "[redacted ") && words().MatchString(text)
}

// words finds the words that stand for secrets.
var words = expression(`\[redacted ([a-z-]{1,20}) ([0-9]{1,12})\]`)
