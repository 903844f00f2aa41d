// Package msgpack writes MessagePack as JSON. Keys keep their order. Nothing that the data
// names is looked up or run, and memory is bounded by the size of the data.
//
//	nil, bool, integers     as in JSON, integers of 64 bits in full
//	floats                  with a point or an exponent; {"$float":"NaN"} for a value outside JSON
//	str                     a string; bytes that are no UTF-8 become U+FFFD
//	bin                     {"$bytes":"BASE64"}
//	map                     an object; a key that is no string is the string of its JSON
//	ext                     as the caller writes it; {"$ext":ID,"$bytes":"BASE64"} if unknown or damaged
package msgpack

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"hindcast/model/jsontape"
)

const (
	// maxDepth bounds how deep values nest, including values inside extensions. Python's ormsgpack stops at
	// 1024. A level has at most two levels of JSON, and JSON is read to a depth of 10,000.
	maxDepth = 2000
	// maxGrowth bounds the JSON by the length of the data: a byte grows to four in
	// base64, and to six where it is escaped.
	maxGrowth = 64
)

var (
	// ErrShort: the data ends within a value.
	ErrShort = errors.New("the data ends within a value")
	// ErrDepth: values nest deeper than the reader goes.
	ErrDepth = fmt.Errorf("values nest deeper than %d levels", maxDepth)
	// ErrCode: a byte begins no value.
	ErrCode = errors.New("0xc1 begins no value")
	// ErrRest: bytes follow the value.
	ErrRest = errors.New("bytes follow the value")
	// ErrLarge: the JSON would be many times as long as the data.
	ErrLarge = fmt.Errorf("the JSON is more than %d times as long as the data", maxGrowth)
)

// Ext writes an extension. Its data is MessagePack again, and w reads only that data. It reports false for an
// unknown extension; what it did to w is then undone.
type Ext func(w *Writer, id int8) (ok bool, err error)

// Writer reads MessagePack and writes JSON. Its zero value is not ready; an Ext is
// handed one.
type Writer struct {
	dst   []byte
	most  int
	in    []byte
	at    int
	depth int
	ext   Ext
	// damaged are the bytes of extensions that were read in vain.
	damaged int
}

// AppendJSON appends the JSON of one value, which is all of data, to dst. It returns errors of this package,
// with the byte at which each was found, and errors of ext.
func AppendJSON(dst, data []byte, ext Ext) ([]byte, error) {
	w := &Writer{dst: dst, most: len(dst) + maxGrowth*(len(data)+16), in: data, ext: ext}
	return w.writeAll(dst, w.Value)
}

// AppendPart is AppendJSON of values that follow each other in a container, so many levels deep in another value:
// with commas between them, and each behind its key if they are members.
func AppendPart(dst, data []byte, ext Ext, depth int, members bool) ([]byte, error) {
	w := &Writer{dst: dst, most: len(dst) + maxGrowth*(len(data)+16), in: data, ext: ext, depth: depth}
	item := w.Value
	if members {
		item = w.writeMember
	}
	return w.writeAll(dst, func() error {
		for w.at < len(w.in) {
			if w.at > 0 {
				w.Literal(",")
			}
			if err := item(); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeAll writes what is all of the data, and returns dst where that fails.
func (w *Writer) writeAll(dst []byte, what func() error) ([]byte, error) {
	err := what()
	if err == nil && w.at < len(w.in) {
		err = ErrRest
	}
	if err != nil {
		return dst, fmt.Errorf("byte %d: %w", w.at, err)
	}
	return w.dst, nil
}

// Literal writes JSON of the caller's.
func (w *Writer) Literal(json string) { w.dst = append(w.dst, json...) }

// Between writes JSON of the caller's before and behind what does.
func (w *Writer) Between(begin, end string, what func() error) error {
	w.Literal(begin)
	err := what()
	w.Literal(end)
	return err
}

// Array reads the header of an array. If the next value is no array, it reports false and reads nothing.
func (w *Writer) Array() (n int, ok bool) {
	return w.readLength(0x90, 0x0f, [...]byte{0, 0xdc, 0xdd})
}

// Map reads the header of a map. If the next value is no map, it reports false and reads nothing.
func (w *Writer) Map() (n int, ok bool) {
	return w.readLength(0x80, 0x0f, [...]byte{0, 0xde, 0xdf})
}

// Text reads a string. If the next value is no string, it reports false and reads nothing.
func (w *Writer) Text() (text string, ok bool) {
	at := w.at
	n, ok := w.readLength(0xa0, 0x1f, [...]byte{0xd9, 0xda, 0xdb})
	if !ok {
		return "", false
	}
	data, err := w.takeBytes(n)
	if err != nil {
		w.at = at
		return "", false
	}
	return string(data), true
}

// readLength reads a length that is in the first byte, or behind one of three codes in 1,
// 2 or 4 bytes.
func (w *Writer) readLength(first, mask byte, codes [3]byte) (n int, ok bool) {
	if w.at == len(w.in) {
		return 0, false
	}
	c := w.in[w.at]
	if c&^mask == first {
		w.at++
		return int(c & mask), true
	}
	i := slices.Index(codes[:], c)
	if i < 0 || c == 0 || len(w.in)-w.at-1 < 1<<i {
		return 0, false
	}
	w.at++
	length, err := w.readNumber(1 << i)
	return int(length), err == nil
}

// readNumber reads a number of 1, 2, 4 or 8 bytes.
func (w *Writer) readNumber(size int) (uint64, error) {
	data, err := w.takeBytes(size)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[8-size:], data)
	return binary.BigEndian.Uint64(whole[:]), nil
}

// takeBytes returns the next n bytes.
func (w *Writer) takeBytes(n int) ([]byte, error) {
	if n < 0 || n > len(w.in)-w.at {
		return nil, ErrShort
	}
	w.at += n
	return w.in[w.at-n : w.at], nil
}

// Value writes the next value.
func (w *Writer) Value() error {
	if w.depth == maxDepth {
		return ErrDepth
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.at == len(w.in) {
		return ErrShort
	}
	if len(w.dst) > w.most {
		return ErrLarge
	}
	if text, ok := w.Text(); ok {
		w.dst = jsontape.AppendQuoted(w.dst, text)
		return nil
	}
	if n, ok := w.Array(); ok {
		return w.Between("[", "]", func() error { return w.Values(n) })
	}
	if n, ok := w.Map(); ok {
		return w.Between("{", "}", func() error { return w.Members(n) })
	}
	c := w.in[w.at]
	switch {
	case c < 0x80, c >= 0xe0: // a small integer
		w.at++
		w.dst = strconv.AppendInt(w.dst, int64(int8(c)), 10)
		return nil
	case c >= 0xa0 && c <= 0xbf, c >= 0xd9 && c <= 0xdf: // a string, array or map that is cut off
		return ErrShort
	}
	w.at++
	return w.writeScalar(c)
}

// writeScalar writes the value behind a code that is no string, array or map.
func (w *Writer) writeScalar(c byte) error {
	switch c {
	case 0xc0:
		w.Literal("null")
	case 0xc2:
		w.Literal("false")
	case 0xc3:
		w.Literal("true")
	case 0xc4, 0xc5, 0xc6:
		n, err := w.readNumber(1 << (c - 0xc4))
		if err != nil {
			return err
		}
		data, err := w.takeBytes(int(n))
		if err != nil {
			return err
		}
		w.Literal("{")
		w.Bytes(data)
		w.Literal("}")
	case 0xc7, 0xc8, 0xc9:
		n, err := w.readNumber(1 << (c - 0xc7))
		if err != nil {
			return err
		}
		return w.writeExtension(int(n))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return w.writeExtension(1 << (c - 0xd4))
	case 0xca:
		n, err := w.readNumber(4)
		w.writeFloat(float64(math.Float32frombits(uint32(n))), 32)
		return err
	case 0xcb:
		n, err := w.readNumber(8)
		w.writeFloat(math.Float64frombits(n), 64)
		return err
	case 0xcc, 0xcd, 0xce, 0xcf:
		n, err := w.readNumber(1 << (c - 0xcc))
		w.dst = strconv.AppendUint(w.dst, n, 10)
		return err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := 1 << (c - 0xd0)
		n, err := w.readNumber(size)
		unused := 64 - 8*size
		w.dst = strconv.AppendInt(w.dst, int64(n<<unused)>>unused, 10)
		return err
	default:
		return ErrCode
	}
	return nil
}

// Values writes the next n values with commas between them.
func (w *Writer) Values(n int) error { return w.writeList(n, w.Value) }

// Members writes the next n keys and their values with commas between them.
func (w *Writer) Members(n int) error { return w.writeList(n, w.writeMember) }

// Skip passes over the next n values. It looks at no extension.
func (w *Writer) Skip(n int) error {
	for range n {
		if err := w.skipValue(); err != nil {
			return err
		}
	}
	return nil
}

// sizes has the number of bytes behind each code from 0xc0 on; of an extension its length is not counted.
var sizes = [...]int8{0, -1, 0, 0, -1, -1, -1, -1, -1, -1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17}

func (w *Writer) skipValue() error {
	if w.depth == maxDepth {
		return ErrDepth
	}
	w.depth++
	defer func() { w.depth-- }()
	if n, ok := w.readLength(0xa0, 0x1f, [...]byte{0xd9, 0xda, 0xdb}); ok {
		_, err := w.takeBytes(n)
		return err
	}
	if n, ok := w.Array(); ok {
		return w.Skip(n)
	}
	if n, ok := w.Map(); ok {
		return w.Skip(2 * n)
	}
	if w.at == len(w.in) {
		return ErrShort
	}
	c := w.in[w.at]
	w.at++
	switch {
	case c < 0x80, c >= 0xe0:
		return nil
	case c < 0xc0, c > 0xd8: // a string, array or map that is cut off
		return ErrShort
	case c == 0xc1:
		return ErrCode
	}
	size := int(sizes[c-0xc0])
	if size < 0 { // a length comes first
		n, err := w.readNumber(1 << ((c - 0xc4) % 3))
		if err != nil {
			return err
		}
		if size = int(n); c >= 0xc7 {
			size++
		}
	}
	_, err := w.takeBytes(size)
	return err
}

func (w *Writer) writeList(n int, item func() error) error {
	for i := range n {
		if i > 0 {
			w.Literal(",")
		}
		if err := item(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeMember() error {
	from := len(w.dst)
	if err := w.Value(); err != nil {
		return err
	}
	if key := string(w.dst[from:]); key[0] != '"' {
		w.dst = jsontape.AppendQuoted(w.dst[:from], key)
	}
	w.Literal(":")
	return w.Value()
}

// Bytes writes the member of an object that holds bytes.
func (w *Writer) Bytes(data []byte) {
	w.Literal(`"$bytes":"`)
	w.dst = base64.StdEncoding.AppendEncode(w.dst, data)
	w.Literal(`"`)
}

// writeFloat writes a number of so many bits so that it is seen to be one with a point.
func (w *Writer) writeFloat(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.Literal(`{"$float":"` + strconv.FormatFloat(f, 'g', -1, bits) + `"}`)
		return
	}
	text := strconv.AppendFloat(nil, f, 'g', -1, bits)
	if !slices.ContainsFunc(text, func(c byte) bool { return c == '.' || c == 'e' }) {
		text = append(text, ".0"...)
	}
	w.dst = append(w.dst, text...)
}

// writeExtension writes one of n bytes behind its id.
func (w *Writer) writeExtension(n int) error {
	id, err := w.readNumber(1)
	if err != nil {
		return err
	}
	data, err := w.takeBytes(n)
	if err != nil {
		return err
	}
	from := len(w.dst)
	switch ok, err := w.writeInside(int8(id), data); {
	case err == nil && ok:
		return nil
	case err != nil && (errors.Is(err, ErrLarge) || w.damaged > w.most):
		return err
	case err != nil:
		w.damaged += n
	}
	w.dst = append(w.dst[:from], `{"$ext":`...)
	w.dst = strconv.AppendInt(w.dst, int64(int8(id)), 10)
	w.Literal(",")
	w.Bytes(data)
	w.Literal("}")
	return nil
}

// writeInside has the caller write an extension. It reports whether it did.
func (w *Writer) writeInside(id int8, data []byte) (ok bool, err error) {
	if w.ext == nil {
		return false, nil
	}
	in, at := w.in, w.at
	w.in, w.at = data, 0
	if ok, err = w.ext(w, id); ok && err == nil && w.at < len(w.in) {
		err = ErrRest
	}
	w.in, w.at = in, at
	return ok, err
}

// Member returns the offsets at which the value of a member begins and ends. The map must be all of data; ok
// is false if it has no such member. It returns the errors of AppendJSON.
func Member(data []byte, key string) (begin, end int, ok bool, err error) {
	w := &Writer{in: data}
	n, _ := w.Map()
	for range n {
		name, named := w.Text()
		if !named {
			err = w.Skip(1)
		}
		if begin = w.at; err == nil {
			err = w.Skip(1)
		}
		if err != nil {
			return 0, 0, false, fmt.Errorf("byte %d: %w", w.at, err)
		}
		if named && name == key {
			return begin, w.at, true, nil
		}
	}
	return 0, 0, false, nil
}
