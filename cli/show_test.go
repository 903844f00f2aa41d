package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// telling is a store that knows more about its snapshots than their headers say,
// and whose ids are no hashes of states.
type telling struct{ store.Store }

func (s telling) Features() store.Features {
	return store.Features{DerivedIDs: s.DerivedIDs, Gaps: s.Gaps, Facts: s.Facts}
}

func (telling) DerivedIDs() string { return "made up" }

func (telling) Gaps(context.Context, model.Ref) (model.Gaps, error) { return model.Gaps{}, nil }

func (telling) Facts(_ context.Context, ref model.Ref) ([]model.Fact, error) {
	if ref.ID == "d" {
		return nil, nil
	}
	return []model.Fact{
		{Label: "finish reason", Value: "stop"},
		{Label: "file", Value: "a/" + ref.ID + "\x1b[2J.json"},
		model.TokensFact("tokens", "tokens", []model.Number{{Key: "input", Value: 43}, {Key: "cacheRead", Value: 0}}),
		model.MillisecondsFact("model took", "latencyMs", 12.5),
		model.TokensFact("tokens", "tokens", []model.Number{{Key: "input", Value: 2}}),
	}, nil
}

// turns is a session in which two turns have steps.
func turns() iter.Seq2[store.Row, error] {
	var rows []store.Row
	add := func(id, parent string, follows int64, index, turn int, event model.SnapshotEvent, title string, marks model.Marks) {
		visit := int64(len(rows) + 1)
		rows = append(rows, store.Row{
			Header: model.Header{
				ID: id, ParentID: parent, SessionID: "s", Visit: visit, ParentVisit: follows, Index: index, TurnIndex: turn, Event: event,
				CreatedAt: time.Date(2026, 11, 21, 12, 0, int(visit), 0, time.UTC), Title: title, Marks: marks, Orphaned: visit > 1 && visit < 5,
			},
			State: fmt.Appendf(nil, `{"id":%q}`, id),
		})
	}
	const end, step = model.SnapshotEventTurnEnd, model.SnapshotEventToolIterationEnd
	add("a", "", 0, 0, 0, end, "", 0)
	add("s1", "a", 1, 1, 1, step, "tool look → ok", model.MarkTraced)
	add("s2", "s1", 2, 1, 1, step, "tool book → error", model.MarkTraced|model.MarkError)
	add("b", "a", 3, 1, 1, end, "", model.MarkError)
	add("c", "a", 1, 2, 1, end, "", 0)
	add("s3", "c", 5, 3, 2, step, "tool pay → ok", model.MarkTraced)
	add("d", "c", 6, 3, model.TurnUnknown, end, "", 0)
	return sequenceOf(rows)
}

func TestLog_drawsTheStepsOfATurn(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	c := start(t, turns())
	for _, test := range []struct{ args, want string }{
		{"log mem: s", `
s  4 snapshots, 1 off the path, head #3
○      #0  turn 0  turn end        a         2026-11-21 12:00:01
├─╮
│ ·  #1:1  turn 1  tool iteration  s1        2026-11-21 12:00:02  tool look → ok
│ ·  #1:2  turn 1  tool iteration  s2        2026-11-21 12:00:03  [error] tool book → error
│ ◌    #1  turn 1  turn end        b         2026-11-21 12:00:04  [error]
○      #2  turn 1  turn end        c         2026-11-21 12:00:05
·    #3:1  turn 2  tool iteration  s3        2026-11-21 12:00:06  tool pay → ok
◉      #3  turn …  turn end        d         2026-11-21 12:00:07
◌ #1: left by a restore to #0
`},
		{"log mem: s -n 1", `
s  4 snapshots, 1 off the path, head #3
3 snapshots above are left out
·    #3:1  turn 2  tool iteration  s3        2026-11-21 12:00:06  tool pay → ok
◉      #3  turn …  turn end        d         2026-11-21 12:00:07
`},
	} {
		code, out, err := c.run(t, strings.Fields(test.args)...)
		if code != 0 || out != strings.TrimPrefix(test.want, "\n") {
			t.Errorf("%s: exit %d, %s\n%s\nnot\n%s", test.args, code, err, out, test.want)
		}
	}
	_, out, _ := c.run(t, "log", "mem:", "s", "--json")
	var headers []struct {
		Name      string
		TurnIndex *int
		Event     string
		Orphaned  *bool
		Marks     []string
	}
	if err := json.Unmarshal([]byte(out), &headers); err != nil || len(headers) != 7 {
		t.Fatalf("%v: %s", err, out)
	}
	if step := headers[2]; !slices.Equal(step.Marks, []string{"error", "step"}) || step.Event != "toolIterationEnd" || !*step.Orphaned {
		t.Errorf("the step is %+v", step)
	}
	if head := headers[6]; head.TurnIndex != nil || head.Event != "turnEnd" || *head.Orphaned || head.Name != "#3" {
		t.Errorf("the head is %+v", head)
	}
}

func TestShow_tellsWhatTheStoreKnows(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	c := start(t, turns())
	c.store = telling{c.store}
	code, out, err := c.run(t, "show", "mem:", "s", "s3")
	want := `id            s3
parent        c
session       s
index         #3, turn 2
event         tool iteration
created       2026-11-21 12:00:06
path          active
step          put together from a trace: the store has no such snapshot
title         tool pay → ok
size          11 B
hash          not of the state: made up
finish reason stop
file          a/s3^[[2J.json
tokens        43 in, 0 from the cache
model took    12.5 ms
tokens        2 in

{
  "id": "s3"
}
`
	if code != 0 || out != want {
		t.Errorf("exit %d, %s\n%s\nnot\n%s", code, err, out, want)
	}
	_, out, _ = c.run(t, "show", "mem:", "s", "#3")
	if !strings.Contains(out, "index     #3, turn …\n") {
		t.Errorf("an uncounted turn:\n%s", out)
	}
	_, out, _ = c.run(t, "show", "mem:", "s", "s3", "--json")
	var document struct {
		ID    string
		Marks []string
		Facts []struct{ Label, Value string }
		State json.RawMessage

		TurnIndex *int
		Event     string
		Orphaned  bool
		LatencyMs float64
		Tokens    map[string]float64
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatal(err)
	}
	if document.ID != "s3" || len(document.Facts) != 5 || document.Facts[0].Label != "finish reason" || document.Facts[2].Value != "43 in, 0 from the cache" ||
		*document.TurnIndex != 2 || document.Event != "toolIterationEnd" || document.Orphaned ||
		document.LatencyMs != 12.5 || !maps.Equal(document.Tokens, map[string]float64{"input": 45, "cacheRead": 0}) ||
		string(document.State) != `{"id":"s3"}` || len(document.Marks) != 1 || document.Marks[0] != "step" {
		t.Errorf("%+v", document)
	}
	if _, out, _ = c.run(t, "show", "mem:", "s", "head", "--json"); strings.Contains(out, "facts") {
		t.Errorf("no facts: %s", out)
	}
}

// The white space in front of what is nested deep does not grow with the square of
// its depth, and no value is lost.
func TestShow_indentationIsBounded(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "}"
	c := start(t, sequenceOf([]store.Row{{Header: model.Header{ID: "a", SessionID: "s", Visit: 1}, State: []byte(deep)}}))
	code, out, err := c.run(t, "show", "mem:", "s", "head")
	if code != 0 || len(out) > 200*len(deep) {
		t.Fatalf("exit %d, %d bytes for a state of %d: %.200s", code, len(out), len(deep), err)
	}
	if _, state, _ := strings.Cut(out, "\n\n"); strings.Join(strings.Fields(state), "") != deep {
		t.Errorf("the state is not the same without its white space: %.200s", state)
	}
}
