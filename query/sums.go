package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
)

// Sum adds up what visits add to their paths.
type Sum struct {
	// Snapshots counts the visits, steps left out.
	Snapshots int
	// Answers counts the answers of models that tell of tokens or of a price.
	Answers int
	// Input, Output, CacheRead and CacheWrite count tokens, as [conversation.Usage] does.
	Input, Output, CacheRead, CacheWrite float64
	// Milliseconds is how long the models took, summed over the answers that tell it.
	Milliseconds float64
	// Cost is the cost of the answers with a known price; Unpriced counts the others. Own counts the answers that
	// tell their price themselves, in dollars, and Listed the answers at the prices of Hindcast's own list. OwnCost is
	// the part of Cost that the agents tell.
	Cost, OwnCost         float64
	Unpriced, Own, Listed int
	// Calls counts tool calls, and Errors the tools that failed.
	Calls, Errors int
}

// Prices is a price list of models.
type Prices interface {
	// Cost returns the cost of an answer and the source of the price, [conversation.Unpriced] if a price that it
	// needs is not known.
	Cost(u conversation.Usage) (float64, conversation.PriceSource)
}

// Add adds what a visit adds to its path. The price that an answer tells itself goes before
// that of the list, which may be nil.
func (s *Sum) Add(stat Stat, prices Prices) {
	s.Calls, s.Errors = s.Calls+stat.Calls, s.Errors+stat.Errors
	for i := range stat.Answers {
		s.AddAnswer(stat.Answers[i].Usage, prices)
	}
}

// AddAnswer adds an answer of a model.
func (s *Sum) AddAnswer(u conversation.Usage, prices Prices) {
	s.Answers++
	s.Input, s.Output = s.Input+u.Input, s.Output+u.Output
	s.CacheRead, s.CacheWrite = s.CacheRead+u.CacheRead, s.CacheWrite+u.CacheWrite
	s.Milliseconds += u.Milliseconds
	cost, source := u.Cost, conversation.OwnPrice
	if !u.Priced {
		if cost, source = 0, conversation.Unpriced; prices != nil {
			cost, source = prices.Cost(u)
		}
	}
	switch source {
	case conversation.Unpriced:
		s.Unpriced++
		return
	case conversation.OwnPrice:
		s.Own++
		s.OwnCost += cost
	case conversation.ListPrice:
		s.Listed++
	}
	s.Cost += cost
}

// AddSum adds another sum.
func (s *Sum) AddSum(o Sum) {
	s.Snapshots, s.Answers, s.Calls, s.Errors = s.Snapshots+o.Snapshots, s.Answers+o.Answers, s.Calls+o.Calls, s.Errors+o.Errors
	s.Input, s.Output, s.Milliseconds = s.Input+o.Input, s.Output+o.Output, s.Milliseconds+o.Milliseconds
	s.CacheRead, s.CacheWrite, s.Cost = s.CacheRead+o.CacheRead, s.CacheWrite+o.CacheWrite, s.Cost+o.Cost
	s.Unpriced, s.Own, s.Listed, s.OwnCost = s.Unpriced+o.Unpriced, s.Own+o.Own, s.Listed+o.Listed, s.OwnCost+o.OwnCost
}

// TokensText returns the tokens for people, "" without any.
//
//	21.4k in, 300 out, 20.1k from cache, 1.2k into cache
func (s *Sum) TokensText() string {
	var words []string
	for _, count := range []struct {
		tokens float64
		of     string
	}{{s.Input, "in"}, {s.Output, "out"}, {s.CacheRead, "from cache"}, {s.CacheWrite, "into cache"}} {
		if count.tokens > 0 {
			words = append(words, model.ShortCount(count.tokens)+" "+count.of)
		}
	}
	return strings.Join(words, ", ")
}

// dollars is the currency in which agents tell the cost of an answer.
const dollars = "USD"

// CostText returns the cost for people, "" if no price is known. currency is that of the prices; dollars that agents tell
// are never added to another one.
//
//	$12.34   $0.0061   3.20 EUR   3.20 EUR + $0.12
func (s *Sum) CostText(currency string) string {
	switch priced := s.Answers - s.Unpriced; {
	case priced == 0:
		return ""
	case s.Own == priced || currency == dollars:
		return costText(s.Cost, dollars)
	case s.Own > 0:
		return costText(s.Cost-s.OwnCost, currency) + " + " + costText(s.OwnCost, dollars)
	}
	return costText(s.Cost, currency)
}

// TotalText returns the sum of tokens in and out for people, "" if none were counted.
func (s *Sum) TotalText() string {
	if t := s.Input + s.Output; t > 0 {
		return model.ShortCount(t)
	}
	return ""
}

// costText returns an amount in a currency, with more digits where it is small.
func costText(cost float64, currency string) string {
	const small = 0.1
	digits := 2
	if cost > 0 && cost < small {
		digits = 4
	}
	text := strconv.FormatFloat(cost, 'f', digits, 64)
	if currency == dollars {
		return "$" + text
	}
	return strings.TrimSpace(text + " " + currency)
}

// PricesText counts the answers with a known price by the source of the price; "" without any. listDate is the month
// of the list prices.
func (s *Sum) PricesText(listDate string) string {
	priced := s.Answers - s.Unpriced
	if priced == 0 {
		return ""
	}
	var whose []string
	for _, of := range []struct {
		n    int
		whom string
	}{{s.Own, "the agent's own"}, {priced - s.Own - s.Listed, "yours"}, {s.Listed, strings.TrimSuffix("list prices of "+listDate, " of ")}} {
		if of.n > 0 {
			whose = append(whose, strconv.Itoa(of.n)+" "+of.whom)
		}
	}
	return fmt.Sprintf("%d of %s: %s", priced, model.Count(s.Answers, "answer"), strings.Join(whose, ", "))
}

// Totals are the sums of a session.
type Totals struct {
	// Session is the sum of all visits, and Path that of the active path.
	Session, Path Sum
	// Models are the sums of the answers of each model, as the answers name it, in the
	// order in which they were met. They have no snapshots and no tools.
	Models []ModelSum
	// Turns are the turns of the session by the rules of [model.FindTurns], in the order of their rows.
	Turns []TurnSum
	// Branches are the branches off the active path, in recorded order.
	Branches []BranchSum
	// Given are the sums of the texts that the agent gave the model beside the active path's messages,
	// the largest first.
	Given []GivenSum
	// Breaks are the requests for which a cache was of little use, by their visits.
	Breaks []CacheBreak
}

// GivenSum is the sum of the texts that an agent gave the model under one word.
type GivenSum struct {
	Given
	// Times counts how often it did.
	Times int
}

// ModelSum is the sum of the answers of one model.
type ModelSum struct {
	// Model is untrusted; "" for answers that name none.
	Model string
	Sum
}

// TurnSum is the sum of one turn.
type TurnSum struct {
	// First and Last are its first and last visit.
	First, Last model.Node
	// Sum is the sum of the turn's own line.
	Sum
	// Left is the sum of the branches that leave it, up to turns of their own.
	Left Sum
}

// BranchSum is the sum of one branch, with all that branches off from it.
type BranchSum struct {
	// Root is the first visit off the active path, Last the last one that was recorded.
	Root, Last model.Node
	Sum
}

// TotalsOf adds up the stats of a session, each with the price that its answers have.
func TotalsOf(t *model.Timeline, stats []Stat, prices Prices) (all Totals) {
	branches := map[model.Node]int{} // by their roots
	roots := NewRoots(t)
	turns := model.FindTurns(t)
	for i := range turns.Len() {
		all.Turns = append(all.Turns, TurnSum{First: turns.Turn(i).First, Last: turns.Turn(i).Last})
	}
	places, onLine := turns.Places()
	for _, stat := range stats {
		n := stat.Visit
		snapshot := 1
		if t.IsStep(n) {
			snapshot = 0
		}
		add := func(s *Sum) {
			s.Snapshots += snapshot
			s.Add(stat, prices)
		}
		add(&all.Session)
		if at := places[n]; at >= 0 {
			turn := &all.Turns[at]
			if onLine[n] {
				add(&turn.Sum)
			} else {
				add(&turn.Left)
			}
		}
		for _, u := range stat.Answers {
			i := slices.IndexFunc(all.Models, func(m ModelSum) bool { return m.Model == u.Model })
			if i < 0 {
				i, all.Models = len(all.Models), append(all.Models, ModelSum{Model: u.Model})
			}
			all.Models[i].AddAnswer(u.Usage, prices)
		}
		if !t.OnPath(n) {
			root := roots.Of(t, n)
			at, known := branches[root]
			if !known {
				at = len(all.Branches)
				branches[root], all.Branches = at, append(all.Branches, BranchSum{Root: root})
			}
			all.Branches[at].Last = n
			add(&all.Branches[at].Sum)
			continue
		}
		add(&all.Path)
		for _, g := range stat.Given {
			i := slices.IndexFunc(all.Given, func(of GivenSum) bool { return of.Is == g.Is })
			if i < 0 {
				i, all.Given = len(all.Given), append(all.Given, GivenSum{Given: Given{Is: g.Is}})
			}
			all.Given[i].Times, all.Given[i].Bytes = all.Given[i].Times+1, all.Given[i].Bytes+g.Bytes
		}
	}
	all.Breaks = cacheBreaks(t, stats, prices)
	slices.SortStableFunc(all.Given, func(a, b GivenSum) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

// Roots finds the first visits of branches. It holds one more than the root by visit, 0 where it is not known yet.
type Roots []model.Node

// NewRoots returns the roots of a timeline, none found yet.
func NewRoots(t *model.Timeline) Roots { return make(Roots, t.Len()) }

// Of returns the first visit of the branch that a visit off the active path is on.
func (r Roots) Of(t *model.Timeline, n model.Node) model.Node {
	root := n
	for r[root] == 0 {
		p := t.Parent(root)
		if p == model.NoNode || t.OnPath(p) {
			r[root] = root + 1
			break
		}
		root = p
	}
	root = r[root] - 1
	for ; r[n] == 0; n = t.Parent(n) {
		r[n] = root + 1
	}
	return root
}
