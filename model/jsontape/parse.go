package jsontape

import (
	"bytes"
	"fmt"
	"slices"
)

// Parse reads a JSON text. It accepts exactly what json.Valid accepts; the
// error is a *[SyntaxError], at the byte that is wrong. Invalid UTF-8 and lone
// surrogates are accepted, as encoding/json does. Texts of 4 GiB and more are
// refused.
func Parse(data []byte) (*Tape, error) {
	p := parser{data: data}
	if err := p.readAll(0); err != nil {
		return nil, err
	}
	return p.tape(), nil
}

// ParseTolerant reads a JSON text as [Parse] does, takes NaN, Infinity,
// -Infinity and a byte order mark as well, and reports those, invalid UTF-8,
// lone surrogates and duplicate keys in the order of the text, [MaxWarnings]
// at most. The error is a *[SyntaxError]; warnings come only with a tape.
func ParseTolerant(data []byte) (*Tape, []Warning, error) {
	p := parser{data: data, tolerant: true}
	if err := p.readAll(markLen(data)); err != nil {
		return nil, nil, err
	}
	t := p.tape()
	return t, t.warnings(), nil
}

// Prefix parses the first limit bytes of a text, so that the first screen need not wait for the rest. It
// never fails: where the text was cut, or where it is wrong, the tape ends and the open containers and the
// value that was cut are marked as unfinished. It takes what [ParseTolerant] takes. A node keeps its number
// in the tape of the whole text.
func Prefix(data []byte, limit int) *Tape {
	cut := data[:min(max(limit, 0), len(data))]
	p := parser{data: cut, tolerant: true}
	if p.readAll(markLen(cut)) != nil {
		p.leaveOpen()
	} else if len(cut) < len(data) && p.nodes[0].kind == Number {
		p.nodes[0].flags |= unfinished
	}
	return p.tape()
}

var mark = []byte("\ufeff")

func markLen(data []byte) int {
	if bytes.HasPrefix(data, mark) {
		return len(mark)
	}
	return 0
}

// leaveOpen marks the containers around the place where the text was cut.
func (p *parser) leaveOpen() {
	end := uint32(len(p.data))
	if len(p.nodes) == 0 {
		p.nodes = []node{{parent: None, next: 1, flags: unfinished, start: end, end: end}}
	}
	for n := p.open; n >= 0; n = p.nodes[n].parent {
		v := &p.nodes[n]
		v.flags |= unfinished
		v.end, v.next = end, Node(len(p.nodes))
		if v.kind == Object {
			p.shadows.noteShadows(p.data, p.nodes, n)
		}
	}
}

// parser builds a tape. The chain of parents is its stack.
type parser struct {
	data     []byte
	nodes    []node
	open     Node // innermost open container, -1 for none
	shadows  shadows
	tolerant bool
}

func (p *parser) tape() *Tape {
	slices.Sort(p.shadows.found)
	return &Tape{data: p.data, nodes: p.nodes, shadowed: p.shadows.found}
}

// readAll reads one value that starts at or after i and is all there is.
func (p *parser) readAll(i int) error {
	p.open = None
	if len(p.data) > maxSize {
		return &SyntaxError{Offset: maxSize, Msg: "text of 4 GiB or more"}
	}
	data := p.data
	var key uint32
	var flags flag
	for {
		// A value has to start here.
		i = skipSpace(data, i)
		if i >= len(data) {
			return endOfText(data)
		}
		if len(p.nodes) == cap(p.nodes) {
			p.growNodes(i)
		}
		n := len(p.nodes)
		p.nodes = p.nodes[:n+1]
		v := &p.nodes[n]
		*v = node{start: uint32(i), key: key, parent: p.open, next: Node(n) + 1, flags: flags}
		flags = 0
		if p.open >= 0 {
			parent := &p.nodes[p.open]
			v.index, v.depth = parent.count, parent.depth+1
			parent.count++
		}
		switch c := data[i]; c {
		case '{', '[':
			if v.depth >= MaxDepth {
				p.dropLast()
				return &SyntaxError{Offset: int64(i), Msg: fmt.Sprintf("nested deeper than %d", MaxDepth), Deep: true}
			}
			v.kind = Array
			if c == '{' {
				v.kind = Object
			}
			p.open = Node(n)
			i = skipSpace(data, i+1)
			if i >= len(data) {
				return endOfText(data)
			}
			if data[i] != c+2 { // '}' is '{'+2 and ']' is '['+2
				if c == '[' {
					continue
				}
				var err error
				if i, key, flags, err = p.readKey(i); err != nil {
					return err
				}
				continue
			}
		case '"':
			end, found, err := stringEnd(data, i+1)
			v.kind = String
			if found&respelled != 0 {
				v.flags |= valueRespelled
			}
			if err != nil {
				p.cutValue(err)
				return err
			}
			v.end = uint32(end)
			i = end
		default:
			end, err := p.readScalar(v, i)
			if err != nil {
				p.cutValue(err)
				return err
			}
			v.end = uint32(end)
			i = end
		}
		// A value has ended, or an empty container is about to.
		for {
			i = skipSpace(data, i)
			if p.open < 0 {
				if i < len(data) {
					return unexpectedError(data, i, "the end of the text")
				}
				return nil
			}
			if i >= len(data) {
				return endOfText(data)
			}
			o := &p.nodes[p.open]
			c := data[i]
			if c == ',' {
				i++
				if o.kind == Object {
					var err error
					if i, key, flags, err = p.readKey(skipSpace(data, i)); err != nil {
						return err
					}
				}
				break
			}
			if o.kind == Object && c != '}' || o.kind == Array && c != ']' {
				if o.kind == Object {
					return unexpectedError(data, i, "a comma or '}'")
				}
				return unexpectedError(data, i, "a comma or ']'")
			}
			i++
			o.end, o.next = uint32(i), Node(len(p.nodes))
			if o.kind == Object && o.count > 1 {
				p.shadows.noteShadows(data, p.nodes, p.open)
			}
			p.open = o.parent
		}
	}
}

// growNodes makes room for as many nodes as the part of the text that was read lets
// expect, but at most four times as many as there are: a text that starts with
// many small values may end with one large one.
func (p *parser) growNodes(read int) {
	have := len(p.nodes)
	want := min(64, len(p.data)/8+4) // most texts are the arguments of a call: a few values
	if have > 0 {
		perByte := float64(have) / float64(max(read, 1))
		want = int(perByte*float64(len(p.data))*1.03) + 16
		want = min(max(want, have+have/4+16), 4*have)
	}
	nodes := make([]node, have, want)
	copy(nodes, p.nodes)
	p.nodes = nodes
}

// cutValue decides about the value that was being read when an error came: one that
// the end of the text cut off stays, as unfinished; one that is wrong goes. Only
// [Prefix] looks at the tape after an error.
func (p *parser) cutValue(err error) {
	if e, ok := err.(*SyntaxError); ok && e.Offset < int64(len(p.data)) {
		p.dropLast()
		return
	}
	v := &p.nodes[len(p.nodes)-1]
	v.end = uint32(len(p.data))
	v.flags |= unfinished
}

// dropLast takes the last value off the tape.
func (p *parser) dropLast() {
	p.nodes = p.nodes[:len(p.nodes)-1]
	if p.open >= 0 {
		p.nodes[p.open].count--
	}
}

// readKey reads the key that has to start at i and its colon, and returns the byte
// after it, the key's opening quote, and the flags for its node.
func (p *parser) readKey(i int) (after int, start uint32, flags flag, err error) {
	data := p.data
	if i >= len(data) {
		return 0, 0, 0, endOfText(data)
	}
	if data[i] != '"' {
		return 0, 0, 0, unexpectedError(data, i, "a key")
	}
	start = uint32(i)
	end, found, err := stringEnd(data, i+1)
	if err != nil {
		return 0, 0, 0, err
	}
	if found&escaped != 0 {
		flags = keyEscaped
	}
	if found&respelled != 0 {
		flags |= keyRespelled
	}
	i = skipSpace(data, end)
	if i >= len(data) {
		return 0, 0, 0, endOfText(data)
	}
	if data[i] != ':' {
		return 0, 0, 0, unexpectedError(data, i, "a colon")
	}
	return i + 1, start, flags, nil
}

// escapes tells about the escapes of a string: whether there are any, and
// whether there are some that another spelling could stand for.
type escapes uint8

const (
	escaped escapes = 1 << iota
	respelled
)

// simple maps a character that alone makes an escape to its flags.
var simple = [256]escapes{'"': escaped, '\\': escaped, 'b': escaped, 'f': escaped, 'n': escaped, 'r': escaped, 't': escaped, '/': escaped | respelled}

// stringEnd checks the string whose first byte after the opening quote is i and
// returns the byte after its closing quote.
func stringEnd(data []byte, i int) (end int, found escapes, err error) {
	for {
		more, tells := stringSkip(data, i)
		i, found = more, found|tells
		if i >= len(data) {
			return 0, found, endOfText(data)
		}
		if data[i] == '"' {
			return i + 1, found, nil
		}
		if data[i] != '\\' {
			return 0, found, unexpectedError(data, i, "no control character in a string")
		}
		found |= escaped
		i++
		if i >= len(data) {
			return 0, found, endOfText(data)
		}
		if data[i] != 'u' {
			return 0, found, unexpectedError(data, i, "an escape")
		}
		found |= respelled
		i++
		for end := i + 4; i < end; i++ {
			if i >= len(data) {
				return 0, found, endOfText(data)
			}
			if _, ok := hexDigit(data[i]); !ok {
				return 0, found, unexpectedError(data, i, "a hex digit")
			}
		}
	}
}

// readScalar reads the number or literal that has to start at i into v.
func (p *parser) readScalar(v *node, i int) (end int, err error) {
	word := ""
	switch c := p.data[i]; {
	case c == 't':
		v.kind, word = True, "true"
	case c == 'f':
		v.kind, word = False, "false"
	case c == 'n':
		v.kind, word = Null, "null"
	case p.tolerant && c == 'N':
		v.kind, word = Number, "NaN"
	case p.tolerant && c == 'I':
		v.kind, word = Number, "Infinity"
	case p.tolerant && c == '-' && i+1 < len(p.data) && p.data[i+1] == 'I':
		v.kind, word = Number, "-Infinity"
	case c == '-' || isDigit(c):
		v.kind = Number
		end, ok := numberEnd(p.data, i)
		if !ok || end == len(p.data) && p.open >= 0 {
			return 0, unexpectedError(p.data, end, "a digit")
		}
		return end, nil
	default:
		return 0, unexpectedError(p.data, i, "a value")
	}
	if v.kind == Number {
		v.flags |= named
	}
	for j := range len(word) {
		if i+j >= len(p.data) {
			return 0, endOfText(p.data)
		}
		if p.data[i+j] != word[j] {
			return 0, unexpectedError(p.data, i+j, word)
		}
	}
	return i + len(word), nil
}

func endOfText(data []byte) error {
	return &SyntaxError{Offset: int64(len(data)), Msg: "unexpected end of text"}
}

func unexpectedError(data []byte, i int, want string) error {
	if i >= len(data) {
		return endOfText(data)
	}
	return &SyntaxError{Offset: int64(i), Msg: fmt.Sprintf("unexpected %q, want %s", data[i:i+1], want)}
}
