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
)

// diary is a store of states that each add a message to the one before: all are the beginning of
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
		d.text += fmt.Sprintf(`{"role":"assistant","content":[{"text":"say \"%d\""}],"metadata":{"usage":{"inputTokens":%d,"outputTokens":1,"totalTokens":%d}}}`, i, i, i+1)
		h := model.Header{ID: fmt.Sprint("v", i), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)}
		if i > 0 {
			h.ParentID = headers[i-1].ID
		}
		d.ends[h.ID], headers = int64(len(d.text)), append(headers, h)
	}
	return d, model.NewTimeline(headers)
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
// message twice TestSaid_looksAtNewMessagesAlone tells.
func TestQuestions_readWhatIsNew(t *testing.T) {
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
			if name == "stats" && got != n || name == "grep" && got != want {
				t.Errorf("%s: %d of %d states", name, got, n)
			}
			return float64(after.Mallocs - before.Mallocs)
		}
		if few, many := spent(400, 1), spent(800, 1); many > 2.5*few {
			t.Errorf("%s: %.0f allocations of 400 states, and %.0f of 800", name, few, many)
		}
	}
}
