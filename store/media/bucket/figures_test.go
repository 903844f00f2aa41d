package bucket

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/storetest"
)

// TestFirstScreen holds the first screen of a session of 10,000 messages, over a network where
// a request takes 300 ms, to one and a half times what one page of names and one batch of
// messages take; and the requests to those that it needs. A machine that is busy is measured
// again.
func TestFirstScreen(t *testing.T) {
	const names, rows = 10_000, 256
	s := serve(t)
	s.session(names)
	s.Takes = 300 * time.Millisecond
	for n := 1; ; n++ {
		base, first := measure(t, s, rows)
		t.Logf("one page and one batch of %d objects %v; first screen %v, %.2f times that", rows, base, first, first.Seconds()/base.Seconds())
		if first <= 3*base/2 || testing.Short() { // beside the race detector the requests alone count
			return
		}
		if n == 3 {
			t.Fatal("the first screen takes too long")
		}
	}
}

// BenchmarkFirstScreen tells how many times what one page of names and one batch of messages take
// the first screen takes, for requests that take some time. Without a delay that is the time of
// this process alone, which is the server, too: all ten pages of the names are asked for.
func BenchmarkFirstScreen(b *testing.B) {
	s := serve(b)
	s.session(10_000)
	for _, takes := range []time.Duration{0, 50 * time.Millisecond, 300 * time.Millisecond} {
		b.Run(takes.String(), func(b *testing.B) {
			s.Takes = takes
			var ratios []float64
			for b.Loop() {
				base, first := measure(b, s, 256)
				ratios = append(ratios, first.Seconds()/base.Seconds())
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "median-times-the-base")
			b.ReportMetric(ratios[0], "least-times-the-base")
		})
	}
}

// measure returns what one page of names and one batch of objects take, and what the first
// screen takes.
func measure(t testing.TB, s *server, rows int) (base, first time.Duration) {
	t.Helper()
	ctx := t.Context()
	on, err := connectSource(ctx, Options{Endpoint: s.URL}, "b", "p")
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	begun := time.Now()
	l, err := on.tree.c.listPage(ctx, span{prefix: "p/"}, "", "", page)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for i := range rows {
		go func() { _, _, err := on.tree.c.getObject(ctx, l.Contents[10+i].Key, ""); done <- err }()
	}
	for range rows {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	base = time.Since(begun)
	s.Requests()

	begun = time.Now()
	opened, err := Kind(Options{Endpoint: s.URL}, engine.Finder(messages.Kind(nil))).Open(ctx, "s3://b/p")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	list, before, err := opened.Features().Tail(ctx, store.Only(ctx, opened), rows)
	first = time.Since(begun)
	asked := len(s.Requests())
	if err != nil || len(list) != rows || before != 10_000-rows {
		t.Fatalf("%d rows behind %d, %v", len(list), before, err)
	}
	if asked > rows+25 {
		t.Errorf("the first screen takes %d requests", asked)
	}
	t.Logf("%d requests", asked)
	return base, first
}

// counted returns how many requests were made since it was asked last: reads, and those of
// listings.
func (s *server) counted() (reads, lists int) {
	for _, what := range s.Requests() {
		if strings.HasPrefix(what, "LIST ") {
			lists++
		} else {
			reads++
		}
	}
	return reads, lists
}

// TestWhole counts the requests of a whole session, and of a state, which the SDK loads with
// one GET after the other.
func TestWhole(t *testing.T) {
	names := storetest.Sized(2_000, 10_000)
	s := serve(t)
	s.session(names)
	s.Takes = time.Duration(storetest.Sized(5, 50)) * time.Millisecond
	w := opening(t, s, "s3://b/p")
	begun := time.Now()
	all := storetest.Headers(t, w, "s")
	took := time.Since(begun)
	reads, lists := s.counted()
	// A listing counts for a while, and is asked for anew while the rows are still read.
	looks, each := 2+int(took/fresh), names/1000+20 // a long folder is listed in parts
	if len(all) != names || reads > names+20 || lists > looks*each {
		t.Errorf("%d rows with %d reads, and %d requests for %d listings", len(all), reads, lists, looks)
	}
	if _, err := w.State(t.Context(), all[names-1].Ref()); err != nil {
		t.Fatal(err)
	}
	again, lookedAgain := s.counted()
	if again > 1 || lookedAgain > each {
		t.Errorf("a state then takes %d reads, and %d requests for a listing", again, lookedAgain)
	}
	begun = time.Now()
	on, err := connectSource(t.Context(), Options{Endpoint: s.URL}, "b", "p")
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	for i := range 20 {
		if _, _, err := on.tree.c.getObject(t.Context(), logPrefix+"messages/message_"+strconv.Itoa(i)+".json", ""); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rows: %v, %d reads, and %d requests for listings; a state then %d; as the SDK loads them, one GET after the other: %v", names, took, reads, lists, again, time.Since(begun)/20*time.Duration(names))
}

// A session that is read again is not asked for again: the notes are known by the ETags.
func TestHeaders_knownByETag(t *testing.T) {
	s := serve(t)
	s.session(500)
	w := opening(t, s, "s3://b/p")
	storetest.Headers(t, w, "s")
	s.Requests()
	if list := storetest.Headers(t, w, "s"); len(list) != 500 {
		t.Fatal(len(list))
	}
	if n := len(s.Requests()); n > 10 {
		t.Errorf("%d requests", n)
	}
}
