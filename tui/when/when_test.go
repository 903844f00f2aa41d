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

// How long after the row before takes four cells at most, whatever it was.
func TestDuration_takesFourCells(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "+0s", time.Millisecond: "<.1s", -time.Microsecond: "<.1s", 999 * time.Millisecond: "+.9s", time.Second: "+1s",
		82 * time.Second: "+82s", 99*time.Second + 700*time.Millisecond: "+2m", 6 * time.Minute: "+6m", -6 * time.Minute: "-6m",
		99*time.Minute + 40*time.Second: "+2h", 99*time.Hour + 40*time.Minute: "+4d", 100 * day: "+14w", 3 * 365 * day: "+3y", 1<<63 - 1: "+292y",
	} {
		if got := string(AppendShort(nil, d)); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for d := time.Duration(1); d < 99*365*day; d += d/13 + 1 {
		if got := string(AppendShort(nil, d)); len(got) > 4 {
			t.Fatalf("%v is %q", d, got)
		}
	}
}
