package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
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
	p.writeLog("s", "", model.NounsOf(""), t, rowSpan{0, t.Rows()})
}

// A row is written into memory that the next one uses again.
func TestLog_allocatesLittleForARow(t *testing.T) {
	skip.Counting(t)
	const n = 1000
	tree := grown(n)
	if a := testing.AllocsPerRun(5, func() { logged(tree) }); a > 5*n {
		t.Errorf("%v allocations for %d rows", a, n)
	}
}

// listing is a store that counts the sessions that it was asked for.
type listing struct {
	store.Store
	asked int
}

func (*listing) Features() store.Features { return store.Features{} }

func (l *listing) Sessions(context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		for i := range 10 {
			l.asked++
			if !yield(model.SessionInfo{ID: fmt.Sprint("s", i)}, nil) {
				return
			}
		}
	}
}

// The session that changed last comes first, so that the others are not read.
func TestLatestSession_readsOne(t *testing.T) {
	l := listing{Store: fake.New()}
	id, err := latestSession(t.Context(), &l)
	if err != nil || id != "s0" || l.asked != 1 {
		t.Errorf("%q, %v; asked for %d sessions", id, err, l.asked)
	}
}

func BenchmarkLog(b *testing.B) {
	tree := grown(100_000)
	b.ReportAllocs()
	for b.Loop() {
		logged(tree)
	}
}

// A large state is printed in parts: no copy of it is made.
func TestShow_printsWithoutACopy(t *testing.T) {
	skip.Counting(t)
	d := portrait{header: &model.Header{ID: strings.Repeat("0", 64), Head: true}, ids: "made up", state: jsontest.New(8_000_000, 1).JSON()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := &printer{Writer: bufio.NewWriter(io.Discard), glyphs: look.Unicode}
	p.writePortrait(&d)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(len(d.state))/4 {
		t.Errorf("%d bytes to print a state of %d", taken, len(d.state))
	}
}
