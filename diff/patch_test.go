package diff

import (
	"context"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"hindcast/model/jsontape"
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
	if left := compare(t, Parsed(a), Parsed(b)); len(left.Entries) > 0 {
		t.Fatalf("old   %s\nnew   %s\npatch %s\nleaves %d respelled numbers", old, new, patch, left.Respelled)
	}
	if r.Equal() != jsontape.Equal(parse(t, old), 0, b, 0) {
		t.Fatalf("old %s\nnew %s\nequal: %v", old, new, r.Equal())
	}
}

func TestResult_patchLeadsToTheSecondState(t *testing.T) {
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
		checkPatch(t, compare(t, Parsed(parse(t, old)), Parsed(parse(t, new))), old, new)
		checkPatch(t, compare(t, Bytes(old), Bytes(new)), old, new)
	})
}

func TestResult_patchOfUnrelatedStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := text(container(t), looseSpelling{t}), text(container(t), plainSpelling{})
		checkPatch(t, compare(t, Parsed(parse(t, old)), Parsed(parse(t, new))), old, new)
		checkPatch(t, compare(t, Bytes(old), Bytes(new)), old, new)
	})
}
