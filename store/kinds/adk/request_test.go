package adk

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// A request has the contents that ADK sent its model for an event, and is the same at the event that it follows.
func TestRequest_isWhatIsSent(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "sent.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]sdkSent
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join("testdata", "sent.db"))
	compared, behind := 0, 0
	for session, sdk := range want {
		for _, of := range sdk.Requests {
			for _, h := range storetest.Headers(t, s, "app/u/"+session) {
				if h.ID != of.Of && h.ID != of.After {
					continue
				}
				r, err := s.Features().ModelRequest(t.Context(), h.Ref())
				if err != nil {
					t.Fatal(err)
				}
				if h.ID == of.After && r.Answer != of.Of { // another answer follows it, too
					continue
				}
				var body struct{ Messages []any }
				if err := json.Unmarshal(r.Body, &body); err != nil {
					t.Fatalf("%s %s: %v", session, h.ID, err)
				}
				if a, b := asJSON(t, withoutIDs(body.Messages)), asJSON(t, withoutIDs(of.Sent)); a != b || r.Answer != of.Of {
					t.Errorf("%s #%d: the request is\n%s\nand ADK sent\n%s", session, h.Index, a, b)
				}
				if compared++; h.ID == of.After {
					behind++
				}
			}
		}
	}
	if compared < 40 || behind < 17 {
		t.Errorf("%d requests were compared, %d of them at the event before", compared, behind)
	}
}

// What the next run of each session was sent, behind compactions, a late answer, a question of ADK's own and a call
// without a result. SENT.txt beside the recording has the lists.
func TestRequest_behindCompactions(t *testing.T) {
	s := open(t, filepath.Join("..", "..", "..", "testdata", "inputs", "adk-compaction.db"))
	for session, want := range map[string]string{
		"two":     `call weather {"city":"A"} | call weather | result weather | m got | and now? | m says and now? | probe`,
		"compact": `sum says r: m got {"status": "pending"} | sum says more | call lrf | result lrf | m got | probe`,
		"confirm": `sum says | call pay | result pay | never mind | m says never mind | and more | m says and more | x | m says x | probe`,
		"orphan":  `call weather {"city":"K"} | still there? | m says still there? | bye | m says bye | probe`,
	} {
		var head model.Header
		for _, h := range storetest.Headers(t, s, "app/u/"+session) {
			if h.Head {
				head = h
			}
		}
		r, err := s.Features().ModelRequest(t.Context(), head.Ref())
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Messages []struct {
				Parts []struct {
					Text           string
					Call, Response *struct{ Name string }
				}
			}
		}
		text := strings.NewReplacer(`"function_call"`, `"call"`, `"function_response"`, `"response"`).Replace(string(r.Body))
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		list := strings.Split(want, " | ")
		if len(body.Messages) != len(list) {
			t.Errorf("%s: %d contents, want %q: %s", session, len(body.Messages), list, r.Body)
			continue
		}
		for i, m := range body.Messages {
			part, has := m.Parts[0], m.Parts[0].Text
			if part.Call != nil {
				has = "call " + part.Call.Name
			} else if part.Response != nil {
				has = "result " + part.Response.Name
			}
			if !strings.HasPrefix(has, list[i]) {
				t.Errorf("%s: content %d is %q, want %q", session, i, has, list[i])
			}
		}
	}
}
