package traces

import (
	"iter"

	"hindcast/model/jsontape"
)

// elements returns the elements of the array that an object's member is, none
// where it is no array.
func elements(object []byte, key string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		list := jsontape.FindMember(object, key)
		if len(list) == 0 || list[0] != '[' {
			return
		}
		for m, err := range jsontape.Members(list) {
			if !yield(m.Value, err) {
				return
			}
		}
	}
}
