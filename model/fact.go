package model

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fact is something that a store knows about one snapshot and that neither its
// header nor its state says: a status, a finish reason, the file that it is in.
type Fact struct {
	// Label is one or two of Hindcast's own words: "finish reason".
	Label string
	// Value says it in words. It is data of the store, and untrusted.
	Value string
	// Numbers are the numbers that Value says in words, or nil.
	Numbers []Number
}

// counted is the group of the numbers that a store counts for a whole session.
const counted = "counted."

// IsCounted reports whether the fact comes from [Facts.Count].
func (f Fact) IsCounted() bool {
	return len(f.Numbers) > 0 && strings.HasPrefix(f.Numbers[0].Key, counted)
}

// FactAgent is the label of the id of the agent whose session it is.
const FactAgent = "agent"

// Facts gathers facts.
type Facts []Fact

// Add adds a fact in words, unless there is nothing to say.
func (f *Facts) Add(label, value string) { f.AddFact(Fact{Label: label, Value: value}) }

// AddFact adds a fact, unless there is nothing to say.
func (f *Facts) AddFact(fact Fact) {
	if fact.Value != "" {
		*f = append(*f, fact)
	}
}

// Counted holds the totals that an agent, or its framework, counted for a whole session. 0 means not
// counted.
type Counted struct {
	// Tokens is the sum of tokens read and written. Read, FromCache and Written are tokens, too.
	Tokens, Read, FromCache, Written float64
	// Context is the number of tokens in the last input and output of the model: how full its context is.
	Context float64
	Dollars float64
	// Premium are the requests that count against a contract.
	Premium float64
}

// Count adds what was counted for the whole session, to the facts of the snapshot that is its head.
func (f *Facts) Count(is Counted) {
	for _, of := range []struct {
		label, key string
		n          float64
	}{
		{"tokens, of the session", "totalTokens", is.Tokens},
		{"tokens read, of the session", "inputTokens", is.Read},
		{"tokens from a cache, of the session", "cacheReadTokens", is.FromCache},
		{"tokens written, of the session", "outputTokens", is.Written},
		{"tokens in the context", "contextTokens", is.Context},
		{"dollars, of the session", "cost", is.Dollars},
		{"premium requests, of the session", "premiumRequests", is.Premium},
	} {
		if n := math.Round(of.n*1e9) / 1e9; n > 0 && !math.IsInf(n, 0) {
			f.AddFact(Fact{of.label, decimal(n), []Number{{counted + of.key, n}}})
		}
	}
}

// Same reports whether two facts say the same in words.
func (f Fact) Same(other Fact) bool { return f.Label == other.Label && f.Value == other.Value }

// Number is one number of a fact.
type Number struct {
	// Key names it in documents: "latencyMs", or "tokens.input" in a group.
	Key   string
	Value float64
}

// tokenWords are the counts of tokens that frameworks tell apart: the last part of
// their key, and their words in the order in which they are told.
var tokenWords = [...]struct{ key, words string }{
	{"input", "in"},
	{"output", "out"},
	{"total", "in all"},
	{"cacheRead", "from the cache"},
	{"cacheWrite", "into the cache"},
}

// TokensFact returns the fact that tells counts of tokens, keyed "input", "output",
// "total", "cacheRead" and "cacheWrite"; group is the part of their key before the
// dot. Without counts its Value is "".
func TokensFact(label, group string, counts []Number) Fact {
	fact := Fact{Label: label}
	var words []string
	for _, known := range tokenWords {
		i := slices.IndexFunc(counts, func(n Number) bool { return n.Key == known.key })
		if i < 0 {
			continue
		}
		words = append(words, decimal(counts[i].Value)+" "+known.words)
		fact.Numbers = append(fact.Numbers, Number{group + "." + known.key, counts[i].Value})
	}
	fact.Value = strings.Join(words, ", ")
	return fact
}

// MillisecondsFact returns the fact that something took a number of milliseconds.
func MillisecondsFact(label, key string, ms float64) Fact {
	return Fact{label, decimal(ms) + " ms", []Number{{key, ms}}}
}

// DurationFact returns the fact that something took a time; key ends in "Ms".
func DurationFact(label, key string, d time.Duration) Fact {
	d = d.Round(time.Microsecond)
	return Fact{label, d.String(), []Number{{key, float64(d) / float64(time.Millisecond)}}}
}

// CountFact returns the fact that there is a number of something.
func CountFact(label, key string, n int64) Fact {
	return Fact{label, strconv.FormatInt(n, 10), []Number{{key, float64(n)}}}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
