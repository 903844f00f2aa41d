package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTimeline_Resolve(t *testing.T) {
	headers, _ := picture{"", `
aa11             ¦
ab22 aa11        ¦
AB33 ab22 orphaned ¦
cd44 AB33 orphaned ¦
ef55 ab22        ¦
aa11 ef55        ¦
aa1 aa11 #9      ¦
head aa1 #10     ¦
ab22 AB33 orphaned ¦
x9 cd44 orphaned ¦
x8 cd44 orphaned ¦
`}.read(t)
	tl := NewTimeline(headers)
	for _, test := range []struct {
		spec      string
		want      Node
		ambiguous []string
	}{
		{spec: "cd44", want: 3},
		{spec: "cd", want: 3},
		{spec: "e", want: 4},
		{spec: "aa11", want: 5},                          // the latest active visit
		{spec: "ab22", want: 1},                          // not the later one, which is orphaned
		{spec: "ab2", want: 1},                           // the same by a prefix
		{spec: "aa1", want: 6},                           // in full, though also a prefix
		{spec: "aa", ambiguous: []string{"aa11", "aa1"}}, // two visits of aa11 are one
		{spec: "AB", want: 2},                            // exactly, before any case
		{spec: "AB2", want: 1},                           // else in either case
		{spec: "ab3", want: 2},
		{spec: "A", want: 2},
		{spec: "a", ambiguous: []string{"aa11", "ab22", "aa1"}},
		{spec: "X9", want: NoNode}, // x is no hexadecimal digit
		{spec: "head", want: 7},    // the head
		{spec: "hea", want: 7},     // an id like any other
		{spec: "#0", want: 0},
		{spec: "#2", want: 4},                         // the active one of two
		{spec: "#4", ambiguous: []string{"x9", "x8"}}, // neither is active
		{spec: "#9", want: 6},
		{spec: "#99", want: NoNode},
		{spec: "#-1", want: NoNode},
		{spec: "#", want: NoNode},
		{spec: "#four", want: NoNode},
		{spec: "", want: NoNode},
		{spec: "zz", want: NoNode},
		{spec: "aa11 ", want: NoNode},
		{spec: strings.Repeat("a", 10_000) + "\x1b", want: NoNode},
	} {
		got, err := tl.Resolve(test.spec)
		var ambiguous *AmbiguousError
		switch {
		case test.ambiguous != nil:
			if !errors.As(err, &ambiguous) || !errors.Is(err, ErrAmbiguous) || !slices.Equal(ambiguous.Candidates, test.ambiguous) || got != NoNode {
				t.Errorf("%.40q: node %d, %v; not ambiguous between %v", test.spec, got, err, test.ambiguous)
			}
		case test.want == NoNode:
			if !errors.Is(err, ErrNoSnapshot) || got != NoNode {
				t.Errorf("%.40q: node %d, %v; not ErrNoSnapshot", test.spec, got, err)
			} else if len(err.Error()) > 200 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%.40q: the error is %q", test.spec, err)
			}
		case got != test.want || err != nil:
			t.Errorf("%.40q: node %d, %v; not %d", test.spec, got, err, test.want)
		}
	}
}

// An index means the snapshot, though the steps of its turn bear it too; steps
// are found by their ids.
func TestTimeline_ResolveMeansSnapshotsByAnIndex(t *testing.T) {
	headers, _ := picture{"", `
a - v1           ¦
s1 a v2 step #1  ¦
s2 s1 v3 step #1 ¦
b a v4 ^v3 #1    ¦
s3 b v5 step #2  ¦
`}.read(t)
	tl := NewTimeline(headers)
	for spec, want := range map[string]Node{"#1": 3, "s1": 1, "s2": 2, "head": 3, "#2": NoNode} {
		if got, err := tl.Resolve(spec); got != want || (err == nil) != (want != NoNode) {
			t.Errorf("%s: node %d, %v; not %d", spec, got, err, want)
		}
	}
}

func TestTimeline_ResolveNamesOnlySoManyCandidates(t *testing.T) {
	headers := make([]Header, 1000)
	for i := range headers {
		headers[i] = Header{ID: fmt.Sprint("snapshot-", i)}
	}
	_, err := NewTimeline(headers).Resolve("snap")
	var ambiguous *AmbiguousError
	if !errors.As(err, &ambiguous) || len(ambiguous.Candidates) != maxCandidates || ambiguous.More != 980 {
		t.Fatalf("the error is %v", err)
	}
	if !strings.HasSuffix(err.Error(), `"snapshot-19" and 980 more`) {
		t.Errorf("the error ends in %q", err)
	}
}

// Ids are data of others: an error that names them can go to a terminal.
func TestAmbiguousError_showsNoControlCharacters(t *testing.T) {
	hostile := "\x1b]52;c;\u202e" + strings.Repeat("a", 1000)
	text := (&AmbiguousError{ID: hostile, Candidates: []string{hostile, "b"}}).Error()
	if strings.ContainsAny(text, "\x1b\u202e") || len(text) > 400 {
		t.Errorf("the error is %q", text)
	}
}

func TestTimeline_ResolveWithoutAHead(t *testing.T) {
	for _, tl := range []*Timeline{NewTimeline(nil), NewTimeline([]Header{{ID: "a", Orphaned: true}})} {
		if n, err := tl.Resolve("head"); n != NoNode || !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("head is %d, %v", n, err)
		}
	}
}
