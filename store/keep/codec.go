package keep

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// How the bytes of a block are stored.
const (
	encodingRaw  = 0
	encodingZstd = 1
	// blockSize is how many bytes of parts a block has at least, unless it is the last of a transaction.
	blockSize = 1 << 20
	mostBlock = blockSize + mostPart
)

// ErrDamaged: what is kept is not as it was written.
var ErrDamaged = errors.New("the archive is damaged")

// codec compresses blocks, several at once.
type codec struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

func newCodec() codec {
	return codec{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithWindowSize(2*blockSize), zstd.WithEncoderCRC(false))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostBlock), zstd.WithDecodeAllCapLimit(true))
		}),
	}
}

func (c codec) encodeBlock(raw []byte) (encoding int, data []byte, err error) {
	encoder, err := c.encoder()
	if err != nil {
		return 0, nil, err
	}
	if data = encoder.EncodeAll(raw, make([]byte, 0, len(raw)/2)); len(data) >= len(raw) {
		return encodingRaw, raw, nil
	}
	return encodingZstd, data, nil
}

// decodeBlock returns the size bytes of a block.
func (c codec) decodeBlock(encoding int, data []byte, size int) ([]byte, error) {
	if size <= 0 || size > mostBlock {
		return nil, fmt.Errorf("%w: a block of %d bytes", ErrDamaged, size)
	}
	switch encoding {
	case encodingRaw:
	case encodingZstd:
		decoder, err := c.decoder()
		if err != nil {
			return nil, err
		}
		if data, err = decoder.DecodeAll(data, make([]byte, 0, size)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	default:
		return nil, fmt.Errorf("%w: an encoding %d", ErrDamaged, encoding)
	}
	if len(data) != size {
		return nil, fmt.Errorf("%w: a block of %d bytes where there should be %d", ErrDamaged, len(data), size)
	}
	return data, nil
}
