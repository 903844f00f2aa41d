package kinds_test

import (
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// textsSent returns the strings and the keys in the blocks of a request.
func textsSent(sent *query.Sent) map[string]bool {
	texts, t := map[string]bool{}, sent.Tape
	take := func(n jsontape.Node) {
		for at := n; n >= 0 && at < t.End(n); at++ {
			if t.Kind(at) == jsontape.String {
				texts[t.Text(at)] = true
			}
			if key := t.Key(at); at > n && key != "" {
				texts[key] = true
			}
		}
	}
	take(t.Find(0, "system"))
	take(t.Find(0, "tools"))
	for m := range sent.Messages() {
		n := sent.Conversation.Message(m).Node
		if content := t.Find(n, "content"); content >= 0 && t.Find(n, "role") >= 0 {
			n = content
		}
		take(n)
	}
	return texts
}

// The texts that are found in the requests of a session are those of the requests, one by one.
func TestGrepSent_findsTheTextsOfEachRequest(t *testing.T) {
	skip.Sequential(t)
	requests := 0
	for _, path := range []string{
		"coding/claude-code", "coding/codex", "coding/copilot-cli", "coding/crush/crush.db", "coding/gemini-cli", "coding/opencode/opencode.db", "coding/openhands", "coding/pi", "coding/qwen", "coding/kimi",
		"files/claude-code", "strands/python-file", "strands/python-snapshot", "langgraph/agent.db", "adk/sqlite_service.db", "openaiagents/advanced.db", "genkit/go-1.13.1",
	} {
		s := openData(t, path)
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			line := model.NewTimeline(storetest.Headers(t, s, info.ID))
			first, counts, bodies := map[string]model.Node{}, map[string]int{}, map[model.Node]string{}
			for n := range model.Node(line.Len()) {
				around := query.AroundOf(line, n)
				sent, err := query.RequestAt(t.Context(), s, around)
				if err != nil || sent.AnsweredAt != around.Neighbour {
					continue
				}
				bodies[n] = string(sent.Body)
				if parent := line.Parent(n); parent != model.NoNode && bodies[parent] == bodies[n] {
					continue // a snapshot without a message of its own
				}
				requests++
				for text := range textsSent(sent) {
					if counts[text]++; counts[text] == 1 {
						first[text] = n
					}
				}
			}
			any, err := query.Regexp("(?s)^.*$", query.MatchCase)
			if err != nil {
				t.Fatal(err)
			}
			hits, err := query.Open(s, line).GrepSent(t.Context(), query.SentSearch{Pattern: any})
			if err != nil {
				t.Fatalf("%s %s: %v", path, info.ID, err)
			}
			found := map[string]bool{}
			for _, hit := range hits {
				want := counts[hit.Text]
				if want == 0 {
					continue // a number
				}
				found[hit.Text] = true
				got := 0
				for _, r := range hit.Ranges {
					got += r.Requests
				}
				if got != want || hit.Ranges[0].From != first[hit.Text] {
					t.Errorf("%s %s: %.60q stands in %d requests from %s on, not in %d from %s on", path, info.ID, hit.Text, got, line.Name(hit.Ranges[0].From), want, line.Name(first[hit.Text]))
				}
			}
			for text := range counts {
				if !found[text] {
					t.Errorf("%s %s: %.60q is not found", path, info.ID, text)
				}
			}
		}
	}
	if requests < 100 {
		t.Errorf("%d requests were looked at", requests)
	}
}
