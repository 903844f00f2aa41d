package jsontape_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

func TestAppendQuoted_isAsMarshalled(t *testing.T) {
	long := strings.Repeat("x", 64<<10-2)
	for _, text := range []string{
		long + "ü" + long, long + "xü", long + "€€\n", long + "😀" + long + long, long + "\xff\xff\xff\xff\xff\xff", long + "\x80\x80\x80\x80\x80\x80", long + "\xe2\x82",
		"", "0", "0123456789", "12a", "/", ":", `"`, `\`, "<&>", "a\nb", "\x00\x7f", "ü\u2028\u202e", "\xff", "\xed\xa0\x80",
	} {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(jsontape.AppendQuoted([]byte("x"), text)); got != "x"+string(want) {
			t.Errorf("%.80q is quoted as %.80s, want %.80s", text, got, want)
		}
	}
}
