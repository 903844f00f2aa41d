// Package jsontest makes states as agents write them, of any size and always
// the same for the same arguments, and the changes that states go through. It
// is for tests and benchmarks.
package jsontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// State is the state of one agent: a conversation of messages of about 1 kB
// each, and what else an agent keeps. Its JSON has about 46 bytes for each
// value.
type State struct {
	// Messages are the messages, each as compact JSON.
	Messages [][]byte

	turn   int
	random *rand.Rand
	made   int
}

// New returns a state whose JSON has about size bytes. Another seed makes a state
// that has nothing in common with it but its shape.
func New(size int, seed uint64) *State {
	s := &State{random: rand.New(rand.NewPCG(seed, 46))}
	for have := 0; have < size; {
		m := s.message()
		have += len(m) + 1
		s.Messages = append(s.Messages, m)
	}
	return s
}

// Clone returns a copy to change; both go on to make different messages.
func (s *State) Clone() *State {
	return &State{
		Messages: slices.Clone(s.Messages),
		turn:     s.turn,
		random:   rand.New(rand.NewPCG(uint64(len(s.Messages)), 47)),
		made:     1_000_000,
	}
}

// JSON returns the state as compact JSON.
func (s *State) JSON() []byte {
	var b bytes.Buffer
	b.WriteString(`{"session":{"id":"trip-planner","turn":`)
	b.WriteString(strconv.Itoa(s.turn))
	b.WriteString(`,"user":{"name":"Ada","locale":"fr-FR"}},"messages":[`)
	for i, m := range s.Messages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m)
	}
	fmt.Fprintf(&b, `],"cart":{"total":140.5,"currency":"EUR","items":[{"sku":"TGV-6607","qty":2},{"sku":"HTL-44","qty":1}]},"cycles":%d}`, 3*s.turn)
	return b.Bytes()
}

// Append adds one message at the end.
func (s *State) Append() *State {
	s.Messages = append(s.Messages, s.message())
	return s
}

// Step does what a turn of an agent does: it appends a message, and counters
// before and behind the messages go up.
func (s *State) Step() *State {
	s.turn++
	return s.Append()
}

// DropFirst removes the first message, as a sliding window does.
func (s *State) DropFirst() *State {
	s.Messages = s.Messages[1:]
	return s
}

// Edit changes the text of n messages spread over the state, one word each.
func (s *State) Edit(n int) *State {
	for i := range n {
		at := (2*i + 1) * len(s.Messages) / (2 * n)
		for !bytes.Contains(s.Messages[at], []byte(`"text":"`)) {
			at++ // a tool's result
		}
		s.Messages[at] = bytes.Replace(s.Messages[at], []byte(`"text":"`), []byte(`"text":"Edited. `), 1)
	}
	return s
}

// Mix changes n places: of five, two are texts edited, one is a message
// inserted, one a message removed and one a number changed.
func (s *State) Mix(n int) *State {
	for i := range n {
		at := s.random.IntN(len(s.Messages))
		switch i % 5 {
		case 0, 1:
			s.Messages[at] = bytes.Replace(s.Messages[at], []byte(`"text":"`), []byte(`"text":"Edited `+strconv.Itoa(i)+`. `), 1)
		case 2:
			s.Messages = slices.Insert(s.Messages, at, s.message())
		case 3:
			s.Messages = slices.Delete(s.Messages, at, at+1)
		case 4:
			s.Messages[at] = bytes.Replace(s.Messages[at], []byte(`"latencyMs":`), []byte(`"latencyMs":9`), 1)
		}
	}
	return s
}

// IndentedJSON returns the state with line breaks and indentation.
func (s *State) IndentedJSON() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, s.JSON(), "", "  "); err != nil {
		panic("jsontest: a state is not JSON: " + err.Error())
	}
	return b.Bytes()
}

// ReorderedJSON returns the state with the keys of all objects in another order.
func (s *State) ReorderedJSON() []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(s.JSON()))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic("jsontest: a state is not JSON: " + err.Error())
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic("jsontest: a state cannot be written: " + err.Error())
	}
	return out
}

// Pair is a state and a later one.
type Pair struct {
	// Name names the change from Old to New.
	Name     string
	Old, New []byte
}

// Pairs returns states of about size bytes and what may become of them.
func Pairs(size int) []Pair {
	s := New(size, 1)
	old := s.JSON()
	return []Pair{
		{"append", old, s.Clone().Append().JSON()},
		{"step", old, s.Clone().Step().JSON()},
		{"10edits", old, s.Clone().Edit(10).JSON()},
		{"mixed", old, s.Clone().Mix(len(s.Messages) / 100).JSON()},
		{"slid", old, s.Clone().DropFirst().Append().JSON()},
		{"reformatted", old, s.IndentedJSON()},
		{"reordered", old, s.ReorderedJSON()},
		{"unrelated", old, New(size, 2).JSON()},
	}
}

var words = []string{
	"train", "Lyon", "hotel", "the", "booked", "a", "is", "at", "09:40", "seat", "window", "please", "confirm", "total",
	"for", "two", "travellers", "café", "near", "station", "options", "I", "found", "three", "departures", "earlier",
	"refund", "policy", "until", "Friday", "arrives", "platform", "with", "breakfast", "cheaper", "—", "and", "or",
}

// text returns about n bytes of prose with a line break and a quotation here and
// there.
func (s *State) text(n int) string {
	var b []byte
	for len(b) < n {
		switch s.random.IntN(24) {
		case 0:
			b = append(b, `.\n`...)
		case 1:
			b = append(b, ` \"`...)
			b = append(b, words[s.random.IntN(len(words))]...)
			b = append(b, `\"`...)
		default:
			b = append(b, ' ')
			b = append(b, words[s.random.IntN(len(words))]...)
		}
	}
	return string(b[1:])
}

func (s *State) id() string { return fmt.Sprintf("tooluse_%016x", s.random.Uint64()) }

func (s *State) message() []byte {
	i := s.made
	s.made++
	var b bytes.Buffer
	r := s.random
	switch i % 4 {
	case 0:
		fmt.Fprintf(&b, `{"role":"user","content":[{"text":"%s"}],"metadata":{"index":%d,"createdAt":"2026-02-%02dT%02d:%02d:%02d.%06dZ"}}`,
			s.text(150+r.IntN(500)), i, 1+i/2000%28, i/60/60%24, i/60%60, i%60, r.IntN(1e6))
	case 1:
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"text":"%s"}`, s.text(100+r.IntN(300)))
		for range 1 + r.IntN(2) {
			fmt.Fprintf(&b, `,{"toolUse":{"toolUseId":"%s","name":"search_trains","input":{"from":"Paris","to":"Lyon","date":"2026-03-%02d","passengers":%d,"maxPrice":%d.%d,"flexible":%t,"via":null}}}`,
				s.id(), 1+r.IntN(28), 1+r.IntN(4), 20+r.IntN(200), r.IntN(10), r.IntN(2) == 0)
		}
		fmt.Fprintf(&b, `],"metadata":{"usage":{"inputTokens":%d,"outputTokens":%d},"metrics":{"latencyMs":%d}}}`, r.IntN(9000), r.IntN(900), r.IntN(9000))
	case 2:
		fmt.Fprintf(&b, `{"role":"user","content":[{"toolResult":{"toolUseId":"%s","status":"success","content":[{"json":{"departures":[`, s.id())
		for j := range 1 + r.IntN(4) {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"train":"TGV %d","departs":"%02d:%02d","arrives":"%02d:%02d","price":%d.%d,"seats":%d,"direct":%t,"note":"%s"}`,
				6000+r.IntN(999), r.IntN(24), r.IntN(60), r.IntN(24), r.IntN(60), 20+r.IntN(200), r.IntN(10), r.IntN(300), r.IntN(2) == 0, s.text(20+r.IntN(160)))
		}
		b.WriteString(`]}}]}}]}`)
	case 3:
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"text":"%s"}],"metadata":{"usage":{"inputTokens":%d,"outputTokens":%d},"metrics":{"latencyMs":%d}}}`,
			s.text(500+r.IntN(1900)), r.IntN(9000), r.IntN(900), r.IntN(9000))
	}
	return b.Bytes()
}
