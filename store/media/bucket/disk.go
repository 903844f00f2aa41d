package bucket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/store/media/disk"
)

// mode is the mode of all files: a bucket keeps no modes.
const mode fs.FileMode = 0o600

// bucketDisk is a prefix of a bucket as a disk.Turner. What it is asked it asks the server: a
// listing is too old to write by. A folder is there as long as a file is in it. It is safe for
// concurrent use.
type bucketDisk struct {
	c *client
	t Tree // told of each change
	// lease is how long a claim holds that is not renewed.
	lease time.Duration

	mu sync.Mutex
	// held is the claim that covers writes, nil if the disk holds no claim.
	held *claim
	// tail is the file that was appended to last, as it is now.
	tail *tail
	// conditional says that the server was seen to hold to conditions.
	conditional bool
}

type tail struct {
	name, tag string
	data      []byte
	head      http.Header
}

var _ disk.Turner = (*bucketDisk)(nil)

// info is a look at a name.
type info struct {
	name string
	object
	folder bool
}

// Name implements fs.FileInfo.
func (i *info) Name() string { return path.Base(i.name) }

// Size implements fs.FileInfo.
func (i *info) Size() int64 { return i.size }

// Mode implements fs.FileInfo.
func (i *info) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o700
	}
	return mode
}

// ModTime implements fs.FileInfo.
func (i *info) ModTime() time.Time { return i.modified }

// IsDir implements fs.FileInfo.
func (i *info) IsDir() bool { return i.folder }

// Sys implements fs.FileInfo.
func (i *info) Sys() any { return nil }

func (d *bucketDisk) ctx() context.Context { return d.c.life }

// keyOf returns that of a name.
func (d *bucketDisk) keyOf(name string) string { return d.t.keyOf(name) }

// namedError names the file of an error.
func namedError(op, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case hasStatus(err, http.StatusNotFound):
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Lstat implements disk.Disk.
func (d *bucketDisk) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, namedError("lstat", name, fs.ErrInvalid)
	}
	if name == "." {
		return &info{name: name, folder: true}, nil
	}
	o, _, err := d.c.headObject(d.ctx(), d.keyOf(name))
	if hasStatus(err, http.StatusNotFound) {
		return d.statFolder(name)
	}
	if err != nil {
		return nil, namedError("lstat", name, err)
	}
	return &info{name: name, object: o}, nil
}

// statFolder looks at a folder, which is there if anything is in it.
func (d *bucketDisk) statFolder(name string) (fs.FileInfo, error) {
	l, err := d.c.listPage(d.ctx(), span{prefix: d.keyOf(name) + "/"}, "", "", 1)
	if err == nil && len(l.Contents) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, namedError("lstat", name, err)
	}
	return &info{name: name, folder: true}, nil
}

// SameFile implements disk.Disk: what has one name and one ETag has one content.
func (d *bucketDisk) SameFile(a, b fs.FileInfo) bool {
	x, ok := a.(*info)
	y, both := b.(*info)
	return ok && both && x.name == y.name && x.tag == y.tag
}

// Names implements disk.Disk.
func (d *bucketDisk) Names(dir string) ([]string, error) {
	prefix := d.keyOf(dir) + "/"
	if prefix == "./" {
		prefix = ""
	}
	all := newFound()
	if err := d.c.listPrefix(d.ctx(), prefix, "/", all); err != nil {
		return nil, namedError("names", dir, err)
	}
	var names []string
	for key := range all.objects {
		names = append(names, strings.TrimPrefix(key, prefix))
	}
	for key := range all.folders {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(key, prefix), "/"))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !fs.ValidPath(name) })
	if len(names) == 0 && len(all.objects) == 0 {
		return nil, namedError("names", dir, fs.ErrNotExist)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Read implements disk.Disk.
func (d *bucketDisk) Read(name string) ([]byte, error) {
	data, _, err := d.Load(name, nil)
	return data, err
}

// Load implements disk.Disk.
func (d *bucketDisk) Load(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	if name == "." || !fs.ValidPath(name) {
		return buf[:0], nil, namedError("load", name, disk.ErrNotRegular)
	}
	data, head, err := d.c.getObject(d.ctx(), d.keyOf(name), "")
	if hasStatus(err, http.StatusNotFound) {
		if _, failed := d.statFolder(name); failed == nil {
			err = disk.ErrNotRegular
		} else if !errors.Is(failed, fs.ErrNotExist) {
			err = failed
		}
	}
	if err != nil {
		return buf[:0], nil, namedError("load", name, err)
	}
	o := headOf(head)
	o.size = int64(len(data))
	return data, &info{name: name, object: o}, nil
}

// checkWritable returns why nothing may be written now, and has the tree look again.
func (d *bucketDisk) checkWritable() error {
	d.t.Fresh()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		return d.held.whyLost()
	}
	return nil
}

// Create implements disk.Disk.
func (d *bucketDisk) Create(name string, data []byte, _ fs.FileMode) error {
	return d.makeFile("create", name, data, http.Header{"Content-Type": {contentType(data)}})
}

// contentType returns the type of a new content: the type that Strands' SDK puts, for JSON.
func contentType(data []byte) string {
	if json.Valid(data) {
		return "application/json"
	}
	return "application/octet-stream"
}

// makeFile puts a file where its name is free.
func (d *bucketDisk) makeFile(op, name string, data []byte, head http.Header) error {
	err := d.checkWritable()
	if err == nil {
		_, err = d.c.putObject(d.ctx(), d.keyOf(name), "", data, head)
	}
	if errors.Is(err, disk.ErrChanged) {
		err = fs.ErrExist
	}
	return namedError(op, name, err)
}

// Append implements disk.Disk: the file is put anew with the bytes behind what it has.
func (d *bucketDisk) Append(name string, data []byte) error {
	if err := d.checkWritable(); err != nil {
		return namedError("append", name, err)
	}
	d.mu.Lock()
	before := d.tail
	d.tail = nil
	d.mu.Unlock()
	if before == nil || before.name != name {
		old, head, err := d.c.getObject(d.ctx(), d.keyOf(name), "")
		if err != nil {
			return namedError("append", name, err)
		}
		before = &tail{name, head.Get("Etag"), old, keptHead(head)}
	}
	now := slices.Concat(before.data, data)
	tag, err := d.c.putObject(d.ctx(), d.keyOf(name), before.tag, now, before.head)
	if err != nil {
		return namedError("append", name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tail = &tail{name, tag, now, before.head}
	return nil
}

// headers are the headers of an object that a copy of it keeps; it keeps headers that begin
// with mine, too.
var headers = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Cache-Control", "Expires", "X-Amz-Storage-Class", "X-Amz-Website-Redirect-Location"}

const mine = "X-Amz-Meta-"

// keptHead returns the head of a request that puts a copy of an object.
func keptHead(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		if slices.Contains(headers, name) || strings.HasPrefix(name, mine) {
			kept[name] = values
		}
	}
	return kept
}

// Copy implements disk.Disk.
func (d *bucketDisk) Copy(old, new string, _ fs.FileMode) error {
	data, head, err := d.c.getObject(d.ctx(), d.keyOf(old), "")
	if err != nil {
		return namedError("copy", old, err)
	}
	return d.makeFile("copy", new, data, keptHead(head))
}

// Flush implements disk.Disk: what was answered is durable.
func (d *bucketDisk) Flush([]string) error { return nil }

// Sync implements disk.Disk.
func (d *bucketDisk) Sync(string) error { return nil }

// Rename implements disk.Disk. It is not needed of a Turner.
func (d *bucketDisk) Rename(old, new string) error {
	return &os.LinkError{Op: "rename", Old: old, New: new, Err: errors.ErrUnsupported}
}

// Place implements disk.Disk, as a copy and a deletion.
func (d *bucketDisk) Place(old, new string) error {
	data, head, err := d.c.getObject(d.ctx(), d.keyOf(old), "")
	if err != nil {
		return namedError("place", old, err)
	}
	if err := d.makeFile("place", new, data, keptHead(head)); err != nil {
		return err
	}
	return namedError("place", old, d.c.removeObject(d.ctx(), d.keyOf(old), head.Get("Etag")))
}

// Exchange implements disk.Disk. It is not needed of a Turner.
func (d *bucketDisk) Exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}

// Mkdir implements disk.Disk: a folder comes with the first file in it.
func (d *bucketDisk) Mkdir(string, fs.FileMode) error { return nil }

// Remove implements disk.Disk. A folder goes with the last file in it.
func (d *bucketDisk) Remove(name string) error {
	if err := d.checkWritable(); err != nil {
		return namedError("remove", name, err)
	}
	o, _, err := d.c.headObject(d.ctx(), d.keyOf(name))
	if hasStatus(err, http.StatusNotFound) {
		_, err := d.statFolder(name)
		return err
	}
	if err == nil {
		err = d.c.removeObject(d.ctx(), d.keyOf(name), o.tag)
	}
	return namedError("remove", name, err)
}

// Keep implements disk.Turner.
func (d *bucketDisk) Keep(name string, was fs.FileInfo, as string) error {
	if err := d.checkWritable(); err != nil {
		return namedError("keep", name, err)
	}
	seen, ok := was.(*info)
	if !ok {
		return namedError("keep", name, fs.ErrInvalid)
	}
	r := request{op: "PUT", key: d.keyOf(as), head: http.Header{}, count: &d.c.made.put}
	r.head.Set("X-Amz-Copy-Source", "/"+d.c.bucket+"/"+escapePath(d.keyOf(name)))
	r.head.Set("X-Amz-Copy-Source-If-Match", seen.tag)
	a, err := d.c.doRequest(d.ctx(), r)
	if err == nil && !bytes.Contains(a.body, []byte("<ETag>")) { // it may have failed after it said 200
		err = d.c.explainError(&r, errors.New("the server does not say that it copied the object"))
	}
	return namedError("keep", name, err)
}

// Turn implements disk.Turner.
func (d *bucketDisk) Turn(name string, was fs.FileInfo, from string) error {
	if err := d.checkWritable(); err != nil {
		return namedError("turn", name, err)
	}
	seen, there := was.(*info)
	if from == "" {
		if !there {
			return namedError("turn", name, fs.ErrInvalid)
		}
		err := d.c.removeObject(d.ctx(), d.keyOf(name), seen.tag)
		return d.turnError(name, err)
	}
	data, head, err := d.c.getObject(d.ctx(), d.keyOf(from), "")
	if err != nil {
		return namedError("turn", from, err)
	}
	tag, as := "", keptHead(head)
	if there {
		tag = seen.tag
		_, now, err := d.c.headObject(d.ctx(), d.keyOf(name))
		if err != nil {
			return d.turnError(name, err)
		}
		as = keptHead(now)
	}
	_, err = d.c.putObject(d.ctx(), d.keyOf(name), tag, data, as)
	return d.turnError(name, err)
}

// turnError returns the error of a change that was refused.
func (d *bucketDisk) turnError(name string, err error) error {
	if hasStatus(err, http.StatusNotFound) {
		err = disk.ErrChanged
	}
	return namedError("turn", name, err)
}

// Width implements disk.Turner.
func (d *bucketDisk) Width() int { return cmp.Or(cap(d.c.slots)/2, 1) }
