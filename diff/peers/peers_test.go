package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	jd "github.com/josephburnett/jd/v2"
	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/wI2L/jsondiff"

	"hindcast/diff"
	"hindcast/model/jsontape/jsontest"
)

const mb = 1 << 20

func BenchmarkPeers(b *testing.B) {
	for _, p := range jsontest.Pairs(10 * mb) {
		b.Run(p.Name, func(b *testing.B) {
			old, new := indented(b, p.Old), indented(b, p.New)
			for _, tool := range []struct {
				name    string
				changes func(b *testing.B) int
			}{
				{"hindcast", func(b *testing.B) int { return hindcast(b, p.Old, p.New) }},
				{"git", git(b, old, new)},
				{"go-diff-lines", func(*testing.B) int { return goDiffLines(old, new) }},
				{"wI2L", func(b *testing.B) int { return wI2L(b, p.Old, p.New) }},
				{"wI2L-LCS", func(b *testing.B) int { return wI2L(b, p.Old, p.New, jsondiff.LCS()) }},
				{"jd", func(b *testing.B) int { return jdDiff(b, p.Old, p.New) }},
			} {
				b.Run(tool.name, func(b *testing.B) {
					changes := 0
					for b.Loop() {
						changes = tool.changes(b)
					}
					b.ReportMetric(float64(changes), "changes")
					b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/(float64(len(p.Old))/mb), "ms/MB")
				})
			}
		})
	}
}

// TestHindcast_needsNoMoreOperationsThanLCS holds the number of operations
// against the best of the peers, on states that LCS can do in a second.
func TestHindcast_needsNoMoreOperationsThanLCS(t *testing.T) {
	for _, p := range jsontest.Pairs(mb) {
		if p.Name == "reformatted" || p.Name == "reordered" {
			continue // no changes for either
		}
		ours, theirs := hindcast(t, p.Old, p.New), wI2L(t, p.Old, p.New, jsondiff.LCS())
		t.Logf("%s: %d operations, wI2L LCS %d", p.Name, ours, theirs)
		if ours > theirs {
			t.Errorf("%s: %d operations, wI2L LCS %d", p.Name, ours, theirs)
		}
	}
}

func hindcast(t testing.TB, old, new []byte) int {
	r, err := diff.Compare(t.Context(), diff.Bytes(old), diff.Bytes(new))
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	for range r.Changes() {
		changes++
	}
	return changes
}

func wI2L(t testing.TB, old, new []byte, opts ...jsondiff.Option) int {
	patch, err := jsondiff.CompareJSON(old, new, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return len(patch)
}

func jdDiff(t testing.TB, old, new []byte) int {
	a, err := jd.ReadJsonString(string(old))
	if err != nil {
		t.Fatal(err)
	}
	b, err := jd.ReadJsonString(string(new))
	if err != nil {
		t.Fatal(err)
	}
	return len(a.Diff(b))
}

func goDiffLines(old, new []byte) int {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0
	a, b, lines := dmp.DiffLinesToRunes(string(old), string(new))
	changes := 0
	for _, d := range dmp.DiffCharsToLines(dmp.DiffMainRunes(a, b, false), lines) {
		if d.Type != diffmatchpatch.DiffEqual {
			changes += strings.Count(d.Text, "\n")
		}
	}
	return changes
}

func git(b *testing.B, old, new []byte) func(*testing.B) int {
	dir := b.TempDir()
	files := [2]string{filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json")}
	for i, data := range [][]byte{old, new} {
		if err := os.WriteFile(files[i], data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return func(b *testing.B) int {
		out, err := exec.CommandContext(b.Context(), "git", "diff", "--no-index", "--no-color", files[0], files[1]).Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			b.Fatal(err)
		}
		const heads = 2 // "--- a" and "+++ b"
		return max(bytes.Count(out, []byte("\n+"))+bytes.Count(out, []byte("\n-"))-heads, 0)
	}
}

func indented(b *testing.B, data []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}
