package chat

import (
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/google/uuid"
)

// plainID matches an id that is shown as it is.
var plainID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.-]{1,128}$`) })

// IsPlainID reports whether a text of a file can be shown as the id of a session.
func IsPlainID(id string) bool { return plainID().MatchString(id) }

var lowerUUID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
})

var errNotUUID = errors.New("its ids are UUIDs in lower case, such as 0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b9ad")

// UUID4 returns the UUID in lower case that as is, and a random one where as is "".
func UUID4(as string) (string, error) {
	if as == "" {
		return uuid.NewString(), nil
	}
	return checkID(as)
}

// UUID7 returns the UUID in lower case that as is, and one of now where as is "": later ones
// are greater.
func UUID7(as string) (string, error) {
	if as == "" {
		id, err := uuid.NewV7()
		return id.String(), err
	}
	return checkID(as)
}

func checkID(as string) (string, error) {
	if !lowerUUID().MatchString(as) {
		return "", errNotUUID
	}
	return as, nil
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
	if u.taken[one] = true; one != id {
		u.next[id] = n
	}
	return one
}
