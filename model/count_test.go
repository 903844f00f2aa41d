package model_test

import (
	"math"
	"testing"

	"hindcast/model"
)

func TestShortCount(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 7: "7", 999: "999", 999.6: "1.0k", 1000: "1.0k", 12_345: "12.3k", 99_949: "99.9k", 99_951: "100k", 999_499: "999k",
		999_600: "1.0M", 1.25e6: "1.2M", 3e9: "3.0G", 4e12: "4.0T", 1e40: "9999T", math.MaxFloat64: "9999T",
	} {
		if got := model.ShortCount(n); got != want || len(got) > 5 {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
}
