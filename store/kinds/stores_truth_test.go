package kinds_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realStores is every store in testdata that a real SDK wrote.
var realStores = []realStore{
	{"strands/python-file", "strands", strandsTruth, strandsOrder},
	{"strands/python-multiagent", "strands", multiagentTruth, strandsOrder},
	{"strands/python-snapshot", "strands-snapshots", snapshotsTruth, snapshotsOrder},
	{"strands/python-snapshot/session", "strands-snapshots", snapshotsTruth, snapshotsOrder},
	{"strands/typescript/unified", "strands-snapshots", snapshotsTruth, snapshotsOrder},
	{"strands/typescript/legacy", "strands-snapshots", snapshotsTruth, snapshotsOrder},
	{"genkit/go-1.13.1", "genkit", genkitTruth, genkitOrder},
	{"genkit/go-1.13.1/barista", "genkit", genkitTruth, genkitOrder},
	{"genkit/go-1.13.1/toggler", "genkit", genkitTruth, genkitOrder},
	{"genkit/go-1.13.1/pruned", "genkit", genkitTruth, genkitOrder},
	{"genkit/go-1.13.1/postmutator", "genkit", genkitTruth, genkitOrder},
	{"genkit/go-1.13.1/tenant", "genkit", genkitTruth, genkitOrder},
	{"genkit/js-1.42.0-detachbug", "genkit", genkitTruth, genkitOrder},
	{"genkit/devproject-go-1.13.1", "genkit", genkitTruth, genkitOrder},
	{"genkit/stepsproject-go-1.13.1", "genkit", genkitTruth, genkitOrder},
	{"langgraph/agent.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/deepagents.db", "deepagents", recordedTruth, oneFile},
	{"langgraph/delta.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/dev", "langgraph", recordedTruth, everyFile},
	{"langgraph/encrypted.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/failed.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/functional.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/js.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/old-0.2.5-json.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/pickle.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/subgraph.db", "langgraph", recordedTruth, oneFile},
	{"langgraph/types.db", "langgraph", recordedTruth, oneFile},
	{"agent-framework/checkpoints", "agent-framework", workflowTruth, everyFile},
	{"agent-framework/agents", "agent-framework", workflowTruth, everyFile},
	{"agent-framework/history", "agent-framework", historyTruth, everyFile},
	{"agent-framework/sessions", "agent-framework", historyTruth, everyFile},
	{"crewai/json", "crewai", recordedTruth, everyFile},
	{"crewai/flow", "crewai", recordedTruth, everyFile},
	{"crewai/checkpoints.db", "crewai", recordedTruth, oneFile},
	{"adk/sqlite_service.db", "adk", recordedTruth, oneFile},
	{"adk/database_service.db", "adk", recordedTruth, oneFile},
	{"adk/v0_pickle.db", "adk", recordedTruth, oneFile},
	{"openaiagents/sqlite_session.db", "openai-agents", recordedTruth, oneFile},
	{"openaiagents/advanced.db", "openai-agents", recordedTruth, oneFile},
	{"openaiagents/sqlalchemy.db", "openai-agents", recordedTruth, oneFile},
	{"openaiagents/async.db", "openai-agents", recordedTruth, oneFile},
	{"openaiagents/encrypted.db", "openai-agents", recordedTruth, oneFile},
	{"mastra/store.db", "mastra", recordedTruth, oneFile},
	{"llamaindex/server.db", "llamaindex", recordedTruth, oneFile},
	{"agno/json", "agno", recordedTruth, everyFile},
	{"agno/sessions.db", "agno", recordedTruth, oneFile},
	{"dbos/system.db", "dbos", recordedTruth, oneFile},
	{"trajectory/atif", "atif", recordedTruth, everyFile},
	{"trajectory/agents", "trajectory", recordedTruth, everyFile},
}

// noStores are the folders in testdata that are none.
var noStores = []string{
	"strands/checkpoints",                // each file is a checkpoint, without a session
	"strands/typescript-multiagent-life", // likewise
	"strands/python-multiagent-life",     // each folder is a life: see store/kinds/strands/runs
	"strands/rewinds",                    // what the SDKs ran after a rewind
	"agno/older",                         // dumps of databases, and a folder's file, of other versions: see TestRead_older there
	"dbos/older",                         // likewise
}

// glob returns the paths below a folder that fit a pattern.
func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	list, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Stores whose truth.json was made of the tables and files when they were recorded, tables
// with SQLite's own program. LangGraph's head is the greatest checkpoint id of a thread and
// namespace, that of crewAI the checkpoint that was written last, ADK's the last event that no
// rewind passes over, that of OpenAI Agents the last item of the branch "main".
func recordedTruth(t *testing.T, dir string) truth {
	var all map[string]map[string]struct {
		Snapshots int
		Head      string
		Silent    bool
	}
	read(t, filepath.Dir(dir), "truth.json", &all)
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}, silent: map[string]bool{}}
	for session, is := range all[filepath.Base(dir)] {
		want.snapshots[session], want.heads[session] = is.Snapshots, is.Head
		if is.Silent {
			want.silent[session] = true
		}
	}
	return want
}

// oneFile is the order of a store that is a file itself.
func oneFile(*testing.T, string) []string { return []string{"."} }

// workflow is what Agent Framework looks at to find the latest checkpoint of a workflow.
type workflow struct {
	ID   string `json:"checkpoint_id"`
	Name string `json:"workflow_name"`
	Time string `json:"timestamp"`
}

// Agent Framework, FileCheckpointStorage: a session for each name of a workflow, a snapshot
// for each file, and the one with the greatest time is the head. The times of a store have one
// zone.
func workflowTruth(t *testing.T, dir string) truth {
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}, silent: map[string]bool{}}
	latest := map[string]string{}
	for _, file := range everyFile(t, dir) {
		var w workflow
		read(t, dir, file, &w)
		want.snapshots[w.Name]++
		want.silent[w.Name] = filepath.Base(dir) == "checkpoints" // it has no agents
		if w.Time > latest[w.Name] {
			latest[w.Name], want.heads[w.Name] = w.Time, w.ID
		}
	}
	return want
}

// FileHistoryProvider: a session for each file, a snapshot for each line. FileSessionStore: one
// snapshot.
func historyTruth(t *testing.T, dir string) truth {
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}, silent: map[string]bool{}}
	for _, file := range everyFile(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		n := max(1, bytes.Count(data, []byte("\n")))
		want.snapshots[file], want.heads[file] = n, fmt.Sprintf("#%d", n-1)
		want.silent[file] = path.Ext(file) == ".json"
	}
	return want
}

// numberOf returns the number in the name of a file.
func numberOf(name string) int {
	n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(path.Base(name)))
	if err != nil {
		return -1
	}
	return n
}

// Strands in Python, FileSessionManager: a session for each folder of an agent,
// called by its session where that has one agent; a snapshot for each message;
// the head is the last message.
func strandsTruth(t *testing.T, dir string) truth {
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}}
	for _, session := range glob(t, dir, "session_*") {
		agents := glob(t, dir, path.Join(session, "agents/agent_*"))
		for _, agent := range agents {
			id := strings.TrimPrefix(session, "session_")
			if len(agents) > 1 {
				id += "/" + strings.TrimPrefix(path.Base(agent), "agent_")
			}
			n := len(glob(t, dir, agent+"/messages/message_*.json"))
			want.snapshots[id], want.heads[id] = n, fmt.Sprintf("#%d", n-1)
		}
	}
	return want
}

// strandsOrder: the session, its agents, and then the messages one by one.
func strandsOrder(t *testing.T, dir string) []string {
	files := glob(t, dir, "session_*/session.json")
	files = append(files, glob(t, dir, "session_*/agents/agent_*/agent.json")...)
	messages := glob(t, dir, "session_*/agents/agent_*/messages/message_*.json")
	slices.SortStableFunc(messages, func(a, b string) int { return cmp.Compare(numberOf(a), numberOf(b)) })
	files = append(files, messages...)
	return append(files, glob(t, dir, "session_*/multi_agents/multi_agent_*/multi_agent.json")...)
}

// An orchestrator is a session: a snapshot for each node that was executed, and
// for each that an interrupt stopped.
func multiagentTruth(t *testing.T, dir string) truth {
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}}
	for _, file := range glob(t, dir, "session_*/multi_agents/multi_agent_*/multi_agent.json") {
		var record struct {
			Order       []string `json:"execution_order"`
			History     []string `json:"node_history"`
			Interrupted []string `json:"interrupted_nodes"`
		}
		read(t, dir, file, &record)
		n := max(len(record.Order), len(record.History)) + len(record.Interrupted)
		parts := strings.Split(file, "/")
		id := strings.TrimPrefix(parts[0], "session_")
		want.snapshots[id], want.heads[id] = n, fmt.Sprintf("#%d", n-1)
	}
	return want
}

func read(t *testing.T, dir, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Strands snapshots, of Python and of TypeScript: a session for each place with
// snapshots; a snapshot for each in the history, and one for the latest where its
// data are none of theirs. The SDK loads the latest.
func snapshotsTruth(t *testing.T, dir string) truth {
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}}
	for _, file := range everyFile(t, dir) {
		place, latest := strings.CutSuffix(file, "/snapshots/snapshot_latest.json")
		if !latest {
			continue
		}
		session, scope, _ := strings.Cut(strings.TrimPrefix(place, "session/"), "/scopes/")
		if strings.HasPrefix(scope, "multiAgent/") {
			n := executions(t, dir, file)
			want.snapshots[session], want.heads[session] = n, fmt.Sprintf("#%d", n-1)
			continue
		}
		history := glob(t, dir, place+"/snapshots/immutable_history/snapshot_*.json")
		want.snapshots[session], want.heads[session] = len(history)+1, "latest"
		for _, old := range history {
			if bytes.Equal(dataOf(t, dir, old), dataOf(t, dir, file)) {
				want.snapshots[session] = len(history)
				want.heads[session] = strings.TrimSuffix(strings.TrimPrefix(path.Base(old), "snapshot_"), ".json")
			}
		}
	}
	return want
}

// executions counts the nodes that an orchestrator in TypeScript has results of.
func executions(t *testing.T, dir, file string) int {
	t.Helper()
	var data struct {
		State struct {
			Results []json.RawMessage `json:"results"`
		} `json:"state"`
	}
	if err := json.Unmarshal(dataOf(t, dir, file), &data); err != nil {
		t.Fatal(err)
	}
	return len(data.State.Results)
}

func dataOf(t *testing.T, dir, file string) json.RawMessage {
	t.Helper()
	var snapshot struct {
		Data json.RawMessage `json:"data"`
	}
	read(t, dir, file, &snapshot)
	return snapshot.Data
}

// snapshotsOrder: the history of each place by the ids, which begin with the
// time, and then its latest.
func snapshotsOrder(t *testing.T, dir string) []string {
	files := everyFile(t, dir)
	slices.SortStableFunc(files, func(a, b string) int {
		if c := cmp.Compare(isLatest(a), isLatest(b)); c != 0 {
			return c
		}
		return cmp.Compare(path.Base(a), path.Base(b))
	})
	return files
}

func isLatest(name string) int {
	if path.Base(name) == "snapshot_latest.json" {
		return 1
	}
	return 0
}

// genkitRow is what Genkit itself looks at to find where to resume.
type genkitRow struct {
	file string
	// session is what Hindcast calls the session: below the folders of its rows,
	// but for that of rows without a prefix.
	session   string
	ID        string    `json:"snapshotId"`
	SessionID string    `json:"sessionId"`
	Parent    string    `json:"parentId"`
	CreatedAt time.Time `json:"createdAt"`
	State     struct {
		SessionID string            `json:"sessionId"`
		Messages  []json.RawMessage `json:"messages"`
	} `json:"state"`
}

// snapshotsFolder is where a project keeps the rows of its agents.
const snapshotsFolder = ".genkit/snapshots/"

// genkitRows returns the rows of each session, by the time of their creation: the
// files that are called as the snapshot in them.
func genkitRows(t *testing.T, dir string) map[string][]genkitRow {
	t.Helper()
	sessions := map[string][]genkitRow{}
	for _, name := range everyFile(t, dir) {
		row := genkitRow{file: name}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(data, &row) != nil || row.ID == "" || row.ID+".json" != path.Base(name) {
			continue
		}
		folder := strings.TrimPrefix(path.Dir(name)+"/", snapshotsFolder)
		row.session = strings.TrimSuffix(folder, "global/") + cmp.Or(row.SessionID, row.State.SessionID)
		sessions[row.session] = append(sessions[row.session], row)
	}
	for _, rows := range sessions {
		slices.SortFunc(rows, func(a, b genkitRow) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	}
	return sessions
}

func everyFile(t *testing.T, dir string) []string {
	t.Helper()
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return []string{"."}
	}
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Genkit: a snapshot for each row. Go resumes from the row that was created last,
// whatever its status; JavaScript from the last that is nobody's parent, which in
// these stores is the same one.
func genkitTruth(t *testing.T, dir string) truth {
	want := truth{snapshots: map[string]int{}, heads: map[string]string{}, silent: map[string]bool{}}
	for session, rows := range genkitRows(t, dir) {
		last := rows[len(rows)-1]
		want.snapshots[session], want.heads[session] = len(rows), last.ID
		if len(last.State.Messages) == 0 {
			want.silent[session] = true
		}
	}
	return want
}

// genkitOrder: the rows as they were created, each with the pointer that names it
// behind it; what is no row comes first, but for traces, which come last.
func genkitOrder(t *testing.T, dir string) []string {
	var rows []genkitRow
	sessions := genkitRows(t, dir)
	for _, session := range slices.Sorted(maps.Keys(sessions)) {
		rows = append(rows, sessions[session]...)
	}
	slices.SortStableFunc(rows, func(a, b genkitRow) int { return a.CreatedAt.Compare(b.CreatedAt) })
	rest := everyFile(t, dir)
	var files []string
	take := func(is func(name string) bool) {
		for _, name := range rest {
			if is(name) {
				files = append(files, name)
			}
		}
		rest = slices.DeleteFunc(rest, is)
	}
	isTrace := func(name string) bool { return strings.HasPrefix(name, ".genkit/traces") }
	isRow := func(name string) bool {
		return slices.ContainsFunc(rows, func(r genkitRow) bool { return r.file == name })
	}
	isPointer := func(name string) bool { return path.Base(path.Dir(name)) == ".pointers" }
	take(func(name string) bool { return !isTrace(name) && !isRow(name) && !isPointer(name) })
	for _, row := range rows {
		take(func(name string) bool { return name == row.file })
		take(func(name string) bool {
			if !isPointer(name) || path.Dir(path.Dir(name)) != path.Dir(row.file) {
				return false
			}
			var pointer struct {
				ID string `json:"currentSnapshotId"`
			}
			read(t, dir, name, &pointer)
			return pointer.ID == row.ID
		})
	}
	take(func(string) bool { return true })
	return files
}
