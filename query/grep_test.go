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
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// hits returns what was found, a line each: "#2 /messages/0/content text".
func hits(t *testing.T, s store.Store, tl *model.Timeline, search query.Search) (lines []string) {
	t.Helper()
	for hit, err := range query.Open(s, tl).Grep(t.Context(), search) {
		if err != nil {
			t.Fatal(err)
		}
		line := tl.Name(hit.Visit)
		if hit.Active != hit.Visit && hit.Active != model.NoNode {
			line += " and " + tl.Name(hit.Active)
		} else if hit.Active == model.NoNode {
			line += " off"
		}
		line += " " + hit.Path
		if hit.Key {
			line += " key"
		}
		if hit.Message >= 0 {
			line += fmt.Sprintf(" [%d] %s", hit.Message, hit.Role)
		}
		if hit.Tool != "" {
			line += " " + hit.Tool
		}
		lines = append(lines, line+": "+hit.Text[:hit.From]+"<"+hit.Text[hit.From:hit.To]+">"+hit.Text[hit.To:])
	}
	return lines
}

func TestGrep(t *testing.T) {
	const (
		used = `{"role":"assistant","content":[{"text":"using it"},{"toolUse":{"toolUseId":"t1","name":"add","input":{"list":["used"]}}}]}`
		ran  = `{"role":"user","content":[{"toolResult":{"toolUseId":"t1","status":"success","content":[{"text":"used up"}]}}]}`
	)
	one := query.Search{Pattern: query.Literal("one", query.SmartCase), All: true}
	for name, c := range map[string]struct {
		past   []string
		search query.Search
		want   []string
	}{
		"gone and back again": {
			[]string{`a - {"x":"one"}`, `b a {"x":"two"}`, `a b {"x":"one"}`, `c a {"x":"one","y":2}`, `b c {"x":"two"}`, `d b {"y":"one"}`},
			one, []string{"#0 /x: <one>", "#2 /x: <one>", "#5 /y: <one>"},
		},
		"moved, and nothing comes": {
			[]string{`a - {"x":["one","two"]}`, `b a {"x":["two","one"]}`, `c b {"one":["two"]}`}, one, []string{"#0 /x/0: <one>"},
		},
		"twice in a state, and back": {
			[]string{`a - ["one","one"]`, `b a ["one"]`, `c b []`, `d c [0,"one","one"]`}, one, []string{"#0 /0: <one>", "#3 /1: <one>"},
		},
		"a window that a restore slides back": {
			[]string{`a - ["one","two","ones"]`, `b a ["two","ones","four"]`, `c b ["ones","four","five"]`, `d a ["one","two","ones","new"]`,
				`e c ["ones","one"]`},
			one, []string{"#0 /0: <one>", "#0 /2: <one>s", "#4 /1: <one>"},
		},
		"on two branches": {
			[]string{`a - ["x"]`, `b a ["one"]`, `c a ["x","one"]`, `d b ["x"]`, `e d ["one"]`}, one,
			[]string{"#1 /0: <one>", "#2 and #1 /1: <one>", "#4 /0: <one>"},
		},
		"off the path, and all appearances": {
			[]string{`a - ["x"]`, `b a ["left","one"]`, `c a ["x"]`, `d c ["x","one"]`, `e d []`, `f e ["one","left one"]`}, one,
			[]string{"#1 and #3 /1: <one>", "#3 /1: <one>", "#5 /0: <one>", "#5 /1: left <one>"},
		},
		"a second root": {
			[]string{`a - ["one"]`, `b - ["one"]`, `c missing ["one"]`}, one, []string{"#0 and #2 /0: <one>", "#1 and #2 /0: <one>"},
		},
		"a parent behind its child": {
			[]string{`b a ["one"]`, `a - ["two"]`, `c b ["one"]`}, one, []string{"#0 /0: <one>"},
		},
		"a step before its end": {
			[]string{`a - ["two"]`, `a:1 a ["two","one"]`, `b a:1 ["two","one"]`}, one, []string{"#1:1 /1: <one>"},
		},
		"not known in between": {
			[]string{`a - {"x":"one"}`, `b a ?{}`, `c b {"x":"one"}`, `d c ?{"y":"one"}`, `e d {}`, `f e ?{"y":"one"}`}, one,
			[]string{"#0 /x: <one>", "#5 /y: <one>"},
		},
		"appearances in a message": {
			[]string{`a - {"messages":[` + ran + `,` + used + `]}`, `b a {"messages":[` + used + `]}`, `c b {"x":"used","messages":[` + used + `,` + ran + `]}`},
			query.Search{Pattern: query.Literal("used up", query.SmartCase), Role: "user", All: true},
			[]string{"#0 /messages/0/content/0/toolResult/content/0/text [0] user t1: <used up>", "#2 /messages/1/content/0/toolResult/content/0/text [1] user add: <used up>"},
		},
		"once, where it is first": {
			[]string{`a - {"x":"one"}`, `b a {"x":"two"}`, `c b {"x":"one","y":"one more"}`},
			query.Search{Pattern: query.Literal("one", query.SmartCase)},
			[]string{"#0 /x: <one>", "#2 /y: <one> more"},
		},
		"keys and numbers": {
			[]string{`a - {"k1":1,"b":{"k1 2":[-1.5e1,true,null,"1"]}}`},
			query.Search{Pattern: query.Literal("1", query.SmartCase)},
			[]string{"#0 /k1 key: k<1>", "#0 /k1: <1>", "#0 /b/k1 2 key: k<1> 2", "#0 /b/k1 2/0: -<1>.5e1"},
		},
		"no match over two texts": {
			[]string{`a - {"ab":"cd","e":["f","g"]}`},
			query.Search{Pattern: query.Literal("b\":\"c", query.SmartCase)},
			nil,
		},
		"escapes undone": {
			[]string{`a - {"x":"say \"hi\"\ncaf\u00e9","y":"café"}`},
			query.Search{Pattern: query.Literal("café", query.SmartCase)},
			[]string{"#0 /x: say \"hi\"\n<café>", "#0 /y: <café>"},
		},
		"of a text with escapes": {
			[]string{`a - {"x":"say \"hi\"","y\"\/":"\ud83d\ude00"}`},
			query.Search{Pattern: query.Literal(`"`, query.SmartCase)},
			[]string{`#0 /x: say <">hi"`, `#0 /y"~1 key: y<">/`},
		},
		"case": {
			[]string{`a - ["Ok","oK","KO"]`},
			query.Search{Pattern: query.Literal("ok", query.SmartCase)},
			[]string{"#0 /0: <Ok>", "#0 /1: <oK>"},
		},
		"a capital": {
			[]string{`a - ["Ok","oK","ok"]`}, query.Search{Pattern: query.Literal("Ok", query.SmartCase)}, []string{"#0 /0: <Ok>"},
		},
		"a capital that is told not to count": {
			[]string{`a - ["Zm","zM"]`}, query.Search{Pattern: query.Literal("ZM", query.IgnoreCase)}, []string{"#0 /0: <Zm>", "#0 /1: <zM>"},
		},
		"an expression": {
			[]string{`a - ["abc","xabcx","a\nc"]`}, query.Search{Pattern: expr(t, "^a.?c$|^a\\Sc")}, []string{"#0 /0: <abc>"},
		},
		"off the path": {
			[]string{`a - ["x"]`, `b a ["x","left"]`, `c a ["x","stay"]`, `d c ["x","stay","left"]`},
			query.Search{Pattern: query.Literal("left", query.SmartCase)},
			[]string{"#1 and #3 /1: <left>"},
		},
		"lost": {
			[]string{`a - ["left 0"]`, `b a ["left 1","left 2"]`, `c a ["left 2"]`},
			query.Search{Pattern: query.Literal("left", query.SmartCase), Orphaned: true},
			[]string{"#1 off /0: <left> 1"},
		},
		"messages": {
			[]string{`a - {"used":1,"messages":[` + used + `]}`, `b a {"used":1,"messages":[` + used + `,` + ran + `]}`},
			query.Search{Pattern: query.Literal("use", query.SmartCase)},
			[]string{
				"#0 /used key: <use>d", "#0 /messages/0/content/1/toolUse key [0] assistant add: tool<Use>",
				"#0 /messages/0/content/1/toolUse/toolUseId key [0] assistant add: tool<Use>Id",
				"#1 /messages/1/role [1] user: <use>r", "#1 /messages/1/content/0/toolResult/content/0/text [1] user add: <use>d up",
			},
		},
		"a tool": {
			[]string{`a - {"used":1,"messages":[` + used + `]}`, `b a {"used":1,"messages":[` + used + `,` + ran + `]}`},
			query.Search{Pattern: query.Literal("used", query.SmartCase), Tool: "add", Role: "USER"},
			[]string{"#1 /messages/1/content/0/toolResult/content/0/text [1] user add: <used> up"},
		},
		"damage": {
			[]string{`a - {"x":"one`, `b a {"x":["one"]}`},
			query.Search{Pattern: query.Literal("one", query.SmartCase)},
			[]string{"#1 /x/0: <one>"},
		},
	} {
		p := pastOf(c.past...)
		for _, h := range []int{1} {
			if name == "off the path" || name == "lost" || name == "off the path, and all appearances" {
				p.headers[h].Orphaned = true
			}
		}
		tl := model.NewTimeline(p.headers)
		for seed := range uint64(20) {
			var s store.Store = p
			if seed > 0 {
				s = strungOf(p, rand.New(rand.NewPCG(seed, 5)))
			}
			if got := hits(t, s, tl, c.search); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %d: %q, not %q", name, seed, got, c.want)
			}
		}
	}
}

func expr(t testing.TB, text string) *query.Pattern {
	t.Helper()
	p, err := query.Regexp(text, query.SmartCase)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRegexp_errors(t *testing.T) {
	_, err := query.Regexp("a(", query.SmartCase)
	wrong := (*query.PatternError)(nil)
	if !errors.As(err, &wrong) || wrong.Text != "a(" || !strings.Contains(err.Error(), "missing closing )") {
		t.Error(err)
	}
}

// textsOf returns the strings, keys and numbers of a state, decoded in another way.
func textsOf(t *testing.T, state string) (texts []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(state))
	d.UseNumber()
	for {
		word, err := d.Token()
		if err != nil {
			return texts
		}
		switch word := word.(type) {
		case string:
			texts = append(texts, word)
		case json.Number:
			texts = append(texts, word.String())
		}
	}
}

// What is found is what the decoded states have, however they are cut into pieces.
func TestGrep_isThatOfDecodedStates(t *testing.T) {
	skip.Sequential(t)
	sessions := 2000
	if testing.Short() {
		sessions = 200
	}
	words := []string{"a", "1", "e", `\\`, `\"`, `\u0041`, `\\\"`, "A", "é", `\u00e9`, " ", "-", "0.5", "K", `\/`, "/", `\u002f`, `\ud83d\ude00`}
	for seed := range uint64(sessions) {
		r := rand.New(rand.NewPCG(seed, 77))
		str := func() string {
			text := ""
			for range r.IntN(5) {
				text += words[r.IntN(len(words))]
			}
			return `"` + text + `"`
		}
		var value func(depth int) string
		value = func(depth int) string {
			switch r.IntN(6 - depth) {
			case 5, 4:
				var parts []string
				for range r.IntN(4) {
					parts = append(parts, str()+":"+value(depth+1))
				}
				return "{" + strings.Join(parts, ",") + "}"
			case 3:
				var parts []string
				for range r.IntN(4) {
					parts = append(parts, value(depth+1))
				}
				return "[ " + strings.Join(parts, " ,") + "]"
			case 2:
				return []string{"1", "-10", "1e5", "0.5", "true", "null"}[r.IntN(6)]
			}
			return str()
		}
		var lines []string
		for i := range 2 + r.IntN(8) {
			parent := "-"
			if i > 0 {
				parent = fmt.Sprintf("v%d", r.IntN(i))
			}
			lines = append(lines, fmt.Sprintf("v%d %s %s", i, parent, value(0)))
		}
		p := pastOf(lines...)
		tl := model.NewTimeline(p.headers)
		for _, s := range []store.Store{p, strungOf(p, r), strungOf(p, r)} {
			q := query.Open(s, tl)
			for _, pattern := range []struct {
				*query.Pattern
				expr string
			}{
				{query.Literal("a", query.MatchCase), "a"}, {query.Literal("1", query.SmartCase), "1"}, {query.Literal("a", query.IgnoreCase), "(?i)a"},
				{query.Literal("k", query.SmartCase), "(?i)k"}, {query.Literal(`"`, query.SmartCase), `"`}, {query.Literal("é", query.MatchCase), "é"},
				{query.Literal("/", query.MatchCase), "/"}, {query.Literal("1a", query.SmartCase), "(?i)1a"}, {query.Literal("aA", query.MatchCase), "aA"},
				{query.Literal("😀", query.SmartCase), "😀"}, {query.Literal("10", query.SmartCase), "10"},
				{expr(t, "^[aA1]+$"), "^(?i)[aA1]+$"}, {expr(t, "a1.*"), "(?i)a1.*"}, {query.Literal("", query.SmartCase), ""},
			} {
				want := map[string][2]model.Node{}
				re := regexp.MustCompile(pattern.expr)
				for n := range model.Node(tl.Len()) {
					for _, text := range textsOf(t, p.states[p.headers[n].ID]) {
						if !re.MatchString(text) {
							continue
						}
						at, known := want[text]
						if !known {
							at = [2]model.Node{n, model.NoNode}
						}
						if at[1] == model.NoNode && tl.OnPath(n) {
							at[1] = n
						}
						want[text] = at
					}
				}
				got := map[string][2]model.Node{}
				var order []model.Node
				for hit, err := range q.Grep(t.Context(), query.Search{Pattern: pattern.Pattern}) {
					if err != nil {
						t.Fatal(err)
					}
					if _, twice := got[hit.Text]; twice {
						t.Fatalf("session %d: %q was found twice", seed, hit.Text)
					}
					got[hit.Text] = [2]model.Node{hit.Visit, hit.Active}
					order = append(order, hit.Visit)
					if !strings.Contains(hit.Path, "/") && strings.ContainsAny(p.states[p.headers[hit.Visit].ID][:1], "[{") {
						t.Fatalf("session %d: %q has no path", seed, hit.Text)
					}
				}
				if !reflect.DeepEqual(got, want) || !slices.IsSorted(order) {
					t.Fatalf("session %d, %T, %q: %v, not %v, of\n%s", seed, s, pattern.expr, got, want, strings.Join(lines, "\n"))
				}
				if got, want := appearancesIn(t, q, tl, pattern.Pattern), appearancesOf(t, p, tl, re); !slices.Equal(got, want) {
					t.Fatalf("session %d, %T, %q: %q come, not %q, of\n%s", seed, s, pattern.expr, got, want, strings.Join(lines, "\n"))
				}
			}
		}
	}
}

// appearancesIn returns the visits to which texts come, and the texts: "#1 text".
func appearancesIn(t *testing.T, q *query.Session, tl *model.Timeline, pattern *query.Pattern) (come []string) {
	t.Helper()
	last := model.Node(0)
	for hit, err := range q.Grep(t.Context(), query.Search{Pattern: pattern, All: true}) {
		if err != nil || hit.Visit < last {
			t.Fatalf("%+v behind %d, %v", hit, last, err)
		}
		last = hit.Visit
		come = append(come, tl.Name(hit.Visit)+" "+hit.Text)
	}
	slices.Sort(come)
	return come
}

// appearancesOf is appearancesIn of decoded states.
func appearancesOf(t *testing.T, p *past, tl *model.Timeline, re *regexp.Regexp) (come []string) {
	t.Helper()
	has := func(n model.Node) (texts []string) {
		if n == model.NoNode {
			return nil
		}
		texts = textsOf(t, p.states[p.headers[n].ID])
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	for n := range model.Node(tl.Len()) {
		before := has(tl.Parent(n))
		for _, text := range has(n) {
			if re.MatchString(text) && !slices.Contains(before, text) {
				come = append(come, tl.Name(n)+" "+text)
			}
		}
	}
	slices.Sort(come)
	return come
}

// strungHashed is a store whose ids are those of the states, and which knows what they share.
type strungHashed struct {
	hashed
	roper
}

func (s strungHashed) Features() store.Features {
	return store.Features{Ropes: s.Ropes, Fill: s.Fill}
}

// roper returns states as the bytes that they share, see store.Features.
type roper interface {
	Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error]
	Fill(ctx context.Context, runs []store.Run, dst []byte) error
}

// A session that grows is searched on: what was read is not read again, and what is new is found.
func TestGrep_follows(t *testing.T) {
	p := pastOf(`a - {"x":"one"}`, `b a {"x":"one, two"}`, `c b {"x":"one, two, three"}`)
	s := strungOf(p, rand.New(rand.NewPCG(1, 1)))
	q := query.Open(strungHashed{hashed{p}, s}, model.NewTimeline(p.headers[:1]))
	search := query.Search{Pattern: query.Literal("one", query.SmartCase)}
	for i, orphaned := range []bool{false, false, true} {
		headers := slices.Clone(p.headers[:i+1])
		headers[i].Orphaned = orphaned
		q.Follow(model.NewTimeline(headers))
		var last query.Hit
		n := 0
		for hit, err := range q.Grep(t.Context(), search) {
			if err != nil {
				t.Fatal(err)
			}
			last, n = hit, n+1
		}
		if n != i+1 || int(last.Visit) != i || (last.Active == model.NoNode) != orphaned {
			t.Errorf("%d found, the last one %+v, of %d visits", n, last, i+1)
		}
	}
	if s.asked > 3 {
		t.Errorf("%d states were read", s.asked)
	}
}

// A search ends when nobody waits for it.
func TestGrep_ends(t *testing.T) {
	p := grown()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := query.Open(p, model.NewTimeline(p.headers))
	n := 0
	for _, err := range q.Grep(ctx, query.Search{Pattern: query.Literal("1", query.SmartCase)}) {
		if n++; err != nil {
			if !errors.Is(err, context.Canceled) || n > 300 {
				t.Errorf("%v after %d", err, n)
			}
			return
		}
		cancel()
	}
	t.Errorf("%d hits and no error", n)
}

// A session of 1,000 states that grow is listed once: what its search holds is as much as the
// new text, not as the states.
func TestGrep_readsWhatIsNew(t *testing.T) {
	skip.Sequential(t)
	p := grown()
	whole := 0
	for _, state := range p.states {
		whole += bytes.Count([]byte(state), []byte(","))
	}
	n := 0
	for _, err := range query.Open(strungOf(p, rand.New(rand.NewPCG(2, 2))), model.NewTimeline(p.headers)).Grep(t.Context(), query.Search{Pattern: query.Literal("", query.SmartCase)}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1002 { // the numbers to 999, x and y
		t.Errorf("%d texts of %d", n, whole)
	}
}

// halting is a store that ends a question once it was asked for so many states.
type halting struct {
	roper
	after int
	halt  context.CancelFunc
}

func (h *halting) Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	if h.after -= len(refs); h.after < 0 && h.halt != nil {
		h.halt()
	}
	return h.roper.Ropes(ctx, refs)
}

// A search that was left while the session grew keeps nothing from the next one.
func TestGrep_afterOneThatWasLeft(t *testing.T) {
	d, tl := diaryOf(400)
	ctx, cancel := context.WithCancel(t.Context())
	h := &halting{d, 30, cancel}
	q := query.Open(strungHashed{hashed{d}, h}, model.NewTimeline(headersOf(tl)[:3]))
	search := query.Search{Pattern: query.Literal("say", query.SmartCase)}
	count := func(ctx context.Context) (n int, err error) {
		for _, err := range q.Grep(ctx, search) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if n, err := count(ctx); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	q.Follow(tl)
	if _, err := count(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	h.halt = nil
	if n, err := count(t.Context()); n != 400 || err != nil {
		t.Errorf("%d of 400 are found, %v", n, err)
	}
}

func headersOf(tl *model.Timeline) (headers []model.Header) {
	for n := range model.Node(tl.Len()) {
		headers = append(headers, tl.Header(n))
	}
	return headers
}
