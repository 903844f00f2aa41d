package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/demo"
	"hindcast/store/genkit"
	"hindcast/store/sqlite"
	"hindcast/store/strands"
	"hindcast/store/strandssnapshots"
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
	case "export":
		return "tally"
	case "import":
		if has("--dry-run") {
			return "preview"
		}
		return "tally"
	case "demo":
		if has("--live") {
			return "live"
		}
		return "tally"
	case "restore", "fork", "undo", "redo", "edit", "convert", "repair", "purge", "run":
		if has("--dry-run") {
			return "plan"
		}
		return "receipt"
	}
	return args[0]
}

// conforms holds the answer of a command line to the schema of its document.
func conforms(t *testing.T, schemas map[string]*jsonschema.Schema, name, out string) {
	t.Helper()
	schema := schemas[name]
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
}

func TestSchema_describesWhatEveryCommandPrints(t *testing.T) {
	schemas := published(t)
	for name, rows := range map[string]*session{"demo": start(t, demo.Rows()), "hostile": start(t, hostile()), "steps": start(t, turns())} {
		t.Run(name, func(t *testing.T) {
			c := rows
			var session string
			for info := range c.store.Sessions(t.Context()) {
				session = info.ID
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
					conforms(t, schemas, document, out)
					seen[document] = true
				}
			}
			for _, document := range []string{"sessions", "log", "show", "diff", "patch", "stat", "messages", "checkpoint", "plan", "receipt", "journal", "doctor"} {
				if !seen[document] && !(document == "checkpoint" && name == "steps") {
					t.Errorf("no command printed %s", document)
				}
			}
		})
	}
}

// realKinds are the kinds that read the stores of frameworks.
func realKinds() store.Kinds {
	return store.Kinds{strands.Kind(nil), strandssnapshots.Kind(nil), genkit.Kind(nil), sqlite.Kind()}
}

func TestSchema_describesRealStores(t *testing.T) {
	schemas := published(t)
	var stores []string
	for _, framework := range []string{"strands", "genkit"} {
		list, err := filepath.Glob(filepath.Join("..", "testdata", framework, "*"))
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, list...)
	}
	examined := 0
	for _, dir := range stores {
		c := start(t, demo.Rows())
		c.Kinds = realKinds()
		code, out, _ := c.run(t, "sessions", dir, "--json")
		if code != 0 {
			continue // a folder of something else
		}
		examined++
		conforms(t, schemas, "sessions", out)
		var sessions []struct{ ID string }
		if err := json.Unmarshal([]byte(out), &sessions); err != nil {
			t.Fatal(err)
		}
		if _, out, _ := c.run(t, "doctor", dir, "--json"); out != "" {
			conforms(t, schemas, "doctor", out)
		}
		for _, s := range sessions {
			for _, line := range [][]string{
				{"log", dir, s.ID}, {"show", dir, s.ID, "head"}, {"show", dir, s.ID, "#0"}, {"diff", dir, s.ID, "head"}, {"diff", dir, s.ID, "head", "--stat"},
				{"messages", dir, s.ID, "head"}, {"checkpoint", dir, s.ID, "head"}, {"restore", dir, s.ID, "#0", "--dry-run"},
			} {
				code, out, _ := c.run(t, append(line, "--json")...)
				if code == 0 {
					conforms(t, schemas, documentOf(line), out)
				}
			}
		}
	}
	if examined < 5 {
		t.Errorf("%d stores in %q", examined, stores)
	}
}

// The demo, an import, and a directory that is no store answer with documents of
// their own.
func TestSchema_describesWhatMovesSessions(t *testing.T) {
	schemas := published(t)
	dir := t.TempDir()
	c := start(t, demo.Rows())
	c.Create = func(ctx context.Context, path string) (store.Store, error) { return sqlite.Create(ctx, path) }
	c.Kinds = realKinds()
	store, rows := filepath.Join(dir, "hindcast-demo.db"), filepath.Join(dir, "rows.jsonl")
	for _, test := range []struct {
		document string
		args     []string
	}{
		{"tally", []string{"demo", dir}},
		{"tally", []string{"export", store, "-o", rows}},
		{"preview", []string{"import", rows, store, "--dry-run"}},
		{"tally", []string{"import", rows, store}},
		{"receipt", []string{"restore", store, "trip-planner", "#5", "--yes"}},
		{"journal", []string{"journal", store}},
		{"survey", []string{"doctor", dir}},
	} {
		code, out, err := c.run(t, append(test.args, "--json")...)
		if code != 0 {
			t.Fatalf("%q: exit %d, %s", test.args, code, err)
		}
		conforms(t, schemas, test.document, out)
	}
}

// What `hindcast schema` prints stands alone: it describes the same documents
// without the other files.
func TestSchema_isPrintedWhole(t *testing.T) {
	c := start(t, demo.Rows())
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
			conforms(t, map[string]*jsonschema.Schema{"log": s}, "log", log)
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
			if of, ok := s.Items2020, s.Items2020 != nil; ok {
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
