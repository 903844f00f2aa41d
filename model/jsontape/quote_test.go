package jsontape_test

import (
	"encoding/json"
	"testing"

	"hindcast/model/jsontape"
)

func TestAppendQuoted_isAsMarshalled(t *testing.T) {
	for _, text := range []string{"", "0", "0123456789", "12a", "/", ":", `"`, `\`, "<&>", "a\nb", "\x00\x7f", "ü\u2028\u202e", "\xff", "\xed\xa0\x80"} {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(jsontape.AppendQuoted([]byte("x"), text)); got != "x"+string(want) {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
	}
}
