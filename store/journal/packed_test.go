package journal

import (
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
	if _, err := pack([]Change{{Path: strings.Repeat("a", maxPath+1)}}); err != ErrTooMuch {
		t.Error(err)
	}
}

// TestEncode_small is how much of the journal a restore of a long session takes.
func TestEncode_small(t *testing.T) {
	var changes []Change
	for i := 10_000; i > 100; i-- {
		changes = append(changes, Change{fmt.Sprintf("session_s/agents/agent_a/messages/message_%d.json", i), model.FileSetAside,
			versionOf(fmt.Append(nil, i), 0o644), Version{}})
	}
	line, err := encode(record{Entry: &Entry{JournalEntry: model.JournalEntry{ID: 1}, Changes: changes}})
	if err != nil || len(line) > 64*len(changes) {
		t.Fatal(len(line), err)
	}
	t.Logf("%d changes in %d bytes", len(changes), len(line))
	r, ok := decode(line[1 : len(line)-1])
	if !ok || !reflect.DeepEqual(r.Changes, changes) {
		t.Error("it is not read as it was written")
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
