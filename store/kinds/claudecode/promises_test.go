package claudecode

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

// with adds members to a record.
func with(r rec, more map[string]any) rec {
	r.more = maps.Clone(r.more)
	if r.more == nil {
		r.more = map[string]any{}
	}
	maps.Copy(r.more, more)
	return r
}

// place puts files beside a session, by names from its project's folder on.
func place(t *testing.T, file string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		to := filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// onDisk returns a folder as the engine gives it to a format.
func onDisk(t *testing.T, dir string, around func(tree.Tree) tree.Tree) engine.In {
	t.Helper()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	return engine.In{Tree: around(disk), Memo: tree.NewMemo(&files.Memory{})}
}

// TestDecode_light: a record whose type may be large is not parsed, whatever it holds; of any other all
// is.
func TestDecode_light(t *testing.T) {
	for line, want := range map[string]record{
		`{"type":"file-history-snapshot","uuid":"x","parentUuid":null,"broken`: {kind: "file-history-snapshot"},
		`{"type":"api-request-blob","uuid":"x","parentUuid":null}`:             {kind: "api-request-blob"},
	} {
		if r, err := decodeLine(&chat.Line{Raw: []byte(line)}); err != nil || !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
	if r, err := decodeLine(&chat.Line{Raw: []byte(`{"type":"mode","uuid":"x","parentUuid":null}`)}); err != nil || !r.tree || r.sum == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSign: a file is a session of Claude Code where a record says whose it is and has a content where
// Claude Code puts it.
func TestSign(t *testing.T) {
	const misses = "message.content"
	for head, want := range map[string]chat.Sign{
		`{"type":"user","sessionId":"x","message":{"content":"words"}}`:                                                                               {Fits: true},
		`{"type":"assistant","parentUuid":null,"message":{"content":[]}}`:                                                                             {Fits: true},
		`{"type":"summary","summary":"words","leafUuid":"x"}`:                                                                                         {Fits: true},
		`{"type":"file-history-snapshot","messageId":"x"}`:                                                                                            {Fits: true},
		`{"type":"user","message":{"content":"words"}}`:                                                                                               {},
		`{"type":"news","sessionId":"x"}`:                                                                                                             {},
		`{"type":"user","sessionId":"x","message":{"text":"words"}}`:                                                                                  {Fits: true, Misses: misses},
		`{"type":"user","sessionId":"x","message":{"parts":[{"text":"words"}]}}`:                                                                      {Fits: true, Misses: misses, Perhaps: "Qwen Code"},
		`{"type":"mode","sessionId":"x","text":"words"}`:                                                                                              {Fits: true},
		`{"type":"mode","sessionId":"x"}` + "\n" + `{"type":"news","text":"words"}`:                                                                   {Fits: true, Misses: misses},
		`{"type":"news","text":"words"}` + "\n" + `{"type":"user","sessionId":"x","message":{"content":"words"}}`:                                     {Fits: true},
		`{"type":"user","sessionId":"session-1","message":{"content":"words"}}`:                                                                       {Fits: true, Misses: "a uuid as its sessionId", Perhaps: "iFlow"},
		`{"type":"mode","sessionId":"x"}` + "\n" + `{"type":"user","sessionId":"session-1","message":{"content":"words"}}` + "\n" + `{"type":"mode"}`: {Fits: true, Misses: "a uuid as its sessionId", Perhaps: "iFlow"},
	} {
		if got := signOf([]byte(head)); got != want {
			t.Errorf("%s: %+v", head, got)
		}
	}
}

// TestSpots: sessions are in folders of projects, which have no dot in their names, and those of
// sub-agents in the folders of sessions. Nothing else is looked into.
func TestSpots(t *testing.T) {
	dir, file := written(t, user("a", "", "A"))
	place(t, file, map[string]string{
		"notes.txt": "", session + "/subagents/agent-1.jsonl": "", session + "/subagents/agent-2.txt": "", session + "/subagents/other.jsonl": "",
		"memory/subagents/agent-3.jsonl": "", "../a.b/" + session + suffix: "", "../other/x" + suffix: "", "../top" + suffix: "",
	})
	counted := &lists{}
	in := onDisk(t, dir, func(on tree.Tree) tree.Tree { counted.Tree = on; return counted })
	spots, err := newFormat(dir).Spots(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, at := range spots {
		got = append(got, at.File)
	}
	slices.Sort(got)
	same(t, "the sessions", got, []string{"-home-demo/" + session + suffix, "-home-demo/" + session + "/subagents/agent-1.jsonl", "other/x.jsonl", "top.jsonl"})
	slices.Sort(counted.dirs)
	same(t, "what is listed", counted.dirs, []string{"-home-demo", "-home-demo/" + session + "/subagents", ".", "other"})
}

// lists notes which folders are listed, several at once.
type lists struct {
	tree.Tree
	mu   sync.Mutex
	dirs []string
}

func (l *lists) List(dir string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirs = append(l.dirs, dir)
	return l.Tree.List(dir)
}

// TestErrors: what cannot be read is an error of whatever needs it.
func TestErrors(t *testing.T) {
	errBroken := errors.New("broken")
	dir, file := written(t, list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1"))...)
	const agentFile = session + "/subagents/agent-1.jsonl"
	place(t, file, map[string]string{agentFile: user("d", "", "one").String() + "\n", session + "/subagents/agent-1.meta.json": `{"toolUseId":"t1"}`})
	in := onDisk(t, dir, func(on tree.Tree) tree.Tree { return on })
	broken := func(name string) engine.In {
		return onDisk(t, dir, func(on tree.Tree) tree.Tree { return failing{on, name, errBroken} })
	}
	f := newFormat(dir)
	at := f.Spot("-home-demo/" + session + suffix)
	s, err := f.Read(t.Context(), in, at)
	if err != nil || len(s.Entries) != 3 {
		t.Fatal(s, err)
	}
	cut := func(in engine.In) chat.Cut { return chat.Cut{In: in, Session: s, To: &s.Entries[2], ID: "new"} }
	if made, err := f.Fork(cut(in)); err != nil || len(made.Steps) != 3 {
		t.Fatal(made, err)
	}
	for what, err := range map[string]error{
		"the list":                      func() error { _, err := f.Spots(t.Context(), broken(".")); return err }(),
		"the check":                     func() error { _, err := f.Check(t.Context(), broken(".")); return err }(),
		"the session":                   func() error { _, err := newFormat(dir).Read(t.Context(), broken(at.File), at); return err }(),
		"a message":                     func() error { _, err := f.Messages(broken(at.File), s, &s.Entries[0]); return err }(),
		"a fork":                        func() error { _, err := f.Fork(cut(broken(at.File))); return err }(),
		"a fork with sub-agents":        func() error { _, err := f.Fork(cut(broken("-home-demo/" + agentFile))); return err }(),
		"what it carries":               func() error { _, err := f.ReadCarried(t.Context(), broken(at.File), s); return err }(),
		"what it has to do with others": func() error { _, err := f.Tell(t.Context(), broken("-home-demo"), s, nil); return err }(),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// failing is a tree in which one name cannot be read or listed.
type failing struct {
	tree.Tree
	name string
	why  error
}

func (t failing) List(dir string) ([]string, error) {
	if dir == t.name {
		return nil, t.why
	}
	return t.Tree.List(dir)
}

func (t failing) OpenFile(name string) (tree.Opened, error) {
	if name == t.name {
		return nil, t.why
	}
	return t.Tree.OpenFile(name)
}

func (t failing) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if name == t.name {
		return nil, tree.Stamp{}, t.why
	}
	return t.Tree.Read(name, buf)
}

// TestFacts_ofFailedRequests: what the model could not be asked stands at the message before, with how
// often and how it went the last time.
func TestFacts_ofFailedRequests(t *testing.T) {
	failed := func(id, parent string, more map[string]any) rec {
		return rec{kind: "system", id: id, parent: parent, more: with(rec{more: more}, map[string]any{"subtype": "api_error"}).more}
	}
	for want, more := range map[string]map[string]any{
		"formatted": {"error": map[string]any{"formatted": "formatted", "message": "message"}, "content": "content"},
		"message":   {"error": map[string]any{"message": "message"}, "content": "content"},
		"words":     {"error": "words", "content": "content"},
		"content":   {"error": map[string]any{"status": 529}, "content": "content"},
		"api_error": {},
	} {
		dir, _ := written(t, list(user("a", "", "A"), failed("x", "a", map[string]any{"error": "before"}), failed("y", "x", more), part("b", "y", "m1", "B", ""))...)
		s := open(t, dir)
		if got := facts(t, s, "a")["failed requests"]; got != "2, the last: "+want {
			t.Errorf("%s: %q", want, got)
		}
		if got := facts(t, s, "b")["failed requests"]; got != "" {
			t.Errorf("%s: the answer has %q", want, got)
		}
		if rows := storetest.Headers(t, s, session); rows[0].Marks.Has(model.MarkError) {
			t.Errorf("%s: the message that was answered is marked", want)
		}
	}
	dir, _ := written(t, list(failed("w", "", nil), user("a", "w", "A"), failed("x", "a", nil))...) // before all messages nothing says it
	s := open(t, dir)
	if rows := storetest.Headers(t, s, session); len(rows) != 1 || !rows[0].Marks.Has(model.MarkError) || facts(t, s, "a")["failed requests"] != "1, the last: api_error" {
		t.Errorf("%+v, %v", rows, facts(t, s, "a"))
	}
}

// TestTree_adopts: a record whose parent is missing follows the newest of the five seconds before it, of
// one time the first, in the same conversation.
func TestTree_adopts(t *testing.T) {
	for name, c := range map[string]struct {
		recs []rec
		want string // of the record d
	}{
		"five seconds":          {[]rec{at(1, user("a", "", "A")), at(6, user("d", "gone", "D"))}, "d ◂ a D *"},
		"six seconds":           {[]rec{at(1, user("a", "", "A")), at(7, user("d", "gone", "D"))}, "d ◂ gone D *"},
		"the newest":            {[]rec{at(1, user("a", "", "A")), at(3, user("b", "a", "B")), at(2, user("c", "a", "C")), at(4, user("d", "gone", "D"))}, "d ◂ b D *"},
		"of one time the first": {[]rec{at(2, user("a", "", "A")), at(2, user("b", "a", "B")), at(2, user("d", "gone", "D"))}, "d ◂ a D *"},
		"none that is newer":    {[]rec{at(9, user("a", "", "A")), at(4, user("d", "gone", "D"))}, "d ◂ gone D *"},
		"none behind it":        {[]rec{at(1, user("a", "", "A")), at(20, user("d", "gone", "D")), at(19, user("e", "a", "E")), lastPrompt("d")}, "d ◂ gone D *"},
		"none of a sub-agent":   {[]rec{at(1, user("a", "", "A")), at(19, aside(user("s", "", "S"))), at(20, user("d", "gone", "D"))}, "d ◂ gone D *"},
		"one without a parent":  {[]rec{at(1, user("a", "", "A")), at(2, user("d", "", "D"))}, "d ◂  D *"},
	} {
		dir, _ := written(t, list(c.recs...)...)
		if got := treeOf(t, open(t, dir), session); !slices.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestHead_pointer: a last-prompt without a leaf, as 2.1.80 writes it, says nothing of where the session
// goes on, and none in a damaged line does.
func TestHead_pointer(t *testing.T) {
	begin := list(user("a", "", "A"), part("b", "a", "m1", "B", ""), user("c", "a", "C"))
	for name, c := range map[string]struct {
		more []fmt.Stringer
		head string
	}{
		"none":                  {nil, "c"},
		"one":                   {list(lastPrompt("b")), "b"},
		"then one of no leaf":   {list(lastPrompt("b"), rec{kind: "last-prompt"}), "b"},
		"one in a damaged line": {append(list(lastPrompt("b")), raw(`{"torn`+lastPrompt("c").String())), "b"},
		"the newest of two":     {list(lastPrompt("c"), lastPrompt("b")), "b"},
	} {
		dir, _ := written(t, append(slices.Clip(begin), c.more...)...)
		rows := storetest.Headers(t, open(t, dir), session)
		if i := slices.IndexFunc(rows, func(h model.Header) bool { return h.Head }); i < 0 || rows[i].ID != c.head {
			t.Errorf("%s: the head is #%d of %+v", name, i, rows)
		}
	}
}

// TestTree_ofTwoWhereOneIsAside: a record behind a summary that is written again is the one from before it
// only where that is on the way.
func TestTree_ofTwoWhereOneIsAside(t *testing.T) {
	dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "B", ""), user("l", "a", "left"), boundaryOf("h", "b", "s"), with(user("s", "h", "S"), map[string]any{"isCompactSummary": true}), user("l", "s", "left"))...)
	same(t, "the tree", treeOf(t, open(t, dir), session), []string{"[a ◂  A]", "[b ◂ a B]", "l ◂ a left – secondLeaf", "s ◂ b S", "l~2 ◂ s left *"})
}

// TestFaults_writers: what a sub-agent writes between the records of its session is no second writer.
func TestFaults_writers(t *testing.T) {
	recs := []rec{user("a", "", "A"), aside(user("s", "", "S")), part("b", "a", "m1", "B", ""), aside(part("t", "s", "m9", "T", "")), user("c", "b", "C"), aside(user("u", "t", "U")), part("d", "c", "m2", "D", "")}
	dir, _ := written(t, list(recs...)...)
	same(t, "the faults", codes(storetest.Faults(t, open(t, dir), session)), nil)
}

// TestFaults_unread: a text that no message has is a fault, but for what is bookkeeping.
func TestFaults_unread(t *testing.T) {
	for name, c := range map[string]struct {
		more   rec
		unread bool
	}{
		"a message with the text elsewhere": {with(rec{kind: "user", id: "x", parent: "a"}, map[string]any{"message": map[string]any{"role": "user", "parts": "hidden words"}}), true},
		"an unknown type":                   {rec{kind: "news", more: map[string]any{"text": "hidden words"}}, true},
		"bookkeeping":                       {rec{kind: "mode", more: map[string]any{"text": "hidden words"}}, false},
		"what is queued":                    {rec{kind: "attachment", id: "x", parent: "a", more: map[string]any{"attachment": map[string]any{"type": "queued_command", "prompt": "hidden words"}}}, false},
		"what is queued elsewhere":          {rec{kind: "attachment", id: "x", parent: "a", more: map[string]any{"attachment": map[string]any{"type": "queued_command", "text": "hidden words"}}}, true},
		"one of a sub-agent":                {aside(user("x", "", "hidden words")), false},
		"one of a sub-agent of a call":      {aside(user("s", "", "one")), false},
	} {
		dir, _ := written(t, list(user("a", "", "A"), task("b", "a", "m1", "t1", "one"), c.more, aside(part("u", "s", "m2", "words of its own", "")))...)
		faults := storetest.Faults(t, open(t, dir), session)
		if got := slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == store.FaultUnread }); got != c.unread {
			t.Errorf("%s: %+v", name, faults)
		}
	}
}

// TestKept_settings: settings that say nothing that can be are none.
func TestKept_settings(t *testing.T) {
	for text, want := range map[string]float64{
		`{"cleanupPeriodDays":7}`: 7, `{"cleanupPeriodDays":0.5}`: 0.5, `{"cleanupPeriodDays":99999}`: 99999,
		`{"cleanupPeriodDays":0}`: keptDays, `{"cleanupPeriodDays":-3}`: keptDays, `{"cleanupPeriodDays":100000}`: keptDays, `{"cleanupPeriodDays":"x"}`: keptDays, `{}`: keptDays, `{`: keptDays,
	} {
		dir, _ := written(t, user("a", "", "A"))
		place(t, dir, map[string]string{"settings.json": text})
		if got := daysKept(dir); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestSidechain_callOf: a sub-agent hangs on the call with its prompt, else on the last one before it that
// has no result yet, and each on another call.
func TestSidechain_callOf(t *testing.T) {
	call := func(id, parent, call, prompt string) rec { return task(id, parent, "m"+id, call, prompt) }
	blocks := aside(rec{kind: "user", id: "s", says: []any{map[string]any{"type": "text", "text": "o"}, map[string]any{"type": "text", "text": "ne"}}})
	for name, c := range map[string]struct {
		recs []rec
		want map[string]string // by the sub-agent the row that started it
	}{
		"the prompt of the first":  {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), aside(user("s", "", "one"))}, map[string]string{"s": "b"}},
		"the prompt in blocks":     {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), blocks}, map[string]string{"s": "b"}},
		"the last that is open":    {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), aside(user("s", "", "other"))}, map[string]string{"s": "c"}},
		"one that has its result":  {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), result("d", "c", "t2"), aside(user("s", "", "other"))}, map[string]string{"s": "b"}},
		"one that comes behind":    {[]rec{call("b", "a", "t1", "one"), aside(user("s", "", "other")), call("c", "b", "t2", "two")}, map[string]string{"s": "b"}},
		"none that is open":        {[]rec{call("b", "a", "t1", "one"), result("d", "b", "t1"), aside(user("s", "", "other"))}, nil},
		"each another":             {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), aside(user("s", "", "other")), aside(user("v", "", "more"))}, map[string]string{"s": "c", "v": "b"}},
		"two of one prompt":        {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "one"), aside(user("s", "", "one")), aside(user("v", "", "one"))}, map[string]string{"s": "b", "v": "c"}},
		"a call without a prompt":  {[]rec{part("b", "a", "mb", "", "t1"), aside(user("s", "", ""))}, nil},
		"no call":                  {[]rec{with(user("b", "a", "x"), map[string]any{"message": map[string]any{"content": []any{map[string]any{"type": "text", "id": "t1", "input": map[string]any{"prompt": "one"}}}}}), aside(user("s", "", "one"))}, nil},
		"behind the call":          {[]rec{call("b", "a", "t1", "one"), aside(user("s", "b", "one")), aside(user("v", "s", "more"))}, map[string]string{"s": "b"}},
		"progress of a call":       {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), tells("p", "c", "x1", "t1", user("", "", "one"))}, map[string]string{"x1": "b"}},
		"progress of no call":      {[]rec{call("b", "a", "t1", "one"), call("c", "b", "t2", "two"), tells("p", "b", "x1", "none", user("", "", "one"))}, map[string]string{"x1": "b"}},
		"progress of a bad name":   {[]rec{call("b", "a", "t1", "one"), tells("p", "b", "../x", "t1", user("", "", "one")), tells("q", "b", "x2", "t1", user("", "", "one"))}, map[string]string{"x2": "b"}},
		"progress of two messages": {[]rec{call("b", "a", "t1", "one"), tells("p", "b", "x1", "t1", user("", "", "one")), tells("q", "p", "x1", "t1", part("", "", "m9", "seen", ""))}, map[string]string{"x1": "b"}},
	} {
		dir, _ := written(t, list(append([]rec{user("a", "", "A")}, c.recs...)...)...)
		s := open(t, dir)
		listed := map[string]int{} // before the session was read
		for _, info := range storetest.Sessions(t, s) {
			if agent, is := strings.CutPrefix(info.ID, session+"/agent-"); is {
				listed[agent]++
			}
		}
		got := map[string]string{}
		for _, h := range storetest.Headers(t, s, session) {
			facts, err := s.Features().Facts(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				if agent, is := strings.CutPrefix(f.Value, session+"/agent-"); is && f.Label == "sub-agent" {
					got[agent] = h.ID
				}
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: started by %v", name, got)
		}
		for agent := range c.want {
			if listed[agent] != 1 {
				t.Errorf("%s: the list has %v", name, listed)
			}
		}
		if len(listed) != len(c.want) {
			t.Errorf("%s: the list has %v", name, listed)
		}
	}
}

// TestSidechain_hasAFile: what a file of a sub-agent's own tells is not told again from the records of
// progress.
func TestSidechain_hasAFile(t *testing.T) {
	recs := []rec{user("a", "", "A"), task("b", "a", "m1", "t1", "one"), tells("p", "b", "x1", "t1", user("", "", "one"))}
	for _, name := range []string{session + "/subagents/agent-x1.jsonl", "agent-x1.jsonl"} {
		dir, file := written(t, list(recs...)...)
		place(t, file, map[string]string{name: user("d", "", "one").String() + "\n" + user("e", "d", "two").String() + "\n"})
		s := open(t, dir)
		storetest.Headers(t, s, session)
		if rows := storetest.Headers(t, s, session+"/agent-x1"); len(rows) != 2 {
			t.Errorf("%s: it has %d rows", name, len(rows))
		}
	}
}

// TestTree_ofAgentsAsNamed: a result leads to the file of the sub-agent that it names, beside the session
// in 2.0, and to no other file.
func TestTree_ofAgentsAsNamed(t *testing.T) {
	names := func(agent string) map[string]any {
		return map[string]any{"toolUseResult": map[string]any{"agentId": agent}}
	}
	dir, file := written(t, list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), part("c", "b", "m1", "", "t2"), with(result("d", "b", "t1"), names("../../x")), with(result("e", "c", "t2"), names("e17416b3")), part("f", "e", "m2", "", "t3"), with(result("g", "f", "t3"), names("none")))...)
	place(t, file, map[string]string{"agent-e17416b3.jsonl": user("h", "", "one").String() + "\n", "../../x.jsonl": user("x", "", "no").String() + "\n"})
	s := open(t, dir)
	same(t, "the tree", treeOf(t, s, session), []string{"a ◂  A", "b ◂ a T · T → agent-e17416b3", "d ◂ b T  out t1", "e ◂ d T  out t2", "f ◂ e T", "g ◂ f T  out t3 *"})
	for text, want := range map[string]string{
		`{"agentType":"kind","description":"what"}`: "kind: what", `{"description":"what"}`: "what", `{"agentType":"kind"}`: "one", `no`: "one",
	} {
		place(t, file, map[string]string{session + "/subagents/agent-1.jsonl": user("i", "", "one").String() + "\n", session + "/subagents/agent-1.meta.json": text})
		s := open(t, dir)
		for range 2 { // as it is listed, and once it was read
			if i := slices.IndexFunc(storetest.Sessions(t, s), func(info model.SessionInfo) bool {
				return info.ID == session+"/agent-1" && info.Title == want
			}); i < 0 {
				t.Errorf("%s: no sub-agent is called %q", text, want)
			}
			storetest.Headers(t, s, session+"/agent-1")
		}
	}
}

// TestFork_ofLargeSubAgents: a fork goes without the conversations of sub-agents that are too large, and
// says so.
func TestFork_ofLargeSubAgents(t *testing.T) {
	for size, copied := range map[int64]bool{1 << 10: true, 64<<20 + 1: false} {
		dir, file := written(t, list(user("a", "", "A"), part("b", "a", "m1", "", "t1"), result("c", "b", "t1"))...)
		place(t, file, map[string]string{session + "/subagents/agent-1.jsonl": user("d", "", "one").String() + "\n", session + "/subagents/agent-1.meta.json": `{"toolUseId":"t1"}`})
		s, f := onDisk(t, dir, func(on tree.Tree) tree.Tree { return on }), newFormat(dir)
		read, err := f.Read(t.Context(), s, f.Spot("-home-demo/"+session+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(filepath.Dir(file), session, subagents, "agent-1.jsonl"), size); err != nil {
			t.Fatal(err)
		}
		made, err := f.Fork(chat.Cut{In: s, Session: read, To: &read.Entries[2], ID: "new"})
		if err != nil || (len(made.Steps) == 3) != copied || slices.ContainsFunc(made.Hazards, func(h string) bool { return strings.Contains(h, "larger than 64 MB") }) == copied || strings.Contains(strings.Join(made.Writes, "\n"), "1 sub-agent of the path") != copied {
			t.Errorf("%d bytes: %d steps, %q, %v", size, len(made.Steps), made.Hazards, err)
		}
	}
}

// TestMessages_ofAModel: an answer names the model that gave it; what Claude Code itself answered, and what
// another session paid for, does not count.
func TestMessages_ofAModel(t *testing.T) {
	says := func(model string) map[string]any {
		return map[string]any{"message": map[string]any{"id": "m", "model": model, "content": []any{map[string]any{"type": "text", "text": "x"}, map[string]any{"type": "of the future", "n": 1}}, "usage": map[string]any{"input_tokens": 7}}, "costUSD": 0.5}
	}
	other := map[string]any{"requestSessionId": "22222222-2222-4222-8222-222222222222"}
	for name, c := range map[string]struct {
		r       rec
		model   string
		counted bool
	}{
		"a model":                {with(rec{kind: "assistant", id: "a"}, says("m-1")), "m-1", true},
		"none":                   {with(rec{kind: "assistant", id: "a"}, says(synthetic)), "", true},
		"of another session":     {with(with(rec{kind: "assistant", id: "a"}, says("m-1")), other), "m-1", false},
		"of this session itself": {with(with(rec{kind: "assistant", id: "a"}, says("m-1")), map[string]any{"requestSessionId": session}), "m-1", true},
	} {
		v := parsed(t, c.r.String())
		var r record
		if r.keepRecord(v); r.meta.Model != c.model || r.answer != "m" {
			t.Errorf("%s: %+v", name, r)
		}
		m := messageOf(v)
		if m.Usage.Counted != c.counted || m.Usage.Priced != c.counted || len(m.Blocks) != 2 || len(m.Raw) != 1 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestTree_ofASecondCompaction: what a second /compact of one process writes once more is one row.
func TestTree_ofASecondCompaction(t *testing.T) {
	summary := func(id, parent, says string) rec {
		return with(user(id, parent, says), map[string]any{"isCompactSummary": true})
	}
	begin := []rec{user("a", "", "A"), part("b", "a", "m1", "B", "")}
	for name, c := range map[string]struct {
		again []rec
		want  []string
	}{
		"the same":     {begin, nil},
		"another text": {[]rec{begin[0], part("b", "a", "m1", "X", "")}, []string{"b~2 ◂ a X – secondLeaf"}},
	} {
		dir, _ := written(t, list(slices.Concat(begin, []rec{boundaryOf("h", "b", "s"), summary("s", "h", "S"), user("c", "s", "C")}, c.again, []rec{boundaryOf("i", "c", "z"), summary("z", "i", "Z")})...)...)
		got := slices.DeleteFunc(treeOf(t, open(t, dir), session), func(line string) bool { return !strings.HasPrefix(line, "b~") && !strings.HasPrefix(line, "a~") })
		if len(got) != len(c.want) || len(got) == 1 && !strings.HasPrefix(got[0], c.want[0][:12]) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestSidechain_isListedOnce: the middle of a sidechain, at the end of a large file, is no other sub-agent.
func TestSidechain_isListedOnce(t *testing.T) {
	fill := strings.Repeat("x ", 100_000)
	dir, _ := written(t, list(user("a", "", "A"), task("b", "a", "m1", "t1", "one"), aside(user("s", "", "one")), aside(part("u", "s", "m2", fill, "")), aside(user("v", "u", "more")), aside(part("w", "v", "m3", "seen", "")))...)
	var got []string
	for _, info := range storetest.Sessions(t, open(t, dir)) {
		got = append(got, strings.TrimPrefix(info.ID, session))
	}
	same(t, "the list", got, []string{"", "/agent-s"})
}

// TestSidechain_atTheBeginning: the messages of a sub-agent follow each other from the first record on.
func TestSidechain_atTheBeginning(t *testing.T) {
	dir, _ := written(t, list(tells("p", "", "x1", "t1", user("", "", "one")), tells("q", "p", "x1", "t1", part("", "", "m9", "seen", "")), user("a", "", "A"))...)
	f := newFormat(dir)
	s, err := f.Read(t.Context(), onDisk(t, dir, func(on tree.Tree) tree.Tree { return on }), f.Spot("-home-demo/"+session+suffix+"#agent-x1"))
	if err != nil || len(s.Entries) != 2 || s.Before(0) != -1 || s.Before(1) != 0 || s.Head != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestTell_ofASubAgent: a sub-agent is no fork of what begins as it does.
func TestTell_ofASubAgent(t *testing.T) {
	dir, file := written(t, list(user("a", "", "A"))...)
	place(t, file, map[string]string{"agent-1" + suffix: user("a", "", "A").String() + "\n", "none" + suffix: `{"type":"mode"}` + "\n"})
	f, in := newFormat(dir), onDisk(t, dir, func(on tree.Tree) tree.Tree { return on })
	for _, name := range []string{"agent-1", "none", session} {
		s, err := f.Read(t.Context(), in, f.Spot("-home-demo/"+name+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if facts, err := f.Tell(t.Context(), in, s, nil); err != nil || len(facts) != 0 {
			t.Errorf("%s: %v, %v", name, facts, err)
		}
	}
}

// TestFacts_standWhereTheyBelong: what a session took stands at its last message, what a request sent at the
// answer, and a compaction at its summary, be the boundary the first record.
func TestFacts_standWhereTheyBelong(t *testing.T) {
	request := rec{kind: "api-request", more: map[string]any{"keep": 0, "tail": []any{"h1"}, "querySource": "sdk"}}
	cost := rec{kind: "cost-state", more: map[string]any{"totalCostUSD": 1, "totalDuration": 7, "totalAPIDuration": 5}}
	dir, _ := written(t, list(cost, boundaryOf("x", "d", "s"), with(user("s", "x", "S"), map[string]any{"isCompactSummary": true}), request, user("c", "s", "C"), with(part("d", "c", "m2", "D", ""), map[string]any{"gitBranch": "main"}), cost, rec{kind: "user", id: "e", parent: "d", says: "E"}, with(part("f", "e", "m3", "F", ""), nil))...)
	s := open(t, dir)
	for id, want := range map[string]map[string]string{
		"s": {"compaction": "auto", "preTokens": "3661"}, "c": {"request": ""}, "d": {"request": "1 message (sdk)", "session ms": "7", "session ms of requests": "5"}, "f": {"session ms": "", "request": "", "compaction": ""},
	} {
		got := facts(t, s, id)
		for label, value := range want {
			if got[label] != value {
				t.Errorf("%s has %s %q and not %q", id, label, got[label], value)
			}
		}
	}
	dir, _ = written(t, list(with(user("a", "", "A"), map[string]any{"gitBranch": "first"}), part("b", "a", "m1", "B", ""))...)
	if text := stateAt(t, open(t, dir), "b"); !strings.Contains(text, `"gitBranch":"first"`) {
		t.Errorf("what the session began with is forgotten: %s", text)
	}
	if text := stateAt(t, s, "e"); !strings.Contains(text, `"gitBranch":"main"`) {
		t.Errorf("what the session ran with is forgotten: %s", text)
	}
}

// TestState_hasWhatIsKeptOnce: an answer of several records that a compaction keeps, or that /branch wrote
// again, is one message.
func TestState_hasWhatIsKeptOnce(t *testing.T) {
	begin := []rec{user("a", "", "A"), part("b", "a", "m1", "B", ""), part("c", "b", "m1", "more", ""), user("d", "c", "D")}
	summary := with(user("s", "h", "S"), map[string]any{"isCompactSummary": true})
	for name, recs := range map[string][]rec{
		"kept":          slices.Concat(begin, []rec{boundaryOf("h", "d", "s", "b", "c", "d"), summary}),
		"written again": slices.Concat(begin, []rec{with(boundaryOf("h", "a", "s"), map[string]any{"parentUuid": "d"}), summary, part("b", "s", "m1", "B", ""), part("c", "b", "m1", "more", ""), user("d", "c", "D")}),
	} {
		dir, _ := written(t, list(recs...)...)
		s := open(t, dir)
		rows := storetest.Headers(t, s, session)
		head := rows[slices.IndexFunc(rows, func(h model.Header) bool { return h.Head })]
		same(t, name, contexts(t, s, session, head.ID), []string{"0 S", "1 B", "1 more", "2 D"})
	}
}

// TestAttachments_behindTheFirst: what is given behind the first message, which another one follows without
// it, is a row of its own.
func TestAttachments_behindTheFirst(t *testing.T) {
	date := map[string]any{"type": "date", "date": "today"}
	dir, _ := written(t, list(user("a", "", "A"), part("b", "a", "m1", "B", ""), given("x", "a", date, nil), user("c", "x", "C"))...)
	same(t, "the tree", treeOf(t, open(t, dir), session), []string{"a ◂  A", "b ◂ a B – rewind", "x ◂ a date", "c ◂ x C *"})
	dir, _ = written(t, list(user("a", "", "A"), given("x", "a", date, nil), part("b", "x", "m1", "B", ""))...)
	same(t, "the tree of one", treeOf(t, open(t, dir), session), []string{"a ◂  A", "b ◂ a B *"})
}
