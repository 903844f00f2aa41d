// Package rows makes a store out of the tables of a SQLite file that another program
// writes. A kind says how its tables are read, see [Format]. How the file is opened
// and watched, who is off the path and why, what is wrong with a session, and how
// errors are worded, is here for all of them.
//
// A kind that is a [Mover] says which rows change to put a session back or to fork it.
// The plan reads the log of the tables, and with the same Format the log of the tables
// with these rows laid over them: temporary views, in memory, which the file never
// sees. What leaves the path is the difference of the two logs, see package planning.
//
// A plan is carried out in one transaction (BEGIN IMMEDIATE):
//
//	compare   each row that changes, and how many rows the session has in each table
//	intend    the rows before and after go into the journal, which is synced
//	change    these rows and no other; a trigger that does more takes all of it back
//	verify    the log is read back, and compared with the plan
//	COMMIT    and the journal says that it is done
//
// The journal lies beside the file, see [Beside]. Where a write was broken off, SQLite takes
// back what was not committed, and the next opening tells by the rows whether it was. An
// undo is the same plan with the rows the other way round. It refuses where the agent wrote
// on a row that would go. What it cannot give back is the counter of an AUTOINCREMENT.
package rows

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Format is all that a kind writes in Go. Each method runs within one transaction, and
// so sees one state of the file.
type Format interface {
	// Log returns the snapshots of a session, from the one with an id on: all where the
	// id is "", none where the session is gone.
	Log(ctx context.Context, t Tx, of Place, from string) (Log, error)
	// State returns the state of the snapshot with that id. The error is
	// model.ErrNoSnapshot for an id that the session does not have.
	State(ctx context.Context, t Tx, of Place, id string) ([]byte, error)
	// About returns what else is known about a snapshot. The errors are those of State.
	About(ctx context.Context, t Tx, of Place, id string) (About, error)
}

// Doctor is a format that finds more wrong with a session than its rows tell.
type Doctor interface {
	// Faults returns what is wrong with a session.
	Faults(ctx context.Context, t Tx, of Place) ([]model.Fault, error)
}

// Place is one session: its id, and the values of the columns that name it.
type Place struct {
	ID  string
	Key []any
	// tables are the names of the kind's tables in this database, where they differ.
	tables map[string]string
}

// Name returns the name of one of the kind's tables in the database.
func (p Place) Name(table string) string {
	if name, ok := p.tables[table]; ok {
		return name
	}
	return table
}

// Table returns how a statement names one of the kind's tables.
func (p Place) Table(table string) string {
	if name, ok := p.tables[table]; ok {
		return Quoted(name)
	}
	return table
}

// Named returns where a session is in the same tables, by its id and by the columns that name it.
func (p Place) Named(id string, key ...any) *Place {
	return &Place{ID: id, Key: key, tables: p.tables}
}

// Log is the snapshots of a session.
type Log struct {
	// Headers come in the order in which they were recorded. Their TurnIndex says how
	// many turns begin with the snapshot, which are then counted along the parents.
	// SessionID is left out of them, and who is off the path, and why.
	Headers []model.Header
	Head    model.HeadFacts
	// Opaque is how states are stored that are shown as the bytes that they are, because
	// they are encrypted or would have to be run; "" for none.
	Opaque string
	// Title and Size are those of the session's info. First is the part of Size that the
	// first of the headers has.
	Title       string
	Size, First int64
}

// Codes of the faults that are found here. A row with model.MarkDamaged is one.
const (
	// FaultDatabase: SQLite's own check found damage.
	FaultDatabase = "damaged-database"
	// FaultRow: what stands beside a state cannot be read.
	FaultRow = "damaged-row"
)

// Opaque returns the fault that says how states of a session are stored that are not read.
func Opaque(session, encoding, framework string) model.Fault {
	return model.Fault{Code: model.FaultOpaque, Severity: model.Odd, File: session, Meaning: "states are stored as " + encoding + " and shown as bytes",
		Verdict: framework + " loads what it has the key or the classes for"}
}

// About is what is known about a snapshot besides its state.
type About struct {
	Facts model.Facts
	// Resume are the calls that name the snapshot, the best one first.
	Resume []model.Resume
	Gaps   model.Gaps
}

// Kind describes a kind.
type Kind struct {
	// Name, Framework and IDs are what store.Kind and store.Deriver say.
	Name, Framework, IDs string
	// Does are the operations that a Format which is a [Mover] plans, besides undo and redo.
	Does []model.Op
	// Refuses says why the others are none that it plans, and what to do instead; an
	// operation that it does not have is one that no store of the kind can do.
	Refuses map[model.Op]string
	// Lacks says why nothing can be written where the Format is no Mover, and what to do
	// instead.
	Lacks string
	// Damage is what the framework does at a row that cannot be read: the severity and the
	// verdict. Without one it fails.
	Damage model.Fault
	// Seconds says that times are whole seconds, so that equal ones are no fault.
	Seconds bool
	// Places is that of store.Kind; nil for none.
	Places func(store.Surroundings) []string
	// Tables are those that tell a database of the kind, with their columns. Those that
	// have the columns of Key and Order are looked at to see what a session became.
	Tables map[string]string
	// Sides are tables that a database may have besides, whose texts are looked for in the states.
	Sides []Side
	// Large are those of the columns that may hold more than a name: states, and what else people
	// and models write. A row whose other columns hold a megabyte is not read.
	Large []string
	// Renamed says that a program may call the tables as it likes, and have several such
	// sets in one database. They are found by their columns: that of the snapshots refers
	// to the others.
	Renamed bool
	// Snapshots is the table that has a row for each snapshot, or a subquery with a column
	// rowid. Key are the columns of it that name the session, all text: the id is what is
	// in them, with slashes between, without those at the end that are empty. ID is the
	// column of the snapshot's id.
	Snapshots string
	Key       []string
	ID        string
	// Reads are the columns of it that are read to know what it carries, all where it is "".
	Reads string
	// Order are the columns by which a later snapshot is greater than all before it; ID
	// alone where there are none.
	Order  []string
	Format Format
}

// Side is a table without the columns of [Kind.Key]: the rows of a session are those whose Column is
// one of Of, a list or a query of SQL that takes the key.
type Side struct{ Table, Column, Of string }

// order returns the columns by which a later snapshot is greater.
func (k Kind) order() []string {
	if k.Order == nil {
		return []string{k.ID}
	}
	return k.Order
}

// watched returns the tables that have a row for each change of a session.
func (k Kind) watched() []string {
	tables := []string{k.Snapshots}
	for _, table := range slices.Sorted(maps.Keys(k.Tables)) {
		has := strings.Fields(k.Tables[table])
		lacks := func(column string) bool { return !slices.Contains(has, column) }
		if table != k.Snapshots && !slices.ContainsFunc(slices.Concat(k.order(), k.Key), lacks) {
			tables = append(tables, table)
		}
	}
	return tables
}

// Kind returns the kind for the list of kinds.
func (k Kind) Kind() store.Kind {
	return store.Kind{
		Name:      k.Name,
		Framework: k.Framework,
		Files:     []string{"*.db", "*.db3", "*.sqlite", "*.sqlite3"},
		Recognise: k.recognise,
		Places:    k.Places,
		Open:      func(ctx context.Context, path string) (store.Store, error) { return k.open(ctx, path) },
	}
}

// sign says what tells a database of the kind, or, with false, what it lacks.
func (k Kind) sign(ctx context.Context, t sqliteTx) (why string, ok bool, err error) {
	tables := slices.Sorted(maps.Keys(k.Tables))
	sets, err := k.find(ctx, t)
	if len(sets) == 0 {
		for i := 0; err == nil && i < len(tables); i++ {
			var what string
			if what, err = t.Instead(ctx, tables[i]); what != "" {
				return "not a " + k.Framework + " database: " + tables[i] + " is " + what, false, nil
			}
		}
		return "a SQLite database without " + k.Framework + "'s tables " + strings.Join(tables, " and "), false, err
	}
	if sets[0] != nil {
		tables = slices.Sorted(maps.Values(sets[0]))
	}
	return "a SQLite database with " + k.Framework + "'s tables " + strings.Join(tables, " and "), true, nil
}

// find returns the sets of the kind's tables in a database, each by the names that the
// kind has for them. A set is nil where these are the names in the database.
func (k Kind) find(ctx context.Context, t tables) (sets []map[string]string, err error) {
	if !k.Renamed {
		for table, columns := range k.Tables {
			if has, err := t.Columns(ctx, table); err != nil || !hasAll(has, columns) {
				return nil, err
			}
		}
		return []map[string]string{nil}, nil
	}
	names, err := firstColumn[string](ctx, t, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	for _, name := range names {
		has, err := t.Columns(ctx, name)
		if err != nil {
			return nil, err
		}
		if !hasAll(has, k.Tables[k.Snapshots]) {
			continue
		}
		parents, err := firstColumn[string](ctx, t, `SELECT "table" FROM pragma_foreign_key_list(?, 'main')`, name)
		if err != nil {
			return nil, err
		}
		set := map[string]string{k.Snapshots: name}
		for _, parent := range parents {
			if has, err = t.Columns(ctx, parent); err != nil {
				return nil, err
			}
			for table, columns := range k.Tables {
				if table != k.Snapshots && hasAll(has, columns) {
					set[table] = parent
				}
			}
		}
		if len(set) == len(k.Tables) {
			sets = append(sets, set)
		}
	}
	return sets, err
}

// hasAll reports whether a table has all of some columns.
func hasAll(has map[string]bool, columns string) bool {
	return !slices.ContainsFunc(strings.Fields(columns), func(column string) bool { return !has[column] })
}

// firstColumn returns the first column of a query.
func firstColumn[V any](ctx context.Context, t Tx, query string, args ...any) (all []V, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var value V
		err := scan(&value)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}

// foreign says that a database is not one of the kind.
type foreign string

func (f foreign) Error() string { return string(f) }

// Store is an open file. It is safe for concurrent use.
type Store struct {
	kind     Kind
	address  string
	carrier  carrier
	notifier store.Notifier
	// known has the places of sessions that were read, by their ids.
	known  sync.Map
	memory memory
	book   book
	now    func() time.Time
}

var (
	_ store.Deriver = (*Store)(nil)
	_ store.Resumer = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Tailer  = (*Store)(nil)
	_ store.Grower  = (*Store)(nil)
)

// Kind returns the kind's name.
func (s *Store) Kind() string { return s.kind.Name }

// Address returns the path that was opened.
func (s *Store) Address() string { return s.address }

// DerivedIDs implements store.Deriver.
func (s *Store) DerivedIDs() string { return s.kind.IDs }

// Close lets go of the file, and ends what Watch returned.
func (s *Store) Close() error {
	s.notifier.Close()
	return s.wrap(s.carrier.Close(), "close %q", s.address)
}

// wrap puts in front of an error what failed.
func (s *Store) wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.kind.Name, fmt.Sprintf(what, args...), err)
}

// log reads all snapshots of a session, and settles who is off the path.
func (s *Store) log(ctx context.Context, t tables, at Place) (Log, error) {
	log, err := s.kind.Format.Log(ctx, t, at, "")
	if err == nil && len(log.Headers) == 0 {
		err = model.ErrNoSession
	}
	turns := make(map[string]int, len(log.Headers))
	for i := range log.Headers {
		h := &log.Headers[i]
		h.SessionID = at.ID
		if turn, ok := turns[h.ParentID]; ok {
			h.TurnIndex += turn
		} else {
			h.TurnIndex = max(h.TurnIndex-1, 0)
		}
		turns[h.ID] = h.TurnIndex
	}
	facts := log.Head
	if h, unread := s.book.history(); unread == nil {
		facts.Moves = append(slices.Clip(facts.Moves), h.moves(at.ID)...)
	}
	model.Settle(log.Headers, facts)
	return log, err
}

// Find reads a session, unless it was read and the file is as it was, and returns the place of
// a snapshot in it. The error is model.ErrNoSnapshot where it has none of that id.
func Find[S interface{ Find(id string) int }](t Tx, of Place, id string, read func() (S, error)) (session S, place int, err error) {
	session, err = Keep(t, of.ID, read)
	if err != nil {
		return session, -1, err
	}
	if place = session.Find(id); place < 0 {
		err = model.ErrNoSnapshot
	}
	return session, place, err
}

// At returns the position of a snapshot, -1 for none.
func (l *Log) At(id string) int {
	return slices.IndexFunc(l.Headers, func(h model.Header) bool { return h.ID == id })
}

// places returns the sessions, each with an id of its own.
func (s *Store) places(ctx context.Context, t tables) (places []Place, err error) {
	sets, err := t.sets(ctx, s.kind)
	taken := map[string]bool{}
	for i := 0; err == nil && i < len(sets); i++ {
		in := Place{tables: sets[i]}
		var keys [][]string
		keys, err = t.keys(ctx, s.kind, in)
		for _, key := range keys {
			places = append(places, in.named(key, taken))
		}
	}
	if err == nil && len(places) == 0 {
		err = lost(t)
	}
	return places, err
}

// unnamed is the id of a session whose name is empty: "" is the store itself.
const unnamed = "(no name)"

// named returns the place of the session with a key, in the tables of a place. taken are the ids of those before.
func (p Place) named(key []string, taken map[string]bool) Place {
	p.Key = make([]any, len(key))
	for i, name := range key {
		p.Key[i] = name
	}
	for len(key) > 1 && key[len(key)-1] == "" {
		key = key[:len(key)-1]
	}
	if p.ID = strings.Join(key, "/"); p.ID == "" {
		p.ID = unnamed
	}
	for taken[p.ID] {
		p.ID += "'"
	}
	taken[p.ID] = true
	return p
}

// in runs what on a session, in one transaction. The error is model.ErrNoSession where
// there is none of that id.
func (s *Store) in(ctx context.Context, session string, what func(tables, Place) error) error {
	return s.carrier.Read(ctx, func(t tables) error {
		if at, ok := s.known.Load(session); ok {
			// To list the sessions takes longer than to read one snapshot.
			if err := what(t, at.(Place)); !errors.Is(err, model.ErrNoSession) && !errors.Is(err, model.ErrNoSnapshot) {
				return err
			}
		}
		places, err := s.places(ctx, t)
		if err != nil {
			return err
		}
		s.remember(places)
		if at, ok := s.known.Load(session); ok {
			return what(t, at.(Place))
		}
		return model.ErrNoSession
	})
}

// remember keeps the places of the sessions that there are.
func (s *Store) remember(places []Place) {
	s.known.Clear()
	for _, at := range places {
		s.known.Store(at.ID, at)
	}
}

// Sessions implements store.Store.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		infos, err := s.infos(ctx)
		for _, info := range infos {
			if ctx.Err() != nil {
				err = ctx.Err()
				break
			}
			if !yield(info, nil) {
				return
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, s.wrap(err, "list sessions"))
		}
	}
}

func (s *Store) infos(ctx context.Context) (infos []model.SessionInfo, err error) {
	err = s.carrier.Read(ctx, func(t tables) error {
		infos = nil
		if lists, ok := s.kind.Format.(Lister); ok {
			list, err := lists.List(ctx, t)
			if err != nil || list != nil {
				infos = s.listed(list)
				return err
			}
		}
		places, err := s.places(ctx, t)
		for _, at := range places {
			log, err := s.look(ctx, t, at)
			if errors.Is(err, model.ErrNoSession) {
				continue // what names it is no text
			}
			if err != nil {
				return err
			}
			info := model.SessionInfo{
				ID: at.ID, Kind: s.kind.Name, Title: log.Title, Size: log.Size, Faults: model.FaultsNotCounted,
				UpdatedAt: log.Headers[len(log.Headers)-1].CreatedAt,
			}
			info.Count(log.Headers)
			infos = append(infos, info)
		}
		return err
	})
	// A session changes with those that are named below it, and comes before them.
	at := make(map[string]int, len(infos))
	for i := range infos {
		at[infos[i].ID] = i
	}
	for _, below := range infos {
		for end := range below.ID {
			if i, ok := at[below.ID[:end]]; ok && below.ID[end] == '/' && below.UpdatedAt.After(infos[i].UpdatedAt) {
				infos[i].UpdatedAt = below.UpdatedAt
			}
		}
	}
	slices.SortStableFunc(infos, store.NewestFirst)
	return infos, err
}

// listed completes what a format lists.
func (s *Store) listed(list []Listed) (infos []model.SessionInfo) {
	var places []Place
	taken := map[string]bool{}
	for _, l := range list {
		at, info := Place{}.named(l.Key, taken), l.Info
		info.ID, info.Kind, info.Faults = at.ID, s.kind.Name, model.FaultsNotCounted
		places, infos = append(places, at), append(infos, info)
	}
	s.remember(places)
	return infos
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		now, err := s.current(ctx, session)
		for i := 0; err == nil && i < len(now.Headers); i++ {
			if err = ctx.Err(); err == nil && !yield(now.Headers[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Header{}, s.wrap(err, "list snapshots of session %q", session))
		}
	}
}

// State implements store.Store.
func (s *Store) State(ctx context.Context, ref model.Ref) (state []byte, err error) {
	err = s.at(ctx, ref, func(t tables, at Place) (err error) {
		state, err = s.kind.Format.State(ctx, t, at, ref.ID)
		return err
	})
	return state, s.wrap(err, "read state %q of session %q", ref.ID, ref.Session)
}

// at runs what on the session of a snapshot. Rows record no visits, so the snapshot has
// none but the latest.
func (s *Store) at(ctx context.Context, ref model.Ref, what func(tables, Place) error) error {
	return s.in(ctx, ref.Session, func(t tables, at Place) error {
		if ref.Visit != 0 {
			return model.ErrNoSnapshot
		}
		return what(t, at)
	})
}

func (s *Store) about(ctx context.Context, ref model.Ref) (about About, err error) {
	err = s.at(ctx, ref, func(t tables, at Place) (err error) {
		about, err = s.kind.Format.About(ctx, t, at, ref.ID)
		return err
	})
	return about, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
}

// Facts implements store.Deriver.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	about, err := s.about(ctx, ref)
	return about.Facts, err
}

// Resume implements store.Resumer.
func (s *Store) Resume(ctx context.Context, ref model.Ref) ([]model.Resume, error) {
	about, err := s.about(ctx, ref)
	if err != nil || len(about.Resume) == 0 {
		return about.Resume, err
	}
	state, err := s.State(ctx, ref)
	if err != nil { // that is told of the state
		return about.Resume, ctx.Err()
	}
	return store.WarnOf(about.Resume, store.ConversationHazards(s.kind.Name, s.kind.Framework, state)), nil
}

// Gaps implements store.Deriver.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	about, err := s.about(ctx, ref)
	return about.Gaps, err
}

// Faults implements store.Store. For the store itself it runs SQLite's check of the
// whole file.
func (s *Store) Faults(ctx context.Context, session string) (faults []model.Fault, err error) {
	if session == "" {
		err = s.carrier.Read(ctx, func(t tables) (err error) {
			faults, err = t.check(ctx, s.kind)
			return err
		})
		return faults, s.wrap(err, "check %q", s.address)
	}
	log, err := s.current(ctx, session)
	if err != nil {
		return nil, s.wrap(err, "check session %q", session)
	}
	faults, err = store.SessionFaults(ctx, s, session)
	faults = slices.DeleteFunc(faults, func(f model.Fault) bool {
		// A session may begin anew: by a rewind to its start, a branch from its first turn, a copy of its first checkpoint.
		return f.Code == model.FaultSeveralRoots || s.kind.Seconds && f.Code == model.FaultEqualTime
	})
	var own store.FaultList
	if err == nil {
		err = s.in(ctx, session, func(t tables, at Place) (err error) {
			var more []model.Fault
			if doctor, ok := s.kind.Format.(Doctor); ok {
				more, err = doctor.Faults(ctx, t, at)
			} else {
				_, err = s.log(ctx, t, at) // it comes to the damaged pages
			}
			own = store.FaultList{}
			for _, f := range slices.Concat(more, passedOver(t)) {
				own.Add(f)
			}
			return err
		})
	}
	for _, h := range log.Headers {
		if h.Marks.Has(model.MarkDamaged) {
			f := s.kind.Damage
			if f.Verdict == "" {
				f = model.Fault{Severity: model.Stops, Meaning: "what stands beside the state cannot be read", Verdict: s.kind.Framework + " fails when it lists the session"}
			}
			f.Code, f.File = FaultRow, h.ID
			own.Add(f)
		}
	}
	if log.Opaque != "" {
		own.Add(Opaque(session, log.Opaque, s.kind.Framework))
	}
	if err == nil {
		var lost []model.Fault
		lost, err = store.UnreadFaults(ctx, s, session, store.DamagedIn(faults, session), func(yield func(*store.Carried)) error {
			return s.in(ctx, session, func(t tables, at Place) error { return s.carried(ctx, t, at, yield) })
		})
		faults = append(faults, lost...)
	}
	return append(faults, own.All()...), s.wrap(err, "check session %q", session)
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	changes, err := s.carrier.Watch(ctx, s.notifier.Listen(ctx))
	return changes, s.wrap(err, "watch %q", s.address)
}
