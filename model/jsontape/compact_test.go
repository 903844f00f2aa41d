package jsontape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model/jsontape/jsontest"
)

// messages returns files of a message log, as Python's json writes them with an
// indent of two.
func messages(tb testing.TB) (list [][]byte) {
	tb.Helper()
	paths, err := filepath.Glob("../../testdata/strands/python-file/session_*/agents/agent_*/messages/message_*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatal("there are no messages", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, text)
	}
	return list
}

func TestAppendCompact(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \t\r\n": "", " 1 ": "1", "[ 1 , 2 ]": "[1,2]",
		"{\n  \"a b\" :\t\" \\\" \\\\\" ,\n          \"c\" : [ ]\n}":   `{"a b":" \" \\","c":[]}`,
		`[ NaN , -Infinity , 1e999 , 0.10 ]`:                           `[NaN,-Infinity,1e999,0.10]`,
		"[ \" \xff \xed\xa0\x80\" ]":                                   "[\" \xff \xed\xa0\x80\"]",
		"[\"                    \",                         \"\\\\\"]": "[\"                    \",\"\\\\\"]",
	} {
		if got := string(AppendCompact([]byte("before "), []byte(text))); got != "before "+want {
			t.Errorf("%q becomes %q", text, got)
		}
		if got := string(Compact([]byte(text))); got != want {
			t.Errorf("%q is compact %q", text, got)
		}
	}
	const compact = `{"a b":[1," "]}`
	if text := []byte(compact); &Compact(text)[0] != &text[0] {
		t.Error("what is compact was copied")
	}
}

func FuzzAppendCompact(f *testing.F) {
	for _, text := range messages(f) {
		f.Add(text)
	}
	for _, text := range suite(f) {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Add(jsontest.New(2000, 1).IndentedJSON())
	f.Fuzz(func(t *testing.T, text []byte) {
		before := slices.Clone(text)
		got := AppendCompact(nil, text)
		if !bytes.Equal(text, before) {
			t.Fatal("the text was written to")
		}
		if json.Valid(text) && !bytes.Equal(Compact(text), got) {
			t.Errorf("%q is compact %q", text, Compact(text))
		}
		var want bytes.Buffer
		if json.Compact(&want, text) == nil && !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q becomes %q, and not %q", text, got, want.Bytes())
		}
	})
}

func BenchmarkAppendCompact(b *testing.B) {
	log := messages(b)
	long := fmt.Appendf(nil, "{\n  \"message\": {\n    \"role\": \"user\",\n    \"content\": [\n      {\n        \"text\": %q\n      }\n    ]\n  },\n"+
		"  \"message_id\": 1,\n  \"redact_message\": null,\n  \"created_at\": \"2026-11-21T01:10:16.787276+00:00\"\n}",
		strings.Repeat("What a user says to an agent, at some length.\n", 34))
	for name, texts := range map[string][][]byte{
		"message of 1.8 kB": {long},
		"messages":          log,
		"indented":          {jsontest.New(10*mb, 1).IndentedJSON()},
		"compact":           {jsontest.New(10*mb, 1).JSON()},
	} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for _, text := range texts {
				size += len(text)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				for _, text := range texts {
					dst = AppendCompact(dst[:0], text)
				}
			}
		})
	}
}
