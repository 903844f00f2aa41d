package query_test

import (
	"errors"
	"testing"

	"hindcast/model"
	"hindcast/query"
)

func TestExplain(t *testing.T) {
	begun := `x call:list:{} ok:alpha `
	again := begun + `call:open:{"name":"alpha"} bad:denied call:open:{"name":"alpha"} bad:denied`
	p := pastOf("a - "+talk(begun), "b a "+talk(again), "c a "+talk(begun+`call:open:{"name":"other"} ok:opened`))
	tl := model.NewTimeline(p.headers)
	w, err := query.Open(p, tl).Explain(t.Context(), tl, 1, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.Call != 2 || len(w.Before) != 1 || w.Before[0] != 1 || w.Back != 0 {
		t.Errorf("call %d, before %v, back to %d", w.Call, w.Before, w.Back)
	}
	if len(w.Origins) != 1 || w.Origins[0].Path != "/name" || w.Origins[0].Visit != 0 || w.Origins[0].Tool != "list" {
		t.Errorf("origins %+v", w.Origins)
	}
	if w.Worked == nil || w.Worked.Calls[w.WorkedCall].Visit != 2 || w.Parting.A.Fork != 0 {
		t.Errorf("worked %+v, parted at %d", w.Worked, w.Parting.A.Fork)
	}
	if _, err = query.Open(p, tl).Explain(t.Context(), tl, 2, "", nil); !errors.Is(err, query.ErrNoFailure) {
		t.Errorf("no call failed: %v", err)
	}
}
