package conversation_test

import (
	"testing"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// What each framework writes, and what it cost.
func TestUsageOf(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    conversation.Usage
	}{
		"nothing":   {`{"role":"user","content":"hi"}`, conversation.Usage{}},
		"no object": {`7`, conversation.Usage{}},
		"Strands": {
			`{"role":"assistant","content":[],"metadata":{"usage":{"inputTokens":58,"outputTokens":42,"totalTokens":100,"cacheReadInputTokens":29},"metrics":{"latencyMs":137}}}`,
			conversation.Usage{Counted: true, Input: 58, Output: 42, CacheRead: 29, Milliseconds: 137},
		},
		"Strands, the cache beside the input": {
			`{"role":"assistant","content":[],"metadata":{"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":45,"cacheReadInputTokens":20,"cacheWriteInputTokens":10}}}`,
			conversation.Usage{Counted: true, Input: 40, Output: 5, CacheRead: 20, CacheWrite: 10},
		},
		"a file of Strands": {
			`{"message":{"role":"assistant","content":[],"metadata":{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}},"message_id":1}`,
			conversation.Usage{Counted: true, Input: 1, Output: 2},
		},
		"LangChain": {
			`{"type":"ai","content":"x","usage_metadata":{"input_tokens":30,"output_tokens":4,"total_tokens":34,"input_token_details":{"cache_read":8,"cache_creation":2}},"response_metadata":{"model_name":"m-1"}}`,
			conversation.Usage{Counted: true, Input: 30, Output: 4, CacheRead: 8, CacheWrite: 2, Model: "m-1"},
		},
		"LangChain's envelope": {
			`{"lc":1,"id":["AIMessage"],"kwargs":{"content":"x","usage_metadata":{"input_tokens":11,"output_tokens":5,"total_tokens":16}}}`,
			conversation.Usage{Counted: true, Input: 11, Output: 5},
		},
		"Anthropic": {
			`{"role":"assistant","content":[],"model":"m","usage":{"input_tokens":3,"output_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":50}}`,
			conversation.Usage{Counted: true, Input: 153, Output: 7, CacheRead: 100, CacheWrite: 50, Model: "m"},
		},
		"Anthropic, a cache of an hour": {
			`{"role":"assistant","content":[],"model":"m","usage":{"input_tokens":3,"output_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":50,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":30}}}`,
			conversation.Usage{Counted: true, Input: 153, Output: 7, CacheRead: 100, CacheWrite: 50, CacheWriteHour: 30, Model: "m"},
		},
		"OpenAI": {
			`{"role":"assistant","content":"","usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}}`,
			conversation.Usage{Counted: true, Input: 9, Output: 1, CacheRead: 4},
		},
		"OpenAI, of responses": {
			`{"role":"assistant","content":"","usage":{"input_tokens":9,"output_tokens":1,"total_tokens":10,"input_tokens_details":{"cached_tokens":4}}}`,
			conversation.Usage{Counted: true, Input: 9, Output: 1, CacheRead: 4},
		},
		"an event of ADK": {
			`{"author":"helper","content":{"role":"model","parts":[]},"model_version":"m","usage_metadata":{"prompt_token_count":17,"candidates_token_count":5,"thoughts_token_count":3,"total_token_count":25,"cached_content_token_count":2}}`,
			conversation.Usage{Counted: true, Input: 17, Output: 8, CacheRead: 2, Model: "m"},
		},
		"pi": {
			`{"role":"assistant","content":[],"model":"m","usage":{"input":2,"output":3,"cacheRead":10,"cacheWrite":0,"totalTokens":15,"cost":{"total":0.25}}}`,
			conversation.Usage{Counted: true, Input: 12, Output: 3, CacheRead: 10, Model: "m", Cost: 0.25, Priced: true},
		},
		"the output alone": {`{"role":"assistant","content":"x","usage":{"output_tokens":2}}`, conversation.Usage{Counted: true, Output: 2}},
		"the input alone":  {`{"role":"assistant","content":"x","usage":{"input_tokens":2}}`, conversation.Usage{Counted: true, Input: 2}},
		"counts that are none": {
			`{"role":"assistant","content":[],"model":7,"usage":{"input_tokens":"3","output_tokens":-1}}`,
			conversation.Usage{},
		},
	} {
		tape, err := jsontape.Parse([]byte(c.message))
		if err != nil {
			t.Fatal(err)
		}
		if got := conversation.UsageOf(tape, 0); got != c.want {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}
