package model

import (
	"reflect"
	"testing"
	"time"
)

func TestFacts_sayTheirNumbersInWords(t *testing.T) {
	for _, c := range []struct{ got, want Fact }{
		{TokensFact("tokens", "tokens", []Number{{"cacheRead", 21}, {"input", 43}, {"output", 0}, {"unheard of", 1}}),
			Fact{"tokens", "43 in, 0 out, 21 from the cache", []Number{{"tokens.input", 43}, {"tokens.output", 0}, {"tokens.cacheRead", 21}}}},
		{TokensFact("tokens", "tokens", nil), Fact{Label: "tokens"}},
		{MillisecondsFact("model took", "latencyMs", 12.5), Fact{"model took", "12.5 ms", []Number{{"latencyMs", 12.5}}}},
		{DurationFact("took", "durationMs", 1500*time.Microsecond), Fact{"took", "1.5ms", []Number{{"durationMs", 1.5}}}},
		{CountFact("messages", "messages", 1_000_000), Fact{"messages", "1000000", []Number{{"messages", 1e6}}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%+v, not %+v", c.got, c.want)
		}
	}
}
