package tree

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"

	"hindcast/store/media/files"
)

// Memo caches values decoded from files. It is safe for concurrent use.
type Memo struct {
	// Notes outlive the plan, and maybe the program.
	Notes *files.Memory
	// fetched counts the files that were read.
	fetched *atomic.Int64
	// large is held while a large file is in memory.
	large *sync.Mutex

	// tagged are the notes of contents that have a name of their own, which no file has.
	tagged *tagged
	kept   *kept

	mu      sync.Mutex
	decoded map[string]decoded // nil but in the course of a plan
}

// NewMemo returns a memo with notes.
func NewMemo(notes *files.Memory) *Memo {
	return &Memo{Notes: notes, fetched: &atomic.Int64{}, large: &sync.Mutex{}, tagged: &tagged{}, kept: &kept{}}
}

// content is one content of the file of a name.
type content struct{ name, tag string }

// tagged are notes of contents.
type tagged struct {
	mu    sync.Mutex
	notes map[content][]byte
}

// mostTagged bounds the notes of contents: those of two long branches.
const mostTagged = 200_000

// Recall returns the note of a file of a tree that has that stamp, see
// [files.Memory.Recall].
func (m *Memo) Recall(name string, at Stamp) (text []byte, ok bool) {
	if at.Tag == "" {
		return m.Notes.Recall(name, at.Stamp)
	}
	m.tagged.mu.Lock()
	defer m.tagged.mu.Unlock()
	text, ok = m.tagged.notes[content{name, at.Tag}]
	return text, ok
}

// Note keeps the note of a file of a tree, see [files.Memory.Note].
func (m *Memo) Note(name string, at Stamp, text []byte) {
	if at.Tag == "" {
		m.Notes.Note(name, at.Stamp, text)
		return
	}
	m.tagged.mu.Lock()
	defer m.tagged.mu.Unlock()
	if m.tagged.notes == nil || len(m.tagged.notes) >= mostTagged {
		m.tagged.notes = map[content][]byte{}
	}
	m.tagged.notes[content{name, at.Tag}] = text
}

// CountReads returns how many files were read, in plans too.
func (m *Memo) CountReads() int64 { return m.fetched.Load() }

// decoded is the value decoded from a file in the course of one plan.
type decoded struct {
	at Stamp
	is any
}

// Planning returns the memo for the course of one plan: a file is decoded once in it, in
// whatever trees it is.
func (m *Memo) Planning() *Memo {
	return &Memo{Notes: m.Notes, fetched: m.fetched, large: m.large, tagged: m.tagged, kept: m.kept, decoded: map[string]decoded{}}
}

// File is the input to a note.
type File struct {
	Name string // in its folder
	Size int64
	Data []byte // lent
}

// Codec makes something of a file, and of a note what was made of the file then.
type Codec[T any] struct {
	// Decode decodes a file. Where it is not whole, which may be because its writer is
	// at work, it is read again until it no longer changes.
	Decode func(File) (is T, whole bool)
	// Note encodes a decoded value as a note; nil means that nothing is remembered.
	Note func(T) []byte
	// Recall decodes a note, in Data. After an error the file is decoded.
	Recall func(File) (T, error)
	// Join, if there is one, completes what was made of a file by that of the file listed
	// before it, the zero value for the first. It is called in turn, and before a note is
	// made. It reports whether it could: else the file is decoded, and joined once more.
	Join func(before T, is *T) bool
	// First is the value decoded from the file before the first, for Join.
	First T
}

// Noted is the value decoded from a file.
type Noted[T any] struct {
	Name string
	Is   T
	Err  error // why it could not be read
}

const (
	// readTries is how often a file is read that its writer seems to replace.
	readTries = 3
	// keepBuffer and largeFile, in bytes: buffers that are kept from one file to the
	// next, and files that are in memory one at a time.
	keepBuffer = 16 << 20
	largeFile  = 32 << 20
	// fewNotes is how many files are not worth a second worker.
	fewNotes = 8
	// mostApart is how many files are read before they are joined.
	mostApart = 128
)

// noting is a tree whose files are noted.
type noting struct {
	Tree
	memo *Memo
}

// Notes returns the notes on files of one folder, in the order of names. A file that has
// not changed keeps its note; the others are read and decoded, several at once. The error
// is the context's.
func Notes[T any](ctx context.Context, on Tree, memo *Memo, dir string, names []string, c Codec[T]) ([]Noted[T], error) {
	in := noting{on, memo}
	defer in.Hold(dir)()
	defer readAhead(in, dir, names)()
	list := make([]Noted[T], len(names))
	most := len(names)
	if c.Join != nil {
		most = mostApart
	}
	before := c.First
	for at := 0; at < len(names); at += most {
		part := list[at:min(at+most, len(names))]
		looks := make([]look, len(part))
		if err := decodeEach(ctx, in, dir, names[at:], part, looks, c); err != nil {
			return nil, err
		}
		for i := range part {
			n := &part[i]
			if c.Join == nil {
				break
			}
			if n.Err == nil && !c.Join(before, &n.Is) {
				looks[i].fresh = true
				if n.Is, _, looks[i].at, n.Err = decodeFile(in, dir, n.Name, c, nil); n.Err == nil {
					c.Join(before, &n.Is) // it is whole by itself
				}
			}
			if n.Err != nil {
				continue
			}
			before = n.Is
			rememberFile(in.memo, Join(dir, n.Name), looks[i], n.Is, c)
		}
	}
	return list, nil
}

// readAhead reads the files of a folder that have no note.
func readAhead(in noting, dir string, names []string) (stop func()) {
	return Ahead(in.Tree, listPaths(dir, names), func(name string) bool {
		at, err := in.Stamp(name)
		if err != nil || at.Kind != files.Regular || at.From != "" {
			return false
		}
		_, known := in.memo.Recall(name, at)
		return !known && in.memo.recallValue(name, at) == nil
	})
}

// listPaths returns the names of files of a folder in the tree.
func listPaths(dir string, names []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range names {
			if !yield(Join(dir, name)) {
				return
			}
		}
	}
}

// look is how a file was found that something was made of, fresh if it was decoded.
type look struct {
	at    Stamp
	fresh bool
}

// decodeEach makes something of files, several at once.
func decodeEach[T any](ctx context.Context, in noting, dir string, names []string, list []Noted[T], looks []look, c Codec[T]) error {
	var next atomic.Int64
	work := func() {
		var buf []byte
		for ctx.Err() == nil {
			from := int(next.Add(fewNotes)) - fewNotes
			if from >= len(list) {
				return
			}
			for i := from; i < min(from+fewNotes, len(list)); i++ {
				list[i].Name = names[i]
				list[i].Is, looks[i], buf, list[i].Err = noteFile(in, dir, names[i], c, buf)
				if c.Join == nil && list[i].Err == nil {
					rememberFile(in.memo, Join(dir, names[i]), looks[i], list[i].Is, c)
				}
			}
		}
	}
	var others sync.WaitGroup
	for range min(max(4, runtime.GOMAXPROCS(0)), 16, (len(list)+fewNotes-1)/fewNotes) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return ctx.Err()
}

// noteFile returns the value noted for or decoded from one file, reading into buf.
func noteFile[T any](in noting, dir, name string, c Codec[T], buf []byte) (is T, l look, _ []byte, err error) {
	key := Join(dir, name)
	at, err := in.Stamp(key)
	if err == nil && at.Kind == files.Nothing {
		err = fs.ErrNotExist
	}
	if err != nil {
		return is, l, buf, err
	}
	if at.From != "" {
		key = at.From
	}
	if known, ok := in.memo.recallValue(key, at).(T); ok {
		return known, look{at: at}, buf, nil
	}
	if text, ok := in.memo.Recall(key, at); ok {
		if is, err = c.Recall(File{name, at.Size, text}); err == nil {
			return is, look{at: at}, buf, nil
		}
	}
	if at.Size > largeFile {
		in.memo.large.Lock()
		defer in.memo.large.Unlock()
	}
	is, data, read, err := decodeFile(in, dir, name, c, buf)
	if err == nil && cap(data) <= keepBuffer {
		buf = data
	}
	return is, look{read, true}, buf, err
}

// rememberFile keeps what was made of a file.
func rememberFile[T any](m *Memo, name string, l look, is T, c Codec[T]) {
	if l.at.From != "" {
		name = l.at.From
	}
	m.keepValue(name, l.at, is)
	if !l.fresh {
		return
	}
	if text := c.Note(is); text != nil {
		m.Note(name, l.at, text)
	}
}

// DecodeFile decodes one file, and returns its bytes as well. Nothing is remembered.
func DecodeFile[T any](on Tree, memo *Memo, dir, name string, c Codec[T]) (is T, data []byte, err error) {
	is, data, _, err = decodeFile(noting{on, memo}, dir, name, c, nil)
	return is, data, err
}

// decodeFile reads a file into buf and decodes it. One that is not whole is read again.
func decodeFile[T any](in noting, dir, name string, c Codec[T], buf []byte) (is T, data []byte, at Stamp, err error) {
	key := Join(dir, name)
	if data, at, err = in.readFile(key, buf); err != nil {
		return is, data, at, err
	}
	for try := 1; ; try++ {
		whole := false
		if is, whole = c.Decode(File{name, int64(len(data)), data}); whole || try == readTries {
			return is, data, at, nil
		}
		again, then, failed := in.readFile(key, nil)
		if failed != nil || bytes.Equal(again, data) {
			return is, data, at, nil
		}
		data, at = again, then
	}
}

// readFile reads a file, and counts it.
func (in noting) readFile(name string, buf []byte) ([]byte, Stamp, error) {
	in.memo.fetched.Add(1)
	return in.Read(name, buf)
}

// recallValue returns the value decoded from a file in the course of the plan, nil if there is no such value.
func (m *Memo) recallValue(name string, at Stamp) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.decoded[name]; known.at.Is(at) {
		return known.is
	}
	return nil
}

func (m *Memo) keepValue(name string, at Stamp, is any) {
	if m.decoded == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decoded[name] = decoded{at, is}
}
