package chat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
)

// Records are messages ("m") or others ("."), each behind another one.
func TestLineage(t *testing.T) {
	for _, c := range []struct {
		says   string
		up     []int
		before string // of each record: the message before it, and where the way of one without ends
		way    []int  // to the last
		left   string // why entries are off the path: entry>target
	}{
		{"mmm", []int{-1, 0, 1}, "-1/0 0 1", []int{0, 1, 2}, ""},
		{"m.m", []int{-1, 0, 1}, "-1/0 0 0", []int{0, 1, 2}, ""},
		{"..m", []int{-1, 0, 1}, "-1/0 -1/0 -1/0", []int{0, 1, 2}, ""},
		{".mm", []int{Missing, 0, 1}, "-1/0 -1/0 1", []int{0, 1, 2}, ""},
		{"mmm", []int{-1, 0, 0}, "-1/0 0 0", []int{0, 2}, "1>0"},
		{"mm.m", []int{-1, 0, 0, 2}, "-1/0 0 0 0", []int{0, 2, 3}, "1>0"},
		{"mmm", []int{-1, 0, -1}, "-1/0 0 -1/2", []int{2}, "0> 1>"},
		{"mmm", []int{-1, 0, Missing}, "-1/0 0 -1/2", []int{2}, ""},
		{"mm", []int{1, -1}, "1 -1/1", []int{1}, "0>"},
		{"mm", []int{1, 0}, "1 0", []int{0, 1}, ""},
		{"..m", []int{1, 0, 1}, "-1/0 -1/0 -1/0", []int{0, 1, 2}, ""},
		{"m", []int{0}, "0", []int{0}, ""},
	} {
		l := NewLineage(c.up, func(i int) bool { return c.says[i] == 'm' })
		var before []string
		s, entry := &Session{}, make([]int, len(c.up))
		for i := range c.up {
			message, end := l.Before(i)
			words := fmt.Sprint(message)
			if message < 0 {
				words += fmt.Sprint("/", end)
			}
			before = append(before, words)
			if c.says[i] == 'm' {
				entry[i] = len(s.Entries)
				s.Entries = append(s.Entries, Entry{ID: fmt.Sprint(len(s.Entries))})
				if l.Message(i) != i {
					t.Errorf("%s: record %d is the message %d", c.says, i, l.Message(i))
				}
			}
		}
		if got := strings.Join(before, " "); got != c.before {
			t.Errorf("%s %v: before are %s, want %s", c.says, c.up, got, c.before)
		}
		if way := l.Way(len(c.up) - 1); !slices.Equal(way, c.way) {
			t.Errorf("%s %v: the way is %v, want %v", c.says, c.up, way, c.way)
		}
		l.MarkLeft(s, entry, func(int) (time.Time, bool) { return time.Unix(1, 0), true })
		var left []string
		for _, e := range s.Entries {
			if e.Reason != nil && e.Reason.Kind == model.ReasonWentOn {
				left = append(left, e.ID+">"+e.Reason.TargetID)
			}
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%s %v: left are %s, want %s", c.says, c.up, got, c.left)
		}
	}
}
