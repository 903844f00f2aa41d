package snapshots

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"
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
	last   uint64 // the first half of the last id, 0 for none
}

const (
	lastMilli = 1<<48 - 1
	lastCount = 1<<12 - 1
	version7  = 7 << 12
)

// halfOf returns the first half of an id: its time, its version and its counter. What is no UUID of version 7
// has none, and sorts wherever it likes: the SDKs do not list it.
func halfOf(id string) (half uint64, ok bool) {
	if !uuid7().MatchString(id) {
		return 0, false
	}
	u, err := uuid.Parse(id)
	return binary.BigEndian.Uint64(u[:]), err == nil
}

// noteID takes note of an id that is there.
func (m *minter) noteID(id string) {
	half, _ := halfOf(id)
	m.last = max(m.last, half)
}

// mintID makes the id of a snapshot that is taken at a time.
func (m *minter) mintID(at time.Time) (string, error) {
	var u uuid.UUID
	m.random(u[6:])
	seed := uint64(version7 | binary.BigEndian.Uint16(u[6:])&(lastCount>>1)) // leaves half of the counter
	ms := uint64(min(max(at.UnixMilli(), 0), lastMilli))
	switch last := m.last >> 16; {
	case m.last == 0 || ms > last:
		m.last = ms<<16 | seed
	case m.last&lastCount < lastCount:
		m.last++
	case last < lastMilli:
		m.last = (last+1)<<16 | seed
	default:
		return "", errNoLaterID
	}
	binary.BigEndian.PutUint64(u[:], m.last)
	u[8] = u[8]&0x3f | 0x80
	return u.String(), nil
}
