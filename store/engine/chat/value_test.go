package chat

import (
	"testing"
	"time"

	"hindcast/model/jsontape"
)

// What is looked for where it is not is none, and none says nothing.
func TestValue_none(t *testing.T) {
	whole, err := Parse([]byte(`{"a":{"b":[1,{"c":null}]},"s":"x","t":true}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Value{
		"nothing": {}, "no member": whole.Get("none"), "below none": whole.Get("none", "a", "b"), "below a string": whole.Get("s", "a"),
		"below a list": whole.Get("a", "b", "c"), "below null": whole.Get("a", "none", "c"),
	} {
		if v.There() || v.Kind() != jsontape.Null || v.Text() != "" || v.Words() != "" || v.Raw() != nil || v.Number() != 0 || v.True() || !v.Time().IsZero() || !v.Milliseconds().IsZero() || v.Usage().Counted || v.Get("x").There() {
			t.Errorf("%s says something", name)
		}
		for range v.Each() {
			t.Errorf("%s has elements", name)
		}
	}
	if null := whole.Get("a", "b"); !null.There() || null.Kind() != jsontape.Array {
		t.Error("the list is not there")
	}
	if _, err := Parse([]byte(`{`)); err == nil {
		t.Error("half an object is a value")
	}
}

func TestValue(t *testing.T) {
	whole, err := Parse([]byte(`{"s":"a\nb","n":2.5,"t":true,"at":"2026-01-02T03:04:05.5+01:00","ms":1767322861500,"old":-1,"far":1e300,"odd":"yesterday","list":[1,2],"object":{"x":1,"y":2},"usage":{"input":3,"output":4}}`))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 2, 4, 5, 5e8, time.UTC)
	if s := whole.Get("s"); s.Text() != "a\nb" || s.Words() != "a b" || string(s.Raw()) != `"a\nb"` || s.Number() != 0 {
		t.Errorf("the string is %q", s.Text())
	}
	if n := whole.Get("n"); n.Number() != 2.5 || n.Text() != "" || n.True() {
		t.Errorf("the number is %v", n.Number())
	}
	if !whole.Get("t").True() || !whole.Get("at").Time().Equal(at) || !whole.Get("odd").Time().IsZero() {
		t.Errorf("the time is %v", whole.Get("at").Time())
	}
	if ms := whole.Get("ms").Milliseconds(); !ms.Equal(time.UnixMilli(1767322861500)) || !whole.Get("old").Milliseconds().IsZero() || !whole.Get("far").Milliseconds().IsZero() {
		t.Errorf("the milliseconds are %v", ms)
	}
	for key, want := range map[string]float64{"list": 3, "object": 3, "s": 0, "n": 0} {
		sum := 0.0
		for v := range whole.Get(key).Each() {
			sum += v.Number()
		}
		if sum != want {
			t.Errorf("the elements of %s add up to %v", key, sum)
		}
	}
	for v := range whole.Get("list").Each() {
		if v.Number() != 1 {
			t.Error("it goes on behind a break")
		}
		break
	}
	if u := whole.Usage(); !u.Counted || u.Input != 3 || u.Output != 4 {
		t.Errorf("the usage is %+v", u)
	}
}

func TestIDs(t *testing.T) {
	const given = "01a20301-0000-7000-8000-000000000001"
	for _, make := range []func(string) (string, error){UUID4, UUID7} {
		if id, err := make(given); id != given || err != nil {
			t.Errorf("a name that is an id becomes %q, %v", id, err)
		}
		for _, as := range []string{"x", "../" + given, given + "\n", "01A20301-0000-7000-8000-000000000001"} {
			if id, err := make(as); id != "" || err == nil {
				t.Errorf("%q becomes %q", as, id)
			}
		}
		a, errA := make("")
		b, errB := make("")
		if a == b || !lowerUUID().MatchString(a) || !lowerUUID().MatchString(b) || errA != nil || errB != nil {
			t.Errorf("no name becomes %q, %v and %q, %v", a, errA, b, errB)
		}
	}
	a, _ := UUID4("") // that it is one is held above
	if b, _ := UUID7(""); a[14] != '4' || b[14] != '7' || a[19] < '8' || a[19] > 'b' || b[19] < '8' || b[19] > 'b' {
		t.Errorf("the versions are those of %s and %s", a, b)
	}
}

// A time is a string of RFC 3339, or a number of seconds or milliseconds.
func TestValue_Time(t *testing.T) {
	want := time.Date(2026, 11, 27, 10, 0, 0, 500_000_000, time.UTC)
	for text, is := range map[string]bool{
		`"2026-11-27T10:00:00.5Z"`: true, `1795773600.5`: true, `1795773600500`: true,
		`0`: false, `-1`: false, `1e300`: false, `"soon"`: false, `null`: false, `{}`: false,
	} {
		v, err := Parse([]byte(text))
		if got := v.Time(); err != nil || got.Equal(want) != is || !is && !got.IsZero() {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
}
