package jsontape

const (
	classOther = iota
	classOpen
	classClose
	classQuote
	classSpace
	classComma
)

var classes = func() (c [256]uint8) {
	c['{'], c['['] = classOpen, classOpen
	c['}'], c[']'] = classClose, classClose
	c['"'] = classQuote
	c[' '], c['\t'], c['\n'], c['\r'] = classSpace, classSpace, classSpace, classSpace
	c[','] = classComma
	return c
}()

// Skip returns the end of the value that starts at off, white space before it
// allowed. It looks at the structure only: strings end, and brackets balance.
// What is wrong inside is not its business, so a value that comes from outside
// has to go through [Parse] before anyone relies on it. It allocates only for
// the error, a *[SyntaxError].
func Skip(data []byte, off int) (end int, err error) {
	i := skipSpace(data, max(off, 0))
	if i >= len(data) {
		return 0, endOfText(data)
	}
	switch classes[data[i]] {
	case classQuote:
		i = closingQuote(data, i+1)
		if i >= len(data) {
			return 0, endOfText(data)
		}
		return i + 1, nil
	case classOpen:
		return skipContainer(data, i+1)
	case classOther:
		start := i
		for i < len(data) && classes[data[i]] == classOther && data[i] != ':' {
			i++
		}
		if i > start {
			return i, nil
		}
	}
	return 0, unexpectedError(data, i, "a value")
}

// StringEnd returns the byte after the closing quote of the string whose opening
// quote is at off, or -1 if it is not closed. Like [Skip], it does not look at
// what is in the string.
func StringEnd(data []byte, off int) int {
	end := closingQuote(data, off+1)
	if end >= len(data) {
		return -1
	}
	return end + 1
}

// skipContainer returns the byte after the bracket that closes the container
// whose first byte after the opening bracket is i.
func skipContainer(data []byte, i int) (int, error) {
	depth := 1
	for i < len(data) {
		switch classes[data[i]] {
		case classQuote:
			i = closingQuote(data, i+1)
		case classOpen:
			depth++
		case classClose:
			depth--
			if depth == 0 {
				return i + 1, nil
			}
		case classSpace:
			i = skipSpace(data, i)
			continue
		}
		i++
	}
	return 0, endOfText(data)
}
