package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindcast/model"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/kinds/mapped"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
)

// published are the schemas in the folder, as any validator reads them.
func published(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob(filepath.Join("schema", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, file := range files {
		s, err := c.Compile(file)
		if err != nil {
			t.Fatal(err)
		}
		schemas[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return schemas
}

// documentOf returns the document that a command line answers with.
func documentOf(args []string) string {
	has := func(flag string) bool { return slices.Contains(args, flag) }
	switch args[0] {
	case "diff":
		switch {
		case has("--patch"):
			return "patch"
		case has("--stat"):
			return "stat"
		}
	case "diverge":
		if has("--by") || has("--all") {
			return "runs"
		}
	case "export", "report":
		return "tally"
	case "files":
		switch {
		case has("--by"):
			return "filesums"
		case has("--patch"):
			return "filepatch"
		case has("--before"):
			return "filetext"
		}
	case "grep":
		if has("--count") || has("-l") {
			return "matches"
		}
	case "import":
		if has("--dry-run") {
			return "preview"
		}
		return "tally"
	case "keep":
		if has("verify") {
			return "verified"
		}
	case "demo":
		if has("--live") {
			return "live"
		}
		return "tally"
	case "stats":
		if has("--by") {
			return "bill"
		}
	case "restore", "fork", "undo", "redo", "edit", "convert", "repair", "purge", "run":
		if has("--dry-run") {
			return "plan"
		}
		return "receipt"
	}
	return args[0]
}

// answers holds answers of command lines to the schemas of their documents.
type answers struct {
	schemas map[string]*jsonschema.Schema
	// seen are the members that were met, as README names them: "log [].reason.at".
	seen map[string]bool
}

func (a *answers) conform(t *testing.T, name, out string) {
	t.Helper()
	schema := a.schemas[name]
	if schema == nil {
		t.Errorf("the document %s has no schema", name)
		return
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	if err != nil {
		t.Errorf("%s: %v in %.200s", name, err, out)
		return
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	a.note(schema, document, name+" ")
}

// note notes the members of a value that its schema describes.
func (a *answers) note(s *jsonschema.Schema, value any, below string) {
	if s.Ref != nil {
		a.note(s.Ref, value, below)
	}
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if of := s.Items2020; of != nil {
				a.note(of, element, strings.TrimSuffix(below, ".")+"[].")
			}
		}
	case map[string]any:
		for member, of := range s.Properties {
			if inside, there := value[member]; there {
				a.seen[below+member] = true
				a.note(of, inside, below+member+".")
			}
		}
	}
}

// members calls member for each member that a schema describes.
func members(s *jsonschema.Schema, below string, member func(string)) {
	if s.Ref != nil {
		members(s.Ref, below, member)
	}
	if s.Items2020 != nil {
		members(s.Items2020, strings.TrimSuffix(below, ".")+"[].", member)
	}
	for name, of := range s.Properties {
		member(below + name)
		members(of, below+name+".", member)
	}
}

// unmet are members that no store of these tests has. TestStats_goesOnBehindWhatCannotBeRead holds the unread ones of bill,
// TestSum_CostText an agent's own dollars, and TestStore_expires when a session is deleted.
var unmet = []string{
	"bill rows[].left.ownCost",
	"bill rows[].left.ownPriced",
	"bill total.left.ownCost",
	"bill total.left.ownPriced",
	"bill unread",
	"bill unreadStates",
	"bill unread[].error",
	"bill unread[].sessionId",
	"bill unread[].store",
	"bisect steps[].alias",
	"bisect steps[].attributes",
	"doctor [].sdk",
	"filelines [].candidates[].thrownAway",
	"journal [].broken",
	"matches [].project",
	"messages messages[].redacted",
	"plan sdk",
	"preview preview[].first[].alias",
	"preview preview[].first[].attributes",
	"preview preview[].first[].reason",
	"preview preview[].first[].reason.at",
	"preview preview[].first[].reason.kind",
	"preview preview[].first[].reason.target",
	"preview preview[].first[].reason.targetIndex",
	"preview preview[].first[].reason.text",
	"runs runs[].unreadStates",
	"sessions [].expiresAt", "sessions [].goneSince",
	"show counted.premiumRequests",
	"show runDurationMs",
	"show runTokens",
	"show runTokens.cacheRead",
	"show runTokens.cacheWrite",
	"show runTokens.input",
	"show runTokens.output",
	"show runTokens.total",
	"show timeToFirstByteMs",
	"show tokens.cacheWrite",
	"stats counted.premiumRequests",
	"stats snapshots[].unread",
	"survey faults[].next",
	"survey faults[].sdk",
	"survey faults[].store",
	"why call.refused",
}

// Real output of every command is as the schemas say, and what they say is met.
func TestSchema_describesWhatCommandsPrint(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a thousand commands, one after the other")
	}
	a := &answers{published(t), map[string]bool{}}
	t.Run("every command", a.everyCommand)
	t.Run("real stores", a.realStores)
	t.Run("what moves sessions", a.moves)
	var not []string
	for name, s := range a.schemas {
		if name == "header" || name == "fault" || name == "sum" || name == "spent" || name == "share" || name == "counted" || name == "line" || name == "writer" || name == "run" || name == "live" { // elements of others; and what takes a minute
			continue
		}
		members(s, name+" ", func(member string) {
			if !a.seen[member] {
				not = append(not, member)
			}
		})
	}
	slices.Sort(not)
	if !slices.Equal(not, unmet) {
		t.Errorf("no command printed %q", not)
	}
}

// withRemarks gives rows an alias and attributes.
func withRemarks(rows iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range rows {
			row.Header.Alias, row.Header.Attributes = "row-"+row.Header.ID, `{"status":"completed"}`
			if !yield(row, err) {
				return
			}
		}
	}
}

func (a *answers) everyCommand(t *testing.T) {
	for name, rows := range map[string]*session{"demo": start(t, sample.Rows()), "hostile": start(t, hostile()), "steps": start(t, withRemarks(turns()))} {
		t.Run(name, func(t *testing.T) {
			c := rows
			var session string
			for info := range c.store.Sessions(t.Context()) {
				session = info.ID
				for h := range c.store.Headers(t.Context(), session) {
					label := model.Label{Session: session, ID: h.ID, Visit: h.Visit, Name: fmt.Sprintf("visit-%d", h.Visit), Note: "a note"}
					if _, err := c.Labels.Set(t.Context(), c.store, label); err != nil {
						t.Fatal(err)
					}
				}
			}
			seen := map[string]bool{}
			for _, args := range everyCommand(session) {
				if args[0] == "__complete" || args[0] == "export" || slices.Contains(args, "--state") || args[0] == "show" && slices.Contains(args, "--at") {
					continue
				}
				args = append(args, "--json")
				code, out, _ := c.run(t, args...)
				if code == 0 || code == 3 {
					document := documentOf(args)
					a.conform(t, document, out)
					seen[document] = true
				}
			}
			for _, document := range []string{"sessions", "log", "show", "diff", "history", "blame", "find", "diverge", "stats", "patch", "stat", "messages", "context", "checkpoint", "plan", "receipt", "journal", "doctor"} {
				if !seen[document] && !(name == "steps" && (document == "checkpoint" || document == "context")) {
					t.Errorf("no command printed %s", document)
				}
			}
		})
	}
}

// realKinds are the kinds that read the stores of frameworks.
func realKinds() store.Kinds {
	return kinds.All(nil, "")
}

// testdataStores returns what may be a store below testdata.
func testdataStores(t *testing.T) (stores []string) {
	for _, framework := range []string{"strands", "genkit", "langgraph", "agent-framework", "crewai", "adk", "openaiagents", "mastra", "llamaindex", "agno", "dbos", "trajectory", "coding", "files"} {
		list, err := filepath.Glob(filepath.Join("..", "testdata", framework, "*"))
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, list...)
	}
	return stores
}

func (a *answers) realStores(t *testing.T) {
	stores := testdataStores(t)
	config := t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(config, "hindcast"), 0o700), os.WriteFile(filepath.Join(config, "hindcast", "prices.toml"),
		[]byte("currency = \"USD\"\n[[price]]\nmodel = \"scripted-*\"\ninput = 3\noutput = 15\n"), 0o600))
	unread := filepath.Join(t.TempDir(), "a.jsonl") // a record with a text that no message shows
	err = errors.Join(err, os.WriteFile(unread, []byte(`{"id":"a","sessionId":"s","index":0,"createdAt":"2026-11-28T00:00:00Z","event":"turn end","note":"by another program","state":{}}`+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	stores = append(stores, unread, filepath.Dir(unread))
	examined := 0
	for _, dir := range stores {
		c := start(t, sample.Rows())
		c.Kinds = realKinds()
		c.Getenv = func(name string) string { return map[string]string{"XDG_CONFIG_HOME": config}[name] }
		code, out, _ := c.run(t, "sessions", dir, "--json")
		if code != 0 {
			continue // a folder of something else
		}
		examined++
		a.conform(t, "sessions", out)
		var sessions []struct{ ID string }
		if err := json.Unmarshal([]byte(out), &sessions); err != nil {
			t.Fatal(err)
		}
		if _, out, _ := c.run(t, "doctor", dir, "--json"); strings.HasPrefix(out, "{") { // the one store is in the folder
			a.conform(t, "survey", out)
		} else if out != "" {
			a.conform(t, "doctor", out)
		}
		for _, word := range ledger.ByWords() {
			line := []string{"stats", dir, "--by", word, "--since", "2020-01-01", "--json"}
			if code, out, _ := c.run(t, line...); code == 0 {
				a.conform(t, documentOf(line), out)
			}
		}
		for _, s := range sessions {
			for _, line := range [][]string{
				{"log", dir, s.ID}, {"why", dir, s.ID}, {"why", dir, s.ID, "--at", "/messages"}, {"show", dir, s.ID, "head"}, {"show", dir, s.ID, "#0"}, {"diff", dir, s.ID, "head"}, {"diff", dir, s.ID, "head", "--stat"},
				{"history", dir, s.ID, "/messages/1"}, {"history", dir, s.ID, "/state"}, {"blame", dir, s.ID}, {"blame", dir, s.ID, "#0", "/messages"}, {"find", dir, s.ID, ".messages | length > 1"}, {"find", dir, s.ID, ".state == 1", "--all"}, {"stats", dir, s.ID, "--snapshots", "--prune"},
				{"grep", "e", dir, s.ID}, {"grep", "e", dir, s.ID, "--all"}, {"diverge", dir, s.ID, "#0", "head"}, {"diverge", dir, s.ID, sessions[0].ID}, {"diverge", dir, s.ID, sessions[0].ID, "--by", ".failed"}, {"check", dir, s.ID},
				{"files", dir, s.ID}, {"files", dir, s.ID, "head..#0"}, {"files", dir, s.ID, "--by", "file"}, {"files", dir, s.ID, "--patch"}, {"commands", dir, s.ID},
				{"messages", dir, s.ID, "head"}, {"context", dir, s.ID}, {"context", dir, s.ID, "head..#1"}, {"checkpoint", dir, s.ID, "head"}, {"restore", dir, s.ID, "#0", "--dry-run"},
			} {
				code, out, _ := c.run(t, append(line, "--json")...)
				if code == 0 || code == 1 && slices.Contains(line, "--patch") { // a patch may lack files
					a.conform(t, documentOf(line), out)
				}
			}
		}
	}
	if examined < 5 {
		t.Errorf("%d stores in %q", examined, stores)
	}
	c := start(t, sample.Rows())
	c.Kinds = realKinds()
	files := filepath.Join("..", "testdata", "files")
	for _, line := range [][]string{
		{"files", filepath.Join("..", "testdata", "files", "claude-code"), filepath.Join(files, "odd"), "--path", "main.go"},
		{"files", filepath.Join(files, "odd"), "3111", "--before", "4", "--path", "main.go", "-o", filepath.Join(t.TempDir(), "main.go")},
	} {
		code, out, wrong := c.run(t, append(line, "--json")...)
		if code != 0 {
			t.Errorf("%q: exit %d, %s", line, code, wrong)
		}
		a.conform(t, documentOf(line), out)
	}
}

// The demo, an import, and a directory that is no store answer with documents of
// their own.
func (a *answers) moves(t *testing.T) {
	dir := t.TempDir()
	c := start(t, sample.Rows())
	c.Create = func(ctx context.Context, path string) (store.Store, error) { return sqlite.Create(ctx, path) }
	c.Kinds = realKinds()
	c.Added = home.Added{File: filepath.Join(dir, "stores")}
	c.DecodeMapped = func(ctx context.Context, words string, in io.Reader, paths []string, skipped func(int)) (iter.Seq2[store.Row, error], error) {
		m, err := mapped.ParseMap(words)
		return mapped.Read(ctx, mapped.From(in, paths...), m, skipped), err
	}
	written := newAuthor(t, 1)
	written.files = written.files[:2]
	for written.marks < 150 {
		written.round()
	}
	written.files = written.files[:1]
	for range 12 {
		written.roundSameText()
	}
	written.session(0, written.at, written.files[0])
	written.save()
	store, rows, moved := filepath.Join(dir, "hindcast-demo.db"), filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "moved.jsonl")
	prompted := filepath.Join(dir, "prompted.jsonl")
	files, damaged := filepath.Join(t.TempDir(), "sessions"), t.TempDir()
	session := filepath.Join(files, "session_basic")
	long := time.Date(2026, time.January, 2, 0, 0, 0, 0, time.UTC)
	err := os.CopyFS(session, os.DirFS(filepath.Join("..", "testdata", "strands", "python-file", "session_basic")))
	err = errors.Join(err, filepath.WalkDir(session, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, long, long)) // not written to for long
	}))
	rules, loop := filepath.Join(t.TempDir(), "rules.toml"), filepath.Join(t.TempDir(), "loop.jsonl")
	for name, text := range map[string]string{
		loop:  sessionOfLoop() + "\n" + strings.Replace(sessionOfLoop(), `{"id":"a","sessionId":"s"`, `{"id":"b","sessionId":"t"`, 1),
		rules: "[[rule]]\nname = \"fails\"\nmust = 'error(\"no\")'",
		filepath.Join(files, "session_basic.bak"): "left by an editor",
		filepath.Join(damaged, "damaged.jsonl"):   `{"id":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","parentId":"no","sessionId":"s","index":1,"turnIndex":0,"event":0,"state":{}}`,
		prompted: `{"system_prompt":"a","messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"text":"y"}]}]}
{"system_prompt":"b","messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"text":"y"}]},{"role":"user","content":[{"text":"z"}]},{"role":"assistant","content":[{"text":"z"}]}]}`,
		moved: `{"id":"m0","sessionId":"moved","index":0,"turnIndex":0,"event":0,"state":{"list":[{"name":"first","of":[1,2,3]},{"name":"second","of":[4,5,6]},{"name":"third","of":[7,8,9]}]}}
{"id":"m1","parentId":"m0","sessionId":"moved","index":1,"turnIndex":1,"event":0,"state":{"list":[{"name":"third","of":[7,8,9]},{"name":"first","of":[1,2,3]},{"name":"second","of":[4,5,6]}]}}`,
	} {
		err = errors.Join(err, os.WriteFile(name, []byte(text+"\n"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		document string
		args     []string
	}{
		{"tally", []string{"demo", dir}},
		{"label", []string{"label", store, "trip-planner", "#0", "start", "--note", "here it began"}},
		{"labels", []string{"labels", store}},
		{"sessions", []string{"sessions", dir}},
		{"grep", []string{"grep", "Lyon", dir}},
		{"tally", []string{"import", "--map", "state=$,session='prompted'", prompted, store}},
		{"context", []string{"context", store, "prompted", "#0..#1"}},
		{"grep", []string{"grep", "question", filepath.Join("..", "testdata", "coding", "openhands"), "--sent"}},
		{"matches", []string{"grep", "Lyon", dir, "--count"}},
		{"matches", []string{"grep", "e", files, "-l"}},
		{"tally", []string{"export", store, "-o", rows}},
		{"tally", []string{"export", store, "trip-planner", "--only", "2..6.1", "--redact", "--redact-path", "/cart/total", "-o", filepath.Join(dir, "part.jsonl")}},
		{"tally", []string{"export", filepath.Join("..", "testdata", "coding", "openhands"), "--redact", "-o", filepath.Join(dir, "prompts.jsonl")}},
		{"tally", []string{"report", store, "trip-planner", "-o", filepath.Join(dir, "trip.html")}},
		{"preview", []string{"import", rows, store, "--dry-run"}},
		{"tally", []string{"import", rows, store}},
		{"tally", []string{"import", moved, store}},
		{"preview", []string{"import", moved, store, "--map", "where=id==m1,session='mapped'", "--dry-run"}},
		{"tally", []string{"import", moved, store, "--map", "where=id==m1,session='mapped'"}},
		{"tally", []string{"import", "testdata/two.jsonl", store}},
		{"journal", []string{"journal", store}},
		{"plan", []string{"undo", store, "--dry-run"}},
		{"receipt", []string{"restore", store, "trip-planner", "#5", "--yes"}},
		{"journal", []string{"journal", store}},
		{"find", []string{"find", store, "trip-planner", ".cart.total | if . > 200 then error else . end", "--all"}},
		{"label", []string{"label", store, "trip-planner", "#4", "dear", "--note", "from here on"}},
		{"bisect", []string{"bisect", store, "trip-planner", "--good", "1", "--bad", "11.2", "--jq", ".cart.total < 210"}},
		{"bisect", []string{"bisect", store, "trip-planner", "--good", "1", "--bad", "4", "--jq", ".cart.total == 0 or error"}},
		{"bisect", []string{"bisect", store, "moved", "--good", "0", "--jq", "false"}},
		{"plan", []string{"restore", store, "trip-planner", "#7.1", "--dry-run"}},
		{"show", []string{"show", store, "trip-planner", "#6.1"}},
		{"diff", []string{"diff", store, "moved", "head"}},
		{"blame", []string{"blame", store, "trip-planner", "#7.1"}},
		{"diverge", []string{"diverge", store, "moved", "#0", "head"}},
		{"diverge", []string{"diverge", store, "trip-planner", "#11.1", "#7.1"}},
		{"patch", []string{"diff", store, "moved", "head", "--patch"}},
		{"plan", []string{"fork", store, "trip-planner", "head", "--as", "other", "--dry-run"}},
		{"receipt", []string{"fork", store, "trip-planner", "head", "--as", "other", "--yes"}},
		{"plan", []string{"undo", store, "--dry-run"}},
		{"receipt", []string{"restore", files, "basic", "#0", "--yes", "--anyway"}},
		{"journal", []string{"journal", files}},
		{"doctor", []string{"doctor", files}},
		{"doctor", []string{"doctor", files, store}},
		{"diverge", []string{"diverge", files, store, "basic", "trip-planner"}},
		{"sessions", []string{"sessions", files, store}},
		{"survey", []string{"doctor", dir}},
		{"survey", []string{"doctor", damaged}},
		{"added", []string{"home", "add", store}},
		{"added", []string{"home", "add", "postgres://me@127.0.0.1:1/agents"}},
		{"home", []string{"home"}},
		{"added", []string{"home", "remove", store}},
		{"plan", []string{"continue", store, "trip-planner", "head", "--in", "pi", "--to", t.TempDir(), "--dry-run"}},
		{"log", []string{"log", loop, "s", "--flags"}},
		{"check", []string{"check", loop, "--rules", rules}},
		{"runs", []string{"diverge", loop, "--all"}},
		{"keep", []string{"keep", files, store}},
		{"verified", []string{"keep", "verify"}},
		{"filelines", []string{"blame", written.project, filepath.Join(written.repo, written.files[0])}},
	} {
		code, out, err := c.run(t, append(test.args, "--json")...)
		if code != 0 && code != 3 {
			t.Fatalf("%q: exit %d, %s", test.args, code, err)
		}
		a.conform(t, test.document, out)
	}
}

// What `hindcast schema` prints stands alone: it describes the same documents
// without the other files.
func TestSchema_isPrintedWhole(t *testing.T) {
	c := start(t, sample.Rows())
	_, list, _ := c.run(t, "schema", "--json")
	var names []string
	if err := json.Unmarshal([]byte(list), &names); err != nil || len(names) != len(published(t)) {
		t.Fatalf("%v: %s", err, list)
	}
	_, log, _ := c.run(t, "log", "mem:", "trip-planner", "--json")
	for _, name := range names {
		code, out, said := c.run(t, "schema", name)
		if code != 0 {
			t.Fatal(said)
		}
		file := filepath.Join(t.TempDir(), "alone.json")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		s, err := compiler.Compile(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "log" {
			(&answers{map[string]*jsonschema.Schema{"log": s}, map[string]bool{}}).conform(t, "log", log)
			wrong := strings.Replace(log, `"index":`, `"undocumented":1,"index":`, 1)
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
			if err != nil || s.Validate(document) == nil {
				t.Errorf("a member that is not documented passes: %v", err)
			}
		}
	}
	if code, _, said := c.run(t, "schema", "nothing"); code != 2 || !strings.Contains(said, `no document is called "nothing"`) {
		t.Errorf("exit %d, %s", code, said)
	}
}

// Every member of every schema says what it is.
func TestSchema_describesEachMember(t *testing.T) {
	for name, s := range published(t) {
		if s.Description == "" || s.Title == "" {
			t.Errorf("%s has no title and description", name)
		}
		members := 0
		var walk func(path string, s *jsonschema.Schema)
		walk = func(path string, s *jsonschema.Schema) {
			if s == nil {
				return
			}
			for member, of := range s.Properties {
				members++
				if of.Description == "" {
					t.Errorf("%s: %s/%s is not described", name, path, member)
				}
				walk(path+"/"+member, of)
			}
			if of := s.Items2020; of != nil {
				walk(path+"/-", of)
			}
		}
		walk("", s)
		if members == 0 && s.Items2020 == nil {
			t.Errorf("%s has no members", name)
		}
	}
}

// The words of events and marks in the schema are those of model.
func TestSchema_namesTheWordsOfTheModel(t *testing.T) {
	header := published(t)["header"]
	var marks []string
	for _, v := range header.Properties["marks"].Items2020.Enum.Values {
		marks = append(marks, fmt.Sprint(v))
	}
	if want := (^model.Marks(0)).Words(); !slices.Equal(marks, want) {
		t.Errorf("marks %q, not %q", marks, want)
	}
	for id := range model.EventIDs() {
		if !strings.Contains(header.Properties["event"].Description, id) {
			t.Errorf("event %q is not named", id)
		}
	}
}
