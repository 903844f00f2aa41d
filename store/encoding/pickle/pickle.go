// Package pickle writes pickles of Python as JSON. A pickle is a program that calls functions by
// name. This reader imports, calls and opens nothing: it keeps each call as data.
//
//	None, bool, int, float  as in JSON, integers in full; {"$float":"NaN"} for a value outside JSON
//	str                     a string; bytes that are no UTF-8 become U+FFFD
//	bytes, bytearray        {"$bytes":"BASE64"}
//	list, tuple             an array
//	dict                    an object; a key that is no string is the string of its JSON
//	set, frozenset          {"$py":"builtins.set","value":[…]}
//	an object               {"$py":"module.Class"}, "value" with its arguments, and the members of its state
//	a class, a function     {"$global":"module.name"}
//	a persistent id         {"$persistent":id}
//	a value in itself       {"$cycle":LEVELS}: the container so many levels further out
//
// Objects have the shape that store/kinds/langgraph writes of MessagePack's extensions.
//
// The package github.com/nlpodyssey/gopickle reads pickles too. In its version 0.3.0 it
// makes a buffer of any length that the data names before it reads (pickle.go, read and
// loadFrame), and bounds neither values nor memo. It leaves shared values, which unfold, and
// values that contain themselves to the caller. Making it safe would take more code than this
// reader.
//
// Bounds: memory in proportion to the data, at most maxValues values, maxDepth levels, and JSON
// that is maxGrowth times as long as the data.
package pickle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
)

const (
	// maxValues bounds how many values there are, on the stack or in the memo.
	maxValues = 1 << 19
	// maxDepth bounds how deep values nest: Python's own recursion ends there.
	maxDepth = 1000
	// maxGrowth bounds the JSON by the length of the data, as package msgpack does.
	maxGrowth = 64
	// maxNames bounds how many classes and functions are told.
	maxNames = 100
	// maxDigits bounds an integer: Python itself refuses to write more in decimal.
	maxDigits = 4300
	// maxProtocol is the newest protocol that is read.
	maxProtocol = 5
)

var (
	// ErrShort: the data ends within the pickle.
	ErrShort = errors.New("the pickle ends early")
	// ErrRest: bytes follow the pickle.
	ErrRest = errors.New("bytes follow the pickle")
	// ErrOpcode: a byte is no opcode.
	ErrOpcode = errors.New("no opcode of a pickle")
	// ErrProtocol: the pickle is of a protocol that is not known.
	ErrProtocol = fmt.Errorf("a protocol newer than %d", maxProtocol)
	// ErrStack: an opcode takes what is not there, or what is of another type.
	ErrStack = errors.New("an opcode takes a value that is not there")
	// ErrValues: there are more values than the reader keeps.
	ErrValues = fmt.Errorf("more than %d values", maxValues)
	// ErrDepth: values nest deeper than the reader goes.
	ErrDepth = fmt.Errorf("values nest deeper than %d levels", maxDepth)
	// ErrLarge: the JSON would be many times as long as the data.
	ErrLarge = fmt.Errorf("the JSON is more than %d times as long as the pickle", maxGrowth)
	// ErrNumber: a number cannot be read.
	ErrNumber = fmt.Errorf("no number, or an integer of more than %d digits", maxDigits)
	// ErrText: a text cannot be read.
	ErrText = errors.New("no text")
	// ErrBuffer: a value is outside of the pickle.
	ErrBuffer = errors.New("a value is in a buffer outside of the pickle")
)

// AppendJSON appends the JSON of a pickle, which is all of data, to dst. It returns errors of this package,
// with the byte at which each was found.
func AppendJSON(dst, data []byte) ([]byte, error) {
	m := &machine{in: data, memo: map[uint64]*value{}}
	top, err := m.run()
	if err == nil && m.at < len(m.in) {
		err = ErrRest
	}
	if err != nil {
		return dst, fmt.Errorf("byte %d: %w", m.at, err)
	}
	w := &writer{dst: dst, most: len(dst) + maxGrowth*(len(data)+16)}
	if err := w.writeValue(top); err != nil {
		return dst, err
	}
	return w.dst, nil
}

// Names returns the classes and functions that a pickle names, as "module:name", each once, in order. A nested
// class has dots in its name. For an unreadable pickle it returns the names before the damage.
func Names(data []byte) []string {
	m := &machine{in: data, memo: map[uint64]*value{}}
	_, _ = m.run() // AppendJSON tells of damage
	return m.names
}

// kind is the type of a value.
type kind uint8

const (
	isNone kind = iota
	isBool
	isNumber // text is JSON
	isFloat
	isText
	isBytes
	isList
	isTuple
	isDict
	isSet
	isFrozen
	isGlobal // text is module.name
	isObject
	isPersistent
)

// value is one value. For an object, of is the callable, with holds its arguments, and named its keyword
// arguments; state would be set afterwards. items are its elements, or keys and values in turn.
type value struct {
	kind  kind
	pairs bool // of an object: items are keys and values
	open  int  // at which depth it is being written, 0 for not
	data  []byte
	float float64
	items []*value
	of    *value
	with  *value
	named *value
	state *value
}

// machine runs the opcodes of a pickle.
type machine struct {
	in     []byte
	at     int
	stack  []*value
	marks  []int
	memo   map[uint64]*value
	values int
	names  []string // of classes and functions
}

// run runs the pickle's program and returns its result.
func (m *machine) run() (*value, error) {
	for {
		code, err := m.takeBytes(1)
		if err != nil {
			return nil, err
		}
		if code[0] == '.' {
			return m.pop()
		}
		if err := m.stepOpcode(code[0]); err != nil {
			return nil, err
		}
		if m.values > maxValues || len(m.stack) > maxValues || len(m.marks) > maxValues || len(m.memo) > maxValues {
			return nil, ErrValues
		}
	}
}

// takeBytes returns the next n bytes.
func (m *machine) takeBytes(n uint64) ([]byte, error) {
	if n > uint64(len(m.in)-m.at) {
		return nil, ErrShort
	}
	from := m.at
	m.at += int(n)
	return m.in[from:m.at], nil
}

// readNumber returns a number of so many bytes, the lowest first.
func (m *machine) readNumber(size uint64) (uint64, error) {
	data, err := m.takeBytes(size)
	var whole [8]byte
	copy(whole[:], data)
	return binary.LittleEndian.Uint64(whole[:]), err
}

// countedBytes returns the bytes whose number stands before them in so many bytes.
func (m *machine) countedBytes(size uint64) ([]byte, error) {
	n, err := m.readNumber(size)
	if err != nil {
		return nil, err
	}
	return m.takeBytes(n)
}

// readLine returns the bytes up to the end of the line.
func (m *machine) readLine() ([]byte, error) {
	n := bytes.IndexByte(m.in[m.at:], '\n')
	if n < 0 {
		return nil, ErrShort
	}
	text := m.in[m.at : m.at+n]
	m.at += n + 1
	return text, nil
}

func (m *machine) push(v value) error {
	m.values++
	m.stack = append(m.stack, &v)
	return nil
}

// stackFloor is how far down the stack an opcode may take values.
func (m *machine) stackFloor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) pop() (*value, error) {
	list, err := m.popN(1)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// popN takes the n values on top of the stack.
func (m *machine) popN(n int) ([]*value, error) {
	if len(m.stack)-m.stackFloor() < n {
		return nil, ErrStack
	}
	list := slices.Clone(m.stack[len(m.stack)-n:])
	m.stack = m.stack[:len(m.stack)-n]
	return list, nil
}

// popMark takes the values above the last mark, and the mark.
func (m *machine) popMark() ([]*value, error) {
	if len(m.marks) == 0 {
		return nil, ErrStack
	}
	list, err := m.popN(len(m.stack) - m.stackFloor())
	m.marks = m.marks[:len(m.marks)-1]
	return list, err
}

// top returns the value on top of the stack.
func (m *machine) top() (*value, error) {
	if len(m.stack) == m.stackFloor() {
		return nil, ErrStack
	}
	return m.stack[len(m.stack)-1], nil
}

// sizes has the argument sizes of opcodes that begin with a number or a length.
var sizes = map[byte]uint64{
	'J': 4, 'K': 1, 'M': 2, 0x8a: 1, 0x8b: 4, // integers
	'T': 4, 'U': 1, 'X': 4, 0x8c: 1, 0x8d: 8, 'B': 4, 'C': 1, 0x8e: 8, 0x96: 8, // strings and bytes
	'q': 1, 'r': 4, 'h': 1, 'j': 4, // the memo
	0x82: 1, 0x83: 2, 0x84: 4, // registered classes
}

// tuples are the opcodes that make a tuple of the values on top of the stack.
var tuples = map[byte]int{')': 0, 0x85: 1, 0x86: 2, 0x87: 3}

// stepOpcode does what an opcode says.
func (m *machine) stepOpcode(code byte) error {
	if n, ok := tuples[code]; ok {
		list, err := m.popN(n)
		if err != nil {
			return err
		}
		return m.push(value{kind: isTuple, items: list})
	}
	switch code {
	case 0x80: // PROTO
		if n, err := m.readNumber(1); err != nil || n > maxProtocol {
			return errors.Join(err, ErrProtocol)
		}
		return nil
	case 0x95: // FRAME
		n, err := m.readNumber(8)
		if err == nil && n > uint64(len(m.in)-m.at) {
			err = ErrShort
		}
		return err
	case '(':
		m.marks = append(m.marks, len(m.stack))
		return nil
	case '0': // POP
		if len(m.marks) > 0 && m.stackFloor() == len(m.stack) {
			m.marks = m.marks[:len(m.marks)-1]
			return nil
		}
		_, err := m.pop()
		return err
	case '1': // POP_MARK
		_, err := m.popMark()
		return err
	case '2': // DUP
		v, err := m.top()
		m.stack = append(m.stack, v)
		return err
	case 'p', 'q', 'r', 0x94, 'g', 'h', 'j':
		return m.useMemo(code)
	case 'N':
		return m.push(value{kind: isNone})
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(truth(code == 0x88))
	case 'I', 'L', 'J', 'K', 'M', 0x8a, 0x8b, 'F', 'G':
		v, err := m.readNumeric(code)
		if err != nil {
			return err
		}
		return m.push(v)
	case 'S', 'T', 'U', 'V', 'X', 0x8c, 0x8d, 'B', 'C', 0x8e, 0x96:
		v, err := m.readText(code)
		if err != nil {
			return err
		}
		return m.push(v)
	case 0x97: // NEXT_BUFFER
		return ErrBuffer
	case 0x98: // READONLY_BUFFER
		_, err := m.top()
		return err
	case ']', '}', 0x8f, 'l', 't', 'd', 0x91, 'a', 'e', 's', 'u', 0x90:
		return m.collectValues(code)
	}
	return m.nameClass(code)
}

// useMemo puts the top of the stack into the memo, or what is in it on the stack.
func (m *machine) useMemo(code byte) (err error) {
	at := uint64(len(m.memo))
	switch code {
	case 'p', 'g':
		var text []byte
		if text, err = m.readLine(); err == nil {
			if at, err = strconv.ParseUint(string(text), 10, 64); err != nil {
				err = ErrNumber
			}
		}
	case 0x94: // MEMOIZE
	default:
		at, err = m.readNumber(sizes[code])
	}
	if err != nil {
		return err
	}
	if code == 'g' || code == 'h' || code == 'j' {
		v := m.memo[at]
		if v == nil {
			return ErrStack
		}
		m.stack = append(m.stack, v)
		return nil
	}
	v, err := m.top()
	if err == nil {
		m.memo[at] = v
	}
	return err
}

func truth(is bool) value { return value{kind: isBool, data: strconv.AppendBool(nil, is)} }

// readNumeric reads a number.
func (m *machine) readNumeric(code byte) (value, error) {
	switch code {
	case 'I', 'L', 'F':
		text, err := m.readLine()
		if err != nil {
			return value{}, err
		}
		return numberOf(code, text)
	case 'G': // big endian, as nothing else
		data, err := m.takeBytes(8)
		if err != nil {
			return value{}, err
		}
		return value{kind: isFloat, float: math.Float64frombits(binary.BigEndian.Uint64(data))}, nil
	case 0x8a, 0x8b:
		data, err := m.countedBytes(sizes[code])
		if err != nil {
			return value{}, err
		}
		return readInteger(data)
	}
	n, err := m.readNumber(sizes[code])
	if code == 'J' {
		n = uint64(int64(int32(uint32(n))))
	}
	return value{kind: isNumber, data: strconv.AppendInt(nil, int64(n), 10)}, err
}

// numberOf reads a number that is written as text.
func numberOf(code byte, text []byte) (value, error) {
	switch {
	case code == 'F':
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return value{}, ErrNumber
		}
		return value{kind: isFloat, float: f}, nil
	case code == 'I' && (string(text) == "00" || string(text) == "01"):
		return truth(string(text) == "01"), nil
	case len(text) > maxDigits:
		return value{}, ErrNumber
	}
	n, ok := new(big.Int).SetString(string(bytes.TrimSuffix(text, []byte("L"))), 10)
	if !ok {
		return value{}, ErrNumber
	}
	return value{kind: isNumber, data: n.Append(nil, 10)}, nil
}

// readInteger reads one in two's complement, the lowest byte first.
func readInteger(data []byte) (value, error) {
	if len(data) > maxDigits*10/24 { // a byte is 2.4 digits
		return value{}, ErrNumber
	}
	most := slices.Clone(data)
	slices.Reverse(most)
	n := new(big.Int).SetBytes(most)
	if len(most) > 0 && most[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(most))))
	}
	return value{kind: isNumber, data: n.Append(nil, 10)}, nil
}

// readText reads a string, or bytes.
func (m *machine) readText(code byte) (value, error) {
	switch code {
	case 'V', 'S':
		line, err := m.readLine()
		if err != nil {
			return value{}, err
		}
		if code == 'V' {
			return value{kind: isText, data: unescape(line, unicodeEscapes)}, nil
		}
		if len(line) < 2 || line[0] != line[len(line)-1] || line[0] != '\'' && line[0] != '"' {
			return value{}, ErrText
		}
		return protocol0Text(unescape(line[1:len(line)-1], stringEscapes)), nil
	}
	data, err := m.countedBytes(sizes[code])
	switch code {
	case 'T', 'U':
		return protocol0Text(data), err
	case 'X', 0x8c, 0x8d:
		return value{kind: isText, data: data}, err
	}
	return value{kind: isBytes, data: data}, err
}

// collectValues makes a list, a dict or a set, or adds to one.
func (m *machine) collectValues(code byte) error {
	switch code {
	case ']':
		return m.push(value{kind: isList})
	case '}':
		return m.push(value{kind: isDict})
	case 0x8f:
		return m.push(value{kind: isSet})
	}
	var list []*value
	var err error
	switch code {
	case 'a':
		list, err = m.popN(1)
	case 's':
		list, err = m.popN(2)
	default:
		list, err = m.popMark()
	}
	if err == nil && (code == 'd' || code == 's' || code == 'u') && len(list)%2 == 1 {
		err = ErrStack
	}
	if err != nil {
		return err
	}
	switch code {
	case 'l':
		return m.push(value{kind: isList, items: list})
	case 't':
		return m.push(value{kind: isTuple, items: list})
	case 'd':
		return m.push(value{kind: isDict, items: list})
	case 0x91:
		return m.push(value{kind: isFrozen, items: list})
	}
	to, err := m.top()
	if err != nil {
		return err
	}
	return to.addValues(code, list)
}

// addValues adds values to a container.
func (v *value) addValues(code byte, list []*value) error {
	pairs := code == 's' || code == 'u'
	switch {
	case v.kind == isObject && (len(v.items) == 0 || v.pairs == pairs):
		v.pairs = pairs
	case pairs && v.kind == isDict:
	case code == 0x90 && v.kind == isSet:
	case !pairs && code != 0x90 && v.kind == isList:
	default:
		return ErrStack
	}
	v.items = append(v.items, list...)
	return nil
}

// nameClass does what the opcodes say that name classes, and would call them.
func (m *machine) nameClass(code byte) error {
	switch code {
	case 'c', 'i':
		module, err := m.readLine()
		if err != nil {
			return err
		}
		name, err := m.readLine()
		if err != nil {
			return err
		}
		of := m.globalValue(module, name)
		if code == 'c' {
			return m.push(of)
		}
		list, err := m.popMark()
		if err != nil {
			return err
		}
		m.values += 2
		return m.push(value{kind: isObject, of: &of, with: &value{kind: isTuple, items: list}})
	case 0x93: // STACK_GLOBAL
		list, err := m.popN(2)
		if err != nil {
			return err
		}
		if list[0].kind != isText || list[1].kind != isText {
			return ErrStack
		}
		return m.push(m.globalValue(list[0].data, list[1].data))
	case 0x82, 0x83, 0x84: // EXT1, EXT2, EXT4
		n, err := m.readNumber(sizes[code])
		if err != nil {
			return err
		}
		return m.push(m.globalValue([]byte("copyreg"), fmt.Appendf(nil, "extension %d", n)))
	case 'o': // OBJ
		list, err := m.popMark()
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrStack
		}
		m.values++
		return m.push(value{kind: isObject, of: list[0], with: &value{kind: isTuple, items: list[1:]}})
	case 'R', 0x81, 0x92: // REDUCE, NEWOBJ, NEWOBJ_EX
		n := 2
		if code == 0x92 {
			n = 3
		}
		list, err := m.popN(n)
		if err != nil {
			return err
		}
		made := value{kind: isObject, of: list[0], with: list[1]}
		if n == 3 {
			made.named = list[2]
		}
		return m.push(made)
	case 'b': // BUILD
		list, err := m.popN(1)
		if err != nil {
			return err
		}
		to, err := m.top()
		if err != nil {
			return err
		}
		if to.kind != isObject || to.state != nil {
			return ErrStack
		}
		to.state = list[0]
		return nil
	case 'P':
		line, err := m.readLine()
		if err != nil {
			return err
		}
		m.values++
		return m.push(value{kind: isPersistent, of: &value{kind: isText, data: line}})
	case 'Q':
		list, err := m.popN(1)
		if err != nil {
			return err
		}
		return m.push(value{kind: isPersistent, of: list[0]})
	}
	return fmt.Errorf("%#02x: %w", code, ErrOpcode)
}

// globalValue returns a class or a function. Protocols 0 to 2 have the names of Python 2.
func (m *machine) globalValue(module, name []byte) value {
	if string(module) == "__builtin__" {
		module = []byte("builtins")
	}
	if full := string(module) + ":" + string(name); len(m.names) < maxNames && !slices.Contains(m.names, full) {
		m.names = append(m.names, full)
	}
	return value{kind: isGlobal, data: slices.Concat(module, []byte("."), name)}
}
