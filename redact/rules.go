package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// rule finds one kind of secret in a text by a regular expression. The secret is the first group of the
// expression, or the whole match if it has no group.
type rule struct {
	kind string
	// hints are texts in lower case. Each text with such a secret has one of them.
	// Looking for them is faster than the expression. Nil means that the expression runs always.
	hints []string
	re    func() *regexp.Regexp
	// name is the strength of the name beside the secret, by which the secret is judged;
	// certain means that whatever matches is a secret.
	name strength
}

// expression returns a function that compiles a regular expression when it is used first.
func expression(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

// pattern returns a rule whose match is a secret.
func pattern(kind, re string, hints ...string) rule {
	return rule{kind, hints, expression(re), certain}
}

// argument returns a rule for a secret that is an argument of a program or a server.
func argument(kind, re string, hints ...string) rule {
	return rule{kind, hints, expression(re), anything}
}

// assignment returns a rule for a value beside a name, which is judged by the name's strength.
func assignment(name strength, re string, hints ...string) rule {
	return rule{"assignment", hints, expression(re), name}
}

// secretName is a name of an entry whose value stands in an attribute or in the next line.
const secretName = `[\w.:-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|_pass)`

// spoken are the words for a password in sentences.
const spoken = `(?:passw(?:or)?d|passwort|passphrase|kennwort|pwd|mot de passe|contraseña|senha|wachtwoord|hasło|пароль|パスワード|密码)`

var spokenHints = wordList("passw passphrase kennwort pwd passe contraseña senha wachtwoord hasło пароль パスワード 密码")

// rules are the secrets that more than a prefix tells. Of two that overlap, the first gives
// the kind.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		pattern("private-key", `\bLS0tLS1CRUdJTi(?:BSU0EgUFJJVkFUR|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEUg|BFTkNSWVBURUQg|BEU0EgUFJJVkFUR)[A-Za-z0-9+/=]{20,}`, "ls0tls1crudjti"),
		pattern("jwt", `\beyJ[A-Za-z0-9_-]{6,}\.(?:[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|\.[A-Za-z0-9_-]+)(?:\.[A-Za-z0-9_-]*){0,2}`, "eyj"),
		pattern("aws-key", `\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA|ANVA|AIPA)[A-Z0-9]{16}\b`,
			"a3t", "akia", "asia", "abia", "acca", "agpa", "aida", "aroa", "anpa", "anva", "aipa"),
		pattern("slack-token", `hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/+_-]{16,})`, "hooks.slack.com"),
		pattern("api-key", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`, ":aa"),
		pattern("api-key", `\b[0-9a-f]{32}-us[0-9]{1,2}\b`, "-us"),
		pattern("api-key", `\bSK[0-9a-f]{32}\b`, "sk"),
		pattern("api-key", `\b4/0A[\w-]{30,}`, "4/0a"),
		pattern("api-key", `\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}`, "q~", ".atlasv1."),
		pattern("webhook", `(?i)(?:discord(?:app)?\.com/api/webhooks/[0-9]+|hooks\.zapier\.com/hooks/catch/[0-9]+|office\.com/webhook(?:b2)?)/([\w@/-]{6,})`,
			"webhook", "hooks."),
		argument("connection-string", `\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'<>]*:([^\s/@"'<>]+)@`, "://"),
		argument("connection-string", `(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig|X-(?:Amz|Goog)-Signature)=([A-Za-z0-9+/=%_-]{16,})`,
			"accountkey=", "sharedaccess", "sig=", "signature="),
		argument("connection-string", `://([^\s/:@"'<>]{16,})@`, "://"),
		argument("authorization", `(?i)\bauthorization["']?\s*[:=]\s*["']?(?:basic|digest|token|apikey|negotiate|splunk|ssws|key)\s+([^\s"',;\\]{4,})`,
			"authorization"),
		argument("bearer", `(?i)\bauthorization["']?\s*[:=]\s*["']?bearer\s+["']?([A-Za-z0-9._~+/=-]{8,})`, "authorization"),
		{"bearer", []string{"bearer"}, expression(`(?i)\bbearer\s+["']?([A-Za-z0-9._~+/=-]{8,})`), token},
		argument("cookie", `(?i)\bcookie["']?\s*[:=]\s*["']?([^\s=;"']+=[^\r\n"']+)`, "cookie"),
		argument("assignment", `\b(?:curl|wget|https?)\b[^\n|]*?\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?["']?[^\s:"'/]+:([^\s"']{3,})`, "curl", "wget", "http -", "https -"),
		argument("assignment", `\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7z)\b[^\n|]*?\s-p["']?([^\s"'|;]{3,})`, "mysql", "mariadb", "7z"),
		argument("assignment", `\becho\s+(?:-\w+\s+)?["']?([^\s"'\\|]{3,})(?:\\+n[^\s"'|]*)?["']?\s*\|\s*(?:sudo\s+(?:-S|chpasswd|passwd)|passwd\b|[^\n|]*--password-stdin)`, "sudo", "passwd", "--password-stdin"),
		argument("assignment", `\blftp\b[^\n|]*?\s-u\s+[^\s,]+,["']?([^\s"']{3,})`, "lftp"),
		argument("assignment", `\bsshpass\s+-p\s*["']?([^\s"']{3,})`, "sshpass"),
		argument("assignment", `\b(?:docker|podman|nerdctl|helm|buildah|skopeo|oras|crane|oc|az|cf)\b[^\n|]*?\blogin\b[^\n|]*?\s-p[ =]?["']?([^\s"']{3,})`, "login"),
		argument("assignment", `\b(?:dotnet\s+nuget|twine|mvn|gradle|pip|poetry)\b[^\n|]*?\s-p\s+["']?([^\s"']{4,})`, " -p "),
		argument("assignment", `\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+["']?([^\s"']{3,})`, "rabbitmqctl"),
		argument("assignment", `\bsnmp\w+\b[^\n|]*?\s-[AX]\s+["']?([^\s"']{4,})`, "snmp"),
		argument("assignment", `(?i)\bcreateUser\s+\S+\s+(?:SHA|MD5)\S*\s+["']?([^\s"']{4,})`, "createuser"),
		argument("assignment", `(?i)\bnet\s+use\b[^\n]*?/user:\S+\s+["']?([^\s"'/]{4,})`, "/user:"),
		argument("assignment", `#define\s+\w*(?i:pass|passwd|password|psk|secret|token)\s+\\*"([^"\n\\]{4,})`, "#define"),
		argument("assignment", `\bLOGIN\s+["']?\S+@\S+\s+["']?([^\s"']{4,})`, "login"),
		argument("assignment", `(?i)\bisakmp\s+key\s+(?:\d\s+)?(\S{4,})`, "isakmp"),
		pattern("api-key", `\brails secret\s+([0-9a-f]{128})\b`, "rails secret"),
		argument("assignment", `:\s*PSK\s+\\*["']([^"'\n\\]{4,})`, "psk"),
		argument("connection-string", `(?i)\bjdbc:oracle:\w+:[\w.-]+/([^\s/@"']{3,})@`, "jdbc:oracle"),
		argument("cookie", `\bcurl\b[^\n|]*?\s(?:-b|--cookie)[ =]["']?([^\s"'=]+=[^\n"']+)`, "curl"),
		argument("assignment", `\bredis-cli\b[^\n|]*?\s-a\s+["']?([^\s"']{3,})`, "redis-cli"),
		argument("assignment", `\b(?:mongo|mongosh|mongodump|mongorestore)\b[^\n|]*?\s-p\s+["']?([^\s"']{3,})`, "mongo"),
		argument("assignment", `\b(?:ldapsearch|ldapadd|ldapmodify|ldapwhoami|bcp|sqlcmd|mosquitto_pub|mosquitto_sub|zip|unzip|ipmitool)\b[^\n|]*?\s-[wP]\s+["']?([^\s"']{4,})`,
			" -w ", " -p "),
		argument("assignment", `\b(?:smbclient|rpcclient)\b[^\n|]*?\s-U\s*["']?[^\s"'%]+%([^\s"']{3,})`, "smbclient", "rpcclient"),
		argument("assignment", `\bsqlplus\s+(?:-\w+\s+)*[\w.-]+/([^\s@"']{3,})@`, "sqlplus"),
		assignment(password, `\bpass(?:in|out)?\s+pass:([^\s"']{3,})|\bpass:([^\s"']{3,})`, "pass:"),
		argument("assignment", `\bmachine\s+\S+(?:\s|\\n)+login\s+\S+(?:\s|\\n)+password\s+([^\s\\"']{3,})`, "machine"),
		assignment(password, `(?i)\b(?:identified\s+(?:with\s+\S+\s+)?by|(?:user|role)\s+\S+\s+(?:with\s+)?(?:encrypted\s+)?password)\s+["']([^"'\n]{3,})["']`, "identified", "password"),
		assignment(password, `(?i)\b(?:requirepass|masterauth|storepass|keypass)\s+["']?([^\s"']{3,})`, "requirepass", "masterauth", "storepass", "keypass"),
		argument("assignment", `\bkeytool\b[^\n|]*?\s-(?:storepass|keypass|srcstorepass|deststorepass)\s+["']?([^\s"']{3,})`, "keytool"),
		argument("assignment", `\b(?:storePassword|keyPassword)\s+["']([^"'\n]{3,})["']`, "storepassword", "keypassword"),
		argument("assignment", `\s--(?:passphrase|password)[ =]"([^"\n]{4,})"|\s--(?:passphrase|password)[ =]'([^'\n]{4,})'`, "--pass"),
		argument("assignment", `\becho\s+(?:-\w+\s+)?["']?[\w.-]+:([^\s"']{3,})["']?\s*\|\s*(?:sudo\s+)?chpasswd`, "chpasswd"),
		argument("assignment", `\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+["']?([^\s"']{3,})`, "htpasswd"),
		argument("assignment", `\bwandb\s+login\s+(?:--?\S+\s+)*["']?([0-9a-f]{40})\b`, "wandb"),
		argument("assignment", `(?i)\bConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\n]{3,})["']`, "convertto-securestring"),
		argument("assignment", `\b(?i:smtp|imap|pop3?|server|mail)\w*\.login\(\s*\\*["'][^"'\n]*["']\s*,\s*\\*["']([^"'\n\\]{4,})["'\\]`, ".login("),
		argument("assignment", `\b(?:PDO(?:->__construct)?|mysqli(?:_connect)?|(?i:getConnection))\((?:\s*\\*["'][^"'\n]*["']\s*,){2}\s*\\*["']([^"'\n\\]{3,})["'\\]`, "pdo", "mysqli", "getconnection"),
		assignment(password, `(?i)`+spoken+`[^\n]{0,20}\)\.(?:type|fill|send_?keys|set_?value|(?:press_?)?sequentially)\(\s*\\*["']([^"'\n\\]{4,})["'\\]`, spokenHints()...),
		assignment(password, `(?i)\btype=\\*["']?password\\*["']?[^\n<>]{0,20}?\bvalue=\\*["']([^"'\n\\]{4,})["'\\]`, "value="),
		argument("assignment", `\b([a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{4})\b`, "passw", "notarytool", "altool"),
		argument("assignment", `(?i)\b(?:app[\w -]{0,14}password\b[^\n:=]{0,30}(?:[:=]|\bis)\s*["']?|pass\w*\\*["']?\s*[:=]\s*\\*["'])((?-i:[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4}))(?:$|[^\w ])`, "pass"),
		argument("assignment", `(?i)\bexpect\s+["'{][^\n]*passw[^\n]*\n\s*send\s+(?:--\s+)?["']([^"'\\\n]{3,})`, "expect"),
		argument("assignment", `(?i)\bpassword for the \[?\w+\]? user (?:was )?(?:successfully )?reset\.?\s+new value:\s*(\S{4,})`, "new value:"),
		assignment(password, `(?i)`+spoken+`(?:\s+(?:for|of|to|für|von|de|pour)\s+[\w.@-]{1,40})?\s+(?:is|was|lautet|ist|to|est|es|é|è)\s+["'`+"`"+`]?([^\s"'`+"`"+`]{4,})`, spokenHints()...),
		assignment(token, `(?i)`+spoken+`(?:\s+(?:for|of|on|to|in|from|at|für|von|zum|zur|des|der|de|del|para|pour|du|от|для|к)\s[\pL\d'._ -]{1,40})?\s*[:：]\s*["'`+"`"+`]?([^\s"'`+"`"+`]{4,})`, spokenHints()...),
		assignment(token, `(?i)`+spoken+`\s+(?:\d\s+)?\\*["'`+"`"+`]?([^\s"'`+"`"+`\\]{6,})`, spokenHints()...),
		assignment(literal, `(?i)`+spoken+`\s+\\*["'`+"`"+`]([^\n"'`+"`"+`\\]{6,})["'`+"`"+`\\]`, spokenHints()...),
		assignment(token, `(?i)\b(?:shared secret|pre-?shared key|psk) (?:is|was) ["'`+"`"+`]?([^\s"'`+"`"+`]{6,})`, "shared "),
		assignment(literal, `(?i)`+secretName+`\s*=\s*"[^"\n]*"\s*->\s*"([^"\n]{4,})"`, "->"),
		assignment(literal, `\becho\s+-n\s+["']([^"'\n]{6,})["']\s*\|\s*base64`, "base64"),
		pattern("api-key", `(?i:\b(?:totp|otp|mfa|2fa)\b)[^\n]{0,20}?\b([A-Z2-7]{16,64})\b`, "otp", "mfa", "2fa"),
		pattern("api-key", `(?i:key)\W{1,12}([A-Za-z0-9+/]{86}==)`, "key"),
		assignment(password, spoken+`\s*(?:は|是|为)?\s*[「『“]([^」』”\n]{4,})[」』”]`, "「", "『", "“"),
		assignment(weak, `(?i)(?:token|secret|key)\s+(?:is|was|ist|lautet)\s+["'`+"`"+`]?([^\s"'`+"`"+`]{12,})`,
			"key is", "key was", "token is", "token was", "token ist", "secret is", "secret was", "key ist", "lautet"),
		assignment(password, `(?i)(?:^|[\s"'`+"`"+`])--?[\w-]*(?:password|passwd|passphrase)[ =]\s*["']?([^\s"']{4,})`, "-pass"),
		assignment(literal, `(?i)(?:^|[\s"'`+"`"+`])--?[\w-]*(?:token|secret|api-?key|auth-?key|access-?key)[ =]\s*["']?([^\s"']{4,})`,
			"token", "secret", "api-key", "apikey", "auth-key", "access-key"),
		assignment(query, `(?i)[?&][\w.-]*(?:token|secret|api_?-?key|access_?key|passw(?:or)?d|sig)=([^\s&#"'`+"`"+`<>\\)]{6,})`, "token=", "secret=", "key=", "password=", "passwd=", "sig="),
		assignment(literal, `(?i)(?:key|name)=\\*["']`+secretName+`\\*["']\s+value=\\*["']([^"'\\]{4,})["'\\]`, "value="),
		assignment(password, `(?i)name=\\*["']`+secretName+`\\*["']\s*>([^<\n]{4,})</`, "</"),
		assignment(password, `(?i)<key>`+secretName+`</key>\s*<string>([^<\n]{4,})</string>`, "</string>"),
		assignment(literal, `(?i)\bname:\s*["']?`+secretName+`["']?\s*\n\s*value:\s*["']?([^\s"']{4,})`, "value:"),
		assignment(literal, `(?i)\bauth\s*=\s*\(\s*\\*["'][^"'\n]*["']\s*,\s*\\*["']([^"'\n\\]{4,})["'\\]`, "auth=", "auth ="),
		assignment(literal, `(?i)aws_secret_access_key\s+["']?([A-Za-z0-9/+=]{20,})`, "aws_secret_access_key "),
	}
})

// span is a secret in a text.
type span struct {
	from, to int
	kind     string
	// spread means that the secret is one by itself, and is hidden wherever it stands.
	spread bool
}

// find returns the secrets in a text, in order and apart from each other. A calm text names
// something, so no word of it is a secret only because it looks random.
func (r *Redactor) find(text string, calm bool) []span {
	if len(text) < leastFound && len(r.options.Patterns) == 0 {
		return nil
	}
	return joinOverlaps(searchDecoded(text, func(text string) []span { return r.search(text, calm) }))
}

// searchDecoded returns the secrets that a search finds in a text as it is and with its escapes decoded, in no order.
func searchDecoded(text string, search func(string) []span) []span {
	spans := search(text)
	for piece := range decodeEscapes(text) {
		for _, s := range search(piece.decoded) {
			spans = append(spans, span{piece.at[s.from], piece.at[s.to], s.kind, s.spread})
		}
	}
	return spans
}

// search returns the secrets in a text as it is, in no order.
func (r *Redactor) search(text string, calm bool) (spans []span) {
	for _, m := range r.matches(text, false) {
		from, to := m.findSecret()
		rule := m.rule
		if rule.name == certain {
			spans = append(spans, span{from, to, rule.kind, rule.kind != "private-key"})
			continue
		}
		if rule.kind == "cookie" && !isSession(text[from:to]) {
			continue
		}
		to = from + len(trimEnd(text[from:to]))
		if hide, spread := judge(text[from:to], rule.name); hide {
			spans = append(spans, span{from, to, rule.kind, spread})
		}
	}
	spans = keysInLines(spans, text)
	spans = appendShaped(spans, text)
	spans = appendNamed(spans, text)
	spans = appendPhrases(spans, text)
	if calm && len(spans) == 0 {
		return nil
	}
	public := sync.OnceValue(func() [][]int { return publicBlocks().FindAllStringIndex(text, -1) })
	if !calm {
		spans = r.drawnWords(spans, text, public)
	}
	if len(spans) == 0 {
		return nil
	}
	return spansOutside(spans, public())
}

// match is where a rule matches in a text: the match and its groups.
type match struct {
	rule *rule
	at   []int
}

// findSecret returns where the secret of a match is: its group, or all of it.
func (m *match) findSecret() (from, to int) {
	from, to = m.at[0], m.at[1]
	for g := 2; g < len(m.at) && m.rule.kind != "regex"; g += 2 {
		if m.at[g] >= 0 {
			from, to = m.at[g], m.at[g+1]
		}
	}
	return from, to
}

// matches returns the matches of all rules in a text, or of the certain rules only, by the order of the rules.
func (r *Redactor) matches(text string, onlyCertain bool) (list []match) {
	user := len(r.rules) - len(rules())
	for i := range user {
		for _, at := range r.rules[i].re().FindAllStringSubmatchIndex(text, -1) {
			list = append(list, match{&r.rules[i], at})
		}
	}
	filter := ruleFilter()
	r.wordPlaces = filter.scan(text, r.wordPlaces)
	for i := range filter.rules {
		rule := &r.rules[user+i]
		if onlyCertain && rule.name != certain {
			continue
		}
		filter.rules[i].windows(text, r.wordPlaces, func(w window) {
			for _, at := range rule.re().FindAllStringSubmatchIndex(text[w.from:w.to], -1) {
				for g := range at {
					if at[g] >= 0 {
						at[g] += w.from
					}
				}
				list = append(list, match{rule, at})
			}
		})
	}
	return list
}

// spansOutside returns the secrets that do not lie in one of some parts of a text, unless their own shape tells
// that they are secrets.
func spansOutside(spans []span, parts [][]int) []span {
	return slices.DeleteFunc(spans, func(s span) bool {
		return (s.kind == "assignment" || s.kind == "entropy") && slices.ContainsFunc(parts, func(part []int) bool { return part[0] <= s.from && s.to <= part[1] })
	})
}

// isSession reports whether cookies have one by which a person is known again.
func isSession(cookies string) bool {
	for cookie := range strings.SplitSeq(cookies, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(cookie), "=")
		low := strings.ToLower(name)
		if isDrawn(value) || slices.ContainsFunc(sessionNames, func(part string) bool { return strings.Contains(low, part) }) {
			return true
		}
	}
	return false
}

var sessionNames = []string{"sid", "sess", "token", "auth", "jwt", "csrf", "xsrf", "key", "login", "remember", "id"}

// leastFound is the least length of a text that has a secret.
const leastFound = 6

// joinOverlaps joins spans that overlap, under the kind of the one that was found first.
func joinOverlaps(spans []span) []span {
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
		last.to, last.spread = max(last.to, s.to), last.spread || s.spread
	}
	return out
}
