package jsontape

// Valid reports whether data is one JSON text. It accepts exactly what
// json.Valid accepts, as [Parse] does, but keeps nothing of it and takes texts
// of any size.
func Valid(data []byte) bool {
	v := validator{data: data}
	return v.validateAll()
}

// validator goes through a text with one bit for each container that is open.
type validator struct {
	data []byte
	// objects has the bits, set for an object; depth is how many there are.
	objects [MaxDepth/64 + 1]uint64
	depth   int
}

func (v *validator) validateAll() bool {
	data := v.data
	i := 0
	for {
		// A value has to start here.
		i = skipSpace(data, i)
		if i >= len(data) {
			return false
		}
		switch c := data[i]; c {
		case '{', '[':
			if v.depth >= MaxDepth {
				return false
			}
			v.openContainer(c == '{')
			i = skipSpace(data, i+1)
			if i >= len(data) {
				return false
			}
			if data[i] != c+2 { // '}' is '{'+2 and ']' is '['+2
				if c == '{' {
					if i = validKey(data, i); i < 0 {
						return false
					}
				}
				continue
			}
		case '"':
			end, _, err := stringEnd(data, i+1)
			if err != nil {
				return false
			}
			i = end
		default:
			if i = v.scanScalar(i); i < 0 {
				return false
			}
		}
		// A value has ended, or an empty container is about to.
		for {
			i = skipSpace(data, i)
			if v.depth == 0 {
				return i == len(data)
			}
			if i >= len(data) {
				return false
			}
			closing := byte(']')
			if v.inObject() {
				closing = '}'
			}
			if data[i] == closing {
				v.depth--
				i++
				continue
			}
			if data[i] != ',' {
				return false
			}
			i++
			if closing == '}' {
				if i = validKey(data, skipSpace(data, i)); i < 0 {
					return false
				}
			}
			break
		}
	}
}

func (v *validator) openContainer(object bool) {
	word, bit := v.depth/64, uint64(1)<<(v.depth%64)
	v.objects[word] &^= bit
	if object {
		v.objects[word] |= bit
	}
	v.depth++
}

func (v *validator) inObject() bool {
	d := v.depth - 1
	return v.objects[d/64]>>(d%64)&1 != 0
}

// scanScalar returns the end of the number or literal at i, -1 if it is neither.
func (v *validator) scanScalar(i int) int {
	word := ""
	switch v.data[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	default:
		end, ok := numberEnd(v.data, i)
		if !ok {
			return -1
		}
		return end
	}
	if len(v.data)-i < len(word) || string(v.data[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// validKey returns the byte after the key at i and its colon, -1 if they are not
// there.
func validKey(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return -1
	}
	end, _, err := stringEnd(data, i+1)
	if err != nil {
		return -1
	}
	i = skipSpace(data, end)
	if i >= len(data) || data[i] != ':' {
		return -1
	}
	return i + 1
}
