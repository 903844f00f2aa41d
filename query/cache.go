package query

import (
	"fmt"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
)

// CacheBreak is a request for which the provider's cache of the one before was of little use.
type CacheBreak struct {
	// Visit is that of the answer.
	Visit model.Node
	// Lost is how many tokens the cache had, and were read anew.
	Lost float64
	// Why is the cause in a few words, as far as it is known.
	Why string
	// Cost is how much more these tokens cost than out of the cache; Priced says that both prices are known.
	Cost   float64
	Priced bool
}

const (
	// leastLost is the least number of tokens that a cache loses: providers cache no shorter prompts.
	leastLost = 1024
	// cacheLives is how long Anthropic's cache holds a prompt, unless it is asked for an hour.
	cacheLives = 5 * time.Minute
)

// cacheBreaks finds the requests whose answers tell that less than half of the cached tokens of the request before came
// from the cache. Stats has all visits, in any order.
func cacheBreaks(t *model.Timeline, stats []Stat, prices Prices) (list []CacheBreak) {
	byVisit := make([]*Stat, t.Len())
	for i := range stats {
		byVisit[stats[i].Visit] = &stats[i]
	}
	for n, stat := range byVisit {
		if stat == nil || len(stat.Answers) == 0 {
			continue
		}
		before := t.Parent(model.Node(n))
		for before != model.NoNode && (byVisit[before] == nil || len(byVisit[before].Answers) == 0) {
			before = t.Parent(before)
		}
		if before == model.NoNode {
			continue
		}
		was, is := lastUsage(byVisit[before]), stat.Answers[0].Usage
		had := was.CacheRead + was.CacheWrite
		if lost := min(had, is.Input) - is.CacheRead; is.Counted && had >= leastLost && lost >= leastLost && is.CacheRead < had/2 {
			b := CacheBreak{Visit: model.Node(n), Lost: lost, Why: causeOf(t, before, stat, was, is)}
			b.Cost, b.Priced = costOfLoss(is, lost, prices)
			list = append(list, b)
		}
	}
	return list
}

// lastUsage returns the usage of the last answer of a visit.
func lastUsage(s *Stat) conversation.Usage { return s.Answers[len(s.Answers)-1].Usage }

// causeOf says why a cache was of no use, as far as that is known.
func causeOf(t *model.Timeline, before model.Node, stat *Stat, was, is conversation.Usage) string {
	idle := t.Header(stat.Visit).CreatedAt.Sub(t.Header(before).CreatedAt)
	switch r := stat.Request; {
	case was.Model != is.Model && was.Model != "" && is.Model != "":
		return fmt.Sprintf("model changed (%s, was %s)", is.Model, was.Model)
	case r.Dropped > 0:
		return fmt.Sprintf("%d of %s dropped", r.Dropped, model.Count(r.Earlier, "message"))
	case idle >= cacheLives:
		return idleText(idle)
	}
	return "another beginning, or a cache that was emptied"
}

// idleText says how long nothing was asked: "idle 7 min".
func idleText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("idle %d min", int(d/time.Minute))
	case d < 2*day:
		return fmt.Sprintf("idle %d h", int(d/time.Hour))
	}
	return fmt.Sprintf("idle %d days", int(d/day))
}

// costOfLoss returns how much more an answer cost because tokens did not come from the cache.
func costOfLoss(u conversation.Usage, lost float64, prices Prices) (cost float64, known bool) {
	if prices == nil {
		return 0, false
	}
	u.Priced = false
	cached := u
	cached.CacheRead += lost
	cached.CacheWrite = max(0, cached.CacheWrite-lost)
	cached.CacheWriteHour = min(cached.CacheWriteHour, cached.CacheWrite)
	paid, source := prices.Cost(u)
	less, other := prices.Cost(cached)
	return max(0, paid-less), source != conversation.Unpriced && other != conversation.Unpriced
}
