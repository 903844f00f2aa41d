package langgraph

import (
	"strings"
	"testing"
)

// A pickle is read as data. One that cannot be read is the bytes that it is, with why.
func TestDecode_pickle(t *testing.T) {
	for value, want := range map[string]string{
		"cos\nsystem\n(S'id'\ntR.":              `{"$py":"os.system","value":"id"}`,
		"\x8e\x00\x00\x00\x00\x00\x01\x00\x00.": `{"$type":"pickle","$bytes":"jgAAAAAAAQAALg==","$error":"the pickle cannot be read: byte 9: the pickle ends early"}`,
	} {
		got, err := decodeValue("pickle", []byte(value))
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, want %s", value, got, err, want)
		}
	}
}

func TestDecode_encrypted(t *testing.T) {
	got, err := decodeValue("msgpack+aes", []byte("x"))
	if err != nil || !strings.HasPrefix(string(got), `{"$type":"msgpack+aes","$bytes":"`) {
		t.Errorf("%s, %v", got, err)
	}
}
