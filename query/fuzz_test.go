package query_test

import (
	"errors"
	"testing"

	"hindcast/query"
)

// Any text is a path, or is said to be none with a place in it; what is one is an expression,
// too.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"", ".", "/", "/a~1b/~0/3", ".cart.total", `.messages[3].content[0]["a b"]`, `.["\u00e9"]`, "/~", ".a[", ".[\"", "..", ".a b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := query.ParsePath(text)
		if wrong := (*query.PathError)(nil); err != nil {
			if !errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if len(text) > 1000 {
			return // an expression takes the square of its length
		}
		if _, err := query.ParseExpr(path.JQ()); err != nil {
			t.Fatalf("%q is the expression %q: %v", text, path.JQ(), err)
		}
	})
}

// Any text is an expression, or is said to be none with a place in it.
func FuzzParseExpr(f *testing.F) {
	for _, text := range []string{".", ".a.b == 1", "any(.messages[]; .role == \"user\")", "[.[]|select(.x)]|length", "def f: f; f", ".a |", "\"\\(1)\"", "env", "$__loc__", "reduce .[] as [$a] (0; .+$a)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := query.ParseExpr(text)
		if wrong := (*query.ExprError)(nil); err != nil && (!errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text)) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
