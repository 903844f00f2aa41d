package model

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// drawnHeader returns any header, as often as not one that follows the last.
func drawnHeader(t *rapid.T, last Header, reasons []*Reason) Header {
	small := func(name string) int { return rapid.IntRange(-1, 5).Draw(t, name) }
	text := func(name string) string {
		if rapid.IntRange(0, 40).Draw(t, name+" is long") == 0 {
			return strings.Repeat("x", math.MaxUint16+1)
		}
		return rapid.SampledFrom([]string{"", "a", "b", "\x00\xff", strings.Repeat("ä", 300)}).Draw(t, name)
	}
	number := func(name string) int64 {
		return rapid.SampledFrom([]int64{0, 1, 2, -1, math.MaxInt32, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MinInt64}).Draw(t, name)
	}
	zone := rapid.SampledFrom([]*time.Location{time.UTC, time.Local, time.FixedZone("", 3600), time.FixedZone("", 5400), time.FixedZone("X", 3600)}).Draw(t, "zone")
	at := time.Time{}
	if rapid.Bool().Draw(t, "timed") {
		at = time.Unix(rapid.Int64Range(-1e10, 1e10).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(zone)
	}
	h := Header{
		ID: text("id"), ParentID: text("parent"), SessionID: text("session"), CreatedAt: at,
		Index: small("index"), TurnIndex: small("turn"),
		Event: SnapshotEvent(small("event")), EventName: text("event name"), Position: text("position"), Title: text("title"),
		Visit: number("visit"), ParentVisit: number("parent visit"), Size: number("size"),
		Orphaned: rapid.Bool().Draw(t, "orphaned"), Head: rapid.Bool().Draw(t, "head"),
		Marks:  Marks(rapid.Uint16().Draw(t, "marks")),
		Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Alias: text("alias"), Attributes: Attributes(text("attributes")),
	}
	if rapid.Bool().Draw(t, "follows") {
		h.ParentID = last.ID
	}
	if rapid.IntRange(0, 20).Draw(t, "index is large") == 0 {
		h.Index = math.MaxInt
	}
	return h
}

// TestHeaders_returnsWhatWasAdded: whatever it is, and whether it is read before more is
// added or behind.
func TestHeaders_returnsWhatWasAdded(t *testing.T) {
	reasons := []*Reason{nil, {Kind: ReasonRestore}, {Kind: ReasonRestore}, {TargetID: "a"}}
	rapid.Check(t, func(t *rapid.T) {
		var all Headers
		var want []Header
		for range rapid.IntRange(0, 40).Draw(t, "headers") {
			last := Header{}
			if len(want) > 0 {
				last = want[len(want)-1]
			}
			h := drawnHeader(t, last, reasons)
			all.Add(&h)
			want = append(want, h)
			if rapid.IntRange(0, 5).Draw(t, "page is closed") == 0 {
				all.closePage()
			}
			if len(want) > 0 && rapid.Bool().Draw(t, "head moves") {
				i := rapid.IntRange(0, len(want)-1).Draw(t, "head")
				want[i].Head = !want[i].Head
				all.setHead(i, want[i].Head)
			}
		}
		if all.Len() != len(want) {
			t.Fatalf("%d headers count as %d", len(want), all.Len())
		}
		for i := range want {
			if err := sameHeader(all.At(i), want[i]); err != nil {
				t.Fatalf("header %d: %v", i, err)
			}
			parentVisit, orphaned, traced := all.treeFacts(i)
			got := Header{ID: all.id(i), ParentID: all.parentID(i), SessionID: all.session(i), Index: all.index(i), Visit: all.visit(i), ParentVisit: parentVisit, Orphaned: orphaned, Head: all.isHead(i)}
			w := want[i]
			if got != (Header{ID: w.ID, ParentID: w.ParentID, SessionID: w.SessionID, Index: w.Index, Visit: w.Visit, ParentVisit: w.ParentVisit, Orphaned: w.Orphaned, Head: w.Head}) || traced != w.Marks.Has(MarkTraced) {
				t.Fatalf("header %d in parts is %+v, and is %+v", i, got, w)
			}
		}
		slice := all.Slice()
		if len(slice) != len(want) || len(want) == 0 && slice != nil {
			t.Fatalf("%d headers as a slice are %d", len(want), len(slice))
		}
		for i := range want {
			if err := sameHeader(slice[i], want[i]); err != nil {
				t.Fatalf("header %d of the slice: %v", i, err)
			}
		}
	})
}

// sameHeader compares all but which of several zones that are alike a time has.
func sameHeader(got, want Header) error {
	zone, east := got.CreatedAt.Zone()
	if wantZone, wantEast := want.CreatedAt.Zone(); !got.CreatedAt.Equal(want.CreatedAt) || zone != wantZone || east != wantEast || got.CreatedAt.IsZero() != want.CreatedAt.IsZero() {
		return fmt.Errorf("its time is %v, and not %v", got.CreatedAt, want.CreatedAt)
	}
	got.CreatedAt, want.CreatedAt = time.Time{}, time.Time{}
	if got != want {
		return fmt.Errorf("it is %.300q, and not %.300q", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
	return nil
}

func TestHeaders_keepsTheOrderOverChunks(t *testing.T) {
	for _, n := range []int{0, 1, headersChunk - 1, headersChunk, headersChunk + 1, 3*headersChunk + 5} {
		var all Headers
		for i := range n {
			all.Add(&Header{ID: fmt.Sprint(i), Index: i, Title: strings.Repeat("t", 100)})
		}
		for i := range n {
			if h := all.At(i); h.Index != i || h.ID != fmt.Sprint(i) {
				t.Fatalf("%d headers: #%d %q is at %d", n, h.Index, h.ID, i)
			}
		}
	}
}

// TestHeaders_isSmall: 64 bytes and the texts for each header, an id once for the two that
// say it, and to read one allocates nothing.
func TestHeaders_isSmall(t *testing.T) {
	skip.Counting(t)
	const n, texts = 100_000, 64 + 20
	title := strings.Repeat("t", 20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all Headers
	last := ""
	for i := range n {
		id := fmt.Sprintf("%064d", i)
		all.Add(&Header{ID: id, ParentID: last, SessionID: "s", Index: i, Title: title, CreatedAt: time.Unix(int64(i), 0).UTC(), Event: SnapshotEvent(i % 3)})
		last = id
	}
	all.closePage()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if taken := int64(after.HeapAlloc) - int64(before.HeapAlloc); taken > n*(64+texts)*11/10 {
		t.Errorf("%d bytes a header", taken/n)
	}
	if allocated := testing.AllocsPerRun(100, func() { _ = all.At(n / 2) }); allocated != 0 {
		t.Errorf("to read a header allocates %.0f times", allocated)
	}
	runtime.KeepAlive(&all)
}

func BenchmarkHeaders(b *testing.B) {
	for b.Loop() {
		var all Headers
		for i := range 100_000 {
			all.Add(&Header{Index: i})
		}
	}
}
