package langgraph

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// dcode writes a store of Deep Agents Code: the threads of a recorded one, with the metadata that it adds.
func dcode(t testing.TB, as string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), filepath.FromSlash(as))
	data, err := os.ReadFile(rowstest.Copied(t, recorded("agent.db")))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	execute(t, path, `UPDATE checkpoints SET metadata = CAST(json_set(CAST(metadata AS TEXT), '$.agent_name', 'agent', '$.updated_at', '2026-11-20T10:00:00+00:00', '$.cwd', '/home/demo/shop') AS BLOB)`)
	return path
}

// The store of Deep Agents Code is found where it is, in its place of today and in the older one.
func TestPlaces(t *testing.T) {
	for _, place := range []string{".deepagents/.state/sessions.db", ".deepagents/sessions.db"} {
		path := dcode(t, place)
		home := strings.TrimSuffix(path, filepath.FromSlash("/"+place))
		found := store.Kinds{DeepAgents(nil, "").Kind}.Look(t.Context(), store.Surroundings{Home: home})
		if len(found) != 1 || found[0].At != path {
			t.Errorf("%s: %+v", place, found)
		}
	}
	if list := deepAgents.listPlaces(store.Surroundings{}); len(list) != 0 {
		t.Errorf("without a folder of the user: %q", list)
	}
}

// Its threads are listed with their folders and names, by indexes alone, and go on by a command.
func TestPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		as, change string
		title      string
	}{
		"by its place":  {".deepagents/.state/sessions.db", "UPDATE checkpoints SET metadata = CAST(json_remove(CAST(metadata AS TEXT), '$.agent_name') AS BLOB)", "hello, größe dich"},
		"by its tables": {"copy.db", "CREATE TABLE dcode_thread_workspaces (thread_id TEXT PRIMARY KEY NOT NULL)", "hello, größe dich"},
		"by its index":  {"copy.db", "CREATE INDEX idx_dcode_threads_list_v2 ON checkpoints(thread_id)", "hello, größe dich"},
		"with names":    {"copy.db", "CREATE TABLE dcode_thread_names (thread_id TEXT PRIMARY KEY, name TEXT); INSERT INTO dcode_thread_names VALUES ('tour', 'The tour'), ('other', '')", "The tour"},
		"with damage":   {".deepagents/sessions.db", "UPDATE checkpoints SET metadata = x'7b' WHERE rowid = 1", "hello, größe dich"},
	} {
		path := dcode(t, c.as)
		for _, statement := range strings.Split(c.change, "; ") {
			if statement != "" {
				execute(t, path, statement)
			}
		}
		s := storetest.OpenStore(t, DeepAgents(nil, "").Kind, path)
		list := storetest.Sessions(t, s)
		i := slices.IndexFunc(list, func(info model.SessionInfo) bool { return info.ID == "tour" })
		if i < 0 || list[i].Snapshots != store.Uncounted || list[i].Project != "/home/demo/shop" && name != "with damage" {
			t.Fatalf("%s: %+v", name, list)
		}
		headers := storetest.Headers(t, s, "tour")
		head := headers[len(headers)-1]
		if list[i].Head.ID != head.ID || list[i].Head.Index != head.Index || !list[i].UpdatedAt.Equal(head.CreatedAt) {
			t.Errorf("%s: the head is %+v, want %+v", name, list[i].Head, head.Point())
		}
		if list[i].Title != c.title {
			t.Errorf("%s: the title is %q, want %q", name, list[i].Title, c.title)
		}
		for _, h := range []model.Header{headers[3], head} {
			if got := about(t, s, h); !strings.Contains(got, "dcode -r tour  ") || strings.Contains(got, "graph.invoke") || strings.Contains(got, "restore this checkpoint before") == (h.ID == head.ID) {
				t.Errorf("%s: #%d goes on with\n%s", name, h.Index, got)
			}
		}
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: headers[3].Ref()})
		if err != nil || len(plan.Resume) != 1 || plan.Resume[0].Call != "dcode -r tour" {
			t.Errorf("%s: %+v, %v", name, plan.Resume, err)
		}
		plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: headers[3].Ref(), As: "a'b; rm -rf ~"})
		if err != nil || len(plan.Resume) != 1 || plan.Resume[0].Call != `dcode -r 'a'\''b; rm -rf ~'` {
			t.Errorf("%s: %+v, %v", name, plan.Resume, err)
		}
	}
	// A thread of a program of the user's own goes on by a call, and its list counts.
	s := open(t, recorded("agent.db"))
	if _, is, err := DeepAgents(nil, "").Recognise(t.Context(), recorded("agent.db")); is || err != nil {
		t.Errorf("it is one of Deep Agents Code: %v, %v", is, err)
	}
	if info := storetest.Sessions(t, s)[0]; info.Snapshots <= 0 || strings.Contains(about(t, s, storetest.Headers(t, s, info.ID)[0]), "dcode") {
		t.Errorf("%+v", info)
	}
}

// What a list asks of the checkpoints is answered by an index, whatever their states weigh.
func TestPrograms_listReadsIndexes(t *testing.T) {
	path := dcode(t, ".deepagents/sessions.db")
	file := writer(path)
	defer file.Close()
	for _, query := range []string{newestOnes, firstOnes[1 : len(firstOnes)-1]} {
		var plan []string
		err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
			return tx.Each(t.Context(), func(scan func(...any) error) error {
				var id, parent, unused int
				var detail string
				err := scan(&id, &parent, &unused, &detail)
				plan = append(plan, detail)
				return err
			}, "EXPLAIN QUERY PLAN "+query)
		})
		if err != nil || len(plan) == 0 || !strings.Contains(plan[0], "USING COVERING INDEX") {
			t.Errorf("%s: %q, %v", query, plan, err)
		}
	}
}
