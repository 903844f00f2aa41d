package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hindcast/model"
	"hindcast/model/request"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
)

// medium is the tables of a kind, in a file or on a server. It is safe for concurrent use.
type medium struct {
	kind     Kind
	address  string
	carrier  carrier
	notifier store.Notifier
	book     book
	note     listNote
	now      func() time.Time
}

// moment is one transaction, and the sessions that it found.
type moment struct {
	tables
	places []Place
	// look is that of the file before the transaction began.
	look fileLook
}

// newStore returns the store of the kind on the tables.
func (m *medium) newStore() *engine.Store {
	format := engine.Format{
		Name: m.kind.Name, Framework: m.kind.Framework, IDs: m.kind.IDs, Own: m.kind.Own, Nested: true,
		Sessions: m.listSessions, Memoise: m.listAgain, Places: m.enginePlaces, Read: m.readSession, Tail: m.tail, State: m.readState, About: m.describeRow, Info: fillInfo,
		Weave: m.weaveStates, Lacks: m.explainLack, Move: m.planMove, Next: m.predictNext, RowsBack: m.planRowsBack,
	}
	if m.kind.TakesTalks() {
		format.Continue = m.planStart
	}
	if requester, ok := m.kind.Format.(Requester); ok {
		format.Request = func(ctx context.Context, in engine.In, row *engine.Row) (request.Request, error) {
			return requester.Request(ctx, in.Tx.(*moment).tables, row.Place.Own.(Place), row.ID)
		}
	}
	if taker, ok := m.kind.Format.(Taker); ok && slices.Contains(m.kind.Does, model.OpConvert) {
		format.Take = func(ctx context.Context, in engine.In, from store.Store, session, as string) (*engine.Move, error) {
			return m.planTake(ctx, in, taker, from, session, as)
		}
	}
	return engine.New(format, m, m.address)
}

func enginePlace(at Place) engine.Place { return engine.Place{Session: at.ID, Own: at} }

// listPlaces returns the sessions, each with an id of its own.
func (m *medium) listPlaces(ctx context.Context, t *moment) ([]Place, error) {
	if t.places != nil {
		return t.places, nil
	}
	var places []Place
	sets, err := t.listTableSets(ctx, m.kind)
	taken := map[string]bool{}
	for i := 0; err == nil && i < len(sets); i++ {
		in := Place{tables: sets[i]}
		var keys [][]string
		keys, err = t.listKeys(ctx, m.kind, in)
		for _, key := range keys {
			places = append(places, in.keyedPlace(key, taken))
		}
	}
	if err == nil && len(places) == 0 {
		err = lossError(t.tables)
	}
	if err == nil {
		t.places = places
	}
	return places, err
}

func (m *medium) enginePlaces(ctx context.Context, in engine.In) (list []engine.Place, err error) {
	places, err := m.listPlaces(ctx, in.Tx.(*moment))
	for _, at := range places {
		list = append(list, enginePlace(at))
	}
	return list, err
}

func (m *medium) listSessions(ctx context.Context, in engine.In) (list []engine.Listed, err error) {
	if lists, ok := m.kind.Format.(Lister); ok {
		found, err := lists.List(ctx, in.Tx.(*moment).tables)
		if err != nil {
			return nil, err
		}
		taken := map[string]bool{}
		for i := range found {
			found[i].Info.Faults = model.FaultsNotCounted
			list = append(list, engine.Listed{Place: enginePlace(Place{}.keyedPlace(found[i].Key, taken)), Info: &found[i].Info})
		}
		if found != nil {
			return list, nil
		}
	}
	places, err := m.enginePlaces(ctx, in)
	for i := 0; i < len(places) && err == nil; i++ {
		one := engine.Listed{Place: places[i]}
		one.Info, err = m.readGlance(ctx, in, one.Place)
		list = append(list, one)
	}
	return list, err
}

// mostListed is the number of snapshots up to which a list reads a session. Of a longer session it reads the newest
// snapshot, and openingRows rows of each query for the title.
const mostListed, openingRows = 1 << 10, 64

// readGlance returns the list's entry of a long session in a file, nil for a session that the list reads.
func (m *medium) readGlance(ctx context.Context, in engine.In, place engine.Place) (*model.SessionInfo, error) {
	t, at := in.Tx.(*moment), place.Own.(Place)
	if t.mostCounted() >= 0 { // the kinds on servers are Listers
		return nil, nil
	}
	table, size := at.Table(m.kind.Snapshots)+m.kind.whereClause(), "0"
	for _, column := range strings.Fields(m.kind.Tables[m.kind.Snapshots]) {
		if slices.Contains(m.kind.Large, column) {
			size += " + ifnull(octet_length(" + column + "), 0)"
		}
	}
	var long bool
	err := t.Row(ctx, "SELECT count(*) > ? FROM (SELECT 1 FROM "+table+" LIMIT ?)", append(append([]any{mostListed}, at.Key...), mostListed+1)...).Scan(&long)
	if err != nil || !long {
		return nil, err
	}
	newest, before, ok, err := m.tail(ctx, in, place, 1)
	if err != nil || !ok {
		return nil, err
	}
	log, err := m.kind.Format.Log(ctx, opening{t}, at, "")
	info := &model.SessionInfo{Snapshots: before + 1, Orphaned: store.Uncounted, Head: newest[0].Point(), UpdatedAt: newest[0].CreatedAt, Title: log.Title, Faults: model.FaultsNotCounted}
	if err == nil {
		err = t.Row(ctx, "SELECT sum("+size+") FROM "+table, at.Key...).Scan(&info.Size)
	}
	return info, err
}

// opening is a transaction in which each query has no more than its first rows.
type opening struct{ Tx }

func (o opening) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	return o.Tx.Each(ctx, row, "SELECT * FROM ("+query+") LIMIT "+strconv.Itoa(openingRows), args...)
}

func fillInfo(log *engine.Log, info *model.SessionInfo) {
	info.Title, info.Size, info.Faults = log.Title, log.Size, model.FaultsNotCounted
	for i := len(log.Rows); i > 0 && info.UpdatedAt.IsZero(); i-- { // some versions note no times of the last rows
		info.UpdatedAt = log.Rows[i-1].CreatedAt
	}
}

// readSession returns a session, all of it settled, or as the format reads it from a snapshot on.
func (m *medium) readSession(ctx context.Context, in engine.In, at engine.Place, from string) (*engine.Log, error) {
	log, err := m.kind.Format.Log(ctx, in.Tx.(*moment).tables, at.Own.(Place), from)
	if from == "" {
		if err == nil && len(log.Rows) == 0 {
			err = model.ErrNoSession
		}
		m.settleLog(&log, at.Session)
	}
	log.Place, log.Head = at, slices.IndexFunc(log.Rows, func(h model.Header) bool { return h.Head })
	return &log, err
}

// settleLog counts the turns of a session, and settles who is off the path.
func (m *medium) settleLog(log *Log, session string) {
	turns := make(map[string]int, len(log.Rows))
	for i := range log.Rows {
		h := &log.Rows[i]
		h.SessionID = session
		if turn, ok := turns[h.ParentID]; ok {
			h.TurnIndex += turn
		} else {
			h.TurnIndex = max(h.TurnIndex-1, 0)
		}
		turns[h.ID] = h.TurnIndex
	}
	facts := log.Facts
	if h, unread := m.book.readHistory(); unread == nil {
		facts.Moves = append(slices.Clip(facts.Moves), h.headMoves(session)...)
	}
	model.Settle(log.Rows, facts)
}

// tail reads the last snapshots alone, as long as each follows the one before.
func (m *medium) tail(ctx context.Context, in engine.In, place engine.Place, n int) ([]model.Header, int, bool, error) {
	t, at := in.Tx.(*moment), place.Own.(Place)
	var all int
	var from *string
	table, backwards := at.Table(m.kind.Snapshots)+m.kind.whereClause(), strings.Join(m.kind.orderColumns(), " DESC, ")+" DESC"
	most := t.mostCounted()
	args := append(append(append(slices.Clone(at.Key), most), at.Key...), max(n-1, 0))
	err := t.Row(ctx, "SELECT (SELECT count(*) FROM (SELECT 1 FROM "+table+" LIMIT ?) counted), (SELECT "+m.kind.ID+" FROM "+table+" ORDER BY "+backwards+" LIMIT 1 OFFSET ?)", args...).Scan(&all, &from)
	if err != nil || n <= 0 || n >= all || from == nil {
		return nil, 0, false, err
	}
	log, err := m.readSession(ctx, in, place, *from)
	if err != nil || !log.IsLine() || len(log.Rows) != n || log.Rows[0].ParentID == "" { // ids of one second may be in no order
		return nil, 0, false, err
	}
	for i := range log.Rows {
		h := &log.Rows[i]
		h.SessionID, h.TurnIndex, h.Head = at.ID, model.TurnUnknown, i == n-1
	}
	if all == most {
		return log.Rows, store.Uncounted, true, nil
	}
	return log.Rows, all - n, true, nil
}

func (m *medium) readState(ctx context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	return m.kind.Format.State(ctx, in.Tx.(*moment).tables, row.Place.Own.(Place), row.ID)
}

func (m *medium) describeRow(ctx context.Context, in engine.In, row *engine.Row) (About, error) {
	return m.kind.Format.About(ctx, in.Tx.(*moment).tables, row.Place.Own.(Place), row.ID)
}

// Faults implements engine.Medium. A session may begin anew: by a rewind to its start, a branch from its first
// turn, a copy of its first checkpoint.
func (m *medium) Faults(ctx context.Context, of store.Store, session string, log *engine.Log, _ []model.Fault) ([]model.Fault, error) {
	faults, err := inspect.SessionFaults(ctx, of, session)
	faults = slices.DeleteFunc(faults, func(f model.Fault) bool {
		return f.Code == model.FaultSeveralRoots || m.kind.Seconds && f.Code == model.FaultEqualTime
	})
	if err != nil {
		return nil, err
	}
	at := log.Place.Own.(Place)
	var own store.FaultList
	err = m.carrier.Read(ctx, func(t tables) error {
		var more []model.Fault
		if doctor, ok := m.kind.Format.(Doctor); ok {
			more, err = doctor.Faults(ctx, t, at)
		} else {
			_, err = m.kind.Format.Log(ctx, t, at, "") // it comes to the damaged pages
		}
		own = store.FaultList{}
		for _, f := range append(more, passedOver(t)...) {
			own.Add(f)
		}
		return err
	})
	for _, h := range log.Rows {
		if h.Marks.Has(model.MarkDamaged) {
			f := m.kind.Damage
			if f.Verdict == "" {
				f = model.Fault{Severity: model.Stops, Meaning: "what stands beside the state cannot be read", Verdict: m.kind.Framework + " fails when it lists the session"}
			}
			f.Code, f.File = FaultRow, h.ID
			own.Add(f)
		}
	}
	if log.Opaque != "" {
		own.Add(Opaque(session, log.Opaque, m.kind.Framework))
	}
	if err == nil {
		var unread []model.Fault
		unread, err = inspect.UnreadFaults(ctx, of, session, inspect.DamagedIn(faults, session), func(yield func(*inspect.Carried)) error {
			return m.carrier.Read(ctx, func(t tables) error { return m.yieldCarried(ctx, t, at, yield) })
		})
		faults = append(faults, unread...)
	}
	return append(faults, own.All()...), err
}

// explainLack returns why the kind does not support an operation.
func (m *medium) explainLack(op model.Op) string {
	if _, writes := m.kind.Format.(Mover); !writes || m.kind.Does == nil {
		return m.kind.Lacks
	}
	if slices.Contains(m.kind.Does, op) || op == model.OpUndo || op == model.OpRedo || op == model.OpGiveBack {
		if m.book.path == "" {
			return errNoFolder
		}
		return ""
	}
	return cmp.Or(m.kind.Refuses[op], store.Cannot(m.kind.Name, op))
}

// moverSession returns a log as a [Mover] takes it.
func (m *medium) moverSession(ctx context.Context, in engine.In, log *engine.Log) (*Session, error) {
	s := &Session{Place: log.Place.Own.(Place), Log: *log, Now: in.Now}
	places, err := m.listPlaces(ctx, in.Tx.(*moment))
	s.Others = slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return p.ID == s.ID })
	return s, err
}

func (m *medium) planMove(ctx context.Context, in engine.In, log *engine.Log, c model.Change) (*engine.Move, error) {
	before, err := m.moverSession(ctx, in, log)
	if err != nil {
		return nil, err
	}
	own, err := m.kind.Format.(Mover).Move(ctx, in.Tx.(*moment).tables, before, c)
	if err != nil {
		return nil, err
	}
	move := own.engineMove()
	if at := move.New; at != nil && (at.Session == before.ID || slices.ContainsFunc(before.Others, func(p Place) bool { return p.ID == at.Session })) {
		return nil, store.ErrSessionExists
	}
	return move, nil
}

// planStart plans a session that begins with a conversation, in the tables that have the names of the kind, or else in the
// first ones.
func (m *medium) planStart(ctx context.Context, c *engine.Start) (*engine.Move, error) {
	t := c.In.Tx.(*moment)
	places, err := m.listPlaces(ctx, t)
	if err != nil {
		return nil, err
	}
	sets, err := t.listTableSets(ctx, m.kind)
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return nil, &model.UnsupportedError{Op: model.OpContinue, Reason: "the tables are gone"}
	}
	named := max(0, slices.IndexFunc(sets, func(set map[string]string) bool { return set[m.kind.Snapshots] == m.kind.Snapshots }))
	own, err := m.kind.Format.(Continuer).Continue(ctx, t.tables, Place{tables: sets[named]}, c)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(places, func(p Place) bool { return p.ID == own.New.ID }) {
		return nil, store.ErrSessionExists
	}
	return own.engineMove(), nil
}

// planTake plans the rows that sessions of another store become.
func (m *medium) planTake(ctx context.Context, in engine.In, by Taker, from store.Store, session, as string) (move *engine.Move, err error) {
	take := func(of engine.In, at *Place) error {
		t, ok := of.Tx.(*moment)
		if !ok || from.Kind() != m.kind.Name {
			return &model.UnsupportedError{Op: model.OpConvert, Reason: store.Article(from.Kind()) + " session has no rows of " + m.kind.Framework}
		}
		own, err := by.Take(ctx, in.Tx.(*moment).tables, t.tables, at, as)
		if err == nil {
			move = own.engineMove()
		}
		return err
	}
	source, ok := from.(*engine.Store)
	switch {
	case !ok:
		err = take(engine.In{}, nil)
	case session == "":
		err = source.Read(ctx, func(of engine.In) error { return take(of, nil) })
	default:
		err = source.In(ctx, session, func(of engine.In, at engine.Place) error {
			own, _ := at.Own.(Place)
			return take(of, &own)
		})
	}
	return move, err
}

// planRowsBack makes the move that adds the rows of a session. A row that is there as it was stays, and so does one that other sessions share.
func (m *medium) planRowsBack(ctx context.Context, in engine.In, of store.GivenRows) (*engine.Move, error) {
	t := in.Tx.(*moment).tables
	sets, err := t.listTableSets(ctx, m.kind)
	if err != nil {
		return nil, err
	}
	place := Place{}
	for _, set := range sets {
		if slices.ContainsFunc(of.Rows, func(r store.GivenRow) bool { return r.Table == set[m.kind.Snapshots] }) {
			place.tables = set
		}
	}
	place = place.keyedPlace(of.Key, map[string]bool{})
	place.ID = of.Session
	var steps []Step
	for _, r := range of.Rows {
		has, err := t.Columns(ctx, r.Table)
		switch {
		case err != nil:
			return nil, err
		case len(has) == 0 && r.Shared: // another version of the framework has no such table
			continue
		case len(has) == 0:
			return nil, fmt.Errorf("the database has no table %q any more: %w", r.Table, fs.ErrNotExist)
		}
		if r.Shared && slices.ContainsFunc(steps, func(s Step) bool { return s.Table == r.Table && s.At == r.At && r.At != 0 }) {
			continue // a session and a sub-agent of it share the row
		}
		step := []Step{{Table: r.Table, After: r.Values, At: r.At}}
		now, err := t.currentRows(ctx, step)
		switch {
		case err != nil:
			return nil, err
		case now[0] == nil:
			steps = append(steps, Step{Table: r.Table, After: r.Values, At: r.At})
		case !r.Shared && !now[0].equal(r.Values):
			return nil, fmt.Errorf("%s is another one now: %w", step[0].String(), fs.ErrExist)
		}
	}
	at := enginePlace(place)
	return &engine.Move{Rows: steps, New: &at}, nil
}

func (m *medium) predictNext(ctx context.Context, in engine.In, _, log *engine.Log, move *engine.Move) (engine.Next, error) {
	after, err := m.moverSession(ctx, in, log)
	if err != nil {
		return engine.Next{}, err
	}
	var own *Move
	if move != nil {
		if own, _ = move.Own.(*Move); own == nil {
			return engine.Next{Loads: "the session as it was"}, nil
		}
	}
	return m.kind.Format.(Mover).Next(ctx, in.Tx.(*moment).tables, after, own)
}

func (m *medium) inputOf(t tables) engine.In { return engine.In{Tx: &moment{tables: t}, Now: m.now()} }

// Read implements engine.Medium.
func (m *medium) Read(ctx context.Context, what func(engine.In) error) error {
	look := m.note.lookNow()
	return m.carrier.Read(ctx, func(t tables) error {
		return what(engine.In{Tx: &moment{tables: t, look: look}, Now: m.now()})
	})
}

// Look implements engine.Medium. A program that only adds puts its rows behind those that there were, and
// gives them greater row ids:
//
//	rows since                                  what is read
//	none, and the newest is as it was           the newest
//	more, each following the one before         those
//	fewer, of an older snapshot, or elsewhere   all
//
// A row that another takes the place of gets a new row id, but for the last of a table:
// so the newest snapshot is read each time.
func (m *medium) Look(ctx context.Context, in engine.In, place engine.Place, was any, newest string) (engine.Look, error) {
	t, at := in.Tx.(*moment), place.Own.(Place)
	then, _ := was.([]mark)
	now, grows, err := t.readMarks(ctx, m.kind, at, then, newest)
	look := engine.Look{In: in, Mark: func(newest string) (any, error) { return t.upTo(ctx, m.kind, at, newest, now) }}
	if grows {
		look.Since = engine.Grew
	}
	return look, err
}

// Teller implements engine.Medium: what the journal tells is in a log as it is read.
func (*medium) Teller(context.Context) engine.Teller {
	return func(_ context.Context, _ engine.In, _ engine.Place, log *engine.Log) (*engine.Log, error) {
		return log, nil
	}
}

// Silent implements engine.Medium.
func (*medium) Silent() bool { return true }

// Check implements engine.Medium.
func (m *medium) Check(ctx context.Context, in engine.In) ([]model.Fault, error) {
	return in.Tx.(*moment).checkTables(ctx, m.kind)
}

// Watch implements engine.Medium.
func (m *medium) Watch(ctx context.Context) (<-chan struct{}, error) {
	return m.carrier.Watch(ctx, m.notifier.Listen(ctx))
}

// Close implements engine.Medium.
func (m *medium) Close() error {
	m.notifier.Close()
	return m.carrier.Close()
}

// Lacks implements engine.Medium: the format says it.
func (*medium) Lacks() string { return "" }

// Suppose implements engine.Medium.
func (m *medium) Suppose(ctx context.Context, what func(engine.Stage) error) error {
	m.settleIntent(ctx)
	return m.carrier.Suppose(ctx, func(t tables) error { return what(&stage{medium: m, in: m.inputOf(t)}) })
}

// stage is a transaction with steps laid over the tables.
type stage struct {
	*medium
	in engine.In
	c  carry
}

func (g *stage) In() engine.In { return g.in }

func (g *stage) Busy(ctx context.Context, before *engine.Log) (string, error) {
	of, err := g.moverSession(ctx, g.in, before)
	if err != nil {
		return "", err
	}
	return g.busyReason(ctx, g.in.Tx.(*moment).tables, of)
}

func (g *stage) Lay(ctx context.Context, at engine.Place, move *engine.Move) (engine.In, error) {
	t := g.in.Tx.(*moment)
	g.c.at = at.Own.(Place)
	g.c.steps, _ = move.Rows.([]Step)
	err := expectStored(ctx, t, g.c.steps)
	if err == nil {
		g.c.marks, err = t.readExtent(ctx, g.kind, g.c.at)
	}
	if err == nil {
		err = t.layViews(ctx, g.c.steps)
	}
	return g.in, err
}

func (g *stage) Reversal(_ context.Context, op model.Op) (*engine.Reversal, error) {
	h, err := g.book.readHistory()
	if err == nil && h.other {
		err = errFormat
	}
	if err != nil {
		return nil, err
	}
	e := h.nextReversal(op)
	if e == nil {
		return nil, nil
	}
	steps, err := e.unpackSteps()
	if err != nil {
		return nil, err
	}
	if op == model.OpUndo {
		steps = reverseSteps(steps)
	}
	g.c.of = e.ID
	r := &engine.Reversal{
		Plan: model.Plan{Op: op, Session: e.Session, Others: e.Others, Entry: e.ID, Removes: op == model.OpUndo && e.makesSession()},
		At:   enginePlace(e.sessionPlace()), Move: &engine.Move{Rows: steps},
		Entry: planning.Entry{ID: e.ID, Op: e.Op, Session: e.Session, Head: e.Head, Within: !e.makesSession()},
		Hangs: func(ctx context.Context, in engine.In) error {
			return g.refuseDangling(ctx, in.Tx.(*moment).tables, steps)
		},
	}
	if e.makesSession() { // a repair that makes a session is taken back as a fork is
		r.Entry.Op = model.OpFork
	} else if op == model.OpRedo { // the row itself is still to come
		r.Plan.Target = model.Point{ID: e.To, Index: e.ToIndex}
	}
	if !r.Entry.Op.MakesSession() { // while a branch is made the agent may write to another one
		r.Entry.From = e.From
	}
	return r, nil
}

func (g *stage) Draft(_ context.Context, plan *model.Plan, w *engine.Write) error {
	c := g.c
	if c.after = w.After.PlanningLog(); len(c.steps) > 0 {
		plan.Writes = append(append(plan.Writes, describeSteps(c.steps)...), "journal: one entry, in "+g.book.fileName()+" "+g.carrier.Where())
	}
	plan.Carry = &c
	return nil
}

// Commit implements engine.Medium. The rows change in one transaction. Within it everything that the plan saw is
// compared, the intent is written to the journal and synced, and the session is read back.
func (m *medium) Commit(ctx context.Context, plan model.Plan, _, is func(context.Context, engine.In) error) (model.Receipt, error) {
	entry, err := m.commitPlan(ctx, plan, is)
	switch {
	case err == nil:
	case model.Unwritable(err):
		err = m.carrier.ExplainDenial(err)
	case errors.Is(err, syscall.ENOSPC):
		err = fmt.Errorf("%w: nothing was changed: free some space and try again", err)
	case m.carrier.Busy(err):
		err = fmt.Errorf("%w: nothing was changed: try again when it is done", err)
	}
	return model.Receipt{Entry: entry}, err
}

func (m *medium) commitPlan(ctx context.Context, plan model.Plan, is func(context.Context, engine.In) error) (entry int64, err error) {
	c, ok := plan.Carry.(*carry)
	if !ok {
		return 0, journal.ErrNoCarry
	}
	if plan.Idle() {
		return 0, nil
	}
	intended, verified := int64(0), false
	err = m.carrier.Amend(ctx, func(t tables) error {
		if err := m.settleIn(ctx, t); err != nil {
			return err
		}
		if err := m.stillSo(ctx, t, &plan, c); err != nil {
			return err
		}
		id, err := m.writeIntent(&plan, c)
		if err != nil {
			return err
		}
		intended = id
		if err := t.carryOut(ctx, c.steps); err != nil {
			return err
		}
		verified = true
		return is(ctx, m.inputOf(t))
	})
	if intended == 0 {
		return 0, err
	}
	end := record{Done: intended}
	if err != nil {
		end = record{Off: intended, Why: err.Error()}
	}
	if err != nil && verified { // a commit that failed may have happened
		m.settleIntent(context.WithoutCancel(ctx))
		return 0, err
	}
	if told := m.book.appendRecord(end); err != nil {
		return 0, errors.Join(err, told)
	}
	m.notifier.Notify()
	return cmp.Or(c.of, intended), nil // an end that is not told is found by the rows
}

// Journal implements engine.Medium.
func (m *medium) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	m.settleIntent(ctx)
	h, err := m.book.readHistory()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	if err := h.damageError(); err != nil {
		return h.journalEntries(), fmt.Errorf("read the journal %q: %w", m.book.path, err)
	}
	return h.journalEntries(), nil
}
