package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// hostile are texts that a terminal would obey or a reader would not see.
var hostile = []string{
	"\x1b]52;c;aGk=\a", "\u009b31m", "\x7f", "\u202egnp.exe", "zero\u200bwidth", "tag\U000e0041", "line\u2028line", "\x00", "\r\n",
}

func TestEncode_leavesNothingThatATerminalObeys(t *testing.T) {
	for _, s := range hostile {
		data, err := encodeJSON(map[string]string{s: s})
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
	data, err := encodeJSON("<a & b>")
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
	text := []byte("{\"a\":\"é\u202e\U000e0041 \u009b \xff \x1b e" + strings.Repeat("\u0301", 9) + "\"}\n")
	var whole bytes.Buffer
	if _, err := (&asciiControls{w: &whole}).Write(text); err != nil {
		t.Fatal(err)
	}
	want := whole.Bytes()
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

// On a terminal no character is hidden and none is piled up, in a document as in a
// state's own bytes, and the value is the same. In a pipe the text is as it was.
func TestJSON_hidesNothingOnATerminal(t *testing.T) {
	const unseen = "\u115f\u1160\u3164\uffa0\u17b4\u034f\u2065\u180b\ufe00\ufe0e\U000e0100\ufffe\U0001fffe\u2800"
	storm := "z" + strings.Repeat("\u0301", 300)
	value := "né 한 日本 กำ 🙂" + unseen + storm
	for name, run := range map[string]func(*App, *printer) error{
		"a document": func(a *App, p *printer) error { return p.writeDocument(map[string]string{"a": value}) },
		"a list":     func(a *App, p *printer) error { return writeArray(p, sequenceOf([]string{value})) },
		"a state": func(a *App, p *printer) error {
			_, err := a.harmlessWriter(p).Write([]byte(`{"a":"` + value + `"}`))
			return err
		},
	} {
		for _, terminal := range []bool{true, false} {
			var out bytes.Buffer
			a := &App{OutTerminal: terminal, Getenv: func(string) string { return "" }}
			cmd := &cobra.Command{}
			cmd.Flags().Bool("json", true, "")
			cmd.SetContext(t.Context())
			err := a.answerTo(&out, cmd, nil, func(_ context.Context, p *printer, _ []string) error { return run(a, p) })
			if err != nil {
				t.Fatal(err)
			}
			if terminal == strings.ContainsAny(out.String(), unseen) {
				t.Errorf("%s, on a terminal %v: %+q", name, terminal, out.String())
			}
			if piled := strings.Count(out.String(), "\u0301"); terminal == (piled > 4) {
				t.Errorf("%s, on a terminal %v: %d marks on a letter", name, terminal, piled)
			}
			if !strings.Contains(out.String(), "né 한 日本 กำ 🙂") {
				t.Errorf("%s: what can be read is not: %s", name, out.String())
			}
			var back any
			if err := json.Unmarshal(out.Bytes(), &back); err != nil || !strings.Contains(fmt.Sprint(back), value) {
				t.Errorf("%s, on a terminal %v: the value is another: %v, %v", name, terminal, back, err)
			}
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

// What JSON has no number for is a string; what it has stays as it is.
func TestValue_isJSON(t *testing.T) {
	for given, want := range map[string]string{
		`NaN`: `"NaN"`,
		` {"a":[NaN, -Infinity,"NaN",1.0e400],"b":{"Infinity":Infinity}}`: `{"a":["NaN","-Infinity","NaN",1.0e400],"b":{"Infinity":"Infinity"}}`,
		`[1.0,"NaN"]`: `[1.0,"NaN"]`,
	} {
		got, err := encodeJSON(historyJSON{Old: value(given)})
		if err != nil || !strings.Contains(string(got), `"old":`+want+`}`) {
			t.Errorf("%s: %s, %v, not %s", given, got, err, want)
		}
	}
	if _, err := encodeJSON(historyJSON{Old: value(`[NaN`)}); err == nil {
		t.Error("half a value was written")
	}
}
