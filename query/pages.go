package query

import (
	"iter"
	"slices"
	"sync/atomic"
)

// pages hold the text of a session. A part that is appended at once lies in one page. A byte that belongs to no part
// separates two pages, so no piece crosses a page, and a text grows without a copy of its beginning.
//
//	offset   0           1<<22       2<<22       3<<22
//	pages    [a,b,c   ]  [d,e     ]  [f, larger than a page ]  [g …
//
// A value is the view of one reader: later parts lie behind its size.
type pages struct {
	list []*page
	// size is the offset of the next part.
	size uint32
	// held is how many bytes the pages have.
	held int64
	// packer packs pages; it may be nil.
	packer *packer
}

// A page has 1<<pageBits offsets, or a multiple. A page may be half empty: even then the offsets of mostText bytes
// lie below otherText.
const (
	pageBits  = 21
	otherText = 1 << 31
)

type page struct {
	off uint32
	// raw is as long as the page may become before it moves, and nil while the page is packed.
	raw atomic.Pointer[[]byte]
	// packed is the page of size bytes as the packer has it, nil if it was never packed. It belongs to the packer.
	packed []byte
	size   int
}

// fit returns an error if a session may not have n bytes more.
func (t *pages) fit(n int64) error {
	if size := t.held + n; size > maxText || int64(t.size)+n >= otherText-1<<pageBits {
		return &TooLargeError{size}
	}
	return nil
}

// next makes room for a part of n bytes, and returns it. The part is there when size is behind it.
func (t *pages) next(n int) []byte {
	var last *page
	used, room, least := 0, -1, 0
	if len(t.list) > 0 {
		last = t.list[len(t.list)-1]
		used, room, least = int(t.size-last.off), len(t.list)<<pageBits-1-int(last.off), 1<<pageBits-1
	}
	if used+n > room {
		if last != nil {
			full := (*last.raw.Load())[:used]
			last.raw.Store(&full)
			t.packer.loosen(last)
		}
		raw := make([]byte, max(n, least))
		t.size = uint32(len(t.list)) << pageBits
		last, used = &page{off: t.size}, 0
		last.raw.Store(&raw)
		for room = -1; room < max(n, 1); room += 1 << pageBits {
			t.list = append(t.list, last)
		}
	}
	raw := *last.raw.Load()
	if used+n > len(raw) {
		raw = append(make([]byte, 0, min(max(2*len(raw), used+n), room)), raw[:used]...)
		raw = raw[:cap(raw)]
		last.raw.Store(&raw)
	}
	return raw[used : used+n]
}

// add appends parts, one behind the other, as one piece.
func (t *pages) add(parts ...[]byte) piece {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	to := t.next(n)
	for _, part := range parts {
		to = to[copy(to, part):]
	}
	return t.take(n)
}

// take returns the n bytes for which there is room as a piece.
func (t *pages) take(n int) piece {
	p := piece{t.size, uint32(n)}
	t.size, t.held = t.size+uint32(n), t.held+int64(n)
	return p
}

// pagesOf returns a text as it is.
func pagesOf(text []byte) (t pages) {
	p := new(page)
	p.raw.Store(&text)
	t.list = slices.Repeat([]*page{p}, len(text)>>pageBits+1)
	t.size, t.held = uint32(len(text)), int64(len(text))
	return t
}

// page returns the bytes of the page with an offset, and the offset of the first.
func (t pages) page(at uint32) (bytes []byte, off uint32) {
	p := t.list[at>>pageBits]
	if raw := p.raw.Load(); raw != nil {
		bytes = *raw
	} else {
		bytes = t.packer.unpack(p)
	}
	return bytes[:min(len(bytes), int(t.size-p.off))], p.off
}

func (t pages) at(at uint32) byte {
	bytes, off := t.page(at)
	return bytes[at-off]
}

// cut returns the bytes between two offsets of a page.
func (t pages) cut(from, to uint32) []byte {
	if from == to {
		return nil
	}
	bytes, off := t.page(from)
	return bytes[from-off : to-off]
}

// of returns the bytes of a piece.
func (t pages) of(p piece) []byte { return t.cut(p.off, p.end()) }

// before returns the bytes of a page before an offset.
func (t pages) before(at uint32) []byte {
	if int(at>>pageBits) >= len(t.list) {
		return nil
	}
	bytes, off := t.page(at)
	return bytes[:at-off]
}

// end returns the offset behind the page with an offset.
func (t pages) end(at uint32) uint32 {
	bytes, off := t.page(at)
	return off + uint32(len(bytes))
}

// from yields the text from an offset on as the bytes of each page, and their offset.
func (t pages) from(at uint32) iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for i := int(at >> pageBits); i < len(t.list) && t.list[i].off < t.size; i++ {
			if i > int(at>>pageBits) && t.list[i] == t.list[i-1] {
				continue
			}
			bytes, off := t.page(uint32(i) << pageBits)
			if from := min(int(max(at, off)-off), len(bytes)); from < len(bytes) && !yield(off+uint32(from), bytes[from:]) {
				return
			}
		}
	}
}

// upTo returns the text up to an offset.
func (t pages) upTo(size uint32) pages {
	t.size = size
	return t
}
