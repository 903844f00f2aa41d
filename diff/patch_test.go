package diff

import (
	"context"
	"errors"
	"fmt"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"hindcast/model/align"
	"hindcast/model/jsontape"
	"hindcast/store/storetest/skip"
)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func compare(t failer, old, new State) *Result {
	t.Helper()
	r, err := Compare(context.Background(), old, new)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	return r
}

func parse(t failer, data []byte) *jsontape.Tape {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		t.Fatalf("%.200q: %v", data, err)
	}
	return tape
}

// checkPatch applies the patch of a result with a library that knows nothing of
// ours, and wants the second state with every number spelled as it is there.
func checkPatch(t failer, r *Result, old, new []byte) {
	t.Helper()
	patch, err := r.Patch()
	if err != nil {
		t.Fatalf("patch: %v", err)
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("decode %s: %v", patch, err)
	}
	got, err := decoded.Apply(old)
	if err != nil {
		t.Fatalf("apply %s\nto    %s: %v", patch, old, err)
	}
	a, b := parse(t, got), parse(t, new)
	if !jsontape.Equal(a, 0, b, 0) {
		t.Fatalf("old   %s\nnew   %s\npatch %s\ngives %s", old, new, patch, got)
	}
	if left := compare(t, FromTape(a), FromTape(b)); len(left.Entries) > 0 {
		t.Fatalf("old   %s\nnew   %s\npatch %s\nleaves %d respelled numbers", old, new, patch, left.Respelled)
	}
	if r.Equal() != jsontape.Equal(parse(t, old), 0, b, 0) {
		t.Fatalf("old %s\nnew %s\nequal: %v", old, new, r.Equal())
	}
}

func TestResult_patchLeadsToTheSecondState(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		v := container(t)
		w := change(t, v)
		switch w.(type) {
		case []any, map[string]any:
		default:
			w = container(t)
		}
		loose := looseSpelling{t}
		old, new := text(v, loose), text(w, loose)
		checkPatch(t, compare(t, FromTape(parse(t, old)), FromTape(parse(t, new))), old, new)
		checkPatch(t, compare(t, Bytes(old), Bytes(new)), old, new)
	})
}

// Classes are hashes, and all hashes may collide: what differs has to come out
// all the same.
func TestComparer_collisionsHideNothing(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		v := array(t, 3)
		w := []any{change(t, v), v}
		old, new := text([]any{v, number("1")}, plainSpelling{}), text(append(w, nil), plainSpelling{})
		a, b := value{tape: parse(t, old)}, value{tape: parse(t, new)}
		c := comparer{ctx: context.Background()}
		root := c.add(Within, a.span(), b.span(), place{parent: align.None, old: align.None, new: align.None})
		var p arrays
		p.olds, _ = rest(a, a.tape.First(0))
		p.news, _ = rest(b, b.tape.First(0))
		collide := rapid.SliceOfN(rapid.Uint64Range(0, 2), 100, 100).Draw(t, "classes")
		arr := c.arrange(collide[:len(p.olds)], collide[50:50+len(p.news)])
		if _, err := c.addArrays(p, &arr, root, 0); err != nil {
			t.Fatalf("%v", err)
		}
		c.close(root)
		checkPatch(t, c.result(&Result{old: old, new: new}), old, new)
	})
}

func TestResult_patchOfManyMoves(t *testing.T) {
	var old, new []string
	for i := range 1000 {
		old = append(old, fmt.Sprintf(`{"id":%d}`, i))
		new = append(new, fmt.Sprintf(`{"id":%d}`, 999-i))
	}
	a, b := []byte(list(old...)), []byte(list(new...))
	r := compare(t, Bytes(a), Bytes(b))
	if r.Moved != 999 || r.Added+r.Removed+r.Replaced != 0 {
		t.Errorf("%d moved, +%d −%d ~%d", r.Moved, r.Added, r.Removed, r.Replaced)
	}
	checkPatch(t, r, a, b)
}

func TestResult_patchPictures(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", `{"a":1}`, `{"a":1}`, `[]`},
		{"replace", `{"a/b":{"m~n":1}}`, `{"a/b":{"m~n":2}}`, `[{"op":"replace","path":"/a~1b/m~0n","value":2}]`},
		{"key to quote", `{"\"":1}`, `{"\"":2}`, `[{"op":"replace","path":"/\"","value":2}]`},
		{"append", `[1,2]`, `[1,2,{"x":[]}]`, `[{"op":"add","path":"/2","value":{"x":[]}}]`},
		{"window", `[1,2,3]`, `[2,3,4]`, `[{"op":"remove","path":"/0"},{"op":"add","path":"/2","value":4}]`},
		{"move", `[1,2,3]`, `[2,3,1]`, `[{"op":"move","from":"/0","path":"/2"}]`},
		{"move back", `[1,2,3]`, `[3,1,2]`, `[{"op":"move","from":"/2","path":"/0"}]`},
		{"moved and respelled", `[1,"a","b"]`, `["a","b",1.0]`, `[{"op":"move","from":"/0","path":"/2"},{"op":"replace","path":"/2","value":1.0}]`},
		{"moved and respelled inside", `[{"n":1,"k":"x"},"a","b"]`, `["a","b",{"n":1.0,"k":"x"}]`, `[{"op":"move","from":"/0","path":"/2"},{"op":"replace","path":"/2/n","value":1.0}]`},
		{"moved, with a key twice", `[{"n":1,"n":2},"a","b"]`, `["a","b",{"n":3,"n":2.0}]`, `[{"op":"move","from":"/0","path":"/2"},{"op":"replace","path":"/2","value":{"n":3,"n":2.0}}]`},
		{"respelled", `{"a":1}`, `{"a":1.0}`, `[{"op":"replace","path":"/a","value":1.0}]`},
		{"root", `{"a":1}`, `[]`, `[{"op":"replace","path":"","value":[]}]`},
		{"duplicate keys", `{"x":{"a":1,"a":2}}`, `{"x":{"a":3}}`, `[{"op":"replace","path":"/x","value":{"a":3}}]`},
		{"lone surrogate in a key", `{"x":{"\ud800":1,"b":1}}`, `{"x":{"\ud800":1,"b":2}}`, `[{"op":"replace","path":"/x","value":{"\ud800":1,"b":2}}]`},
		{"below an empty key", `{"":{"a":1}}`, `{"":{"a":2}}`, `[{"op":"replace","path":"/","value":{"a":2}}]`},
	} {
		r := compare(t, Bytes([]byte(c.old)), Bytes([]byte(c.new)))
		patch, err := r.Patch()
		if err != nil || string(patch) != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, patch, c.want, err)
		}
	}
}

func TestResult_patchRefusesWhatIsNotJSON(t *testing.T) {
	r := compare(t, Bytes([]byte(`{"a":[1]}`)), Bytes([]byte(`{"a":[NaN]}`)))
	if _, err := r.Patch(); !errors.Is(err, ErrNoPatch) {
		t.Errorf("%v", err)
	}
	r = compare(t, Bytes([]byte(`{"a":NaN}`)), Bytes([]byte(`{"a":1}`)))
	if patch, err := r.Patch(); err != nil || string(patch) != `[{"op":"replace","path":"/a","value":1}]` {
		t.Errorf("away from NaN: %s, %v", patch, err)
	}
}

func TestResult_patchOfUnrelatedStates(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		old, new := text(container(t), looseSpelling{t}), text(container(t), plainSpelling{})
		checkPatch(t, compare(t, FromTape(parse(t, old)), FromTape(parse(t, new))), old, new)
		checkPatch(t, compare(t, Bytes(old), Bytes(new)), old, new)
	})
}
