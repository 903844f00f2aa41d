package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
)

// rowsPlan is the Carry of a plan that gives rows back: to a store that has the database, or as a database that is made.
type rowsPlan struct {
	into     store.Store
	made     model.Plan
	database string
	names    []string
}

// redactedHazard warns of letters in place of secrets.
const redactedHazard = "it was kept without its secrets: letters are in their places, and it is not byte for byte what it was"

// planRowsBack plans to give the rows of a session and of its sub-agents back: the same rows in the same tables, or a new session
// if another row is in the way.
func (s *goneStore) planRowsBack(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	session := c.Ref.Session
	database, names, err := s.ownRows(ctx, session)
	if err != nil {
		return plan, err
	}
	why := s.kind.Tables.NotBack
	if len(names) == 0 && why == "" {
		why = "its kind does not tell which of the kept files are its own"
	}
	if why != "" {
		return plan, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	hidden := slices.ContainsFunc(names, func(name string) bool { return s.source.files[name].redacted })
	if isMissing(database) {
		plan, err = s.planDatabase(ctx, session, database, names)
	} else {
		plan, err = s.planRows(ctx, c, names)
	}
	if err == nil && hidden {
		plan.Hazards = append([]string{redactedHazard}, plan.Hazards...)
	}
	return plan, err
}

// ownRows returns the names of the rows of a session and of its sub-agents, and the database that they were in.
func (s *goneStore) ownRows(ctx context.Context, session string) (database string, names []string, err error) {
	ids := []string{session}
	for info, err := range s.Store.Sessions(ctx) {
		if err != nil {
			return "", nil, err
		}
		if info.ID != session && isPartOf(info, session) {
			ids = append(ids, info.ID)
		}
	}
	for _, id := range ids {
		for _, name := range slices.Sorted(maps.Keys(s.made.names)) {
			of, unit, is := splitRows(name)
			if is && (unit == id || strings.HasSuffix(id, "/"+unit)) && (database == "" || of == database) && !slices.Contains(names, name) {
				database, names = of, append(names, name)
				break
			}
		}
		if id == session && len(names) == 0 {
			return "", nil, nil
		}
	}
	return database, names, nil
}

// planDatabase plans to make a database again that is gone.
func (s *goneStore) planDatabase(ctx context.Context, session, database string, names []string) (plan model.Plan, err error) {
	plan = model.Plan{Op: model.OpGiveBack, Session: session, Final: true, Carry: &rowsPlan{database: database, names: names}}
	var size int64
	for _, name := range names {
		size += s.source.files[name].size
	}
	plan.Files = []model.PlanFile{{Path: filepath.FromSlash(database), Does: model.FilePutBack, Size: size}}
	plan.Hazards = []string{"the database is gone as a whole and is made again with the tables of the session alone: an undo leaves it"}
	plan.Loads = "the session as it was kept"
	for h, err := range s.Store.Headers(ctx, session) {
		if err != nil {
			return plan, err
		}
		if h.Head || plan.Target.ID == "" {
			plan.Target = h.Point()
		}
	}
	return plan, nil
}

// planRows plans to add rows to the database of the tool.
func (s *goneStore) planRows(ctx context.Context, c model.Change, names []string) (plan model.Plan, err error) {
	session := c.Ref.Session
	live, err := s.openLive(ctx)
	if err != nil {
		return plan, err
	}
	if live == nil || live.Features().PlanRowsBack == nil {
		why := "its tables are gone"
		if live != nil {
			why = store.Reason(live, model.OpRestore)
		}
		return plan, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	given := store.GivenRows{Session: session}
	for i, name := range names {
		if err := readGiven(&given, s.rowsReader(name), i == 0); err != nil {
			return plan, err
		}
	}
	plan, err = live.Features().PlanRowsBack(ctx, given)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, store.ErrSessionExists) {
		return s.planRowsNew(ctx, live, c, err)
	}
	if err == nil {
		plan.Carry, plan.NewSession = &rowsPlan{into: live, made: plan}, ""
	}
	return plan, err
}

// readGiven reads kept rows as a plan takes them. The key is that of the first session.
func readGiven(given *store.GivenRows, from io.Reader, first bool) error {
	key, err := readRows(from, func(row keptRow) error {
		if row.values == nil {
			return nil
		}
		one := store.GivenRow{Table: row.table.name, Shared: row.table.shared, Values: make(map[string]any, len(row.values))}
		one.At, _ = row.at.(int64)
		for i, column := range row.table.columns {
			one.Values[column] = row.values[i]
		}
		given.Rows = append(given.Rows, one)
		return nil
	})
	if first {
		given.Key = key
	}
	return err
}

// planRowsNew plans a new session: a fork of the kept one, whose rows are added.
func (s *goneStore) planRowsNew(ctx context.Context, live store.Store, c model.Change, taken error) (plan model.Plan, err error) {
	refuse := func(why string) (model.Plan, error) {
		return plan, &model.UnsupportedError{Op: c.Op, Reason: fmt.Sprintf("%v, and it cannot become a new session: %s", taken, why)}
	}
	if why := store.Reason(s.Store, model.OpFork); why != "" {
		return refuse(why)
	}
	if c.As == "" && !store.NamesForks(s.Store) {
		c.As = c.Ref.Session + "-kept"
	}
	change := model.Change{Op: model.OpFork, Ref: model.Ref{Session: c.Ref.Session}, As: c.As, Gone: true}
	made, left, err := planLastFork(ctx, s.Store, &change)
	if unsupported := (*model.UnsupportedError)(nil); errors.As(err, &unsupported) {
		return refuse(unsupported.Reason)
	}
	if err == nil { // in the folder that is made
		_, err = s.Store.Features().Apply(ctx, made)
	}
	if errors.Is(err, store.ErrSessionExists) && s.forks[c.As].Session != "" { // it was planned before
		err = nil
	} else if err == nil {
		err = s.noteFork(ctx, c.As, made.NewSession)
	}
	if err != nil {
		return plan, err
	}
	plan, err = live.Features().PlanRowsBack(ctx, s.forks[c.As])
	if err != nil {
		return plan, err
	}
	plan.Carry, plan.Session = &rowsPlan{into: live, made: plan}, c.Ref.Session
	plan.Hazards = append([]string{fmt.Sprintf("%v: it becomes a new session, which is not byte for byte the kept one", taken)}, plan.Hazards...)
	if left > 0 {
		plan.Hazards = append(plan.Hazards, fmt.Sprintf("%s at the end stay in the archive: nothing goes on from there", model.Count(left, "snapshot")))
	}
	return plan, nil
}

// noteFork reads the rows of a fork that was made.
func (s *goneStore) noteFork(ctx context.Context, as, session string) error {
	databases, err := findDatabases(s.kind, s.made.pathOf(filepath.ToSlash(s.of.at)))
	if err != nil {
		return err
	}
	for _, database := range databases {
		file := sqlitefile.New(filepath.FromSlash(database), nil)
		err := file.Read(ctx, func(t *sqlitefile.Tx) error {
			list, err := s.kind.Tables.List(ctx, t)
			reader := &rowReader{ctx: ctx, t: t}
			for i := range list {
				if err != nil || list[i].ID != session {
					continue
				}
				given := store.GivenRows{Session: session}
				reader.of = &list[i]
				if err = reader.rewind(); err == nil {
					err = readGiven(&given, reader, true)
				}
				s.forks[as] = given
			}
			return err
		})
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// applyRows carries out a plan of planRowsBack.
func (s *goneStore) applyRows(ctx context.Context, plan model.Plan, carry *rowsPlan) (done model.Receipt, err error) {
	if carry.into == nil {
		if err := s.placeDatabase(ctx, carry.database, carry.names); err != nil {
			return done, fmt.Errorf("give back %q: %w", plan.Session, err)
		}
		return model.Receipt{Op: model.OpGiveBack, Session: plan.Session, Head: plan.Target}, nil
	}
	return carry.into.Features().Apply(ctx, carry.made)
}

// planRowsForget plans to remove the rows of a session from the archive.
func (s *goneStore) planRowsForget(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	session := c.Ref.Session
	if err := store.Find(ctx, s.Store, session); err != nil {
		return plan, err
	}
	_, names, err := s.ownRows(ctx, session)
	if err != nil {
		return plan, err
	}
	if len(names) == 0 {
		return plan, &model.UnsupportedError{Op: c.Op, Reason: "its rows or files have other sessions as well, and its kind does not tell which are its own"}
	}
	plan = model.Plan{Op: c.Op, Session: session, Carry: &forgetPlan{session: session, names: names}}
	for _, name := range names {
		plan.Files = append(plan.Files, model.PlanFile{Path: s.shownPath(name), Does: model.FileForgotten, Size: s.source.files[name].size})
	}
	tellForgotten(&plan)
	return plan, nil
}
