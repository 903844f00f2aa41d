package conversation

import (
	"encoding/json"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Written gathers the messages among the values that a step wrote. The zero value has
// none. A nil one can be read.
type Written struct{ list []byte }

// Add adds a JSON value if it is a message, or a list of messages.
func (w *Written) Add(value []byte) {
	if len(value) > 0 && value[0] == '{' {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	tape, err := jsontape.Parse(value)
	if err != nil || tape.Kind(0) != jsontape.Array {
		return
	}
	if first := tape.First(0); first < 0 || !isMessageList(tape, 0, false) {
		return
	}
	for m := range jsontape.Members(value) {
		w.list = append(append(w.list, ','), m.Value...)
	}
}

// each yields the messages, each as a list of one.
func (w *Written) each(yield func(list []byte) bool) {
	if w == nil || len(w.list) == 0 {
		return
	}
	for m := range jsontape.Members(slices.Concat([]byte("["), w.list[1:], []byte("]"))) {
		if !yield(slices.Concat([]byte("["), m.Value, []byte("]"))) {
			return
		}
	}
}

// Title returns what the messages say, on one line, and reports whether a tool failed.
// The line is untrusted.
func (w *Written) Title() (title string, failed bool) {
	var titles []string
	for list := range w.each {
		said, bad := Title(list, LastMessage)
		failed = failed || bad
		if said != "" {
			titles = append(titles, said)
		}
	}
	return List(titles, strings.Clone), failed
}

// Opening returns the first words of the user among the messages, "" for none.
func (w *Written) Opening() string {
	for list := range w.each {
		if words := Opening(list); words != "" {
			return words
		}
	}
	return ""
}

// Tokens returns what the messages cost together, for [model.TokensFact]: by the
// usage_metadata of LangChain's. It is nil where none of them says.
func (w *Written) Tokens() (counts []model.Number) {
	for list := range w.each {
		for m := range jsontape.Members(list) {
			message := m.Value
			if inner := jsontape.FindMember(message, `"kwargs"`); inner != nil {
				message = inner
			}
			var usage struct {
				Input   float64 `json:"input_tokens"`
				Output  float64 `json:"output_tokens"`
				Total   float64 `json:"total_tokens"`
				Details struct {
					Read  float64 `json:"cache_read"`
					Write float64 `json:"cache_creation"`
				} `json:"input_token_details"`
			}
			if json.Unmarshal(jsontape.FindMember(message, `"usage_metadata"`), &usage) != nil || usage.Total == 0 {
				continue
			}
			for _, n := range []model.Number{
				{Key: "input", Value: usage.Input}, {Key: "output", Value: usage.Output}, {Key: "total", Value: usage.Total},
				{Key: "cacheRead", Value: usage.Details.Read}, {Key: "cacheWrite", Value: usage.Details.Write},
			} {
				counts = count(counts, n)
			}
		}
	}
	return counts
}

// count adds a number to the one of its key. One of 0 is not told.
func count(counts []model.Number, n model.Number) []model.Number {
	i := slices.IndexFunc(counts, func(known model.Number) bool { return known.Key == n.Key })
	switch {
	case n.Value == 0:
	case i < 0:
		return append(counts, n)
	default:
		counts[i].Value += n.Value
	}
	return counts
}
