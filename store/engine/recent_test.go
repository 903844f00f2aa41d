package engine

import (
	"fmt"
	"testing"
)

// TestRecent keeps the value that was used last, whatever it weighs, and values of no more than the bound.
func TestRecent(t *testing.T) {
	const most = 100
	var r Recent[int]
	there := func(names ...string) (list []bool) {
		for _, name := range names {
			_, ok := r.young[name]
			_, was := r.old[name]
			list = append(list, ok || was)
		}
		return list
	}
	for n := range 1000 {
		r.Put(fmt.Sprint(n), n, 1+n%7, most)
		if is, ok := r.Get("0", most); !ok || is != 0 {
			t.Fatalf("what is used is forgotten behind %d", n)
		}
		if is, ok := r.Get(fmt.Sprint(n), most); !ok || is != n || r.Weight() > most {
			t.Fatalf("%d is %d, and all weigh %d", n, is, r.Weight())
		}
	}
	r.Put("large", 1, 10*most, most)
	r.Put("other", 2, 10*most, most)
	if got := fmt.Sprint(there("large", "other", "999")); got != "[true true false]" {
		t.Errorf("of two large values and one before them there are %s", got)
	}
	r.Put("other", 3, 1, most)
	r.Delete("large")
	if is, ok := r.Get("other", most); !ok || is != 3 || r.Weight() != 1 {
		t.Errorf("it is %d, and all weigh %d", is, r.Weight())
	}
}
