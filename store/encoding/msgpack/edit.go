package msgpack

import (
	"encoding/binary"
	"fmt"
)

// Items returns the offsets of the items of an array, and behind them the end of the last item. The array must
// be all of data; ok is false if data is no array. It returns the errors of AppendJSON.
func Items(data []byte) (at []int, ok bool, err error) {
	w := &Writer{in: data}
	n, ok := w.Array()
	if !ok {
		return nil, false, nil
	}
	return w.valueStarts(n)
}

// Members is Items of a map: its keys and values come by turns.
func Members(data []byte) (at []int, ok bool, err error) {
	w := &Writer{in: data}
	n, ok := w.Map()
	if !ok || n > len(data) {
		return nil, false, nil
	}
	return w.valueStarts(2 * n)
}

// Text returns the string that data is; ok is false for another value.
func Text(data []byte) (text string, ok bool) {
	w := &Writer{in: data}
	text, ok = w.Text()
	return text, ok && w.at == len(data)
}

// valueStarts returns where the next n values begin, and where the last ends.
func (w *Writer) valueStarts(n int) (at []int, ok bool, err error) {
	at = make([]int, 0, min(n, len(w.in))+1)
	for range n {
		at = append(at, w.at)
		if err := w.Skip(1); err != nil {
			return nil, false, fmt.Errorf("byte %d: %w", w.at, err)
		}
	}
	return append(at, w.at), true, nil
}

// Inside returns the id of the extension that data is, and what is in it; ok is false for another value.
func Inside(data []byte) (id int8, inside []byte, ok bool) {
	w := &Writer{in: data, most: maxGrowth * (len(data) + 16)}
	w.ext = func(w *Writer, of int8) (bool, error) {
		id, inside, ok = of, w.in, true
		return false, nil
	}
	if err := w.Value(); err != nil || len(inside) == 0 || w.at < len(data) {
		return 0, nil, false
	}
	return id, inside, ok
}

// AppendText appends a string.
func AppendText(dst []byte, text string) []byte {
	if len(text) < 32 {
		dst = append(dst, 0xa0|byte(len(text)))
	} else {
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(len(text)))
	}
	return append(dst, text...)
}

// AppendArray appends the header of an array of n items.
func AppendArray(dst []byte, n int) []byte {
	if n < 16 {
		return append(dst, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdd), uint32(n))
}

// AppendMap appends the header of a map of n members.
func AppendMap(dst []byte, n int) []byte {
	if n < 16 {
		return append(dst, 0x80|byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdf), uint32(n))
}

// AppendBytes appends bytes that are no string.
func AppendBytes(dst, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(append(dst, 0xc6), uint32(len(data))), data...)
}

// AppendExt appends an extension.
func AppendExt(dst []byte, id int8, inside []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, 0xc9), uint32(len(inside)))
	return append(append(dst, byte(id)), inside...)
}
