package query_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store/storetest/skip"
)

// chain is a session whose states follow each other.
func chain(states ...string) *past {
	p := &past{states: map[string]string{}, gaps: map[string]model.Gaps{}}
	for i, state := range states {
		h := model.Header{ID: fmt.Sprint("s", i), SessionID: "s", Visit: int64(i + 1), Index: i}
		if i > 0 {
			h.ParentID, h.ParentVisit = fmt.Sprint("s", i-1), int64(i)
		}
		p.headers, p.states[h.ID] = append(p.headers, h), state
	}
	return p
}

// trail returns the changes of a value in words, the newest first.
func trail(t testing.TB, p *past, n int, pointer string) (words []string) {
	t.Helper()
	path, err := query.ParsePath(pointer)
	if err != nil {
		t.Fatal(err)
	}
	line := model.NewTimeline(p.headers)
	for c, err := range query.Open(p, line).Trace(t.Context(), model.Node(n), path) {
		if err != nil {
			t.Fatal(err)
		}
		word := fmt.Sprintf("#%d %s %s→%s", c.Visit, c.Path, c.Old, c.New)
		if c.OrBefore {
			word += " or before"
		}
		words = append(words, word)
	}
	return words
}

// A value is followed to where it was in its list, and not its place.
func TestTrace_followsTheValue(t *testing.T) {
	skip.Sequential(t)
	for name, tc := range map[string]struct {
		states  []string
		pointer string
		want    string
	}{
		"a window":        {[]string{`["a","b"]`, `["a","b","c"]`, `["b","c"]`, `["c","d"]`}, "/0", `#1 /2 →"c"`},
		"by its id":       {[]string{`[{"id":1,"v":1}]`, `[{"id":2,"v":5},{"id":1,"v":1}]`, `[{"id":2,"v":5},{"id":1,"v":2}]`}, "/1/v", `#2 /1/v 1→2, #0 /0/v →1`},
		"in front":        {[]string{`["a"]`, `["x","y","z","a"]`}, "/3", `#0 /0 →"a"`},
		"further":         {[]string{`[0,1,2,3,4,5,6,7,8,9,10,11,12,"a"]`, `["a"]`}, "/0", `#0 /13 →"a"`},
		"in no list":      {[]string{`{"x":1}`, `{"x":2}`, `{"x":2,"y":1}`, `{"x":1}`}, "/x", `#3 /x 2→1, #1 /x 1→2, #0 /x →1`},
		"appears":         {[]string{`{}`, `{"l":[]}`, `{"l":["a"]}`}, "/l/0", `#2 /l/0 →"a"`},
		"spelled anew":    {[]string{`[1]`, `[1.0]`, `[1,2]`}, "/0", `#0 /0 →1`},
		"the whole":       {[]string{`1`, `1`, `2`}, "", `#2  1→2, #0  →1`},
		"a key of digits": {[]string{`{"0":"a","1":"b"}`, `{"0":"b","1":"b"}`}, "/0", `#1 /0 "a"→"b", #0 /0 →"a"`},
		"a list in one":   {[]string{`[["a"],["b"]]`, `[["x"],["a"],["b","c"]]`}, "/2/0", `#0 /1/0 →"b"`},
		"no JSON before":  {[]string{`{`, `{"a":1}`, `{"a":1}`}, "/a", `#1 /a →1 or before`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(trail(t, chain(tc.states...), len(tc.states)-1, tc.pointer), ", "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestTrace_ofWhatIsNotKnown(t *testing.T) {
	skip.Sequential(t)
	p := chain(`{"x":[1]}`, `{"x":[1]}`, `{"x":[1]}`)
	p.gaps["s0"] = model.Gaps{Keys: []string{"x"}}
	if got := strings.Join(trail(t, p, 2, "/x/0"), ", "); got != "#1 /x/0 →1 or before" {
		t.Error(got)
	}
	p = chain(`{"x":1}`)
	p.headers[0].ParentID = "gone"
	if got := strings.Join(trail(t, p, 0, "/x"), ", "); got != "#0 /x →1 or before" {
		t.Error(got)
	}
	path, err := query.ParsePath("/y")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range query.Open(p, model.NewTimeline(p.headers)).Trace(t.Context(), 0, path) {
		if !errors.Is(err, query.ErrNoValue) {
			t.Error(err)
		}
	}
}

// Items with ids are added anywhere, changed, moved and taken away; the trace of each is what
// was done to it.
func TestTrace_isWhatWasDone(t *testing.T) {
	skip.Sequential(t)
	sessions := 2000
	if testing.Short() {
		sessions = 200
	}
	for seed := range uint64(sessions) {
		r := rand.New(rand.NewPCG(seed, 1))
		type item struct{ id, v int }
		var items []item
		var states []string
		done := map[int][]string{} // by id, the newest first
		next := 0
		for step := range 2 + r.IntN(12) {
			// One that goes where another comes in its place is taken for that, changed.
			goes := r.IntN(3) == 0 && len(items) > 3
			for range 1 + r.IntN(3) {
				switch k := r.IntN(2); {
				case goes && k == 0:
					items = items[1:]
				case goes:
					items = slices.Delete(items, len(items)-1, len(items))
				case len(items) == 0 || k == 0:
					at := r.IntN(len(items) + 1)
					items = slices.Insert(items, at, item{next, 0})
					done[next] = []string{fmt.Sprintf("#%d 0", step)}
					next++
				default:
					i := &items[r.IntN(len(items))]
					i.v++
					word := fmt.Sprintf("#%d %d", step, i.v)
					if all := done[i.id]; strings.HasPrefix(all[0], fmt.Sprintf("#%d ", step)) {
						all[0] = word
					} else {
						done[i.id] = append([]string{word}, all...)
					}
				}
			}
			var texts []string
			for _, i := range items {
				// Items that are alike would be taken for one that was changed.
				own := sha256.Sum256([]byte(fmt.Sprint(i.id)))
				texts = append(texts, fmt.Sprintf(`{"id":"item-%d","v":%d,"text":"%x"}`, i.id, i.v, own))
			}
			states = append(states, `{"turn":`+fmt.Sprint(step)+`,"items":[`+strings.Join(texts, ",")+`]}`)
		}
		p := chain(states...)
		for at, i := range items {
			var got []string
			for _, word := range trail(t, p, len(states)-1, fmt.Sprintf("/items/%d/v", at)) {
				from, _, _ := strings.Cut(word, " ")
				got = append(got, from+" "+word[strings.Index(word, "→")+len("→"):])
			}
			if !slices.Equal(got, done[i.id]) {
				t.Fatalf("session %d, item %d of %s: the trace is %q, want %q", seed, i.id, strings.Join(states, "\n"), got, done[i.id])
			}
		}
	}
}
