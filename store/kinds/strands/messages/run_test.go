package messages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

// record returns the multi_agent.json of a fixture.
func record(t testing.TB, session, orchestrator string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(orchestrators, "session_"+session, "multi_agents", "multi_agent_"+orchestrator, "multi_agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRun_isASessionOfItsOwn(t *testing.T) {
	s := open(t, orchestrators)
	if got := ids(storetest.Sessions(t, s)); !slices.Equal(got, []string{"graph_done", "graph_interrupted", "swarm_done"}) {
		t.Fatalf("sessions %q", got)
	}
	list := storetest.Headers(t, s, "graph_done")
	head := state(t, s, list[len(list)-1])
	if want := jsontape.AppendCompact(nil, record(t, "graph_done", "g1")); !bytes.Equal(head, want) {
		t.Errorf("the newest state is %s", head)
	}
	for _, h := range list {
		if got := state(t, s, h); int64(len(got)) != h.Size {
			t.Errorf("#%d has %d bytes, the header says %d", h.Index, len(got), h.Size)
		}
		if tail, before, err := s.Tail(t.Context(), "graph_done", len(list)-h.Index); err != nil || before != h.Index || tail[0] != h {
			t.Errorf("the tail from #%d on: %v, %v", h.Index, before, err)
		}
	}
	for _, id := range []string{"", "x", strings.Repeat("0", 64)} {
		if _, err := s.State(t.Context(), model.Ref{Session: "graph_done", ID: id}); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("state %q: %v", id, err)
		}
	}
	for _, id := range []string{"graph_done/g1", "graph_done/multi_agent_g1"} {
		if _, err := s.Faults(t.Context(), id); !errors.Is(err, model.ErrNoSession) {
			t.Errorf("%q: %v", id, err)
		}
	}
	single := open(t, filepath.Join(orchestrators, "session_swarm_done"))
	if got, want := storetest.Headers(t, single, "swarm_done"), storetest.Headers(t, s, "swarm_done"); !slices.Equal(got, want) {
		t.Errorf("opened alone it is %v", got)
	}
}

// Agents and orchestrators of one session have names of their own, whatever they
// are called.
func TestRun_besideAgents(t *testing.T) {
	for _, c := range []struct {
		agents, runs []string
		want         string
	}{
		{[]string{"a"}, []string{"g"}, "h h/g"},
		{[]string{"a", "b"}, []string{"g", "k"}, "h/a h/b h/g h/k"},
		{nil, []string{"g", "k"}, "h/g h/k"},
		{nil, []string{"g"}, "h"},
		{[]string{"a", "b"}, []string{"a"}, "h/a h/b h/multi_agent_a"},
		{[]string{"a", "multi_agent_a"}, []string{"a"}, "h/a h/multi_agent_a h/multi_agent_multi_agent_a"},
	} {
		dir := t.TempDir()
		session := filepath.Join(dir, "session_h")
		mustWrite(t, filepath.Join(session, "session.json"), `{"session_id":"h","session_type":"AGENT"}`)
		for _, name := range c.agents {
			mustWrite(t, filepath.Join(session, "agents", "agent_"+name, "agent.json"), string(hazards(t)["healthy"]["agent.json"]))
			mustWrite(t, filepath.Join(session, "agents", "agent_"+name, "messages", "message_0.json"), wholeMessage)
		}
		for _, name := range c.runs {
			mustWrite(t, filepath.Join(session, "multi_agents", "multi_agent_"+name, "multi_agent.json"), string(record(t, "swarm_done", "s1")))
		}
		s := open(t, dir)
		if got := strings.Join(ids(storetest.Sessions(t, s)), " "); got != c.want {
			t.Errorf("agents %q and orchestrators %q are %q, want %q", c.agents, c.runs, got, c.want)
		}
		for _, info := range storetest.Sessions(t, s) {
			rows := storetest.Headers(t, s, info.ID)
			if len(rows) != info.Snapshots || rows[len(rows)-1].SessionID != info.ID {
				t.Errorf("%s: %d rows, %+v", info.ID, len(rows), info)
			}
			state(t, s, rows[0])
		}
	}
}

func TestRun_thatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ content, code, verdict string }{
		"cut off":   {`{"type":"graph","id"`, FaultRunFile, "refuses to start: SessionException: Invalid JSON"},
		"empty":     {"", FaultRunFile, "refuses to start: SessionException: Invalid JSON"},
		"an array":  {"[]", runs.FaultShape, "refuses to start: TypeError or AttributeError"},
		"with mark": {"\ufeff" + string(record(t, "swarm_done", "s1")), FaultEncoding, "refuses to start: SessionException: Unexpected UTF-8 BOM"},
		"a link":    {"-> ../elsewhere.json", FaultSymlink, "refuses to start: SessionException: Refusing to read symlink (before 1.48: loads; it is followed)"},
		"missing":   {"(absent)", FaultRunFile, "starts from the beginning, and writes the file"},
	} {
		dir := t.TempDir()
		copyTree(t, orchestrators, dir)
		file := filepath.Join(dir, "session_graph_done", "multi_agents", "multi_agent_g1", "multi_agent.json")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		switch link, isLink := strings.CutPrefix(c.content, "-> "); {
		case c.content == "(absent)":
		case isLink:
			mustWrite(t, filepath.Join(filepath.Dir(filepath.Dir(file)), "elsewhere.json"), "{}")
			if err := os.Symlink(link, file); err != nil {
				t.Fatal(err)
			}
		default:
			mustWrite(t, file, c.content)
		}
		s := open(t, dir)
		if got := len(storetest.Sessions(t, s)); got != 3 {
			t.Errorf("%s: %d sessions", name, got)
		}
		found := storetest.Faults(t, s, "graph_done")
		if !slices.ContainsFunc(found, func(f model.Fault) bool { return f.Code == c.code && f.Verdict == c.verdict }) {
			t.Errorf("%s: %s", name, pictureFaults(found))
		}
		told := 0
		for _, f := range found {
			if strings.HasSuffix(f.File, "multi_agent.json") && f.Path == "" {
				told++
			}
		}
		if name == "an array" && told != 1 {
			t.Errorf("%s is told %d times: %s", name, told, pictureFaults(found))
		}
		for _, err := range s.Headers(t.Context(), "graph_done") {
			if err != nil && !strings.Contains(err.Error(), "multi_agent.json: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A Graph is followed while its nodes run: each is a rename into place.
func TestWatch_followsAnOrchestrator(t *testing.T) {
	s := open(t, t.TempDir())
	changes, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := writer{s.dir, true}
	w.session(t, "g")
	for n := range 5 {
		var order []string
		for i := range n {
			order = append(order, fmt.Sprintf(`"node%d"`, i))
		}
		nodes := strings.Join(order, ",")
		w.write(t, `{"type":"graph","id":"g1","status":"executing","completed_nodes":[`+nodes+`],"failed_nodes":[],"interrupted_nodes":[],"node_results":{},"next_nodes_to_execute":["later"],"current_task":"x","execution_order":[`+nodes+`]}`,
			"session_g", "multi_agents", "multi_agent_g1", "multi_agent.json")
		for {
			list := storetest.Sessions(t, s)
			if len(list) == 1 && list[0].Snapshots == max(1, n) {
				break
			}
			storetest.Next(t, changes)
		}
	}
}

func FuzzRun(f *testing.F) {
	for _, name := range []string{"graph_done/g1", "graph_interrupted/g1", "swarm_done/s1"} {
		session, orchestrator, _ := strings.Cut(name, "/")
		f.Add(record(f, session, orchestrator))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := files.ReadDocument(func(string, []byte) ([]byte, error) { return text, nil }, "multi_agent.json", nil)
		if d.Err != nil {
			return
		}
		run := runs.Decode(d.Tape, 0, runs.Place{Session: "h", Orchestrator: "g", File: "multi_agent.json"})
		list := run.Headers()
		var found store.FaultList
		for _, fault := range run.Faults() {
			found.Add(fault)
		}
		for i, h := range list {
			if got := run.State(i); int64(len(got)) != h.Size || run.Find(h.ID) < 0 {
				t.Errorf("#%d: %d bytes, the header says %d", i, len(got), h.Size)
			}
			run.Facts(i)
		}
	})
}
