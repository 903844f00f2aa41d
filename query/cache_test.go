package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
)

// cachedAnswer is an answer with the tokens that came from a cache and went into one, of so many in all.
func cachedAnswer(text, by string, in, read, written int) string {
	return fmt.Sprintf(`{"role":"assistant","model":%q,"content":[{"text":%q}],"metadata":{"usage":{"inputTokens":%d,"outputTokens":10,"totalTokens":%d,"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d}}}`, by, text, in, in+10, read, written)
}

// userMessage is a message of the user.
func userMessage(text string) string {
	return fmt.Sprintf(`{"role":"user","content":[{"text":%q}]}`, text)
}

func messagesOf(messages ...string) string {
	return `{"n":1,"messages":[` + strings.Join(messages, ",") + `]}`
}

// requestStats returns the requests that visits tell of: "#1 2 of 4, 1 dropped".
func requestStats(t *testing.T, p *past) (lines []string) {
	t.Helper()
	line := model.NewTimeline(p.headers)
	for stat, err := range query.Open(p, line).Stats(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r := stat.Request; r != (query.RequestStat{}) {
			lines = append(lines, fmt.Sprintf("%s %d behind %d, %d dropped", line.Name(stat.Visit), r.Messages, r.Earlier, r.Dropped))
		}
	}
	return lines
}

func TestStats_requests(t *testing.T) {
	q, x, y, z := userMessage("q"), cachedAnswer("x", "m", 1, 0, 0), cachedAnswer("y", "m", 2, 0, 0), cachedAnswer("z", "m", 3, 0, 0)
	for name, c := range map[string]struct{ past, want []string }{
		"goes on":             {[]string{"a - " + messagesOf(q, x), "b a " + messagesOf(q, x, userMessage("more")), "c b " + messagesOf(q, x, userMessage("more"), y)}, []string{"#0 1 behind 0, 0 dropped", "#2 3 behind 1, 0 dropped"}},
		"compacted":           {[]string{"a - " + messagesOf(q, x), "b a " + messagesOf(userMessage("so far")), "c b " + messagesOf(userMessage("so far"), y)}, []string{"#0 1 behind 0, 0 dropped", "#2 1 behind 1, 1 dropped"}},
		"a window":            {[]string{"a - " + messagesOf(q, x, userMessage("1"), y), "b a " + messagesOf(userMessage("1"), y, userMessage("2"), z)}, []string{"#0 3 behind 0, 0 dropped", "#1 3 behind 3, 2 dropped"}},
		"a branch":            {[]string{"a - " + messagesOf(q, x), "b a " + messagesOf(q, x, userMessage("1"), y), "c a " + messagesOf(q, x, userMessage("2"), z)}, []string{"#0 1 behind 0, 0 dropped", "#1 3 behind 1, 0 dropped", "#2 3 behind 1, 0 dropped"}},
		"two answers at once": {[]string{"a - " + messagesOf(q, x, userMessage("1"), y)}, []string{"#0 3 behind 0, 0 dropped"}},
	} {
		if got := requestStats(t, pastOf(c.past...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// Of a random session each message of a request is in the next one or is counted as dropped.
func TestStats_requestsOfRandomSessions(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 35))
		var states []string
		var list []string
		earlier, dropped := []string(nil), 0
		var want []string
		for i := range 12 {
			was := list
			switch r.IntN(4) {
			case 0:
				list = slices.Clone(list[r.IntN(min(len(list), 3)+1):])
			case 1:
				list = []string{userMessage(fmt.Sprint("summary ", i))}
			}
			for _, m := range was[:min(len(was), len(earlier))] {
				if !slices.Contains(list, m) {
					dropped++
				}
			}
			list = append(slices.Clip(list), userMessage(fmt.Sprint("q", i)), cachedAnswer(fmt.Sprint("a", i), "m", 1+i, 0, 0))
			states = append(states, messagesOf(list...))
			sent := list[:len(list)-1]
			want = append(want, fmt.Sprintf("#%d %d behind %d, %d dropped", i, len(sent), len(earlier), min(dropped, len(earlier))))
			earlier, dropped = sent, 0
		}
		if got := requestStats(t, chain(states...)); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q\nnot %q", seed, got, want)
		}
	}
}

// tenTimes is a list with a price for each token: ten times as much outside of a cache.
type tenTimes struct{}

func (tenTimes) Cost(u conversation.Usage) (float64, conversation.PriceSource) {
	return (u.Input-u.CacheRead)*10 + u.CacheRead, conversation.ListPrice
}

// A cache that was of no use is found, with its cost and what is known of the cause.
func TestTotalsOf_brokenCaches(t *testing.T) {
	begins := []string{userMessage("q"), cachedAnswer("x", "m", 5000, 0, 5000)}
	more := func(messages ...string) string { return messagesOf(slices.Concat(begins, messages)...) }
	for name, c := range map[string]struct {
		next string
		idle time.Duration
		want string
	}{
		"used":          {more(userMessage("1"), cachedAnswer("y", "m", 5100, 5000, 100)), time.Minute, ""},
		"used in part":  {more(userMessage("1"), cachedAnswer("y", "m", 5100, 3000, 2100)), time.Minute, ""},
		"another model": {more(userMessage("1"), cachedAnswer("y", "n", 5100, 0, 5100)), time.Hour, "5000 tokens, 45000: model changed (n, was m)"},
		"idle":          {more(userMessage("1"), cachedAnswer("y", "m", 5100, 0, 5100)), 7 * time.Minute, "5000 tokens, 45000: idle 7 min"},
		"compacted":     {messagesOf(userMessage("so far"), cachedAnswer("y", "m", 4000, 500, 3500)), time.Minute, "3500 tokens, 31500: 1 of 1 message dropped"},
		"not known":     {more(userMessage("1"), cachedAnswer("y", "m", 5100, 1000, 4100)), time.Minute, "4000 tokens, 36000: another beginning, or a cache that was emptied"},
		"no cache told": {more(userMessage("1"), answer("y", 5100)), time.Minute, "5000 tokens, 45000: another beginning, or a cache that was emptied"},
	} {
		p := chain(messagesOf(begins...), c.next)
		at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
		p.headers[0].CreatedAt, p.headers[1].CreatedAt = at, at.Add(c.idle)
		line := model.NewTimeline(p.headers)
		var stats []query.Stat
		for stat, err := range query.Open(p, line).Stats(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			stats = append(stats, stat)
		}
		got := ""
		for _, b := range query.TotalsOf(line, stats, tenTimes{}).Breaks {
			got += fmt.Sprintf("%v tokens, %v: %s", b.Lost, b.Cost, b.Why)
			if b.Visit != 1 || !b.Priced {
				t.Errorf("%s: %+v", name, b)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
