package gemini

import (
	"path/filepath"
	"strconv"
	"time"

	"hindcast/store/engine/chat"
)

const (
	// keptFor is how long Gemini CLI keeps a session that does not change, unless general.sessionRetention.maxAge says
	// otherwise, and leastKept the least that it takes for that, unless minRetention does.
	keptFor, leastKept = "30d", "1d"
	// settingsFile is beside the folder of all sessions.
	settingsFile = "settings.json"
)

// periods are the units of a period.
var periods = map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour, 'm': 30 * 24 * time.Hour}

// readPeriod reads a period such as 30d; false where it is none.
func readPeriod(text string) (time.Duration, bool) {
	if len(text) < 2 {
		return 0, false
	}
	unit, known := periods[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
	return time.Duration(n) * unit, known && n > 0 && err == nil
}

// lifetimeOf returns how long Gemini CLI keeps a session, 0 for ever, and for a copy of its folder. The rule is that of
// identifySessionsToDelete and validateRetentionConfig in Gemini CLI 0.61: settings that do not hold delete nothing.
func lifetimeOf(dir string) time.Duration {
	if filepath.Base(dir) != "tmp" || filepath.Base(filepath.Dir(dir)) != ".gemini" {
		return 0
	}
	kept := chat.ReadSettings(filepath.Dir(dir), settingsFile).Get("general", "sessionRetention")
	age, least := keptFor, leastKept
	if is := kept.Get("maxAge"); is.There() {
		age = is.Text()
	}
	if is := kept.Get("minRetention"); is.There() {
		least = is.Text()
	}
	from, ok := readPeriod(least)
	if !ok {
		from, _ = readPeriod(leastKept)
	}
	lifetime, ok := readPeriod(age)
	if on := kept.Get("enabled"); on.There() && !on.True() || !ok || lifetime < from {
		return 0
	}
	return lifetime
}
