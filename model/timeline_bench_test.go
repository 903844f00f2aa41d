package model

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// benchHeaders returns the headers of a session as a store would: ids of 64
// digits, parents as strings of their own, about one restore in 50 snapshots.
func benchHeaders(n int) []Header {
	headers := headersOf(history(rand.New(rand.NewPCG(5, 5)), n))
	for i := range headers {
		headers[i].ParentID = strings.Clone(headers[i].ParentID)
	}
	return headers
}

var benchSizes = []int{10_000, 100_000, 1_000_000}

// BenchmarkNewTimeline resolves all parents and lays all rows out.
func BenchmarkNewTimeline(b *testing.B) {
	for _, n := range benchSizes {
		headers := benchHeaders(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				NewTimeline(headers)
			}
		})
	}
}

// BenchmarkNewTimelineShapes does the same for trees of every shape.
func BenchmarkNewTimelineShapes(b *testing.B) {
	for name, shape := range shapes {
		headers := headersOf(shape(rand.New(rand.NewPCG(5, 5)), 1_000_000))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				NewTimeline(headers)
			}
		})
	}
}

// BenchmarkNewTimelineByVisit does the same where the store names the visit
// that each one follows, as the native one does.
func BenchmarkNewTimelineByVisit(b *testing.B) {
	for _, name := range []string{"history", "random"} {
		tree := shapes[name](rand.New(rand.NewPCG(5, 5)), 1_000_000)
		headers := headersOf(tree)
		for i, p := range tree {
			headers[i].Visit, headers[i].ParentVisit = int64(i)+1, int64(p)+1
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				NewTimeline(headers)
			}
		})
	}
}

// BenchmarkLogGraph lays out and draws every row, from headers in memory. Its
// peer is BenchmarkGitLogGraph.
func BenchmarkLogGraph(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		headers := benchHeaders(n)
		b.Run(fmt.Sprintf("%d/all", n), func(b *testing.B) {
			var dst []byte
			for b.Loop() {
				tl := NewTimeline(headers)
				dst = dst[:0]
				for row := range tl.Rows() {
					dst = tl.AppendGutter(dst, row, tl.Lanes(), GlyphsUnicode)
					if n := tl.Row(row).Node; n != NoNode {
						dst = append(dst, tl.Header(n).ID[:12]...)
					}
					dst = append(dst, '\n')
				}
			}
		})
	}
}

// BenchmarkGitLogGraph is the peer: git draws the same tree, from a repository
// on disk. A second measure is the time to its first 50 rows.
func BenchmarkGitLogGraph(b *testing.B) {
	git, err := exec.LookPath("git")
	if err != nil {
		b.Skip("there is no git")
	}
	for _, n := range []int{10_000, 100_000} {
		dir := b.TempDir()
		run := func(stdin []byte, args ...string) {
			cmd := exec.CommandContext(b.Context(), git, args...)
			cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("git %v: %v: %.200s", args, err, out)
			}
		}
		run(nil, "init", "-q")
		run(gitStream(benchHeaders(n)), "fast-import", "--quiet", "--done")
		b.Run(fmt.Sprintf("%d/all", n), func(b *testing.B) {
			for b.Loop() {
				run(nil, "log", "--graph", "--oneline", "--all")
			}
		})
		b.Run(fmt.Sprintf("%d/first50", n), func(b *testing.B) {
			for b.Loop() {
				run(nil, "log", "--graph", "--oneline", "--all", "-50")
			}
		})
	}
}

// gitStream is a tree for git fast-import: one commit for each header, and a
// branch for each leaf.
func gitStream(headers []Header) []byte {
	tl := NewTimeline(slices.Clone(headers))
	var stream bytes.Buffer
	for n := range Node(tl.Len()) {
		fmt.Fprintf(&stream, "commit refs/heads/all\nmark :%d\ncommitter a <a@b> %d +0000\ndata 1\nx\n", n+1, tl.Header(n).CreatedAt.Unix())
		if p := tl.Parent(n); p != NoNode {
			fmt.Fprintf(&stream, "from :%d\n\n", p+1)
		}
		if tl.Next(n) == NoNode {
			fmt.Fprintf(&stream, "reset refs/heads/leaf%d\nfrom :%d\n\n", n, n+1)
		}
	}
	stream.WriteString("done\n")
	return stream.Bytes()
}

// BenchmarkWindow draws 50 rows anywhere: gutters and what is needed of the
// headers.
func BenchmarkWindow(b *testing.B) {
	const window = 50
	for _, n := range benchSizes {
		tl := NewTimeline(benchHeaders(n))
		folds := NewFolds(tl, nil)
		folds.FoldAll()
		for node := tl.Head(); node != NoNode && folds.Rows() < tl.Rows()/2; node = tl.Parent(node) {
			if tl.BranchPoint(node) {
				folds.Unfold(node)
			}
		}
		rng := rand.New(rand.NewPCG(6, 6))
		var dst []byte
		draw := func(row int) {
			dst = tl.AppendGutter(dst, row, tl.Lanes(), GlyphsUnicode)
			if node := tl.Row(row).Node; node != NoNode && !tl.OnPath(node) {
				dst = append(dst, byte(tl.Reason(node).Kind))
			}
		}
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			for b.Loop() {
				dst = dst[:0]
				for row, top := 0, rng.IntN(tl.Rows()-window); row < window; row++ {
					draw(top + row)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/folded", n), func(b *testing.B) {
			for b.Loop() {
				dst = dst[:0]
				for row, top := 0, rng.IntN(folds.Rows()-window); row < window; row++ {
					draw(folds.Row(top + row))
				}
			}
		})
	}
}

// BenchmarkAppend adds a child of the head, which becomes the head: what a
// session that is followed live does.
func BenchmarkAppend(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			headers := benchHeaders(n)
			headers[n-1].Head = true
			tl := NewTimeline(headers)
			next := Header{ParentID: headers[n-1].ID, SessionID: "s", Head: true}
			for i := 0; b.Loop(); i++ {
				next.Index, next.ID = n+i, fmt.Sprintf("%064d", i)
				tl.Append(next)
				next.ParentID = next.ID
			}
		})
	}
}

// BenchmarkAppendBranch moves the head to a new branch far back and on again:
// the worst that a live session does.
func BenchmarkAppendBranch(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			headers := benchHeaders(n)
			tl := NewTimeline(headers)
			half := headers[n/2].ID
			for i := 0; b.Loop(); i++ {
				tl.Append(Header{ID: fmt.Sprintf("%064d", i), ParentID: half, SessionID: "s", Index: n + i, Head: true})
			}
		})
	}
}

// BenchmarkFaults looks for everything wrong in a million headers.
func BenchmarkFaults(b *testing.B) {
	tl := NewTimeline(benchHeaders(1_000_000))
	for b.Loop() {
		tl.Faults()
	}
}

// BenchmarkMemory reports what 100,000 headers and their timeline take.
func BenchmarkMemory(b *testing.B) {
	const n = 100_000
	heap := func() float64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc) / 1e6
	}
	for b.Loop() {
		before := heap()
		headers := benchHeaders(n)
		read := heap()
		tl := NewTimeline(headers)
		b.ReportMetric(read-before, "MB-headers")
		b.ReportMetric(heap()-read, "MB-timeline")
		runtime.KeepAlive(tl)
	}
}

// BenchmarkVerify verifies an id by the stored bytes, as nearly all are.
func BenchmarkVerify(b *testing.B) {
	state := bytes.Repeat([]byte(`{"role":"user","content":[{"text":"hello"}]},`), 1<<20/46)
	state = append(append([]byte(`{"messages":[`), state[:len(state)-1]...), "]}"...)
	id := SnapshotID(state)
	b.SetBytes(int64(len(state)))
	for b.Loop() {
		if !Verify(id, state).OK() {
			b.Fatal("the id does not match")
		}
	}
}
