//go:build race

package skip

const raceEnabled = true
