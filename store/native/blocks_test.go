package native

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzBlock decodes anything as a block: what comes out is as long as it is to be, and
// what was encoded comes back.
func FuzzBlock(f *testing.F) {
	c := newCodec()
	encoding, data, err := c.encode(bytes.Repeat([]byte("the same again "), 20))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoding, data, uint16(300))
	f.Add(int64(encodingRaw), []byte("raw"), uint16(3))
	f.Add(int64(9), []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, encoding int64, data []byte, size uint16) {
		dst := make([]byte, size)
		if err := c.decode(encoding, data, dst); err != nil && !errors.Is(err, ErrDamagedState) {
			t.Fatal(err)
		}
		encoding, block, err := c.encode(data)
		if err != nil || len(block) > len(data) {
			t.Fatalf("%d bytes of %d, %v", len(block), len(data), err)
		}
		again := make([]byte, len(data))
		if err := c.decode(encoding, block, again); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q came back as %q, %v", data, again, err)
		}
	})
}
