package openaiagents

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/engine/rows"
)

// The rows that each operation writes, and the rule by which the SDK reads them:
//
//	fork               a row of the session, and copies of the items that lead to the snapshot,
//	                   with the next numbers of the table: the SDK reads items by their number,
//	                   SQLAlchemySession by their time and number.
//	… in PostgreSQL    A sequence gives the next numbers and does not go back: an undo would leave
//	                   a gap in it. The copies have numbers below all numbers of the sequence.
//	… of branches      AdvancedSQLiteSession reads the items of a branch by message_structure,
//	                   so the copies stand there as the items of "main".
//	continue           a row of a new session, and its items in the same way: see continue.go.
//	repair             such a fork of the head, without items that the API refuses: see repair.go.
//	fork as a branch   rows of message_structure alone, behind the greatest sequence number of
//	                   the session: branches share items. The name is reserved, as the SDK does.
//
// Nothing goes back in place: the SDK has no such thing but to delete items.

// Tables of AdvancedSQLiteSession. One set of sessions and messages in a file has them.
const structure, usage, reservations, generations = "message_structure", "turn_usage", "branch_reservations", "session_clear_generations"

const (
	ofSession = " WHERE session_id = ?"
	ofBranch  = ofSession + " AND branch_id = ?"
)

// Move implements rows.Mover.
func (f format) Move(ctx context.Context, t rows.Tx, before *rows.Session, change model.Change) (*rows.Move, error) {
	if change.Op == model.OpRepair {
		s, err := f.loadWhole(ctx, t, before.Place)
		if err != nil {
			return nil, err
		}
		change.Ref.ID, change.As = s.items[s.head].id, before.ID
	}
	s, i, err := f.findItem(ctx, t, before.Place, change.Ref.ID)
	if err != nil {
		return nil, err
	}
	w := writing{session: s, before: before, to: i, numbers: map[string]int64{}, m: &rows.Move{Move: engine.Move{Target: before.Rows[i].Point()}}}
	refused := func(why string) error { return unsupportedError(change.Op, why) }
	if change.As == "" || strings.ContainsRune(change.As, 0) {
		return nil, refused("a session needs an id: name the new one")
	}
	if s.items[i].stray {
		return nil, refused("the item is in no branch, so the SDK does not load it: fork one that is")
	}
	var whole []place // up to the end of the branch
	if s.branches == nil {
		for _, k := range s.pathTo(s.head) {
			whole = append(whole, place{item: k})
		}
	} else {
		whole = s.branches[s.items[i].branches[0]]
	}
	w.path = whole[:1+slices.IndexFunc(whole, func(p place) bool { return p.item == i })]
	if slices.ContainsFunc(w.path, func(p place) bool { return s.calls().of[p.item].encrypted }) {
		return nil, refused("the items are encrypted with a key that is made of the session's id, so no other session can read them")
	}
	if change.Op == model.OpRepair {
		return w.m, w.planRepair(ctx, t)
	}
	w.addCuts(whole)
	if branch, is := strings.CutPrefix(change.As, before.ID+"/"); is && s.branches != nil {
		err = w.beginBranch(ctx, t, branch)
	} else {
		err = w.planFork(ctx, t, change.As)
	}
	return w.m, err
}

func unsupportedError(op model.Op, why string) error {
	return &model.UnsupportedError{Op: op, Reason: why}
}

// writing is a fork in the making.
type writing struct {
	*session
	before *rows.Session
	to     int
	path   []place // the items that lead to the one that is forked
	// added are outputs that a repair puts behind items.
	added map[int][]byte
	m     *rows.Move
	// numbers are the last that tables gave to a row.
	numbers map[string]int64
}

// nextNumber returns the number that a table gives to its next row.
func (w *writing) nextNumber(ctx context.Context, t rows.Tx, table string) (int64, error) {
	if _, known := w.numbers[table]; !known {
		last, err := w.lastNumber(ctx, t, table)
		if err != nil {
			return 0, err
		}
		w.numbers[table] = last
	}
	w.numbers[table]++
	return w.numbers[table], nil
}

// lastNumber returns the number that a table gave to its last row. Where the numbers come from a sequence, which
// begins at 1, those of the copies are negative: there it never comes.
func (w *writing) lastNumber(ctx context.Context, t rows.Tx, table string) (last int64, err error) {
	if w.sequenced {
		err = t.Row(ctx, "SELECT coalesce(min(id), 0) FROM "+rows.QuoteName(table)).Scan(&last)
		return min(last, 0) - 1 - int64(len(w.path)+len(w.added)), err
	}
	return lastNumber(ctx, t, table)
}

// lastNumber returns the number that a table of a file gave to its last row.
func lastNumber(ctx context.Context, t rows.Tx, table string) (last int64, err error) {
	if err = t.Row(ctx, "SELECT ifnull(max(id), 0) FROM "+rows.QuoteName(table)).Scan(&last); err != nil {
		return 0, err
	}
	has, err := t.Columns(ctx, "sqlite_sequence") // a table without AUTOINCREMENT is not in it
	if err == nil && has["seq"] {
		err = t.Row(ctx, "SELECT max(?, ifnull(max(seq), 0)) FROM sqlite_sequence WHERE name = ? COLLATE NOCASE", last, table).Scan(&last)
	}
	return last, err
}

func (w *writing) addRow(table string, row rows.Row) {
	w.m.Steps = append(w.m.Steps, rows.Step{Table: table, After: row})
}

// planFork copies the items into a new session.
func (w *writing) planFork(ctx context.Context, t rows.Tx, as string) error {
	w.m.New = w.before.SessionPlace(as, as)
	table := w.before.Name(messages)
	if err := w.checkVacant(ctx, t, as); err != nil {
		return err
	}
	list, err := rows.Rows(ctx, t, w.before.Name(sessions), ofSession, w.before.Key...)
	if err != nil {
		return err
	}
	for _, row := range list { // without one the SDK adds it with the next item
		w.addRow(w.before.Name(sessions), row.With("session_id", as))
	}
	all, err := rows.Rows(ctx, t, table, ofSession, w.before.Key...)
	if err != nil {
		return err
	}
	of := make(map[string]rows.Row, len(all))
	for _, row := range all {
		of[numberOf(row["id"])] = row
	}
	copies := make(map[string]int64, len(w.path))
	for _, p := range w.path {
		id, err := w.nextNumber(ctx, t, table)
		if err != nil {
			return err
		}
		copies[w.items[p.item].id] = id
		row := of[w.items[p.item].id]
		w.addRow(table, row.With("id", id).With("session_id", as))
		if output := w.added[p.item]; output != nil {
			if id, err = w.nextNumber(ctx, t, table); err != nil {
				return err
			}
			copies[outputOf+w.items[p.item].id] = id
			w.addRow(table, row.With("id", id).With("session_id", as).With("message_data", row.As("message_data", output)))
		}
	}
	if w.branches == nil {
		return nil
	}
	if err := w.addStructure(ctx, t, as, mainBranch, 0, copies); err != nil {
		return err
	}
	return w.keepRow(ctx, t, generations, rows.Row{"session_id": as, "generation": int64(0)})
}

// beginBranch begins a branch of the session that has the items.
func (w *writing) beginBranch(ctx context.Context, t rows.Tx, name string) error {
	used := false
	for _, table := range []string{structure, reservations} {
		has, err := t.Columns(ctx, table)
		if err != nil {
			return err
		}
		if len(has) == 0 {
			continue
		}
		var n int
		if err := t.Row(ctx, "SELECT count(*) FROM "+table+ofBranch, w.before.Key[0], name).Scan(&n); err != nil {
			return err
		}
		used = used || n > 0
	}
	if used || name == "" {
		return unsupportedError(model.OpFork, fmt.Sprintf("the branch needs a name that the session never had, and %q was one: the SDK keeps the names of branches that were deleted", name))
	}
	var last int64
	if err := t.Row(ctx, "SELECT ifnull(max(sequence_number), 0) FROM "+structure+ofSession, w.before.Key...).Scan(&last); err != nil {
		return err
	}
	if err := w.addStructure(ctx, t, w.before.ID, name, last, nil); err != nil {
		return err
	}
	w.m.Branch = name
	w.m.Hazards = append(w.m.Hazards, "a new session object is on "+mainBranch+": without switch_to_branch it goes on there")
	return nil
}

// addStructure adds the rows that give a branch its items, from a sequence number on. copies maps the items to
// their copies; nil means the items themselves.
func (w *writing) addStructure(ctx context.Context, t rows.Tx, session, branch string, behind int64, copies map[string]int64) error {
	err := w.keepRow(ctx, t, reservations, rows.Row{"session_id": session, "branch_id": branch})
	if err != nil {
		return err
	}
	list, err := rows.Rows(ctx, t, structure, ofBranch+" ORDER BY sequence_number, id", w.before.Key[0], w.items[w.to].branches[0])
	if err != nil {
		return err
	}
	for _, row := range list {
		message := numberOf(row["message_id"])
		if !slices.ContainsFunc(w.path, func(p place) bool { return w.items[p.item].id == message }) {
			continue
		}
		id, err := w.nextNumber(ctx, t, structure)
		if err != nil {
			return err
		}
		behind++
		row = row.With("id", id).With("session_id", session).With("branch_id", branch).With("sequence_number", behind)
		if copies != nil {
			row["message_id"] = copies[message]
		} else {
			row["created_at"] = w.before.Now.UTC().Format(time.DateTime)
		}
		w.addRow(structure, row)
		output, has := copies[outputOf+message]
		if !has {
			continue
		}
		if id, err = w.nextNumber(ctx, t, structure); err != nil {
			return err
		}
		behind++
		w.addRow(structure, row.With("id", id).With("sequence_number", behind).With("message_id", output).With("message_type", "function_call_output"))
	}
	return nil
}

// outputOf stands before the number of a call, for the copy of an output that a repair puts behind it.
const outputOf = "output of "

// keepRow adds a row to a table that files of an older SDK do not have: the SDK makes and fills it.
func (w *writing) keepRow(ctx context.Context, t rows.Tx, table string, row rows.Row) error {
	has, err := t.Columns(ctx, table)
	if err == nil && len(has) > 0 {
		w.addRow(table, row)
	}
	return err
}

// numberOf returns the id of an item as Hindcast has it.
func numberOf(column any) string { return fmt.Sprint(column) }

// Next implements rows.Mover.
func (f format) Next(ctx context.Context, t rows.Tx, after *rows.Session, m *rows.Move) (next planning.Next, err error) {
	if len(after.Rows) == 0 {
		next.Loads = "nothing: the session is gone"
		return next, nil
	}
	s, err := f.loadSession(ctx, t, after.Place, "")
	if err != nil {
		return next, err
	}
	at, branch := s.head, ""
	if m != nil && m.Branch != "" {
		branch = m.Branch
		at = s.branches[branch][len(s.branches[branch])-1].item
	}
	path := s.pathTo(at)
	next.Loads = "its items: " + strconv.Itoa(len(path))
	for _, c := range s.resumeCalls(after.Place, at) {
		switches := strings.Contains(c.Call, "switch_to_branch("+quoteJSON(branch)+")")
		if branch == "" && !strings.Contains(c.Call, "switch_to_branch") || switches {
			next.Calls = append(next.Calls, c)
		}
	}
	if m != nil { // no run waits for an answer in what a fork made
		next.Calls = next.Calls[max(len(next.Calls)-1, 0):]
	}
	var open []string
	calls, thought := s.calls(), false // that an item of reasoning stands before a call
	for i, k := range path {
		if one := calls.of[k]; one.function != "" && !calls.answeredBy(one.id, path) {
			open = append(open, one.function)
			thought = thought || i > 0 && textMember(s.items[path[i-1]].data, "type") == "reasoning"
		}
	}
	if m != nil && len(open) > 0 {
		text := "the SDK leaves out calls that have no output here before it asks the model: " + conversation.List(open, conversation.OneLine)
		if thought {
			text += ", and the reasoning before them"
		}
		next.Hazards = append(next.Hazards, text)
	}
	return next, nil
}

// Hangs implements rows.Mover: items of a session that went, rows of a branch that went.
func (format) Hangs(ctx context.Context, t rows.Tx, went []rows.Step) (what string, err error) {
	seen := map[string]bool{}
	for i := range went {
		s := &went[i]
		session, branch := s.Before["session_id"], s.Before["branch_id"]
		if _, item := s.Before["message_data"]; !item && branch == nil {
			continue
		}
		for _, on := range []struct {
			table, where, what string
			args               []any
			is                 bool
		}{
			{s.Table, ofSession, "items came in session %s", []any{session}, branch == nil},
			{structure, ofBranch, "items came in branch %s", []any{session, branch}, branch != nil},
			{usage, ofBranch, "turns came in branch %s", []any{session, branch}, branch != nil},
		} {
			key := fmt.Sprint(on.table, on.args)
			if !on.is || seen[key] {
				continue
			}
			seen[key] = true
			var n int
			if err := t.Row(ctx, "SELECT count(*) FROM "+rows.QuoteName(on.table)+on.where, on.args...).Scan(&n); err != nil {
				return "", err
			}
			if n > 0 {
				return fmt.Sprintf(on.what, model.ShortID(fmt.Sprint(on.args[len(on.args)-1]), 40)), nil
			}
		}
	}
	return "", nil
}
