package snapshots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// errNoLaterID: there is a snapshot behind which none can be sorted.
var errNoLaterID = errors.New("the newest snapshot has the last id that there is: no other can be sorted behind it")

// minter makes ids of snapshots as both SDKs do: UUIDs of version 7 whose first
// bits are a time in milliseconds and then a counter, so that ids sort in the
// order in which they were made (RFC 9562, section 6.2, method 2). Each sorts
// after all before it, whatever the clock says: where the clock is behind, the
// counter goes on from the last id, and lends from the milliseconds when it is
// full. It is not safe for concurrent use.
type minter struct {
	// random fills with random bytes and never fails.
	random func([]byte)
	ms     int64 // of the last id
	count  int64 // its 12 bits behind the version
	any    bool  // whether there was one
}

const (
	lastMilli = 1<<48 - 1
	lastCount = 1<<12 - 1
)

// after takes note of an id that is there. What is no UUID of version 7 sorts
// wherever it likes: the SDKs do not list it.
func (m *minter) after(id string) {
	if !uuid7().MatchString(id) {
		return
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	count, err2 := strconv.ParseInt(id[15:18], 16, 64)
	if err != nil || err2 != nil {
		return // the pattern says otherwise
	}
	if !m.any || ms > m.ms || ms == m.ms && count > m.count {
		m.ms, m.count, m.any = ms, count, true
	}
}

// mint makes the id of a snapshot that is taken at a time.
func (m *minter) mint(at time.Time) (string, error) {
	var random [10]byte
	m.random(random[:])
	seed := int64(binary.BigEndian.Uint16(random[8:]) & 0x07ff) // leaves half of the counter
	switch ms := min(max(at.UnixMilli(), 0), lastMilli); {
	case !m.any || ms > m.ms:
		m.ms, m.count = ms, seed
	case m.count < lastCount:
		m.count++
	case m.ms < lastMilli:
		m.ms, m.count = m.ms+1, seed
	default:
		return "", errNoLaterID
	}
	m.any = true
	random[0] = random[0]&0x3f | 0x80
	return fmt.Sprintf("%08x-%04x-7%03x-%02x%02x-%012x", m.ms>>16, m.ms&0xffff, m.count,
		random[0], random[1], random[2:8]), nil
}
