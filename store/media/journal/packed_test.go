package journal

import (
	"bytes"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
)

// someChanges returns changes of every shape.
func someChanges() []Change {
	file := func(text string, mode fs.FileMode) Version { return versionOf([]byte(text), mode) }
	folder := Version{Folder: true, Mode: 0o750}
	return []Change{
		{"t", model.FileMade, Version{}, folder},
		{"t/x", model.FileCopied, Version{}, file("x", 0o600)},
		{"s/m/message_10000.json", model.FileSetAside, file("0", 0o644), Version{}},
		{"s/m/message_9999.json", model.FileSetAside, file("", 0), Version{}},
		{"s/m/message_9999.json.x", model.FileSetAside, file("1", 0o777), Version{}},
		{"s/m/messa", model.FileReplaced, file("1", 0o640), file("2", 0o640)},
		{"ü/☃", model.FilePutBack, Version{}, file(strings.Repeat("long", 1<<12), 0o644)},
		{"u", model.FileMade, folder, Version{}},
		{"v", "something new", file("1", 0o600), folder},
		{"v", model.FileForgotten, file("1", 0o600), Version{}},
		{"v", "", file("1", 0o600), file("1", 0o600)},
	}
}

func TestPack(t *testing.T) {
	changes := someChanges()
	data, err := pack(changes)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(data)
	if err != nil || !reflect.DeepEqual(got, changes) {
		t.Errorf("%v: %v\ninstead of %v", err, got, changes)
	}
	whole := 0
	for n := range data { // what is cut off is noticed, but between two changes
		if got, err := unpack(data[:n]); err == nil {
			if whole++; !reflect.DeepEqual(got, changes[:len(got)]) {
				t.Errorf("%d bytes: %v", n, got)
			}
		}
	}
	if whole != len(changes) {
		t.Errorf("%d prefixes are whole", whole)
	}
}

// TestUnpack_bounded: a few bytes cannot become gigabytes.
func TestUnpack_bounded(t *testing.T) {
	bomb := []byte{isFolder << 2, 0, 0x80, 0x20} // a path of 4,096 bytes
	bomb = append(bomb, strings.Repeat("a", maxPath)...)
	bomb = append(bomb, 1, 'x', 0)
	for range 1 << 16 {
		bomb = append(bomb, sameDoes|isFolder<<2, 0x80, 0x20, 0, 0) // the same path once more
	}
	if got, err := unpack(bomb); err == nil {
		t.Errorf("%d bytes became %d changes", len(bomb), len(got))
	}
	for _, data := range []string{"\x04\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x04\xff\xff\xff\xff\x0f\x01a", "\x0c\x00\x01a\x00", "\xff", "\x04\x01\x00"} {
		if got, err := unpack([]byte(data)); err == nil {
			t.Errorf("%q: %v", data, got)
		}
	}
	long := []Change{{Path: strings.Repeat("a", maxPath+1)}}
	if _, err := pack(long); err != ErrTooMuch {
		t.Error(err)
	}
	if _, err := packedParts(long); err != ErrTooMuch {
		t.Error(err)
	}
}

// What no journal says is no part.
func TestPart_hostile(t *testing.T) {
	file, folder := versionOf([]byte("x"), 0o600), Version{Folder: true, Mode: 0o700}
	for _, changes := range [][]Change{
		{},
		{{"../x", model.FileSetAside, file, Version{}}},
		{{Folder + "/journal", model.FileSetAside, file, Version{}}},
		{{"x", model.FileForgotten, Version{}, file}},
		{{"x", model.FileForgotten, folder, Version{}}},
		{{"x", model.FileForgotten, file, Version{}}, {"y", model.FileSetAside, file, Version{}}},
		{{"x", model.FileSetAside, file, Version{}}, {"y", "", file, file}},
		{{"x", "", file, Version{}}},
		{{"x", model.FileReplaced, file, file}},
		{{"x", model.FileMade, folder, Version{Folder: true}}},
	} {
		data, err := pack(changes)
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := packedPart(data); ok {
			t.Errorf("%v is %+v", changes, p)
		}
		if _, ok := parted(changes); ok && len(changes) > 0 && changes[len(changes)-1].Does != "" {
			t.Errorf("%v are few", changes)
		}
	}
	many := make([]Change, maxPart+1)
	for i := range many {
		many[i] = Change{fmt.Sprint(i), model.FileSetAside, file, Version{}}
	}
	if data, err := pack(many); err != nil {
		t.Error(err)
	} else if _, ok := packedPart(data); ok {
		t.Error("a part may have any number of changes")
	}
}

// TestEncode_small is how much of the journal a restore of a long session takes.
func TestEncode_small(t *testing.T) {
	var changes []Change
	for i := 10_000; i > 100; i-- {
		changes = append(changes, Change{fmt.Sprintf("session_s/agents/agent_a/messages/message_%d.json", i), model.FileSetAside,
			versionOf(fmt.Append(nil, i), 0o644), Version{}})
	}
	told, parts := map[sum]bool{}, map[sum]*Part{}
	for id, c := range []struct{ from, most int }{{0, 64 * len(changes)}, {0, 2000}, {500, 64 * maxPart}, {0, 2000}} {
		entry := &Entry{JournalEntry: model.JournalEntry{ID: int64(id + 1)}}
		lines, err := encodeRecord(record{Entry: entry, Changes: changes[c.from:]}, told)
		if err != nil || len(lines) > c.most {
			t.Fatal(len(lines), err)
		}
		t.Logf("%d changes in %d bytes", len(changes)-c.from, len(lines))
		var r record
		for line := range bytes.Lines(lines) {
			if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
				var ok bool
				if r, ok = decodeLine(line, parts, nil); !ok {
					t.Fatalf("a line is not read: %.80s", line)
				}
			}
		}
		if !reflect.DeepEqual(r.Entry.Changes(), changes[c.from:]) {
			t.Error("it is not read as it was written")
		}
		for sum := range parts {
			told[sum] = true
		}
	}
}

func FuzzUnpack(f *testing.F) {
	data, err := pack(someChanges())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		changes, err := unpack(data)
		if err != nil {
			return
		}
		again, err := pack(changes)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unpack(again); err != nil || len(got) != len(changes) || len(got) > 0 && !reflect.DeepEqual(got, changes) {
			t.Fatalf("%v: %v\ninstead of %v", err, got, changes)
		}
	})
}
