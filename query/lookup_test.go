package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/store/storetest/skip"
)

// shuffled returns a text in which some states lie in pieces, each cut at random: bytes
// that an earlier state has are there once, if chance has it.
func shuffled(r *rand.Rand, states ...string) (text []byte, ropes [][]piece) {
	for _, state := range states {
		var rope []piece
		most := 1 + r.IntN(40)
		for state != "" {
			n := min(1+r.IntN(most), len(state))
			at := -1
			for range 4 {
				if from := r.IntN(len(text) + 1); at < 0 && from+n <= len(text) && string(text[from:from+n]) == state[:n] {
					at = from
				}
			}
			if at < 0 {
				at = len(text)
				text = append(text, state[:n]...)
			}
			rope = appendPiece(rope, piece{uint32(at), uint32(n)})
			state = state[n:]
		}
		ropes = append(ropes, rope)
	}
	return text, ropes
}

// What is looked up in pieces is what stands in the whole state, in whatever order states
// are asked, and a state that is JSON is never put together for it.
func TestFind_isWhatStandsInTheState(t *testing.T) {
	skip.Sequential(t)
	states := []string{
		`{"session":{"turn":1},"messages":[{"a":1},{"a":2},3,4,55,"x",[1,2],{"b":[{}]}],"plan":{"status":"do\"ne","k":[]},"n":12}`,
		"\ufeff {\"messages\" : [ 1 , 2,\n{\"a\": [3,4 ] } ] , \"messages\": [{\"a\":\"\\\\\"}, 7 ], \"n\":-1.5e3 } ",
		`{"messages":[[[[[1,[2]],3]],4],"s"],"\u006e":{"a":{"a":{"a":1}}}}`,
		`[1,2,{"a":3},[4]]`, `"text"`, `12`, `{}`, `[]`, `{"messages":[]}`,
	}
	for range 40 {
		list := `{"messages":[`
		for i := range 60 {
			list += fmt.Sprintf(`{"a":%d,"text":"number %d"},`, i, i)
		}
		states = append(states, list+`7],"n":`+fmt.Sprint(len(states))+`}`)
	}
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		text, ropes := shuffled(r, states...)
		var p places
		p.forget()
		for _, i := range r.Perm(len(states)) {
			for _, pointer := range []string{"", "/n", "/messages", "/messages/0", "/messages/1/a", "/messages/5", "/messages/31/text", "/messages/60", "/messages/61", "/messages/-", "/plan/status", "/plan/k", "/session", "/2/a", "/none"} {
				path, err := ParsePath(pointer)
				if err != nil {
					t.Fatal(err)
				}
				want, err := path.in([]byte(states[i]))
				found, ok := p.find(pagesOf(text), ropes[i], path)
				got := join(pagesOf(text), found.pieces)
				if scalar := states[i] == `"text"` || states[i] == "12"; scalar && !ok {
					continue
				}
				if err == nil && (!ok || string(got) != string(want) || found.none() != (want == nil)) {
					t.Fatalf("seed %d: %s of %s is %q, %v, want %q", seed, pointer, states[i], got, ok, want)
				}
			}
		}
	}
}

// A state that is no JSON is never taken for one.
func TestFind_leavesWhatIsNoJSON(t *testing.T) {
	skip.Sequential(t)
	whole := `{"session":{"turn":1},"x":[{"a":1},{"a":2},3,4,"x",[1,2]],"plan":{"status":"done"}}`
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		broken := []byte(whole)
		for range 1 + r.IntN(3) {
			broken[r.IntN(len(broken))] = `{}[],:"\1 n`[r.IntN(11)]
		}
		broken = broken[:len(broken)-r.IntN(2)*r.IntN(len(broken))]
		text, ropes := shuffled(r, string(broken))
		var p places
		p.forget()
		for _, pointer := range []string{"/x/1", "/plan/status", "/x", "/session/turn"} {
			path, _ := ParsePath(pointer)
			want, err := path.in(broken)
			found, ok := p.find(pagesOf(text), ropes[0], path)
			if got := join(pagesOf(text), found.pieces); ok && (err != nil || string(got) != string(want)) {
				t.Fatalf("%s of %s is %q, want %q, %v", pointer, broken, got, want, err)
			}
			if wrong := (*jsontape.SyntaxError)(nil); err != nil && !errors.As(err, &wrong) {
				t.Fatal(err)
			}
		}
	}
}

// An element is read once: of a window that slides over a list, in either direction, nothing
// is looked for again, and the ends of its elements are few chains.
func TestFind_remembersWhereElementsEnd(t *testing.T) {
	var text []byte
	var ends []uint32
	for i := range 500 {
		text = fmt.Appendf(text, `,{"a":%d}`, i)
		ends = append(ends, uint32(len(text)))
	}
	head, tail := piece{uint32(len(text)), 6}, piece{uint32(len(text)) + 6, 7}
	text = append(text, `{"x":[`+`],"y":1`+`}`...)
	tail.n++
	path, _ := ParsePath("/y")
	for _, backwards := range []bool{false, true} {
		var p places
		p.forget()
		for i := range 400 {
			if backwards {
				i = 399 - i
			}
			window := piece{ends[i] + 1, ends[i+100] - ends[i] - 1} // without the first comma
			if found, ok := p.find(pagesOf(text), []piece{head, window, tail}, path); !ok || string(join(pagesOf(text), found.pieces)) != "1" {
				t.Fatal(i, found, ok)
			}
		}
		chains := map[*chain]bool{}
		for _, l := range p.links {
			chains[l.chain] = true
		}
		if len(chains) != 1 || len(p.links) > len(ends) || len(p.ends) > len(ends)+401 {
			t.Errorf("backwards %v: %d chains, %d links and %d ends of %d elements", backwards, len(chains), len(p.links), len(p.ends), len(ends))
		}
	}
}

// Where a list goes on as one before it did, the way over it is taken up there, and what is looked up
// is what stands in the state.
func TestFind_takesUpTheWay(t *testing.T) {
	skip.Sequential(t)
	elements := [][]string{{`,1`}, {`,1`, `2`}, {`,{"a":[1`, `,5]}`}, {`,"t`, `u"`}, {`,"t"`}, {`,[3]`}, {`,{"a":[1]}`}, {`,[`, `[]`, `]`}, {`, 4 `, `,1`}}
	text, at := []byte{}, map[string]piece{}
	place := func(part string) piece {
		p, known := at[part]
		if !known {
			text = append(text, ' ')
			p = piece{uint32(len(text)), uint32(len(part))}
			text, at[part] = append(text, part...), p
		}
		return p
	}
	taken := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		var p places
		p.forget()
		var list [][]string
		for range 40 {
			for range 1 + r.IntN(3) {
				i := r.IntN(len(list) + 1)
				switch r.IntN(5) {
				case 0:
					list = list[:i]
				case 1:
					list = append(list[i:len(list):len(list)], list[:i]...)
				case 2:
					list = append(list[:i:i], append([][]string{elements[r.IntN(len(elements))]}, list[i:]...)...)
				default:
					list = append(list, elements[r.IntN(len(elements))])
				}
			}
			rope := []piece{place(fmt.Sprintf(`{"n":%d,"x":[0`, r.IntN(3)))}
			for _, element := range list {
				for _, part := range element {
					rope = append(rope, place(part))
				}
			}
			rope = append(rope, place(fmt.Sprintf(`],"y":%d}`, r.IntN(3))))
			state := join(pagesOf(text), rope)
			for _, pointer := range []string{"/y", "/x", "/x/3", "/x/2/a"} {
				path, err := ParsePath(pointer)
				if err != nil {
					t.Fatal(err)
				}
				want, err := path.in(state)
				if err != nil {
					t.Fatal(err)
				}
				found, ok := p.find(pagesOf(text), rope, path)
				if got := join(pagesOf(text), found.pieces); !ok || string(got) != string(want) {
					t.Fatalf("seed %d: %s of %s is %q, %v, want %q", seed, pointer, state, got, ok, want)
				}
			}
			taken += len(p.trail.stops)
		}
	}
	if taken == 0 {
		t.Error("no way was remembered")
	}
}
