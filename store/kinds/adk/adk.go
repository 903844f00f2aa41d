// Package adk reads the sessions that Google's ADK keeps in SQLite. They come from SqliteSessionService,
// from DatabaseSessionService with its schemas 1 and 0, and from ADK for JavaScript.
//
//	ADK                                     Hindcast
//	app_name, user_id, id                   session "APP/USER/ID"
//	an event                                snapshot
//	the last event that is kept             head
//	the events as the model is sent them     "messages" of the state, see [session.sentAt]
//	events with something that ADK never    "events" of the state
//	sends, such as an output, an error
//	their state_delta, one after another    "state": other keys have the value of the session's row
//	app_states, user_states                 "app" and "user", stored once, as of now
//	long_running_tool_ids, not answered     a question that waits for the user
//
// ADK goes back by another event, a rewind, which names an invocation. It drops all events from the
// invocation's first on, and itself. The tables of schema 0 hold the actions of an event as a pickle, which
// is read and never run. If a pickle cannot be read, states show the state of the session's row, as of now.
package adk

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

var kind = rows.Kind{
	Name: "adk", Framework: "ADK",
	IDs: "the event's, which ADK drew",
	Own: []string{
		"/*/*/id", "/*/*/invocation_id", "/*/*/timestamp", "/*/*/node_info", "/*/*/usage_metadata", "/*/*/long_running_tool_ids",
		"/*/*/content/parts/*/function_call/id", "/*/*/content/parts/*/function_response/id",
	},
	Does:   []model.Op{model.OpRestore, model.OpFork},
	Places: places,
	Tables: map[string]string{
		"sessions":    "app_name user_id id state",
		"events":      "id app_name user_id session_id invocation_id timestamp",
		"app_states":  "app_name state",
		"user_states": "app_name user_id state",
	},
	Held: []engine.RowSet{
		{Table: "adk_internal_metadata", Where: "1", Shared: true}, {Table: "app_states", Where: "app_name = ?1", Shared: true},
		{Table: "user_states", Where: "app_name = ?1 AND user_id = ?2", Shared: true},
		{Table: "sessions", Where: "app_name = ?1 AND user_id = ?2 AND id = ?3"}, {Table: "events", Where: "app_name = ?1 AND user_id = ?2 AND session_id = ?3"},
	},
	Large:     []string{"state"},
	Snapshots: "events",
	Key:       []string{"app_name", "user_id", "session_id"},
	ID:        "id",
	Damage:    model.Fault{Severity: model.Stops, Meaning: "the event cannot be read", Verdict: "ADK lists the session, and fails when it loads it"},
	// SqliteSessionService writes a number and orders by row, as ADK for JavaScript does, DatabaseSessionService a text.
	Order: []string{"timestamp", "iif(typeof(timestamp) = 'text', id, rowid)"},
}

// places are where ADK's own command keeps the sessions of an agent in a folder, and those
// of agents in folders below it.
func places(around store.Surroundings) []string {
	if around.Work == "" {
		return nil
	}
	database := filepath.Join(".adk", "session.db")
	return []string{filepath.Join(around.Work, database), filepath.Join(around.Work, "*", database)}
}

// Kind describes the sessions of ADK in a SQLite file, and those of DatabaseSessionService in a database on a server.
// data is the user's folder for data.
func Kind(cache *files.Cache, data string) engine.Kind {
	k, on := kind, kind
	k.Format, k.Cache = format{}, cache
	on.Order, on.Format = []string{"timestamp", "id"}, served{}
	return k.Kind(&on, data)
}

// format implements rows.Format.
type format struct{}

func (format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	s, err := loadSession(ctx, t, at, from)
	if err != nil || s.skip > 0 && s.events[0].rewinds != "" {
		return log, err // what follows a rewind is known by all before it
	}
	s.ensureDetails()
	if from != "" && (len(s.answers) > 0 || s.compacted) {
		return log, nil // what is answered, or compacted, may stand before
	}
	var said rows.Said
	evicted := s.evictedEvents()
	log.Opaque, log.Facts.Pointed = s.opaque, true
	for i := range s.events {
		e := &s.events[i]
		h := model.Header{ID: e.id, CreatedAt: e.at, Index: s.first + i}
		e.describeEvent(&h, &said)
		if p := s.parents[i]; p >= 0 {
			h.ParentID, h.TurnIndex = s.events[p].id, 0
			if e.rewinds == "" && s.events[p].invocation != e.invocation {
				h.TurnIndex = 1
			}
		}
		if len(s.pendingCalls(i)) > 0 {
			h.Marks |= model.MarkInterrupted
		}
		if evicted[i] {
			h.Marks |= model.MarkEvicted
		}
		if to := s.rewindTarget(i); to >= 0 {
			h.Title = "to before: " + s.events[to].title
			log.Facts.Moves = append(log.Facts.Moves, s.rewindMove(i))
		}
		if e.title, h.Head = h.Title, i == s.head; i < s.skip {
			continue
		}
		log.AddRow(h, e.size)
	}
	log.Title = said.Title()
	return log, nil
}

// rewindMove says that a rewind put the head elsewhere.
func (s *session) rewindMove(i int) model.Move {
	m := model.Move{From: s.events[i].id, To: s.events[i].id, Why: &model.Reason{Kind: model.ReasonRewind, At: s.events[i].at}}
	if s.parents[i] < 0 {
		m.From = s.events[s.heads[i]].id
	}
	if to := s.bases[i]; to >= 0 {
		m.To, m.Why.TargetID, m.Why.TargetIndex = s.events[to].id, s.events[to].id, s.first+to
	}
	return m
}

// loadWhole reads all of a session, unless it was read and the file is as it was.
func loadWhole(ctx context.Context, t rows.Tx, at rows.Place) (*session, error) {
	return rows.Keep(t, at.ID, func() (*session, error) { return loadSession(ctx, t, at, "") })
}

// findEvent reads a session, and returns the place in it of the snapshot with an id.
func findEvent(ctx context.Context, t rows.Tx, at rows.Place, id string) (*session, int, error) {
	return rows.Find(t, at, id, func() (*session, error) { return loadSession(ctx, t, at, "") })
}

// Find returns the index of an id, or -1.
func (s *session) Find(id string) int {
	for i := range s.events { // a copy of an event would have its details, which look may be writing
		if s.events[i].id == id {
			return i
		}
	}
	return -1
}

// beside are the rows beside a session's events: its own, and what it shares with others.
type beside struct{ state, app, user []byte }

func besideOf(ctx context.Context, t rows.Tx, at rows.Place) (b beside, err error) {
	for _, row := range []struct {
		into  *[]byte
		query string
		args  []any
	}{
		{&b.state, "SELECT state FROM sessions WHERE app_name = ? AND user_id = ? AND id = ?", at.Key},
		{&b.app, "SELECT state FROM app_states WHERE app_name = ?", at.Key[:1]},
		{&b.user, "SELECT state FROM user_states WHERE app_name = ? AND user_id = ?", at.Key[:2]},
	} {
		if _, err := t.First(ctx, []any{row.into}, row.query, row.args...); err != nil {
			return b, err
		}
		if !bytes.HasPrefix(bytes.TrimSpace(*row.into), []byte("{")) || !rows.PythonReads(*row.into) {
			*row.into = nil // ADK takes an object alone
		}
	}
	return b, nil
}

// sharedMembers are the members of a state that are kept once.
func (b *beside) sharedMembers(s *session) (names []string, values [][]byte) {
	for _, one := range []struct {
		name  string
		value []byte
		is    bool
	}{{"state", b.state, s.opaque != ""}, {"app", b.app, true}, {"user", b.user, true}} {
		if one.is && one.value != nil {
			names, values = append(names, one.name), append(values, one.value)
		}
	}
	return names, values
}

// stateGaps returns the gaps of each state.
func (b *beside) stateGaps(s *session) (gaps model.Gaps) {
	if names, _ := b.sharedMembers(s); len(names) > 0 {
		gaps = model.Gaps{Keys: names, Why: model.GapKeptOnce}
	}
	return gaps
}

func (format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	s, i, err := findEvent(ctx, t, at, id)
	if err != nil {
		return nil, err
	}
	b, err := besideOf(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return s.stateAt(i, &b), nil
}

// stateAt returns the state at an event.
func (s *session) stateAt(i int, b *beside) []byte {
	sent, shown := s.sentAt(i), map[int]bool{}
	state := []byte(`{"messages":[`)
	for k := range sent {
		if shown[sent[k].event] = true; k > 0 {
			state = append(state, ',')
		}
		state = s.appendSent(state, &sent[k])
	}
	state = append(state, ']')
	var others [][]byte
	path := s.pathTo(i)
	for k := range s.unsentEvents(path, s.askedAgent(path)) {
		if !shown[k] {
			others = append(others, s.events[k].data)
		}
	}
	if others != nil {
		state = slices.Concat(state, []byte(`,"events":[`), bytes.Join(others, []byte(",")), []byte("]"))
	}
	if s.opaque == "" {
		state = append(append(state, `,"state":`...), s.foldState(i, b.state)...)
	}
	names, values := b.sharedMembers(s)
	for i, name := range names {
		state = append(append(state, `,"`+name+`":`...), values[i]...)
	}
	return append(state, '}')
}

func (format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	s, i, err := findEvent(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	s.ensureDetails()
	b, err := besideOf(ctx, t, at)
	e := &s.events[i]
	about.Facts.Add("author", e.Author)
	about.Facts.Add("branch", e.Branch)
	about.Facts.Add("invocation", e.invocation)
	about.Facts.Add("rewinds", e.rewinds)
	about.Facts.Add("sets", conversation.List(objectKeys(e.delta), conversation.OneLine))
	about.Facts.Add("saves", e.savedArtifacts())
	about.Facts.Add("asks", conversation.List(s.pendingCalls(i), func(c call) string { return c.name }))
	about.Facts.Add("finish reason", e.Finish)
	about.Facts.Add("failed", cmp.Or(e.ErrorMessage, e.ErrorCode))
	about.Facts.AddFact(model.TokensFact("tokens", "tokens", tokenCounts(e.data)))
	about.Resume = s.resumeCalls(at, i, b.state)
	about.Gaps = b.stateGaps(s)
	return about, err
}

// tokenCounts returns the token counts of an event.
func tokenCounts(data []byte) []model.Number {
	tape, err := jsontape.Parse(data)
	if err != nil {
		return nil
	}
	u := conversation.UsageOf(tape, 0)
	if !u.Counted {
		return nil
	}
	counts := []model.Number{{Key: "input", Value: u.Input}, {Key: "output", Value: u.Output}, {Key: "total", Value: u.Input + u.Output}, {Key: "cacheRead", Value: u.CacheRead}}
	return slices.DeleteFunc(counts, func(n model.Number) bool { return n.Value == 0 })
}

// resumeCalls returns the calls that go on from an event: from the head, or by ADK's own
// rewind to the end of an invocation.
func (s *session) resumeCalls(at rows.Place, i int, row []byte) (calls []model.Resume) {
	if s.javaScript {
		if i == s.head {
			calls = append(calls, model.Resume{Call: fmt.Sprintf(`runner.runAsync({ userId: %s, sessionId: %s, newMessage: { role: "user", parts: [{ text: "…" }] } })`, quoteJSON(at.Key[1].(string)), quoteJSON(at.Key[2].(string))), Then: "takes your input as the next turn"})
		}
		return calls
	}
	names := fmt.Sprintf("user_id=%s, session_id=%s", quoteJSON(at.Key[1].(string)), quoteJSON(at.Key[2].(string)))
	say := func(part, then string) {
		calls = append(calls, model.Resume{Call: "runner.run_async(" + names + `, new_message=Content(role="user", parts=[` + part + "]))", Then: then})
	}
	if next := s.nextOnPath(i); next >= 0 && s.events[next].invocation != s.events[i].invocation {
		then := "makes this the head, and what follows it is passed over"
		if lost := s.initialMembers(row); len(lost) > 0 {
			then += "; sets to null what the session began with: " + conversation.List(lost, func(m jsontape.Member) string { return conversation.OneLine(jsontape.Unquote(m.Key)) })
		}
		return []model.Resume{{Call: fmt.Sprintf("await runner.rewind_async(%s, rewind_before_invocation_id=%s)", names, quoteJSON(s.events[next].invocation)), Then: then}}
	}
	if i != s.head {
		return nil
	}
	for _, asked := range s.pendingCalls(i) {
		say(fmt.Sprintf("Part(function_response=FunctionResponse(id=%s, name=%s, response={…}))", quoteJSON(asked.id), quoteJSON(asked.name)), "answers "+asked.name+", and the model goes on")
	}
	say(`Part(text="…")`, "takes your input as the next turn")
	return calls
}

// Faults implements rows.Doctor.
func (format) Faults(ctx context.Context, t rows.Tx, at rows.Place) (faults []model.Fault, err error) {
	s, err := loadWhole(ctx, t, at)
	if err != nil {
		return nil, err
	}
	b, err := besideOf(ctx, t, at)
	if err == nil && b.state == nil {
		faults = append(faults, model.Fault{Code: FaultNoRow, Severity: model.Stops, File: at.ID, Meaning: "the session has events, and no row in the table sessions whose state is an object", Verdict: "ADK does not load the session"})
	}
	if s.head >= 0 {
		faults = append(faults, s.findTroubles(s.head)...)
	}
	touched := map[string]bool{}
	for i := range s.events {
		e := &s.events[i]
		if e.rewinds != "" && s.rewindTarget(i) < 0 {
			faults = append(faults, model.Fault{Code: FaultRewind, Severity: model.Odd, File: e.id, Path: "/actions/rewind_before_invocation_id", Meaning: "the rewind names an invocation that is not there", Verdict: "ADK passes over the rewind"})
		}
		for m := range jsontape.Members(e.delta) {
			key := jsontape.Unquote(m.Key)
			if e.rewinds != "" && string(m.Value) == "null" && !touched[key] {
				faults = append(faults, model.Fault{Code: FaultNulled, Severity: model.Loses, File: e.id, Path: "/actions/state_delta/" + string(jsontape.AppendPointerToken(nil, key)), Meaning: "the rewind set a key to null that the session began with: no event has its value", Verdict: "ADK goes on without the value"})
			}
			touched[key] = true
		}
	}
	return faults, err
}

// Codes of faults.
const (
	// FaultNoRow: a session has events, but no row.
	FaultNoRow = "missing-session-row"
	// FaultRewind: a rewind leads nowhere.
	FaultRewind = "unknown-invocation"
	// FaultNulled: a rewind of ADK's dropped a value that is in no event.
	FaultNulled = "nulled-key"
)

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }
