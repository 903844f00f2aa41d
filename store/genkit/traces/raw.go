package traces

import (
	"iter"

	"hindcast/model/jsontape"
)

// member gives the value of an object's member as it stands in the text; nil if
// there is none, or no object. key is in quotes. Of several it is the last.
func member(object []byte, key string) (value []byte) {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	for m, err := range jsontape.Members(object) {
		if err != nil {
			return nil
		}
		if string(m.Key) == key {
			value = m.Value
		}
	}
	return value
}

// elements gives the elements of the array that an object's member is, none
// where it is no array.
func elements(object []byte, key string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		list := member(object, key)
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
