package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// How states are kept: each once, by the SHA-256 of its bytes. The rest of the
// package only knows a state's key, through put, get, peek and drop.
//
// A large state is cut into chunks that are compressed by themselves: the first
// in the row of the state, the others in state_chunks. Its beginning can so be
// read, and drawn, without all of it: 100 MB take half a second to decompress,
// their first chunk some milliseconds.

const (
	encodingRaw  = 0
	encodingZstd = 1
	// smallState is the size below which compression gains nothing.
	smallState = 256
	// chunkSize is the size of all chunks of a state but the last.
	chunkSize = 1 << 20
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

// decode gives the bytes of a chunk, which has to have that size.
func (c codec) decode(encoding, size int64, data []byte) ([]byte, error) {
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
	first, rest := raw[:min(len(raw), chunkSize)], raw[min(len(raw), chunkSize):]
	encoding, data, err := c.encode(first)
	if err != nil {
		return 0, err
	}
	result, err := t.exec(ctx, "INSERT INTO states (sha256, size, encoding, data) VALUES (?, ?, ?, ?)", sum[:], len(raw), encoding, data)
	if err != nil {
		return 0, err
	}
	if key, err = result.LastInsertId(); err != nil {
		return 0, err
	}
	n := 0
	for chunk := range slices.Chunk(rest, chunkSize) {
		n++
		if encoding, data, err = c.encode(chunk); err != nil {
			return 0, err
		}
		if _, err := t.exec(ctx, "INSERT INTO state_chunks (state, chunk, encoding, data) VALUES (?, ?, ?, ?)", key, n, encoding, data); err != nil {
			return 0, err
		}
	}
	return key, nil
}

// peek gives the first chunk of a state, and the size of all of it.
func (c codec) peek(ctx context.Context, t *tx, key int64) (first []byte, size int64, err error) {
	var encoding int64
	var data []byte
	err = t.row(ctx, "SELECT encoding, size, data FROM states WHERE state = ?", key).Scan(&encoding, &size, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, fmt.Errorf("%w: it is missing", ErrDamagedState)
	}
	if err != nil {
		return nil, 0, err
	}
	if size < 0 || size > maxState {
		return nil, 0, fmt.Errorf("%w: a size of %d", ErrDamagedState, size)
	}
	first, err = c.decode(encoding, min(size, chunkSize), data)
	return first, size, err
}

// get gives the bytes of a state.
func (c codec) get(ctx context.Context, t *tx, key int64) ([]byte, error) {
	first, size, err := c.peek(ctx, t, key)
	if err != nil || size <= chunkSize {
		return first, err
	}
	// The number of chunks is checked before room is made for them, because the
	// size may be what is damaged.
	var chunks int64
	if err := t.row(ctx, "SELECT count(*) FROM state_chunks WHERE state = ?", key).Scan(&chunks); err != nil {
		return nil, err
	}
	if want := (size - 1) / chunkSize; chunks != want {
		return nil, fmt.Errorf("%w: %d chunks where there should be %d", ErrDamagedState, chunks, want)
	}
	rows, err := t.rows(ctx, "SELECT encoding, data FROM state_chunks WHERE state = ? ORDER BY chunk", key)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	state := append(make([]byte, 0, size), first...)
	for rows.Next() {
		var encoding int64
		var data sql.RawBytes
		if err := rows.Scan(&encoding, &data); err != nil {
			return nil, err
		}
		chunk, err := c.decode(encoding, min(size-int64(len(state)), chunkSize), data)
		if err != nil {
			return nil, err
		}
		state = append(state, chunk...)
	}
	return state, rows.Err()
}

// drop removes a state that nothing refers to any more.
func (c codec) drop(ctx context.Context, t *tx, key int64) error {
	_, err := t.exec(ctx, `DELETE FROM states WHERE state = ?1
		AND NOT EXISTS (SELECT 1 FROM visits WHERE state = ?1)
		AND NOT EXISTS (SELECT 1 FROM sessions WHERE record_state = ?1)
		AND NOT EXISTS (SELECT 1 FROM journal WHERE before_state = ?1)`, key)
	return err
}
