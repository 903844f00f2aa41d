package redact

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// rule finds one kind of secret in a text. The secret is the first group of the
// expression, or all of what it matches where it has none.
type rule struct {
	kind string
	// hints are texts in lower case. A text with such a secret has one of them, and to
	// look for them is faster than the expression. Nil where no text tells.
	hints []string
	re    *regexp.Regexp
}

func known(kind, re string, hints ...string) rule {
	return rule{kind, hints, regexp.MustCompile(re)}
}

// secretWords are what the name of a secret ends with, without _ and - and in lower case.
var secretWords = []string{
	"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "secretkey", "privatekey", "accountkey", "accesstoken", "authtoken",
	"refreshtoken", "sessiontoken", "bearertoken", "securitytoken", "clientsecret", "authorization", "cookie", "connectionstring", "credentials",
}

// rules are the shapes of secrets that are told without asking their owner. Of two that
// overlap the first names the kind.
var rules = []rule{
	known("private-key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`, "private key"),
	known("private-key", `AGE-SECRET-KEY-1[0-9A-Z]{20,}`, "age-secret-key-"),
	known("jwt", `\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){2,4}`, "eyj"),
	known("aws-key", `\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA|ANVA|AIPA)[A-Z0-9]{16}\b`, "a3t", "akia", "asia", "abia", "acca", "agpa", "aida", "aroa", "anpa", "anva", "aipa"),
	known("github-token", `\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{20,255})`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	known("gitlab-token", `\bgl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_.-]{16,}`, "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
	known("slack-token", `\bxox[abeoprs][.-][A-Za-z0-9.-]{10,}|hooks\.slack\.com/services/([A-Za-z0-9/+_-]{16,})`, "xox", "hooks.slack.com"),
	known("api-key", `\b[spr]k[-_](?:live|test|proj|ant|or|svcacct|admin)?[A-Za-z0-9_-]{16,}`, "sk-", "sk_", "pk-", "pk_", "rk-", "rk_"),
	known("google-key", `\bAIza[0-9A-Za-z_-]{30,}|\bya29\.[0-9A-Za-z_-]{16,}|\bGOCSPX-[0-9A-Za-z_-]{16,}|\b1//0[0-9A-Za-z_-]{20,}`, "aiza", "ya29.", "gocspx-", "1//0"),
	known("api-key", `\b(?:npm_|pypi-|hf_|gsk_|xai-|hvs\.|dop_v1_|doo_v1_|shp(?:at|ca|pa|ss)_|SG\.|lin_api_|pplx-|r8_|tvly-|PMAK-|dckr_pat_|sntry[su]_|glsa_|NRAK-|ntn_|figd_|sbp_|vercel_|rubygems_)[A-Za-z0-9_.-]{16,}`,
		"npm_", "pypi-", "hf_", "gsk_", "xai-", "hvs.", "dop_v1_", "doo_v1_", "shpat_", "shpca_", "shppa_", "shpss_", "sg.", "lin_api_", "pplx-", "r8_", "tvly-", "pmak-", "dckr_pat_", "sntrys_", "sntryu_", "glsa_", "nrak-", "ntn_", "figd_", "sbp_", "vercel_", "rubygems_"),
	known("api-key", `\b(?:SK|AC)[0-9a-f]{32}\b|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`, "sk", "ac", ":aa"),
	known("connection-string", `\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'<>]*:([^\s/@"'<>]+)@`, "://"),
	known("connection-string", `(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)=([A-Za-z0-9+/=%_-]{16,})`, "accountkey=", "sharedaccess", "sig="),
	known("connection-string", `://([^\s/:@"'<>]{16,})@`, "://"),
	known("bearer", `(?i)\bbearer\s+["']?([A-Za-z0-9._~+/=-]{8,})`, "bearer"),
	known("authorization", `(?i)\bauthorization["']?\s*[:=]\s*["']?(?:basic|digest|token|apikey|negotiate)\s+([^\s"',;]{4,})`, "authorization"),
	known("cookie", `(?i)\bcookie["']?\s*[:=]\s*["']?([^\s=;"']+=[^\r\n"']+)`, "cookie"),
	known("assignment", `(?i)(?:^|\s)--?[\w-]*(?:password|passwd|passphrase|token|secret|api-?key)[ =]\s*["']?([^\s"']{4,})`, "-"),
	known("assignment", `(?i)\btoken["']?\s*[:=]\s*["']?([^\s"',;&{}<>()\[\]]{8,})`, "token"),
	known("assignment", `(?i)(?:password|passwd|passphrase|pwd|secret|(?:api|access|secret|private|account)[ _-]?key(?:[_-]?id)?|(?:access|auth|refresh|session|bearer|security|id)[ _-]?token|connection[ _-]?string|credentials)["']?\s*(?:=>|:=|=|:)\s*["']?([^\s"',;&{}<>()\[\]]{4,})`,
		"passw", "passphrase", "pwd", "secret", "api", "key", "token", "connection", "credentials"),
}

// uuid and entropic tell names that are given by chance from secrets.
var (
	uuid     = regexp.MustCompile(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	entropic = regexp.MustCompile(`[A-Za-z0-9+/_-]{20,}={0,2}`)
)

// isRandom reports whether a word of letters and digits looks drawn by chance: it has letters
// and digits, more bits a character than words of a language or numbers in order, and goes
// from lower case to upper and to digits and back more often than a name made of words.
func isRandom(word string) bool {
	if uuid.MatchString(word) {
		return false
	}
	var lower, upper, digit, hex, slash, turns int
	var count [128]int
	var last byte
	for i := range len(word) {
		c := word[i]
		count[c]++
		class := last
		switch {
		case c >= '0' && c <= '9':
			class = '0'
			digit++
			hex++
		case c >= 'a' && c <= 'z':
			class = 'a'
			lower++
			if c <= 'f' {
				hex++
			}
		case c >= 'A' && c <= 'Z':
			class = 'A'
			upper++
			if c <= 'F' {
				hex++
			}
		case c == '/':
			slash++
		}
		if class != last && last != 0 {
			turns++
		}
		last = class
	}
	oft := float64(turns) / float64(len(word))
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(word))
			bits -= p * math.Log2(p)
		}
	}
	switch {
	case digit == 0 || lower+upper == 0:
		return false
	case hex == len(word):
		return len(word) >= 32 && bits >= 3
	case slash > 1+len(word)/24: // a path
		return false
	case slash > 0:
		return lower > 0 && upper > 0 && len(word) >= 36 && bits >= 4.4
	case lower == 0 || upper == 0:
		return bits >= 3.8 && oft >= 0.25
	}
	return bits >= 3.8 && oft >= 0.38
}

// span is a secret in a text.
type span struct {
	from, to int
	kind     string
}

// find returns the secrets in a text, in order and apart from each other.
func (r *Redactor) find(text string) []span {
	var spans []span
	low := ""
	if len(text) >= leastShaped {
		low = strings.ToLower(text)
	}
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.hints != nil && !slices.ContainsFunc(rule.hints, func(hint string) bool { return strings.Contains(low, hint) }) {
			continue
		}
		for _, m := range rule.re.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			if from < to {
				spans = append(spans, span{from, to, rule.kind})
			}
		}
	}
	for _, m := range entropic.FindAllStringIndex(text, -1) {
		if isRandom(text[m[0]:m[1]]) {
			spans = append(spans, span{m[0], m[1], "entropy"})
		}
	}
	return apart(spans)
}

// leastShaped is the least length of a text that has a secret with a hint.
const leastShaped = 8

// apart joins spans that overlap, under the kind of the one that was found first.
func apart(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	order := map[span]int{}
	for i, s := range spans {
		if _, there := order[s]; !there {
			order[s] = i
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out, first := spans[:1], order[spans[0]]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.from >= last.to {
			out, first = append(out, s), order[s]
			continue
		}
		if order[s] < first {
			last.kind, first = s.kind, order[s]
		}
		last.to = max(last.to, s.to)
	}
	return out
}

// isSecretKey reports whether a key names a secret.
func isSecretKey(key string) bool {
	if len(key) > 200 {
		return false
	}
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
	return name == "token" || name == "pwd" || name == "credential" || slices.ContainsFunc(secretWords, func(word string) bool { return strings.HasSuffix(name, word) })
}
