package redact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model/jsontape"
	"hindcast/redact"
)

// hidden returns states without their secrets.
func hidden(t failing, o redact.Options, states ...string) (out []string, found []redact.Finding) {
	t.Helper()
	r, err := redact.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		if err := r.Learn([]byte(state)); err != nil {
			t.Fatalf("%v of %.200s", err, state)
		}
	}
	if err := r.FinishLearning(); err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		text, err := r.State([]byte(state))
		if err != nil {
			t.Fatalf("%v of %.200s", err, state)
		}
		if !json.Valid(text) {
			t.Fatalf("no JSON: %s", text)
		}
		out = append(out, string(text))
	}
	return out, r.Findings()
}

type failing interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// The shapes of the table are put together here, so that no scanner takes this file for one
// that has secrets.
func join(parts ...string) string { return strings.Join(parts, "") }

var shapes = []struct{ kind, text, secret string }{
	{"api-key", "use %s now", join("sk-", "proj-", "Ab3dEf6hIj9kLm2nOp5q")},
	{"api-key", "%s", join("sk-", "ant-api03-", "abcdefghijklmnopqrst")},
	{"api-key", "key %s.", join("sk_", "live_", "4eC39HqLyjWDarjtT1zdp7dc")},
	{"aws-key", "id %s", join("AKIA", "IOSFODNN7EXAMPLE")},
	{"github-token", "(%s)", join("ghp_", "abcdefghijklmnopqrstuvwxyz0123456789")},
	{"github-token", "%s", join("github_pat_", "11ABCDEFG0abcdefghijkl_mnopqrstuv")},
	{"gitlab-token", "t=%s", join("glpat-", "abcdefghij0123456789")},
	{"slack-token", "%s", join("xoxb-", "123456789012-abcdefGHIJ")},
	{"slack-token", "https://hooks.slack.com/services/%s", join("T00000000/", "B00000000/", "XXXXXXXXXXXXXXXX")},
	{"google-key", "?key=%s", join("AIza", "SyA-abcdefghijklmnopqrstuvwxyz01234")},
	{"jwt", "Cookie %s", join("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U")},
	{"bearer", "Authorization: Bearer %s", join("abc", "def.ghi-jkl")},
	{"authorization", "authorization: Basic %s", join("dXNlcjpw", "YXNz")},
	{"connection-string", "postgres://app:%s@db.example.com:5432/x", join("s3cr3t", "-pw")},
	{"connection-string", "DefaultEndpointsProtocol=https;AccountKey=%s;", join("abcdefghijklmnop", "qrstuvwx==")},
	{"private-key", "%s", join("-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA ", "PRIVATE KEY-----")},
	{"private-key", "cut off: %s", join("-----BEGIN OPENSSH ", "PRIVATE KEY-----\nb3BlbnNzaC1rZXk")},
	{"assignment", "export DB_PASSWORD=%s", join("hunt", "er22")},
	{"assignment", `the api key: "%s"`, join("zz", "top1")},
	{"api-key", "%s", join("hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH")},
	{"connection-string", "git clone https://%s@git.example.com/x", join("abcdefgh", "ijklmnop")},
	{"cookie", "Set-Cookie: %s", join("sid=", "abc; Path=/")},
	{"assignment", "curl --api-token %s", join("zz", "top1")},
	{"assignment", "?token=%s&x", join("abcd", "efgh")},
	{"entropy", "%s", join("wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY1")},
	{"entropy", "value %s here", join("q7Xw9ZbK3", "mPv5RtY8LnD")},
	{"entropy", "%s", join("9f86d081884c7d65", "9a2feaa0c55ad015")},
	{"entropy", "with the token %s", join("9f86d081884c7d659a2feaa0c55ad015", "a3bf4f1b")},
}

func TestState_knownShapes(t *testing.T) {
	for _, c := range shapes {
		text, err := json.Marshal(fmt.Sprintf(c.text, c.secret))
		if err != nil {
			t.Fatal(err)
		}
		out, found := hidden(t, redact.Options{}, `{"messages":[{"text":`+string(text)+`}]}`)
		want, err := json.Marshal(fmt.Sprintf(c.text, "[redacted "+c.kind+" 1]"))
		if err != nil {
			t.Fatal(err)
		}
		if out[0] != `{"messages":[{"text":`+string(want)+`}]}` {
			t.Errorf("%s: %s, and not %s", c.kind, out[0], want)
		}
		if !slices.Equal(found, []redact.Finding{{Path: "/messages/*/text", Kind: c.kind, Secrets: 1}}) {
			t.Errorf("%s: found %+v", c.kind, found)
		}
	}
}

// Words that are drawn by chance are found, but for few.
func TestState_randomWords(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for _, c := range []struct{ letters, length, least int }{{62, 24, 930}, {62, 32, 980}, {62, 40, 990}} {
		random := rand.New(rand.NewPCG(1, 2))
		found := 0
		for range 1000 {
			word := make([]byte, c.length)
			for i := range word {
				word[i] = letters[random.IntN(c.letters)]
			}
			if out, _ := hidden(t, redact.Options{}, `"`+string(word)+`"`); out[0] == `"[redacted entropy 1]"` {
				found++
			}
		}
		if found < c.least {
			t.Errorf("%d of 1000 words of %d letters are found", found, c.length)
		}
	}
}

// Words of a conversation are no secrets.
func TestState_leavesTheRest(t *testing.T) {
	for _, text := range []string{
		`{"messages":[{"role":"user","content":[{"text":"What does the risk-assessment-of-the-train say about 2026-05-04T12:04:28Z?"}]}],"total":180.50, "id":"c41a8b41-171d-4278-bbfd-f2557ff71f24"}`,
		`{"path":"/usr/local/lib/python3/dist-packages/strands","maxTokens":12000,"tokens":{"input":12},"note":"The basic understanding of a bearer of news"}`,
		` { "a" : [ 1.0 , 1e3, "\u00e9", "\ud800" ] , "a":2 } `,
		`{"url":"https://example.com:8080/a/b?c=d","text":"secretary, tokenise, keyboard: passwordless"}`,
		`{"names":["getUserAccountBalanceV2","tooluse_book_train_10","test_user_login_with_2fa_enabled_v2","com.example.PaymentServiceV3Handler","2026-05-04T12-04-28-report-final","HINDCAST_SQLITE_3_BUSY_TIMEOUT","abcdefghijklmnopqrstuvwxyz0123456789"]}`,
		`"[redacted jwt 3]"`, `""`, `null`, `[]`,
	} {
		if out, found := hidden(t, redact.Options{}, text); out[0] != text || len(found) != 0 {
			t.Errorf("%s became %s: %+v", text, out[0], found)
		}
	}
}

func TestState_whereverTheSecretStands(t *testing.T) {
	key := join("sk-", "proj-", "Ab3dEf6hIj9kLm2nOp5q")
	inner, _ := json.Marshal(map[string]any{"password": "tab\there", "deep": fmt.Sprintf(`{"token":%q}`, "zw\u00f6lf!")})
	quoted, _ := json.Marshal(string(inner))
	for _, c := range []struct {
		name     string
		o        redact.Options
		in, want []string
		found    []redact.Finding
	}{
		{
			"in escapes", redact.Options{},
			[]string{`{"t":"\u0073k-proj-Ab3dEf6hIj9k\u004cm2nOp5q"}`}, []string{`{"t":"[redacted api-key 1]"}`},
			[]redact.Finding{{"/t", "api-key", 1}},
		},
		{
			"in a key", redact.Options{},
			[]string{`{"a":{"` + key + `":{"b":1}}}`}, []string{`{"a":{"[redacted api-key 1]":{"b":1}}}`},
			[]redact.Finding{{"/a", "api-key", 1}},
		},
		{
			"under a key", redact.Options{},
			[]string{`{"Db-Password":"hunter2!","client_secret":{"a":["x1y2z3",42,null,true]},"token":"","cookie":7}`},
			[]string{`{"Db-Password":"[redacted key 1]","client_secret":{"a":["[redacted key 2]",42,null,true]},"token":"","cookie":"[redacted key 3]"}`},
			[]redact.Finding{{"/Db-Password", "key", 1}, {"/client_secret/a/*", "key", 1}, {"/cookie", "key", 1}},
		},
		{
			"elsewhere, also before, and in another state", redact.Options{},
			[]string{`{"text":"it is hunter2!, or HUNTER2!"}`, `{"password":"hunter2!"}`},
			[]string{`{"text":"it is [redacted key 1], or HUNTER2!"}`, `{"password":"[redacted key 1]"}`},
			[]redact.Finding{{"/password", "key", 1}, {"/text", "key", 1}},
		},
		{
			"in JSON in a text in JSON in a text", redact.Options{},
			[]string{`{"arguments":` + string(quoted) + `,"said":"zwölf! and tab\there"}`},
			[]string{`{"arguments":"{\"deep\":\"{\\\"token\\\":\\\"[redacted key 1]\\\"}\",\"password\":\"[redacted key 2]\"}","said":"[redacted key 1] and [redacted key 2]"}`},
			[]redact.Finding{{"/arguments", "key", 2}, {"/said", "key", 2}},
		},
		{
			"in a piece of JSON, and in a URL", redact.Options{},
			[]string{`{"password":"a\"b&c d","t":"cut off: {\"p\":\"a\\\"b&c d\", then","u":"/x?p=a%22b%26c+d"}`},
			[]string{`{"password":"[redacted key 1]","t":"cut off: {\"p\":\"[redacted key 1]\", then","u":"/x?p=[redacted key 1]"}`},
			[]redact.Finding{{"/password", "key", 1}, {"/t", "key", 1}, {"/u", "key", 1}},
		},
		{
			"at a path, each element of it", redact.Options{Paths: []string{"/users/*/card", "/a~1b"}},
			[]string{`{"users":[{"card":4111111111111111},{"card":{"no":"99-11-22"}}],"a/b":[1],"said":"4111111111111111 or 99-11-22","n":4111111111111111}`},
			[]string{`{"users":[{"card":"[redacted path 1]"},{"card":"[redacted path 3]"}],"a/b":"[redacted path 5]","said":"[redacted path 1] or [redacted path 2]","n":"[redacted path 1]"}`},
			[]redact.Finding{{"/a~1b", "path", 1}, {"/n", "path", 1}, {"/said", "path", 2}, {"/users/*/card", "path", 2}},
		},
		{
			"a list at a path, the same in another state", redact.Options{Paths: []string{"/list"}},
			[]string{`{"list":["first one",2]}`, `{"list":["first one",2],"t":"the first one"}`, `{"list":["first one"]}`},
			[]string{`{"list":"[redacted path 3]"}`, `{"list":"[redacted path 3]","t":"the [redacted path 1]"}`, `{"list":"[redacted path 4]"}`},
			[]redact.Finding{{"/list", "path", 2}, {"/t", "path", 1}},
		},
		{
			"at a path that is there twice", redact.Options{Paths: []string{"/k"}},
			[]string{`{"k":"first one","k":"second one"}`}, []string{`{"k":"[redacted path 1]","k":"[redacted path 2]"}`},
			[]redact.Finding{{"/k", "path", 2}},
		},
		{
			"by an expression", redact.Options{Patterns: []string{`CUST-(\d+)`}},
			[]string{`{"CUST-12":"of CUST-12 and CUST-7"}`}, []string{`{"[redacted regex 1]":"of [redacted regex 1] and [redacted regex 2]"}`},
			[]redact.Finding{{"", "regex", 1}, {"/[redacted regex 1]", "regex", 2}},
		},
		{
			"beside an earlier redaction", redact.Options{},
			[]string{`{"t":"[redacted jwt 7] and ` + key + `"}`}, []string{`{"t":"[redacted jwt 7] and [redacted api-key 8]"}`},
			[]redact.Finding{{"/t", "api-key", 1}},
		},
	} {
		out, found := hidden(t, c.o, c.in...)
		if !slices.Equal(out, c.want) {
			t.Errorf("%s:\n %q and not\n %q", c.name, out, c.want)
		}
		if !slices.Equal(found, c.found) {
			t.Errorf("%s: found %+v, and not %+v", c.name, found, c.found)
		}
	}
}

func TestNew_refuses(t *testing.T) {
	for _, o := range []redact.Options{{Paths: []string{"cart"}}, {Paths: []string{""}}, {Patterns: []string{"("}}, {Patterns: []string{"x*"}}} {
		if _, err := redact.New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// Whatever cannot be hidden is refused.
func TestRedactor_failsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		o     redact.Options
		state string
		want  any
	}{
		"no JSON":              {redact.Options{}, `{"a":`, new(*jsontape.SyntaxError)},
		"not JSON at all":      {redact.Options{}, "\x80\x04pickle", new(*jsontape.SyntaxError)},
		"a path of nothing":    {redact.Options{Paths: []string{"/a", "/b"}}, `{"a":1}`, new(*redact.UnmetError)},
		"a pattern of nothing": {redact.Options{Patterns: []string{"zebra"}}, `{"a":1}`, new(*redact.UnmetError)},
	} {
		r, err := redact.New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if err = r.Learn([]byte(c.state)); err == nil {
			err = r.FinishLearning()
		}
		if err == nil || !errors.As(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many, err := redact.New(redact.Options{Paths: []string{"/*"}})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range 60_000 {
		list = append(list, fmt.Sprintf(`"secret-%d"`, i))
	}
	if err := errors.Join(many.Learn([]byte("["+strings.Join(list, ",")+"]")), many.FinishLearning()); !errors.Is(err, redact.ErrTooMany) {
		t.Errorf("60,000 secrets: %v", err)
	}
	nested := `"x"`
	for range 20 {
		quoted, _ := json.Marshal("[" + nested + "]")
		nested = string(quoted)
	}
	r, err := redact.New(redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Learn([]byte(nested)); !errors.Is(err, redact.ErrNested) {
		t.Errorf("JSON in JSON in JSON…: %v", err)
	}
}

// Random states with secrets at random places: none is in what comes out, however it is
// escaped; equal values stay equal and different ones different; the rest stays; and to
// redact it again changes nothing.
func TestState_property(t *testing.T) {
	secrets := []string{"hunter2!x", "κλειδί-9", "quo\"te\\d", join("ghp_", strings.Repeat("a1B2", 9)), "tab\tand\nline"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			words := rapid.SliceOfN(rapid.SampledFrom(append([]string{"train", "to", "Lyon", "größe", "{", "\"", "\\", "12"}, secrets...)), 0, 5).Draw(t, "words")
			return strings.Join(words, " ")
		})
		// A key is the structure of a state: only a known shape is a secret there.
		key := rapid.SampledFrom([]string{"train", "größe", "{", "a \"b\"", secrets[3], "of " + secrets[3]})
		var value func(depth int) *rapid.Generator[any]
		value = func(depth int) *rapid.Generator[any] {
			of := []*rapid.Generator[any]{text.AsAny(), rapid.IntRange(0, 99).AsAny(), rapid.Bool().AsAny()}
			if depth > 0 {
				of = append(of, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(), rapid.MapOfN(key, value(depth-1), 0, 3).AsAny(),
					rapid.Map(value(depth-1), func(v any) string { data, _ := json.Marshal(v); return string(data) }).AsAny())
			}
			return rapid.OneOf(of...)
		}
		var states []string
		for range rapid.IntRange(1, 4).Draw(t, "states") {
			data, err := json.Marshal(map[string]any{"api_key": secrets[:4], "secret": secrets[4], "v": value(3).Draw(t, "value")})
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "escaped") {
				data = escapeLetters(data)
			}
			states = append(states, string(data))
		}
		out, _ := hidden(t, redact.Options{}, states...)
		for i, text := range out {
			all := flat(text)
			for _, secret := range secrets {
				if strings.Contains(all, secret) {
					t.Fatalf("%q is in %s, of %s", secret, text, states[i])
				}
			}
			for j := range i {
				if (canonical(t, states[i]) == canonical(t, states[j])) != (canonical(t, out[i]) == canonical(t, out[j])) {
					t.Fatalf("%s and %s became %s and %s", states[i], states[j], out[i], out[j])
				}
			}
		}
		again, found := hidden(t, redact.Options{}, out...)
		if !slices.Equal(again, out) || len(found) > 0 {
			t.Fatalf("again: %q of %q, %+v", again, out, found)
		}
	})
}

// flat returns all texts and keys of a JSON text, and those of JSON in them, decoded.
func flat(text string) string {
	tape, err := jsontape.Parse([]byte(text))
	if err != nil {
		return text
	}
	var b strings.Builder
	for n := jsontape.Node(0); int(n) < tape.Len(); n++ {
		b.WriteString("\x00" + tape.Key(n) + "\x00")
		if s := tape.Text(n); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || strings.HasPrefix(s, `"`) {
			b.WriteString(flat(s))
		} else {
			b.WriteString(s)
		}
	}
	return b.String()
}

// escapeLetters writes each letter of a text as an escape.
func escapeLetters(data []byte) []byte {
	var out []byte
	in := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			in = !in
			out = append(out, c)
		case in && c == '\\':
			out = append(out, c, data[i+1])
			i++
		case in && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9') && i > 0 && !isEscape(data, i):
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// isEscape reports whether the byte at i belongs to an escape like \u00e9.
func isEscape(data []byte, i int) bool {
	at := strings.LastIndexByte(string(data[max(0, i-5):i]), '\\')
	return at >= 0
}

func canonical(t failing, text string) string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// FuzzState: whatever the state, what comes out is JSON in which nothing is found again.
func FuzzState(f *testing.F) {
	for _, c := range shapes {
		text, _ := json.Marshal(fmt.Sprintf(c.text, c.secret))
		f.Add(`{"password":"hunter2!","t":` + string(text) + `}`)
	}
	f.Add(`{"password":"[redacted jwt 3]]","t":"[redacted [redacted jwt 3] 4]","token":"token"}`)
	f.Add(`{"secret":"[redacted","t":"[redacted key 1]"}`)
	f.Fuzz(func(t *testing.T, state string) {
		once := func(state []byte) ([]byte, []redact.Finding, error) {
			r, err := redact.New(redact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Learn(state); err != nil {
				return nil, nil, err
			}
			if err := r.FinishLearning(); err != nil {
				t.Fatal(err)
			}
			out, err := r.State(state)
			return out, r.Findings(), err
		}
		out, _, err := once([]byte(state))
		if err != nil {
			return // it is refused
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", state, out)
		}
		again, found, err := once(out)
		if err != nil || string(again) != string(out) || len(found) > 0 {
			t.Fatalf("%q became %q, and then %q: %+v, %v", state, out, again, found, err)
		}
	})
}

// Only what is a secret by itself is hidden elsewhere: words, numbers and what is described are
// not, and the keys of a state stay.
func TestState_spreadsWhatIsProven(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"words behind names",
			`{"t":"Explain the secret: content of it, and password: messages. Field password: string (required). api_key=assistant","content":{"type":"string","role":"assistant"}}`, "",
		},
		{
			"the schema of a tool",
			`{"properties":{"password":{"type":"string","description":"required"},"api_key":{"type":"string","pattern":"^[a-z0-9]{8,}$"}},"required":["password"],"t":"string"}`, "",
		},
		{"a shorthand of a schema", `{"password":"string","token":"string | null","secret":"The secret of the user, as it is set"}`, ""},
		{"words under a key", `{"token":"separator","credentials":"include","secret":"my-app-tls","t":"separator include"}`, ""},
		{"placeholders", `{"password":"${DB_PASSWORD}","token":"<token>","api_key":"YOUR_API_KEY","secret":"****","pwd":"changeme"}`, ""},
		{"numbers", `{"token":123456,"n":123456,"password":"123456","t":"123456"}`, `{"token":"[redacted key 1]","n":123456,"password":"[redacted key 1]","t":"123456"}`},
		{"a word as a password", `{"password":"sunshine","t":"sunshine today"}`, `{"password":"[redacted key 1]","t":"sunshine today"}`},
		{"a guess in a sentence", `{"t":"the password: hunter2","u":"hunter2 is a name"}`, `{"t":"the password: [redacted assignment 1]","u":"hunter2 is a name"}`},
		{"a key that is a text elsewhere", `{"password":"user-id2!","user-id2!":1,"t":"user-id2!"}`, `{"password":"[redacted key 1]","user-id2!":1,"t":"[redacted key 1]"}`},
		{"a name and a value", `{"env":[{"name":"DB_PASSWORD","value":"hunter2!"},{"name":"MODE","value":"x"}]}`, `{"env":[{"name":"DB_PASSWORD","value":"[redacted key 1]"},{"name":"MODE","value":"x"}]}`},
		{"a scheme before it", `{"authorization":"Bearer zwf7-Kx29!","t":"zwf7-Kx29!"}`, `{"authorization":"[redacted key 2]","t":"[redacted key 1]"}`},
		{"an id that is told elsewhere", `{"id":"V1StGXR8Z5jdHi6BmyT3q","t":"see V1StGXR8Z5jdHi6BmyT3q"}`, ""},
		{"six bytes", `{"secret":"q7!Xw9","t":"q7!Xw9"}`, `{"secret":"[redacted key 1]","t":"[redacted key 1]"}`},
		{"five bytes", `{"secret":"q7!Xw","t":"q7!Xw"}`, `{"secret":"[redacted key 1]","t":"q7!Xw"}`},
		{"no digits drawn", `{"a":"00000000000000000000000000000000","b":"0000000000000000000000000000000000000000000000000000000000000000","c":"aaaaaaaabbbbbbbb11111111aaaaaaaa"}`, ""},
		{"percent escapes", `{"t":"q=hunter%2D%2D2%26token%3Dzw9%21xK7b"}`, `{"t":"q=hunter%2D%2D2%26token%3D[redacted assignment 1]"}`},
	} {
		if c.want == "" {
			c.want = c.in
		}
		if out, _ := hidden(t, redact.Options{}, c.in); out[0] != c.want {
			t.Errorf("%s:\n %s and not\n %s", c.name, out[0], c.want)
		}
	}
}

// Of secrets that overlap nothing is left, whichever begins first.
func TestState_overlappingSecrets(t *testing.T) {
	for _, patterns := range [][]string{{"abc-def", "def-ghi"}, {"def-ghi", "abc-def"}, {"abc-def-g", "c-d", "def-ghi"}, {"abc-def-ghi", "def"}} {
		out, _ := hidden(t, redact.Options{Patterns: patterns}, `{"t":"x abc-def-ghi y"}`)
		if out[0] != `{"t":"x [redacted regex 1] y"}` {
			t.Errorf("%q: %s", patterns, out[0])
		}
	}
}

// More secrets than memory is taken for are refused where they stand in a text, too.
func TestState_refusesTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 300 MB")
	}
	state := []byte(`"` + strings.Repeat("x y ", 17<<20) + `"`)
	r, err := redact.New(redact.Options{Patterns: []string{`(?s).+`}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Learn(state); !errors.Is(err, redact.ErrTooMany) {
		t.Errorf("68 MB that are one secret: %v", err)
	}
	if _, err := r.Text("title", string(state)); !errors.Is(err, redact.ErrTooMany) {
		t.Errorf("68 MB of a title: %v", err)
	}
}

// alphabet returns n letters and digits, drawn by a seed.
func alphabet(seed uint64, n int, of string) string {
	draw, text := rand.New(rand.NewPCG(seed, 0)), make([]byte, n)
	for i := range text {
		text[i] = of[draw.IntN(len(of))]
	}
	return string(text)
}

// A secret is hidden to its end, however long it is.
func TestState_longSecrets(t *testing.T) {
	for _, n := range []int{511, 512, 513, 3000} {
		secret := join("sk-", "proj-") + alphabet(1, n, "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789")
		out, _ := hidden(t, redact.Options{}, `{"text":"use `+secret+` now"}`)
		if want := `{"text":"use [redacted api-key 1] now"}`; out[0] != want {
			t.Errorf("of %d letters: %.200s", n, out[0])
		}
	}
}

// Escapes of JSON within a text stand for what they stand for: a secret between two is hidden, and the
// escapes stay.
func TestState_escapesWithinAText(t *testing.T) {
	secret := join("AKIA", "IOSFODNN7EXAMPLE")
	for _, around := range [][2]string{{`\\u003c`, `\\u003e`}, {`x\\u003c`, `\\u003ex`}, {`\\u0026`, `\\u0026`}} {
		out, _ := hidden(t, redact.Options{}, `{"text":"`+around[0]+secret+around[1]+`"}`)
		if want := `{"text":"` + around[0] + `[redacted aws-key 1]` + around[1] + `"}`; out[0] != want {
			t.Errorf("%s: %s", around[0], out[0])
		}
	}
}

// A key with the prefix of a vendor is a secret by itself: it is hidden also where other letters touch it.
func TestState_spreadsKeysOfVendors(t *testing.T) {
	secret := join("ab_", alphabet(2, 40, "0123456789abcdef"))
	out, _ := hidden(t, redact.Options{}, `{"one":"call it with `+secret+`","two":"zz`+secret+`zz"}`)
	if strings.Contains(out[0], secret) {
		t.Error(out[0])
	}
}
