package keep

import (
	"crypto/sha256"
	"errors"
	"io"
)

// The size of a part, in bytes. It ends where the bytes before the end have a certain hash, so that two files that
// are alike from some byte on are cut alike soon after it.
const (
	leastPart  = 16 << 10
	mostPart   = 256 << 10
	cutMask    = 1<<16 - 1 // on average behind 64 kB more
	windowSize = 4 * mostPart
)

// hash names the bytes of a part.
type hash = [sha256.Size]byte

// makeGears returns a number for each byte, for a rolling hash. They never change.
func makeGears() (table [256]uint64) {
	x := uint64(0x9e3779b97f4a7c15)
	for i := range table { // splitmix64
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		table[i] = z ^ z>>31
	}
	return table
}

// cutter cuts bytes into parts.
type cutter struct{ gears [256]uint64 }

// endOf returns where the first part of data ends. data is as long as a part can be, or ends with the file.
func (c *cutter) endOf(data []byte) int {
	if len(data) <= leastPart {
		return len(data)
	}
	data = data[:min(len(data), mostPart)]
	var h uint64
	for i := leastPart; i < len(data); i++ {
		h = h<<1 + c.gears[data[i]]
		if h>>(64-16)&cutMask == 0 {
			return i + 1
		}
	}
	return len(data)
}

// window reads a file from its beginning, and lends what comes next.
type window struct {
	r    io.Reader
	buf  []byte
	from int // the offset of the next byte in buf
	end  bool
}

// resetReader makes it read another file.
func (w *window) resetReader(r io.Reader) {
	if w.buf == nil {
		w.buf = make([]byte, 0, windowSize)
	}
	w.r, w.buf, w.from, w.end = r, w.buf[:0], 0, false
}

// peekBytes returns the next n bytes, fewer at the end of the file. They are lent until the next call.
func (w *window) peekBytes(n int) ([]byte, error) {
	if len(w.buf)-w.from < n && !w.end {
		w.buf = w.buf[:copy(w.buf, w.buf[w.from:])]
		w.from = 0
		for len(w.buf) < n {
			got, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
			w.buf = w.buf[:len(w.buf)+got]
			if errors.Is(err, io.EOF) {
				w.end = true
				break
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return w.buf[w.from:min(w.from+n, len(w.buf))], nil
}

// takeBytes drops the next n bytes.
func (w *window) takeBytes(n int) { w.from += n }
