package keep

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// mostDecoded bounds the blocks that are remembered decoded.
const mostDecoded = 16

// decodedBlock has the bytes of a block.
type decodedBlock struct {
	id  int64
	raw []byte
}

// readBlock reads and decodes a block, and returns how many bytes it takes.
func (a *Archive) readBlock(ctx context.Context, t tx, id int64) (raw []byte, stored int, err error) {
	var size, encoding int
	var data []byte
	found, err := t.scanRow(ctx, []any{&size, &encoding, &data}, "SELECT size, encoding, data FROM blocks WHERE block = ?", id)
	if err == nil && !found {
		err = fmt.Errorf("%w: there is no block %d", ErrDamaged, id)
	}
	if err != nil {
		return nil, 0, err
	}
	raw, err = a.codec.decodeBlock(encoding, data, size)
	return raw, len(data), err
}

// findBlock returns the bytes of a block, which may be remembered. They are not to be changed.
func (a *Archive) findBlock(ctx context.Context, t tx, id int64) ([]byte, error) {
	a.mu.Lock()
	i := slices.IndexFunc(a.blocks, func(b decodedBlock) bool { return b.id == id })
	if i >= 0 {
		b := a.blocks[i]
		a.blocks = slices.Insert(slices.Delete(a.blocks, i, i+1), 0, b)
		a.mu.Unlock()
		return b.raw, nil
	}
	a.mu.Unlock()
	raw, _, err := a.readBlock(ctx, t, id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocks = slices.Insert(a.blocks, 0, decodedBlock{id, raw})
	a.blocks = a.blocks[:min(len(a.blocks), mostDecoded)]
	return raw, nil
}

// partsAtOnce is how many parts of a file are asked for at once.
const partsAtOnce = 64

// readAt reads the bytes of a file from an offset, as io.ReaderAt does.
func (a *Archive) readAt(ctx context.Context, list []byte, p []byte, offset int64) (n int, err error) {
	err = a.on.readTx(ctx, func(t tx) error {
		n = 0
		begins := int64(0) // of the part in the file
		for ids := range slices.Chunk(decodeList(list), partsAtOnce) {
			if n == len(p) {
				return nil
			}
			parts := make(map[int64]placedPart, len(ids))
			if err := t.findParts(ctx, ids, func(part placedPart) { parts[part.id] = part }); err != nil {
				return err
			}
			for _, id := range ids {
				part, found := parts[id]
				if !found {
					return fmt.Errorf("%w: there is no part %d", ErrDamaged, id)
				}
				from := offset + int64(n) - begins
				begins += part.size
				if from >= part.size || n == len(p) {
					continue
				}
				raw, err := a.findBlock(ctx, t, part.block)
				if err != nil {
					return err
				}
				if part.at < 0 || part.at+part.size > int64(len(raw)) {
					return fmt.Errorf("%w: a part lies outside its block", ErrDamaged)
				}
				n += copy(p[n:], raw[part.at+from:part.at+part.size])
			}
		}
		if n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}
