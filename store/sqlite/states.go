package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// How states are kept: each once, by the SHA-256 of its bytes. The rest of the
// package only knows a state's key, through put, get and drop.

const (
	encodingRaw  = 0
	encodingZstd = 1
	// smallState is the size below which compression gains nothing.
	smallState = 256
	// maxState bounds a state, and what a damaged file can make us allocate.
	maxState = 1 << 30
)

var (
	// ErrTooLarge: a state is larger than a store takes.
	ErrTooLarge = fmt.Errorf("the state is larger than %d bytes", maxState)
	// ErrDamagedState: the bytes of a state cannot be decoded.
	ErrDamagedState = errors.New("the stored state is damaged")
)

// codec compresses states. Its functions make the coders when they are first
// needed, since a store that is only listed needs none.
type codec struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

func newCodec() codec {
	return codec{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxState), zstd.WithDecodeAllCapLimit(true))
		}),
	}
}

func (c codec) encode(raw []byte) (encoding int64, data []byte, err error) {
	if len(raw) < smallState {
		return encodingRaw, raw, nil
	}
	encoder, err := c.encoder()
	if err != nil {
		return 0, nil, err
	}
	if data = encoder.EncodeAll(raw, nil); len(data) >= len(raw) {
		return encodingRaw, raw, nil
	}
	return encodingZstd, data, nil
}

func (c codec) decode(encoding, size int64, data []byte) ([]byte, error) {
	if size < 0 || size > maxState {
		return nil, fmt.Errorf("%w: a size of %d", ErrDamagedState, size)
	}
	switch encoding {
	case encodingRaw:
	case encodingZstd:
		decoder, err := c.decoder()
		if err != nil {
			return nil, err
		}
		if data, err = decoder.DecodeAll(data, make([]byte, 0, size)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamagedState, err)
		}
	default:
		return nil, fmt.Errorf("%w: an encoding %d", ErrDamagedState, encoding)
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("%w: %d bytes where there should be %d", ErrDamagedState, len(data), size)
	}
	return data, nil
}

// put keeps a state, unless it is there, and gives its key.
func (c codec) put(ctx context.Context, t *tx, raw []byte) (int64, error) {
	if len(raw) > maxState {
		return 0, ErrTooLarge
	}
	sum := sha256.Sum256(raw)
	var key int64
	err := t.row(ctx, "SELECT state FROM states WHERE sha256 = ?", sum[:]).Scan(&key)
	if !errors.Is(err, sql.ErrNoRows) {
		return key, err
	}
	encoding, data, err := c.encode(raw)
	if err != nil {
		return 0, err
	}
	result, err := t.exec(ctx, "INSERT INTO states (sha256, size, encoding, data) VALUES (?, ?, ?, ?)", sum[:], len(raw), encoding, data)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// get gives the bytes of a state.
func (c codec) get(ctx context.Context, t *tx, key int64) ([]byte, error) {
	var encoding, size int64
	var data []byte
	err := t.row(ctx, "SELECT encoding, size, data FROM states WHERE state = ?", key).Scan(&encoding, &size, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: it is missing", ErrDamagedState)
	}
	if err != nil {
		return nil, err
	}
	return c.decode(encoding, size, data)
}

// drop removes a state that nothing refers to any more.
func (c codec) drop(ctx context.Context, t *tx, key int64) error {
	_, err := t.exec(ctx, `DELETE FROM states WHERE state = ?1
		AND NOT EXISTS (SELECT 1 FROM visits WHERE state = ?1)
		AND NOT EXISTS (SELECT 1 FROM sessions WHERE record_state = ?1)
		AND NOT EXISTS (SELECT 1 FROM journal WHERE before_state = ?1)`, key)
	return err
}
