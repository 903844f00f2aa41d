package messages

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
)

const (
	// maxPythonDepth is how deep a file may be nested for the SDK to load it. Its
	// decode_bytes_values recurses; with Python 3.11 and its default limit 493
	// levels were too many below four others.
	maxPythonDepth = 490
	// maxPythonDigits is how many digits an integer may have for Python to read
	// it, since 3.10.7: sys.int_info.default_max_str_digits.
	maxPythonDigits = 4300
)

// encodingFlaws returns the encoding errors that keep Python from reading a file
// that parses here.
func encodingFlaws(d *files.Document) (flaws []flaw) {
	e := d.Encoding()
	if e.BOM {
		flaws = append(flaws, flaw{code: FaultEncoding, path: "byte 0", meaning: "the file begins with a byte order mark",
			verdict: sdk.Refuses("SessionException: Unexpected UTF-8 BOM")})
	}
	if e.Invalid >= 0 {
		flaws = append(flaws, flaw{code: FaultEncoding, path: fmt.Sprintf("byte %d", e.Invalid), meaning: "the file is not UTF-8",
			verdict: sdk.Refuses("UnicodeDecodeError")})
	}
	if e.Depth > maxPythonDepth {
		flaws = append(flaws, flaw{code: FaultDepth, meaning: fmt.Sprintf("values are nested %d deep", e.Depth),
			verdict: sdk.Refuses("RecursionError, unless Python's recursion limit is raised")})
	}
	if len(d.Data) > maxPythonDigits {
		flaws = append(flaws, longIntegers(d.Tape)...)
	}
	return flaws
}

// longIntegers returns the first integer that Python does not read.
func longIntegers(t *jsontape.Tape) []flaw {
	for n := range jsontape.Node(t.Len()) {
		if t.Kind(n) != jsontape.Number {
			continue
		}
		digits := bytes.TrimPrefix(t.Raw(n), []byte("-"))
		if len(digits) > maxPythonDigits && !bytes.ContainsAny(digits, ".eE") {
			return []flaw{{code: FaultInteger, path: t.Pointer(n), meaning: fmt.Sprintf("an integer has %d digits", len(digits)),
				verdict: sdk.Refuses("ValueError: Exceeds the limit (4300 digits) for integer string conversion")}}
		}
	}
	return nil
}

// bytesMark is the key of an object that encodes bytes; see encode_bytes_values in
// types/session.py of the SDK.
const bytesMark = "__bytes_encoded__"

// isBytes reports whether a value stands for bytes.
func isBytes(t *jsontape.Tape, n jsontape.Node) bool {
	return t.Kind(n) == jsontape.Object && t.Kind(t.Find(n, bytesMark)) == jsontape.True && t.Find(n, "data") >= 0
}

// encodedBytes yields the values of a file that stand for bytes, with their data.
func encodedBytes(d *files.Document) iter.Seq2[jsontape.Node, jsontape.Node] {
	return func(yield func(n, data jsontape.Node) bool) {
		if !bytes.Contains(d.Data, []byte(bytesMark)) {
			return
		}
		for n := range jsontape.Node(d.Tape.Len()) {
			if isBytes(d.Tape, n) && !yield(n, d.Tape.Find(n, "data")) {
				return
			}
		}
	}
}

// bytesFlaws returns the first bytes that decode_bytes_values of the SDK cannot
// decode, with an exception.
func bytesFlaws(d *files.Document) []flaw {
	t := d.Tape
	for _, data := range encodedBytes(d) {
		if _, exception := pythonBytes(t, data); exception != "" {
			return []flaw{{code: FaultBytes, path: t.Pointer(data), meaning: "what stands for bytes is no base64", verdict: sdk.Refuses(exception)}}
		}
	}
	return nil
}

// oddBytes returns the first value that stands for bytes and that Python decodes to
// others than are written there.
func oddBytes(d *files.Document) []flaw {
	t := d.Tape
	for n, data := range encodedBytes(d) {
		taken, exception := pythonBytes(t, data)
		written, err := base64.StdEncoding.DecodeString(t.Text(data))
		switch {
		case exception != "":
		case t.Count(n) > 2: // the mark and the data
			return []flaw{{code: FaultBytes, path: t.Pointer(n), meaning: "what stands for bytes has more members",
				verdict: sdk.Loads("the bytes alone, and the other members are gone when the SDK writes them again")}}
		case err != nil || !bytes.Equal(taken, written):
			return []flaw{{code: FaultBytes, path: t.Pointer(data), meaning: "what stands for bytes has characters that are not base64, or goes on behind its padding",
				verdict: sdk.Loads(fmt.Sprintf("Python passes over them, and takes the %s of %.60q", model.Count(len(taken), "byte"), base64.StdEncoding.EncodeToString(taken[:min(45, len(taken))])))}}
		}
	}
	return nil
}

// pythonBytes decodes a value as base64.b64decode of Python does, or returns its
// exception. It passes over what is not of the alphabet, and ends at the padding.
func pythonBytes(t *jsontape.Tape, n jsontape.Node) (data []byte, exception string) {
	if t.Kind(n) != jsontape.String {
		return nil, "TypeError: argument should be a bytes-like object or ASCII string"
	}
	text := t.Text(n)
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return nil, "ValueError: string argument should contain only ASCII characters"
	}
	digits, pads := []byte{}, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '=':
			if len(digits)%4 >= 2 {
				if pads++; len(digits)%4+pads >= 4 {
					return decodedDigits(digits), ""
				}
			}
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			digits, pads = append(digits, c), 0
		}
	}
	switch len(digits) % 4 {
	case 0:
		return decodedDigits(digits), ""
	case 1:
		return nil, fmt.Sprintf("Error: Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4", len(digits))
	}
	return nil, "Error: Incorrect padding"
}

// decodedDigits decodes base64 without padding.
func decodedDigits(digits []byte) []byte {
	data, _ := base64.RawStdEncoding.AppendDecode(nil, digits) // they are all of the alphabet
	return data
}

// oddities returns the first of each sort of oddity that Python reads silently and other
// readers would not, or not in the same way. halved is the verdict on half of a surrogate
// pair, which Python cannot write again.
func oddities(d *files.Document, halved sdk.Verdict) (notes []flaw) {
	t := d.Tape
	odd := t.HasShadowed() || bytes.Contains(d.Data, []byte(`\ud`)) || bytes.Contains(d.Data, []byte(`\uD`))
	for n := jsontape.Node(0); !odd && n < jsontape.Node(t.Len()); n++ {
		odd = !t.Standard(n)
	}
	if !odd {
		return nil
	}
	t, warnings, err := jsontape.ParseTolerant(d.Data)
	if err != nil {
		return nil // it was parsed before
	}
	seen := make(map[jsontape.WarningKind]bool)
	for _, w := range warnings {
		if seen[w.Kind] {
			continue
		}
		seen[w.Kind] = true
		switch at := t.Pointer(w.Node); w.Kind {
		case jsontape.DuplicateKey:
			notes = append(notes, flaw{code: FaultDuplicateKey, path: at, meaning: "the object has the key twice",
				verdict: sdk.Loads("the last one counts, and the other is gone when the SDK writes the file again")})
		case jsontape.NamedNumber:
			notes = append(notes, flaw{code: FaultNumber, path: at, meaning: "the number has no spelling in JSON",
				verdict: sdk.Loads("Python reads and writes it, and other programs may refuse the file")})
		case jsontape.LoneSurrogate:
			notes = append(notes, flaw{code: FaultSurrogate, path: at, meaning: "the text has half of a surrogate pair", verdict: halved})
		}
	}
	return notes
}

// fileFlaw returns the flaw of a file that cannot be read.
func fileFlaw(code string, d *files.Document) flaw {
	f := flaw{code: code, path: files.ErrorPath(d.Err), meaning: "the file cannot be read: " + d.Err.Error()}
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case errors.As(d.Err, &syntax) && !utf8.Valid(d.Data):
		f.verdict = sdk.Refuses("UnicodeDecodeError")
	case errors.As(d.Err, &syntax) && syntax.Deep:
		f.verdict = sdk.Refuses("RecursionError")
	case errors.As(d.Err, &syntax):
		f.verdict = sdk.Refuses("SessionException: Invalid JSON")
	case errors.Is(d.Err, files.ErrSymlink):
		f.code, f.looks, f.verdict = FaultSymlink, atLink, sdk.Refuses("SessionException: Refusing to read symlink")
	case errors.Is(d.Err, files.ErrTooLarge):
		f.verdict = sdk.Loads("only Hindcast does not read files of this size")
	case errors.Is(d.Err, fs.ErrNotExist):
		f.verdict = sdk.Loads("the file is gone")
	default:
		f.verdict = sdk.Refuses("it cannot be opened")
	}
	return f
}
