package pickle_test

import (
	"encoding/base64"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/store/encoding/pickle"
	"hindcast/store/storetest/skip"
)

// values returns the lines of values.tsv, which Python wrote: make.py.
func values(t testing.TB) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/values.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		list = append(list, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return list
}

func decoded(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What Python pickles is read as the same JSON from every protocol.
func TestAppendJSON_python(t *testing.T) {
	for _, v := range values(t) {
		got, err := pickle.AppendJSON([]byte("before "), decoded(t, v[2]))
		if err != nil || string(got) != "before "+v[3] {
			t.Errorf("%s in protocol %s:\n%s, %v, want\n%s", v[0], v[1], got, err, v[3])
		}
	}
}

// A pickle that would run something is data.
func TestAppendJSON_hostile(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"system by reduce":     {"cos\nsystem\n(S'rm -rf /'\ntR.", `{"$py":"os.system","value":"rm -rf /"}`},
		"system by inst":       {"(S'id'\nios\nsystem\n.", `{"$py":"os.system","value":"id"}`},
		"system by obj":        {"(cos\nsystem\nS'id'\no.", `{"$py":"os.system","value":"id"}`},
		"call of a call":       {"cbuiltins\ngetattr\n(cos\nenviron\nS'get'\ntR(S'HOME'\ntR.", `{"$py":{"$py":"builtins.getattr","value":[{"$global":"os.environ"},"get"]},"value":"HOME"}`},
		"state by setstate":    {"cos\nsystem\n)R(dS'x'\nI1\nsb.", `{"$py":"os.system","x":1}`},
		"a persistent id":      {"Pfile:///etc/passwd\n.", `{"$persistent":"file:///etc/passwd"}`},
		"a registered class":   {"\x80\x02\x82\x07)R.", `{"$py":"copyreg.extension 7"}`},
		"escapes in a name":    {"c\x1b[31m\n\u202e\n.", `{"$global":"` + "\\u001b[31m.\u202e" + `"}`},
		"bytes of Python 2":    {"S'\\xff\\n'\n.", `{"$bytes":"/wo="}`},
		"halves of characters": {"V\\ud83d\\udc0e\\ud83d\n.", "\"\U0001f40e\ufffd\""},
	} {
		got, err := pickle.AppendJSON(nil, []byte(c.data))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// A pickle that is not one, or too large for what it holds, costs a message.
func TestAppendJSON_refuses(t *testing.T) {
	laughs := "]q\x00(" + strings.Repeat("h\x00", 10) + "e"
	for i := range byte(12) {
		laughs += "0](" + strings.Repeat("h"+string([]byte{i}), 10) + "eq" + string([]byte{i + 1})
	}
	keys := "I1\n"
	for range 60 {
		keys = "(" + keys + "I1\nd"
	}
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"nothing":                  {"", pickle.ErrShort},
		"no end":                   {"N", pickle.ErrShort},
		"two":                      {"N.N.", pickle.ErrRest},
		"no value":                 {".", pickle.ErrStack},
		"no opcode":                {"\xff.", pickle.ErrOpcode},
		"a later protocol":         {"\x80\x06N.", pickle.ErrProtocol},
		"2^40 bytes":               {"\x8e\x00\x00\x00\x00\x00\x01\x00\x00.", pickle.ErrShort},
		"2^63 bytes of text":       {"\x8d\x00\x00\x00\x00\x00\x00\x00\x80.", pickle.ErrShort},
		"a frame of 2^40 bytes":    {"\x80\x04\x95\x00\x00\x00\x00\x00\x01\x00\x00N.", pickle.ErrShort},
		"an integer of 2^31 bytes": {"\x8b\xff\xff\xff\x7f.", pickle.ErrShort},
		"an integer of 2 kB":       {"\x8b\x00\x08\x00\x00" + strings.Repeat("\x7f", 2048) + ".", pickle.ErrNumber},
		"an integer of letters":    {"Labc\n.", pickle.ErrNumber},
		"a million laughs":         {laughs + ".", pickle.ErrLarge},
		"keys in keys":             {keys + ".", pickle.ErrLarge},
		"too deep":                 {strings.Repeat("(", 5000) + strings.Repeat("l", 5000) + ".", pickle.ErrDepth},
		"many values":              {strings.Repeat("N", 1<<19+1) + ".", pickle.ErrValues},
		"many marks":               {strings.Repeat("(", 1<<19+1) + ".", pickle.ErrValues},
		"memo without a value":     {"h\x07.", pickle.ErrStack},
		"below a mark":             {"N(0R.", pickle.ErrStack},
		"a dict of three":          {"(NNNd.", pickle.ErrStack},
		"members of a list":        {"](NNu.", pickle.ErrStack},
		"a buffer":                 {"\x97.", pickle.ErrBuffer},
		"text without quotes":      {"Sx\n.", pickle.ErrText},
	} {
		got, err := pickle.AppendJSON([]byte("x"), []byte(c.data))
		if !errors.Is(err, c.want) || string(got) != "x" {
			t.Errorf("%s: %.40s, %v, want %v", name, got, err, c.want)
		}
	}
}

// What a hostile pickle says about its size takes no memory.
func TestAppendJSON_memory(t *testing.T) {
	skip.Counting(t)
	data := []byte("\x80\x04\x8e\x00\x00\x00\x00\x00\x01\x00\x00.")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := pickle.AppendJSON(nil, data)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<16 {
		t.Errorf("%d bytes were allocated, %v", took, err)
	}
}

// Whatever is read is JSON, and nothing panics.
func FuzzAppendJSON(f *testing.F) {
	for _, v := range values(f) {
		f.Add(decoded(f, v[2]))
	}
	f.Add([]byte("cos\nsystem\n(S'id'\ntR."))
	f.Add([]byte("V\\ud83d\\udc0e\n."))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := pickle.AppendJSON(nil, data)
		if err == nil && !jsontape.Valid(got) {
			t.Errorf("%q is read as %q, which is not JSON", data, got)
		}
		if most := 64*(len(data)+16) + 6*len(data) + 1024; len(got) > 2*most {
			t.Errorf("%d bytes become %d", len(data), len(got))
		}
	})
}
