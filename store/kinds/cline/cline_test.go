package cline

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// fixture is recorded by testdata/interop/cline/record.py.
const fixture = "../../../testdata/coding/cline"

const listed, lost = "1763700000000", "1763700100000"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

func TestFork(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, tasksFolder)); err != nil { // they are not forked
		t.Fatal(err)
	}
	storetest.Fork(t, Kind(nil).Kind, dir)
}

func openFixture(t *testing.T) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), fixture)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// sessionOf returns the session of the fixture that begins with words and has as many snapshots.
func sessionOf(t *testing.T, s store.Store, words string, snapshots int) string {
	t.Helper()
	for _, info := range storetest.Sessions(t, s) {
		headers := storetest.Headers(t, s, info.ID)
		if len(headers) == snapshots && strings.HasPrefix(headers[0].Title, words) {
			return info.ID
		}
	}
	t.Fatalf("no session begins with %q", words)
	return ""
}

func titles(t *testing.T, s store.Store, session string) (list []string) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		list = append(list, h.Title)
	}
	return list
}

// The sessions of the command, and the tasks of the extension, as they were said.
func TestRead_fixture(t *testing.T) {
	s := openFixture(t)
	for _, c := range []struct {
		session string
		want    []string
	}{
		{sessionOf(t, s, "first question", 4), []string{"first question", "reply to: first question", "what next", "reply to: what next"}},
		{listed, []string{"Add a health check", "I read the server first. (◱ server.go)", "◱ server.go  2 lines", "<attempt_completion> <result> GET /health answers now. </result> </attempt_completion>"}},
		{lost, []string{"Rename the module", "I rename it in go.mod."}},
	} {
		if got := titles(t, s, c.session); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.session, got)
		}
	}
	var failed int
	for _, h := range storetest.Headers(t, s, sessionOf(t, s, "go call: run_commands", 6)) {
		if h.Marks.Has(model.MarkError) {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d results failed", failed)
	}
	times := storetest.Headers(t, s, listed)
	if got := times[1].CreatedAt.UnixMilli(); got != 1763700004200 {
		t.Errorf("the answer is of %d", got)
	}
}

// A task that the extension does not list is there all the same, as far as its file goes.
func TestFaults(t *testing.T) {
	s := openFixture(t)
	faults, err := s.Faults(t.Context(), lost)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, f := range faults {
		codes = append(codes, f.Code)
	}
	if !slices.Equal(codes, []string{FaultTorn, FaultUnlisted}) {
		t.Errorf("%v", faults)
	}
}

// readText returns the session of a file of a name, with other files beside it.
func readText(t testing.TB, name, text string, beside ...string) (*chat.Session, engine.In) {
	t.Helper()
	steps := tree.Steps{{Name: name, Data: []byte(text)}}
	for i := 0; i+1 < len(beside); i += 2 {
		steps = append(steps, tree.Step{Name: beside[i], Data: []byte(beside[i+1])})
	}
	for _, other := range []string{"s/s.json", "s/s.compaction.json", "tasks/1/ui_messages.json", listFile} {
		if !slices.Contains(beside, other) {
			steps = append(steps, tree.Step{Name: other})
		}
	}
	in := engine.In{Tree: tree.Overlay(nil, steps, nil), Memo: tree.NewMemo(&files.Memory{})}
	f := &format{}
	s, err := f.Read(t.Context(), in, f.Spot(name))
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

// A compaction stands behind the messages that it is of, and the model reads it in place of them.
func TestRead_compaction(t *testing.T) {
	const said = `{"version":1,"sessionId":"s","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
	s, in := readText(t, "s/s.messages.json", said, "s/s.compaction.json", `{"version":1,"source_message_count":2,"messages":[{"role":"user","content":"sum"},{"role":"assistant","content":"ok"}]}`)
	if len(s.Entries) != 4 || s.Entries[2].Event != "compaction" || s.Head != 3 {
		t.Fatalf("%d entries, head %d", len(s.Entries), s.Head)
	}
	if got := s.Reads(3); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the head reads %v", got)
	}
	list, err := (&format{}).Messages(in, s, &s.Entries[2])
	if err != nil || len(list) != 2 {
		t.Errorf("%d messages of the compaction: %v", len(list), err)
	}
}

// cline is Cline with a home and a model of its own.
type cline struct {
	testing.TB
	model              *chattest.Model
	program, home, dir string
}

func (c *cline) run(words string) {
	chattest.Run(c, c.dir, c.home, "'"+c.program+"' "+words+" </dev/null", "CLINE_NO_AUTO_UPDATE=1")
}

// The command resumes a session of Hindcast's from each message where no call waits, and the model is sent the messages
// that Hindcast shows, then the prompt.
func TestInterop_cline(t *testing.T) {
	c := &cline{TB: t, program: chattest.Program(t, "cline", "node_modules", ".bin", "cline"), home: t.TempDir(), dir: t.TempDir(), model: chattest.Start(t)}
	script, err := filepath.Abs("../../../testdata/interop/cline/resume.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the hub that Cline leaves running
		data, err := os.ReadFile(filepath.Join(c.home, ".cline/data/locks/hub/production.json.lock/owner.json"))
		var owner struct{ PID int }
		if err == nil && json.Unmarshal(data, &owner) == nil && owner.PID > 0 {
			if p, err := os.FindProcess(owner.PID); err == nil {
				_ = p.Kill()
			}
		}
	})
	c.run("auth --provider openai --apikey scripted --modelid scripted --baseurl " + c.model.URL + "/v1")
	c.run(`--json 'go
call: run_commands {"commands":["echo one"]}
'`)
	home := filepath.Join(c.home, ".cline", "data", "sessions")
	s, err := Kind(nil).Open(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	session := storetest.Sessions(t, s)[0].ID
	headers := storetest.Headers(t, s, session)
	if len(headers) != 4 {
		t.Fatalf("%d snapshots", len(headers))
	}
	for _, at := range []int{2, 3} {
		id := fmt.Sprintf("made-%d", at)
		plan, err := storetest.AsWriter(s).Plan(t.Context(), model.Change{Op: model.OpFork, Ref: headers[at].Ref(), As: id})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := storetest.AsWriter(s).Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		before := len(c.model.Requests(t))
		chattest.Run(t, c.dir, c.home, fmt.Sprintf("python3 '%s' '%s' '%s' %s 'what next'", script, c.program, home, id), "CLINE_NO_AUTO_UPDATE=1")
		var sent []string
		for _, r := range c.model.Requests(t)[before:] {
			if sent = sentTo(t, r.Body); len(sent) > 0 {
				break
			}
		}
		var want []string
		for _, h := range headers[:at+1] {
			want = append(want, h.Title)
		}
		if len(sent) != at+2 || !strings.Contains(sent[at+1], "what next") {
			t.Errorf("from #%d the model was sent %q, for %q", at, sent, want)
		}
	}
}

// sentTo returns the messages of a request, without the system prompt.
func sentTo(t testing.TB, body []byte) (list []string) {
	t.Helper()
	var of struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(body, &of); err != nil {
		t.Fatal(err)
	}
	for _, m := range of.Messages {
		if m.Role != "system" {
			list = append(list, fmt.Sprint(m.Role, " ", m.Content))
		}
	}
	return list
}

func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"*/*.messages.json", "tasks/*/api*"} {
		names, err := filepath.Glob(filepath.Join(fixture, pattern))
		if err != nil || len(names) == 0 {
			f.Fatal(names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"s/s.messages.json", "tasks/1/" + historyFile} {
			s, in := readText(t, name, string(text), "s/s.compaction.json", string(text), "tasks/1/ui_messages.json", string(text))
			form := &format{}
			for i := range s.Entries {
				list, err := form.Messages(in, s, &s.Entries[i])
				if err != nil {
					t.Fatal(err)
				}
				for k := range list {
					if text := list[k].AppendJSON(nil); store.CheckState(text) != nil {
						t.Errorf("%s", text)
					}
				}
			}
			if _, err := form.ReadCarried(t.Context(), in, s); err != nil {
				t.Error(err)
			}
		}
	})
}
