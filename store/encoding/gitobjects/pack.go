package gitobjects

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"sort"
	"strings"

	"hindcast/store/media/tree"
)

// How a pack is read
//
//	idx   ff 't' 'O' 'c' 2 · 256 sums · ids in order · CRCs · places · places beyond 2 GB
//	pack  at a place: kind and size, then the content; or the base, and a delta of it
//
// A delta is of an earlier place, or of an id.

// pack is an index and its pack, which are opened when they are needed.
type pack struct {
	index, data tree.Opened
	n           uint32 // objects
	sums        [256]uint32
}

// indexHead is the length of the index up to the ids.
const indexHead = 8 + 4*256

func (p *pack) closeFiles() error { return errors.Join(p.index.Close(), p.data.Close()) }

// openPacks opens the packs of the folder, if they are not open. One that cannot be read is left out.
func (f *folder) openPacks() {
	if f.packed {
		return
	}
	f.packed = true
	names, _ := f.List(path.Join(f.dir, "pack")) // there may be none
	for _, name := range names {
		base, is := strings.CutSuffix(name, ".idx")
		if !is || len(f.packs) >= mostPacks {
			continue
		}
		index, err := f.OpenFile(path.Join(f.dir, "pack", name))
		if err != nil {
			continue
		}
		data, err := f.OpenFile(path.Join(f.dir, "pack", base+".pack"))
		if err != nil {
			_ = index.Close() // it was only read
			continue
		}
		p := &pack{index: index, data: data}
		var head [indexHead]byte
		if _, err := index.ReadAt(head[:], 0); err != nil || string(head[:8]) != "\xfftOc\x00\x00\x00\x02" {
			_ = p.closeFiles() // it was only read
			continue
		}
		for i := range p.sums {
			p.sums[i] = binary.BigEndian.Uint32(head[8+4*i:])
		}
		p.n = p.sums[255]
		f.packs = append(f.packs, p)
	}
}

// readPacked reads an object of a pack.
func (f *folder) readPacked(id []byte, most int64) (kind string, data []byte, err error) {
	f.openPacks()
	for _, p := range f.packs {
		if at, found := p.findObject(id); found {
			return p.readAt(at, most, 0)
		}
	}
	return "", nil, ErrMissing
}

// seekID returns the number of the first object whose id is not before some digits. idAt returns the id of an object, nil
// behind the last.
func (p *pack) seekID(id []byte) (i uint32, idAt func(i uint32) []byte) {
	var is [sha1.Size]byte
	ids := io.NewSectionReader(p.index, indexHead, int64(p.n)*sha1.Size)
	idAt = func(i uint32) []byte {
		if _, err := ids.ReadAt(is[:], int64(i)*sha1.Size); err != nil {
			return nil
		}
		return is[:]
	}
	from, to := uint32(0), p.sums[id[0]]
	if id[0] > 0 {
		from = p.sums[id[0]-1]
	}
	if from > to || to > p.n {
		return p.n, idAt
	}
	return from + uint32(sort.Search(int(to-from), func(i int) bool { return bytes.Compare(idAt(from+uint32(i)), id) >= 0 })), idAt
}

// resolvePrefix notes the ids that begin with some digits: two, if there are more.
func (p *pack) resolvePrefix(prefix string, ids map[string]bool) {
	bytes, _ := hex.DecodeString(prefix[:len(prefix)&^1]) // they are digits
	i, idAt := p.seekID(bytes)
	for n := 0; n < 2; i++ {
		id := hex.EncodeToString(idAt(i))
		if id > prefix && !strings.HasPrefix(id, prefix) || id == "" {
			return
		}
		if strings.HasPrefix(id, prefix) {
			ids[id], n = true, n+1
		}
	}
}

// findObject returns where the object of an id is.
func (p *pack) findObject(id []byte) (at int64, found bool) {
	i, idAt := p.seekID(id)
	if !bytes.Equal(idAt(i), id) {
		return 0, false
	}
	places := indexHead + int64(p.n)*(sha1.Size+4)
	var place [8]byte
	if _, err := p.index.ReadAt(place[:4], places+4*int64(i)); err != nil {
		return 0, false
	}
	const large = 1 << 31
	small := binary.BigEndian.Uint32(place[:4])
	if small < large {
		return int64(small), true
	}
	if _, err := p.index.ReadAt(place[:], places+4*int64(p.n)+8*int64(small-large)); err != nil {
		return 0, false
	}
	at = int64(binary.BigEndian.Uint64(place[:]))
	return at, at >= 0
}

// mostDeltas bounds the deltas that an object is made of.
const mostDeltas = 5000

// readAt returns the object at a place.
func (p *pack) readAt(at, most int64, deltas int) (kind string, data []byte, err error) {
	var head [64]byte
	n, err := p.data.ReadAt(head[:], at)
	if err != nil && !errors.Is(err, io.EOF) || n == 0 || deltas > mostDeltas {
		return "", nil, errDamaged
	}
	in := bytes.NewReader(head[:n])
	first, _ := in.ReadByte()
	size := int64(first & 15)
	for shift, b := 4, first; b&0x80 != 0; shift += 7 {
		if b, err = in.ReadByte(); err != nil || shift > 50 {
			return "", nil, errDamaged
		}
		size |= int64(b&0x7f) << shift
	}
	if size > most {
		return "", nil, ErrTooLarge
	}
	is := int(first >> 4 & 7)
	var base func() (string, []byte, error)
	switch is {
	case 1, 2, 3, 4:
		kind = kinds[is]
	case 6: // of an earlier place
		back, b := int64(-1), byte(0x80)
		for b&0x80 != 0 {
			if b, err = in.ReadByte(); err != nil || back > 1<<50 {
				return "", nil, errDamaged
			}
			back = (back+1)<<7 | int64(b&0x7f)
		}
		if back <= 0 || back > at {
			return "", nil, errDamaged
		}
		base = func() (string, []byte, error) { return p.readAt(at-back, most, deltas+1) }
	case 7: // of an id
		var id [sha1.Size]byte
		if _, err := io.ReadFull(in, id[:]); err != nil {
			return "", nil, errDamaged
		}
		from, found := p.findObject(id[:])
		if !found {
			return "", nil, ErrMissing
		}
		base = func() (string, []byte, error) { return p.readAt(from, most, deltas+1) }
	default:
		return "", nil, errDamaged
	}
	var of []byte
	if base != nil { // before the delta is read: so no more than one is in memory
		if kind, of, err = base(); err != nil {
			return "", nil, err
		}
	}
	content := at + int64(n-in.Len())
	z, err := zlib.NewReader(io.NewSectionReader(p.data, content, 1<<40))
	if err != nil {
		return "", nil, errDamaged
	}
	if data, err = io.ReadAll(io.LimitReader(z, size+1)); err != nil || int64(len(data)) != size {
		return "", nil, errDamaged
	}
	if base != nil {
		data, err = applyDelta(of, data, most)
	}
	return kind, data, err
}

// applyDelta returns the content that a delta makes.
func applyDelta(base, delta []byte, most int64) ([]byte, error) {
	in := bytes.NewReader(delta)
	from, err := binary.ReadUvarint(in)
	size, failed := binary.ReadUvarint(in)
	switch {
	case err != nil || failed != nil || from != uint64(len(base)):
		return nil, errDamaged
	case size > uint64(most):
		return nil, ErrTooLarge
	}
	out := make([]byte, 0, size)
	for in.Len() > 0 {
		op, _ := in.ReadByte()
		if op&0x80 == 0 { // bytes of its own
			at := len(delta) - in.Len()
			if op == 0 || at+int(op) > len(delta) {
				return nil, errDamaged
			}
			out = append(out, delta[at:at+int(op)]...)
			in.Reset(delta[at+int(op):])
			delta = delta[at+int(op):]
			continue
		}
		var n [7]byte
		for i := range n {
			if op&(1<<i) != 0 {
				if n[i], err = in.ReadByte(); err != nil {
					return nil, errDamaged
				}
			}
		}
		at := int(binary.LittleEndian.Uint32(n[:4]))
		length := int(n[4]) | int(n[5])<<8 | int(n[6])<<16
		if length == 0 {
			length = 1 << 16
		}
		if at > len(base) || length > len(base)-at || len(out)+length > int(size) {
			return nil, errDamaged
		}
		out = append(out, base[at:at+length]...)
	}
	if uint64(len(out)) != size {
		return nil, errDamaged
	}
	return out, nil
}
