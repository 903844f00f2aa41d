package codex

import (
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"hindcast/store/coding"
	"hindcast/store/folder"
)

// Codex packs rollouts that are some days old, where its local_thread_store_compression is on:
// "rollout-….jsonl" becomes "rollout-….jsonl.zst". A place in a history is one in what is
// unpacked.

// packed is how the name of a packed rollout ends.
const packed = ".zst"

// mostUnpacked bounds what a rollout may hold that is packed.
const mostUnpacked = 256 << 20

// unpacker reads packed rollouts, and keeps the last one: a state is read record by record.
type unpacker struct {
	mu   sync.Mutex
	name string
	at   folder.Stamp
	text []byte
	// damaged says by the name of a rollout why not all of it could be unpacked.
	damaged map[string]error
}

// damage returns why not all of a rollout could be unpacked when it was read, nil for none.
func (u *unpacker) damage(file string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.damaged[file]
}

// open returns where a rollout is read from: the tree itself, unless it is packed.
func (u *unpacker) open(in folder.In, file string) folder.In {
	if strings.HasSuffix(file, packed) {
		in.Tree = unpacked{in.Tree, u}
	}
	return in
}

// raw is coding.Raw for rollouts.
func (u *unpacker) raw(in folder.In, file string, spans ...coding.Span) ([][]byte, error) {
	return coding.Raw(u.open(in, file).Tree, file, spans)
}

// unpacked is a tree in which a packed rollout has what was packed.
type unpacked struct {
	folder.Tree
	*unpacker
}

// Read implements folder.Tree: of a damaged rollout it is what can be unpacked.
func (t unpacked) Read(name string, buf []byte) (text []byte, at folder.Stamp, err error) {
	if at, err = t.Stamp(name); err != nil {
		return nil, at, err
	}
	t.mu.Lock()
	last, was, text := t.name, t.at, t.text
	t.mu.Unlock()
	if last == name && was.Is(at) {
		return text, at, nil
	}
	text, at, err = t.Tree.Read(name, buf)
	if err != nil {
		return nil, at, err
	}
	from, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked))
	if err != nil {
		return nil, at, err
	}
	defer from.Close()
	text, err = from.DecodeAll(text, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.damaged[name] = err; err == nil {
		delete(t.damaged, name)
	}
	t.name, t.at, t.text = name, at, text
	return text, at, nil
}

// OpenFile implements folder.Tree.
func (t unpacked) OpenFile(name string) (folder.Opened, error) {
	text, _, err := t.Read(name, nil)
	if err != nil {
		return nil, err
	}
	return folder.InMemory(text), nil
}
