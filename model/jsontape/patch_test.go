package jsontape

import (
	"bytes"
	"fmt"
	"testing"
)

func TestPatch_changesNothingElse(t *testing.T) {
	const text = "{\n  \"a\": 12345678901234567890.10,\n  \"b\": [1, 2 , 3],\n  \"c\": { },\n  \"d\": {\"x\": \"\\u00e9\", \"y\": null}\n}\n"
	find := func(p *Patch, path ...string) Node { return p.tape.Lookup(path...) }
	for _, c := range []struct {
		name string
		do   func(p *Patch)
		is   [2]string // what is put instead of what
	}{
		{"nothing", func(*Patch) {}, [2]string{"", ""}},
		{"a value", func(p *Patch) { p.Set(find(p, "a"), []byte("7")) }, [2]string{"12345678901234567890.10", "7"}},
		{"an equal value", func(p *Patch) { p.Set(find(p, "b"), []byte("[1, 2 , 3]")) }, [2]string{"", ""}},
		{"a value and back", func(p *Patch) {
			p.Set(find(p, "b"), []byte("0"))
			p.Set(find(p, "b"), []byte("[1, 2 , 3]"))
		}, [2]string{"", ""}},
		{"no value", func(p *Patch) { p.Set(None, []byte("7")) }, [2]string{"", ""}},
		{"a key", func(p *Patch) { p.Rename(find(p, "d", "x"), "é\"") }, [2]string{`"x"`, `"é\""`}},
		{"a key of none", func(p *Patch) { p.Rename(p.tape.First(find(p, "b")), "k") }, [2]string{"", ""}},
		{"a member that is there", func(p *Patch) { p.Put(0, "c", []byte("[]")) }, [2]string{"{ }", "[]"}},
		{"new members", func(p *Patch) {
			p.Put(0, "e", []byte("1"))
			p.Put(0, "f", []byte("2"))
			p.Put(0, "e", []byte("3"))
		}, [2]string{"null}\n", "null},\n  \"e\": 3,\n  \"f\": 2\n"}},
		{"new members of an empty object", func(p *Patch) {
			p.Put(find(p, "c"), "e", []byte("1"))
			p.Put(find(p, "c"), "f", []byte("2"))
		}, [2]string{"{ }", `{ "e": 1, "f": 2}`}},
		{"a member of no object", func(p *Patch) { p.Put(find(p, "b"), "e", []byte("1")) }, [2]string{"", ""}},
		{"the first", func(p *Patch) { p.Remove(find(p, "b"), at(p, 0)) }, [2]string{"1, 2", "2"}},
		{"the middle", func(p *Patch) { p.Remove(find(p, "b"), at(p, 1)) }, [2]string{"1, 2 ,", "1 ,"}},
		{"the last", func(p *Patch) { p.Remove(find(p, "b"), at(p, 2)) }, [2]string{"2 , 3", "2"}},
		{"all", func(p *Patch) { p.Remove(find(p, "b"), at(p, 0, 1, 2)) }, [2]string{"[1, 2 , 3]", "[]"}},
		{"a member", func(p *Patch) { p.Remove(find(p, "d"), at(p, 0)) }, [2]string{`"x": "\u00e9", `, ""}},
		{"all, and a new one", func(p *Patch) {
			p.Remove(find(p, "d"), at(p, 0, 1))
			p.Put(find(p, "d"), "x", []byte("1"))
		}, [2]string{`{"x": "\u00e9", "y": null}`, `{"x": 1}`}},
		{"the last, and a new one", func(p *Patch) {
			p.Remove(find(p, "d"), at(p, 1))
			p.Put(find(p, "d"), "z", []byte("1"))
		}, [2]string{`"y": null`, `"z": 1`}},
		{"inside of what goes", func(p *Patch) {
			p.Set(find(p, "d", "y"), []byte("1"))
			p.Put(find(p, "d"), "z", []byte("1"))
			p.Set(find(p, "d"), []byte("0"))
		}, [2]string{`{"x": "\u00e9", "y": null}`, "0"}},
	} {
		tape := mustParse(t, text)
		p := NewPatch(tape)
		c.do(p)
		want := string(bytes.Replace([]byte(text), []byte(c.is[0]), []byte(c.is[1]), 1))
		if got := string(p.Bytes()); got != want {
			t.Errorf("%s: got\n%s\nand not\n%s", c.name, got, want)
		}
		if p.HasChanges() != (c.is[0] != c.is[1]) {
			t.Errorf("%s: changed is %v", c.name, p.HasChanges())
		}
	}
}

func at(p *Patch, list ...int) func(Node) bool {
	return func(n Node) bool {
		for _, i := range list {
			if p.tape.Position(n) == i {
				return true
			}
		}
		return false
	}
}

func TestPatch_givesOneValue(t *testing.T) {
	tape := mustParse(t, `[{"a": 1, "b": [1]}, {"a": 1}]`)
	p := NewPatch(tape)
	first := tape.First(0)
	p.Set(tape.Find(first, "a"), []byte("2"))
	p.Put(first, "c", []byte("3"))
	p.Remove(0, at(p, 1))
	for n, want := range map[Node]string{
		0: `[{"a": 2, "b": [1], "c": 3}]`, first: `{"a": 2, "b": [1], "c": 3}`,
		tape.Find(first, "b"): "[1]",
	} {
		if got := string(p.Raw(n)); got != want {
			t.Errorf("%s is now %s and not %s", tape.Raw(n), got, want)
		}
	}
}

// wanted writes a value, without white space, as a patch should have it.
func wanted(p *Patch, out []byte, n Node) []byte {
	t := p.tape
	if text, ok := p.values[n]; ok {
		return AppendCompact(out, text)
	}
	kind := t.Kind(n)
	if kind != Object && kind != Array {
		return append(out, t.Raw(n)...)
	}
	out = append(out, map[Kind]byte{Object: '{', Array: '['}[kind])
	some := false
	comma := func() {
		if some {
			out = append(out, ',')
		}
		some = true
	}
	for c := t.First(n); c >= 0; c = t.Next(c) {
		if p.gone[c] {
			continue
		}
		comma()
		if key, ok := p.keys[c]; ok {
			out = append(append(out, key...), ':')
		} else if kind == Object {
			out = append(append(out, t.RawKey(c)...), ':')
		}
		out = wanted(p, out, c)
	}
	for _, m := range p.added[n] {
		comma()
		out = AppendCompact(out, m.text)
	}
	return append(out, map[Kind]byte{Object: '}', Array: ']'}[kind])
}

// Whatever is changed, in whatever order and wherever, the text is JSON, has what
// was asked for, and says the same as it did elsewhere.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": [ ]}, "x"], "": {}, "a": null}`), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte("[ [[]] , { } ,\n{\"\\ud800\": 1e999 , \"b\":[{}]}]"), []byte{2, 0, 255, 1, 0, 3, 2, 1, 4, 3, 3, 3})
	f.Add([]byte(` 7 `), []byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, text, script []byte) {
		tape, err := Parse(text)
		if err != nil || len(text) > 1<<12 || len(script) > 300 {
			t.Skip()
		}
		before := bytes.Clone(text)
		p := NewPatch(tape)
		for ; len(script) >= 3; script = script[3:] {
			n, with := Node(int(script[1])%tape.Len()), script[2]
			switch script[0] % 4 {
			case 0:
				p.Set(n, fmt.Appendf(nil, `{"v":[%d]}`, with))
			case 1:
				p.Rename(n, fmt.Sprintf("k%d\n", with))
			case 2:
				p.Put(n, fmt.Sprintf("%c", 'a'+with%4), fmt.Appendf(nil, "%d", with))
			case 3:
				p.Remove(n, func(c Node) bool { return with>>(tape.Position(c)%8)&1 == 1 })
			}
		}
		got := p.Bytes()
		if !Valid(got) {
			t.Fatalf("%q becomes %q", text, got)
		}
		if want := wanted(p, nil, 0); string(AppendCompact(nil, got)) != string(want) {
			t.Fatalf("%q becomes %q, and not %q", text, got, want)
		}
		if !p.HasChanges() && !bytes.Equal(got, text) || !bytes.Equal(text, before) {
			t.Fatalf("%q is changed to %q", text, got)
		}
		for n := range Node(tape.Len()) {
			if !p.gone[n] && string(AppendCompact(nil, p.Raw(n))) != string(wanted(p, nil, n)) {
				t.Fatalf("%q in %q becomes %q", tape.Raw(n), text, p.Raw(n))
			}
		}
	})
}
