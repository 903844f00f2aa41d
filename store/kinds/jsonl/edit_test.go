package jsonl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/storetest/skip"
)

// rowsOf returns a row for each state, one behind the other.
func rowsOf(states ...string) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for i, state := range states {
			h := model.Header{ID: fmt.Sprint("v", i), SessionID: "s", Index: i}
			if i > 0 {
				h.ParentID = fmt.Sprint("v", i-1)
			}
			if !yield(store.Row{Header: h, State: []byte(state)}, nil) {
				return
			}
		}
	}
}

// written returns the file of the states, and fails unless each is read out of it as it was.
func written(t interface {
	Fatalf(string, ...any)
	Helper()
}, open func(string) *jsonl.Store, states ...string) string {
	t.Helper()
	var file bytes.Buffer
	if _, err := jsonl.Write(&file, rowsOf(states...)); err != nil {
		t.Fatalf("%v", err)
	}
	i := 0
	for row, err := range jsonl.Read(bytes.NewReader(file.Bytes())) {
		if err != nil || string(row.State) != states[i] {
			t.Fatalf("state %d is read as %q, %v, and was %q in\n%s", i, row.State, err, states[i], &file)
		}
		i++
	}
	if i != len(states) {
		t.Fatalf("%d of %d rows are read", i, len(states))
	}
	s := open(file.String())
	for step := range 2 * len(states) {
		i := step
		if step >= len(states) { // and once more from behind
			i = 2*len(states) - 1 - step
		}
		state, err := s.State(context.Background(), model.Ref{Session: "s", ID: fmt.Sprint("v", i)})
		if err != nil || string(state) != states[i] {
			t.Fatalf("state %d is %q, %v, and was %q in\n%s", i, state, err, states[i], &file)
		}
	}
	return file.String()
}

// A state takes the room of what it adds to the one before, wherever it adds it.
func TestWrite_takesTheRoomOfWhatIsNew(t *testing.T) {
	skip.Sequential(t)
	message := func(i int) string {
		return fmt.Sprintf(`{"role":"user","content":[{"text":"message %d: été, \"quoted\" and \\n — %s"}]}`, i, strings.Repeat("x", i%97))
	}
	const n = 400
	shapes := map[string]func(i int) string{
		"grows at the end":          func(i int) string { return list(message, 0, i) + "}" },
		"grows before the last key": func(i int) string { return list(message, 0, i) + `,"turn":"the last"}` },
		"counts before the messages": func(i int) string {
			return fmt.Sprintf(`{"count":%d,"phase":"%s",`, i, strings.Repeat("a", i%13)) + list(message, 0, i)[1:] + "}"
		},
		"counts on both sides": func(i int) string {
			return fmt.Sprintf(`{"count":%d,`, i) + list(message, 0, i)[1:] + fmt.Sprintf(`,"usage":{"in":%d}}`, i*31)
		},
		"a window": func(i int) string { return list(message, max(0, i-40), i) + "}" },
		"with line ends": func(i int) string {
			return strings.ReplaceAll(list(message, 0, i), `{"role"`, "\n  {\"role\"") + "\n}"
		},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			var states []string
			source, whole := 0, 0
			for i := range n {
				states = append(states, shape(i))
				source += len(message(i)) + 200 // and its header
				whole += len(states[i])
			}
			file := written(t, func(text string) *jsonl.Store { return open(t, text) }, states...)
			if len(file) > 2*source || len(file) > whole/4 {
				t.Errorf("it takes %d bytes, and %d with whole states; messages and headers have %d", len(file), whole, source)
			}
		})
	}
}

func list(message func(int) string, from, to int) string {
	var b strings.Builder
	b.WriteString(`{"messages":[`)
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteByte(',')
		}
		b.WriteString(message(i))
	}
	return b.String() + "]"
}

// Whatever follows whatever, each state is read as it was.
func TestWrite_keepsStates(t *testing.T) {
	skip.Sequential(t)
	word := rapid.StringOf(rapid.SampledFrom([]rune("ab\"\\\n<é漢😀")))
	rapid.Check(t, func(r *rapid.T) {
		var states []string
		values := []string{word.Draw(r, "value")}
		for range rapid.IntRange(1, 12).Draw(r, "states") {
			at := rapid.IntRange(0, len(values)).Draw(r, "at")
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				values = append(values[:at:at], values[min(len(values), at+1):]...)
			case 1:
				values = append(values[:at:at], append([]string{strings.Repeat(word.Draw(r, "long"), 40)}, values[at:]...)...)
			default:
				values = append(values[:at:at], append([]string{word.Draw(r, "value")}, values[at:]...)...)
			}
			state, err := json.MarshalIndent(values, "", rapid.SampledFrom([]string{"", " "}).Draw(r, "indent"))
			if err != nil {
				r.Fatal(err)
			}
			states = append(states, string(state))
		}
		written(r, func(text string) *jsonl.Store {
			s, err := jsonl.From(context.Background(), "rows", strings.NewReader(text))
			if err != nil {
				r.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		}, states...)
	})
}

// Edits of a state that is not there, or that would make more than was written, are refused.
func TestRead_editsThatDoNotFit(t *testing.T) {
	first := `{"id":"a","sessionId":"s","index":0,"event":0,"state":"` + strings.Repeat("x", 50) + `"}` + "\n"
	for name, line := range map[string]string{
		"no such base":      `"stateFrom":"b","stateEdits":[[0,52]]`,
		"its own base":      `"stateFrom":"c","stateEdits":[[0,52]]`,
		"behind the end":    `"stateFrom":"a","stateEdits":[[0,53]]`,
		"twice the base":    `"stateFrom":"a","stateEdits":["[",[0,52],",",[0,52],"]"]`,
		"backwards":         `"stateFrom":"a","stateEdits":[[9,2]]`,
		"below zero":        `"stateFrom":"a","stateEdits":[[-1,2]]`,
		"three numbers":     `"stateFrom":"a","stateEdits":[[0,1,2]]`,
		"no JSON":           `"stateFrom":"a","stateEdits":[[0,10]]`,
		"a base alone":      `"stateFrom":"a","state":1`,
		"no parent":         `"stateEdits":[[0,52]]`,
		"edits twice":       `"stateFrom":"a","stateEdits":[[0,52]],"stateEdits":[[0,52]]`,
		"edits and a state": `"stateFrom":"a","stateEdits":[[0,52]],"state":1`,
		"another session":   `"stateFrom":"a","stateEdits":[[0,52]]`,
	} {
		t.Run(name, func(t *testing.T) {
			session := "s"
			if name == "another session" {
				session = "other"
			}
			text := first + `{"id":"c","sessionId":"` + session + `","index":1,"event":0,` + line + "}\n"
			n := 0
			var failed error
			for _, err := range jsonl.Read(strings.NewReader(text)) {
				if failed = err; err == nil {
					n++
				}
			}
			if n != 1 || failed == nil {
				t.Errorf("read: %d rows, %v", n, failed)
			}
			s := open(t, text)
			if _, err := s.State(t.Context(), model.Ref{Session: session, ID: "c"}); err == nil {
				t.Error("it has a state")
			}
			if state, err := s.State(t.Context(), model.Ref{Session: "s", ID: "a"}); err != nil || len(state) != 52 {
				t.Errorf("the state before it: %q, %v", state, err)
			}
		})
	}
}
