package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// redactedAll returns states without their secrets. Where anew is set nothing is remembered from one state
// to the next.
func redactedAll(t *testing.T, states []string, anew bool) (all []string, r *Redactor) {
	t.Helper()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	each := func(do func(state []byte) error) {
		for _, state := range states {
			if anew {
				r.forget()
			}
			if err := do([]byte(state)); err != nil {
				t.Fatal(err)
			}
		}
	}
	each(r.Learn)
	if err := r.FinishLearning(); err != nil {
		t.Fatal(err)
	}
	each(func(state []byte) error {
		out, err := r.State(state)
		all = append(all, string(out))
		return err
	})
	return all, r
}

// What is hidden does not depend on what is remembered of elements, whatever their names are: the same
// element stands under the name of a secret, and beside one.
func TestRedactor_remembersNoSecret(t *testing.T) {
	elements := []string{
		`{"role":"user","content":[{"text":"show me how the words of the tool are counted, please"}]}`,
		`{"note":"correct-horse-battery-staple is what the cat types when it walks here"}`,
		`{"note":"the phrase is a7Fq-29xLmP0-zQe81 and nobody else may have it, it is said"}`,
		`{"password":"a7Fq-29xLmP0-zQe81","user":"bob","comment":"the one of the database of the shop"}`,
		`{"text":"use ghp_0123456789abcdefghijABCDEFGHIJ012345 for it","more":"and nothing else"}`,
		`{"n":73519462,"text":"a number that is a secret where it stands under the name of one"}`,
	}
	places := []string{`{"messages":[%s]}`, `{"secrets":[%s]}`, `{"a":[{"b":[%s]}]}`, `{"auth":{"value":[%s],"name":"token"}}`, `{"token":73519462,"list":[%s]}`, `[[%s]]`}
	hides := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		var states []string
		for range 6 {
			var list []string
			for range 1 + random.IntN(6) {
				list = append(list, elements[random.IntN(len(elements))])
			}
			states = append(states, fmt.Sprintf(places[random.IntN(len(places))], strings.Join(list, ",")))
		}
		want, _ := redactedAll(t, states, true)
		got, r := redactedAll(t, states, false)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("seed %d: of %s\n%s\nand not\n%s", seed, states[i], got[i], want[i])
			}
		}
		hides += len(r.Findings())
	}
	if hides == 0 {
		t.Error("nothing was hidden")
	}
}

// In the messages that a state has from the one before nothing is looked for again: four times the
// messages take four times as much.
func TestRedactor_looksAtWhatIsNew(t *testing.T) {
	looked := func(n int) int {
		var states, list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"role":"user","content":[{"text":"question %d is about what we said before it"}]}`, 10000+i))
			states = append(states, `{"messages":[`+strings.Join(list, ",")+`]}`)
		}
		_, r := redactedAll(t, states, false)
		return r.looked
	}
	if few, many := looked(50), looked(200); few == 0 || many != 4*few {
		t.Errorf("%d bytes of 50 messages, %d of 200", few, many)
	}
}
