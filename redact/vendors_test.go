package redact_test

import (
	"encoding/base64"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/redact"
)

// patterns returns the patterns of a file in testdata.
func patterns(t *testing.T, name string) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			list = append(list, line)
		}
	}
	return list
}

// files are places of a secret as configuration, code and requests have it.
var files = []struct {
	name  string
	write func(string) string
}{
	{"log line", func(s string) string { return quoted("2026-05-04T12:04:28Z INFO starting with " + s + " as given") }},
	{"key of JSON", func(s string) string { return `{"cache":{` + quoted(s) + `:{"hits":1}}}` }},
	{"path of a URL", func(s string) string {
		return quoted("POST https://api.example.com/hooks/" + url.PathEscape(s) + "/send answered 204")
	}},
	{"percent-encoded", func(s string) string {
		return quoted("redirect=https%3A%2F%2Fx.example%2F%3Fcode%3D" + url.QueryEscape(s))
	}},
	{"base64 header", func(s string) string {
		return quoted("Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+s)) + "\nAccept: */*\n")
	}},
	{".env", func(s string) string { return quoted("DEBUG=1\nACME_TOKEN=" + s + "\nPORT=8080\n") }},
	{"JSON in JSON", func(s string) string {
		return quoted(`{"body":` + quoted(`{"inner":`+quoted(`{"v":`+quoted(s)+`}`)+`}`) + `}`)
	}},
	{"connection string", func(s string) string {
		return quoted("connect to acme://svc:" + url.QueryEscape(s) + "@db.example.com:5432/app now")
	}},
	{"shell", func(s string) string { return quoted("$ export ACME_SECRET='" + s + "' && ./deploy\ndone\n") }},
	{"YAML", func(s string) string { return quoted("acme:\n  region: eu\n  token: " + s + "\n  retries: 3\n") }},
	{"TOML", func(s string) string {
		return quoted("[acme]\nregion = \"eu\"\napi_key = " + quoted(s) + "\nretries = 3\n")
	}},
	{"code", func(s string) string { return quoted("client := acme.New(\n\t`" + s + "`,\n\tacme.Retries(3),\n)\n") }},
}

// Of secrets as vendors give them out today at most 2 of 100 are left at each place, and what
// stands around them stays.
func TestCorpus_vendors(t *testing.T) {
	list := patterns(t, "secrets.txt")
	for _, place := range files {
		random := rand.New(rand.NewPCG(31, 14))
		var left []string
		for _, pattern := range list {
			marked := strings.ReplaceAll(drawn(random, pattern), `\n`, "\n")
			whole := strings.NewReplacer("«", "", "»", "").Replace(marked)
			secret := markedPart(marked, whole)
			switch place.name {
			case "base64 header":
				whole = secret
			case "key of JSON", "path of a URL", "connection string":
				if whole != secret || strings.Contains(whole, " ") {
					continue // no line stands there
				}
			}
			out, _ := hidden(t, redact.Options{}, place.write(whole))
			if holds(out[0], secret) || strings.Contains(out[0], base64.StdEncoding.EncodeToString([]byte("user:"+secret))) {
				left = append(left, pattern)
			}
			before, after, _ := strings.Cut(place.write("MARK"), "MARK")
			if place.name != "base64 header" && (!strings.HasPrefix(out[0], before) || !strings.HasSuffix(out[0], after)) {
				t.Errorf("%s: what is around %s is hidden: %s", place.name, pattern, out[0])
			}
		}
		t.Logf("%s: %d of %d left", place.name, len(left), len(list))
		if len(left) > len(list)/50 {
			t.Errorf("%s: %d of %d secrets are left: %q", place.name, len(left), len(list), left)
		}
	}
}

// holds reports whether a state has a text, in the spelling of a URL, too.
func holds(state, text string) bool {
	all := flat(state)
	for range 3 {
		if strings.Contains(all, text) {
			return true
		}
		raw, _ := url.PathUnescape(all)
		if strings.Contains(raw, text) {
			return true
		}
		all, _ = url.QueryUnescape(all)
	}
	return false
}
