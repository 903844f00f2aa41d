package genkit

import "hindcast/model/jsontape"

// walkValue visits the members of the object, or the elements of the array, that starts at off, and returns the
// end of it. visit gets the key with its quotes (nil in an array) and where the value starts, and returns
// where it ends, by [jsontape.Skip] or by walking it in turn: so every byte is looked at once, however deep
// the members lie that are wanted. That is its advantage over [jsontape.Members].
//
// The error is a *[jsontape.SyntaxError], or the error of visit. The members before the error were visited.
func walkValue(data []byte, off int, visit func(key []byte, at int) (end int, err error)) (end int, err error) {
	at := skipSpace(data, off)
	if at >= len(data) || data[at] != '{' && data[at] != '[' {
		return 0, syntaxError(at, "no object and no array")
	}
	object := data[at] == '{'
	closing := data[at] + 2 // in ASCII each bracket is two before its partner
	if at = skipSpace(data, at+1); at < len(data) && data[at] == closing {
		return at + 1, nil
	}
	for {
		var key []byte
		if object {
			if at >= len(data) || data[at] != '"' {
				return 0, syntaxError(at, "no key")
			}
			end := jsontape.StringEnd(data, at)
			if end < 0 {
				return 0, syntaxError(len(data), "a key that does not end")
			}
			key = data[at:end]
			if at = skipSpace(data, end); at >= len(data) || data[at] != ':' {
				return 0, syntaxError(at, "no colon after a key")
			}
			at++
		}
		if at, err = visit(key, skipSpace(data, at)); err != nil {
			return 0, err
		}
		at = skipSpace(data, at)
		switch {
		case at >= len(data):
			return 0, syntaxError(at, "the text ends too early")
		case data[at] == closing:
			return at + 1, nil
		case data[at] != ',':
			return 0, syntaxError(at, "no comma after a value")
		}
		at = skipSpace(data, at+1)
	}
}

func syntaxError(at int, msg string) error {
	return &jsontape.SyntaxError{Offset: int64(at), Msg: msg}
}

// skipSpace returns the first byte from off on that is no white space, or the end.
func skipSpace(data []byte, off int) int {
	for off < len(data) {
		switch data[off] {
		case ' ', '\t', '\n', '\r':
			off++
		default:
			return off
		}
	}
	return off
}
