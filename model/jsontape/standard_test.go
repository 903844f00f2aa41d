package jsontape_test

import (
	"testing"

	"hindcast/model/jsontape"
)

func TestStandard(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "a": [1e999, "NaN"]}`:               `{"a": 1, "a": [1e999, "NaN"]}`,
		`{"a": NaN, "b": [Infinity, -Infinity, -1] }`: `{"a": {"$float":"NaN"}, "b": [{"$float":"+Inf"}, {"$float":"-Inf"}, -1] }`,
		"NaN":            `{"$float":"NaN"}`,
		"\ufeff [NaN]\n": `[{"$float":"NaN"}]`,
		"\ufeff{}":       `{}`,
		`[nan]`:          "",
		`[NaN`:           "",
		``:               "",
	} {
		got, err := jsontape.Standard([]byte(text))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}
