package bucket

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"html"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// page is how many names a server lists at once.
const page = 1000

// mostNames bounds what is listed.
const mostNames = 2_000_000

// ErrTooMany: there are more names below the prefix than are listed.
var ErrTooMany = fmt.Errorf("more than %d objects: name a longer prefix", mostNames)

// listed is a page of a server's listing of the names below a prefix.
type listed struct {
	IsTruncated           bool
	NextContinuationToken string
	Contents              []listedObject
	CommonPrefixes        []listedPrefix
}

type listedObject struct {
	Key          string
	LastModified time.Time
	ETag         string
	Size         int64
}

type listedPrefix struct{ Prefix string }

// found collects listed objects and folders. It may be called by several at once.
type found struct {
	mu      sync.Mutex
	objects map[string]object // by key
	folders map[string]bool   // prefixes, where a delimiter parts them
	pages   int
}

func newFound() *found { return &found{objects: map[string]object{}, folders: map[string]bool{}} }

// span is a range of the keys of a prefix: the keys behind after, up to and with upTo; "" for all.
type span struct{ prefix, after, upTo string }

// listPrefix lists a prefix. Where a page is full of the names of one folder, as it is in a long
// log, the rest of that folder is listed in parts at once: keys come in the order of their
// bytes, so a part is what lies between two of them, whatever names there are. delimiter is
// "/" for the names of one folder, "" for all that is below.
func (c *client) listPrefix(ctx context.Context, prefix, delimiter string, into *found) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	var walk func(s span) error
	walk = func(s span) error {
		for token := ""; ; {
			l, err := c.listPage(ctx, s, delimiter, token, page)
			if err != nil {
				return err
			}
			last, full := into.takePage(s, l)
			switch {
			case into.size() > mostNames:
				return fmt.Errorf("list %s: %w", c.addressOf(prefix), ErrTooMany)
			case !l.IsTruncated, s.upTo != "" && last > s.upTo:
				return nil
			case s.upTo == "" && full != "":
				for _, part := range followingSpans(s.prefix, full, last, commonPrefix(l, full)) {
					parts.Go(func() {
						if err := walk(part); err != nil {
							cancel(err)
						}
					})
				}
				return nil
			}
			token = l.NextContinuationToken
		}
	}
	err := walk(span{prefix: prefix})
	if err != nil {
		cancel(err)
	}
	parts.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil {
		err = cause
	}
	return err
}

// takePage takes in a page, and returns its last key, and the folder that all of it is in, with a
// slash, if it is one.
func (f *found) takePage(s span, l *listed) (last, full string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages++
	for _, o := range l.Contents {
		last = max(last, o.Key)
		if s.upTo == "" || o.Key <= s.upTo {
			f.objects[o.Key] = object{o.ETag, o.Size, o.LastModified.Truncate(time.Second)}
		}
	}
	for _, p := range l.CommonPrefixes {
		last = max(last, p.Prefix)
		if s.upTo == "" || p.Prefix <= s.upTo {
			f.folders[p.Prefix] = true
		}
	}
	if n := len(l.Contents); n > 0 {
		first, end := l.Contents[0].Key, l.Contents[n-1].Key
		if dir, _ := path.Split(end); len(l.CommonPrefixes) == 0 {
			inside := 0
			for i := range l.Contents {
				if strings.HasPrefix(l.Contents[i].Key, dir) {
					inside++
				}
			}
			if strings.HasPrefix(first, dir) || inside > n*9/10 {
				full = dir
			}
		}
	}
	return last, full
}

func (f *found) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.objects) + len(f.folders)
}

// commonPrefix returns the prefix that the names of a page in a folder share, without digits at its end.
func commonPrefix(l *listed, dir string) string {
	begin, some := "", false
	for i := range l.Contents {
		name, in := strings.CutPrefix(l.Contents[i].Key, dir)
		switch {
		case !in:
			continue
		case !some:
			begin, some = name, true
		}
		for !strings.HasPrefix(name, begin) {
			begin = begin[:len(begin)-1]
		}
	}
	return strings.TrimRight(begin, "0123456789")
}

// behind is greater than any name that begins as what stands before it.
const behind = "\U0010FFFF"

// followingSpans parts what follows a key: the names of a folder by the digits that follow what they
// have in common, and what comes after the folder.
func followingSpans(prefix, dir, last, begin string) (list []span) {
	s := span{prefix, last, ""}
	for digit := range 20 {
		to := dir + begin + strconv.Itoa(digit/2)
		if digit%2 == 1 {
			to += "5"
		}
		if to > last {
			s.upTo = to
			list = append(list, s)
			s = span{prefix, to, ""}
		}
	}
	s.upTo = dir + behind
	list = append(list, s)
	if dir != prefix {
		list = append(list, span{prefix, dir + behind, ""})
	}
	return list
}

// listPage asks for one page of names.
func (c *client) listPage(ctx context.Context, s span, delimiter, token string, most int) (*listed, error) {
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {s.prefix}, "max-keys": {strconv.Itoa(most)}}
	if delimiter != "" {
		query.Set("delimiter", delimiter)
	}
	switch {
	case token != "":
		query.Set("continuation-token", token)
	case s.after != "":
		query.Set("start-after", s.after)
	}
	r := request{op: "LIST", query: query, count: &c.made.list}
	a, err := c.doRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	l, ok := scanList(a.body)
	if !ok {
		l = &listed{}
		if err := xml.Unmarshal(a.body, l); err != nil {
			return nil, c.explainError(&r, fmt.Errorf("the answer is no list of objects: %w", err))
		}
	}
	for i := range l.Contents {
		if l.Contents[i].Key, err = url.QueryUnescape(l.Contents[i].Key); err != nil {
			return nil, c.explainError(&r, err)
		}
	}
	for i := range l.CommonPrefixes {
		if l.CommonPrefixes[i].Prefix, err = url.QueryUnescape(l.CommonPrefixes[i].Prefix); err != nil {
			return nil, c.explainError(&r, err)
		}
	}
	if l.IsTruncated && l.NextContinuationToken == "" {
		return nil, c.explainError(&r, errors.New("the server lists some names, and does not say how to ask for the others"))
	}
	return l, nil
}

// scanList reads the answer of a server that writes it as AWS does, without attributes in the
// elements that it repeats: package xml takes fifty times as long for the thousand names of a
// page. It reports false for any other answer.
func scanList(data []byte) (l *listed, ok bool) {
	l = &listed{Contents: make([]listedObject, 0, page)}
	head := data
	for {
		at := bytes.Index(data, []byte("<Contents>"))
		if at < 0 {
			break
		}
		item, rest, closed := bytes.Cut(data[at:], []byte("</Contents>"))
		var o listedObject
		var size, modified string
		if !closed || !findElement(item, "Key", &o.Key) || !findElement(item, "ETag", &o.ETag) || !findElement(item, "Size", &size) || !findElement(item, "LastModified", &modified) {
			return nil, false
		}
		var err, failed error
		o.Size, err = strconv.ParseInt(size, 10, 64)
		o.LastModified, failed = time.Parse(time.RFC3339, modified)
		if err != nil || failed != nil {
			return nil, false
		}
		l.Contents = append(l.Contents, o)
		if len(l.Contents) == 1 {
			head = head[:len(head)-len(data)+at]
		}
		data = rest
	}
	if len(l.Contents) == 0 {
		return nil, false // it is short
	}
	// What is told of the list stands before the objects or behind them, and prefixes do.
	around := slices.Concat(head, data)
	var truncated string
	if !findElement(around, "IsTruncated", &truncated) {
		return nil, false
	}
	l.IsTruncated = truncated == "true"
	findElement(around, "NextContinuationToken", &l.NextContinuationToken)
	for {
		_, rest, more := bytes.Cut(around, []byte("<CommonPrefixes>"))
		if !more {
			return l, true
		}
		var p listedPrefix
		if !findElement(rest, "Prefix", &p.Prefix) {
			return nil, false
		}
		l.CommonPrefixes, around = append(l.CommonPrefixes, p), rest
	}
}

// findElement finds the text of an element, and reports whether there is one.
func findElement(data []byte, name string, text *string) bool {
	at := bytes.Index(data, []byte("<"+name+">"))
	if at < 0 {
		return false
	}
	inside := data[at+len(name)+2:]
	end := bytes.IndexByte(inside, '<')
	if end < 0 || !bytes.HasPrefix(inside[end:], []byte("</"+name+">")) {
		return false
	}
	*text = html.UnescapeString(string(inside[:end]))
	return true
}

// listing is all that is below a prefix at one moment, as a tree. It does not change.
type listing struct {
	objects map[string]object // by name
	folders map[string]*listedFolder
	// begun is when it was asked for, and took how long that took.
	begun time.Time
	took  time.Duration
}

// listedFolder is a folder as it is listed.
type listedFolder struct {
	names []string
	// newest is when a file in it was written last, and sum a number of the names, which
	// is another where they are others.
	newest time.Time
	sum    uint64
}

// folderStamp returns that of the folder: another one where a name came or went.
func (f *listedFolder) folderStamp() tree.Stamp {
	at := files.TaggedStamp(0, f.newest, fmt.Sprint(len(f.names), f.sum))
	at.Kind = files.Directory
	return tree.Stamp{Stamp: at}
}

// treeOf makes a tree of the keys below a prefix. A key that is no path is passed over: no
// format has such names.
func treeOf(f *found) *listing {
	l := &listing{objects: make(map[string]object, len(f.objects)), folders: map[string]*listedFolder{".": {}}}
	for key, o := range f.objects {
		name, marker := strings.CutSuffix(key, "/")
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		if marker {
			l.addFolder(name)
			continue
		}
		l.objects[name] = o
		in := l.addName(name)
		if o.modified.After(in.newest) {
			in.newest = o.modified
		}
	}
	return l
}

// addName adds a name to its folder, and returns that.
func (l *listing) addName(name string) *listedFolder {
	in, base := l.addFolder(path.Dir(name)), path.Base(name)
	in.names = append(in.names, base)
	in.sum += uint64(crc32.ChecksumIEEE([]byte(base))) // in any order
	return in
}

func (l *listing) addFolder(dir string) *listedFolder {
	in := l.folders[dir]
	if in == nil {
		in = &listedFolder{}
		l.folders[dir] = in
		if _, both := l.objects[dir]; !both {
			l.addName(dir)
		}
	}
	return in
}
