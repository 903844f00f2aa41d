package bucket

import (
	"container/list"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

const (
	// fresh is how long a listing counts at least, unless it is said to be old. One that
	// takes long to make counts as many times longer as freshTimes says, so that a first
	// screen takes one; and is made again after as many times as restTimes says.
	fresh      = 2 * time.Second
	freshTimes = 10
	restTimes  = 5
	// partSize is how much of a large object is read by one request, in bytes.
	partSize = 4 << 20
	// aheadBytes and aheadEach bound what is read before it is asked for, in bytes, and
	// keptBytes what is remembered.
	aheadBytes = 16 << 20
	aheadEach  = 1 << 20
	keptBytes  = 64 << 20
)

// Tree is a folder of a bucket as a tree.Tree. Those of one bucket share the listing, and
// what was read. It is safe for concurrent use.
type Tree struct {
	*keys
	// at is the folder, "" for the bucket itself.
	at string
}

var _ tree.Remote = Tree{}

// keyOf returns the key of a name.
func (t Tree) keyOf(name string) string {
	switch {
	case t.at == "":
		return name
	case name == ".":
		return t.at
	}
	return t.at + "/" + name
}

// List implements tree.Tree. The folder itself is there, whatever is in it.
func (t Tree) List(dir string) ([]string, error) {
	names, err := t.keys.List(t.keyOf(dir))
	if dir == "." && errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// Folders implements tree.Tree.
func (t Tree) Folders(dir string) ([]string, error) { return tree.FoldersOf(t, dir) }

// Stamp implements tree.Tree.
func (t Tree) Stamp(name string) (tree.Stamp, error) { return t.keys.Stamp(t.keyOf(name)) }

// Read implements tree.Tree.
func (t Tree) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	return t.keys.Read(t.keyOf(name), buf)
}

// OpenFile implements tree.Tree.
func (t Tree) OpenFile(name string) (tree.Opened, error) { return t.keys.OpenFile(t.keyOf(name)) }

// Hold implements tree.Tree: no folder of a bucket is open.
func (t Tree) Hold(string) (release func()) { return func() {} }

// Remote implements tree.Tree.
func (t Tree) Remote() tree.Remote { return t }

// Ahead implements tree.Remote.
func (t Tree) Ahead(names []string) (stop func()) {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = t.keyOf(name)
	}
	return t.keys.Ahead(list)
}

// keys presents the objects below some prefixes of a bucket as a tree of files. Its root is the bucket.
// It is safe for concurrent use.
type keys struct {
	c *client

	listing sync.Mutex // held while a listing is made
	mu      sync.Mutex
	// parts are the prefixes that are listed.
	parts []string
	now   *listing
	old   bool // now does not count any more
	// followed counts those who look again by themselves.
	followed int

	bodies bodies
}

// Fresh has the next look ask the server, however young the listing is.
func (t *keys) Fresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.old = true
}

// currentListing returns the listing that counts, asking for one where none does.
func (t *keys) currentListing() (*listing, error) {
	if l := t.counts(); l != nil {
		return l, nil
	}
	t.listing.Lock()
	defer t.listing.Unlock()
	if l := t.counts(); l != nil {
		return l, nil
	}
	return t.requestListing(t.c.life)
}

func (t *keys) counts() *listing {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || t.old || t.followed == 0 && time.Since(t.now.begun) > max(fresh, freshTimes*t.now.took) {
		return nil
	}
	return t.now
}

// listInstead has a prefix listed and no other.
func (t *keys) listInstead(prefix string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts, t.now = []string{prefix}, nil
}

// coveringListing is current for a name that may not be among those that are listed: what lies beside
// the folder that was opened is listed once it is looked at.
func (t *keys) coveringListing(name string) (*listing, error) {
	t.coverName(name)
	return t.currentListing()
}

// coverName has the highest folder of a name listed that is around nothing that is listed.
func (t *keys) coverName(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	above := func(dir string) bool {
		return slices.ContainsFunc(t.parts, func(part string) bool { return len(part) > len(dir) && part[:len(dir)] == dir && part[len(dir)] == '/' })
	}
	if name == "." || slices.ContainsFunc(t.parts, func(part string) bool { return strings.HasPrefix(name, part) }) {
		return
	}
	for end := 0; end < len(name); {
		next := strings.IndexByte(name[end+1:], '/')
		if end += 1 + next; next < 0 {
			end = len(name)
		}
		if dir := name[:end]; !above(dir) {
			t.parts, t.now = append(slices.Clip(t.parts), dir), nil
			return
		}
	}
}

// requestListing asks for a listing. What became old meanwhile stays so.
func (t *keys) requestListing(ctx context.Context) (*listing, error) {
	t.mu.Lock()
	t.old = false
	parts := t.parts
	t.mu.Unlock()
	begun := time.Now()
	names, errs := newFound(), make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() { errs[i] = t.c.listPrefix(ctx, part, "", names) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fresh()
		return nil, err
	}
	l := treeOf(names)
	l.begun, l.took = begun, time.Since(begun)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = l
	return l, nil
}

// List implements tree.Tree.
func (t *keys) List(dir string) ([]string, error) {
	l, err := t.coveringListing(dir)
	if err != nil {
		return nil, err
	}
	in, there := l.folders[dir]
	if !there {
		return nil, fs.ErrNotExist
	}
	return in.names, nil
}

// Stamp implements tree.Tree.
func (t *keys) Stamp(name string) (tree.Stamp, error) {
	l, err := t.coveringListing(name)
	if err != nil {
		return tree.Stamp{}, err
	}
	return l.stampOf(name), nil
}

func (l *listing) stampOf(name string) tree.Stamp {
	if in, there := l.folders[name]; there {
		return in.folderStamp()
	}
	if o, there := l.objects[name]; there {
		return o.objectStamp()
	}
	return tree.Stamp{}
}

func (o object) objectStamp() tree.Stamp {
	return tree.Stamp{Stamp: files.TaggedStamp(o.size, o.modified, o.tag)}
}

// Read implements tree.Tree.
func (t *keys) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	o, err := t.findObject(name)
	if err != nil {
		return buf[:0], tree.Stamp{}, err
	}
	data, o, err := t.readBody(name, o)
	if err != nil {
		return buf[:0], tree.Stamp{}, err
	}
	return append(buf[:0], data...), o.objectStamp(), nil
}

// findObject returns the listed object of a file.
func (t *keys) findObject(name string) (object, error) {
	l, err := t.coveringListing(name)
	if err != nil {
		return object{}, err
	}
	if _, folder := l.folders[name]; folder {
		return object{}, files.ErrNotRegular
	}
	o, there := l.objects[name]
	switch {
	case !there:
		return o, fs.ErrNotExist
	case o.size > disk.MaxSize:
		return o, files.ErrTooLarge
	}
	return o, nil
}

// readBody returns the bytes of a file, and what they are of. The caller may not write to them.
func (t *keys) readBody(name string, o object) ([]byte, object, error) {
	if data, ok := t.bodies.recallBody(name, o.tag); ok {
		return data, o, nil
	}
	return t.bodies.shareRead(name, o, func() ([]byte, object, error) { return t.fetchFile(name, o) })
}

// fetchFile reads a file: a large one in parts at once.
func (t *keys) fetchFile(name string, o object) ([]byte, object, error) {
	if o.size > 2*partSize {
		if data, err := t.fetchLarge(name, o); !errors.Is(err, disk.ErrChanged) {
			return data, o, err
		}
	}
	data, head, err := t.c.getObject(t.c.life, name, "")
	if err != nil {
		if hasStatus(err, http.StatusNotFound) {
			t.Fresh()
			err = fs.ErrNotExist
		}
		return nil, o, err
	}
	now := headOf(head)
	now.size = int64(len(data))
	if now.tag != o.tag {
		t.Fresh()
	}
	return data, now, nil
}

func (t *keys) fetchLarge(key string, o object) ([]byte, error) {
	data := make([]byte, o.size)
	errs := make([]error, (o.size+partSize-1)/partSize)
	var parts sync.WaitGroup
	for i := range errs {
		parts.Go(func() {
			from := int64(i) * partSize
			part, err := t.c.getPart(t.c.life, key, o.tag, from, min(from+partSize, o.size))
			copy(data[from:], part)
			errs[i] = err
		})
	}
	parts.Wait()
	return data, errors.Join(errs...)
}

// OpenFile opens a file for a reader of a part: a large one is read by ranges.
func (t *keys) OpenFile(name string) (tree.Opened, error) {
	o, err := t.findObject(name)
	if err != nil {
		return nil, err
	}
	return &opened{t, name, o}, nil
}

// opened is a file that is read by parts.
type opened struct {
	t    *keys
	name string
	object
}

// ReadAt implements io.ReaderAt.
func (f *opened) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	to := min(off+int64(len(p)), f.size)
	if off >= to {
		return 0, io.EOF
	}
	var data []byte
	if f.size <= aheadEach {
		var now object
		if data, now, err = f.t.readBody(f.name, f.object); err == nil && now.tag != f.tag {
			err = disk.ErrChanged
		}
		if err == nil {
			data = data[off:to]
		}
	} else {
		data, err = f.t.c.getPart(f.t.c.life, f.name, f.tag, off, to)
	}
	if err != nil {
		return 0, err
	}
	n = copy(p, data)
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (f *opened) Close() error { return nil }

// Ahead reads files that will be read soon, many at once, until stop is called.
func (t *keys) Ahead(names []string) (stop func()) {
	l, err := t.currentListing()
	if err != nil || len(names) < 2 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(t.c.life)
	var readers sync.WaitGroup
	next := make(chan string)
	for range min(atOnce, len(names)) {
		readers.Go(func() {
			for name := range next {
				o := l.objects[name]
				_, _, _ = t.readBody(name, o) // Read returns the error
			}
		})
	}
	go func() {
		defer close(next)
		for _, name := range names {
			o, there := l.objects[name]
			if !there || o.size > aheadEach || !t.bodies.expectFile(ctx, name, o) {
				continue
			}
			select {
			case next <- name:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		readers.Wait()
		t.bodies.forgetFiles(names)
	}
}

// bodies are the bytes of files that were read, as long as there is room. Its zero value is
// ready.
type bodies struct {
	mu     sync.Mutex
	known  map[string]*list.Element // of body
	order  list.List                // the last used first
	size   int64
	coming map[string]*coming
	// ahead are the sizes of the files that were read, or will be, before they were asked for,
	// and waiting is how many bytes that is; room is closed when it gets less.
	ahead   map[string]int64
	waiting int64
	room    chan struct{}
}

type body struct {
	name, tag string
	data      []byte
}

// coming is a file that is being read.
type coming struct {
	done chan struct{}
	data []byte
	is   object
	err  error
}

// recallBody returns the bytes of a file that has an ETag.
func (b *bodies) recallBody(name, tag string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.known[name]
	if e == nil || e.Value.(*body).tag != tag {
		return nil, false
	}
	b.order.MoveToFront(e)
	b.noteTaken(name)
	return e.Value.(*body).data, true
}

// shareRead reads a file, or waits where it is being read.
func (b *bodies) shareRead(name string, o object, read func() ([]byte, object, error)) ([]byte, object, error) {
	b.mu.Lock()
	c := b.coming[name]
	if c != nil {
		b.mu.Unlock()
		<-c.done
		if c.err == nil && c.is.tag == o.tag {
			b.mu.Lock()
			b.noteTaken(name)
			b.mu.Unlock()
			return c.data, c.is, nil
		}
		return read()
	}
	c = &coming{done: make(chan struct{})}
	if b.coming == nil {
		b.coming = map[string]*coming{}
	}
	b.coming[name] = c
	b.mu.Unlock()
	c.data, c.is, c.err = read()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.coming, name)
	close(c.done)
	if c.err == nil {
		b.keepBody(name, c.is.tag, c.data)
	}
	return c.data, c.is, c.err
}

// keepBody remembers bytes, and forgets those that were not used for longest.
func (b *bodies) keepBody(name, tag string, data []byte) {
	if e := b.known[name]; e != nil {
		b.dropBody(e)
	}
	if int64(len(data)) > keptBytes/4 {
		return
	}
	if b.known == nil {
		b.known = map[string]*list.Element{}
	}
	b.known[name] = b.order.PushFront(&body{name, tag, data})
	b.size += int64(len(data))
	for b.size > keptBytes {
		b.dropBody(b.order.Back())
	}
}

func (b *bodies) dropBody(e *list.Element) {
	was := b.order.Remove(e).(*body)
	delete(b.known, was.name)
	b.size -= int64(len(was.data))
}

// expectFile says that a file will be read before it is asked for, once there is room. It reports
// false where it is known, or ctx ends.
func (b *bodies) expectFile(ctx context.Context, name string, o object) bool {
	for {
		b.mu.Lock()
		if e := b.known[name]; e != nil && e.Value.(*body).tag == o.tag || b.coming[name] != nil {
			b.mu.Unlock()
			return false
		}
		if b.waiting == 0 || b.waiting+o.size <= aheadBytes {
			if b.ahead == nil {
				b.ahead = map[string]int64{}
			}
			b.waiting += o.size - b.ahead[name]
			b.ahead[name] = o.size
			b.mu.Unlock()
			return true
		}
		if b.room == nil {
			b.room = make(chan struct{})
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
	}
}

// noteTaken says that a file that was read ahead was asked for.
func (b *bodies) noteTaken(name string) {
	size, ahead := b.ahead[name]
	if !ahead {
		return
	}
	delete(b.ahead, name)
	b.waiting -= size
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// forgetFiles says that files will not be asked for any more.
func (b *bodies) forgetFiles(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		b.noteTaken(name)
	}
}

// followChanges looks again from time to time, until ctx ends, and tells where something changed.
func (t *keys) followChanges(ctx context.Context, every time.Duration, tell func()) {
	t.mu.Lock()
	t.followed++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.followed--
		t.mu.Unlock()
	}()
	for {
		t.mu.Lock()
		before := t.now
		t.mu.Unlock()
		wait := every
		if before != nil {
			wait = max(every, restTimes*before.took)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		t.listing.Lock()
		now, err := t.requestListing(ctx)
		t.listing.Unlock()
		if err == nil && (before == nil || !now.equalsListing(before)) {
			tell()
		}
	}
}

// equalsListing reports whether two listings have the same names with the same contents.
func (l *listing) equalsListing(other *listing) bool {
	if len(l.objects) != len(other.objects) || len(l.folders) != len(other.folders) {
		return false
	}
	for name, o := range l.objects {
		if was, there := other.objects[name]; !there || was.tag != o.tag || was.size != o.size || !was.modified.Equal(o.modified) {
			return false
		}
	}
	return true
}
