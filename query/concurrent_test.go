package query_test

import (
	"fmt"
	"sync"
	"testing"

	"hindcast/model"
	"hindcast/query"
)

// Questions go on while the session is followed: each answers for the visits that there were
// when it was asked, or later ones.
func TestSession_isAskedWhileItIsFollowed(t *testing.T) {
	var states []string
	for i := range 200 {
		states = append(states, fmt.Sprintf(`{"turn":%d,"messages":[{"role":"user","content":[{"text":"said in turn %d"}]}],"same":true}`, i, i))
	}
	p := chain(states...)
	path, err := query.ParsePath("/turn")
	if err != nil {
		t.Fatal(err)
	}
	expr, err := query.ParseExpr(".turn >= 0")
	if err != nil {
		t.Fatal(err)
	}
	q := query.Open(p, model.NewTimeline(p.headers[:1]))
	grown := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(grown)
		for n := 2; n <= len(p.headers); n++ {
			q.Follow(model.NewTimeline(p.headers[:n]))
		}
	})
	asks := map[string]func() (int, error){
		"history": func() (n int, err error) {
			for _, err := range q.History(t.Context(), path) {
				if n++; err != nil {
					return n, err
				}
			}
			return n, nil
		},
		"trace": func() (n int, err error) {
			for _, err := range q.Trace(t.Context(), 0, path) {
				if n++; err != nil {
					return n, err
				}
			}
			return n, nil
		},
		"blame": func() (n int, err error) {
			for _, err := range q.Blame(t.Context(), 0, path) {
				if n++; err != nil {
					return n, err
				}
			}
			return n, nil
		},
		"find": func() (n int, err error) {
			for f, err := range q.Find(t.Context(), expr) {
				if err != nil {
					return n, err
				}
				if f.Turn == query.TurnsTrue {
					n++
				}
			}
			return n, nil
		},
		"values": func() (n int, err error) {
			for _, err := range q.Values(t.Context(), []model.Node{0}, expr) {
				if n++; err != nil {
					return n, err
				}
			}
			return n, nil
		},
		"grep": func() (n int, err error) {
			for _, err := range q.Grep(t.Context(), query.Search{Pattern: query.Literal("said in", query.MatchCase)}) {
				if n++; err != nil {
					return n, err
				}
			}
			return n, nil
		},
		"stats": func() (n int, err error) {
			for _, err := range q.Stats(t.Context()) {
				if n++; err != nil {
					return n, err
				}
			}
			return n, nil
		},
	}
	for name, ask := range asks {
		all.Go(func() {
			last := 0
			for done := false; !done; {
				select {
				case <-grown:
					done = true // once more, of all of it
				default:
				}
				n, err := ask()
				if err != nil || n < last || n == 0 {
					t.Errorf("%s: %d answers after %d, %v", name, n, last, err)
					return
				}
				last = n
			}
			if want := map[string]int{"history": 200, "grep": 200, "stats": 200}[name]; want > 0 && last != want {
				t.Errorf("%s: %d answers in the end, want %d", name, last, want)
			}
		})
	}
	all.Wait()
}
