package opencode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

// edited returns a copy of a store whose database was changed.
func edited(t *testing.T, dir string, changes ...string) string {
	t.Helper()
	dir = storetest.Copy(t, dir)
	db := sqlitefile.NewOwn(filepath.Join(dir, "opencode.db"), "", nil)
	err := db.Write(t.Context(), executing(t, changes))
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// executing returns what runs statements in a transaction, all of them, and joins their errors.
func executing(t *testing.T, statements ...[]string) func(*sqlitefile.Tx) error {
	return func(tx *sqlitefile.Tx) (err error) {
		for _, statement := range slices.Concat(statements...) {
			_, failed := tx.Exec(t.Context(), statement)
			err = errors.Join(err, failed)
		}
		return err
	}
}

// Each hazard is told, by its code and where it is.
func TestFaults(t *testing.T) {
	const user, answer = "msg_202fb0eb80016K2QVhNcU4I9lF", "msg_20306326f001fH7C2QM6Cfga29"
	const session = "ses_dfd04f515ffeT1YRFyfbO7rYT4"
	deleted := FaultDeleted + " "
	for _, c := range []struct {
		name    string
		changes []string
		want    []string
	}{
		{"as it was recorded", nil, []string{deleted}},
		{"a revert waits", []string{`UPDATE session SET revert = '{"messageID":"` + answer + `"}'`}, []string{FaultRevert + " session.revert", deleted}},
		{"a revert to nothing", []string{`UPDATE session SET revert = '{"messageID":"msg_0"}'`}, []string{FaultRevert + " session.revert", deleted}},
		{"a torn message", []string{`UPDATE message SET data = '{"role"' WHERE id = '` + user + `'`}, []string{FaultMessage + " " + user, deleted}},
		{"a torn part", []string{`UPDATE part SET data = 'x' WHERE message_id = '` + user + `'`}, []string{FaultMessage + " prt_202fb0ec8001uNyQ7YdE4i0V6h", deleted}},
		{"an unknown part", []string{`UPDATE part SET data = '{"type":"dream"}' WHERE message_id = '` + user + `'`}, []string{deleted, "unknown-record "}},
		{"rows of a later opencode", []string{"INSERT INTO session_message VALUES ('m', '" + session + "', 'user', 1, 1, 1, '{}')"}, []string{deleted, "unknown-record "}},
		{"a context of a later opencode", []string{"INSERT INTO session_context_epoch VALUES ('" + session + "', '', '', 1)"}, []string{deleted, "unknown-record "}},
		{"an event of a later opencode", []string{"UPDATE event SET type = 'message.dreamt.1' WHERE type = 'session.created.1' AND aggregate_id = '" + session + "'"}, []string{deleted, "unknown-record "}},
		{"no log of events", []string{"DROP TABLE event"}, nil},
		{"no row of the session", []string{"PRAGMA foreign_keys = OFF", "DELETE FROM session WHERE id = '" + session + "'"}, []string{FaultStray + " " + session, deleted}},
		{"parts without a message", []string{"DROP TABLE event", "PRAGMA foreign_keys = OFF", "DELETE FROM message WHERE id = '" + answer + "'"},
			[]string{FaultStray + " " + answer, FaultMessage + " " + answer}},
	} {
		s := open(t, edited(t, fixture, c.changes...))
		var got []string
		for _, f := range storetest.Faults(t, s, session) {
			if got = append(got, f.Code+" "+f.Path); f.Meaning == "" {
				t.Errorf("%s: %+v has no meaning", c.name, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the faults are %q instead of %q", c.name, got, c.want)
		}
		for _, h := range storetest.Headers(t, s, session) {
			if _, err := s.State(t.Context(), h.Ref()); err != nil {
				t.Errorf("%s: the state of %s: %v", c.name, h.ID, err)
			}
		}
	}
}

// A revert that waits takes a whole message and what follows it off the path, and the session
// goes on before it; the rows are still there.
func TestTree_revertOfAMessage(t *testing.T) {
	const session = "ses_dfd04f515ffeT1YRFyfbHcBk00"
	from := storetest.Headers(t, open(t, storetest.Copy(t, fixture)), session)[2].ID
	s := open(t, edited(t, fixture, `UPDATE session SET revert = '{"messageID":"`+from+`"}' WHERE id = '`+session+`'`))
	want := []string{
		`0<-1 "first question"`,
		`1<0 reply to: "first question" [head]`,
		fmt.Sprintf(`2<1 "after import" [off: %d to 1 00:00:00]`, model.ReasonRewind),
		fmt.Sprintf(`3<2 reply to: "after import" [off: %d to 1 00:00:00]`, model.ReasonRewind),
	}
	if got := treeOf(t, s, session); !slices.Equal(got, want) {
		t.Errorf("the session is\n%s", strings.Join(got, "\n"))
	}
}

// A revert that waits costs the messages that the log of events has not: those that came from an
// older opencode, and all of one that has only files. A fork at the last of them keeps them.
func TestFaults_revertWithoutEvents(t *testing.T) {
	pending := func(messages string, changes ...string) string {
		return made(t, append(session(`{"messageID":"msg_c"}`, messages), changes...)...)
	}
	files := t.TempDir()
	for name, text := range map[string]string{
		"session/p1/ses_1.json":    `{"id":"ses_1","title":"an old one","directory":"/work","time":{"created":1,"updated":9},"revert":{"messageID":"msg_c"}}`,
		"message/ses_1/msg_a.json": `{"id":"msg_a","role":"user","time":{"created":1}}`,
		"message/ses_1/msg_c.json": `{"id":"msg_c","role":"user","time":{"created":4}}`,
	} {
		write(t, filepath.Join(files, storage, filepath.FromSlash(name)), []byte(text))
	}
	export := t.TempDir()
	write(t, filepath.Join(export, exports, "ses_1.json"), []byte(`{"info":{"id":"ses_1","revert":{"messageID":"msg_c"}},"messages":[{"info":{"id":"msg_c","role":"user"},"parts":[]}]}`))
	const keeps = "the log of events keeps them"
	for name, c := range map[string]struct {
		dir, verdict string
		severity     model.Severity
	}{
		"events":                {pending("abcd"), keeps, model.Odd},
		"none before":           {pending("ABcd"), keeps, model.Odd},
		"none":                  {pending("ABCD"), "a fork at #3 ", model.Loses},
		"none of one":           {pending("abCd"), "a fork at #3 ", model.Loses},
		"none of a part":        {pending("abcd", "DELETE FROM event WHERE data LIKE '%prt_msg_d1%'"), "a fork at #3 ", model.Loses},
		"none of the record":    {pending("abcd", "DELETE FROM event WHERE data LIKE '%info%msg_d%'"), "a fork at #3 ", model.Loses},
		"no log":                {pending("abcd", "DROP TABLE event"), "a fork at #3 ", model.Loses},
		"a file of 0.x":         {files, "a later opencode", model.Loses},
		"a file to be imported": {export, keeps, model.Odd},
	} {
		var got []model.Fault
		for _, f := range storetest.Faults(t, open(t, c.dir), "ses_1") {
			if f.Code == FaultRevert {
				got = append(got, f)
			}
		}
		if len(got) != 1 || got[0].Severity != c.severity || !strings.Contains(got[0].Verdict, c.verdict) {
			t.Errorf("%s: it is %+v, want %v with %q", name, got, c.severity, c.verdict)
			continue
		}
		if !strings.Contains(c.verdict, "a fork at #3") {
			continue
		}
		plan, err := open(t, c.dir).Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "ses_1", ID: got[0].Copy}})
		if err != nil || plan.Target.Index != 3 {
			t.Errorf("%s: a fork at %q starts at %+v, %v", name, got[0].Copy, plan.Target, err)
		}
	}
}

// A schema with other columns is read: what is missing is not asked for, what is new is passed
// over.
func TestRead_otherColumns(t *testing.T) {
	s := open(t, edited(t, fixture, "ALTER TABLE session DROP COLUMN slug", "ALTER TABLE session ADD COLUMN mood TEXT DEFAULT 'good'",
		"ALTER TABLE message ADD COLUMN mood BLOB", "DROP INDEX part_session_idx"))
	if got := treeOf(t, s, "ses_dfd04f515ffeT1YRFyfbHcBk00"); len(got) != 4 {
		t.Errorf("the session is %q", got)
	}
}

// What opencode writes while the store is open is told, and read.
func TestWatch_live(t *testing.T) {
	dir := storetest.Copy(t, fixture)
	s := open(t, dir)
	const session = "ses_dfd04f515ffeT1YRFyfbHcBk00"
	before := treeOf(t, s, session)
	changes, err := s.Features().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db := sqlitefile.NewOwn(filepath.Join(dir, "opencode.db"), "&_pragma=journal_mode(wal)", nil)
	defer db.Close()
	write := func(id, text string) {
		t.Helper()
		if err := db.Write(t.Context(), func(tx *sqlitefile.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO message VALUES (?, ?, 1795347020300, 1795347020300, ?)", id, session, `{"role":"user","time":{"created":1795347020300}}`)
			_, failed := tx.Exec(t.Context(), "INSERT INTO part VALUES (?, ?, ?, 1, 1, ?)", "prt_"+id, id, session, fmt.Sprintf(`{"type":"text","text":%q}`, text))
			return errors.Join(err, failed)
		}); err != nil {
			t.Fatal(err)
		}
		storetest.Next(t, changes)
	}
	write("msg_203057f00001aaaaaaaaaaaaaa", "while it is open")
	if got, want := treeOf(t, s, session), append(before[:3:3], strings.TrimSuffix(before[3], " [head]"), "4<3 while it is open [head]"); !slices.Equal(got, want) {
		t.Errorf("the session is %q instead of %q", got, want)
	}
	write("msg_203057f00002aaaaaaaaaaaaaa", "and once more")
	if got := treeOf(t, s, session); got[len(got)-1] != "5<4 and once more [head]" {
		t.Errorf("the session is %q", got)
	}
}

// The files of 0.x are read as the rows are; their fork is refused until opencode took them in.
func TestRead_filesOf0x(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"session/p1/ses_old1.json":    `{"id":"ses_old1","title":"an old one","directory":"/work","version":"0.5.0","time":{"created":1,"updated":9},"revert":{"messageID":"msg_c"}}`,
		"message/ses_old1/msg_a.json": `{"id":"msg_a","sessionID":"ses_old1","role":"user","time":{"created":1}}`,
		"message/ses_old1/msg_b.json": `{"id":"msg_b","sessionID":"ses_old1","role":"assistant","modelID":"m","time":{"created":2,"completed":3}}`,
		"message/ses_old1/msg_c.json": `{"id":"msg_c","sessionID":"ses_old1","role":"user","time":{"created":4}}`,
		"part/msg_a/prt_1.json":       `{"id":"prt_1","messageID":"msg_a","type":"text","text":"hello"}`,
		"part/msg_b/prt_1.json":       `{"id":"prt_1","messageID":"msg_b","type":"step-start"}`,
		"part/msg_b/prt_2.json":       `{"id":"prt_2","messageID":"msg_b","type":"text","text":"hello, too"}`,
		"part/msg_c/prt_1.json":       `{"id":"prt_1","messageID":"msg_c","type":"text","text":"never mind"}`,
	} {
		write(t, filepath.Join(dir, storage, filepath.FromSlash(name)), []byte(text))
	}
	if _, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
		t.Errorf("recognised %v, %v", ok, err)
	}
	storetest.Read(t, Kind(nil).Kind, dir)
	s := open(t, dir)
	if got, want := treeOf(t, s, "ses_old1"), []string{"0<-1 hello", "1<0 hello, too [head]", fmt.Sprintf("2<1 never mind [off: %d to 1 00:00:00]", model.ReasonRewind)}; !slices.Equal(got, want) {
		t.Errorf("the session is %q instead of %q", got, want)
	}
	_, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, "ses_old1")[1].Ref()})
	if why, is := errors.AsType[*model.UnsupportedError](err); !is || !strings.Contains(why.Reason, "0.x") {
		t.Errorf("its fork is refused by %v", err)
	}
}

// A message of 0.x whose file is torn has no time: it stands where its id says.
func TestRead_tornFilesOf0x(t *testing.T) {
	for _, torn := range []string{"a", "b", "bc", "bd", "d", "abcd"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, storage, "session", "p1", "ses_1.json"), []byte(`{"id":"ses_1","title":"an old one","directory":"/work","time":{"created":1,"updated":9}}`))
		for i, letter := range "abcd" {
			id := "msg_" + string(letter)
			text := fmt.Sprintf(`{"id":%q,"role":"user","time":{"created":%d}}`, id, i+1)
			if strings.ContainsRune(torn, letter) {
				text = text[:len(text)-15]
			}
			write(t, filepath.Join(dir, storage, "message", "ses_1", id+".json"), []byte(text))
			write(t, filepath.Join(dir, storage, "part", id, "prt_1.json"), []byte(`{"id":"prt_1","type":"text","text":"`+string(letter)+`"}`))
		}
		var got []string
		list := storetest.Headers(t, open(t, dir), "ses_1")
		for i := range list {
			got = append(got, list[i].Title)
			if strings.Contains(torn, list[i].Title) != list[i].CreatedAt.IsZero() {
				t.Errorf("with %q torn %s is of %v", torn, list[i].Title, list[i].CreatedAt)
			}
		}
		if got := strings.Join(got, " "); got != "a b c d" || !list[3].Head {
			t.Errorf("with %q torn the session is %q", torn, got)
		}
	}
}

// The sub-agents of 0.x are below the sessions that started them, however deep.
func TestRead_subAgentsOf0x(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"session/p1/ses_a.json":    `{"id":"ses_a","title":"a","directory":"/work","time":{"created":1,"updated":9}}`,
		"session/p1/ses_b.json":    `{"id":"ses_b","parentID":"ses_a","title":"b","directory":"/work","time":{"created":2,"updated":9}}`,
		"session/p1/ses_c.json":    `{"id":"ses_c","parentID":"ses_b","title":"c","directory":"/work","time":{"created":3,"updated":9}}`,
		"session/p1/ses_d.json":    `{"id":"ses_d","parentID":"ses_d","title":"d","directory":"/work","time":{"created":3,"updated":9}}`,
		"message/ses_a/msg_a.json": `{"id":"msg_a","role":"assistant","time":{"created":1}}`,
		"message/ses_b/msg_b.json": `{"id":"msg_b","role":"user","time":{"created":2}}`,
		"message/ses_c/msg_c.json": `{"id":"msg_c","role":"user","time":{"created":3}}`,
		"part/msg_a/prt_1.json":    `{"id":"prt_1","type":"tool","tool":"task","callID":"c","state":{"status":"completed","output":"x","metadata":{"sessionId":"ses_b"}}}`,
		"part/msg_c/prt_1.json":    `{"id":"prt_1","type":"tool","tool":"task","callID":"c","state":{"status":"completed","output":"x","metadata":{"sessionId":"../../session/p1/ses_a"}}}`,
	} {
		write(t, filepath.Join(dir, storage, filepath.FromSlash(name)), []byte(text))
	}
	s := open(t, dir)
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"ses_a", "ses_a/ses_b", "ses_a/ses_b/ses_c", "ses_d"}) {
		t.Errorf("the sessions are %q", ids)
	}
	for session, want := range map[string]string{"ses_a": "ses_a/ses_b", "ses_a/ses_b/ses_c": ""} {
		if got := facts(t, s, session, 0)["sub-agent"]; got != want {
			t.Errorf("%s started %q instead of %q", session, got, want)
		}
	}
}

// One answer may start several sub-agents: each is told at it, under the session above it, and
// one that is nowhere is not.
func TestRead_severalSubAgents(t *testing.T) {
	task := func(part, child string) string {
		return fmt.Sprintf(`UPDATE part SET data = '{"type":"tool","tool":"task","callID":"%s","state":{"status":"completed","input":{},"output":"x","metadata":{"sessionId":"%s"}}}' WHERE id = '%s'`, part, child, part)
	}
	changes := session("", "AB")
	for _, child := range []string{"ses_2", "ses_3"} {
		changes = append(changes, fmt.Sprintf("INSERT INTO session VALUES ('%s', 'a title', '/work', NULL, 2, 2, 'ses_1')", child))
	}
	for name, c := range map[string]struct{ first, second, want string }{
		"two":               {"ses_2", "ses_3", "ses_1/ses_3 ses_1/ses_2"},
		"the first is gone": {"ses_9", "ses_3", "ses_1/ses_3"},
		"one twice":         {"ses_3", "ses_3", "ses_1/ses_3"},
	} {
		s := open(t, made(t, append(changes, task("prt_msg_b0", c.first), task("prt_msg_b1", c.second))...))
		list, err := s.Features().Facts(t.Context(), storetest.Headers(t, s, "ses_1")[1].Ref())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			if f.Label == "sub-agent" {
				got = append(got, f.Value)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: the sub-agents are %q instead of %q", name, got, c.want)
		}
	}
}

// A fork is its own session until opencode has one of the same id.
func TestSpots_importedIsTheDatabase(t *testing.T) {
	dir := storetest.Copy(t, fixture)
	write(t, filepath.Join(dir, exports, "ses_dfd0301baffeLh2318dMLEVV2n.json"), []byte(`{"info":{},"messages":[]}`))
	write(t, filepath.Join(dir, exports, "ses_other.json"), []byte(`{"info":{"title":"other"},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[]}]}`))
	write(t, filepath.Join(dir, exports, "..json"), []byte(`{}`))
	var ids []string
	for _, info := range storetest.Sessions(t, open(t, dir)) {
		ids = append(ids, info.ID)
	}
	slices.Sort(ids)
	if want := []string{"ses_dfcf9bf29ffe41lTyUqQgB3hkK", "ses_dfd0301baffeLh2318dMLEVV2n", "ses_dfd04f515ffeT1YRFyfbHcBk00", "ses_dfd04f515ffeT1YRFyfbO7rYT4", "ses_other"}; !slices.Equal(ids, want) {
		t.Errorf("the sessions are %q", ids)
	}
}

// A file that `opencode export` wrote opens wherever it lies and whatever it is called, by the
// id of its session, and is forked into a file beside it. Other files are none.
func TestExport_anywhere(t *testing.T) {
	text, err := os.ReadFile("testdata/export.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"what I kept.json": text,
		"a list.json":      []byte(`[{"info":{"id":"ses_1"}}]`),
		"another.json":     []byte(`{"info":{"id":"session 1","title":"ses_1"},"messages":[]}`),
		"text.txt":         []byte(`the "ses_1" of yesterday`),
	} {
		write(t, filepath.Join(dir, name), text)
	}
	for _, name := range []string{"a list.json", "another.json", "text.txt"} {
		if _, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(dir, name)); ok || err != nil {
			t.Errorf("%s is recognised: %v, %v", name, ok, err)
		}
	}
	file := filepath.Join(dir, "what I kept.json")
	if _, ok, err := Kind(nil).Recognise(t.Context(), file); !ok || err != nil {
		t.Errorf("it is not recognised: %v", err)
	}
	storetest.Read(t, Kind(nil).Kind, file)
	s := open(t, file)
	const session = "ses_dfd04f515ffeT1YRFyfbO7rYT4"
	want := []string{`0<-1 "first question"`, `1<0 reply to: "first question"`, `2<1 "run: ls -1"`, `3<2 reply to: "run: ls -1"`, `4<3 "third question"`, `5<4 reply to: "third question" [head]`}
	if got := treeOf(t, s, session); !slices.Equal(got, want) {
		t.Errorf("the session is %q instead of %q", got, want)
	}
	if info := storetest.Sessions(t, s)[0]; info.ID != session || info.Project != "/home/demo" {
		t.Errorf("the list has %+v", info)
	}
	head := storetest.Headers(t, s, session)[5].Ref()
	calls, err := s.Features().Resume(t.Context(), head)
	if want := "cd /home/demo && opencode import '" + file + "' && opencode -s " + session; err != nil || len(calls) != 1 || calls[0].Call != want {
		t.Errorf("it goes on by %+v, %v, instead of %q", calls, err, want)
	}
	w := storetest.AsWriter(s)
	plan, err := w.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: head})
	if err == nil {
		_, err = w.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := treeOf(t, s, plan.NewSession); !slices.Equal(got, want) {
		t.Errorf("the fork is %q", got)
	}
	if got := treeOf(t, open(t, filepath.Join(dir, exports, plan.NewSession+".json")), plan.NewSession); !slices.Equal(got, want) {
		t.Errorf("the file of the fork is %q", got)
	}
}

// opencode keeps its databases in its folder of data, and the one that OPENCODE_DB names, which
// is an absolute path, or one below that folder.
func TestPlaces(t *testing.T) {
	const data = "/h/.local/share/opencode"
	for _, c := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{data}},
		{map[string]string{"XDG_DATA_HOME": "/d"}, []string{"/d/opencode"}},
		{map[string]string{"OPENCODE_DB": "/x/my.db"}, []string{data, "/x/my.db"}},
		{map[string]string{"OPENCODE_DB": "my.db"}, []string{data, data + "/my.db"}},
		{map[string]string{"OPENCODE_DB": "../my.db", "XDG_DATA_HOME": "/d"}, []string{"/d/opencode", "/d/my.db"}},
	} {
		got := Kind(nil).Places(store.Surroundings{Home: "/h", Env: func(name string) string { return c.env[name] }})
		for i := range got {
			got[i] = strings.TrimPrefix(filepath.ToSlash(got[i]), filepath.VolumeName(got[i]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("with %v they are %q instead of %q", c.env, got, c.want)
		}
	}
	env := func(name string) string { return map[string]string{"OPENCODE_DB": "my.db"}[name] }
	if got := Kind(nil).Places(store.Surroundings{Env: env}); len(got) != 0 {
		t.Errorf("without a home they are %q", got)
	}
}

// What an answer cost: tokens of a cache stand beside those of the input. Those of reasoning
// stand beside those of the output where the total says so, as 1.18 writes them, and among them
// before that.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		info string
		want conversation.Usage
	}{
		{`{"role":"assistant","cost":0.5,"tokens":{"total":2445,"input":2418,"output":7,"reasoning":0,"cache":{"read":20,"write":0}}}`,
			conversation.Usage{Input: 2438, Output: 7, CacheRead: 20, Cost: 0.5, Counted: true, Priced: true}},
		{`{"role":"assistant","tokens":{"total":152,"input":100,"output":10,"reasoning":30,"cache":{"read":7,"write":5}}}`,
			conversation.Usage{Input: 112, Output: 40, CacheRead: 7, CacheWrite: 5, Counted: true}},
		{`{"role":"assistant","tokens":{"total":140,"input":100,"output":10,"reasoning":30,"cache":{"read":0,"write":0}}}`,
			conversation.Usage{Input: 100, Output: 40, Counted: true}},
		{`{"role":"assistant","tokens":{"input":100,"output":40,"reasoning":30,"cache":{"read":7,"write":0}}}`,
			conversation.Usage{Input: 107, Output: 40, CacheRead: 7, Counted: true}},
		{`{"role":"assistant","tokens":{"total":"many","input":null,"output":[]}}`, conversation.Usage{}},
		{`{"role":"user","tokens":{"input":1,"output":1}}`, conversation.Usage{}},
	} {
		m := stored{info: []byte(c.info)}
		if got := m.sentMessages()[0].Usage; got != c.want {
			t.Errorf("%s is %+v instead of %+v", c.info, got, c.want)
		}
	}
}

// A part of each type becomes what opencode sends for it, and stays as it is in the record: it
// sends nothing of the steps, of snapshots of the files, and of a retry. Of the file and of the
// sub-agent that the user named it sends a text that it adds.
func TestMessages_parts(t *testing.T) {
	tool := func(state string) string { return `{"type":"tool","callID":"c","tool":"bash","state":{` + state + `}}` }
	const call, input = `{"toolUse":{"toolUseId":"c","name":"bash","input":{"command":"ls"}}}`, `"input":{"command":"ls"}`
	result := func(status, text string) string {
		return call + " | " + `{"toolResult":{"toolUseId":"c","name":"bash","status":"` + status + `","content":[{"text":"` + text + `"}]}}`
	}
	for record, want := range map[string]string{
		`{"type":"text","text":"a"}`:                                                           `{"text":"a"}`,
		`{"type":"text","text":"a","synthetic":true}`:                                          `{"text":"a"}`,
		`{"type":"text","text":"a","ignored":true}`:                                            "",
		`{"type":"text","text":""}`:                                                            "",
		`{"type":"reasoning","text":"hm","time":{"start":1}}`:                                  `{"reasoning":{"text":"hm"}}`,
		`{"type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,"}`: `{"json":{"type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,"}}`,
		`{"type":"file","mime":"text/plain","url":"file:///work/a"}`:                           "",
		`{"type":"file","mime":"application/x-directory","url":"file:///work"}`:                "",
		`{"type":"agent","name":"plan"}`:                                                       "",
		`{"type":"subtask","prompt":"p","description":"d","agent":"a"}`:                        `{"text":"The following tool was executed by the user"}`,
		`{"type":"compaction","auto":true}`:                                                    `{"text":"What did we do so far?"}`,
		`{"type":"step-start","snapshot":"f00"}`:                                               "",
		`{"type":"step-finish","reason":"stop","cost":1,"tokens":{"input":1,"output":1}}`:      "",
		`{"type":"snapshot","snapshot":"f00"}`:                                                 "",
		`{"type":"patch","hash":"f00","files":["/work/a"]}`:                                    "",
		`{"type":"retry","attempt":1,"error":{"name":"APIError"}}`:                             "",
		`{"type":"dream"}`:                                                        `{"json":{"type":"dream"}}`,
		tool(`"status":"pending",` + input):                                       result("error", "[Tool execution was interrupted]"),
		tool(`"status":"running",` + input):                                       result("error", "[Tool execution was interrupted]"),
		tool(`"status":"dreaming",` + input):                                      call,
		tool(`"status":"completed","output":"a",` + input):                        result("success", "a"),
		tool(`"status":"completed","output":"a","time":{"compacted":1},` + input): result("success", "[Old tool result content cleared]"),
		tool(`"status":"error","error":"no",` + input):                            result("error", "no"),
		tool(`"status":"error","error":"aborted","metadata":{"interrupted":true,"output":"half"},` + input): result("error", "half"),
		tool(`"status":"error","error":"aborted","metadata":{"interrupted":true},` + input):                 result("error", "aborted"),
	} {
		m := stored{info: []byte(`{"role":"assistant"}`), parts: []part{{"prt_1", []byte(record)}}}
		var got []string
		for _, one := range m.sentMessages() {
			text := one.AppendJSON(nil)
			content, _ := chat.Parse(text)
			for block := range content.Get("content").Each() {
				got = append(got, string(block.Raw()))
			}
			if raw := content.Get("raw", "parts"); raw.There() && string(raw.Raw()) != "["+record+"]" {
				t.Errorf("%s is in the record as %s", record, raw.Raw())
			}
		}
		if got := strings.Join(got, " | "); got != want {
			t.Errorf("%s is\n  %s\ninstead of\n  %s", record, got, want)
		}
	}
}

// The plan of a fork has the whole command that takes the file into opencode, and says what
// stays: opencode names no commit and no branch.
func TestFork_plan(t *testing.T) {
	dir := storetest.Copy(t, fixture)
	t.Setenv("OPENCODE_DB", filepath.Join(dir, database))
	s := open(t, dir)
	const session, as = "ses_dfd04f515ffeT1YRFyfbO7rYT4", "ses_0123456789abHindcastFork01"
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, session)[5].Ref(), As: as})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, exports, as+".json")
	if want := chat.Command("/home/demo", "opencode", "import", file) + " && opencode -s " + as; len(plan.Resume) != 1 || plan.Resume[0].Call != want {
		t.Errorf("it resumes by %+v, want %q", plan.Resume, want)
	}
	if !slices.Contains(plan.Hazards, "the files of the work tree stay as they are now") {
		t.Errorf("the hazards are %q", plan.Hazards)
	}
	if now, err := os.ReadDir(dir); err != nil || len(now) != 1 {
		t.Errorf("a plan left %v, %v", now, err)
	}
}

// A tool that has not ended is told to the model as interrupted when opencode goes on, so that a
// fork may end there. It may be running still: the timeline calls it no error.
func TestFork_runningTool(t *testing.T) {
	tool := func(part, status string) string {
		return fmt.Sprintf(`UPDATE part SET data = '{"type":"tool","tool":"bash","callID":"%s","state":{"status":"%s","output":"a","input":{}}}' WHERE id = '%s'`, part, status, part)
	}
	for name, c := range map[string]struct {
		changes []string
		title   string
		event   string
		fails   bool
	}{
		"none ended": {[]string{tool("prt_msg_b0", "pending"), tool("prt_msg_b1", "running")}, "bash · bash", "unfinished", false},
		"one ended":  {[]string{tool("prt_msg_b0", "completed"), tool("prt_msg_b1", "running")}, "bash  a · bash", "unfinished", false},
		"one failed": {[]string{tool("prt_msg_b0", "error"), tool("prt_msg_b1", "running")}, "bash  failed · bash", "unfinished", true},
		"both ended": {[]string{tool("prt_msg_b0", "completed"), tool("prt_msg_b1", "completed")}, "bash  a · bash  a", "", false},
	} {
		s := open(t, made(t, append(session("", "AB"), c.changes...)...))
		h := storetest.Headers(t, s, "ses_1")[1]
		if h.Title != c.title || h.EventName != c.event || h.Marks.Has(model.MarkError) != c.fails {
			t.Errorf("%s: it is %q, %q, %v", name, h.Title, h.EventName, h.Marks)
		}
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
		if err != nil || plan.NewSession == "" {
			t.Errorf("%s: no fork is planned: %v", name, err)
		}
	}
}

// An id comes from a file: in the command it is one word.
func TestCalls_quoted(t *testing.T) {
	const was, id = "ses_dfd04f515ffeT1YRFyfbHcBk00", "ses_$(touch x)"
	changes := []string{"PRAGMA foreign_keys = OFF"}
	for table, column := range map[string]string{"session": "id", "message": "session_id", "part": "session_id"} {
		changes = append(changes, fmt.Sprintf("UPDATE %s SET %s = '%s' WHERE %s = '%s'", table, column, id, column, was))
	}
	dir := edited(t, fixture, append(changes, "UPDATE session SET directory = '/a b' WHERE id = '"+id+"'")...)
	t.Setenv("OPENCODE_DB", filepath.Join(dir, database))
	s := open(t, dir)
	calls, err := s.Features().Resume(t.Context(), storetest.Headers(t, s, id)[3].Ref())
	if want := `cd '/a b' && opencode -s 'ses_$(touch x)'`; err != nil || len(calls) != 2 || calls[0].Call != want || calls[1].Call != want+" --fork" {
		t.Errorf("they are %+v, %v", calls, err)
	}
}

// A database with a part of the tables is refused with the names that it lacks.
func TestOpen_lacksColumns(t *testing.T) {
	dir := edited(t, "../../../testdata/coding/opencode", "ALTER TABLE part DROP COLUMN data")
	why, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(dir, "opencode.db"))
	if ok || err != nil || !strings.HasSuffix(why, "it lacks in part data") {
		t.Errorf("%q, %v, %v", why, ok, err)
	}
}
