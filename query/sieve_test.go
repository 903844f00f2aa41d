package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
)

// A cold search lists what is around its hits, also when the session grew, and all texts only for
// a pattern that no text is sure to have.
func TestGrep_listsAroundItsHits(t *testing.T) {
	s := texts{states: map[string]string{}}
	var headers []model.Header
	var said []string
	for i := range 300 {
		text := fmt.Sprintf("message %d.", i)
		switch i {
		case 100:
			text += ` caf\u00e9 \/ \"so\"`
		case 200:
			text += " café, and the message 7. again"
		}
		said = append(said, fmt.Sprintf(`{"role":"user","content":"%s","cost":%d.25}`, text, i))
		id := fmt.Sprint("v", i)
		s.states[id] = `{"messages":[` + strings.Join(said, ",") + `]}`
		headers = append(headers, model.Header{ID: id, SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)})
	}
	for _, c := range []struct {
		name    string
		pattern func() (*Pattern, error)
		hits    int
		// all says that all texts are listed.
		all bool
	}{
		{"one", literally("message 77.", SmartCase), 1, false},
		{"two", literally("MESSAGE 7.", IgnoreCase), 2, false},
		{"none", literally("nothing has it", SmartCase), 0, false},
		{"numbers", literally("77.25", SmartCase), 3, false},
		{"an escape that is for a letter", literally("é", MatchCase), 2, false},
		{"an escape that is for another letter", literally("è", MatchCase), 0, false},
		{"a slash", literally("/", SmartCase), 1, false},
		{"an expression", func() (*Pattern, error) { return Regexp(`^message 1\d5\.`, SmartCase) }, 10, false},
		{"an end of numbers", func() (*Pattern, error) { return Regexp(`^\d{3}\.25$`, SmartCase) }, 200, false},
		{"over two texts", literally(`user","content`, SmartCase), 0, true},
		{"of any text", func() (*Pattern, error) { return Regexp(`^[a-z]{4}$`, SmartCase) }, 3, true},
	} {
		q := Open(s, model.NewTimeline(headers[:250]))
		hits := 0
		for _, visits := range []int{250, 300} {
			q.Follow(model.NewTimeline(headers[:visits]))
			p, err := c.pattern()
			if err != nil {
				t.Fatal(err)
			}
			hits = 0
			for _, err := range q.Grep(t.Context(), Search{Pattern: p}) {
				if hits++; err != nil {
					t.Fatal(err)
				}
			}
			all := q.all.tokens
			if listed := all.list != nil; listed != c.all {
				t.Errorf("%s, %d visits: all texts are listed: %v", c.name, visits, listed)
			}
			if c.all {
				continue
			}
			of, err := all.worth(t.Context(), q.text, p)
			if err != nil {
				t.Fatal(err)
			}
			listed := len(of.apart)
			for _, token := range slices.Concat(of.plain[:]...) {
				if listed++; p.nextNeedle(q.text.cut(token.from, token.to), 0) < 0 {
					t.Errorf("%s: %s is listed", c.name, q.text.cut(token.from, token.to))
				}
			}
			places := len(all.escapes)
			for _, part := range q.text.from(0) {
				for at := p.nextNeedle(part, 0); at >= 0; at = p.nextNeedle(part, at+1) {
					places++
				}
			}
			if listed < hits || listed > places {
				t.Errorf("%s: %d texts are listed for %d hits at %d places", c.name, listed, hits, places)
			}
		}
		if hits != c.hits {
			t.Errorf("%s: %d hits, not %d", c.name, hits, c.hits)
		}
	}
}

func literally(text string, letters Case) func() (*Pattern, error) {
	return func() (*Pattern, error) { return Literal(text, letters), nil }
}
