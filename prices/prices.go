// Package prices holds the prices of models: those of a small file of the user's, and behind them the vendors' list
// prices in list.toml.
package prices

import (
	_ "embed" // list.toml
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"hindcast/model/conversation"
)

// List holds the prices of models: those of the user, and behind them list prices. The zero value holds no prices. A
// List never changes, and is safe for concurrent use.
type List struct {
	// Currency is the currency of the prices, such as "USD"; "" without any.
	Currency string
	// ListDate is the month of the list prices, "2026-11"; "" if the currency of the user's file is not theirs.
	ListDate string
	prices   []price
	listed   map[string][]price // by the name of the model
}

// price holds the prices of a million tokens for the models that match a name. A nil price is unknown.
type price struct {
	Model string `toml:"model"`
	// UpTo is the most tokens of input for which the price holds; 0 for any number.
	UpTo       float64  `toml:"up_to"`
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
	// CacheWriteHour is the price of tokens that a cache keeps for an hour; nil for that of CacheWrite.
	CacheWriteHour *float64 `toml:"cache_write_1h"`
	// Window is how many tokens a request and its answer may have together; 0 for unknown.
	Window float64 `toml:"window"`
}

// FileError describes a mistake in the user's prices.
type FileError struct {
	File string
	// Reason describes the mistake and its place.
	Reason string
}

// Error returns the file and what is wrong with it.
func (e *FileError) Error() string { return fmt.Sprintf("prices: read %s: %s", e.File, e.Reason) }

// Path returns where the user's prices are: hindcast/prices.toml in $XDG_CONFIG_HOME, or
// in ~/.config where that is not an absolute path. It is "" where there is no home either.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "hindcast", "prices.toml")
}

// maxFile bounds the file, in bytes.
const maxFile = 1 << 20

// Load reads the user's prices from a file, and sets the list prices behind them. A missing file, or the path "", gives
// the list prices alone. A mistake in the file is a *FileError.
func Load(file string) (*List, error) {
	if file == "" {
		return listPrices(), nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return listPrices(), nil
	case err != nil:
		return nil, fmt.Errorf("prices: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, &FileError{file, "it is no file, or has more than 1 MB"}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	return Parse(file, string(text))
}

// listText holds the list prices.
//
//go:embed list.toml
var listText string

// listPrices returns the list prices.
var listPrices = sync.OnceValue(func() *List {
	d, err := decodeFile("list.toml", listText)
	if err != nil {
		panic(err) // a test reads it
	}
	l := &List{Currency: d.Currency, ListDate: d.Date, listed: map[string][]price{}}
	for _, p := range d.Price {
		l.listed[p.Model] = append(l.listed[p.Model], p)
	}
	return l
})

// document is a file of prices.
type document struct {
	Currency string  `toml:"currency"`
	Date     string  `toml:"date"`
	Price    []price `toml:"price"`
}

// Parse is Load on the text of a file; file names it in errors.
//
//	currency = "USD"           # else there are no list prices behind these
//
//	[[price]]                  # for a million tokens
//	model = "claude-sonnet-*"  # a name, or a pattern of path.Match
//	up_to = 200_000            # the most tokens of input for which it holds
//	input = 3.0
//	output = 15.0
//	cache_read = 0.3
//	cache_write = 3.75
//	cache_write_1h = 6.0       # for tokens that are kept for an hour
//	window = 200_000           # the tokens of a request and its answer together
//
// The first entry that fits counts. A name also fits with a provider before it and a date behind it.
func Parse(file, text string) (*List, error) {
	d, err := decodeFile(file, text)
	if err != nil {
		return nil, err
	}
	l := *listPrices()
	if d.Currency != "" && d.Currency != l.Currency {
		l = List{Currency: d.Currency}
	}
	l.prices = d.Price
	return &l, nil
}

// decodeFile reads a file of prices.
func decodeFile(file, text string) (*document, error) {
	var d document
	meta, err := toml.Decode(text, &d)
	if err != nil {
		return nil, &FileError{file, err.Error()}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, &FileError{file, fmt.Sprintf("%s means nothing; a price has model, up_to, input, output, cache_read, cache_write, cache_write_1h and window", unknown[0])}
	}
	for i, p := range d.Price {
		if _, err := path.Match(p.Model, ""); err != nil || p.Model == "" {
			return nil, &FileError{file, fmt.Sprintf("price %d: model %q is no name and no pattern", i+1, p.Model)}
		}
		for _, of := range []*float64{&p.UpTo, &p.Window, p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteHour} {
			if of != nil && !(*of >= 0 && *of < 1e12) {
				return nil, &FileError{file, fmt.Sprintf("price %d: %v is no price", i+1, *of)}
			}
		}
	}
	return &d, nil
}

// perMillion is how many tokens the prices are for.
const perMillion = 1e6

// Cost returns the cost of a model's tokens, and the source of the price; [conversation.Unpriced] if a price that it needs
// is unknown.
func (l *List) Cost(u conversation.Usage) (cost float64, source conversation.PriceSource) {
	if !u.Counted || u.Model == "" {
		return 0, conversation.Unpriced
	}
	names := namesOf(u.Model)
	for i := range l.prices {
		p := &l.prices[i]
		if !p.fits(names[:], u.Input) {
			continue
		}
		if cost, known := p.costOf(u); known {
			return cost, conversation.UserPrice
		}
		return 0, conversation.Unpriced // the user's word, as far as it goes
	}
	for _, name := range names {
		for i := range l.listed[name] {
			p := &l.listed[name][i]
			if p.UpTo > 0 && u.Input > p.UpTo {
				continue
			}
			if cost, known := p.costOf(u); known {
				return cost, conversation.ListPrice
			}
			return 0, conversation.Unpriced
		}
	}
	return 0, conversation.Unpriced
}

// WindowOf returns the context window of a model in tokens: those of a request and of its answer together; 0 if it is
// unknown. A length at the end of the name, as in claude-opus-4-5[1m], goes before the lists.
func (l *List) WindowOf(model string) float64 {
	if n := contextLength().FindStringSubmatch(model); n != nil {
		size, _ := strconv.ParseFloat(n[1], 64) // it is digits
		return size * map[string]float64{"k": 1e3, "m": 1e6}[n[2]]
	}
	names := namesOf(model)
	for i := range l.prices {
		if p := &l.prices[i]; p.Window > 0 && p.fits(names[:], 0) {
			return p.Window
		}
	}
	for _, name := range names {
		for i := range l.listed[name] {
			if p := &l.listed[name][i]; p.Window > 0 {
				return p.Window
			}
		}
	}
	return 0
}

// contextLength matches the length of a context at the end of the name of a model.
var contextLength = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[(\d{1,6})([km])\]$`) })

// edition matches the end of the name of a model: the date of its edition, and the length of its context.
var edition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([-@]20\d\d-?\d\d-?\d\d|-latest)?(\[\d+[km]\])?$`)
})

// namesOf returns the names by which a model is looked up: whole, without its provider, and without its edition too.
func namesOf(model string) [3]string {
	name := model[strings.LastIndexByte(model, '/')+1:]
	return [3]string{model, name, edition().ReplaceAllString(name, "")}
}

// fits reports whether the price is that of a model by one of its names, with so many tokens of input.
func (p *price) fits(names []string, input float64) bool {
	if p.UpTo > 0 && input > p.UpTo {
		return false
	}
	for _, name := range names {
		if fits, _ := path.Match(p.Model, name); fits {
			return true
		}
	}
	return false
}

// costOf returns the cost of tokens; false if a price that it needs is unknown.
func (p *price) costOf(u conversation.Usage) (cost float64, known bool) {
	hour := p.CacheWriteHour
	if hour == nil {
		hour = p.CacheWrite
	}
	for _, part := range []struct {
		tokens float64
		price  *float64
	}{
		{u.Input - u.CacheRead - u.CacheWrite, p.Input},
		{u.Output, p.Output},
		{u.CacheRead, p.CacheRead},
		{u.CacheWrite - u.CacheWriteHour, p.CacheWrite},
		{u.CacheWriteHour, hour},
	} {
		if part.tokens <= 0 {
			continue
		}
		if part.price == nil {
			return 0, false
		}
		cost += part.tokens * *part.price / perMillion
	}
	return cost, true
}
