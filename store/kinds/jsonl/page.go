package jsonl

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
)

// A page of `hindcast report` holds the rows of its session behind its text:
//
//	<!DOCTYPE html><html …><meta name="generator" content="Hindcast">…
//	<script type="application/x-hindcast">gzip of the lines, in base64</script></body></html>

var (
	pageBegin = []byte("<!DOCTYPE html>")
	pageMark  = []byte(`<meta name="generator" content="Hindcast">`)
	rowsMark  = []byte(`<script type="application/x-hindcast">`)
)

// mostPageRows bounds the rows of a page, in bytes.
const mostPageRows = 256 << 20

var (
	// ErrNoRows: a page holds no rows, because its session was too large for that, or because it compares two lines.
	ErrNoRows = errors.New("the page has no rows: it compares two lines, or was too large; ask for a hindcast export")
	// ErrTooManyRows: the rows of a page are larger than memory is taken for.
	ErrTooManyRows = errors.New("the rows in the page have more than 256 MB")
)

// isPage reports whether a file that begins so is a page of Hindcast.
func isPage(start []byte) bool {
	return bytes.HasPrefix(start, pageBegin) && bytes.Contains(start, pageMark)
}

// openPage returns the rows in a page; nil for any other file, which it leaves at its beginning.
func openPage(f io.ReadSeeker) (io.Reader, error) {
	start := make([]byte, len(pageBegin)+4<<10)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, nil // no regular file
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil || !isPage(start[:n]) {
		return nil, err
	}
	// The mark stands once in a page: in texts of a session < is escaped.
	at, buffer, kept := int64(0), make([]byte, 256<<10), 0
	for {
		n, err := f.Read(buffer[kept:])
		if i := bytes.Index(buffer[:kept+n], rowsMark); i >= 0 {
			if _, err := f.Seek(at+int64(i+len(rowsMark)), io.SeekStart); err != nil {
				return nil, err
			}
			break
		}
		if errors.Is(err, io.EOF) {
			return nil, ErrNoRows
		}
		if err != nil {
			return nil, err
		}
		from := max(0, kept+n-len(rowsMark))
		kept, at = copy(buffer, buffer[from:kept+n]), at+int64(from)
	}
	rows, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, untilTag{f}))
	if err != nil {
		return nil, err
	}
	return &limited{rows, mostPageRows}, nil
}

// untilTag reads up to the next <.
type untilTag struct{ io.Reader }

func (r untilTag) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if i := bytes.IndexByte(p[:n], '<'); i >= 0 {
		return i, io.EOF
	}
	return n, err
}

// limited fails behind so many bytes.
type limited struct {
	io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n, ErrTooManyRows
	}
	return n, err
}
