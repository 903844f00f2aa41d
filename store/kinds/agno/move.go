package agno

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/engine/rows"
)

// A fork is a row of agno_sessions and copies of rows of agno_runs, as Agent.fork_session writes them:
//
//	session_id                   the new one, in the columns and in run_data
//	run_id                       a new one for each run, which parent_run_id of its members follows
//	session_data                 forked_from_session_id, and the session_state of then
//	run_data                     forked_from_session_id; status COMPLETED of a run that was regenerated
//
// fork_session copies all runs. Here the runs on the path alone are copied: a run that goes on behind a message of another
// one has all messages before it in its own row. A session ends with a run, so a fork does.

// Move implements rows.Mover.
func (f format) Move(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change) (*rows.Move, error) {
	s, i, err := findItem(ctx, t, before.Place, change.Ref.ID)
	if err != nil {
		return nil, err
	}
	refused := func(why string) error { return &model.UnsupportedError{Op: change.Op, Reason: why} }
	of := s.runs[s.items[i].run]
	switch {
	case change.As == "" || strings.ContainsRune(change.As, 0):
		return nil, refused("a session needs an id: name the new one")
	case before.Key[1] != "":
		return nil, refused("the run of a member goes on with its team alone: fork the session")
	case of.damaged:
		return nil, refused("the run is no JSON, and Agno fails when it loads it")
	case of.Workflow != "" || s.items[i].data == nil:
		return nil, refused("a run of a workflow is not gone on from")
	case s.about == nil:
		return nil, refused("the session has no row in agno_sessions, so Agno does not load it")
	case !s.items[i].last:
		return nil, refused("Agno goes on behind a whole run: fork the last message of one, or take the call on the Resume tab")
	}
	m := &rows.Move{Move: engine.Move{Target: before.Rows[i].Point()}, New: &rows.Place{ID: change.As, Key: []any{change.As, ""}}}
	for _, table := range []string{"agno_sessions", "agno_runs"} {
		taken, err := rows.Rows(ctx, t, table, " WHERE session_id = ?", change.As)
		if err == nil && len(taken) > 0 {
			err = store.ErrSessionExists
		}
		if err != nil {
			return nil, err
		}
	}
	list, err := rows.Rows(ctx, t, "agno_sessions", " WHERE session_id = ?", before.Key[0])
	if err != nil {
		return nil, err
	}
	for _, row := range list {
		data := row.Bytes("session_data")
		if len(data) == 0 || string(data) == "null" {
			data = []byte("{}")
		}
		data, err = withMembers(data, [][2]string{{"forked_from_session_id", quoteJSON(before.ID)}, {"session_state", string(s.items[i].state)}})
		if err != nil {
			return nil, refused("session_data cannot be read: " + err.Error())
		}
		now := before.Now.Unix()
		m.Steps = append(m.Steps, rows.Step{Table: "agno_sessions", After: row.With("session_id", change.As).With("session_data", string(data)).With("created_at", now).With("updated_at", now)})
	}
	return m, s.copyRuns(ctx, t, before, change.As, s.runsTo(i), m)
}

// runsTo returns the runs whose rows have the messages that lead to an item, which ends a run.
func (s *session) runsTo(i int) (runs []string) {
	for i >= 0 && !slices.Contains(runs, s.items[i].run) {
		runs = append(runs, s.items[i].run)
		i = s.items[s.own[s.items[i].run][0]].parent
	}
	slices.Reverse(runs)
	return runs
}

// copyRuns adds the copies of runs, and of the runs of their members.
func (s *session) copyRuns(ctx context.Context, t rows.Tx, before *rows.Session, as string, runs []string, m *rows.Move) error {
	list, err := rows.Rows(ctx, t, "agno_runs", " WHERE session_id = ? ORDER BY rowid", before.Key[0])
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for _, run := range runs {
		ids[run] = drawID(as, run)
	}
	isCopied := func(row rows.Row) bool { return ids[row.Text("run_id")] != "" || ids[row.Text("parent_run_id")] != "" }
	for range list { // a member may have members
		for _, row := range list {
			if isCopied(row) {
				ids[row.Text("run_id")] = drawID(as, row.Text("run_id"))
			}
		}
	}
	for _, row := range list {
		if !isCopied(row) {
			continue
		}
		data, members := row.Bytes("run_data"), [][2]string{{"run_id", quoteJSON(ids[row.Text("run_id")])}, {"session_id", quoteJSON(as)}}
		if from := jsontape.FindMember(data, `"forked_from_session_id"`); from == nil || string(from) == "null" {
			members = append(members, [2]string{"forked_from_session_id", quoteJSON(before.ID)})
		}
		if parent := ids[row.Text("parent_run_id")]; parent != "" {
			row, members = row.With("parent_run_id", parent), append(members, [2]string{"parent_run_id", quoteJSON(parent)})
		}
		if row.Text("status") == regenerated {
			row, members = row.With("status", completed), append(members, [2]string{"status", quoteJSON(completed)})
		}
		if data, err = withMembers(data, members); err != nil {
			return &model.UnsupportedError{Op: model.OpFork, Reason: "a run before it cannot be read: " + err.Error()}
		}
		row = row.With("run_id", ids[row.Text("run_id")]).With("session_id", as).With("run_data", string(data))
		m.Steps = append(m.Steps, rows.Step{Table: "agno_runs", After: row})
	}
	return nil
}

// completed is the status of a run that ended well.
const completed = "COMPLETED"

// drawID returns the id of the copy of a run, in the form of Agno's: the same for the same session and run.
func drawID(session, run string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + run))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// withMembers returns an object with other values of members, and those that it did not have at its end. A value of "" stays
// as it is.
func withMembers(object []byte, members [][2]string) ([]byte, error) {
	object, err := jsontape.Standard(object)
	if err != nil {
		return nil, err
	}
	text := []byte{'{'}
	add := func(key, value string) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, key...), ':'), value...)
	}
	set := map[string]bool{}
	for m, err := range jsontape.Members(object) {
		if err != nil || m.Key == nil {
			return nil, errTable
		}
		value := string(m.Value)
		for _, one := range members {
			if quoteJSON(one[0]) == string(m.Key) && one[1] != "" {
				value, set[one[0]] = one[1], true
			}
		}
		add(string(m.Key), value)
	}
	for _, one := range members {
		if !set[one[0]] && one[1] != "" {
			add(quoteJSON(one[0]), one[1])
		}
	}
	return append(text, '}'), nil
}

// Next implements rows.Mover.
func (f format) Next(ctx context.Context, t rows.Tx, after *rows.Session, _ *rows.Move) (next planning.Next, err error) {
	if len(after.Rows) == 0 {
		next.Loads = "nothing: the session is gone"
		return next, nil
	}
	s, err := readSession(ctx, t, after.Place, "")
	if err != nil {
		return next, err
	}
	next.Loads = "its runs: " + strconv.Itoa(len(s.runs))
	about, err := f.About(ctx, t, after.Place, s.items[s.head].id)
	for _, call := range about.Resume {
		if !strings.Contains(call.Call, "fork=True") {
			next.Calls = append(next.Calls, call)
		}
	}
	var left []string
	for _, of := range s.runs {
		if skipped[of.Status] {
			left = append(left, strings.ToLower(of.Status))
		}
	}
	slices.Sort(left)
	if told := conversation.List(left, strings.Clone); told != "" {
		next.Hazards = append(next.Hazards, "Agno sends no run that did not end well: "+told)
	}
	return next, err
}

// skipped has the states of runs that Agno does not send.
var skipped = map[string]bool{"PAUSED": true, "CANCELLED": true, "ERROR": true}

// Hangs implements rows.Mover: runs of a session that went.
func (format) Hangs(ctx context.Context, t rows.Tx, went []rows.Step) (what string, err error) {
	for i := range went {
		if went[i].Table != "agno_sessions" {
			continue
		}
		var n int
		if err := t.Row(ctx, "SELECT count(*) FROM agno_runs WHERE session_id = ?", went[i].Before["session_id"]).Scan(&n); err != nil {
			return "", err
		}
		if n > 0 {
			return "runs came in session " + model.ShortID(went[i].Before.Text("session_id"), 40), nil
		}
	}
	return "", nil
}
