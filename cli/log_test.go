package cli

import (
	"bufio"
	"fmt"
	"io"
	"testing"
	"time"

	"hindcast/look"
	"hindcast/model"
)

// grown returns the timeline of n snapshots.
func grown(n int) *model.Timeline {
	var headers []model.Header
	for i := range n {
		h := model.Header{
			ID: model.SnapshotID(fmt.Appendf(nil, "%d", i)), SessionID: "s", Index: i, TurnIndex: i / 2,
			CreatedAt: time.Unix(int64(i), 0), Visit: int64(i + 1), Title: "said a word",
		}
		if i > 0 {
			h.ParentVisit = int64(i)
			h.ParentID = headers[i-1].ID
		}
		headers = append(headers, h)
	}
	return model.NewTimeline(headers)
}

func logged(t *model.Timeline) {
	p := &printer{Writer: bufio.NewWriter(io.Discard), glyphs: look.Unicode}
	p.log("s", t, 0)
}

// A row is written into memory that the next one uses again.
func TestLog_allocatesLittleForARow(t *testing.T) {
	const n = 1000
	tree := grown(n)
	if a := testing.AllocsPerRun(5, func() { logged(tree) }); a > 5*n {
		t.Errorf("%v allocations for %d rows", a, n)
	}
}

func BenchmarkLog(b *testing.B) {
	tree := grown(100_000)
	b.ReportAllocs()
	for b.Loop() {
		logged(tree)
	}
}
