package kinds_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/kinds/mapped"
	"hindcast/store/media/pg"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// spans is the map of a file of OpenTelemetry's, as its page has it.
const spans = "rows=$.resourceSpans[*].scopeSpans[*].spans[*],where=attributes[?@.key=='gen_ai.operation.name'].value.stringValue==chat," +
	"session='chat',id=spanId,time=startTimeUnixNano,event=name," +
	"state=attributes[?@.key=='gen_ai.input.messages'].value.stringValue|fromjson," +
	"answer=attributes[?@.key=='gen_ai.output.messages'].value.stringValue|fromjson"

// conforming is a store that passes the suites.
type conforming struct {
	store.Kind
	address string
}

// stores are those of testdata, and the demo where a kind is Hindcast's own: some of each
// kind, and of what a map reads.
func stores(t *testing.T) (list []conforming) {
	t.Helper()
	all := addresses(t)
	for _, k := range allKinds {
		// One that is on a server opens stores of the others: their own packages hold them to the suites.
		if len(all[k.Name]) == 0 && k.At == nil && !slices.Equal(k.Schemes, pg.Schemes) {
			t.Errorf("there is no store of kind %s", k.Name)
		}
		for _, address := range all[k.Name] {
			list = append(list, conforming{k, address})
		}
	}
	for name, words := range map[string]string{
		"checkpoints.jsonl": "id=checkpoint_id,parent=parent_checkpoint_id,time=ts,state=channel_values,session=thread_id,event=metadata.source",
		"states":            "",
		"ai-sdk.json":       "messages=append,id=id",
		"otlp.jsonl":        spans,
		"pydantic-ai.json":  "session=conversation_id,time=timestamp,event=kind,title=parts[0].content",
	} {
		m, err := mapped.ParseMap(words)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, conforming{mapped.Kind(m), filepath.Join(testdata, "mapped", name)})
	}
	return list
}

// addresses are the stores of each kind, by its name.
func addresses(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, r := range realStores {
		all[r.kind] = append(all[r.kind], filepath.Join(testdata, filepath.FromSlash(r.path)))
	}
	for kind, at := range agentStores(t) {
		all[kind] = append(all[kind], filepath.Join(testdata, filepath.FromSlash(at)))
	}
	demo := fake.New()
	if _, err := demo.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	native, err := sqlite.Create(t.Context(), filepath.Join(dir, "demo.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := native.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	if err := native.Close(); err != nil {
		t.Fatal(err)
	}
	all["sqlite"] = []string{native.Address()}
	var lines bytes.Buffer
	if _, err := jsonl.Write(&lines, store.Rows(t.Context(), demo)); err != nil {
		t.Fatal(err)
	}
	portable := filepath.Join(dir, "demo.jsonl")
	if err := os.WriteFile(portable, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	all["jsonl"] = []string{portable}
	handler, err := serve.New([]serve.Agent{{Name: "demo", Store: demo}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	all["reflection"] = []string{server.URL}
	return all
}

// agentStores are the stores of coding agents below testdata, by their kinds, after which
// their folders are called: a folder, or the one file in it.
func agentStores(t *testing.T) map[string]string {
	t.Helper()
	agents, err := os.ReadDir(filepath.Join(testdata, "coding"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range agents {
		inside, err := os.ReadDir(filepath.Join(testdata, "coding", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if all[e.Name()] = "coding/" + e.Name(); len(inside) == 1 && inside[0].Type().IsRegular() && filepath.Ext(inside[0].Name()) == ".md" {
			all[e.Name()] += "/" + inside[0].Name()
		}
	}
	return all
}

// databaseKinds returns the kinds that keep databases, by the stores of each, but for crewAI, which keeps files too.
func databaseKinds(t *testing.T) map[string]bool {
	t.Helper()
	are := map[string]bool{}
	for kind, all := range addresses(t) {
		if kind == "crewai" { // its databases are read from a disk alone, and its files everywhere
			continue
		}
		for _, at := range all {
			err := filepath.WalkDir(at, func(name string, e fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) { // the address of a server
					return fs.SkipAll
				}
				if err != nil || e.IsDir() {
					return err
				}
				text, err := os.ReadFile(name)
				if err == nil && bytes.HasPrefix(text, []byte("SQLite format 3\x00")) { // the index of Codex is one too
					id, err := allKinds.Identify(t.Context(), name)
					are[kind] = are[kind] || err == nil && id.Name == kind
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return are
}

// Every kind of the list passes the suite of reading.
func TestKinds_read(t *testing.T) {
	short := map[string]bool{} // with -short, one store of each kind in each form
	for _, s := range stores(t) {
		form := s.Name + filepath.Ext(s.address)
		if testing.Short() && short[form] {
			continue
		}
		short[form] = true
		t.Run(s.Name+"/"+filepath.Base(s.address), func(t *testing.T) {
			t.Parallel()
			storetest.Read(t, s.Kind, s.address)
		})
	}
}

// Every kind that can put a session back passes the suite of restoring, and no other says
// that it could.
func TestKinds_restore(t *testing.T) {
	skip.Sequential(t)
	var done []string
	for _, one := range stores(t) {
		if within(one.address, done) {
			continue // its folder was opened already
		}
		if filepath.Base(one.address) == "v0_pickle.db" {
			continue // of this schema of ADK's each plan is refused
		}
		done = append(done, one.address)
		s, err := one.Open(t.Context(), one.address)
		if err != nil {
			t.Fatal(err)
		}
		reason := store.Reason(s, model.OpRestore)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if reason == "" && s.Features().Plan != nil {
			t.Run(one.Name+"/"+filepath.Base(one.address), func(t *testing.T) {
				t.Parallel()
				storetest.Restore(t, one.Kind, one.address)
			})
		} else if reason == "" {
			t.Errorf("a %s store gives no reason why nothing can be restored", one.Name)
		}
	}
}

// Every kind that makes new sessions and changes none passes the suite of forking. Where these are
// rows of a file, its own package runs storetest.Rows.
func TestKinds_fork(t *testing.T) {
	skip.Sequential(t)
	for _, one := range stores(t) {
		s, err := one.Open(t.Context(), one.address)
		if err != nil {
			t.Fatal(err)
		}
		forks := store.Reason(s, model.OpFork) == "" && store.Reason(s, model.OpRestore) != ""
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if forks && filepath.Ext(one.address) != ".db" {
			t.Run(one.Name+"/"+filepath.Base(one.address), func(t *testing.T) {
				t.Parallel()
				storetest.Fork(t, one.Kind, one.address)
			})
		}
	}
}

// within reports whether a path is below one of some folders.
func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(path, f+string(filepath.Separator)) })
}
