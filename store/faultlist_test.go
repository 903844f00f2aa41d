package store_test

import (
	"fmt"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

func TestFaultList(t *testing.T) {
	var l store.FaultList
	if l.Has("a") || len(l.All()) != 0 {
		t.Errorf("the empty list has %v", l.All())
	}
	var want []model.Fault
	add := func(code string, n int) {
		f := model.Fault{Code: code, File: fmt.Sprint(code, n), Path: "/x", Meaning: "it is wrong", Verdict: "refuses"}
		l.Add(f)
		if n < 20 {
			want = append(want, f)
		}
	}
	// Of two codes in turn there are too many, of one as many as there may be.
	for n := range 25 {
		add("b", n)
		add("a", n)
		if n < 20 {
			add("c", n)
		}
	}
	all := l.All()
	want = append(want,
		model.Fault{Code: "b", Meaning: "the same in 5 more places", Verdict: "refuses"},
		model.Fault{Code: "a", Meaning: "the same in 5 more places", Verdict: "refuses"})
	if !slices.Equal(all, want) {
		t.Errorf("listed are\n%v\nand not\n%v", all, want)
	}
	if !l.Has("a") || !l.Has("c") || l.Has("d") {
		t.Errorf("has a: %v, c: %v, d: %v", l.Has("a"), l.Has("c"), l.Has("d"))
	}
	// To ask changes nothing: more may be added, and the count goes on.
	l.Add(model.Fault{Code: "a"})
	l.Add(model.Fault{Code: "d"})
	again := l.All()
	if len(again) != len(all)+1 || again[len(again)-1].Meaning != "the same in 6 more places" || !slices.Equal(all, want) {
		t.Errorf("after two more there are %v", again)
	}
}
