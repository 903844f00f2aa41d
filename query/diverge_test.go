package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
)

// line returns a line as text: "#1 then #2 #3".
func line(tl *model.Timeline, l query.Line) string {
	text := "nothing then"
	if l.Fork != model.NoNode {
		text = tl.Name(l.Fork) + " then"
	}
	for _, n := range l.Since {
		text += " " + tl.Name(n)
	}
	return text
}

func TestDiverge(t *testing.T) {
	p := pastOf("a - 1", "b a 2", "c b 3", "d a 4", "e d 5", "r - 6")
	tl := model.NewTimeline(p.headers)
	for _, c := range []struct {
		a, b model.Node
		want string
	}{
		{2, 4, "#0 then #1 #2 | #0 then #3 #4"},
		{4, 2, "#0 then #3 #4 | #0 then #1 #2"},
		{1, 2, "#1 then | #1 then #2"},
		{2, 2, "#2 then | #2 then"},
		{2, 5, "nothing then #0 #1 #2 | nothing then #5"},
	} {
		parting := query.Open(p, tl).Diverge(c.a, c.b)
		if got := line(tl, parting.A) + " | " + line(tl, parting.B); got != c.want {
			t.Errorf("%d and %d: %q, not %q", c.a, c.b, got, c.want)
		}
	}
	if p.read > 0 {
		t.Errorf("%d states were read", p.read)
	}
}

// hashed is a store whose ids are those of the states.
type hashed struct{ store.Store }

func (hashed) Features() store.Features { return store.Features{} }

func TestDivergeFrom(t *testing.T) {
	say := func(words string) string {
		var list []string
		for word := range strings.FieldsSeq(words) {
			list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`, word))
		}
		return `{"messages":[` + strings.Join(list, ",") + `]}`
	}
	named := `{"messages":[{"role":"user","id":"1","content":"%s"}%s]}`
	for name, c := range map[string]struct {
		a, b   []string
		hashed bool
		want   string
	}{
		"a copy goes on": {
			[]string{"a - " + say("x"), "b a " + say("x y"), "c b " + say("x y z")},
			[]string{"m - " + say("x"), "n m " + say("x y"), "o n " + say("x y q")},
			false, "#1 then #2 | #1 then #2",
		},
		"a copy of the last state alone": {
			[]string{"a - " + say("x"), "b a " + say("x y"), "c b " + say("x y z")},
			[]string{"m - " + say("x y"), "n m " + say("x y q")},
			false, "#1 then #2 | #0 then #1",
		},
		"within what one visit adds": {
			[]string{"a - " + say("x"), "b a " + say("x y z")},
			[]string{"m - " + say("x"), "n m " + say("x y"), "o n " + say("x y q")},
			false, "#0 then #1 | #0 then #1 #2",
		},
		"nothing in common": {
			[]string{"a - " + say("x")}, []string{"m - " + say("q")}, false, "nothing then #0 | nothing then #0",
		},
		"no messages": {
			[]string{"a - 1"}, []string{"m - 1"}, false, "nothing then #0 | nothing then #0",
		},
		"a message of the same id": {
			[]string{"a - " + fmt.Sprintf(named, "x", ""), "b a " + fmt.Sprintf(named, "x", `,{"role":"user","content":"z"}`)},
			[]string{"m - " + fmt.Sprintf(named, "x, cut", "")},
			false, "#0 then #1 | #0 then",
		},
		"the ids of a log": {
			[]string{"a - " + say("x"), "b a " + say("x y"), "c b 7"},
			[]string{"a - " + say("x"), "b a " + say("x y"), "d b 8"},
			false, "#1 then #2 | #1 then #2",
		},
		"the last state that both were in": {
			[]string{"a - 1", "b a 2", "c b 3", "d c 4"},
			[]string{"q - 7", "c q 3", "e c 5"},
			true, "#2 then #3 | #1 then #2",
		},
		"a state that is damaged adds no message": {
			[]string{"a - " + say("x"), "b a {", "c b " + say("x y")},
			[]string{"m - " + say("x"), "n m " + say("x q")},
			false, "#1 then #2 | #0 then #1",
		},
	} {
		p, o := pastOf(c.a...), pastOf(c.b...)
		x, y := model.NewTimeline(p.headers), model.NewTimeline(o.headers)
		var s, r store.Store = p, o
		if c.hashed {
			s, r = hashed{p}, hashed{o}
		}
		got, err := query.Open(s, x).DivergeFrom(t.Context(), model.Node(x.Len()-1), query.Open(r, y), model.Node(y.Len()-1))
		if text := line(x, got.A) + " | " + line(y, got.B); err != nil || text != c.want {
			t.Errorf("%s: %q, %v, not %q", name, text, err, c.want)
		}
		if c.hashed && p.read+o.read > 0 {
			t.Errorf("%s: %d states were read", name, p.read+o.read)
		}
	}
}

// A session that was begun from another parted where it was begun, however it was copied.
func TestDivergeFrom_randomForks(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 21))
		state := func(n int, tail string) string {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprintf(`{"role":"user","content":"message %d"}`, i))
			}
			for i := range len(tail) {
				list = append(list, fmt.Sprintf(`{"role":"user","content":"%s"}`, tail[:i+1]))
			}
			return fmt.Sprintf(`{"n":%d,"messages":[%s]}`, r.IntN(9), strings.Join(list, ", "))
		}
		visits := 2 + r.IntN(8)
		fork := r.IntN(visits)
		var a, b []string
		for i := range visits {
			a = append(a, fmt.Sprintf("a%d %s %s", i, before("a", i), state(i+1, "")))
		}
		if r.IntN(2) == 0 { // each visit was copied
			for i := range fork + 1 {
				b = append(b, fmt.Sprintf("b%d %s %s", i, before("b", i), state(i+1, "")))
			}
		} else {
			b = append(b, "b0 - "+state(fork+1, ""))
		}
		copied := len(b)
		tail := ""
		for range r.IntN(4) {
			tail += "q"
			b = append(b, fmt.Sprintf("b%d %s %s", len(b), before("b", len(b)), state(fork+1, tail)))
		}
		p, o := pastOf(a...), pastOf(b...)
		x, y := model.NewTimeline(p.headers), model.NewTimeline(o.headers)
		got, err := query.Open(strungOf(p, r), x).DivergeFrom(t.Context(), model.Node(x.Len()-1), query.Open(strungOf(o, r), y), model.Node(y.Len()-1))
		if err != nil || got.A.Fork != model.Node(fork) || got.B.Fork != model.Node(copied-1) || len(got.A.Since) != visits-fork-1 || len(got.B.Since) != len(tail) {
			t.Fatalf("session %d: %+v, %v of %q and %q", seed, got, err, a, b)
		}
	}
}

// before returns the id of the visit before one.
func before(name string, i int) string {
	if i == 0 {
		return "-"
	}
	return fmt.Sprint(name, i-1)
}
