package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// past is a store that has one session, and counts the states that it is asked for.
type past struct {
	store.Store
	headers []model.Header
	states  map[string]string
	gaps    map[string]model.Gaps
	read    int
}

func (p *past) Features() store.Features {
	return store.Features{DerivedIDs: p.DerivedIDs, Facts: p.Facts, Gaps: p.Gaps}
}

func (p *past) State(_ context.Context, ref model.Ref) ([]byte, error) {
	p.read++
	state, there := p.states[ref.ID]
	if !there {
		return nil, model.ErrNoSnapshot
	}
	return []byte(state), nil
}

func (p *past) DerivedIDs() string { return "made up" }

func (p *past) Facts(context.Context, model.Ref) ([]model.Fact, error) { return nil, nil }

func (p *past) Gaps(_ context.Context, ref model.Ref) (model.Gaps, error) { return p.gaps[ref.ID], nil }

// pastOf makes a session of lines "ID PARENT STATE"; - is no parent. A state that begins
// with ? has the key x as a gap, an id with : is a step.
func pastOf(lines ...string) *past {
	p := &past{states: map[string]string{}, gaps: map[string]model.Gaps{}}
	visits := map[string]int64{}
	for i, line := range lines {
		words := strings.SplitN(line, " ", 3)
		h := model.Header{ID: words[0], SessionID: "s", Index: i, Visit: int64(i + 1)}
		if strings.Contains(h.ID, ":") {
			h.Marks = model.MarkTraced
		}
		if words[1] != "-" {
			h.ParentID, h.ParentVisit = words[1], visits[words[1]]
		}
		visits[h.ID] = h.Visit
		state, gap := strings.CutPrefix(words[2], "?")
		if gap {
			p.gaps[h.ID] = model.Gaps{Keys: []string{"x"}, Why: model.GapKeptOnce}
		}
		p.headers, p.states[h.ID] = append(p.headers, h), state
	}
	return p
}

// told returns the changes, a line each: "#3 1 → 2".
func told(t *testing.T, changes iter.Seq2[query.Change, error], tl *model.Timeline) (lines []string) {
	t.Helper()
	text := func(value []byte) string {
		if value == nil {
			return "nothing"
		}
		return string(value)
	}
	for c, err := range changes {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s → %s", tl.Name(c.Visit), text(c.Old), text(c.New))
		if c.OrBefore {
			line += " or before"
		}
		if c.Unknown != "" {
			line = tl.Name(c.Visit) + " ? " + c.Unknown
		}
		lines = append(lines, line)
	}
	return lines
}

func TestHistory(t *testing.T) {
	for _, test := range []struct {
		name, path string
		past, want []string
	}{
		{"compared with the parent and not with the row above", "/x",
			[]string{`a - {"x":"a"}`, `b a {"x":"b"}`, `c b {"x":"b","y":1}`, `d a {"x":"a","z":1}`},
			[]string{`#0 nothing → "a"`, `#1 "a" → "b"`}},
		{"there and back", "/x",
			[]string{`a - {"x":1}`, `b a {"x":2}`, `c b {"x":1,"y":1}`},
			[]string{"#0 nothing → 1", "#1 1 → 2", "#2 2 → 1"}},
		{"the same state again is a visit of its own", "/x",
			[]string{`a - {"x":1}`, `b a {"x":2}`, `a b {"x":1}`, `c a {"x":2,"y":1}`},
			[]string{"#0 nothing → 1", "#1 1 → 2", "#2 2 → 1", "#3 1 → 2"}},
		{"null is a value", "/x",
			[]string{`a - {}`, `b a {"x":null}`, `c b {"y":1}`},
			[]string{"#1 nothing → null", "#2 null → nothing"}},
		{"spelling is no change", "/x",
			[]string{`a - {"x":{"k":1,"é":"é"}}`, `b a {"x": {"\u00e9":"\u00e9", "k":1.0}}`, `c b {"\u0078":{"k":1e0,"é":"é"}}`},
			[]string{`#0 nothing → {"k":1,"é":"é"}`}},
		{"the last of duplicate keys counts, at each step", "/x/k",
			[]string{`a - {"x":{"k":1,"k":2}}`, `b a {"x":{"k":3},"x":{"k":2}}`, `c b {"x":{"k":2},"x":[]}`},
			[]string{"#0 nothing → 2", "#2 2 → nothing"}},
		{"a pointer is a position", "/x/1",
			[]string{`a - {"x":["a","b"]}`, `b a {"x":["b","c"]}`, `c b {"x":["c"]}`},
			[]string{`#0 nothing → "b"`, `#1 "b" → "c"`, `#2 "c" → nothing`}},
		{"a number is a key in an object, and - no element", "/x/01",
			[]string{`a - {"x":["a","b"]}`, `b a {"x":{"01":1,"1":2}}`},
			[]string{"#1 nothing → 1"}},
		{"escapes of a pointer", "/a~1b/~01",
			[]string{`a - {"a/b":{"~1":5}}`},
			[]string{"#0 nothing → 5"}},
		{"the parent is missing", "/x",
			[]string{`b gone {"x":1}`, `c b {"x":2}`, `d lost {}`},
			[]string{"#0 nothing → 1 or before", "#1 1 → 2"}},
		{"a parent that comes later", "/x",
			[]string{`c b {"x":2}`, `b a {"x":1}`, `a - {"x":1}`},
			[]string{"#0 1 → 2", "#2 nothing → 1"}},
		{"a cycle", "/x",
			[]string{`a b {"x":1}`, `b a {"x":1}`, `c c {"x":3}`},
			[]string{"#0 nothing → 1 or before", "#2 nothing → 3 or before"}},
		{"not recorded", "/x/k",
			[]string{`a - ?{}`, `b a ?{}`, `c b ?{"x":{"k":1}}`},
			[]string{"#0 ? x: not recorded here (kept once, as of now)"}},
		{"not recorded for a while, and the same then", "/x",
			[]string{`a - {"x":1}`, `b a ?{}`, `c b {"x":1,"y":1}`, `d b {"x":2}`, `e c {}`},
			[]string{"#0 nothing → 1", "#1 ? x: not recorded here (kept once, as of now)", "#3 1 → 2 or before", "#4 1 → nothing"}},
		{"another key is recorded", "/y",
			[]string{`a - ?{"y":1}`},
			[]string{"#0 nothing → 1"}},
		{"a snapshot is compared with the snapshot before its steps", "/x",
			[]string{`a - {"x":1}`, `b:1 a ?{}`, `b:2 b:1 ?{}`, `b b:2 {"x":2}`},
			[]string{"#0 nothing → 1", "#3 1 → 2"}},
		{"a state that is not JSON", "/x",
			[]string{`a - {"x":1}`, `b a {"x":`, `c b {"x":1}`, `d b {"x":nope}`, `e d oops`, `f e {"x":2}`},
			[]string{"#0 nothing → 1", "#1 ? the state is not JSON", "#3 ? the state is not JSON", "#4 ? the state is not JSON", "#5 1 → 2 or before"}},
		{"a byte order mark, and values of Python", "/x",
			[]string{"a - \ufeff {\"x\":NaN}", `b a {"x":NaN,"y":Infinity}`},
			[]string{"#0 nothing → NaN"}},
		{"below what holds nothing", "/x/y",
			[]string{`a - {"x":1}`, `b a 5`, `c b []`},
			nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, err := query.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			p := pastOf(test.past...)
			tl := model.NewTimeline(p.headers)
			if got := told(t, query.Open(p, tl).History(t.Context(), path), tl); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
			if p.read > len(p.headers) {
				t.Errorf("%d states were read for %d visits", p.read, len(p.headers))
			}
		})
	}
}

func TestHistory_endsWithAnError(t *testing.T) {
	path, _ := query.ParsePath("/x")
	p := pastOf(`a - {"x":1}`, `b a {"x":2}`)
	delete(p.states, "b")
	var got error
	changes := 0
	for _, err := range query.Open(p, model.NewTimeline(p.headers)).History(t.Context(), path) {
		if changes++; err != nil {
			got = err
		}
	}
	if changes != 2 || !errors.Is(got, model.ErrNoSnapshot) || !strings.Contains(got.Error(), "#1") {
		t.Errorf("%d changes, %v", changes, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p = pastOf(`a - {"x":1}`, `b a {"x":2}`)
	for _, err := range query.Open(p, model.NewTimeline(p.headers)).History(ctx, path) {
		cancel()
		got = err
	}
	if !errors.Is(got, context.Canceled) || p.read != 1 {
		t.Errorf("cancelled: %v after %d states", got, p.read)
	}
}

// The changes of random sessions are those that are found by decoding every state.
func TestHistory_isThatOfDecodedStates(t *testing.T) {
	skip.Sequential(t)
	sessions := storetest.Sized(3_000, 10_000)
	if testing.Short() {
		sessions = 1_000
	}
	changes := 0
	for seed := range sessions {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		lines := make([]string, 1+r.IntN(20))
		parents := make([]int, len(lines))
		states := make([]any, len(lines))
		for i := range lines {
			var text bytes.Buffer
			writeRandom(&text, r, 3)
			state := `{"x":` + text.String() + `}`
			if parents[i] = r.IntN(i+1) - 1; parents[i] >= 0 && r.IntN(2) == 0 {
				state = strings.SplitN(lines[parents[i]], " ", 3)[2] + " "
			}
			parent := "-"
			if parents[i] >= 0 {
				parent = fmt.Sprint("id", parents[i])
			}
			lines[i] = fmt.Sprintf("id%d %s %s", i, parent, state)
			if err := json.Unmarshal([]byte(state), &states[i]); err != nil {
				t.Fatal(err)
			}
		}
		p := pastOf(lines...)
		tl := model.NewTimeline(p.headers)
		for _, pointer := range []string{"/x", "/x/a", "/x/1", "/x/a/b", "/x/0/a", "/y"} {
			path, err := query.ParsePath(pointer)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []model.Node
			for i := range lines {
				now, there := decodedAt(states[i], pointer)
				var old any
				was := false
				if parents[i] >= 0 {
					old, was = decodedAt(states[parents[i]], pointer)
				}
				if there != was || !reflect.DeepEqual(now, old) {
					want = append(want, model.Node(i))
				}
			}
			for c, err := range query.Open(p, tl).History(t.Context(), path) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, c.Visit)
				now, there := decodedAt(states[c.Visit], pointer)
				var told any
				if c.New != nil {
					if err := json.Unmarshal(c.New, &told); err != nil {
						t.Fatal(err)
					}
				}
				if there != (c.New != nil) || !reflect.DeepEqual(now, told) {
					t.Fatalf("seed %d, %s at %d: %s, not %v", seed, pointer, c.Visit, c.New, now)
				}
			}
			if sooner, later := told(t, query.Open(strungOf(p, r), tl).History(t.Context(), path), tl), told(t, query.Open(p, tl).History(t.Context(), path), tl); !reflect.DeepEqual(sooner, later) {
				t.Fatalf("seed %d, %s: %q with states in runs, %q with whole ones", seed, pointer, sooner, later)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %s: %v, not %v in\n%s", seed, pointer, got, want, strings.Join(lines, "\n"))
			}
			changes += len(got)
		}
	}
	if changes < sessions {
		t.Errorf("%d changes in %d sessions", changes, sessions)
	}
}

// writeRandom writes a small value in one of the spellings that it may have.
func writeRandom(to *bytes.Buffer, r *rand.Rand, depth int) {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	switch kind := r.IntN(6); {
	case kind < 2 && depth > 0:
		to.WriteString("{" + pick("", " "))
		for i := range r.IntN(4) {
			if i > 0 {
				to.WriteString(pick(",", ", "))
			}
			to.WriteString(pick(`"a":`, `"b":`, `"\u0061" : `, `"1":`))
			writeRandom(to, r, depth-1)
		}
		to.WriteString("}")
	case kind == 2 && depth > 0:
		to.WriteString("[")
		for i := range r.IntN(4) {
			if i > 0 {
				to.WriteString(pick(",", "\n,"))
			}
			writeRandom(to, r, depth-1)
		}
		to.WriteString(pick("]", " ]"))
	default:
		to.WriteString(pick("1", "1.0", "10e-1", "2", "12", `"é"`, `"\u00e9"`, "null", "true", `"]"`, `"\""`))
	}
}

// decodedAt returns the value at a pointer without escapes.
func decodedAt(value any, pointer string) (any, bool) {
	for key := range strings.SplitSeq(pointer[1:], "/") {
		switch of := value.(type) {
		case map[string]any:
			below, there := of[key]
			if !there {
				return nil, false
			}
			value = below
		case []any:
			i := strings.Index("0123456789", key)
			if i < 0 || i >= len(of) {
				return nil, false
			}
			value = of[i]
		default:
			return nil, false
		}
	}
	return value, true
}
