package query

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// packer packs the pages of a text that were not used for longest, so that a question that walks a large session once
// holds little of it. A packed page is unpacked where one of its bytes is asked for. It is safe for concurrent use.
//
//	pages    0 1 2 3 4 5 6 7 8 …
//	packed   ▪ ▪ ▪ ▪ ▪
//	loose              5 6 7 8 the oldest first, and the last page, which is filled
type packer struct {
	mu      sync.Mutex
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	loose   []*page
	buffer  []byte
}

// mostLoose bounds the full pages that are not packed.
const mostLoose = 4

func newPacker() *packer {
	// The options are constants, and neither fails with them.
	encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	decoder, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxText))
	return &packer{encoder: encoder, decoder: decoder}
}

// loosen takes in a page that is full, and packs the oldest loose one if there are too many. A nil packer packs none.
func (k *packer) loosen(p *page) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.add(p)
}

func (k *packer) add(p *page) {
	if k.loose = append(k.loose, p); len(k.loose) <= mostLoose {
		return
	}
	old := k.loose[0]
	k.loose = append(k.loose[:0], k.loose[1:]...)
	raw := *old.raw.Load()
	if old.packed == nil {
		k.buffer = k.encoder.EncodeAll(raw, k.buffer[:0])
		old.packed, old.size = bytes.Clone(k.buffer), len(raw)
	}
	old.raw.Store(nil)
}

// unpack returns the bytes of a page that may be packed.
func (k *packer) unpack(p *page) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if raw := p.raw.Load(); raw != nil { // another call was first
		return *raw
	}
	raw, err := k.decoder.DecodeAll(p.packed, make([]byte, 0, p.size))
	if err != nil {
		panic(err) // unreachable: add packed it
	}
	p.raw.Store(&raw)
	k.add(p)
	return raw
}
