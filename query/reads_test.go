package query_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// diary is a store of states that each add a question and an answer to the one before: all are the beginning of
// one text, with two brackets behind it.
type diary struct {
	store.Store
	text string
	ends map[string]int64
}

// diaryOf returns a diary of n states, and their timeline.
func diaryOf(n int) (*diary, *model.Timeline) {
	d := &diary{text: `]}{"messages":[`, ends: map[string]int64{}}
	var headers []model.Header
	for i := range n {
		if i > 0 {
			d.text += ","
		}
		d.text += fmt.Sprintf(`{"role":"user","content":[{"text":"ask %d"}]},{"role":"assistant","content":[{"text":"say \"%d\""}],"metadata":{"usage":{"inputTokens":%d,"outputTokens":1,"totalTokens":%d}}}`, i, i, i, i+1)
		h := model.Header{ID: fmt.Sprint("v", i), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)}
		if i > 0 {
			h.ParentID = headers[i-1].ID
		}
		d.ends[h.ID], headers = int64(len(d.text)), append(headers, h)
	}
	return d, model.NewTimeline(headers)
}

func (d *diary) Features() store.Features {
	return store.Features{Ropes: d.Ropes, Fill: d.Fill}
}

func (d *diary) Ropes(_ context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		for _, ref := range refs {
			if !yield(store.Rope{Runs: []store.Run{{At: 2, Len: d.ends[ref.ID] - 2}, {At: 0, Len: 2}}}, nil) {
				return
			}
		}
	}
}

func (d *diary) Fill(_ context.Context, runs []store.Run, dst []byte) error {
	for _, run := range runs {
		dst = dst[copy(dst, d.text[run.At:run.At+run.Len]):]
	}
	return nil
}

// What a question allocates is as much as there is new text: of twice as many states twice as
// much, and not four times, as there would be if each state was read. That stats looks at no
// message twice TestMessageLists_looksAtNewMessagesAlone tells.
func TestQuestions_readWhatIsNew(t *testing.T) {
	skip.Sequential(t)
	for name, ask := range map[string]func(q *query.Session) int{
		"stats": func(q *query.Session) (answers int) {
			for stat, err := range q.Stats(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				answers += len(stat.Answers)
			}
			return answers
		},
		"grep of requests": func(q *query.Session) int {
			hits, err := q.GrepSent(t.Context(), query.SentSearch{Pattern: query.Literal("ask 399", query.SmartCase)})
			if err != nil {
				t.Fatal(err)
			}
			return len(hits)
		},
		"grep": func(q *query.Session) (hits int) {
			for _, err := range q.Grep(t.Context(), query.Search{Pattern: query.Literal(`"`, query.SmartCase), Role: "nobody"}) {
				t.Fatal(err)
			}
			for _, err := range q.Grep(t.Context(), query.Search{Pattern: query.Literal(`"399"`, query.SmartCase)}) {
				if hits++; err != nil {
					t.Fatal(err)
				}
			}
			return hits
		},
	} {
		spent := func(n, want int) float64 {
			d, tl := diaryOf(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := ask(query.Open(d, tl))
			runtime.ReadMemStats(&after)
			if name == "stats" && got != n || name != "stats" && got != want {
				t.Errorf("%s: %d of %d states", name, got, n)
			}
			return float64(after.Mallocs - before.Mallocs)
		}
		if few, many := spent(400, 1), spent(800, 1); many > 2.5*few {
			t.Errorf("%s: %.0f allocations of 400 states, and %.0f of 800", name, few, many)
		}
	}
}

// counted is a store of states that each count at their beginning and at their end, with the same
// runs between.
type counted struct {
	store.Store
	numbers map[string]int
	between int
}

func (c *counted) Features() store.Features {
	return store.Features{Ropes: c.Ropes, Fill: c.Fill}
}

func (c *counted) Ropes(_ context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		runs := make([]store.Run, c.between+2)
		for i := range c.between { // apart from each other
			runs[i+1] = store.Run{At: int64(8*i) + 1<<40, Len: 3}
		}
		for _, ref := range refs {
			i := c.numbers[ref.ID]
			runs[0] = store.Run{At: int64(8 * i), Len: 5}
			runs[c.between+1] = store.Run{At: int64(8*i) + 1<<20, Len: 1}
			if !yield(store.Rope{Runs: runs}, nil) {
				return
			}
		}
	}
}

// Fill makes states such as [1234 ,"" ,"" ].
func (c *counted) Fill(_ context.Context, runs []store.Run, dst []byte) error {
	for _, run := range runs {
		text := `,""`
		switch run.Len {
		case 5:
			text = fmt.Sprintf("[%d", 1000+run.At/8)
		case 1:
			text = "]"
		}
		dst = dst[copy(dst, text):]
	}
	return nil
}

// Where two states are the same between a beginning and an end that are not, nothing is looked up
// or kept of it: a search spends a few numbers on each run of a state.
func TestGrep_passesOverTheSameMiddle(t *testing.T) {
	skip.Counting(t)
	const states = 1000
	c := &counted{numbers: map[string]int{}, between: 100}
	var headers []model.Header
	for i := range states {
		h := model.Header{ID: fmt.Sprint("v", i), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)}
		c.numbers[h.ID], headers = i, append(headers, h)
	}
	tl := model.NewTimeline(headers)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	hits := 0
	for _, err := range query.Open(c, tl).Grep(t.Context(), query.Search{Pattern: query.Literal("7", query.SmartCase)}) {
		if hits++; err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if spent := float64(after.TotalAlloc-before.TotalAlloc) / float64(states*c.between); spent > 70 {
		t.Errorf("%.0f bytes a run", spent)
	}
	if hits != 271 {
		t.Errorf("%d of 271 numbers", hits)
	}
}
