package diff

import (
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// Keys that are left out leave no trace: not in the changes, the counts or the
// patch, and the others stay as they are.
func TestResult_without(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want, patch string }{
		{"added", `{"a":{"x":1},"b":1}`, `{"a":{"x":2},"b":1,"out":{"y":[1]}}`, `. =1; /a =0; ~/a/x 1 → 2`, `[{"op":"replace","path":"/a/x","value":2}]`},
		{"before another", `{"out":{"y":[1]},"a":{"x":1}}`, `{"out":{"y":[2,3]},"a":{"x":2}}`, `. =0; /a =0; ~/a/x 1 → 2`, `[{"op":"replace","path":"/a/x","value":2}]`},
		{"between", `{"a":1,"out":1,"b":[1,2]}`, `{"a":2,"b":[1,3]}`, `. =0; ~/a 1 → 2; /b =1; ~/b/1 2 → 3`, `[{"op":"replace","path":"/a","value":2},{"op":"replace","path":"/b/1","value":3}]`},
		{"nothing else", `{"a":1}`, `{"a":1,"out":1}`, ``, `[]`},
		{"an escaped key", `{"a":1}`, `{"a":1,"\u006fut":1}`, ``, `[]`},
		{"the name further in", `{"a":{"out":1}}`, `{"a":{"out":2}}`, `. =0; /a =0; ~/a/out 1 → 2`, `[{"op":"replace","path":"/a/out","value":2}]`},
		{"a list", `[1]`, `[2]`, `. =0; ~/0 1 → 2`, `[{"op":"replace","path":"/0","value":2}]`},
		{"another kind", `[1]`, `{"out":1}`, `~. [1] → {"out":1}`, `[{"op":"replace","path":"","value":{"out":1}}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := compare(t, Bytes([]byte(tc.old)), Bytes([]byte(tc.new))).Without(func(key string) bool { return key == "out" })
			if got := picture(r); got != tc.want {
				t.Errorf("changes\n%s, want\n%s", got, tc.want)
			}
			if r.Equal() != (tc.want == "") {
				t.Errorf("equal: %v, with %q", r.Equal(), tc.want)
			}
			patch, err := r.Patch()
			if err != nil || string(patch) != tc.patch {
				t.Errorf("patch\n%s, %v, want\n%s", patch, err, tc.patch)
			}
		})
	}
}

// What is left is what a comparison of states that never had the keys finds.
func TestResult_withoutIsAComparisonWithoutTheKeys(t *testing.T) {
	skip.Sequential(t)
	values := rapid.SampledFrom([]string{`1`, `2`, `[1,2]`, `[2,1,3]`, `{"x":1}`, `{"x":2,"out":3}`, `"some text"`})
	rapid.Check(t, func(t *rapid.T) {
		var with, bare [2]string
		for side := range 2 {
			for _, key := range []string{"out", "a", "out2", "b", "c"} {
				if !rapid.Bool().Draw(t, "has") {
					continue
				}
				member := `"` + key + `":` + values.Draw(t, key) + `,`
				with[side] += member
				if key != "out" && key != "out2" {
					bare[side] += member
				}
			}
			with[side], bare[side] = `{`+with[side]+`"z":0}`, `{`+bare[side]+`"z":0}`
		}
		r := compare(t, Bytes([]byte(with[0])), Bytes([]byte(with[1]))).Without(func(key string) bool { return key == "out" || key == "out2" })
		want := compare(t, Bytes([]byte(bare[0])), Bytes([]byte(bare[1])))
		for _, e := range []*Result{r, want} {
			if len(e.Entries) > 0 {
				e.Entries[0].Unchanged = 0 // equal keys that are left out are counted
			}
		}
		if got, want := picture(r), picture(want); got != want {
			t.Fatalf("changes\n%s, want\n%s", got, want)
		}
		for i := range r.Entries {
			if r.Entries[i].End != want.Entries[i].End || r.Entries[i].Parent != want.Entries[i].Parent {
				t.Fatalf("entry %d is %+v, want %+v", i, r.Entries[i], want.Entries[i])
			}
		}
		patch, err := r.Patch()
		wanted, _ := want.Patch()
		if err != nil || string(patch) != string(wanted) {
			t.Fatalf("patch\n%s, %v, want\n%s", patch, err, wanted)
		}
	})
}
