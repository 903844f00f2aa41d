package mapped

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// document is one JSON text in a file: a line, or all of it.
type document struct {
	data []byte
	// line counts from 1; 0 where the document is the file.
	line int
	// start is the byte of the file at which data starts.
	start int64
}

var (
	byteOrderMark = []byte("\ufeff")
	errEmpty      = errors.New("there is nothing in it")
)

const blanks = " \t\r\n"

// documents returns the documents in a file. These are its lines if the caller says so, or if the first line
// is JSON and not the last; otherwise the whole file. A document stays valid until the next one. A file of
// lines may be empty, another file not. Errors come from reading, or are files.ErrTooLarge.
func documents(r io.Reader, asLines bool) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		in := &lineReader{in: bufio.NewReaderSize(r, 1<<18)}
		first, err := in.next()
		if err == nil && !asLines {
			if _, _, wrong := jsontape.ParseTolerant(first.data); wrong != nil || !in.goesOn() {
				var all document
				if all, err = in.rest(first); err == nil {
					yield(all, nil)
					return
				}
			}
		}
		for d := first; ; d, err = in.next() {
			if err == io.EOF && in.given == 0 && !asLines {
				d, err = document{}, errEmpty
			}
			if err == io.EOF || !yield(d, err) || err != nil {
				return
			}
			in.given++
		}
	}
}

// lineReader gives the lines of a file that are not blank.
type lineReader struct {
	in     *bufio.Reader
	buffer []byte
	number int
	at     int64
	given  int
}

// next returns the next line without its end and without a byte order mark. The
// error is io.EOF at the end.
func (l *lineReader) next() (document, error) {
	for {
		d := document{start: l.at}
		l.number++
		l.buffer = l.buffer[:0]
		for {
			part, err := l.in.ReadSlice('\n')
			if l.at += int64(len(part)); len(l.buffer)+len(part) > files.MaxSize {
				return document{line: l.number}, files.ErrTooLarge
			}
			l.buffer = append(l.buffer, part...)
			if err == nil {
				break
			}
			if err == io.EOF && len(l.buffer) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return document{line: l.number}, err
			}
		}
		if d.data = l.buffer; d.start == 0 && bytes.HasPrefix(d.data, byteOrderMark) {
			d.data, d.start = d.data[len(byteOrderMark):], int64(len(byteOrderMark))
		}
		if len(bytes.Trim(d.data, blanks)) > 0 {
			d.line = l.number
			return d, nil
		}
	}
}

// goesOn reports whether anything but blanks comes.
func (l *lineReader) goesOn() bool {
	for size := 256; ; size *= 2 {
		ahead, err := l.in.Peek(size)
		if len(bytes.Trim(ahead, blanks)) > 0 {
			return true
		}
		if err != nil {
			// So many blank bytes are taken for something, as the buffer ends.
			return errors.Is(err, bufio.ErrBufferFull)
		}
	}
}

// rest returns the file from a line on as one document.
func (l *lineReader) rest(first document) (document, error) {
	data := first.data
	more, err := io.ReadAll(io.LimitReader(l.in, int64(files.MaxSize-len(data)+1)))
	if err != nil {
		return document{}, err
	}
	if len(data)+len(more) > files.MaxSize {
		return document{}, files.ErrTooLarge
	}
	return document{data: append(data, more...), start: first.start}, nil
}
