package prices_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model/conversation"
	"hindcast/prices"
)

const file = `
currency = "USD"

[[price]]
model = "sonnet-4*"
input = 3.0
output = 15
cache_read = 0.3
cache_write = 3.75

[[price]]
model = "sonnet-*"
input = 1
output = 1
`

func TestList_Cost(t *testing.T) {
	list, err := prices.Parse("prices.toml", file)
	if err != nil || list.Currency != "USD" || list.Empty() {
		t.Fatal(list, err)
	}
	for _, c := range []struct {
		usage  conversation.Usage
		cost   float64
		source conversation.PriceSource
	}{
		{conversation.Usage{Counted: true, Model: "sonnet-4.1", Input: 1e6, Output: 1e6}, 18, conversation.UserPrice},
		{conversation.Usage{Counted: true, Model: "sonnet-4.1", Input: 4e6, CacheRead: 2e6, CacheWrite: 1e6}, 3 + 2*0.3 + 3.75, conversation.UserPrice},
		{conversation.Usage{Counted: true, Model: "sonnet-3", Input: 1e6}, 1, conversation.UserPrice},
		// A price that is not there is not guessed.
		{conversation.Usage{Counted: true, Model: "sonnet-3", Input: 1e6, CacheRead: 1}, 0, conversation.Unpriced},
		{conversation.Usage{Counted: true, Model: "opus", Input: 1e6}, 0, conversation.Unpriced},
		{conversation.Usage{Counted: true, Input: 1e6}, 0, conversation.Unpriced},
		{conversation.Usage{Model: "sonnet-3"}, 0, conversation.Unpriced},
	} {
		if cost, source := list.Cost(c.usage); cost != c.cost || source != c.source {
			t.Errorf("%+v costs %v, %v", c.usage, cost, source)
		}
	}
}

func TestParse_errors(t *testing.T) {
	for text, want := range map[string]string{
		"[[price]]\nmodel = \"[\"":                `model "[" is no name and no pattern`,
		"[[price]]\ninput = 3":                    `model "" is no name`,
		"[[price]]\nmodel = \"a\"\ninput = -1":    "-1 is no price",
		"[[price]]\nmodel = \"a\"\ninput = nan":   "NaN is no price",
		"[[price]]\nmodel = \"a\"\ninptu = 1":     "price.inptu means nothing",
		"[[price]]\nmodel = \"a\"\ninput = \"1\"": "incompatible types",
		"x =": "line 1",
	} {
		_, err := prices.Parse("prices.toml", text)
		wrong := (*prices.FileError)(nil)
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "prices: read prices.toml: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for _, none := range []string{"", filepath.Join(dir, "prices.toml")} {
		if list, err := prices.Load(none); err != nil || !list.Empty() {
			t.Errorf("%q: %v, %v", none, list, err)
		}
	}
	if _, err := prices.Load(dir); err == nil {
		t.Error("a directory is no file")
	}
	if err := os.WriteFile(filepath.Join(dir, "prices.toml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"HOME": "/nowhere", "XDG_CONFIG_HOME": dir}[name] }
	if err := os.Mkdir(filepath.Join(dir, "hindcast"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "prices.toml"), prices.Path(getenv)); err != nil {
		t.Fatal(err)
	}
	if list, err := prices.Load(prices.Path(getenv)); err != nil || list.Empty() {
		t.Errorf("%v, %v", list, err)
	}
	home := func(name string) string {
		return map[string]string{"HOME": "/home/me", "XDG_CONFIG_HOME": "relative"}[name]
	}
	if got, want := prices.Path(home), filepath.FromSlash("/home/me/.config/hindcast/prices.toml"); got != want {
		t.Errorf("%q", got)
	}
	if got := prices.Path(func(string) string { return "" }); got != "" {
		t.Errorf("%q", got)
	}
}
