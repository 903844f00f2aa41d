package kinds_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
)

// kit is an SDK with one of its stores, and what sessions are written into it.
type kit struct {
	title     string // in the matrix, the version of the SDK apart
	driver    string
	store     string // what the driver calls it
	scenarios []string
	rules     func(scenario string) rules
	// cuts says that there are no snapshots within turns, but that a state can be cut.
	cuts bool
	// live are the scenarios in which every message that was sent to the model when
	// the session was written is still in it, so that the model is sent the very same
	// when the session goes on from there without another text.
	live []string
	// version is that of an older SDK, which Hindcast is told; "" for the newest.
	version string
}

// olderKits are the kits of versions that do otherwise than the newest.
var olderKits = []kit{
	{title: "message log", driver: "python", version: "1.54.0", store: "log", scenarios: append(older, "interrupt"), rules: always(strandsAgent{}), live: unchanged},
	{title: "snapshots, legacy storage", driver: "typescript", version: "1.0.0", store: "legacy", cuts: true, scenarios: older,
		rules: always(strandsAgent{typeScript: true, bare: true}), live: unchanged},
	{title: "snapshots, legacy storage", driver: "typescript", version: "1.7.0", store: "legacy", cuts: true, scenarios: append(older, "interrupt"),
		rules: always(strandsAgent{typeScript: true}), live: unchanged},
}

// says returns the SDK and version that Hindcast is told, "" for the newest.
func (k *kit) says() string {
	if k.version == "" {
		return ""
	}
	return "strands-" + k.driver + "@" + k.version
}

func always(r rules) func(string) rules { return func(string) rules { return r } }

func runs(typeScript bool) func(string) rules {
	of := map[string]strandsRun{
		"graph-line":        {follows: line},
		"graph-diamond":     {follows: diamond},
		"graph-failed":      {follows: diamond},
		"graph-interrupted": {follows: line, gate: "report"},
		"swarm":             {follows: three, swarm: true},
		"swarm-failed":      {follows: two, swarm: true},
	}
	return func(scenario string) rules {
		r := of[scenario]
		r.typeScript = typeScript
		return r
	}
}

var (
	conversations = []string{"turns", "tool", "parallel", "failing", "interrupt", "sliding", "redaction", "state"}
	summaries     = []string{"summarizing"} // Python alone has them
	together      = []string{"agents"}
	unchanged     = []string{"turns", "tool", "parallel", "failing", "interrupt", "state", "planner", "worker"}
	older         = []string{"turns", "tool", "failing", "sliding", "redaction"}
	orchestras    = []string{"graph-line", "graph-diamond", "graph-failed", "graph-interrupted", "swarm", "swarm-failed"}
	orders        = []string{"turns", "order", "branch", "failed", "flaky", "interrupt"}
)

var kits = []kit{
	{title: "message log", driver: "python", store: "log", scenarios: slices.Concat(conversations, summaries, together), rules: always(strandsAgent{}), live: unchanged},
	{title: "snapshots", driver: "python", store: "snapshots", cuts: true, scenarios: slices.Concat(conversations, summaries, together), rules: always(strandsAgent{}), live: unchanged},
	{title: "Graph and Swarm, message log", driver: "python", store: "log", scenarios: orchestras, rules: runs(false)},
	{title: "Graph and Swarm, snapshots", driver: "python", store: "snapshots", scenarios: orchestras, rules: runs(false)},
	{title: "snapshots", driver: "typescript", store: "unified", cuts: true, scenarios: slices.Concat(conversations, together), rules: always(strandsAgent{typeScript: true}), live: unchanged},
	{title: "snapshots, legacy storage", driver: "typescript", store: "legacy", cuts: true, scenarios: slices.Concat(conversations, together), rules: always(strandsAgent{typeScript: true}), live: unchanged},
	{title: "Graph and Swarm", driver: "typescript", store: "unified", scenarios: orchestras, rules: runs(true)},
	{title: "Graph and Swarm, legacy storage", driver: "typescript", store: "legacy", scenarios: orchestras, rules: runs(true)},
	{title: "file store", driver: "genkit", scenarios: orders, rules: always(genkitAgent{})},
	{title: "file store", driver: "genkit-js", scenarios: orders, rules: always(genkitAgent{answered: true})},
	{title: "file store", driver: "genkit-python", scenarios: orders, rules: always(genkitAgent{answered: true})},
}

// stances are the rows of the matrix, in its order.
var stances = []string{atStart, atUser, atCalls, atResults, atTurnEnd, atInterrupt, atNode, atFailedNode, atLastNode, atRewind, atCheckpoint}

var matrixFile = filepath.Join(testdata, "interop", "matrix.txt")

// TestInterop proves by the real SDKs what Hindcast does to their stores. Each SDK
// writes sessions with a model that says what it is told to. Then, at every position
// of each: the session is put back there, and every call that the plan names goes on
// from there, and the model must be sent exactly the messages that Hindcast shows; an
// undo gives back the very same bytes; a redo, a restore of what was set aside, a
// fork and an edited fork go the same way.
//
// What came of it is the matrix in testdata/interop/matrix.txt, and in the README beside it.
func TestInterop(t *testing.T) {
	skip.Sequential(t)
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	at := sdks(t)
	driven := drivers(t, at)
	hindcast := program.Path(t)
	var came matrix
	var titles []string
	t.Run("at", func(t *testing.T) {
		for _, k := range slices.Concat(kits, olderKits) {
			d, name := driven[k.driver], k.driver
			if k.version != "" {
				d, name = olderDrivers[k.driver](t, at, k.version), name+"-"+k.version
			}
			title := d.sdk + ": " + k.title
			titles = append(titles, title)
			for _, scenario := range k.scenarios {
				t.Run(fmt.Sprintf("%s/%s/%s", name, strings.ReplaceAll(k.title, " ", "_"), scenario), func(t *testing.T) {
					t.Parallel()
					r := rehearsal{
						driver: d, version: k.says(), store: k.store, scenario: scenario, cuts: k.cuts, rules: k.rules(scenario), hindcast: hindcast, home: t.TempDir(),
						note:  func(p *position, operation, outcome string) { came.note(title, p.stands, operation, outcome) },
						visit: func(p *position) { came.visit(title, p.stands) },
					}
					r.rehearse(t, k.live)
				})
			}
		}
	})
	drawn := came.draw(titles)
	t.Logf("\n%s", drawn)
	if t.Failed() {
		return
	}
	want, err := os.ReadFile(matrixFile)
	switch {
	case *update:
		err = os.WriteFile(matrixFile, []byte(drawn), 0o644)
	case err == nil && string(want) != drawn:
		t.Errorf("%s is stale; -update rewrites it", matrixFile)
	}
	if err != nil {
		t.Error(err)
	}
}

// rehearsal goes through a scenario.
type rehearsal struct {
	*driver
	version         string // Hindcast is told, with the name of the SDK; "" for none
	store, scenario string
	cuts            bool
	rules           rules
	hindcast, home  string
	note            func(p *position, operation, outcome string)
	visit           func(p *position)

	whole    string // the store as the SDK wrote it
	original tree
}

// header is what Hindcast tells of a snapshot.
type header struct {
	ID       string `json:"id"`
	ParentID string `json:"parentId"`
	Index    int    `json:"index"`
	Orphaned bool   `json:"orphaned"`
	Head     bool   `json:"head"`
}

// plan is one of Hindcast's.
type plan struct {
	Asks   []string `json:"asks"`
	Loads  string   `json:"loads"`
	Resume []resume `json:"resume"`
	Files  []struct {
		Path string `json:"path"`
	} `json:"files"`
}

func (r *rehearsal) rehearse(t *testing.T, live []string) {
	r.whole = filepath.Join(t.TempDir(), "store")
	wrote := r.do(t, map[string]any{"do": "write", "dir": r.whole, "store": r.store, "scenario": r.scenario})
	age(t, r.whole)
	r.original = treeOf(t, r.whole)
	var sessions []struct {
		ID string `json:"id"`
	}
	r.ask(t, &sessions, "sessions", r.whole)
	for _, w := range wrote.Written {
		id := w.Session
		if len(wrote.Written) > 1 {
			id += "/" + w.Agent
		}
		var headers []header
		r.ask(t, &headers, "log", r.whole, id)
		if len(headers) == 0 {
			t.Fatalf("%s has no snapshots; there are %+v", id, sessions)
		}
		for _, h := range headers {
			t.Run(fmt.Sprintf("%s_%d_%.8s", w.Agent, h.Index, h.ID), func(t *testing.T) {
				at := place{rehearsal: r, written: w, session: id, header: h, headers: headers}
				at.rehearse(t, slices.Contains(live, w.Scenario))
			})
		}
	}
	if other := r.original.difference(treeOf(t, r.whole)); other != nil {
		t.Errorf("reading and planning wrote: %s", other)
	}
}

// told returns the words of a command with the version of the SDK, where there is one.
func (r *rehearsal) told(args []string) []string {
	if r.version == "" {
		return args
	}
	return append(slices.Clip(args), "--sdk", r.version)
}

// run runs Hindcast as a process, with the wiring of its main.
func (r *rehearsal) run(t *testing.T, args ...string) (out []byte, failed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.hindcast, r.told(args)...)
	cmd.Env = append(os.Environ(), program.Env(r.home)...)
	cmd.Env = append(cmd.Env, "HINDCAST_CACHE=off")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, strings.TrimSpace(errs.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, ""
}

// look runs Hindcast in this process.
func (r *rehearsal) look(t *testing.T, args ...string) (out []byte, failed string) {
	t.Helper()
	code, said, errs := inProcess(t, r.told(args)...)
	if code != 0 {
		return []byte(said), strings.TrimSpace(errs)
	}
	return []byte(said), ""
}

// ask has Hindcast answer.
func (r *rehearsal) ask(t *testing.T, into any, args ...string) {
	t.Helper()
	out, failed := r.look(t, append(args, "--json")...)
	if failed != "" {
		t.Fatalf("hindcast %q: %s", args, failed)
	}
	if err := decodeJSON(out, into); err != nil {
		t.Fatalf("hindcast %q: %v: %s", args, err, out)
	}
}

// write has Hindcast write, in this process.
func (r *rehearsal) write(t *testing.T, args ...string) {
	t.Helper()
	r.writeBy(t, r.look, args...)
}

// write has Hindcast write: at the head of a session as a process, elsewhere in this one. A process takes
// longer to start than all that it does here, and does the same at each position.
func (p *place) write(t *testing.T, args ...string) {
	t.Helper()
	if p.header.Head {
		p.writeBy(t, p.run, args...)
	} else {
		p.rehearsal.write(t, args...)
	}
}

func (r *rehearsal) writeBy(t *testing.T, run func(*testing.T, ...string) ([]byte, string), args ...string) {
	t.Helper()
	if _, failed := run(t, append(args, "--yes", "--anyway")...); failed != "" {
		t.Fatalf("hindcast %q: %s", args, failed)
	}
}

// stateAt returns a state that Hindcast shows.
func (r *rehearsal) stateAt(t *testing.T, dir, session, id string) map[string]any {
	t.Helper()
	var shown struct {
		State map[string]any `json:"state"`
	}
	r.ask(t, &shown, "show", dir, session, id)
	return shown.State
}

// place is one position of one session.
type place struct {
	*rehearsal
	written written
	session string
	header  header
	headers []header // all of the session

	position
}

func (p *place) rehearse(t *testing.T, live bool) {
	p.position = p.rules.position(p.stateAt(t, p.whole, p.session, p.header.ID))
	p.visit(&p.position)
	p.restored(t, live)
	p.forked(t)
	p.edited(t)
	if p.cuts && p.header.Head {
		p.cut(t)
	}
}

// planned asks for a plan, and notes where there is none.
func (p *place) planned(t *testing.T, operation string, args ...string) *plan {
	t.Helper()
	return p.plannedAt(t, &p.position, operation, args...)
}

func (p *place) plannedAt(t *testing.T, at *position, operation string, args ...string) *plan {
	t.Helper()
	out, failed := p.look(t, append(args, "--dry-run", "--json")...)
	if failed != "" {
		p.note(at, operation, reason(failed))
		return nil
	}
	var made plan
	if err := decodeJSON(out, &made); err != nil {
		t.Fatalf("hindcast %q: %v: %s", args, err, out)
	}
	outcome := itsOK
	if slices.ContainsFunc(made.Asks, func(why string) bool { return !strings.HasSuffix(why, "an agent may still be running") }) {
		outcome = itsAsks
	}
	p.note(at, operation, outcome)
	return &made
}

// restored puts the session back in a copy of the store and lets it go on; then it
// takes the restore back, does it again, and brings back what it set aside.
func (p *place) restored(t *testing.T, live bool) {
	made := p.planned(t, "restore", "restore", p.whole, p.session, p.header.ID)
	if made == nil {
		return
	}
	dir := storeCopy(t, p.whole)
	if len(made.Asks) > 0 {
		if _, failed := p.look(t, "restore", dir, p.session, p.header.ID, "--yes"); failed == "" {
			t.Errorf("it does not ask once more: %q", made.Asks)
		}
		if other := p.original.difference(treeOf(t, dir)); other != nil {
			t.Fatalf("a question wrote: %s", other)
		}
	}
	p.write(t, "restore", dir, p.session, p.header.ID)
	put := treeOf(t, dir)
	p.goesOn(t, "restore", dir, made, p.written.Session, &p.position, live)

	if len(made.Files) == 0 { // the session is there already
		p.isOriginal(t, "restore of nothing", put)
		return
	}
	p.write(t, "undo", dir)
	p.isOriginal(t, "undo", treeOf(t, dir))
	p.write(t, "redo", dir)
	if other := put.difference(treeOf(t, dir)); other != nil {
		t.Errorf("redo does not do the same again: %s", other)
	} else {
		p.note(&p.position, "redo", itsOK)
	}
	p.back(t, dir)
}

// isOriginal notes whether a store is as the SDK wrote it.
func (p *place) isOriginal(t *testing.T, operation string, now tree) {
	t.Helper()
	if other := p.original.difference(now); other != nil {
		t.Errorf("after %s the store is not what it was: %s", operation, other)
		return
	}
	if slices.Contains(operations, operation) {
		p.note(&p.position, operation, itsOK)
	}
}

// goesOn lets the session go on by every call that a plan names, each in a copy.
func (p *place) goesOn(t *testing.T, what, dir string, made *plan, session string, to *position, live bool) {
	t.Helper()
	if len(made.Resume) == 0 {
		t.Errorf("%s: the plan names no call: %s", what, made.Loads)
	}
	for i, how := range made.Resume {
		a := p.do(t, map[string]any{
			"do": "resume", "dir": storeCopy(t, dir), "store": p.store, "scenario": p.written.Scenario,
			"session": session, "agent": p.written.Agent, "call": how.Call,
		})
		if err := p.rules.check(to, how, &a); err != nil {
			t.Errorf("%s, then %s (which %s): %v", what, how.Call, how.Then, err)
			continue
		}
		if i == 0 && len(a.Tools) > 0 && len(made.Asks) == 0 && to.stands != atInterrupt {
			t.Errorf("%s, then %s: the tools %q ran, and nobody was asked", what, how.Call, a.Tools)
		}
		if live && how.prompt() == "" && (to.stands == atUser || to.stands == atResults) && !p.wasSent(a.Seen[0]) {
			t.Errorf("%s, then %s: the model was not sent that when the session was written: %v", what, how.Call, a.Seen[0])
		}
		p.note(to, "resume", itsOK)
	}
}

// wasSent reports whether the model was sent some messages when the session was
// written.
func (p *place) wasSent(messages []any) bool {
	return slices.ContainsFunc(p.written.Seen, func(then []any) bool {
		return same("what was sent", sent(messages), sent(then)) == nil
	})
}

// back puts the session to where it was before a restore.
func (p *place) back(t *testing.T, dir string) {
	i := slices.IndexFunc(p.headers, func(h header) bool { return h.Head })
	if i < 0 || p.headers[i].ID == p.header.ID {
		return
	}
	head := p.headers[i]
	var now []header
	p.ask(t, &now, "log", dir, p.session)
	was := p.stateAt(t, p.whole, p.session, head.ID)
	i = slices.IndexFunc(now, func(h header) bool { return h.ID == head.ID })
	if i < 0 { // it had no place of its own, and got one
		i = slices.IndexFunc(now, func(h header) bool {
			return h.Orphaned && same("the state", p.stateAt(t, dir, p.session, h.ID), was) == nil
		})
	}
	if i >= 0 && !now[i].Orphaned && p.comesAfter(head.ID) {
		return // it went on from there, and nothing was set aside
	}
	if i < 0 || !now[i].Orphaned {
		t.Errorf("what was the head is not among what was set aside: %+v", now)
		return
	}
	head = now[i]
	to := p.rules.position(was)
	var made plan
	p.ask(t, &made, "restore", dir, p.session, head.ID, "--dry-run")
	p.write(t, "restore", dir, p.session, head.ID)
	quiet := *p
	quiet.rehearsal = &rehearsal{}
	*quiet.rehearsal = *p.rehearsal
	quiet.note = func(*position, string, string) {}
	quiet.goesOn(t, "restore of what was set aside", dir, &made, p.written.Session, &to, false)
	p.note(&p.position, "back", itsOK)
}

// comesAfter reports whether the position was reached from a snapshot.
func (p *place) comesAfter(id string) bool {
	for h := p.header; ; {
		i := slices.IndexFunc(p.headers, func(parent header) bool { return parent.ID == h.ParentID && parent.Index < h.Index })
		if i < 0 {
			return false
		}
		if h = p.headers[i]; h.ID == id {
			return true
		}
	}
}

const forkName = "fork-1"

// forked starts another session from there.
func (p *place) forked(t *testing.T) {
	made := p.planned(t, "fork", "fork", p.whole, p.session, p.header.ID, "--as", forkName)
	if made == nil {
		return
	}
	dir := storeCopy(t, p.whole)
	p.write(t, "fork", dir, p.session, p.header.ID, "--as", forkName)
	now := treeOf(t, dir)
	p.untouched(t, "fork", now)
	p.goesOn(t, "fork", dir, made, forkName, &p.position, false)
	p.write(t, "undo", dir)
	if other := p.original.difference(treeOf(t, dir)); other != nil {
		t.Errorf("after undo of a fork the store is not what it was: %s", other)
	}
}

// untouched wants all that the SDK wrote to be there as it was.
func (p *place) untouched(t *testing.T, what string, now tree) {
	t.Helper()
	kept := maps.Clone(now)
	for name := range kept {
		if _, was := p.original[name]; !was {
			delete(kept, name)
		}
	}
	if other := p.original.difference(kept); other != nil {
		t.Errorf("%s changed the original: %s", what, other)
	}
}

const editedText = "EDITED — ☕"

// edited starts another session from there, one text of its state another.
func (p *place) edited(t *testing.T) {
	at := p.rules.text(&p.position)
	if at == "" {
		return
	}
	edit := []string{"edit", "", p.session, p.header.ID, "--at", at, "--set", `"` + editedText + `"`, "--as", "what-if"}
	edit[1] = p.whole
	made := p.planned(t, "edit", edit...)
	if made == nil {
		return
	}
	edit[1] = storeCopy(t, p.whole)
	p.write(t, edit...)
	p.untouched(t, "edit", treeOf(t, edit[1]))
	to := p.rules.position(setText(p.stateAt(t, p.whole, p.session, p.header.ID), at))
	p.goesOn(t, "edit", edit[1], made, "what-if", &to, false)
}

// cut starts other sessions from there with fewer messages, one for each number: so a
// snapshot is gone on with from the middle of a turn.
func (p *place) cut(t *testing.T) {
	whole := member[[]any](p.state, "messages")
	for n := 1; n < len(whole); n++ {
		state := maps.Clone(p.state)
		state["messages"] = whole[:n]
		delete(state, "interrupt_state")
		delete(state, "interrupts")
		to := p.rules.position(state)
		given, err := json.Marshal(whole[:n])
		if err != nil {
			t.Fatal(err)
		}
		edit := []string{"edit", p.whole, p.session, p.header.ID, "--at", "/messages", "--set", string(given), "--as", "cut"}
		made := p.plannedAt(t, &to, "cut", edit...)
		if made == nil {
			continue
		}
		edit[1] = storeCopy(t, p.whole)
		p.write(t, edit...)
		p.untouched(t, "a cut", treeOf(t, edit[1]))
		p.goesOn(t, fmt.Sprintf("cut to %d messages", n), edit[1], made, "cut", &to, false)
	}
}

// setText changes the text at a JSON Pointer.
func setText(state map[string]any, at string) map[string]any {
	steps := strings.Split(strings.TrimPrefix(at, "/"), "/")
	var value any = state
	for i, step := range steps {
		switch inner := value.(type) {
		case map[string]any:
			if i == len(steps)-1 {
				inner[step] = editedText
			}
			value = inner[step]
		case []any:
			var n int
			fmt.Sscan(step, &n)
			value = inner[n]
		}
	}
	return state
}
