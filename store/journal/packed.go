package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"

	"hindcast/model"
)

// A restore of a long session changes thousands of files of one folder, and the
// journal is read whole whenever a store is opened. So the changes of a large record
// are packed: each is
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
	sameDoes = 1 << 4
)

// maxPath bounds a path in a packed change, maxPaths all of them together, in bytes:
// what is packed may not become much larger than what it was packed into.
const (
	maxPath  = 4096
	maxPaths = 64 << 20
)

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
		for _, v := range []Version{c.Before, c.After} {
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

// packStays packs what stays as changes that bring it.
func packStays(stays []Stay) ([]byte, error) {
	changes := make([]Change, 0, len(stays))
	for _, s := range stays {
		changes = append(changes, Change{Path: s.Path, After: s.Version})
	}
	return pack(changes)
}

// unpackStays returns what packStays packed, which need not be sound.
func unpackStays(data []byte) ([]Stay, error) {
	changes, err := unpack(data)
	stays := make([]Stay, 0, len(changes))
	for _, c := range changes {
		stays = append(stays, Stay{c.Path, c.After})
	}
	return stays, err
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
		c.Before, c.After = p.version(kind&3), p.version(kind>>2&3)
		changes = append(changes, c)
		last = c
	}
	if p.bad {
		return nil, errPacked
	}
	return changes, nil
}

// packed is what is still to be unpacked.
type packed struct {
	data []byte
	// bad says that it ended too early, or that a number is none.
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
