package splice

import "hindcast/model/jsontape"

// mostIndent is how many levels are indented. Deeper ones stand below each other,
// or the white space of a text that is nested 10,000 deep would fill the memory.
const mostIndent = 64

// Pretty returns a value with a line for each of its parts, indented by two spaces.
// Each part stays as it is, byte for byte. The value must be JSON, as [At] returns
// it. The text ends with a line break.
func Pretty(value []byte) []byte {
	out := make([]byte, 0, len(value)+len(value)/2)
	depth := 0
	line := func() {
		out = append(out, '\n')
		for range min(depth, mostIndent) {
			out = append(out, ' ', ' ')
		}
	}
	compact := jsontape.AppendCompact(nil, value)
	for i := 0; i < len(compact); {
		switch c := compact[i]; c {
		case '{', '[':
			out = append(out, c)
			i++
			if i < len(compact) && compact[i] == c+2 { // ] is [+2, } is {+2
				out = append(out, compact[i])
				i++
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			out = append(out, c)
			i++
		case ',':
			out = append(out, c)
			i++
			line()
		case ':':
			out = append(out, ':', ' ')
			i++
		case '"':
			end := jsontape.StringEnd(compact, i)
			if end < 0 {
				end = len(compact)
			}
			out = append(out, compact[i:end]...)
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return append(out, '\n')
}
