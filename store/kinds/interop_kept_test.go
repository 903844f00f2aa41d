package kinds_test

import (
	"cmp"
	"encoding/json"
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
	"hindcast/model/handover"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// keptCounts counts sessions that were kept, given back, and resumed by their tool.
type keptCounts struct{ kept, back, resumed int }

// keptMatrix has the counts of each tool. It may be written by several tests at once.
type keptMatrix struct {
	mu   sync.Mutex
	rows map[string]keptCounts
}

func (m *keptMatrix) note(row string, n keptCounts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = map[string]keptCounts{}
	}
	m.rows[row] = n
}

// draw returns the matrix as a table, its rows in order.
func (m *keptMatrix) draw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %4s  %10s  %7s\n", "", "kept", "given back", "resumed")
	for _, row := range slices.Sorted(maps.Keys(m.rows)) {
		n := m.rows[row]
		fmt.Fprintf(&b, "%-22s %4d  %10d  %7d\n", row, n.kept, n.back, n.resumed)
	}
	return b.String()
}

// keptSDK has an SDK write stores, and ask its model in them. It is a row of the matrix.
type keptSDK struct {
	row, kind, sdk, program string
	// into is where the program writes, below a folder, and files are the databases and folders there.
	into  string
	files []string
	// ask resumes sessions in a store and in its twin, and returns what the model is sent in each.
	ask func(t *testing.T, g graphs, was, twin []keptHead) (before, after []any)
}

// keptHead is the head of a session of a store, with the call that resumes it.
type keptHead struct {
	db, session, id, call string
	state                 json.RawMessage
}

var keptSDKs = []keptSDK{
	{"adk, rows", "adk", "adk", "sessions.py", ".", []string{"sqlite.db", "database.db"}, askADKKept},
	{"agno, rows", "agno", "agno", "forks.py", "sessions.db", []string{"sessions.db"}, askAgnoKept},
	{"crewai, files", "crewai", "crewai", "crews.py", ".", []string{"json"}, askCrewKept},
	{"crewai, rows", "crewai", "crewai", "crews.py", ".", []string{"sqlite/crew.db"}, askCrewKept},
	{"langgraph, rows", "langgraph", "langgraph", "states.py", "checkpoints.db", []string{"checkpoints.db"}, askGraphKept},
	{"openai-agents, rows", "openai-agents", "openai-agents", "sessions.py", ".", []string{"sqlite.db", "advanced.db", "sqlalchemy.db"}, askAgentsKept},
}

// giveBack has the SDK write its stores. In a twin of each all sessions are kept, deleted and given back: of each the SDK sends its model
// the same as in the store that was left alone.
func (s *keptSDK) giveBack(t *testing.T) (n keptCounts) {
	t.Helper()
	g, dir := interopProgram(t, s.sdk, s.program), t.TempDir()
	g.says(t, "write", filepath.Join(dir, s.into), nil, nil)
	var was, twins []keptHead
	for _, file := range s.files {
		db := filepath.Join(dir, filepath.FromSlash(file))
		twin := storetest.Copy(t, db)
		heads := headsIn(t, s.kind, db)
		n.kept += len(heads)
		was = append(was, heads...)
		keepAndDelete(t, s.kind, twin)
		back := headsIn(t, s.kind, twin)
		n.back += len(back)
		twins = append(twins, back...)
	}
	if len(was) != len(twins) || len(was) == 0 {
		t.Fatalf("%d sessions are back of %d", len(twins), len(was))
	}
	before, after := s.ask(t, g, was, twins)
	if len(before) != len(was) || len(after) != len(was) {
		t.Fatalf("the SDK answers %d and %d times for %d sessions", len(before), len(after), len(was))
	}
	for i := range was {
		if before[i] == nil || !reflect.DeepEqual(before[i], after[i]) {
			t.Errorf("%s: %s: given back, the model is sent\n%+v\nand before\n%+v", was[i].session, twins[i].call, after[i], before[i])
			continue
		}
		n.resumed++
	}
	if t.Failed() {
		t.FailNow()
	}
	return n
}

// keepAndDelete keeps all sessions of a database or a folder, deletes their rows or files, and gives each back.
func keepAndDelete(t *testing.T, kind, db string) {
	t.Helper()
	archive := kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
	defer archive.Close()
	k, _ := allKinds.FindKind(kind)
	found := store.Found{Identity: store.Identity{Kind: k, At: db}}
	if _, err := archive.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(db); err != nil || info.IsDir() {
		files := readAll(t, db)
		maps.DeleteFunc(files, func(name string, _ heldFile) bool { return strings.Contains(name, "/.index-dirty/") }) // Kimi Code's notes to its index
		if err := os.RemoveAll(db); err != nil {
			t.Fatal(err)
		}
		giveAllBack(t, goneStore(t, archive, found))
		if now := readAll(t, db); !maps.Equal(now, files) {
			t.Fatalf("%d files are back of %d, or not as they were", len(now), len(files))
		}
		return
	}
	rows := rowsOf(t, db)
	for _, one := range listRows(t, kind, db) {
		deleteRows(t, db, one)
	}
	if left := headsIn(t, kind, db); len(left) > 0 {
		t.Fatalf("%s is there still", left[0].session)
	}
	giveAllBack(t, goneStore(t, archive, found))
	sameRows(t, kind, rowsOf(t, db), rows)
}

// headsIn returns the heads of the sessions in a store that no other one started.
func headsIn(t *testing.T, kind, db string) (list []keptHead) {
	t.Helper()
	k, _ := allKinds.FindKind(kind)
	s, err := k.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, info := range storetest.Sessions(t, s) {
		headers := storetest.Headers(t, s, info.ID)
		i := slices.IndexFunc(headers, func(h model.Header) bool { return h.Head })
		if info.Parent != "" || i < 0 || kind == "langgraph" && strings.Contains(info.ID, "/") {
			continue
		}
		calls, err := s.Features().Resume(t.Context(), headers[i].Ref())
		if err != nil {
			t.Fatal(err)
		}
		head := keptHead{db: db, session: info.ID, id: headers[i].ID, state: stateOf(t, s, &headers[i])}
		if len(calls) > 0 {
			head.call = calls[0].Call
		} else if kind == "agno" { // a run of a member, with which its team goes on
			continue
		}
		list = append(list, head)
	}
	return list
}

// asAny returns the items of a list.
func asAny[T any](list []T) (all []any) {
	for _, one := range list {
		all = append(all, one)
	}
	return all
}

// halves parts the answers for a database from those for its twin.
func halves[T any](list []T) (before, after []any) {
	return asAny(list[:len(list)/2]), asAny(list[len(list)/2:])
}

func askADKKept(t *testing.T, g graphs, was, twin []keptHead) (before, after []any) {
	t.Helper()
	var puts []askedOfADK
	for _, h := range slices.Concat(was, twin) {
		puts = append(puts, askedOfADK{h.db, h.session[strings.LastIndex(h.session, "/")+1:], h.call, h.state})
	}
	var told toldByADK
	g.says(t, "run", filepath.Dir(was[0].db), map[string]any{"puts": puts, "held": [][3]string{}}, &told)
	var sent [][2]any
	for i, one := range told.Ran {
		if one.Failed != "" || one.Sent == nil {
			t.Errorf("%s: %s fails: %s", puts[i].Session, puts[i].Call, one.Failed)
		}
		sent = append(sent, [2]any{one.State, one.Sent})
	}
	return halves(sent)
}

func askAgnoKept(t *testing.T, g graphs, was, twin []keptHead) (before, after []any) {
	t.Helper()
	var puts []map[string]string
	for _, h := range slices.Concat(was, twin) {
		puts = append(puts, map[string]string{"db": h.db, "call": h.call})
	}
	var told [][]sentByAgno
	g.says(t, "run", "-", puts, &told)
	return halves(told)
}

func askCrewKept(t *testing.T, g graphs, was, twin []keptHead) (before, after []any) {
	t.Helper()
	var at []map[string]string
	for _, h := range slices.Concat(was, twin) {
		_, location, _ := strings.Cut(h.call, `restore_from="`)
		location, _, _ = strings.Cut(location, `"`)
		into := t.TempDir()
		at = append(at, map[string]string{"of": "crew", "from": location, "into": into, "dir": into})
	}
	var ran []resumed
	g.says(t, "run", filepath.Dir(was[0].db), at, &ran)
	var sent [][3][]string
	for i, one := range ran {
		if one.Failed != "" || len(one.Had) == 0 {
			t.Errorf("%v fails: %s", at[i], one.Failed)
		}
		sent = append(sent, [3][]string{one.Had, one.Sent, one.Came})
	}
	return halves(sent)
}

func askGraphKept(t *testing.T, g graphs, was, twin []keptHead) (before, after []any) {
	t.Helper()
	var puts []map[string]any
	for i, h := range was {
		puts = append(puts, map[string]any{"session": h.session, "id": h.id, "db": twin[i].db, "thread": twin[i].session, "live": true})
	}
	var told []struct{ Was, Now thinks }
	g.says(t, "compare", was[0].db, puts, &told)
	for _, one := range told {
		before, after = append(before, one.Was), append(after, one.Now)
	}
	return before, after
}

func askAgentsKept(t *testing.T, g graphs, was, twin []keptHead) (before, after []any) {
	t.Helper()
	var puts []askedOfAgents
	for _, h := range slices.Concat(was, twin) {
		call := strings.ReplaceAll(h.call, "(agent, state,", `(agent, "…",`) // what waits for an approval is asked something else
		puts = append(puts, askedOfAgents{h.db, call, h.state})
	}
	var ran []struct {
		Had    []any
		Sent   any
		Failed string
	}
	g.says(t, "run", "", puts, &ran)
	var sent [][2]any
	for i, one := range ran {
		if one.Failed != "" || one.Sent == nil {
			t.Errorf("%s fails: %s", puts[i].Call, one.Failed)
		}
		sent = append(sent, [2]any{one.Had, one.Sent})
	}
	return halves(sent)
}

// askedAgents are agents that no session is continued in: the call that begins one, and where they have it below their home.
var askedAgents = []struct{ row, kind, begin, store string }{
	{"deepagents, rows", "deepagents", "dcode -r new", ".deepagents/.state/sessions.db"},
	{"kimi, files", "kimi", "kimi", ".kimi-code/sessions"},
	{"kimi-cli, files", "kimi-cli", "kimi --session 0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b901", ".kimi/sessions"},
}

// giveAskedBack has an agent write a session, which is kept, deleted and given back, and resume it: its model is sent all that was said.
func giveAskedBack(t *testing.T, kind, begin, at string) keptCounts {
	t.Helper()
	a := chattest.StartAgent(t, kind)
	a.Ask(t, begin, "one question")
	at = filepath.Join(a.Home, filepath.FromSlash(at))
	heads := headsIn(t, kind, at)
	if len(heads) != 1 {
		t.Fatalf("it wrote %+v", heads)
	}
	keepAndDelete(t, kind, at)
	var got []string
	call := cmp.Or(heads[0].call, begin) // the usual place of kimi-cli is below another home
	for _, said := range a.Ask(t, call, "behind the gap") {
		if text := strings.TrimSpace(added.ReplaceAllString(said.Text, "")); text != "" {
			got = append(got, said.Is+" "+text)
		}
	}
	if want := []string{"user one question", "assistant reply to: one question", "user behind the gap"}; !slices.Equal(got, want) {
		t.Fatalf("%s: the model is sent\n%q\nwant\n%q", call, got, want)
	}
	return keptCounts{1, 1, 1}
}

// giveStrandsBack keeps, deletes and gives back sessions of Strands, and has the SDK go on from each: its model is sent what was handed over to it.
func giveStrandsBack(t *testing.T) (n keptCounts) {
	t.Helper()
	dir := t.TempDir()
	into, ask := startStrands(t, dir)
	var sources []*handover.Source
	var plans []*model.Plan
	s := openData(t, continued[0].store)
	for _, h := range somePositions(headersOf(t, s, continued[0].session), 3) {
		if from, plan := planFrom(t, into, s, h, dir); plan != nil {
			sources, plans = append(sources, from), append(plans, plan)
		}
	}
	archive := kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
	defer archive.Close()
	k, _ := allKinds.FindKind("strands")
	found := store.Found{Identity: store.Identity{Kind: k, At: into.Address()}}
	if _, err := archive.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	was := readAll(t, found.At)
	for _, plan := range plans {
		if err := os.RemoveAll(filepath.Join(found.At, "session_"+plan.NewSession)); err != nil {
			t.Fatal(err)
		}
	}
	if now := readAll(t, found.At); len(now) > 0 {
		t.Fatalf("%d files are there still of %d", len(now), len(was))
	}
	gone := goneStore(t, archive, found)
	n.kept = len(storetest.Sessions(t, gone))
	giveAllBack(t, gone)
	if now := readAll(t, found.At); !maps.Equal(now, was) {
		t.Fatalf("%d files are back of %d, or not as they were", len(now), len(was))
	}
	n.back = n.kept - len(storetest.Sessions(t, gone))
	for i, sent := range ask(t, plans) {
		prompt := ""
		if strings.Contains(plans[i].Resume[0].Call, "…") {
			prompt = "…"
		}
		compareSent(t, plans[i].NewSession, sources[i], "strands", sent, prompt)
		n.resumed++
	}
	if t.Failed() {
		t.FailNow()
	}
	return n
}
