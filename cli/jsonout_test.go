package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"unicode"
)

// hostile are texts that a terminal would obey or a reader would not see.
var hostile = []string{
	"\x1b]52;c;aGk=\a", "\u009b31m", "\x7f", "\u202egnp.exe", "zero\u200bwidth", "tag\U000e0041", "line\u2028line", "\x00", "\r\n",
}

func TestEncode_leavesNothingThatATerminalObeys(t *testing.T) {
	for _, s := range hostile {
		data, err := encode(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range string(data) {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%q: %q holds %U", s, data, r)
			}
		}
		var back map[string]string
		if err := json.Unmarshal(data, &back); err != nil || back[s] != s {
			t.Errorf("%q comes back as %q, %v", s, back, err)
		}
	}
}

func TestEncode_leavesMarkupAsItIs(t *testing.T) {
	data, err := encode("<a & b>")
	if err != nil || string(data) != `"<a & b>"` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestSplice_keepsTheBytes(t *testing.T) {
	got := withMember([]byte(`{"id":"a"}`), "state", []byte("{ \"b\" : 1.50 }"))
	if want := `{"id":"a","state":{ "b" : 1.50 }}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// However the text is cut into writes, a character is never cut.
func TestASCIIControls_doesNotDependOnTheCuts(t *testing.T) {
	text := []byte("{\"a\":\"é\u202e\U000e0041 \u009b \xff \x1b\"}\n")
	want := appendEscaped(nil, text)
	for size := 1; size <= len(text); size++ {
		var got bytes.Buffer
		w := &asciiControls{w: &got}
		for rest := text; len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil || n != min(size, len(rest)) {
				t.Fatalf("wrote %d: %v", n, err)
			}
			rest = rest[n:]
		}
		if got.String() != string(want) {
			t.Errorf("writes of %d bytes: %q, want %q", size, &got, want)
		}
	}
}

func FuzzASCIIControls(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		if cut < 0 || cut > len(text) {
			cut = len(text) / 2
		}
		var got bytes.Buffer
		w := &asciiControls{w: &got}
		fmt.Fprintf(w, "%s", text[:cut])
		fmt.Fprintf(w, "%s\n", text[cut:])
		for _, r := range got.String() {
			if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar && !bytes.ContainsRune(text, r) {
				t.Fatalf("%q became %q", text, got.String())
			}
		}
		if json.Valid(text) && !json.Valid(got.Bytes()) {
			t.Fatalf("%q was JSON, %q is not", text, got.String())
		}
	})
}
