package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

func TestResult_SetAside(t *testing.T) {
	own := func(path string) bool { return path == "/own" || strings.HasSuffix(path, "/id") }
	for _, tc := range []struct{ name, old, new, want string }{
		{"nothing", `{"a":1}`, `{"a":2}`, `. =0; ~/a 1 → 2`},
		{"one among others", `{"a":1,"id":1,"b":1}`, `{"a":2,"id":2,"b":2}`, `. =0; ~/a 1 → 2; ~/b 1 → 2; aside; ~/id 1 → 2`},
		{"in a group", `{"l":[{"id":1,"x":1},{"id":2}]}`, `{"l":[{"id":3,"x":2},{"id":2}]}`, `. =0; /l =1; /l/0 =0; ~/l/0/x 1 → 2; aside; /l =1; /l/0 =0; ~/l/0/id 1 → 3`},
		{"a group", `{"own":{"a":1,"b":[1]},"c":1}`, `{"own":{"a":2,"b":[2]},"c":1}`, `. =1; aside; /own =0; ~/own/a 1 → 2; /own/b =0; ~/own/b/0 1 → 2`},
		{"the whole state", `[1]`, `{"id":1}`, `~. [1] → {"id":1}`},
	} {
		r := compare(t, Bytes([]byte(tc.old)), Bytes([]byte(tc.new)))
		if got := picture(r.SetAside(own)); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", tc.name, got, tc.want)
		}
	}
}

// Each change is there once, with its path, those that are own behind the others; and the tree of entries is whole.
func TestResult_setAsideLosesNothing(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SampledFrom([]string{`1`, `2`, `[1,{"a":1}]`, `[2,{"a":2},3]`, `{"a":{"b":1,"c":1}}`, `{"a":{"b":2,"c":2}}`, `"x"`})
		state := func(label string) []byte {
			text := `{`
			for _, key := range []string{"a", "b", "c", "d"} {
				if rapid.Bool().Draw(t, label+key) {
					text += `"` + key + `":` + values.Draw(t, label) + `,`
				}
			}
			return []byte(text + `"z":0}`)
		}
		r := compare(t, Bytes(state("old")), Bytes(state("new")))
		letter := rapid.SampledFrom([]string{"/a", "/b", "/c", "/1"}).Draw(t, "own")
		own := func(path string) bool { return strings.Contains(path+"/", letter+"/") }
		var kept, aside []string
		for _, e := range r.Changes() {
			if path := r.Path(e); own(path) {
				aside = append(aside, path)
			} else {
				kept = append(kept, path)
			}
		}
		got, set := []string{}, r.SetAside(own)
		for _, e := range set.Changes() {
			got = append(got, set.Path(e))
		}
		if want := slices.Concat(kept, aside); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		for i, e := range set.Entries {
			if i > 0 && (e.Parent < 0 || int(e.Parent) >= i || set.Entries[e.Parent].End < e.End || set.Entries[e.Parent].Depth != e.Depth-1 || int(e.End) <= i) {
				t.Errorf("entry %d of %d is %+v in %+v", i, len(set.Entries), e, set.Entries[e.Parent])
			}
		}
	})
}
