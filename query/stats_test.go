package query_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// added returns what the visits add, a line each that adds something: "#2 in 10 out 1 calls 2
// failed 1".
func added(t *testing.T, s store.Store, tl *model.Timeline) (lines []string) {
	t.Helper()
	for stat, err := range query.Open(s, tl).Stats(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		line := tl.Name(stat.Visit)
		for _, u := range stat.Answers {
			line += fmt.Sprintf(" in %v out %v", u.Input, u.Output)
		}
		if stat.Calls > 0 || stat.Errors > 0 {
			line += fmt.Sprintf(" calls %d failed %d", stat.Calls, stat.Errors)
		}
		for i, g := range stat.Given {
			if i == 0 {
				line += " given"
			}
			line += fmt.Sprintf(" %s %d", g.Is, g.Bytes)
		}
		if stat.Unread != nil {
			line += " unread"
		}
		if strings.Contains(line, " ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// answer is a message of a model that cost so many tokens.
func answer(text string, in int) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"text":%q}],"metadata":{"usage":{"inputTokens":%d,"outputTokens":1,"totalTokens":%d}}}`, text, in, in+1)
}

// withFile is a message with so many bytes of a file.
func withFile(bytes int) string {
	return fmt.Sprintf(`{"role":"user","content":[{"text":"q"},{"context":{"type":"file","text":%q}}]}`, strings.Repeat("x", bytes))
}

const (
	asks = `{"role":"user","content":[{"text":"q"}]}`
	uses = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"a","input":{}}},{"toolUse":{"toolUseId":"2","name":"b","input":{}}}]}`
	ran  = `{"role":"user","content":[{"toolResult":{"toolUseId":"1","status":"success","content":[]}},{"toolResult":{"toolUseId":"2","status":"error","content":[]}}]}`
)

func TestStats(t *testing.T) {
	list := func(messages ...string) string { return `{"n":1,"messages":[` + strings.Join(messages, ",") + `]}` }
	named := func(id, text string) string { return `{"id":"` + id + `",` + answer(text, 7)[1:] }
	for name, c := range map[string]struct {
		past []string
		want []string
	}{
		"each where it came": {
			[]string{"a - " + list(asks), "b a " + list(asks, answer("x", 10)), "c b " + list(asks, answer("x", 10), asks, answer("y", 20))},
			[]string{"#1 in 10 out 1", "#2 in 20 out 1"},
		},
		"two branches": {
			[]string{"a - " + list(asks), "b a " + list(asks, answer("x", 10)), "c a " + list(asks, answer("x", 10)), "d c " + list(asks, answer("x", 10), answer("z", 5))},
			[]string{"#1 in 10 out 1", "#2 in 10 out 1", "#3 in 5 out 1"},
		},
		"the same answer twice": {
			[]string{"a - " + list(answer("x", 10)), "b a " + list(answer("x", 10), asks, answer("x", 10))},
			[]string{"#0 in 10 out 1", "#1 in 10 out 1"},
		},
		"a window": {
			[]string{"a - " + list(answer("x", 10), asks, answer("x", 10)), "b a " + list(asks, answer("x", 10), answer("x", 10)), "c b " + list(answer("x", 10), answer("x", 10))},
			[]string{"#0 in 10 out 1 in 10 out 1", "#1 in 10 out 1"},
		},
		"back to a state": {
			[]string{"a - " + list(answer("x", 10)), "b a " + list(), "a b " + list(answer("x", 10))},
			[]string{"#0 in 10 out 1"},
		},
		"written anew": {
			[]string{"a - " + list(named("m1", "x"), answer("y", 9)), "b a " + list(named("m1", "x, cut"), answer("y, cut", 9))},
			[]string{"#0 in 7 out 1 in 9 out 1"},
		},
		"spelled in another way": {
			[]string{"a - " + list(answer("x", 9)), "b a " + strings.ReplaceAll(strings.Replace(list(answer("x", 9)), `"role":"assistant",`, "", 1), `"metadata":`, ` "role": "assistant", "metadata" : `)},
			[]string{"#0 in 9 out 1"},
		},
		"replaced": {
			[]string{"a - " + list(named("m1", "x")), "b a " + list(named("m2", "x"))},
			[]string{"#0 in 7 out 1", "#1 in 7 out 1"},
		},
		"moved within the state": {
			[]string{"a - " + list(answer("x", 10)), `b a {"state":{"messages":[` + answer("y", 3) + `]}}`, "c b [1,2]", `d c ` + list()},
			[]string{"#0 in 10 out 1", "#1 in 3 out 1"},
		},
		"given":    {[]string{"a - " + list(withFile(3), withFile(4)), "b a " + list(withFile(3), withFile(4), answer("x", 1), withFile(3))}, []string{"#0 given file 3 file 4", "#1 in 1 out 1 given file 3"}},
		"tools":    {[]string{"a - " + list(asks, uses), "b a " + list(asks, uses, ran)}, []string{"#0 calls 2 failed 0", "#1 calls 0 failed 1"}},
		"a step":   {[]string{"a - " + list(asks), ":b a " + list(asks, uses), "c :b " + list(asks, uses, ran)}, []string{"#1:1 calls 2 failed 0", "#2 calls 0 failed 1"}},
		"damage":   {[]string{"a - " + list(answer("x", 10)), `b a {"messages":[`, "c b " + list(answer("x", 10))}, []string{"#0 in 10 out 1", "#1 unread", "#2 in 10 out 1"}},
		"no state": {[]string{"a - 7", `b a "x"`, "c b {}"}, nil},
	} {
		p := pastOf(c.past...)
		tl := model.NewTimeline(p.headers)
		if got := added(t, p, tl); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
		if got := added(t, strungOf(p, rand.New(rand.NewPCG(1, 2))), tl); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, in runs: %q, not %q", name, got, c.want)
		}
	}
}

// Whatever a session does, an answer counts where it was given: messages leave at the front,
// a summary comes in, the session goes back and on.
func TestStats_ofRandomSessions(t *testing.T) {
	skip.Sequential(t)
	sessions := 1000
	if testing.Short() {
		sessions = 100
	}
	for seed := range uint64(sessions) {
		r := rand.New(rand.NewPCG(seed, 14))
		var lines, want []string
		var lists [][]string
		for i := range 2 + r.IntN(30) {
			parent := i - 1
			if r.IntN(5) == 0 {
				parent = r.IntN(max(i, 1))
			}
			var messages []string
			if parent >= 0 && i > 0 {
				messages = slices.Clone(lists[parent])
			} else {
				parent = -1
			}
			messages = messages[r.IntN(min(len(messages), 3)+1):]
			if r.IntN(6) == 0 {
				messages = slices.Insert(messages, 0, fmt.Sprintf(`{"role":"user","content":"summary %d"}`, i))
			}
			line := fmt.Sprintf("#%d", i)
			for k := range r.IntN(3) {
				in := 1000*i + k
				messages = append(messages, []string{asks, answer("x", in)}[k%2])
				if k%2 == 1 {
					line += fmt.Sprintf(" in %d out 1", in)
				}
			}
			lists = append(lists, messages)
			on := "-"
			if parent >= 0 {
				on = fmt.Sprintf("v%d", parent)
			}
			space := strings.Repeat(" ", r.IntN(2))
			lines = append(lines, fmt.Sprintf(`v%d %s {"n":%d,"messages":%s[%s]%s,"m":%d}`, i, on, r.IntN(3), space, strings.Join(messages, space+","), space, i))
			if strings.Contains(line, " ") {
				want = append(want, line)
			}
		}
		p := pastOf(lines...)
		tl := model.NewTimeline(p.headers)
		for _, s := range []store.Store{p, strungOf(p, r)} {
			if got := added(t, s, tl); !reflect.DeepEqual(got, want) {
				t.Fatalf("session %d: %q, not %q, of\n%s", seed, got, want, strings.Join(lines, "\n"))
			}
		}
	}
}

// perToken is a price for every model but one.
type perToken float64

func (p perToken) Cost(u conversation.Usage) (float64, conversation.PriceSource) {
	if u.Model == "unknown" {
		return 0, conversation.Unpriced
	}
	return float64(p) * (u.Input + u.Output), conversation.UserPrice
}

func TestTotalsOf(t *testing.T) {
	headers := pastOf("a - {}", "b a {}", "c b {}", ":d b {}", "e :d {}", "f e {}").headers
	for i, turn := range []int{0, 1, 1, 1, 1, 2} {
		headers[i].TurnIndex = turn
	}
	headers[2].Orphaned = true
	tl := model.NewTimeline(headers)
	stats := []query.Stat{
		{Visit: 0},
		{Visit: 1, Answers: []query.Answer{{Usage: conversation.Usage{Counted: true, Input: 10, Output: 2, Model: "m"}}}, Calls: 2},
		{Visit: 2, Answers: []query.Answer{{Usage: conversation.Usage{Counted: true, Input: 100, Model: "unknown"}}}},
		{Visit: 3, Answers: []query.Answer{{Usage: conversation.Usage{Counted: true, Input: 1, CacheRead: 1, Priced: true, Cost: 5}}}, Errors: 1},
		{Visit: 4}, {Visit: 5},
	}
	all := query.TotalsOf(tl, stats, perToken(0.5))
	want := query.Sum{Snapshots: 5, Answers: 3, Input: 111, Output: 2, CacheRead: 1, Cost: 11, OwnCost: 5, Unpriced: 1, Own: 1, Calls: 2, Errors: 1}
	if all.Session != want {
		t.Errorf("the session: %+v", all.Session)
	}
	if want := (query.Sum{Snapshots: 4, Answers: 2, Input: 11, Output: 2, CacheRead: 1, Cost: 11, OwnCost: 5, Own: 1, Calls: 2, Errors: 1}); all.Path != want {
		t.Errorf("the path: %+v", all.Path)
	}
	if len(all.Branches) != 1 || all.Branches[0].Root != 2 || all.Branches[0].Last != 2 || all.Branches[0].Input != 100 || all.Branches[0].Unpriced != 1 {
		t.Errorf("the branches: %+v", all.Branches)
	}
	if len(all.Turns) != 3 || all.Turns[1].First != 1 || all.Turns[1].Last != 4 || all.Turns[1].Input != 11 || all.Turns[1].Snapshots != 2 {
		t.Errorf("the turns: %+v", all.Turns)
	}
	if len(all.Models) != 3 || all.Models[0].Model != "m" || all.Models[0].Cost != 6 || all.Models[1].Cost != 0 || all.Models[2].Cost != 5 {
		t.Errorf("the models: %+v", all.Models)
	}
}

// What is off the path is freed as far as nothing on the path has it.
func TestFreed(t *testing.T) {
	long := strings.Repeat("x", 1000)
	headers := pastOf(
		`a - {"x":"`+long+`"}`, `b a {"x":"`+long+`","off":"`+long[:500]+`"}`, `c a {"x":"`+long+`","on":1}`,
	)
	headers.headers[1].Orphaned = true
	tl := model.NewTimeline(headers.headers)
	for name, s := range map[string]store.Store{"whole": headers, "in runs": strungOf(headers, rand.New(rand.NewPCG(3, 3)))} {
		f, err := query.Open(s, tl).Freed(t.Context())
		if err != nil || f.Snapshots != 1 || f.Bytes > 600 || f.Of < f.Bytes || name == "whole" && (f.Bytes < 500 || f.Of < 1500) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

func keysOf(t *testing.T, s store.Store, headers []model.Header, here model.Node) []query.KeySize {
	t.Helper()
	sizes, err := query.Open(s, model.NewTimeline(headers)).Keys(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	return sizes
}

// The sizes of keys are those of the members of whole states, however these are kept.
func TestKeys_areThoseOfWholeStates(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 15))
		state := randomState(r)
		lines := []string{"s0 - " + state}
		want := map[string]int64{}
		for i := range 1 + r.IntN(20) {
			for m, err := range jsontape.Members([]byte(state)) {
				if err != nil {
					t.Fatal(err)
				}
				want[jsontape.Unquote(m.Key)] += int64(len(m.Value))
			}
			state = edited(r, state)
			lines = append(lines, fmt.Sprintf("s%d s%d %s", i+1, i, state))
		}
		p := pastOf(lines[:len(lines)-1]...)
		for _, s := range []store.Store{p, strungOf(p, r)} {
			got := map[string]int64{}
			for _, k := range keysOf(t, s, p.headers, 0) {
				got[k.Key] = k.All
				if k.Distinct > k.All || k.Distinct <= 0 || k.Here > k.All {
					t.Fatalf("session %d: %+v", seed, k)
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("session %d: %v, not %v, of\n%s", seed, got, want, strings.Join(lines, "\n"))
			}
		}
	}
}

// The bytes below a key are those of the state that is asked for, and of all snapshots: once
// as each has them, once without what they share.
func TestKeys(t *testing.T) {
	long := `"` + strings.Repeat("x", 998) + `"`
	messages := func(n int) string {
		return "[" + strings.TrimPrefix(strings.Repeat(","+long, n), ",") + "]"
	}
	for name, c := range map[string]struct {
		past []string
		here model.Node
		want []query.KeySize
	}{
		"three keys": {[]string{`a - {"a":1,"b":[1, 2],"c":{}}`}, 0, []query.KeySize{{"b", 6, 6, 6}, {"c", 2, 2, 2}, {"a", 1, 1, 1}}},
		"a key that comes and one that goes": {
			[]string{`a - {"a":"12345678"}`, `b a {"b":"1"}`}, 1, []query.KeySize{{"a", 0, 10, 10}, {"b", 3, 3, 3}},
		},
		"a list, an array and what is no JSON": {[]string{`a - {"a":1}`, `b a [1]`, `c b {`, `d c 7`}, 1, []query.KeySize{{"a", 0, 1, 1}}},
		"a repeated key":                       {[]string{`a - {"a":1,"\u0061":23}`}, 0, []query.KeySize{{"a", 3, 3, 3}}},
		"back to a state":                      {[]string{`a - {"a":1}`, `b a {"a":22}`, `a b {"a":1}`}, 2, []query.KeySize{{"a", 1, 4, 3}}},
		"a step":                               {[]string{`a - {"a":1}`, `:b a {"a":22}`, `c :b {"a":333}`}, 0, []query.KeySize{{"a", 1, 4, 4}}},
		"no head":                              {[]string{`a - {"a":1}`}, model.NoNode, []query.KeySize{{"a", 0, 1, 1}}},
		"nothing":                              {[]string{`a - 7`}, 0, []query.KeySize{}},
		"a list that grows": {
			[]string{`a - {"m":` + messages(2) + `}`, `b a {"m":` + messages(3) + `}`, `c b {"m":` + messages(3) + `,"n":1}`}, 2,
			[]query.KeySize{{"m", 3004, 2003 + 3004 + 3004, 1004}, {"n", 1, 1, 1}},
		},
	} {
		p := pastOf(c.past...)
		if got := keysOf(t, p, p.headers, c.here); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}
