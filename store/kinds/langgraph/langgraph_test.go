package langgraph

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/weavetest"
)

// recorded returns the path of a store that LangGraph wrote.
func recorded(name string) string {
	return filepath.Join("..", "..", "..", "testdata", "langgraph", name)
}

// copied copies such a store, so that it can be changed.
func copied(t testing.TB, name string) string { return rowstest.Copied(t, recorded(name)) }

func open(t testing.TB, path string) store.Store {
	return storetest.OpenStore(t, Kind(nil, "").Kind, path)
}

// execute changes a store as a program would that has it open, and closes it.
func execute(t testing.TB, path, statement string, args ...any) {
	t.Helper()
	file := writer(path)
	err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		_, err := tx.Exec(t.Context(), statement, args...)
		return err
	})
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// writer opens a file as LangGraph's saver does.
func writer(path string) *sqlitefile.Own {
	return sqlitefile.NewOwn(path, "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)", nil)
}

// at returns the header of an index; of several it is the first.
func at(t testing.TB, s store.Store, session string, index int) model.Header {
	return rowstest.At(t, s, session, index)
}

func state(t testing.TB, s store.Store, h model.Header) string {
	t.Helper()
	data, err := s.State(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// about returns what Hindcast tells of a snapshot, without its id.
func about(t testing.TB, s store.Store, h model.Header) string {
	t.Helper()
	return strings.ReplaceAll(rowstest.About(t, s, h), h.ID, "ID")
}

// Every kind of value that LangGraph writes is shown, in the order of its keys, and
// none is made.
func TestState_everyType(t *testing.T) {
	s := open(t, recorded("types.db"))
	got := state(t, s, at(t, s, "types", 2))
	if !json.Valid([]byte(got)) {
		t.Fatalf("it is not JSON: %s", got)
	}
	after := 0
	for _, want := range []string{
		`"lone_surrogate":"a?z"`, `"int":9223372036854775807,"uint":18446744073709551615,"neg":-9223372036854775808,"float":1e+308,"nan":{"$float":"NaN"},"inf":{"$float":"+Inf"},"true":true,"none":null`,
		`"bytes":{"$bytes":"AP+A"}`, `"set":{"$py":"builtins.set","value":[3]}`, `"deque":{"$py":"collections.deque","value":[5]}`,
		`"datetime":{"$py":"datetime.datetime","value":"2026-01-02T03:04:05.000678+00:00"}`, `"delta":{"$py":"datetime.timedelta","value":[1,2,0]}`,
		`"uuid":{"$py":"uuid.UUID","value":"00000000000000000000000000000001"}`, `"decimal":{"$py":"decimal.Decimal","value":"1.10"}`, `"path":{"$py":"pathlib.PosixPath","value":["/","a","b"]}`,
		`"pydantic":{"$py":"__main__.Person","name":"Zoë","born":{"$py":"datetime.date","value":[1990,1,1]}`, `"dataclass":{"$py":"__main__.Point","x":1.5,"label":"p"}`,
		`"namedtuple":{"$py":"__main__.Pair","left":1,"right":[2]}`, `"numpy":{"$numpy":"\u003ci2","value":[[2,3],"C",{"$bytes":"AAABAAIAAwAEAAUA"}]}`,
		`"exception":"ValueError('boom')"`, `"raw":{"$bytes":"3q0="},"none":null,"barr":{"$bytes":"AQ=="}`,
	} {
		i := strings.Index(got[after:], want)
		if i < 0 {
			t.Errorf("%s is missing, or not in its place, in\n%s", want, got)
			continue
		}
		after += i
	}
}

// A data frame of pandas, which LangGraph pickles, is shown as what it holds.
func TestState_pickled(t *testing.T) {
	s := open(t, recorded("pickle.db"))
	session := storetest.Sessions(t, s)[0].ID
	headers := storetest.Headers(t, s, session)
	got := state(t, s, headers[len(headers)-1])
	if !json.Valid([]byte(got)) || !strings.Contains(got, `"$global":"pandas.core.indexes.range.RangeIndex"`) || !strings.Contains(got, `"_typ":"dataframe"`) {
		t.Errorf("%s", got)
	}
	if faults := storetest.Faults(t, s, session); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
}

// What would have to be decrypted is the bytes that it is, and is named once.
func TestState_opaque(t *testing.T) {
	for name, want := range map[string]string{"encrypted.db": `{"$type":"msgpack+aes","$bytes":"`} {
		s := open(t, recorded(name))
		session := storetest.Sessions(t, s)[0].ID
		headers := storetest.Headers(t, s, session)
		if got := state(t, s, headers[len(headers)-1]); !strings.HasPrefix(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %.80s, want %s", name, got, want)
		}
		faults := storetest.Faults(t, s, session)
		if len(faults) != 1 || faults[0].Code != model.FaultOpaque || faults[0].Severity != model.Odd {
			t.Errorf("%s: %+v", name, faults)
		}
	}
}

// What comes next, what is asked, what failed, what it cost, and how to go on.
func TestAbout(t *testing.T) {
	const call = `graph.invoke(%s, {"configurable": {"thread_id": "%s", "checkpoint_id": "ID"%s}})`
	for _, c := range []struct {
		store, session string
		index          int
		want           []string
	}{
		{"agent.db", "tour", 0, []string{"source: input", "step: -1", "next: __start__", fmt.Sprintf(call, "None", "tour", "") + "  runs __start__ from here"}},
		{"agent.db", "tour", 6, []string{"ran: model", "next: tools", "tokens: 23 in, 8 out, 31 in all", fmt.Sprintf(call, "None", "tour", "")}},
		{"agent.db", "tour", 3, []string{"ran: review", "next: nothing", fmt.Sprintf(call, "{…}", "tour", "") + "  takes your input as the next turn"}},
		{"agent.db", "other", 8, []string{"next: review", `: {"question":"Bestellung freigeben? ✅","amount":12.5}`,
			fmt.Sprintf(call, "Command(resume=…)", "other", "") + "  answers what is asked, and runs review from here", fmt.Sprintf(call, "None", "other", "") + "  runs review from here, which asks again"}},
		{"failed.db", "crashed", 2, []string{"next: boom", "failed: ValueError('node failed: ünlucky')"}},
		{"subgraph.db", "report", 2, []string{"next: section, section"}},
		{"subgraph.db", "persistent/section", 6, []string{"ran: write", "next: ask", "called by: 1f1e", fmt.Sprintf(call, "Command(resume=…)", "persistent", `, "checkpoint_ns": "section"`)}},
		{"functional.db", "fn", 0, []string{"next: flow"}},
		{"js.db", "js-waiting", 2, []string{"next: review", "await " + fmt.Sprintf(call, "new Command({resume: …})", "js-waiting", ""), "await " + fmt.Sprintf(call, "null", "js-waiting", "")}},
		{"old-0.2.5-json.db", "old", 1, []string{"next: model"}},
		{"old-0.2.5-json.db", "old", 2, []string{"next: what follows model"}},
	} {
		s := open(t, recorded(c.store))
		h := at(t, s, c.session, c.index)
		got := about(t, s, h)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s, %s #%d: %s is missing in\n%s", c.store, c.session, c.index, want, got)
			}
		}
	}
}

// The resume call of a checkpoint that was answered asks nothing. What was asked and answered is told.
func TestAbout_answered(t *testing.T) {
	s := open(t, recorded("agent.db"))
	h := at(t, s, "tour", 24)
	if got := about(t, s, h); strings.Contains(got, "asks") || h.Marks != 0 || strings.Contains(state(t, s, h), "__interrupt__") {
		t.Errorf("#24 is marked %v, and says\n%s", h.Marks.Words(), got)
	} else if !strings.Contains(got, `: {"question":"Bestellung freigeben? ✅","amount":12.5}`) || !strings.Contains(got, "answered: ja") {
		t.Errorf("#24 does not tell what was asked and answered:\n%s", got)
	}
}

// A channel that keeps changes only is put together: from the nearest ancestor that has its value
// and what was written since. Where an ancestor was pruned it is not made up.
func TestState_delta(t *testing.T) {
	s := open(t, recorded("delta.db"))
	for index, want := range map[int]int{4: 3, 5: 4, 6: 4, 7: 5, 8: 6} {
		h := at(t, s, "delta", index)
		var of struct{ Messages []any }
		if err := json.Unmarshal([]byte(state(t, s, h)), &of); err != nil || len(of.Messages) != want {
			t.Errorf("#%d has %d messages, want %d: %v", index, len(of.Messages), want, err)
		}
	}
	for _, h := range storetest.Headers(t, s, "delta") {
		var of struct{ Messages []json.RawMessage }
		err := json.Unmarshal([]byte(state(t, s, h)), &of)
		if raw := slices.ContainsFunc(of.Messages, func(m json.RawMessage) bool { return !isMessage(m) }); err != nil || raw {
			t.Errorf("#%d: %s, %v", h.Index, of.Messages, err)
		}
	}
	if got := about(t, s, at(t, s, "delta", 4)); !strings.Contains(got, "put together: messages\n") {
		t.Error(got)
	}

	path := copied(t, "delta.db")
	execute(t, path, "DELETE FROM checkpoints WHERE checkpoint_id = (SELECT checkpoint_id FROM checkpoints ORDER BY checkpoint_id LIMIT 1 OFFSET 1)")
	s = open(t, path)
	for index, want := range map[int]string{4: "messages: not recorded here (kept as changes only)", 5: ""} {
		h := at(t, s, "delta", index)
		gaps, err := store.Gaps(t.Context(), s, h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		data := state(t, s, h)
		if got := gaps.Of(func(key string) bool { return strings.Contains(data, quoteJSON(key)+":") }, 9); got != want {
			t.Errorf("#%d: %q, want %q", index, got, want)
		}
	}
}

// A store is told from others by its tables.
func TestKind_recognise(t *testing.T) {
	foreign, half := copied(t, "types.db"), copied(t, "failed.db")
	execute(t, foreign, "DROP TABLE writes")
	execute(t, half, "ALTER TABLE checkpoints RENAME COLUMN parent_checkpoint_id TO parent")
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		recorded("js.db"): "a SQLite database with LangGraph's tables checkpoints and writes", recorded("old-0.2.5-json.db"): "a SQLite database with LangGraph's tables checkpoints and writes",
		foreign: "a SQLite database that has LangGraph's tables in part: it lacks the table writes", half: "a SQLite database that has LangGraph's tables in part: it lacks in checkpoints parent_checkpoint_id",
		text: "not a SQLite database", t.TempDir(): "",
	} {
		why, ok, err := Kind(nil, "").Recognise(t.Context(), path)
		if why != want || ok != strings.Contains(want, " with ") || err != nil {
			t.Errorf("%s: %q, %v, %v", path, why, ok, err)
		}
	}
	if _, err := Kind(nil, "").Open(t.Context(), foreign); err == nil || !strings.Contains(err.Error(), "it lacks the table writes") {
		t.Errorf("a foreign database is opened: %v", err)
	}
}

// A thread is put back, forked, and made of one of langgraph dev; its texts are not written over.
func TestKind_lacks(t *testing.T) {
	s := open(t, recorded("agent.db"))
	for op, want := range map[model.Op]string{
		model.OpRestore: "", model.OpFork: "", model.OpUndo: "", model.OpRedo: "", model.OpConvert: "",
		model.OpEdit: store.Cannot("langgraph", model.OpEdit),
	} {
		if why := store.Reason(s, op); why != want {
			t.Errorf("%s: %q, want %q", op, why, want)
		}
	}
}

// Two threads may have ids that read alike; each is a session of its own.
func TestSessions_idsThatReadAlike(t *testing.T) {
	path := copied(t, "subgraph.db")
	execute(t, path, "UPDATE checkpoints SET thread_id = 'persistent/section' WHERE thread_id = 'report' AND checkpoint_ns = ''")
	s := open(t, path)
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, fmt.Sprintf("%.20s %d", info.ID, len(storetest.Headers(t, s, info.ID))))
	}
	slices.Sort(ids)
	want := []string{"persistent 8", "persistent/section 7", "persistent/section' 5", "report/section:3f07a 4", "report/section:b2e6d 4"}
	if !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage(t *testing.T) {
	const one = " WHERE thread_id = 'other' AND checkpoint_id = (SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'other' ORDER BY checkpoint_id LIMIT 1 OFFSET 4)"
	for name, c := range map[string]struct{ statement, fault string }{
		"missing parent":    {"DELETE FROM checkpoints" + one, "missing-parent"},
		"self-parent":       {"UPDATE checkpoints SET parent_checkpoint_id = checkpoint_id" + one, "self-parent"},
		"cycle":             {"UPDATE checkpoints SET parent_checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 'other')" + one, "parent-cycle"},
		"metadata":          {"UPDATE checkpoints SET metadata = '{'" + one, rows.FaultRow},
		"no metadata":       {"UPDATE checkpoints SET metadata = NULL" + one, rows.FaultRow},
		"cut":               {"UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, 300)" + one, store.FaultState},
		"no state":          {"UPDATE checkpoints SET checkpoint = NULL" + one, store.FaultState},
		"another encoding":  {"UPDATE checkpoints SET type = 'json'" + one, store.FaultState},
		"no encoding":       {"UPDATE checkpoints SET type = NULL" + one, store.FaultState},
		"unknown encoding":  {"UPDATE checkpoints SET type = 'yaml'" + one, model.FaultOpaque},
		"writes":            {"UPDATE writes SET value = x'c1'", ""},
		"writes of nothing": {"UPDATE writes SET value = NULL, type = NULL", ""},
		"odd ids":           {"UPDATE checkpoints SET checkpoint_id = 'x' || checkpoint_id, parent_checkpoint_id = 'x' || parent_checkpoint_id", store.FaultUnread}, // what was asked hangs on none of them
		"no channels":       {"UPDATE checkpoints SET checkpoint = x'80'", store.FaultUnread},
		"a number":          {"UPDATE checkpoints SET checkpoint = x'07'", store.FaultUnread},
	} {
		path := copied(t, "agent.db")
		execute(t, path, c.statement)
		s := open(t, path)
		var codes []string
		for _, f := range storetest.Faults(t, s, "other") {
			codes = append(codes, f.Code)
			if f.Meaning == "" || f.Verdict == "" || f.File == "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if c.fault == "" && codes != nil || c.fault != "" && !slices.Contains(codes, c.fault) {
			t.Errorf("%s: the faults are %q, want %q", name, codes, c.fault)
		}
		headers := storetest.Headers(t, s, "other")
		if len(headers) < 8 || !slices.ContainsFunc(headers, func(h model.Header) bool { return h.Head }) {
			t.Errorf("%s: %d snapshots", name, len(headers))
		}
		for _, h := range headers {
			if data, err := s.State(t.Context(), h.Ref()); err == nil && !json.Valid(data) {
				t.Errorf("%s: %s", name, data)
			} else if err == nil {
				about(t, s, h)
			}
		}
	}
}

// TestLive follows a program that keeps the store open and writes to it: a new
// checkpoint appears, and no file of the folder changes by looking.
func TestLive(t *testing.T) {
	if path := os.Getenv("HINDCAST_TEST_LANGGRAPH"); path != "" {
		runsOn(t, path)
		return
	}
	path := copied(t, "agent.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLive$")
	cmd.Env = append(os.Environ(), "HINDCAST_TEST_LANGGRAPH="+path)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	wait := func() {
		t.Helper()
		if line, err := said.ReadString('\n'); err != nil || line != "wrote\n" {
			t.Fatalf("the program says %q, %v", line, err)
		}
	}
	wait()
	s := open(t, path)
	changes, err := s.Features().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Fatal("the program does not have the store open: ", err)
		}
		untouched := storetest.Untouched(t, filepath.Dir(path))
		headers := storetest.Headers(t, s, "other")
		head := headers[len(headers)-1]
		if want := 10 + i; len(headers) != want || !head.Head {
			t.Errorf("%d snapshots, want %d", len(headers), want)
		}
		for _, info := range storetest.Sessions(t, s) {
			storetest.Faults(t, s, info.ID)
		}
		state(t, s, head)
		about(t, s, head)
		if why, ok, err := Kind(nil, "").Recognise(t.Context(), path); !ok || err != nil {
			t.Errorf("not recognised: %s, %v", why, err)
		}
		untouched()
		if _, err := fmt.Fprintln(in, "go on"); err != nil {
			t.Fatal(err)
		}
		wait()
		deadline := time.After(20 * time.Second)
		for len(storetest.Headers(t, s, "other")) == len(headers) {
			select {
			case <-changes:
			case <-deadline:
				t.Fatal("a new checkpoint is never seen")
			}
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the program could not tidy up")
	}
}

// What is new in a session is read alone while it only grows; whatever else happens to
// it is a rewrite. Who follows has what a store has that is opened then.
func TestGrowth(t *testing.T) {
	path := long(t, 30)
	next := 30
	grow := func(n int) func() {
		return func() {
			file := writer(path)
			err := file.Write(t.Context(), func(tx *sqlitefile.Tx) (err error) {
				for range n {
					err = cmp.Or(err, follow(t, tx, next))
					next++
				}
				return err
			})
			if err = errors.Join(err, file.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(statements ...string) []string { return statements }
	const (
		of     = " WHERE thread_id = 'long' AND checkpoint_id "
		newest = of + "= (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 'long')"
		third  = of + "= (SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'long' ORDER BY checkpoint_id LIMIT 1 OFFSET 3)"
	)
	asks := func(where string) string {
		return "INSERT INTO writes SELECT thread_id, checkpoint_ns, checkpoint_id, 'asks', '', -3, '__interrupt__', 'json', '{}' FROM checkpoints" + where
	}
	rowstest.Growth(t, Kind(nil, "").Kind, path, "long", []rowstest.Change{
		{What: "nothing"},
		{What: "one more", Do: grow(1), Fresh: 1},
		{What: "many more", Do: grow(25), Fresh: 25},
		{What: "another session", Statements: run("DELETE FROM checkpoints WHERE thread_id = 'other'")},
		{What: "the newest asks", Statements: run(asks(newest)), Rewritten: true},
		{What: "more after it", Do: grow(2), Fresh: 2},
		{What: "the newest called a tool", Do: func() {
			grow(1)()
			execute(t, path, `UPDATE writes SET type = 'json', value = '[{"type":"ai","content":"","response_metadata":{},"tool_calls":[{"id":"1","name":"weather","args":{}}]}]'
				WHERE thread_id = 'long' AND channel = 'messages' AND checkpoint_id = (SELECT parent_checkpoint_id FROM checkpoints`+newest+")")
		}, Fresh: 1},
		{What: "it ran", Do: grow(1), Rewritten: true},
		{What: "more after that", Do: grow(2), Fresh: 2},
		{What: "an older one asks", Statements: run(asks(third)), Rewritten: true},
		{What: "it was answered", Statements: run("DELETE FROM writes WHERE thread_id = 'long' AND task_id = 'asks'"), Rewritten: true},
		{What: "one is pruned", Statements: run("DELETE FROM checkpoints" + third), Rewritten: true},
		{What: "one is replaced", Statements: run("INSERT OR REPLACE INTO checkpoints SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, json_set(metadata, '$.step', 77) FROM checkpoints" + third), Rewritten: true},
		{What: "the newest is replaced", Statements: run("INSERT OR REPLACE INTO checkpoints SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, json_set(metadata, '$.source', 'fork') FROM checkpoints" + newest), Rewritten: true},
		{What: "a branch", Do: func() {
			grow(1)()
			execute(t, path, "UPDATE checkpoints SET parent_checkpoint_id = (SELECT checkpoint_id FROM checkpoints"+third+")"+newest)
		}, Rewritten: true},
		{What: "more of it", Do: grow(3), Fresh: 3},
		{What: "the newest is gone", Statements: run("DELETE FROM checkpoints" + newest), Rewritten: true},
	})
}

// runsOn adds a checkpoint, and another for each line of the standard input.
func runsOn(t *testing.T, path string) {
	file := writer(path)
	lines := bufio.NewScanner(os.Stdin)
	for i := 0; i == 0 || lines.Scan(); i++ {
		err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO checkpoints SELECT thread_id, checkpoint_ns, ?, checkpoint_id, type, checkpoint, metadata
				FROM checkpoints WHERE thread_id = 'other' ORDER BY checkpoint_id DESC LIMIT 1`, fmt.Sprintf("2f1e6651-8b3a-6005-8008-%012d", i))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("wrote")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzState decodes what a row may hold, and asks all that is asked of it.
func FuzzState(f *testing.F) {
	ctx := context.Background()
	for _, name := range []string{"agent.db", "types.db", "subgraph.db", "delta.db", "js.db", "old-0.2.5-json.db"} {
		file := sqlitefile.New(recorded(name), nil)
		err := file.Read(ctx, func(t *sqlitefile.Tx) error {
			return t.Each(ctx, func(scan func(...any) error) error {
				var encoding string
				var value []byte
				err := scan(&encoding, &value)
				f.Add(encoding, value)
				return err
			}, "SELECT type, checkpoint FROM checkpoints UNION ALL SELECT type, value FROM writes LIMIT 60")
		})
		if err = errors.Join(err, file.Close()); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, encoding string, value []byte) {
		document, err := decodeValue(encoding, value)
		if err != nil {
			return
		}
		if !jsontape.Valid(document) {
			t.Fatalf("%q is not JSON", document)
		}
		c := checkpoint{encoding: encoding, document: document}
		c.nextNodes([]string{"node"})
		var s step
		for index := -4; index < 2; index++ {
			s.addWrite("task", "~__pregel_pull, node", index, "messages", document)
			s.addWrite("other", "", index, "branch:to:node", document)
		}
		var h model.Header
		s.describeStep(&h, false)
		conversation.Opening(document)
	})
}

// Until version 4 of the checkpoint what is sent stands beside the channels.
func TestNext_pendingSends(t *testing.T) {
	for version, want := range map[int]string{1: "s, t, u", 4: ""} {
		document := fmt.Sprintf(`{"v":%d,"channel_values":{},"channel_versions":{"n":"1"},"pending_sends":[{"$py":"langgraph.types.Send","value":["s",{"k":1}]},
			{"lc":2,"type":"constructor","id":["langgraph","constants","Send"],"args":[],"kwargs":{"node":"t","arg":1}},{"lg_name":"Send","node":"u","args":{}}]}`, version)
		if _, next, _ := (&checkpoint{document: []byte(document)}).nextNodes(nil); strings.Join(next, ", ") != want {
			t.Errorf("version %d: %q, want %q", version, next, want)
		}
	}
}

// Which nodes run next is told by the channels that have a value which their node has
// not seen, in the spellings of both languages.
func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		values, versions, seen string
		next                   string
		python                 bool
	}{
		"an edge":           {`{"branch:to:b":null}`, `{"branch:to:b":"2"}`, `{"a":{"branch:to:a":"1"}}`, `["b"]`, true},
		"seen":              {`{"branch:to:b":null}`, `{"branch:to:b":"2"}`, `{"b":{"branch:to:b":"2"}}`, `[]`, true},
		"seen before":       {`{"branch:to:b":null}`, `{"branch:to:b":"3"}`, `{"b":{"branch:to:b":"2"}}`, `["b"]`, true},
		"no value":          {`{}`, `{"branch:to:b":"2"}`, `{}`, `[]`, true},
		"a join that lacks": {`{"join:a+b:c":{"$py":"builtins.set","value":["a"]}}`, `{"join:a+b:c":"2"}`, `{}`, `[]`, true},
		"a join":            {`{"join:a+b:c":{"$py":"builtins.set","value":["b","a"]}}`, `{"join:a+b:c":"2"}`, `{}`, `["c"]`, true},
		"a join of JS":      {`{"join:a+b:c":["b","a"]}`, `{"join:a+b:c":2}`, `{}`, `["c"]`, false},
		"sends":             {`{"__pregel_tasks":[{"$py":"langgraph.types.Send","value":["s",{"k":1}]},{"$py":"langgraph.types.Send","value":["s",null]}]}`, `{"__pregel_tasks":"2"}`, `{}`, `["s","s"]`, true},
		"sends of JS":       {`{"__pregel_tasks":[{"lg_name":"Send","node":"s","args":{}}]}`, `{"__pregel_tasks":2}`, `{}`, `["s"]`, false},
		"input":             {`{"__start__":1}`, `{"__start__":"1"}`, `{"__input__":{}}`, `["flow"]`, true},
		"input and more":    {`{"__start__":1,"branch:to:b":null}`, `{"__start__":"1","branch:to:b":"1"}`, `{}`, `["__start__","b"]`, true},
		"an older node":     {`{"a":"a"}`, `{"a":"2"}`, `{}`, `["what follows a"]`, true},
		"a deferred node":   {`{"branch:to:b":[null,false],"branch:to:c":null}`, `{"branch:to:b":"2","branch:to:c":"2"}`, `{}`, `["c"]`, true},
		"its time has come": {`{"branch:to:b":[null,true],"join:a+c:b":[{"$py":"builtins.set","value":["a","c"]},true]}`, `{"branch:to:b":"3","join:a+c:b":"3"}`, `{}`, `["b"]`, true},
		"a deferred join":   {`{"join:a+b:c":[{"$py":"builtins.set","value":["a","b"]},false]}`, `{"join:a+b:c":"2"}`, `{}`, `[]`, true},
		"it lacks, too":     {`{"join:a+b:c":[["a"],true]}`, `{"join:a+b:c":2}`, `{}`, `[]`, false},
		"another shape":     {`[1]`, `7`, `"x"`, `[]`, true},
		"odd sends":         {`{"__pregel_tasks":[{},7,{"value":[]}]}`, `{"__pregel_tasks":"2"}`, `{}`, `["","",""]`, true},
	} {
		document := fmt.Sprintf(`{"channel_values":%s,"channel_versions":%s,"versions_seen":%s}`, c.values, c.versions, c.seen)
		pulled, sent, javaScript := (&checkpoint{document: []byte(document)}).nextNodes([]string{"flow"})
		got, err := json.Marshal(slices.AppendSeq([]string{}, slices.Values(slices.Sorted(slices.Values(slices.Concat(pulled, sent))))))
		if err != nil || string(got) != c.next || javaScript == c.python {
			t.Errorf("%s: %s, %v, want %s", name, got, !javaScript, c.next)
		}
	}
}

// A torn page costs the checkpoints on it.
func TestDamage_pages(t *testing.T) {
	rowstest.Torn(t, Kind(nil, "").Kind, recorded("agent.db"), 1)
}

// What all states take follows what is new in them, and the newest alone is read with what was written on it.
func TestWeave(t *testing.T) {
	k := kind
	k.Format = inFile{format{layout: inSQLite{}}}
	weavetest.Weaves(t, k, "long", 1, long)
}

// The list of a file is read by other queries than its logs.
func TestList_isThatOfTheLogs(t *testing.T) {
	for _, name := range []string{"agent.db", "delta.db", "encrypted.db", "failed.db", "functional.db", "js.db", "old-0.2.5-json.db", "pickle.db", "subgraph.db", "types.db"} {
		k, path := kind, recorded(name)
		k.Format = format{layout: inSQLite{}}
		want := storetest.Sessions(t, storetest.OpenStore(t, k.Kind(nil, "").Kind, path))
		if got := storetest.Sessions(t, open(t, path)); len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s lists\n%+v\nits logs are\n%+v", name, got, want)
		}
	}
}

func TestList_readsNoCheckpoint(t *testing.T) {
	path := copied(t, "agent.db")
	want := storetest.Sessions(t, open(t, path))
	execute(t, path, "UPDATE checkpoints SET checkpoint = zeroblob(length(checkpoint))")
	if got := storetest.Sessions(t, open(t, path)); !slices.Equal(got, want) {
		t.Errorf("without its checkpoints the file lists\n%+v\nwant\n%+v", got, want)
	}
}
