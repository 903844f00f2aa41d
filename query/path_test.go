package query_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
)

// Both notations mean one place.
func TestParsePath(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"", `{"a b":{"c":[1,{"_d1":2}]},"x/y":3,"~":4,"":5,"é":6,"0":7,"\"":8}`},
		{".", `{"a b":{"c":[1,{"_d1":2}]},"x/y":3,"~":4,"":5,"é":6,"0":7,"\"":8}`},
		{"/a b/c", `[1,{"_d1":2}]`},
		{`."a b".c`, `[1,{"_d1":2}]`},
		{`.["a b"]["c"]`, `[1,{"_d1":2}]`},
		{"/a b/c/1/_d1", "2"},
		{`."a b".c[1]._d1`, "2"},
		{`.["a b"].c[1]["_d1"]`, "2"},
		{"/x~1y", "3"},
		{`.["x/y"]`, "3"},
		{"/~0", "4"},
		{`."~"`, "4"},
		{"/", "5"},
		{`.""`, "5"},
		{`."\u00e9"`, "6"},
		{"/0", "7"},
		{`."0"`, "7"},
		{`."\""`, "8"},
	} {
		p := pastOf(`a - {"a b":{"c":[1,{"_d1":2}]},"x/y":3,"~":4,"":5,"é":6,"0":7,"\"":8}`)
		path, err := query.ParsePath(test.path)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		tl := model.NewTimeline(p.headers)
		if got := told(t, query.Open(p, tl).History(t.Context(), path), tl); !reflect.DeepEqual(got, []string{"#0 nothing → " + test.want}) {
			t.Errorf("%s is at %q", test.path, got)
		}
	}
}

func TestParsePath_errors(t *testing.T) {
	for _, test := range []struct {
		text   string
		offset int
		why    string
	}{
		{"x", 0, "neither / nor ."},
		{"#/x", 0, "neither / nor ."},
		{"/x~", 2, "~ is written as ~0"},
		{"/~2", 1, "~ is written as ~0"},
		{"..", 1, "behind . comes a key"},
		{".a.", 3, "behind . comes a key"},
		{".a-b", 2, `["KEY"]`},
		{".a..b", 3, "behind . comes a key"},
		{".9", 1, "behind . comes a key"},
		{".a b", 2, "behind a key comes . or ["},
		{".a[", 3, "a string or an index"},
		{".a[]", 3, "a string or an index"},
		{".a[-1]", 3, "counts from 0"},
		{".a[01]", 3, "counts from 0"},
		{".a[1", 4, "] is missing"},
		{`.a["b"`, 6, "] is missing"},
		{`.a["b]`, 3, "the string has no end"},
		{`."a`, 1, "the string has no end"},
		{".a.[1]", 3, "behind . comes a key"},
	} {
		_, err := query.ParsePath(test.text)
		var wrong *query.PathError
		if !errors.As(err, &wrong) || wrong.Offset != test.offset || !strings.Contains(wrong.Why, test.why) {
			t.Errorf("%q: %#v", test.text, err)
		}
	}
}

func TestCompletePath(t *testing.T) {
	const state = `{"cart":{"total":1,"to go":{},"total":2},"messages":[{"role":"x"},5],"x/y":[]}`
	for text, want := range map[string]string{
		"":              "/cart/ /messages/ /x~1y/",
		"/":             "/cart/ /messages/ /x~1y/",
		"/c":            "/cart/",
		"/cart/t":       "/cart/total /cart/to go/",
		"/messages/":    "/messages/0/ /messages/1",
		"/messages/0/r": "/messages/0/role",
		".":             `.cart/ .messages/ .["x/y"]/`,
		".me":           ".messages/",
		`.["x`:          `.["x/y"]/`,
		".cart.":        `.cart.total`,
		".cart":         ".cart/",
		".cart[":        `.cart["to go"]/`,
		".messages[":    ".messages[0]/ .messages[1]",
		".messages[0].": ".messages[0].role",
		".messages[1].": "",
		".nothing.":     "",
		"x":             "",
		".a-b.":         "",
	} {
		paths, more := query.CompletePath([]byte(state), text)
		for i := range paths {
			if more[i] {
				paths[i] += "/"
			}
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%q goes on to %s, not %s", text, got, want)
		}
	}
}
