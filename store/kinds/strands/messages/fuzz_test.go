package messages

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// damaged are files of which a repair makes something, message_3.json and agent.json.
var damaged = [][2]string{
	{`{"message":{"role":"user","content":[{"text":"hi`, `{"agent_id":"default","state":{"n":1`},
	{`{"role":"user","content":null}`, `[]`},
	{"\xef\xbb\xbf{}x", `{"conversation_manager_state":{"removed_message_count":7},"_internal_state":{"interrupt_state":{"activated":true,"interrupts":{"a":{"x":1},"b":3},"pending_tool_execution":{}}}}`},
	{`{"message":{"role":"user","content":[{"toolResult":{}},7,{"toolUse":{"toolUseId":3}}]},"message_id":"x"}`, `{"state":[],"conversation_manager_state":{"summary_message":{"role":1}}}`},
}

// memoryTree is a tree in memory.
type memoryTree map[string][]byte

func (f memoryTree) List(dir string) (names []string, err error) {
	for name := range f {
		if in, base := path.Split(name); in == dir+"/" {
			names = append(names, base)
		}
	}
	return names, nil
}

func (f memoryTree) Folders(dir string) ([]string, error) { return tree.FoldersOf(f, dir) }

func (f memoryTree) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	data, ok := f[name]
	if !ok {
		return buf[:0], tree.Stamp{}, fs.ErrNotExist
	}
	return append(buf[:0], data...), tree.Stamp{}, nil
}

func (f memoryTree) OpenFile(name string) (tree.Opened, error) {
	data, _, err := f.Read(name, nil)
	if err != nil {
		return nil, err
	}
	return tree.InMemory(data), nil
}

func (f memoryTree) Hold(string) (release func()) { return func() {} }

func (f memoryTree) Remote() tree.Remote { return nil }

func (f memoryTree) Stamp(name string) (at tree.Stamp, err error) {
	if _, ok := f[name]; ok {
		at.Kind = files.Regular
	}
	return at, nil
}

// FuzzRepair mends a log with any message and any agent.json in memory. What was mended
// has no fatal fault, and there is nothing in it to mend; what cannot be mended is said.
// TestRepair_ofDamage takes the same way on the disk and back. Each case mends a whole log,
// which takes 1 ms.
func FuzzRepair(f *testing.F) {
	for _, d := range damaged {
		f.Add([]byte(d[0]), []byte(d[1]))
	}
	healthy := hazards(f)["healthy"]
	dir := f.TempDir()
	healthy.write(f, path.Join(dir, "session_h"))
	s := open(f, dir)
	p, err := s.locate(s.storage.In(), "h")
	if err != nil {
		f.Fatal(err)
	}
	base := make(memoryTree)
	for name, content := range healthy {
		if string(content) != "(absent)\n" {
			base[p.path(name)] = content
		}
	}
	base["session_h/session.json"] = base[p.path("session.json")]
	f.Fuzz(func(t *testing.T, message, agent []byte) {
		if len(message)+len(agent) > 1<<14 {
			return
		}
		on := maps.Clone(base)
		on[p.path("messages", "message_3.json")], on[p.path("agent.json")] = message, agent
		in := engine.In{Tree: on, Memo: s.storage.Memo}
		before, err := readSession(t.Context(), in, p.at(), "")
		if err != nil {
			t.Fatal(err)
		}
		l := readLog(p, in)
		m := &mender{in: in, place: p, now: l, agent: agent, files: slices.Clone(l.files), made: make(map[string][]byte)}
		if err := m.mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(m.stays) > 0 {
			return
		}
		if len(m.words) == 0 && (len(m.made) > 0 || len(m.aside) > 0 || m.wrote) {
			t.Errorf("it mends in silence: %q, %q, %t", m.made, m.aside, m.wrote)
		}
		in.Tree = tree.Overlay(on, m.steps(), nil)
		after, err := readSession(t.Context(), in, p.at(), "")
		if err == nil {
			_, err = predictNext(t.Context(), in, before, after, &engine.Move{Own: &mover{op: model.OpRepair}})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range m.steps() {
			if on[step.Name] = step.Data; step.Aside {
				delete(on, step.Name)
			}
		}
		in.Tree = on
		again := readLog(p, in)
		look := newInspector(again)
		if err := again.walk(t.Context(), func(s *step) error { look.see(s); return nil }); err != nil {
			t.Fatal(err)
		}
		if left := fatalOnes(look.faults()); len(left) > 0 {
			t.Errorf("what is left: %v", left)
		}
	})
}

// A repair of what FuzzRepair begins with leaves nothing fatal on the disk, and undo
// brings back every byte.
func TestRepair_ofDamage(t *testing.T) {
	skip.Sequential(t)
	for _, d := range damaged {
		s, dir := broken(t, map[string]string{"messages/message_3.json": d[0], "agent.json": d[1]})
		before := treeOf(t, dir)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}})
		if errors.As(err, new(*model.UnsupportedError)) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		applied(t, s, plan)
		if left := fatalOnes(storetest.Faults(t, s, "h")); len(left) > 0 {
			t.Errorf("%q: what is left: %v", d, left)
		}
		undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err != nil {
			t.Fatal(err)
		}
		applied(t, s, undo)
		sameTree(t, dir, before)
	}
}
