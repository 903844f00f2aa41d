package langgraph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/storetest"
)

// newSaver returns an empty store of SqliteSaver that is open for writing, and its path.
func newSaver(t testing.TB) (s store.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "threads.db")
	if err := Kind(nil, "").Make(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return open(t, path), path
}

// convertAll plans and carries out a conversion.
func convertAll(t testing.TB, to, from store.Store, session, as string) model.Plan {
	t.Helper()
	plan, err := to.Features().PlanConvert(t.Context(), from, session, as)
	if err == nil {
		_, err = to.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// The threads of the server are in a saver as they are there: each checkpoint with its parent, its place on a branch, its
// state and its writes. An undo takes all away, a redo brings all back.
func TestConvert_allThreads(t *testing.T) {
	from := open(t, dev)
	to, path := newSaver(t)
	plan := convertAll(t, to, from, "", "")
	if want := []string{"4 threads: 34 checkpoints in 5 namespaces, 58 values, 59 writes", "stays behind: names, runs, assistants and the store of the server, which are not read"}; !slices.Equal(plan.Carries, want) || len(plan.Others) != 3 {
		t.Errorf("%q, others %q", plan.Carries, plan.Others)
	}
	same := func() {
		t.Helper()
		infos, orphaned := storetest.Sessions(t, from), 0
		if got := storetest.Sessions(t, to); len(got) != len(infos) {
			t.Fatalf("%d sessions, want %d", len(got), len(infos))
		}
		for _, info := range infos {
			was, is := storetest.Headers(t, from, info.ID), storetest.Headers(t, to, info.ID)
			if len(was) != len(is) {
				t.Fatalf("%s: %d checkpoints, want %d", info.ID, len(is), len(was))
			}
			for i, h := range was {
				if h.Orphaned {
					orphaned++
				}
				got := is[i]
				got.Size, h.Size = 0, 0
				if !reflect.DeepEqual(got, h) {
					t.Errorf("%s\n%+v\n%+v", info.ID, got, h)
				}
				if got, want := string(stateOf(t, to, h)), string(stateOf(t, from, h)); got != want {
					t.Errorf("%s #%d:\n%s\nwant\n%s", info.ID, h.Index, got, want)
				}
			}
			if faults := storetest.Faults(t, to, info.ID); len(faults) != len(storetest.Faults(t, from, info.ID)) {
				t.Errorf("%+v", faults)
			}
		}
		if orphaned != 4 {
			t.Errorf("%d checkpoints are off the path", orphaned)
		}
	}
	same()
	for _, op := range []model.Op{model.OpUndo, model.OpRedo} {
		plan, err := to.Features().Plan(t.Context(), model.Change{Op: op})
		if err == nil {
			_, err = to.Features().Apply(t.Context(), plan)
		}
		if err != nil || len(plan.Others) != 3 || op == model.OpUndo && len(storetest.Sessions(t, to)) != 0 {
			t.Errorf("%s: %v, %+v", op, err, plan)
		}
	}
	same()
	// A thread that the saver went on with is not taken away.
	execute(t, path, "INSERT INTO checkpoints SELECT thread_id, checkpoint_ns, 'f' || checkpoint_id, checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = ? LIMIT 1", devThread+"1")
	if _, err := to.Features().Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("undo of a thread that went on: %v", err)
	}
}

// One thread goes over under a new name, with its subgraph, into a saver that has other threads; a name that is taken is refused.
func TestConvert_oneThread(t *testing.T) {
	from := open(t, dev)
	to, path := newSaver(t)
	empty, _ := newSaver(t)
	convertAll(t, to, from, devThread+"1", "")
	execute(t, path, "ALTER TABLE writes DROP COLUMN task_path") // as savers before 3.1 made it
	if plan := convertAll(t, to, from, devThread+"3", "other"); plan.Session != devThread+"3" || plan.NewSession != "other" || plan.Others != nil {
		t.Errorf("%+v", plan)
	}
	var names []string
	for _, info := range storetest.Sessions(t, to) {
		name, _, _ := strings.Cut(info.ID, ":")
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{devThread + "1", "other", "other/inner"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	for name, c := range map[string]struct {
		to, from    store.Store
		session, as string
		is          error
	}{
		"a thread that is there":  {to, from, devThread + "1", "", store.ErrSessionExists},
		"a name that is taken":    {to, from, devThread + "2", "other", store.ErrSessionExists},
		"one of all is there":     {to, from, "", "", store.ErrSessionExists},
		"no such thread":          {to, from, "none", "", model.ErrNoSession},
		"a subgraph":              {to, from, storetest.Sessions(t, from)[2].ID, "sub", nil},
		"a saver":                 {to, open(t, copied(t, "agent.db")), "tour", "", nil},
		"no thread":               {to, open(t, copyDev(t, func(string, []byte) []byte { return []byte(noThreads + ".") })), "", "", nil},
		"stored as another reads": {empty, open(t, sealedDev(t, fileNames[0])), "", "", nil},
	} {
		_, err := c.to.Features().PlanConvert(t.Context(), c.from, c.session, c.as)
		unsupported, is := errors.AsType[*model.UnsupportedError](err)
		if c.is != nil && !errors.Is(err, c.is) || c.is == nil && (!is || unsupported.Op != model.OpConvert) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{path, t.TempDir()} {
		if err := Kind(nil, "").Make(t.Context(), path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a saver is made over what is there: %v", err)
		}
	}
	if deep := DeepAgents(nil, ""); deep.Make != nil || store.Reason(storetest.OpenStore(t, deep.Kind, copied(t, "deepagents.db")), model.OpConvert) == "" {
		t.Error("threads go into the file of another program")
	}
}

// sealedDev copies the store with all values of a file as if they were encrypted.
func sealedDev(t testing.TB, file string) string {
	return copyDev(t, func(name string, data []byte) []byte {
		if name == file {
			data = []byte(strings.Replace(string(data), "X\x07\x00\x00\x00msgpack", "X\x0b\x00\x00\x00msgpack+aes", 1))
		}
		return data
	})
}

// dict and tuple are values of Python: a dict has its keys and values by turns.
type (
	dict  []any
	tuple []any
)

// pickled returns a value as the server's files have it.
func pickled(v any) []byte { return append(appendPickled([]byte("\x80\x02"), v), '.') }

func appendPickled(dst []byte, v any) []byte {
	text := func(dst []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint32(append(dst, 'X'), uint32(len(s))), s...)
	}
	items := func(dst []byte, list []any, end byte) []byte {
		for _, item := range list {
			dst = appendPickled(dst, item)
		}
		return append(dst, end)
	}
	switch v := v.(type) {
	case dict:
		return items(append(dst, '}', '('), v, 'u')
	case tuple:
		return items(append(dst, '('), v, 't')
	case string:
		return text(dst, v)
	case int:
		return binary.LittleEndian.AppendUint32(append(dst, 'J'), uint32(int32(v)))
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 'G'), math.Float64bits(v))
	case []byte:
		latin1 := make([]rune, len(v))
		for i, c := range v {
			latin1[i] = rune(c)
		}
		dst = text(append(dst, "c_codecs\nencode\n"...), string(latin1))
		return append(text(dst, "latin1"), 0x86, 'R')
	}
	return append(dst, 'N')
}

// packed returns a map of MessagePack: keys and packed values by turns.
func packed(members ...string) []byte {
	dst := msgpack.AppendMap(nil, len(members)/2)
	for i := 0; i < len(members); i += 2 {
		dst = append(msgpack.AppendText(dst, members[i]), members[i+1]...)
	}
	return dst
}

func stored(encoding string, value string) tuple { return tuple{encoding, []byte(value)} }

// writtenDev writes the three files of a store.
func writtenDev(t testing.TB, files ...dict) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i, file := range files {
		if err := os.WriteFile(filepath.Join(folder, fileNames[i]), pickled(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// What a saver would fail on stays behind and is counted; all else goes over. A pickle in a pickle is a value that nobody runs.
func TestConvert_countsWhatStays(t *testing.T) {
	touched := filepath.Join(t.TempDir(), "touched")
	evil := "cos\nsystem\n(X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(touched)+6))) + "touch " + touched + "tR."
	text := func(s string) string { return string(msgpack.AppendText(nil, s)) }
	versions := map[string]string{"kept": text("1.5"), "whole": "\x03", "half": "\xcb" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(0.5))),
		"nothing": text("1"), "gone": text("1"), "raw": text("1"), "run": text("1"), "json": text("1"), "sealed": text("1"), "torn": text("1")}
	var pairs []string
	blobs := dict{}
	add := func(channel string, version any, value tuple) {
		pairs = append(pairs, channel, versions[channel])
		blobs = append(blobs, tuple{"t", "", channel, version}, value)
	}
	add("kept", "1.5", stored("msgpack", text("as it is")))
	add("whole", 3, stored("msgpack", "\x07"))
	add("half", 0.5, stored("msgpack", "\xc3"))
	add("nothing", "1", stored("null", ""))
	add("gone", "1", stored("empty", ""))
	add("raw", "1", stored("bytes", "\x00\xff"))
	add("run", "1", stored("pickle", evil))
	add("json", "1", stored("json", `{"lc":1}`))
	add("sealed", "1", stored("msgpack+aes", "????"))
	add("torn", "1", stored("msgpack", "\xda"))
	blobs = append(blobs, tuple{"t", "", "old", "1"}, stored("msgpack", "\x01"))
	head := string(packed(append([]string{"v", "\x04", "id", text("b"), "channel_versions", string(packed(pairs...))}, manyMembers(20)...)...))
	about := string(packed("source", text("loop"), "step", "\x01"))
	folder := writtenDev(t,
		dict{
			"t", dict{
				"", dict{
					"a", tuple{stored("msgpack", string(packed("v", "\x04", "id", text("a"), "channel_versions", string(packed("kept", text("1.5"), "nothing", text("1")))))), stored("msgpack", "\xda"), nil},
					"b", tuple{stored("msgpack", head), stored("msgpack", about), "a"},
					"c", tuple{stored("msgpack", head[:9]), stored("msgpack", about), "b"},
					"d", tuple{stored("pickle", evil), stored("msgpack", about), "b"},
					"e", tuple{stored("json", "{}"), stored("msgpack", about), "b"},
				},
				"empty", dict{},
			},
			"u", dict{},
			"v", dict{"sub:1", dict{"a", tuple{stored("msgpack", head), stored("msgpack", about), nil}}},
		},
		dict{
			tuple{"t", "", "b"}, dict{tuple{"task", 0}, tuple{"task", "kept", stored("msgpack", text("then")), "~p"}, tuple{"task", -4}, tuple{"task", "run", stored("pickle", evil), ""}},
			tuple{"t", "", "d"}, dict{tuple{"task", 0}, tuple{"task", "kept", stored("null", ""), ""}},
			tuple{"w", "", "x"}, dict{tuple{"task", 0}, tuple{"task", "kept", stored("null", ""), ""}},
		}, blobs)
	from := open(t, folder)
	to, _ := newSaver(t)
	plan := convertAll(t, to, from, "", "")
	want := []string{
		"2 threads: 3 checkpoints in 2 namespaces, 5 values, 1 write",
		"of 1 checkpoint the metadata are damaged, and go over as {}",
		"stays behind: 1 checkpoint, 1 value, 1 write stored as pickle, which the saver does not load",
		"stays behind: 1 value stored as json, which no checkpoint of MessagePack has in it",
		`stays behind: 1 value stored as "msgpack+aes", which is not read`,
		"stays behind: 1 checkpoint, 1 value damaged",
		"stays behind: 1 checkpoint stored as json instead of MessagePack",
		"stays behind: 1 value that no checkpoint names",
		"stays behind: 1 write of no checkpoint that goes over",
		"stays behind: names, runs, assistants and the store of the server, which are not read",
	}
	if !slices.Equal(plan.Carries, want) || len(plan.Hazards) != 1 {
		t.Errorf("%s\n%q", strings.Join(plan.Carries, "\n"), plan.Hazards)
	}
	var states []string
	for _, h := range storetest.Headers(t, to, "t") {
		states = append(states, h.ID+h.ParentID+string(stateOf(t, to, h)))
	}
	if want := []string{`a{"kept":"as it is","nothing":null}`, `ba{"kept":"then","whole":7,"half":true,"nothing":null,"raw":{"$bytes":"AP8="}}`}; !slices.Equal(states, want) {
		t.Errorf("%q", states)
	}
	if got := storetest.Headers(t, to, "v/sub:1"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(touched); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a pickle was run")
	}
}

// manyMembers are members of a map.
func manyMembers(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("member ", i), "\xc0")
	}
	return list
}
