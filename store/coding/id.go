package coding

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"regexp"
	"time"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// UUID4 returns as, if it is a UUID in lower case, else a random one.
func UUID4(as string) string {
	if uuid.MatchString(as) {
		return as
	}
	return newUUID(4, nil)
}

// UUID7 returns as, if it is a UUID in lower case, else one of now: later ones are greater.
func UUID7(as string) string {
	if uuid.MatchString(as) {
		return as
	}
	return newUUID(7, binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli()))[2:])
}

// IDs tells apart what has one id. The zero value is ready.
type IDs struct {
	taken map[string]bool
	// next is the number that the next one of an id may get.
	next map[string]int
}

// Take returns an id that was not taken: id itself, or with a number behind, "a~2".
func (u *IDs) Take(id string) string {
	if u.taken == nil {
		u.taken, u.next = map[string]bool{}, map[string]int{}
	}
	one, n := id, max(u.next[id], 2)
	for ; u.taken[one] || one == ""; n++ {
		one = fmt.Sprintf("%s~%d", id, n)
	}
	u.taken[one], u.next[id] = true, n
	return one
}

func newUUID(version byte, first []byte) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	copy(b[:], first)
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
