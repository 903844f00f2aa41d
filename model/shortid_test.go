package model_test

import (
	"errors"
	"strings"
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
		{"1f0b2c4d-5e6f-6a7b-8c9d-0242ac120002", "5e6f-6a7"}, // version 6: the low bits of the time, and not the machine
		{"1f0b2c4d-5e6f-1a7b-8c9d-0242ac120002", "1f0b2c4d"}, // version 1: the low bits come first
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "Q69G5FAV"},           // a ULID
		{"01arz3ndektsv4rrffq69g5fav", "q69g5fav"},
		{"msg_2030640d7001Yh2fLqRzXw9sTa", "RzXw9sTa"},           // of opencode: the time is in front
		{"msg_01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2c", "3d6a1b2c"}, // of Codex
		{"20261122T113624_4cd04ec1", "4cd04ec1"},                 // of crewAI
		{"20261322T113624_4cd04ec1", "20261322"},                 // no date
		{"20261122T113624_4cd04ec", "20261122"},
		{"msg_2030640d", "msg_2030"}, // too short to begin with a time
		{"Msg_2030640d7001Yh2fLqRzXw9sTa", "Msg_2030"},
		{"msg_2030640d7001-h2fLqRzXw9sTa", "msg_2030"},
		{"81ARZ3NDEKTSV4RRFFQ69G5FAV", "81ARZ3ND"}, // no ULID: too late
		{"01ARZ3NDEKTSV4RRFFQ69G5FAU", "01ARZ3ND"}, // no digit of a ULID
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

// Ids that were made within a moment are told apart, and what tells them apart finds
// each of them.
func TestResolve_findsWhatIDsThatBeginAlikeAreShortenedTo(t *testing.T) {
	for _, ids := range [][]string{
		{"1f0b2c4d-5e6f-6a7b-8c9d-0242ac120002", "1f0b2c4d-5e6f-6c01-8c9d-0242ac120002", "1f0b2c4d-5e70-6a7b-8c9d-0242ac120002"},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW", "01ARZ3NDEKTSV4RRFFQ69G5FB0"},
		{"01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2c", "01a1fbae-d1f4-7cb2-a4a5-9f3f3d6a1b2d", "01a1fbae-d1f5-7cb2-a4a5-9f3f00001b2c"},
	} {
		var headers []model.Header
		for i, id := range ids {
			headers = append(headers, model.Header{ID: id, Index: i})
		}
		tl := model.NewTimeline(headers)
		for i, id := range ids {
			for _, n := range []int{8, 12, 30} {
				short := model.ShortID(id, n)
				for _, spec := range []string{short, strings.ToLower(short), strings.ToUpper(short)} {
					if at, err := tl.Resolve(spec); err != nil || tl.Header(at).Index != i {
						t.Errorf("%s of %s: node %d, %v", spec, id, at, err)
					}
				}
			}
		}
	}
}
