package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/media/disk/disktest"
)

// Names come back as they were packed, whatever they are.
func TestNames_comeBack(t *testing.T) {
	name := rapid.OneOf(
		rapid.StringMatching(`message_[0-9]{1,4}\.json`),
		rapid.StringMatching(`m?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(\.json)?`),
		rapid.StringMatching(`[0-9]{1,24}`),
		rapid.StringMatching(`[a-zA-Z0-9 ._-]{1,12}`),
		rapid.StringN(1, 20, 200),
	)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(name, rapid.ID[string]).Draw(t, "names")
		slices.Sort(names)
		c := Came{Packed: packNames(slices.Clone(names))}
		got, err := c.Names()
		if err != nil || !slices.Equal(got, names) {
			t.Fatalf("%q came back as %q, %v", names, got, err)
		}
	})
}

// Those of a log of messages and of snapshots take little.
func TestNames_takeLittle(t *testing.T) {
	var messages, rows []string
	for i := range 10_000 {
		messages = append(messages, fmt.Sprintf("message_%d.json", i))
		rows = append(rows, fmt.Sprintf("%08x-0000-4000-8000-%012x.json", i*7919, i))
	}
	if n := len(packNames(messages)); n > 32 {
		t.Errorf("10,000 messages take %d bytes", n)
	}
	if n := len(packNames(rows)); n > 16*10_000+32 {
		t.Errorf("10,000 UUIDs take %d bytes", n)
	}
}

// A few bytes that stand for more names than a folder has are not unpacked, nor are bytes
// that no journal packed.
func TestNames_bounded(t *testing.T) {
	numbers := func(runs ...uint64) []byte {
		data := appendText(appendText([]byte{groupNumbers}, "m"), "")
		data = binary.AppendUvarint(data, uint64(len(runs)))
		for _, n := range runs {
			data = binary.AppendUvarint(binary.AppendUvarint(data, 7), n)
		}
		return data
	}
	for name, data := range map[string][]byte{
		"a run of one too many":     numbers(mostNames + 1),
		"two runs":                  numbers(1, mostNames),
		"two groups":                append(numbers(1), numbers(mostNames)...),
		"another group":             {groupUUIDs + 1, 0, 0, 1, 1, 'a'},
		"a UUID that is cut":        {groupUUIDs, 0, 0, 1, 1, 2, 3},
		"a text that is cut":        {groupFull, 0, 0, 1, 9, 'a'},
		"a number that is cut":      {groupNumbers, 0, 0, 1, 0x80},
		"items that are not there":  {groupFull, 0, 0, 2, 1, 'a'},
		"a beginning that is cut":   {groupFull, 9, 'a'},
		"nothing but what it is":    {groupFull},
		"a sound group and a wrong": append(packNames([]string{"a"}), 9, 0, 0, 1, 1, 'a'),
	} {
		c := Came{Packed: data}
		if got, err := c.Names(); err == nil {
			t.Fatalf("%s: %d names", name, len(got))
		}
	}
	c := Came{Packed: numbers(1, 1<<64-1)} // last: who does not refuse it never ends
	if got, err := c.Names(); err == nil {
		t.Fatalf("a sum that overflows: %d names", len(got))
	}
	c = Came{Packed: numbers(2, 1, 3)}
	if got, err := c.Names(); err != nil || !slices.Equal(got, []string{"m16", "m24", "m25", "m26", "m7", "m8"}) {
		t.Error(got, err)
	}
}

// The names of one folder are no names of another.
func TestEntries_recordTheNamesOfEachFolder(t *testing.T) {
	d := disktest.NewMemory(map[string]string{"s/1": "a", "s/2": "b", "t/1": "c", "t/3": "d"}, 0o600)
	j := New(d, Options{})
	for i, folder := range []string{"s", "t"} {
		draft := j.Draft()
		draft.Put(folder+"/9", []byte{byte(i)})
		draft.Rows(folder)
		plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: folder})
		if err == nil {
			_, err = j.Apply(t.Context(), plan, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := j.Entries(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for i, want := range [][]string{{"1", "2"}, {"1", "3"}} {
		if came := list[i].Came; len(came) != 1 {
			t.Errorf("entry %d: %v", i, came)
		} else if got, err := came[0].Names(); err != nil || !slices.Equal(got, want) {
			t.Errorf("entry %d: %v, %v", i, got, err)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add(packNames([]string{"message_1.json", "message_2.json", "a", "00000000-0000-4000-8000-000000000000.json"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Came{Packed: data}
		names, err := c.Names()
		if err != nil {
			return
		}
		names = slices.Compact(names)
		again := Came{Packed: packNames(slices.Clone(names))}
		if got, err := again.Names(); err != nil || !slices.Equal(got, names) {
			t.Fatalf("%q came back as %q, %v", names, got, err)
		}
	})
}

// An entry records what an agent wrote since the one before, a name that was set aside
// and written anew too, and nothing of what Hindcast wrote itself.
func TestEntries_recordTheNamesThatCame(t *testing.T) {
	d := disktest.NewMemory(map[string]string{}, 0o600)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.Mkdir("s", 0o700))
	agent := func(names ...string) {
		t.Helper()
		for _, name := range names {
			must(d.Create("s/"+name, []byte(name), 0o600))
		}
	}
	j := New(d, Options{Ignore: func(name string) bool { return strings.HasSuffix(name, ".tmp") }})
	write := func(make func(*Draft)) {
		t.Helper()
		draft := j.Draft()
		make(draft)
		draft.Rows("s", "gone")
		plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
		must(err)
		_, err = j.Apply(t.Context(), plan, nil)
		must(err)
	}
	back := func(plan model.Plan, err error) {
		t.Helper()
		must(err)
		_, err = j.Apply(t.Context(), plan, nil)
		must(err)
	}
	came := func() (list []string) {
		t.Helper()
		entries, err := New(d, Options{}).Entries(t.Context())
		must(err)
		for _, c := range entries[len(entries)-1].Came {
			names, err := c.Names()
			must(err)
			for _, name := range names {
				list = append(list, c.Folder+"/"+name)
			}
		}
		return list
	}
	want := func(names ...string) {
		t.Helper()
		if got := came(); !slices.Equal(got, names) {
			t.Errorf("came %q instead of %q", got, names)
		}
	}
	agent("m_0", "m_1", "m_2", "m_3.tmp")
	write(func(d *Draft) { d.SetAside("s/m_2"); d.Put("s/ours", []byte("1")) })
	want("s/m_0", "s/m_1", "s/m_2")
	agent("m_2", "m_3")
	write(func(d *Draft) { d.Put("s/ours", []byte("2")) })
	want("s/m_2", "s/m_3")
	write(func(d *Draft) { d.SetAside("s/m_3") })
	want()
	back(j.PlanUndo(t.Context())) // it is there again, and did not come
	agent("m_4")
	write(func(d *Draft) { d.Put("s/ours", []byte("3")) })
	want("s/m_4")
}

// A journal of another version is named, and stays as it is: nothing is read from it,
// nothing finished, nothing added.
func TestFormat_ofAnotherVersionIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		`{"id":1,"at":"2026-11-20T10:00:00Z","op":"restore","session":"s","from":"a","fromIndex":1,"to":"b","toIndex":0,"undone":false,"changes":[{"path":"a","does":"set aside","before":{"sha256":"` + strings.Repeat("0", 64) + `","mode":384}}]}`,
		`{"format":3,"id":1,"at":"2026-11-20T10:00:00Z","op":"restore","session":"s","from":"a","fromIndex":1,"to":"b","toIndex":0,"undone":false}`,
	} {
		d := disktest.NewMemory(map[string]string{}, 0o600)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		line := fmt.Sprintf("\n%08x %s\n", crc32.Checksum([]byte(text), castagnoli), text)
		must(d.Mkdir(Folder, 0o700))
		must(d.Create(fileName, []byte(line), 0o600))
		must(d.Create("a", []byte("a"), 0o600))
		j := New(d, Options{})
		other := (*FormatError)(nil)
		if _, err := j.Entries(t.Context()); !errors.As(err, &other) || !strings.Contains(err.Error(), "version of Hindcast") || !strings.Contains(err.Error(), "another name") {
			t.Errorf("to read it: %v", err)
		}
		if err := j.Recover(t.Context()); !errors.As(err, &other) {
			t.Errorf("to finish what was broken off: %v", err)
		}
		if _, err := j.PlanUndo(t.Context()); !errors.As(err, &other) {
			t.Errorf("to plan an undo: %v", err)
		}
		draft := j.Draft()
		draft.Put("a", []byte("b"))
		plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
		must(err)
		if _, err := j.Apply(t.Context(), plan, nil); !errors.As(err, &other) {
			t.Errorf("to write: %v", err)
		}
		for name, want := range map[string]string{fileName: line, "a": "a"} {
			if data, err := d.Read(name); err != nil || string(data) != want {
				t.Errorf("%s is %q, %v", name, data, err)
			}
		}
	}
}
