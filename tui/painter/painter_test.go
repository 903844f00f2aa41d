package painter_test

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hindcast/tui/painter"
)

// wall is a terminal that keeps each write.
type wall struct{ writes []string }

func (w *wall) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

// next returns what was written since the last call, in one text.
func (w *wall) next() string {
	text := strings.Join(w.writes, "")
	w.writes = nil
	return text
}

// taken returns a painter that has a terminal of 4×3 cells.
func taken(t *testing.T) (*painter.Painter, *wall) {
	t.Helper()
	w := &wall{}
	p := painter.New(&bytes.Buffer{}, w)
	if err := p.Take(); err != nil {
		t.Fatal(err)
	}
	p.Resize(4, 3)
	w.next()
	return p, w
}

// Lines that stay are not written again, and a row is as wide as the terminal at most.
func TestPaint_writesWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := taken(t)
		for _, step := range []struct{ frame, writes string }{
			{"", ""},
			{"aaaa\nbb\ncccc\nbelow the terminal", "\x1b[Haaaa\x1b[2;1Hbb\x1b[K\x1b[3;1Hcccc"},
			{"aaaa\nbb\ncccc\nbelow the terminal", ""},
			{"aaaa\nbbbb\ncccc", "\x1b[2;1Hbbbb"},
			{"aaaa\nbbbbb\ncccc", "\x1b[2;1Hbbbb"},
			{"aaaa", "\x1b[2;1H\x1b[J"},
		} {
			p.Paint(step.frame)
			if got := w.next(); got != step.writes {
				t.Errorf("frame %q writes %q, not %q", step.frame, got, step.writes)
			}
			time.Sleep(time.Second)
		}
		p.Resize(6, 2)
		p.Paint("aaaa")
		if got := w.next(); got != "\x1b[Haaaa\x1b[K\x1b[2;1H\x1b[J" {
			t.Errorf("a resized terminal is written %q", got)
		}
		p.Clear()
		if got := w.next(); got != "\x1b[2J\x1b[Haaaa\x1b[K\x1b[2;1H\x1b[J" {
			t.Errorf("a wiped terminal is written %q", got)
		}
	})
}

// The first of many frames is painted at once, the last within a sixtieth of a second, and of
// those between as few as that allows. Then nothing runs.
func TestPaint_isBoundedBySixtyFramesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := taken(t)
		for i := range 1000 {
			p.Paint(strconv.Itoa(i))
			if i == 0 && len(w.writes) != 1 {
				t.Errorf("the first frame waits")
			}
			time.Sleep(time.Millisecond)
		}
		p.Paint("last")
		time.Sleep(time.Second / 60)
		synctest.Wait()
		if n := len(w.writes); n < 55 || n > 62 || !strings.Contains(w.writes[n-1], "last") {
			t.Errorf("%d frames in a second, the last %q", n, w.writes[n-1])
		}
		w.next()
		time.Sleep(time.Hour)
		if got := w.next(); got != "" {
			t.Errorf("an hour later %q", got)
		}
	})
}

// Nothing is painted while someone else has the terminal, and what came then is painted afterwards.
func TestLend_givesTheTerminalAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := taken(t)
		p.Paint("one ")
		p.Paint("wait")
		w.next()
		failed := errors.New("the editor failed")
		err := p.Lend(func() error {
			got := w.next()
			for _, seq := range []string{"\x1b[?1002l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[?25h", "\x1b[?7h", "\x1b[?1049l"} {
				if !strings.Contains(got, seq) {
					t.Errorf("it is given back without %q: %q", seq, got)
				}
			}
			p.Paint("two ")
			p.Clear()
			time.Sleep(time.Second)
			if got := w.next(); got != "" {
				t.Errorf("the borrower sees %q", got)
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("error %v", err)
		}
		got := w.next()
		begins := []string{"\x1b[?7l", "\x1b[?1049h", "\x1b[2J", "\x1b[?25l", "\x1b[?2004h", "\x1b[?1002h", "\x1b[?1006h", "two "}
		places := make([]int, len(begins))
		for i, seq := range begins {
			places[i] = strings.Index(got, seq)
		}
		if places[0] < 0 || !slices.IsSorted(places) {
			t.Errorf("it is taken again with %q", got)
		}
		if err := errors.Join(p.Give(), p.Give()); err != nil || strings.Count(w.next(), "\x1b[?1049l") != 1 {
			t.Errorf("given back twice: %v", err)
		}
	})
}
