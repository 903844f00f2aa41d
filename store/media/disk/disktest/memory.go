package disktest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hindcast/store/media/disk"
)

// Memory is a Disk in memory that knows which of its bytes are durable, see
// [Memory.Crash]. Use NewMemory. Its methods but Crash are safe for concurrent use; its
// fields are not.
type Memory struct {
	// NoExchange makes it a file system that cannot exchange files.
	NoExchange bool
	// Lies makes it a drive that reports a sync as done and does nothing.
	Lies bool
	// Step is called before every change of the disk, and within Create and Append
	// when the bytes are written but not yet durable. It may be nil.
	Step func()

	mu    sync.Mutex
	root  *node
	locks map[string]bool
	// clock gives every change a time of its own.
	clock int64
}

var _ disk.Disk = (*Memory)(nil)

// node is a file or a folder.
type node struct {
	mode  fs.FileMode // with fs.ModeDir
	time  int64
	data  []byte
	safe  []byte // of data, what is durable
	names map[string]*name
}

// name is a name in a folder, or one that was there.
type name struct {
	now *node // nil where it stands for nothing
	// safe is the node that it durably stands for, pending the events since.
	safe    *node
	pending []*event
}

// event is one change of the node that a name stands for.
type event struct {
	to *node
	// of is the name, with its earlier events. with are the events that become durable
	// together with this one.
	of   *name
	with []*event
}

// NewMemory makes a disk with files, all durable. Their folders are made.
func NewMemory(files map[string]string, mode fs.FileMode) *Memory {
	m := &Memory{root: folder(0o755), locks: map[string]bool{}}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		at := m.root
		parts := strings.Split(file, "/")
		for _, part := range parts[:len(parts)-1] {
			if at.names[part] == nil {
				next := folder(0o755)
				at.names[part] = &name{now: next, safe: next}
			}
			at = at.names[part].now
		}
		data := []byte(files[file])
		n := &node{mode: mode, time: m.tick(), data: data, safe: data}
		at.names[parts[len(parts)-1]] = &name{now: n, safe: n}
	}
	return m
}

func folder(mode fs.FileMode) *node {
	return &node{mode: mode.Perm() | fs.ModeDir, names: map[string]*name{}}
}

func (m *Memory) tick() int64 {
	m.clock++
	return m.clock
}

func (m *Memory) step() {
	if m.Step != nil {
		m.mu.Unlock()
		defer m.mu.Lock() // also if it panics
		m.Step()
	}
}

// find returns the node that a name stands for.
func (m *Memory) find(full string) (*node, error) {
	if !fs.ValidPath(full) {
		return nil, fs.ErrInvalid
	}
	at := m.root
	if full == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(full, "/") {
		if at.names == nil {
			return nil, syscall.ENOTDIR
		}
		next := at.names[part]
		if next == nil || next.now == nil {
			return nil, fs.ErrNotExist
		}
		at = next.now
	}
	return at, nil
}

// slot returns a name, which may stand for nothing yet.
func (m *Memory) slot(full string) (*name, error) {
	if !fs.ValidPath(full) || full == "." {
		return nil, fs.ErrInvalid
	}
	parent, err := m.find(path.Dir(full))
	if err != nil {
		return nil, err
	}
	if parent.names == nil {
		return nil, syscall.ENOTDIR
	}
	base := path.Base(full)
	if parent.names[base] == nil {
		parent.names[base] = &name{}
	}
	return parent.names[base], nil
}

func (s *name) become(to *node) *event {
	s.now = to
	e := &event{to: to, of: s}
	s.pending = append(s.pending, e)
	return e
}

func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// look is the result of Lstat.
type look struct {
	*node
	name string
	size int64
	at   int64
}

func (l look) Name() string       { return path.Base(l.name) }
func (l look) Size() int64        { return l.size }
func (l look) Mode() fs.FileMode  { return l.mode }
func (l look) ModTime() time.Time { return time.Unix(l.at, 0) }
func (l look) IsDir() bool        { return l.mode.IsDir() }
func (l look) Sys() any           { return nil }

// Lstat implements disk.Disk.
func (m *Memory) Lstat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err != nil {
		return nil, fail("lstat", name, err)
	}
	return look{n, name, int64(len(n.data)), n.time}, nil
}

// SameFile implements disk.Disk.
func (m *Memory) SameFile(a, b fs.FileInfo) bool {
	x, ok := a.(look)
	y, too := b.(look)
	return ok && too && x.node == y.node
}

// Names implements disk.Disk.
func (m *Memory) Names(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(dir)
	if err == nil && n.names == nil {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, fail("list", dir, err)
	}
	var names []string
	for base, s := range n.names {
		if s.now != nil {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Read implements disk.Disk.
func (m *Memory) Read(name string) ([]byte, error) {
	data, _, err := m.Load(name, nil)
	return data, err
}

// Load implements disk.Disk.
func (m *Memory) Load(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err == nil && n.names != nil {
		err = disk.ErrNotRegular
	}
	if err != nil {
		return buf[:0], nil, fail("read", name, err)
	}
	return append(buf[:0], n.data...), look{n, name, int64(len(n.data)), n.time}, nil
}

// Create implements disk.Disk.
func (m *Memory) Create(name string, data []byte, mode fs.FileMode) error {
	return m.create(name, data, mode, true)
}

// Write does what a program does that takes no care: it makes the file or empties
// it, writes into it in place, and makes nothing durable.
func (m *Memory) Write(name string, data []byte, mode fs.FileMode) error {
	m.mu.Lock()
	n, err := m.find(name)
	if err != nil {
		m.mu.Unlock()
		return m.create(name, data, mode, false)
	}
	defer m.mu.Unlock()
	m.step()
	n.data, n.time = nil, m.tick()
	m.step()
	n.data = slices.Clone(data)
	return nil
}

func (m *Memory) create(name string, data []byte, mode fs.FileMode, durable bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	s, err := m.slot(name)
	if err == nil && s.now != nil {
		err = fs.ErrExist
	}
	if err != nil {
		return fail("create", name, err)
	}
	n := &node{mode: mode.Perm(), time: m.tick(), data: slices.Clone(data)}
	s.become(n)
	m.step()
	if durable && !m.Lies {
		n.safe = n.data
	}
	return nil
}

// Append implements disk.Disk.
func (m *Memory) Append(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	n, err := m.find(name)
	if err == nil && n.names != nil {
		err = disk.ErrNotRegular
	}
	if err != nil {
		return fail("append", name, err)
	}
	n.data, n.time = slices.Concat(n.data, data), m.tick()
	m.step()
	if !m.Lies {
		n.safe = n.data
	}
	return nil
}

// Copy implements disk.Disk.
func (m *Memory) Copy(old, new string, mode fs.FileMode) error {
	data, info, err := m.Load(old, nil)
	if err == nil {
		err = m.create(new, data, mode, false)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(new)
	if err == nil {
		n.time = info.(look).at
	}
	return err
}

// Flush implements disk.Disk.
func (m *Memory) Flush(names []string) error {
	for _, name := range names {
		if err := m.Sync(name); err != nil {
			return err
		}
	}
	return nil
}

// Rename implements disk.Disk.
func (m *Memory) Rename(old, new string) error { return m.move(old, new, true) }

// Place implements disk.Disk.
func (m *Memory) Place(old, new string) error { return m.move(old, new, false) }

func (m *Memory) move(old, new string, over bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	n, err := m.find(old)
	var from, to *name
	if err == nil {
		from, err = m.slot(old)
	}
	if err == nil {
		to, err = m.slot(new)
	}
	switch {
	case err != nil:
	case to.now != nil && !over:
		err = fs.ErrExist
	case to.now == n:
		return nil // as POSIX has it of two names of a file
	case to.now != nil && to.now.names != nil:
		err = fs.ErrExist
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: old, New: new, Err: err}
	}
	added, removed := to.become(n), from.become(nil)
	removed.with = []*event{added}
	if n.names != nil {
		added.with = []*event{removed}
	}
	return nil
}

// Exchange implements disk.Disk.
func (m *Memory) Exchange(a, b string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	x, err := m.find(a)
	y, failed := m.find(b)
	err = errors.Join(err, failed)
	if m.NoExchange {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	from, _ := m.slot(a) // they are there
	to, _ := m.slot(b)
	one, other := from.become(y), to.become(x)
	one.with, other.with = []*event{other}, []*event{one}
	return nil
}

// Mkdir implements disk.Disk.
func (m *Memory) Mkdir(name string, mode fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	s, err := m.slot(name)
	if err == nil && s.now != nil {
		err = fs.ErrExist
	}
	if err != nil {
		return fail("mkdir", name, err)
	}
	s.become(folder(mode))
	return nil
}

// Remove implements disk.Disk.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	n, err := m.find(name)
	if err == nil {
		for _, s := range n.names {
			if s.now != nil {
				err = syscall.ENOTEMPTY
			}
		}
	}
	if err != nil {
		return fail("remove", name, err)
	}
	s, _ := m.slot(name) // it is there
	s.become(nil)
	return nil
}

// Sync implements disk.Disk.
func (m *Memory) Sync(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step()
	n, err := m.find(name)
	if err != nil {
		return fail("sync", name, err)
	}
	if m.Lies {
		return nil
	}
	n.safe = n.data
	for _, s := range n.names {
		if len(s.pending) > 0 {
			s.pending[len(s.pending)-1].endure()
		}
	}
	return nil
}

// endure makes an event durable, those of its name before it, and what is durable
// with them.
func (e *event) endure() {
	for todo := []*event{e}; len(todo) > 0; {
		e, todo = todo[0], todo[1:]
		at := slices.Index(e.of.pending, e)
		if at < 0 {
			continue // it is already
		}
		for _, earlier := range e.of.pending[:at+1] {
			todo = append(todo, earlier.with...)
		}
		e.of.safe = e.to
		e.of.pending = slices.Clone(e.of.pending[at+1:])
	}
}

// Lock implements disk.Disk. No other process has a lock on memory.
func (m *Memory) Lock(name string) (func() error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.slot(name)
	if err == nil && m.locks[name] {
		err = disk.ErrLocked
	}
	if err != nil {
		return nil, fail("lock", name, err)
	}
	if s.now == nil {
		s.become(&node{mode: 0o600, time: m.tick()})
	}
	m.locks[name] = true
	return func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.locks, name)
		return nil
	}, nil
}

// Tree returns every file and folder that keep wants, folders with a slash at their
// end: the mode in octal, a space, and the bytes.
func (m *Memory) Tree(keep func(name string) bool) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	tree := map[string]string{}
	type place struct {
		name string
		*node
	}
	for todo := []place{{"", m.root}}; len(todo) > 0; todo = todo[1:] {
		for base, s := range todo[0].names {
			full := path.Join(todo[0].name, base)
			if s.now == nil || !keep(full) {
				continue
			}
			if s.now.names != nil {
				tree[full+"/"] = octal(s.now.mode)
				todo = append(todo, place{full, s.now})
				continue
			}
			tree[full] = octal(s.now.mode) + " " + string(s.now.data)
		}
	}
	return tree
}

func octal(mode fs.FileMode) string {
	const digits = "01234567"
	return string([]byte{digits[mode>>6&7], digits[mode>>3&7], digits[mode&7]})
}
