package splice

import (
	"bytes"
	"io"

	"hindcast/model/jsontape"
)

// mostIndent is how many levels are indented. Deeper ones stand below each other,
// or the white space of a text that is nested 10,000 deep would fill the memory.
const mostIndent = 64

// prettyPart is how many bytes PrettyTo gathers before it writes them.
const prettyPart = 32 << 10

// Pretty returns the output of PrettyTo.
func Pretty(value []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(value) + len(value)/2)
	_ = PrettyTo(&out, value) // a buffer takes everything
	return out.Bytes()
}

// PrettyTo writes a value with a line for each of its parts, indented by two spaces.
// Each part stays as it is, byte for byte. The value must be JSON, as [At] returns
// it. The text ends with a line break, and so does each part of it that is written, so
// that a large value takes no memory for its text. The error is that of w.
func PrettyTo(w io.Writer, value []byte) error {
	out := make([]byte, 0, min(len(value)+len(value)/2, 2*prettyPart))
	var err error
	depth := 0
	line := func() {
		out = append(out, '\n')
		if len(out) >= prettyPart && err == nil {
			_, err = w.Write(out)
			out = out[:0]
		}
		for range min(depth, mostIndent) {
			out = append(out, ' ', ' ')
		}
	}
	for i := 0; i < len(value) && err == nil; {
		c := value[i]
		i++
		switch c {
		case ' ', '\t', '\n', '\r':
		case '{', '[':
			out = append(out, c)
			for i < len(value) && isSpace(value[i]) {
				i++
			}
			if i < len(value) && value[i] == c+2 { // ] is [+2, } is {+2
				out = append(out, value[i])
				i++
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			out = append(out, c)
		case ',':
			out = append(out, c)
			line()
		case ':':
			out = append(out, ':', ' ')
		case '"':
			end := jsontape.StringEnd(value, i-1)
			if end < 0 {
				end = len(value)
			}
			out = append(out, value[i-1:end]...)
			i = end
		default:
			out = append(out, c)
		}
	}
	if err == nil {
		_, err = w.Write(append(out, '\n'))
	}
	return err
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
