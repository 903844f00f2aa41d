package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// How a file of lines is read.
//
// A file is only appended to. So a decoded line stays valid as long as the file begins with the same bytes.
// The file is read in pieces of some megabytes, whose lines several workers decode. When it has grown,
// reading goes on behind the last whole line:
//
//	│line│line│line│…│line│torn      first time: all; the torn line is read again
//	│line│line│line│…│line│line│     then: from the torn line on
//	                 └ the print of the bytes before says that it is the same file
//
// A decoded line is small: the record's span, its parent, a title. A state reads its bytes again.

// Line is one line of a file.
type Line struct {
	// Span is where the line is, without its end; Number is counted from 1.
	Span
	Number int
	// Raw are the bytes. They are lent.
	Raw []byte

	scratch *jsontape.Scratch
}

// Parse returns the record, an object. It is lent. The error is a *jsontape.SyntaxError.
func (l *Line) Parse() (Value, error) {
	if l.scratch == nil { // a line that a format has by itself
		l.scratch = new(jsontape.Scratch)
	}
	tape, err := l.scratch.Parse(l.Raw)
	if err != nil {
		return Value{}, err
	}
	if tape.Kind(0) != jsontape.Object {
		return Value{}, &jsontape.SyntaxError{Msg: "it is no JSON object"}
	}
	return ValueOf(tape), nil
}

// Lines reads files of lines, and remembers what was made of them. It is safe for
// concurrent use.
type Lines[R any] struct {
	// Decode reads a line into its record, which is zero. After an error the line is damaged, and passed over.
	Decode func(*Line, *R) error
	// Only reports whether a line, which is lent, is of interest: other lines are only counted. Nil takes all
	// lines.
	Only func(raw []byte) bool
	// Members are present in every record. An object in a damaged line is salvaged as a record if it has all
	// of them; without Members nothing is salvaged.
	Members []string

	mu    sync.Mutex
	known engine.Recent[*File[R]]
}

// File holds the decoded records of a file. It is not changed.
type File[R any] struct {
	Name string
	// Records are the records of the undamaged lines.
	Records []Record[R]
	// Size is the length of the file in bytes.
	Size int64

	stamp tree.Stamp
	// whole is the end of the last line that has one, and lines how many those are.
	whole int64
	lines int
	// print holds the last bytes before whole, at most printSize.
	print []byte
	// damage are the lines that are damaged, and torn says that the last has no end and is
	// damaged.
	damage []damage
	torn   bool
	// taken says that the last line has no end and is a record all the same.
	taken bool
}

// Record is the decoded content of one line.
type Record[R any] struct {
	Span
	Number int
	Is     R
	// Salvaged says that the line is damaged: the agent passes the record over.
	Salvaged bool
}

// Name returns the name of the record's entry: id, or the line number of a record without an id. A salvaged
// record is named by its line too: the agent passes it over, so nothing else follows it.
func (r *Record[R]) Name(id string) string {
	if id == "" || r.Salvaged {
		return fmt.Sprintf("line-%d", r.Number)
	}
	return id
}

// Finds reports whether the agent finds record named from record by. It finds no record of a damaged line;
// but records of damaged lines find each other, so that they show as they were meant.
func (f *File[R]) Finds(by, named int) bool {
	return f.Records[by].Salvaged || !f.Records[named].Salvaged
}

// decodeInto decodes a line into a record.
func (l *Lines[R]) decodeInto(line *Line, r *Record[R]) error {
	r.Span, r.Number = line.Span, line.Number
	return l.Decode(line, &r.Is)
}

// damage is a line that is no record. The records that it has whole are kept all the same.
type damage struct {
	line, kept int
	at         int64
	err        error
}

const (
	// pieceSize is how much is read at a time, and mostLine bounds a line.
	pieceSize, mostLine = 4 << 20, 256 << 20
	// printSize is how many bytes are compared to recognise a file that has grown.
	printSize = 256
	// mostLines bounds the lines that are remembered of all files.
	mostLines = 20_000
	// mostDamage bounds the damaged lines of a file that are told of one by one.
	mostDamage = 100
)

// ErrLineTooLong: a line is longer than is read.
var ErrLineTooLong = fmt.Errorf("the line is longer than %d MB", mostLine>>20)

// recallFile stamps a file, and returns the file as it was read last, nil if it was not. same reports that it has not
// changed since.
func (l *Lines[R]) recallFile(in engine.In, name string) (at tree.Stamp, was *File[R], same bool, err error) {
	if at, err = in.Stamp(name); err == nil && at.Kind == files.Nothing {
		err = fs.ErrNotExist
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	was, _ = l.known.Get(name, mostLines)
	return at, was, err == nil && was != nil && was.stamp.Is(at) && was.stamp.Size == at.Size, err
}

// Read reads a file, or only its new lines. It returns the errors of tree.Tree.
func (l *Lines[R]) Read(ctx context.Context, in engine.In, name string) (*File[R], error) {
	at, was, same, err := l.recallFile(in, name)
	if err != nil {
		return nil, err
	}
	if same {
		return was, nil
	}
	file, err := in.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	now := &File[R]{Name: name}
	if was != nil && was.goesOnIn(file, at) {
		*now = *was
		now.Records = slices.Clip(now.Records)
		if now.taken {
			now.Records = now.Records[: len(now.Records)-1 : len(now.Records)-1]
		}
		now.torn, now.taken = false, false
	}
	now.stamp = at
	if err := l.readOn(ctx, now, file); err != nil {
		return nil, err
	}
	if at.Size > smallFile { // a small one is read again sooner than it is held
		l.rememberFile(now)
	}
	return now, nil
}

// ReadWhole reads a file that is one record, on however many lines. It returns the errors of tree.Tree, and
// ErrLineTooLong.
func (l *Lines[R]) ReadWhole(in engine.In, name string) (*File[R], error) {
	at, was, same, err := l.recallFile(in, name)
	if err != nil {
		return nil, err
	}
	if same {
		return was, nil
	}
	if at.Size > mostLine {
		return nil, fmt.Errorf("%s: %w", name, ErrLineTooLong)
	}
	text, err := tree.Head(in.Tree, name, at.Size)
	if err != nil {
		return nil, err
	}
	now := &File[R]{Name: name, Size: int64(len(text)), stamp: at}
	line := Line{Span: Span{0, now.Size}, Number: 1, Raw: text, scratch: new(jsontape.Scratch)}
	records := make([]Record[R], 1)
	if err := l.decodeInto(&line, &records[0]); err == nil {
		now.Records = records
	} else if now.Size > 0 {
		now.damage = []damage{{line: 1, err: err}}
	}
	l.rememberFile(now)
	return now, nil
}

// goesOnIn reports whether a file still begins as it did: it is the one that it was, it got
// longer, and what stood before the end of its last whole line stands there.
func (f *File[R]) goesOnIn(file io.ReaderAt, at tree.Stamp) bool {
	if !at.IsFile(f.stamp.Stamp) || at.Size == f.stamp.Size || at.Size < f.whole || f.whole == 0 {
		return false
	}
	print := make([]byte, len(f.print))
	_, err := file.ReadAt(print, f.whole-int64(len(print)))
	return (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(print, f.print)
}

func (l *Lines[R]) rememberFile(f *File[R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known.Put(f.Name, f, len(f.Records), mostLines)
}

// readOn reads a file from the end of its last whole line. While lines are decoded the next
// are read.
func (l *Lines[R]) readOn(ctx context.Context, f *File[R], file io.ReaderAt) error {
	lent := buffers.Get().(*[]byte)
	room := int(min(pieceSize, max(f.stamp.Size-f.whole, 0)+1))
	*lent = slices.Grow((*lent)[:0], room)
	buf := (*lent)[:0:room]
	from, ended := f.whole, false // of buf in the file
	var decoding store.Group
	var spare []byte // is decoded
	defer func() {
		decoding.Wait()
		buffers.Put(lent)
	}()
	for !ended {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(buf) == cap(buf) {
			if len(buf) >= mostLine {
				decoding.Wait()
				return fmt.Errorf("%s, line %d: %w", f.Name, f.lines+1, ErrLineTooLong)
			}
			left, err := restOfLine(file, from+int64(len(buf)))
			if err != nil {
				return err
			}
			buf = append(make([]byte, 0, len(buf)+left+1), buf...)
		}
		n, err := file.ReadAt(buf[len(buf):cap(buf)], from+int64(len(buf)))
		if buf = buf[:len(buf)+n]; err != nil && !errors.Is(err, io.EOF) {
			return files.Cause(err)
		}
		ended = n == 0 || err != nil
		whole := bytes.LastIndexByte(buf, '\n') + 1
		if whole == 0 {
			continue
		}
		decoding.Wait()
		text, at, rest := buf[:whole], from, buf[whole:]
		f.print = append(slices.Clip(f.print), text[max(0, whole-printSize):]...)
		f.print = f.print[max(0, len(f.print)-printSize):]
		from += int64(whole)
		f.whole = from
		if ended {
			buf = rest
		} else {
			buf, spare = append(slices.Grow(spare[:0], max(pieceSize, len(rest))), rest...), buf
			if cap(spare) > 2*pieceSize {
				spare = nil // it is let go of when its lines are decoded
			}
		}
		if ended {
			l.decodeLines(f, text, at)
		} else {
			decoding.Go(func() { l.decodeLines(f, text, at) })
		}
	}
	decoding.Wait()
	f.Size = from + int64(len(buf))
	if last := trimLine(buf); l.looksFor(last) {
		line := Line{Span: Span{from, int64(len(last))}, Number: f.lines + 1, Raw: last, scratch: new(jsontape.Scratch)}
		var r Record[R]
		err := l.decodeInto(&line, &r)
		if f.torn, f.taken = err != nil, err == nil; f.taken {
			f.Records = append(f.Records, r)
		}
	}
	return nil
}

// restOfLine returns how many bytes there are from a place to behind the end of its line, at least a
// piece where so many follow: a long line has its room at once, and is not copied as it is read.
func restOfLine(file io.ReaderAt, at int64) (n int, err error) {
	piece := make([]byte, searchedAtOnce)
	for n < mostLine {
		got, err := file.ReadAt(piece, at+int64(n))
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, files.Cause(err)
		}
		end := bytes.IndexByte(piece[:got], '\n') + 1
		if n += cmp.Or(end, got); end > 0 || got < len(piece) {
			break
		}
	}
	return max(n, pieceSize), nil
}

// looksFor reports whether a line is decoded.
func (l *Lines[R]) looksFor(raw []byte) bool { return len(raw) > 0 && (l.Only == nil || l.Only(raw)) }

// trimLine takes off the end of a line, and white space before it.
func trimLine(line []byte) []byte { return bytes.TrimRight(line, "\r \t") }

// scratches are for workers: most files have few lines.
var scratches = sync.Pool{New: func() any { return new(jsontape.Scratch) }}

// decodeLines decodes whole lines, several at once. at is where the text is in the file.
func (l *Lines[R]) decodeLines(f *File[R], text []byte, at int64) {
	piece := Line{Span: Span{at, int64(len(text))}, Raw: text}
	size := len(text)
	lines := make([]Line, 0, bytes.Count(text, []byte("\n")))
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		raw := trimLine(text[:end])
		if f.lines++; l.looksFor(raw) {
			lines = append(lines, Line{Span: Span{at, int64(len(raw))}, Number: f.lines, Raw: raw})
		}
		at, text = at+int64(end)+1, text[end+1:]
	}
	made := make([]Record[R], len(lines))
	failed := make([]error, len(lines))
	// What a worker takes at a time: lines of a few bytes are many, and one may be large.
	const atOnce, bytesAtOnce = 16, 64 << 10
	workers := min(runtime.GOMAXPROCS(0), max((len(lines)+atOnce-1)/atOnce, min(len(lines), size/bytesAtOnce)))
	if size <= bytesAtOnce { // of such files several are read at once
		workers = 1
	}
	var next sync.Mutex
	from := 0
	take := func() (first, end int) {
		next.Lock()
		defer next.Unlock()
		first = from
		for taken := 0; from < min(first+atOnce, len(lines)) && taken < bytesAtOnce; from++ {
			taken += len(lines[from].Raw)
		}
		return first, from
	}
	work := func() {
		scratch := scratches.Get().(*jsontape.Scratch)
		defer scratches.Put(scratch)
		for first, end := take(); first < end; first, end = take() {
			for i := first; i < end; i++ {
				line := &lines[i]
				line.scratch = scratch
				failed[i] = l.decodeInto(line, &made[i])
				line.scratch = nil // the next worker has it while a damaged line is read again
			}
		}
	}
	var others store.Group
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if len(f.Records) == 0 && !slices.ContainsFunc(failed, func(err error) bool { return err != nil }) {
		f.Records = made
		return
	}
	for i := 0; i < len(made); i++ {
		if failed[i] == nil {
			f.Records = append(f.Records, made[i])
			continue
		}
		kept, first := l.salvageWhole(&lines[i]), &lines[i]
		why := failed[i]
		if len(kept) == 0 {
			until := i + 1
			for until < len(lines) && failed[until] != nil {
				until++
			}
			if joined, last := l.salvageJoined(&piece, lines[i:until]); last >= 0 {
				kept, i = joined, i+last
				why = fmt.Errorf("it has line breaks that are not escaped, and goes on to line %d", lines[i].Number)
			}
		}
		f.Records = append(f.Records, kept...)
		if len(f.damage) < mostDamage {
			f.damage = append(slices.Clip(f.damage), damage{first.Number, len(kept), first.At, why})
		}
	}
}

// Codes of faults that every coding agent's files may have.
const (
	// FaultLine: a line is no record.
	FaultLine = "damaged-line"
	// FaultTorn: the last line has no end, because its writer is at work or was killed.
	FaultTorn = "torn-line"
	// FaultUnknown: records of a type that Hindcast does not know.
	FaultUnknown = "unknown-record"
	// FaultShown: the messages are gone, and the session is read from what the agent showed of them.
	FaultShown = "no-messages"
)

// Faults returns the faults of the lines. verdict describes how the agent treats a line that is no record.
func (f *File[R]) Faults(verdict string) []model.Fault {
	var list store.FaultList
	for _, d := range f.damage {
		meaning := "the line is no record: " + d.err.Error()
		if d.kept > 0 {
			meaning += "; Hindcast shows what it has whole: " + model.Count(d.kept, "record")
		}
		list.Add(model.Fault{Code: FaultLine, Severity: model.Loses, File: f.Name, Path: fmt.Sprintf("line %d, byte %d", d.line, d.at), Meaning: meaning, Verdict: verdict})
	}
	if f.torn {
		list.Add(model.Fault{Code: FaultTorn, Severity: model.Odd, File: f.Name, Path: fmt.Sprintf("line %d, byte %d", f.lines+1, f.whole), Meaning: "the last line has no end: its writer is at work, or was killed", Verdict: verdict})
	}
	return list.All()
}

// At returns the index of the record at an offset of the file, or -1.
func (f *File[R]) At(place int64) int {
	i, there := slices.BinarySearchFunc(f.Records, place, func(r Record[R], at int64) int { return cmp.Compare(r.At, at) })
	if !there {
		return -1
	}
	return i
}

// RecordsOf returns the records of entries, by their positions.
func (f *File[R]) RecordsOf(entries []*Entry) (list []int) {
	for _, e := range entries {
		for _, span := range e.Records {
			list = append(list, f.At(span.At))
		}
	}
	return list
}

// SpansOn returns where the records of a set are, in the order of the file, the last record of an entry last: an
// agent goes on from the last line.
func (f *File[R]) SpansOn(set map[int]bool, to *Entry) (list []Span) {
	end := to.Records[len(to.Records)-1]
	for i := range f.Records {
		if span := f.Records[i].Span; set[i] && span != end {
			list = append(list, span)
		}
	}
	return append(list, end)
}

// UnknownFaults returns one fault for the records of types that a format does not know, nil without such
// records. types counts the records of each type.
func UnknownFaults(file string, types map[string]int) []model.Fault {
	if len(types) == 0 {
		return nil
	}
	var words []string
	for name, n := range types {
		words = append(words, fmt.Sprintf("%.40q (%d)", name, n))
	}
	slices.Sort(words)
	return []model.Fault{{Code: FaultUnknown, Severity: model.Note, File: file, Meaning: "records of types that Hindcast does not know, which are passed over: " + strings.Join(words[:min(len(words), 8)], ", ")}}
}

// Values returns the parsed records of a file. It returns the errors of Raw, or a *jsontape.SyntaxError.
func Values(t tree.Tree, name string, spans []Span) (list []Value, err error) {
	raw, err := Raw(t, name, spans)
	for i := 0; err == nil && i < len(raw); i++ {
		var v Value
		v, err = Parse(raw[i])
		list = append(list, v)
	}
	return list, err
}

// MessagesIn returns the messages of the records of an entry, one for each. It returns the errors of Values.
func MessagesIn(in engine.In, e *Entry, of func(Value) Message) (list []Message, err error) {
	records, err := Values(in.Tree, e.File, e.Records)
	for _, v := range records {
		list = append(list, of(v))
	}
	return list, err
}

// Raw returns the JSON records of a file, and escapes line breaks inside their strings. The errors are those
// of Bytes.
func Raw(t tree.Tree, name string, spans []Span) ([][]byte, error) {
	list, err := Bytes(t, name, spans)
	for i, raw := range list {
		if bytes.IndexByte(raw, '\n') >= 0 && !jsontape.Valid(raw) { // one that was put together
			list[i] = escapeControls(raw)
		}
	}
	return list, err
}

// Bytes returns the bytes in the spans of a file. It returns the errors of tree.Tree, io.ErrUnexpectedEOF if
// the file has become shorter, and ErrLineTooLong.
func Bytes(t tree.Tree, name string, spans []Span) (list [][]byte, err error) {
	file, err := t.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	for _, s := range spans {
		if s.Len > mostLine {
			return nil, ErrLineTooLong
		}
		raw := make([]byte, s.Len)
		if n, err := file.ReadAt(raw, s.At); n < len(raw) {
			return nil, fmt.Errorf("%s, byte %d: %w", name, s.At, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		list = append(list, raw)
	}
	return list, nil
}
