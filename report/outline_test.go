package report

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// sessionOf returns a session of states, each the child of the one that parents names.
func sessionOf(t testing.TB, states []string, parents []int) Session {
	t.Helper()
	s := fake.New()
	rows := func(yield func(store.Row, error) bool) {
		for i, state := range states {
			h := model.Header{ID: fmt.Sprint("s", i), SessionID: "x", Index: i, Visit: int64(i + 1), Head: i == len(states)-1}
			if i > 0 {
				h.ParentID, h.ParentVisit = fmt.Sprint("s", parents[i]), int64(parents[i]+1)
			}
			if !yield(store.Row{Header: h, State: []byte(state)}, nil) {
				return
			}
		}
	}
	if _, err := s.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return Session{Store: s, Timeline: model.NewTimeline(storetest.Headers(t, s, "x")), ID: "x"}
}

// sections returns the sections of the snapshots, and how many bytes of their states were parsed.
// whole says that no state is read with an outline.
func sections(t testing.TB, s Session, whole bool) (text string, parsed int) {
	t.Helper()
	var out bytes.Buffer
	p := &page{Writer: bufio.NewWriter(&out), Session: s}
	for n := range model.Node(s.Timeline.Len()) {
		data, err := s.Store.State(context.Background(), s.Timeline.Header(n).Ref())
		before := p.last
		p.writeSnapshot(t.Context(), p.newState(t.Context(), n, data, err), false)
		if before != nil && before.view != nil {
			parsed += len(before.view.tape.Data())
		}
		if v := p.last.view; v != nil {
			parsed += len(v.tape.Data())
		}
		if whole {
			p.last.outline = nil
		}
	}
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String(), parsed
}

// shapes are messages by the framework that writes them: a text, a call and a result, with the
// number of the message.
var shapes = map[string]struct{ before, behind, text, call, result string }{
	"strands": {`{"messages":[`, `],"state":{"n":%d}}`, `{"role":"user","content":[{"text":"said %d"}]}`,
		`{"role":"assistant","content":[{"toolUse":{"toolUseId":"c%d","name":"look","input":{"at":1}}}]}`,
		`{"role":"user","content":[{"toolResult":{"toolUseId":"c%d","status":"success","content":[{"text":"seen"}]}}]}`},
	"openai": {`{"data":{"messages": [ `, ` ]},"n":%d}`, `{"role":"user","content":"said %d"}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c%d","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"c%d","content":"seen"}`},
	"genkit": {`{"n":%d,"messages":[`, `]}`, `{"role":"user","content":[{"text":"said %d"}]}`,
		`{"role":"model","content":[{"toolRequest":{"name":"look","ref":"c%d","input":1}}]}`,
		`{"role":"tool","content":[{"toolResponse":{"name":"look","ref":"c%d","output":2}}]}`},
	"no ids": {`{"messages":[`, `],"n":%d}`, `{"role":"user","content":[{"text":"said %d"}]}`,
		`{"role":"model","content":[{"toolRequest":{"name":"look","input":%d}}]}`,
		`{"role":"tool","content":[{"toolResponse":{"name":"look","output":%d}}]}`},
}

// stateOf returns a state of messages.
func stateOf(shape string, n int, messages []string) string {
	of := shapes[shape]
	number := func(text string) string { return strings.ReplaceAll(text, "%d", fmt.Sprint(n)) }
	return number(of.before) + strings.Join(messages, ",") + number(of.behind)
}

// A page is the same whether the states are read whole or from where they differ: with answers that come
// late, twice or to no call, windows that move, messages that are rewritten, and branches.
func TestWrite_asFromWholeStates(t *testing.T) {
	for shape, of := range shapes {
		t.Run(shape, func(t *testing.T) {
			saved := 0
			for seed := range uint64(60) {
				r := rand.New(rand.NewPCG(seed, 1))
				var states []string
				var parents []int
				lists := [][]string{}
				list, parent := []string{}, 0
				for i := range 40 {
					list = append([]string(nil), list...)
					switch k := r.IntN(20); {
					case k < 6: // of every second session one of three texts
						list = append(list, strings.ReplaceAll(of.text, "%d", fmt.Sprint(i%(40-37*int(seed%2)))))
					case k < 10:
						list = append(list, strings.ReplaceAll(of.call, "%d", fmt.Sprint(i)))
					case k < 15: // mostly the result of a call that is there
						list = append(list, strings.ReplaceAll(of.result, "%d", fmt.Sprint(i-1-r.IntN(3))))
					case k == 15 && len(list) > 2: // a window, and maybe what left it comes once more
						first := list[0]
						if list = list[1+r.IntN(2):]; r.IntN(2) == 0 {
							list = append(list, first)
						}
					case k == 16 && len(list) > 0: // another text in place of a message
						list[r.IntN(len(list))] = `{"role":"assistant","content":[{"text":"compacted"}]}`
					case k == 17 && len(list) > 0: // the end is taken away
						list = list[:r.IntN(len(list))]
					case k == 18 && i > 0: // a branch
						parent = r.IntN(i)
						list = append(append([]string(nil), lists[parent]...), strings.ReplaceAll(of.text, "%d", "again"))
					default:
						list = append(list, `null`, `{"role":"user","content":[{"text":"two at once"}]}`)
					}
					states, parents, lists = append(states, stateOf(shape, i*i, list)), append(parents, parent), append(lists, list)
					parent = i
				}
				s := sessionOf(t, states, parents)
				want, all := sections(t, s, true)
				got, parsed := sections(t, s, false)
				if got != want {
					at := 0
					for got[at] == want[at] {
						at++
					}
					t.Fatalf("seed %d: at byte %d\n%.300s\nand not\n%.300s", seed, at, got[max(0, at-100):], want[max(0, at-100):])
				}
				if parsed < all {
					saved++
				}
			}
			if saved == 0 {
				t.Error("no session was read from where its states differ")
			}
		})
	}
}

// A window that loses a message equal to its last one, or to the one that comes, is told as from whole
// states: which of two equal messages stayed is known from all of them.
func TestWrite_equalMessagesOfAWindow(t *testing.T) {
	message := func(text string) string { return `{"role":"user","content":[{"text":"` + text + `"}]}` }
	list := func(texts string) string {
		var messages []string
		for text := range strings.SplitSeq(texts, "") {
			messages = append(messages, message(text))
		}
		return stateOf("strands", 1, messages)
	}
	for _, c := range [][2]string{{"abcda", "bcda"}, {"abcda", "cda"}, {"abcda", "cdab"}, {"abcdef", "bcdefa"}, {"aabca", "bcaa"}} {
		s := sessionOf(t, []string{list(c[0]), list(c[1])}, []int{0, 0})
		want, _ := sections(t, s, true)
		if got, _ := sections(t, s, false); got != want {
			t.Errorf("%s to %s is\n%s, not\n%s", c[0], c[1], got, want)
		}
	}
}

// The page of each real store is the same whether its states are read whole or from where they differ.
func TestWrite_realStoresAsFromWholeStates(t *testing.T) {
	var paths []string
	for _, framework := range []string{"strands", "genkit", "langgraph", "agent-framework", "crewai", "adk", "openaiagents", "mastra", "llamaindex", "coding"} {
		list, err := filepath.Glob(filepath.Join("..", "testdata", framework, "*"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, list...)
	}
	stores, snapshots, saved := 0, 0, 0
	for _, path := range paths {
		s, err := kinds.All(nil, "").Open(t.Context(), path)
		if err != nil {
			continue // it is what a store was made by
		}
		stores++
		for _, info := range storetest.Sessions(t, s) {
			tl := model.NewTimeline(storetest.Headers(t, s, info.ID))
			snapshots += tl.Len()
			of := Session{Store: s, Timeline: tl, ID: info.ID}
			want, all := sections(t, of, true)
			got, parsed := sections(t, of, false)
			if parsed < all {
				saved++
			}
			a, b := strings.SplitAfter(got, "</section>"), strings.SplitAfter(want, "</section>")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("%s: session %q, snapshot %d of %d is\n%s\nand from whole states\n%s", path, info.ID, i, len(b), a[i], b[i])
					break
				}
			}
			if len(a) != len(b) {
				t.Errorf("%s: session %q has %d sections, and %d from whole states", path, info.ID, len(a), len(b))
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if stores < 40 || snapshots < 800 || saved < 40 {
		t.Errorf("%d stores with %d snapshots, %d sessions read from where their states differ", stores, snapshots, saved)
	}
}

// What is parsed for a page is in proportion to what is new: four times the messages take four times
// as much.
func TestWrite_parsesWhatIsNew(t *testing.T) {
	for shape, of := range shapes {
		parsed := func(n int) int {
			var states, list []string
			var parents []int
			for i := range n {
				list = append(list, strings.ReplaceAll([]string{of.text, of.call, of.result}[i%3], "%d", fmt.Sprint(100000+i/3)))
				states, parents = append(states, stateOf(shape, 10000+i, list)), append(parents, max(0, i-1))
			}
			_, bytes := sections(t, sessionOf(t, states, parents), false)
			return bytes
		}
		if few, many := parsed(100), parsed(400); many > 5*few {
			t.Errorf("%s: %d bytes for 100 messages, %d for 400", shape, few, many)
		}
	}
}

// Of a window that moves, what came and what is gone is parsed: the same of a window that is ten times
// as long.
func TestWrite_parsesWhatIsNewOfAWindow(t *testing.T) {
	const moves = 60
	for shape, of := range shapes {
		parsed := func(window int) int {
			var states, list []string
			var parents []int
			for i := range window/3 + moves {
				for _, message := range []string{of.text, of.call, of.result} {
					list = append(list, strings.ReplaceAll(message, "%d", fmt.Sprint(100000+i)))
				}
				list = list[max(0, len(list)-window):]
				if len(list) == window {
					parents = append(parents, max(0, len(states)-1))
					states = append(states, stateOf(shape, 10000+i, list))
				}
			}
			_, all := sections(t, sessionOf(t, states, parents), false)
			return all - len(states[0]) // the first one is parsed whole, once
		}
		if few, many := parsed(30), parsed(300); many > 2*few {
			t.Errorf("%s: %d bytes for windows of 30 messages, %d for 300", shape, few, many)
		}
	}
}
