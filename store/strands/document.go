package strands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// maxFile bounds the files that are read: a message with pictures takes a few
// megabytes, and reading needs several times the size in memory.
const maxFile = 256 << 20

var (
	errTooLarge   = fmt.Errorf("larger than %d MiB", maxFile>>20)
	errNotRegular = errors.New("not a regular file")
	errSymlink    = errors.New("a symbolic link, which is not followed")
)

// reader reads a file into buf, from its start, and gives the bytes.
type reader func(name string, buf []byte) ([]byte, error)

// readFrom reads files below root. Nothing outside of it is ever reached,
// whatever the name is and whatever links there are. As the SDK does, it first
// makes sure that the name is no symbolic link; and that it is a regular file,
// because others may block or never end.
func readFrom(root *os.Root) reader {
	return func(name string, buf []byte) (data []byte, err error) {
		info, err := root.Lstat(name)
		switch {
		case err != nil:
			return buf[:0], cause(err)
		case info.Mode()&fs.ModeSymlink != 0:
			return buf[:0], errSymlink
		case !info.Mode().IsRegular():
			return buf[:0], errNotRegular
		case info.Size() > maxFile:
			return buf[:0], errTooLarge
		}
		// Without O_NONBLOCK a pipe that has just taken the file's place would
		// block, and package os takes four more system calls for each file.
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return buf[:0], cause(err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		data = buf[:0]
		for {
			if len(data) == cap(data) {
				data = slices.Grow(data, max(len(data), 8<<10))
			}
			n, err := f.Read(data[len(data):cap(data)])
			data = data[:len(data)+n]
			switch {
			case errors.Is(err, io.EOF), int64(len(data)) == info.Size():
				return data, nil
			case err != nil:
				return data, cause(err)
			case len(data) > maxFile:
				return data, errTooLarge
			}
		}
	}
}

// cause takes the path out of an error: whoever reports it names the file.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// document is the JSON of one file.
type document struct {
	data []byte
	tape *jsontape.Tape // nil when err is not nil
	err  error
}

// readTries is how often a file is read that another program seems to be
// writing.
const readTries = 3

// readDocument reads a file as JSON. Where it does not parse it is read again,
// until it no longer changes: somebody may be writing it. buf is used if it is
// large enough; the data of the result may be in it.
func readDocument(read reader, name string, buf []byte) (d document) {
	d.data, d.err = read(name, buf)
	for try := 1; d.err == nil; try++ {
		if d.tape, d.err = parse(d.data); d.err == nil || try == readTries {
			return d
		}
		again, err := read(name, nil)
		if err != nil || bytes.Equal(again, d.data) {
			return d
		}
		d.data, d.err = again, nil
	}
	return d
}

// parse takes what Python's json takes, and a byte order mark besides.
func parse(data []byte) (*jsontape.Tape, error) {
	t, err := jsontape.Parse(data)
	if err == nil {
		return t, nil
	}
	t, _, err = jsontape.ParseTolerant(data)
	return t, err
}

// maxPythonDepth is how deep a file may be nested for the SDK to load it. Its
// decode_bytes_values recurses; with Python 3.11 and its default limit 493
// levels were too many below four others.
const maxPythonDepth = 490

// encodingFlaws gives what keeps Python from reading a file that parses here.
func (d *document) encodingFlaws() (flaws []flaw) {
	if bytes.HasPrefix(d.data, []byte("\ufeff")) {
		flaws = append(flaws, flaw{FaultEncoding, "byte 0", "the file begins with a byte order mark",
			refuses + "SessionException: Unexpected UTF-8 BOM"})
	}
	if !utf8.Valid(d.data) {
		flaws = append(flaws, flaw{FaultEncoding, fmt.Sprintf("byte %d", firstInvalid(d.data)), "the file is not UTF-8",
			refuses + "UnicodeDecodeError"})
	}
	if depth := deepest(d.tape); depth > maxPythonDepth {
		flaws = append(flaws, flaw{FaultDepth, "", fmt.Sprintf("values are nested %d deep", depth),
			refuses + "RecursionError, unless Python's recursion limit is raised"})
	}
	return flaws
}

func firstInvalid(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

func deepest(t *jsontape.Tape) int {
	most := 0
	for n := range jsontape.Node(t.Len()) {
		most = max(most, t.Depth(n))
	}
	return most
}

// errorPath gives the place of a syntax error for a fault.
func errorPath(err error) string {
	if syntax := (*jsontape.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Sprintf("byte %d", syntax.Offset)
	}
	return ""
}

// readVerdict says what the SDK makes of a file that could not be read.
func readVerdict(err error) string {
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case errors.As(err, &syntax):
		return refuses + "SessionException: Invalid JSON"
	case errors.Is(err, errSymlink):
		return refuses + "SessionException: Refusing to read symlink (older SDKs, before 1.48, follow it)"
	case errors.Is(err, errTooLarge):
		return loads + "only Hindcast does not read files of this size"
	case errors.Is(err, fs.ErrNotExist):
		return loads + "the file is gone"
	}
	return refuses + "it cannot be opened"
}

// find is Tape.Find for a node that may be none or no object.
func find(t *jsontape.Tape, n jsontape.Node, key string) jsontape.Node {
	if n < 0 || t.Kind(n) != jsontape.Object {
		return jsontape.None
	}
	return t.Find(n, key)
}

// kindOf is Tape.Kind for a node that may be none.
func kindOf(t *jsontape.Tape, n jsontape.Node) jsontape.Kind {
	if n < 0 {
		return jsontape.Invalid
	}
	return t.Kind(n)
}

// appendCompact appends JSON without the white space between its values. Each
// value stays byte for byte as it is: numbers of any size, NaN, escapes, and
// bytes that are not UTF-8. The text must have been parsed.
func appendCompact(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := i + 1
			for text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			dst = append(dst, text[i:end+1]...)
			i = end + 1
		default:
			start := i
			for i < len(text) && text[i] > ' ' && text[i] != '"' {
				i++
			}
			dst = append(dst, text[start:i]...)
		}
	}
	return dst
}
