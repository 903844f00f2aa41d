package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// kept is what the tests keep of a line: its member n.
type kept struct{ n string }

func decodeKept(l *Line, is *kept) error {
	v, err := l.Parse()
	if err == nil && v.Get("refused").True() {
		err = errors.New("it is refused")
	}
	*is = kept{string(v.Get("n").Raw())}
	return err
}

// lineFile is a file of lines that is read again and again.
type lineFile struct {
	failing
	in    engine.In
	path  string
	lines Lines[kept]
}

type failing interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}

func newLineFile(t failing, dir string) *lineFile {
	t.Helper()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &lineFile{failing: t, in: engine.In{Tree: disk}, path: filepath.Join(dir, "lines.jsonl")}
	f.lines.Decode = decodeKept
	return f
}

func (f *lineFile) append(text string) {
	f.Helper()
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		f.Fatal(err)
	}
}

func (f *lineFile) read() *File[kept] {
	f.Helper()
	is, err := f.lines.Read(context.Background(), f.in, "lines.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	return is
}

// saying says what was read: "1:a 3:b" for the records a and b in lines 1 and 3, then each
// fault with its place. What the spans name is held to be the records.
func (f *lineFile) saying() string {
	f.Helper()
	is := f.read()
	var spans []Span
	var words []string
	for _, r := range is.Records {
		spans = append(spans, r.Span)
		words = append(words, fmt.Sprintf("%d:%s", r.Number, strings.Trim(r.Is.n, `"`)))
	}
	raw, err := Raw(f.in.Tree, "lines.jsonl", spans)
	if err != nil {
		f.Fatal(err)
	}
	for i, text := range raw {
		if got := string(jsontape.FindMember(text, `"n"`)); got != is.Records[i].Is.n {
			f.Errorf("the span of line %d is %.80q, which has %s and not %s", is.Records[i].Number, text, got, is.Records[i].Is.n)
		}
	}
	for _, fault := range is.Faults("") {
		words = append(words, fault.Code+" "+fault.Path)
	}
	return strings.Join(words, ", ")
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 30<<20)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"lines", "{\"n\":1}\n{\"n\":2}\n", "1:1, 2:2"},
		{"the last has no end", "{\"n\":1}\n{\"n\":2}", "1:1, 2:2"},
		{"the last is torn", "{\"n\":1}\n{\"n\":", "1:1, torn-line line 2, byte 8"},
		{"nothing but a torn one", `{"n":`, "torn-line line 1, byte 0"},
		{"zeros at the end", "{\"n\":1}\n\x00\x00\x00", "1:1, torn-line line 2, byte 8"},
		{"a number at the end", "{\"n\":1}\n1", "1:1, torn-line line 2, byte 8"},
		{"one at the end that is refused", "{\"n\":1}\n{\"refused\":true}", "1:1, torn-line line 2, byte 8"},
		{"carriage returns", "{\"n\":1}\r\n\r\n{\"n\":2}\r\n{\"n\":3}\r", "1:1, 3:2, 4:3"},
		{"empty lines", "\n\n{\"n\":1}\n \t\n\n{\"n\":2}\n\n", "3:1, 6:2"},
		{"white space around", "  {\"n\":1} \n\t{\"n\":2}\t\n  {\"n\":3}  ", "1:1, 2:2, 3:3"},
		{"damage", "{\"n\":1}\n{\"n\":}\n[1]\n{\"refused\":true}\n{\"n\":2}\n", "1:1, 5:2, damaged-line line 2, byte 8, damaged-line line 3, byte 15, damaged-line line 4, byte 19"},
		{"two records in a line", "{\"n\":1}{\"n\":2}\n{\"n\":3}\n", "2:3, damaged-line line 1, byte 0"},
		{"a line of 30 MB", "{\"n\":1}\n{\"m\":\"" + long + "\",\"n\":2}\n{\"n\":3}\n", "1:1, 2:2, 3:3"},
		{"a torn line of 30 MB", "{\"n\":1}\n{\"m\":\"" + long, "1:1, torn-line line 2, byte 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newLineFile(t, t.TempDir())
			f.append(c.text)
			if got := f.saying(); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if is := f.read(); is.Size != int64(len(c.text)) {
				t.Errorf("it has %d bytes, and is said to have %d", len(c.text), is.Size)
			}
		})
	}
}

// A damaged line has the records that are whole: behind a torn one, before one, behind another
// with no end between, and beside zeros. A part of a record is none.
func TestLines_damaged(t *testing.T) {
	deep := strings.Repeat(`{"n":`, 1<<18)
	for _, c := range []struct{ name, line, want string }{
		{"behind a torn one", `{"n":{"m":2},"s":"{\"a{"n":{"m":3},"s":1}`, `2:{"m":3}`},
		{"two behind a torn one", `{"n":{"m":2},"s":"a{"n":3,"s":1}{"n":4,"s":1}`, "2:3, 2:4"},
		{"no end between", `{"n":2,"s":1}{"n":3,"s":1}`, "2:2, 2:3"},
		{"before a torn one", `{"n":2,"s":1}{"n":{"m":3}`, "2:2"},
		{"behind zeros", "\x00\x00\x00{\"n\":2,\"s\":1}", "2:2"},
		{"before zeros", "{\"n\":2,\"s\":1}\x00\x00", "2:2"},
		{"behind a mark of the byte order", "\ufeff{\"n\":2,\"s\":1}", "2:2"},
		{"a part at the end of a torn one", `{"n":2,"m":{"n":3}`, ""},
		{"a part at the end that is like a record", `{"n":2,"m":{"n":3,"s":1}`, "2:3"},
		{"refused", `{"n":2,"s":1,"refused":true}{"n":3,"s":1}`, "2:3"},
		{"a list", `[{"n":1,"s":1}]`, ""},
		{"parts in each other", deep, ""},
		{"parts that end nowhere", deep + strings.Repeat("]", 1<<18), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newLineFile(t, t.TempDir())
			f.lines.Members = []string{"n", "s"}
			f.append("{\"n\":1}\n" + c.line + "\n{\"n\":9}\n")
			want := "1:1, " + c.want + ", 3:9, damaged-line line 2, byte 8"
			if got := f.saying(); got != strings.Replace(want, " , ", " ", 1) {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

// A line that is on its way is a record when it is whole, once.
func TestLines_grow(t *testing.T) {
	f := newLineFile(t, t.TempDir())
	for _, step := range []struct{ text, want string }{
		{`{"n"`, "torn-line line 1, byte 0"},
		{`:1}`, "1:1"},
		{"\n", "1:1"},
		{"", "1:1"},
		{`{"n":2}`, "1:1, 2:2"},
		{` `, "1:1, 2:2"},
		{"x\n", "1:1, damaged-line line 2, byte 8"}, // it is no record after all
		{"{\"n\":3}\r", "1:1, 3:3, damaged-line line 2, byte 8"},
		{"\n\n{\"n\":4}\n{", "1:1, 3:3, 5:4, damaged-line line 2, byte 8, torn-line line 6, byte 36"},
		{"\"n\":5}\n", "1:1, 3:3, 5:4, 6:5, damaged-line line 2, byte 8"},
	} {
		before, _ := f.lines.known.Get("lines.jsonl", mostLines)
		var records []Record[kept]
		if before != nil {
			records = slices.Clone(before.Records)
		}
		f.append(step.text)
		if got := f.saying(); got != step.want {
			t.Errorf("after %q: %s\nwant %s", step.text, got, step.want)
		}
		if before != nil && !reflect.DeepEqual(before.Records, records) {
			t.Errorf("after %q what was read before is another", step.text)
		}
	}
}

// A file that is not what it was is read from its beginning.
func TestLines_replaced(t *testing.T) {
	first := "{\"n\":1}\n{\"n\":2}\n" + strings.Repeat(" ", 2*printSize) + "{\"n\":3}\n"
	other := strings.Replace(first, "1", "7", 1)
	write := func(t *testing.T, f *lineFile, text string) {
		t.Helper()
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		stamp := f.read().stamp.Modified.Add(3e9) // the clock of the disk may be coarse
		if err := os.Chtimes(f.path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, want string
		do         func(t *testing.T, f *lineFile)
	}{
		{"by another of the same size", "1:7, 2:2, 3:3", func(t *testing.T, f *lineFile) { replace(t, f, other) }},
		{"by another that goes on from it", "1:7, 2:2, 3:3, 4:4", func(t *testing.T, f *lineFile) { replace(t, f, other+"{\"n\":4}\n") }},
		{"by a smaller one", "1:9", func(t *testing.T, f *lineFile) { replace(t, f, "{\"n\":9}\n") }},
		{"written over in place, the same size", "1:7, 2:2, 3:3", func(t *testing.T, f *lineFile) { write(t, f, other) }},
		{"written over in place, longer", "1:9, 2:9, 3:9", func(t *testing.T, f *lineFile) {
			write(t, f, strings.Repeat("{\"n\":9}"+strings.Repeat(" ", len(first))+"\n", 3))
		}},
		{"truncated", "1:1", func(t *testing.T, f *lineFile) {
			if err := os.Truncate(f.path, 8); err != nil {
				t.Fatal(err)
			}
		}},
		{"truncated within a line", "1:1, torn-line line 2, byte 8", func(t *testing.T, f *lineFile) {
			if err := os.Truncate(f.path, 11); err != nil {
				t.Fatal(err)
			}
		}},
		{"emptied", "", func(t *testing.T, f *lineFile) {
			if err := os.Truncate(f.path, 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"gone and there again", "1:1, 2:2, 3:3", func(t *testing.T, f *lineFile) {
			if err := os.Rename(f.path, f.path+".away"); err != nil {
				t.Fatal(err)
			}
			if _, err := f.lines.Read(t.Context(), f.in, "lines.jsonl"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file that is gone: %v", err)
			}
			if err := os.Rename(f.path+".away", f.path); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newLineFile(t, t.TempDir())
			f.append(first)
			if got := f.saying(); got != "1:1, 2:2, 3:3" {
				t.Fatal(got)
			}
			if c.do(t, f); f.saying() != c.want {
				t.Errorf("%s\nwant\n%s", f.saying(), c.want)
			}
		})
	}
}

func replace(t *testing.T, f *lineFile, text string) {
	t.Helper()
	err := os.WriteFile(f.path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(f.path+".new", f.path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What was read is not read again: of a file that grows, what is new alone.
func TestLines_readsWhatIsNew(t *testing.T) {
	f := newLineFile(t, t.TempDir())
	const lines = 10_000 // what is small is read again
	decoded := make(chan int, 2*lines)
	f.lines.Decode = func(l *Line, is *kept) error {
		decoded <- l.Number
		return decodeKept(l, is)
	}
	f.append(strings.Repeat("{\"n\":1}\n", lines))
	for _, step := range []struct {
		text string
		want int
	}{{"", lines}, {"", 0}, {"{\"n\":1}\n", 1}, {"{\"n\":2}\n{\"n\":3}\n", 2}, {"{\"n\":4}", 1}, {"\n{\"n\":5}\n", 2}} {
		f.append(step.text)
		f.read()
		if got := len(decoded); got != step.want {
			t.Errorf("after %q %d lines were decoded, want %d", step.text, got, step.want)
		}
		for len(decoded) > 0 {
			<-decoded
		}
	}
}

// A line longer than is read is an error, and is not in memory.
func TestLines_tooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 256 MB")
	}
	f := newLineFile(t, t.TempDir())
	f.append("{\"n\":1}\n")
	if err := os.Truncate(f.path, 4*mostLine); err != nil { // zeros that take no room
		skip.Missing(t, "there are no sparse files: %v", err)
	}
	_, err := f.lines.Read(t.Context(), f.in, "lines.jsonl")
	if !errors.Is(err, ErrLineTooLong) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line of %d MB: %v", 4*mostLine>>20, err)
	}
	if _, err := Raw(f.in.Tree, "lines.jsonl", []Span{{0, mostLine + 1}}); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("a span of %d MB: %v", mostLine>>20, err)
	}
	runtime.GC()
}

func TestRaw_whatIsGone(t *testing.T) {
	f := newLineFile(t, t.TempDir())
	f.append("{\"n\":1}\n")
	if _, err := Raw(f.in.Tree, "lines.jsonl", []Span{{4, 100}}); err == nil {
		t.Error("a span behind the end is read")
	}
	if _, err := Raw(f.in.Tree, "none.jsonl", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// However many lines are damaged, the faults are few, and the records all there.
func TestLines_muchDamage(t *testing.T) {
	f := newLineFile(t, t.TempDir())
	f.append(strings.Repeat("x\n{\"n\":1}\n", 10_000))
	is := f.read()
	if len(is.Records) != 10_000 || len(is.damage) != mostDamage {
		t.Errorf("%d records and %d damaged lines", len(is.Records), len(is.damage))
	}
	list := is.Faults("")
	if len(list) == 0 || len(list) > mostDamage+1 {
		t.Errorf("%d faults", len(list))
	}
	for _, fault := range list {
		if fault.Severity < model.Odd || fault.Meaning == "" {
			t.Errorf("%+v", fault)
		}
	}
}

// A context that ends stops it, and nothing of that is remembered.
func TestLines_cancelled(t *testing.T) {
	f := newLineFile(t, t.TempDir())
	f.append("{\"n\":1}\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.lines.Read(ctx, f.in, "lines.jsonl"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := f.saying(); got != "1:1" {
		t.Error(got)
	}
}

// What is remembered of all files is bounded.
func TestLines_remembersFew(t *testing.T) {
	var l Lines[kept]
	for n := range 100 {
		l.rememberFile(&File[kept]{Name: fmt.Sprint(n), Records: make([]Record[kept], mostLines/10)})
		if lines := l.known.Weight(); lines > mostLines {
			t.Fatalf("%d lines are remembered", lines)
		}
	}
}

// pieces are texts that lines are made of.
var pieces = []string{
	"{\"n\":1}\n", "{\"n\":2}\r\n", "{\"n\":\"\u00fc\"}\n", "\n", " \n", "{\"n\":3} \n", "{\"n\":}\n", "[]\n", "{\"refused\":true}\n", "x", "{\"n\":4}", "{\"n\":", "\x00\n", "\xff\n",
}

// In whatever pieces a file is written, what is read is the whole of it.
func TestLines_anyCut(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, storetest.Few(100, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(rt, "text"), "")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(text)), 0, 6).Draw(rt, "cuts")
		sameAsWhole(rt, dir, text, cuts)
	}))
}

// sameAsWhole writes a text in pieces, reads it after each, and compares what was read at
// last with what each line is by itself.
func sameAsWhole(t failing, dir, text string, cuts []int) {
	t.Helper()
	f := newLineFile(t, dir)
	if err := os.RemoveAll(f.path); err != nil {
		t.Fatal(err)
	}
	at := 0
	slices.Sort(cuts)
	for _, cut := range append(cuts, len(text)) {
		f.append(text[at:cut])
		at = cut
		f.saying()
	}
	got := f.read()
	var want []Record[kept]
	var damaged []int
	torn, from := false, int64(0)
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		raw := strings.TrimRight(line, "\n\r \t")
		l := Line{Span: Span{from, int64(len(raw))}, Number: i + 1, Raw: []byte(raw), scratch: new(jsontape.Scratch)}
		from += int64(len(line))
		if raw == "" {
			continue
		}
		r := Record[kept]{Span: l.Span, Number: l.Number}
		err := decodeKept(&l, &r.Is)
		switch {
		case err == nil:
			want = append(want, r)
		case strings.HasSuffix(line, "\n"):
			damaged = append(damaged, l.Number)
		default:
			torn = true
		}
	}
	var told []int
	for _, d := range got.damage {
		told = append(told, d.line)
	}
	if len(got.Records)+len(want) > 0 && !reflect.DeepEqual(got.Records, want) || !slices.Equal(told, damaged) || got.torn != torn || got.Size != int64(len(text)) {
		t.Errorf("%q in pieces up to %v: %v, damaged %v, torn %t\nwant %v, %v, %t", text, cuts, got.Records, told, got.torn, want, damaged, torn)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(strings.Join(pieces, "")), uint16(3), uint16(50))
	f.Add([]byte("{\"n\":1}\n{\"n\":2}"), uint16(8), uint16(12))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, a, b uint16) {
		if bytes.Count(text, []byte("\n")) > mostDamage || len(text) > 1<<16 {
			t.Skip()
		}
		sameAsWhole(t, dir, string(text), []int{int(a) % (len(text) + 1), int(b) % (len(text) + 1)})
	})
}

// Lines that are not looked for are counted, and are nothing else: no record and no damage.
func TestLines_only(t *testing.T) {
	f := newLineFile(t, t.TempDir())
	f.lines.Only = func(raw []byte) bool { return bytes.HasPrefix(raw, []byte(`{"n"`)) }
	for _, step := range []struct{ text, want string }{
		{"damage\n{\"n\":1}\n{\"m\":1,\"n\":2}\n{\"n\":}\n{\"m\"", "2:1, damaged-line line 4, byte 29"},
		{":2}\n{\"n\":3}", "2:1, 6:3, damaged-line line 4, byte 29"},
		{"\n{\"n\"", "2:1, 6:3, damaged-line line 4, byte 29, torn-line line 7, byte 52"},
	} {
		f.append(step.text)
		if got := f.saying(); got != step.want {
			t.Errorf("%s\nwant\n%s", got, step.want)
		}
	}
}
