package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// slides returns a state of n messages, of which the first is that of a turn.
func slides(turn, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"role":"user","content":[{"text":"message %d, as long as messages are, or nearly so"}]}`, turn+i))
	}
	return fmt.Sprintf(`{"turn":%d,"messages":[%s],"plan":{"steps":[%d,%s]}}`, turn, strings.Join(list, ",\n  "), turn, strings.Repeat("1234567,", 200)+"1")
}

// However a state is cut, it is its pieces; whatever stood before it, and be it no JSON.
func TestCutter_losesNothing(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newCutter(nil)
		var text pages
		var states []string
		var ropes [][]piece
		for turn := range 12 {
			state := slides(turn+r.IntN(3), 1+r.IntN(30))
			switch r.IntN(4) {
			case 0: // some bytes are gone
				from := r.IntN(len(state))
				state = state[:from] + state[min(len(state), from+1+r.IntN(40)):]
			case 1: // a byte is another one
				at := r.IntN(len(state))
				state = state[:at] + string(`{}[]",: 7\`[r.IntN(10)]) + state[at+1:]
			}
			var pieces []piece
			text, pieces = c.cut([]byte(state), text)
			states, ropes = append(states, state), append(ropes, pieces)
		}
		for i, state := range states {
			if got := join(text, ropes[i]); !bytes.Equal(got, []byte(state)) {
				t.Fatalf("seed %d, state %d: %q became %q", seed, i, state, got)
			}
		}
	}
}

// Of a window that moves, what was in it before is neither hashed nor kept again.
func TestCutter_hashesWhatIsNew(t *testing.T) {
	c := newCutter(nil)
	const turns, messages = 100, 400
	text, _ := c.cut([]byte(slides(0, messages)), pages{})
	first, all := c.hashed, int64(0)
	if size := len(slides(0, messages)); first > int64(size) {
		t.Fatalf("of %d bytes %d were hashed", size, first)
	}
	c.hashed = 0
	for turn := range turns {
		state := slides(turn+1, messages)
		all += int64(len(state))
		text, _ = c.cut([]byte(state), text)
	}
	// A turn has one new message, one that follows the head, and what is around them.
	if c.hashed > all/10 {
		t.Errorf("of %d bytes %d were hashed", all, c.hashed)
	}
	if int(text.held) > 3*len(slides(0, messages)) {
		t.Errorf("the text of %d bytes in %d states has %d", all, turns, int(text.held))
	}
}
