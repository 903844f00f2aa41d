// Package prices reads what models cost from a small file of the user's. It knows no
// price of its own.
package prices

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"hindcast/model/conversation"
)

// List holds the prices of models. The zero value holds no prices. A List never changes, and is safe for
// concurrent use.
type List struct {
	// Currency is the currency of the prices, such as "USD"; "" if the file does not say.
	Currency string
	prices   []price
}

// price holds the prices of a million tokens for the models that match a name. A nil price is unknown.
type price struct {
	Model      string   `toml:"model"`
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
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

// Load reads prices from a file. A missing file, or the path "", gives an empty list. A mistake in the file
// is a *FileError.
func Load(file string) (*List, error) {
	if file == "" {
		return new(List), nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return new(List), nil
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

// Parse is Load on the text of a file; file names it in errors.
//
//	currency = "USD"
//
//	[[price]]                  # for a million tokens
//	model = "claude-sonnet-*"  # a name, or a pattern of path.Match
//	input = 3.0
//	output = 15.0
//	cache_read = 0.3
//	cache_write = 3.75
//
// The first entry whose model fits counts.
func Parse(file, text string) (*List, error) {
	var document struct {
		Currency string  `toml:"currency"`
		Price    []price `toml:"price"`
	}
	meta, err := toml.Decode(text, &document)
	if err != nil {
		return nil, &FileError{file, err.Error()}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, &FileError{file, fmt.Sprintf("%s means nothing; a price has model, input, output, cache_read and cache_write", unknown[0])}
	}
	for i, p := range document.Price {
		if _, err := path.Match(p.Model, ""); err != nil || p.Model == "" {
			return nil, &FileError{file, fmt.Sprintf("price %d: model %q is no name and no pattern", i+1, p.Model)}
		}
		for _, of := range []*float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if of != nil && !(*of >= 0 && *of < 1e12) {
				return nil, &FileError{file, fmt.Sprintf("price %d: %v is no price", i+1, *of)}
			}
		}
	}
	return &List{document.Currency, document.Price}, nil
}

// Empty reports whether there are no prices.
func (l *List) Empty() bool { return len(l.prices) == 0 }

// perMillion is how many tokens the prices are for.
const perMillion = 1e6

// Cost returns the cost of a model's tokens, and the source of the price; [conversation.Unpriced] if a price that it needs
// is unknown.
func (l *List) Cost(u conversation.Usage) (cost float64, source conversation.PriceSource) {
	if !u.Counted || u.Model == "" {
		return 0, conversation.Unpriced
	}
	for _, p := range l.prices {
		if fits, _ := path.Match(p.Model, u.Model); !fits {
			continue
		} else if cost, known := p.of(u); known {
			return cost, conversation.UserPrice
		}
		break
	}
	return 0, conversation.Unpriced
}

func (p *price) of(u conversation.Usage) (cost float64, known bool) {
	for _, part := range []struct {
		tokens float64
		price  *float64
	}{
		{u.Input - u.CacheRead - u.CacheWrite, p.Input}, {u.Output, p.Output},
		{u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite},
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
