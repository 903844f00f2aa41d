package watch

import "testing"

// Values of several sources are one until it is taken, and the end is that of
// all.
func TestAny(t *testing.T) {
	a, b := make(chan struct{}), make(chan struct{})
	out := Any(a, b)
	a <- struct{}{}
	a <- struct{}{} // the first was told before the second was taken
	b <- struct{}{}
	<-out
	close(a)
	b <- struct{}{}
	<-out
	close(b)
	for range out {
	}
	if _, ok := <-Any(); ok {
		t.Error("of no sources there is a value")
	}
}
