package adk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/engine/rows"
)

// The rows that each operation writes, and the rule by which ADK reads them:
//
//	restore   one event, a rewind like ADK's own. ADK goes back to the head before the first
//	          event of the invocation that it names. So a snapshot can be restored if such an
//	          event followed it, also one that another rewind dropped. The session's row gets
//	          the state, and the event its delta. Unlike ADK's, the delta leaves alone the keys
//	          that no event names, because the session began with them. ADK for JavaScript drops
//	          no event, so nothing is restored in its sessions.
//	fork      a row of the session, and copies of the events that lead to the snapshot. The
//	          key of an event has the session in it, so their ids stay.
//
// Both services of ADK find out that a session was written since they loaded it, by its
// update_time, and refuse to append to it.

const ofSession = " WHERE app_name = ? AND user_id = ? AND session_id = ?"

// Move implements rows.Mover.
func (f format) Move(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change) (*rows.Move, error) {
	s, i, err := findEvent(ctx, t, before.Place, change.Ref.ID)
	if err != nil {
		return nil, err
	}
	if s.schema0 {
		return nil, &model.UnsupportedError{Op: change.Op, Reason: "the store has ADK's schema 0, which keeps actions as pickles: have ADK migrate it, then open that store"}
	}
	s.ensureDetails()
	list, err := rows.Rows(ctx, t, "sessions", " WHERE app_name = ? AND user_id = ? AND id = ?", before.Key...)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || !rows.PythonReads(list[0].Bytes("state")) {
		return nil, &model.UnsupportedError{Op: change.Op, Reason: "the session has no row in the table sessions with a state that can be read, without which ADK does not find it: see hindcast doctor"}
	}
	if s.events[i].rewinds != "" {
		why := "a rewind left nothing here: have the program start a session instead"
		if to := s.bases[i]; to >= 0 {
			why = fmt.Sprintf("a rewind is no state of its own: %s #%d, where it led to", change.Op, before.Rows[to].Index)
		}
		return nil, &model.UnsupportedError{Op: change.Op, Reason: why}
	}
	w := writing{session: s, before: before, row: list[0], to: i, op: change.Op, m: &rows.Move{Move: engine.Move{Target: before.Rows[i].Point()}}}
	if change.Op == model.OpFork {
		err = w.planFork(ctx, t, change.As)
	} else {
		err = w.planRestore(ctx, t)
	}
	return w.m, err
}

// writing is a plan in the making.
type writing struct {
	*session
	before *rows.Session
	row    rows.Row // of the table sessions
	to     int      // the event that becomes the head
	op     model.Op
	m      *rows.Move
}

func (w *writing) refuseChange(why string) error {
	return &model.UnsupportedError{Op: w.op, Reason: why}
}

// invocationAfter returns an event that begins an invocation at the head to, or -1. It prefers an event on the
// path, which ADK's own rewind would name.
func (s *session) invocationAfter(to int) int {
	follows := func(i int) bool {
		e := &s.events[i]
		return i > to && s.heads[i] == to && e.invocation != "" && s.byInvocation[e.invocation] == i
	}
	if next := s.nextOnPath(to); next >= 0 && follows(next) {
		return next
	}
	for i := range s.events {
		if follows(i) {
			return i
		}
	}
	return -1
}

func (w *writing) planRestore(ctx context.Context, t rows.Tx) error {
	if w.to == w.head {
		return nil
	}
	if w.javaScript {
		return w.refuseChange("ADK for JavaScript knows no rewind and would load all events: fork this one")
	}
	next := w.invocationAfter(w.to)
	if next < 0 {
		return w.refuseChange("ADK goes back to where an invocation begins, and none begins behind this event: restore the last event of an invocation, or fork this one")
	}
	newest, err := rows.Rows(ctx, t, "events", ofSession+" AND id = ?", append(slices.Clone(w.before.Key), w.events[len(w.events)-1].id)...)
	if err != nil || len(newest) == 0 {
		return err
	}
	at, ok := stampAfter(newest[0]["timestamp"], w.row["update_time"], w.before.Now)
	if !ok {
		return w.refuseChange("the times of the session are neither numbers nor texts as ADK writes them, so none is sure to be the last")
	}
	state, delta, err := w.rewindState()
	if err != nil {
		return w.refuseChange("the state of the session cannot be read: " + err.Error())
	}
	id, invocation := uuid.NewString(), "e-"+uuid.NewString()
	data := `{"invocation_id":` + quoteJSON(invocation) + `,"author":"user","actions":{"state_delta":` + string(delta) +
		`,"artifact_delta":{},"requested_auth_configs":{},"requested_tool_confirmations":{},"rewind_before_invocation_id":` + quoteJSON(w.events[next].invocation) +
		`},"id":` + quoteJSON(id) + `,"timestamp":` + at.asJSON() + `}`
	event := newest[0].With("id", id).With("invocation_id", invocation).With("timestamp", at.asColumn(newest[0]["timestamp"])).With("event_data", newest[0].As("event_data", []byte(data)))
	w.m.Steps = []rows.Step{
		{Table: "events", After: event},
		{Table: "sessions", Before: w.row, After: w.row.With("state", w.row.As("state", state)).With("update_time", at.asColumn(w.row["update_time"]))},
	}
	w.addHazards()
	return nil
}

// addHazards adds a hazard for each thing that a rewind does not restore.
func (w *writing) addHazards() {
	say := func(text string, args ...any) { w.m.Hazards = append(w.m.Hazards, fmt.Sprintf(text, args...)) }
	if lost := keysOf(w.initialMembers(w.row.Bytes("state"))); len(lost) > 0 {
		say("what the session began with stays: %s; runner.rewind_async would set it to null", conversation.List(lost, conversation.OneLine))
	}
	kept := map[int]bool{}
	for _, k := range w.pathTo(w.to) {
		kept[k] = true
	}
	shared, artifacts := map[string]bool{}, false
	for i := range w.events {
		if kept[i] {
			continue
		}
		for _, key := range objectKeys(w.events[i].delta) {
			if strings.HasPrefix(key, "app:") || strings.HasPrefix(key, "user:") {
				shared[key] = true
			}
		}
		artifacts = artifacts || w.events[i].savedArtifacts() != ""
	}
	if len(shared) > 0 {
		names := make([]string, 0, len(shared))
		for key := range shared {
			names = append(names, key)
		}
		slices.Sort(names)
		say("what other sessions share is not put back: %s", conversation.List(names, conversation.OneLine))
	}
	if artifacts {
		say("artifacts are not put back: their versions are in an artifact service, which runner.rewind_async asks")
	}
	say("a program that has the session loaded gets a StaleSessionError at its next event: have it load the session anew")
}

func keysOf(members []jsontape.Member) (list []string) {
	for _, m := range members {
		list = append(list, jsontape.Unquote(m.Key))
	}
	return list
}

var errNoObject = errors.New("it is no object")

// rewindState returns the state of the session's row at the event, and the delta that leads to it: the values
// that differ, and null for later keys. A key that no event names stays. ADK keeps a rewind's null in the row,
// so state.get(key, default) returns None; rewindState removes the key, which did not exist then.
func (w *writing) rewindState() (state, delta []byte, err error) {
	tape, _, err := jsontape.ParseTolerant(w.row.Bytes("state"))
	if err != nil {
		return nil, nil, err
	}
	if tape.Kind(0) != jsontape.Object {
		return nil, nil, errNoObject
	}
	is, want := jsontape.NewPatch(tape), map[string]bool{}
	delta = []byte{'{'}
	change := func(key string, value []byte) {
		if len(delta) > 1 {
			delta = append(delta, ',')
		}
		delta = append(append(append(delta, quoteJSON(key)...), ':'), value...)
	}
	for m := range jsontape.Members(w.foldState(w.to, w.row.Bytes("state"))) {
		key := jsontape.Unquote(m.Key)
		want[key] = true
		value, _, err := jsontape.ParseTolerant(m.Value)
		if err != nil {
			return nil, nil, err
		}
		if at := tape.Find(0, key); at < 0 || !jsontape.Equal(tape, at, value, 0) {
			is.Put(0, key, m.Value)
			change(key, m.Value)
		}
	}
	_, touched := w.splitMembers(w.row.Bytes("state"))
	came := map[string]bool{}
	for _, m := range touched {
		if key := jsontape.Unquote(m.Key); !want[key] {
			if came[key] = true; string(m.Value) != "null" {
				change(key, []byte("null"))
			}
		}
	}
	is.Remove(0, func(n jsontape.Node) bool { return came[tape.Key(n)] })
	return is.Bytes(), append(delta, '}'), nil
}

// stamp is a time in microseconds since 1970.
type stamp int64

// ofDatabase is how DatabaseSessionService writes a time, which is of UTC.
const ofDatabase = "2006-01-02 15:04:05.000000"

// stampAfter returns the time of an event behind two others: now, or right behind them. It
// reports false where these are no times.
func stampAfter(event, session any, now time.Time) (stamp, bool) {
	last := stamp(0)
	for _, v := range []any{event, session} {
		at := stamp(-1)
		switch v := v.(type) {
		case float64:
			if v >= 0 && v < 1e11 {
				at = stamp(math.Ceil(v * 1e6))
			}
		case int64:
			at = stamp(v * 1e6)
		case string:
			if read, err := time.Parse("2006-01-02 15:04:05.999999", v); err == nil {
				at = stamp(read.UnixMicro())
			}
		}
		if at < 0 {
			return 0, false
		}
		last = max(last, at)
	}
	return max(last+1, stamp(now.UnixMicro())), true
}

// asColumn returns the time as a column has it that has another.
func (s stamp) asColumn(column any) any {
	if _, is := column.(string); is {
		return time.UnixMicro(int64(s)).UTC().Format(ofDatabase)
	}
	return float64(s) / 1e6
}

// asJSON returns the time as the JSON of an event has it.
func (s stamp) asJSON() string { return strconv.FormatFloat(float64(s)/1e6, 'f', -1, 64) }

func (w *writing) planFork(ctx context.Context, t rows.Tx, as string) error {
	app, user := w.before.Key[0].(string), w.before.Key[1].(string)
	as = strings.TrimPrefix(as, app+"/"+user+"/")
	if as == "" || as != strings.TrimSpace(as) || strings.ContainsRune(as, 0) {
		return w.refuseChange("ADK needs an id of the session, without spaces around it: name the new one")
	}
	w.m.New = &rows.Place{ID: app + "/" + user + "/" + as, Key: []any{app, user, as}}
	taken, err := rows.Rows(ctx, t, "sessions", " WHERE app_name = ? AND user_id = ? AND id = ?", w.m.New.Key...)
	if err == nil && len(taken) > 0 {
		err = store.ErrSessionExists
	}
	if err != nil {
		return err
	}
	var path []int
	for _, k := range w.pathTo(w.to) {
		if w.events[k].rewinds == "" {
			path = append(path, k)
		}
	}
	all, err := rows.Rows(ctx, t, "events", ofSession, w.before.Key...)
	if err != nil {
		return err
	}
	byID := make(map[string]rows.Row, len(all))
	for _, r := range all {
		byID[r.Text("id")] = r
	}
	events := make([]rows.Step, 0, len(path))
	for _, k := range path {
		events = append(events, rows.Step{Table: "events", After: byID[w.events[k].id].With("session_id", as)})
	}
	last := events[len(events)-1].After
	state := w.foldState(w.to, w.row.Bytes("state"))
	w.m.Steps = append([]rows.Step{{Table: "sessions", After: w.row.With("id", as).With("state", w.row.As("state", state)).With("update_time", last["timestamp"])}}, events...)
	return nil
}

// Next implements rows.Mover.
func (format) Next(ctx context.Context, t rows.Tx, after *rows.Session, _ *rows.Move) (next planning.Next, err error) {
	if len(after.Rows) == 0 {
		next.Loads = "nothing: the session is gone"
		return next, nil
	}
	s, err := loadSession(ctx, t, after.Place, "")
	if err != nil {
		return next, err
	}
	s.ensureDetails()
	if s.head < 0 {
		next.Loads = "no event: the session is empty"
		return next, nil
	}
	for _, f := range s.findTroubles(s.head) {
		next.Hazards = append(next.Hazards, f.Meaning+"; ADK: "+f.Verdict)
	}
	b, err := besideOf(ctx, t, after.Place)
	next.Loads = fmt.Sprintf("the state of #%d, and its messages: %d", after.Rows[s.head].Index, len(s.sentAt(s.head)))
	next.Calls = s.resumeCalls(after.Place, s.head, b.state)
	return next, err
}

// Hangs implements rows.Mover: events behind a rewind that went, or of a session that went.
// ADK finds those that came before either by the row of the session.
func (format) Hangs(ctx context.Context, t rows.Tx, went []rows.Step) (what string, err error) {
	for i := range went {
		s := &went[i]
		query, args := "SELECT count(*) FROM events"+ofSession+" AND timestamp > ?", []any{s.Before["app_name"], s.Before["user_id"], s.Before["session_id"], s.Before["timestamp"]}
		if s.Table == "sessions" {
			query, args = "SELECT count(*) FROM events"+ofSession, []any{s.Before["app_name"], s.Before["user_id"], s.Before["id"]}
		} else if !bytes.Contains(s.Before.Bytes("event_data"), []byte(`"rewind_before_invocation_id"`)) {
			continue
		}
		var n int
		if err := t.Row(ctx, query, args...).Scan(&n); err != nil {
			return "", err
		}
		if n > 0 {
			return fmt.Sprintf("%d events came in session %s", n, model.ShortID(fmt.Sprint(args[2]), 40)), nil
		}
	}
	return "", nil
}
