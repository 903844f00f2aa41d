package prices_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
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
	if err != nil || list.Currency != "USD" || list.ListDate == "" {
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
		// A name fits with its provider and its edition, too.
		{conversation.Usage{Counted: true, Model: "some/sonnet-4.1", Input: 1e6}, 3, conversation.UserPrice},
		{conversation.Usage{Counted: true, Model: "claude-haiku-4-5-20251001", Input: 1e6}, 1, conversation.ListPrice},
		{conversation.Usage{Counted: true, Model: "anthropic/claude-opus-5-5[1m]", Input: 1e6}, 4, conversation.ListPrice},
		{conversation.Usage{Counted: true, Model: "gpt-5-2025-08-07", Input: 1e6}, 1.25, conversation.ListPrice},
		{conversation.Usage{Counted: true, Model: "gpt-55", Input: 1e6}, 0, conversation.Unpriced},
		// A cache that keeps for an hour costs more, and so does a long prompt.
		{conversation.Usage{Counted: true, Model: "claude-opus-5-5", Input: 2e6, CacheWrite: 2e6, CacheWriteHour: 1e6}, 13, conversation.ListPrice},
		{conversation.Usage{Counted: true, Model: "sonnet-4.1", Input: 2e6, CacheWrite: 2e6, CacheWriteHour: 1e6}, 7.5, conversation.UserPrice},
		{conversation.Usage{Counted: true, Model: "gemini-2.5-pro", Input: 200_000}, 0.25, conversation.ListPrice},
		{conversation.Usage{Counted: true, Model: "gemini-2.5-pro", Input: 200_001}, 0.5000025, conversation.ListPrice},
		{conversation.Usage{Counted: true, Model: "gpt-6-sol", Input: 272_001}, 0, conversation.Unpriced},
		{conversation.Usage{Counted: true, Input: 1e6}, 0, conversation.Unpriced},
		{conversation.Usage{Model: "sonnet-3"}, 0, conversation.Unpriced},
	} {
		if cost, source := list.Cost(c.usage); cost != c.cost || source != c.source {
			t.Errorf("%+v costs %v, %v", c.usage, cost, source)
		}
	}
}

// The user's prices go before those of the list, unless they are in another currency: then there is no list.
func TestList_usersFirst(t *testing.T) {
	opus := conversation.Usage{Counted: true, Model: "claude-opus-5-5", Input: 1e6}
	for text, want := range map[string]conversation.PriceSource{
		"": conversation.ListPrice,
		"[[price]]\nmodel = \"claude-opus-5-5\"\ninput = 1": conversation.UserPrice,
		"[[price]]\nmodel = \"claude-*\"\noutput = 1":       conversation.Unpriced,
		"currency = \"EUR\"":                                conversation.Unpriced,
	} {
		list, err := prices.Parse("prices.toml", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, source := list.Cost(opus); source != want {
			t.Errorf("%q: the price is from %v, not %v", text, source, want)
		}
		if euros := list.Currency == "EUR"; euros != (list.ListDate == "") {
			t.Errorf("%q: %q, %q", text, list.Currency, list.ListDate)
		}
	}
}

// Each price of the list is one, of a model by its whole name; the last of a model holds for any length, or the
// ones before it have a bound.
func TestList_prices(t *testing.T) {
	text, err := os.ReadFile("list.toml")
	if err != nil {
		t.Fatal(err)
	}
	models := regexp.MustCompile(`(?m)^model = "(.*)"$`).FindAllStringSubmatch(string(text), -1)
	if len(models) < 60 {
		t.Fatalf("%d prices", len(models))
	}
	list, err := prices.Load("")
	if err != nil || list.Currency != "USD" || !regexp.MustCompile(`^20\d\d-\d\d$`).MatchString(list.ListDate) {
		t.Fatal(list, err)
	}
	for _, m := range models {
		used := conversation.Usage{Counted: true, Model: m[1], Input: 3000, CacheRead: 1000, Output: 100}
		cost, source := list.Cost(used)
		if source != conversation.ListPrice || cost <= 0 || cost > 0.1 {
			t.Errorf("%s costs %v, %v", m[1], cost, source)
		}
		used.CacheRead = 0
		if whole, _ := list.Cost(used); whole <= cost {
			t.Errorf("%s costs %v from a cache and %v without one", m[1], cost, whole)
		}
		if strings.ContainsAny(m[1], "*?[") || strings.Count(string(text), m[0]) > 2 {
			t.Errorf("%s is a pattern, or has more than two prices", m[1])
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
	mine := conversation.Usage{Counted: true, Model: "sonnet-3", Input: 1e6}
	for _, none := range []string{"", filepath.Join(dir, "prices.toml")} {
		list, err := prices.Load(none)
		if err != nil {
			t.Fatal(err)
		}
		if _, source := list.Cost(mine); source != conversation.Unpriced {
			t.Errorf("%q: %v", none, source)
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
	list, err := prices.Load(prices.Path(getenv))
	if err != nil {
		t.Fatal(err)
	}
	if _, source := list.Cost(mine); source != conversation.UserPrice {
		t.Error(source)
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

// A window is that of the user's entry, of the name, of the list; what no page says is unknown.
func TestList_WindowOf(t *testing.T) {
	list, err := prices.Parse("prices.toml", file+"\n[[price]]\nmodel = \"mine-*\"\nwindow = 32_000\n\n[[price]]\nmodel = \"gpt-4o\"\nwindow = 64_000\n")
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]float64{
		"mine-7b": 32_000, "gpt-4o": 64_000, "claude-sonnet-4-5-20250929": 200_000, "anthropic/claude-opus-5-5": 1_000_000, "claude-sonnet-4-5[1m]": 1_000_000,
		"gpt-5-2025-08-07": 400_000, "gemini-2.5-pro": 1_048_576, "sonnet-4.1": 0, "gemini-4-neon": 0, "": 0,
	} {
		if got := list.WindowOf(model); got != want {
			t.Errorf("the window of %q is %.0f, not %.0f", model, got, want)
		}
	}
	if _, err := prices.Parse("prices.toml", "[[price]]\nmodel = \"a\"\nwindow = -1\n"); err == nil {
		t.Error("a window below nothing is taken")
	}
}
