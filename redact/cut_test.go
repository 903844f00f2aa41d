package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hindcast/redact"
)

// A title that was cut within a secret shows no more of it than three characters.
func TestText_cutWithinASecret(t *testing.T) {
	for _, c := range []struct{ before, secret, behind string }{
		{"use ", "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", " to push"},
		{"aws_access_key_id = ", "AKIAQ7TNPZLMDXCVWRKB", ""},
		{"password=", "Tr0ub4dor&3xyzzyQ", " for the door"},
		{"postgres://me:", "hUnt3r2Zebra9Q", "@db.example.com/x"},
		{"the key is ", "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg3Yf0\nq8XvT2LmZk7RpWs9\n-----END PRIVATE KEY-----", " ok"},
		{"token ", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", ""},
	} {
		text := c.before + c.secret + c.behind
		state, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := redact.New(redact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Learn(state); err != nil {
			t.Fatal(err)
		}
		if err := r.FinishLearning(); err != nil {
			t.Fatal(err)
		}
		line := strings.Join(strings.Fields(c.secret), " ")
		for n := 5; n < len(line); n++ {
			for _, title := range []string{c.before + line[:n] + "…", "$ curl " + line[:n] + "…  exit 1", "…" + line[len(line)-n:] + c.behind} {
				got, err := r.Text("title", title)
				if err != nil {
					t.Fatal(err)
				}
				if shown := strings.ReplaceAll(got, "[redacted", ""); strings.Contains(shown, line[:4]) && strings.Contains(title, line[:4]) || strings.Contains(title, "…"+line[len(line)-n:]) && strings.Contains(shown, line[len(line)-4:]) {
					t.Errorf("%q is told as %q", title, got)
				}
			}
		}
		if got, err := r.Text("title", "nothing of it … here"); err != nil || got != "nothing of it … here" {
			t.Errorf("%q, %v", got, err)
		}
	}
}
