package jsontape

// AppendCompact appends JSON without the white space between its values. Each
// value stays byte for byte as it is: numbers of any size, NaN, escapes, and
// bytes that are not UTF-8. The text must have been parsed.
func AppendCompact(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := closingQuote(text, i+1)
			dst = append(dst, text[i:end+1]...)
			i = end + 1
		default:
			start := i
			for i < len(text) && text[i] > ' ' && text[i] != '"' {
				i++
			}
			dst = append(dst, text[start:i]...)
		}
	}
	return dst
}
