package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// texts is a store of states by their id.
type texts struct {
	store.Store
	states map[string]string
}

func (texts) Features() store.Features { return store.Features{} }

func (s texts) State(_ context.Context, ref model.Ref) ([]byte, error) {
	return []byte(s.states[ref.ID]), nil
}

// Of a list that grows, or whose first message leaves, those messages alone are looked at that
// are new.
func TestMessageLists_looksAtNewMessagesAlone(t *testing.T) {
	for name, first := range map[string]int{"grows": 0, "slides": 1} {
		s := texts{states: map[string]string{}}
		var headers []model.Header
		for i := range 50 {
			var list []string
			for k := range 20 + i {
				list = append(list, fmt.Sprintf(`{"role":"user","content":"message %d, %s"}`, k, strings.Repeat("long ", 20)))
			}
			id := fmt.Sprint("v", i)
			s.states[id] = fmt.Sprintf(`{"n":%d,"messages":[%s]}`, i, strings.Join(list[i*first:], ", "))
			headers = append(headers, model.Header{ID: id, SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i)})
		}
		v := Open(s, model.NewTimeline(headers)).view()
		said := v.messageLists(newNumbered())
		for n, err := range v.walk(t.Context(), v.nodes()) {
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 { // what was looked at is not known any more
				clear(said.spelled)
			}
			added, has, err := said.adds(n)
			if err != nil || !has || n > 0 && (len(added) != 1 || len(said.spelled) != 1) {
				t.Fatalf("%s: visit %d adds %d messages, %d were looked at, %v", name, n, len(added), len(said.spelled), err)
			}
		}
		if !slices.IsSorted(said.starts) {
			t.Errorf("%s: the places are in no order", name)
		}
	}
}

// log is a store whose states are beginnings of one text, with a bracket and a brace behind it.
type log struct {
	store.Store
	text string
	ends map[string]int64
	asks int
}

func (l *log) Features() store.Features {
	return store.Features{Surveys: true, Ropes: l.Ropes, Fill: l.Fill}
}

func (l *log) Ropes(_ context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	l.asks++
	return func(yield func(store.Rope, error) bool) {
		for _, ref := range refs {
			if !yield(store.Rope{Runs: []store.Run{{At: 2, Len: l.ends[ref.ID] - 2}, {At: 0, Len: 2}}}, nil) {
				return
			}
		}
	}
}

func (l *log) Fill(_ context.Context, runs []store.Run, dst []byte) error {
	for _, run := range runs {
		dst = dst[copy(dst, l.text[run.At:run.At+run.Len]):]
	}
	return nil
}

// logOf returns a log of n states, of which each is the child of another by its number.
func logOf(n int, parent func(i int) int) (*log, *model.Timeline) {
	var text strings.Builder
	text.WriteString(`]}{"messages":[`)
	l := &log{ends: map[string]int64{}}
	var headers []model.Header
	for i := range n {
		if i > 0 {
			text.WriteString(",")
		}
		fmt.Fprintf(&text, `{"role":"user","content":"%d"}`, i)
		h := model.Header{ID: fmt.Sprint("v", i), SessionID: "s", Index: i, Visit: int64(i + 1)}
		if i > 0 {
			h.ParentVisit, h.ParentID = int64(parent(i)+1), headers[parent(i)].ID
		}
		l.ends[h.ID], headers = int64(text.Len()), append(headers, h)
	}
	l.text = text.String()
	return l, model.NewTimeline(headers)
}

// A list that goes on from the one before it copies nothing of that, and is compared with nothing
// of it. Of several that go on from one list each has its own elements.
func TestMessageLists_goesOnFromTheListBefore(t *testing.T) {
	const n = 200
	for name, parent := range map[string]func(i int) int{
		"a line":      func(i int) int { return i - 1 },
		"branches":    func(i int) int { return max(0, i-1-i%3) },
		"from one":    func(int) int { return 0 },
		"a long fork": func(i int) int { return (i - 1) / 2 },
	} {
		l, tl := logOf(n, parent)
		v := Open(l, tl).view()
		said := v.messageLists(newNumbered())
		for at, err := range v.walk(t.Context(), v.nodes()) {
			if err != nil {
				t.Fatal(err)
			}
			i := int(at)
			said.uses[at]++ // so that the list stays
			added, has, err := said.adds(at)
			if err != nil || !has {
				t.Fatal(has, err)
			}
			want := i + 1
			if i > 0 {
				want = i - parent(i)
			}
			now := said.lists[at]
			if len(added) != want || len(now.elements) != i+1 || i > 0 && now.taken != parent(i)+1 {
				t.Errorf("%s: visit %d adds %d of %d messages, and takes over %d", name, i, len(added), len(now.elements), now.taken)
			}
		}
		for at, list := range said.lists {
			for k, e := range list.elements {
				if e != said.lists[0].elements[0]+int32(k) {
					t.Fatalf("%s: element %d of visit %d is %d", name, k, at, e)
				}
			}
		}
	}
}

// A store that looks at a whole session each time is asked twice, however long that is.
func TestWalk_asksASurveyorTwice(t *testing.T) {
	skip.Sequential(t)
	const n = 5 * mostAtOnce
	l, tl := logOf(n, func(i int) int { return i - 1 })
	v := Open(l, tl).view()
	states := 0
	for _, err := range v.walk(t.Context(), v.nodes()) {
		if states++; err != nil {
			t.Fatal(err)
		}
	}
	if states != n || l.asks != 2 {
		t.Errorf("%d states took %d looks", states, l.asks)
	}
}
