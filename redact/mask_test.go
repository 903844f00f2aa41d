package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestMask hides secrets of known shape in what is JSON, in binary records and across lines, and nothing else: the bytes stay as many, JSON
// stays JSON, and masking again changes nothing.
func TestMask(t *testing.T) {
	const key, token = "sk-ant-api03-Zk3vQ9wB7xN2mL5tR8yC1dF4gH6jK0pS", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu\n-----END PRIVATE KEY-----"
	quoted, err := json.Marshal(map[string]string{"text": "say \"" + key + "\"\nand\t" + token + " é", "pem": pem, "word": "password: hunter2!", "id": "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"JSON": string(quoted), "binary": "\x84\xa3key\xd9\x2d" + key + "\x00\xff\xc1" + token + "\x01", "lines": "a\n" + pem + "\nb " + key + "\n"} {
		r, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		data := []byte(text)
		if n := r.Mask(data); n < 2 || len(data) != len(text) {
			t.Errorf("%s: %d secrets, %d bytes of %d", name, n, len(data), len(text))
		}
		for _, secret := range []string{key[8:], token[4:], "MIIEvQ", "VJTUt9"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s: %q is in %q", name, secret, data)
			}
		}
		if json.Valid(data) != json.Valid([]byte(text)) {
			t.Errorf("%s: it is no JSON any more: %s", name, data)
		}
		if name == "JSON" && !(strings.Contains(string(data), "hunter2!") && strings.Contains(string(data), "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789") && strings.Contains(string(data), `\nand\t`)) {
			t.Errorf("more is hidden than secrets of known shape: %s", data)
		}
		once := string(data)
		if n := r.Mask(data); n != 0 || string(data) != once {
			t.Errorf("%s: masked again %d: %q", name, n, data)
		}
	}
}
