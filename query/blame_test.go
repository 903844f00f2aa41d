package query_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// blames returns the blame of a state, a line each: "/cart/total #3", sorted; "*" stands
// behind what holds others, "?" behind what may be from before.
func blames(t *testing.T, s store.Store, tl *model.Timeline, n model.Node, pointer string) (lines []string) {
	t.Helper()
	last := model.Node(tl.Len())
	for b, err := range query.Open(s, tl).Blame(t.Context(), n, pathOf(t, pointer)) {
		if err != nil {
			t.Fatal(err)
		}
		line := b.Path + " nowhere"
		if b.Visit != model.NoNode {
			line = b.Path + " " + tl.Name(b.Visit)
			if b.Visit > last {
				t.Errorf("%s comes behind #%d", line, last)
			}
			last = b.Visit
		}
		if b.Holds {
			line += "*"
		}
		if b.OrBefore {
			line += "?"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func TestBlame(t *testing.T) {
	for _, test := range []struct {
		name, path string
		past, want []string
	}{
		{"there and back: the last change counts, not the first place of the bytes", "/x",
			[]string{`a - {"x":1}`, `b a {"x":2}`, `c b {"x":1,"y":1}`}, []string{"/x #2"}},
		{"on the line, and not on the rows between", "/x",
			[]string{`a - {"x":"a"}`, `b a {"x":"b"}`, `c b {"x":"b","y":1}`, `d a {"x":"a","z":1}`}, []string{"/x #0"}},
		{"spelling sets nothing", "",
			[]string{`a - {"x":{"k":1,"é":"é"}}`, `b a {"x": {"\u00e9":"\u00e9", "k":1.0}}`},
			[]string{" #0*", "/x #0*", "/x/k #0", "/x/é #0"}},
		{"the last of duplicate keys counts", "/x",
			[]string{`a - {"x":{"k":1,"k":2}}`, `b a {"x":{"k":2}}`, `c b {"x":{"k":3,"k":2}}`}, []string{"/x #0*", "/x/k #0"}},
		{"null is a value", "",
			[]string{`a - {"y":1}`, `b a {"x":null,"y":1}`}, []string{" #1*", "/x #1", "/y #0"}},
		{"a window keeps what it has", "/x",
			[]string{`a - {"x":["m0","m1"]}`, `b a {"x":["m1","m2"]}`, `c b {"x":["m2","m3"]}`},
			[]string{"/x #2*", "/x/0 #1", "/x/1 #2"}},
		{"a move sets nothing", "/x",
			[]string{`a - {"x":["a","b","c"]}`, `b a {"x":["c","a","b"]}`}, []string{"/x #0*", "/x/0 #0", "/x/1 #0", "/x/2 #0"}},
		{"an element is known by its id", "/x",
			[]string{`a - {"x":[{"id":1,"v":1,"text":"long enough to be known"}]}`, `b a {"x":[{"id":2},{"id":1,"v":2,"text":"long enough to be known"}]}`},
			[]string{"/x #1*", "/x/0 #1*", "/x/0/id #1", "/x/1 #1*", "/x/1/id #0", "/x/1/text #0", "/x/1/v #1"}},
		{"a removal changes what holds it", "/x",
			[]string{`a - {"x":["a","b"],"y":1}`, `b a {"x":["b"],"y":2}`, `c b {"x":["b"],"y":3}`}, []string{"/x #1*", "/x/0 #0"}},
		{"so does that of a key", "",
			[]string{`a - {"x":{"k":1,"l":2},"y":1}`, `b a {"x":{"k":1},"y":1}`, `c b {"x":{"k":1}}`},
			[]string{" #2*", "/x #1*", "/x/k #0"}},
		{"what holds nothing is set", "",
			[]string{`a - {"x":[],"y":{"k":1}}`, `b a {"x":[],"y":{}}`}, []string{" #1*", "/x #0", "/y #1"}},
		{"equal elements: the first of them left", "/x",
			[]string{`a - {"x":["x"]}`, `b a {"x":["x","x"]}`, `c b {"x":["x"]}`}, []string{"/x #2*", "/x/0 #0"}},
		{"another kind of value is another value", "/x",
			[]string{`a - {"x":{"k":1}}`, `b a {"x":[1]}`, `c b {"x":[1,{"k":1}]}`}, []string{"/x #2*", "/x/0 #1", "/x/1 #2*", "/x/1/k #2"}},
		{"the parent is missing", "/x",
			[]string{`b gone {"x":1}`, `c b {"x":1,"y":1}`}, []string{"/x #0?"}},
		{"it came at the root", "/x", []string{`a - {"x":1}`, `b a {"x":1,"y":1}`}, []string{"/x #0"}},
		{"not recorded at the state", "",
			[]string{`a - {"x":1,"y":1}`, `b a ?{"x":{"k":5},"y":1}`}, []string{" #0*", "/x nowhere*", "/x/k nowhere", "/y #0"}},
		{"not recorded for a while, and the same then", "/x",
			[]string{`a - {"x":1}`, `b a ?{}`, `c b {"x":1,"y":1}`}, []string{"/x #0"}},
		{"not recorded for a while, and another then", "/x",
			[]string{`a - {"x":1}`, `b a ?{}`, `c b {"x":2,"y":1}`}, []string{"/x #2?"}},
		{"never recorded before", "/x",
			[]string{`a - ?{}`, `b a ?{}`, `c b {"x":2}`}, []string{"/x #2?"}},
		{"a state that is not JSON", "/x",
			[]string{`a - {"x":1}`, `b a {"x":`, `c b {"x":1}`, `d c {"x":nope}`, `e d oops`, `f e {"x":1,"y":1}`}, []string{"/x #0"}},
		{"a state that is a list", "",
			[]string{`a - [1,2]`, `b a [2,3]`}, []string{" #1*", "/0 #0", "/1 #1"}},
		{"a state that was another kind", "", []string{`a - [1]`, `b a {"x":1}`}, []string{" #1*", "/x #1"}},
		{"an element below a path is followed", "/x/0",
			[]string{`a - {"x":["a","b"]}`, `b a {"x":["b"]}`}, []string{"/x/0 #0"}},
		{"a snapshot is compared with the snapshot before its steps", "/x",
			[]string{`a - {"x":1}`, `b:1 a ?{}`, `b:2 b:1 ?{}`, `b b:2 {"x":1,"y":2}`}, []string{"/x #0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pastOf(test.past...)
			tl := model.NewTimeline(p.headers)
			slices.Sort(test.want)
			for _, s := range []store.Store{p, strungOf(p, rand.New(rand.NewPCG(1, 1)))} {
				if got := blames(t, s, tl, model.Node(tl.Len()-1), test.path); !reflect.DeepEqual(got, test.want) {
					t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
				}
			}
		})
	}
}

// blamedWhole blames a state by comparing whole states, one pair after the other.
func blamedWhole(t *testing.T, states []string, names []string) (lines []string) {
	t.Helper()
	// at is where the values that are not blamed are by now, by where they are in the state.
	at := map[string]string{}
	holds := map[string]bool{}
	var all func(path string, v any)
	all = func(path string, v any) {
		at[path] = path
		each(v, func(key string, below any) {
			holds[path] = true
			all(path+"/"+key, below)
		})
	}
	var v any
	if err := json.Unmarshal([]byte(states[0]), &v); err != nil {
		t.Fatal(err)
	}
	all("", v)
	say := func(path, name string) {
		if holds[path] {
			name += "*"
		}
		lines = append(lines, path+" "+name)
		delete(at, path)
	}
	for i := range states[:len(states)-1] {
		result, err := diff.Compare(t.Context(), diff.Bytes([]byte(states[i+1])), diff.Bytes([]byte(states[i])))
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Entries) == 0 {
			continue
		}
		for path, now := range at {
			before, set := traced(result, states[i], states[i+1], now)
			if set {
				say(path, names[i])
				continue
			}
			at[path] = before
		}
	}
	for path := range at {
		say(path, names[len(names)-1])
	}
	slices.Sort(lines)
	return lines
}

// each calls with what a decoded value holds.
func each(v any, call func(key string, below any)) {
	switch of := v.(type) {
	case map[string]any:
		for key, below := range of {
			call(key, below)
		}
	case []any:
		for i, below := range of {
			call(strconv.Itoa(i), below)
		}
	}
}

// traced follows a pointer into a state to the one before it. set says that the value there
// is another one, or that something in it was added, removed or replaced.
func traced(r *diff.Result, now, before, pointer string) (old string, set bool) {
	i := int32(0)
	var state any
	if err := json.Unmarshal([]byte(now), &state); err != nil {
		panic(err)
	}
	var was any
	if err := json.Unmarshal([]byte(before), &was); err != nil {
		panic(err)
	}
	keys := strings.Split(pointer, "/")[1:]
	for k := 0; ; k++ {
		e := &r.Entries[i]
		switch e.Op {
		case diff.Added, diff.Replaced:
			return "", true
		case diff.Moved, diff.Respelled: // what is in it is the same
			return old + rest(keys[k:]), false
		}
		if k == len(keys) {
			for j := i + 1; j < e.End; j++ {
				if op := r.Entries[j].Op; op == diff.Added || op == diff.Removed || op == diff.Replaced {
					return "", true
				}
			}
			return old, false
		}
		next := int32(-1)
		list, isList := state.([]any)
		if !isList {
			for j := i + 1; j < e.End; j = r.Entries[j].End {
				if key, _ := r.Key(&r.Entries[j]); key == keys[k] && r.Entries[j].Op != diff.Removed {
					next = j
				}
			}
			old += "/" + keys[k]
			if next < 0 {
				return old + rest(keys[k+1:]), false
			}
			state, was = state.(map[string]any)[keys[k]], was.(map[string]any)[keys[k]]
			i = next
			if r.Entries[i].Op == diff.Added {
				return "", true
			}
			continue
		}
		index, _ := strconv.Atoi(keys[k])
		told, toldOld := map[int]bool{}, map[int]bool{}
		for j := i + 1; j < e.End; j = r.Entries[j].End {
			c := &r.Entries[j]
			told[int(c.NewIndex)], toldOld[int(c.OldIndex)] = true, true
			if int(c.NewIndex) == index {
				next = j
			}
		}
		oldIndex := -1
		if next >= 0 {
			oldIndex = int(r.Entries[next].OldIndex)
			if oldIndex < 0 {
				return "", true
			}
		} else {
			rank := 0
			for m := range index {
				if !told[m] {
					rank++
				}
			}
			for m := range was.([]any) {
				if toldOld[m] {
					continue
				}
				if rank == 0 {
					oldIndex = m
					break
				}
				rank--
			}
		}
		old += "/" + strconv.Itoa(oldIndex)
		if next < 0 {
			return old + rest(keys[k+1:]), false
		}
		state, was = list[index], was.([]any)[oldIndex]
		i = next
	}
}

func rest(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "/" + strings.Join(keys, "/")
}

// The blame of random sessions is that of whole states that are compared one after the other.
func TestBlame_isThatOfWholeStates(t *testing.T) {
	skip.Sequential(t)
	sessions := storetest.Sized(3_000, 10_000)
	if testing.Short() {
		sessions = 1_000
	}
	blamed := 0
	for seed := range sessions {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		made := 0
		var value func(depth int) any
		value = func(depth int) any {
			made++
			switch kind := r.IntN(7); {
			case kind == 0 && depth > 0:
				list := []any{}
				for range r.IntN(5) {
					list = append(list, value(depth-1))
				}
				return list
			case kind == 1 && depth > 0:
				of := map[string]any{}
				for range r.IntN(4) {
					of[[]string{"a", "b", "c", "d", "id"}[r.IntN(5)]] = value(depth - 1)
				}
				return of
			case kind < 5:
				return fmt.Sprintf("text %d of some length, by which it is known", made)
			}
			return made
		}
		var change func(v any, depth int) any
		change = func(v any, depth int) any {
			switch of := v.(type) {
			case map[string]any:
				more := map[string]any{}
				for key, below := range of {
					switch r.IntN(8) {
					case 0:
					case 1, 2:
						more[key] = change(below, depth-1)
					default:
						more[key] = below
					}
				}
				if r.IntN(3) == 0 {
					more[[]string{"a", "b", "c", "d", "id"}[r.IntN(5)]] = value(depth - 1)
				}
				return more
			case []any:
				list := slices.Clone(of)
				for range 1 + r.IntN(3) {
					i := r.IntN(len(list) + 1)
					switch kind := r.IntN(6); {
					case kind == 0 && i < len(list):
						list = slices.Delete(list, i, i+1)
					case kind == 1 && i < len(list):
						list[i] = change(list[i], depth-1)
					case kind == 2 && i < len(list):
						list = append(slices.Delete(slices.Clone(list), i, i+1), list[i])
					case kind == 3 && len(list) > 0:
						list = list[1:]
					default:
						list = slices.Insert(list, i, value(depth-1))
					}
				}
				return list
			}
			return value(depth)
		}
		state := any(map[string]any{"messages": []any{value(2), value(2), value(2)}, "plan": value(3), "n": 1})
		var lines, states, names []string
		for i := range 1 + r.IntN(12) {
			text, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			parent := "-"
			if i > 0 {
				parent = fmt.Sprint("id", i-1)
			}
			lines = append(lines, fmt.Sprintf("id%d %s %s", i, parent, text))
			states, names = append([]string{string(text)}, states...), append([]string{fmt.Sprint("#", i)}, names...)
			if r.IntN(6) > 0 {
				state = change(state, 3)
			}
		}
		p := pastOf(lines...)
		tl := model.NewTimeline(p.headers)
		want := blamedWhole(t, states, names)
		blamed += len(want)
		for _, s := range []store.Store{p, strungOf(p, r)} {
			if got := blames(t, s, tl, model.Node(tl.Len()-1), ""); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %T: got\n  %s\nwant\n  %s\nin\n%s", seed, s, strings.Join(got, "\n  "), strings.Join(want, "\n  "), strings.Join(lines, "\n"))
			}
		}
	}
	t.Log(blamed, "values")
}
