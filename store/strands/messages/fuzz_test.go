package messages

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/storetest"
)

// damaged are files of which a repair makes something, message_3.json and agent.json.
var damaged = [][2]string{
	{`{"message":{"role":"user","content":[{"text":"hi`, `{"agent_id":"default","state":{"n":1`},
	{`{"role":"user","content":null}`, `[]`},
	{"\xef\xbb\xbf{}x", `{"conversation_manager_state":{"removed_message_count":7},"_internal_state":{"interrupt_state":{"activated":true,"interrupts":{"a":{"x":1},"b":3},"pending_tool_execution":{}}}}`},
	{`{"message":{"role":"user","content":[{"toolResult":{}},7,{"toolUse":{"toolUseId":3}}]},"message_id":"x"}`, `{"state":[],"conversation_manager_state":{"summary_message":{"role":1}}}`},
}

// memoryFolder is a folder of messages in memory.
type memoryFolder map[string][]byte

func (f memoryFolder) Names() ([]string, error) { return slices.Sorted(maps.Keys(f)), nil }

func (f memoryFolder) ReadStamped(name string, buf []byte) ([]byte, files.Stamp, error) {
	data, ok := f[name]
	if !ok {
		return buf[:0], files.Stamp{}, fs.ErrNotExist
	}
	return append(buf[:0], data...), files.Stamp{}, nil
}

func (f memoryFolder) Stat(string) (files.Stamp, error) { return files.Stamp{}, fs.ErrNotExist }

func (f memoryFolder) Close() error { return nil }

// logIn returns the log of a place whose files are in memory.
func logIn(s *Store, p place, agent []byte, messages memoryFolder) *messageLog {
	l := &messageLog{folders: folders{place: p}, folder: messages, dir: p.path("messages") + "/", memory: (*files.Cache)(nil).Memory(noteKind, s.dir)}
	l.agent = parseAgent(l.path("agent.json"), agent, nil, &l.faults)
	names, _ := messages.Names()
	l.sort(names)
	l.window()
	l.checkNames()
	l.checkWindow()
	l.checkManager()
	return l
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
	p, err := s.locate("h")
	if err != nil {
		f.Fatal(err)
	}
	base := make(memoryFolder)
	for name, content := range healthy {
		if in, short := path.Split(name); in == "messages/" && string(content) != "(absent)\n" {
			base[short] = content
		}
	}
	f.Fuzz(func(t *testing.T, message, agent []byte) {
		if len(message)+len(agent) > 1<<14 {
			return
		}
		messages := maps.Clone(base)
		messages["message_3.json"] = message
		l := logIn(s, p, agent, messages)
		m := &mender{s: s, now: l, agent: agent, files: slices.Clone(l.files), made: make(map[string][]byte)}
		if err := m.mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(m.stays) > 0 {
			return
		}
		if len(m.words) == 0 && (len(m.made) > 0 || len(m.aside) > 0 || m.wrote) {
			t.Errorf("it mends in silence: %q, %q, %t", m.made, m.aside, m.wrote)
		}
		var plan model.Plan
		if err := m.heads(t.Context(), &plan, m.log()); err != nil {
			t.Fatal(err)
		}
		for _, name := range m.aside {
			delete(messages, name)
		}
		maps.Copy(messages, m.made)
		again := logIn(s, p, m.agent, messages)
		r := round{mender: &mender{s: s, now: again, agent: m.agent, files: slices.Clone(again.files), made: make(map[string][]byte)}, log: again}
		left, err := r.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 || len(r.jobs) > 0 {
			t.Errorf("what is left: %v, and %d to mend", left, len(r.jobs))
		}
	})
}

// A repair of what FuzzRepair begins with leaves nothing fatal on the disk, and undo
// brings back every byte.
func TestRepair_ofDamage(t *testing.T) {
	for _, d := range damaged {
		s, dir := broken(t, map[string]string{"messages/message_3.json": d[0], "agent.json": d[1]})
		before := tree(t, dir)
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
