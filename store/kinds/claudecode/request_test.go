package claudecode

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store/storetest"
)

const requestFixtures = "../../../testdata/files/claude-code"

// The two recorded sessions: one is compacted.
const compactedSession, otherSession = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"

// requestsOf returns the requests of a session by the names of the snapshots of their answers.
func requestsOf(t *testing.T, path, session string) map[string]request.Request {
	t.Helper()
	s, all := open(t, path), map[string]request.Request{}
	line := model.NewTimeline(storetest.Headers(t, s, session))
	for n := range model.Node(line.Len()) {
		r, err := s.Features().ModelRequest(t.Context(), line.Header(n).Ref())
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer == line.Header(n).ID {
			if r.HasMessages() {
				o, err := request.NewOutline(r)
				if err != nil {
					t.Fatal(err)
				}
				r = o.Request
			}
			all[line.Name(n)] = r
		}
	}
	return all
}

// Every request of two recorded sessions is proven: all its messages are found, and Claude Code's own digest is reproduced.
func TestRequest_isProven(t *testing.T) {
	requests, messages := 0, 0
	for _, session := range []string{compactedSession, otherSession} {
		for name, r := range requestsOf(t, requestFixtures, session) {
			if !r.Proven || r.Unknown != nil || r.Purpose != "sdk" || r.At.IsZero() || !r.Usage.Counted {
				t.Errorf("%s %s: proven %t, unknown %q, %q at %v", session, name, r.Proven, r.Unknown, r.Purpose, r.At)
			}
			body, err := jsontape.Parse(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			requests, messages = requests+1, messages+body.Count(body.Find(0, "messages"))
		}
	}
	if requests != 23 || messages != 275 {
		t.Errorf("%d requests with %d messages, not 23 with 275", requests, messages)
	}
}

// A request that lost a part, or has another one, is not proven and names the part.
func TestRequest_damaged(t *testing.T) {
	file := filepath.Join(requestFixtures, "-home-demo-w", compactedSession+".jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	without := func(parts ...string) []byte {
		return bytes.Join(slices.DeleteFunc(bytes.SplitAfter(text, []byte("\n")), func(line []byte) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !bytes.Contains(line, []byte(part)) })
		}), nil)
	}
	for _, c := range []struct {
		name    string
		text    []byte
		unknown string // of the answer #11; "" for no request
		body    bool
	}{
		{"no blobs", without(`"type":"api-request-blob"`), "2 of 12 messages", true},
		{"no shape", without(`"type":"api-request-shape"`), "system prompt, tools", true},
		{"a message is another", bytes.Replace(text, []byte(`"role":"user","content":"call: Edit {`), []byte(`"role":"user","content":"Edit: {`), 1), "1 of 12 messages", true},
		{"the settings are others", bytes.ReplaceAll(text, []byte(`"max_tokens":128000`), []byte(`"max_tokens":1`)), "something: the digest that the agent kept is of another request", true},
		{"no base", without(`"type":"api-request",`, `"keep":0`), "messages: the request before it is not in the file", true},
		{"no request", without(`"type":"api-request",`), "", false},
	} {
		dir := filepath.Join(t.TempDir(), "-home-demo-w")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, compactedSession+".jsonl"), c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		r := requestsOf(t, filepath.Dir(dir), compactedSession)["#11"]
		if got := strings.Join(r.Unknown, ", "); got != c.unknown || r.Proven || r.HasMessages() != c.body {
			t.Errorf("%s: %q, proven %t, %.80s", c.name, got, r.Proven, r.Body)
		}
	}
}
