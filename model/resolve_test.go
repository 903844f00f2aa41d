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
aa11 - #0        ¦
ab22 aa11        ¦
ABCD33 ab22 orphaned ¦
cd44 ABCD33 orphaned ¦
ef5566 ab22      ¦
aa11 ef5566      ¦
aa1 aa11 #9      ¦
head aa1 #10     ¦
ab22 ABCD33 orphaned ¦
xy99 cd44 orphaned ¦
xy88 cd44 orphaned ¦
3456 head #12 ¦
12 3456 #13 ¦
9abc 12 #14 ¦
abcd~2 9abc #15 ¦
`}.read(t)
	tl := NewTimeline(headers)
	for _, test := range []struct {
		spec      string
		want      Node
		ambiguous []string
	}{
		// An index, before anything else.
		{spec: "#0", want: 0},
		{spec: "0", want: 0},
		{spec: "9", want: 6}, // and not the beginning of 9abc
		{spec: "12", want: 11},
		{spec: "13", want: 12},
		{spec: "#2", ambiguous: []string{"#2.1", "#2.2"}}, // though one alone is active
		{spec: "2", ambiguous: []string{"#2.1", "#2.2"}},
		{spec: "#4", ambiguous: []string{"#4.1", "#4.2"}},
		{spec: "#99", want: NoNode},
		{spec: "99", want: NoNode},
		{spec: "#-1", want: NoNode},
		{spec: "#", want: NoNode},
		{spec: "#four", want: NoNode},
		{spec: "#00", want: NoNode}, // no name is spelled so
		{spec: "09", want: NoNode},
		{spec: "#3456", want: NoNode}, // a # means no id
		{spec: "3456", want: 11},
		// A name.
		{spec: "#2.1", want: 2},
		{spec: "2.2", want: 4},
		{spec: "#4.2", want: 10},
		{spec: "#9.1", want: 6},
		{spec: "#2.3", want: NoNode},
		{spec: "2.0", want: NoNode},
		{spec: "2.-1", want: NoNode},
		{spec: "#+2.1", want: NoNode},
		{spec: "#2:1", want: NoNode},
		// An id, or the beginning of one.
		{spec: "cd44", want: 3},
		{spec: "cd4", want: NoNode}, // too short
		{spec: "ef55", want: 4},
		{spec: "ef5566", want: 4},
		{spec: "aa11", ambiguous: []string{"#0", "#3.2"}}, // two visits of one state
		{spec: "aa1", want: 6},                            // in full, however short
		{spec: "ABCD", want: 2},                           // exactly, before any case
		{spec: "abcd3", want: 2},                          // else in either case
		{spec: "XY99", want: NoNode},                      // x is no hexadecimal digit
		{spec: "abcd~2", want: 14},                        // an id in full, before steps
		// The head, and steps from anywhere.
		{spec: "head", want: 14},
		{spec: "HEAD", want: 14},
		{spec: "@", want: 14},
		{spec: "Head", want: NoNode},
		{spec: "#10", want: 7}, // the id "head" is found by its index
		{spec: "head~", want: 13},
		{spec: "@~2", want: 12},
		{spec: "#14~2", want: 11},
		{spec: "#4.1~1", want: 3},
		{spec: "cd44~1~2", want: 0},
		{spec: "head~0", want: NoNode},
		{spec: "head~99", want: NoNode},
		{spec: "head~x", want: NoNode},
		{spec: "#2~1", ambiguous: []string{"#2.1", "#2.2"}},
		{spec: "~1", want: NoNode},
		// Nothing.
		{spec: "", want: NoNode},
		{spec: "zzzz", want: NoNode},
		{spec: "aa11 ", want: NoNode},
		{spec: strings.Repeat("a", 10_000) + "\x1b", want: NoNode},
		{spec: strings.Repeat("9", 10_000), want: NoNode},
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
			} else if len(err.Error()) > 300 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%.40q: the error is %q", test.spec, err)
			}
		case got != test.want || err != nil:
			t.Errorf("%.40q: node %d, %v; not %d", test.spec, got, err, test.want)
		}
	}
}

// What Resolve refuses it explains.
func TestTimeline_ResolveSaysWhy(t *testing.T) {
	tl := NewTimeline([]Header{
		{ID: "570aa5b5c1", Event: SnapshotEventToolIterationEnd, Title: "book\x1b[2J ok"},
		{ID: "ab", ParentID: "570aa5b5c1", Index: 1},
		{ID: "570aa5b5c1", ParentID: "ab", Index: 2, Title: "again"},
		{ID: "cd", ParentID: "ab", Index: 2, Title: strings.Repeat("long ", 100)},
	})
	for spec, want := range map[string]string{
		"570a":   "\"570a\" fits 2 snapshots:\n#0  570aa5b5  tool iteration  book^[[2J ok\n#2.1  570aa5b5  turn end  again",
		"57":     "snapshot \"57\": no such snapshot: the snapshots are #0 to #2",
		"x7":     "snapshot \"x7\": no such snapshot: no index, and too short for the beginning of an id (at least 4 characters)",
		"#2.9":   "snapshot \"#2.9\": no such snapshot: there are #2.1 to #2.2",
		"#1.2":   "snapshot \"#1.2\": no such snapshot: there is only #1",
		"#3":     "snapshot \"#3\": no such snapshot: the snapshots are #0 to #2",
		"cd~3":   "snapshot \"cd~3\": no such snapshot: the path begins at #0, 2 before cd",
		"#2.2~9": "snapshot \"#2.2~9\": no such snapshot: the path begins at #0, 2 before #2.2",
	} {
		if _, err := tl.Resolve(spec); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nnot %s", spec, err, want)
		}
	}
	if _, err := tl.Resolve("#2"); err == nil || len(err.Error()) > 250 {
		t.Errorf("a long title is shown as %v", err)
	}
}

// An index means the snapshot, though the steps of its turn bear it too; steps
// are found by their names and their ids.
func TestTimeline_ResolveMeansSnapshotsByAnIndex(t *testing.T) {
	headers, _ := picture{"", `
a - v1           ¦
s1 a v2 step #1  ¦
s2 s1 v3 step #1 ¦
b a v4 ^v3 #1    ¦
s3 b v5 step #2  ¦
`}.read(t)
	tl := NewTimeline(headers)
	for spec, want := range map[string]Node{
		"#1": 3, "s1": 1, "s2": 2, "head": 3, "#2": NoNode, "#1:1": 1, "1:2": 2, "#1:3": NoNode, "2:1": 4, "#1:0": NoNode,
		"head~1": 0, "1:2~1": 1,
	} {
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
	if !strings.HasPrefix(err.Error(), `"snap" fits 1000 snapshots:`) || !strings.HasSuffix(err.Error(), "\n#0.20  snapshot  turn end\nand 980 more") {
		t.Errorf("the error is %q", err)
	}
}

// Ids are data of others: an error that names them can go to a terminal.
func TestAmbiguousError_showsNoControlCharacters(t *testing.T) {
	hostile := "\x1b]52;c;\u202e" + strings.Repeat("a", 1000)
	text := (&AmbiguousError{ID: hostile, Candidates: []string{hostile, "b"}}).Error()
	text += (&AmbiguousError{ID: hostile, Candidates: []string{"#1"}, Meanings: []string{hostile + "\n"}}).Error()
	if strings.ContainsAny(text, "\x1b\u202e") || len(text) > 800 || strings.Count(text, "\n") != 1 {
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
