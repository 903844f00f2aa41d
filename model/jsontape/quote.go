package jsontape

import "encoding/json"

// AppendQuoted appends a text as a JSON string, as encoding/json marshals it.
func AppendQuoted(dst []byte, text string) []byte {
	if plain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always marshalled
	}
	return append(dst, quoted...)
}

// plain reports whether a text is nothing but digits.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
