package when

import (
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		before time.Duration
		want   string
	}{
		{0, "just now"},
		{59 * time.Second, "just now"},
		{time.Minute, "1 min ago"},
		{59*time.Minute + 59*time.Second, "59 min ago"},
		{time.Hour, "1 h ago"},
		{day - 1, "23 h ago"},
		{day, "1 d ago"},
		{364 * day, "364 d ago"},
		{800 * day, "2 y ago"},
		{-time.Second, "in future"},
	} {
		if got := Ago(now, now.Add(-c.before)); got != c.want {
			t.Errorf("%v before now is %q, not %q", c.before, got, c.want)
		}
	}
	if got := Ago(now, time.Time{}); got != "" {
		t.Errorf("no time is %q", got)
	}
}
