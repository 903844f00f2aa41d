package parts

import (
	"errors"
	"fmt"
)

// ErrDamaged: bytes that should describe parts do not.
var ErrDamaged = errors.New("the parts of the state are damaged")

func damagedError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// offsetBits is how many bits of a place tell where in its stream it is.
const offsetBits = 36

const (
	// MaxStream is the greatest number that a stream may have.
	MaxStream Stream = 1<<(63-offsetBits) - 1
	// MaxOffset bounds the bytes in a stream, 64 GiB.
	MaxOffset int64 = 1 << offsetBits
)

// Stream is the number of a run of bytes that only grows.
type Stream int64

// At returns the place of the byte at an offset, which is below MaxOffset.
func (s Stream) At(offset int64) Place { return Place(int64(s)<<offsetBits | offset) }

// Place says where one byte is kept: in which stream, and where in it. The
// places of a stream are consecutive numbers.
type Place int64

// Stream returns the stream of a place.
func (p Place) Stream() Stream { return Stream(p >> offsetBits) }

// Offset returns where in its stream a place is.
func (p Place) Offset() int64 { return int64(p) & (MaxOffset - 1) }

// Extent is a run of bytes that lie one behind the other in one stream.
type Extent struct {
	At  Place
	Len int64
}

// End returns the place after the last byte.
func (e Extent) End() Place { return e.At + Place(e.Len) }

// Append adds an extent to a list, as a part of the last one if it goes on
// where that ends. A place that begins a stream goes on nothing.
func Append(list []Extent, e Extent) []Extent {
	if e.Len == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].End() == e.At && e.At.Offset() != 0 {
		list[n-1].Len += e.Len
		return list
	}
	return append(list, e)
}

// Size returns how many bytes a list stands for.
func Size(list []Extent) (size int64) {
	for _, e := range list {
		size += e.Len
	}
	return size
}
