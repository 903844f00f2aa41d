package jsontape

import (
	"errors"
	"math"
	"slices"
	"testing"
	"unicode/utf16"
)

// canonicalOf returns the RFC 8785 form of a JSON text, without the members of a key.
func canonicalOf(data, without string) (string, error) {
	t, err := Parse([]byte(data))
	if err != nil {
		return "", err
	}
	got, err := t.AppendCanonical(nil, 0, func(key string) bool { return key == without })
	return string(got), err
}

// The examples of RFC 8785: sections 3.2.2 and 3.2.3.
func TestCanonical_examplesOfTheRFC(t *testing.T) {
	for in, want := range map[string]string{
		`{
		  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
		  "literals": [null, true, false]
		}`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{
		  "\u20ac": "Euro Sign",
		  "\r": "Carriage Return",
		  "\ufb33": "Hebrew Letter Dalet With Dagesh",
		  "1": "One",
		  "\ud83d\ude00": "Emoji: Grinning Face",
		  "\u0080": "Control",
		  "\u00f6": "Latin Small Letter O With Diaeresis"
		}`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
			`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		`"\b\t\n\f\r\u0000\u001f\u007f<>&\u2028"`: `"\b\t\n\f\r\u0000\u001f` + "\u007f<>&\u2028" + `"`,
		` [ [ ] , { } , "" ] `:                    `[[],{},""]`,
		`{"a":1,"":2,"aa":3}`:                     `{"":2,"a":1,"aa":3}`,
	} {
		got, err := canonicalOf(in, "left out")
		if err != nil || got != want {
			t.Errorf("%s is\n%s, %v; not\n%s", in, got, err, want)
		}
	}
}

// The table of RFC 8785, appendix B: the bits of a double and its text.
func TestCanonical_numbersOfTheRFC(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
		0x3dbb7cdfd9d7bdbb: "2.5e-11",
	} {
		if got := appendDouble(nil, math.Float64frombits(bits)); string(got) != want {
			t.Errorf("%016x is %s; not %s", bits, got, want)
		}
	}
	for _, bad := range []string{"1e999", "-1e999"} {
		if _, err := canonicalOf(bad, ""); !errors.Is(err, ErrNotCanonical) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// What the RFC leaves open is as JSON.stringify writes it; a member that is left out leaves no trace.
func TestCanonical_asECMAScript(t *testing.T) {
	for in, want := range map[string]string{
		`"\uD83D \ude00\udfffx"`:                              `"\ud83d \ude00\udfffx"`,
		`["\ud83d\ude00","\/"]`:                               `["😀","/"]`,
		`[-0, 0, -1, 123456789012345, 9007199254740993]`:      `[0,0,-1,123456789012345,9007199254740992]`,
		`{"b":{"left":[1]},"a":[{"left":1,"c":2}],"left":{}}`: `{"a":[{"c":2}],"b":{}}`,
		`{"a":1,"\u0061":2}`:                                  `{"a":2}`,
	} {
		got, err := canonicalOf(in, "left")
		if err != nil || got != want {
			t.Errorf("%s is\n%s, %v; not\n%s", in, got, err, want)
		}
	}
}

func TestCanonical_ordersKeysByTheirUTF16Units(t *testing.T) {
	keys := []string{"", "a", "aa", "z", "é", "\u20ac", "\ud7ff", "\ue000", "\ufb33", "\uffff", "\U00010000", "\U0001f600", "\U0001f600a", "\U0010ffff", "z\U00010000"}
	for _, a := range keys {
		for _, b := range keys {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := compareUTF16(a, b); got != want {
				t.Errorf("%+q and %+q: %d, not %d", a, b, got, want)
			}
		}
	}
}
