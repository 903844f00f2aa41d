package model_test

import (
	"errors"
	"testing"

	"hindcast/model"
)

func TestShortID(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"", ""},
		{"abc", "abc"},
		{"säure-grün", "säure-g"},
		{"säuregrün-9", "säuregr"},
		{"0123456789abcdef", "01234567"},
		{"40d4679c-7e8e-4800-82ba-141faf760264", "40d4679c"}, // version 4: random from the start
		{"01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2c", "3d6a1b2c"},
		{"01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2g", "01a1fbae"}, // no hexadecimal digit
		{"01a1fbae0d1f4-7cb2-a4a5-9f3f3d6a1b2c", "01a1fbae"}, // no hyphen in its place
		{"01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2c0", "01a1fbae"},
	} {
		if got := model.ShortID(c.id, 8); got != c.want {
			t.Errorf("ShortID(%q) is %q, want %q", c.id, got, c.want)
		}
	}
}

func TestResolve_findsTheEndOfATimeOrderedID(t *testing.T) {
	tl := model.NewTimeline([]model.Header{
		{ID: "01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2c", Index: 0},
		{ID: "01a1fbae-d1f5-7cb2-a4a5-9f3f00001b2c", Index: 1},
		{ID: "40d4679c-7e8e-4800-82ba-141faf760264", Index: 2},
	})
	for _, c := range []struct {
		spec string
		want int
	}{
		{"3d6a1b2c", 0},
		{"3D6A1B2C", 0},
		{"00001b2c", 1},
		{"01a1fbae-d1f5", 1},
		{"40d4", 2},
	} {
		n, err := tl.Resolve(c.spec)
		if err != nil || tl.Header(n).Index != c.want {
			t.Errorf("Resolve(%q) is node %d, error %v; want #%d", c.spec, n, err, c.want)
		}
	}
	if _, err := tl.Resolve("1b2c"); !errors.Is(err, model.ErrAmbiguous) {
		t.Errorf("the end of two ids: %v", err)
	}
	if _, err := tl.Resolve("760264"); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("the end of an id that has no time in it: %v", err)
	}
}
