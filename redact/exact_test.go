package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hindcast/redact"
)

// What is hidden of a text, and that the rest of it stays, character by character.
func TestText_exactly(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"db.example.com:5432:app:bob:Zq7rT2mX9w, then", "db.example.com:5432:app:bob:[redacted assignment 1], then"},
		{"*:*:app:bob:Zq7rT2mX9w", "*:*:app:bob:[redacted assignment 1]"},
		{"at 12:30:45:b:c9:d8 it was", "at 12:30:45:b:c9:d8 it was"},
		{"password => 'Zq7rT2mX9w'; // set", "password => '[redacted assignment 1]'; // set"},
		{"password := `Zq7rT2mX9w`", "password := `[redacted assignment 1]`"},
		{"X-Authorization: Custom Zq7rT2mX9wKp4Ls8Vn3B", "X-Authorization: Custom [redacted assignment 1]"},
		{"<password>Zq7rT2mX9w</password>", "<password>[redacted assignment 1]</password>"},
		{"my password is correct-horse-battery-staple", "my password is [redacted assignment 1]"},
		{"my password is correct.horse.battery.staple", "my password is [redacted assignment 1]"},
		{"my password is correct-horse", "my password is correct-horse"},
		{"the token is expired", "the token is expired"},
		{"bytes 0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "bytes 0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"},
		{"dtn_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "[redacted entropy 1]"},
		{"module_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "module_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"},
		{"signkey-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "[redacted entropy 1]"},
		{"q7Xw9ZbK3mPv5RtY8LnDabcdefgh", "[redacted entropy 1]"},
		{"/opt/data/q7Xw9ZbK3mPv5RtY8LnD2c/x", "/opt/data/q7Xw9ZbK3mPv5RtY8LnD2c/x"},
		{"https://x.example/hooks/q7Xw9ZbK3mPv5RtY8LnD2cT6/x", "https://x.example/hooks/[redacted entropy 1]/x"},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"},
		{"is aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxk base64", "is aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxk base64"},
		{"is cGFzc3dvcmQ9WnE3clQybVg5dw== base64", "is [redacted entropy 1] base64"},
	} {
		if out, _ := hidden(t, redact.Options{}, quoted(c.text)); out[0] != quoted(c.want) {
			t.Errorf("%s\n became %s\n want   %s", c.text, out[0], quoted(c.want))
		}
	}
}

// A secret that a key tells is hidden where JSON in a text spells it otherwise, however deep.
func TestState_deeplySpelled(t *testing.T) {
	quote := func(text string, times int) string {
		for range times {
			data, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		return text
	}
	for _, c := range []struct{ secret, inside string }{
		{`quo"te\d-9`, quote(`quo"te\d-9`, 4)},
		{"κλειδί-9-x", `{"x":"\u03ba\u03bb\u03b5\u03b9\u03b4\u03af-9-x"}`},
		{"aB3/dE5/fG7hI9", `["aB3\/dE5\/fG7hI9"]`},
	} {
		state := `{"api_key":` + quote(c.secret, 1) + `,"v":` + quote(c.inside, 1) + `}`
		out, _ := hidden(t, redact.Options{}, `{"v":""}`, state)
		if all := flat(out[1]); strings.Contains(all, c.secret) {
			t.Errorf("%s stands in %s", c.secret, out[1])
		}
	}
}
