package query

import (
	"testing"

	"hindcast/model/conversation"
)

// flatPrice is a list on which each answer costs the same.
type flatPrice float64

func (p flatPrice) Cost(conversation.Usage) (float64, conversation.PriceSource) {
	return float64(p), conversation.UserPrice
}

// Dollars that an agent tells are not added to euros of the user's list.
func TestSum_CostText(t *testing.T) {
	own, listed := conversation.Usage{Cost: 0.5, Priced: true}, conversation.Usage{Input: 1, Counted: true}
	for _, c := range []struct {
		price    float64
		answers  []conversation.Usage
		currency string
		want     string
	}{
		{3.2, nil, "EUR", ""},
		{3.2, []conversation.Usage{listed}, "EUR", "3.20 EUR"},
		{3.2, []conversation.Usage{own}, "EUR", "$0.50"},
		{3.2, []conversation.Usage{own, listed, own}, "EUR", "3.20 EUR + $1.00"},
		{3.2, []conversation.Usage{own, listed}, "USD", "$3.70"},
		{0.0061, []conversation.Usage{listed}, "USD", "$0.0061"},
		{3.2, []conversation.Usage{listed}, "", "3.20"},
	} {
		var sum, whole Sum
		for _, u := range c.answers {
			sum.AddAnswer(u, flatPrice(c.price))
		}
		whole.AddSum(sum)
		if got := whole.CostText(c.currency); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func TestSum_PricesText(t *testing.T) {
	s := Sum{Answers: 9, Unpriced: 2, Own: 1, Listed: 4}
	if got, want := s.PricesText("2026-11"), "7 of 9 answers: 1 the agent's own, 2 yours, 4 list prices of 2026-11"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
