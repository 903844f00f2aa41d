package codex

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Codex compresses rollouts that are some days old if its option local_thread_store_compression is on:
// "rollout-….jsonl" becomes "rollout-….jsonl.zst". Positions in a history are offsets in the uncompressed
// text.

// packed is how the name of a packed rollout ends, and magic how the file begins.
const packed, magic = ".zst", "\x28\xb5\x2f\xfd"

// isPacked reports whether a text begins as a packed rollout.
func isPacked(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// unpackedHead returns the beginning of a rollout by that of its file, which may be packed.
func unpackedHead(head []byte) []byte {
	if !isPacked(head) {
		return head
	}
	const enough = 64 << 10
	from, err := zstd.NewReader(bytes.NewReader(head), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil
	}
	defer from.Close()
	text := make([]byte, enough)
	n, _ := io.ReadFull(from, text) // what is packed goes on behind the beginning
	return text[:n]
}

// A few bytes may unpack to any number. A rollout unpacks to no more than its packed size
// explains, so that any number of rollouts together are bounded by their size on the disk:
//
//	JSON of sessions packs to a fifth, and to a fiftieth where the same text is sent again
//	bombs pack to a ten thousandth
//
// Well packed ones are few: what all of them unpack to beyond the usual is bounded together.
//
// What is unpacked at a time is the window of the decoder and a part of the text, of some rollouts.
const (
	mostUnpacked  = 256 << 20 // of one rollout
	freeUnpacked  = 4 << 20   // of any rollout
	ratioUnpacked = 64        // of one that is packed well
	ratioUsual    = 16        // of any number of rollouts
	mostBeyond    = 256 << 20 // of all rollouts of a store, beyond the usual ratio
	mostOpen      = 2
	mostWindow    = 32 << 20
	partSize      = 32 << 20
	packedPiece   = 8 << 10 // read at a time
)

// unpacker reads packed rollouts, and keeps the last part: a state is read record by record.
type unpacker struct {
	mu   sync.Mutex
	last *stream
	// damaged says by the name of a rollout why not all of it could be unpacked.
	damaged map[string]error
	// reached is by the name of a rollout how far it was unpacked where that is beyond the usual ratio, and
	// beyond is how much that is of all.
	reached map[string]int64
	beyond  int64
	// open holds a token for each rollout that is open.
	open chan struct{}
}

func newUnpacker() unpacker {
	return unpacker{damaged: map[string]error{}, reached: map[string]int64{}, open: make(chan struct{}, mostOpen)}
}

// allowedSize returns how far a rollout may be unpacked, which is to be unpacked up to a place.
func (u *unpacker) allowedSize(name string, size, to int64) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	was := max(u.reached[name], ratioUsual*size)
	if to <= was {
		return to
	}
	more := min(to-was, mostBeyond-u.beyond)
	u.beyond += more
	u.reached[name] = was + more
	return was + more
}

// damageOf returns the error that stopped the decompression of a rollout when it was last read, or nil.
func (u *unpacker) damageOf(file string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.damaged[file]
}

// inputFor returns where a rollout is read from: the tree itself, unless it is packed. That the name
// of a rollout of Codex's own tells, else its beginning does.
func (u *unpacker) inputFor(in engine.In, file string) engine.In {
	is := strings.HasSuffix(file, packed)
	if thread, _ := threadOf(file); thread == "" {
		head, err := tree.Head(in.Tree, file, int64(len(magic)))
		is = err == nil && isPacked(head)
	}
	if is {
		in.Tree = unpacked{in.Tree, u}
	}
	return in
}

// rawRecords is chat.Raw for rollouts.
func (u *unpacker) rawRecords(in engine.In, file string, spans ...chat.Span) ([][]byte, error) {
	return chat.Raw(u.inputFor(in, file).Tree, file, spans)
}

// unpacked is a tree in which packed rollouts appear decompressed.
type unpacked struct {
	tree.Tree
	*unpacker
}

// OpenFile implements tree.Tree. A damaged rollout yields the bytes before the damage. OpenFile waits while
// too many files are open, because each holds a window and a block in memory.
func (t unpacked) OpenFile(name string) (tree.Opened, error) {
	at, err := t.Stamp(name)
	if err != nil {
		return nil, err
	}
	t.open <- struct{}{}
	t.mu.Lock()
	from := t.last
	t.mu.Unlock()
	if from == nil || from.name != name || !from.at.Is(at) {
		if from, err = t.openStream(name, at); err != nil {
			<-t.open
			return nil, err
		}
	}
	return &reading{tree: t, from: from}, nil
}

// openStream begins to unpack a rollout, and keeps it as the last one.
func (t unpacked) openStream(name string, at tree.Stamp) (*stream, error) {
	file, err := t.Tree.OpenFile(name)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	s := &stream{of: t.unpacker, name: name, at: at}
	s.most = min(mostUnpacked, freeUnpacked+ratioUnpacked*min(at.Size, mostUnpacked))
	s.from, err = zstd.NewReader(bufio.NewReaderSize(&packedText{tree: t.Tree, name: name}, packedPiece),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.last = s
	t.mu.Unlock()
	return s, nil
}

// packedText reads a packed rollout. It is open only while it is read from.
type packedText struct {
	tree tree.Tree
	name string
	at   int64
}

// Read implements io.Reader.
func (p *packedText) Read(buf []byte) (n int, err error) {
	file, err := p.tree.OpenFile(p.name)
	if err != nil {
		return 0, err
	}
	n, err = file.ReadAt(buf, p.at)
	p.at += int64(n)
	return n, cmp.Or(file.Close(), err)
}

// reading is a packed rollout that is open. It implements tree.Opened.
type reading struct {
	tree   unpacked
	from   *stream
	closed bool
}

// ReadAt implements io.ReaderAt.
func (r *reading) ReadAt(p []byte, off int64) (n int, err error) {
	n, behind, err := r.from.readAt(p, off)
	if !behind {
		return n, err
	}
	if r.from, err = r.tree.openStream(r.from.name, r.from.at); err != nil {
		return 0, err
	}
	n, _, err = r.from.readAt(p, off)
	return n, err
}

// Close implements io.Closer.
func (r *reading) Close() error {
	if !r.closed {
		r.closed = true
		<-r.tree.open
	}
	return nil
}

// stream unpacks a rollout from its start on.
type stream struct {
	of   *unpacker
	name string
	at   tree.Stamp
	// most bounds the text.
	most int64

	mu   sync.Mutex
	from *zstd.Decoder
	// text is a part of the rollout, which begins at a place. Nothing follows it if it ended.
	text  []byte
	place int64
	ended bool
}

// readAt is that of io.ReaderAt, behind where a part was let go of.
func (s *stream) readAt(p []byte, off int64) (n int, behind bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < s.place {
		return 0, true, nil
	}
	for n < len(p) {
		if at := off + int64(n) - s.place; at < int64(len(s.text)) {
			n += copy(p[n:], s.text[at:])
		} else if s.ended {
			return n, false, io.EOF
		} else {
			s.unpackMore()
		}
	}
	return n, false, nil
}

// unpackMore unpacks some more.
func (s *stream) unpackMore() {
	const piece = 256 << 10
	if len(s.text) >= partSize {
		s.place += int64(len(s.text))
		s.text = s.text[:0]
	}
	end := len(s.text)
	s.text = slices.Grow(s.text, piece)
	n, err := io.ReadFull(s.from, s.text[end:end+piece])
	if left := s.most - s.place - int64(end); int64(n) > left {
		n, err = int(left), fmt.Errorf("it unpacks to more than %d MB, which its %d kB do not explain", s.most>>20, s.at.Size>>10)
	}
	if to := s.place + int64(end+n); n > 0 {
		if left := s.of.allowedSize(s.name, s.at.Size, to); left < to {
			n = max(n-int(to-left), 0)
			err = fmt.Errorf("it is cut behind %d MB: together the packed rollouts unpack to %d MB more than their size explains", left>>20, mostBeyond>>20)
		}
	}
	if s.text = s.text[:end+n]; err == nil {
		return
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		_, err = s.from.Read(make([]byte, 1)) // the decoder repeats its own error
	}
	s.from.Close()
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.damaged[s.name] = err; err == nil || err == io.EOF {
		delete(s.of.damaged, s.name)
	}
	s.ended = true
}
