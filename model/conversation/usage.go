package conversation

import (
	"hindcast/model/jsontape"
)

// Usage is the cost of a model's answer, as the message states it. The zero value says nothing.
type Usage struct {
	// Counted says that tokens are counted.
	Counted bool
	// Input are the tokens that the model read, those of a cache among them.
	Input float64
	// Output are the tokens that it wrote.
	Output float64
	// CacheRead are the tokens of Input that came from a cache, and CacheWrite those that
	// went into one.
	CacheRead, CacheWrite float64
	// CacheWriteHour are the tokens of CacheWrite that the cache keeps for an hour, which cost more.
	CacheWriteHour float64
	// Model names the model; "" where the message does not. It is untrusted.
	Model string
	// Milliseconds is how long the model took, 0 where the message does not say.
	Milliseconds float64
	// Cost is the price that the message tells; Priced says that it tells one.
	Cost   float64
	Priced bool
}

// PriceSource is where the price of an answer comes from.
type PriceSource uint8

// The sources. An earlier price goes before a later one: that of the agent, of the user's file, of the list that
// Hindcast brings along.
const (
	Unpriced PriceSource = iota
	OwnPrice
	UserPrice
	ListPrice
)

// Where the frameworks write the counts, by which names, and whether the tokens of a cache are inside those of the input or
// beside them. Strands writes the same names for both, and the total tells. The sums of the agents' own are held to this
// by the tests of query/ledger.
//
//	framework    at                cached   names
//	Strands      metadata.usage    either   inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens
//	Genkit       usage             inside   inputTokens, outputTokens, totalTokens, cachedContentTokens
//	LangChain    usage_metadata    inside   input_tokens, output_tokens, total_tokens, input_token_details: {cache_read, cache_creation}
//	Anthropic    usage             beside   input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens,
//	                                        cache_creation: {ephemeral_1h_input_tokens}
//	Gemini       usage_metadata    inside   prompt_token_count, candidates_token_count, thoughts_token_count, total_token_count,
//	                                        cached_content_token_count; thoughts are beside the output
//	OpenAI       usage             inside   prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: {cached_tokens},
//	                                        or input_tokens, output_tokens, input_tokens_details: {cached_tokens}
//	pi           usage             beside   input, output, totalTokens, cacheRead, cacheWrite, cost: {total}
//	Gemini CLI   tokens            inside   input, output, total, cached
//	opencode     tokens            beside   input, output, cache: {read, write}; and cost
//
// Claude Code writes the counts of Anthropic. Codex, Copilot CLI and OpenHands write counts beside the messages, cached
// inside; their kinds add them to the messages. Crush counts whole sessions alone.
var (
	usagePlaces = [][]string{{"metadata", "usage"}, {"usage_metadata"}, {"usage"}, {"tokens"}}

	inputKeys   = [][]string{{"inputTokens"}, {"input_tokens"}, {"prompt_tokens"}, {"input"}, {"prompt_token_count"}}
	outputKeys  = [][]string{{"outputTokens"}, {"output_tokens"}, {"completion_tokens"}, {"output"}, {"candidates_token_count"}}
	thoughtKeys = [][]string{{"thoughts_token_count"}}
	totalKeys   = [][]string{{"totalTokens"}, {"total_tokens"}, {"total"}, {"total_token_count"}}
	// Some count the tokens of a cache beside those of the input, some among them.
	besideReads  = [][]string{{"cacheReadInputTokens"}, {"cache_read_input_tokens"}, {"cacheRead"}, {"cache", "read"}}
	besideWrites = [][]string{{"cacheWriteInputTokens"}, {"cache_creation_input_tokens"}, {"cacheWrite"}, {"cache", "write"}}
	withinReads  = [][]string{{"input_token_details", "cache_read"}, {"prompt_tokens_details", "cached_tokens"}, {"input_tokens_details", "cached_tokens"}, {"cachedContentTokens"}, {"cached"}, {"cached_content_token_count"}}
	hourWrites   = [][]string{{"cache_creation", "ephemeral_1h_input_tokens"}}
	withinWrites = [][]string{{"input_token_details", "cache_creation"}}

	modelPlaces   = [][]string{{"response_metadata", "model_name"}, {"response_metadata", "model"}, {"model"}, {"modelID"}, {"model_version"}}
	latencyPlaces = [][]string{{"metadata", "metrics", "latencyMs"}}
	costPlaces    = [][]string{{"usage", "cost", "total"}, {"costUSD"}, {"cost"}}
)

// UsageOf returns the cost that a message states. n is an element of a list of messages.
func UsageOf(t *jsontape.Tape, n Node) (u Usage) {
	n = unwrapMessage(t, n)
	if name := lookUp(t, n, modelPlaces); t.Kind(name) == jsontape.String {
		u.Model = string(t.AppendText(nil, name, maxName))
	}
	u.Milliseconds, _ = readNumber(t, n, latencyPlaces)
	u.Cost, u.Priced = readNumber(t, n, costPlaces)
	counts := jsontape.None
	for _, keys := range usagePlaces {
		if at := lookUp(t, n, [][]string{keys}); t.Kind(at) == jsontape.Object {
			counts = at
			break
		}
	}
	var in, out bool
	u.Input, in = readNumber(t, counts, inputKeys)
	u.Output, out = readNumber(t, counts, outputKeys)
	if !in && !out {
		return u
	}
	u.Counted = true
	thought, _ := readNumber(t, counts, thoughtKeys) // Gemini counts them beside the output
	u.Output += thought
	total, _ := readNumber(t, counts, totalKeys)
	var within bool
	if u.CacheRead, within = readNumber(t, counts, withinReads); within {
		u.CacheWrite, _ = readNumber(t, counts, withinWrites)
		return u
	}
	u.CacheRead, _ = readNumber(t, counts, besideReads)
	u.CacheWrite, _ = readNumber(t, counts, besideWrites)
	hour, _ := readNumber(t, counts, hourWrites)
	u.CacheWriteHour = min(hour, u.CacheWrite)
	return u.Within(total)
}

// Within returns u with the tokens of the cache counted among those of the input. total is
// the sum that the framework tells, or 0: Strands writes the same keys whether a model
// counts them among those of the input or beside them, and only the sum tells.
func (u Usage) Within(total float64) Usage {
	if total != u.Input+u.Output {
		u.Input += u.CacheRead + u.CacheWrite
	}
	return u
}

// lookUp returns the value at the first of some places that is there, or None.
func lookUp(t *jsontape.Tape, n Node, places [][]string) Node {
	for _, keys := range places {
		at := n
		for _, key := range keys {
			at = t.Find(at, key)
		}
		if at >= 0 {
			return at
		}
	}
	return jsontape.None
}

// readNumber returns the count at the first of some places that has one. A count is not negative.
func readNumber(t *jsontape.Tape, n Node, places [][]string) (float64, bool) {
	for _, keys := range places {
		if v, ok := t.Float(lookUp(t, n, [][]string{keys})); ok && v >= 0 {
			return v, true
		}
	}
	return 0, false
}
