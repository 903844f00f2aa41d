package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"path"
	"slices"

	"hindcast/model"
)

// A restore of a long session changes thousands of files of one folder, and the journal is
// read whole whenever a store is opened. A session that is put back and forth has hundreds
// of entries that say nearly the same. So the changes of a large entry are cut into parts,
// at places that the names of the files decide and not where the changes begin. A part that
// an earlier entry has stands in the journal once, and is in memory once, packed. It has
// for each change
//
//	one byte       what the versions before and after are, in two bits each, and
//	               whether it does what the change before it did
//	two uvarints   how much of its path is that of the change before it, and how
//	               many bytes follow
//	bytes          the rest of the path
//	uvarint, bytes what it does, if that is another thing than the change before did
//	per version    of a file its SHA-256, size and mode; of a folder its mode
//
// A change of 50 bytes stands for one of 230 in JSON.

// What a version is, in two bits.
const (
	isNone = iota
	isFile
	isFolder
	isSame   // the version after is the one before
	sameDoes = 1 << 4
)

// What is packed may not become much larger than what it was packed into: maxPath bounds
// a path in bytes and maxPart the changes of a part; maxPaths and maxChanges bound all of
// an entry.
const (
	maxPath    = 4096
	maxPart    = 1024
	maxPaths   = 64 << 20
	maxChanges = 1 << 20
)

// sum names a part: the first half of the SHA-256 of its packed bytes.
type sum [sha256.Size / 2]byte

func sumOf(packed []byte) sum {
	whole := sha256.Sum256(packed)
	return sum(whole[:])
}

// Part is a stretch of the changes of an entry, or of the changes that do nothing.
type Part struct {
	sum    sum
	packed []byte
	few    []Change // instead, of changes that are not packed
	n      int
	paths  int // bytes in all
	// stays says that they do nothing, forgets that they forget contents.
	stays, forgets bool
}

// Changes returns the changes. They are unpacked each time.
func (p *Part) Changes() []Change {
	if p.packed == nil {
		return slices.Clone(p.few)
	}
	changes, _ := unpack(p.packed) // it was read before
	return changes
}

// Find returns the change of a path.
func (p *Part) Find(name string) (c Change, ok bool) {
	changes := p.Changes()
	i := slices.IndexFunc(changes, func(c Change) bool { return c.Path == name })
	if i < 0 {
		return c, false
	}
	return changes[i], true
}

// unpackAll returns the changes of some parts.
func unpackAll(parts []*Part, which func(*Part) bool) (list []Change) {
	for _, p := range parts {
		if which(p) {
			list = append(list, p.Changes()...)
		}
	}
	return list
}

// newPart returns the part of some changes, which are not packed. It reports false if no
// journal could have written the part. A store may come from anywhere, and what it says is carried
// out.
func newPart(changes []Change) (*Part, bool) {
	p := &Part{few: changes, n: len(changes)}
	for i, c := range changes {
		stays, forgets := c.Does == "", c.Does == model.FileForgotten
		if i == 0 {
			p.stays, p.forgets = stays, forgets
		}
		p.paths += len(c.Path)
		switch {
		case p.stays != stays, p.forgets != forgets, !ours(c.Path), !c.Before.sound(), !c.After.sound():
			return nil, false
		case stays && (c.Before != c.After || !c.Before.file()), !stays && c.Before.same(c.After):
			return nil, false
		case forgets && (!c.Before.file() || !c.After.None()):
			return nil, false
		}
	}
	return p, p.n > 0
}

// packedPart unpacks a part, and reports false if the bytes are not a valid part.
func packedPart(data []byte) (*Part, bool) {
	changes, err := unpack(data)
	if err != nil || len(changes) > maxPart {
		return nil, false
	}
	p, ok := newPart(changes)
	if ok {
		p.sum, p.packed, p.few = sumOf(data), data, nil
	}
	return p, ok
}

// cut cuts the changes of an entry into those of its parts: where the folder becomes
// another, where those begin that do nothing, and behind names that one sees are an end.
func cut(changes []Change) (list [][]Change) {
	from := 0
	for i := range changes {
		last := i + 1
		switch {
		case last == len(changes), last-from == maxPart, crc32.ChecksumIEEE([]byte(changes[i].Path))%256 == 0,
			path.Dir(changes[i].Path) != path.Dir(changes[last].Path), (changes[i].Does == "") != (changes[last].Does == ""):
			list = append(list, changes[from:last])
			from = last
		}
	}
	return list
}

// packedParts packs changes. The error is ErrTooMuch, and fs.ErrInvalid where they are not
// sound.
func packedParts(changes []Change) (list []*Part, err error) {
	for _, few := range cut(changes) {
		data, err := pack(few)
		if err != nil {
			return nil, err
		}
		p, ok := packedPart(data)
		if !ok {
			return nil, errUnsound
		}
		list = append(list, p)
	}
	return list, nil
}

// parted returns the parts of a few changes, which are not packed.
func parted(changes []Change) (list []*Part, ok bool) {
	stays := slices.IndexFunc(changes, func(c Change) bool { return c.Does == "" })
	if stays < 0 {
		stays = len(changes)
	}
	for _, some := range [][]Change{changes[:stays], changes[stays:]} {
		if len(some) == 0 {
			continue
		}
		p, ok := newPart(some)
		if !ok {
			return nil, false
		}
		list = append(list, p)
	}
	return list, true
}

func (v Version) is() byte {
	switch {
	case v.Folder:
		return isFolder
	case v.file():
		return isFile
	}
	return isNone
}

// pack packs changes that are sound. The error is ErrTooMuch.
func pack(changes []Change) ([]byte, error) {
	data := make([]byte, 0, len(changes)*64)
	last, paths := Change{}, 0
	for _, c := range changes {
		if paths += len(c.Path); len(c.Path) > maxPath || paths > maxPaths {
			return nil, ErrTooMuch
		}
		kind := c.Before.is() | c.After.is()<<2
		if c.Before.file() && c.Before == c.After {
			kind = c.Before.is() | isSame<<2
		}
		if c.Does == last.Does {
			kind |= sameDoes
		}
		data = append(data, kind)
		shared := 0
		for shared < min(len(c.Path), len(last.Path)) && c.Path[shared] == last.Path[shared] {
			shared++
		}
		data = binary.AppendUvarint(data, uint64(shared))
		data = appendText(data, c.Path[shared:])
		if c.Does != last.Does {
			data = appendText(data, string(c.Does))
		}
		for i, v := range []Version{c.Before, c.After} {
			if i == 1 && v.file() && v == c.Before {
				continue
			}
			if v.file() {
				sum, err := hex.DecodeString(v.SHA256)
				if err != nil {
					return nil, err
				}
				data = binary.AppendUvarint(append(data, sum...), uint64(v.Size))
			}
			if !v.None() {
				data = binary.AppendUvarint(data, uint64(v.Mode))
			}
		}
		last = c
	}
	return data, nil
}

func appendText(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

var errPacked = errors.New("packed changes that cannot be read")

// unpack returns the changes, which need not be sound.
func unpack(data []byte) ([]Change, error) {
	p := &packed{data: data}
	changes := make([]Change, 0, len(data)/48)
	last, paths := Change{}, 0
	for len(p.data) > 0 && !p.bad {
		var c Change
		kind := p.take(1)[0]
		shared, rest := p.number(), p.text()
		if shared > uint64(len(last.Path)) || kind >= sameDoes<<1 {
			return nil, errPacked
		}
		c.Path = last.Path[:shared] + string(rest)
		if paths += len(c.Path); len(c.Path) > maxPath || paths > maxPaths {
			return nil, errPacked
		}
		if c.Does = last.Does; kind&sameDoes == 0 {
			c.Does = model.FileChange(p.text())
		}
		c.Before = p.version(kind & 3)
		if c.After = c.Before; kind>>2&3 != isSame {
			c.After = p.version(kind >> 2 & 3)
		} else if !c.Before.file() {
			return nil, errPacked
		}
		changes = append(changes, c)
		last = c
	}
	if p.bad {
		return nil, errPacked
	}
	return changes, nil
}

// packed holds the bytes still to be unpacked.
type packed struct {
	data []byte
	// bad reports that the bytes ended too early, or that a number is malformed.
	bad bool
}

func (p *packed) take(n int) []byte {
	if n > len(p.data) {
		p.bad, p.data = true, nil
		return make([]byte, min(n, sha256.Size))
	}
	taken := p.data[:n]
	p.data = p.data[n:]
	return taken
}

func (p *packed) number() uint64 {
	n, size := binary.Uvarint(p.data)
	if size <= 0 {
		p.bad, p.data = true, nil
		return 0
	}
	p.data = p.data[size:]
	return n
}

func (p *packed) text() []byte {
	n := p.number()
	if n > maxPath {
		p.bad = true
		return nil
	}
	return p.take(int(n))
}

func (p *packed) version(is byte) (v Version) {
	switch is {
	case isNone:
		return v
	case isFile:
		v.SHA256 = hex.EncodeToString(p.take(sha256.Size))
		size := p.number()
		v.Size = int64(size)
		p.bad = p.bad || v.Size < 0
	case isFolder:
		v.Folder = true
	default:
		p.bad = true
	}
	mode := p.number()
	v.Mode = fs.FileMode(mode)
	p.bad = p.bad || mode > uint64(fs.ModePerm)
	return v
}
