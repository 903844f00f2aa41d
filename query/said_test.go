package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// texts is a store of states by their id.
type texts struct {
	store.Store
	states map[string]string
}

func (s texts) State(_ context.Context, ref model.Ref) ([]byte, error) {
	return []byte(s.states[ref.ID]), nil
}

// Of a list that grows, or whose first message leaves, those messages alone are looked at that
// are new.
func TestSaid_looksAtNewMessagesAlone(t *testing.T) {
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
		said := v.said(newNumbered())
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
