package query_test

import (
	"errors"
	"strings"
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

// What a call that failed printed may be nothing.
func TestWhy_Facts_silent(t *testing.T) {
	p := pastOf("a - " + talk(`x call:list:{} bad:`))
	tl := model.NewTimeline(p.headers)
	w, err := query.Open(p, tl).Explain(t.Context(), tl, 0, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := w.Facts(tl)[0].Text; strings.HasSuffix(text, ":") || !strings.Contains(text, "list") {
		t.Errorf("%q", text)
	}
}

// A call fails where its result is; at the visit that makes it, that failure is meant and none before.
func TestExplain_atTheCall(t *testing.T) {
	begun := `x call:list:{} bad:denied `
	p := pastOf("a - "+talk(begun), "b a "+talk(begun+`call:open:{"name":"alpha"}`), "c b "+talk(begun+`call:open:{"name":"alpha"} bad:broken`))
	tl := model.NewTimeline(p.headers)
	for n, want := range []string{"list", "open", "open"} {
		w, err := query.Open(p, tl).Explain(t.Context(), tl, model.Node(n), "", nil)
		if err != nil || w.Calls[w.Call].Tool != want {
			t.Errorf("at #%d: %+v, %v; not %s", n, w, err, want)
		}
	}
}

// The facts about a value are the visit and the call that set it, its earlier values, the origin of its text and the
// values of other branches. An element of a list is followed.
func TestSession_ExplainValue(t *testing.T) {
	state := func(name, talked string) string {
		return strings.Replace(talk(talked), "{", `{"name":"`+name+`",`, 1)
	}
	begun := "alpha call:list:{} ok:beta "
	p := pastOf("a - "+state("none", begun), "b a "+state("beta", begun+"call:pick:{} ok:1"), "c b "+state("beta", begun+"call:pick:{} ok:1 say:done"),
		"d a "+state("gamma", begun))
	tl := model.NewTimeline(p.headers)
	q := query.Open(p, tl)
	tell := func(at model.Node, path string) string {
		parsed, err := query.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := q.ExplainValue(t.Context(), tl, at, parsed, "")
		if err != nil {
			return err.Error()
		}
		var lines []string
		for _, f := range facts {
			lines = append(lines, f.Is+" "+tl.Name(f.Visit)+" "+string(f.In)+": "+f.Text)
		}
		return strings.Join(lines, "\n")
	}
	for _, c := range []struct {
		at         model.Node
		path, want string
	}{
		{2, "/name", `set #1 show: #1 set it to "beta"
by #1 messages: #1 pick
was #0 show: #0 set it to "none"
from #0 messages: "beta" first stands in #0 (user list)
else #3 show: #3 set it to "gamma", on the branch that parted at #0
before #0 restore: #0 is the snapshot before it was set`},
		{0, "/name", `set #0 show: #0 set it to "none"
by #0 messages: #0 list
else #3 show: #3 set it to "gamma", on the line that goes on
else #1 show: #1 set it to "beta", on the line that goes on`},
		{2, "/messages/0/role", `set #0 show: #0 set it to "user"
by #0 messages: #0 list`},
		{2, "/nowhere", query.ErrNeverSet.Error()},
	} {
		if got := tell(c.at, c.path); got != c.want {
			t.Errorf("%s at #%d:\n%s\nnot\n%s", c.path, c.at, got, c.want)
		}
	}
}
