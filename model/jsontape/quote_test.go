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

// A long text has its room at once, whatever it is escaped as.
func TestAppendQuoted_room(t *testing.T) {
	for _, unit := range []string{"a", "\n", `"`, `\\`, "\x01", "<", "&", "€", "\u2028", "😀", "a\u2029b\t<"} {
		got := jsontape.AppendQuoted(nil, strings.Repeat(unit, 1<<20/len(unit)))
		if spare := cap(got) - len(got); spare > len(got)/4 {
			t.Errorf("of %q %d bytes have room for %d", unit, len(got), cap(got))
		}
	}
}
